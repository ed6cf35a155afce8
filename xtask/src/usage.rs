//! The command line: which command, its help, and a hint where a name is misspelled.

use crate::failure::{Failure, Outcome};

/// One command as the help shows it.
struct Entry {
    name: &'static str,
    arguments: &'static str,
    summary: &'static str,
    detail: &'static str,
}

const COMMANDS: &[Entry] = &[
    Entry {
        name: "demo",
        arguments: "[--port N] [--data-dir DIR] [--speed N] …",
        summary: "build everything, then start the server and the demo job",
        detail: "Checks and installs what is missing, builds the web bundle and the release binary, and
becomes `stateward demo` with the given arguments. Ctrl-C stops it cleanly; a second start
continues from where it stopped.
",
    },
    Entry {
        name: "test",
        arguments: "[FILTER] [--no-browser] [-- ARGS]",
        summary: "run the whole suite, browser and doc tests included",
        detail: "FILTER       only tests whose path contains it
--no-browser leave out the tests below a module `browser`, and what only they need
-- ARGS      handed to every test binary, such as `-- --nocapture`
The last line is `N passed, N failed, N skipped`.
",
    },
    Entry {
        name: "soak",
        arguments: "[FILTER…] [--budget-minutes N] [--results FILE] [--fresh]",
        summary: "run the random and kill tests at their large figures, resumable",
        detail: "Runs each test whose path contains a FILTER (default: soak) alone, in release, with
STATEWARD_SOAK=1. Each verdict is added to the results file (default:
target/soak/results.tsv) as it falls; a test that passed there is not run again for the same
sources.
--budget-minutes N  start no further test after N minutes (default 120)
--fresh             forget earlier results
",
    },
    Entry {
        name: "bench",
        arguments: "[NAME…] [--json] [--quick]",
        summary: "measure, beside the figures that are demanded",
        detail: "Without a NAME every bench runs. With --json one object a line goes to standard output.
--quick runs each once and tiny, to see that it still runs.
docs/performance.md lists the benches with what they must and aim to reach.
",
    },
    Entry {
        name: "web",
        arguments: "",
        summary: "build the web bundle into target/web/pkg",
        detail: "Adds the wasm target where it is missing, compiles the pages for the browser and writes
web.js and web_bg.wasm, each with a brotli copy. Fails if the wasm is larger than allowed.
Does nothing when no source of it has changed.
",
    },
    Entry {
        name: "licences",
        arguments: "",
        summary: "check licence and source of every dependency",
        detail: "Every package must come from the Rust package registry or this repository, and its licence
must be satisfiable with the permissive ones listed in xtask/src/licence/mod.rs.
",
    },
    Entry {
        name: "env",
        arguments: "",
        summary: "install what a build needs; print the environment as shell exports",
        detail: "For plain cargo with the project's compiler cache: eval \"$(cargo xtask env)\"
",
    },
];

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Request<'a> {
    /// Print this.
    Help(String),
    /// Run this command with these arguments.
    Run(&'static str, &'a [String]),
}

/// Reads the command line.
pub(crate) fn parse(args: &[String]) -> Outcome<Request<'_>> {
    let Some((first, rest)) = args.split_first() else {
        return Err(Failure::usage(format!("a command is missing\n\n{}", overview())));
    };
    if matches!(first.as_str(), "help" | "--help" | "-h") {
        let entry = rest.first().and_then(|name| find(name));
        return Ok(Request::Help(entry.map_or_else(overview, help)));
    }
    let Some(entry) = find(first) else {
        return Err(Failure::usage(unknown_command(first)));
    };
    let own = rest.split(|arg| arg == "--").next().unwrap_or_default();
    if own.iter().any(|arg| arg == "--help" || arg == "-h") {
        return Ok(Request::Help(help(entry)));
    }
    Ok(Request::Run(entry.name, rest))
}

/// Refuses arguments where a command has none.
pub(crate) fn no_arguments(command: &str, args: &[String]) -> Outcome {
    match args.first() {
        None => Ok(()),
        Some(arg) => Err(Failure::usage(format!("{command} takes no arguments, got {arg:?}"))),
    }
}

/// The value that must follow a flag.
pub(crate) fn value_of<'a>(
    flag: &str,
    args: &mut impl Iterator<Item = &'a String>,
) -> Outcome<&'a str> {
    args.next()
        .map(String::as_str)
        .ok_or_else(|| Failure::usage(format!("{flag} wants a value after it")))
}

fn find(name: &str) -> Option<&'static Entry> {
    COMMANDS.iter().find(|entry| entry.name == name)
}

fn overview() -> String {
    let lines = COMMANDS.iter().map(|entry| format!("  {:<9} {}\n", entry.name, entry.summary));
    let mut text = format!("Usage: cargo xtask COMMAND\n\n{}", lines.collect::<String>());
    text.push_str("\n`cargo xtask COMMAND --help` tells more. Exit codes: 0 good, 1 the answer is no, 2 usage, 3 could not find out.\n");
    text.push_str("Caches stay outside the clone: $STATEWARD_CACHE, else $XDG_CACHE_HOME/stateward, else ~/.cache/stateward.\n");
    text
}

fn help(entry: &Entry) -> String {
    let usage = format!("Usage: cargo xtask {} {}", entry.name, entry.arguments);
    format!("{}\n\n{}\n\n{}", sentence(entry.summary), usage.trim_end(), entry.detail)
}

fn sentence(summary: &str) -> String {
    let mut chars = summary.chars();
    let first = chars.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", chars.as_str())
}

fn unknown_command(name: &str) -> String {
    let nearest = COMMANDS
        .iter()
        .map(|entry| (distance(name, entry.name), entry.name))
        .min()
        .filter(|(edits, known)| *edits <= known.len().div_ceil(3));
    match nearest {
        Some((_, known)) => format!("there is no command {name:?}; did you mean `{known}`?"),
        None => format!("there is no command {name:?}\n\n{}", overview()),
    }
}

/// Edits (insert, delete, replace) that turn one word into the other.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (at, left) in from.chars().enumerate() {
        let mut next = vec![at + 1];
        for (column, (&right, pair)) in to.iter().zip(row.windows(2)).enumerate() {
            let (Some(&diagonal), Some(&above), Some(&before)) =
                (pair.first(), pair.last(), next.get(column))
            else {
                continue;
            };
            let replaced = diagonal + usize::from(left != right);
            next.push(replaced.min(above + 1).min(before + 1));
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Exit;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn commands_keep_their_arguments() {
        let args = words("demo --port 9000 --speed 60");
        assert_eq!(parse(&args).unwrap(), Request::Run("demo", &args[1..]));
    }

    #[test]
    fn help_is_for_the_command_but_not_for_what_follows_two_dashes() {
        let args = words("test --help");
        assert!(
            matches!(parse(&args).unwrap(), Request::Help(text) if text.contains("xtask test"))
        );
        let args = words("test -- --help");
        assert!(matches!(parse(&args).unwrap(), Request::Run("test", _)));
        let args = words("help soak");
        assert!(
            matches!(parse(&args).unwrap(), Request::Help(text) if text.contains("STATEWARD_SOAK"))
        );
    }

    #[test]
    fn a_misspelled_command_gets_a_hint_and_exit_2() {
        let failure = parse(&words("tets")).unwrap_err();
        assert_eq!(failure.exit, Exit::Usage);
        assert_eq!(failure.message, "there is no command \"tets\"; did you mean `test`?");
        assert!(parse(&words("frobnicate")).unwrap_err().message.contains("Usage:"));
        assert_eq!(parse(&[]).unwrap_err().exit, Exit::Usage);
    }

    #[test]
    fn distance_counts_edits() {
        for (from, to, edits) in
            [("", "", 0), ("demo", "demo", 0), ("dem", "demo", 1), ("wbe", "web", 2), ("", "ab", 2)]
        {
            assert_eq!(distance(from, to), edits, "{from} to {to}");
        }
    }
}
