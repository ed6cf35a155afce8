//! How a command ends when it does not end well.

use std::path::Path;

/// What a command gives back: nothing, or why it stopped.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

/// Whose answer the exit code is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The question was answered, and the answer is no: a test failed, a licence is not allowed.
    No,
    /// The command line is wrong.
    Usage,
    /// The question could not be answered: something is missing.
    Unknown,
}

impl Exit {
    /// The process's exit code.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::No => 1,
            Self::Usage => 2,
            Self::Unknown => 3,
        }
    }
}

/// Why a command stopped, for a person to read; an empty message was said already.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) message: String,
}

impl Failure {
    /// The answer is no.
    pub(crate) fn no(message: impl Into<String>) -> Self {
        Self { exit: Exit::No, message: message.into() }
    }

    /// The command line is wrong.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, message: message.into() }
    }

    /// The answer could not be found out.
    pub(crate) fn unknown(message: impl Into<String>) -> Self {
        Self { exit: Exit::Unknown, message: message.into() }
    }

    /// A file operation failed.
    pub(crate) fn file(act: &str, path: &Path, error: &std::io::Error) -> Self {
        Self::unknown(format!("cannot {act} {}: {error}", path.display()))
    }
}
