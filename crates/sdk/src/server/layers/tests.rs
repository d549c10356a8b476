//! Layers round tools, in both eras.

use crate::client::{CallError, ClientConfig, Era, Handlers};
use crate::server::{Allow, Approval, DefinedTool, Tool};
use crate::transport::memory;
use crate::types::{Elicit, ElicitAction, ElicitResult, Implementation, RpcError};
use crate::{Client, Context, Server, State, ToolError, serve, tool};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Default)]
struct Runs {
    count: AtomicUsize,
}

/// Deletes a file.
#[tool]
async fn delete(path: String, runs: State<Runs>) -> String {
    runs.count.fetch_add(1, Ordering::SeqCst);
    format!("deleted {path}")
}

/// Deletes a file, when its user says which trash it goes to.
#[tool]
async fn delete_to(path: String, runs: State<Runs>, context: Context) -> Result<String, ToolError> {
    let requested_schema = serde_json::from_str(r#"{"type":"object","properties":{}}"#)?;
    let ask = Elicit::Form { message: "which trash?".into(), requested_schema };
    let answer = context.elicit(&ask).await?;
    let run = context.step("run", || async { runs.count.fetch_add(1, Ordering::SeqCst) }).await?;
    Ok(format!("{run} {path} {:?}", answer.action))
}

struct Rig {
    client: Client,
    server: Server,
}

#[tokio::test]
async fn a_guard_looks_at_who_calls_before_anything_else() {
    let known = |context: &Context| {
        if context.principal().is_some() {
            return Ok(());
        }
        Err(ToolError::new(format!("not for {:?}", context.connection().transport())))
    };
    for era in [Era::Legacy, Era::Modern] {
        let tool = <delete as DefinedTool>::tool();
        let tool = tool.approve(Approval::new()).guard(known);
        let rig = Rig::new(tool, era, Handlers::new()).await;
        // Neither the arguments nor what the client cannot do is looked at.
        let refused = rig.client.call_tool("delete", b"{}").await.unwrap();
        assert!(refused.is_error);
        assert_eq!(refused.content[0].as_text(), Some("not for InMemory"));
        let tool = <delete as DefinedTool>::tool().guard(|_| Ok(()));
        let rig = Rig::new(tool, era, Handlers::new()).await;
        let deleted = rig.client.call_tool("delete", br#"{"path":"x"}"#).await.unwrap();
        assert_eq!(deleted.content[0].as_text(), Some("deleted x"));
    }
}

impl Rig {
    async fn new(tool: Tool, era: Era, handlers: Handlers) -> Self {
        let server = Server::builder("layers", "1").state(Runs::default()).tool(tool).build();
        let (ours, theirs) = memory();
        let served = server.clone();
        tokio::spawn(async move { serve(&served, theirs).await });
        let mut config = ClientConfig::new(Implementation::new("tests", "0"));
        config.era = Some(era);
        Self { client: Client::connect(ours, config, handlers).await.unwrap(), server }
    }

    /// The text of the answer, or the code of a protocol error.
    async fn call(&self, tool: &str, arguments: Value) -> Result<(bool, String), i64> {
        match self.client.call_tool(tool, arguments.to_string().as_bytes()).await {
            Ok(result) => Ok((result.is_error, result.content[0].as_text().unwrap().to_owned())),
            Err(error) => match error.call() {
                Some(CallError::Rpc(error)) => Err(error.code),
                _ => panic!("{error}"),
            },
        }
    }

    fn runs(&self) -> usize {
        let state = &self.server.inner.state[&std::any::TypeId::of::<Runs>()];
        state.downcast_ref::<Runs>().unwrap().count.load(Ordering::SeqCst)
    }
}

/// A user who always does this, and the questions that were asked.
fn user(action: ElicitAction) -> (Handlers, Arc<std::sync::Mutex<Vec<String>>>) {
    let asked = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = asked.clone();
    let handlers = Handlers::new().elicit(move |ask| {
        let Elicit::Form { message, .. } = ask else { panic!("a form") };
        seen.lock().unwrap().push(message);
        async move {
            Ok(match action {
                ElicitAction::Accept => ElicitResult::accept(serde_json::from_str("{}").unwrap()),
                other => ElicitResult::without_content(other),
            })
        }
    });
    (handlers, asked)
}

const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];

#[tokio::test]
async fn a_call_that_no_list_allows_never_runs() {
    for era in ERAS {
        let tool = <delete as DefinedTool>::tool()
            .allow("path", [Allow::under("/srv/docs"), Allow::exact("README")]);
        let rig = Rig::new(tool, era, Handlers::new()).await;
        for path in ["/etc/passwd", "/srv/docs/../../etc/passwd", "readme", ""] {
            let (is_error, text) = rig.call("delete", json!({ "path": path })).await.unwrap();
            let expected = format!(
                "path must not be {path:?} here; allowed is: paths under \"/srv/docs\", \"README\""
            );
            assert_eq!((is_error, text), (true, expected));
        }
        assert_eq!(rig.runs(), 0);
        for path in ["/srv/docs/a", "README"] {
            let answer = rig.call("delete", json!({ "path": path })).await;
            assert_eq!(answer, Ok((false, format!("deleted {path}"))));
        }
        assert_eq!(rig.runs(), 2);
    }
}

#[tokio::test]
async fn a_list_for_an_argument_that_is_not_there_lets_nothing_through() {
    let tool = <delete as DefinedTool>::tool().allow("pth", [Allow::glob("**")]);
    let rig = Rig::new(tool, Era::Modern, Handlers::new()).await;
    let answer = rig.call("delete", json!({ "path": "x" })).await;
    assert_eq!((answer, rig.runs()), (Err(RpcError::INTERNAL), 0));
}

#[tokio::test]
async fn a_tool_runs_after_a_yes_and_after_nothing_else() {
    for era in ERAS {
        let approved = || <delete as DefinedTool>::tool().approve(Approval::new());
        let (handlers, asked) = user(ElicitAction::Accept);
        let rig = Rig::new(approved(), era, handlers).await;
        let answer = rig.call("delete", json!({ "path": "x" })).await;
        assert_eq!((answer, rig.runs()), (Ok((false, "deleted x".into())), 1), "{era:?}");
        assert_eq!(*asked.lock().unwrap(), ["Run delete with {\"path\":\"x\"}?"]);
        // Nobody is asked about a call that cannot be.
        let (is_error, text) = rig.call("delete", json!({ "path": 1 })).await.unwrap();
        assert!(is_error && text.contains("path must be a string"), "{text}");
        assert_eq!((asked.lock().unwrap().len(), rig.runs()), (1, 1));

        for (action, why) in
            [(ElicitAction::Decline, "declined"), (ElicitAction::Cancel, "did not answer")]
        {
            let rig = Rig::new(approved(), era, user(action).0).await;
            let (is_error, text) = rig.call("delete", json!({ "path": "x" })).await.unwrap();
            assert!(is_error && text.contains(why), "{text}");
            assert_eq!(rig.runs(), 0);
        }
    }
}

#[tokio::test]
async fn a_client_without_a_user_is_refused_unless_the_author_says_otherwise() {
    let tool = |approval| <delete as DefinedTool>::tool().approve(approval);
    let arguments = json!({ "path": "x" });
    let rig = Rig::new(tool(Approval::new()), Era::Legacy, Handlers::new()).await;
    let (is_error, text) = rig.call("delete", arguments.clone()).await.unwrap();
    assert!(is_error && text.contains("does not offer elicitation"), "{text}");
    assert_eq!(rig.runs(), 0);
    let rig = Rig::new(tool(Approval::new()), Era::Modern, Handlers::new()).await;
    let answer = rig.call("delete", arguments.clone()).await;
    assert_eq!((answer, rig.runs()), (Err(RpcError::MISSING_CAPABILITY), 0));
    for era in ERAS {
        let rig = Rig::new(tool(Approval::new().or_run_unasked()), era, Handlers::new()).await;
        assert!(rig.call("delete", arguments.clone()).await.is_ok());
        assert_eq!(rig.runs(), 1);
        // Where there is a user, that one decides.
        let declines = user(ElicitAction::Decline).0;
        let rig = Rig::new(tool(Approval::new().or_run_unasked()), era, declines).await;
        assert!(rig.call("delete", arguments.clone()).await.unwrap().0);
        assert_eq!(rig.runs(), 0);
    }
}

#[tokio::test]
async fn the_handler_asks_on_after_the_approval() {
    for era in ERAS {
        let words = Approval::new().message(|arguments| format!("really {}?", arguments["path"]));
        let tool = <delete_to as DefinedTool>::tool().approve(words);
        let (handlers, asked) = user(ElicitAction::Accept);
        let rig = Rig::new(tool, era, handlers).await;
        let answer = rig.call("delete_to", json!({ "path": "x" })).await;
        assert_eq!(answer, Ok((false, "0 x Accept".into())), "{era:?}");
        assert_eq!(*asked.lock().unwrap(), ["really \"x\"?", "which trash?"]);
        assert_eq!(rig.runs(), 1);
    }
}
