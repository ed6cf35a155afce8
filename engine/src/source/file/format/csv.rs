//! Comma-separated values, RFC 4180, with a header.
//!
//! The `csv` crate's own reader buffers ahead and cannot tell a half-written last row of a growing
//! file from a whole one. So its core cuts the rows here, from bytes that always begin at a row.

use std::fmt::Write as _;
use std::marker::PhantomData;
use std::sync::Arc;

use csv::{ErrorKind, StringRecord};
use csv_core::ReadRecordResult;
use serde::de::DeserializeOwned;

use super::{Format, FormatOptions, ROW_BYTES_MAX, Split};
use crate::source::Timed;
use crate::source::file::columns::columns_of;

const FIELDS_MAX: usize = 1 << 12;

pub(in super::super) struct Csv<R, F> {
    row: Arc<F>,
    options: FormatOptions,
    core: csv_core::Reader,
    /// Unquoted fields of the row that was split last, end to end.
    fields: Vec<u8>,
    ends: Vec<usize>,
    field_count: usize,
    header: StringRecord,
    record: StringRecord,
    of: PhantomData<fn() -> R>,
}

impl<R, F> Csv<R, F> {
    pub(in super::super) fn new(row: Arc<F>, options: FormatOptions) -> Self {
        Self {
            row,
            options,
            core: csv_core::Reader::new(),
            fields: vec![0; 1024],
            ends: vec![0; 32],
            field_count: 0,
            header: StringRecord::new(),
            record: StringRecord::new(),
            of: PhantomData,
        }
    }

    /// Makes a record of the fields that were split last.
    fn record(&mut self) -> Result<(), String> {
        self.record.clear();
        let mut start = 0;
        for &end in self.ends.iter().take(self.field_count) {
            let field = self.fields.get(start..end).unwrap_or_default();
            let field = str::from_utf8(field).map_err(|error| {
                format!("field {} is not UTF-8: {error}", self.record.len() + 1)
            })?;
            self.record.push_field(field);
            start = end;
        }
        Ok(())
    }

    /// Where the first line of `bytes` ends, to go on after a row that cannot be cut.
    fn too_long(bytes: &[u8]) -> Split {
        Split::TooLong { bytes: memchr::memchr(b'\n', bytes).map_or(bytes.len(), |end| end + 1) }
    }
}

impl<T, R, I, F> Format<T> for Csv<R, F>
where
    R: DeserializeOwned,
    I: IntoIterator<Item = Timed<T>>,
    F: Fn(R) -> I + Send + Sync,
{
    fn has_header(&self) -> bool {
        true
    }

    fn header(&mut self, _row: &[u8]) -> Result<(), String> {
        self.record()?;
        self.header = self.record.clone();
        let Some(columns) = columns_of::<R>() else { return Ok(()) };
        let header = self.header.iter().collect::<Vec<_>>();
        let listed = header.join(",");
        if let Some(missing) = columns.iter().find(|column| !header.contains(column)) {
            return Err(format!(
                "column {missing} is missing, the header is {listed}; add the column or correct \
                 its name in the header or in the row type"
            ));
        }
        let unknown =
            header.iter().filter(|name| !columns.contains(name)).copied().collect::<Vec<_>>();
        if unknown.is_empty() {
            return Ok(());
        }
        if self.options.deny_unknown_columns {
            return Err(format!(
                "unknown column {}, the header is {listed}, expected {}; remove the column or \
                 allow unknown ones",
                unknown.join(","),
                columns.join(",")
            ));
        }
        tracing::info!(unknown = unknown.join(","), "columns that the row type does not know");
        Ok(())
    }

    fn split(&mut self, bytes: &[u8], ended: bool) -> Split {
        loop {
            self.core.reset();
            let (mut result, mut read, mut written, mut fields) =
                self.core.read_record(bytes, &mut self.fields, &mut self.ends);
            if result == ReadRecordResult::InputEmpty && ended {
                let output = self.fields.get_mut(written..).unwrap_or_default();
                let ends = self.ends.get_mut(fields..).unwrap_or_default();
                let last = self.core.read_record(&[], output, ends);
                (result, read, written, fields) =
                    (last.0, read + last.1, written + last.2, fields + last.3);
            }
            match result {
                ReadRecordResult::Record => {
                    self.field_count = fields;
                    if read > ROW_BYTES_MAX {
                        return Self::too_long(bytes);
                    }
                    return Split::Row { bytes: read };
                }
                ReadRecordResult::End if bytes.is_empty() => return Split::Need,
                ReadRecordResult::End => return Split::Blank { bytes: bytes.len() },
                ReadRecordResult::InputEmpty if bytes.len() > ROW_BYTES_MAX => {
                    return Self::too_long(bytes);
                }
                ReadRecordResult::InputEmpty => return Split::Need,
                ReadRecordResult::OutputFull if written <= ROW_BYTES_MAX => {
                    self.fields.resize(self.fields.len() * 2, 0);
                }
                ReadRecordResult::OutputEndsFull if fields <= FIELDS_MAX => {
                    self.ends.resize(self.ends.len() * 2, 0);
                }
                ReadRecordResult::OutputFull | ReadRecordResult::OutputEndsFull => {
                    return Self::too_long(bytes);
                }
            }
        }
    }

    fn decode(&mut self, _row: &[u8], events: &mut Vec<Timed<T>>) -> Result<(), String> {
        self.record()?;
        if self.record.len() != self.header.len() {
            return Err(format!(
                "expected {} fields as in the header, got {}",
                self.header.len(),
                self.record.len()
            ));
        }
        let row = self
            .record
            .deserialize::<R>(Some(&self.header))
            .map_err(|error| describe(&error, &self.header, &self.record))?;
        events.extend((self.row)(row));
        Ok(())
    }
}

/// Says which column is wrong, and what stands in it.
fn describe(error: &csv::Error, header: &StringRecord, record: &StringRecord) -> String {
    let ErrorKind::Deserialize { err, .. } = error.kind() else { return error.to_string() };
    let mut text = err.kind().to_string();
    if let Some(index) = err.field().and_then(|index| usize::try_from(index).ok()) {
        let column = header.get(index).unwrap_or_default();
        let value = record.get(index).unwrap_or_default();
        // Writing to a String cannot fail.
        let _infallible = write!(text, " in column {column}: {value:?}");
    }
    text
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    struct Row {
        ts: i64,
        name: Option<String>,
    }

    type Value = Option<String>;

    fn format(deny: bool) -> Box<dyn Format<Value>> {
        let row = |row: Row| [Timed { value: row.name, ts: row.ts }];
        Box::new(Csv::<Row, _>::new(Arc::new(row), FormatOptions { deny_unknown_columns: deny }))
    }

    fn all(text: &str) -> Vec<Result<Vec<Timed<Value>>, String>> {
        let mut format = format(false);
        let mut bytes = text.as_bytes();
        let mut rows = Vec::new();
        let mut is_header = true;
        loop {
            let taken = match format.split(bytes, true) {
                Split::Need => return rows,
                Split::Blank { bytes } => bytes,
                Split::TooLong { bytes } => {
                    rows.push(Err("too long".to_owned()));
                    bytes
                }
                Split::Row { bytes: taken } if is_header => {
                    format.header(&bytes[..taken]).unwrap();
                    is_header = false;
                    taken
                }
                Split::Row { bytes: taken } => {
                    let mut events = Vec::new();
                    let decoded = format.decode(&bytes[..taken], &mut events);
                    rows.push(decoded.map(|()| events));
                    taken
                }
            };
            bytes = &bytes[taken..];
        }
    }

    #[test]
    fn rows_with_quotes_blank_lines_and_no_last_line_end() {
        let rows = all("ts,name\r\n1,\"a,\"\"b\"\"\nc\"\r\n\r\n2,\r\n3,d");
        let values = rows.into_iter().map(|row| row.unwrap().remove(0)).collect::<Vec<_>>();
        assert_eq!(
            values,
            [
                Timed { value: Some("a,\"b\"\nc".to_owned()), ts: 1 },
                Timed { value: None, ts: 2 },
                Timed { value: Some("d".to_owned()), ts: 3 },
            ]
        );
    }

    #[test]
    fn a_bad_row_says_what_is_wrong() {
        let rows = all("ts,name\nx,a\n1\n2,b\n");
        let reasons = rows.into_iter().filter_map(Result::err).collect::<Vec<_>>();
        assert_eq!(
            reasons,
            [
                "invalid digit found in string in column ts: \"x\"",
                "expected 2 fields as in the header, got 1",
            ]
        );
    }

    #[test]
    fn an_unclosed_quote_costs_its_line_only() {
        let text = format!("ts,name\n1,\"a\n2,b\n{}", "3,c\n".repeat(ROW_BYTES_MAX / 4));
        let rows = all(&text);
        assert_eq!(rows[0].as_ref().unwrap_err(), "too long");
        assert_eq!(rows[1].as_ref().unwrap()[0].ts, 2);
    }

    #[test]
    fn a_header_names_what_is_missing_or_unknown() {
        let mut missing = format(false);
        missing.split(b"ts,nom\n", false);
        let error = missing.header(b"").unwrap_err();
        assert!(error.starts_with("column name is missing, the header is ts,nom"), "{error}");
        let mut unknown = format(true);
        unknown.split(b"ts,name,extra\n", false);
        let error = unknown.header(b"").unwrap_err();
        assert!(error.starts_with("unknown column extra"), "{error}");
    }

    #[test]
    fn a_row_that_is_not_whole_needs_more() {
        let mut format = format(false);
        assert_eq!(format.split(b"1,\"a\n", false), Split::Need);
        assert_eq!(format.split(b"1,a", false), Split::Need);
        assert_eq!(format.split(b"1,a", true), Split::Row { bytes: 3 });
        assert_eq!(format.split(b"", true), Split::Need);
    }
}
