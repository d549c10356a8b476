//! `carrick serve`

mod reload;

use super::server::{http, revisions, told_to_end};
use crate::args::{Arguments, Serve};
use crate::exit::{Code, Failure};
use crate::print::{self, shown};
use crate::setup::Setup;
use crate::signals::unless_told;
use carrick::Client;
use carrick::client::{ClientConfig, Hooks};
use carrick::transport::{LineTransport, stdio};
use carrick::types::Implementation;
use carrick_gateway::{ConnectError, Connector, Gateway, GatewayOptions, Sharing, Upstream};
use carrick_host::config::{Launch, SessionUse};
use carrick_host::permission::quoted;
use carrick_host::registry::{Opener, Registry, ServerError};
use futures_util::future::{BoxFuture, FutureExt};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Offers a configured server to clients of any revision, until it is told to
/// end or its client has gone.
pub(super) async fn run(arguments: &Arguments, serve: &Serve) -> Result<ExitCode, Failure> {
    // Before the config is read, so that no change of it is missed.
    let files = reload::look(arguments).await;
    let setup = Setup::new(arguments, None).await?;
    let name = one_of(&setup.registry, serve.server.as_deref())?;
    let configured = Arc::new(Configured::new(&setup.registry, &name)?);
    let info = Implementation::new("carrick", env!("CARGO_PKG_VERSION"));
    let mut options = GatewayOptions::new(info);
    options.sharing = configured.sharing();
    options.startup_wait = Some(setup.registry.startup_wait());
    let gateway = Gateway::open(Current(configured.clone()), options);
    let gateway = unless_told(async { gateway.await.map_err(unreachable) }).await?;
    if !gateway.is_ready() {
        print::say(format_args!(
            "still starting: {}; its tools are told of when they are there",
            quoted(gateway.server())
        ));
    }
    if serve.http.is_some() && gateway.has_sessions() && configured.sharing() == Sharing::PerCall {
        print::say(format_args!(
            "{} may remember between calls: each call without a session starts it afresh; \"session\": \"shared\" \
             in its entry lets them all share one",
            quoted(gateway.server())
        ));
    }
    let serving = async {
        match &serve.http {
            Some(address) => {
                http(gateway.clone(), &quoted(&name), address, &serve.allow_host).await
            }
            None => on_stdio(&gateway).await,
        }
    };
    let served = tokio::select! {
        served = serving => served,
        never = reload::follow(arguments, &gateway, configured, files) => match never {},
    };
    gateway.close().await;
    served
}

async fn on_stdio(gateway: &Gateway) -> Result<ExitCode, Failure> {
    let streams = stdio::take().map_err(Failure::failed)?;
    let transport = LineTransport::new(streams.0, streams.1);
    print::say(format_args!(
        "serving {} on stdin and stdout ({}); Ctrl-C ends it",
        quoted(gateway.server()),
        revisions()
    ));
    let served = carrick::serve_until(gateway, transport, Default::default(), told_to_end());
    served.await.map_err(Failure::failed)?;
    Ok(ExitCode::SUCCESS)
}

/// The server that was named, or the only one there is.
fn one_of(registry: &Registry, named: Option<&str>) -> Result<String, Failure> {
    if let Some(name) = named {
        return Ok(name.to_owned());
    }
    let names: Vec<&str> = registry.names().collect();
    match names[..] {
        [only] => Ok(only.to_owned()),
        _ => {
            let names: Vec<String> = names.iter().map(|name| shown(name)).collect();
            let text = "more than one server is configured: say which by --server";
            Err(Failure::usage(text).hint(format!("there are: {}", names.join(", "))))
        }
    }
}

fn unreachable(error: ConnectError) -> Failure {
    match error.downcast_ref::<ServerError>() {
        Some(error) => Failure::from(error.clone()),
        None => Failure::new(Code::Unreachable, shown(&error.to_string())),
    }
}

/// A server of the config, as it says now.
struct Configured {
    name: String,
    /// What it was when the gateway was opened.
    session: SessionUse,
    state: Mutex<(Opener, Option<Launch>)>,
}

impl Configured {
    fn new(registry: &Registry, name: &str) -> Result<Self, Failure> {
        let launch = registry.configured(name).and_then(|server| server.launch().cloned());
        let session = registry.configured(name).map(|server| server.session).unwrap_or_default();
        let opener = registry.opener(name)?;
        Ok(Self { name: name.to_owned(), session, state: Mutex::new((opener, launch)) })
    }

    fn sharing(&self) -> Sharing {
        match self.session {
            SessionUse::Shared => Sharing::Shared,
            _ => Sharing::PerCall,
        }
    }

    /// How it is started or reached, when it may be.
    fn launch(&self) -> Option<Launch> {
        self.state().1.clone()
    }

    fn opener(&self) -> Opener {
        self.state().0.clone()
    }

    fn renew(&self, opener: Opener, launch: Option<Launch>) {
        *self.state() = (opener, launch);
    }

    fn state(&self) -> MutexGuard<'_, (Opener, Option<Launch>)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// It as what a gateway stands in front of.
struct Current(Arc<Configured>);

impl Upstream for Current {
    fn tells_calls_apart(&self) -> bool {
        self.0.opener().is_http()
    }
}

impl Connector for Current {
    fn name(&self) -> &str {
        &self.0.name
    }

    fn connect(
        &self,
        config: ClientConfig,
        hooks: Hooks,
    ) -> BoxFuture<'_, Result<Client, ConnectError>> {
        let opener = self.0.opener();
        async move { opener.open(config, hooks).await.map_err(ConnectError::new) }.boxed()
    }
}
