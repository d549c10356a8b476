//! Results as text blocks, for models of the XML form.

use carrick::proto::xml::escape;

use super::super::Outcome;

/// Tags that mean something to a model of this form. Text that comes from elsewhere must
/// not hold them.
const RESERVED: [&str; 17] = [
    "access_mcp_resource",
    "arguments",
    "content",
    "description",
    "function",
    "input_schema",
    "instructions",
    "parameter",
    "resource",
    "server",
    "server_name",
    "status",
    "tool",
    "tool_call",
    "tool_name",
    "tool_result",
    "use_mcp_tool",
];

pub(super) fn blocks(outcomes: &[Outcome]) -> String {
    let mut out = String::new();
    for outcome in outcomes {
        block(outcome, &mut out);
    }
    out
}

fn block(outcome: &Outcome, out: &mut String) {
    out.push_str("<tool_result>\n");
    let names =
        [("server_name", &outcome.server), ("tool_name", &outcome.tool), ("uri", &outcome.uri)];
    for (name, value) in names {
        if let Some(value) = value {
            out.push_str(&format!("<{name}>{}</{name}>\n", escape(value)));
        }
    }
    out.push_str(&format!("<status>{}</status>\n<content>\n", outcome.status.name()));
    out.push_str(&disarm(&outcome.plain_text()));
    if !out.ends_with('\n') {
        out.push('\n');
    }
    out.push_str("</content>\n</tool_result>\n");
}

/// Replaces the `<` of every tag in [`RESERVED`], opening or closing, in any case and
/// with blanks in it, by `&lt;`. All else stays.
pub(in super::super) fn disarm(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let (before, tag) = rest.split_at(at);
        out.push_str(before);
        rest = &tag[1..];
        out.push_str(if is_reserved(rest) { "&lt;" } else { "<" });
    }
    out.push_str(rest);
    out
}

/// Whether a tag's text after its `<` is one of ours. Only as many blanks are skipped as
/// somebody would still read as part of a tag.
fn is_reserved(text: &str) -> bool {
    let mut name = text.chars().take(48).filter(|c| !c.is_whitespace() && !is_invisible(*c));
    let name: String = name.by_ref().skip_while(|c| *c == '/').take(24).collect();
    let name = name.to_ascii_lowercase();
    RESERVED.iter().any(|reserved| name.starts_with(reserved))
}

/// Characters that show nothing and would hide a tag's name from us but not from a model.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}
