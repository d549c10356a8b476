//! A machine with nothing set up, on which `carrick` runs.

mod events;
#[cfg(target_os = "linux")]
mod pty;
mod run;

pub(crate) use events::{Events, result_text};
#[cfg(target_os = "linux")]
pub(crate) use pty::Pty;
pub(crate) use run::{Run, Running};

use carrick_testkit::model::{Provider, ScriptedModel};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Map, Value, json};
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The variable that every process of a sandbox carries, with the sandbox's folder in it.
pub(crate) const MARK: &str = "CARRICK_TEST_SANDBOX";

/// How long anything may take before a test gives up; far above what it takes.
pub(crate) const BOUND: Duration = Duration::from_secs(60);

/// A home folder and a project folder of a test's own, and the config in use.
pub(crate) struct Sandbox {
    root: TempDir,
    config: Option<PathBuf>,
    variables: Vec<(String, String)>,
}

impl Sandbox {
    /// A machine with nothing set up.
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("home")).unwrap();
        fs::create_dir(root.path().join("project")).unwrap();
        Self { root, config: None, variables: Vec::new() }
    }

    /// A machine on which these servers are named by `--config`, and all their tools allowed.
    pub(crate) fn with_servers<'a>(servers: impl IntoIterator<Item = (&'a str, Value)>) -> Self {
        let mut sandbox = Self::new();
        let servers = sandbox.marked(servers);
        sandbox.set_config(&json!({
            "mcpServers": servers,
            "permissions": { "allow": ["*/*"] },
        }));
        sandbox
    }

    /// Names this config by `--config` from now on.
    pub(crate) fn set_config(&mut self, config: &Value) {
        let path = self.root.path().join("servers.json");
        fs::write(&path, config.to_string()).unwrap();
        self.config = Some(path);
    }

    /// The servers with the sandbox's mark in each child's environment.
    pub(crate) fn marked<'a>(
        &self,
        servers: impl IntoIterator<Item = (&'a str, Value)>,
    ) -> Map<String, Value> {
        let mark = self.root.path().to_str().unwrap();
        let mut all = Map::new();
        for (name, mut server) in servers {
            if server.get("command").is_some() {
                server["env"][MARK] = json!(mark);
            }
            all.insert(name.to_owned(), server);
        }
        all
    }

    /// Sets a variable for every run from now on.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<String>) {
        self.variables.push((name.to_owned(), value.into()));
    }

    /// Makes this scripted model the one in use.
    pub(crate) fn use_model(&mut self, provider: Provider, model: &ScriptedModel) {
        let (name, url, key) = match provider {
            Provider::OpenAi => ("openai:scripted", "OPENAI_BASE_URL", "OPENAI_API_KEY"),
            Provider::Anthropic => {
                ("anthropic:scripted", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY")
            }
        };
        self.set("CARRICK_MODEL", name);
        self.set(url, model.url());
        self.set(key, "sk-scripted");
    }

    /// A folder for what is neither home nor project.
    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    /// The folder that `carrick` runs in.
    pub(crate) fn project(&self) -> PathBuf {
        self.root.path().join("project")
    }

    /// Writes a file into the project folder.
    pub(crate) fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.project().join(name);
        fs::write(&path, contents).unwrap();
        path
    }

    /// `carrick` with these arguments, not started yet.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_carrick"));
        command.env_clear().current_dir(self.project());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.root.path().join("home"));
        command.env(MARK, self.root.path());
        // Whatever runs on the machine of the tests is not to be found.
        command.env("OLLAMA_HOST", "127.0.0.1:1");
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        if let Some(config) = &self.config {
            command.arg("--config").arg(config);
        }
        command.args(arguments);
        command
    }

    /// Runs `carrick` with nothing on stdin.
    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        self.run_with("", arguments)
    }

    /// Runs `carrick` with this on stdin.
    pub(crate) fn run_with(&self, input: impl AsRef<[u8]>, arguments: &[&str]) -> Run {
        let mut running = self.start(arguments);
        running.write(input.as_ref());
        running.finish()
    }

    /// Starts `carrick`.
    pub(crate) fn start(&self, arguments: &[&str]) -> Running {
        Running::start(self.command(arguments))
    }
}

/// A child server of the testkit, as an entry of a config.
pub(crate) fn peer(arguments: &[&str]) -> Value {
    json!({ "command": peer_path(), "args": arguments })
}

/// A shell script as an entry of a config; `$PEER` is the testkit's program.
pub(crate) fn shell(script: &str) -> Value {
    json!({ "command": "sh", "args": ["-c", script], "env": { "PEER": peer_path() } })
}

/// Where the testkit's program is: built as an example beside the tests.
pub(crate) fn peer_path() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let path = tests.parent().and_then(Path::parent).unwrap().join("examples").join("peer");
    assert!(
        path.exists(),
        "the test servers are not built: run the tests without `--test`, or first \
         `cargo build -p carrick-cli --examples`"
    );
    path
}

/// A server over HTTP. It ends when this is dropped.
pub(crate) struct Listening {
    child: Child,
    url: String,
}

impl Listening {
    /// Starts a server that says on stderr where it listens.
    pub(crate) fn start(program: impl AsRef<OsStr>, arguments: &[&str]) -> Self {
        let mut command = Command::new(program);
        let mut child = command.args(arguments).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut said).unwrap();
        let url = said.trim().strip_prefix("listening on ");
        let url = url.unwrap_or_else(|| panic!("not listening: {said}")).to_owned();
        Self { child, url }
    }

    /// It as an entry of a config.
    pub(crate) fn entry(&self) -> Value {
        json!({ "type": "http", "url": self.url })
    }

    /// Asks it to end, and waits until it has.
    pub(crate) fn terminate(mut self) -> ExitStatus {
        let id = Pid::from_raw(i32::try_from(self.child.id()).unwrap());
        kill(id, Signal::SIGTERM).unwrap();
        until("the end of the server", || self.child.try_wait().unwrap())
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        // Whether it has ended before does not matter.
        let _ = self.child.kill().and_then(|()| self.child.wait());
    }
}

/// A file of the cases in `cases/handed`.
pub(crate) fn case(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases/handed")).join(name)
}

/// Waits until something is there, by looking again and again.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + BOUND;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
