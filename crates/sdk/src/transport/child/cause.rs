//! Which lines of a server's stderr say why it failed.

use std::collections::BTreeSet;

/// The most bytes that are kept of such a line, beyond those of the latest output.
pub(super) const ERROR_LINE: usize = 1000;

/// Lines of stderr that an error shows, from the end.
const TAIL_LINES: usize = 10;

/// The last few lines, indented, and before them the first line that names an error and the last
/// that does, since a stack may be longer than what is shown. `…` stands for what is left out
/// between. None when there is nothing but white space.
pub fn last_lines(tail: &str) -> Option<String> {
    let lines: Vec<&str> = tail.lines().filter(|line| !line.trim().is_empty()).collect();
    let start = lines.len().saturating_sub(TAIL_LINES);
    let before = &lines[..start];
    let first = before.iter().position(|line| names_an_error(line));
    let last = before.iter().rposition(|line| names_an_error(line));
    let errors: BTreeSet<usize> = [first, last]
        .into_iter()
        .flatten()
        .flat_map(|at| at..=at + usize::from(goes_on(before[at])))
        .filter(|&at| at < start)
        .collect();
    let mut kept: Vec<&str> = Vec::new();
    let mut next = 0;
    for at in errors.into_iter().chain(start..lines.len()) {
        if at > next && !kept.is_empty() {
            kept.push("…");
        }
        kept.push(if at < start { cut(lines[at]) } else { lines[at] });
        next = at + 1;
    }
    (!kept.is_empty()).then(|| format!("  {}", kept.join("\n  ")))
}

/// Whether a line tells of an error, rather than where in the code it was: as Node, Python, Rust,
/// Go, Java, .NET, Ruby, Elixir, npm, uv and shells write it, and logs with a level.
pub(super) fn names_an_error(line: &str) -> bool {
    let line = line.trim_start_matches([' ', '\t', '|', '…']);
    // Frames of stacks, and the lines of code that some show with them.
    let code = ["at ", "File \"", "except ", "catch ", "raise ", "throw ", "from ", "^"];
    if code.iter().any(|start| line.starts_with(start)) {
        return false;
    }
    if line.starts_with('×') {
        return true;
    }
    // Words, each with the character after it.
    let mut rest = line;
    while let Some(start) = rest.find(|c: char| c.is_alphanumeric()) {
        let end = rest[start..].find(|c: char| !c.is_alphanumeric());
        let end = end.map_or(rest.len(), |length| start + length);
        if tells(&rest[start..end], &rest[end..]) {
            return true;
        }
        rest = &rest[end..];
    }
    false
}

/// Whether a word with what follows it tells of an error.
fn tells(word: &str, after: &str) -> bool {
    match word {
        // Levels, as logs write them.
        "ERROR" | "FATAL" | "CRITICAL" | "PANIC" => return true,
        "panicked" | "Uncaught" | "Unhandled" | "UnhandledPromiseRejection" => return true,
        "ERR" => return after.starts_with('!'),
        "Exception" if after.starts_with(" in thread") => return true,
        "npm" => return after.starts_with(" error"),
        "Caused" => return after.starts_with(" by:"),
        _ => {}
    }
    let kind = ["error", "Error", "exception", "Exception", "fatal", "panic", "Exit", "Interrupt"];
    let is_kind = kind.iter().any(|ending| word.ends_with(ending));
    // `Error: x`, `Error [CODE]: x`, `error[E1]: x`, `(RuntimeError)`, a `KeyError` alone.
    let introduces = [":", " [", "[", ")"].iter().any(|next| after.starts_with(next))
        && !after.starts_with("::");
    let alone = after.trim_end().is_empty() && word.starts_with(|c: char| c.is_uppercase());
    is_kind && (introduces || alone)
}

/// Whether what a line tells stands on the next one, as after Rust's `panicked at src/main.rs:1:2:`.
pub(super) fn goes_on(line: &str) -> bool {
    line.trim_end().ends_with(':')
}

/// At most [`ERROR_LINE`] bytes of a line.
fn cut(line: &str) -> &str {
    &line[..line.floor_char_boundary(ERROR_LINE)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f14_lines_that_name_errors_are_told_from_others() {
        for line in [
            "Error: Cannot find module 'x'",
            "TypeError: x is not a function",
            "Error [ERR_MODULE_NOT_FOUND]: Cannot find package",
            "  [cause]: Error: connect ECONNREFUSED",
            "npm error code E404",
            "npm ERR! code E404",
            "Uncaught SyntaxError: Unexpected token",
            "ModuleNotFoundError: No module named 'x'",
            "mcp.shared.exceptions.McpError: closed",
            "AssertionError",
            "  | ValueError: in a group",
            "thread 'main' panicked at src/main.rs:1:2:",
            "thread 'main' (12) panicked at 'no key', src/main.rs:1:2",
            "error: unexpected argument",
            "error[E0433]: failed to resolve",
            "Error: Os { code: 2 }",
            "panic: runtime error: index out of range",
            "fatal error: all goroutines are asleep",
            "fatal: not a git repository",
            "Exception in thread \"main\" java.lang.IllegalStateException: x",
            "Caused by: java.io.IOException: x",
            "Unhandled exception. System.InvalidOperationException: x",
            "a.rb:1:in 'f': no key (RuntimeError)",
            "** (RuntimeError) no key",
            "PHP Fatal error:  Uncaught Exception: x",
            "  × No solution found when resolving tool dependencies:",
            "2026-01-01 12:00:00 ERROR server: cannot bind",
            "[ERROR] no key",
            "level=fatal msg=\"no key\" error: none",
        ] {
            assert!(names_an_error(line), "{line}");
        }
        for line in [
            "starting",
            "",
            "listening on port 80",
            "0 errors, 3 warnings",
            "    at Object.<anonymous> (/app/error.js:1:1)",
            "    throw new Error('no key');",
            "    raise ValueError(\"x\")",
            "  File \"/app/error.py\", line 3, in main",
            "    except KeyError:",
            "goroutine 1 [running]:",
            "std::error::Error::source",
            "note: run with `RUST_BACKTRACE=1`",
            "error handling is on",
        ] {
            assert!(!names_an_error(line), "{line}");
        }
    }

    #[test]
    fn f14_the_cause_is_shown_with_the_end() {
        let stack: String = (0..20).map(|n| format!("    at frame{n} (file.js:{n}:1)\n")).collect();
        let output = format!("starting\nfile.js:3\n\nError: no key\n{stack}\nNode.js v20\n");
        let shown = last_lines(&output).unwrap();
        let lines: Vec<_> = shown.lines().collect();
        assert_eq!(lines[..3], ["  Error: no key", "  …", "      at frame11 (file.js:11:1)"]);
        assert_eq!((lines.len(), lines[11]), (12, "  Node.js v20"));
        // Where none is cut, none is said to be.
        assert_eq!(last_lines("starting\nError: no key\n").unwrap(), "  starting\n  Error: no key");
        let panic = format!("thread 'main' panicked at a.rs:1:2:\nno key\n{stack}");
        assert!(
            last_lines(&panic).unwrap().starts_with(
                "  thread 'main' panicked at a.rs:1:2:\n  no key\n  …\n      at frame10"
            )
        );
        let twice = format!("Error: harmless\nretrying\nError: no key\n{stack}");
        let expected = "  Error: harmless\n  …\n  Error: no key\n  …\n      at frame10";
        assert!(last_lines(&twice).unwrap().starts_with(expected));
        let next = format!("Error: one\nError: two\n{}", &stack[..stack.len() / 2]);
        assert!(!last_lines(&next).unwrap().starts_with("  Error: one\n  …\n  Error: two"));
        assert_eq!(last_lines(" \n\n"), None);
    }

    #[test]
    fn f14_a_long_line_is_cut() {
        let output = format!("Error: {}\n{}", "é".repeat(5000), "end\n".repeat(10));
        let shown = last_lines(&output).unwrap();
        assert!(shown.len() < 2 * ERROR_LINE, "{}", shown.len());
    }
}
