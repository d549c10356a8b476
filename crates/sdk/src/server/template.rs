//! URI templates with simple expansion (RFC 6570, level 1).

use percent_encoding::percent_decode_str;
use std::collections::BTreeMap;
use std::fmt;

/// A template like `notes://{folder}/{name}`, by which resources are found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UriTemplate {
    /// What stands before the first variable.
    start: String,
    /// The variables, each with what follows it.
    variables: Vec<(String, String)>,
}

/// Why a text is no template that resources can be found by.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TemplateError {
    /// A brace without its partner.
    Brace,
    /// An expression that is no plain variable, as `{/path*}` or `{?query}`.
    Expression(String),
    /// Two variables with nothing between them, or one that stands twice.
    Ambiguous(String),
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Brace => f.write_str("a brace of the URI template has no partner"),
            Self::Expression(text) => {
                write!(f, "{{{text}}} is no plain variable (RFC 6570, level 1)")
            }
            Self::Ambiguous(name) => {
                write!(f, "{{{name}}} follows another variable directly, or stands twice")
            }
        }
    }
}

impl std::error::Error for TemplateError {}

impl UriTemplate {
    pub(super) fn parse(template: &str) -> Result<Self, TemplateError> {
        let mut parts = template.split('{');
        let start = parts.next().unwrap_or_default().to_owned();
        let mut variables: Vec<(String, String)> = Vec::new();
        for part in parts {
            let (name, after) = part.split_once('}').ok_or(TemplateError::Brace)?;
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
            if name.is_empty() || !name.chars().all(plain) {
                return Err(TemplateError::Expression(name.to_owned()));
            }
            let adjacent = variables.last().is_some_and(|(_, between)| between.is_empty());
            if adjacent || variables.iter().any(|(other, _)| other == name) {
                return Err(TemplateError::Ambiguous(name.to_owned()));
            }
            variables.push((name.to_owned(), after.to_owned()));
        }
        let literals = variables.iter().map(|(_, literal)| literal).chain([&start]);
        if literals.into_iter().any(|literal| literal.contains('}')) {
            return Err(TemplateError::Brace);
        }
        Ok(Self { start, variables })
    }

    /// Whether it has any variable.
    pub(super) fn is_fixed(&self) -> bool {
        self.variables.is_empty()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.variables.iter().map(|(name, _)| name.as_str())
    }

    /// Bytes that are the same in all URIs: of two templates that fit, the one
    /// with more says more.
    pub(super) fn weight(&self) -> usize {
        self.start.len() + self.variables.iter().map(|(_, literal)| literal.len()).sum::<usize>()
    }

    /// The variables of a URI, decoded, if it fits. Each is at least one
    /// character, and none that a URI reserves unless it is encoded. Takes time
    /// in proportion to the URI: each variable ends where what follows it is
    /// found first, and the last one at the end.
    pub(super) fn values(&self, uri: &str) -> Option<BTreeMap<String, String>> {
        let mut rest = uri.strip_prefix(&*self.start)?;
        let mut values = BTreeMap::new();
        for (at, (name, literal)) in self.variables.iter().enumerate() {
            let is_last = at + 1 == self.variables.len();
            let value = if is_last {
                rest.strip_suffix(&**literal)?
            } else {
                // At least one character, so the search starts after it.
                let first = rest.chars().next()?.len_utf8();
                &rest[..first + rest[first..].find(&**literal)?]
            };
            rest = &rest[(value.len() + literal.len()).min(rest.len())..];
            values.insert(name.clone(), decoded(value)?);
        }
        rest.is_empty().then_some(values)
    }
}

fn decoded(value: &str) -> Option<String> {
    const RESERVED: &str = ":/?#[]@!$&'()*+,;=";
    let bad = |c: char| RESERVED.contains(c) || c.is_ascii_control() || c == ' ';
    if value.is_empty() || value.contains(bad) || has_broken_escape(value) {
        return None;
    }
    percent_decode_str(value).decode_utf8().ok().map(Into::into)
}

fn has_broken_escape(value: &str) -> bool {
    value.split('%').skip(1).any(|after| {
        let digits = after.as_bytes().get(..2);
        !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn values(template: &str, uri: &str) -> Option<Vec<(String, String)>> {
        let values = UriTemplate::parse(template).unwrap().values(uri)?;
        Some(values.into_iter().collect())
    }

    fn pairs(list: &[(&str, &str)]) -> Option<Vec<(String, String)>> {
        Some(list.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect())
    }

    #[test]
    fn variables_are_found_and_decoded() {
        for (template, uri, found) in [
            ("x://{name}", "x://a", pairs(&[("name", "a")])),
            ("x://{name}", "x://a%20%E6%96%87%2Fb", pairs(&[("name", "a 文/b")])),
            ("x://{name}", "x://文", pairs(&[("name", "文")])),
            ("x://{a}/{b}.md", "x://1/2.3.md", pairs(&[("a", "1"), ("b", "2.3")])),
            ("x://{a}.{b}", "x://1.2.3", pairs(&[("a", "1"), ("b", "2.3")])),
            ("x://{a}-{b}", "x://--c", pairs(&[("a", "-"), ("b", "c")])),
            ("x://{name}", "x://", None),
            ("x://{name}", "x://a/b", None),
            ("x://{name}", "y://a", None),
            ("x://{name}", "x://a b", None),
            ("x://{name}", "x://%", None),
            ("x://{name}", "x://%4", None),
            ("x://{name}", "x://%zz", None),
            ("x://{name}", "x://%FF", None),
            ("x://{name}/end", "x://a/end/end", None),
            ("x://{a}/{b}", "x:///b", None),
            ("x://{a}aa", "x://aa", None),
            ("x://fixed", "x://fixed", pairs(&[])),
            ("x://fixed", "x://fixed2", None),
        ] {
            assert_eq!(values(template, uri), found, "{template} {uri}");
        }
    }

    #[test]
    fn d064_what_is_no_level_1_template_is_refused_and_matching_is_linear() {
        for (template, error) in [
            ("/team{/m*}", TemplateError::Expression("/m*".into())),
            ("x://{?q}", TemplateError::Expression("?q".into())),
            ("x://{}", TemplateError::Expression(String::new())),
            ("x://{a", TemplateError::Brace),
            ("x://a}", TemplateError::Brace),
            ("x://{a}}", TemplateError::Brace),
            ("x://{a}{b}", TemplateError::Ambiguous("b".into())),
            ("x://{a}/{a}", TemplateError::Ambiguous("a".into())),
        ] {
            assert_eq!(UriTemplate::parse(template), Err(error), "{template}");
        }
        let uri = format!("/team/{}X/", "ann,".repeat(5000));
        assert_eq!(values("/team/{m}/X", &uri), None);
        assert_eq!(values("/team/{a},{b},{c},{d},{e}", &uri), None);
    }

    proptest! {
        #[test]
        fn no_uri_panics_and_what_is_encoded_comes_back(name in ".+", uri in ".*") {
            let template = UriTemplate::parse("x://{a}/{b}.md").unwrap();
            let _ = template.values(&uri);
            let encoded =
                percent_encoding::utf8_percent_encode(&name, percent_encoding::NON_ALPHANUMERIC);
            let found = template.values(&format!("x://{encoded}/1.md")).unwrap();
            prop_assert_eq!(&found["a"], &name);
        }
    }
}
