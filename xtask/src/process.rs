//! Running programs: shown, captured, or both, and never longer than agreed.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::Result;

/// The folder of the root `Cargo.toml`.
pub(crate) fn root() -> &'static Path {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own)
}

/// The cargo that runs this task, in the root folder.
///
/// The variables that cargo sets for a package it runs are taken away again, since a
/// nested cargo would take them for settings and build everything anew.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    for (name, _) in std::env::vars_os() {
        let set_by_cargo = name.to_str().is_some_and(|name| {
            name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
        });
        if set_by_cargo {
            command.env_remove(name);
        }
    }
    command
}

/// The command as a person would type it.
pub(crate) fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

/// Runs a command with this process's own output, and fails when it does.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let line = line(command);
    eprintln!("$ {line}");
    let status = command.status().map_err(|error| format!("cannot start `{line}`: {error}"))?;
    succeeded(&line, status)
}

/// Runs a command and gives what it wrote to stdout; its stderr is shown.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let line = line(command);
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot start `{line}`: {error}"))?;
    succeeded(&line, output.status)?;
    String::from_utf8(output.stdout)
        .map_err(|_| format!("`{line}` printed something that is not UTF-8"))
}

/// Whether a command starts and ends well, with its output thrown away.
pub(crate) fn probe(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Runs a command, shows its output line by line, and gives it back as well.
pub(crate) fn tee(command: &mut Command) -> Result<(ExitStatus, String)> {
    let line = line(command);
    eprintln!("$ {line}");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("cannot start `{line}`: {error}"))?;
    let stdout = child.stdout.take().map(show);
    let stderr = child.stderr.take().map(show);
    let mut text = String::new();
    for part in [stdout, stderr].into_iter().flatten() {
        text.push_str(&part.join().map_err(|_| format!("reading from `{line}` panicked"))?);
    }
    let status = child.wait().map_err(|error| format!("cannot wait for `{line}`: {error}"))?;
    Ok((status, text))
}

fn succeeded(line: &str, status: ExitStatus) -> Result<()> {
    if status.success() { Ok(()) } else { Err(format!("`{line}` failed: {status}")) }
}

fn show(pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut all = String::new();
        let mut reader = BufReader::new(pipe);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
            let text = String::from_utf8_lossy(&line);
            print!("{text}");
            all.push_str(&text);
            line.clear();
        }
        all
    })
}

/// What a finished program left.
pub(crate) struct Finished {
    /// The exit code; `None` when a signal ended it.
    pub(crate) code: Option<i32>,
    /// All that it wrote to stdout.
    pub(crate) stdout: String,
    /// All that it wrote to stderr.
    pub(crate) stderr: String,
}

/// Starts a command without input and with piped output, at the head of a process group.
pub(crate) fn start(command: &mut Command) -> Result<Child> {
    let line = line(command);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().map_err(|error| format!("cannot start `{line}`: {error}"))
}

/// Runs a command without input, and ends it with all it started after `limit`.
pub(crate) fn finish(command: &mut Command, limit: Duration) -> Result<Finished> {
    finish_and(command, limit, |_| ())
}

/// The same, and what the command leaves running in its group is ended as well.
pub(crate) fn finish_whole(command: &mut Command, limit: Duration) -> Result<Finished> {
    finish_and(command, limit, end)
}

fn finish_and(
    command: &mut Command,
    limit: Duration,
    then: impl Fn(&mut Child),
) -> Result<Finished> {
    let mut child = start(command)?;
    let line = line(command);
    let stdout = child.stdout.take().map(collect);
    let stderr = child.stderr.take().map(collect);
    let status =
        wait(&mut child, limit).map_err(|error| format!("cannot wait for `{line}`: {error}"))?;
    let Some(status) = status else {
        end(&mut child);
        let said = stderr.and_then(|reader| reader.join().ok()).unwrap_or_default();
        return Err(format!(
            "`{line}` took longer than {} s; its stderr: {}",
            limit.as_secs(),
            said.trim()
        ));
    };
    then(&mut child);
    let joined = |reader: Option<JoinHandle<String>>| {
        reader.and_then(|reader| reader.join().ok()).unwrap_or_default()
    };
    Ok(Finished { code: status.code(), stdout: joined(stdout), stderr: joined(stderr) })
}

/// Ends a child that [`start`] gave, with its process group, and takes its exit status.
///
/// A group that lives on would keep the pipes open, and their readers waiting.
pub(crate) fn end(child: &mut Child) {
    // All of these fail only when the processes are gone already, which is what is wanted.
    #[cfg(unix)]
    let _ = Command::new("sh")
        .arg("-c")
        .arg(format!("kill -KILL -- -{} 2>/dev/null", child.id()))
        .status();
    let _ = child.kill();
    let _ = child.wait();
}

fn wait(child: &mut Child, limit: Duration) -> std::io::Result<Option<ExitStatus>> {
    const PAUSE: Duration = Duration::from_millis(10);
    let deadline = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            return Ok(None);
        }
        thread::sleep(PAUSE);
    }
}

fn collect(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What came before a broken pipe is still worth showing.
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// The folder that cargo builds into.
pub(crate) fn target_directory() -> Result<PathBuf> {
    let metadata = crate::metadata::read(&["--no-deps"])?;
    metadata["target_directory"]
        .as_str()
        .map(PathBuf::from)
        .ok_or_else(|| "cargo metadata names no target directory".into())
}
