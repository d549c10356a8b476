//! `carrick serve` in front of the least server, beside a proxy that reads no JSON.

use std::fs;
use std::net::TcpListener;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use serde_json::json;

use super::{build_release, program};
use crate::{Result, process};

/// Runs the rounds: straight to the server, by the proxy, by `carrick serve`.
pub(super) fn measure(options: &[String]) -> Result<()> {
    build_release(&["--package", "carrick-cli"])?;
    let upstream = Upstream::start()?;
    let folder = process::target_directory()?.join("bench-gateway");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let config = folder.join("config.json");
    let servers = json!({ "mcpServers": { "bare": { "url": format!("{}/mcp", upstream.url) } } });
    fs::write(&config, servers.to_string())
        .map_err(|error| format!("{}: {error}", config.display()))?;
    const ADDRESS: &str = "127.0.0.1:{port}";
    let gateways = [
        format!("direct={} {ADDRESS}", program("bare-http")),
        format!("bare-proxy={} {ADDRESS} {}", program("bare-proxy"), upstream.url),
        format!(
            "carrick={} --config {} serve --http {ADDRESS}",
            program("carrick"),
            config.display()
        ),
    ];
    let few = ["--sizes", "100,10240", "--conc", "1,16"].map(str::to_owned);
    let options = if options.is_empty() { &few[..] } else { options };
    for mode in ["legacy", "stateless"] {
        println!("\n**gateway, clients in mode {mode}; the server speaks both**");
        let mut load = Command::new(program("load-http"));
        load.env("HOME", &folder).args(["--mode", mode]).args(options).args(&gateways);
        process::run(&mut load)?;
    }
    Ok(())
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
