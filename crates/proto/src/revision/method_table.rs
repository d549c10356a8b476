//! Data table: which methods each revision has, and who sends them.

use super::Revision::{self, V2024_11_05, V2025_06_18, V2025_11_25, V2026_07_28};
use crate::method::Method::{self, *};

/// Who sends a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Direction {
    /// The client, to the server.
    FromClient,
    /// The server, to the client.
    FromServer,
    /// Either.
    Both,
}

/// One method: when it exists and what is known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MethodRow {
    /// Who sends it.
    pub direction: Direction,
    /// Whether it expects an answer.
    pub is_request: bool,
    /// The first revision that has it.
    pub since: Revision,
    /// The last revision that has it, or none while it lives.
    pub until: Option<Revision>,
    /// Whether its result may be kept by the rules of `server/utilities/caching`.
    pub cacheable: bool,
}

impl MethodRow {
    /// Whether the method exists in `revision`.
    pub fn exists_in(&self, revision: Revision) -> bool {
        self.since <= revision && self.until.is_none_or(|last| revision <= last)
    }
}

/// The row of a method; none for unknown ones.
pub fn method_row(method: Method) -> Option<MethodRow> {
    use Direction::{Both, FromClient, FromServer};
    const FIRST: Revision = V2024_11_05;
    const SESSIONS: Option<Revision> = Some(V2025_11_25);
    let row = |direction, is_request, since, until, cacheable| MethodRow {
        direction,
        is_request,
        since,
        until,
        cacheable,
    };
    Some(match method {
        ToolsCall | PromptsGet | CompletionComplete => row(FromClient, true, FIRST, None, false),
        ToolsList | PromptsList | ResourcesList | ResourcesTemplatesList | ResourcesRead => {
            row(FromClient, true, FIRST, None, true)
        }
        Initialize | LoggingSetLevel | ResourcesSubscribe | ResourcesUnsubscribe => {
            row(FromClient, true, FIRST, SESSIONS, false)
        }
        Ping => row(Both, true, FIRST, SESSIONS, false),
        // In the core for one revision only; an extension since.
        TasksGet | TasksResult | TasksList | TasksCancel => {
            row(Both, true, V2025_11_25, Some(V2025_11_25), false)
        }
        ServerDiscover => row(FromClient, true, V2026_07_28, None, true),
        SubscriptionsListen => row(FromClient, true, V2026_07_28, None, false),
        // Requests of their own in sessions; entries of `inputRequests` since.
        SamplingCreateMessage | RootsList => row(FromServer, true, FIRST, None, false),
        ElicitationCreate => row(FromServer, true, V2025_06_18, None, false),
        Initialized | RootsListChanged => row(FromClient, false, FIRST, SESSIONS, false),
        Cancelled => row(Both, false, FIRST, None, false),
        Progress => row(Both, false, FIRST, None, false),
        Message | ToolsListChanged | PromptsListChanged | ResourcesListChanged
        | ResourcesUpdated => row(FromServer, false, FIRST, None, false),
        ElicitationComplete => row(FromServer, false, V2025_11_25, Some(V2025_11_25), false),
        TasksStatus => row(Both, false, V2025_11_25, Some(V2025_11_25), false),
        SubscriptionsAcknowledged => row(FromServer, false, V2026_07_28, None, false),
        Unknown => return None,
    })
}
