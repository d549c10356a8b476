use super::*;

fn source(text: &str) -> Source {
    Source::new("crates/x/src/lib.rs", text.to_owned(), false)
}

fn functions(text: &str) -> Vec<(String, usize, usize)> {
    let functions = source(text).functions();
    functions
        .into_iter()
        .map(|function| (function.name, function.line, function.code_lines))
        .collect()
}

#[test]
fn functions_count_neither_blanks_nor_comments() {
    let text = "/// Docs.\nfn a(\n    x: u8,\n) {\n\n    // why\n    b(\"}\");\n}\n";
    assert_eq!(functions(text), [("a".into(), 2, 5)]);
}

#[test]
fn functions_without_a_body_are_none() {
    assert_eq!(
        functions("trait T { fn a(&self); fn b() -> [u8; 2]; }\ntype F = fn(u8) -> u8;"),
        []
    );
}

#[test]
fn functions_are_found_in_functions_impls_and_macros() {
    let text = "impl T {\n    const fn a<T: Fn() -> [u8; { 2 }]>() -> u8 {\n        fn inner() {}\n        1\n    }\n}\nmacro_rules! m { () => { fn $name() { } } }\nfn r#try() {}\n";
    assert_eq!(
        functions(text),
        [("a".into(), 2, 4), ("inner".into(), 3, 1), ("name".into(), 7, 1), ("try".into(), 8, 1)]
    );
}

#[test]
fn the_word_fn_in_text_starts_no_function() {
    assert_eq!(functions("const A: &str = \"fn a() {}\"; // fn b() {}\nlet r#fn = 1;"), []);
}

#[test]
fn lines_of_tests_are_no_lines_of_code() {
    let text =
        "fn a() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn b() {}\n}\n\nfn c() {}\n";
    let source = source(text);
    assert_eq!(source.code_lines(), 2);
    assert_eq!(source.longest_test_module(), Some((3, 5)));
}

#[test]
fn test_items_are_known_by_their_attributes() {
    for (text, expected) in [
        ("#[cfg(test)] extern crate std;", true),
        ("#[cfg(all(test, unix))]\n#[allow(dead_code)]\nfn a() { std }", true),
        ("#[tokio::test(flavor = \"current_thread\")] async fn a() { std }", true),
        ("#[test] fn a() { std }", true),
        ("#![cfg(test)] use std::io;", true),
        ("#[cfg(not(test))] use std::io;", false),
        ("#[cfg(feature = \"test\")] use std::io;", false),
        ("#[derive(Debug)] struct A; use std::io;", false),
        ("#[cfg(test)] mod tests; use std::io;", false),
    ] {
        let source = source(text);
        let std = words(&source.scan.tokens, "std").next().expect("every case names std");
        assert_eq!(source.in_tests(std), expected, "{text}");
    }
}

#[test]
fn a_test_file_is_measured_whole() {
    let source = Source::new("a/tests.rs", "#[test]\nfn a() {}\n".into(), true);
    assert_eq!(source.code_lines(), 2);
    assert!(source.in_tests(0));
}

fn declared(names: &[&str], paths: &[&str], is_test: bool) -> Declared {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    Declared { names: owned(names), paths: owned(paths), is_test }
}

#[test]
fn modules_are_named_with_what_is_around_them() {
    let text = "pub mod a;\nmod b { pub(crate) mod c; mod d {} }\n#[cfg(test)]\nmod tests;\n#[cfg_attr(unix, path = \"odd.rs\")]\n#[cfg_attr(windows, path = \"even.rs\")]\nmod e;\n";
    let expected = [
        declared(&["a"], &[], false),
        declared(&["b", "c"], &[], false),
        declared(&["tests"], &[], true),
        declared(&["e"], &["odd.rs", "even.rs"], false),
    ];
    assert_eq!(source(text).declared_modules(), expected);
}

#[test]
fn modules_of_a_macro_may_have_any_name_of_the_file() {
    let text = "macro_rules! all { ($($name:ident)*) => { $(mod $name;)* } }\nall! { one two }\n#[cfg(test)]\nmod tests;\n";
    let modules = source(text).declared_modules();
    assert!(!modules.contains(&declared(&["tests"], &[], false)), "{modules:?}");
    assert!(
        modules.contains(&declared(&["one"], &[], false))
            && modules.contains(&declared(&["two"], &[], false)),
        "{modules:?}"
    );
}
