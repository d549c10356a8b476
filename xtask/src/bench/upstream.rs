//! A `bare-http` that runs for as long as somebody measures against it.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use super::programs::program;
use crate::Result;

/// The server, ended when this is dropped.
pub(super) struct Upstream {
    child: Child,
    url: String,
}

impl Upstream {
    /// Starts it on a free port with these options, and waits until it listens.
    pub(super) fn start(options: &[&str]) -> Result<Upstream> {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let address = free.map_err(|error| format!("no free port: {error}"))?;
        let mut command = Command::new(program("bare-http"));
        command.arg(address.to_string()).args(options);
        let child = command.spawn().map_err(|error| format!("bare-http: {error}"))?;
        let upstream = Upstream { child, url: format!("http://{address}") };
        let given_up = Instant::now() + Duration::from_secs(5);
        while TcpStream::connect(address).is_err() {
            if Instant::now() > given_up {
                return Err("bare-http does not listen".into());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(upstream)
    }

    /// Scheme, host and port.
    pub(super) fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        // It may have ended by itself; there is nothing else to do about either.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
