//! How a server is started or reached, with every variable filled in.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::error::{Fault, Located};
use super::expand::expand;
use super::settings::Secret;
use super::template::{LaunchTemplate, Text};
use carrick_policy::visible;

/// How a server is started or reached.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Launch {
    /// A child process that speaks on its stdin and stdout.
    Child(ChildLaunch),
    /// An endpoint of Streamable HTTP or HTTP+SSE.
    Http(HttpLaunch),
    /// A server inside Carrick.
    Builtin {
        /// `time` or `files`.
        name: String,
        /// For `files`: the folder.
        args: Vec<OsString>,
    },
}

/// A program to start. It is never passed through a shell.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChildLaunch {
    /// The program: a path, or a name that is looked for in `PATH`.
    pub command: String,
    /// Its arguments, each passed as it is.
    pub args: Vec<String>,
    /// Variables set for it, on top of the cleaned environment.
    pub env: BTreeMap<String, Secret>,
    /// The folder in which it starts; `None` is the caller's own.
    pub cwd: Option<PathBuf>,
}

/// An endpoint to talk to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpLaunch {
    /// The address; `http` or `https`.
    pub url: http::Uri,
    /// Headers sent with every request, in the order of the file.
    pub headers: Vec<(String, Secret)>,
    /// Whether it is one of HTTP+SSE, the transport of 2024-11-05, for sure.
    pub sse: bool,
}

/// Where relative folders lead.
#[derive(Clone, Copy)]
pub(super) struct Folders<'a> {
    /// What relative folders are relative to.
    pub(super) base: &'a Path,
    /// Where a server starts that names no folder.
    pub(super) start: Option<&'a Path>,
}

impl LaunchTemplate {
    pub(super) fn fill(
        &self,
        env: &dyn Fn(&str) -> Option<String>,
        folders: Folders<'_>,
    ) -> Result<Launch, Located> {
        match self {
            Self::Child { command, args, env: variables, cwd } => {
                let launch = ChildLaunch {
                    command: program(command, env)?,
                    args: args.iter().map(|arg| expand(arg, env)).collect::<Result<_, _>>()?,
                    env: secrets(variables, env)?.into_iter().collect(),
                    cwd: match cwd {
                        Some(cwd) => Some(folders.base.join(expand(cwd, env)?)),
                        None => folders.start.map(Path::to_owned),
                    },
                };
                Ok(Launch::Child(launch))
            }
            Self::Http { url, headers, sse } => {
                let (url, headers) = (address(url, env)?, header_values(headers, env)?);
                Ok(Launch::Http(HttpLaunch { url, headers, sse: *sse }))
            }
            Self::Builtin { name, args } if name == "files" => {
                let folder = args.first().map(|arg| expand(arg, env)).transpose()?;
                let folder =
                    folder.map_or_else(|| folders.base.to_owned(), |to| folders.base.join(to));
                Ok(Launch::Builtin { name: name.clone(), args: vec![folder.into_os_string()] })
            }
            Self::Builtin { name, .. } => {
                Ok(Launch::Builtin { name: name.clone(), args: Vec::new() })
            }
            Self::Later { kind } => {
                Err(Located { at: kind.at, fault: Fault::Later { kind: kind.raw.clone() } })
            }
        }
    }
}

fn program(command: &Text, env: &dyn Fn(&str) -> Option<String>) -> Result<String, Located> {
    let filled = expand(command, env)?;
    if filled.is_empty() {
        return Err(invalid(command, "nothing is left once variables are filled in"));
    }
    Ok(filled)
}

/// An address with `http` or `https` and a host.
///
/// The message does not repeat the address: a variable in it may be a secret.
pub(super) fn address(
    text: &Text,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<http::Uri, Located> {
    let filled = expand(text, env)?;
    let uri = filled.parse::<http::Uri>().ok();
    let usable = |uri: &http::Uri| {
        matches!(uri.scheme_str(), Some("http" | "https"))
            && uri.host().is_some_and(|host| !host.is_empty())
    };
    uri.filter(usable).ok_or_else(|| invalid(text, &no_address(&text.raw, &filled)))
}

/// What to write instead of `filled`, which stands as `raw` in the file.
fn no_address(raw: &str, filled: &str) -> String {
    let begins = "an address begins with http:// or https:// and a host";
    match filled.split_once("://") {
        Some(("ws" | "wss", _)) => {
            format!("{begins}; WebSocket comes in a later version of Carrick")
        }
        Some(("http" | "https", rest)) if !rest.is_empty() && !rest.starts_with('/') => {
            "this is not a valid address; blanks and such are written as %20".into()
        }
        Some(_) => begins.into(),
        None if filled.starts_with(['/', ':', '.']) || filled.contains(char::is_whitespace) => {
            format!("{begins}, as in http://localhost:8123/mcp")
        }
        None => {
            let local = ["localhost", "127.", "[::1]", "0.0.0.0"];
            let scheme = match local.iter().any(|host| filled.starts_with(host)) {
                true => "http",
                false => "https",
            };
            // A query may hold a key.
            let raw = raw.split('?').next().unwrap_or_default();
            format!("an address begins with http:// or https://: write {scheme}://{}", visible(raw))
        }
    }
}

fn header_values(
    headers: &[(String, Text)],
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<(String, Secret)>, Located> {
    let filled = secrets(headers, env)?;
    for ((_, text), (_, value)) in headers.iter().zip(&filled) {
        if http::HeaderValue::from_str(value.expose()).is_err() {
            return Err(invalid(text, "a header value holds no line ends or control characters"));
        }
    }
    Ok(filled)
}

fn secrets(
    values: &[(String, Text)],
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<(String, Secret)>, Located> {
    let fill = |(name, text): &(String, Text)| Ok((name.clone(), Secret::new(expand(text, env)?)));
    values.iter().map(fill).collect()
}

fn invalid(text: &Text, reason: &str) -> Located {
    let fault = Fault::Invalid { field: text.field.clone(), reason: reason.to_owned() };
    Located { at: text.at, fault }
}
