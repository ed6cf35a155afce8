//! SPDX licence expressions: `(MIT OR Apache-2.0) AND Unicode-3.0`, and the old `MIT/Apache-2.0`.
//!
//! `AND` binds tighter than `OR`; `WITH` ties an exception to the licence before it.

/// Whether someone who accepts only `allowed` can meet the expression.
pub(super) fn is_satisfied(expression: &str, allowed: &[&str]) -> Result<bool, String> {
    let mut parser = Parser { tokens: tokens(expression), at: 0, allowed };
    let satisfied = parser.any()?;
    match parser.peek() {
        None => Ok(satisfied),
        Some(token) => Err(format!("did not expect {token:?}")),
    }
}

fn tokens(expression: &str) -> Vec<String> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    spaced.split_whitespace().map(str::to_owned).collect()
}

struct Parser<'a> {
    tokens: Vec<String>,
    at: usize,
    allowed: &'a [&'a str],
}

impl Parser<'_> {
    fn peek(&self) -> Option<&str> {
        self.tokens.get(self.at).map(String::as_str)
    }

    fn take(&mut self, word: &str) -> bool {
        let taken = self.peek().is_some_and(|token| token.eq_ignore_ascii_case(word));
        self.at += usize::from(taken);
        taken
    }

    fn any(&mut self) -> Result<bool, String> {
        let mut satisfied = self.all()?;
        while self.take("OR") {
            satisfied |= self.all()?;
        }
        Ok(satisfied)
    }

    fn all(&mut self) -> Result<bool, String> {
        let mut satisfied = self.one()?;
        while self.take("AND") {
            satisfied &= self.one()?;
        }
        Ok(satisfied)
    }

    fn one(&mut self) -> Result<bool, String> {
        if self.take("(") {
            let satisfied = self.any()?;
            return if self.take(")") { Ok(satisfied) } else { Err("`)` is missing".to_owned()) };
        }
        let mut licence = self.identifier()?;
        if self.take("WITH") {
            licence = format!("{licence} WITH {}", self.identifier()?);
        }
        Ok(self.allowed.contains(&licence.as_str()))
    }

    fn identifier(&mut self) -> Result<String, String> {
        let token = self.peek().ok_or("a licence is missing at the end")?.to_owned();
        if ["AND", "OR", "WITH", "(", ")"].iter().any(|word| token.eq_ignore_ascii_case(word)) {
            return Err(format!("a licence is missing before {token:?}"));
        }
        self.at += 1;
        Ok(token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALLOWED: &[&str] =
        &["MIT", "Apache-2.0", "Unicode-3.0", "Apache-2.0 WITH LLVM-exception"];

    #[test]
    fn expressions_are_judged_as_spdx_says() {
        for (expression, satisfied) in [
            ("MIT", true),
            ("GPL-3.0-only", false),
            ("MIT OR GPL-3.0-only", true),
            ("GPL-3.0-only OR MIT", true),
            ("MIT AND GPL-3.0-only", false),
            ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
            ("(MIT OR Apache-2.0) AND OpenSSL", false),
            // AND binds tighter than OR
            ("MIT OR GPL-3.0-only AND OpenSSL", true),
            ("GPL-3.0-only AND OpenSSL OR MIT", true),
            ("GPL-3.0-only AND (OpenSSL OR MIT)", false),
            ("MIT/Apache-2.0", true),
            ("Apache-2.0 / GPL-3.0", true),
            ("Apache-2.0 WITH LLVM-exception", true),
            ("Apache-2.0 WITH LLVM-exception OR GPL-3.0-only", true),
            ("MIT WITH LLVM-exception", false),
            ("Apache-2.0+", false),
            ("((MIT))", true),
        ] {
            assert_eq!(is_satisfied(expression, ALLOWED), Ok(satisfied), "{expression}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_an_error() {
        for expression in ["", "MIT OR", "OR MIT", "(MIT", "MIT)", "MIT Apache-2.0", "MIT WITH"] {
            assert!(is_satisfied(expression, ALLOWED).is_err(), "{expression}");
        }
    }
}
