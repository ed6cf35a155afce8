//! How big folders are.

use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::path::Path;

use stateward_model::wire::FolderSample;

/// Bytes of all files below a folder; one with several names counts once.
pub(crate) fn folder_bytes(dir: &Path) -> u64 {
    Seen::default().below(dir)
}

/// The parts of a job's folder.
pub(crate) fn folder_parts(job_dir: &Path) -> FolderSample {
    let mut seen = Seen::default();
    FolderSample {
        state_bytes: seen.below(&job_dir.join("state")),
        changelog_bytes: seen.below(&job_dir.join("changelog")),
        checkpoint_bytes: seen.below(&job_dir.join("checkpoints")),
        other_bytes: seen.below(job_dir),
    }
}

/// Files that were counted.
#[derive(Default)]
struct Seen(HashSet<(u64, u64)>);

impl Seen {
    fn below(&mut self, dir: &Path) -> u64 {
        // what goes while it is counted is not there
        let Ok(entries) = fs::read_dir(dir) else { return 0 };
        let sizes = entries.flatten().map(|entry| match entry.metadata() {
            Ok(meta) if meta.is_dir() => self.below(&entry.path()),
            Ok(meta) if self.is_new(&meta) => meta.len(),
            _ => 0,
        });
        sizes.sum()
    }

    #[cfg(unix)]
    fn is_new(&mut self, meta: &Metadata) -> bool {
        use std::os::unix::fs::MetadataExt;
        self.0.insert((meta.dev(), meta.ino()))
    }

    #[cfg(not(unix))]
    #[expect(clippy::unused_self, reason = "files have no numbers there")]
    fn is_new(&mut self, _meta: &Metadata) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// §9, sizes: the parts add up to the folder, and a linked file counts once.
    #[test]
    fn parts_add_up() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str, bytes: usize| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, vec![0; bytes]).unwrap();
            path
        };
        let live = at("state/shard-0/db/1.sst", 100);
        at("changelog/shard-0/1.log", 10);
        let saved = at("checkpoints/7/about.json", 3);
        at("job.json", 1);
        fs::hard_link(live, saved.with_file_name("1.sst")).unwrap();
        let parts = folder_parts(dir.path());
        let all = (parts.state_bytes, parts.changelog_bytes, parts.checkpoint_bytes);
        assert_eq!((all, parts.other_bytes), ((100, 10, 3), 1));
        assert_eq!(folder_bytes(dir.path()), parts.total_bytes());
    }
}
