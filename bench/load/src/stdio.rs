//! Load on servers over stdio.

use std::ops::Range;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};
use std::{io, thread};

use io::{Read as _, Write as _};

use crate::account::{end, memory_mib, own_processor_ns, processor_ns, tree};
use crate::message::{INITIALIZE, INITIALIZED, Request, excerpt, looks_like_result};
use crate::options::{short, split_command, tool};
use crate::table::Run;
use crate::{Mode, Options, Outcome, Table, server_log};

/// Runs all rounds that the options ask for; the report is Markdown.
pub fn generate(options: &Options) -> Outcome<String> {
    let plan = Plan::new(options)?;
    let rounds = options.value("rounds", 5)?;
    let mut table = Table::default();
    for round in 0..rounds {
        for (spec, command) in &options.servers {
            if let Err(why) = plan.measure(&mut table, round, spec, command) {
                table.fail("stdio", short(spec), &why);
            }
        }
        eprintln!("round {} of {rounds} done", round + 1);
    }
    options.report(&table)
}

/// What every server goes through in every round.
struct Plan {
    mode: Mode,
    time: Duration,
    /// Requests in flight at once.
    window: u64,
    /// Starts in a round.
    starts: usize,
    sizes: Vec<usize>,
    /// Whether lists of tools are asked for as well.
    lists: bool,
}

impl Plan {
    fn new(options: &Options) -> Outcome<Plan> {
        Ok(Plan {
            mode: options.mode()?,
            time: Duration::from_secs_f64(options.value("secs", 0.5)?),
            window: options.value("window", 64)?,
            starts: options.value("cold", 3)?,
            sizes: options.list("sizes", "100,10240,1048576")?,
            lists: options.value("lists", false)?,
        })
    }

    fn measure(&self, table: &mut Table, round: usize, spec: &str, command: &str) -> Outcome<()> {
        const START: &str = "cold start to first tools/list; memory after all load";
        let (name, mut times) = (short(spec), Vec::new());
        for _ in 1..self.starts {
            times.push(Server::start(command)?.ready(self.mode)?);
        }
        let mut server = Server::start(command)?;
        times.push(server.ready(self.mode)?);
        times.sort_unstable();
        table.add(START, name, round, "cold ms", times[times.len() / 2].as_secs_f64() * 1e3);
        table.add(START, name, round, "rss MiB", memory_mib(&server.processes(), "VmRSS"));
        let echoes: Vec<Request> = self
            .sizes
            .iter()
            .map(|size| Request::echo(self.mode, tool(spec), *size, false))
            .collect();
        let lists = self.lists.then(|| Request::list(self.mode));
        for request in echoes.iter().chain(&lists) {
            let _watchdog = server.watchdog();
            server.one_by_one(request, self.time / 5)?; // to warm up
            let run = server.one_by_one(request, self.time)?;
            table.add_run(&format!("sequential, {}", request.name), name, round, run);
        }
        for request in echoes.iter().filter(|_| self.window > 0) {
            let _watchdog = server.watchdog();
            server.overlapping(request, self.time / 5, self.window)?;
            let run = server.overlapping(request, self.time, self.window)?;
            let scenario = format!("window {}, {}", self.window, request.name);
            table.add_run(&scenario, name, round, run);
        }
        table.add(START, name, round, "peak MiB", memory_mib(&server.processes(), "VmHWM"));
        Ok(())
    }
}

/// A running server and what was read of its output.
struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
    buffer: Vec<u8>,
    /// The part of the buffer that no line was taken from yet.
    unread: Range<usize>,
    next_id: u64,
    started: Instant,
}

impl Server {
    fn start(command: &str) -> Outcome<Server> {
        let words = split_command(command);
        let (program, arguments) = words.split_first().ok_or("the command is empty")?;
        let started = Instant::now();
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(server_log()?);
        let mut child = command.spawn().map_err(|error| format!("{program}: {error}"))?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().ok_or("the server has no output")?;
        Ok(Server {
            child,
            stdin,
            stdout,
            buffer: vec![0; 1 << 20],
            unread: 0..0,
            next_id: 10,
            started,
        })
    }

    fn processes(&self) -> Vec<i32> {
        i32::try_from(self.child.id()).map(tree).unwrap_or_default()
    }

    /// Ends the server unless what is given is dropped in time: some servers never answer what
    /// is too large for them, and reading waits for ever.
    fn watchdog(&self) -> mpsc::Sender<()> {
        const LIMIT: Duration = Duration::from_secs(60);
        let (running, done) = mpsc::channel();
        let processes = self.processes();
        thread::spawn(move || {
            if done.recv_timeout(LIMIT) == Err(mpsc::RecvTimeoutError::Timeout) {
                end(&processes);
            }
        });
        running
    }

    fn send(&mut self, line: &[u8]) -> Outcome<()> {
        let stdin = self.stdin.as_mut().ok_or("the server's input is closed")?;
        stdin.write_all(line).map_err(|error| format!("write: {error}"))
    }

    /// The next line, without its end.
    fn line(&mut self) -> Outcome<Range<usize>> {
        let mut scanned = self.unread.start;
        loop {
            if let Some(length) = memchr::memchr(b'\n', &self.buffer[scanned..self.unread.end]) {
                let line = self.unread.start..scanned + length;
                self.unread.start = line.end + 1;
                return Ok(line);
            }
            self.make_room();
            scanned = self.unread.end;
            let count = self
                .stdout
                .read(&mut self.buffer[scanned..])
                .map_err(|error| format!("read: {error}"))?;
            if count == 0 {
                return Err("the server closed its output".into());
            }
            self.unread.end += count;
        }
    }

    fn make_room(&mut self) {
        let is_full = self.unread.end == self.buffer.len();
        if self.unread.start > 0 && (self.unread.is_empty() || is_full) {
            self.buffer.copy_within(self.unread.clone(), 0);
            self.unread = 0..self.unread.len();
        } else if is_full {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
    }

    /// The next line that is an answer; notifications and requests are skipped.
    fn answer(&mut self) -> Outcome<Range<usize>> {
        const REACH: usize = 400;
        loop {
            let range = self.line()?;
            let line = &self.buffer[range.clone()];
            if looks_like_result(line) {
                return Ok(range);
            }
            if memchr::memmem::find(&line[..line.len().min(REACH)], b"\"error\"").is_some() {
                return Err(format!("an error: {}", excerpt(line)));
            }
        }
    }

    /// Handshake and first list of tools; the time since the start.
    fn ready(&mut self, mode: Mode) -> Outcome<Duration> {
        if mode == Mode::Legacy {
            self.send(format!("{INITIALIZE}\n").as_bytes())?;
            self.answer()?;
            self.send(format!("{INITIALIZED}\n").as_bytes())?;
        }
        self.send(format!("{}\n", mode.tools_list()).as_bytes())?;
        self.answer()?;
        Ok(self.started.elapsed())
    }

    /// One request at a time.
    fn one_by_one(&mut self, request: &Request, time: Duration) -> Outcome<Run> {
        const AT_LEAST: u64 = 3;
        let call = &request.call;
        let mut line = Vec::with_capacity(call.len());
        let processes = self.processes();
        let mut run = Run::default();
        let (server_ns, client_ns) = (processor_ns(&processes), own_processor_ns());
        let begin = Instant::now();
        while run.requests < AT_LEAST || begin.elapsed() < time {
            line.clear();
            call.write(self.next_id, &mut line);
            line.push(b'\n');
            self.next_id += 1;
            let sent = Instant::now();
            self.send(&line)?;
            let answer = self.answer()?;
            run.latencies_ns.push(u64::try_from(sent.elapsed().as_nanos()).unwrap_or(u64::MAX));
            if run.requests == 0 {
                request.verify(&self.buffer[answer])?;
            }
            run.requests += 1;
        }
        run.elapsed = begin.elapsed();
        run.server_ns = processor_ns(&processes).saturating_sub(server_ns);
        run.client_ns = own_processor_ns() - client_ns;
        Ok(run)
    }

    /// Keeps up to `window` requests in flight: a thread writes, this one reads.
    fn overlapping(&mut self, request: &Request, time: Duration, window: u64) -> Outcome<Run> {
        let processes = self.processes();
        let stdin = self.stdin.take().ok_or("the server's input is closed")?;
        let flight = Arc::new(Flight::new(window));
        let mut run = Run::default();
        let (server_ns, client_ns) = (processor_ns(&processes), own_processor_ns());
        let begin = Instant::now();
        let writer = thread::spawn({
            let (flight, first_id) = (flight.clone(), self.next_id);
            let call = request.call.clone();
            move || flight.write(stdin, &call, first_id)
        });
        let at_least = request.at_least();
        let read = self.read_overlapping(&mut run, &flight, at_least, || begin.elapsed() >= time);
        // The clock runs until the window is empty, so that all that is counted was answered.
        run.elapsed = begin.elapsed();
        run.server_ns = processor_ns(&processes).saturating_sub(server_ns);
        run.client_ns = own_processor_ns() - client_ns;
        flight.stop();
        if read.is_err() {
            // The writer may be stuck in a full pipe; it comes free when the reader is gone.
            let _ = self.child.kill();
        }
        let stdin = writer.join().map_err(|_| "the writing thread panicked")?;
        read?;
        self.stdin = Some(stdin?);
        self.next_id += run.requests;
        Ok(run)
    }

    fn read_overlapping(
        &mut self,
        run: &mut Run,
        flight: &Flight,
        at_least: usize,
        is_over: impl Fn() -> bool,
    ) -> Outcome<()> {
        loop {
            if self.answer()?.len() < at_least {
                return Err("an answer is shorter than the payload".into());
            }
            run.requests += 1;
            if flight.answered(is_over()) {
                return Ok(());
            }
        }
    }
}

impl Drop for Server {
    /// A second to end at the end of its input, then the whole tree by its ids.
    fn drop(&mut self) {
        const GRACE: Duration = Duration::from_secs(1);
        let processes = self.processes();
        drop(self.stdin.take());
        let deadline = Instant::now() + GRACE;
        while Instant::now() < deadline && matches!(self.child.try_wait(), Ok(None)) {
            thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        end(processes.get(1..).unwrap_or_default());
    }
}

/// How many requests are under way, shared by the thread that writes and the one that reads.
struct Flight {
    window: u64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    sent: u64,
    answered: u64,
    stopped: bool,
}

impl Flight {
    fn new(window: u64) -> Flight {
        Flight { window: window.max(1), state: Mutex::default(), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fills the window again and again; gives the pipe back when told to stop.
    fn write(
        &self,
        mut stdin: ChildStdin,
        call: &crate::message::Call,
        first_id: u64,
    ) -> Outcome<ChildStdin> {
        // About 64 KiB a write at most, as a busy client has it.
        let most = (64 * 1024 / call.len().max(1)).max(1) as u64;
        let mut batch = Vec::new();
        while let Some(numbers) = self.next(most) {
            batch.clear();
            for number in numbers {
                call.write(first_id + number, &mut batch);
                batch.push(b'\n');
            }
            stdin.write_all(&batch).map_err(|error| format!("write: {error}"))?;
        }
        Ok(stdin)
    }

    /// Waits for room in the window and takes it.
    fn next(&self, most: u64) -> Option<Range<u64>> {
        let mut state = self.state();
        while !state.stopped && state.sent - state.answered >= self.window {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.stopped {
            return None;
        }
        let from = state.sent;
        state.sent += most.min(self.window - (state.sent - state.answered));
        Some(from..state.sent)
    }

    /// Counts an answer. True when the time is over and nothing is under way any more.
    fn answered(&self, is_over: bool) -> bool {
        let mut state = self.state();
        state.answered += 1;
        state.stopped |= is_over;
        let under_way = state.sent - state.answered;
        if under_way <= self.window / 2 || state.stopped {
            self.changed.notify_one();
        }
        state.stopped && under_way == 0
    }

    fn stop(&self) {
        self.state().stopped = true;
        self.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_bounds_what_is_under_way() {
        let flight = Flight::new(3);
        assert_eq!(flight.next(2), Some(0..2));
        assert_eq!(flight.next(2), Some(2..3));
        assert!(!flight.answered(false));
        assert_eq!(flight.next(2), Some(3..4));
        assert!(!flight.answered(true));
        assert_eq!(flight.next(2), None);
        assert!(!flight.answered(true));
        assert!(flight.answered(true));
    }

    #[test]
    fn lines_are_read_across_the_ends_of_the_buffer() {
        let mut server = Server::start("cat").unwrap();
        server.buffer = vec![0; 16];
        let long = "x".repeat(100);
        for line in ["a", "bb", &long, "ccc"] {
            server.send(format!("{line}\n").as_bytes()).unwrap();
            let read = server.line().unwrap();
            assert_eq!(&server.buffer[read], line.as_bytes());
        }
    }

    #[test]
    fn a_server_that_ends_is_an_error() {
        let mut server = Server::start("true").unwrap();
        assert!(server.line().is_err());
    }
}
