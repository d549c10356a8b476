//! Resources as entries of lists, and what reads them.

use super::super::complete::Completer;
use super::super::function::Function;
use super::super::listing::Entry;
use super::super::template::UriTemplate;
use super::super::{Request, Texts};
use super::Contents;
use carrick_proto::types::{
    CacheHints, Resource as Definition, ResourceTemplate as TemplateDefinition, RpcError,
};
use futures_util::future::BoxFuture;
use std::collections::BTreeMap;
use std::sync::Arc;

type Run = dyn Fn(Request) -> BoxFuture<'static, Result<Contents, RpcError>> + Send + Sync;

/// What reads a resource.
#[derive(Clone)]
pub(in super::super) struct Reader {
    run: Arc<Run>,
    pub(in super::super) may_ask: bool,
    pub(in super::super) cache: Option<CacheHints>,
    pub(in super::super) completers: BTreeMap<String, Completer>,
}

impl Reader {
    pub(super) fn new<F: Function<Contents, M>, M>(function: F) -> Self {
        Self {
            run: Arc::new(move |request| function.call(request)),
            may_ask: F::may_ask(),
            cache: None,
            completers: BTreeMap::new(),
        }
    }

    pub(in super::super) fn read(
        &self,
        request: Request,
    ) -> BoxFuture<'static, Result<Contents, RpcError>> {
        (self.run)(request)
    }
}

/// One of the two kinds.
pub(in super::super) enum Listable {
    Fixed(Fixed),
    Family(Family),
}

/// A resource with one URI.
#[derive(Clone)]
pub(in super::super) struct Fixed {
    pub(in super::super) definition: Definition,
    pub(in super::super) reader: Reader,
}

/// A family of resources.
#[derive(Clone)]
pub(in super::super) struct Family {
    pub(in super::super) definition: TemplateDefinition,
    pub(in super::super) template: UriTemplate,
    pub(in super::super) reader: Reader,
}

impl Family {
    /// What a variable is completed by; none for one that it does not have.
    pub(in super::super) fn completer(&self, variable: &str) -> Option<Option<&Completer>> {
        let has = self.template.names().any(|name| name == variable);
        has.then(|| self.reader.completers.get(variable))
    }

    /// The variables of a URI, if it is one of this family's.
    pub(in super::super) fn values(&self, uri: &str) -> Option<Texts> {
        self.template.values(uri).map(Texts)
    }
}

impl Entry for Fixed {
    type Definition = Definition;
    const LIST: &'static str = "resources";

    fn key(&self) -> &str {
        &self.definition.uri
    }

    fn definition(&self) -> &Definition {
        &self.definition
    }
}

impl Entry for Family {
    type Definition = TemplateDefinition;
    const LIST: &'static str = "resourceTemplates";

    fn key(&self) -> &str {
        &self.definition.uri_template
    }

    fn definition(&self) -> &TemplateDefinition {
        &self.definition
    }
}
