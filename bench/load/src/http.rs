//! Load on servers over Streamable HTTP.
//!
//! One thread and a few kept connections. There is no HTTP library on this path: a client
//! made with one takes about as much time as the fastest server.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::net::TcpStream;

use self::connection::Connection;
use crate::account::{end, memory_mib, own_processor_ns, processor_ns, tree};
use crate::message::Request;
use crate::options::{short, split_command, tool};
use crate::table::Run;
use crate::{Mode, Options, Outcome, Table, server_log};

mod connection;

/// Runs all rounds that the options ask for; the report is Markdown.
pub fn generate(options: &Options) -> Outcome<String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    tokio::task::LocalSet::new().block_on(&runtime, rounds(options))
}

async fn rounds(options: &Options) -> Outcome<String> {
    let plan = Plan::new(options)?;
    let rounds = options.value("rounds", 5)?;
    let mut table = Table::default();
    // Waiting for those again would take most of the time.
    let mut silent = BTreeSet::new();
    for round in 0..rounds {
        for (spec, command) in &options.servers {
            let name = short(spec);
            if silent.contains(name) {
                continue;
            }
            if let Err(why) = plan.measure(&mut table, round, spec, command).await {
                if why == NEVER_LISTENED {
                    silent.insert(name);
                }
                table.fail("http", name, &why);
            }
        }
        eprintln!("round {} of {rounds} done", round + 1);
    }
    options.report(&table)
}

/// Why a server that does not come up is left out.
const NEVER_LISTENED: &str = "it never listened";

/// What every server goes through in every round.
struct Plan {
    mode: Mode,
    time: Duration,
    sizes: Vec<usize>,
    concurrency: Vec<usize>,
    /// How many idle sessions to open.
    sessions: Vec<usize>,
    /// Whether lists of tools are asked for as well.
    lists: bool,
    /// Whether calls ask for progress.
    progress: bool,
}

impl Plan {
    fn new(options: &Options) -> Outcome<Plan> {
        Ok(Plan {
            mode: options.mode()?,
            time: Duration::from_secs_f64(options.value("secs", 0.5)?),
            sizes: options.list("sizes", "100,10240,1048576")?,
            concurrency: options.list("conc", "1,16,128")?,
            sessions: options.list("sessions", "")?,
            lists: options.value("lists", false)?,
            progress: options.value("progress", false)?,
        })
    }

    async fn measure(
        &self,
        table: &mut Table,
        round: usize,
        spec: &str,
        command: &str,
    ) -> Outcome<()> {
        if (self.lists || !self.sizes.is_empty()) && !self.concurrency.is_empty() {
            self.load(table, round, spec, command).await?;
        }
        for count in &self.sessions {
            const LIMIT: Duration = Duration::from_secs(180);
            let (server, _) = Server::start(spec, command).await?;
            let (name, scenario) = (short(spec), format!("{count} idle sessions"));
            match tokio::time::timeout(LIMIT, server.idle_sessions(*count)).await {
                Ok(Ok((kib, rate))) => {
                    table.add(&scenario, name, round, "KiB/session", kib);
                    table.add(&scenario, name, round, "open/s", rate);
                }
                Ok(Err(why)) => table.fail(&scenario, name, &why),
                Err(_) => table.fail(&scenario, name, "timed out"),
            }
        }
        Ok(())
    }

    async fn load(
        &self,
        table: &mut Table,
        round: usize,
        spec: &str,
        command: &str,
    ) -> Outcome<()> {
        const START: &str = "cold start to first tools/list; memory after all load";
        const LIMIT: Duration = Duration::from_secs(60);
        let (mut server, started) = Server::start(spec, command).await?;
        server.first_list(self.mode).await?;
        let elapsed = started.elapsed();
        server.still_runs()?;
        let (server, name) = (Rc::new(server), short(spec));
        table.add(START, name, round, "cold ms", elapsed.as_secs_f64() * 1e3);
        table.add(START, name, round, "rss MiB", memory_mib(&server.processes(), "VmRSS"));
        let echoes = self.sizes.iter().map(|size| {
            // A megabyte on each of many connections measures the machine's memory.
            let most = if *size >= 1 << 20 { 16 } else { usize::MAX };
            (Request::echo(self.mode, &server.tool, *size, self.progress), most)
        });
        let lists = self.lists.then(|| (Request::list(self.mode), usize::MAX));
        for (request, most) in echoes.chain(lists) {
            let request = Rc::new(request);
            for connections in self.concurrency.iter().filter(|count| **count <= most) {
                let scenario = format!("concurrency {connections}, {}", request.name);
                let measured = async {
                    server.clone().exchanges(&request, *connections, self.time / 5).await?; // to warm up
                    server.clone().exchanges(&request, *connections, self.time).await
                };
                match tokio::time::timeout(LIMIT, measured).await {
                    Ok(Ok(run)) => table.add_run(&scenario, name, round, run),
                    Ok(Err(why)) => table.fail(&scenario, name, &why),
                    Err(_) => table.fail(&scenario, name, "timed out"),
                }
            }
        }
        table.add(START, name, round, "peak MiB", memory_mib(&server.processes(), "VmHWM"));
        Ok(())
    }
}

/// A running server and where it is reached.
struct Server {
    host: String,
    path: String,
    tool: String,
    child: Child,
}

impl Server {
    /// Starts the server of `NAME[@PATH][!TOOL]=COMMAND` on a free port, which takes the
    /// place of `{port}`, and waits until it listens.
    async fn start(spec: &str, command: &str) -> Outcome<(Server, Instant)> {
        const LIMIT: Duration = Duration::from_secs(30);
        let name = spec.split('!').next().unwrap_or(spec);
        let path = name.split_once('@').map_or("/mcp", |(_, path)| path);
        let listener =
            std::net::TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
        let port = listener.local_addr().map_err(|error| error.to_string())?.port();
        drop(listener);
        let words = split_command(&command.replace("{port}", &port.to_string()));
        let (program, arguments) = words.split_first().ok_or("the command is empty")?;
        let started = Instant::now();
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(server_log()?).stderr(server_log()?);
        let child = command.spawn().map_err(|error| format!("{program}: {error}"))?;
        let mut server = Server {
            host: format!("127.0.0.1:{port}"),
            path: path.to_owned(),
            tool: tool(spec).to_owned(),
            child,
        };
        while TcpStream::connect(&server.host).await.is_err() {
            if let Ok(Some(status)) = server.child.try_wait() {
                return Err(format!("it ended before it listened ({status})"));
            }
            if started.elapsed() > LIMIT {
                return Err(NEVER_LISTENED.into());
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok((server, started))
    }

    /// Refuses the answers of a stranger, who may have taken the free port before the server
    /// did.
    fn still_runs(&mut self) -> Outcome<()> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(format!("it ended, {status}, and another one answers")),
            Err(error) => Err(error.to_string()),
        }
    }

    fn processes(&self) -> Vec<i32> {
        i32::try_from(self.child.id()).map(tree).unwrap_or_default()
    }

    /// A new connection, with a session where the mode has one.
    async fn connect(&self, mode: Mode) -> Outcome<Connection> {
        let mut connection = Connection::open(&self.host, &self.path).await?;
        if mode == Mode::Legacy {
            connection.initialize().await?;
        }
        Ok(connection)
    }

    async fn first_list(&self, mode: Mode) -> Outcome<()> {
        let mut connection = self.connect(mode).await?;
        connection.prepare(mode, "tools/list", "", &[mode.tools_list().as_bytes()]);
        connection.expect_result().await
    }

    /// The same request over several connections, one at a time on each.
    async fn exchanges(
        self: Rc<Self>,
        request: &Rc<Request>,
        connections: usize,
        time: Duration,
    ) -> Outcome<Run> {
        let mut open = Vec::new();
        for _ in 0..connections {
            open.push(self.connect(request.mode).await?);
        }
        let processes = self.processes();
        let load = Rc::new(Load {
            request: request.clone(),
            latencies_ns: RefCell::default(),
            begin: Instant::now(),
            time,
        });
        let (server_ns, client_ns) = (processor_ns(&processes), own_processor_ns());
        let tasks: Vec<_> = open
            .into_iter()
            .enumerate()
            .map(|(number, connection)| {
                tokio::task::spawn_local(load.clone().run(connection, number as u64))
            })
            .collect();
        let mut run = Run::default();
        for task in tasks {
            run.requests += task.await.map_err(|error| error.to_string())??;
        }
        run.elapsed = load.begin.elapsed();
        run.server_ns = processor_ns(&processes).saturating_sub(server_ns);
        run.client_ns = own_processor_ns() - client_ns;
        run.latencies_ns = load.latencies_ns.take();
        Ok(run)
    }

    /// Opens sessions over a few connections; the growth for each in KiB, and how many a second.
    async fn idle_sessions(&self, count: usize) -> Outcome<(f64, f64)> {
        const CONNECTIONS: usize = 4;
        let mut connections = Vec::new();
        for _ in 0..CONNECTIONS {
            connections.push(self.connect(Mode::Legacy).await?);
        }
        if !connections[0].has_session() {
            return Err("the server makes no sessions".into());
        }
        let before = memory_mib(&self.processes(), "VmRSS");
        let begin = Instant::now();
        for number in 0..count {
            connections[number % CONNECTIONS].initialize().await?;
        }
        let elapsed = begin.elapsed();
        // What a server does after it has answered belongs to a session too.
        tokio::time::sleep(Duration::from_millis(300)).await;
        let growth = memory_mib(&self.processes(), "VmRSS") - before;
        Ok((growth * 1024.0 / count as f64, count as f64 / elapsed.as_secs_f64()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        end(self.processes().get(1..).unwrap_or_default());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the connections of one run share.
struct Load {
    request: Rc<Request>,
    latencies_ns: RefCell<Vec<u64>>,
    begin: Instant,
    time: Duration,
}

impl Load {
    /// Asks on one connection until the time is over; how often that was.
    async fn run(self: Rc<Self>, mut connection: Connection, number: u64) -> Outcome<u64> {
        const AT_LEAST: u64 = 2;
        /// Keeps the ids of the connections apart.
        const IDS: u64 = 10_000_000;
        let request = &*self.request;
        let (head, tail) = request.call.parts();
        let mut requests = 0;
        while requests < AT_LEAST || self.begin.elapsed() < self.time {
            let id = (number * IDS + requests + 10).to_string();
            let message = [head, id.as_bytes(), tail];
            connection.prepare(request.mode, request.method, &request.tool, &message);
            let sent = Instant::now();
            let status = connection.exchange().await?;
            self.latencies_ns
                .borrow_mut()
                .push(u64::try_from(sent.elapsed().as_nanos()).unwrap_or(u64::MAX));
            if status != 200 || connection.body().len() < request.at_least() {
                return Err(connection.describe(status));
            }
            if requests == 0 {
                request.verify(connection.json())?;
            }
            requests += 1;
        }
        Ok(requests)
    }
}
