//! What does not fit, said for those who have to mend it.

use carrick_proto::text::excerpt;
use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::paths::{Location, LocationSegment};
use serde_json::Value;

/// Most errors that are told of.
const MAX_ERRORS: usize = 5;
/// Most alternatives that are told of, of a value that fits none.
const MAX_ALTERNATIVES: usize = 4;
/// Most names or values in one list.
const MAX_LISTED: usize = 20;
/// Most bytes of one value, name or pattern.
const MAX_QUOTED: usize = 80;
/// Most bytes of it all.
const MAX_TEXT: usize = 2_000;

/// Says what is wrong with a value; nothing if nothing is.
pub(super) fn values<'a>(
    errors: impl Iterator<Item = ValidationError<'a>>,
    schema: &Value,
) -> Option<String> {
    let mut text = String::new();
    for (number, error) in errors.enumerate() {
        if number > 0 {
            text.push_str("; ");
        }
        if number == MAX_ERRORS {
            text.push_str("and more");
            break;
        }
        text.push_str(&one(&error, schema));
    }
    (!text.is_empty()).then(|| cut(&text, MAX_TEXT))
}

/// Says what is wrong with a schema.
pub(super) fn schema(error: &ValidationError<'_>) -> String {
    let what = match error.kind() {
        Kind::Format { format } if format == "regex" => {
            format!("{} is no pattern that can be matched in linear time", brief(error.instance()))
        }
        Kind::AnyOf { .. } => format!("{} is not allowed", brief(error.instance())),
        _ => cut(&error.masked_with(brief(error.instance())).to_string(), 4 * MAX_QUOTED),
    };
    match path(error.instance_path()) {
        place if place.is_empty() => what,
        place => format!("{place}: {what}"),
    }
}

/// A value, shortened.
pub(super) fn brief(value: &Value) -> String {
    cut(&value.to_string(), MAX_QUOTED)
}

fn one(error: &ValidationError<'_>, schema: &Value) -> String {
    let place = path(error.instance_path());
    let member = |name: &str| join(&place, &LocationSegment::Property(name.into()));
    let the_value = if place.is_empty() { "the value".to_owned() } else { place.clone() };
    match error.kind() {
        Kind::Required { property } => {
            format!("{} is missing", member(property.as_str().unwrap_or_default()))
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            let unknown = listed(unexpected.iter().map(|name| member(name)), "and");
            let are = if unexpected.len() == 1 { "is" } else { "are" };
            format!("{unknown} {are} not known{}", known(error.schema_path(), schema))
        }
        kind => format!("{the_value} {}", demand(kind, error, schema)),
    }
}

/// What a value must be and is not.
fn demand(kind: &Kind, error: &ValidationError<'_>, schema: &Value) -> String {
    let seen = || format!(", not {}", brief(error.instance()));
    match kind {
        Kind::Type { kind } => format!("must be {}{}", types(kind), seen()),
        Kind::Enum { options } => {
            let options = options.as_array().map_or(&[][..], Vec::as_slice);
            format!("must be {}{}", listed(options.iter().map(brief), "or"), seen())
        }
        Kind::Constant { expected_value } => format!("must be {}{}", brief(expected_value), seen()),
        Kind::Minimum { limit } => format!("must be at least {limit}{}", seen()),
        Kind::Maximum { limit } => format!("must be at most {limit}{}", seen()),
        Kind::ExclusiveMinimum { limit } => format!("must be more than {limit}{}", seen()),
        Kind::ExclusiveMaximum { limit } => format!("must be less than {limit}{}", seen()),
        Kind::MultipleOf { multiple_of } => {
            format!("must be a multiple of {multiple_of}{}", seen())
        }
        Kind::MinLength { limit } => format!("must have at least {limit} characters{}", seen()),
        Kind::MaxLength { limit } => format!("must have at most {limit} characters"),
        Kind::MinItems { limit } => format!("must have at least {limit} elements"),
        Kind::MaxItems { limit } => format!("must have at most {limit} elements"),
        Kind::AdditionalItems { limit } => format!("must have at most {limit} elements"),
        Kind::MinProperties { limit } => format!("must have at least {limit} members"),
        Kind::MaxProperties { limit } => format!("must have at most {limit} members"),
        Kind::UniqueItems => "must not have the same element twice".into(),
        Kind::Pattern { pattern } => {
            let pattern = cut(pattern, MAX_QUOTED);
            format!("must match the pattern {pattern}{}", seen())
        }
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            format!("fits none of what is allowed: {}", alternatives(context, schema))
        }
        Kind::OneOfMultipleValid { .. } => "fits more than one of what is allowed".into(),
        Kind::FalseSchema => "is not allowed".into(),
        Kind::Not { .. } => "is what is ruled out".into(),
        Kind::Contains => "has no element of the kind that it must have".into(),
        Kind::UnevaluatedItems { .. } => "has elements that are not known".into(),
        Kind::PropertyNames { error } => {
            format!("has a name that it must not have: {}", brief(error.instance()))
        }
        _ => cut(&error.masked_with(brief(error.instance())).to_string(), 4 * MAX_QUOTED),
    }
}

/// Why each alternative does not fit, by its first error.
fn alternatives(context: &[Vec<ValidationError<'static>>], schema: &Value) -> String {
    let firsts = context.iter().filter_map(|errors| errors.first());
    let mut texts: Vec<String> =
        firsts.take(MAX_ALTERNATIVES).map(|error| one(error, schema)).collect();
    texts.dedup();
    texts.join(", or ")
}

fn types(kind: &TypeKind) -> String {
    let with_article = |name: &str| match name {
        "null" => "null".to_owned(),
        "array" | "integer" | "object" => format!("an {name}"),
        other => format!("a {other}"),
    };
    match kind {
        TypeKind::Single(one) => with_article(one.as_str()),
        TypeKind::Multiple(set) => listed(set.iter().map(|one| with_article(one.as_str())), "or"),
    }
}

/// The names that a schema knows, after the path of its keyword for all others.
fn known(keyword: &Location, schema: &Value) -> String {
    let parent = keyword.as_str().rsplit_once('/').map_or("", |(parent, _)| parent);
    let properties =
        schema.pointer(parent).and_then(|schema| schema.get("properties")?.as_object());
    match properties {
        Some(properties) if !properties.is_empty() => {
            format!("; known are {}", listed(properties.keys().map(|name| quoted(name)), "and"))
        }
        _ => String::new(),
    }
}

/// A list with a word before the last.
fn listed(items: impl Iterator<Item = String>, word: &str) -> String {
    let mut items: Vec<String> = items.take(MAX_LISTED + 1).collect();
    if items.len() > MAX_LISTED {
        items.truncate(MAX_LISTED);
        return format!("{}, …", items.join(", "));
    }
    match items.pop() {
        None => "nothing".into(),
        Some(last) if items.is_empty() => last,
        Some(last) => format!("{} {word} {last}", items.join(", ")),
    }
}

/// A place in a value, as `items[2].name`.
fn path(location: &Location) -> String {
    location.segments().fold(String::new(), |path, segment| join(&path, &segment))
}

fn join(path: &str, segment: &LocationSegment<'_>) -> String {
    match segment {
        LocationSegment::Index(index) => format!("{path}[{index}]"),
        LocationSegment::Property(name) => match quoted(name) {
            name if path.is_empty() => name,
            name if name.starts_with('"') => format!("{path}[{name}]"),
            name => format!("{path}.{name}"),
        },
    }
}

/// A name, in quotes where it is not a plain word.
fn quoted(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'$');
    if !name.is_empty() && name.bytes().all(plain) {
        return cut(name, MAX_QUOTED);
    }
    brief(&Value::from(name))
}

fn cut(text: &str, longest: usize) -> String {
    excerpt(text, longest).into_owned()
}
