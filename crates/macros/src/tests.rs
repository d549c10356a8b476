//! What is said of functions that cannot be what they are to become.

use proc_macro2::TokenStream;
use quote::quote;
use syn::Result;

fn error(expanded: Result<TokenStream>) -> String {
    expanded.expect_err("it cannot be expanded").to_string()
}

#[test]
fn resources_and_the_variables_of_their_templates_fit() {
    let resource = |options, function| crate::resource::expand(options, function);
    assert!(
        resource(
            quote!("x://{a}/{b}"),
            quote!(
                async fn f(b: u8, a: String) {}
            )
        )
        .is_ok()
    );
    assert!(
        resource(
            quote!("x://a", name = "n",),
            quote!(
                async fn f() {}
            )
        )
        .is_ok()
    );
    for (options, function, text) in [
        (
            quote!(),
            quote!(
                async fn f() {}
            ),
            "expected a URI",
        ),
        (
            quote!("x://{a}"),
            quote!(
                async fn f() {}
            ),
            "no parameter is named a",
        ),
        (
            quote!("x://a"),
            quote!(
                async fn f(a: String) {}
            ),
            "no variable {a}",
        ),
        (
            quote!("x://{a}"),
            quote!(
                async fn f(a: Option<String>) {}
            ),
            "always there",
        ),
        (
            quote!("x://{a}{b}"),
            quote!(
                async fn f(a: u8, b: u8) {}
            ),
            "directly",
        ),
        (
            quote!("x://{a}/{a}"),
            quote!(
                async fn f(a: u8) {}
            ),
            "stands twice",
        ),
        (
            quote!("x://{?a}"),
            quote!(
                async fn f(a: u8) {}
            ),
            "no plain variable",
        ),
        (
            quote!("x://{a"),
            quote!(
                async fn f(a: u8) {}
            ),
            "no partner",
        ),
        (
            quote!("x://a}"),
            quote!(
                async fn f() {}
            ),
            "no partner",
        ),
        (
            quote!("x://{a}}"),
            quote!(
                async fn f(a: u8) {}
            ),
            "no partner",
        ),
        (
            quote!("x://a", ttl = 3),
            quote!(
                async fn f() {}
            ),
            "unknown option",
        ),
        (
            quote!("x://a"),
            quote!(
                fn f() {}
            ),
            "async function",
        ),
    ] {
        let said = error(resource(options, function));
        assert!(said.contains(text), "{said}");
    }
}

#[test]
fn prompts_take_texts_and_extractors() {
    let prompt = |function| crate::prompt::expand(quote!(), function);
    assert!(
        prompt(quote!(
            async fn f(#[complete("a", "b")] a: String, s: State<u8>) {}
        ))
        .is_ok()
    );
    for (function, text) in [
        (
            quote!(
                async fn f(&self) {}
            ),
            "instead of self",
        ),
        (
            quote!(
                async fn f(#[default] s: State<u8>) {}
            ),
            "neither a default",
        ),
        (
            quote!(
                async fn f(#[complete(g)] s: Context) {}
            ),
            "nor a completion",
        ),
        (
            quote!(
                async fn f(#[complete()] a: String) {}
            ),
            "expected values",
        ),
        (
            quote!(
                async fn f((a, b): (u8, u8)) {}
            ),
            "plain name",
        ),
        (
            quote!(
                async fn f<T>(a: T) {}
            ),
            "cannot be generic",
        ),
    ] {
        let said = error(prompt(function));
        assert!(said.contains(text), "{said}");
    }
    let unknown = crate::prompt::expand(
        quote!(read_only),
        quote!(
            async fn f() {}
        ),
    );
    assert!(error(unknown).contains("expected name, title or description"));
}

#[test]
fn headers_have_names_that_http_allows() {
    let tool = |function| crate::tool::expand(quote!(), function);
    assert!(
        tool(quote!(
            async fn f(#[header("Region-1")] a: String) {}
        ))
        .is_ok()
    );
    for (function, text) in [
        (
            quote!(
                async fn f(#[header("")] a: String) {}
            ),
            "no name of an HTTP header",
        ),
        (
            quote!(
                async fn f(#[header("a b")] a: String) {}
            ),
            "no name of an HTTP header",
        ),
        (
            quote!(
                async fn f(#[header("a")] s: State<u8>) {}
            ),
            "an extractor has no header",
        ),
    ] {
        let said = error(tool(function));
        assert!(said.contains(text), "{said}");
    }
}
