//! How the column families of a table are declared (SEMANTICS §2.1).

use std::time::Duration;

use stateward_model::{FamilyRule, Name};

/// Most families of a table: a row key has one byte for them.
const FAMILIES_MAX: usize = 255;

/// Declares a column family: what it keeps of each column.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use stateward_engine::FamilyDescriptor;
/// let prices = FamilyDescriptor::new("prices")
///     .ttl(Duration::from_secs(86_400))
///     .max_versions(5)
///     .min_versions(1);
/// # let _ = prices;
/// ```
#[derive(Clone, Debug)]
pub struct FamilyDescriptor {
    pub(crate) name: String,
    pub(crate) rule: FamilyRule,
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

impl FamilyDescriptor {
    /// Names the family: `[A-Za-z0-9_.-]{1,128}`, unique within its table; checked when the job is
    /// built. It keeps the latest version of each column for ever, until told otherwise.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), rule: FamilyRule::default() }
    }

    /// Drops cells that are older than this, in whole ms; strict: a cell is there at exactly its
    /// timestamp and the TTL. Default: for ever.
    #[must_use]
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.rule.ttl_millis = Some(millis(ttl));
        self
    }

    /// Keeps at most so many versions of a column, at least 1. Default 1.
    #[must_use]
    pub fn max_versions(mut self, versions: u32) -> Self {
        self.rule.max_versions = versions;
        self
    }

    /// Keeps so many versions of a column from the family's TTL, at most `max_versions`; a cell's own
    /// TTL takes them all the same. Default 0.
    #[must_use]
    pub fn min_versions(mut self, versions: u32) -> Self {
        self.rule.min_versions = versions;
        self
    }

    /// Keeps deleted cells for reads as of a time before the delete; TTL and `max_versions` still take
    /// them. Default: they are dropped.
    #[must_use]
    pub fn keep_deleted(mut self) -> Self {
        self.rule.keep_deleted = true;
        self
    }

    /// Bounds how long after a delete cells with an older timestamp are refused, in whole ms. Default:
    /// the family's TTL, else for ever.
    #[must_use]
    pub fn marker_ttl(mut self, ttl: Duration) -> Self {
        self.rule.marker_ttl_millis = Some(millis(ttl));
        self
    }
}

/// A family as its table knows it.
#[derive(Clone, Debug)]
pub(crate) struct FamilyConfig {
    pub(crate) name: String,
    /// Its byte in row keys; the folder's manifest says which.
    pub(crate) id: u8,
    pub(crate) rule: FamilyRule,
}

impl FamilyConfig {
    pub(crate) fn of(descriptor: FamilyDescriptor) -> Self {
        let mut rule = descriptor.rule;
        rule.marker_ttl_millis = rule.marker_ttl_millis.or(rule.ttl_millis);
        Self { name: descriptor.name, id: 0, rule }
    }
}

/// Says what is wrong with the families of a table, if anything is.
pub(crate) fn complain(families: &[FamilyConfig]) -> Option<String> {
    if families.is_empty() || families.len() > FAMILIES_MAX {
        return Some(format!("has {} column families, not 1 to {FAMILIES_MAX}", families.len()));
    }
    families.iter().enumerate().find_map(|(at, family)| {
        let FamilyRule { max_versions, min_versions, .. } = family.rule;
        let name = &family.name;
        let twice = families.iter().take(at).any(|other| other.name == *name);
        if let Err(e) = Name::new(name) {
            Some(format!("names a column family {name:?}: {e}"))
        } else if twice {
            Some(format!("declares the column family {name} twice"))
        } else if max_versions == 0 || min_versions > max_versions {
            Some(format!(
                "cannot keep at least {min_versions} and at most {max_versions} versions in the column family {name}: at most is 1 or more, and not below at least"
            ))
        } else {
            None
        }
    })
}
