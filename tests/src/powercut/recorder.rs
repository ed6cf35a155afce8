//! Builds the recorder and preloads it.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use super::remnant::id;

/// The built library, and where it records to.
#[derive(Debug)]
pub struct Recorder {
    library: PathBuf,
    dir: TempDir,
}

impl Recorder {
    /// Builds the library.
    ///
    /// # Errors
    /// Where `rustc` fails.
    pub fn build() -> Result<Self> {
        let dir = tempfile::Builder::new().prefix("stateward-recorder-").tempdir()?;
        let library = dir.path().join("librecorder.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("recorder/recorder.rs");
        let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        rustc.args(["--edition", "2024", "-O", "--crate-type", "cdylib", "-o"]);
        let output = rustc.arg(&library).arg(&source).output().context("rustc")?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(Self { library, dir })
    }

    /// Where a record of this name is.
    pub fn record(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// What a program needs in its environment to have everything below `root` recorded; what is
    /// there already is taken for durable.
    ///
    /// # Errors
    /// Where the record's folder cannot be made, or `root` not be read.
    pub fn environment(&self, root: &Path, record: &str) -> Result<[(&'static str, OsString); 3]> {
        let to = self.record(record);
        fs::create_dir_all(&to)?;
        let mut tree = String::new();
        start_record(root, Path::new(""), &to, &mut tree)?;
        fs::write(to.join("tree"), tree)?;
        Ok([
            ("LD_PRELOAD", self.library.clone().into()),
            ("STATEWARD_RECORD_ROOT", fs::canonicalize(root)?.into()),
            ("STATEWARD_RECORD_TO", to.into()),
        ])
    }
}

/// Records a folder as it is, whose place below the root is `prefix`; adds to the tree a line for
/// each entry below it.
fn start_record(root: &Path, prefix: &Path, to: &Path, tree: &mut String) -> Result<()> {
    let folder = root.join(prefix);
    let (mut listing, mut here) = (String::new(), String::new());
    for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        let (id, below) = (id(&path)?, prefix.join(&name));
        let kind = if entry.file_type()?.is_dir() {
            start_record(root, &below, to, tree)?;
            "folder"
        } else {
            fs::copy(&path, to.join(format!("file-{id}")))?;
            "file"
        };
        listing.extend([format!("{kind} {id} {}\n", Path::new(&name).display())]);
        here.extend([format!("{kind} {id} {}\n", below.display())]);
    }
    fs::write(to.join(format!("folder-{}", id(&folder)?)), listing)?;
    // a folder has to be made before what is in it
    tree.insert_str(0, &here);
    Ok(())
}
