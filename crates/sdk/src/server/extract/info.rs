//! Taking what is known of a call.

use super::{FromRequest, Request};
use crate::server::{CallInfo, ConnectionInfo, Principal, ToolError};
use carrick_proto::types::RpcError;
use std::any::type_name;
use std::ops::Deref;
use std::sync::Arc;

/// Something that the HTTP request, or else the connection, carries: see
/// [`CallInfo::extension`]. As `Option<Extension<T>>` it may be missing.
#[derive(Clone, Debug)]
pub struct Extension<T>(pub T);

impl<T> Deref for Extension<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone + Send + Sync + 'static> FromRequest for Extension<T> {
    fn from_request(request: &Request) -> Result<Self, ToolError> {
        // Whoever was to add it is part of the server.
        let missing = || {
            let text = format!("neither the request nor its connection has a {}", type_name::<T>());
            ToolError::rpc(RpcError::internal(text))
        };
        Option::from_request(request)?.ok_or_else(missing)
    }
}

impl<T: Clone + Send + Sync + 'static> FromRequest for Option<Extension<T>> {
    fn from_request(request: &Request) -> Result<Self, ToolError> {
        Ok(request.info.extension().cloned().map(Extension))
    }
}

impl FromRequest for Principal {
    fn from_request(request: &Request) -> Result<Self, ToolError> {
        let missing = || {
            let text = "this request needs a principal, and comes without one";
            ToolError::rpc(RpcError::new(RpcError::INVALID_REQUEST, text))
        };
        Option::from_request(request)?.ok_or_else(missing)
    }
}

impl FromRequest for Option<Principal> {
    fn from_request(request: &Request) -> Result<Self, ToolError> {
        Ok(request.info.principal().cloned())
    }
}

impl FromRequest for CallInfo {
    fn from_request(request: &Request) -> Result<Self, ToolError> {
        Ok(request.info.clone())
    }
}

impl FromRequest for Arc<ConnectionInfo> {
    fn from_request(request: &Request) -> Result<Self, ToolError> {
        Ok(request.info.connection().clone())
    }
}
