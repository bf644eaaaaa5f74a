//! Rows that are handed over while a divided run goes on, and what ends such a run early. Which rows they are, random
//! scenarios show (`tests/random/parts.rs`).

use super::tests::{against_the_row, row};
use super::*;
use crate::distribution::Distribution;
use crate::endpoint::{Codepoint, Endpoint, Fact, Incoming, Outgoing, Payload, Report, Transport};
use crate::errors::PacketErrors;
use crate::spec::{ArrivalConfig, ErrorConfig, FrameRepair, Repeats, TransportConfig, WorkloadConfig};
use crate::workload::tests::workload;
use skyhop_base::Stream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

/// Datagrams over three nodes, with drops, a grid, and each packet of the first link.
fn recorded() -> SimulationSpec {
    let mut spec = row();
    spec.records.grid = Some(Duration::from_millis(3));
    spec.records.packets = vec!["a->b".into()];
    spec
}

/// The rows of a run; those of packets without what they refer to, which datagrams do not have.
fn rows(records: &Records) -> Vec<String> {
    fn words<R: std::fmt::Debug>(rows: &[R]) -> impl Iterator<Item = String> + '_ {
        rows.iter().map(|row| format!("{row:?}"))
    }
    let Records { drops, flow_series, link_series, paths, packets, .. } = records;
    words(drops).chain(words(flow_series)).chain(words(link_series)).chain(words(paths)).chain(words(packets)).collect()
}

/// A run in steps of 70 ms, whose tables of at least `least` rows are taken. `between` may change it in between.
fn in_pieces(mut execution: Execution, least: usize, between: impl Fn(&mut Execution, u64)) -> (usize, Vec<String>) {
    let (mut pieces, mut all) = (0, Vec::new());
    for step in 1..=25 {
        execution.run_until(Time::from_nanos(step * 70_000_000));
        execution.take_rows(least, |records| {
            assert_eq!(records.flow_names, ["flow"]);
            pieces += 1;
            all.extend(rows(records));
        });
        between(&mut execution, step);
    }
    execution.run_until(Time::MAX);
    all.extend(rows(&execution.finish()));
    all.sort();
    (pieces, all)
}

fn sorted(spec: &SimulationSpec) -> Vec<String> {
    let mut whole = rows(&Simulation::new(spec, 1).unwrap().run());
    whole.sort();
    whole
}

#[test]
fn rows_that_are_taken_are_those_of_the_whole_run() {
    for (threads, parts) in [(1, 1), (1, 2), (2, 2), (3, 3)] {
        let mut spec = recorded();
        if parts == 3 {
            // Both ends of a recorded link are in one part.
            spec.records.packets.clear();
        }
        let whole = sorted(&spec);
        assert!(whole.len() > 1500, "{}", whole.len());
        for least in [1, 200] {
            let execution = Execution::with_parts(&spec, 1, threads, parts).unwrap();
            assert_eq!(execution.division().parts, parts);
            let (pieces, all) = in_pieces(execution, least, |_, _| {});
            assert!(pieces >= if least == 1 { 25 } else { 5 }, "{pieces}");
            assert!(all == whole, "{threads} threads, {parts} parts, {} of {} rows", all.len(), whole.len());
        }
    }
}

/// The departure of a packet is written when it arrives, and one that is repeated has departed long before.
#[test]
fn rows_of_a_link_that_repeats_wait_for_its_packets() {
    let mut spec = recorded();
    spec.links.wired[0].errors = vec![ErrorConfig::Packet(PacketErrors(0.3))];
    let frames = FrameRepair::Arq { tries: 9, repeats: Repeats::Selective, round_trip: None, answer_bytes: 0 };
    spec.links.wired[0].repair.frames = Some(frames);
    let mut packets = Vec::new();
    let mut run = Execution::new(&spec, 1, 1).unwrap();
    for ms in 1..2000 {
        run.run_until(Time::from_nanos(ms * 1_000_000));
        run.take_rows(1, |records| packets.extend(records.packets.iter().map(|row| format!("{row:?}"))));
    }
    packets.extend(run.run().packets.iter().map(|row| format!("{row:?}")));
    let whole = Simulation::new(&spec, 1).unwrap().run().packets;
    assert!(whole.iter().map(|row| format!("{row:?}")).eq(packets), "{} rows in another order", whole.len());
}

#[test]
fn rows_that_are_taken_leave_the_parts() {
    let mut execution = Execution::with_parts(&recorded(), 1, 2, 2).unwrap();
    execution.run_until(Time::from_secs_f64(1.9));
    let of_rows = |execution: &Execution| -> u64 {
        let parts = execution.parts.iter();
        parts.map(|part| part.recorder.records.memory_bytes() + part.part.as_ref().unwrap().memory_bytes()).sum()
    };
    let before = of_rows(&execution);
    execution.take_rows(1, |_| {});
    let after = of_rows(&execution);
    assert!(before > 500_000 && after < before / 10, "{before} and {after} bytes");
}

/// A run that begins again on one thread does not hand the same rows over twice.
#[test]
fn a_run_that_begins_again_hands_over_what_is_left() {
    // Back to the first part, which one thread runs first: it is ahead of the second one by a step.
    let mut spec = against_the_row(recorded());
    spec.records.packets = vec!["b->a".into()];
    let whole = sorted(&spec);
    for least in [1, 200] {
        let execution = Execution::with_parts(&spec, 1, 1, 2).unwrap();
        let (_, all) = in_pieces(execution, least, |execution, step| {
            assert_eq!(execution.division().parts, if step < 14 { 2 } else { 1 }, "step {step}");
            if step == 13 {
                // Too long for a link of 10 ms before which packets wait for up to 20 ms, and are told meanwhile.
                execution.lookahead.fixed = Duration::from_millis(200);
                execution.parts.iter_mut().filter_map(|part| part.part.as_mut()).for_each(|it| it.bound = Bound::NONE);
            }
        });
        assert!(all == whole, "{} of {} rows", all.len(), whole.len());
    }
}

/// A host that sends a packet each millisecond, tells an event for each that comes, and panics at an instant if it is
/// told to.
#[derive(Debug)]
struct Ticking {
    next: Time,
    panics_at: Time,
    sent: u32,
    untold: u32,
}

impl Ticking {
    fn boxed(panics_at: Time) -> Box<dyn Endpoint> {
        Box::new(Ticking { next: Time::MAX, panics_at, sent: 0, untold: 0 })
    }
}

impl Endpoint for Ticking {
    fn write(&mut self, now: Time, _bytes: Option<u64>) {
        self.next = now + Duration::from_millis(1);
    }

    fn on_packet(&mut self, now: Time, _packet: Incoming<'_>) {
        assert!(now < self.panics_at, "the sink breaks");
        self.untold += 1;
    }

    fn poll_fact(&mut self) -> Option<Fact> {
        self.untold = self.untold.checked_sub(1)?;
        Some(Fact::Event("came"))
    }

    fn report(&self) -> Report {
        Report { cwnd: Some(self.sent.into()), ..Report::default() }
    }

    fn next_timeout(&self) -> Time {
        self.next
    }

    fn on_timeout(&mut self, now: Time) {
        assert!(now < self.panics_at, "the source breaks");
        self.next = now + Duration::from_millis(1);
    }

    fn poll_transmit(&mut self, now: Time, payload: &mut Payload) -> Option<Outgoing> {
        // One for each time that the timer was set.
        (self.next.since(now) == Duration::from_millis(1)).then(|| {
            self.next += Duration::from_nanos(1);
            self.sent += 1;
            *payload = Payload::of(());
            Outgoing { seq: 0, size: 100, user_bytes: 60, repeats: false, ecn: Codepoint::NotEct }
        })
    }
}

#[derive(Debug)]
struct Breaking {
    source_at: Time,
    sink_at: Time,
}

impl Transport for Breaking {
    fn source(&self, _draws: Stream) -> Box<dyn Endpoint> {
        Ticking::boxed(self.source_at)
    }

    fn sink(&self, _draws: Stream) -> Box<dyn Endpoint> {
        Ticking::boxed(self.sink_at)
    }
}

/// The sink tells events whose rows have the window of the source, which may be in another part: the source's part
/// writes them once it has been asked.
#[test]
fn rows_that_a_sink_asks_for_are_taken_in_their_place() {
    let mut spec = row();
    let (source_at, sink_at) = (Time::MAX, Time::MAX);
    spec.flows[0].transport = TransportConfig::Hosts(Arc::new(Breaking { source_at, sink_at }));
    let words = |records: &Records| records.flow_events.iter().map(|row| format!("{row:?}")).collect::<Vec<_>>();
    let whole = words(&Simulation::new(&spec, 1).unwrap().run());
    assert!(whole.len() > 1000, "{}", whole.len());
    for (threads, parts) in [(1, 1), (1, 2), (2, 2), (3, 3)] {
        let mut run = Execution::with_parts(&spec, 1, threads, parts).unwrap();
        assert_eq!(run.division().parts, parts);
        let mut taken = Vec::new();
        for step in 1..=100 {
            run.run_until(Time::from_nanos(step * 19_000_000));
            run.take_rows(1, |records| taken.extend(words(records)));
        }
        assert!(taken.len() > 1000, "{}", taken.len());
        run.run_until(Time::MAX);
        taken.extend(words(&run.finish()));
        assert!(taken == whole, "{threads} threads, {parts} parts: {} of {} rows", taken.len(), whole.len());
    }
}

/// The connections of workloads have no rows of events, whoever tells them.
#[test]
fn events_of_a_workload_that_a_sink_tells_have_no_rows() {
    let mut spec = row();
    let transport = TransportConfig::Hosts(Arc::new(Breaking { source_at: Time::MAX, sink_at: Time::MAX }));
    let arrivals = ArrivalConfig::Given([(Duration::from_millis(100), Some(1000))].into());
    let (from, to) = (vec![NodeId::new(0)], vec![NodeId::new(2)]);
    let sizes = Distribution::Constant(1000.0);
    spec.workloads = vec![WorkloadConfig { from, to, transport, ..workload(arrivals, sizes) }];
    let whole = Simulation::new(&spec, 1).unwrap().run();
    assert!(whole.flow_events.is_empty() && whole.packet_hops > 2000, "{}", whole.packet_hops);
    for threads in [1, 2] {
        let run = Execution::with_parts(&spec, 1, threads, 2).unwrap();
        assert_eq!(run.division().parts, 2);
        let cut = run.run();
        assert_eq!((cut.flow_events.len(), cut.packet_hops), (0, whole.packet_hops));
    }
}

/// Runs in a thread of its own, so that a hang fails the test. Gives what `run` does.
fn within_a_minute<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || tell.send(run()));
    told.recv_timeout(std::time::Duration::from_secs(60)).expect("a thread waits for ever")
}

#[test]
fn a_panic_in_one_part_ends_the_run_with_its_message() {
    let late = Time::from_secs_f64(0.5);
    for (threads, parts) in [(1, 2), (2, 2), (2, 3), (3, 3)] {
        for (source_at, sink_at, words) in
            [(late, Time::MAX, "the source breaks"), (Time::MAX, late, "the sink breaks")]
        {
            let mut spec = row();
            spec.flows[0].transport = TransportConfig::Hosts(Arc::new(Breaking { source_at, sink_at }));
            let mut execution = Execution::with_parts(&spec, 1, threads, parts).unwrap();
            assert_eq!(execution.division().parts, parts, "{:?}", execution.division());
            let owners = execution.parts[0].part.as_ref().unwrap().owners.clone();
            assert_ne!(owners[0], owners[2], "source and sink are in one part");
            let panic = within_a_minute(move || {
                let quiet = AssertUnwindSafe(|| execution.run_until(Time::MAX));
                catch_unwind(quiet).expect_err("it went on")
            });
            let said = panic.downcast_ref::<&str>().map(|words| (*words).to_owned());
            let said = said.or_else(|| panic.downcast_ref::<String>().cloned());
            assert_eq!(said.as_deref(), Some(words), "{threads} threads and {parts} parts");
        }
    }
}

/// Limits end a run in the midst of a step, whichever thread finds out, although no window has many events.
#[test]
fn limits_end_a_divided_run_within_a_step() {
    let mut spec = row();
    spec.duration = Duration::from_secs(1_000_000);
    spec.records.grid = Some(Duration::from_micros(100));
    for (threads, parts) in [(1, 2), (2, 2), (3, 3)] {
        let cancelled = Arc::new(AtomicBool::new(false));
        let limits = Limits { cancelled: Arc::clone(&cancelled), memory_bytes: u64::MAX };
        let mut execution = Execution::with_parts(&spec, 1, threads, parts).unwrap().with_limits(limits);
        assert_eq!(execution.division().parts, parts);
        std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(30));
            cancelled.store(true, Ordering::Relaxed);
        });
        let halted = within_a_minute(move || {
            execution.run_until(Time::MAX);
            // Rows of parts that stand at several instants are not merged.
            execution.take_rows(1, |_| panic!("rows of a run that was cancelled"));
            execution.halted()
        });
        assert_eq!(halted, Some(Halt::Cancelled));
        let memory_bytes = 50_000_000;
        let limits = Limits { cancelled: Arc::default(), memory_bytes };
        let mut execution = Execution::with_parts(&spec, 1, threads, parts).unwrap().with_limits(limits);
        let halted = within_a_minute(move || {
            execution.run_until(Time::MAX);
            execution.halted()
        });
        let Some(Halt::Memory { bytes }) = halted else { panic!("{halted:?}") };
        assert!((memory_bytes..2 * memory_bytes).contains(&bytes), "{bytes}");
    }
}
