//! Walks all parts of a folder, family by family, for one pass over its rows.

use std::ops::ControlFlow;
use std::path::Path;

use super::checkpoint::ledger_of;
use super::flink::{KnownState, visit_group};
use super::place::Place;
use super::recognise::{Part, Rows, Shard, read_range};
use super::report::{FileInspection, Unread};
use super::rocks::{Entry, FileSet, Store, StoreFamily, StoreFile, Visit, merge};
use crate::checkpoint::StateEntry;
use crate::savepoint::{SavepointFile, Snapshot};
use crate::store::HeapStore;

/// Compaction filters that say whose a family is.
const OUR_FILTER: &str = "stateward.cut-off";
const FLINK_FILTER: &str = "FlinkCompactionFilter";

/// One family, before its rows.
#[derive(Debug)]
pub(super) struct Family {
    pub(super) operator: Option<String>,
    pub(super) name: String,
    pub(super) origin: Origin,
    /// Its tables, without the figures that its rows give.
    pub(super) files: Vec<FileInspection>,
    /// Bytes of the key group, where they are known.
    pub(super) group_bytes: Option<usize>,
}

/// What is known of a family beforehand.
#[derive(Clone, Debug)]
pub(super) enum Origin {
    /// One of ours: its kind, and the cut-off that was committed.
    Stateward { kind: String, cut_off: i64 },
    /// One of Flink's, from its serializers.
    Flink(KnownState),
    /// Only its rows, and whether Flink's filter for TTL is set, where the options tell.
    Rows { has_ttl_filter: Option<bool> },
}

/// One pass over all rows.
pub(super) trait Pass {
    /// Looks at the rows of a family.
    type Eye: Visit;

    /// A family begins.
    fn begin(&mut self, family: Family) -> Self::Eye;

    /// It has ended.
    fn end(&mut self, eye: Self::Eye);
}

/// What came up on the way.
#[derive(Debug, Default)]
pub(super) struct Remarks {
    pub(super) unread: Vec<Unread>,
    pub(super) notes: Vec<String>,
}

/// Where a walk is, in bytes of all files.
pub(super) struct Progress<'a> {
    pub(super) done: u64,
    pub(super) total: u64,
    pub(super) tell: &'a mut dyn FnMut(u64, u64),
}

impl Progress<'_> {
    fn add(&mut self, bytes: u64) {
        self.done = self.done.saturating_add(bytes).min(self.total);
        (self.tell)(self.done, self.total);
    }
}

/// Tells the progress while the eye looks.
struct Watched<'a, 'b, E> {
    eye: &'a mut E,
    progress: &'a mut Progress<'b>,
    bytes: u64,
}

/// Bytes of rows between two words on the progress.
const TELL_BYTES: u64 = 4 << 20;

impl<E: Visit> Visit for Watched<'_, '_, E> {
    fn entry(&mut self, entry: &Entry<'_>) {
        self.bytes += (entry.key.len() + entry.value.len()) as u64;
        if self.bytes >= TELL_BYTES {
            self.progress.add(std::mem::take(&mut self.bytes));
        }
        self.eye.entry(entry);
    }

    fn row(&mut self, key: &[u8], value: Option<&[u8]>) -> ControlFlow<()> {
        self.eye.row(key, value)
    }
}

/// Bytes of the files of all parts.
pub(super) fn bytes_of(parts: &[Part]) -> u64 {
    let bytes = parts.iter().map(|part| match &part.rows {
        Rows::Rocks(set) => set.bytes(),
        Rows::Shard(shard) => shard.set.bytes(),
        Rows::Canonical(place, _) => place.bytes(),
        Rows::Savepoint(file) => file.bytes(),
    });
    bytes.sum()
}

/// Walks the parts.
pub(super) fn walk<P: Pass>(
    dir: &Path,
    parts: &[Part],
    pass: &mut P,
    remarks: &mut Remarks,
    progress: &mut Progress<'_>,
) {
    let mut walk = Walk { dir, pass, remarks, progress };
    for part in parts {
        match &part.rows {
            Rows::Rocks(set) => walk.store(part, set),
            Rows::Shard(shard) => {
                walk.store(part, &shard.set);
                walk.heaps(shard);
            }
            Rows::Canonical(place, offsets) => walk.stream(part, place, offsets),
            Rows::Savepoint(file) => walk.savepoint(file),
        }
    }
}

struct Walk<'a, 'b, P> {
    dir: &'a Path,
    pass: &'a mut P,
    remarks: &'a mut Remarks,
    progress: &'a mut Progress<'b>,
}

impl<P: Pass> Walk<'_, '_, P> {
    fn store(&mut self, part: &Part, set: &FileSet) {
        let mut store = Store::open(set);
        self.remarks.unread.append(&mut store.unread);
        self.remarks.notes.append(&mut store.notes);
        for family in store.families {
            // RocksDB always has it; neither Flink nor Stateward puts anything there
            if family.name == "default" && family.files.is_empty() && family.logged.is_empty() {
                continue;
            }
            let bytes = family.files.iter().map(|file| file.table.bytes()).sum::<u64>();
            let goal = self.progress.done.saturating_add(bytes);
            let (operator, name) = names(part, &family);
            let mut eye = self.pass.begin(Family {
                operator,
                name,
                origin: origin(part, &family),
                files: family.files.iter().map(|file| describe(self.dir, file)).collect(),
                group_bytes: part.group_bytes,
            });
            let mut watched = Watched { eye: &mut eye, progress: self.progress, bytes: 0 };
            merge(family, &mut self.remarks.unread, &mut watched);
            self.pass.end(eye);
            self.progress.add(goal.saturating_sub(self.progress.done));
        }
    }

    /// States on the heap: one file each.
    fn heaps(&mut self, shard: &Shard) {
        let states = shard.manifest.iter().flat_map(|manifest| &manifest.states);
        for entry in states.filter(|entry| entry.backend == "heap") {
            let file = format!("state-{:03}", entry.id);
            let heap = match HeapStore::load(&shard.dir, &file) {
                Ok(heap) => heap,
                Err(e) => {
                    self.remarks.unread.push(Unread::new(&shard.dir, e.to_string()));
                    continue;
                }
            };
            let (cut_off, entries) = ledger_of(&shard.meta, entry.id);
            let path = shard.dir.join(format!("{file}.heap"));
            if entries > 0 && !path.is_file() {
                let why = format!("held {entries} entries of {} and is not there", entry.state);
                self.remarks.unread.push(Unread::new(path, why));
            }
            let mut eye = self.pass.begin(Family {
                operator: Some(entry.operator.clone()),
                name: entry.state.clone(),
                origin: Origin::Stateward { kind: entry.kind.clone(), cut_off },
                files: Vec::new(),
                group_bytes: None,
            });
            for (key, row) in heap.into_rows() {
                if eye.row(&key, Some(&row)).is_break() {
                    break;
                }
            }
            self.pass.end(eye);
        }
    }

    /// A savepoint of ours.
    fn savepoint(&mut self, file: &SavepointFile) {
        for saved in &file.header().states {
            let entry = &saved.entry;
            let cut_off = saved.meta.as_ref().map_or(i64::MIN, |meta| meta.cut_off);
            let mut eye = self.pass.begin(Family {
                operator: Some(entry.operator.clone()),
                name: entry.state.clone(),
                origin: Origin::Stateward { kind: entry.kind.clone(), cut_off },
                files: Vec::new(),
                group_bytes: None,
            });
            let mut go_on = true;
            let read = file.rows(entry.id, &mut |key, row| {
                go_on = go_on && eye.row(key, Some(row)).is_continue();
                Ok(())
            });
            if let Err(e) = read {
                self.remarks.unread.push(Unread::new(file.path(), e.to_string()));
            }
            self.pass.end(eye);
        }
        self.progress.add(file.bytes());
    }

    /// A canonical savepoint: the states of a key group follow one another.
    fn stream(&mut self, part: &Part, place: &Place, offsets: &[i64]) {
        let family = |known: &KnownState| Family {
            operator: part.operator.clone(),
            name: known.name.clone(),
            origin: Origin::Flink(known.clone()),
            files: Vec::new(),
            group_bytes: part.group_bytes,
        };
        let mut eyes: Vec<_> =
            part.known.iter().map(|known| (self.pass.begin(family(known)), true)).collect();
        // a key group without rows has no place
        let starts = offsets.iter().filter_map(|offset| u64::try_from(*offset).ok());
        let mut starts: Vec<u64> = starts.filter(|start| *start > 0).collect();
        starts.sort_unstable();
        for (at, start) in starts.iter().enumerate() {
            let end = starts.get(at + 1).copied().unwrap_or_else(|| place.bytes());
            let length = end.saturating_sub(*start);
            let mut nameless = 0_u64;
            let group = read_range(place, *start, length);
            let outcome = group.map_err(|e| e.to_string()).and_then(|group| {
                let visited =
                    visit_group(&group, &mut |state, key, value| match eyes.get_mut(state) {
                        Some((eye, go_on)) => {
                            *go_on = *go_on && eye.row(key, Some(value)).is_continue();
                        }
                        None => nameless += 1,
                    });
                visited.map_err(|e| e.to_string())
            });
            if let Err(e) = outcome {
                let why = format!("the key group at byte {start} is torn: {e}");
                self.remarks.unread.push(place.unread(why));
            }
            if nameless > 0 {
                self.remarks.unread.push(place.unread(format!(
                    "{nameless} rows of the key group at byte {start} belong to states that the head does not name"
                )));
            }
            self.progress.add(length);
        }
        for (eye, _) in eyes {
            self.pass.end(eye);
        }
    }
}

/// Operator and state of a family.
fn names(part: &Part, family: &StoreFamily) -> (Option<String>, String) {
    let entry = match &part.rows {
        Rows::Shard(shard) => entry_of(shard, &family.name),
        Rows::Rocks(_) | Rows::Canonical(..) | Rows::Savepoint(_) => None,
    };
    match entry {
        Some(entry) => (Some(entry.operator.clone()), entry.state.clone()),
        None => (part.operator.clone(), family.name.clone()),
    }
}

fn origin(part: &Part, family: &StoreFamily) -> Origin {
    match &part.rows {
        Rows::Shard(shard) => shard_origin(shard, family),
        Rows::Rocks(_) | Rows::Canonical(..) | Rows::Savepoint(_) => rocks_origin(part, family),
    }
}

fn describe(dir: &Path, file: &StoreFile) -> FileInspection {
    let path = match file.table.place() {
        Place::Path(path) => path.strip_prefix(dir).unwrap_or(path).display().to_string(),
        inline @ Place::Inline { .. } => inline.name(),
    };
    FileInspection {
        name: file.name.clone(),
        path,
        level: file.level,
        bytes: file.table.bytes(),
        entries: file.table.properties.entries,
        deletions: file.table.properties.deletions,
        stamped: 0,
        expired: None,
        oldest_millis: None,
        newest_millis: None,
    }
}

fn rocks_origin(part: &Part, family: &StoreFamily) -> Origin {
    if let Some(known) = part.known.iter().find(|known| known.name == family.name) {
        return Origin::Flink(known.clone());
    }
    let filter = family.compaction_filter.as_deref().unwrap_or_default();
    if filter.starts_with(OUR_FILTER) {
        // the cut-off is kept beside the database, which is not here
        return Origin::Stateward { kind: "not known".into(), cut_off: i64::MIN };
    }
    let has_ttl_filter = family.has_options.then(|| filter.starts_with(FLINK_FILTER));
    Origin::Rows { has_ttl_filter }
}

fn entry_of<'a>(shard: &'a Shard, family: &str) -> Option<&'a StateEntry> {
    let id = id_of(family)?;
    shard.manifest.as_ref()?.states.iter().find(|entry| entry.id == id)
}

fn id_of(family: &str) -> Option<u16> {
    family.strip_prefix("state-")?.parse().ok()
}

fn shard_origin(shard: &Shard, family: &StoreFamily) -> Origin {
    let Some(id) = id_of(&family.name) else {
        return Origin::Rows { has_ttl_filter: Some(false) };
    };
    let kind = entry_of(shard, &family.name).map_or("not known", |entry| entry.kind.as_str());
    Origin::Stateward { kind: kind.to_owned(), cut_off: ledger_of(&shard.meta, id).0 }
}
