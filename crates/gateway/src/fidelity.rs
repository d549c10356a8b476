//! How faithful the gateway is, feature by feature, between every two revisions.
//!
//! A cell says whether a client observes what a client of the server's own
//! revision would, with nothing in between. What is lost is not listed here: it
//! is what the translation of an example loses, by the same changes that
//! messages are translated with. The tests run every cell and compare.

mod page;

pub use page::page;

use carrick::proto::method::Method;
use carrick::proto::revision::{Part, Revision, method_row, translate};
use carrick::proto::rpc::{Json, Limits};

/// Something that a client and a server do together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Feature {
    /// Lists of tools, prompts, resources and templates.
    Lists,
    /// Calls of tools that answer with text.
    Calls,
    /// Images and sound in results.
    Content,
    /// Structured results.
    Structured,
    /// Errors of the protocol, and of tools.
    Errors,
    /// Reading resources.
    Reads,
    /// Rendering prompts.
    Prompts,
    /// Completion of arguments.
    Completion,
    /// Progress of a call.
    Progress,
    /// Giving up a call.
    Cancellation,
    /// Log messages.
    Logging,
    /// Asking the user in the middle of a call.
    Elicitation,
    /// Asking the client's model in the middle of a call.
    Sampling,
    /// Asking for the client's folders in the middle of a call.
    Roots,
    /// Hearing that a list has changed.
    ListChanges,
    /// Hearing that a resource has changed.
    Subscriptions,
}

/// How faithful a crossing is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// The client observes what one of the server's own revision would.
    Exact,
    /// It observes less; the text says what is different.
    Degraded(String),
    /// There is no such thing between these two; the text says why.
    Impossible(String),
}

impl Feature {
    /// Every feature.
    pub const ALL: &[Self] = &[
        Self::Lists,
        Self::Calls,
        Self::Content,
        Self::Structured,
        Self::Errors,
        Self::Reads,
        Self::Prompts,
        Self::Completion,
        Self::Progress,
        Self::Cancellation,
        Self::Logging,
        Self::Elicitation,
        Self::Sampling,
        Self::Roots,
        Self::ListChanges,
        Self::Subscriptions,
    ];

    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lists => "lists",
            Self::Calls => "calls",
            Self::Content => "images and sound",
            Self::Structured => "structured results",
            Self::Errors => "errors",
            Self::Reads => "reads",
            Self::Prompts => "prompts",
            Self::Completion => "completion",
            Self::Progress => "progress",
            Self::Cancellation => "cancellation",
            Self::Logging => "logging",
            Self::Elicitation => "elicitation",
            Self::Sampling => "sampling",
            Self::Roots => "roots",
            Self::ListChanges => "list changes",
            Self::Subscriptions => "subscriptions",
        }
    }

    /// How it crosses, and what must be said of every cell.
    pub fn note(self) -> &'static str {
        match self {
            Self::Lists => {
                "Pages and cursors are the server's. Where the server gives no hints how long a \
                 list may be kept, a client that expects some is told: not at all."
            }
            Self::Calls | Self::Reads | Self::Prompts | Self::Completion => {
                "Between two of one revision the very bytes pass, but for the request's id and \
                 its progress token; between revisions unknown members, their order and the text \
                 of numbers are kept."
            }
            Self::Content => "What has no form becomes text that says what it was.",
            Self::Structured => "Where there is no place for it, it is kept as text.",
            Self::Errors => {
                "Message and data are the server's, and so is the code, but for that of a \
                 resource that does not exist: each client gets that of its revision. An error \
                 that asks for a URL to be opened (-32042) has no form in a revision without it, \
                 and becomes -32603."
            }
            Self::Progress => "It comes back under the token that the client gave.",
            Self::Cancellation => {
                "A client of a session says so; one without closes its stream, or says so over \
                 stdio. The server is told in its own way."
            }
            Self::Logging => {
                "A session's level is passed on with each request to a server without sessions; \
                 the level of a single request raises that of the server's session, and what no \
                 client asked for is left out. Over stdio a server does not say which call a \
                 message belongs to: while calls of several clients run on one connection, or have \
                 ended in the last 5 s, it is left out."
            }
            Self::Elicitation | Self::Sampling | Self::Roots => {
                "A server of sessions asks in the middle of a call. A client without one gets \
                 what is asked in place of an answer, and the call is parked, for ten minutes at \
                 most, until it comes back. The other way round a client of a session is asked \
                 all of a round at once, for up to 20 rounds. 1,024 calls are parked at most; those \
                 of clients over HTTP keep a connection each, of which there are 32 over stdio: \
                 where none is free for another call, the one that was parked longest is given up. \
                 Where all clients share a connection (`\"session\": \"shared\"`), none is asked."
            }
            Self::ListChanges => {
                "A client without a session hears of them by `subscriptions/listen`, one with a \
                 session as it always does."
            }
            Self::Subscriptions => {
                "A client with a connection of its own subscribes there; all others share one \
                 subscription to each resource."
            }
        }
    }

    /// What a server answers, or says on the way: an example that has all that
    /// a newer revision has and an older one may lack.
    fn examples(self) -> &'static [(Part, &'static str)] {
        match self {
            Self::Lists => LISTS,
            Self::Content => &[(
                Part::Result(Method::ToolsCall),
                r#"{"content":[{"type":"image","data":"AA==","mimeType":"image/png"},
                    {"type":"audio","data":"AA==","mimeType":"audio/wav"}]}"#,
            )],
            Self::Structured => &[(
                Part::Result(Method::ToolsCall),
                r#"{"content":[{"type":"text","text":"{}"}],"structuredContent":{}}"#,
            )],
            Self::Reads => &[(
                Part::Result(Method::ResourcesRead),
                r#"{"contents":[{"uri":"a:b","text":"a"}],"ttlMs":1000,"cacheScope":"public"}"#,
            )],
            Self::Progress => &[(
                Part::Params(Method::Progress),
                r#"{"progressToken":1,"progress":1,"total":2,"message":"working"}"#,
            )],
            _ => &[],
        }
    }

    /// The request of the server's that it is made of.
    fn asks(self) -> Option<Method> {
        match self {
            Self::Elicitation => Some(Method::ElicitationCreate),
            Self::Sampling => Some(Method::SamplingCreateMessage),
            Self::Roots => Some(Method::RootsList),
            _ => None,
        }
    }
}

const LISTS: &[(Part, &str)] = &[
    (
        Part::Result(Method::ToolsList),
        r#"{"tools":[{"name":"a","title":"A","inputSchema":{"type":"object"},
            "outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}],
            "ttlMs":1000,"cacheScope":"public"}"#,
    ),
    (
        Part::Result(Method::PromptsList),
        r#"{"prompts":[{"name":"a","title":"A","icons":[{"src":"https://x/a.png"}]}],
            "ttlMs":1000,"cacheScope":"public"}"#,
    ),
];

/// How faithful `feature` is between a client and a server of these revisions.
pub fn verdict(feature: Feature, client: Revision, server: Revision) -> Verdict {
    if let Some(method) = feature.asks() {
        let lacks = |revision| method_row(method).is_some_and(|row| !row.exists_in(revision));
        let without = |whose| Verdict::Impossible(format!("the {whose}'s revision has none"));
        if lacks(server) {
            return without("server");
        }
        if lacks(client) {
            return without("client");
        }
    }
    let mut lost: Vec<String> = Vec::new();
    for (part, example) in feature.examples() {
        match losses(*part, example, client, server) {
            Ok(losses) => {
                for loss in losses {
                    if !lost.contains(&loss) {
                        lost.push(loss);
                    }
                }
            }
            Err(why) => return Verdict::Impossible(why),
        }
    }
    if lost.is_empty() { Verdict::Exact } else { Verdict::Degraded(lost.join("; ")) }
}

/// What an example loses on its way, once it is in the server's own shape.
fn losses(
    part: Part,
    example: &str,
    client: Revision,
    server: Revision,
) -> Result<Vec<String>, String> {
    let json = Json::parse(example.to_owned().into(), Limits::default());
    let json = json.map_err(|error| error.to_string())?;
    let told = |error: carrick::proto::revision::Untranslatable| error.to_string();
    let (json, _) = translate(json, part, Revision::NEWEST, server).map_err(told)?;
    let (_, losses) = translate(json, part, server, client).map_err(told)?;
    Ok(losses.iter().map(|loss| format!("`{}` {}", loss.path, loss.how)).collect())
}
