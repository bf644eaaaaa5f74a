//! One run on several cores: the network is cut into parts, each with an event queue of its own.
//!
//! A packet that leaves a part takes at least the delay of the link that it crosses, the part's lookahead. Each part
//! publishes the time before which nothing more of it arrives elsewhere, and goes on as far as the others allow
//! (conservative synchronisation: R. Fujimoto, "Parallel discrete event simulation", CACM 33(10), 1990). So a part may
//! be ahead of another by a lookahead, and a burst of packets that crosses keeps first one part busy and then the
//! other without a wait. The threads meet where delays change and after many lookaheads. Records are those of one
//! thread, bit for bit: rows are merged in the order in which one event queue would have written them. See
//! `docs/decisions/one-run-on-several-cores.md`.

mod barrier;
mod crowd;
mod horizon;
mod merge;
mod part;
mod partition;
mod plan;
mod workers;

use crate::error::SimulationError;
use crate::flow::FlowState;
use crate::limits::{Halt, Limits};
use crate::records::Records;
use crate::settled::HandedOver;
use crate::simulation::Simulation;
use crate::spec::SimulationSpec;
use barrier::{Broken, Meeting, Waiting, Word};
use crowd::Crowd;
use horizon::{Horizons, Mailboxes, Schedule};
pub(crate) use part::Part;
use plan::{Plan, Wish};
use skyhop_base::{Duration, Index, Time};
use skyhop_topology::{LinkId, LinkKind, NodeId};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Instant;
use workers::Workers;

/// Delays between satellites are looked at anew after so long.
const LOOKS_AGAIN: Duration = Duration::from_millis(250);
/// No two bodies about the Earth approach each other faster than twice its escape speed, 11.2 km/s: so much of a delay
/// can go in a unit of time.
const SHRINKS: f64 = 2.0 * 11.2 / 299_792.0;

/// The threads meet after so many lookaheads.
const LOOKAHEADS: u64 = 64;
/// A part tells others how far it is this many times in a lookahead. More often costs time, and the others wait less.
const TOLD_IN_LOOKAHEAD: u64 = 2;

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
    /// Windows so far: the threads meet at the end of each.
    pub windows: u64,
    /// Where one thread runs all parts: how long the run would take if each part had a core, in the time of an event.
    /// A part waits where others have not come far enough.
    pub critical_events: u64,
    /// How long threads have waited for each other, all of them together.
    pub waited: std::time::Duration,
    /// How often a single thread took over all parts, because the threads mostly waited.
    pub rests: u64,
    /// How long the first part has renewed the sky and the routes. Every part does so, whatever their number.
    pub renewed: std::time::Duration,
}

/// A run on one or several threads. The same specification and seed give the same records, however many there are.
pub struct Execution {
    /// One without a [`Part`], or several that have one each.
    parts: Vec<Simulation>,
    mail: Arc<Mailboxes>,
    horizons: Arc<Horizons>,
    workers: Workers,
    lookahead: Lookahead,
    division: Division,
    crowd: Crowd,
    limits: Option<Limits>,
    /// From what a divided run begins again.
    again: Option<Again>,
    /// What a divided run has handed over by then, and need not hand over again.
    handed_over: HandedOver,
    handed_over_at: Time,
}

/// What a run was built from.
struct Again {
    spec: SimulationSpec,
    seed: u64,
    threads: usize,
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
    /// A run of `spec` on so many threads, or on one where the network cannot be divided or a division would not pay:
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
        // While parts are planned, and if there is one, nothing else uses the threads.
        let first = Simulation::with_threads(spec, seed, wish.threads)?;
        let whole = |first, reason| Execution {
            parts: vec![first],
            mail: Mailboxes::new(0).into(),
            horizons: Horizons::new(0).into(),
            workers: Workers::default(),
            lookahead: Lookahead { fixed: Duration::MAX, moves: false },
            division: Division { threads: 1, parts: 1, reason, ..Division::default() },
            crowd: Crowd::default(),
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
        Ok(Execution {
            parts,
            mail: Mailboxes::new(count).into(),
            horizons: Horizons::new(count).into(),
            workers: Workers::default(),
            lookahead: Lookahead { fixed: fixed_lookahead, moves },
            division: Division { threads, parts: count, ..Division::default() },
            crowd: Crowd::default(),
            limits: None,
            again: Some(Again { spec: spec.clone(), seed, threads: wish.threads }),
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

    /// The most threads that have found positions or routes together. Each part finds its routes alone.
    pub fn route_threads(&self) -> usize {
        self.parts.iter().map(|part| part.topology.route_threads()).max().unwrap_or(1)
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
        while !self.run_some(until + Duration::from_nanos(1)) {}
        if self.parts.iter().any(Simulation::is_overtaken) {
            return self.begin_again(until);
        }
        if self.halted().is_none() {
            self.parts.iter_mut().for_each(|part| part.now = until);
            merge::merge_long_tables(&mut self.parts, MERGED_ROWS);
        }
    }

    /// Handles events before an instant for a while; whether there are none left.
    fn run_some(&mut self, before: Time) -> bool {
        // The system may not give as many.
        self.division.threads = self.workers.get(self.division.threads);
        let threads = if self.crowd.rests() { 1 } else { self.division.threads };
        let threads = self.parts.len().div_ceil(self.parts.len().div_ceil(threads));
        let begin = Instant::now();
        let shared = Shared {
            mail: self.mail.clone(),
            horizons: self.horizons.clone(),
            meeting: Arc::new(Meeting::new(threads)),
            lookahead: self.lookahead,
            parts: self.parts.len(),
            before,
            begin,
        };
        let (mut count, mut goes_on, mut waited) = (0, false, std::time::Duration::ZERO);
        for outcome in self.workers.run(threads, &mut self.parts, &shared) {
            match outcome {
                Ok(Ok(windows)) => {
                    count = count.max(windows.count);
                    goes_on = windows.go_on;
                    waited += windows.waited;
                    self.division.critical_events += windows.critical_events;
                }
                Ok(Err(Broken)) => {}
                Err(panic) => resume_unwind(panic),
            }
        }
        self.division.windows += count;
        self.division.waited += waited;
        let rested = self.crowd.rests();
        self.crowd.note(threads, waited, begin.elapsed());
        self.division.rests += u64::from(!rested && self.crowd.rests());
        self.division.renewed = self.parts[0].part.as_ref().map(|part| part.renewed()).unwrap_or_default();
        !goes_on
    }

    /// A packet has come faster than any should: the records could be wrong, so the run begins again on one thread.
    /// Rows that are handed over were right, because the parts had met after all that they tell of: a packet that came
    /// too early would have been noticed by then.
    #[cold]
    fn begin_again(&mut self, until: Time) {
        let Some(Again { spec, seed, threads }) = &self.again else { return };
        let Ok(whole) = Simulation::with_threads(spec, *seed, *threads) else { return };
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
    waited: std::time::Duration,
    /// The threads have paused before the end.
    go_on: bool,
}

/// What the threads of a run share.
#[derive(Clone)]
struct Shared {
    mail: Arc<Mailboxes>,
    horizons: Arc<Horizons>,
    meeting: Arc<Meeting>,
    lookahead: Lookahead,
    parts: usize,
    /// Events from here on are not handled for now.
    before: Time,
    /// When the threads began.
    begin: Instant,
}

/// A time during which bounds of delays hold and the sky stays as it is.
#[derive(Clone, Copy)]
struct Window {
    begin: Time,
    end: Time,
    /// Between two times at which a part tells the others how far it is.
    step: Duration,
}

impl Shared {
    /// Runs some of the parts, window by window.
    fn work(&self, thread: usize, parts: &mut [Simulation]) -> Result<Windows, Broken> {
        let (mut windows, mut waiting) = (Windows::default(), Waiting::default());
        let mut schedule = (parts.len() == self.parts).then(|| Schedule::new(self.parts));
        loop {
            let next = parts.iter_mut().map(Simulation::next_time_of_all).min().unwrap_or(Time::MAX);
            let lookahead = parts.iter_mut().map(|part| part.lookahead(self.lookahead)).min();
            let halted = parts.iter().any(|part| part.halted.is_some() || part.is_overtaken());
            let pauses = thread == 0 && windows.count > 0 && self.begin.elapsed() >= crowd::TURN;
            let word = Word { next, lookahead: lookahead.unwrap_or(Duration::MAX), halted, pauses };
            let word = self.meeting.meet(thread, word, &mut waiting)?;
            for part in &mut *parts {
                self.mail.take_in(part);
                part.answer_asked(part.told_before());
                debug_assert!(part.is_overtaken() || part.next_time() >= word.next, "an event before the window");
            }
            windows.go_on = !word.halted && word.next < self.before;
            if !windows.go_on || word.pauses {
                break;
            }
            let Some(window) = self.window(&word, &parts[0]) else {
                parts.iter_mut().for_each(|part| part.renew_lookahead(word.next, self.lookahead));
                continue;
            };
            windows.count += 1;
            self.run_window(parts, window, schedule.as_mut(), &mut waiting)?;
            windows.critical_events += schedule.as_mut().map_or(0, Schedule::end_window);
        }
        windows.waited = waiting.total;
        Ok(windows)
    }

    /// The window that begins with the next event; none if the bounds of delays must be looked at before.
    fn window(&self, word: &Word, part: &Simulation) -> Option<Window> {
        let valid_until = part.part.as_ref().map_or(Time::MAX, |part| part.bound.valid_until);
        if word.next >= valid_until {
            return None;
        }
        // Links that come up at a check of the sky may be shorter, so it has a window of its own.
        let sky = part.topology.next_change();
        let sky = if sky > word.next { sky } else { word.next + Duration::from_nanos(1) };
        let several = Duration::from_nanos(word.lookahead.as_nanos().saturating_mul(LOOKAHEADS));
        let end = word.next.saturating_add(several).min(sky).min(valid_until).min(self.before);
        let step = Duration::from_nanos((word.lookahead.as_nanos() / TOLD_IN_LOOKAHEAD).max(1));
        Some(Window { begin: word.next, end, step })
    }

    /// Runs some of the parts through a window, each as far as the others allow.
    fn run_window(
        &self,
        parts: &mut [Simulation],
        window: Window,
        mut schedule: Option<&mut Schedule>,
        waiting: &mut Waiting,
    ) -> Result<(), Broken> {
        for part in &mut *parts {
            part.begin_window(window.end);
            self.mail.post(part);
            let horizon = window.begin.saturating_add(part.least_delay()).min(window.end);
            self.horizons.publish(part.index(), window.begin, horizon);
            if let Some(schedule) = &mut schedule {
                schedule.publish(part.index(), horizon);
            }
        }
        loop {
            let (mut waits, mut all_done) = (true, true);
            for part in &mut *parts {
                if part.told_before() >= window.end {
                    continue;
                }
                all_done = false;
                let (others_at, limit) = self.horizons.of_others(part.index(), window.end);
                if limit <= part.told_before() {
                    continue;
                }
                // Before the work, or that would count as a wait.
                waiting.ends();
                waits = false;
                // Whatever arrives before the limit was posted before the limit was published.
                self.mail.take_in(part);
                if part.is_overtaken() {
                    // Nothing after it is worth while: the run begins again.
                    self.meeting.call_off();
                    continue;
                }
                part.answer_asked(others_at);
                let before = part.event_count;
                let begin = part.next_time();
                let until = if begin < limit {
                    let until = limit.min(begin.saturating_add(window.step));
                    part.run_window(until);
                    part.tell_begun(until);
                    self.mail.post(part);
                    // Nothing of this part begins before its next event, or before something comes.
                    until.max(part.next_time().min(limit))
                } else {
                    limit
                };
                part.set_told_before(until);
                let horizon = until.saturating_add(part.least_delay()).min(window.end);
                self.horizons.publish(part.index(), until, horizon);
                if let Some(schedule) = &mut schedule {
                    schedule.runs(part.index(), until, part.event_count - before);
                    schedule.publish(part.index(), horizon);
                }
                if part.halted.is_some() {
                    self.meeting.call_off();
                }
            }
            if all_done || self.meeting.is_called_off() {
                waiting.ends();
                return Ok(());
            }
            if waits {
                self.meeting.wait(waiting)?;
            }
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
    /// The number of the part that it is.
    fn index(&self) -> usize {
        self.part.as_ref().map_or(0, |part| part.me as usize)
    }

    /// Whether a packet has come too late.
    fn is_overtaken(&self) -> bool {
        self.part.as_ref().is_some_and(|part| part.overtaken)
    }

    /// Services that begin before it have been told.
    fn told_before(&self) -> Time {
        self.part.as_ref().map_or(Time::MAX, |part| part.told_before)
    }

    /// No service begins before `time` that is not told.
    fn set_told_before(&mut self, time: Time) {
        if let Some(part) = &mut self.part {
            part.told_before = time;
        }
    }

    /// How long a packet takes to another part at least, as of the last look at the links.
    fn least_delay(&self) -> Duration {
        self.part.as_ref().map_or(Duration::MAX, |part| part.bound.least)
    }

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
            for &id in &part.own_isls {
                let (id, link) = (LinkId::new(id), &self.topology.links()[LinkId::new(id)]);
                // A link that has gone down may still send what waits.
                let state = &self.links[id.index()].link;
                let waits = || state.next_begin(&self.pool, at).is_some() || state.holds_deferred();
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
    use crate::applications::{ConstantRateOptions, FtpOptions, SpacingName};
    use crate::spec::{
        FlowConfig, LinkConfig, LinkConfigs, LinkVariation, OnDown, QueueConfig, QueueLimit, RecordConfig,
        RepairConfig, RunClock, TransportConfig,
    };
    use skyhop_base::{Bytes, Rate};
    use skyhop_orbit::Earth;
    use skyhop_topology::{NodeKind, NodeSpec, RoutingRules, SkyOptions, TopologySpec, WiredLink};
    use skyhop_transport::{Profile, TcpSpec};

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

    /// The same with data from the last node to the first.
    pub(super) fn against_the_row(mut spec: SimulationSpec) -> SimulationSpec {
        (spec.flows[0].from, spec.flows[0].to) = (spec.flows[0].to, spec.flows[0].from);
        spec
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
            // 64 lookaheads of 10 ms each, and one ends at 0.7 s.
            assert_eq!(windows, 5);
            assert_eq!(totals(&execution.finish()), totals(&alone));
        }
    }

    /// Two segments and their ACKs by turns: where a window ends, nothing is left to happen but packets that are on the
    /// cut link, and the first of them must begin the next window. Else its ACK comes before the near part expects it.
    #[test]
    fn packets_on_a_cut_link_begin_the_next_window() {
        let mut spec = row();
        let tcp = serde_json::json!({ "recovery": "sack", "window": 2, "initial_window": 2, "ack_every": 1 });
        let tcp = serde_json::from_value::<TcpSpec>(tcp).unwrap().resolve(Profile::Rfc).unwrap();
        spec.flows[0].transport = TransportConfig::Tcp(Box::new(tcp));
        (spec.flows[0].to, spec.flows[0].application) = (NodeId::new(1), FtpOptions::default().into());
        spec.links.wired.iter_mut().for_each(|link| link.rate = Rate::from_bps(1_500_000).unwrap());
        spec.duration = Duration::from_secs(600);
        let alone = Simulation::new(&spec, 1).unwrap().run();
        assert!(alone.packet_hops > 1000, "{}", alone.packet_hops);
        for threads in [1, 2] {
            let mut execution = Execution::with_parts(&spec, 1, threads, 2).unwrap();
            execution.run_until(Time::MAX);
            assert_eq!((execution.division().parts, &execution.division().reason), (2, &None));
            assert_eq!(totals(&execution.finish()), totals(&alone));
        }
    }

    #[test]
    fn a_wrong_bound_is_noticed_and_costs_no_record() {
        let spec = against_the_row(row());
        let mut execution = Execution::with_parts(&spec, 1, 1, 2).unwrap();
        execution.lookahead.fixed = Duration::from_millis(50);
        execution.run_until(Time::MAX);
        let reason = execution.division().reason.clone().unwrap_or_default();
        assert!(reason.contains("faster than its bound"), "{reason}");
        assert_eq!(totals(&execution.finish()), totals(&Simulation::new(&spec, 1).unwrap().run()));
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
        assert!(reason.as_deref().is_some_and(|reason| reason.starts_with("a division would not pay")), "{reason:?}");
        assert_eq!(Execution::new(&row(), 1, 1).unwrap().division().reason, None);
    }
}
