//! Holds the stacks in virtual time against the reference: `lab FOLDER [PART OF A CASE'S NAME] [table|habits]`.
//!
//! `table` prints the table of `docs/models/quic.md` after the lines, `habits` the drops, holes and deaths of one seed
//! under each runtime instead of a comparison. `SEEDS=3` takes three seeds per case.

use skyhop_quic::lab::compare::{Seeds, compare};
use skyhop_quic::lab::run::{Habits, run};
use skyhop_quic::lab::{LabError, cases, report};
use std::io::Write;
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let folder = Path::new(arguments.first().ok_or("which folder?")?);
    let part = arguments.get(1).map_or("", String::as_str);
    let mut out = std::io::stdout().lock();
    let mut verdicts = Vec::new();
    let mut unbuilt = 0;
    let count = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u32>().ok());
    let seeds = count("SEEDS").map_or_else(Seeds::default, |n| Seeds { random: n, others: n });
    for case in cases::read(folder)?.iter().filter(|case| case.name.contains(part)) {
        if arguments.get(2).is_some_and(|word| word == "habits") {
            let kinds = [("tokio", Habits::Tokio), ("single", Habits::TokioSingle), ("exact", Habits::Exact)];
            for (name, habits) in kinds.into_iter().filter(|_| case.problem.is_none()) {
                let Some(outcome) = run(case, &case.runs[0], habits, 1) else { continue };
                let flow = &outcome?.flows[0];
                let end = flow.death.as_ref().map(|(at, words)| format!("dies at {at:.2} s: {words}"));
                let end = end.or(flow.completion_s.map(|at| format!("completes at {at:.2} s"))).unwrap_or_default();
                writeln!(out, "| `{}` | {name} | {} | {} | {end} |", case.name, flow.tail_drops, flow.holes)?;
            }
            continue;
        }
        let verdict = match compare(folder, case, seeds) {
            Err(LabError::Unbuilt(problem)) => {
                unbuilt += 1;
                writeln!(out, "{}: cannot be built: {problem}", case.name)?;
                continue;
            }
            other => other?,
        };
        writeln!(out, "{}", report::line(&verdict))?;
        verdicts.push(verdict);
    }
    if verdicts.is_empty() {
        return Ok(());
    }
    if arguments.get(2).is_some() {
        writeln!(out, "\n{}", report::table(&verdicts))?;
    }
    writeln!(out, "{}", report::summary(report::sums(&verdicts)))?;
    if unbuilt > 0 {
        writeln!(out, "{unbuilt} further cases cannot be built, and count as misses")?;
    }
    Ok(())
}
