//! What user code does to the many rows of a key: append, iterate, delete.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::access::Target;
use super::{Found, Moment, RowAddress, Table};
use crate::codec::row_ts;
use crate::error::Error;
use crate::state::Lookup;
use crate::telemetry::{Recorder, Site};

/// A row key with its decoded value.
type Entry<V> = (Box<[u8]>, V);

impl<R: Recorder> Table<R> {
    /// Appends an element behind all others below the prefix in `key`, which is left as it was.
    ///
    /// The element's place is a number that this state counts up on this shard, so an append neither
    /// reads the list nor asks the store; it is a blind write of a row that cannot be there yet.
    pub(crate) fn append<V: Serialize>(
        &mut self,
        key: &mut Vec<u8>,
        value: &V,
        moment: &Moment,
        site: Site,
    ) -> Result<(), Error> {
        self.admit(moment)?;
        let prefix_bytes = key.len();
        key.extend_from_slice(&self.sequence.to_be_bytes());
        self.sequence += 1;
        let at = RowAddress::of(key);
        let slot = self.cache.insert_absent(at.hash, at.key);
        let target = Target { slot, found: Found::Absent, bytes: 0 };
        let result = self.put(at, target, value, moment, site);
        key.truncate(prefix_bytes);
        result
    }

    /// Reads all live entries below `prefix`, in key order; each visited entry counts as a read.
    pub(crate) fn read_prefix<V: DeserializeOwned>(
        &mut self,
        prefix: &[u8],
        moment: &Moment,
        site: Site,
    ) -> Result<Vec<Entry<V>>, Error> {
        let rows = self.cache.prefix(prefix)?;
        let mut live = Vec::with_capacity(rows.len());
        for (key, row) in rows {
            if row_ts(&row) <= self.cut_off {
                continue;
            }
            if let Lookup::Live(value) = self.read(RowAddress::of(&key), moment, site)? {
                live.push((key, value));
            }
        }
        if self.cache.is_full() {
            self.relieve()?;
        }
        Ok(live)
    }

    /// Tells whether a row that the event at hand creates is expired on arrival.
    pub(crate) fn is_late(&self, moment: &Moment) -> bool {
        let stamp = self.stamp(moment);
        stamp <= self.cut_off || self.rule.hides(stamp, self.clock(moment))
    }

    /// Deletes all rows below `prefix`, whether or not the event at hand sees them as expired: a
    /// later event with an earlier time must not find them either.
    pub(crate) fn delete_prefix(
        &mut self,
        prefix: &[u8],
        moment: &Moment,
        site: Site,
    ) -> Result<(), Error> {
        for (key, row) in self.cache.prefix(prefix)? {
            if row_ts(&row) > self.cut_off {
                self.delete(RowAddress::of(&key), moment, site)?;
            }
        }
        if self.cache.is_full() { self.relieve() } else { Ok(()) }
    }
}
