//! Standard input and the like: read once by a thread of its own, journalled, then handed on.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, TryRecvError, bounded};

use super::format::ROW_BYTES_MAX;
use super::input::{Filled, Input};
use super::journal::{self, Segments, Writer};
use super::position::Identity;
use crate::error::Error;
use crate::source::SourceContext;

/// Journalled pieces that wait for the job; when they are full, the pipe waits too.
const PIECES_MAX: usize = 64;
const PIECE_BYTES: usize = 64 << 10;
const WAIT: Duration = Duration::from_millis(20);

pub(super) struct PipeInput {
    recovered: VecDeque<Vec<u8>>,
    pieces: Receiver<Result<Vec<u8>, Error>>,
    segments: Segments,
    is_closed: Arc<AtomicBool>,
}

impl PipeInput {
    pub(super) fn open(
        context: &SourceContext,
        offset: u64,
        pipe: Box<dyn Read + Send>,
    ) -> Result<Self, Error> {
        let folder: PathBuf = context.job_dir.join("journal").join(&context.uid);
        let recovered = journal::open(&folder, offset)?;
        let segments = recovered.writer.segments.clone();
        let (sender, pieces) = bounded(PIECES_MAX);
        let is_closed = Arc::new(AtomicBool::new(false));
        let pump =
            Pump { pipe, writer: recovered.writer, sender, is_closed: Arc::clone(&is_closed) };
        thread::Builder::new()
            .name(format!("source-{}", context.uid))
            .spawn(move || pump.run())
            .map_err(Error::io("cannot start the thread that reads the pipe for", &folder))?;
        Ok(Self { recovered: recovered.bytes, pieces, segments, is_closed })
    }
}

impl Drop for PipeInput {
    fn drop(&mut self) {
        self.is_closed.store(true, Ordering::Release);
    }
}

impl Input for PipeInput {
    fn fill(&mut self, buffer: &mut Vec<u8>) -> Result<Filled, Error> {
        if let Some(piece) = self.recovered.pop_front() {
            buffer.extend(piece);
            return Ok(Filled::Bytes);
        }
        match self.pieces.try_recv() {
            Ok(piece) => {
                buffer.extend(piece?);
                Ok(Filled::Bytes)
            }
            Err(TryRecvError::Empty) => Ok(Filled::Idle(WAIT)),
            Err(TryRecvError::Disconnected) => Ok(Filled::Ended),
        }
    }

    fn advance(&mut self) -> Result<bool, Error> {
        Ok(false)
    }

    fn seek(&mut self, _offset: u64) -> Result<(), Error> {
        // The journal was opened there.
        Ok(())
    }

    fn identity(&self) -> Identity {
        Identity::default()
    }

    fn repeats_header(&self) -> bool {
        true
    }

    fn committed(&mut self, offset: u64) {
        self.segments.delete_before(offset);
    }
}

/// The thread's own things.
struct Pump {
    pipe: Box<dyn Read + Send>,
    writer: Writer,
    sender: Sender<Result<Vec<u8>, Error>>,
    is_closed: Arc<AtomicBool>,
}

impl Pump {
    fn run(mut self) {
        let mut bytes = Vec::new();
        loop {
            let read = self.read(&mut bytes);
            if self.is_closed.load(Ordering::Acquire) {
                return;
            }
            let is_over = !matches!(read, Ok(1..));
            if is_over && bytes.last().is_some_and(|byte| *byte != b'\n') {
                // The next writer's first line must not be glued to this one's last.
                bytes.push(b'\n');
            }
            // Only whole lines, so that a frame never ends inside one.
            let whole = memchr::memrchr(b'\n', &bytes).map_or(0, |end| end + 1);
            let whole = if bytes.len() > ROW_BYTES_MAX { bytes.len() } else { whole };
            if whole > 0 {
                let rest = bytes.split_off(whole);
                let piece = std::mem::replace(&mut bytes, rest);
                let kept = self.writer.append(&piece).map(|()| piece);
                let failed = kept.is_err();
                if self.sender.send(kept).is_err() || failed {
                    return;
                }
            }
            if let Err(error) = read {
                // A receiver that is gone needs no error.
                drop(self.sender.send(Err(Error::io("cannot read", "the pipe")(error))));
                return;
            }
            if is_over {
                return;
            }
        }
    }

    fn read(&mut self, bytes: &mut Vec<u8>) -> std::io::Result<usize> {
        let before = bytes.len();
        bytes.resize(before + PIECE_BYTES, 0);
        let read = loop {
            match self.pipe.read(bytes.get_mut(before..).unwrap_or_default()) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        bytes.truncate(before + read.as_ref().copied().unwrap_or(0));
        read
    }
}
