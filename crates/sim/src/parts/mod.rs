//! One run on several cores: the network is cut into parts, each with an event queue of its own.
//!
//! The parts run through windows of time side by side. A packet that leaves a part takes at least the delay of the link
//! that it crosses. A window is at most as long as the shortest of these delays, so it ends before a packet that was
//! sent in it arrives (conservative synchronisation: R. Fujimoto, "Parallel discrete event simulation", CACM 33(10),
//! 1990). After each window the threads meet. Records are those of one thread, bit for bit: rows are merged in the
//! order in which one event queue would have written them. See `docs/decisions/one-run-on-several-cores.md`.

mod barrier;
mod merge;
mod part;
mod partition;
mod plan;

use crate::error::SimulationError;
use crate::flow::FlowState;
use crate::limits::{Halt, Limits};
use crate::records::Records;
use crate::settled::HandedOver;
use crate::simulation::Simulation;
use crate::spec::SimulationSpec;
use barrier::{Broken, Meeting, Word};
use part::Mail;
pub(crate) use part::Part;
use plan::{Plan, Wish};
use skyhop_base::{Duration, Index, Time};
use skyhop_topology::{LinkKind, NodeId};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

/// Delays between satellites are looked at anew after so long.
const LOOKS_AGAIN: Duration = Duration::from_millis(50);
/// No two bodies about the Earth approach each other faster than twice its escape speed, 11.2 km/s: so much of a delay
/// can go in a unit of time.
const SHRINKS: f64 = 2.0 * 11.2 / 299_792.0;

/// Rows of a table that the parts of a run keep: each of them has rows of its own for the same flows and steps, and a
/// note of the order of its events.
const MERGED_ROWS: usize = 1 << 16;
/// A run that begins again forgets in so many steps what is handed over.
const STEPS_AGAIN: u64 = 1000;

/// How a run was divided.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Division {
    /// Threads that share the run.
    pub threads: usize,
    pub parts: usize,
    /// Why the run has one part, if more were asked for.
    pub reason: Option<String>,
    /// Windows so far.
    pub windows: u64,
    /// Sum over the windows of the events of the part that had most, where one thread runs all parts: the events that
    /// a core for each part would have to handle one after the other.
    pub critical_events: u64,
}

/// A run on one or several threads. The same specification and seed give the same records, however many there are.
pub struct Execution {
    /// One without a [`Part`], or several that have one each.
    parts: Vec<Simulation>,
    /// From the second index to the first, `to * parts + from`; two sets in turn.
    mail: [Vec<Mutex<Mail>>; 2],
    lookahead: Lookahead,
    division: Division,
    limits: Option<Limits>,
    /// From what a divided run begins again.
    again: Option<(SimulationSpec, u64)>,
    /// What a divided run has handed over by then, and need not hand over again.
    handed_over: HandedOver,
    handed_over_at: Time,
}

/// The least time that a packet takes from part to part.
#[derive(Clone, Copy, Debug)]
struct Lookahead {
    /// Over wires and to the ground.
    fixed: Duration,
    /// Whether links between satellites are cut, whose delays move.
    moves: bool,
}

impl Execution {
    /// A run of `spec` on so many threads, or on one where the network cannot be cut or a cut would not pay:
    /// [`Execution::division`] says why.
    ///
    /// # Errors
    /// As [`Simulation::new`].
    pub fn new(spec: &SimulationSpec, seed: u64, threads: usize) -> Result<Execution, SimulationError> {
        let threads = threads.max(1);
        Execution::divided(spec, seed, Wish { threads, parts: threads, always: false })
    }

    /// The same with a number of parts, which are cut whether that pays or not, if they can be.
    ///
    /// # Errors
    /// As [`Simulation::new`].
    pub fn with_parts(
        spec: &SimulationSpec,
        seed: u64,
        threads: usize,
        parts: usize,
    ) -> Result<Execution, SimulationError> {
        Execution::divided(spec, seed, Wish { threads: threads.clamp(1, parts.max(1)), parts, always: true })
    }

    fn divided(spec: &SimulationSpec, seed: u64, wish: Wish) -> Result<Execution, SimulationError> {
        let first = Simulation::new(spec, seed)?;
        let whole = |first, reason| Execution {
            parts: vec![first],
            mail: Default::default(),
            lookahead: Lookahead { fixed: Duration::MAX, moves: false },
            division: Division { threads: 1, parts: 1, reason, ..Division::default() },
            limits: None,
            again: None,
            handed_over: HandedOver::default(),
            handed_over_at: Time::ZERO,
        };
        if wish.parts <= 1 {
            return Ok(whole(first, None));
        }
        let Plan { owners, parts: count, fixed_lookahead } = match plan::plan(&first, spec, wish) {
            Ok(plan) => plan,
            Err(reason) => return Ok(whole(first, Some(reason))),
        };
        let threads = wish.threads.min(count);
        let moves = first.topology.next_change() != Time::MAX
            && first.topology.links().iter().any(|link| link.kind == LinkKind::Isl);
        let memory: Arc<[AtomicU64]> = (0..count).map(|_| AtomicU64::new(0)).collect();
        let parts = build(first, (spec, seed), threads, &owners, &memory)?;
        let boxes = || (0..count * count).map(|_| Mutex::default()).collect();
        Ok(Execution {
            parts,
            mail: [boxes(), boxes()],
            lookahead: Lookahead { fixed: fixed_lookahead, moves },
            division: Division { threads, parts: count, ..Division::default() },
            limits: None,
            again: Some((spec.clone(), seed)),
            handed_over: HandedOver::default(),
            handed_over_at: Time::ZERO,
        })
    }

    /// The same run within limits. The memory is that of all parts together.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Execution {
        self.parts = self.parts.into_iter().map(|part| part.with_limits(limits.clone())).collect();
        self.limits = Some(limits);
        self
    }

    /// How the run is divided.
    pub fn division(&self) -> &Division {
        &self.division
    }

    /// Why the run has ended early, if it has.
    pub fn halted(&self) -> Option<Halt> {
        self.parts.iter().find_map(Simulation::halted)
    }

    /// Looks whether a limit ends the run.
    pub fn look_at_limits(&mut self) {
        self.parts.iter_mut().for_each(Simulation::look_at_limits);
    }

    /// The present of the run.
    pub fn now(&self) -> Time {
        self.parts[0].now()
    }

    /// How a flow is doing now.
    ///
    /// # Panics
    /// If the run has no flow of that rank.
    pub fn flow_state(&self, flow: usize) -> FlowState {
        let part_of = |end: usize| match &self.parts[0].part {
            Some(part) => part.owners[self.parts[0].to[flow][end].node as usize] as usize,
            None => 0,
        };
        let (sink, source) = (self.parts[part_of(0)].flow_state(flow), self.parts[part_of(1)].flow_state(flow));
        FlowState { bytes_delivered: sink.bytes_delivered, cwnd: source.cwnd }
    }

    /// Handles every event up to `until`, that instant included; fewer if a limit ends the run.
    ///
    /// # Panics
    /// With the panic of a thread.
    pub fn run_until(&mut self, until: Time) {
        if let [whole] = &mut self.parts[..] {
            return whole.run_until(until);
        }
        let until = until.min(self.parts[0].end());
        if self.halted().is_some() {
            return;
        }
        let per_thread = self.parts.len().div_ceil(self.division.threads);
        let meeting = Meeting::new(self.parts.len().div_ceil(per_thread));
        let shared = Shared {
            mail: &self.mail,
            meeting: &meeting,
            lookahead: self.lookahead,
            parts: self.parts.len(),
            before: until + Duration::from_nanos(1),
        };
        let work = |(thread, parts): (usize, &mut [Simulation])| {
            let done = catch_unwind(AssertUnwindSafe(|| shared.work(thread, parts)));
            if done.is_err() {
                shared.meeting.break_off();
            }
            done
        };
        let results: Vec<_> = std::thread::scope(|scope| {
            let mut chunks = self.parts.chunks_mut(per_thread).enumerate();
            let first = chunks.next();
            let threads: Vec<_> = chunks.map(|chunk| scope.spawn(move || work(chunk))).collect();
            let mine = first.map(work);
            let others = threads.into_iter().map(|thread| thread.join().and_then(|done| done));
            mine.into_iter().chain(others).collect()
        });
        let mut count = 0;
        for result in results {
            match result {
                Ok(Ok(windows)) => {
                    count = count.max(windows.count);
                    self.division.critical_events += windows.critical_events;
                }
                Ok(Err(Broken)) => {}
                Err(panic) => resume_unwind(panic),
            }
        }
        self.division.windows += count;
        if self.parts.iter().any(|part| part.part.as_ref().is_some_and(|part| part.overtaken)) {
            return self.begin_again(until);
        }
        if self.halted().is_none() {
            self.parts.iter_mut().for_each(|part| part.now = until);
            merge::merge_long_tables(&mut self.parts, MERGED_ROWS);
        }
    }

    /// A packet has come faster than any should: the records could be wrong, so the run begins again on one thread.
    /// Rows that are handed over were right, because the parts had met after all that they tell of: a packet that came
    /// too early would have been noticed by then.
    #[cold]
    fn begin_again(&mut self, until: Time) {
        let Some((spec, seed)) = &self.again else { return };
        let Ok(whole) = Simulation::new(spec, *seed) else { return };
        let mut whole = match &self.limits {
            Some(limits) => whole.with_limits(limits.clone()),
            None => whole,
        };
        let at = self.handed_over_at;
        for step in 1..=STEPS_AGAIN {
            whole.run_until(Time::from_nanos(at.as_nanos() / STEPS_AGAIN * step));
            whole.forget_handed_over(&mut self.handed_over);
        }
        whole.run_until(at);
        whole.forget_handed_over(&mut self.handed_over);
        debug_assert!(whole.halted().is_some() || self.handed_over.is_empty(), "{:?} are not there", self.handed_over);
        let reason = "a packet crossed the cut faster than its bound, so the run began again on one thread";
        self.division = Division { threads: 1, parts: 1, reason: Some(reason.to_owned()), ..Division::default() };
        whole.run_until(until);
        self.parts = vec![whole];
    }

    /// [`Simulation::take_rows`]. The rows of several parts are merged first: they stand at one instant, so all rows up
    /// to then are known.
    pub fn take_rows(&mut self, least: usize, take: impl FnOnce(&Records)) {
        if let [whole] = &mut self.parts[..] {
            return whole.take_rows(least, take);
        }
        // A limit may have ended the parts at several instants.
        if self.halted().is_none() {
            merge::take_rows(&mut self.parts, least, &mut self.handed_over, take);
            self.handed_over_at = self.now();
        }
    }

    /// Runs to the end and gives the records.
    pub fn run(mut self) -> Records {
        self.run_until(Time::MAX);
        self.finish()
    }

    /// Ends the run: merges what the parts have recorded, and sums up.
    pub fn finish(self) -> Records {
        merge::merged(self.parts).finish()
    }
}

/// Builds the parts but the first, which is there, on so many threads.
fn build(
    first: Simulation,
    (spec, seed): (&SimulationSpec, u64),
    threads: usize,
    owners: &Arc<[u32]>,
    memory: &Arc<[AtomicU64]>,
) -> Result<Vec<Simulation>, SimulationError> {
    let part = |me: u32| Simulation::new(spec, seed).map(|whole| whole.into_part(me, owners, memory));
    let others: Vec<u32> = (1..memory.len() as u32).collect();
    let built: Vec<Result<Simulation, SimulationError>> = std::thread::scope(|scope| {
        let chunks = others.chunks(others.len().div_ceil(threads).max(1));
        let work = |chunk: &[u32]| chunk.iter().map(|&me| part(me)).collect::<Vec<_>>();
        let workers: Vec<_> = chunks.map(|chunk| scope.spawn(move || work(chunk))).collect();
        let built = workers.into_iter().flat_map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic)));
        built.collect()
    });
    std::iter::once(Ok(first.into_part(0, owners, memory))).chain(built).collect()
}

/// The windows that a thread has gone through.
#[derive(Clone, Copy, Debug, Default)]
struct Windows {
    count: u64,
    critical_events: u64,
}

/// What the threads of a run share.
#[derive(Clone, Copy)]
struct Shared<'a> {
    mail: &'a [Vec<Mutex<Mail>>; 2],
    meeting: &'a Meeting,
    lookahead: Lookahead,
    parts: usize,
    /// Events from here on are not handled for now.
    before: Time,
}

impl Shared<'_> {
    /// Runs some of the parts, window by window.
    fn work(&self, thread: usize, parts: &mut [Simulation]) -> Result<Windows, Broken> {
        let mut windows = Windows::default();
        let mut halted = false;
        for round in 0_usize.. {
            let next = parts.iter_mut().map(Simulation::next_time).min().unwrap_or(Time::MAX);
            let lookahead = parts.iter_mut().map(|part| part.lookahead(self.lookahead)).min();
            let word = Word { next, lookahead: lookahead.unwrap_or(Duration::MAX), halted };
            let word = self.meeting.meet(thread, word)?;
            parts.iter_mut().for_each(|part| self.take_in(part, (round + 1) % 2));
            if word.halted || word.next >= self.before {
                break;
            }
            let Some(end) = self.end_of_window(&word, &parts[0]) else {
                parts.iter_mut().for_each(|part| part.renew_lookahead(word.next, self.lookahead));
                continue;
            };
            windows.count += 1;
            let mut most = 0;
            for part in &mut *parts {
                let before = part.event_count;
                part.run_window(end);
                most = most.max(part.event_count - before);
                part.tell_begun(end);
                self.post(part, round % 2);
                halted |= part.halted.is_some();
            }
            if parts.len() == self.parts {
                windows.critical_events += most;
            }
        }
        Ok(windows)
    }

    /// When the window that begins with the next event ends; none if the bounds of delays must be looked at before.
    fn end_of_window(&self, word: &Word, part: &Simulation) -> Option<Time> {
        let valid_until = part.part.as_ref().map_or(Time::MAX, |part| part.bound.valid_until);
        if word.next >= valid_until {
            return None;
        }
        // Links that come up at a check of the sky may be shorter, so it has a window of its own.
        let sky = part.topology.next_change();
        let sky = if sky > word.next { sky } else { word.next + Duration::from_nanos(1) };
        let end = word.next.saturating_add(word.lookahead);
        Some(end.min(sky).min(valid_until).min(self.before))
    }

    /// Takes what other parts have sent in the last window.
    fn take_in(&self, part: &mut Simulation, parity: usize) {
        let me = part.part.as_ref().map_or(0, |part| part.me as usize);
        for mail in &self.mail[parity][me * self.parts..(me + 1) * self.parts] {
            let mut mail = mail.lock().unwrap_or_else(PoisonError::into_inner);
            if !mail.is_empty() {
                part.take_in(&mut mail);
            }
        }
        part.forget_window();
    }

    /// Hands over what a part has for others.
    fn post(&self, part: &mut Simulation, parity: usize) {
        let Some(part) = &mut part.part else { return };
        let me = part.me as usize;
        for (to, mail) in part.mail.iter_mut().enumerate().filter(|(_, mail)| !mail.is_empty()) {
            let mut place = self.mail[parity][to * self.parts + me].lock().unwrap_or_else(PoisonError::into_inner);
            debug_assert!(place.is_empty(), "mail of an earlier window");
            std::mem::swap(&mut *place, mail);
        }
    }
}

/// How long a packet of this part takes to another one at least.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    least: Duration,
    valid_until: Time,
}

impl Bound {
    pub const NONE: Bound = Bound { least: Duration::ZERO, valid_until: Time::ZERO };
}

impl Simulation {
    /// The least delay of the links that leave this part, recomputed when it is out of date.
    fn lookahead(&mut self, all: Lookahead) -> Duration {
        let Some(part) = &self.part else { return Duration::MAX };
        if part.sky_changed || part.told_before >= part.bound.valid_until {
            self.renew_lookahead(part.told_before, all);
        }
        self.part.as_ref().map_or(Duration::MAX, |part| part.bound.least)
    }

    #[cold]
    fn renew_lookahead(&mut self, at: Time, all: Lookahead) {
        let Some(mut part) = self.part.take() else { return };
        let mut least = all.fixed;
        let mut valid_until = Time::MAX;
        if all.moves {
            valid_until = at.saturating_add(LOOKS_AGAIN);
            let drift = LOOKS_AGAIN.as_secs_f64() * SHRINKS;
            for (id, link) in self.topology.links().enumerated() {
                if link.kind != LinkKind::Isl || part.is_elsewhere(link.from.as_u32()) {
                    continue;
                }
                // A link that has gone down may still send what waits.
                let state = &self.links[id.index()].link;
                let waits = || state.next_begin(at).is_some() || state.holds_deferred();
                let peer = self.topology.peer(id).or_else(|| link.to.filter(|_| waits()));
                let Some(peer) = peer.filter(|peer: &NodeId| part.is_elsewhere(peer.as_u32())) else { continue };
                let delay = self.topology.delay_segment(link.from, peer, at).at(at);
                least = least.min(Duration::from_secs_f64((delay.as_secs_f64() - drift).max(1e-9)));
            }
        }
        part.bound = Bound { least, valid_until };
        part.sky_changed = false;
        self.part = Some(part);
    }
}

#[cfg(test)]
mod taken_tests;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::applications::{ConstantRateOptions, SpacingName};
    use crate::spec::{
        FlowConfig, LinkConfig, LinkConfigs, LinkVariation, OnDown, QueueConfig, QueueLimit, RecordConfig,
        RepairConfig, RunClock, TransportConfig,
    };
    use skyhop_base::{Bytes, Rate};
    use skyhop_orbit::Earth;
    use skyhop_topology::{NodeKind, NodeSpec, RoutingRules, SkyOptions, TopologySpec, WiredLink};

    /// A row of three nodes, 10 ms apart, over which datagrams go.
    pub(super) fn row() -> SimulationSpec {
        let node = |name: &str| NodeSpec { name: name.into(), kind: NodeKind::Wired };
        let wires = [(0, 1), (1, 0), (1, 2), (2, 1)].map(|(from, to)| WiredLink {
            from: NodeId::new(from),
            to: NodeId::new(to),
            delay: Duration::from_millis(10),
        });
        let rate = Rate::from_bps(1_000_000).unwrap();
        let link = LinkConfig {
            rate,
            queue: QueueConfig::drop_tail(QueueLimit::Packets(5)),
            framing_bytes: 0,
            on_down: OnDown::Drop,
            errors: Vec::new(),
            pace: LinkVariation::Steady,
            repair: RepairConfig::default(),
        };
        SimulationSpec {
            duration: Duration::from_secs(2),
            clock: RunClock::default(),
            sky: SkyOptions::default(),
            topology: TopologySpec {
                earth: Earth::WGS84,
                nodes: ["a", "b", "c"].map(node).to_vec(),
                wired: wires.to_vec(),
                isl: None,
                gsl: None,
                routing: RoutingRules::default(),
            },
            links: LinkConfigs { wired: vec![link; 4], ..LinkConfigs::default() },
            flows: vec![FlowConfig {
                name: "flow".into(),
                from: NodeId::new(0),
                to: NodeId::new(2),
                transport: TransportConfig::Udp { header_bytes: 28 },
                application: ConstantRateOptions { rate, payload: Bytes(472), spacing: Some(SpacingName::Random) }
                    .into(),
                start: Time::ZERO,
                stop: None,
                ttl: 64,
                class: 0,
                jitter: Duration::ZERO,
            }],
            labels: Default::default(),
            workloads: Vec::new(),
            agents: Vec::new(),
            records: RecordConfig::default(),
        }
    }

    fn totals(records: &Records) -> String {
        format!("{:?} {:?} {:?} {}", records.flows, records.links, records.drops, records.events)
    }

    #[test]
    fn parts_on_threads_have_the_records_of_one() {
        let alone = Simulation::new(&row(), 1).unwrap().run();
        assert!(alone.drops.len() > 10);
        for (threads, parts) in [(1, 2), (2, 2), (2, 3), (3, 3)] {
            let mut execution = Execution::with_parts(&row(), 1, threads, parts).unwrap();
            assert_eq!((execution.division().threads, execution.division().parts), (threads, parts));
            execution.run_until(Time::from_secs_f64(0.7));
            assert_eq!(execution.now(), Time::from_secs_f64(0.7));
            execution.run_until(Time::MAX);
            let windows = execution.division().windows;
            // 10 ms each; a window begins with an event, of which there is one in 4 ms or less.
            assert!((150..=204).contains(&windows), "{windows}");
            assert_eq!(totals(&execution.finish()), totals(&alone));
        }
    }

    #[test]
    fn a_wrong_bound_is_noticed_and_costs_no_record() {
        let mut execution = Execution::with_parts(&row(), 1, 2, 2).unwrap();
        execution.lookahead.fixed = Duration::from_millis(50);
        execution.run_until(Time::MAX);
        let reason = execution.division().reason.clone().unwrap_or_default();
        assert!(reason.contains("faster than its bound"), "{reason}");
        assert_eq!(totals(&execution.finish()), totals(&Simulation::new(&row(), 1).unwrap().run()));
    }

    #[test]
    fn a_limit_ends_all_parts() {
        let cancelled = Arc::new(std::sync::atomic::AtomicBool::new(true));
        let limits = Limits { cancelled, memory_bytes: u64::MAX };
        let mut execution = Execution::with_parts(&row(), 1, 2, 2).unwrap().with_limits(limits);
        execution.look_at_limits();
        assert_eq!(execution.halted(), Some(Halt::Cancelled));
        let limits = Limits { cancelled: Default::default(), memory_bytes: 1 };
        let mut execution = Execution::with_parts(&row(), 1, 2, 2).unwrap().with_limits(limits);
        execution.run_until(Time::from_secs_f64(0.1));
        execution.look_at_limits();
        assert!(matches!(execution.halted(), Some(Halt::Memory { .. })));
    }

    #[test]
    fn what_does_not_pay_stays_whole_and_says_why() {
        let execution = Execution::new(&row(), 1, 4).unwrap();
        let Division { threads, parts, reason, .. } = execution.division();
        assert_eq!((*threads, *parts), (1, 1));
        assert!(reason.as_deref().is_some_and(|reason| reason.starts_with("a cut would not pay")), "{reason:?}");
        assert_eq!(Execution::new(&row(), 1, 1).unwrap().division().reason, None);
    }
}
