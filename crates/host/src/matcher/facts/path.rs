//! URLs, e-mail addresses, paths and patterns for file names.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::super::phrases::{data_lines, items};
use super::super::text::{Text, is_cjk};
use super::{Fact, Found, PathKind, Value, constant, looked_at};

static URL: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r#"(?i)(?-u:\b)(?:[a-z][a-z0-9+.-]*://[^\s"'<>`\p{Han}，。]+|www\.[a-z0-9-]+\.[^\s"'<>`\p{Han}]+|(?:[a-z0-9-]+\.)+(?:com|org|net|io|dev|edu|gov|cn|co\.uk)(?:/[^\s"'<>`\p{Han}]*)?)"#,
    )
});
static EMAIL: LazyLock<Regex> =
    LazyLock::new(|| constant(r"(?i)[a-z0-9._%+-]+@[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}"));
/// A path with a root (`/`, `~`, `./`, `../`, `C:\`).
static ROOTED: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"(?:[A-Za-z]:[\\/]|~/|\.{1,2}/|/|~)(?:(?:[\w.@%+=~#-]+|\p{Han}+)[/\\])*(?:\p{Han}+\.[A-Za-z0-9]{1,6}|[A-Za-z0-9_.@%+=~#-]+)?",
    )
});
/// A path of several parts without a root.
static RELATIVE: LazyLock<Regex> = LazyLock::new(|| {
    constant(r"[A-Za-z0-9_.@-]+(?:[/\\][A-Za-z0-9_.@+-]+)+[/\\]?|[A-Za-z0-9_.@-]*[A-Za-z0-9_]/")
});
/// A name with an extension; whether that is one is looked up.
static NAME: LazyLock<Regex> =
    LazyLock::new(|| constant(r"(?:[A-Za-z0-9_@+-]+|\p{Han}+)?(?:\.[A-Za-z0-9_+-]+)+"));
/// A word that may be the whole name of a file; whether it is one is looked up.
static WORD: LazyLock<Regex> = LazyLock::new(|| constant(r"(?-u:\b)[A-Z][A-Za-z]{3,}(?-u:\b)"));
/// "the src folder", "目录 src", "a folder called backup".
static CALLED: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"(?i)(?-u:\b)(?:(folder|directory|dir|file|files)\s+(?:called|named)\s+|(目录|文件夹|文件)\s*(?:叫做|叫|名为)?\s*)([A-Za-z0-9_][A-Za-z0-9_.-]*)|(?-u:\b)(?:the|my|in|of)\s+([A-Za-z0-9_][A-Za-z0-9_.-]*)\s+(folder|directory|dir)(?-u:\b)|([A-Za-z0-9_][A-Za-z0-9_.-]*)\s*(目录|文件夹)",
    )
});
static HERE: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"(?i)(?-u:\b)(?:in |of |under )?(?:(?:this|the current|current|the present|my current|the working|current working) (?:working )?(?:folder|directory|dir|repo|repository|project|workspace)|here)(?-u:\b)|当前(?:工作)?(?:目录|文件夹|仓库|项目)|(?:这个|此|本)(?:目录|文件夹|仓库|项目)|这里",
    )
});
static PATTERN: LazyLock<Regex> =
    LazyLock::new(|| constant(r#"[^\s"'`,;，。：:()\p{Han}]*\*[^\s"'`,;，。：:()\p{Han}]*"#));
/// "files ending in .log", "names starting with test_", "文件名包含 foo".
static SHAPED: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r#"(?i)(?P<end>(?-u:\b)end(?:s|ing)? (?:in|with)|(?-u:\b)with (?:the )?(?:file )?(?:extension|suffix)|以\s*(?P<zh_end>[\w.-]+?)\s*(?:为后缀|结尾)|扩展名[为是]|后缀[为是]?)\s*["'`]?(?P<end_word>[A-Za-z0-9_.-]*)|(?P<start>(?-u:\b)(?:start|begin)(?:s|ning|ing)? with|以\s*(?P<zh_start>[\w.-]+?)\s*(?:开头|打头))\s*["'`]?(?P<start_word>[A-Za-z0-9_.-]*)|(?:(?-u:\b)(?:whose|with a|with the) (?:file ?)?names? (?:that )?(?:contain(?:s|ing)?|includ(?:es|ing)|has)|文件名(?:中|里)?(?:包含|含有|带有|带|含)|名字(?:中|里)?(?:包含|含有|带有|带|含))\s*["'`]?(?P<part_word>[A-Za-z0-9_.-]+)"#,
    )
});
/// "PDF files", ".log files", "所有 csv 文件".
static TYPED: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r"(?i)(?P<word>\.?[a-z0-9#+]+|日志|文本)\s*(?:source )?(?P<noun>(?-u:\b)(?:files|documents|docs|images|pictures|photos|scripts|spreadsheets|archives|videos|presentations|notebooks|sheets|file)(?-u:\b)|(?:格式的?)?(?:源)?(?:文件|图片|照片|文档|脚本|表格))",
    )
});

/// The extension of a kind of file, by the words that name it.
static FILE_TYPES: LazyLock<HashMap<&'static str, &'static str>> = LazyLock::new(|| {
    let mut types = HashMap::new();
    for line in data_lines(include_str!("../data/filetypes.txt")) {
        let Some((extension, names)) = line.split_once(':') else { continue };
        types.insert(extension, extension);
        for name in items(names) {
            types.insert(name, extension);
        }
    }
    types
});

static FILE_NAMES: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| data_lines(include_str!("../data/filenames.txt")).flat_map(items).collect());

/// Finds URLs and e-mail addresses.
pub(super) fn urls_and_emails(text: &Text) -> Vec<Fact> {
    let mut facts = all(&EMAIL, text, |found| Some((found, Value::Email)));
    facts.extend(all(&URL, text, |span| {
        let written = text.normal.get(span.clone())?;
        let before = text.normal.get(..span.start)?.chars().next_back();
        let trimmed = trim_sentence(written);
        let glued = before.is_some_and(|c| c == '@' || c == '/' || c == '.');
        (!glued).then(|| (span.start..span.start + trimmed.len(), Value::Url))
    }));
    facts
}

/// Finds patterns: written ones, and ones described in words.
pub(super) fn globs(text: &Text, formulas: &Found) -> Vec<Fact> {
    let mut facts = all(&PATTERN, text, |span| {
        let written = trim_sentence(text.normal.get(span.clone())?);
        let named = written.contains(['.', '/']) || written.chars().any(char::is_alphabetic);
        (named && formulas.is_free(&span))
            .then(|| (span.start..span.start + written.len(), Value::Glob))
    });
    facts.extend(captures(&SHAPED, text).into_iter().filter_map(|c| shaped(&c)));
    facts.extend(captures(&TYPED, text).into_iter().filter_map(|c| typed(&c, text)));
    facts
}

fn shaped(found: &Captures<'_>) -> Option<Fact> {
    let word = |names: &[&str]| {
        names
            .iter()
            .filter_map(|name| found.name(name))
            .map(|m| m.as_str().trim_end_matches(['.', '?', '!']))
            .find(|word| !word.is_empty())
    };
    let glob = if found.name("end").is_some() {
        let end = word(&["zh_end", "end_word"])?;
        let plain = FILE_TYPES.contains_key(end.to_ascii_lowercase().as_str());
        if plain { format!("*.{end}") } else { format!("*{end}") }
    } else if found.name("start").is_some() {
        format!("{}*", word(&["zh_start", "start_word"])?)
    } else {
        format!("*{}*", word(&["part_word"])?)
    };
    Some(Fact::saying(found.get(0)?.range(), Value::Glob, glob))
}

/// One file is not a pattern: "the PDF file report.pdf" names a file.
fn typed(found: &Captures<'_>, text: &Text) -> Option<Fact> {
    let whole = found.get(0)?;
    let written = found.name("word")?.as_str();
    let word = written.trim_start_matches('.').to_ascii_lowercase();
    // A word with its dot is an extension, known or not.
    let extension = match FILE_TYPES.get(word.as_str()) {
        Some(extension) => extension,
        None if written.starts_with('.') => word.as_str(),
        None => return None,
    };
    let noun = found.name("noun")?.as_str();
    let before = text.normal.get(..whole.start())?;
    let glued = |c: char| (c.is_alphanumeric() && !is_cjk(c)) || "./_-".contains(c);
    if before.chars().next_back().is_some_and(glued) {
        return None;
    }
    let before = before.trim_end();
    let many = if noun.eq_ignore_ascii_case("file") {
        ["every", "any", "all", "each"].iter().any(|w| ends_with_word(before, w))
    } else if noun.chars().any(is_cjk) {
        [
            "所有", "全部", "哪些", "每个", "任何", "有", "的", "找", "找到", "查找", "搜索",
            "找出", "多少", "列出", "个",
        ]
        .iter()
        .any(|w| before.ends_with(w))
    } else {
        true
    };
    many.then(|| Fact::saying(whole.range(), Value::Glob, format!("*.{extension}")))
}

/// Finds paths, names of files and folders, and words for the folder one is in.
pub(super) fn paths(text: &Text, formulas: &Found) -> Vec<Fact> {
    let normal = &text.normal;
    let mut facts = all(&ROOTED, text, |span| {
        let before = normal.get(..span.start)?.chars().next_back();
        let written = trim_sentence(normal.get(span.clone())?);
        let glued =
            before.is_some_and(|c| (c.is_alphanumeric() && !is_cjk(c)) || ".*/_)".contains(c));
        let lone = written == "~" || written == "/";
        let after = normal.get(span.start + written.len()..)?.chars().next();
        let open = after.is_none_or(|c| c.is_whitespace() || "?.!,".contains(c) || is_cjk(c));
        (!glued && !written.is_empty() && (!lone || open)).then(|| {
            let end = span.start + written.len();
            let end = end + last_part_in_han(normal, end);
            (span.start..end, kind_of(normal.get(span.start..end).unwrap_or(written)))
        })
    });
    facts.extend(all(&RELATIVE, text, |span| {
        let written = trim_sentence(normal.get(span.clone())?);
        let letters = written.chars().any(char::is_alphabetic);
        let kind = if has_extension(written) {
            Value::Path(PathKind::File)
        } else if written.ends_with('/') {
            Value::Path(PathKind::Folder)
        } else {
            Value::Path(PathKind::Doubtful)
        };
        (letters && written.contains(['/', '\\']))
            .then(|| (span.start..span.start + written.len(), kind))
    }));
    facts.extend(all(&NAME, text, |span| {
        let written = trim_sentence(normal.get(span.clone())?);
        let file = has_extension(written) || is_dotfile(written);
        file.then(|| (span.start..span.start + written.len(), Value::Path(PathKind::File)))
    }));
    facts.extend(all(&WORD, text, |span| {
        // `TODO:` is a word in a text.
        if normal.get(span.end..)?.starts_with(':') {
            return None;
        }
        let known = FILE_NAMES.contains(normal.get(span.clone())?);
        known.then_some((span, Value::Path(PathKind::File)))
    }));
    facts.retain(|fact| formulas.is_free(&fact.span));
    facts.extend(
        captures(&HERE, text)
            .into_iter()
            .filter_map(|c| Some(Fact::saying(c.get(0)?.range(), Value::Here, "."))),
    );
    facts.extend(captures(&CALLED, text).into_iter().filter_map(|c| called(&c, text)));
    facts
}

fn called(found: &Captures<'_>, text: &Text) -> Option<Fact> {
    let name = [3, 4, 6].iter().find_map(|group| found.get(*group))?;
    let noun = [1, 2, 5, 7].iter().find_map(|group| found.get(*group))?.as_str();
    let written = name.as_str().trim_end_matches(['.', '-']);
    let plain = [
        "this",
        "that",
        "same",
        "current",
        "which",
        "what",
        "the",
        "a",
        "my",
        "root",
        "home",
        "working",
        "parent",
        "given",
        "whole",
        "entire",
        "following",
        "new",
        "in",
        "is",
        "for",
        "each",
        "every",
        "and",
        "or",
        "of",
        "any",
        "to",
        "file",
        "folder",
        "directory",
        "project",
    ];
    if plain.contains(&written.to_ascii_lowercase().as_str()) {
        return None;
    }
    let file = noun.to_ascii_lowercase().starts_with("file") || noun == "文件";
    let kind = if file { PathKind::File } else { PathKind::Folder };
    let span = name.start()..name.start() + written.len();
    Some(Fact::new(text, span, Value::Path(kind)))
}

fn kind_of(path: &str) -> Value {
    Value::Path(if has_extension(path) {
        PathKind::File
    } else if path.ends_with(['/', '\\', '~']) || path == "." || path == ".." {
        PathKind::Folder
    } else {
        PathKind::Unknown
    })
}

/// How long the last part of a path is that is written in Chinese and ends
/// where the word ends: without a space it would be part of the sentence.
fn last_part_in_han(text: &str, at: usize) -> usize {
    let Some((before, rest)) = text.split_at_checked(at) else { return 0 };
    let len = rest.find(|c: char| !is_cjk(c)).unwrap_or(rest.len());
    looked_at(len);
    let closed = rest
        .get(len..)
        .is_some_and(|r| r.chars().next().is_none_or(|c| c.is_whitespace() || ",.?!;".contains(c)));
    if before.ends_with('/') && closed { len } else { 0 }
}

/// Its last part ends in a known extension, or is a known name below a folder.
pub(super) fn has_extension(path: &str) -> bool {
    let last = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let whole = FILE_NAMES.contains(last) && last != path;
    whole
        || last.rsplit_once('.').is_some_and(|(stem, extension)| {
            !stem.is_empty() && {
                let lower = extension.to_ascii_lowercase();
                FILE_TYPES.get(lower.as_str()).is_some_and(|known| *known == lower)
            }
        })
}

fn is_dotfile(name: &str) -> bool {
    name.strip_prefix('.').is_some_and(|rest| {
        rest.len() > 2 && rest.bytes().all(|b| b.is_ascii_lowercase() || b == b'_' || b == b'-')
    })
}

/// The written form without the punctuation of the sentence around it.
fn trim_sentence(written: &str) -> &str {
    looked_at(written.len());
    let trimmed = written.trim_end_matches([',', ';', ':', '?', '!', '"', '\'', ')', '>']);
    if trimmed.len() > 2 && !trimmed.ends_with("/.") && !trimmed.ends_with("..") {
        trimmed.trim_end_matches('.')
    } else {
        trimmed
    }
}

fn ends_with_word(text: &str, word: &str) -> bool {
    let last = text.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    looked_at(last.len());
    last.eq_ignore_ascii_case(word)
}

fn all(
    regex: &Regex,
    text: &Text,
    check: impl Fn(Range<usize>) -> Option<(Range<usize>, Value)>,
) -> Vec<Fact> {
    regex
        .find_iter(&text.normal)
        .filter_map(|found| check(found.range()))
        .filter(|(span, _)| !span.is_empty())
        .map(|(span, value)| Fact::new(text, span, value))
        .collect()
}

fn captures<'t>(regex: &Regex, text: &'t Text) -> Vec<Captures<'t>> {
    regex.captures_iter(&text.normal).collect()
}
