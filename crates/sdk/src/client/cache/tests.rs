use super::*;
use carrick_proto::rpc::Limits;

fn result(ttl: u64, size: usize) -> Json {
    let text = format!("{{\"ttlMs\":{ttl},\"x\":\"{}\"}}", "x".repeat(size));
    Json::parse(text.into_bytes().into(), Limits::default()).unwrap()
}

fn tools(cursor: Option<&str>) -> Key {
    Key::new(Method::ToolsList, cursor)
}

fn read(uri: &str) -> Key {
    Key::new(Method::ResourcesRead, Some(uri))
}

fn keep(cache: &mut Cache, key: &Key, result: &Json, now: Instant) {
    let ticket = cache.begin(key.clone());
    cache.keep(ticket, result, now);
}

#[test]
fn a_result_is_fresh_for_as_long_as_it_says() {
    let (mut cache, now) = (Cache::default(), Instant::now());
    keep(&mut cache, &tools(None), &result(1000, 1), now);
    keep(&mut cache, &tools(Some("")), &result(0, 1), now);
    let later = now + Duration::from_millis(999);
    assert!(cache.find(&tools(None), later).is_some());
    assert!(cache.find(&tools(Some("")), now).is_none(), "an empty cursor is another page");
    assert!(cache.find(&tools(None), now + Duration::from_secs(1)).is_none());
    assert_eq!((cache.bytes, cache.entries.len(), cache.order.len()), (0, 0, 0));
    keep(&mut cache, &tools(None), &result(u64::MAX, 1), now);
    assert!(cache.find(&tools(None), now + LONGEST).is_none());
}

#[test]
fn what_changes_is_dropped_and_nothing_else() {
    let (mut cache, now) = (Cache::default(), Instant::now());
    let all = [
        tools(None),
        tools(Some("2")),
        Key::new(Method::PromptsList, None),
        Key::new(Method::ResourcesList, None),
        Key::new(Method::ResourcesTemplatesList, None),
        read("file:///a"),
        read("file:///a/"),
        read("file:///ab"),
        read("file:///a/b"),
    ];
    let mut left = |changed: &Changed| {
        for key in &all {
            keep(&mut cache, key, &result(1000, 1), now);
        }
        cache.forget(changed);
        all.iter().map(|key| u8::from(cache.find(key, now).is_some())).collect::<Vec<_>>()
    };
    assert_eq!(left(&Changed::Tools), [0, 0, 1, 1, 1, 1, 1, 1, 1]);
    assert_eq!(left(&Changed::Prompts), [1, 1, 0, 1, 1, 1, 1, 1, 1]);
    assert_eq!(left(&Changed::Resources), [1, 1, 1, 0, 0, 1, 1, 1, 1]);
    let changed = Changed::Resource("file:///a/b".into());
    assert_eq!(left(&changed), [1, 1, 1, 1, 1, 0, 0, 1, 0], "and the folders that it is in");
    let changed = Changed::Resource("file:///ab".into());
    assert_eq!(left(&changed), [1, 1, 1, 1, 1, 1, 1, 0, 1]);
    cache.forget_all();
    assert_eq!((cache.bytes, cache.entries.len(), cache.order.len()), (0, 0, 0));
}

#[test]
fn what_may_have_changed_on_its_way_is_not_kept() {
    let (mut cache, now) = (Cache::default(), Instant::now());
    for (key, changed) in
        [(tools(None), Changed::Tools), (read("a://b"), Changed::Resource("a://b".into()))]
    {
        let ticket = cache.begin(key.clone());
        cache.forget(&changed);
        cache.keep(ticket, &result(1000, 1), now);
        assert!(cache.find(&key, now).is_none());
        keep(&mut cache, &key, &result(1000, 1), now);
        assert!(cache.find(&key, now).is_some());
    }
}

#[test]
fn the_bound_holds_and_what_is_used_stays_longest() {
    let (mut cache, now) = (Cache::default(), Instant::now());
    cache.limit(10 * (ENTRY + 1000));
    for n in 0..100 {
        keep(&mut cache, &read(&n.to_string()), &result(1000, 900), now);
        assert!(cache.bytes <= cache.max_bytes && cache.find(&read("0"), now).is_some());
    }
    assert!(cache.find(&read("50"), now).is_none() && cache.find(&read("99"), now).is_some());
    assert!(cache.entries.len() >= 9 && cache.entries.len() == cache.order.len());
    keep(&mut cache, &read("large"), &result(1000, 20_000), now);
    assert!(cache.find(&read("large"), now).is_none() && cache.find(&read("0"), now).is_some());
    cache.limit(0);
    assert_eq!((cache.bytes, cache.entries.len()), (0, 0));
    keep(&mut cache, &tools(None), &result(1000, 1), now);
    assert!(cache.find(&tools(None), now).is_none());
}

#[test]
fn a_list_that_nobody_has_asked_for_cannot_be_out_of_date() {
    let mut cache = Cache::default();
    assert!(!cache.take_asked(&Changed::Tools));
    cache.begin(tools(None));
    assert!(!cache.take_asked(&Changed::Prompts));
    assert!(cache.take_asked(&Changed::Tools) && !cache.take_asked(&Changed::Tools));
}
