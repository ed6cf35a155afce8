//! Folders of a real Flink, and of a job of ours, against counts that are known.

mod flink;
mod stateward;
mod oracle;
mod damage;

use std::path::{Path, PathBuf};

use super::{InspectOptions, Inspection, StateInspection, analyse};

/// The shared recordings of a real Flink; a machine without them skips with a word, CI must have
/// them.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn fixtures() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    let shared = std::env::var_os("STATEWARD_SHARED").map_or(beside, PathBuf::from);
    let folder = shared.join("fixtures/flink");
    if folder.is_dir() {
        return Some(folder);
    }
    assert!(std::env::var_os("CI").is_none(), "CI needs {}", folder.display());
    eprintln!("SKIPPED: no {}; set STATEWARD_SHARED", folder.display());
    None
}

fn inspected(dir: &Path, options: &InspectOptions) -> Inspection {
    analyse(dir, options, &mut |_, _| {}).unwrap()
}

fn state<'a>(inspection: &'a Inspection, name: &str) -> &'a StateInspection {
    let mut found = inspection.states.iter().filter(|state| state.state == name);
    let state = found.next().unwrap_or_else(|| panic!("no state {name}: {inspection:#?}"));
    assert!(found.next().is_none(), "two states {name}");
    state
}
