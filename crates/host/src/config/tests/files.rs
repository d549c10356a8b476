//! D126 and D127: how files are read and variables filled in.

use super::*;

#[test]
fn d126_bom_comments_trailing_commas_crlf_and_other_scripts() {
    let file = parse(case!("D126/mcp.json")).unwrap();
    assert_eq!(file.warnings(), []);
    let config = resolve(&[file], &[]);
    assert_eq!(config.servers.keys().collect::<Vec<_>>(), ["文档"]);
    let launch = child(&config, "文档");
    assert_eq!(launch.command, "docs");
    assert_eq!(launch.args, ["--url", "http://x//y", r"C:\数据\a"]);
}

#[test]
fn d126_other_encodings_are_named() {
    let wide: Vec<u8> = "{}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = "{}".encode_utf16().flat_map(u16::to_be_bytes).collect();
    let marked = [b"\xff\xfe".as_slice(), &wide].concat();
    for bytes in [&wide, &big, &marked] {
        let message = parse(bytes).unwrap_err().to_string();
        assert!(message.contains("UTF-16") && message.contains("UTF-8"), "{message}");
    }
    let message = parse(b"{\0\0\0}\0\0\0").unwrap_err().to_string();
    assert!(message.contains("UTF-32"), "{message}");
    let message = parse(b"{\n \"\xe9\": 1}").unwrap_err().to_string();
    assert!(message.contains(":2:3: ") && message.contains("UTF-8"), "{message}");
}

#[test]
fn d126_duplicates_are_warned_about_with_both_places() {
    let text =
        "{\"mcpServers\": {\n  \"a\": {\"command\": \"x\"},\n  \"a\": {\"command\": \"y\"}\n}}";
    let config = config(text);
    assert_eq!(child(&config, "a").command, "y");
    let warnings: Vec<_> = config.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        ["/project/.mcp.json:3:3: key \"a\" stands here again (first at 2:3); this one counts"]
    );
}

#[test]
fn d126_positions_count_characters_and_survive_comments() {
    let text = "\u{feff}{ // 说明\r\n  /* 文档 */ \"文\": 1 }";
    assert!(
        failure(text).starts_with("/project/.mcp.json:2:12: unknown key \"文\""),
        "{}",
        failure(text)
    );
    let message = failure("{\"mcpServers\": {\n\"文\" 1}}");
    assert!(
        message.starts_with("/project/.mcp.json:2:5: not valid JSON: expected `:`"),
        "{message}"
    );
    assert!(failure("").contains("1:1: not valid JSON: the file is empty"));
    assert!(failure("// only\n/* this").contains("2:1: not valid JSON: a /* comment"));
    assert!(failure("{} {}").contains("1:4: "));
    assert!(failure("[]").contains("a config file is an object"));
}

#[test]
fn d127_variables_from_the_handed_environment() {
    let env: Vec<(&str, &str)> = std::str::from_utf8(case!("D127/env.txt"))
        .unwrap()
        .lines()
        .filter_map(|line| line.split_once('='))
        .collect();
    let file = parse(case!("D127/mcp.json")).unwrap();
    let config = resolve(&[file], &env);

    let Some(Launch::Http(a)) = config.servers["a"].launch() else { panic!("a is ready") };
    assert_eq!(a.url.to_string(), "https://x.example/mcp");
    assert_eq!(a.headers, [("Authorization".to_owned(), Secret::new("Bearer t0"))]);

    let message = problem(&config, "b");
    for part in ["server \"b\"", "MISSING", "args[0]", "/project/.mcp.json:12:5"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert_eq!(child(&config, "d").args, ["$TOKEN", "${TOKEN}"]);
}

#[test]
fn d127_every_place_is_filled_in_and_names_are_not() {
    let text = r#"{"mcpServers": {
        "a": {"command": "${X}/bin", "args": ["-${X}"], "env": {"${X}": "${X}!"}, "cwd": "${X}"},
        "h": {"url": "http://${X}.example/", "headers": {"X-A": "${X}"}},
        "f": {"type": "builtin", "name": "files", "args": ["${X}"]},
        "e": {"command": "${EMPTY}"}
    }}"#;
    let config = resolve(&[parse(text.as_bytes()).unwrap()], &[("X", "v"), ("EMPTY", "")]);
    let launch = child(&config, "a");
    assert_eq!((launch.command.as_str(), launch.args[0].as_str()), ("v/bin", "-v"));
    assert_eq!(launch.env["${X}"].expose(), "v!");
    assert_eq!(launch.cwd.as_deref(), Some(Path::new("/here/v")));
    let Some(Launch::Http(http)) = config.servers["h"].launch() else { panic!("h is ready") };
    assert_eq!((http.url.host(), http.headers[0].1.expose()), (Some("v.example"), "v"));
    let Some(Launch::Builtin { args, .. }) = config.servers["f"].launch() else { panic!("ready") };
    assert_eq!(args, &["/here/v"]);
    assert!(problem(&config, "e").contains("nothing is left"));
}

#[test]
fn values_that_would_break_the_carrier_disable_the_server_and_do_not_leak() {
    let text = r#"{"mcpServers": {
        "nul": {"command": "c", "args": ["${NUL}"]},
        "line": {"url": "http://x/", "headers": {"A": "${LINE}"}},
        "url": {"url": "${LINE}"}
    }}"#;
    let env = [("NUL", "s3cret\0"), ("LINE", "s3cret\r\nX: y")];
    let config = resolve(&[parse(text.as_bytes()).unwrap()], &env);
    for name in ["nul", "line", "url"] {
        let message = problem(&config, name);
        assert!(!message.contains("s3cret"), "{message}");
    }
    let secrets = resolve(
        &[parse(br#"{"mcpServers":{"a":{"command":"c","env":{"K":"${K}"}}}}"#).unwrap()],
        &[("K", "s3cret")],
    );
    assert!(!format!("{secrets:?}").contains("s3cret"));
}

#[test]
fn files_are_read_once_bounded_and_only_if_regular() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.json");
    let read = || ConfigFile::read(&path, Source::User);
    assert!(matches!(read().unwrap_err().fault(), Fault::Read(_)));
    std::fs::write(&path, " ".repeat(MAX_FILE_BYTES as usize + 1)).unwrap();
    assert!(matches!(read().unwrap_err().fault(), Fault::TooLarge { .. }));
    std::fs::write(&path, "{}").unwrap();
    assert_eq!(read().unwrap().hash(), ContentHash::of(b"{}"));
    let error = ConfigFile::read(folder.path(), Source::User).unwrap_err();
    assert!(matches!(error.fault(), Fault::NotAFile));
}

#[test]
fn any_bytes_give_a_file_or_an_error() {
    let seed = case!("D126/mcp.json");
    let whole = seed.trim_ascii_end().len();
    for at in 0..whole {
        let mut bytes = seed.to_vec();
        bytes.truncate(at);
        assert!(parse(&bytes).is_err(), "cut at {at}");
        for byte in [0, b'"', b'\\', b'{', b'/', b'*', b',', 0xff] {
            let mut bytes = seed.to_vec();
            bytes[at] = byte;
            if let Err(error) = parse(&bytes) {
                assert!(!error.to_string().is_empty());
            }
        }
    }
}

#[test]
fn the_example_in_the_docs_is_read() {
    let page = include_str!("../../../../../docs/config.md");
    let example = page.split("```jsonc\n").nth(1).unwrap().split("```").next().unwrap();
    let env = [("GITHUB_TOKEN", "t"), ("WEATHER_KEY", "k")];
    let config = resolve(&[parse(example.as_bytes()).unwrap()], &env);
    assert_eq!(config.warnings, []);
    let states: Vec<_> = config.servers.values().map(|server| server.launch().is_some()).collect();
    assert_eq!(states, [true, true, false, true]);
    assert!(matches!(config.servers["old"].state, ServerState::Disabled));

    let literal = "${DOLLAR:-$}{NAME}";
    assert!(page.contains(literal));
    let text = format!("{{\"mcpServers\": {{\"s\": {{\"command\": \"{literal}\"}}}}}}");
    assert_eq!(child(&super::config(&text), "s").command, "${NAME}");
}
