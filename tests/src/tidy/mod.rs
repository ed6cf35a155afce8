//! The tree checks itself.
//!
//! What comes in is the repository as it lies on disk; what goes out are complaints, each a
//! sentence that names the file and what to do. A rule that is not checked here or by the compiler
//! is a hope.

mod tree;
mod source;
mod layer;
mod document;
mod metric;
mod rule;

pub use document::{dead_paths, semantics_differ};
pub use layer::upward_imports;
pub use metric::{metrics_page, unknown_metrics};
pub use rule::unknown_rules;
pub use source::{forgotten_tests, long_files, unfinished_marks};
pub use tree::{Tree, root, shared};
