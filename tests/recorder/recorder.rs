//! Records what is durable: preloaded into a program (`LD_PRELOAD`), it keeps, for every file below
//! `STATEWARD_RECORD_ROOT`, the bytes that the last `fsync` or `fdatasync` covered, and for every
//! folder its entries, in the folder `STATEWARD_RECORD_TO`.
//!
//! An image is taken before the real call and published after it returned, by a rename; so it never
//! has a byte that was not synced, wherever the program is killed. One that was taken before another
//! of the same name is not published after it. `sync_file_range` counts for
//! nothing, as it promises nothing. Built by the test itself with `rustc`, without a dependency; it is
//! the only unsafe code of the project and is in no crate of it.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fs::{self, Metadata};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::UNIX_EPOCH;

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// `RTLD_NEXT`: the definition behind this one.
const NEXT: *mut c_void = usize::MAX as *mut c_void;

/// How many drafts there were, and the newest that was published of each name.
struct Drafts {
    made: u64,
    published: BTreeMap<PathBuf, u64>,
}

static DRAFTS: Mutex<Drafts> = Mutex::new(Drafts { made: 0, published: BTreeMap::new() });

#[unsafe(no_mangle)]
pub extern "C" fn fsync(fd: c_int) -> c_int {
    synced(fd, c"fsync")
}

#[unsafe(no_mangle)]
pub extern "C" fn fdatasync(fd: c_int) -> c_int {
    synced(fd, c"fdatasync")
}

fn synced(fd: c_int, name: &CStr) -> c_int {
    let image = Image::take(fd);
    // SAFETY: libc's own function of this name, which has this signature.
    let real: extern "C" fn(c_int) -> c_int =
        unsafe { std::mem::transmute(dlsym(NEXT, name.as_ptr())) };
    let result = real(fd);
    if result == 0
        && let Some(image) = image
    {
        image.publish();
    }
    result
}

/// Numbers of drafts and the names they get.
struct Image {
    to: PathBuf,
    drafts: Vec<(u64, PathBuf)>,
}

impl Image {
    /// A failure must not go unseen: the test would take less for durable than is.
    fn take(fd: c_int) -> Option<Self> {
        let root = PathBuf::from(std::env::var_os("STATEWARD_RECORD_ROOT")?);
        let to = PathBuf::from(std::env::var_os("STATEWARD_RECORD_TO")?);
        let link = PathBuf::from(format!("/proc/self/fd/{fd}"));
        if !fs::read_link(&link).ok()?.starts_with(&root) {
            return None;
        }
        let found = fs::metadata(&link).expect("a file that is open");
        let mut image = Self { to, drafts: Vec::new() };
        let mut drafts = DRAFTS.lock().unwrap_or_else(PoisonError::into_inner);
        if found.is_dir() {
            image.add(&mut drafts, &format!("folder-{}", id(&found)), |draft| {
                fs::write(draft, listing(&link, Path::new("")))
            });
        } else {
            image.add(&mut drafts, &format!("file-{}", id(&found)), |draft| {
                fs::copy(&link, draft).map(drop)
            });
        }
        image.add(&mut drafts, "tree", |draft| {
            let mut text = String::new();
            tree(&root, Path::new(""), &mut text);
            fs::File::create(draft)?.write_all(text.as_bytes())
        });
        Some(image)
    }

    fn add(
        &mut self,
        drafts: &mut Drafts,
        name: &str,
        make: impl Fn(&Path) -> std::io::Result<()>,
    ) {
        drafts.made += 1;
        make(&self.draft(drafts.made)).expect("the recorder has space");
        self.drafts.push((drafts.made, self.to.join(name)));
    }

    fn draft(&self, number: u64) -> PathBuf {
        self.to.join(format!("draft-{number}"))
    }

    fn publish(self) {
        let mut drafts = DRAFTS.lock().unwrap_or_else(PoisonError::into_inner);
        for (number, name) in &self.drafts {
            let newest = drafts.published.entry(name.clone()).or_default();
            if *newest < *number {
                fs::rename(self.draft(*number), name).expect("the recorder's own folder");
                *newest = *number;
            }
        }
    }
}

/// The inode's number is used again after its end, so the time of its birth goes with it.
fn id(found: &Metadata) -> String {
    let born = found.created().ok().and_then(|born| born.duration_since(UNIX_EPOCH).ok());
    format!("{}-{}", found.ino(), born.map_or(0, |born| born.as_nanos()))
}

/// One line an entry: kind, id, path. What goes while this looks is left out.
fn listing(folder: &Path, prefix: &Path) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(found) = fs::symlink_metadata(entry.path()) else { continue };
        let kind = if found.is_dir() { "folder" } else { "file" };
        let path = prefix.join(entry.file_name());
        text.push_str(&format!("{kind} {} {}\n", id(&found), path.display()));
    }
    text
}

fn tree(root: &Path, prefix: &Path, text: &mut String) {
    let here = listing(&root.join(prefix), prefix);
    text.push_str(&here);
    for line in here.lines().filter_map(|line| line.strip_prefix("folder ")) {
        if let Some((_, path)) = line.split_once(' ') {
            tree(root, Path::new(path), text);
        }
    }
}
