//! The methods of the protocol, by name.
//!
//! When a method exists, and in which direction, is a matter of revision: see
//! [`crate::revision::method_row`].

macro_rules! methods {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// A method of the protocol.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Method {
            $($(#[$doc])* $variant,)*
            /// Any other name: vendors may have methods of their own.
            Unknown,
        }

        impl Method {
            /// Every known method.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The method with this exact name.
            pub fn from_name(name: &[u8]) -> Self {
                $(if name == $name.as_bytes() { return Self::$variant; })*
                Self::Unknown
            }

            /// Whether it may be answered with a request for input
            /// (`basic/patterns/mrtr`).
            pub const fn has_rounds(self) -> bool {
                matches!(self, Self::ToolsCall | Self::PromptsGet | Self::ResourcesRead)
            }

            /// Whether it asks for a list, which may come in pages.
            pub const fn is_list(self) -> bool {
                matches!(
                    self,
                    Self::ToolsList
                        | Self::PromptsList
                        | Self::ResourcesList
                        | Self::ResourcesTemplatesList
                )
            }

            /// The name on the wire; empty for [`Method::Unknown`].
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* Self::Unknown => "" }
            }
        }
    };
}

methods! {
    /// Calls a tool.
    ToolsCall = "tools/call",
    /// Lists tools.
    ToolsList = "tools/list",
    /// Reads a resource.
    ResourcesRead = "resources/read",
    /// Lists resources.
    ResourcesList = "resources/list",
    /// Lists resource templates.
    ResourcesTemplatesList = "resources/templates/list",
    /// Asks for updates of one resource.
    ResourcesSubscribe = "resources/subscribe",
    /// Ends such updates.
    ResourcesUnsubscribe = "resources/unsubscribe",
    /// Lists prompts.
    PromptsList = "prompts/list",
    /// Renders a prompt.
    PromptsGet = "prompts/get",
    /// Completes an argument.
    CompletionComplete = "completion/complete",
    /// Sets the session's log level.
    LoggingSetLevel = "logging/setLevel",
    /// Opens a session.
    Initialize = "initialize",
    /// Asks who the server is and what it speaks.
    ServerDiscover = "server/discover",
    /// Opens a stream of change notifications.
    SubscriptionsListen = "subscriptions/listen",
    /// Checks that the peer is there.
    Ping = "ping",
    /// Asks the client's model for a message.
    SamplingCreateMessage = "sampling/createMessage",
    /// Asks the client's user for input.
    ElicitationCreate = "elicitation/create",
    /// Asks for the client's roots.
    RootsList = "roots/list",
    /// State of a task.
    TasksGet = "tasks/get",
    /// Result of a task.
    TasksResult = "tasks/result",
    /// Tasks of the requestor.
    TasksList = "tasks/list",
    /// Ends a task.
    TasksCancel = "tasks/cancel",
    /// The client has taken the server's answer to `initialize`.
    Initialized = "notifications/initialized",
    /// The sender of a request no longer wants its answer.
    Cancelled = "notifications/cancelled",
    /// How far a request has come.
    Progress = "notifications/progress",
    /// A log message.
    Message = "notifications/message",
    /// The tool list has changed.
    ToolsListChanged = "notifications/tools/list_changed",
    /// The prompt list has changed.
    PromptsListChanged = "notifications/prompts/list_changed",
    /// The resource list has changed.
    ResourcesListChanged = "notifications/resources/list_changed",
    /// A resource has changed.
    ResourcesUpdated = "notifications/resources/updated",
    /// The client's roots have changed.
    RootsListChanged = "notifications/roots/list_changed",
    /// A URL elicitation has ended.
    ElicitationComplete = "notifications/elicitation/complete",
    /// A task has changed.
    TasksStatus = "notifications/tasks/status",
    /// A listen stream is open.
    SubscriptionsAcknowledged = "notifications/subscriptions/acknowledged",
}
