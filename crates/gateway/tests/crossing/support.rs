//! Servers and clients pinned to a revision, and gateways between them.

use carrick::client::{ClientConfig, Hooks};
use carrick::net::{HttpClient, Options};
use carrick::proto::revision::Revision;
use carrick::server::{Principal, Service};
use carrick::transport::http::{
    HttpOptions, HttpServer, HttpServerOptions, HttpTransport, Identify,
};
use carrick::transport::memory;
use carrick::types::Implementation;
use carrick::{Client, Server};
use carrick_gateway::{ConnectError, Connector, Gateway, GatewayOptions, Upstream};
use futures_util::future::{BoxFuture, FutureExt};
use std::time::Duration;

/// How the two sides of a conversation are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    Memory,
    Http,
}

/// A server in this process.
pub(crate) enum Behind {
    Memory(Server),
    Http { url: String, http: HttpClient },
}

impl Behind {
    pub(crate) async fn new(server: Server, over: Over) -> Self {
        match over {
            Over::Memory => Self::Memory(server),
            Over::Http => Self::Http {
                url: listen(server, None).await,
                http: HttpClient::new(Options::default()),
            },
        }
    }
}

impl Upstream for Behind {
    fn tells_calls_apart(&self) -> bool {
        matches!(self, Self::Http { .. })
    }
}

impl Connector for Behind {
    fn name(&self) -> &str {
        "behind"
    }

    fn connect(
        &self,
        config: ClientConfig,
        hooks: Hooks,
    ) -> BoxFuture<'_, Result<Client, ConnectError>> {
        async move {
            let client = match self {
                Self::Memory(server) => joined(server.clone(), config, hooks).await,
                Self::Http { url, http } => over_http(http, url, config, hooks).await,
            };
            client.map_err(ConnectError::from)
        }
        .boxed()
    }
}

/// A gateway in front of a server.
pub(crate) async fn gateway(server: Server, over: Over) -> Gateway {
    let options = GatewayOptions::new(Implementation::new("gateway", "1"));
    gateway_with(server, over, options).await
}

pub(crate) async fn gateway_with(server: Server, over: Over, options: GatewayOptions) -> Gateway {
    Gateway::open(Behind::new(server, over).await, options).await.unwrap()
}

/// A client of this revision only.
pub(crate) async fn client(
    service: impl Service + Clone,
    over: Over,
    revision: Revision,
    hooks: impl Into<Hooks>,
) -> Client {
    client_of(service, over, None, revision, hooks).await
}

/// A client of this revision only, whose requests over HTTP are a principal's.
pub(crate) async fn client_of(
    service: impl Service + Clone,
    over: Over,
    who: Option<Principal>,
    revision: Revision,
    hooks: impl Into<Hooks>,
) -> Client {
    let mut config = ClientConfig::new(Implementation::new("client", "1"));
    config.revision = Some(revision);
    config.connect_timeout = Duration::from_secs(30);
    let connected = match over {
        Over::Memory => joined(service, config, hooks.into()).await,
        Over::Http => {
            let url = listen(service, who).await;
            over_http(&HttpClient::new(Options::default()), &url, config, hooks.into()).await
        }
    };
    connected.unwrap()
}

async fn joined(
    service: impl Service,
    config: ClientConfig,
    hooks: Hooks,
) -> Result<Client, carrick::client::ClientError> {
    let (ours, theirs) = memory();
    tokio::spawn(async move { carrick::serve(&service, theirs).await });
    Client::connect(ours, config, hooks).await
}

async fn over_http(
    http: &HttpClient,
    url: &str,
    config: ClientConfig,
    hooks: Hooks,
) -> Result<Client, carrick::client::ClientError> {
    let none: [(&str, &str); 0] = [];
    let transport = HttpTransport::new(http.clone(), url, none, HttpOptions::default()).unwrap();
    Client::connect(transport, config, hooks).await
}

async fn listen(service: impl Service, who: Option<Principal>) -> String {
    let mut options = HttpServerOptions::default();
    // What is told on the way must not wait for long.
    options.quiet = Duration::from_millis(50);
    options.identify = who.map(|who| {
        Identify::new(move |request| {
            request.extensions.insert(who.clone());
            Ok(())
        })
    });
    let http = HttpServer::bind(service, ([127, 0, 0, 1], 0).into(), options).await.unwrap();
    let url = format!("http://{}/mcp", http.local_addr());
    tokio::spawn(http.serve(std::future::pending()));
    url
}
