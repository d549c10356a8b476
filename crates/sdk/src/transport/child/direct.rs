//! A server as a plain child process, where there is no guard.

use std::{io, process::Stdio, time::Duration};

use tokio::{
    process::{Child, Command},
    time::{Instant, sleep, sleep_until},
};

use super::{
    error::SpawnError,
    spec::Spec,
    status::ExitStatus,
    supervise::{News, Order, Supervised},
};

#[cfg(target_os = "linux")]
mod spawner;
#[cfg_attr(unix, path = "direct/group.rs")]
#[cfg_attr(windows, path = "direct/job.rs")]
mod tree;

use self::tree::Tree;

/// How long the server has to end by itself when nobody holds it any more.
const GRACE: Duration = Duration::from_secs(1);

/// How often it is looked whether the processes that the server left behind are gone.
const LOOK: Duration = Duration::from_millis(50);

/// A child process and those that it starts, as far as the system keeps them together.
#[derive(Debug)]
pub(super) struct Direct {
    child: Child,
    tree: Tree,
    exited: bool,
    killed: bool,
    kill_at: Option<Instant>,
}

impl Direct {
    /// Starts the server with `streams` as its stdin, stdout and stderr.
    pub(super) async fn start(
        spec: &Spec,
        [stdin, stdout, stderr]: [Stdio; 3],
    ) -> Result<Self, SpawnError> {
        let mut command = Command::new(&spec.program);
        command.args(&spec.args).env_clear();
        command.envs(spec.env.iter().map(|(name, value)| (name, value)));
        command.stdin(stdin).stdout(stdout).stderr(stderr).kill_on_drop(true);
        #[cfg(unix)]
        command.arg0(&spec.name);
        if let Some(cwd) = &spec.cwd {
            command.current_dir(cwd);
        }
        Tree::prepare(&mut command);
        let failed = |source| SpawnError::from_exec(spec.program.clone(), source);
        let child = start(command).await.map_err(failed)?;
        let tree = Tree::new(&child).map_err(failed)?;
        Ok(Self { child, tree, exited: false, killed: false, kill_at: None })
    }

    pub(super) fn id(&self) -> u32 {
        self.tree.id()
    }

    /// The streams that were asked for as pipes.
    #[cfg(windows)]
    pub(super) fn take_streams(
        &mut self,
    ) -> Option<(
        tokio::process::ChildStdin,
        tokio::process::ChildStdout,
        tokio::process::ChildStderr,
    )> {
        Some((self.child.stdin.take()?, self.child.stdout.take()?, self.child.stderr.take()?))
    }

    /// The child's exit, or the end of what it left behind.
    async fn next(&mut self) -> News {
        if !self.exited {
            let status = self.child.wait().await;
            self.exited = true;
            return News::Exited(status.map_or(ExitStatus::Unknown, ExitStatus::from));
        }
        // What was killed is as good as gone: waiting for it is the system's business.
        while !self.killed && !self.tree.is_empty() {
            sleep(LOOK).await;
        }
        News::Gone
    }

    fn kill(&mut self) {
        self.tree.kill();
        self.killed = true;
        self.kill_at = None;
    }
}

impl Supervised for Direct {
    async fn news(&mut self) -> News {
        if let Some(at) = self.kill_at {
            tokio::select! {
                news = self.next() => return news,
                () = sleep_until(at) => self.kill(),
            }
        }
        self.next().await
    }

    async fn order(&mut self, order: Order) {
        match order {
            Order::Terminate => self.tree.terminate(),
            Order::Kill => self.kill(),
        }
    }

    async fn abandon(&mut self) {
        self.tree.terminate();
        self.kill_at = Some(Instant::now() + GRACE);
    }
}

impl Drop for Direct {
    fn drop(&mut self) {
        // Dropped with something left only when the runtime shuts down: no time to ask.
        if !(self.exited && self.tree.is_empty()) {
            self.tree.kill();
        }
    }
}

#[cfg(target_os = "linux")]
async fn start(command: Command) -> io::Result<Child> {
    spawner::spawn(command).await
}

#[cfg(not(target_os = "linux"))]
#[expect(clippy::unused_async, reason = "on Linux another thread is waited for")]
async fn start(mut command: Command) -> io::Result<Child> {
    command.spawn()
}
