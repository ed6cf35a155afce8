//! The examples of the engine do what they say.

#[path = "../../engine/examples/debugger.rs"]
mod debugger;

/// §1.10: the example reproduces "five minutes in the debugger expired everything", and shows the
/// guard's answer.
#[test]
fn the_debugger_example_runs() {
    debugger::main().unwrap();
}
