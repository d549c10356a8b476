//! `#[resource]`.

use crate::item::{self, docs, text};
use crate::texts::Texts;
use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{Error, LitStr, Meta, Result, Token};

pub(crate) fn expand(options: TokenStream, function: TokenStream) -> Result<TokenStream> {
    let options: Options = syn::parse2(options)?;
    let mut function = item::function(function, "resource")?;
    let texts = Texts::take(&mut function.sig)?;
    let variables = variables(&options.uri)?;
    check(&variables, &texts, &options.uri)?;
    let ident = &function.sig.ident;
    let name = options.name.unwrap_or_else(|| item::name(&function));
    let (uri, handler) = (&options.uri, texts.handler(ident));
    let mut steps = TokenStream::new();
    if let Some(text) = options.description.or_else(|| docs(&function.attrs)) {
        steps.extend(quote! { .description(#text) });
    }
    if let Some(text) = options.title {
        steps.extend(quote! { .title(#text) });
    }
    if let Some(text) = options.mime_type {
        steps.extend(quote! { .mime_type(#text) });
    }
    steps.extend(texts.completions());
    let made = if variables.is_empty() {
        quote! { ::carrick::server::Resource::new(#uri, #name, #handler) }
    } else {
        quote! {
            match ::carrick::server::Resource::template(#uri, #name, #handler) {
                ::core::result::Result::Ok(resource) => resource,
                ::core::result::Result::Err(error) => {
                    ::core::unreachable!("the macro has checked the template: {error}")
                }
            }
        }
    };
    let beside = item::beside(
        &function,
        &quote! {
            impl ::carrick::server::DefinedResource for #ident {
                fn resource() -> ::carrick::server::Resource {
                    #made #steps
                }
            }
        },
    );
    Ok(quote! { #function #beside })
}

struct Options {
    uri: LitStr,
    name: Option<String>,
    title: Option<String>,
    description: Option<String>,
    mime_type: Option<String>,
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let uri = input.parse().map_err(|error| {
            Error::new(error.span(), "expected a URI or a template, as in #[resource(\"x://{a}\")]")
        })?;
        let mut options = Self { uri, name: None, title: None, description: None, mime_type: None };
        while !input.is_empty() {
            input.parse::<Token![,]>()?;
            if input.is_empty() {
                break;
            }
            let meta: Meta = input.parse()?;
            let name = meta.path().get_ident().map(ToString::to_string).unwrap_or_default();
            match name.as_str() {
                "name" => options.name = Some(text(&meta)?),
                "title" => options.title = Some(text(&meta)?),
                "description" => options.description = Some(text(&meta)?),
                "mime_type" => options.mime_type = Some(text(&meta)?),
                _ => {
                    let text = "unknown option: expected name, title, description or mime_type";
                    return Err(Error::new(meta.span(), text));
                }
            }
        }
        Ok(options)
    }
}

/// The variables of a template of RFC 6570, level 1, by the rules of
/// `carrick::server::Resource::template`.
fn variables(template: &LitStr) -> Result<Vec<String>> {
    let error = |text: String| Error::new(template.span(), text);
    let text = template.value();
    let mut parts = text.split('{');
    let mut before = parts.next().unwrap_or_default();
    let mut names: Vec<String> = Vec::new();
    for part in parts {
        let Some((name, after)) = part.split_once('}') else {
            return Err(error("a brace has no partner".into()));
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        if name.is_empty() || !name.chars().all(plain) {
            return Err(error(format!("{{{name}}} is no plain variable (RFC 6570, level 1)")));
        }
        if !names.is_empty() && before.is_empty() {
            return Err(error(format!("{{{name}}} follows another variable directly")));
        }
        if names.iter().any(|other| other == name) {
            return Err(error(format!("{{{name}}} stands twice")));
        }
        names.push(name.to_owned());
        before = after;
        if after.contains('}') {
            return Err(error("a brace has no partner".into()));
        }
    }
    if text.split('{').next().is_some_and(|start| start.contains('}')) {
        return Err(error("a brace has no partner".into()));
    }
    Ok(names)
}

/// Each variable is a parameter, and each text a variable.
fn check(variables: &[String], texts: &Texts, uri: &LitStr) -> Result<()> {
    for text in texts.texts() {
        if !variables.contains(&text.name()) {
            let what = format!("the URI has no variable {{{}}}", text.name());
            return Err(Error::new(text.ident.span(), what));
        }
        if !text.is_required() {
            let what = "a variable of a URI is always there: it has no default";
            return Err(Error::new(text.ident.span(), what));
        }
    }
    let unread = variables.iter().find(|name| texts.texts().all(|text| text.name() != **name));
    match unread {
        Some(name) => Err(Error::new(uri.span(), format!("no parameter is named {name}"))),
        None => Ok(()),
    }
}
