//! Model providers that answer by script, over real HTTP and streamed.
//!
//! A [`ScriptedModel`] listens on a free port of the loopback and gives each request the next
//! [`Reply`] of its script, in the provider's own event stream, cut into pieces where it hurts:
//! within a character, a field name, a line end. What it was sent is kept for the test to look
//! at. A request beyond the script is refused, so that no test passes with more rounds than it
//! meant.

mod anthropic;
mod http;
mod openai;

use http::Incoming;
use serde_json::Value;
use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Whose interface a scripted model speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// OpenAI's chat completions, as many other servers have them.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
}

/// One answer of a model.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    text: String,
    calls: Vec<Call>,
    input_tokens: u64,
    output_tokens: u64,
    cut: bool,
    refusal: Option<(u16, String)>,
}

#[derive(Clone, Debug)]
struct Call {
    id: String,
    tool: Tool,
    arguments: String,
}

/// Which of the offered tools a scripted model calls.
#[derive(Clone, Debug)]
pub enum Tool {
    /// The one that is offered by this name, or a name that is not offered.
    Named(&'static str),
    /// The one whose description has this text in it, by whatever name it is offered.
    Described(&'static str),
}

impl Reply {
    /// An answer in words.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// A call without words.
    pub fn call(id: &str, tool: Tool, arguments: &Value) -> Self {
        Self::default().and_call(id, tool, arguments)
    }

    /// A refusal in place of an answer: an HTTP status and the body.
    pub fn refusal(status: u16, body: impl Into<String>) -> Self {
        Self { refusal: Some((status, body.into())), ..Self::default() }
    }

    /// The same with one more call.
    #[must_use]
    pub fn and_call(self, id: &str, tool: Tool, arguments: &Value) -> Self {
        self.and_raw_call(id, tool, &arguments.to_string())
    }

    /// The same with one more call, whose arguments are this text.
    #[must_use]
    pub fn and_raw_call(mut self, id: &str, tool: Tool, arguments: &str) -> Self {
        self.calls.push(Call { id: id.into(), tool, arguments: arguments.into() });
        self
    }

    /// The same with its words changed.
    #[must_use]
    pub fn with_text(self, change: impl FnOnce(&str) -> String) -> Self {
        Self { text: change(&self.text), ..self }
    }

    /// The same, counted as so many tokens in and out.
    #[must_use]
    pub fn usage(self, input_tokens: u64, output_tokens: u64) -> Self {
        Self { input_tokens, output_tokens, ..self }
    }

    /// The same, cut at the token limit.
    #[must_use]
    pub fn cut(self) -> Self {
        Self { cut: true, ..self }
    }
}

/// A request as a scripted model got it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Request {
    /// The path.
    pub path: String,
    /// The headers, names in lower case, a line each.
    pub headers: String,
    /// The body.
    pub body: Value,
}

impl Request {
    /// The system prompt.
    pub fn system(&self) -> String {
        match &self.body["system"] {
            Value::String(text) => text.clone(),
            Value::Array(blocks) => texts(blocks),
            _ => match &self.body["messages"][0] {
                first if first["role"] == "system" => content(first),
                _ => String::new(),
            },
        }
    }

    /// The names of the tools on offer.
    pub fn tools(&self) -> Vec<&str> {
        self.offered().filter_map(|tool| tool["name"].as_str()).collect()
    }

    /// What was said last, as text; a tool's result is what it gave.
    pub fn last(&self) -> String {
        let messages = self.body["messages"].as_array();
        messages.and_then(|messages| messages.last()).map(content).unwrap_or_default()
    }

    fn offered(&self) -> impl Iterator<Item = &Value> {
        let tools = self.body["tools"].as_array().into_iter().flatten();
        tools.map(|tool| tool.get("function").unwrap_or(tool))
    }

    fn name_of(&self, tool: &Tool) -> String {
        match tool {
            Tool::Named(name) => (*name).to_owned(),
            Tool::Described(text) => self
                .offered()
                .find(|tool| tool["description"].as_str().is_some_and(|d| d.contains(text)))
                .and_then(|tool| tool["name"].as_str())
                .unwrap_or("no_tool_is_described_so")
                .to_owned(),
        }
    }
}

fn content(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => texts(blocks),
        _ => String::new(),
    }
}

fn texts(blocks: &[Value]) -> String {
    let text = |block: &Value| match (&block["text"], &block["content"]) {
        (Value::String(text), _) => text.clone(),
        (_, Value::Null) => String::new(),
        _ => content(block),
    };
    blocks.iter().map(text).collect::<Vec<_>>().join("\n")
}

/// A provider that answers by script. It ends when this is dropped.
#[derive(Debug)]
pub struct ScriptedModel {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    provider: Provider,
    script: Mutex<VecDeque<Reply>>,
    requests: Mutex<Vec<Request>>,
    ended: AtomicBool,
}

impl ScriptedModel {
    /// Starts a provider with this script.
    ///
    /// # Errors
    /// When the loopback cannot be listened on.
    pub fn start(provider: Provider, script: impl IntoIterator<Item = Reply>) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            provider,
            script: Mutex::new(script.into_iter().collect()),
            requests: Mutex::default(),
            ended: AtomicBool::new(false),
        });
        let serving = shared.clone();
        thread::spawn(move || serving.accept(&listener));
        Ok(Self { address, shared })
    }

    /// The base URL, in the form that the provider's variable has.
    pub fn url(&self) -> String {
        match self.shared.provider {
            Provider::OpenAi => format!("http://{}/v1", self.address),
            Provider::Anthropic => format!("http://{}", self.address),
        }
    }

    /// Everything it was asked so far.
    pub fn requests(&self) -> Vec<Request> {
        lock(&self.shared.requests).clone()
    }

    /// How many replies of the script have not been given.
    pub fn left(&self) -> usize {
        lock(&self.shared.script).len()
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        // Wakes the listener, which then sees it.
        let _ = TcpStream::connect(self.address);
    }
}

impl Shared {
    fn accept(self: Arc<Self>, listener: &TcpListener) {
        for stream in listener.incoming() {
            if self.ended.load(Ordering::SeqCst) {
                return;
            }
            if let Ok(stream) = stream {
                let serving = self.clone();
                // A client that breaks off ends its own connection only.
                thread::spawn(move || serving.serve(&stream));
            }
        }
    }

    fn serve(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut incoming = Incoming::new(stream);
        while let Some(request) = incoming.next()? {
            let reply = lock(&self.script).pop_front();
            lock(&self.requests).push(request.clone());
            match reply {
                None => http::plain(stream, 500, "the script is at its end")?,
                Some(Reply { refusal: Some((status, body)), .. }) => {
                    http::plain(stream, status, &body)?;
                }
                Some(reply) => {
                    let events = match self.provider {
                        Provider::OpenAi => openai::events(&request, &reply),
                        Provider::Anthropic => anthropic::events(&request, &reply),
                    };
                    http::streamed(stream, events.as_bytes())?;
                }
            }
        }
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Cuts a text into pieces of `size` characters.
fn pieces(text: &str, size: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(size).map(|piece| piece.iter().collect()).collect()
}
