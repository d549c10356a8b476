//! What a parameter is for, told from its name, description, type and tool.

use std::sync::LazyLock;

use super::facts::units::{UnitId, Units};
use super::phrases::{Phrases, data_lines, items};
use super::schema::{Param, Shape};
use super::text::{Token, split_identifier, tokenize};

/// What a parameter is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A time zone of the IANA database.
    Zone,
    Url,
    Email,
    Sql,
    /// An arithmetic expression.
    Expression,
    /// A pattern for file names.
    Glob,
    Folder,
    File,
    /// A file or a folder.
    Path,
    /// A place on Earth by name.
    Place,
    DateTime,
    Date,
    Time,
    Currency,
    /// A unit of measurement by name.
    Unit,
    /// Free text that the person dictates.
    Text,
    /// Free text to look for.
    Query,
    /// A short name of something.
    Name,
    /// A number, with the unit it is counted in.
    Number(Option<UnitId>),
    Flag,
    /// Nothing is known.
    Open,
}

/// One end of a conversion, a move, a journey.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    From,
    To,
}

/// What the whole tool is about, where its parameters do not say.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ToolHints {
    pub(super) files: bool,
    /// Its name speaks of folders, or it searches below one.
    pub(super) folder: bool,
    /// Its name speaks of one file.
    pub(super) one_file: bool,
    /// Its name says that it searches.
    pub(super) searches: bool,
    pub(super) contents: bool,
    pub(super) zones: bool,
    pub(super) currency: bool,
    pub(super) units: bool,
}

static ROLES: LazyLock<Phrases<Role>> = LazyLock::new(|| {
    let mut phrases = Phrases::new();
    for line in data_lines(include_str!("data/roles.txt")) {
        let Some((name, list)) = line.split_once(':') else { continue };
        let Some(role) = role_named(name) else { continue };
        for phrase in items(list) {
            phrases.insert(phrase, role);
        }
    }
    phrases
});

/// Gives every parameter of a tool its role and side.
pub(super) fn assign(params: &mut [Param], hints: ToolHints) {
    let sides: Vec<Option<Side>> = params.iter().map(|p| side_of(&p.name)).collect();
    let paired = sides.contains(&Some(Side::From)) && sides.contains(&Some(Side::To));
    for (param, side) in params.iter_mut().zip(sides) {
        param.side = side.filter(|_| paired);
        param.role = role_of(param, hints);
    }
}

fn role_of(param: &Param, hints: ToolHints) -> Role {
    let name = tokenize(&split_identifier(&param.name));
    let description = tokenize(&param.description);
    match param.shape {
        Shape::Bool => return Role::Flag,
        Shape::Integer | Shape::Number => return Role::Number(unit_of(&name, &description)),
        Shape::Other => return Role::Open,
        Shape::Text => {}
    }
    if let Some(role) = param.format.as_deref().and_then(role_of_format) {
        return role;
    }
    let role = match by_name(&name) {
        Some(Role::Name) => by_description(&description, 4).filter(concrete).unwrap_or(Role::Name),
        Some(Role::Path | Role::Folder | Role::File) => path_role(&name, &description, hints),
        Some(Role::Text) if hints.searches || says_search(&description) => Role::Query,
        Some(Role::Text | Role::Query) if begins_with_sql(&description) => Role::Sql,
        Some(Role::Query) if by_description(&description, 3) == Some(Role::Expression) => {
            Role::Expression
        }
        Some(role) => role,
        None => by_description(&description, 12).unwrap_or(Role::Open),
    };
    if name.iter().any(|t| t.stem == "pattern") && !matches!(role, Role::Sql) {
        return pattern_role(&description, hints);
    }
    if role == Role::Open && param.side.is_some() { by_tool(hints) } else { role }
}

fn role_of_format(format: &str) -> Option<Role> {
    match format {
        "uri" | "url" | "uri-reference" | "iri" => Some(Role::Url),
        "email" | "idn-email" => Some(Role::Email),
        "date" => Some(Role::Date),
        "time" => Some(Role::Time),
        "date-time" => Some(Role::DateTime),
        _ => None,
    }
}

/// The last word of a name that has a role; `name` and the like only when no
/// other word has one, except that an identifier is always a name.
fn by_name(name: &[Token]) -> Option<Role> {
    if name.last().is_some_and(|t| ["id", "ids", "key", "format"].contains(&t.lower.as_str())) {
        return Some(Role::Name);
    }
    let found = roles_in(name);
    found.iter().rev().find(|role| **role != Role::Name).or(found.last()).copied()
}

fn by_description(description: &[Token], within: usize) -> Option<Role> {
    let start = description.get(..within.min(description.len())).unwrap_or_default();
    let found = roles_in(start);
    found.iter().find(|role| **role != Role::Name).or(found.first()).copied()
}

fn roles_in(tokens: &[Token]) -> Vec<Role> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let phrase = ROLES.at(tokens, at);
        found.extend(phrase.and_then(|p| p.means.first()).copied());
        at += phrase.map_or(1, |p| p.len);
    }
    found
}

/// A role that makes a plain `name` more precise.
fn concrete(role: &Role) -> bool {
    use Role::{Currency, Date, Email, File, Folder, Glob, Place, Sql, Time, Url, Zone};
    matches!(role, Zone | Place | File | Folder | Url | Email | Date | Time | Currency | Glob | Sql)
}

fn path_role(name: &[Token], description: &[Token], hints: ToolHints) -> Role {
    let exact = |tokens: &[Token]| {
        roles_in(tokens).into_iter().find(|role| matches!(role, Role::File | Role::Folder))
    };
    let named = by_name(name).filter(|role| *role != Role::Path);
    named.or_else(|| exact(description)).unwrap_or(if hints.folder {
        Role::Folder
    } else if hints.one_file {
        Role::File
    } else {
        Role::Path
    })
}

/// "Text to look for" is searched, not dictated.
fn says_search(description: &[Token]) -> bool {
    let start = description.get(..8.min(description.len())).unwrap_or_default();
    start
        .iter()
        .any(|t| ["look", "search", "find", "match", "grep", "contain"].contains(&t.stem.as_str()))
}

fn begins_with_sql(description: &[Token]) -> bool {
    description.iter().take(8).any(|t| t.lower == "sql")
}

fn pattern_role(description: &[Token], hints: ToolHints) -> Role {
    let says = |words: &[&str]| description.iter().any(|t| words.contains(&t.stem.as_str()));
    if says(&["glob", "wildcard", "filenam", "*"]) {
        return Role::Glob;
    }
    if says(&["regex", "regexp", "regular", "text", "content", "search"]) || hints.contents {
        return Role::Query;
    }
    if hints.files || says(&["file"]) { Role::Glob } else { Role::Query }
}

fn by_tool(hints: ToolHints) -> Role {
    if hints.zones {
        Role::Zone
    } else if hints.currency {
        Role::Currency
    } else if hints.units {
        Role::Unit
    } else if hints.files {
        Role::Path
    } else {
        Role::Open
    }
}

/// The unit a number is counted in: named by the parameter itself, or in the
/// plural by its description (a "second number" is not a duration).
fn unit_of(name: &[Token], description: &[Token]) -> Option<UnitId> {
    let units = Units::shared();
    let long = |t: &&Token| t.lower.len() > 2 && t.lower != "min";
    let plural =
        |t: &&Token| t.lower.ends_with('s') || t.lower == "percent" || t.lower == "percentage";
    name.iter()
        .filter(long)
        .chain(description.iter().filter(long).filter(plural))
        .find_map(|t| units.named(std::slice::from_ref(t), 0).map(|(unit, _)| unit))
}

fn side_of(name: &str) -> Option<Side> {
    tokenize(&split_identifier(name)).iter().find_map(|token| match token.lower.as_str() {
        "from" | "source" | "src" | "origin" | "base" | "old" | "start" | "departure" | "input" => {
            Some(Side::From)
        }
        "to" | "target" | "dest" | "destination" | "new" | "end" | "output" | "arrival" => {
            Some(Side::To)
        }
        _ => None,
    })
}

fn role_named(name: &str) -> Option<Role> {
    Some(match name {
        "zone" => Role::Zone,
        "url" => Role::Url,
        "email" => Role::Email,
        "sql" => Role::Sql,
        "expression" => Role::Expression,
        "glob" => Role::Glob,
        "folder" => Role::Folder,
        "file" => Role::File,
        "path" => Role::Path,
        "place" => Role::Place,
        "datetime" => Role::DateTime,
        "date" => Role::Date,
        "time" => Role::Time,
        "currency" => Role::Currency,
        "unit" => Role::Unit,
        "text" => Role::Text,
        "query" => Role::Query,
        "name" => Role::Name,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matcher::schema::parameters;

    fn roles(properties: &str, hints: ToolHints) -> Vec<Role> {
        let mut params = parameters(&format!("{{\"properties\":{properties}}}")).unwrap();
        assign(&mut params, hints);
        params.into_iter().map(|p| p.role).collect()
    }

    #[test]
    fn every_line_of_the_data_names_a_role() {
        for line in data_lines(include_str!("data/roles.txt")) {
            let (name, _) = line.split_once(':').expect(line);
            assert!(role_named(name).is_some(), "{line}");
        }
    }

    #[test]
    fn names_and_descriptions_tell_roles() {
        let found = roles(
            r#"{"source_timezone":{"type":"string"},"repo_path":{"type":"string"},
               "file_content":{"type":"string"},"name":{"type":"string","description":"City name"},
               "path":{"type":"string","description":"Directory to start from"},
               "query":{"type":"string","description":"SQL to run"},"message_id":{"type":"string"}}"#,
            ToolHints::default(),
        );
        use Role::{Folder, Name, Place, Sql, Text, Zone};
        assert_eq!(found, [Zone, Folder, Text, Place, Folder, Sql, Name]);
    }

    #[test]
    fn a_pattern_is_what_its_words_or_its_tool_say() {
        let files = ToolHints { files: true, ..ToolHints::default() };
        assert_eq!(roles(r#"{"pattern":{"type":"string"}}"#, files), [Role::Glob]);
        let contents = ToolHints { contents: true, ..files };
        assert_eq!(roles(r#"{"pattern":{"type":"string"}}"#, contents), [Role::Query]);
    }

    #[test]
    fn a_pair_without_roles_takes_them_from_the_tool() {
        let files = ToolHints { files: true, ..ToolHints::default() };
        let pair = r#"{"source":{"type":"string"},"destination":{"type":"string"}}"#;
        assert_eq!(roles(pair, files), [Role::Path, Role::Path]);
    }

    #[test]
    fn a_second_number_is_not_a_duration() {
        let found = roles(
            r#"{"b":{"type":"number","description":"Second number"},
               "n":{"type":"integer","description":"Number of days"}}"#,
            ToolHints::default(),
        );
        assert_eq!(found[0], Role::Number(None));
        assert!(matches!(found[1], Role::Number(Some(_))));
    }
}
