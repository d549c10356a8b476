//! What a client wants to be told (`basic/patterns/subscriptions`).

use super::RpcError;
use crate::rpc::Message;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Not;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Kinds of changes, as a client asks for them and as a server agrees to them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct SubscriptionFilter {
    /// Changes of the list of tools.
    #[serde(skip_serializing_if = "Not::not")]
    pub tools_list_changed: bool,
    /// Changes of the list of prompts.
    #[serde(skip_serializing_if = "Not::not")]
    pub prompts_list_changed: bool,
    /// Changes of the list of resources.
    #[serde(skip_serializing_if = "Not::not")]
    pub resources_list_changed: bool,
    /// Changes of these resources, by URI.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resource_subscriptions: Vec<String>,
}

impl SubscriptionFilter {
    /// What a `subscriptions/listen` request asks for.
    ///
    /// # Errors
    /// -32602 when its parameters are not of the form that the request has.
    pub fn of(request: &Message) -> Result<Self, RpcError> {
        #[derive(Deserialize)]
        struct Params<'a> {
            #[serde(borrow)]
            notifications: &'a RawValue,
        }
        let wrong = |why: &dyn core::fmt::Display| {
            let text = format!("subscriptions/listen needs params.notifications: {why}");
            RpcError::invalid_params(text)
        };
        let params: Params<'_> =
            serde_json::from_slice(request.body_bytes()).map_err(|error| wrong(&error))?;
        let filter = params.notifications.get();
        // An array would be read as the members in their order.
        if !filter.starts_with('{') {
            return Err(wrong(&"it is no object"));
        }
        serde_json::from_str(filter).map_err(|error| wrong(&error))
    }
}
