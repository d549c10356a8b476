//! Results of tools against the output schemas that their server listed
//! (`server/tools`, Output Schema): clients check what they are given.

use super::ClientError;
use crate::validate::{Schema, SchemaError};
use carrick_proto::rpc::Json;
use carrick_proto::types::{RawJson, Tool};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// The output schemas of the tools that were listed last, by name.
#[derive(Debug, Default)]
pub(super) struct Outputs(BTreeMap<String, Arc<Output>>);

/// One of them, compiled when it is first needed.
#[derive(Debug)]
pub(super) struct Output {
    source: RawJson,
    compiled: OnceLock<Result<Schema, SchemaError>>,
}

/// What a check reads of a result.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Checked {
    #[serde(default)]
    is_error: Option<bool>,
    #[serde(default)]
    structured_content: Option<Value>,
}

impl Outputs {
    /// Takes the schemas of a list in place of those before. Whatever is the same
    /// stays compiled.
    pub(super) fn renew(&mut self, tools: &[Tool]) {
        let mut old = std::mem::take(&mut self.0);
        for tool in tools {
            let Some(source) = &tool.output_schema else { continue };
            let same = old.remove(&tool.name).filter(|old| old.source.get() == source.get());
            let output = same.unwrap_or_else(|| {
                Arc::new(Output { source: source.clone(), compiled: OnceLock::new() })
            });
            self.0.insert(tool.name.clone(), output);
        }
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// What the results of a tool have to fit, as far as it is known.
    pub(super) fn of(&self, tool: &str) -> Option<Arc<Output>> {
        self.0.get(tool).cloned()
    }
}

impl Output {
    /// Checks a result. Failures need not fit.
    pub(super) fn check(&self, tool: &str, result: &Json) -> Result<(), ClientError> {
        let unfit = |what: String| ClientError::Result { tool: tool.to_owned(), what };
        // What is no result of a tool at all is for the reader to refuse.
        let Ok(result) = result.read::<Checked>() else { return Ok(()) };
        if result.is_error == Some(true) {
            return Ok(());
        }
        let schema = self.compiled.get_or_init(|| Schema::new(&self.source));
        let schema = schema.as_ref().map_err(|error| unfit(error.to_string()))?;
        let Some(structured) = result.structured_content else {
            return Err(unfit("there is no structured content".into()));
        };
        schema.check(&structured).map_err(|mismatch| unfit(mismatch.to_string()))
    }
}
