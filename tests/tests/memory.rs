//! `memory.total` holds.

use std::path::Path;

use stateward_tests::memory::{FIXED_BYTES, Outcome, measure};

/// §9, sizes: what grows with a state 20 times the budget stays under the budget, by the process's own
/// memory and by the figures; and that much was really on disk.
fn stays_under(budget_bytes: u64, besides_bytes: u64) {
    let program = Path::new(env!("CARGO_BIN_EXE_stateward-bench"));
    let outcome = measure(program, budget_bytes).unwrap();
    let Outcome { logical_bytes, disk_bytes, grown_bytes, budgeted_bytes, .. } = outcome;
    assert!(logical_bytes >= 20 * budget_bytes, "{outcome:?}");
    assert!(disk_bytes >= 10 * budget_bytes, "{outcome:?}");
    assert!(grown_bytes <= budget_bytes + besides_bytes, "{outcome:?}");
    assert!(budgeted_bytes <= budget_bytes, "{outcome:?}");
    assert!(budgeted_bytes >= budget_bytes / 4, "the budget is used: {outcome:?}");
}

/// §9, sizes: in small, where the fixed memory of a job is not small beside the budget.
#[test]
fn a_state_of_twenty_times_the_budget_stays_under_it() {
    stays_under(8 << 20, FIXED_BYTES);
}

/// §9, sizes: all of it under the budget, 2.5 GiB under 128 MiB.
#[test]
fn soak_all_memory_stays_under_the_budget() {
    if std::env::var_os("STATEWARD_SOAK").is_some() {
        stays_under(128 << 20, 0);
    }
}
