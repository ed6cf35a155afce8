//! Stops reading when the job's folder is full enough: a demo that runs for days must not eat the
//! disk, and one of its states grows for ever.

use std::collections::HashSet;
use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use stateward_engine::{Clock, Error, Poll, Source, SourceContext, SourceReader, Timed};

const LOOK_MICROS: u64 = 2_000_000;
const WAIT: Duration = Duration::from_millis(500);
const BLOCK_BYTES: u64 = 512;

/// A source that pauses while the job's folder holds more than a number of bytes.
pub(super) struct DiskCapped<S> {
    source: S,
    cap_bytes: Option<u64>,
}

impl<S> DiskCapped<S> {
    pub(super) fn new(source: S, cap_bytes: Option<u64>) -> Self {
        Self { source, cap_bytes }
    }
}

impl<S: fmt::Debug> fmt::Debug for DiskCapped<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiskCapped")
            .field("source", &self.source)
            .field("cap_bytes", &self.cap_bytes)
            .finish()
    }
}

impl<T: 'static, S: Source<T>> Source<T> for DiskCapped<S> {
    fn partitions(&self) -> u32 {
        self.source.partitions()
    }

    fn open(
        &self,
        context: SourceContext,
        position: Option<&[u8]>,
    ) -> Result<Box<dyn SourceReader<T>>, Error> {
        let folder = context.job_dir.clone();
        let clock = Arc::clone(&context.clock);
        let reader = self.source.open(context, position)?;
        let Some(cap_bytes) = self.cap_bytes else { return Ok(reader) };
        Ok(Box::new(Capped { reader, folder, clock, cap_bytes, looked_micros: None, full: None }))
    }

    fn detail(&self) -> String {
        self.source.detail()
    }

    fn replay_factor(&self) -> f64 {
        self.source.replay_factor()
    }
}

struct Capped<T> {
    reader: Box<dyn SourceReader<T>>,
    folder: PathBuf,
    clock: Arc<dyn Clock>,
    cap_bytes: u64,
    looked_micros: Option<u64>,
    /// What the folder holds while that is too much.
    full: Option<u64>,
}

impl<T> Capped<T> {
    fn look(&mut self) {
        let micros = self.clock.monotonic_micros();
        if self.looked_micros.is_some_and(|looked| micros < looked + LOOK_MICROS) {
            return;
        }
        self.looked_micros = Some(micros);
        let bytes = folder_bytes(&self.folder, &mut HashSet::new());
        let was_full = self.full.is_some();
        self.full = (bytes >= self.cap_bytes).then_some(bytes);
        if self.full.is_some() && !was_full {
            tracing::warn!(folder = %self.folder.display(), bytes, cap_bytes = self.cap_bytes,
                "the job's folder has reached its cap: it stops reading until there is room; raise \
                 disk_cap_mib, or stop the job and delete the folder to begin anew");
        }
    }
}

impl<T> SourceReader<T> for Capped<T> {
    fn poll(&mut self, out: &mut Vec<Timed<T>>, max: usize) -> Result<Poll, Error> {
        self.look();
        if self.full.is_some() {
            return Ok(Poll::Wait(WAIT));
        }
        self.reader.poll(out, max)
    }

    fn position(&mut self) -> Result<Vec<u8>, Error> {
        self.reader.position()
    }

    fn position_text(&self) -> String {
        let text = self.reader.position_text();
        match self.full {
            Some(bytes) => format!(
                "{text}, paused: the job's folder holds {} MiB of at most {} MiB",
                bytes >> 20,
                self.cap_bytes >> 20
            ),
            None => text,
        }
    }

    fn committed(&mut self) {
        self.reader.committed();
    }

    fn clock_millis(&self) -> Option<i64> {
        self.reader.clock_millis()
    }

    fn rejected(&self) -> u64 {
        self.reader.rejected()
    }

    fn loops(&self) -> u64 {
        self.reader.loops()
    }
}

/// Bytes on disk below `folder`, hard links counted once; what cannot be looked at counts nothing.
fn folder_bytes(folder: &Path, seen: &mut HashSet<(u64, u64)>) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let mut bytes = 0;
    for entry in entries.flatten() {
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_dir() {
            bytes += folder_bytes(&entry.path(), seen);
        } else if seen.insert((metadata.dev(), metadata.ino())) {
            bytes += metadata.blocks() * BLOCK_BYTES;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use stateward_engine::{FileSource, ManualClock};

    use super::*;

    #[test]
    fn a_full_folder_pauses_the_source_until_there_is_room() {
        let folder = tempfile::tempdir().unwrap();
        let (input, big) = (folder.path().join("rows"), folder.path().join("job/big"));
        fs::write(&input, "a\nb\n").unwrap();
        fs::create_dir_all(folder.path().join("job")).unwrap();
        let rows =
            FileSource::lines(input, |line: &str| Ok([Timed { value: line.to_owned(), ts: 0 }]));
        let source = DiskCapped::new(rows, Some(1 << 20));
        let clock = ManualClock::at(0);
        let context = SourceContext {
            uid: "rows".to_owned(),
            partition: 0,
            job_dir: folder.path().join("job"),
            clock: Arc::new(clock.clone()),
        };
        let mut reader = source.open(context, None).unwrap();
        let mut out = Vec::new();
        assert_eq!(reader.poll(&mut out, 1).unwrap(), Poll::Ready);
        fs::write(&big, vec![1; 2 << 20]).unwrap();
        clock.advance(2_000);
        assert_eq!(reader.poll(&mut out, 1).unwrap(), Poll::Wait(WAIT));
        let text = reader.position_text();
        assert!(
            text.starts_with("rows row 1, paused:") && text.ends_with("at most 1 MiB"),
            "{text}"
        );
        fs::remove_file(&big).unwrap();
        clock.advance(2_000);
        assert_eq!(reader.poll(&mut out, 1).unwrap(), Poll::Ready);
        assert_eq!(out.len(), 2);
    }

    #[test]
    fn hard_links_count_once() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), vec![1; 8192]).unwrap();
        let one = folder_bytes(folder.path(), &mut HashSet::new());
        fs::hard_link(folder.path().join("a"), folder.path().join("b")).unwrap();
        assert_eq!(folder_bytes(folder.path(), &mut HashSet::new()), one);
    }
}
