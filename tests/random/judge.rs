//! One scenario from text to tables, and everything that must hold of it.

use super::chance::Chance;
use super::finding::{Finding, Findings};
use super::mend;
use super::{bounds, tables, variants};
use serde_json::Value as Json;
use skyhop::records::Records;
use skyhop::{Error, Progress, Run, RunOptions};
use skyhop_scenario::{Diagnostic, Scenario};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, Once, PoisonError};
use std::time::Duration;

/// What came of one scenario.
#[derive(Debug, Default)]
pub struct Judgement {
    /// The first is the worst: a panic, or what the others may follow from.
    pub findings: Vec<Finding>,
    /// The problems that had to be taken out before it was valid; `None` when it stayed invalid.
    pub taken_out: Option<Vec<Diagnostic>>,
    /// It was ended because it took too long.
    pub is_long: bool,
    pub packet_hops: u64,
    pub packets: u64,
    pub delivered: u64,
    /// The valid scenario.
    pub value: Option<Json>,
}

/// Why a run has no records.
enum Stop {
    Long,
    Finding(Finding),
}

/// Mends what was drawn, and judges it.
pub fn judge_drawn(value: Json, seed: u64, limit: Duration) -> Judgement {
    let mended = match without_panic(|| mend::mend(value.clone())) {
        Err(finding) => return Judgement { findings: vec![finding], value: Some(value), ..Judgement::default() },
        Ok(Err(_)) => return Judgement::default(),
        Ok(Ok(mended)) => mended,
    };
    let verdict = judge(&mended.value, seed, limit);
    Judgement { taken_out: Some(mended.taken_out), value: Some(mended.value), ..verdict }
}

/// Judges a scenario that should be valid; one that is not has no findings.
pub fn judge(value: &Json, seed: u64, limit: Duration) -> Judgement {
    let mut findings = Findings::default();
    let mut verdict = Judgement::default();
    match whole(value, seed, limit, &mut findings, &mut verdict) {
        Ok(()) => {}
        Err(Stop::Long) => verdict.is_long = true,
        Err(Stop::Finding(finding)) => findings.0.insert(0, finding),
    }
    verdict.findings = findings.0;
    verdict
}

/// The hash of the records of a scenario, mended if it has to be; a word where there are no records.
pub fn records_hash(value: Json, seed: u64, limit: Duration) -> String {
    let Ok(Ok(mended)) = without_panic(|| mend::mend(value)) else { return "invalid".into() };
    records_of(&mended.value, seed, limit).map_or_else(|why| why, |run| run.records_hash().to_owned())
}

/// A scenario that is valid.
///
/// # Errors
/// In a word why there is none.
pub fn simulation_of(value: &Json) -> Result<Scenario, String> {
    match read(value) {
        Ok(Ok(scenario)) => Ok(scenario),
        Ok(Err(_)) => Err("invalid".into()),
        Err(Stop::Long) => Err("long".into()),
        Err(Stop::Finding(finding)) => Err(finding.kind),
    }
}

/// The run of a scenario, without warnings of keys that have no effect: looking for them takes longer than a short run,
/// and they are not part of the records.
///
/// # Errors
/// In a word why there is none.
pub fn records_of(value: &Json, seed: u64, limit: Duration) -> Result<Run, String> {
    let run = read(value).and_then(|scenario| match scenario {
        Ok(mut scenario) => {
            scenario.forget_written();
            simulate(&scenario, seed, limit).map(Some)
        }
        Err(_) => Ok(None),
    });
    match run {
        Ok(Some(run)) => Ok(run),
        Ok(None) => Err("invalid".into()),
        Err(Stop::Long) => Err("long".into()),
        Err(Stop::Finding(finding)) => Err(finding.kind),
    }
}

fn whole(
    value: &Json,
    seed: u64,
    limit: Duration,
    findings: &mut Findings,
    verdict: &mut Judgement,
) -> Result<(), Stop> {
    let Ok(scenario) = read(value)? else { return Ok(()) };
    let mut chance = Chance::new(seed, "variants");
    let run = simulate(&scenario, seed, limit)?;
    verdict.packet_hops = run.records.packet_hops;
    verdict.packets = run.records.conservation.sent;
    verdict.delivered = run.records.flows.iter().map(|flow| flow.bytes_delivered).sum();
    without_panic(|| {
        tables::check(&run.records, findings);
        bounds::check(&scenario, &run.records, findings);
        let _ = (run.summary(), run.manifest());
        variants::check_forms(value, &scenario, findings);
    })
    .map_err(Stop::Finding)?;
    let other = variants::reordered(value, &mut chance);
    check_order(&other, &scenario, &run, seed, limit, findings)?;
    let otherwise = variants::recorded_otherwise(value, scenario.duration.as_secs_f64());
    if let Ok(mut otherwise) = read(&otherwise)? {
        otherwise.forget_written();
        let other = simulate(&otherwise, seed, limit)?;
        without_panic(|| tables::check(&other.records, findings)).map_err(Stop::Finding)?;
        without_panic(|| bounds::check(&otherwise, &other.records, findings)).map_err(Stop::Finding)?;
        compare_totals(&run.records, &other.records, findings);
    } else {
        findings.add("a scenario with other records is refused", || otherwise.to_string());
    }
    Ok(())
}

/// The order of declaration changes neither the canonical form nor the run, and so does nothing at all.
fn check_order(
    other: &Json,
    scenario: &Scenario,
    run: &Run,
    seed: u64,
    limit: Duration,
    findings: &mut Findings,
) -> Result<(), Stop> {
    let Ok(mut reordered) = read(other)? else {
        findings.add("another order is refused", || other.to_string());
        return Ok(());
    };
    // The scenario's own run has looked for them; looking takes longer than most of these runs.
    reordered.forget_written();
    findings.expect(reordered.hash() == scenario.hash(), "another order has another hash", || {
        variants::difference(&format!("{:#}", scenario.canonical()), &format!("{:#}", reordered.canonical()))
    });
    let second = simulate(&reordered, seed, limit)?;
    if second.records_hash() == run.records_hash() {
        return Ok(());
    }
    // The order, or no reason at all.
    let again = simulate(scenario, seed, limit)?;
    let repeats = again.records_hash() == run.records_hash();
    let kind = if repeats { "another order has other records" } else { "equal seeds have other records" };
    let other = if repeats { second } else { again };
    findings.add(kind, || {
        let pairs = variants::totals(&run.records).into_iter().zip(variants::totals(&other.records));
        let differs = pairs.into_iter().find(|((_, a), (_, b))| a != b);
        differs.map_or("totals are equal".to_owned(), |((name, a), (_, b))| {
            format!("{name}: {}", variants::difference(&a, &b))
        })
    });
    Ok(())
}

fn compare_totals(a: &Records, b: &Records, findings: &mut Findings) {
    for ((name, a), (_, b)) in variants::totals(a).into_iter().zip(variants::totals(b)) {
        findings.expect(a == b, &format!("recording changes {name}"), || variants::difference(&a, &b));
    }
}

fn read(value: &Json) -> Result<Result<Scenario, skyhop_scenario::Diagnostics>, Stop> {
    without_panic(|| Scenario::from_json(value, "random", &[])).map_err(Stop::Finding)
}

fn simulate(scenario: &Scenario, seed: u64, limit: Duration) -> Result<Run, Stop> {
    let progress = Arc::new(Progress::new());
    let watch = Watch::over(Arc::clone(&progress), limit);
    let run = without_panic(|| skyhop::run(scenario, &RunOptions::with_seed(seed), &progress));
    drop(watch);
    match run {
        Err(finding) => Err(Stop::Finding(finding)),
        Ok(Err(Error::Cancelled)) => Err(Stop::Long),
        Ok(Err(error)) => Err(Stop::Finding(Finding::new("check accepts what run refuses", error.to_string()))),
        Ok(Ok(run)) => Ok(run),
    }
}

/// Cancels a run that takes longer than it may.
struct Watch {
    state: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Watch {
    fn over(progress: Arc<Progress>, limit: Duration) -> Watch {
        let state = Arc::new((Mutex::new(false), Condvar::new()));
        let shared = Arc::clone(&state);
        let thread = std::thread::spawn(move || {
            let (done, bell) = &*shared;
            let done = done.lock().unwrap_or_else(PoisonError::into_inner);
            if let Ok((done, _)) = bell.wait_timeout_while(done, limit, |done| !*done)
                && !*done
            {
                progress.cancel();
            }
        });
        Watch { state, thread: Some(thread) }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        *self.state.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.state.1.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

thread_local! {
    /// Where the last panic of this thread was.
    static PANICKED_AT: std::cell::RefCell<String> = const { std::cell::RefCell::new(String::new()) };
    /// Whether a panic of this thread becomes a finding; any other is reported as usual.
    static IS_JUDGING: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// A panic as a finding, called by its place in the source.
fn without_panic<T>(work: impl FnOnce() -> T) -> Result<T, Finding> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !IS_JUDGING.get() {
                return usual(info);
            }
            let place = info.location().map(|place| format!("{}:{}", place.file(), place.line()));
            PANICKED_AT.with(|at| *at.borrow_mut() = place.unwrap_or_default());
        }));
    });
    let was_judging = IS_JUDGING.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(work));
    IS_JUDGING.set(was_judging);
    outcome.map_err(|payload| {
        let place = PANICKED_AT.with(|at| at.borrow().clone());
        let text = message(payload.as_ref());
        Finding::new(&format!("panic at {place}"), text)
    })
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().cloned();
    text.or_else(|| payload.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}
