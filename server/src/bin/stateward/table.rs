//! Columns for a terminal.

/// Columns, the first two left, figures right.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |at: usize| {
        rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<_> = (0..columns).map(|at| width(at).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).enumerate().map(|(at, (cell, width))| {
            if at < 2 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        let joined = cells.collect::<Vec<_>>().join("  ");
        text.push_str(joined.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_figures_stand_right() {
        let rows = [["a", "value", "1"], ["bcd", "map?", "12,345"]];
        let rows: Vec<Vec<String>> =
            rows.iter().map(|row| row.iter().map(|cell| (*cell).to_owned()).collect()).collect();
        assert_eq!(table(&rows), "a    value       1\nbcd  map?   12,345\n");
    }
}
