//! JSON, one value a line.

use std::marker::PhantomData;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::{Format, Split, split_line, trimmed};
use crate::source::Timed;

pub(in super::super) struct Ndjson<R, F> {
    row: Arc<F>,
    of: PhantomData<fn() -> R>,
}

impl<R, F> Ndjson<R, F> {
    pub(in super::super) fn new(row: Arc<F>) -> Self {
        Self { row, of: PhantomData }
    }
}

impl<T, R, I, F> Format<T> for Ndjson<R, F>
where
    R: DeserializeOwned,
    I: IntoIterator<Item = Timed<T>>,
    F: Fn(R) -> I + Send + Sync,
{
    fn split(&mut self, bytes: &[u8], ended: bool) -> Split {
        split_line(bytes, ended)
    }

    fn decode(&mut self, row: &[u8], events: &mut Vec<Timed<T>>) -> Result<(), String> {
        let row = serde_json::from_slice(trimmed(row)).map_err(|error| error.to_string())?;
        events.extend((self.row)(row));
        Ok(())
    }
}
