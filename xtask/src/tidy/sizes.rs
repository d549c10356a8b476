//! How long files, functions and inline tests may be.
//!
//! Lengths are counted in lines of code: neither blank lines, comments nor inline tests.

use super::{Finding, Source};

/// A file above this is two files.
const FILE_LIMIT: usize = 700;
/// A file above this deserves a second look.
const FILE_NOTE: usize = 400;
/// A function above this is several functions.
const FUNCTION_LIMIT: usize = 100;
/// A function above this deserves a second look.
const FUNCTION_NOTE: usize = 60;
/// Inline tests above this hide the code they stand beside.
const TEST_MODULE_LIMIT: usize = 150;

/// A file that starts so is one uniform table, which is easier to read in one piece.
const DATA_TABLE: &str = "//! Data table:";
/// In how many first lines the mark must stand.
const HEAD_LINES: usize = 5;

/// What is too long in a file.
pub(crate) fn check(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    let lines = source.code_lines();
    if lines > FILE_LIMIT && !is_data_table(source) {
        findings.push(Finding::new(
            &source.path,
            0,
            format!("{lines} lines of code, the limit is {FILE_LIMIT}: split it by concern"),
        ));
    }
    for function in
        source.functions().into_iter().filter(|function| function.code_lines > FUNCTION_LIMIT)
    {
        let message = format!(
            "the function `{}` has {} lines of code, the limit is {FUNCTION_LIMIT}",
            function.name, function.code_lines
        );
        findings.push(Finding::new(&source.path, function.line, message));
    }
    if let Some((line, lines)) = source
        .longest_test_module()
        .filter(|(_, lines)| *lines > TEST_MODULE_LIMIT && !source.is_test)
    {
        findings.push(Finding::new(&source.path, line, format!("{lines} lines of inline tests, the limit is {TEST_MODULE_LIMIT}: move them to a file of their own")));
    }
    findings
}

/// What is within the limits and still long.
pub(crate) fn notes(source: &Source) -> Vec<Finding> {
    let mut notes = Vec::new();
    let lines = source.code_lines();
    if (FILE_NOTE + 1..=FILE_LIMIT).contains(&lines) && !is_data_table(source) {
        notes.push(Finding::new(&source.path, 0, format!("{lines} lines of code")));
    }
    for function in source
        .functions()
        .into_iter()
        .filter(|function| (FUNCTION_NOTE + 1..=FUNCTION_LIMIT).contains(&function.code_lines))
    {
        notes.push(Finding::new(
            &source.path,
            function.line,
            format!("the function `{}` has {} lines of code", function.name, function.code_lines),
        ));
    }
    notes
}

fn is_data_table(source: &Source) -> bool {
    source.text.lines().take(HEAD_LINES).any(|line| line.starts_with(DATA_TABLE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(text: &str) -> Vec<String> {
        let source = Source::new("src/a.rs", text.to_owned(), false);
        check(&source).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn files_end_at_their_limit_unless_they_are_a_table() {
        let fits = "use a;\n".repeat(FILE_LIMIT);
        assert_eq!(messages(&fits), [""; 0]);
        let long = format!("// one more\n{fits}use b;\n");
        assert_eq!(
            messages(&long),
            ["src/a.rs: 701 lines of code, the limit is 700: split it by concern"]
        );
        assert_eq!(messages(&format!("//! Data table: names.\n{long}")), [""; 0]);
    }

    #[test]
    fn functions_end_at_their_limit() {
        let fits = format!("fn a() {{\n{}}}\n", "b();\n".repeat(FUNCTION_LIMIT - 2));
        assert_eq!(messages(&fits), [""; 0]);
        let long = fits.replace("fn a() {\n", "fn a() {\nb();\n");
        assert_eq!(
            messages(&long),
            ["src/a.rs:1: the function `a` has 101 lines of code, the limit is 100"]
        );
    }

    #[test]
    fn long_inline_tests_move_out() {
        let module =
            format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "use a;\n".repeat(TEST_MODULE_LIMIT));
        assert_eq!(
            messages(&module),
            [
                "src/a.rs:1: 153 lines of inline tests, the limit is 150: move them to a file of their own"
            ]
        );
    }

    #[test]
    fn notes_stand_between_goal_and_limit() {
        let source = Source::new("src/a.rs", "use a;\n".repeat(FILE_NOTE + 1), false);
        assert_eq!(notes(&source).len(), 1);
        assert_eq!(notes(&Source::new("src/a.rs", "use a;\n".repeat(FILE_NOTE), false)), []);
    }
}
