//! A histogram as a table of bars, one a doubling.

use leptos::prelude::*;
use stateward_model::{Histogram, bucket_lower_bound};

use super::table::{Column, bar, table};
use crate::format;

/// Buckets of a row: a doubling.
const BUCKETS_A_ROW: u16 = 4;

/// Counts by rows that end before these values, without the empty ones at both ends.
fn rows(histogram: &Histogram) -> Vec<(u64, u64)> {
    let mut rows: Vec<(u64, u64)> = Vec::new();
    for (bucket, count) in &histogram.buckets {
        let row = bucket / BUCKETS_A_ROW;
        let end = bucket_lower_bound(usize::from((row + 1) * BUCKETS_A_ROW));
        while let Some((last, _)) = rows.last()
            && *last * 2 < end
        {
            rows.push((*last * 2, 0));
        }
        match rows.last_mut().filter(|(last, _)| *last == end) {
            Some((_, sum)) => *sum += count,
            None => rows.push((end, *count)),
        }
    }
    rows
}

/// The table; `below` says what lies below a bound, `empty` what there is to say without observations.
pub(super) fn bars(
    histogram: &Histogram,
    head: (&'static str, &'static str),
    below: impl Fn(u64) -> String,
    empty: &'static str,
) -> AnyView {
    let rows = rows(histogram);
    let most = rows.iter().map(|(_, count)| *count).max().unwrap_or(0);
    if most == 0 {
        return view! { <p class="quiet">{empty}</p> }.into_any();
    }
    let share = |count: u64| count as f64 / most as f64;
    let rows = rows
        .into_iter()
        .map(|(end, count)| {
            view! {
                <tr>
                    <th scope="row">"<\u{202f}" {below(end)}</th>
                    <td class="num">
                        {bar(share(count))}
                        {format::exact(count)}
                    </td>
                </tr>
            }
        })
        .collect_view();
    table("narrow", &[Column::Text(head.0), Column::Number(head.1)], rows.into_any())
}

#[cfg(test)]
mod tests {
    use super::*;
    use stateward_model::{HISTOGRAM_BUCKETS, bucket_of};

    /// Rows are doublings, empty ones between others are shown, and nothing is lost.
    #[test]
    fn doublings_without_gaps() {
        let mut counts = [0; HISTOGRAM_BUCKETS];
        for value in [1, 3, 5, 7, 100] {
            counts[bucket_of(value)] += 1;
        }
        let histogram = Histogram::from_dense(&counts, 0);
        assert_eq!(rows(&histogram), [(4, 2), (8, 2), (16, 0), (32, 0), (64, 0), (128, 1)]);
        assert_eq!(rows(&Histogram::default()), []);
    }
}
