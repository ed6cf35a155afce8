//! Lines of text, parsed by the job.

use std::sync::Arc;

use super::{Format, Split, split_line, trimmed};
use crate::source::Timed;

pub(in super::super) struct Lines<F> {
    parse: Arc<F>,
}

impl<F> Lines<F> {
    pub(in super::super) fn new(parse: Arc<F>) -> Self {
        Self { parse }
    }
}

impl<T, I, F> Format<T> for Lines<F>
where
    I: IntoIterator<Item = Timed<T>>,
    F: Fn(&str) -> Result<I, String> + Send + Sync,
{
    fn split(&mut self, bytes: &[u8], ended: bool) -> Split {
        split_line(bytes, ended)
    }

    fn decode(&mut self, row: &[u8], events: &mut Vec<Timed<T>>) -> Result<(), String> {
        let line = str::from_utf8(trimmed(row)).map_err(|error| error.to_string())?;
        events.extend((self.parse)(line)?);
        Ok(())
    }
}
