//! Which source line reads or writes a state: `#[track_caller]` locations, interned by address.

use std::panic::Location;

use stateward_model::wire::{AccessKind, SiteSample};

/// Where an access comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site {
    pub(crate) at: &'static Location<'static>,
    pub(crate) name: Option<&'static str>,
}

/// What an access did, for its site's counters.
pub(crate) type Access = AccessKind;

#[derive(Clone, Debug)]
struct Line {
    site: Site,
    kind: Access,
    count: u64,
    bytes: u64,
}

impl Line {
    #[inline]
    fn is(&self, site: Site, kind: Access) -> bool {
        std::ptr::eq(self.site.at, site.at)
            && self.kind == kind
            && self.site.name.map(str::as_ptr) == site.name.map(str::as_ptr)
    }
}

/// The lines that access one state. A state has a handful, and user code comes by them in the same
/// order for each event, so the line after the one found last is nearly always the one: that beats
/// any hash.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sites {
    lines: Vec<Line>,
    last: usize,
}

impl Sites {
    #[inline]
    pub(crate) fn count(&mut self, site: Site, kind: Access, bytes: u64) {
        let next = if self.last + 1 < self.lines.len() { self.last + 1 } else { 0 };
        match self.lines.get_mut(next) {
            Some(line) if line.is(site, kind) => {
                line.count += 1;
                line.bytes += bytes;
                self.last = next;
            }
            _ => self.count_other(site, kind, bytes),
        }
    }

    /// Any other than the next line; the one found last is next where one alone comes again.
    #[inline(never)]
    fn count_other(&mut self, site: Site, kind: Access, bytes: u64) {
        if !self.lines.get(self.last).is_some_and(|line| line.is(site, kind)) {
            self.last = self.find_or_add(site, kind);
        }
        if let Some(line) = self.lines.get_mut(self.last) {
            line.count += 1;
            line.bytes += bytes;
        }
    }

    #[cold]
    fn find_or_add(&mut self, site: Site, kind: Access) -> usize {
        self.lines.iter().position(|line| line.is(site, kind)).unwrap_or_else(|| {
            self.lines.push(Line { site, kind, count: 0, bytes: 0 });
            self.lines.len() - 1
        })
    }

    /// Adds the counts to `samples`; equal lines of other shards and code units merge by text.
    pub(crate) fn add_to(&self, samples: &mut Vec<SiteSample>) {
        for line in &self.lines {
            let site = site_text(line.site.at);
            let found = samples.iter_mut().find(|sample| {
                sample.site == site
                    && sample.kind == line.kind
                    && sample.name.as_deref() == line.site.name
            });
            if let Some(sample) = found {
                sample.count += line.count;
                sample.bytes += line.bytes;
            } else {
                samples.push(SiteSample {
                    site,
                    name: line.site.name.map(str::to_owned),
                    kind: line.kind,
                    count: line.count,
                    bytes: line.bytes,
                });
            }
        }
    }
}

/// `file:line:column`, the path cut to what lies in the crate: everything before the last `src/`'s
/// parent folder goes, so that builds on different machines agree.
pub(crate) fn site_text(at: &Location<'_>) -> String {
    let file = at.file().replace('\\', "/");
    let short = file.rfind("/src/").map_or(file.as_str(), |src| {
        let start = file.get(..src).and_then(|head| head.rfind('/')).map_or(0, |slash| slash + 1);
        file.get(start..).unwrap_or(&file)
    });
    format!("{short}:{}:{}", at.line(), at.column())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// §9, writers and readers: exact counts per line and name, the path remapped.
    #[test]
    fn lines_are_counted_apart() {
        let mut sites = Sites::default();
        let here = Site { at: Location::caller(), name: None };
        let there = Site { at: Location::caller(), name: Some("named") };
        for _ in 0..3 {
            sites.count(here, Access::Read, 10);
            sites.count(there, Access::Read, 1);
            sites.count(here, Access::Write, 2);
        }
        let mut samples = Vec::new();
        sites.add_to(&mut samples);
        let counts: Vec<(u64, u64)> = samples.iter().map(|s| (s.count, s.bytes)).collect();
        assert_eq!(counts, [(3, 30), (3, 3), (3, 6)]);
        assert!(
            samples[0].site.ends_with(":9") || samples[0].site.contains("src/telemetry/site.rs:")
        );
        assert!(!samples[0].site.starts_with('/'), "{}", samples[0].site);
    }
}
