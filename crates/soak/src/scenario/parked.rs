//! Calls without a session to a server with sessions, which asks about each: the
//! gateway parks as many as it may, and refuses the rest in clear words.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use carrick::Client;
use carrick::client::{ClientConfig, Hooks};
use carrick::net::{HttpClient, Options};
use carrick::proto::revision::Revision;
use carrick::server::Service;
use carrick::transport::http::{HttpOptions, HttpServer, HttpServerOptions, HttpTransport};
use carrick::types::Implementation;
use carrick_gateway::{ConnectError, Connector, Gateway, GatewayOptions, Upstream};
use carrick_testkit::crossing::server;
use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::{StreamExt, iter};
use serde_json::{Value, json};

use super::Outcome;
use super::memory::resident_kib;
use super::raw::{Result, Target, whole};

const CALLS: u64 = 10_000;

/// Calls at a time.
const ABREAST: usize = 64;

/// How long a call stays parked here: longer than all of them take.
const LIFETIME: Duration = Duration::from_secs(240);

/// The server behind the gateway.
struct Behind {
    url: String,
    http: HttpClient,
}

impl Upstream for Behind {
    fn tells_calls_apart(&self) -> bool {
        true
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
    ) -> BoxFuture<'_, std::result::Result<Client, ConnectError>> {
        async move {
            let none: [(&str, &str); 0] = [];
            let options = HttpOptions::default();
            let transport = HttpTransport::new(self.http.clone(), &self.url, none, options)
                .map_err(ConnectError::new)?;
            Ok(Client::connect(transport, config, hooks).await?)
        }
        .boxed()
    }
}

/// What became of a call.
enum Became {
    Parked(Value),
    Refused,
}

pub(super) async fn run(time: Duration) -> Outcome {
    let upstream = listen(server(Revision::NEWEST_HANDSHAKE)).await?;
    let url = format!("http://{upstream}/mcp");
    let behind = Behind { url, http: HttpClient::new(Options::default()) };
    let mut options = GatewayOptions::new(Implementation::new("soak", "1"));
    options.parked.lifetime = LIFETIME;
    let bound = options.parked.count;
    let gateway = Gateway::open(behind, options).await?;
    let target = Target::new(listen(gateway.clone()).await?);
    let mut lines = Vec::new();
    let begin = Instant::now();
    loop {
        let round = Instant::now();
        let parked = park(&gateway, &target, bound).await;
        if round.elapsed() >= LIFETIME {
            return Err(
                "the machine is too slow: the first calls expired before the last came".into()
            );
        }
        let parked = parked?;
        // One of them still comes to its end, and its place is free then.
        let answered = answers(&parked)?;
        let done = whole(target.call_alone(CALLS + 1, "ask_name", &answered).await?).await?;
        let text = &done.last().ok_or("no answer")?["result"]["content"][0]["text"];
        if !text.as_str().is_some_and(|text| text.starts_with("accepted")) {
            return Err(format!("a parked call does not go on: {done:?}").into());
        }
        tokio::time::sleep(LIFETIME + Duration::from_secs(5)).await;
        if gateway.parked() != (0, 0) {
            return Err(format!("still parked: {:?}", gateway.parked()).into());
        }
        let memory = resident_kib(std::process::id())?;
        lines.push(format!(
            "{CALLS} calls: {bound} parked, {} refused, none left; {memory} KiB",
            CALLS - bound as u64
        ));
        if begin.elapsed() >= time {
            return Ok(lines);
        }
    }
}

/// Makes all calls; the answer to one that was parked.
async fn park(gateway: &Gateway, target: &Target, bound: usize) -> Result<Value> {
    let calls = iter(0..CALLS).map(|number| call(target, number, bound));
    let became: Vec<_> = calls.buffer_unordered(ABREAST).collect().await;
    let mut parked = Vec::new();
    for became in became {
        if let Became::Parked(asked) = became? {
            parked.push(asked);
        }
    }
    let (count, bytes) = gateway.parked();
    if parked.len() != bound || count != bound {
        return Err(format!("{} parked, {count} kept, {bound} allowed", parked.len()).into());
    }
    if bytes > 64 << 20 {
        return Err(format!("{bytes} bytes are parked").into());
    }
    Ok(parked.swap_remove(0))
}

async fn call(target: &Target, number: u64, bound: usize) -> Result<Became> {
    let messages = whole(target.call_alone(number, "ask_name", &json!({})).await?).await?;
    let answer = messages.last().ok_or("no answer")?;
    if answer["result"]["resultType"] == "input_required" {
        return Ok(Became::Parked(answer.clone()));
    }
    let expected = format!("{bound} calls wait for input already");
    match answer["error"]["message"].as_str() {
        Some(text) if text.contains(&expected) => Ok(Became::Refused),
        _ => Err(format!("call {number} is neither parked nor refused: {answer}").into()),
    }
}

/// What a client that comes back brings along.
fn answers(asked: &Value) -> Result<Value> {
    let result = &asked["result"];
    let questions = result["inputRequests"].as_object().ok_or("no questions")?;
    let answer = json!({ "action": "accept", "content": { "name": "Ada" } });
    let answers: serde_json::Map<_, _> =
        questions.keys().map(|key| (key.clone(), answer.clone())).collect();
    Ok(json!({ "requestState": result["requestState"], "inputResponses": answers }))
}

async fn listen(service: impl Service) -> Result<SocketAddr> {
    let mut options = HttpServerOptions::default();
    options.max_calls = usize::try_from(CALLS)?;
    let http = HttpServer::bind(service, ([127, 0, 0, 1], 0).into(), options).await?;
    let address = http.local_addr();
    tokio::spawn(http.serve(std::future::pending()));
    Ok(address)
}
