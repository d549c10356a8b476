//! What all functions that become something have in common.

use proc_macro2::TokenStream;
use quote::quote;
use syn::spanned::Spanned;
use syn::{Attribute, Error, Expr, ExprLit, ItemFn, Lit, Meta, Result};

/// Reads a function that is to become `what`.
pub(crate) fn function(tokens: TokenStream, what: &str) -> Result<ItemFn> {
    let function: ItemFn = syn::parse2(tokens)?;
    if function.sig.asyncness.is_none() {
        let text = format!("a {what} is an async function");
        return Err(Error::new(function.sig.fn_token.span, text));
    }
    if !function.sig.generics.params.is_empty() {
        let text = format!("a {what} cannot be generic");
        return Err(Error::new(function.sig.generics.span(), text));
    }
    Ok(function)
}

/// The name of a function, as others see it.
pub(crate) fn name(function: &ItemFn) -> String {
    function.sig.ident.to_string().trim_start_matches("r#").to_owned()
}

/// A type of the function's name beside it, which implements what the lists of
/// such functions need.
pub(crate) fn beside(function: &ItemFn, implementation: &TokenStream) -> TokenStream {
    let (ident, vis) = (&function.sig.ident, &function.vis);
    quote! {
        #[doc(hidden)]
        #[allow(non_camel_case_types, missing_docs)]
        #vis struct #ident {}

        #[allow(clippy::unused_async)]
        const _: () = { #implementation };
    }
}

pub(crate) fn text(meta: &Meta) -> Result<String> {
    match &meta.require_name_value()?.value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Ok(text.value()),
        other => Err(Error::new(other.span(), "expected a string")),
    }
}

pub(crate) fn flag(meta: &Meta) -> Result<bool> {
    meta.require_path_only().map(|_| true)
}

/// The text of doc comments: wrapped lines joined, paragraphs and list items kept.
pub(crate) fn docs(attributes: &[Attribute]) -> Option<String> {
    let mut text = String::new();
    for attribute in attributes.iter().filter(|a| a.path().is_ident("doc")) {
        if let Meta::NameValue(pair) = &attribute.meta
            && let Expr::Lit(ExprLit { lit: Lit::Str(lines), .. }) = &pair.value
        {
            for line in lines.value().split('\n') {
                push_line(&mut text, line.trim());
            }
        }
    }
    let text = text.trim().to_owned();
    (!text.is_empty()).then_some(text)
}

fn push_line(text: &mut String, line: &str) {
    let item = line.starts_with(['-', '*', '|', '#', '>']) || line.starts_with("```");
    if line.is_empty() {
        text.push_str("\n\n");
    } else if item {
        text.push('\n');
    } else if !text.is_empty() && !text.ends_with('\n') {
        text.push(' ');
    }
    text.push_str(line);
}
