//! No process is left, however `carrick` ends: grandchildren and daemons included.
//!
//! Every process of a sandbox carries its mark in the environment, so that all of them are found,
//! whoever started them.

use crate::support::{MARK, Running, Sandbox, peer, peer_path, shell, until};
use carrick_testkit::model::{Provider, Reply, ScriptedModel, Tool};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::fs;

/// Every process that carries the sandbox's mark: its id and its command line.
fn processes(sandbox: &Sandbox) -> Vec<(u32, String)> {
    let mark = format!("{MARK}={}", sandbox.root().display());
    let id = |entry: fs::DirEntry| entry.file_name().to_str()?.parse::<u32>().ok();
    let entries = fs::read_dir("/proc").unwrap().filter_map(|entry| id(entry.ok()?));
    // A process that has ended meanwhile, a zombie too, has no environment.
    let marked = entries.filter(|id| {
        fs::read(format!("/proc/{id}/environ"))
            .is_ok_and(|all| all.split(|&byte| byte == 0).any(|one| one == mark.as_bytes()))
    });
    let line = |id| fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    marked.map(|id| (id, String::from_utf8_lossy(&line(id)).replace('\0', " "))).collect()
}

/// Waits until each of these texts is in the command line of a process.
fn until_running(sandbox: &Sandbox, texts: &[&str]) {
    until(&format!("{texts:?} among the processes"), || {
        let all = processes(sandbox);
        texts.iter().all(|text| all.iter().any(|(_, line)| line.contains(text))).then_some(())
    });
}

fn until_none(sandbox: &Sandbox) {
    let mut left = Vec::new();
    until("the end of all processes", || {
        left = processes(sandbox);
        left.is_empty().then_some(())
    });
}

/// A server of each kind that is hard to end.
fn stubborn() -> Vec<(&'static str, Value)> {
    // A background job of a shell has no stdin but by another descriptor.
    let launcher = r#"exec 3<&0; "$PEER" faulty silent <&3 & wait"#;
    let deaf = r#"trap '' TERM INT HUP; "$PEER" faulty silent; while :; do sleep 61; done"#;
    let daemon = r#"setsid sleep 62 </dev/null >/dev/null 2>&1 & exec "$PEER" faulty silent"#;
    vec![
        ("plain", peer(&["faulty", "silent"])),
        ("launched", shell(launcher)),
        ("deaf", shell(deaf)),
        ("daemon", shell(daemon)),
    ]
}

/// A turn that hangs in a call to each of the stubborn servers.
fn hanging() -> (Sandbox, ScriptedModel, Running) {
    let mut sandbox = Sandbox::with_servers(stubborn());
    let script = [stubborn().iter().fold(Reply::default(), |reply, (name, _)| {
        let tool = match *name {
            "plain" => "plain__wait",
            "launched" => "launched__wait",
            "deaf" => "deaf__wait",
            _ => "daemon__wait",
        };
        reply.and_call(name, Tool::Named(tool), &json!({}))
    })];
    let model = ScriptedModel::start(Provider::OpenAi, script).unwrap();
    sandbox.use_model(Provider::OpenAi, &model);
    let mut running = sandbox.start(&["ask", "--json", "go"]);
    for _ in stubborn() {
        running.event("call");
    }
    until_running(&sandbox, &["sleep 62", "exec 3<&0", "trap", "faulty silent", "ask --json go"]);
    let servers = processes(&sandbox);
    let peers = servers.iter().filter(|(_, line)| line.ends_with("faulty silent "));
    assert_eq!(peers.count(), 4, "{servers:#?}");
    (sandbox, model, running)
}

#[test]
fn d015_none_is_left_after_kill_9() {
    let (sandbox, _model, running) = hanging();
    running.signal(Signal::SIGKILL);
    assert_eq!(running.finish().signal(), Some(9));
    until_none(&sandbox);
}

#[test]
fn d015_none_is_left_after_sigterm() {
    let (sandbox, _model, running) = hanging();
    running.signal(Signal::SIGTERM);
    running.finish().exits(143).says(["SIGTERM"]);
    assert_eq!(processes(&sandbox), []);
}

#[test]
fn d015_none_is_left_after_sigint() {
    let (sandbox, _model, running) = hanging();
    running.signal(Signal::SIGINT);
    running.finish().exits(130).says(["interrupted"]);
    assert_eq!(processes(&sandbox), []);
}

#[test]
fn d015_none_is_left_after_an_ordinary_end() {
    let sandbox = Sandbox::with_servers(stubborn());
    sandbox.run(&["tools"]).exits(0).prints(["plain/wait", "launched/wait", "deaf/wait"]);
    // All were waited for before the program ended.
    assert_eq!(processes(&sandbox), []);
}

#[test]
fn d018_none_is_left_of_a_server_that_daemonises() {
    let script = "sleep 63 & setsid sleep 64 & exit 0";
    let sandbox = Sandbox::with_servers([("daemon", shell(script))]);
    sandbox.run(&["tools"]).exits(4);
    until_none(&sandbox);
}

#[test]
fn none_is_left_of_a_server_that_never_answers() {
    let mut sandbox = Sandbox::new();
    let servers = sandbox.marked([
        ("mute", peer(&["faulty", "mute"])),
        ("deaf", shell("trap '' TERM; sleep 65; sleep 65")),
    ]);
    sandbox.set_config(&json!({
        "mcpServers": servers, "limits": { "connectTimeout": 300 },
    }));
    sandbox.run(&["tools"]).exits(4);
    until_none(&sandbox);
}

#[test]
fn servers_of_others_are_left_alone() {
    let sandbox = Sandbox::with_servers(stubborn());
    let mut other = std::process::Command::new(peer_path())
        .args(["faulty", "silent"])
        .env(MARK, sandbox.root())
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    sandbox.run(&["tools"]).exits(0);
    let left = processes(&sandbox);
    assert_eq!(left.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [other.id()]);
    other.kill().unwrap();
    other.wait().unwrap();
}
