//! Completing arguments.

use super::super::complete::{Completer, Completing, Completion, Params, Reference};
use super::super::{Answering, CallInfo, Server};
use super::{Dispatch, answer, brief, fail};
use carrick_proto::peer::{Call, Outcome};
use carrick_proto::types::RpcError;
use futures_util::future::FutureExt;
use serde::Serialize;

impl Server {
    pub(super) fn complete(&self, call: &Call, info: &CallInfo) -> Dispatch {
        let (completer, typed) = match self.completer(call) {
            Ok((Some(completer), typed)) => (completer, typed.of(info)),
            Ok((None, _)) => return Dispatch::Ready(completed(&Completion::default())),
            Err(error) => return fail(error),
        };
        let completion = completer.complete(typed);
        Dispatch::Pending(Answering::new(completion.map(|completion| completed(&completion))))
    }

    /// What completes the argument that a request names, if anything does.
    fn completer(&self, call: &Call) -> Result<(Option<Completer>, Completing), RpcError> {
        let params: Params = serde_json::from_slice(call.message.body_bytes())
            .map_err(|e| RpcError::invalid_params(format!("completion/complete: {e}")))?;
        let argument = params.argument.name.as_str();
        let unknown = |what: &str, name: &str| {
            RpcError::invalid_params(format!("unknown {what} {:?}", brief(name)))
        };
        let completer = match &params.of {
            Reference::Prompt { name } => {
                let prompts = self.inner.prompts.now();
                let prompt = prompts.get(name).ok_or_else(|| unknown("prompt", name))?;
                prompt.completer(argument).map(|completer| completer.cloned())
            }
            Reference::Resource { uri } => self.variable(uri, argument)?,
        };
        let completer = completer.ok_or_else(|| unknown("argument", argument))?;
        Ok((completer, params.typed()))
    }

    /// What completes a variable of a template. A source completes nothing, but
    /// its templates are not unknown; a URI without variables has none.
    fn variable(
        &self,
        template: &str,
        variable: &str,
    ) -> Result<Option<Option<Completer>>, RpcError> {
        if let Some(family) = self.inner.families.now().get(template) {
            return Ok(family.completer(variable).map(|completer| completer.cloned()));
        }
        let of_source = self.inner.source.as_ref().is_some_and(|source| {
            source.templates().iter().any(|known| known.uri_template == template)
        });
        if of_source || self.inner.resources.now().get(template).is_some() {
            return Ok(Some(None));
        }
        let text = format!("unknown resource template {:?}", brief(template));
        Err(RpcError::invalid_params(text))
    }
}

fn completed(completion: &Completion) -> Outcome {
    #[derive(Serialize)]
    struct Result<'a> {
        completion: &'a Completion,
    }
    answer(&Result { completion }, false)
}
