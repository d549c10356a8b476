//! All peers. One whose options make it cheaper than its documentation has it is there twice,
//! the second time as `tuned`; `bench/README.md` says what that means for each.

use super::{Kind, Origin, Peer};

/// The echo servers.
pub(super) const ECHO: [Peer; 14] = [
    echo("rmcp", &RMCP, ["stdio", "http 127.0.0.1:{port}"]),
    echo("rmcp-tuned", &RMCP, ["stdio-tuned", "http-tuned 127.0.0.1:{port}"]),
    at_root(echo("tower-mcp", &TOWER_MCP, ["stdio", "http 127.0.0.1:{port}"])),
    at_root(echo("tower-mcp-tuned", &TOWER_MCP, ["stdio-tuned", "http-tuned 127.0.0.1:{port}"])),
    echo("turbomcp", &TURBOMCP, ["stdio", "http 127.0.0.1:{port}"]),
    echo("turbomcp-tuned", &TURBOMCP, ["stdio-tuned", "http-tuned 127.0.0.1:{port}"]),
    echo("rust-mcp-sdk", &RUST_MCP_SDK, ["stdio", "http 127.0.0.1:{port}"]),
    echo("rust-mcp-sdk-tuned", &RUST_MCP_SDK, ["stdio-tuned", "http-tuned 127.0.0.1:{port}"]),
    echo("python-mcp", &PYTHON_MCP, ["stdio", "http {port}"]),
    echo("python-mcp-tuned", &PYTHON_MCP, ["stdio-tuned", "http-tuned {port}"]),
    echo("fastmcp", &FASTMCP, ["stdio", "http {port}"]),
    echo("fastmcp-tuned", &FASTMCP, ["stdio-tuned", "http-tuned {port}"]),
    echo("typescript", &TYPESCRIPT, ["stdio", "http {port}"]),
    over_http("typescript-tuned", &TYPESCRIPT, "http-tuned {port}"),
];

/// The gateways. The last three go from one transport to the other and know no third way.
pub(super) const GATEWAYS: [Peer; 7] = [
    over_http("rmcp-proxy", &PROXY_RMCP, "http 127.0.0.1:{port} {url}"),
    over_http("rmcp-proxy-tuned", &PROXY_RMCP, "http-tuned 127.0.0.1:{port} {url}"),
    prefixed(over_http("tower-mcp-proxy", &TOWER_MCP, "proxy 127.0.0.1:{port} {url}")),
    prefixed(over_http("tower-mcp-proxy-tuned", &TOWER_MCP, "proxy-tuned 127.0.0.1:{port} {url}")),
    Peer {
        name: "mcp-proxy",
        origin: &MCP_PROXY,
        stdio: Some("--transport streamablehttp {url}"),
        http: Some("--port {port} -- {command}"),
        at: "",
    },
    Peer {
        name: "supergateway",
        origin: &SUPERGATEWAY,
        stdio: Some("--streamableHttp {url}"),
        http: Some("--outputTransport streamableHttp --port {port} --stdio '{command}'"),
        at: "",
    },
    over_http(
        "supergateway-tuned",
        &SUPERGATEWAY,
        "--outputTransport streamableHttp --stateful --port {port} --stdio '{command}'",
    ),
];

/// The clients, each with what follows the name of the transport in its command.
pub(super) const CLIENTS: [Peer; 2] =
    [client("rmcp-client", &CLIENT_RMCP, ""), client("rmcp-client-tuned", &CLIENT_RMCP, "-tuned")];

const CLIENT_RMCP: Origin = cargo("client-rmcp");
const RMCP: Origin = cargo("peer-rmcp");
const TOWER_MCP: Origin = cargo("peer-tower-mcp");
const TURBOMCP: Origin = cargo("peer-turbomcp");
const RUST_MCP_SDK: Origin = cargo("peer-rust-mcp-sdk");
const PROXY_RMCP: Origin = cargo("proxy-rmcp");
const PYTHON_MCP: Origin = Origin {
    kind: Kind::Python,
    name: "python-mcp",
    command: "{home}/bin/python {source}/server.py",
};
const FASTMCP: Origin = Origin { name: "fastmcp", ..PYTHON_MCP };
const MCP_PROXY: Origin = Origin {
    kind: Kind::Python,
    name: "mcp-proxy",
    command: "{home}/bin/mcp-proxy --log-level ERROR",
};
const TYPESCRIPT: Origin =
    Origin { kind: Kind::Node, name: "typescript", command: "node {home}/server.mjs" };
const SUPERGATEWAY: Origin = Origin {
    kind: Kind::Node,
    name: "supergateway",
    command: "node {home}/node_modules/supergateway/dist/index.js --logLevel none",
};

/// A server for clients over either transport.
const fn echo(
    name: &'static str,
    origin: &'static Origin,
    [stdio, http]: [&'static str; 2],
) -> Peer {
    Peer { name, origin, stdio: Some(stdio), http: Some(http), at: "" }
}

const fn client(name: &'static str, origin: &'static Origin, form: &'static str) -> Peer {
    Peer { name, origin, stdio: Some(form), http: Some(form), at: "" }
}

const fn over_http(name: &'static str, origin: &'static Origin, http: &'static str) -> Peer {
    Peer { name, origin, stdio: None, http: Some(http), at: "" }
}

/// The same with its endpoint at the root of the host.
const fn at_root(peer: Peer) -> Peer {
    Peer { at: "@/", ..peer }
}

/// The same again, with the name of the server behind it before the names of the tools.
const fn prefixed(peer: Peer) -> Peer {
    Peer { at: "@/!b_echo", ..peer }
}

/// A package of the benchmarks' workspace and its program, both of the same name.
const fn cargo(name: &'static str) -> Origin {
    Origin { kind: Kind::Cargo, name, command: "" }
}
