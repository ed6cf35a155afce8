//! Parsers on single lines; the job on small logs and on the real table.

mod parse;
mod job;
