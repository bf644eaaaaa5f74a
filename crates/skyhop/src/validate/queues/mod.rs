//! What our queue disciplines do with the arrivals of a reference folder, packet by packet, beside what the Linux
//! kernel's did.
//!
//! `cases.csv` describes each case by machine: discipline, parameters, link. `<case>.arrivals.csv.gz` is what comes,
//! `<case>.packets.csv.gz` what became of it. Nothing here knows a case by name: any folder of the kind can be read.

mod cases;
mod draws;
mod seeds;
mod tc;

use super::ValidateError;
use cases::Case;
use draws::Numbers;
use serde::Serialize;
use skyhop_base::Stream;
use skyhop_queue::replay::{End, OfferedPacket, ReplayOutcome, replay};
use skyhop_queue::{QueueSpec, Variant};
use std::path::Path;

/// Times may differ by so much.
const TIME_BOUND_NS: u64 = 1;
/// Runs with our own numbers, where a discipline draws.
const SEEDS: u64 = 20;

/// One case beside the reference.
#[derive(Clone, Debug, Serialize)]
pub struct QueueCase {
    pub case: String,
    pub discipline: String,
    pub note: String,
    pub packets: usize,
    /// Packets whose verdict, mark and time equal the reference's.
    pub equal: usize,
    /// What came out, of the reference and of ours.
    pub totals: Option<[Totals; 2]>,
    /// The first packet that differs.
    pub first: Option<Difference>,
    /// Random numbers drawn: the reference's, where it says, and ours. Absent where the discipline draws none.
    pub draws: Option<(Option<u64>, u64)>,
    /// Means over seeds with our own numbers, where the reference has them.
    pub means: Vec<Mean>,
    /// Parameters of the case that no discipline of ours has.
    pub ignored: Vec<String>,
    /// Why the case could not be run.
    pub problem: Option<String>,
    pub ok: bool,
}

/// A packet that differs.
#[derive(Clone, Debug, Serialize)]
pub struct Difference {
    pub packet: usize,
    pub arrival_ns: u64,
    pub reference: Outcome,
    pub ours: Outcome,
}

/// What became of a packet, in the reference's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Outcome {
    pub verdict: u8,
    pub ce: bool,
    /// From arrival to dequeue or drop; absent for a packet that still waits.
    pub after_ns: Option<u64>,
}

/// Counts of packets, and sojourns of those that were delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Totals {
    pub delivered: usize,
    pub drops: usize,
    /// Delivered with a mark of this discipline.
    pub marks: usize,
    pub p50_ns: u64,
    pub p95_ns: u64,
}

impl Totals {
    fn of(outcomes: &[Outcome]) -> Totals {
        let mut sojourns: Vec<u64> = outcomes.iter().filter(|o| o.verdict == 0).filter_map(|o| o.after_ns).collect();
        sojourns.sort_unstable();
        let percentile = |p| seeds::percentile(&sojourns, p).unwrap_or(0.0) as u64;
        Totals {
            delivered: sojourns.len(),
            drops: outcomes.iter().filter(|o| o.verdict != 0 && o.verdict != WAITING).count(),
            marks: outcomes.iter().filter(|o| o.verdict == 0 && o.ce).count(),
            p50_ns: percentile(0.50),
            p95_ns: percentile(0.95),
        }
    }
}

/// One measure, averaged over seeds.
#[derive(Clone, Debug, Serialize)]
pub struct Mean {
    pub metric: String,
    pub reference: f64,
    pub ours: f64,
    /// Distance that the two may have: three standard errors, or 1 % where that is more.
    pub bound: f64,
    pub ok: bool,
}

impl Outcome {
    fn of(outcome: &ReplayOutcome, arrival: &OfferedPacket) -> Outcome {
        let verdict = match outcome.end {
            End::Delivered => 0,
            End::DroppedAtEnqueue(_) => 1,
            End::DroppedAtDequeue(_) => 2,
            End::DroppedElsewhere(_) => 3,
            End::Waiting => WAITING,
        };
        let after_ns = (verdict != WAITING).then(|| outcome.at.since(arrival.at).as_nanos());
        Outcome { verdict, ce: outcome.marked, after_ns }
    }

    /// What a packet that still waits will carry is not known.
    fn equals(&self, other: &Outcome) -> bool {
        if self.verdict == WAITING && other.verdict == WAITING {
            return true;
        }
        let times = match (self.after_ns, other.after_ns) {
            (Some(a), Some(b)) => a.abs_diff(b) <= TIME_BOUND_NS,
            _ => true,
        };
        self.verdict == other.verdict && self.ce == other.ce && times
    }
}

/// The reference's verdict of a packet that still waits at the end.
const WAITING: u8 = 9;

/// Runs the cases of a queue reference folder, or those named, and says of each where it differs. In the order of the
/// folder's `cases.csv`.
///
/// With [`Variant::Rfc`] the disciplines follow their texts, those without a text are left out, and seeds are not run:
/// what differs is then how far the kernel is from the text.
pub fn queues(folder: &Path, only: &[String], variant: Variant) -> Result<Vec<QueueCase>, ValidateError> {
    let cases = cases::read(folder)?;
    if let Some(name) = only.iter().find(|name| !cases.iter().any(|case| case.name == **name)) {
        let path = folder.join("cases.csv").display().to_string();
        return Err(ValidateError::Read { path, reason: format!("it has no case \"{name}\"") });
    }
    let numbers = draws::read(folder)?;
    let summaries = if variant == Variant::Linux { seeds::read(folder)? } else { Vec::new() };
    cases
        .iter()
        .filter(|case| only.is_empty() || only.contains(&case.name))
        .filter(|case| variant == Variant::Linux || tc::has_text(&case.discipline))
        .map(|case| compare(folder, case, variant, &numbers, &summaries))
        .collect()
}

fn compare(
    folder: &Path,
    case: &Case,
    variant: Variant,
    numbers: &[u64],
    summaries: &[seeds::Summary],
) -> Result<QueueCase, ValidateError> {
    let arrivals = cases::arrivals(folder, case)?;
    let reference = cases::outcomes(folder, case, arrivals.len())?;
    let mut found = QueueCase {
        case: case.name.clone(),
        discipline: case.discipline.clone(),
        note: case.note.clone(),
        packets: arrivals.len(),
        equal: 0,
        totals: None,
        first: None,
        draws: None,
        means: Vec::new(),
        ignored: Vec::new(),
        problem: None,
        ok: false,
    };
    let spec = match tc::spec(folder, case, variant) {
        Ok((spec, ignored)) => {
            found.ignored = ignored;
            spec
        }
        Err(problem) => {
            found.problem = Some(problem);
            return Ok(found);
        }
    };
    let mut drawn = Numbers::new(numbers);
    let outcomes = run(&spec, case, &arrivals, &mut drawn)?;
    let outcomes: Vec<Outcome> =
        outcomes.iter().zip(&arrivals).map(|(outcome, arrival)| Outcome::of(outcome, arrival)).collect();
    found.totals = Some([Totals::of(&reference), Totals::of(&outcomes)]);
    for (packet, (&ours, theirs)) in outcomes.iter().zip(&reference).enumerate() {
        if ours.equals(theirs) {
            found.equal += 1;
        } else if found.first.is_none() {
            let arrival_ns = arrivals[packet].at.as_nanos();
            found.first = Some(Difference { packet, arrival_ns, reference: *theirs, ours });
        }
    }
    if case.random {
        found.draws = Some((case.draws, drawn.used()));
        found.problem = drawn.problem();
        let own: Vec<&seeds::Summary> = summaries.iter().filter(|summary| summary.is_of(&case.name)).collect();
        if !own.is_empty() {
            let runs = (1..=SEEDS)
                .map(|seed| run(&spec, case, &arrivals, &mut Stream::new(seed, &case.discipline, "queue")))
                .collect::<Result<Vec<_>, _>>()?;
            found.means = seeds::compare(&arrivals, &runs, &own);
        }
    }
    found.ok = found.equal == found.packets && found.problem.is_none() && found.means.iter().all(|mean| mean.ok);
    Ok(found)
}

fn run(
    spec: &QueueSpec,
    case: &Case,
    arrivals: &[OfferedPacket],
    random: &mut dyn skyhop_queue::Random,
) -> Result<Vec<ReplayOutcome>, ValidateError> {
    let mut discipline = spec
        .build(case.created)
        .map_err(|error| ValidateError::Case { case: case.name.clone(), reason: error.to_string() })?;
    Ok(replay(&mut *discipline, arrivals, &case.schedule, case.end, random))
}
