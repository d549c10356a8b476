//! The protocol's headers, looked up without being parsed each time.

use carrick_proto::http::name;
use http::HeaderName;

pub(super) static PROTOCOL_VERSION: HeaderName = HeaderName::from_static(name::PROTOCOL_VERSION);
pub(super) static METHOD: HeaderName = HeaderName::from_static(name::METHOD);
pub(super) static NAME: HeaderName = HeaderName::from_static(name::NAME);
pub(super) static SESSION_ID: HeaderName = HeaderName::from_static(name::SESSION_ID);
pub(super) static LAST_EVENT_ID: HeaderName = HeaderName::from_static(name::LAST_EVENT_ID);
