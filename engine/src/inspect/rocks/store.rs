//! One database: which families it has, and which files they consist of.

use std::collections::BTreeMap;
use std::path::Path;

use super::edit::{Version, version};
use super::option::{FamilyOptions, families};
use super::table::{RemovedRange, Table};
use super::wal::{LoggedChange, logged};
use crate::inspect::place::{Place, list};
use crate::inspect::report::Unread;

/// The files of one database: RocksDB's names for them, and where they are now.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileSet {
    /// By RocksDB's name, such as `000012.sst`.
    pub(crate) files: BTreeMap<String, Place>,
    /// Tables may have any name.
    pub(crate) is_loose: bool,
    /// Whether a write-ahead log belongs to such a set.
    pub(crate) wants_log: bool,
}

impl FileSet {
    /// The files of a folder.
    pub(crate) fn of_folder(dir: &Path) -> Result<Self, Unread> {
        let files = list(dir)?.into_iter().filter(|path| path.is_file());
        let named = files.filter_map(|path| {
            let name = path.file_name()?.to_str()?.to_owned();
            Some((name, Place::Path(path)))
        });
        Ok(Self { files: named.collect(), is_loose: false, wants_log: true })
    }

    /// Bytes of the files.
    pub(crate) fn bytes(&self) -> u64 {
        self.files.values().map(Place::bytes).sum()
    }

    /// The newest file that is named `prefix` and a number.
    fn newest(&self, prefix: &str) -> Option<&Place> {
        let numbered = self.files.iter().filter_map(|(name, place)| {
            Some((name.strip_prefix(prefix)?.parse::<u64>().ok()?, place))
        });
        numbered.max_by_key(|(number, _)| *number).map(|(_, place)| place)
    }

    fn is_table(&self, name: &str) -> bool {
        self.is_loose || Path::new(name).extension().is_some_and(|extension| extension == "sst")
    }
}

/// One table of a family.
#[derive(Debug)]
pub(crate) struct StoreFile {
    /// RocksDB's name.
    pub(crate) name: String,
    /// Level in the tree; `None` where no MANIFEST tells.
    pub(crate) level: Option<u32>,
    pub(crate) table: Table,
}

/// One column family.
#[derive(Debug, Default)]
pub(crate) struct StoreFamily {
    pub(crate) name: String,
    pub(crate) files: Vec<StoreFile>,
    pub(crate) logged: Vec<LoggedChange>,
    pub(crate) removed: Vec<RemovedRange>,
    pub(crate) compaction_filter: Option<String>,
    /// The OPTIONS file names it, so that no filter means that there is none.
    pub(crate) has_options: bool,
    /// Joins merge operands, where the merge operator appends.
    pub(crate) delimiter: Option<u8>,
}

impl StoreFamily {
    fn has_files(&self) -> bool {
        !self.files.is_empty()
    }
}

/// One database.
#[derive(Debug, Default)]
pub(crate) struct Store {
    pub(crate) families: Vec<StoreFamily>,
    /// What belongs to it and could not be read.
    pub(crate) unread: Vec<Unread>,
    /// What the reader should know.
    pub(crate) notes: Vec<String>,
}

impl Store {
    /// Finds out what a set of files holds.
    pub(crate) fn open(set: &FileSet) -> Self {
        let mut store = Self::default();
        let version = store.read_version(set);
        let options = set.newest("OPTIONS-").map(|place| place.read(&mut store.unread));
        let options = options.map(|text| families(&String::from_utf8_lossy(&text)));
        let options = options.unwrap_or_default();
        store.read_tables(set, version.as_ref());
        store.read_logs(set, version.as_ref());
        for family in &mut store.families {
            let of_tables = family.files.iter().map(|file| &file.table.properties.merge_operator);
            let appends = of_tables.into_iter().any(|name| name.starts_with("StringAppend"));
            family.has_options = options.contains_key(&family.name);
            let FamilyOptions { compaction_filter, delimiter } =
                options.get(&family.name).cloned().unwrap_or_default();
            family.compaction_filter = compaction_filter;
            family.delimiter = delimiter.or(appends.then_some(b','));
        }
        store.families.sort_by(|a, b| a.name.cmp(&b.name));
        store
    }

    fn read_version(&mut self, set: &FileSet) -> Option<Version> {
        let current = set.files.get("CURRENT").map(|place| place.read(&mut self.unread));
        let current = current.and_then(|bytes| String::from_utf8(bytes).ok());
        let named = current.as_deref().map(str::trim).and_then(|name| set.files.get(name));
        let Some(place) = named.or_else(|| set.newest("MANIFEST-")) else {
            self.notes.push("no MANIFEST: every table counts, and no level is known".into());
            return None;
        };
        let found = version(&place.read(&mut self.unread));
        if let Some((at, e)) = &found.torn {
            self.unread.push(place.unread(format!(
                "ends early, at byte {at}: {e}; newer files that it does not name are left out"
            )));
        }
        Some(found)
    }

    fn family(&mut self, name: &str) -> Option<&mut StoreFamily> {
        let at = self.families.iter().position(|family| family.name == name).unwrap_or_else(|| {
            self.families.push(StoreFamily { name: name.to_owned(), ..StoreFamily::default() });
            self.families.len() - 1
        });
        self.families.get_mut(at)
    }

    fn read_tables(&mut self, set: &FileSet, version: Option<&Version>) {
        let mut named = BTreeMap::new();
        for family in version.iter().flat_map(|version| version.families.values()) {
            self.family(&family.name);
            for (number, file) in &family.files {
                named.insert(*number, (family.name.clone(), *file));
            }
        }
        let mut obsolete = (0_usize, 0_u64);
        for (name, place) in set.files.iter().filter(|(name, _)| set.is_table(name)) {
            let level = table_number(name).and_then(|number| named.remove(&number));
            // an empty list names nothing: better to read what is there
            if level.is_none() && version.is_some_and(|version| !version.is_empty()) {
                obsolete.0 += 1;
                obsolete.1 += place.bytes();
                continue;
            }
            self.take_table(name, place, level.map(|(family, file)| (family, file.level)));
        }
        if version.is_some_and(Version::is_empty)
            && self.families.iter().any(StoreFamily::has_files)
        {
            self.notes.push(
                "the MANIFEST names no table: every table counts, and no level is known".into(),
            );
        }
        if obsolete.0 > 0 {
            self.notes.push(format!(
                "{} tables of {} bytes that the MANIFEST does not name (obsolete, or newer than it) are left out",
                obsolete.0, obsolete.1
            ));
        }
        for (number, (family, file)) in named {
            self.unread.push(Unread::new(
                format!("{number:06}.sst"),
                format!(
                    "is named by the MANIFEST for {family} ({} bytes) and is not there",
                    file.bytes
                ),
            ));
        }
    }

    fn take_table(&mut self, name: &str, place: &Place, level: Option<(String, u32)>) {
        let mut table = match Table::open(place) {
            Ok(table) => table,
            Err(e) => return self.unread.push(e),
        };
        let ranges = table.removed_ranges().unwrap_or_else(|e| {
            self.unread.push(e);
            Vec::new()
        });
        let (family, level) = match level {
            Some((family, level)) => (family, Some(level)),
            None => (table.properties.family.clone().unwrap_or_default(), None),
        };
        let comparator = &table.properties.comparator;
        if comparator != "leveldb.BytewiseComparator" {
            let e = format!("is sorted by {comparator:?}, which is not known here");
            return self.unread.push(place.unread(e));
        }
        if let Some(family) = self.family(&family) {
            family.removed.extend(ranges);
            family.files.push(StoreFile { name: name.to_owned(), level, table });
        }
    }

    fn read_logs(&mut self, set: &FileSet, version: Option<&Version>) {
        let mut bytes = 0;
        for (name, place) in &set.files {
            let Some(number) = name.strip_suffix(".log").and_then(|n| n.parse::<u64>().ok()) else {
                continue;
            };
            let log = place.read(&mut self.unread);
            bytes += log.len();
            let found = logged(&log);
            if let Some((at, e)) = found.torn {
                let why = format!("is a write-ahead log with a torn tail, at byte {at}: {e}");
                self.unread.push(place.unread(why));
            }
            let family_of = |id: u32| {
                let family = version.and_then(|version| version.families.get(&id))?;
                (number >= family.log_number).then(|| family.name.clone())
            };
            for change in found.changes {
                let family = family_of(change.family).and_then(|name| self.family(&name));
                if let Some(family) = family {
                    family.logged.push(change);
                }
            }
            for (id, range) in found.ranges {
                if let Some(family) = family_of(id).and_then(|name| self.family(&name)) {
                    family.removed.push(range);
                }
            }
        }
        if bytes == 0 && set.wants_log {
            self.notes.push(
                "no write-ahead log: what was only in memory when the files were copied is not here"
                    .into(),
            );
        }
    }
}

impl Version {
    fn is_empty(&self) -> bool {
        self.families.values().all(|family| family.files.is_empty())
    }
}

fn table_number(name: &str) -> Option<u64> {
    name.strip_suffix(".sst")?.parse().ok()
}
