//! Files that other programs read: a record appears in a published file once, if it was committed.
//!
//! Each shard writes `.<name>-<shard>-<part>.part`, hidden. The position is (part, length, whether
//! the part is complete). After the commit of a complete part, and when the job ends, it is renamed
//! to `<name>-<shard>-<part>.<suffix>`.
//!
//! 1. A published file never changes.
//! 2. Bytes behind the committed length vanish when the writer is opened; so do later parts.
//! 3. Renaming is done again at opening if the crash came between commit and rename; a file that is
//!    published already must have exactly the committed length.

use std::fs::{self, File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Prepared, Sink, SinkContext, SinkWriter};
use crate::durable;
use crate::error::Error;

const ROLL_BYTES: u64 = 64 << 20;
/// So much is gathered before it goes to the system.
const BUFFER_BYTES: usize = 64 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Ndjson,
    Csv,
}

impl Format {
    fn suffix(self) -> &'static str {
        match self {
            Self::Ndjson => "ndjson",
            Self::Csv => "csv",
        }
    }
}

/// Writes records to files, each exactly once if its epoch is committed.
///
/// Files are published by renaming when they reach the roll size, and when the job ends; until then
/// they are hidden (`.name-0-3.part`).
///
/// # Examples
/// ```
/// use stateward_engine::FileSink;
/// // results/late-0-0.ndjson, results/late-1-0.ndjson, … below the job's folder
/// let sink = FileSink::ndjson("results/late").roll_bytes(16 << 20).files_max(10);
/// ```
#[derive(Clone, Debug)]
pub struct FileSink {
    path: PathBuf,
    format: Format,
    roll_bytes: u64,
    files_max: Option<usize>,
}

impl FileSink {
    /// Writes JSON, one record a line. The last part of `path` is the name that files begin with; a
    /// relative path is taken from the job's folder.
    pub fn ndjson(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), format: Format::Ndjson, roll_bytes: ROLL_BYTES, files_max: None }
    }

    /// Writes comma-separated values with a header in each file; records must be flat structs.
    pub fn csv(path: impl Into<PathBuf>) -> Self {
        Self { format: Format::Csv, ..Self::ndjson(path) }
    }

    /// Publishes a file when its committed length reaches `bytes`, 64 MiB by default.
    #[must_use]
    pub fn roll_bytes(mut self, bytes: u64) -> Self {
        self.roll_bytes = bytes;
        self
    }

    /// Keeps only the newest `files` published files of each shard, at least one. Default: all.
    #[must_use]
    pub fn files_max(mut self, files: usize) -> Self {
        self.files_max = Some(files.max(1));
        self
    }
}

impl<T: Serialize> Sink<T> for FileSink {
    fn open(
        &self,
        context: SinkContext,
        position: Option<&[u8]>,
    ) -> Result<Box<dyn SinkWriter<T>>, Error> {
        let position = position.map(|bytes| decode(bytes, &context.uid)).transpose()?;
        Ok(Box::new(FileWriter::open(self, &context, position)?))
    }

    fn detail(&self) -> String {
        format!("{}-*.{}", self.path.display(), self.format.suffix())
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Position {
    part: u64,
    length_bytes: u64,
    is_complete: bool,
}

fn decode(bytes: &[u8], uid: &str) -> Result<Position, Error> {
    postcard::from_bytes(bytes).map_err(|error| Error::Codec {
        place: format!("position of sink {uid}"),
        detail: format!("expected a file and its length: {error}"),
    })
}

/// The names of one shard's files.
#[derive(Debug)]
struct Names {
    folder: PathBuf,
    stem: String,
    suffix: &'static str,
}

impl Names {
    fn new(sink: &FileSink, context: &SinkContext) -> Result<Self, Error> {
        let path = context.job_dir.join(&sink.path);
        let named = path.file_name().and_then(|name| name.to_str()).zip(path.parent());
        let Some((name, folder)) = named else {
            return Err(Error::Declaration(format!(
                "sink {}: {} does not end in a name for the files",
                context.uid,
                sink.path.display()
            )));
        };
        Ok(Self {
            folder: folder.to_path_buf(),
            stem: format!("{name}-{}", context.shard),
            suffix: sink.format.suffix(),
        })
    }

    fn hidden(&self, part: u64) -> PathBuf {
        self.folder.join(format!(".{}-{part}.part", self.stem))
    }

    fn published(&self, part: u64) -> PathBuf {
        self.folder.join(format!("{}-{part}.{}", self.stem, self.suffix))
    }

    /// The parts in the folder: hidden ones, published ones, each in order.
    fn list(&self) -> Result<(Vec<u64>, Vec<u64>), Error> {
        let refused = || Error::io("cannot list", &self.folder);
        let (mut hidden, mut published) = (Vec::new(), Vec::new());
        for entry in fs::read_dir(&self.folder).map_err(refused())? {
            let name = entry.map_err(refused())?.file_name();
            let Some(name) = name.to_str() else { continue };
            let part = |name: &str, suffix: &str| {
                let part = name.strip_prefix(&self.stem)?.strip_prefix('-')?;
                part.strip_suffix(suffix)?.strip_suffix('.')?.parse::<u64>().ok()
            };
            hidden.extend(name.strip_prefix('.').and_then(|name| part(name, "part")));
            published.extend(part(name, self.suffix));
        }
        hidden.sort_unstable();
        published.sort_unstable();
        Ok((hidden, published))
    }

    /// Renames a committed part; does nothing if that was done.
    fn publish(&self, part: u64, length_bytes: u64) -> Result<(), Error> {
        let (hidden, published) = (self.hidden(part), self.published(part));
        if !hidden.exists() {
            return match fs::metadata(&published) {
                Ok(found) if found.len() == length_bytes => Ok(()),
                Err(_) if length_bytes == 0 => Ok(()),
                found => Err(Error::Damaged {
                    path: published,
                    offset: length_bytes,
                    detail: format!(
                        "{length_bytes} bytes were committed, found {}; restore the file, or empty \
                         the job's folder to compute it anew",
                        found.map_or("nothing".to_owned(), |found| format!("{}", found.len()))
                    ),
                }),
            };
        }
        if published.exists() {
            return Err(Error::Folder {
                path: published,
                detail: "is in the way of a part that is to be published; move it away".to_owned(),
            });
        }
        durable::rename(&hidden, &published)
    }
}

/// Makes a hidden part; one that is there already is somebody else's.
fn make(path: &Path) -> Result<Arc<File>, Error> {
    let file = OpenOptions::new().create_new(true).write(true).open(path);
    let file = file.map_err(Error::io("cannot make", path))?;
    durable::sync_parent(path)?;
    Ok(Arc::new(file))
}

struct FileWriter {
    names: Names,
    roll_bytes: u64,
    files_max: Option<usize>,
    encoder: Encoder,
    /// Made with the first byte.
    file: Option<Arc<File>>,
    /// The part in hand; `length_bytes` counts what went to the system.
    at: Position,
    /// What the last `prepare` promised, until it is committed.
    prepared: Option<Position>,
    committed: Position,
}

impl FileWriter {
    fn open(
        sink: &FileSink,
        context: &SinkContext,
        position: Option<Position>,
    ) -> Result<Self, Error> {
        let names = Names::new(sink, context)?;
        let folder = &names.folder;
        durable::make_dir(folder)?;
        let committed = position.unwrap_or_default();
        let (hidden, published) = names.list()?;
        let is_known = |part: &u64| position.is_some() && *part <= committed.part;
        if let Some(foreign) = published.iter().find(|part| !is_known(part)) {
            return Err(Error::Folder {
                path: names.published(*foreign),
                detail:
                    "this job has not committed it, so it is another job's, or from before the \
                         job's folder was emptied; move the old files away or name others"
                        .to_owned(),
            });
        }
        let is_kept = |part: &u64| *part == committed.part && committed.length_bytes > 0;
        for part in hidden.into_iter().filter(|part| !is_kept(part)) {
            let path = names.hidden(part);
            fs::remove_file(&path).map_err(Error::io("cannot remove", &path))?;
        }
        let mut writer = Self {
            names,
            roll_bytes: sink.roll_bytes,
            files_max: sink.files_max,
            encoder: Encoder::new(sink.format),
            file: None,
            at: committed,
            prepared: None,
            committed,
        };
        writer.recover()?;
        Ok(writer)
    }

    /// Brings the part in hand to its committed length, or goes on to the next one.
    fn recover(&mut self) -> Result<(), Error> {
        let hidden = self.names.hidden(self.at.part);
        if hidden.exists() {
            let refused = || Error::io("cannot open", &hidden);
            let mut file = OpenOptions::new().write(true).open(&hidden).map_err(refused())?;
            let found = file.metadata().map_err(refused())?.len();
            if found < self.at.length_bytes {
                return Err(Error::Damaged {
                    path: hidden,
                    offset: found,
                    detail: format!(
                        "{} bytes were committed; restore the file, or empty the job's folder to \
                         compute it anew",
                        self.at.length_bytes
                    ),
                });
            }
            file.set_len(self.at.length_bytes).map_err(refused())?;
            file.seek(SeekFrom::Start(self.at.length_bytes)).map_err(refused())?;
            self.file = Some(Arc::new(file));
        }
        let is_missing = !hidden.exists() && self.at.length_bytes > 0;
        if self.at.is_complete || is_missing {
            self.names.publish(self.at.part, self.at.length_bytes)?;
            self.begin_part();
        }
        Ok(())
    }

    fn begin_part(&mut self) {
        self.file = None;
        self.at = Position { part: self.at.part + 1, ..Position::default() };
    }

    /// Hands what was gathered to the system.
    fn flush(&mut self) -> Result<(), Error> {
        let bytes = self.encoder.take(&self.names)?;
        if bytes.is_empty() {
            return Ok(());
        }
        let path = self.names.hidden(self.at.part);
        let file = match self.file.take() {
            Some(file) => file,
            None => make(&path)?,
        };
        let mut to = file.as_ref();
        to.write_all(&bytes).map_err(Error::io("cannot write", &path))?;
        self.at.length_bytes += bytes.len() as u64;
        self.file = Some(file);
        self.encoder.give_back(bytes);
        Ok(())
    }

    fn remove_oldest(&self) -> Result<(), Error> {
        let Some(files_max) = self.files_max else { return Ok(()) };
        let (_, published) = self.names.list()?;
        let surplus = published.len().saturating_sub(files_max);
        for part in published.into_iter().take(surplus) {
            let path = self.names.published(part);
            fs::remove_file(&path).map_err(Error::io("cannot remove", &path))?;
        }
        Ok(())
    }
}

impl<T: Serialize> SinkWriter<T> for FileWriter {
    fn write(&mut self, value: &T, _ts: i64) -> Result<(), Error> {
        let begins = self.at.length_bytes == 0;
        self.encoder.append(value, begins, &self.names)?;
        if self.encoder.is_full() { self.flush() } else { Ok(()) }
    }

    fn prepare(&mut self) -> Result<Prepared, Error> {
        self.flush()?;
        self.at.is_complete = self.at.length_bytes >= self.roll_bytes.max(1);
        let position = postcard::to_stdvec(&self.at).map_err(|error| Error::Codec {
            place: format!("position of {}", self.names.stem),
            detail: error.to_string(),
        })?;
        let path = self.names.hidden(self.at.part);
        let sync = self.file.iter().map(|file| (path.clone(), Arc::clone(file))).collect();
        self.prepared = Some(self.at);
        if self.at.is_complete {
            self.begin_part();
        }
        Ok(Prepared { position, sync })
    }

    fn committed(&mut self) -> Result<(), Error> {
        let Some(prepared) = self.prepared.take() else { return Ok(()) };
        self.committed = prepared;
        if prepared.is_complete {
            self.names.publish(prepared.part, prepared.length_bytes)?;
            self.remove_oldest()?;
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), Error> {
        if self.committed.is_complete || self.committed.part != self.at.part {
            return Ok(());
        }
        assert!(
            self.encoder.is_empty() && self.at.length_bytes == self.committed.length_bytes,
            "a file sink is closed after a commit of everything"
        );
        self.names.publish(self.at.part, self.at.length_bytes)?;
        self.remove_oldest()
    }
}

/// Gathers encoded records.
struct Encoder {
    format: Format,
    bytes: Vec<u8>,
    csv: Option<csv::Writer<Vec<u8>>>,
    written: usize,
}

impl Encoder {
    fn new(format: Format) -> Self {
        Self { format, bytes: Vec::new(), csv: None, written: 0 }
    }

    fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.csv.is_none()
    }

    fn is_full(&self) -> bool {
        self.written >= BUFFER_BYTES || self.bytes.len() >= BUFFER_BYTES
    }

    fn append<T: Serialize>(
        &mut self,
        value: &T,
        begins: bool,
        names: &Names,
    ) -> Result<(), Error> {
        let refused =
            |detail: String| Error::Codec { place: format!("record of {}", names.stem), detail };
        match self.format {
            Format::Ndjson => {
                serde_json::to_writer(&mut self.bytes, value)
                    .map_err(|error| refused(error.to_string()))?;
                self.bytes.push(b'\n');
            }
            Format::Csv => {
                let buffer = &mut self.bytes;
                let writer = self.csv.get_or_insert_with(|| {
                    csv::WriterBuilder::new()
                        .has_headers(begins)
                        .from_writer(std::mem::take(buffer))
                });
                writer.serialize(value).map_err(|error| refused(error.to_string()))?;
                self.written += size_of::<T>();
            }
        }
        Ok(())
    }

    /// Everything gathered so far.
    fn take(&mut self, names: &Names) -> Result<Vec<u8>, Error> {
        self.written = 0;
        match self.csv.take() {
            None => Ok(std::mem::take(&mut self.bytes)),
            Some(writer) => writer.into_inner().map_err(|error| Error::Codec {
                place: format!("record of {}", names.stem),
                detail: error.to_string(),
            }),
        }
    }

    /// Takes the memory of bytes that were written back.
    fn give_back(&mut self, mut bytes: Vec<u8>) {
        bytes.clear();
        self.bytes = bytes;
    }
}

#[cfg(test)]
mod tests;
