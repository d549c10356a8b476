//! Attribute macros of the Carrick SDK.
//!
//! They expand to the public function API of the `carrick` crate and to
//! nothing that could not be written by hand.

mod item;
mod params;
mod prompt;
mod resource;
#[cfg(test)]
mod tests;
mod texts;
mod tool;

use proc_macro::TokenStream;

/// Makes an async function a tool.
///
/// The function stays as it is and can be called as before; beside it stands
/// what `carrick::tools!` needs. The doc comment is the description, the
/// name the tool's name. Parameters are of two kinds:
///
/// - extractors: those whose types are named `Args`, `State`, `Context`, `Texts`,
///   `Server`, `CallInfo`, `Principal` or `Extension` (these two also as an
///   `Option`), and `Arc<ConnectionInfo>`;
/// - plain ones: each becomes a property of the input schema, with the doc
///   comment on it as its description. `Option<T>` may be left out, and so may
///   one with `#[default]` or `#[default(expression)]`. With `#[header("Name")]`
///   clients mirror it into the HTTP header `Mcp-Param-Name`.
///
/// Options, in any order: `name = "…"`, `title = "…"`, `description = "…"`,
/// `read_only` or `destructive`, `idempotent`.
#[proc_macro_attribute]
pub fn tool(options: TokenStream, function: TokenStream) -> TokenStream {
    tool::expand(options.into(), function.into())
        .unwrap_or_else(|error| error.into_compile_error())
        .into()
}

/// Makes an async function a prompt.
///
/// The doc comment is the description, the name the prompt's name. Plain
/// parameters are its arguments, with the doc comments on them as descriptions:
/// of any type that a text can be parsed as. `Option<T>` may be left out, and so
/// may one with `#[default]` or `#[default(expression)]`. `#[complete("a", "b")]`
/// completes one from values, `#[complete(function)]` by a function. Extractors
/// are taken as by [`macro@tool`].
///
/// The function returns a text, a message or several, a whole `GetPromptResult`,
/// or a `Result` of these. Options: `name = "…"`, `title = "…"`,
/// `description = "…"`.
#[proc_macro_attribute]
pub fn prompt(options: TokenStream, function: TokenStream) -> TokenStream {
    prompt::expand(options.into(), function.into())
        .unwrap_or_else(|error| error.into_compile_error())
        .into()
}

/// Makes an async function what reads a resource, or a family of them.
///
/// The first option is the URI, or a template of URIs (RFC 6570, level 1) whose
/// variables are the function's plain parameters: `#[resource("notes://{name}")]`.
/// The doc comment is the description, the function's name the resource's.
/// `#[complete("a", "b")]` and `#[complete(function)]` on a parameter complete
/// a variable. Extractors are taken as by [`macro@tool`].
///
/// The function returns a text, bytes, `ResourceContents`, several of them, or a
/// `Result` of these. Further options: `name = "…"`, `title = "…"`,
/// `description = "…"`, `mime_type = "…"`.
#[proc_macro_attribute]
pub fn resource(options: TokenStream, function: TokenStream) -> TokenStream {
    resource::expand(options.into(), function.into())
        .unwrap_or_else(|error| error.into_compile_error())
        .into()
}
