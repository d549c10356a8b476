//! Lists of what a server offers, rendered once a change.

use super::cursor::Cursor;
use bytes::Bytes;
use carrick_proto::method::Method;
use carrick_proto::revision::{Part, Revision, translate};
use carrick_proto::rpc::{Json, Limits};
use carrick_proto::text::excerpt;
use carrick_proto::types::CacheHints;
use carrick_proto::types::RpcError;
use serde::Serialize;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::Bound;
use std::sync::OnceLock;

/// Something that is listed.
pub(super) trait Entry: Clone {
    /// What a client sees.
    type Definition: Serialize;

    /// The member of the result that holds the list, which also names it.
    const LIST: &'static str;

    /// What it is found by.
    fn key(&self) -> &str;

    fn definition(&self) -> &Self::Definition;

    /// Made ready when it becomes part of the list.
    fn prepare(&mut self) {}
}

/// A list as it is at one moment, by key.
pub(super) struct Listing<T> {
    entries: BTreeMap<String, Listed<T>>,
    options: ListOptions,
    /// The whole of it as a result, when pages have no bound.
    whole: Bytes,
    /// The same in the shapes of older revisions, once one of their clients has
    /// asked; none in those that cannot have it.
    older: [OnceLock<Option<Bytes>>; Revision::ALL.len()],
}

#[derive(Clone)]
struct Listed<T> {
    entry: T,
    json: std::sync::Arc<[u8]>,
}

/// How a list is given out.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ListOptions {
    /// Entries of a page; all when there is none.
    pub(super) page: Option<NonZeroUsize>,
    pub(super) hint: CacheHints,
}

impl<T: Entry> Listing<T> {
    pub(super) fn new(entries: impl IntoIterator<Item = T>, options: ListOptions) -> Self {
        let entries = entries.into_iter().map(|entry| {
            let listed = Listed::new(entry);
            (listed.entry.key().to_owned(), listed)
        });
        Self::rendered(entries.collect(), options)
    }

    /// The same list with an entry more, or another of the same key.
    pub(super) fn with(&self, entry: T) -> Self {
        let mut entries = self.entries.clone();
        let listed = Listed::new(entry);
        entries.insert(listed.entry.key().to_owned(), listed);
        Self::rendered(entries, self.options)
    }

    /// The same list without an entry.
    pub(super) fn without(&self, key: &str) -> Self {
        let mut entries = self.entries.clone();
        entries.remove(key);
        Self::rendered(entries, self.options)
    }

    pub(super) fn get(&self, key: &str) -> Option<&T> {
        self.entries.get(key).map(|listed| &listed.entry)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries.values().map(|listed| &listed.entry)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn options(&self) -> ListOptions {
        self.options
    }

    /// The answer to a request for this list, from a cursor on.
    ///
    /// # Errors
    /// -32602 for a cursor that was never given out.
    pub(super) fn answer(&self, cursor: Option<&str>) -> Result<Vec<u8>, RpcError> {
        let Some(text) = cursor else {
            return Ok(self.first_page());
        };
        match Cursor::decode(T::LIST, text) {
            Some(Cursor::After(key)) => {
                let mut page = Page::new(T::LIST);
                let next = self.write(Some(&key), &mut page);
                Ok(page.finish(next, self.options.hint))
            }
            _ => Err(unknown_cursor(text)),
        }
    }

    /// The whole list in the shape of a revision, as the result of `method`. None
    /// when it is given out page by page, or cannot be had in that shape.
    pub(super) fn kept(&self, method: Method, revision: Revision) -> Option<Bytes> {
        if self.whole.is_empty() || revision == Revision::NEWEST {
            return Some(self.whole.clone()).filter(|whole| !whole.is_empty());
        }
        let at = Revision::ALL.iter().position(|known| *known == revision)?;
        let shape = || {
            let whole = Json::parse(self.whole.clone(), Limits::default()).ok()?;
            let part = Part::Result(method);
            let (json, _) = translate(whole, part, Revision::NEWEST, revision).ok()?;
            Some(json.into_bytes())
        };
        self.older[at].get_or_init(shape).clone()
    }

    /// Writes a page; what comes back is where the next one starts.
    pub(super) fn write(&self, after: Option<&str>, page: &mut Page) -> Option<Cursor> {
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut rest = self.entries.range::<str, _>((start, Bound::Unbounded));
        let most = self.options.page.map_or(usize::MAX, NonZeroUsize::get);
        let mut last = None;
        for (key, listed) in rest.by_ref().take(most) {
            page.push(&listed.json);
            last = Some(key);
        }
        rest.next().and(last).map(|key| Cursor::After(key.clone()))
    }

    fn rendered(entries: BTreeMap<String, Listed<T>>, options: ListOptions) -> Self {
        let older = Default::default();
        let mut listing = Self { entries, options, whole: Bytes::new(), older };
        if options.page.is_none() {
            listing.whole = listing.first_page().into();
        }
        listing
    }

    fn first_page(&self) -> Vec<u8> {
        if !self.whole.is_empty() {
            return self.whole.to_vec();
        }
        let mut page = Page::new(T::LIST);
        let next = self.write(None, &mut page);
        page.finish(next, self.options.hint)
    }
}

impl<T: Entry> Listed<T> {
    fn new(mut entry: T) -> Self {
        entry.prepare();
        #[expect(clippy::expect_used, reason = "definitions are made of text and of JSON already")]
        let json = serde_json::to_vec(entry.definition()).expect("definitions serialize");
        Self { entry, json: json.into() }
    }
}

/// A page of a list, as it is written.
pub(super) struct Page {
    list: &'static str,
    out: Vec<u8>,
    empty: bool,
}

impl Page {
    pub(super) fn new(list: &'static str) -> Self {
        Self { list, out: format!("{{\"{list}\":[").into_bytes(), empty: true }
    }

    /// Adds an entry that is JSON already.
    pub(super) fn push(&mut self, json: &[u8]) {
        if !self.empty {
            self.out.push(b',');
        }
        self.empty = false;
        self.out.extend_from_slice(json);
    }

    /// Adds an entry.
    pub(super) fn push_value(&mut self, entry: &impl Serialize) -> Result<(), RpcError> {
        let json = serde_json::to_vec(entry).map_err(|e| RpcError::internal(e.to_string()))?;
        self.push(&json);
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.empty
    }

    /// The whole result.
    pub(super) fn finish(mut self, next: Option<Cursor>, hint: CacheHints) -> Vec<u8> {
        self.out.push(b']');
        if let Some(next) = next {
            // A cursor is base64: nothing in it needs escaping.
            let next = next.encode(self.list);
            self.out.extend_from_slice(format!(",\"nextCursor\":\"{next}\"").as_bytes());
        }
        self.out.push(b',');
        self.out.extend_from_slice(hint.members().as_bytes());
        self.out.push(b'}');
        self.out
    }
}

/// -32602 for a cursor that this server never gave out.
pub(super) fn unknown_cursor(cursor: &str) -> RpcError {
    RpcError::invalid_params(format!("unknown cursor {:?}", excerpt(cursor, 200)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[derive(Clone)]
    struct Name(String);

    impl Entry for Name {
        type Definition = String;
        const LIST: &'static str = "names";

        fn key(&self) -> &str {
            &self.0
        }

        fn definition(&self) -> &String {
            &self.0
        }
    }

    fn listing(names: &[&str], page: usize) -> Listing<Name> {
        let options = ListOptions { page: NonZeroUsize::new(page), hint: CacheHints::default() };
        Listing::new(names.iter().map(|name| Name((*name).into())), options)
    }

    fn page(list: &Listing<Name>, cursor: Option<&str>) -> (Value, Option<String>) {
        let page: Value = serde_json::from_slice(&list.answer(cursor).unwrap()).unwrap();
        let next = page["nextCursor"].as_str().map(str::to_owned);
        (page["names"].clone(), next)
    }

    #[test]
    fn a_list_without_a_bound_is_one_page() {
        let list = listing(&["b", "a"], 0);
        assert_eq!(
            String::from_utf8(list.answer(None).unwrap()).unwrap(),
            r#"{"names":["a","b"],"ttlMs":0,"cacheScope":"private"}"#
        );
        assert_eq!(page(&listing(&[], 3), None), (json!([]), None));
    }

    #[test]
    fn a_whole_list_is_kept_in_the_shape_of_each_revision() {
        let list = listing(&["a", "b"], 0);
        for revision in Revision::ALL {
            let kept = list.kept(Method::ToolsList, *revision).unwrap();
            let value: Value = serde_json::from_slice(&kept).unwrap();
            assert_eq!(value["names"], json!(["a", "b"]), "{revision}");
            assert_eq!(value.get("ttlMs").is_some(), !revision.is_legacy(), "{revision}");
            assert_eq!(list.kept(Method::ToolsList, *revision).unwrap().as_ptr(), kept.as_ptr());
        }
        assert_eq!(listing(&["a"], 1).kept(Method::ToolsList, Revision::NEWEST), None);
        assert_eq!(
            list.with(Name("c".into()))
                .kept(Method::ToolsList, Revision::NEWEST)
                .map(|kept| kept.len()),
            Some(56)
        );
    }

    #[test]
    fn the_last_page_has_no_cursor_even_when_it_is_full() {
        let list = listing(&["a", "b", "c", "d"], 2);
        let (names, next) = page(&list, None);
        assert_eq!(names, json!(["a", "b"]));
        assert_eq!(page(&list, next.as_deref()), (json!(["c", "d"]), None));
        let (names, next) = page(&listing(&["a", "b", "c"], 2), None);
        assert_eq!(names, json!(["a", "b"]));
        assert_eq!(page(&list, next.as_deref()).0, json!(["c", "d"]));
    }

    #[test]
    fn d058_a_cursor_holds_while_the_list_changes_and_no_entry_comes_twice() {
        let list = listing(&["a", "c", "e", "g"], 2);
        let (_, next) = page(&list, None);
        // The entry that the cursor names goes, others come before and after it.
        let list = list.without("c").with(Name("b".into())).with(Name("d".into()));
        assert_eq!(page(&list, next.as_deref()).0, json!(["d", "e"]));
    }

    #[test]
    fn what_was_never_given_out_is_refused() {
        let list = listing(&["a"], 1);
        let of_another = Cursor::After("a".into()).encode("other");
        let of_a_source = Cursor::Source(None).encode("names");
        for cursor in ["", "a", "AAAA", &of_another, &of_a_source, &"x".repeat(1000)] {
            let error = list.answer(Some(cursor)).unwrap_err();
            assert_eq!(error.code, -32602);
            assert!(error.message.len() < 300);
        }
    }
}
