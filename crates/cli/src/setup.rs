//! From the command line and the environment to a registry of servers.

mod builtins;
mod model;
mod pinning;
mod trusting;

pub(crate) use builtins::builtin;
pub(crate) use model::{model, offer_configured};
pub(crate) use pinning::{ask, difference, remark, settle};
pub(crate) use trusting::{review, store};
use trusting::{trust, trusted};

use crate::args::Arguments;
use crate::environment;
use crate::exit::Failure;
use crate::frontend::Nobody;
use crate::print::{self, shown};
use crate::signals::unless_told;
use carrick::net::{HttpClient, Options};
use carrick::transport::child::Environment;
use carrick::types::Implementation;
use carrick_host::asks::{self, Asks};
use carrick_host::config::{
    Config, ConfigFile, Fault, Launch, Places, Server, Settings, Source, builtin_servers,
};
use carrick_host::model::Model;
use carrick_host::permission::Policy;
use carrick_host::registry::{Eras, Registry, RegistryOptions, ServerObserver};
use carrick_host::trust::TrustStore;
use carrick_host::turn::Frontend;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The page on the config file, for who has only the program.
pub(crate) const CONFIG_PAGE: &str =
    concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/config.md");

/// What most commands work with.
pub(crate) struct Setup {
    pub(crate) registry: Registry,
    pub(crate) policy: Policy,
    pub(crate) settings: Settings,
    pub(crate) http: HttpClient,
    asks: Arc<Asks>,
}

impl Setup {
    /// Reads the config and makes the registry; connects to nothing.
    pub(crate) async fn new(
        arguments: &Arguments,
        observer: Option<ServerObserver>,
    ) -> Result<Self, Failure> {
        Self::make(arguments, observer, None).await
    }

    /// The same, where servers may ask whoever is behind `frontend`.
    pub(crate) async fn asked(
        arguments: &Arguments,
        observer: Option<ServerObserver>,
        frontend: Arc<dyn Frontend>,
    ) -> Result<Self, Failure> {
        Self::make(arguments, observer, Some(frontend)).await
    }

    /// Does the work of a command, unless the process is told to end meanwhile, and
    /// ends the servers either way.
    pub(crate) async fn finish<T>(
        &self,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let outcome = unless_told(work).await;
        self.registry.close().await;
        outcome
    }

    /// Lets servers ask this model from now on, once a person permits it.
    pub(crate) fn offer_model(&self, model: &Arc<dyn Model>) {
        self.asks.use_model(model.clone());
    }

    async fn make(
        arguments: &Arguments,
        observer: Option<ServerObserver>,
        frontend: Option<Arc<dyn Frontend>>,
    ) -> Result<Self, Failure> {
        let places = places(arguments)?;
        let files = read(&places)?;
        let store = unless_told(trust(arguments, &files)).await?;
        Self::of(arguments, places, &files, store.as_ref(), observer, frontend)
    }

    /// The same of a config that has changed meanwhile: nobody is asked, and what
    /// has not been approved by now is an error.
    pub(crate) fn again(arguments: &Arguments) -> Result<Self, Failure> {
        let places = places(arguments)?;
        let files = read(&places)?;
        let store = trusted(&files)?;
        Self::of(arguments, places, &files, store.as_ref(), None, None)
    }

    fn of(
        arguments: &Arguments,
        places: Places,
        files: &[ConfigFile],
        store: Option<&TrustStore>,
        observer: Option<ServerObserver>,
        frontend: Option<Arc<dyn Frontend>>,
    ) -> Result<Self, Failure> {
        let approved = |file: &ConfigFile| {
            !file.needs_approval() || store.is_some_and(|store| store.is_trusted(file))
        };
        let mut config =
            Config::resolve(files, &approved, &environment::raw_variable, &places.current);
        // Settings alone take nothing away.
        if config.servers.is_empty() {
            let builtin = builtin_servers(&places.current);
            config.servers = builtin.into_iter().map(|s| (s.name.clone(), s)).collect();
        }
        for warning in config.warnings.iter().chain(&config.rules_without_server()) {
            print::say(format_args!("warning: {}", shown(&warning.to_string())));
        }
        if arguments.timeout.is_some() {
            // The flag counts over every config.
            config.servers.values_mut().for_each(|server| server.timeout = None);
        }
        let http = HttpClient::new(Options::default());
        // Servers offer tools by what is declared to them: it is the same where
        // nobody can be asked.
        let frontend = frontend.unwrap_or_else(|| Arc::new(Nobody));
        let roots = roots(&config.settings, files, &places.current);
        let roots = roots.iter().filter_map(|root| asks::folder(root)).collect();
        let asks = Asks::new(frontend, roots);
        let mut options = options(arguments, &config.settings, &http, places.current, observer);
        let builtin = |server: &Server| matches!(server.launch(), Some(Launch::Builtin { .. }));
        if !config.servers.values().all(builtin) {
            options.pins = pinning::pins()?;
            // What is found out once need not be found out again.
            let folder = environment::state_folder();
            options.eras = folder.map(|folder| Arc::new(Eras::open(folder.join("eras.json"))));
        }
        options.asks = Some(asks.clone());
        let policy = Policy::new(config.settings.rules.clone());
        let registry = Registry::new(config.servers.into_values(), options);
        Ok(Self { registry, policy, settings: config.settings, http, asks })
    }
}

/// The places to look for config files.
pub(crate) fn places(arguments: &Arguments) -> Result<Places, Failure> {
    let current = std::env::current_dir()
        .map_err(|error| Failure::failed(format!("the current folder is gone: {error}")))?;
    Ok(Places {
        explicit: arguments.config.clone(),
        current,
        home: environment::home(),
        xdg_config_home: environment::variable("XDG_CONFIG_HOME").map(PathBuf::from),
    })
}

/// All config files there are.
pub(crate) fn read(places: &Places) -> Result<Vec<ConfigFile>, Failure> {
    places.read().map_err(|error| {
        let failure = Failure::usage(shown(&error.to_string()));
        match error.fault() {
            // There is nothing to describe.
            Fault::Read(_) | Fault::NotAFile if places.explicit.is_some() => {
                failure.hint("--config or CARRICK_CONFIG names it; without them .mcp.json is used")
            }
            Fault::Read(_) | Fault::NotAFile => failure,
            _ => failure.hint(format!("{CONFIG_PAGE} describes the file")),
        }
    })
}

/// The folders that servers are told of: the config's, or the project.
fn roots(settings: &Settings, files: &[ConfigFile], current: &Path) -> Vec<PathBuf> {
    if let Some(roots) = &settings.roots {
        return roots.iter().map(|root| std::path::absolute(root).unwrap_or_default()).collect();
    }
    let project = files.iter().find(|file| file.source() == Source::Project);
    let project = project.and_then(|file| file.canonical_path().parent());
    vec![project.unwrap_or(current).to_owned()]
}

fn options(
    arguments: &Arguments,
    settings: &Settings,
    http: &HttpClient,
    current: PathBuf,
    observer: Option<ServerObserver>,
) -> RegistryOptions {
    let info = Implementation::new("carrick", env!("CARGO_PKG_VERSION"));
    let mut options = RegistryOptions::new(info, http.clone(), Arc::new(builtin));
    options.environment = Environment::capture();
    options.current = current;
    options.observer = observer;
    let limits = &settings.limits;
    if let Some(timeout) = limits.connect_timeout {
        options.connect_timeout = timeout;
        options.address_timeout = timeout;
    }
    if let Some(wait) = limits.startup_wait {
        options.startup_wait = wait;
    }
    if let Some(timeout) = limits.request_timeout {
        options.call.timeout = timeout;
    }
    if let Some(total) = limits.max_request_timeout {
        options.call.max_total = total;
    }
    options.message_bytes = limits.message_bytes.and_then(|bytes| usize::try_from(bytes).ok());
    if let Some(seconds) = arguments.timeout {
        options.call.timeout = Duration::from_secs_f64(seconds);
        options.call.max_total = options.call.max_total.max(options.call.timeout);
    }
    options
}
