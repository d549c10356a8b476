//! What is measured: servers and gateways, run to their end on the thread that asks.

use std::os::unix::net::UnixStream;
use std::thread;

use carrick::client::{ClientConfig, Era, Hooks};
use carrick::net::{HttpClient, Options};
use carrick::server::Service;
use carrick::transport::LineTransport;
use carrick::transport::http::{HttpOptions, HttpServer, HttpServerOptions, HttpTransport};
use carrick::types::Implementation;
use carrick::{Client, Server, tool, tools};
use carrick_gateway::{ConnectError, Connector, Gateway, GatewayOptions, Upstream};
use carrick_proto::revision::Revision;
use futures_util::future::{BoxFuture, FutureExt};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

use crate::{Result, peers};
use micro::messages::has_session;

/// How messages travel.
#[derive(Clone, Copy)]
pub(crate) enum Over {
    Lines,
    Http,
}

/// So many calls of one size.
#[derive(Clone, Copy)]
pub(crate) struct Work<'a> {
    pub(crate) text: &'a str,
    pub(crate) calls: u64,
}

/// Echo the message back
#[tool]
async fn echo(message: String) -> String {
    message
}

/// Calls of a server of ours.
pub(crate) fn server(over: Over, revision: Revision, work: Work<'_>) -> Result<()> {
    let server = Server::builder("echo", "1.0.0").tools(tools![echo]).build();
    runtime()?.block_on(serve(server, over, revision, work))
}

/// Calls through a gateway, from a client of one revision to a server of another.
pub(crate) fn gateway(over: Over, from: Revision, to: Revision, work: Work<'_>) -> Result<()> {
    runtime()?.block_on(async {
        let behind = Behind::new(over, to)?;
        let options = GatewayOptions::new(Implementation::new("gateway", "1"));
        let gateway = Gateway::open(behind, options).await?;
        serve(gateway.clone(), over, from, work).await?;
        gateway.close().await;
        Ok(())
    })
}

/// Calls of a client of ours, to a server over lines.
pub(crate) fn client(revision: Revision, work: Work<'_>) -> Result<()> {
    let arguments = serde_json::json!({ "message": work.text }).to_string();
    runtime()?.block_on(async {
        let config = ClientConfig::new(Implementation::new("client", "1"));
        let client = connect(config, Hooks::default(), revision).await?;
        for _ in 0..work.calls {
            client.call_tool("echo", arguments.as_bytes()).await?;
        }
        client.close().await;
        Ok(())
    })
}

fn runtime() -> Result<Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

/// Serves one client, which makes its calls in another thread, until it is done.
async fn serve(
    service: impl Service,
    over: Over,
    revision: Revision,
    work: Work<'_>,
) -> Result<()> {
    let (text, calls) = (work.text.to_owned(), work.calls);
    let client = match over {
        Over::Lines => {
            let (ours, theirs) = UnixStream::pair()?;
            let client =
                thread::spawn(move || peers::call_by_lines(theirs, revision, &text, calls));
            let (reader, writer) = halves(ours)?;
            carrick::serve(&service, LineTransport::new(reader, writer)).await?;
            client
        }
        Over::Http => {
            let address = ([127, 0, 0, 1], 0).into();
            let http = HttpServer::bind(service, address, HttpServerOptions::default()).await?;
            let address = http.local_addr();
            let (done, is_done) = oneshot::channel::<()>();
            let client = thread::spawn(move || {
                let called = peers::call_by_http(address, revision, &text, calls);
                drop(done);
                called
            });
            // It is done when the sender is dropped.
            http.serve(async { drop(is_done.await) }).await?;
            client
        }
    };
    client.join().map_err(|_| "the client panicked")?
}

fn halves(
    stream: UnixStream,
) -> std::io::Result<(
    impl AsyncRead + Unpin + Send + 'static,
    impl AsyncWrite + Unpin + Send + 'static,
)> {
    stream.set_nonblocking(true)?;
    Ok(tokio::net::UnixStream::from_std(stream)?.into_split())
}

/// A server behind a gateway.
enum Behind {
    Lines(Revision),
    Http { revision: Revision, url: String, http: Box<HttpClient> },
}

impl Behind {
    fn new(over: Over, revision: Revision) -> Result<Self> {
        Ok(match over {
            Over::Lines => Self::Lines(revision),
            Over::Http => {
                let url = format!("http://{}/mcp", peers::serve_http(revision)?);
                Self::Http { revision, url, http: HttpClient::new(Options::default()).into() }
            }
        })
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
        mut config: ClientConfig,
        hooks: Hooks,
    ) -> BoxFuture<'_, std::result::Result<Client, ConnectError>> {
        async move {
            match self {
                Self::Lines(revision) => connect(config, hooks, *revision).await,
                Self::Http { revision, url, http } => {
                    config.era = Some(era(*revision));
                    let none: [(&str, &str); 0] = [];
                    let options = HttpOptions::default();
                    let transport =
                        HttpTransport::new(HttpClient::clone(http), url, none, options)?;
                    Ok(Client::connect(transport, config, hooks).await?)
                }
            }
        }
        .boxed()
    }
}

/// A connection to a server over lines.
async fn connect(mut config: ClientConfig, hooks: Hooks, revision: Revision) -> Result<Client> {
    config.era = Some(era(revision));
    let (reader, writer) = halves(peers::serve_lines(revision)?)?;
    Ok(Client::connect(LineTransport::new(reader, writer), config, hooks).await?)
}

fn era(revision: Revision) -> Era {
    if has_session(revision) { Era::Legacy } else { Era::Modern }
}
