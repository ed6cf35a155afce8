//! Adds up the result lines of `cargo test`.

use std::fmt;

/// Tests that ran, over all binaries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) ignored: u64,
    pub(crate) filtered: u64,
}

impl Totals {
    /// Adds the line's figures if it is a result line.
    pub(crate) fn add_line(&mut self, line: &str) {
        let Some(result) = line.trim().strip_prefix("test result: ") else {
            return;
        };
        let figures = result.split_once(". ").map_or("", |(_, figures)| figures);
        for part in figures.split(';') {
            let Some((count, what)) = part.trim().split_once(' ') else {
                continue;
            };
            let Ok(count) = count.parse::<u64>() else {
                continue;
            };
            match what {
                "passed" => self.passed += count,
                "failed" => self.failed += count,
                "ignored" => self.ignored += count,
                "filtered out" => self.filtered += count,
                _ => {}
            }
        }
    }
}

/// The closing line, as people and CI read it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Closing {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

impl fmt::Display for Closing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { passed, failed, skipped } = self;
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_lines_of_several_binaries_add_up() {
        let mut totals = Totals::default();
        for line in [
            "running 3 tests",
            "test a::b ... ok",
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.00s",
            "test result: FAILED. 10 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 61.3s",
            "a test may print test result: ok. 99 passed; in a sentence",
        ] {
            totals.add_line(line);
        }
        assert_eq!(totals, Totals { passed: 13, failed: 2, ignored: 1, filtered: 2 });
    }

    #[test]
    fn the_closing_line_has_one_form() {
        let closing = Closing { passed: 13, failed: 0, skipped: 1 };
        assert_eq!(closing.to_string(), "13 passed, 0 failed, 1 skipped");
    }
}
