//! Tells whether files have changed since something was made of them.

use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Outcome};

/// A digest of the paths and contents of these files and folders.
pub(crate) fn digest(root: &Path, sources: &[&str]) -> Outcome<String> {
    let mut files = Vec::new();
    for source in sources {
        collect(&root.join(source), &mut files)?;
    }
    files.sort();
    let mut hasher = DefaultHasher::new();
    for file in files {
        let content = fs::read(&file).map_err(|error| Failure::file("read", &file, &error))?;
        let name = file.strip_prefix(root).unwrap_or(&file).to_string_lossy().into_owned();
        for part in [name.as_bytes(), &content] {
            hasher.write_usize(part.len());
            hasher.write(part);
        }
    }
    Ok(format!("{:016x}", hasher.finish()))
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> Outcome {
    if path.is_file() {
        files.push(path.to_owned());
        return Ok(());
    }
    let entries = fs::read_dir(path).map_err(|error| Failure::file("list", path, &error))?;
    for entry in entries {
        let entry = entry.map_err(|error| Failure::file("list", path, &error))?;
        collect(&entry.path(), files)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_sees_names_and_contents_and_nothing_else() {
        let root = std::env::temp_dir().join(format!("xtask-digest-{}", std::process::id()));
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/one.rs"), "1").unwrap();
        let first = digest(&root, &["a"]).unwrap();
        fs::write(root.join("other.rs"), "not a source").unwrap();
        assert_eq!(digest(&root, &["a"]).unwrap(), first);
        fs::write(root.join("a/b/one.rs"), "2").unwrap();
        let changed = digest(&root, &["a"]).unwrap();
        assert_ne!(changed, first);
        fs::rename(root.join("a/b/one.rs"), root.join("a/b/two.rs")).unwrap();
        assert_ne!(digest(&root, &["a"]).unwrap(), changed);
        fs::remove_dir_all(&root).unwrap();
        assert!(digest(&root, &["a"]).is_err());
    }
}
