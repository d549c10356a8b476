//! What handlers learn of those who call them, without HTTP.

use super::*;
use crate::client::Handlers;
use crate::server::{CallInfo, ConnectionInfo, Extension, Principal, TransportKind};
use crate::{ServeOptions, prompt, prompts, serve_with};
use std::sync::Arc;

#[derive(Clone)]
struct Desk(u32);

/// Says who called.
#[tool]
async fn whoami(
    context: Context,
    info: CallInfo,
    principal: Option<Principal>,
    desk: Option<Extension<Desk>>,
) -> String {
    assert!(context.http().is_none() && info.headers().is_none());
    let connection = context.connection();
    assert!(!connection.is_stateless_request());
    let remote = connection.remote_addr().map(ToString::to_string);
    let desk = desk.map(|desk| desk.0.0);
    format!("{:?} {remote:?} {:?} {desk:?}", connection.transport(), principal)
}

/// Greets whoever is known.
#[prompt]
async fn greeting(principal: Principal) -> String {
    format!("hello {}", principal.subject())
}

/// A shelf of one's own.
struct OwnShelf;

fn owner(info: &CallInfo) -> &str {
    info.principal().map_or("nobody", Principal::subject)
}

impl ResourceSource for OwnShelf {
    fn list<'a>(
        &'a self,
        _: Option<&'a str>,
        info: &'a CallInfo,
    ) -> BoxFuture<'a, Result<ListResourcesResult, RpcError>> {
        ready(Ok(vec![Resource::new(format!("shelf://{}", owner(info)), "own")].into())).boxed()
    }

    fn read<'a>(
        &'a self,
        uri: &'a str,
        info: &'a CallInfo,
    ) -> BoxFuture<'a, Result<ReadResourceResult, RpcError>> {
        let is_own = uri.strip_prefix("shelf://") == Some(owner(info));
        let contents = ResourceContents::text(uri, owner(info));
        ready(if is_own { Ok(ReadResourceResult::one(contents)) } else { Err(not_found(uri)) })
            .boxed()
    }
}

/// Completes by one's own name.
async fn names(typed: Completing) -> Vec<String> {
    vec![owner(typed.info.as_ref().unwrap()).to_owned()]
}

/// Takes a name.
#[prompt]
async fn named(#[complete(names)] name: String) -> String {
    name
}

/// Asks for the client's folders.
#[tool]
async fn folders(context: Context) -> Result<String, ToolError> {
    let roots = context.roots().await?;
    Ok(roots.into_iter().map(|root| root.uri).collect())
}

fn server() -> Server {
    Server::builder("s", "1")
        .tools(tools![whoami, folders])
        .prompts(prompts![greeting, named])
        .resources(OwnShelf)
        .build()
}

async fn connect(server: &Server, info: Option<ConnectionInfo>, era: Era) -> Client {
    let (ours, theirs) = memory();
    let options = ServeOptions { connection: info.map(Arc::new), ..ServeOptions::default() };
    let server = server.clone();
    tokio::spawn(async move { serve_with(&server, theirs, options).await });
    let mut config = ClientConfig::new(Implementation::new("tests", "0"));
    config.era = Some(era);
    let roots = Handlers::new().roots(|| async { Ok(Vec::new()) });
    Client::connect(ours, config, roots).await.unwrap()
}

fn of(subject: &str) -> ConnectionInfo {
    ConnectionInfo::new(TransportKind::Other("pipe")).with_principal(Principal::new("os", subject))
}

async fn text(client: &Client) -> String {
    client.call_tool("whoami", b"{}").await.unwrap().content[0].as_text().unwrap().to_owned()
}

#[tokio::test]
async fn a_connection_says_who_sends_all_its_calls() {
    for era in [Era::Legacy, Era::Modern] {
        let client = connect(&server(), None, era).await;
        assert_eq!(text(&client).await, "InMemory None None None");
        let Err(error) = client.get_prompt("greeting", &Default::default()).await else {
            panic!("answered nobody")
        };
        let Some(CallError::Rpc(error)) = error.call() else { panic!("{error}") };
        assert!(error.message.contains("principal"), "{error}");

        let address: std::net::SocketAddr = ([127, 0, 0, 1], 9).into();
        let info = of("ada").with_remote_addr(address).with_extension(Desk(7));
        let client = connect(&server(), Some(info), era).await;
        let expected = r#"Other("pipe") Some("127.0.0.1:9") Some(Principal("os", "ada")) Some(7)"#;
        assert_eq!(text(&client).await, expected);
        let prompt = client.get_prompt("greeting", &Default::default()).await.unwrap();
        assert_eq!(prompt.messages[0].content.as_text(), Some("hello ada"));
    }
}

#[tokio::test]
async fn sources_and_completions_know_who_asks() {
    for era in [Era::Legacy, Era::Modern] {
        for (info, name) in [(Some(of("ada")), "ada"), (Some(of("bob")), "bob"), (None, "nobody")] {
            let client = connect(&server(), info, era).await;
            let own = format!("shelf://{name}");
            assert_eq!(client.list_resources().await.unwrap()[0].uri, own);
            assert!(client.read_resource(&own).await.is_ok());
            assert!(client.read_resource("shelf://eve").await.is_err());
            let params = br#"{"ref":{"type":"ref/prompt","name":"named"},"argument":{"name":"name","value":""}}"#;
            let completed = client.once_for_tests("completion/complete", params.to_vec()).await;
            let completed = completed.unwrap().read::<Value>().unwrap();
            assert_eq!(completed["completion"]["values"], json!([name]));
        }
    }
}

#[tokio::test]
async fn a_state_is_good_for_its_own_principal_only() {
    let server = server();
    let owner = connect(&server, Some(of("ada")), Era::Modern).await;
    let asked = owner.once_for_tests("tools/call", br#"{"name":"folders"}"#.to_vec()).await;
    let Err(CallError::InputRequired(asked)) = asked else { panic!("{asked:?}") };
    let retry = format!(
        r#"{{"name":"folders","inputResponses":{{"roots-1":{{"roots":[]}}}},"requestState":{}}}"#,
        asked.state.as_ref().unwrap().get()
    );
    for other in [None, Some(of("bob")), Some(of("adab")), Some(of(""))] {
        let other = connect(&server, other, Era::Modern).await;
        let refused = other.once_for_tests("tools/call", retry.clone().into()).await;
        let Err(CallError::Rpc(error)) = refused else { panic!("{refused:?}") };
        assert_eq!(error.code, RpcError::INVALID_PARAMS);
    }
    // On any connection of the same principal's.
    let again = connect(&server, Some(of("ada")), Era::Modern).await;
    let answered = again.once_for_tests("tools/call", retry.into()).await;
    assert!(matches!(answered, Ok(_) | Err(CallError::InputRequired(_))), "{answered:?}");
}
