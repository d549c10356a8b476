//! `carrick server`

use crate::args::ServerArgs;
use crate::exit::Failure;
use crate::print;
use crate::signals;
use carrick::Server;
use carrick::proto::revision::Revision;
use carrick::server::Service;
use carrick::transport::http::{AccessRules, Hosts, HttpServer, HttpServerOptions};
use carrick::transport::{LineTransport, stdio};
use carrick_servers::FilesOptions;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::process::ExitCode;

/// Runs a built-in server.
pub(super) async fn run(arguments: &ServerArgs) -> Result<ExitCode, Failure> {
    let server = server(arguments)?;
    match &arguments.http {
        Some(address) => {
            let what = format!("the built-in server {}", arguments.name);
            http(server, &what, address, &arguments.allow_host).await
        }
        None => {
            let streams = stdio::take().map_err(Failure::failed)?;
            let transport = LineTransport::new(streams.0, streams.1);
            print::say(format_args!(
                "serving the built-in server {} on stdin and stdout ({}); Ctrl-C ends it",
                arguments.name,
                revisions()
            ));
            let until = told_to_end();
            let served = carrick::serve_until(&server, transport, Default::default(), until);
            served.await.map_err(Failure::failed)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Which revisions of the protocol a client may speak.
pub(super) fn revisions() -> String {
    let mut all = Revision::ALL.iter();
    match (all.next(), all.next_back()) {
        (Some(first), Some(last)) => format!("MCP {first} to {last}"),
        _ => "MCP".into(),
    }
}

fn server(arguments: &ServerArgs) -> Result<Server, Failure> {
    match arguments.name.as_str() {
        "time" if arguments.folders.is_empty() && !arguments.write => Ok(carrick_servers::time()),
        "time" => Err(Failure::usage("the time server takes neither folders nor --write")),
        "files" => {
            let mut folders = arguments.folders.clone();
            if folders.is_empty() {
                folders.push(PathBuf::from("."));
            }
            let mut options = FilesOptions::new(folders);
            if arguments.write {
                options = options.writable();
            }
            carrick_servers::files(options).map_err(Failure::usage)
        }
        name => Err(Failure::usage(format!("there is no built-in server {name:?}"))
            .hint("there are: files, time")),
    }
}

fn cannot_listen(address: SocketAddr, error: &io::Error) -> Failure {
    let failure = Failure::failed(format!("cannot listen on {address}: {error}"));
    match error.kind() {
        io::ErrorKind::AddrInUse => failure.hint("another program does; port 0 takes a free one"),
        io::ErrorKind::AddrNotAvailable => {
            failure.hint("write an address of this machine, such as 127.0.0.1")
        }
        io::ErrorKind::PermissionDenied => {
            failure.hint("ports below 1024 are root's; take another")
        }
        _ => failure,
    }
}

fn no_address(text: &str) -> Failure {
    let failure = Failure::usage(format!("{text:?} is no address to listen at"));
    match text.rsplit_once(':') {
        _ if text.parse::<u16>().is_ok() => failure.hint(format!("write 127.0.0.1:{text}")),
        None => failure.hint(format!("add a port: {text}:8000")),
        Some((_, port)) if port.parse::<u16>().is_err() => {
            failure.hint("a port is a number up to 65535; 0 takes a free one")
        }
        Some((host, port)) => {
            failure.hint(format!("{host:?} is no host of this machine; write 127.0.0.1:{port}"))
        }
    }
}

/// Serves over HTTP until told to end.
pub(super) async fn http(
    server: impl Service,
    what: &str,
    address: &str,
    allow_hosts: &[String],
) -> Result<ExitCode, Failure> {
    let options = options(allow_hosts)?;
    let resolved = address.to_socket_addrs().ok().and_then(|mut all| all.next());
    let address = resolved.ok_or_else(|| no_address(address))?;
    let http = HttpServer::bind(server, address, options)
        .await
        .map_err(|error| cannot_listen(address, &error))?;
    print::say(format_args!("listening on http://{}/mcp", http.local_addr()));
    let names = match allow_hosts {
        [] => "localhost, 127.0.0.1 or [::1]".to_owned(),
        hosts if hosts.iter().any(|host| host == "*") => "by any name".to_owned(),
        hosts => format!("localhost or {}", hosts.join(" or ")),
    };
    print::say(format_args!(
        "serving {what} ({}) to clients that call it {names}; Ctrl-C ends it",
        revisions()
    ));
    if allow_hosts.is_empty() && !address.ip().is_loopback() {
        print::say(format_args!(
            "warning: only requests for localhost are answered; name other hosts by --allow-host HOST"
        ));
    }
    http.serve(told_to_end()).await.map_err(Failure::failed)?;
    Ok(ExitCode::SUCCESS)
}

fn options(allow_hosts: &[String]) -> Result<HttpServerOptions, Failure> {
    let mut options = HttpServerOptions::default();
    if allow_hosts.iter().any(|host| host == "*") {
        options.access = Some(AccessRules::new(Hosts::Any));
        return Ok(options);
    }
    if let Some(host) = allow_hosts.iter().find(|host| !Hosts::is_entry(host)) {
        return Err(Failure::usage(format!("--allow-host {host:?} is no host"))
            .hint("write it as mcp.example, mcp.example:8443, 10.0.0.5 or [fd00::5]"));
    }
    options.allow_hosts = allow_hosts.to_vec();
    Ok(options)
}

/// Ready when the process is told to end, which is how a server ends in order:
/// no failure.
pub(super) async fn told_to_end() {
    signals::told().await;
}
