//! Attribute macros of the Carrick SDK.
//!
//! They expand to the public function API of the `carrick` crate and to
//! nothing that could not be written by hand.

mod params;
mod tool;

use proc_macro::TokenStream;

/// Makes an async function a tool.
///
/// The function stays as it is and can be called as before; beside it stands
/// what `carrick::tools!` needs. The doc comment is the description, the
/// name the tool's name. Parameters are of two kinds:
///
/// - extractors: those whose types are named `Args`, `State` or `Context`;
/// - plain ones: each becomes a property of the input schema, with the doc
///   comment on it as its description. `Option<T>` may be left out, and so may
///   one with `#[default]` or `#[default(expression)]`.
///
/// Options, in any order: `name = "…"`, `title = "…"`, `description = "…"`,
/// `read_only` or `destructive`, `idempotent`.
#[proc_macro_attribute]
pub fn tool(options: TokenStream, function: TokenStream) -> TokenStream {
    tool::expand(options.into(), function.into())
        .unwrap_or_else(|error| error.into_compile_error())
        .into()
}
