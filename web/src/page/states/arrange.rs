//! Keeps the order of a live table until the reader asks for the new one.

use stateward_model::view::StateRow;

use crate::page::shown::reference;

/// The order in which a view of the ranking was first seen.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Frozen {
    view: String,
    refreshed: u32,
    order: Vec<String>,
}

impl Frozen {
    pub(super) fn new(view: String, refreshed: u32, rows: &[StateRow]) -> Self {
        Self { view, refreshed, order: rows.iter().map(|row| reference(row).of()).collect() }
    }

    /// Whether the same view is still looked at.
    pub(super) fn same_view(&self, other: &Self) -> bool {
        self.view == other.view && self.refreshed == other.refreshed
    }
}

/// Puts new rows into the kept order. Returns them and how many rows a refresh would move, add or
/// drop; rows that are new stay out until then.
pub(super) fn arrange(kept: &Frozen, rows: Vec<StateRow>) -> (Vec<StateRow>, usize) {
    let names: Vec<String> = rows.iter().map(|row| reference(row).of()).collect();
    let moved = (0..names.len().max(kept.order.len()))
        .filter(|index| names.get(*index) != kept.order.get(*index))
        .count();
    let mut placed: Vec<(usize, StateRow)> = rows
        .into_iter()
        .zip(&names)
        .filter_map(|(row, name)| Some((kept.order.iter().position(|known| known == name)?, row)))
        .collect();
    placed.sort_by_key(|(index, _)| *index);
    (placed.into_iter().map(|(_, row)| row).collect(), moved)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::sample;

    fn rows(names: &[&str]) -> Vec<StateRow> {
        names.iter().map(|name| sample::row(name)).collect()
    }

    #[test]
    fn the_order_holds_until_refreshed() {
        let kept = Frozen::new(String::new(), 0, &rows(&["a", "b", "c"]));
        let names =
            |rows: &[StateRow]| -> Vec<String> { rows.iter().map(|r| r.state.clone()).collect() };
        let (same, none) = arrange(&kept, rows(&["a", "b", "c"]));
        assert_eq!((names(&same), none), (vec!["a".into(), "b".into(), "c".into()], 0));
        let (held, changes) = arrange(&kept, rows(&["c", "d", "a"]));
        assert_eq!((names(&held), changes), (vec!["a".into(), "c".into()], 3));
    }
}
