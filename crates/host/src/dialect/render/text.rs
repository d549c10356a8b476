//! Results as text blocks, for models of the XML form.

use carrick::proto::xml::escape;

use super::super::Outcome;
use super::disarm::disarm;

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
