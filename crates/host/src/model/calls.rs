//! Tool calls under assembly, and the decision whether one may run.

use serde_json::value::RawValue;

use super::{BrokenCall, Event, ToolCall};

/// A tool call whose parts are still arriving.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
}

impl Draft {
    /// Whether the arguments are a whole JSON object already.
    pub(super) fn is_whole(&self) -> bool {
        parse(&self.arguments).is_ok_and(|raw| raw.is_some())
    }

    /// Ends the assembly. `cut` says that the answer ended for another reason than the model
    /// being done: then a call without arguments counts as cut off, since nothing shows that
    /// none were to come.
    pub(super) fn finish(self, cut: bool) -> Event {
        let problem = match parse(&self.arguments) {
            _ if self.name.is_empty() => "the call names no tool".to_owned(),
            Ok(Some(arguments)) => {
                return Event::ToolCall(ToolCall { id: self.id, name: self.name, arguments });
            }
            Ok(None) if !cut => {
                let arguments = empty_object();
                return Event::ToolCall(ToolCall { id: self.id, name: self.name, arguments });
            }
            Ok(None) => CUT.to_owned(),
            Err(_) if cut => CUT.to_owned(),
            Err(problem) => problem,
        };
        let Self { id, name, arguments } = self;
        Event::BrokenCall(BrokenCall { id, name, arguments, problem })
    }
}

const CUT: &str = "the answer was cut off inside this call; it did not run";

/// Reads arguments: an object, or `None` for nothing at all.
fn parse(arguments: &str) -> Result<Option<Box<RawValue>>, String> {
    let arguments = arguments.trim();
    if arguments.is_empty() {
        return Ok(None);
    }
    match serde_json::from_str::<Box<RawValue>>(arguments) {
        Ok(raw) if raw.get().starts_with('{') => Ok(Some(raw)),
        Ok(_) => Err("the arguments are not a JSON object; the call did not run".to_owned()),
        Err(error) => {
            Err(format!("the arguments are not valid JSON ({error}); the call did not run"))
        }
    }
}

#[expect(clippy::expect_used, reason = "the text is valid JSON")]
pub(super) fn empty_object() -> Box<RawValue> {
    RawValue::from_string("{}".to_owned()).expect("an empty object is JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finish(arguments: &str, cut: bool) -> Result<String, String> {
        let draft = Draft { id: "c".into(), name: "tool".into(), arguments: arguments.to_owned() };
        match draft.finish(cut) {
            Event::ToolCall(call) => Ok(call.arguments.get().to_owned()),
            Event::BrokenCall(broken) => Err(broken.problem),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn d118_cut_arguments_never_run() {
        assert_eq!(finish(r#"{"text":"hel"#, true).unwrap_err(), CUT);
        assert_eq!(finish("", true).unwrap_err(), CUT);
        assert_eq!(finish(r#"{"text":"hi"}"#, true).unwrap(), r#"{"text":"hi"}"#);
    }

    #[test]
    fn d120_only_a_strict_object_runs() {
        assert_eq!(finish("", false).unwrap(), "{}");
        assert_eq!(finish(r#"{"n":1.0, "n2":1e2}"#, false).unwrap(), r#"{"n":1.0, "n2":1e2}"#);
        for bad in [r#"{"a":1,}"#, "{'a':1}", "{\"a\":\"x\ny\"}", "{}{}", "\"text\"", "[]", "null"]
        {
            finish(bad, false).unwrap_err();
        }
        assert!(finish(r#"{"a":1,}"#, false).unwrap_err().contains("column 8"));
    }

    #[test]
    fn a_call_without_a_name_never_runs() {
        let draft = Draft { id: "c".into(), name: String::new(), arguments: "{}".into() };
        assert!(matches!(draft.finish(false), Event::BrokenCall(_)));
    }
}
