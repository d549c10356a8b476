//! The command line.

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

const GLOBAL: &str = "For all commands";

const AFTER_HELP: &str = "\
Examples:
  carrick ask \"What time is it in Tokyo when it is 09:00 in Paris?\"
  carrick tools --long
  carrick call time convert_time time=09:00 source_timezone=Paris target_timezone=Tokyo

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 permission denied or needed, 4 a server that was
needed could not be reached, 5 a tool reported an error,
130 Ctrl-C, 143 SIGTERM.";

/// Joins any language model to any tool.
#[derive(Debug, Parser)]
#[command(name = "carrick", version, max_term_width = 100, after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// The config file, in place of the project's .mcp.json
    #[arg(
        long,
        global = true,
        help_heading = GLOBAL,
        value_name = "FILE",
        env = "CARRICK_CONFIG",
        hide_env_values = true
    )]
    pub(crate) config: Option<PathBuf>,

    /// Approve the project's config as it is now: bare, or with the hash that `carrick trust
    /// --show` prints, so that nothing else is approved
    #[arg(
        long,
        global = true,
        help_heading = GLOBAL,
        value_name = "HASH",
        num_args = 0..=1,
        require_equals = true
    )]
    pub(crate) trust: Option<Option<String>>,

    /// Seconds a request may take without a sign of life [default: 60]
    #[arg(
        long,
        global = true,
        help_heading = GLOBAL,
        value_name = "SECONDS",
        value_parser = seconds,
        allow_negative_numbers = true
    )]
    pub(crate) timeout: Option<f64>,

    /// Print data as JSON, one object a line
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) json: bool,

    /// Say more on stderr: what servers write to theirs; twice (-vv): all that happens
    #[arg(long, short, global = true, help_heading = GLOBAL, action = ArgAction::Count)]
    pub(crate) verbose: u8,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Answer a question with the help of the configured servers
    Ask(Ask),
    /// Run the tool requests found in a model's output, and print their results in its form
    Route(Route),
    /// List the configured servers
    Servers(Servers),
    /// List tools: of all servers, or of those named
    Tools(Tools),
    /// Call a tool
    Call(Call),
    /// Read a resource, or list those of a server
    Read(Read),
    /// Offer a configured server to clients of any protocol revision
    Serve(Serve),
    /// Run a built-in server, on stdin and stdout or over HTTP
    Server(ServerArgs),
    /// Show what the project's config would run, and approve it
    Trust(Trust),
    /// Try every server and say what is wrong
    Doctor,
}

#[derive(Debug, Args)]
pub(crate) struct Ask {
    /// The question; from stdin when left out
    pub(crate) question: Vec<String>,

    /// The model, as provider:name (anthropic:…, openai:…, ollama:…, builtin:match)
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// How tools reach the model
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) dialect: DialectArg,

    #[command(flatten)]
    pub(crate) permission: PermissionArgs,
}

#[derive(Debug, Args)]
pub(crate) struct PermissionArgs {
    /// Permit what would be asked about: calls, and servers that want the model
    #[arg(long, short)]
    pub(crate) yes: bool,

    /// Refuse what would be asked about, and what servers ask
    #[arg(long, conflicts_with = "yes")]
    pub(crate) deny: bool,

    /// Who is asked: the terminal, or a program that answers `{"id":…,"allow":true}` on stdin
    /// (docs/events.md)
    #[arg(long, value_enum, value_name = "WHO", default_value = "terminal")]
    pub(crate) approve: ApproveArg,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ApproveArg {
    Terminal,
    Stdin,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum DialectArg {
    Auto,
    Native,
    Xml,
}

#[derive(Debug, Args)]
pub(crate) struct Route {
    /// The file with the model's output; stdin when left out or `-`
    pub(crate) file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) permission: PermissionArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Servers {
    /// Start those that may run, and show what each is doing after "startupWait"
    #[arg(long)]
    pub(crate) status: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Tools {
    /// The servers; all when left out
    pub(crate) servers: Vec<String>,

    /// Show each tool's arguments
    #[arg(long, short)]
    pub(crate) long: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Call {
    /// The server
    pub(crate) server: String,
    /// The tool; left out where the server is written as SERVER/TOOL, as `carrick tools` lists it
    pub(crate) tool: Option<String>,
    /// Arguments: name=value, by the tool's schema; name:=JSON; or one JSON object; `-` takes
    /// the object from stdin
    pub(crate) arguments: Vec<String>,

    #[command(flatten)]
    pub(crate) permission: PermissionArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Read {
    /// The server
    pub(crate) server: String,
    /// The resource's address; when left out, those that there are are listed
    pub(crate) uri: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Serve Streamable HTTP at this address, as 127.0.0.1:8000, under /mcp
    #[arg(long, value_name = "ADDRESS", conflicts_with = "stdio")]
    pub(crate) http: Option<String>,

    /// Answer requests for this host too, as mcp.example or mcp.example:8443 (`*`: for any);
    /// without it only those for localhost. May be given several times
    #[arg(long, value_name = "HOST", requires = "http")]
    pub(crate) allow_host: Vec<String>,

    /// Serve one client on stdin and stdout (what happens without --http)
    #[arg(long)]
    pub(crate) stdio: bool,

    /// Which server; needed when more than one is configured
    #[arg(long, value_name = "NAME")]
    pub(crate) server: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ServerArgs {
    /// Which: `time` or `files`
    pub(crate) name: String,

    /// For `files`: the folders; the current one when left out
    pub(crate) folders: Vec<PathBuf>,

    /// For `files`: offer write_file too
    #[arg(long)]
    pub(crate) write: bool,

    /// Serve Streamable HTTP at this address (port 0 takes a free one), at the path /mcp
    #[arg(long, value_name = "ADDR")]
    pub(crate) http: Option<String>,

    /// Answer requests for this host too, as mcp.example or mcp.example:8443 (`*`: for any);
    /// without it only those for localhost. May be given several times
    #[arg(long, value_name = "HOST", requires = "http")]
    pub(crate) allow_host: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Trust {
    /// Only show what would run, and the hash
    #[arg(long, conflicts_with_all = ["revoke", "list"])]
    pub(crate) show: bool,

    /// Take the approval back
    #[arg(long, conflicts_with = "list")]
    pub(crate) revoke: bool,

    /// List all approvals
    #[arg(long)]
    pub(crate) list: bool,

    /// Show the tools of this server that changed since they were agreed to, and approve them
    #[arg(long, value_name = "SERVER", conflicts_with_all = ["revoke", "list"])]
    pub(crate) tools: Option<String>,

    /// Approve without a question
    #[arg(long, short)]
    pub(crate) yes: bool,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(n) if n > 0.0 && n < 1e9 => Ok(n),
        _ => Err("expected a number of seconds above zero".into()),
    }
}
