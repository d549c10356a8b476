//! A form that a server wants filled in, field by field (`client/elicitation`).

use carrick::validate::{Schema, SchemaError};
use carrick_policy::json;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The most fields that a person is asked for.
const MAX_FIELDS: usize = 100;
/// The most choices of one field.
const MAX_CHOICES: usize = 1000;

/// A form: the fields in the order of the schema.
#[derive(Debug)]
pub struct Form {
    fields: Vec<Field>,
    schema: Schema,
}

/// One field.
#[derive(Debug)]
#[non_exhaustive]
pub struct Field {
    /// The name under which its value is sent.
    pub name: String,
    /// Its name for people, if it has another.
    pub title: Option<String>,
    /// What it is about.
    pub description: Option<String>,
    /// Whether it must be filled in.
    pub required: bool,
    /// What it takes.
    pub kind: Kind,
    /// What it has when nothing is filled in, as JSON.
    pub default: Option<Value>,
    schema: Schema,
}

/// What a field takes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Text; with a format it must have, such as `email`, `uri`, `date` or `date-time`.
    Text(Option<String>),
    /// A number.
    Number,
    /// A whole number.
    Integer,
    /// Yes or no.
    Boolean,
    /// One of these.
    One(Vec<Choice>),
    /// Any of these.
    Many(Vec<Choice>),
    /// Anything else: JSON.
    Json,
}

/// A value to choose.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Choice {
    /// The value.
    pub value: String,
    /// Its name for people, if it has another.
    pub title: Option<String>,
}

/// Why a form cannot be shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormError {
    /// The schema or that of a field cannot be used.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// It is not an object with properties.
    #[error("the schema of a form is an object with properties: {0}")]
    Shape(String),
    /// It has more than a person can be asked.
    #[error("a form has at most {MAX_FIELDS} fields, and a field {MAX_CHOICES} choices")]
    TooLarge,
}

impl Form {
    /// Reads the schema of a form.
    ///
    /// # Errors
    /// When it is no schema, no object, or too large.
    pub fn read(schema: &RawValue) -> Result<Self, FormError> {
        #[derive(Deserialize)]
        struct Object<'a> {
            #[serde(borrow, default)]
            properties: Option<&'a RawValue>,
            #[serde(default)]
            required: Vec<String>,
        }
        let shape = |error: serde_json::Error| FormError::Shape(error.to_string());
        let compiled = Schema::new(&schema.to_owned())?;
        let Object { properties, required } = serde_json::from_str(schema.get()).map_err(shape)?;
        let properties = properties.map_or("{}", RawValue::get);
        let properties = json::members(properties).map_err(shape)?;
        if properties.len() > MAX_FIELDS {
            return Err(FormError::TooLarge);
        }
        let field = |(name, schema): (String, &RawValue)| {
            let required = required.contains(&name);
            Field::read(name, required, schema)
        };
        let fields = properties.into_iter().map(field).collect::<Result<_, _>>()?;
        Ok(Self { fields, schema: compiled })
    }

    /// The fields, in the order of the schema.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Checks what was filled in, a JSON object.
    ///
    /// # Errors
    /// What does not fit, in words.
    pub fn check(&self, content: &str) -> Result<(), String> {
        let content: Value = serde_json::from_str(content).map_err(|error| error.to_string())?;
        let Value::Object(members) = &content else {
            return Err("what is filled in is a JSON object".into());
        };
        self.schema.check(&content).map_err(|error| error.to_string())?;
        for field in &self.fields {
            if let Some(value) = members.get(&field.name) {
                field.formatted(value)?;
            }
        }
        Ok(())
    }
}

impl Field {
    fn read(name: String, required: bool, raw: &RawValue) -> Result<Self, FormError> {
        let schema = Schema::new(&raw.to_owned())?;
        let value: Value =
            serde_json::from_str(raw.get()).map_err(|error| FormError::Shape(error.to_string()))?;
        let text = |key: &str| value[key].as_str().map(str::to_owned);
        let kind = kind(&value);
        if let Kind::One(choices) | Kind::Many(choices) = &kind
            && choices.len() > MAX_CHOICES
        {
            return Err(FormError::TooLarge);
        }
        // A default that does not fit is none.
        let default = value.get("default").filter(|value| schema.check(value).is_ok()).cloned();
        let (title, description) = (text("title"), text("description"));
        Ok(Self { name, title, description, required, kind, default, schema })
    }

    /// What a person typed, as a value that fits.
    ///
    /// Choices may be named by their number, their value or their title; several are
    /// divided by commas.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn parse(&self, typed: &str) -> Result<Value, String> {
        let typed = typed.trim();
        let value = match &self.kind {
            Kind::Text(_) => Value::from(typed),
            Kind::Integer => match typed.parse::<i64>() {
                Ok(number) => Value::from(number),
                Err(_) => return Err("a whole number is wanted".into()),
            },
            Kind::Number => match serde_json::from_str::<Value>(typed) {
                Ok(value) if value.is_number() => value,
                _ => return Err("a number is wanted, such as 1.5".into()),
            },
            Kind::Boolean => match typed.to_lowercase().as_str() {
                "y" | "yes" | "true" => Value::from(true),
                "n" | "no" | "false" => Value::from(false),
                _ => return Err("yes or no is wanted".into()),
            },
            Kind::One(choices) => Value::from(chosen(choices, typed)?),
            Kind::Many(choices) => {
                let parts = typed.split(',').map(str::trim).filter(|part| !part.is_empty());
                let values: Result<Vec<&str>, String> =
                    parts.map(|part| chosen(choices, part)).collect();
                json!(values?)
            }
            Kind::Json => {
                serde_json::from_str(typed).map_err(|error| format!("JSON is wanted: {error}"))?
            }
        };
        self.schema.check(&value).map_err(|error| {
            let text = error.to_string();
            text.strip_prefix("the value ").map_or(text.clone(), |demand| format!("it {demand}"))
        })?;
        self.formatted(&value)?;
        Ok(value)
    }

    /// Checks the format, which schemas only note.
    fn formatted(&self, value: &Value) -> Result<(), String> {
        let (Kind::Text(Some(format)), Some(text)) = (&self.kind, value.as_str()) else {
            return Ok(());
        };
        let (fits, wanted) = match format.as_str() {
            "email" => (is_email(text), "an email address"),
            "uri" => (is_uri(text), "an address such as https://example.com"),
            "date" => (text.parse::<jiff::civil::Date>().is_ok(), "a date such as 2026-01-31"),
            "date-time" => (
                text.parse::<jiff::Timestamp>().is_ok(),
                "a date and time such as 2026-01-31T12:00:00Z",
            ),
            _ => return Ok(()),
        };
        if fits { Ok(()) } else { Err(format!("{wanted} is wanted")) }
    }
}

/// The choice that was named: by value, by title, or by number from 1.
fn chosen<'a>(choices: &'a [Choice], typed: &str) -> Result<&'a str, String> {
    let named = |choice: &&Choice| choice.value == typed || choice.title.as_deref() == Some(typed);
    let by_number = || typed.parse::<usize>().ok().and_then(|n| choices.get(n.checked_sub(1)?));
    let found = choices.iter().find(named).or_else(by_number);
    found.map(|choice| choice.value.as_str()).ok_or_else(|| {
        format!("{typed:?} is none of the choices; a number from 1 to {} is one", choices.len())
    })
}

fn kind(schema: &Value) -> Kind {
    match schema["type"].as_str() {
        Some("string") => match choices(schema) {
            Some(choices) => Kind::One(choices),
            None => Kind::Text(schema["format"].as_str().map(str::to_owned)),
        },
        Some("number") => Kind::Number,
        Some("integer") => Kind::Integer,
        Some("boolean") => Kind::Boolean,
        Some("array") => choices(&schema["items"]).map_or(Kind::Json, Kind::Many),
        _ => Kind::Json,
    }
}

/// The choices of a schema in each of the forms there are: `enum`, with names beside
/// it in older revisions, and constants with titles.
fn choices(schema: &Value) -> Option<Vec<Choice>> {
    if let Some(values) = schema["enum"].as_array() {
        let names = schema["enumNames"].as_array();
        let name = |n: usize| names?.get(n)?.as_str().map(str::to_owned);
        let choice = |(n, value): (usize, &Value)| {
            Some(Choice { value: value.as_str()?.to_owned(), title: name(n) })
        };
        return values.iter().enumerate().map(choice).collect();
    }
    let titled = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array())?;
    let choice = |option: &Value| {
        let title = option["title"].as_str().map(str::to_owned);
        Some(Choice { value: option["const"].as_str()?.to_owned(), title })
    };
    titled.iter().map(choice).collect()
}

fn is_email(text: &str) -> bool {
    let parts = text.rsplit_once('@');
    parts.is_some_and(|(name, host)| !name.is_empty() && !host.is_empty())
        && !text.contains(char::is_whitespace)
}

fn is_uri(text: &str) -> bool {
    text.parse::<http::Uri>().is_ok_and(|uri| uri.scheme().is_some())
        || text.split_once(':').is_some_and(|(scheme, rest)| {
            let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
            scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                && scheme.chars().all(fits)
                && !rest.is_empty()
                && !rest.contains(char::is_whitespace)
        })
}
