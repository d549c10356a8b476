//! Server configuration: `.mcp.json` and Carrick's own settings.
//!
//! [`Places`] finds the files, [`ConfigFile`] reads one, and
//! [`Config::resolve`] puts them together: variables filled in, servers merged
//! by name, project files held back until a person has approved them (see
//! [`trust`](crate::trust)). What is wrong with one server disables that
//! server and no other; the error says where it stands in the file.
//!
//! The file is described in `docs/config.md`.

mod error;
mod expand;
mod file;
mod jsonc;
mod key;
mod launch;
mod locate;
mod resolve;
mod rules;
mod settings;
mod shape;
mod store;
mod template;
mod text;

#[cfg(test)]
mod tests;

pub use carrick_policy::{ContentHash, HashSyntax};
pub use error::{ConfigError, Fault, Warning, WarningKind};
pub use file::{ConfigFile, Source};
pub use launch::{ChildLaunch, HttpLaunch, Launch};
pub use locate::{PROJECT_FILE, Places};
pub use resolve::{Config, Origin, Server, ServerState, builtin_servers};
pub use rules::taken_places;
pub use settings::{Limits, ModelProvider, Secret, Settings};
pub use store::{StoreError, Unsafe, update};
pub use template::SessionUse;
pub use text::{MAX_FILE_BYTES, Position};

pub(crate) use expand::variables;
pub(crate) use key::{hex, path_key};
pub(crate) use store::{read_private, today};
pub(crate) use template::{LaunchTemplate, ModelTemplate, RuleTemplate, Text};
