//! `carrick serve` in front of the least server, beside other gateways and a proxy that
//! reads no JSON.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::peers::Peers;
use super::{build_release, program};
use crate::{Result, process};

/// Runs the rounds: straight to the server, by the proxy, by `carrick serve`, by the others.
pub(super) fn measure(peers: &Peers, options: &[String]) -> Result<()> {
    build_release(&["--package", "carrick-cli"])?;
    let upstream = Upstream::start()?;
    let url = format!("{}/mcp", upstream.url);
    let folder = process::target_directory()?.join("bench-gateway");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let command = program("bare-stdio");
    let to_http = Config::write(&folder.join("config.json"), &json!({ "url": url }))?;
    let to_stdio = Config::write(&folder.join("stdio.json"), &json!({ "command": command }))?;
    let (peers_over_stdio, peers_over_http) = peers.gateways(&url, &command);

    const ADDRESS: &str = "127.0.0.1:{port}";
    let over_http = [
        format!("direct={} {ADDRESS}", program("bare-http")),
        format!("bare-proxy={} {ADDRESS} {}", program("bare-proxy"), upstream.url),
        format!("carrick={} --http {ADDRESS}", to_http.serve()),
        format!("carrick-stdio={} --http {ADDRESS}", to_stdio.serve()),
    ];
    let over_stdio = [format!("direct={command}"), format!("carrick={}", to_http.serve())];
    let few = ["--sizes", "100,10240", "--conc", "1,16"].map(str::to_owned);
    let options = if options.is_empty() { &few[..] } else { options };
    for mode in ["legacy", "stateless"] {
        let run = |load: &str, gateways: &[&[String]]| {
            let mut load = Command::new(program(load));
            load.env("HOME", &folder).args(["--mode", mode]).args(options);
            process::run(load.args(gateways.concat()))
        };
        println!("\n**gateway, clients over HTTP in mode {mode}; the server speaks both**");
        run("load-http", &[&over_http, &peers_over_http])?;
        println!("\n**gateway, clients over stdio in mode {mode}; the server speaks both**");
        run("load-stdio", &[&over_stdio, &peers_over_stdio])?;
    }
    Ok(())
}

/// A file that names one server for `carrick`.
struct Config(PathBuf);

impl Config {
    fn write(path: &Path, server: &Value) -> Result<Config> {
        fs::write(path, json!({ "mcpServers": { "bare": server } }).to_string())
            .map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Config(path.to_owned()))
    }

    /// The command of the gateway, for clients over stdio.
    fn serve(&self) -> String {
        format!("{} --config {} serve", program("carrick"), self.0.display())
    }
}

/// The server behind all of them, ended when this is dropped.
struct Upstream {
    child: Child,
    url: String,
}

impl Upstream {
    fn start() -> Result<Self> {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let address = free.map_err(|error| format!("no free port: {error}"))?;
        let child = Command::new(program("bare-http"))
            .arg(address.to_string())
            .spawn()
            .map_err(|error| format!("bare-http: {error}"))?;
        let upstream = Self { child, url: format!("http://{address}") };
        let given_up = Instant::now() + Duration::from_secs(5);
        while std::net::TcpStream::connect(address).is_err() {
            if Instant::now() > given_up {
                return Err("bare-http does not listen".into());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(upstream)
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        // It may have ended by itself; there is nothing else to do about either.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
