//! What to do about a server that cannot be used.

use carrick::client::{CallError, ClientError, LaneEnd};
use carrick::transport::child::SpawnError;
use carrick::transport::http::HttpTransportError;
use carrick_host::permission::{quoted, visible};
use carrick_host::registry::{ServerError, ServerErrorKind};

pub(super) fn of_server(error: &ServerError) -> Option<String> {
    Some(match error.kind() {
        ServerErrorKind::Unknown { known } => match error.server().split_once('/') {
            // As lists of tools have it.
            Some((server, tool)) if known.iter().any(|known| known == server) => {
                let (server, tool) = (visible(server), visible(tool));
                format!("the server is {server}; a call of the tool is `carrick call {server} {tool}`")
            }
            _ if known.is_empty() => "put one into .mcp.json under \"mcpServers\"".into(),
            _ => return None,
        },
        ServerErrorKind::Disabled => {
            "take \"disabled\" out of its entry in the config to use it".into()
        }
        ServerErrorKind::Unapproved => {
            "`carrick trust` shows what the project's config would run, and approves it".into()
        }
        ServerErrorKind::Held(_) => {
            format!("`carrick trust --tools {}` approves it", visible(error.server()))
        }
        ServerErrorKind::Address { error, .. } => match error {
            HttpTransportError::Header(_) => "mend it under \"headers\" in the config".into(),
            HttpTransportError::OwnHeader(_) => {
                "take it out of \"headers\" in the config: Carrick sends it where it belongs".into()
            }
            _ => "write its \"url\" in the config like http://localhost:8123/mcp".into(),
        },
        ServerErrorKind::Connect(error) => return of_connecting(error),
        ServerErrorKind::Installing { .. } => "once it has been downloaded it starts faster: try \
            again, run its command once by hand, or set \"limits\": {\"connectTimeout\": 300000} \
            (milliseconds) in the config"
            .into(),
        ServerErrorKind::Unlisted { .. } => {
            "\"connectTimeout\" in \"limits\" sets how long it may take (milliseconds)".into()
        }
        ServerErrorKind::Request { error, .. } => match error.call() {
            Some(CallError::Timeout(_)) => {
                "--timeout SECONDS waits longer, as does \"timeout\" (milliseconds) in the server's \
                 entry"
                    .into()
            }
            _ => return None,
        },
        _ => return None,
    })
}

fn of_connecting(error: &ClientError) -> Option<String> {
    if let ClientError::Spawn(error) = error {
        return of_starting(error);
    }
    let text = error.to_string();
    let refused = ["Connection refused", "connection refused"];
    if refused.iter().any(|refused| text.contains(refused)) {
        return Some(
            "nothing listens there: start the server, or mend host and port in its \"url\"".into(),
        );
    }
    if text.contains("cannot find the host") {
        return Some("mend the host in its \"url\", or see whether the network is up".into());
    }
    Some(match error.call()? {
        CallError::Timeout(_) => {
            "is it an MCP server? One that needs longer to start gets it by \"connectTimeout\" \
             (milliseconds) under \"limits\" in the config; -v shows what a server that is \
             started writes to stderr, CARRICK_LOG=carrick=trace the messages"
                .into()
        }
        CallError::Closed(how) if how.ends_with("wrote nothing to stderr") => {
            "is it an MCP server? Run its command by hand to see why it ends; \"command\" and \
             \"args\" stand in the config"
                .into()
        }
        CallError::Closed(how) if how.contains("stderr") => {
            "mend what its stderr says, or \"command\" and \"args\" in the config; -v shows all of \
             its stderr"
                .into()
        }
        CallError::Exchange(LaneEnd::Status { status: 401 | 403, .. }) => {
            "it wants to know who asks: put \"headers\": {\"Authorization\": \"Bearer ${TOKEN}\"} \
             into its entry and set TOKEN, or mend what stands there"
                .into()
        }
        CallError::Exchange(LaneEnd::Status { status: 501, .. }) => {
            "is \"url\" the address of an MCP server? Most use /mcp".into()
        }
        CallError::Rpc(_) | CallError::Protocol(_) => {
            "is it an MCP server? CARRICK_LOG=carrick=trace shows the messages".into()
        }
        _ => return None,
    })
}

fn of_starting(error: &SpawnError) -> Option<String> {
    Some(match error {
        SpawnError::NotFound { program, .. } => match divided(program) {
            Some(divided) => divided,
            None => format!(
                "install {}, or write its whole path as \"command\" in the config",
                visible(program)
            ),
        },
        SpawnError::NoSuchFile { path } => match divided(&path.to_string_lossy()) {
            Some(divided) => divided,
            None => {
                "mend \"command\" in the config; a relative path begins at the server's \"cwd\""
                    .into()
            }
        },
        SpawnError::NotExecutable { path } => {
            let path = visible(&path.to_string_lossy());
            format!(
                "`chmod +x {path}` makes it a program; a script may also be an argument of its \
                 interpreter: \"command\": \"python3\", \"args\": [{path:?}]"
            )
        }
        SpawnError::NoInterpreter { .. } => {
            "install what its first line (#!) names, or name that as \"command\" and the script \
             in \"args\""
                .into()
        }
        SpawnError::WorkingDirectory { .. } => {
            "make that folder, or mend \"cwd\" in the config".into()
        }
        _ => return None,
    })
}

/// How to write a command that has its arguments in it.
fn divided(command: &str) -> Option<String> {
    let mut words = command.split_whitespace();
    let (program, arguments) = (words.next()?, words.map(quoted).collect::<Vec<_>>());
    if arguments.is_empty() {
        return None;
    }
    let arguments = arguments.join(", ");
    Some(format!(
        "\"command\" is the program alone, no shell reads it; put {arguments} into \"args\": \
         \"command\": {}, \"args\": [{arguments}]",
        quoted(program)
    ))
}

#[cfg(test)]
mod tests {
    use super::divided;

    #[test]
    fn f75_a_command_with_its_arguments_is_divided() {
        assert_eq!(
            divided("python3  server.py -x").unwrap(),
            "\"command\" is the program alone, no shell reads it; put \"server.py\", \"-x\" into \
             \"args\": \"command\": \"python3\", \"args\": [\"server.py\", \"-x\"]"
        );
        assert_eq!(divided("python3"), None);
    }
}
