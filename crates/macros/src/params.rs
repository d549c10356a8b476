//! The parameters of a tool function.

use crate::item::docs;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{
    Attribute, Error, Expr, FnArg, GenericArgument, Ident, LitStr, Meta, Pat, PathArguments,
    Result, Signature, Type,
};

pub(crate) struct Params {
    pub(crate) list: Vec<Param>,
}

pub(crate) enum Param {
    Extractor(Box<Type>),
    Plain(Box<Plain>),
}

/// A parameter that becomes a property of the input schema.
pub(crate) struct Plain {
    pub(crate) ident: Ident,
    ty: Type,
    description: Option<String>,
    default: Option<Default>,
    /// The HTTP header that mirrors it.
    header: Option<LitStr>,
}

pub(crate) enum Default {
    OfType,
    Value(Expr),
}

impl Params {
    /// Reads the parameters and takes our attributes off them.
    pub(crate) fn take(signature: &mut Signature) -> Result<Self> {
        let mut list = Vec::new();
        for input in &mut signature.inputs {
            let FnArg::Typed(param) = input else {
                return Err(Error::new_spanned(
                    input,
                    "a tool is a free function: share state \
                    with State<T> instead of self",
                ));
            };
            let description = docs(&param.attrs);
            let default = take_default(&mut param.attrs)?;
            let header = take_header(&mut param.attrs)?;
            param.attrs.retain(|a| !a.path().is_ident("doc"));
            if is_extractor(&param.ty) {
                if default.is_some() {
                    return Err(Error::new_spanned(param, "an extractor has no default"));
                }
                if header.is_some() {
                    return Err(Error::new_spanned(param, "an extractor has no header"));
                }
                list.push(Param::Extractor(param.ty.clone()));
                continue;
            }
            let Pat::Ident(name) = &*param.pat else {
                return Err(Error::new_spanned(
                    &param.pat,
                    "a parameter needs a plain name: it \
                    becomes a property of the input schema",
                ));
            };
            let ident = name.ident.clone();
            let ty = (*param.ty).clone();
            list.push(Param::Plain(Box::new(Plain { ident, ty, description, default, header })));
        }
        let args = list.iter().any(|p| matches!(p, Param::Extractor(ty) if last(ty) == "Args"));
        let params = Self { list };
        if args && params.has_plain() {
            return Err(Error::new_spanned(
                &signature.inputs,
                "take either Args<T> or plain \
                parameters, not both: each would be the whole of the arguments",
            ));
        }
        Ok(params)
    }

    pub(crate) fn has_plain(&self) -> bool {
        self.plain().next().is_some()
    }

    /// The plain parameters as one type that is read from the arguments.
    pub(crate) fn arguments_struct(&self) -> TokenStream {
        let fields = self.plain().map(Plain::field);
        if !self.has_plain() {
            return TokenStream::new();
        }
        quote! {
            #[derive(::carrick::serde::Deserialize, ::carrick::schemars::JsonSchema)]
            #[serde(crate = "::carrick::serde", deny_unknown_fields)]
            #[schemars(crate = "::carrick::schemars")]
            struct Arguments { #(#fields),* }
        }
    }

    pub(crate) fn default_functions(&self) -> TokenStream {
        let functions = self.plain().filter_map(|plain| {
            let Some(Default::Value(value)) = &plain.default else { return None };
            let (name, ty) = (plain.default_name(), &plain.ty);
            Some(quote! { fn #name() -> #ty { #value } })
        });
        quote! { #(#functions)* }
    }

    fn plain(&self) -> impl Iterator<Item = &Plain> {
        self.list.iter().filter_map(|param| match param {
            Param::Plain(plain) => Some(&**plain),
            Param::Extractor(_) => None,
        })
    }
}

impl Plain {
    fn field(&self) -> TokenStream {
        let (ident, ty) = (&self.ident, &self.ty);
        let description = self.description.iter().map(|text| quote! { #[doc = #text] });
        // An argument that may be left out is not one that may be null: the
        // schema shows the type inside, and the description need not tell null.
        let shown = inner_of_option(ty).map(|inner| {
            let inner = quote! { #inner }.to_string();
            quote! { #[schemars(with = #inner)] #[serde(default)] }
        });
        let default = match &self.default {
            None => quote! {},
            Some(Default::OfType) => quote! { #[serde(default)] },
            Some(Default::Value(_)) => {
                let function = self.default_name().to_string();
                quote! { #[serde(default = #function)] }
            }
        };
        let shown = if self.default.is_some() { None } else { shown };
        let header = self.header.iter().map(|name| {
            quote! { #[schemars(extend("x-mcp-header" = #name))] }
        });
        quote! { #(#description)* #default #shown #(#header)* #ident: #ty }
    }

    fn default_name(&self) -> Ident {
        format_ident!("default_{}", self.ident)
    }
}

pub(crate) fn take_default(attributes: &mut Vec<Attribute>) -> Result<Option<Default>> {
    let Some(at) = attributes.iter().position(|a| a.path().is_ident("default")) else {
        return Ok(None);
    };
    match attributes.remove(at).meta {
        Meta::Path(_) => Ok(Some(Default::OfType)),
        Meta::List(list) => Ok(Some(Default::Value(list.parse_args()?))),
        Meta::NameValue(pair) => Ok(Some(Default::Value(pair.value))),
    }
}

/// The name in `#[header("Name")]`.
fn take_header(attributes: &mut Vec<Attribute>) -> Result<Option<LitStr>> {
    let Some(at) = attributes.iter().position(|a| a.path().is_ident("header")) else {
        return Ok(None);
    };
    let name: LitStr = attributes.remove(at).parse_args()?;
    let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if name.value().is_empty() || !name.value().chars().all(token) {
        return Err(Error::new(name.span(), "this is no name of an HTTP header"));
    }
    Ok(Some(name))
}

/// `T` of `Option<T>`.
pub(crate) fn inner_of_option(ty: &Type) -> Option<&Type> {
    inner_of("Option", ty)
}

/// `T` of `Name<T>`.
fn inner_of<'a>(name: &str, ty: &'a Type) -> Option<&'a Type> {
    let Type::Path(path) = ty else { return None };
    let segment = path.path.segments.last().filter(|segment| segment.ident == name)?;
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    match arguments.args.first() {
        Some(GenericArgument::Type(inner)) => Some(inner),
        _ => None,
    }
}

pub(crate) fn is_extractor(ty: &Type) -> bool {
    let may_be_missing = |ty: &Type| matches!(last(ty).as_str(), "Principal" | "Extension");
    matches!(last(ty).as_str(), "Args" | "State" | "Context" | "Texts" | "Server" | "CallInfo")
        || may_be_missing(ty)
        || inner_of_option(ty).is_some_and(may_be_missing)
        || inner_of("Arc", ty).is_some_and(|inner| last(inner) == "ConnectionInfo")
}

/// The last name of a type's path.
fn last(ty: &Type) -> String {
    match ty {
        Type::Path(path) => {
            path.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default()
        }
        _ => String::new(),
    }
}
