//! The report for people: states first, then each one in detail, then what could not be read.

use stateward_engine::inspect::{
    Basis, FileInspection, Inspection, NowFrom, Stamp, StateInspection,
};
use stateward_model::{Histogram, VerdictKind, bucket_lower_bound};

use crate::table::table;
use crate::unit::{bytes, count, duration, instant, percent};

/// Widest bar of a histogram.
const BAR_WIDTH: u64 = 40;
/// Largest keys that are shown; JSON has more.
const KEYS_MAX: usize = 3;
/// Characters of a key that are shown.
const KEY_CHARS_MAX: usize = 72;

pub(super) fn report(found: &Inspection) -> String {
    let mut text = String::new();
    line(&mut text, &format!("{}: taken for {}", found.folder, found.taken_for.words()));
    line(&mut text, &now(found));
    for note in &found.notes {
        line(&mut text, &format!("note: {note}"));
    }
    let (full, empty): (Vec<_>, Vec<_>) = found
        .states
        .iter()
        .partition(|state| state.figures.live_keys > 0 || !state.files.is_empty());
    text.push('\n');
    text.push_str(&table(&summary(&full)));
    if !empty.is_empty() {
        let names: Vec<_> = empty.iter().map(|state| place(state)).collect();
        line(&mut text, &format!("\nempty: {}", names.join(", ")));
    }
    for state in &full {
        detail(&mut text, state, found.now_millis);
    }
    if !found.unread.is_empty() {
        line(&mut text, "\nCould not be read:");
        for unread in &found.unread {
            line(&mut text, &format!("  {} {}", unread.place, unread.why));
        }
    }
    text
}

fn line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

fn now(found: &Inspection) -> String {
    let Some(now) = found.now_millis else {
        return "no time anywhere: nothing has an age".into();
    };
    let from = match found.now_from {
        NowFrom::Given => "as given",
        NowFrom::NewestAccess => "the newest access in the folder; --now gives another",
        NowFrom::CheckpointClock => "the checkpoint's clock; --now gives another",
        NowFrom::Nothing => "not known",
    };
    format!("now is {} ({now}): {from}", instant(now))
}

fn place(state: &StateInspection) -> String {
    match &state.operator {
        Some(operator) => format!("{operator}/{}", state.state),
        None => state.state.clone(),
    }
}

fn kind(state: &StateInspection) -> String {
    match state.basis {
        Basis::Known => state.kind.clone(),
        Basis::Guess => format!("{}?", state.kind),
    }
}

fn summary(states: &[&StateInspection]) -> Vec<Vec<String>> {
    let heads =
        ["state", "kind", "TTL", "keys", "entries", "logical", "tables", "expired", "oldest"];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    rows.extend(states.iter().map(|state| {
        let f = &state.figures;
        let expired = f.expired_entries.map_or("-".into(), |dead| percent(dead, f.entries));
        vec![
            place(state),
            kind(state),
            state.ttl_millis.map_or("-".into(), duration),
            count(f.live_keys),
            count(f.entries),
            bytes(f.logical_bytes),
            bytes(f.table_bytes),
            expired,
            f.oldest_millis.map_or("-".into(), instant),
        ]
    }));
    rows
}

fn detail(text: &mut String, state: &StateInspection, now: Option<i64>) {
    line(text, &format!("\n{}", place(state)));
    line(text, &format!("  verdict: {}", verdict(state)));
    line(text, &format!("  rows: {}", form(state)));
    let f = &state.figures;
    if let (Some(oldest), Some(newest)) = (f.oldest_millis, f.newest_millis) {
        let word = match state.stamp {
            Stamp::FireTime => "fires",
            Stamp::WindowEnd => "window ends",
            Stamp::LastAccess | Stamp::None => "accessed",
        };
        line(text, &format!("  {word}: {} to {}", instant(oldest), instant(newest)));
    }
    if let (Some(keys), Some(first), Some(entries), Some(dead_bytes)) =
        (f.expired_keys, f.expired_first_keys, f.expired_entries, f.expired_bytes)
    {
        line(
            text,
            &format!(
                "  expired: {} of {} entries ({}, {}); {} keys wholly, {} keys begin with an expired one",
                count(entries),
                count(f.entries),
                percent(entries, f.entries),
                bytes(dead_bytes),
                count(keys),
                count(first)
            ),
        );
    }
    let extra = [
        (f.written_off_keys, "keys written off, not reclaimed"),
        (f.garbage_entries, "shadowed or removed entries in the tables"),
        (f.logged_entries, "changes only in the write-ahead log"),
        (f.future_entries, "entries accessed after now"),
    ];
    for (figure, what) in extra.into_iter().filter(|(figure, _)| *figure > 0) {
        line(text, &format!("  {} {what}", count(figure)));
    }
    if let Some(ages) = f.ages.as_ref().filter(|ages| now.is_some() && ages.count() > 0) {
        histogram(text, ages);
    }
    for (at, key) in state.largest.iter().take(KEYS_MAX).enumerate() {
        let lead = if at == 0 { "  largest:" } else { "          " };
        line(text, &format!("{lead} {:>10}  {}", bytes(key.bytes), cut(&key.key)));
    }
    if !state.files.is_empty() {
        let rows: Vec<_> =
            std::iter::once(file_heads()).chain(state.files.iter().map(file)).collect();
        for row in table(&rows).lines() {
            line(text, &format!("  {row}"));
        }
    }
}

/// The key, cut, without what a terminal would obey.
fn cut(key: &str) -> String {
    let shown: String = key.chars().filter(|c| !c.is_control()).take(KEY_CHARS_MAX).collect();
    if key.chars().count() > KEY_CHARS_MAX { format!("{shown}...") } else { shown }
}

fn form(state: &StateInspection) -> String {
    let what = match state.stamp {
        Stamp::LastAccess => "the time of the last access in front of each value",
        Stamp::FireTime => "the time at which a timer fires in the key",
        Stamp::WindowEnd => "a window in the key, no time of access",
        Stamp::None => "no time of access",
    };
    let share = state.plausible_ratio.map_or("no row to see".into(), |ratio| {
        format!("{} of the rows look so", percent((ratio * 1e6) as u64, 1_000_000))
    });
    match state.basis {
        Basis::Known => what.to_owned(),
        Basis::Guess => format!("a guess: {}, {what}; {share}", state.kind),
    }
}

fn verdict(state: &StateInspection) -> String {
    let debt = || {
        format!(
            "{} of {} are expired or written off",
            bytes(state.verdict.debt_bytes.unwrap_or(0)),
            bytes(state.verdict.total_bytes)
        )
    };
    match (state.verdict.kind, state.stamp) {
        (VerdictKind::NoTtl, _) => {
            "no TTL: nothing ever expires. Set one where the state is declared".into()
        }
        (VerdictKind::CleanupBehind, _) => format!(
            "cleanup behind: {}. Only a compaction drops them: have its tables compacted periodically",
            debt()
        ),
        (_, Stamp::FireTime) => "none: timers go when they fire".into(),
        (_, Stamp::WindowEnd) => "none: windows go when they close".into(),
        (VerdictKind::CannotTell, _) if state.ttl_millis.is_none() => {
            format!("cannot tell: the TTL is not in the folder. Give it: --ttl {}=30m", state.state)
        }
        (VerdictKind::CannotTell, _) => format!(
            "cannot tell: a folder has no reads. {} (above 20 % and 1 MiB cleanup counts as behind)",
            debt()
        ),
        (kind, _) => format!("{kind:?}").to_lowercase(),
    }
}

/// Ages by doubling, which is what four of the model's buckets make.
fn histogram(text: &mut String, ages: &Histogram) {
    let mut rows: Vec<(u64, u64)> = Vec::new();
    for (bucket, entries) in &ages.buckets {
        let bound = bucket_lower_bound(usize::from(*bucket));
        let doubling = bound.checked_ilog2().map_or(0, |exponent| 1_u64 << exponent);
        match rows.last_mut() {
            Some((last, sum)) if *last == doubling => *sum += entries,
            _ => rows.push((doubling, *entries)),
        }
    }
    let most = rows.iter().map(|(_, entries)| *entries).max().unwrap_or(1).max(1);
    line(text, "  age from");
    for (bound, entries) in rows {
        let bar = "#".repeat((entries * BAR_WIDTH).div_ceil(most) as usize);
        let age = duration(i64::try_from(bound).unwrap_or(i64::MAX));
        line(text, &format!("  {age:>14}  {:>12}  {bar}", count(entries)));
    }
}

fn file_heads() -> Vec<String> {
    let heads = ["table", "level", "bytes", "entries", "removals", "expired", "oldest", "newest"];
    heads.map(str::to_owned).to_vec()
}

fn file(file: &FileInspection) -> Vec<String> {
    vec![
        file.name.clone(),
        file.level.map_or("-".into(), |level| format!("L{level}")),
        bytes(file.bytes),
        count(file.entries),
        count(file.deletions),
        file.expired.map_or("-".into(), |dead| percent(dead, file.stamped)),
        file.oldest_millis.map_or("-".into(), instant),
        file.newest_millis.map_or("-".into(), instant),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_cannot_write_to_the_terminal() {
        assert_eq!(cut("a\u{1b}[2Jb\n"), "a[2Jb");
        assert_eq!(cut(&"x".repeat(100)).len(), KEY_CHARS_MAX + 3);
    }

    #[test]
    fn ages_are_shown_by_doubling() {
        let ages = Histogram { buckets: vec![(0, 1), (40, 8), (41, 8)], sum: 0 };
        let mut text = String::new();
        histogram(&mut text, &ages);
        let rows: Vec<_> = text.lines().skip(1).map(str::trim).collect();
        assert_eq!(rows.len(), 2, "{text}");
        assert!(rows[0].starts_with("0 ms") && rows[1].ends_with(&"#".repeat(40)), "{text}");
    }
}
