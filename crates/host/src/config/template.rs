//! What a file says before variables are filled in.

use std::time::Duration;

use super::settings::Limits;
use carrick_policy::{Effect, Pattern};

/// A string of the file, which may hold `${NAME}`.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) raw: String,
    /// The byte offset in the file.
    pub(crate) at: usize,
    /// Where it stands in the entry, such as `args[0]` or `env.TOKEN`.
    pub(crate) field: String,
}

/// A server as written.
#[derive(Debug)]
pub(crate) struct ServerTemplate {
    pub(crate) launch: LaunchTemplate,
    pub(crate) disabled: bool,
    pub(crate) timeout: Option<Duration>,
    pub(crate) session: SessionUse,
}

/// Which session of a server the calls have that come to a gateway over HTTP
/// without a session and without a principal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionUse {
    /// `"session": "per-call"`: each a fresh one, so that nothing of one client
    /// reaches another.
    #[default]
    PerCall,
    /// `"session": "shared"`: all of them one, so that the server's memory of one
    /// call is there in the next, whoever makes it.
    Shared,
}

#[derive(Debug)]
pub(crate) enum LaunchTemplate {
    Child {
        command: Text,
        args: Vec<Text>,
        env: Vec<(String, Text)>,
        cwd: Option<Text>,
    },
    Http {
        url: Text,
        headers: Vec<(String, Text)>,
        sse: bool,
    },
    Builtin {
        name: String,
        args: Vec<Text>,
    },
    /// A type that this version of Carrick knows of and cannot drive.
    Later {
        kind: Text,
    },
}

/// Everything in a file but its servers.
#[derive(Debug, Default)]
pub(crate) struct SettingsTemplate {
    pub(crate) model: Option<String>,
    pub(crate) models: Vec<ModelTemplate>,
    pub(crate) rules: Vec<RuleTemplate>,
    pub(crate) limits: Limits,
    /// Folders as written.
    pub(crate) roots: Option<Vec<String>>,
}

#[derive(Debug)]
pub(crate) struct ModelTemplate {
    pub(crate) name: String,
    pub(crate) provider: String,
    pub(crate) base_url: Option<Text>,
    pub(crate) api_key: Option<Text>,
}

#[derive(Debug)]
pub(crate) struct RuleTemplate {
    pub(crate) effect: Effect,
    pub(crate) pattern: Pattern,
    pub(crate) at: usize,
}

impl LaunchTemplate {
    /// Every string in which variables are filled in.
    pub(crate) fn texts(&self) -> Vec<&Text> {
        match self {
            Self::Child { command, args, env, cwd } => std::iter::once(command)
                .chain(args)
                .chain(env.iter().map(|(_, value)| value))
                .chain(cwd)
                .collect(),
            Self::Http { url, headers, .. } => {
                std::iter::once(url).chain(headers.iter().map(|(_, value)| value)).collect()
            }
            Self::Builtin { args, .. } => args.iter().collect(),
            Self::Later { .. } => Vec::new(),
        }
    }
}

impl Text {
    /// The first form of another host in the text. It stays literal here.
    pub(crate) fn foreign_form(&self) -> Option<&'static str> {
        let forms = ["${env:", "${input:", "${config:", "${command:"];
        forms.into_iter().find(|form| self.raw.contains(form))
    }
}
