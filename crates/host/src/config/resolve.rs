//! All files together: which servers there are, and what holds for them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::{ConfigError, Located, Warning};
use super::expand::expand;
use super::file::{ConfigFile, ServerEntry, Source};
use super::key::path_key;
use super::launch::{self, Folders, Launch};
use super::rules::Rules;
use super::settings::{ModelProvider, Secret, Settings};
use super::template::{ModelTemplate, SessionUse, Text};
use super::text::Position;

/// Where a server was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Whose file it is.
    pub source: Source,
    /// The file; `None` for what is built in.
    pub file: Option<PathBuf>,
    /// Where in the file.
    pub position: Option<Position>,
}

/// One server, ready or not.
#[derive(Debug)]
#[non_exhaustive]
pub struct Server {
    /// Its name, unique in the config.
    pub name: String,
    /// Where it was written.
    pub origin: Origin,
    /// The time for a request, in place of the general one.
    pub timeout: Option<Duration>,
    /// What calls of clients without a session share at it, through a gateway.
    pub session: SessionUse,
    /// Whether and how it can be started.
    pub state: ServerState,
}

/// Whether and how a server can be started.
#[derive(Debug)]
#[non_exhaustive]
pub enum ServerState {
    /// It can be started.
    Ready(Launch),
    /// The config says `"disabled": true`: it is never started.
    Disabled,
    /// It stands in a project file that nobody has approved.
    Unapproved,
    /// Something is wrong with its entry, or a variable is not set. The other
    /// servers are not touched by that.
    Broken(ConfigError),
}

/// What all config files say together.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Config {
    /// The servers by name.
    pub servers: BTreeMap<String, Server>,
    /// Everything else.
    pub settings: Settings,
    /// What was noticed, file by file.
    pub warnings: Vec<Warning>,
    rules: Rules,
}

impl Server {
    /// A key for this server that stays the same from run to run and differs
    /// between projects that use the same name. For stores such as
    /// [`Pins`](crate::permission::Pins).
    pub fn key(&self) -> String {
        match (&self.origin.source, &self.origin.file) {
            (Source::Project | Source::Explicit, Some(file)) => {
                format!("{}#{}", path_key(file), self.name)
            }
            _ => self.name.clone(),
        }
    }

    /// How to start it, when it can be started.
    pub fn launch(&self) -> Option<&Launch> {
        match &self.state {
            ServerState::Ready(launch) => Some(launch),
            _ => None,
        }
    }
}

impl Config {
    /// Puts files together, the weakest first: a later file's server takes the
    /// place of an earlier one of the same name, its settings count over
    /// earlier ones, and its permission rules are added. What a file allows, it
    /// allows for its own servers and those of earlier files, a project for its
    /// own only.
    ///
    /// `approved` says whether a person has approved a file; it is asked only
    /// for those that need it. A file that is not approved takes part in
    /// nothing, but that its servers are listed as
    /// [`Unapproved`](ServerState::Unapproved) where the name is free.
    ///
    /// `env` gives the variables and `current` is the current folder. Relative
    /// folders are relative to the project file's folder in a project file,
    /// and to `current` in all others.
    pub fn resolve(
        files: &[ConfigFile],
        approved: &dyn Fn(&ConfigFile) -> bool,
        env: &dyn Fn(&str) -> Option<String>,
        current: &Path,
    ) -> Self {
        let mut config = Self::default();
        for (rank, file) in files.iter().enumerate() {
            config.warnings.extend_from_slice(file.warnings());
            if file.needs_approval() && !approved(file) {
                config.hold(file);
            } else {
                config.take(file, rank, env, current);
            }
        }
        let (rules, warnings) = config.rules.resolve();
        config.settings.rules = rules;
        config.warnings.extend(warnings);
        config
    }

    /// Warnings of permission rules that are about no server there is, with the name that
    /// is most like the one written. To be asked for once [`servers`](Self::servers) holds
    /// all that serve, the built-in ones too.
    pub fn rules_without_server(&self) -> Vec<Warning> {
        self.rules.without_server(self.servers.keys().map(String::as_str))
    }

    fn hold(&mut self, file: &ConfigFile) {
        for entry in file.servers() {
            self.servers.entry(entry.name.clone()).or_insert_with(|| Server {
                name: entry.name.clone(),
                origin: origin(file, entry.position),
                timeout: None,
                session: SessionUse::default(),
                state: ServerState::Unapproved,
            });
        }
    }

    fn take(
        &mut self,
        file: &ConfigFile,
        rank: usize,
        env: &dyn Fn(&str) -> Option<String>,
        current: &Path,
    ) {
        let project = file.path().parent().filter(|_| file.source() == Source::Project);
        let folders = Folders { base: project.unwrap_or(current), start: project };
        for entry in file.servers() {
            self.servers.insert(entry.name.clone(), server(file, entry, env, folders));
            self.rules.own(&entry.name, rank);
        }
        let settings = file.settings();
        if let Some(model) = &settings.model {
            self.settings.model = Some(model.clone());
        }
        for template in &settings.models {
            let provider = model_provider(template, env).map_err(|located| file.error(located));
            self.settings.models.insert(template.name.clone(), provider);
        }
        if let Some(roots) = &settings.roots {
            let roots = roots.iter().map(|root| folders.base.join(root)).collect();
            self.settings.roots = Some(roots);
        }
        self.settings.limits = self.settings.limits.overlaid(&settings.limits);
        for rule in &settings.rules {
            self.rules.add(file, rank, rule);
        }
    }
}

/// The servers that serve when there is no config at all: `time`, and `files`
/// over the folder `root`, to read only.
pub fn builtin_servers(root: &Path) -> Vec<Server> {
    let server = |name: &str, args: Vec<OsString>| Server {
        name: name.to_owned(),
        origin: Origin { source: Source::Builtin, file: None, position: None },
        timeout: None,
        session: SessionUse::default(),
        state: ServerState::Ready(Launch::Builtin { name: name.to_owned(), args }),
    };
    vec![server("time", Vec::new()), server("files", vec![root.as_os_str().to_owned()])]
}

fn server(
    file: &ConfigFile,
    entry: &ServerEntry,
    env: &dyn Fn(&str) -> Option<String>,
    folders: Folders<'_>,
) -> Server {
    let (timeout, state) = match &entry.template {
        Err(error) => (None, ServerState::Broken(error.clone())),
        Ok(template) if template.disabled => (template.timeout, ServerState::Disabled),
        Ok(template) => match template.launch.fill(env, folders) {
            Ok(launch) => (template.timeout, ServerState::Ready(launch)),
            Err(located) => {
                let error = file.error(located).in_server(&entry.name);
                (template.timeout, ServerState::Broken(error))
            }
        },
    };
    let origin = origin(file, entry.position);
    let session = entry.template.as_ref().map_or_else(|_| SessionUse::default(), |t| t.session);
    Server { name: entry.name.clone(), origin, timeout, session, state }
}

fn origin(file: &ConfigFile, position: Position) -> Origin {
    let (source, path) = (file.source(), file.canonical_path().to_owned());
    Origin { source, file: Some(path), position: Some(position) }
}

fn model_provider(
    template: &ModelTemplate,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<ModelProvider, Located> {
    if let Some(url) = &template.base_url {
        launch::address(url, env)?;
    }
    let fill = |text: &Option<Text>| text.as_ref().map(|text| expand(text, env)).transpose();
    Ok(ModelProvider {
        provider: template.provider.clone(),
        base_url: fill(&template.base_url)?,
        api_key: fill(&template.api_key)?.map(Secret::new),
    })
}
