//! One Rust file as the rules see it: its lines, functions, modules and tests.

use std::collections::BTreeSet;
use std::ops::Range;

use super::scan::{Scan, is_word, line_of, words};

/// A Rust file of the workspace.
pub(crate) struct Source {
    /// The path from the root folder, with `/`.
    pub(crate) path: String,
    /// The file as it is.
    pub(crate) text: String,
    /// Its views without comments and literals.
    pub(crate) scan: Scan,
    /// Whether the whole file is compiled for tests, benches or examples only.
    pub(crate) is_test: bool,
    /// The items that only a test build compiles.
    tests: Vec<Range<usize>>,
}

/// A function with a body.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) line: usize,
    /// Lines that are neither blank nor comments, from `fn` to the closing brace.
    pub(crate) code_lines: usize,
}

/// A `mod name;`, the promise of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Declared {
    /// The inline modules around it, outermost first, and its own name.
    pub(crate) names: Vec<String>,
    /// What its `path` attributes say: several when each stands for a platform.
    pub(crate) paths: Vec<String>,
    pub(crate) is_test: bool,
}

impl Source {
    /// Looks over a file. `is_test` says that a test target or module brought it in.
    pub(crate) fn new(path: &str, text: String, is_test: bool) -> Source {
        let scan = Scan::new(&text);
        let tests = test_items(&scan.tokens);
        let whole = inner_attributes(&scan.tokens)
            .any(|attribute| is_test_attribute(&scan.tokens[attribute]));
        Source { path: path.to_owned(), text, scan, is_test: is_test || whole, tests }
    }

    /// Whether only a test build compiles what stands at the offset.
    pub(crate) fn in_tests(&self, offset: usize) -> bool {
        self.is_test || self.tests.iter().any(|item| item.contains(&offset))
    }

    /// Lines that are neither blank, comments nor inline tests.
    pub(crate) fn code_lines(&self) -> usize {
        self.lines().filter(|(offset, _)| self.is_test || !self.in_tests(*offset)).count()
    }

    /// The longest inline test module: its first line and its lines of code.
    pub(crate) fn longest_test_module(&self) -> Option<(usize, usize)> {
        let modules = self.tests.iter().filter(|item| {
            let head = self.scan.tokens[(*item).clone()].split('{').next().unwrap_or("");
            words(head, "mod").next().is_some()
        });
        modules
            .map(|module| (line_of(&self.text, module.start), self.code_lines_in(module)))
            .max_by_key(|(_, length)| *length)
    }

    /// Every function with a body, nested ones too.
    pub(crate) fn functions(&self) -> Vec<Function> {
        let tokens = &self.scan.tokens;
        let mut functions = Vec::new();
        for start in words(tokens, "fn").filter(|start| !tokens[..*start].ends_with('#')) {
            let Some(name) = name_after(tokens, start + 2) else { continue };
            let Some(body) = body(tokens, start) else { continue };
            let code_lines = self.code_lines_in(&(start..body.end));
            functions.push(Function { name, line: line_of(&self.text, start), code_lines });
        }
        functions
    }

    /// Every `mod name;` of the file.
    ///
    /// In a macro the name is a parameter, and any word of the file may be its value: all of
    /// them are given but those declared by name, since the file that is not there does no harm.
    pub(crate) fn declared_modules(&self) -> Vec<Declared> {
        let tokens = &self.scan.tokens;
        let mut inline: Vec<(Range<usize>, String)> = Vec::new();
        let mut declared = Vec::new();
        for start in words(tokens, "mod") {
            let Some(name) = name_after(tokens, start + 3) else { continue };
            if let Some(body) = body(tokens, start) {
                inline.push((body, name));
                continue;
            }
            let is_parameter = tokens[start + 3..].trim_start().starts_with('$');
            let names = match is_parameter {
                true => {
                    let named = words(tokens, "mod").filter_map(|at| name_after(tokens, at + 3));
                    let named: BTreeSet<String> = named.collect();
                    all_words(tokens).into_iter().filter(|word| !named.contains(*word)).collect()
                }
                false => BTreeSet::from([name.as_str()]),
            };
            let around = inline
                .iter()
                .filter(|(body, _)| body.contains(&start))
                .map(|(_, name)| name.as_str());
            let around: Vec<&str> = around.collect();
            declared.extend(names.into_iter().map(|name| Declared {
                names: around.iter().copied().chain([name]).map(str::to_owned).collect(),
                paths: self.path_attributes(start),
                is_test: self.in_tests(start),
            }));
        }
        declared
    }

    /// The values of `path = "…"` in the attributes before an item.
    fn path_attributes(&self, item: usize) -> Vec<String> {
        let before = &self.scan.uncommented[..item];
        let since = before.rfind([';', '}', '{']).map_or(0, |at| at + 1);
        let values = before[since..].split("path = ").skip(1);
        values.filter_map(|value| value.split('"').nth(1)).map(str::to_owned).collect()
    }

    fn code_lines_in(&self, range: &Range<usize>) -> usize {
        let first = self.scan.uncommented[..range.start].rfind('\n').map_or(0, |at| at + 1);
        self.lines().filter(|(offset, _)| (first..range.end).contains(offset)).count()
    }

    /// The lines with something on them, comments apart, with their offsets.
    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.scan.uncommented.split_inclusive('\n').scan(0, |next, line| {
            let offset = *next;
            *next += line.len();
            Some((offset, line))
        });
        lines.filter(|(_, line)| !line.trim().is_empty())
    }
}

fn all_words(tokens: &str) -> BTreeSet<&str> {
    let words = tokens.split(|character: char| !character.is_alphanumeric() && character != '_');
    words.filter(|word| !word.is_empty()).collect()
}

/// The items under `#[test]`, `#[cfg(test)]` and the like, with their attributes.
fn test_items(tokens: &str) -> Vec<Range<usize>> {
    let mut items: Vec<Range<usize>> = Vec::new();
    for start in tokens.match_indices("#[").map(|(at, _)| at) {
        if items.last().is_some_and(|item| item.contains(&start)) {
            continue;
        }
        let end = closing(tokens, start + 1);
        if is_test_attribute(&tokens[start..end]) {
            items.push(start..item_end(tokens, end));
        }
    }
    items
}

fn inner_attributes(tokens: &str) -> impl Iterator<Item = Range<usize>> {
    tokens.match_indices("#![").map(|(at, _)| at..closing(tokens, at + 2))
}

fn is_test_attribute(attribute: &str) -> bool {
    let text: String = attribute.chars().filter(|character| !character.is_whitespace()).collect();
    let inside = text.trim_start_matches(['#', '!', '[']).trim_end_matches(']');
    let is_test_function =
        inside == "test" || inside.split('(').next().is_some_and(|path| path.ends_with("::test"));
    let for_tests = inside.starts_with("cfg(")
        && words(inside, "test").next().is_some()
        && !inside.contains("not(test)");
    is_test_function || for_tests
}

/// Where an item ends whose first attribute ends at `from`.
fn item_end(tokens: &str, from: usize) -> usize {
    let mut at = from;
    loop {
        at += tokens[at..].len() - tokens[at..].trim_start().len();
        if !tokens[at..].starts_with("#[") {
            break;
        }
        at = closing(tokens, at + 1);
    }
    match head_end(tokens, at) {
        Some(end) if tokens.as_bytes()[end] == b'{' => closing(tokens, end),
        Some(end) => end + 1,
        None => tokens.len(),
    }
}

/// The body, braces included, of the item at `start`; none when a `;` ends it first.
fn body(tokens: &str, start: usize) -> Option<Range<usize>> {
    let open = head_end(tokens, start)?;
    (tokens.as_bytes()[open] == b'{').then(|| open..closing(tokens, open))
}

/// The first `{` or `;` from `start` on that stands in no parentheses or brackets.
fn head_end(tokens: &str, start: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in tokens.bytes().enumerate().skip(start) {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.checked_sub(1)?,
            b'{' | b';' if depth == 0 => return Some(at),
            _ => {}
        }
    }
    None
}

/// The offset behind the bracket that closes the one at `open`.
fn closing(tokens: &str, open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in tokens.bytes().enumerate().skip(open) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

/// The identifier that follows, be it a macro's `$name` or a raw one.
fn name_after(tokens: &str, offset: usize) -> Option<String> {
    let rest = tokens[offset..].trim_start();
    if rest.len() == tokens[offset..].len() {
        return None;
    }
    let rest = rest.strip_prefix('$').or_else(|| rest.strip_prefix("r#")).unwrap_or(rest);
    let length = rest.bytes().take_while(|byte| is_word(*byte)).count();
    (length > 0).then(|| rest[..length].to_owned())
}

#[cfg(test)]
mod tests;
