use super::*;

/// The token view, with runs of blanks made one.
fn tokens(text: &str) -> String {
    let scan = Scan::new(text);
    assert_eq!(scan.tokens.len(), text.len(), "a view changed the length of {text:?}");
    scan.tokens.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn comments_are_blanked_in_both_views() {
    let scan = Scan::new("a // b\nc /* d /* e */ f */ g");
    assert_eq!(scan.tokens, format!("a     \nc {} g", " ".repeat("/* d /* e */ f */".len())));
    assert_eq!(scan.uncommented, scan.tokens);
}

#[test]
fn literals_are_blanked_among_tokens_only() {
    let scan = Scan::new(r#"f("a { b", 'c')"#);
    assert_eq!(scan.tokens, r#"f("     ", ' ')"#);
    assert_eq!(scan.uncommented, r#"f("a { b", 'c')"#);
}

#[test]
fn quotes_escaped_in_strings_do_not_end_them() {
    assert_eq!(tokens(r#"a("x\"{", "\\") }"#), r#"a(" ", " ") }"#);
}

#[test]
fn a_comment_in_a_string_is_text_and_a_quote_in_a_comment_is_not() {
    assert_eq!(tokens("a(\"//\") // \"\nb"), "a(\" \") b");
}

#[test]
fn raw_strings_end_at_their_own_hashes() {
    assert_eq!(
        tokens(r####"r#"a " {"# + br##"x"# }"## + r"\" + c"z""####),
        r####"r#" "# + br##" "## + r" " + c" ""####
    );
}

#[test]
fn raw_identifiers_are_words() {
    assert_eq!(tokens("r#fn(r#\"{\"#)"), "r#fn(r#\" \"#)");
}

#[test]
fn characters_and_lifetimes_are_told_apart() {
    assert_eq!(
        tokens("fn f<'a>(x: &'a str) { 'l: loop { g('{', '\\'', '\\u{7b}', 'é', b'}', b'\\'') } }"),
        "fn f<'a>(x: &'a str) { 'l: loop { g(' ', ' ', ' ', ' ', b' ', b' ') } }"
    );
}

#[test]
fn unfinished_text_ends_with_the_file() {
    for text in ["\"a", "\"a\\", "r#\"a\"", "/* a /* b */", "'\\", "'", "b'", "// a", "r#", "é"] {
        assert_eq!(Scan::new(text).tokens.len(), text.len(), "{text:?}");
    }
}

#[test]
fn words_are_whole() {
    let found: Vec<usize> = words("print! eprint! print!", "print!").collect();
    assert_eq!(found, [0, 15]);
    assert_eq!(words("std::env my_std:: std::io", "std::").count(), 2);
}

#[test]
fn lines_count_from_one() {
    assert_eq!(line_of("a\nb\nc", 0), 1);
    assert_eq!(line_of("a\nb\nc", 4), 3);
    assert_eq!(line_of("a\nb", 99), 2);
}
