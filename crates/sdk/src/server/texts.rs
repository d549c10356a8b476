//! Texts by name: the arguments of a prompt, the variables of a template.

use super::{FromRequest, Request, ToolError};
use carrick_proto::types::RpcError;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

/// The arguments of a prompt, or the variables of the URI that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Texts(pub BTreeMap<String, String>);

impl Texts {
    /// A text that has to be there, as a value.
    ///
    /// # Errors
    /// -32602 when it is not, or is none of a `T`.
    pub fn required<T: FromStr<Err: Display>>(&self, name: &str) -> Result<T, RpcError> {
        self.optional(name)?
            .ok_or_else(|| RpcError::invalid_params(format!("argument {name:?} is missing")))
    }

    /// A text that may be left out, as a value.
    ///
    /// # Errors
    /// -32602 when it is none of a `T`.
    pub fn optional<T: FromStr<Err: Display>>(&self, name: &str) -> Result<Option<T>, RpcError> {
        let value = self.0.get(name).map(|text| text.parse());
        value
            .transpose()
            .map_err(|error| RpcError::invalid_params(format!("argument {name:?}: {error}")))
    }
}

impl FromRequest for Texts {
    fn from_request(request: &Request) -> Result<Self, ToolError> {
        Ok(request.texts.clone())
    }
}
