//! The thread that starts servers. A parent-death signal fires when the *thread* that started the
//! child ends, so that thread must live as long as this process does.

use std::{
    io,
    sync::{Mutex, PoisonError, mpsc},
};

use nix::sys::signal::SigSet;
use tokio::{
    process::{Child, Command},
    runtime::Handle,
    sync::oneshot,
};

struct Job {
    command: Command,
    runtime: Handle,
    reply: oneshot::Sender<io::Result<Child>>,
}

/// Starts `command` on that thread.
pub(super) async fn spawn(command: Command) -> io::Result<Child> {
    let (reply, child) = oneshot::channel();
    submit(Job { command, runtime: Handle::current(), reply })?;
    child.await.map_err(io::Error::other)?
}

/// Hands the job to the thread, which the first job starts.
fn submit(job: Job) -> io::Result<()> {
    static JOBS: Mutex<Option<mpsc::Sender<Job>>> = Mutex::new(None);

    let mut jobs = JOBS.lock().unwrap_or_else(PoisonError::into_inner);
    let sender = match &mut *jobs {
        Some(sender) => sender,
        none => {
            let (sender, receiver) = mpsc::channel::<Job>();
            let work = move || {
                // Other threads take them. A new process must not run handlers of this program
                // before it has let go of them; failing, it is only likely not to.
                let _ = SigSet::all().thread_block();
                receiver.into_iter().for_each(run);
            };
            std::thread::Builder::new().name("spawner".to_owned()).spawn(work)?;
            none.insert(sender)
        }
    };
    sender.send(job).map_err(|_| io::Error::other("the thread that starts servers has ended"))
}

fn run(mut job: Job) {
    let _runtime = job.runtime.enter();
    // Whoever gave up waiting drops the child, which kills it.
    let _ = job.reply.send(job.command.spawn());
}
