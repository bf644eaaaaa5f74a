//! What a comparison says, line by line and as a table.

use super::compare::CaseResult;
use super::judge::Check;
use std::fmt::Write;

/// The sums of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    pub cases: usize,
    pub within: usize,
    pub skipped: usize,
    /// Cases in which each run lives or dies as the reference's.
    pub survivals_right: usize,
}

pub fn sums(verdicts: &[CaseResult]) -> Sums {
    let ran = || verdicts.iter().filter(|verdict| verdict.skipped.is_none());
    Sums {
        cases: ran().count(),
        within: ran().filter(|verdict| verdict.within()).count(),
        skipped: verdicts.len() - ran().count(),
        survivals_right: ran().filter(|verdict| verdict.survival_right()).count(),
    }
}

/// Digits enough to tell a figure from its bound.
fn number(value: f64) -> String {
    match value.abs() {
        size if !size.is_finite() => "any".into(),
        size if size >= 1e5 => format!("{:.3}M", value / 1e6),
        size if size >= 100.0 => format!("{value:.0}"),
        _ => format!("{value:.3}"),
    }
}

fn range((low, high): (f64, f64)) -> String {
    if low == high { number(low) } else { format!("{} to {}", number(low), number(high)) }
}

fn said(check: &Check) -> String {
    let ours = check.ours.map_or("none".into(), number);
    format!("{} {ours}, seen {}, allowed {}", check.name, range(check.seen), range((check.low, check.high)))
}

/// One line for a case: within, or what is not.
pub fn line(verdict: &CaseResult) -> String {
    if let Some(why) = &verdict.skipped {
        return format!("{}: skipped, {why}", verdict.case);
    }
    if verdict.within() {
        let figures = verdict.checks.len();
        return format!("{}: within all bounds ({figures} figures, {} runs)", verdict.case, verdict.runs);
    }
    let misses: Vec<String> = verdict.checks.iter().filter(|check| !check.ok).map(said).collect();
    format!("{}: {}", verdict.case, misses.join("; "))
}

/// The table of the documentation: one row per case, ours beside the reference's range.
pub fn table(verdicts: &[CaseResult]) -> String {
    const FIGURES: [&str; 5] = ["completion", "goodput", "packets", "tail drops", "mean RTT"];
    let mut text = String::from(
        "| case | completion (s) | goodput (bit/s) | packets sent | tail drops | mean RTT (ms) | connection | all \
         bounds |\n",
    );
    text.push_str("|---|---|---|---|---|---|---|---|\n");
    for verdict in verdicts.iter().filter(|verdict| verdict.skipped.is_none()) {
        let _ = write!(text, "| `{}` |", verdict.case);
        for figure in FIGURES {
            let cell = verdict.checks.iter().find(|check| check.name.starts_with(figure));
            let cell = cell.map(|check| {
                let ours = check.ours.map_or("none".into(), number);
                format!("{ours} / {}{}", range(check.seen), if check.ok { "" } else { " ✗" })
            });
            let _ = write!(text, " {} |", cell.unwrap_or_else(|| "–".into()));
        }
        let end = match (verdict.survival_right(), verdict.died) {
            (true, false) => "lives".to_owned(),
            (true, true) => "dies".to_owned(),
            (false, _) => format!("{} of {} die ✗", verdict.deaths, verdict.runs),
        };
        let _ = writeln!(text, " {end} | {} |", if verdict.within() { "yes" } else { "no" });
    }
    text
}

/// The sums in a sentence.
pub fn summary(sums: Sums) -> String {
    format!(
        "{} of {} cases within all bounds; the connection survives or dies as in real time in {}; {} cases skipped, \
         whose stacks are not in this build",
        sums.within, sums.cases, sums.survivals_right, sums.skipped
    )
}
