//! The parameters of a function that takes texts by name.

use crate::item::docs;
use crate::params::{Default, inner_of_option, is_extractor, take_default};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::punctuated::Punctuated;
use syn::{Attribute, Error, Expr, FnArg, Ident, Pat, Result, Signature, Token, Type};

pub(crate) struct Texts {
    list: Vec<Param>,
}

enum Param {
    Extractor(Box<Type>),
    Text(Box<Text>),
}

/// A parameter that is one of the texts.
pub(crate) struct Text {
    pub(crate) ident: Ident,
    pub(crate) description: Option<String>,
    ty: Type,
    default: Option<Default>,
    completion: Option<Completion>,
}

/// `#[complete(…)]`
enum Completion {
    Values(Punctuated<Expr, Token![,]>),
    Function(Expr),
}

impl Texts {
    /// Reads the parameters and takes our attributes off them.
    pub(crate) fn take(signature: &mut Signature) -> Result<Self> {
        let mut list = Vec::new();
        for input in &mut signature.inputs {
            let FnArg::Typed(param) = input else {
                let text = "this is a free function: share state with State<T> instead of self";
                return Err(Error::new_spanned(input, text));
            };
            let description = docs(&param.attrs);
            let default = take_default(&mut param.attrs)?;
            let completion = take_completion(&mut param.attrs)?;
            param.attrs.retain(|a| !a.path().is_ident("doc"));
            if is_extractor(&param.ty) {
                if default.is_some() || completion.is_some() {
                    let text = "an extractor has neither a default nor a completion";
                    return Err(Error::new_spanned(param, text));
                }
                list.push(Param::Extractor(param.ty.clone()));
                continue;
            }
            let Pat::Ident(name) = &*param.pat else {
                let text = "a parameter needs a plain name, by which its text is found";
                return Err(Error::new_spanned(&param.pat, text));
            };
            let (ident, ty) = (name.ident.clone(), (*param.ty).clone());
            list.push(Param::Text(Box::new(Text { ident, description, ty, default, completion })));
        }
        Ok(Self { list })
    }

    pub(crate) fn texts(&self) -> impl Iterator<Item = &Text> {
        self.list.iter().filter_map(|param| match param {
            Param::Text(text) => Some(&**text),
            Param::Extractor(_) => None,
        })
    }

    /// A closure of extractors that calls the function with its texts.
    pub(crate) fn handler(&self, function: &Ident) -> TokenStream {
        let mut takes = vec![quote! { texts: ::carrick::server::Texts }];
        let (mut reads, mut gives) = (Vec::new(), Vec::new());
        for (at, param) in self.list.iter().enumerate() {
            let var = format_ident!("given_{at}");
            match param {
                Param::Extractor(ty) => takes.push(quote! { #var: #ty }),
                Param::Text(text) => {
                    let value = text.read();
                    reads.push(quote! { let #var = #value; });
                }
            }
            gives.push(var);
        }
        quote! {
            |#(#takes),*| async move {
                let _ = &texts;
                #(#reads)*
                ::core::result::Result::<_, ::carrick::types::RpcError>::Ok(
                    #function(#(#gives),*).await
                )
            }
        }
    }

    /// The steps of a builder that say how texts are completed.
    pub(crate) fn completions(&self) -> TokenStream {
        let steps = self.texts().filter_map(|text| {
            let name = text.name();
            Some(match text.completion.as_ref()? {
                Completion::Values(values) => quote! { .complete(#name, [#values]) },
                Completion::Function(function) => quote! { .complete_with(#name, #function) },
            })
        });
        quote! { #(#steps)* }
    }
}

impl Text {
    pub(crate) fn name(&self) -> String {
        self.ident.to_string().trim_start_matches("r#").to_owned()
    }

    pub(crate) fn is_required(&self) -> bool {
        self.default.is_none() && inner_of_option(&self.ty).is_none()
    }

    fn read(&self) -> TokenStream {
        let (name, ty) = (self.name(), &self.ty);
        let inner = inner_of_option(ty);
        let plain = inner.unwrap_or(ty);
        let given = quote! { texts.optional::<#plain>(#name)? };
        let wrapped = inner.map(|_| quote! { ::core::option::Option::Some });
        match &self.default {
            Some(Default::OfType) => quote! {
                match #given {
                    ::core::option::Option::Some(value) => #wrapped(value),
                    ::core::option::Option::None => <#ty as ::core::default::Default>::default(),
                }
            },
            Some(Default::Value(default)) => quote! {
                match #given {
                    ::core::option::Option::Some(value) => #wrapped(value),
                    ::core::option::Option::None => #default,
                }
            },
            None if inner.is_some() => given,
            None => quote! { texts.required::<#ty>(#name)? },
        }
    }
}

fn take_completion(attributes: &mut Vec<Attribute>) -> Result<Option<Completion>> {
    let Some(at) = attributes.iter().position(|a| a.path().is_ident("complete")) else {
        return Ok(None);
    };
    let attribute = attributes.remove(at);
    let values = attribute.parse_args_with(Punctuated::<Expr, Token![,]>::parse_terminated)?;
    Ok(Some(match values.first() {
        None => {
            let text = "expected values, as in #[complete(\"a\", \"b\")], or one function";
            return Err(Error::new_spanned(attribute, text));
        }
        Some(function @ Expr::Path(_)) if values.len() == 1 => {
            Completion::Function(function.clone())
        }
        Some(_) => Completion::Values(values),
    }))
}
