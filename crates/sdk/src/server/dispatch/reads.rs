//! Reading resources.

use super::super::resource::Reader;
use super::super::{Answering, Server, Texts, not_found};
use super::{Dispatch, Origin, complete, fail, recoded};
use carrick_proto::peer::{Call, Outcome};
use carrick_proto::rpc::Field;
use carrick_proto::types::{CacheHints, ReadResourceResult, RpcError};

/// A function that reads a URI.
pub(in super::super) struct Found {
    reader: Reader,
    mime_type: Option<String>,
    texts: Texts,
}

impl Server {
    /// The function that reads a URI: the one that is for it alone, or that of
    /// the family whose template says most of it.
    pub(in super::super) fn find_resource(&self, uri: &str) -> Option<Found> {
        if let Some(fixed) = self.inner.resources.now().get(uri) {
            return Some(Found {
                reader: fixed.reader.clone(),
                mime_type: fixed.definition.mime_type.clone(),
                texts: Texts::default(),
            });
        }
        let families = self.inner.families.now();
        let fitting = families.iter().filter_map(|family| Some((family, family.values(uri)?)));
        let (family, texts) = fitting.max_by_key(|(family, _)| family.template.weight())?;
        Some(Found {
            reader: family.reader.clone(),
            mime_type: family.definition.mime_type.clone(),
            texts,
        })
    }

    pub(super) fn read_resource(&self, call: Call, from: Origin<'_>) -> Dispatch {
        let Some(uri) = call.message.text(Field::Uri).map(|uri| uri.into_owned()) else {
            return fail(RpcError::invalid_params("resources/read needs params.uri, a string"));
        };
        let code = call.revision.rules().resource_not_found;
        let hint = self.inner.contents;
        if let Some(Found { reader, mime_type, texts }) = self.find_resource(&uri) {
            return self.run(call, from, texts, reader.may_ask, |request| {
                let (contents, hint) = (reader.read(request), reader.cache.unwrap_or(hint));
                Answering::new(async move {
                    let contents = contents.await.map(|c| c.of(&uri, mime_type.as_deref()));
                    read(contents, hint, code)
                })
            });
        }
        let Some(source) = self.inner.source.clone() else {
            return fail(recoded(not_found(&uri), code));
        };
        let info = from.info.clone();
        let reading = async move { read(source.read(&uri, &info).await, hint, code) };
        Dispatch::Pending(Answering::new(reading))
    }
}

/// The answer to a request for a resource.
fn read(contents: Result<ReadResourceResult, RpcError>, hint: CacheHints, code: i64) -> Outcome {
    let contents = match contents {
        Ok(contents) => contents,
        Err(error) => return Outcome::Error(recoded(error, code)),
    };
    match serde_json::to_vec(&contents) {
        Ok(mut body) => {
            // It has a member, so that another follows a comma.
            body.pop();
            body.push(b',');
            body.extend_from_slice(hint.members().as_bytes());
            body.push(b'}');
            complete(body)
        }
        Err(error) => Outcome::Error(RpcError::internal(error.to_string())),
    }
}
