//! Lists, page by page.

use super::super::cursor::Cursor;
use super::super::listing::{Entry, Page, unknown_cursor};
use super::super::live::Live;
use super::super::resource::{Family, Fixed};
use super::super::{Answering, CallInfo, ResourceSource, Server};
use super::{Dispatch, complete, fail};
use carrick_proto::peer::{Call, Outcome};
use carrick_proto::rpc::Field;
use carrick_proto::types::RpcError;
use futures_util::future::FutureExt;
use std::collections::BTreeMap;
use std::sync::Arc;

impl Server {
    /// A list that is all the server's own.
    pub(super) fn list<T: Entry>(&self, call: &Call, live: &Live<T>) -> Dispatch {
        let cursor = match cursor(call) {
            Ok(cursor) => cursor,
            Err(error) => return fail(error),
        };
        let listing = live.now();
        if cursor.is_none()
            && let Some(whole) = listing.kept(call.message.method(), call.revision)
        {
            return Dispatch::Ready(Outcome::Shaped(whole));
        }
        match listing.answer(cursor.as_deref()) {
            Ok(page) => Dispatch::Ready(complete(page)),
            Err(error) => fail(error),
        }
    }

    /// The resources of functions, and then those of the source.
    pub(super) fn list_resources(&self, call: &Call, info: &CallInfo) -> Dispatch {
        let Some(source) = self.inner.source.clone() else {
            return self.list(call, &self.inner.resources);
        };
        let listing = self.inner.resources.now();
        let options = listing.options();
        let mut page = Page::new(Fixed::LIST);
        let start = match cursor(call).map(|cursor| cursor.map(|text| decoded(&text))) {
            Ok(start) => start.transpose(),
            Err(error) => Err(error),
        };
        let of_source = match start {
            Ok(Some(Cursor::Source(of_source))) => of_source,
            Ok(start) => {
                let after = match &start {
                    Some(Cursor::After(key)) => Some(key.as_str()),
                    _ => None,
                };
                let next = listing.write(after, &mut page);
                // A bounded page ends where the source begins.
                let begin =
                    || (options.page.is_some() && !page.is_empty()).then_some(Cursor::Source(None));
                if let Some(next) = next.or_else(begin) {
                    return Dispatch::Ready(complete(page.finish(Some(next), options.hint)));
                }
                None
            }
            Err(error) => return fail(error),
        };
        let info = info.clone();
        let rest = async move {
            let next = add_page(&*source, of_source, &info, &mut page).await?;
            Ok(complete(page.finish(next, options.hint)))
        };
        Dispatch::Pending(Answering::new(rest.map(|page| page.unwrap_or_else(Outcome::Error))))
    }

    /// The templates of functions and of the source.
    pub(super) fn list_templates(&self, call: &Call) -> Dispatch {
        let Some(source) = &self.inner.source else {
            return self.list(call, &self.inner.families);
        };
        match cursor(call).and_then(|cursor| self.templates_page(source, cursor)) {
            Ok(page) => Dispatch::Ready(complete(page)),
            Err(error) => fail(error),
        }
    }

    fn templates_page(
        &self,
        source: &Arc<dyn ResourceSource>,
        cursor: Option<String>,
    ) -> Result<Vec<u8>, RpcError> {
        let listing = self.inner.families.now();
        let options = listing.options();
        let after = match cursor {
            None => None,
            Some(text) => match Cursor::decode(Family::LIST, &text) {
                Some(Cursor::After(key)) => Some(key),
                _ => return Err(unknown_cursor(&text)),
            },
        };
        let theirs = source.templates();
        let ours = listing.iter().map(Entry::definition);
        // Of two that are the same, the function's counts.
        let all: BTreeMap<&str, _> =
            theirs.iter().chain(ours).map(|t| (t.uri_template.as_str(), t)).collect();
        let most = options.page.map_or(usize::MAX, |page| page.get());
        let mut rest = all.into_iter().filter(|(key, _)| after.as_deref().is_none_or(|a| *key > a));
        let mut page = Page::new(Family::LIST);
        let mut last = None;
        for (key, template) in rest.by_ref().take(most) {
            page.push_value(template)?;
            last = Some(key);
        }
        let next = rest.next().and(last).map(|key| Cursor::After(key.to_owned()));
        Ok(page.finish(next, options.hint))
    }
}

/// Adds a page of the source's; what comes back is where the next one starts.
async fn add_page(
    source: &dyn ResourceSource,
    cursor: Option<String>,
    info: &CallInfo,
    page: &mut Page,
) -> Result<Option<Cursor>, RpcError> {
    let listed = source.list(cursor.as_deref(), info).await?;
    for resource in &listed.resources {
        page.push_value(resource)?;
    }
    Ok(listed.next_cursor.map(|next| Cursor::Source(Some(next))))
}

fn decoded(text: &str) -> Result<Cursor, RpcError> {
    Cursor::decode(Fixed::LIST, text).ok_or_else(|| unknown_cursor(text))
}

/// The cursor of a list request; null counts as none, an empty string does not.
fn cursor(call: &Call) -> Result<Option<String>, RpcError> {
    match call.message.field(Field::Cursor) {
        None | Some(b"null") => Ok(None),
        Some(_) => match call.message.text(Field::Cursor) {
            Some(cursor) => Ok(Some(cursor.into_owned())),
            None => Err(RpcError::invalid_params("params.cursor must be a string")),
        },
    }
}
