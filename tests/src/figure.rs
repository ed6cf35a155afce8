//! A bench's figure: printed for people or as JSON, beside what `docs/performance.md` asks of it.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use anyhow::{Context, Result};

/// One measured case.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Name of the bench.
    pub bench: &'static str,
    /// Name of the case.
    pub case: &'static str,
    /// What every run came to, in the unit of the table; not empty.
    pub runs: Vec<f64>,
    /// The baseline of a ratio.
    pub against: Option<&'static str>,
}

/// A line of the one table that has musts and aims.
struct Bounds {
    unit: &'static str,
    higher_is_better: bool,
    must: Option<f64>,
    aim: Option<f64>,
}

impl Bounds {
    fn of(bench: &str, case: &str) -> Result<Self> {
        let table = include_str!("../../docs/performance.md");
        table
            .lines()
            .find_map(|line| {
                let mut cells = line.split('|').map(str::trim).skip(1);
                let (of_bench, of_case) = (cells.next()?, cells.next()?);
                let (unit, better) = (cells.next()?, cells.next()?);
                let mut bound = || cells.next().and_then(|cell| cell.parse().ok());
                (of_bench == bench && of_case == case).then(|| Self {
                    unit,
                    higher_is_better: better == "higher",
                    must: bound(),
                    aim: bound(),
                })
            })
            .with_context(|| format!("docs/performance.md has no case {bench}/{case}"))
    }
}

impl Figure {
    /// Prints the median of the runs with their range.
    ///
    /// # Errors
    /// Where nothing was run, or the table lacks the case.
    pub fn print(mut self, as_json: bool) -> Result<()> {
        self.runs.sort_by(f64::total_cmp);
        let Self { bench, case, runs, against } = &self;
        let bounds = Bounds::of(bench, case)?;
        let median = runs.get(runs.len() / 2).context("nothing was run")?;
        let (min, max) = (runs.first(), runs.last());
        if as_json {
            let line = serde_json::json!({
                "bench": bench, "case": case, "value": median, "unit": bounds.unit,
                "higher_is_better": bounds.higher_is_better, "must": bounds.must,
                "aim": bounds.aim, "runs": runs.len(), "min": min, "max": max, "against": against,
            });
            println!("{line}");
            return Ok(());
        }
        let shown = |value: Option<&f64>| match (value, bounds.unit) {
            (None, _) => "-".to_owned(),
            (Some(value), "ratio") => format!("{value:.2}x"),
            (Some(value), unit) if *value < 100.0 => format!("{value:.2} {unit}"),
            (Some(value), unit) => format!("{value:.0} {unit}"),
        };
        println!(
            "{bench} {case:<16} {} ({} to {}){}; must {}, aim {}",
            shown(Some(median)),
            shown(min),
            shown(max),
            against.map(|other| format!(" against {other}")).unwrap_or_default(),
            shown(bounds.must.as_ref()),
            shown(bounds.aim.as_ref()),
        );
        Ok(())
    }
}
