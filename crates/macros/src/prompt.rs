//! `#[prompt]`.

use crate::item::{self, docs, text};
use crate::texts::Texts;
use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Error, Meta, Result, Token};

pub(crate) fn expand(options: TokenStream, function: TokenStream) -> Result<TokenStream> {
    let options = Options::parse(options)?;
    let mut function = item::function(function, "prompt")?;
    let texts = Texts::take(&mut function.sig)?;
    let ident = &function.sig.ident;
    let name = options.name.unwrap_or_else(|| item::name(&function));
    let handler = texts.handler(ident);
    let mut steps = TokenStream::new();
    if let Some(text) = options.description.or_else(|| docs(&function.attrs)) {
        steps.extend(quote! { .description(#text) });
    }
    if let Some(text) = options.title {
        steps.extend(quote! { .title(#text) });
    }
    for text in texts.texts() {
        let (name, about) = (text.name(), text.description.clone().unwrap_or_default());
        steps.extend(if text.is_required() {
            quote! { .argument(#name, #about) }
        } else {
            quote! { .optional(#name, #about) }
        });
    }
    steps.extend(texts.completions());
    let beside = item::beside(
        &function,
        &quote! {
            impl ::carrick::server::DefinedPrompt for #ident {
                fn prompt() -> ::carrick::server::Prompt {
                    ::carrick::server::Prompt::new(#name, #handler) #steps
                }
            }
        },
    );
    Ok(quote! { #function #beside })
}

#[derive(Default)]
struct Options {
    name: Option<String>,
    title: Option<String>,
    description: Option<String>,
}

impl Options {
    fn parse(tokens: TokenStream) -> Result<Self> {
        let mut options = Self::default();
        for meta in Punctuated::<Meta, Token![,]>::parse_terminated.parse2(tokens)? {
            let name = meta.path().get_ident().map(ToString::to_string).unwrap_or_default();
            match name.as_str() {
                "name" => options.name = Some(text(&meta)?),
                "title" => options.title = Some(text(&meta)?),
                "description" => options.description = Some(text(&meta)?),
                _ => {
                    let text = "unknown option: expected name, title or description";
                    return Err(Error::new(meta.span(), text));
                }
            }
        }
        Ok(options)
    }
}
