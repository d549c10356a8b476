//! What is said of functions that cannot be what they are to become.

use proc_macro2::TokenStream;
use syn::Result;

type Expand = fn(TokenStream, TokenStream) -> Result<TokenStream>;

/// Expands `function` with `options`; what is said when that cannot be.
fn said(expand: Expand, options: &str, function: &str) -> Option<String> {
    let (options, function) = (options.parse().unwrap(), function.parse().unwrap());
    expand(options, function).err().map(|error| error.to_string())
}

fn refuses(expand: Expand, cases: &[(&str, &str, &str)]) {
    for (options, function, text) in cases {
        let said = said(expand, options, function).unwrap_or_default();
        assert!(said.contains(text), "{options} {function}: {said:?}");
    }
}

#[test]
fn resources_and_the_variables_of_their_templates_fit() {
    let resource: Expand = crate::resource::expand;
    let two = "async fn f(b: u8, a: String) {}";
    assert_eq!(said(resource, r#""x://{a}/{b}""#, two), None);
    assert_eq!(said(resource, r#""x://a", name = "n","#, "async fn f() {}"), None);
    refuses(
        resource,
        &[
            ("", "async fn f() {}", "expected a URI"),
            (r#""x://{a}""#, "async fn f() {}", "no parameter is named a"),
            (r#""x://a""#, "async fn f(a: String) {}", "no variable {a}"),
            (r#""x://{a}""#, "async fn f(a: Option<String>) {}", "always there"),
            (r#""x://{a}{b}""#, two, "directly"),
            (r#""x://{a}/{a}""#, "async fn f(a: u8) {}", "stands twice"),
            (r#""x://{?a}""#, "async fn f(a: u8) {}", "no plain variable"),
            (r#""x://{a""#, "async fn f(a: u8) {}", "no partner"),
            (r#""x://a}""#, "async fn f() {}", "no partner"),
            (r#""x://{a}}""#, "async fn f(a: u8) {}", "no partner"),
            (r#""x://a", ttl = 3"#, "async fn f() {}", "unknown option"),
            (r#""x://a""#, "fn f() {}", "async function"),
        ],
    );
}

#[test]
fn prompts_take_texts_and_extractors() {
    let prompt: Expand = crate::prompt::expand;
    let fine = r#"async fn f(#[complete("a", "b")] a: String, s: State<u8>) {}"#;
    assert_eq!(said(prompt, "", fine), None);
    refuses(
        prompt,
        &[
            ("", "async fn f(&self) {}", "instead of self"),
            ("", "async fn f(#[default] s: State<u8>) {}", "neither a default"),
            ("", "async fn f(#[complete(g)] s: Context) {}", "nor a completion"),
            ("", "async fn f(#[complete()] a: String) {}", "expected values"),
            ("", "async fn f((a, b): (u8, u8)) {}", "plain name"),
            ("", "async fn f<T>(a: T) {}", "cannot be generic"),
            ("read_only", "async fn f() {}", "expected name, title or description"),
        ],
    );
}

#[test]
fn headers_have_names_that_http_allows() {
    let tool: Expand = crate::tool::expand;
    assert_eq!(said(tool, "", r#"async fn f(#[header("Region-1")] a: String) {}"#), None);
    refuses(
        tool,
        &[
            ("", r#"async fn f(#[header("")] a: String) {}"#, "no name of an HTTP header"),
            ("", r#"async fn f(#[header("a b")] a: String) {}"#, "no name of an HTTP header"),
            ("", r#"async fn f(#[header("a")] s: State<u8>) {}"#, "an extractor has no header"),
        ],
    );
}

#[test]
fn what_is_known_of_a_call_is_no_argument() {
    let tool: Expand = crate::tool::expand;
    for extractor in [
        "carrick::server::CallInfo",
        "Principal",
        "Option<Principal>",
        "Extension<u8>",
        "Option<Extension<u8>>",
        "std::sync::Arc<ConnectionInfo>",
    ] {
        // Only what is no argument has neither a header nor a name.
        let header = format!(r#"async fn f(#[header("A")] a: {extractor}) {{}}"#);
        assert!(said(tool, "", &header).is_some_and(|text| text.contains("no header")), "{header}");
    }
    for argument in ["Arc<str>", "Option<u8>", "Box<Principal>"] {
        let header = format!(r#"async fn f(#[header("A")] a: {argument}) {{}}"#);
        assert_eq!(said(tool, "", &header), None, "{argument}");
    }
}
