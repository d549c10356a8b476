//! `#[tool]`.

use crate::item::{self, docs, flag, text};
use crate::params::{Param, Params};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Error, ItemFn, Meta, Result, Token};

pub(crate) fn expand(options: TokenStream, function: TokenStream) -> Result<TokenStream> {
    let options = Options::parse(options)?;
    let mut function = item::function(function, "tool")?;
    let params = Params::take(&mut function.sig)?;
    let definition = definition(&options, &function, &params);
    Ok(quote! { #function #definition })
}

#[derive(Default)]
struct Options {
    name: Option<String>,
    title: Option<String>,
    description: Option<String>,
    read_only: bool,
    destructive: bool,
    idempotent: bool,
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
                "read_only" => options.read_only = flag(&meta)?,
                "destructive" => options.destructive = flag(&meta)?,
                "idempotent" => options.idempotent = flag(&meta)?,
                _ => {
                    return Err(Error::new(
                        meta.span(),
                        "unknown option: expected name, title, description, read_only, \
                         destructive or idempotent",
                    ));
                }
            }
        }
        if options.read_only && options.destructive {
            return Err(Error::new(
                proc_macro2::Span::call_site(),
                "a tool that only reads destroys nothing: choose read_only or destructive",
            ));
        }
        Ok(options)
    }
}

fn definition(options: &Options, function: &ItemFn, params: &Params) -> TokenStream {
    let ident = &function.sig.ident;
    let name = options.name.clone().unwrap_or_else(|| item::name(function));
    let mut steps = TokenStream::new();
    if let Some(text) = options.description.clone().or_else(|| docs(&function.attrs)) {
        steps.extend(quote! { .description(#text) });
    }
    if let Some(text) = &options.title {
        steps.extend(quote! { .title(#text) });
    }
    if options.read_only {
        steps.extend(quote! { .read_only() });
    }
    if options.destructive {
        let idempotent = options.idempotent;
        steps.extend(quote! { .destructive(#idempotent) });
    } else if options.idempotent {
        steps.extend(quote! { .idempotent() });
    }
    let arguments = params.arguments_struct();
    let defaults = params.default_functions();
    let handler = handler(ident, params);
    let implementation = quote! {
        #arguments
        #defaults
        impl ::carrick::server::DefinedTool for #ident {
            fn tool() -> ::carrick::server::Tool {
                ::carrick::server::Tool::new(#name, #handler) #steps
            }
        }
    };
    item::beside(function, &implementation)
}

/// A closure of extractors that calls the function.
fn handler(ident: &syn::Ident, params: &Params) -> TokenStream {
    let mut takes = Vec::new();
    let mut gives = Vec::new();
    for (at, param) in params.list.iter().enumerate() {
        match param {
            Param::Extractor(ty) => {
                let var = format_ident!("extractor_{at}");
                takes.push(quote! { #var: #ty });
                gives.push(quote! { #var });
            }
            Param::Plain(plain) => {
                let field = &plain.ident;
                gives.push(quote! { arguments.#field });
            }
        }
    }
    if params.has_plain() {
        takes.insert(0, quote! { ::carrick::Args(arguments): ::carrick::Args<Arguments> });
    }
    quote! { |#(#takes),*| #ident(#(#gives),*) }
}
