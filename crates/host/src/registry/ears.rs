//! What is heard of a server over its connections.

use super::{ServerEvent, ServerObserver};
use crate::permission::visible;
use carrick::client::managed::{CloseReason, ConnectionEvents};
use carrick::client::{Changed, ClientEvent, Hooks, ServerDescription};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Which lists a server said have changed since they were last taken.
#[derive(Default)]
pub(super) struct Lists {
    tools: AtomicBool,
    offers: AtomicBool,
}

impl Lists {
    pub(super) fn have_changed(&self, others: bool) -> bool {
        self.tools.load(Ordering::Acquire) || (others && self.offers.load(Ordering::Acquire))
    }

    pub(super) fn take_tools(&self) -> bool {
        self.tools.swap(false, Ordering::AcqRel)
    }

    pub(super) fn put_tools(&self, changed: bool) {
        self.tools.fetch_or(changed, Ordering::AcqRel);
    }

    pub(super) fn take_offers(&self) -> bool {
        self.offers.swap(false, Ordering::AcqRel)
    }

    pub(super) fn put_offers(&self, changed: bool) {
        self.offers.fetch_or(changed, Ordering::AcqRel);
    }
}

/// Hears a server, and tells the observer of the registry.
pub(super) struct Ears {
    name: Arc<str>,
    observer: Option<ServerObserver>,
    lists: Arc<Lists>,
}

impl Ears {
    pub(super) fn new(name: &str, observer: Option<ServerObserver>, lists: Arc<Lists>) -> Self {
        Self { name: name.into(), observer, lists }
    }

    /// Hears what is said on each connection besides.
    pub(super) fn hooks(self: &Arc<Self>) -> Hooks {
        let ears = self.clone();
        // Whether the log has been told of what is no message on its stdout.
        let noisy = AtomicBool::new(false);
        let mut hooks = Hooks::default();
        hooks.events = Some(Arc::new(move |event| match event {
            ClientEvent::Noise(what) => {
                if !noisy.swap(true, Ordering::AcqRel) {
                    let what = visible(&what);
                    tracing::warn!(server = &*ears.name, "skipped what is no message: {what}");
                }
                ears.tell(ServerEvent::Noise(what));
            }
            ClientEvent::Log(params) => {
                let (level, text) = log_line(params.as_bytes());
                tracing::info!(server = &*ears.name, level, "{}", visible(&text));
                ears.tell(ServerEvent::Log(level, text));
            }
            ClientEvent::ListenEnded(why) => {
                tracing::warn!(
                    server = &*ears.name,
                    "changes are not heard of any more: {}",
                    visible(&why)
                );
                ears.tell(ServerEvent::ListenEnded(why));
            }
            _ => {}
        }));
        hooks
    }

    fn tell(&self, event: ServerEvent) {
        if let Some(observer) = &self.observer {
            observer(&self.name, event);
        }
    }
}

impl ConnectionEvents for Ears {
    fn connecting(&self) {
        self.tell(ServerEvent::Connecting);
    }

    fn opened(&self, server: &ServerDescription) {
        self.tell(ServerEvent::Connected(introduction(server)));
    }

    fn closed(&self, reason: &CloseReason) {
        if let CloseReason::Ended(how) = reason {
            self.tell(ServerEvent::Closed(how.clone()));
        }
    }

    fn changed(&self, changed: &Changed) {
        match changed {
            Changed::Tools => {
                self.lists.put_tools(true);
                self.tell(ServerEvent::ToolsChanged);
            }
            Changed::Resources | Changed::Prompts => self.lists.put_offers(true),
            _ => {}
        }
    }
}

fn introduction(server: &ServerDescription) -> String {
    match &server.info {
        Some(info) => format!("{} {}, revision {}", info.name, info.version, server.revision),
        None => format!("revision {}", server.revision),
    }
}

/// Level and text of a log message; data that is no string is shown as JSON.
fn log_line(params: &[u8]) -> (String, String) {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(default)]
        level: String,
        #[serde(borrow)]
        data: Option<&'a RawValue>,
    }
    let Ok(params) = serde_json::from_slice::<Params<'_>>(params) else {
        return (String::new(), String::from_utf8_lossy(params).into_owned());
    };
    let data = params.data.map_or("null", RawValue::get);
    let text = serde_json::from_str(data).unwrap_or_else(|_| data.to_owned());
    (params.level, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn f29_the_end_of_a_servers_own_messages_is_told() {
        let heard: Arc<Mutex<Vec<String>>> = Arc::default();
        let told = heard.clone();
        let observer: ServerObserver = Arc::new(move |server: &str, event| {
            told.lock().unwrap().push(format!("{server} {event:?}"));
        });
        let ears = Arc::new(Ears::new("far", Some(observer), Arc::default()));
        let events = ears.hooks().events.unwrap();
        events(ClientEvent::ListenEnded("HTTP status 501".into()));
        assert_eq!(*heard.lock().unwrap(), ["far ListenEnded(\"HTTP status 501\")"]);
    }
}
