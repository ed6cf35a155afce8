//! The repository's files.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Folders that hold nothing of ours: what is built, what is downloaded, what git keeps.
const FOREIGN: &[&str] = &["target", "node_modules", ".git", ".sqlx"];

/// One text file of the repository.
#[derive(Clone, Debug)]
pub struct TextFile {
    /// Path from the root, with `/`.
    pub path: String,
    /// What it says.
    pub text: String,
}

/// The text files of a repository.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The folder that paths are relative to.
    pub root: PathBuf,
    files: Vec<TextFile>,
}

/// The root of this repository.
pub fn root() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().unwrap_or(tests).to_owned()
}

/// The folder with shared documents and data, where this machine has it.
pub fn shared() -> Option<PathBuf> {
    let named = std::env::var_os("STATEWARD_SHARED").map(PathBuf::from);
    let folder = named.unwrap_or_else(|| root().join("../shared"));
    folder.is_dir().then_some(folder)
}

impl Tree {
    /// Reads the sources and documents below a folder.
    ///
    /// # Errors
    /// Where a folder or file cannot be read.
    pub fn read(root: PathBuf) -> Result<Self> {
        const ENDINGS: &[&str] = &["rs", "md", "json", "yml", "yaml", "toml", "sql"];
        let mut paths = Vec::new();
        collect(&root, &mut paths)?;
        paths.sort();
        let mut files = Vec::new();
        for path in paths {
            let ending = path.extension().unwrap_or_default().to_string_lossy();
            if !ENDINGS.contains(&&*ending) {
                continue;
            }
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            let relative = path.strip_prefix(&root).unwrap_or(&path);
            files.push(TextFile { path: relative.to_string_lossy().into_owned(), text });
        }
        Ok(Self { root, files })
    }

    /// A tree of these files, for tests of the checks.
    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let file = |(path, text): &(&str, &str)| TextFile {
            path: (*path).to_owned(),
            text: (*text).to_owned(),
        };
        Self { root: PathBuf::from("/nowhere"), files: files.iter().map(file).collect() }
    }

    /// The files below `folder` ("" for all) whose names end in `ending`, by path.
    pub fn files<'a>(
        &'a self,
        folder: &'a str,
        ending: &'a str,
    ) -> impl Iterator<Item = &'a TextFile> {
        self.files
            .iter()
            .filter(move |file| file.path.starts_with(folder) && file.path.ends_with(ending))
    }

    /// The text of one file.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.iter().find(|file| file.path == path).map(|file| file.text.as_str())
    }
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        let name = entry.file_name();
        let kind = entry.file_type()?;
        if kind.is_dir() && !FOREIGN.iter().any(|foreign| name == *foreign) {
            collect(&entry.path(), paths)?;
        } else if kind.is_file() {
            paths.push(entry.path());
        }
    }
    Ok(())
}
