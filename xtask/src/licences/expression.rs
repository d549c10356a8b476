//! Licence expressions of SPDX: names joined by `OR`, `AND` and `WITH`, with parentheses.
//!
//! <https://spdx.github.io/spdx-spec/v2.3/SPDX-license-expressions/>. A `/`, which old
//! manifests use, means `OR`.

/// Licences under which a dependency may be shipped with an Apache-2.0 program.
const ALLOWED: [&str; 13] = [
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "MPL-2.0",
    "Unicode-3.0",
    "Zlib",
];
/// Puts a work in the public domain; named apart, for it is no licence in some countries,
/// and every crate under it so far offers another beside it.
const PUBLIC_DOMAIN: &str = "Unlicense";
/// Exceptions that only add to what a licence allows.
const EXCEPTIONS: [&str; 1] = ["LLVM-exception"];

/// How deep parentheses may nest. Real expressions have one level.
const DEPTH_LIMIT: usize = 16;

/// Whether the licences on the list satisfy the expression.
///
/// # Errors
///
/// Says what is wrong with an expression that cannot be read, an empty one too.
pub(crate) fn is_allowed(expression: &str) -> Result<bool, String> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let tokens: Vec<&str> = spaced.split_whitespace().collect();
    let mut parser = Parser { tokens: &tokens, depth: 0 };
    let allowed = parser.any()?;
    match parser.tokens.first() {
        None => Ok(allowed),
        Some(token) => Err(format!("{token:?} was not expected")),
    }
}

struct Parser<'a> {
    tokens: &'a [&'a str],
    depth: usize,
}

impl<'a> Parser<'a> {
    /// Terms joined by `OR`, which binds less than `AND`.
    fn any(&mut self) -> Result<bool, String> {
        let mut allowed = self.all()?;
        while self.take("OR") {
            allowed |= self.all()?;
        }
        Ok(allowed)
    }

    fn all(&mut self) -> Result<bool, String> {
        let mut allowed = self.one()?;
        while self.take("AND") {
            allowed &= self.one()?;
        }
        Ok(allowed)
    }

    fn one(&mut self) -> Result<bool, String> {
        if self.take("(") {
            self.depth += 1;
            if self.depth > DEPTH_LIMIT {
                return Err(format!("more than {DEPTH_LIMIT} levels of parentheses"));
            }
            let allowed = self.any()?;
            self.depth -= 1;
            return if self.take(")") {
                Ok(allowed)
            } else {
                Err("a parenthesis is not closed".into())
            };
        }
        let licence = self.name()?;
        let allowed = ALLOWED.contains(&licence) || licence == PUBLIC_DOMAIN;
        if self.take("WITH") {
            return Ok(EXCEPTIONS.contains(&self.name()?) && allowed);
        }
        Ok(allowed)
    }

    fn name(&mut self) -> Result<&'a str, String> {
        match self.tokens.split_first() {
            Some((name, rest)) if !["OR", "AND", "WITH", "(", ")"].contains(name) => {
                self.tokens = rest;
                Ok(name)
            }
            Some((token, _)) => Err(format!("{token:?} stands where a licence should")),
            None => Err("it ends where a licence should stand".into()),
        }
    }

    fn take(&mut self, token: &str) -> bool {
        match self.tokens.split_first() {
            Some((first, rest)) if *first == token => {
                self.tokens = rest;
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_allowed;

    #[test]
    fn either_side_of_or_is_enough() {
        assert_eq!(is_allowed("MIT OR GPL-3.0-only"), Ok(true));
        assert_eq!(is_allowed("GPL-3.0-only OR Apache-2.0"), Ok(true));
        assert_eq!(is_allowed("LGPL-2.1-or-later/GPL-2.0-only"), Ok(false));
        assert_eq!(is_allowed("MIT/BSD-3-Clause"), Ok(true));
    }

    #[test]
    fn both_sides_of_and_are_needed() {
        assert_eq!(is_allowed("Apache-2.0 AND ISC"), Ok(true));
        assert_eq!(is_allowed("Apache-2.0 AND OpenSSL"), Ok(false));
    }

    #[test]
    fn and_binds_more_than_or_unless_parentheses_say_else() {
        assert_eq!(is_allowed("MIT OR GPL-3.0-only AND GPL-2.0-only"), Ok(true));
        assert_eq!(is_allowed("(MIT OR GPL-3.0-only) AND GPL-2.0-only"), Ok(false));
        assert_eq!(is_allowed("(MIT OR Apache-2.0) AND Unicode-3.0"), Ok(true));
    }

    #[test]
    fn exceptions_are_listed_too() {
        assert_eq!(is_allowed("Apache-2.0 WITH LLVM-exception"), Ok(true));
        assert_eq!(is_allowed("Apache-2.0 WITH Novel-exception"), Ok(false));
        assert_eq!(is_allowed("GPL-3.0-only WITH LLVM-exception"), Ok(false));
    }

    #[test]
    fn what_is_no_expression_is_an_error() {
        let nested = format!("{}MIT{}", "(".repeat(99), ")".repeat(99));
        for wrong in
            ["", "MIT OR", "OR MIT", "(MIT", "MIT)", "MIT Apache-2.0", "MIT WITH", "()", &nested]
        {
            assert!(is_allowed(wrong).is_err(), "{wrong:?}");
        }
    }
}
