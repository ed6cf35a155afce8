//! A disk so small that a test can fill it.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

/// A file system of its own, in memory. Dropping it unmounts it.
#[derive(Debug)]
pub struct SmallDisk {
    dir: TempDir,
    with_sudo: bool,
}

impl SmallDisk {
    /// Mounts a disk of so many KiB; `None` where this user may not, which is told.
    ///
    /// # Errors
    /// Where this user may not and the machine is one of CI, which must not skip a test.
    pub fn mount(kib: u64) -> Result<Option<Self>> {
        let dir = tempfile::Builder::new().prefix("stateward-disk-").tempdir()?;
        let options = format!("size={kib}k,mode=0777");
        for with_sudo in [false, true] {
            let mut command = privileged("mount", with_sudo);
            command.args(["-t", "tmpfs", "-o", &options, "stateward-test"]).arg(dir.path());
            if command.status().is_ok_and(|status| status.success()) {
                return Ok(Some(Self { dir, with_sudo }));
            }
        }
        ensure!(
            std::env::var_os("CI").is_none_or(|ci| ci != "true"),
            "CI must mount a tmpfs; run as root or let sudo ask for nothing"
        );
        let told = b"\n*** SKIPPED: a full disk was not tested; mounting a tmpfs needs root ***\n";
        std::io::stderr().write_all(told)?;
        Ok(None)
    }

    /// The root of the disk.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    fn ballast(&self) -> PathBuf {
        self.path().join("ballast")
    }

    /// Takes all space there is.
    ///
    /// # Errors
    /// Where something else than a full disk ends it.
    pub fn fill(&self) -> Result<()> {
        let mut ballast = File::options().create(true).append(true).open(self.ballast())?;
        for size in [64 << 10, 4 << 10, 1] {
            let block = vec![0; size];
            loop {
                match ballast.write(&block) {
                    Ok(_) => {}
                    Err(error) if error.kind() == ErrorKind::StorageFull => break,
                    Err(error) => return Err(error).context("filling the disk"),
                }
            }
        }
        Ok(())
    }

    /// Gives back what [`SmallDisk::fill`] took.
    ///
    /// # Errors
    /// Where the file cannot be removed.
    pub fn free(&self) -> Result<()> {
        Ok(fs::remove_file(self.ballast())?)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let mut command = privileged("umount", self.with_sudo);
        // --lazy: a process that a failed test left may still hold a file
        drop(command.arg("--lazy").arg(self.dir.path()).status());
    }
}

fn privileged(program: &str, with_sudo: bool) -> Command {
    let mut command = Command::new(if with_sudo { "sudo" } else { program });
    if with_sudo {
        command.args(["-n", program]);
    }
    command.stdin(Stdio::null()).stderr(Stdio::null());
    command
}
