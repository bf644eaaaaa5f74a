//! `ideal KEY=VALUE …`: the packet-hops of a workload without a transport, as a limit for any packet-level simulator.
//!
//! It does what none of them can leave out: take the next event, take the packet off its link, look where it goes, give
//! it a departure and an arrival on the next link, and keep one event for each link. In place of TCP every flow has a
//! fixed window: the path's bandwidth-delay product and half of the bottleneck's queue, shared equally. It has no
//! losses, timers, options, records, statistics beside the mean queue, or choice of any component, and its network is
//! always a chain. So a simulator that does as much work per second as this loop would have all of these for nothing.
//! `peers/run.py` runs it beside the peers and tells it the same as them (`peers/chain.tcl` lists the keys).

#![forbid(unsafe_code)]

use cpu_time::ProcessTime;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::process::ExitCode;

#[derive(Clone, Copy)]
struct Packet {
    flow: u32,
    size_bytes: u32,
    is_ack: bool,
}

struct Link {
    ns_per_byte: f64,
    delay_ns: u64,
    free_at_ns: u64,
    waited_ns: u64,
    /// Arrivals in order.
    ring: VecDeque<(u64, Packet)>,
    /// Where data and ACKs go on from here.
    next: [Next; 2],
}

#[derive(Clone, Copy)]
enum Next {
    Link(u32),
    /// The access link of the packet's flow, counted from this one.
    Access(u32),
    Host,
}

struct Chain {
    links: Vec<Link>,
    /// Next arrivals, the earliest on top.
    events: BinaryHeap<Reverse<(u64, u32)>>,
    now_ns: u64,
}

impl Chain {
    fn send(&mut self, link: u32, packet: Packet) {
        let state = &mut self.links[link as usize];
        let start = self.now_ns.max(state.free_at_ns);
        state.waited_ns += start - self.now_ns;
        state.free_at_ns = start + (f64::from(packet.size_bytes) * state.ns_per_byte) as u64;
        let arrival = state.free_at_ns + state.delay_ns;
        state.ring.push_back((arrival, packet));
        if state.ring.len() == 1 {
            self.events.push(Reverse((arrival, link)));
        }
    }
}

struct Options(BTreeMap<String, String>);

impl Options {
    fn text(&self, key: &str) -> Result<&str, String> {
        self.0.get(key).map(String::as_str).ok_or(format!("{key}=… is missing"))
    }

    fn numbers(&self, key: &str) -> Result<Vec<f64>, String> {
        list(self.text(key)?).map_err(|error| format!("{key}: {error}"))
    }

    fn number(&self, key: &str) -> Result<f64, String> {
        self.numbers(key)?.first().copied().ok_or(format!("{key}: a number is missing"))
    }
}

fn list(text: &str) -> Result<Vec<f64>, String> {
    text.split(',').map(|word| word.parse().map_err(|_| format!("{word:?} is not a number"))).collect()
}

fn main() -> ExitCode {
    let pairs = std::env::args().skip(1).filter_map(|word| {
        let (key, value) = word.split_once('=')?;
        Some((key.to_owned(), value.to_owned()))
    });
    match run(&Options(pairs.collect())) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<String, String> {
    let flows = options.number("flows")? as u32;
    let hops: Vec<Vec<f64>> = options.text("hops")?.split('/').map(list).collect::<Result<_, _>>()?;
    let access = match options.text("access")? {
        "none" => None,
        _ => Some(options.numbers("access")?),
    };
    let [mss, header, ack_every] = ["mss", "header", "ack_every"].map(|key| options.number(key));
    let (data_bytes, ack_bytes, ack_every) = (mss? + header.clone()?, header?, ack_every? as u32);
    let bottleneck = options.number("bottleneck")? as usize;
    let [end_ns, mark_ns] = ["duration", "mark"].map(|key| options.number(key).map(|s| (s * 1e9) as u64));
    let (end_ns, mark_ns) = (end_ns?, mark_ns?);

    let (mut chain, first) = build(&hops, access.as_deref(), flows);
    let delay_s: f64 = hops.iter().chain(&access).map(|hop| hop[1]).sum::<f64>() + access.map_or(0.0, |hop| hop[1]);
    let room = if hops[bottleneck][2] < 1e6 { hops[bottleneck][2] } else { 0.0 };
    let window = hops[bottleneck][0] / 8.0 * 2.0 * delay_s / data_bytes + room / 2.0;
    let data = |flow| Packet { flow, size_bytes: data_bytes as u32, is_ack: false };
    for flow in 0..flows {
        (0..((window / f64::from(flows)) as u32).max(ack_every)).for_each(|_| chain.send(first.data(flow), data(flow)));
    }
    let (mut packet_hops, mut delivered) = (0_u64, vec![0_u32; flows as usize]);
    let mut at_mark = None;
    while let Some(Reverse((time, link))) = chain.events.pop() {
        if time > end_ns {
            break;
        }
        chain.now_ns = time;
        if time >= mark_ns && at_mark.is_none() {
            at_mark = Some((ProcessTime::now(), packet_hops));
        }
        let state = &mut chain.links[link as usize];
        let Some((_, packet)) = state.ring.pop_front() else { continue };
        let next = state.next[usize::from(packet.is_ack)];
        if let Some(&(arrival, _)) = state.ring.front() {
            chain.events.push(Reverse((arrival, link)));
        }
        packet_hops += 1;
        match next {
            Next::Link(link) => chain.send(link, packet),
            Next::Access(base) => chain.send(base + packet.flow, packet),
            Next::Host if packet.is_ack => {
                (0..ack_every).for_each(|_| chain.send(first.data(packet.flow), data(packet.flow)));
            }
            Next::Host => {
                let count = &mut delivered[packet.flow as usize];
                *count += 1;
                if count.is_multiple_of(ack_every) {
                    let ack = Packet { flow: packet.flow, size_bytes: ack_bytes as u32, is_ack: true };
                    chain.send(first.ack(packet.flow), ack);
                }
            }
        }
    }
    let (since, before) = at_mark.ok_or("nothing happens after the mark")?;
    let seconds = end_ns as f64 / 1e9;
    let goodput =
        delivered.iter().map(|&count| f64::from(count)).sum::<f64>() * 8.0 * (data_bytes - ack_bytes) / seconds;
    let queue = chain.links[2 * bottleneck].waited_ns as f64 / end_ns as f64;
    Ok(format!(
        "{{\"cpu_s\": {}, \"peak_rss_kib\": {}, \"packet_hops\": {}, \"goodput_bps\": {goodput}, \
         \"queue_mean_packets\": {queue}}}",
        since.elapsed().as_secs_f64(),
        peak_rss_kib(),
        packet_hops - before,
    ))
}

/// The first link of data and of ACKs.
struct First {
    data: Next,
    ack: Next,
}

impl First {
    fn data(&self, flow: u32) -> u32 {
        of_flow(self.data, flow)
    }

    fn ack(&self, flow: u32) -> u32 {
        of_flow(self.ack, flow)
    }
}

fn of_flow(next: Next, flow: u32) -> u32 {
    match next {
        Next::Link(link) => link,
        Next::Access(base) => base + flow,
        Next::Host => 0,
    }
}

/// The links of the chain, forward and backward in turn, then for each flow those to and from its source and its sink.
fn build(hops: &[Vec<f64>], access: Option<&[f64]>, flows: u32) -> (Chain, First) {
    let count = hops.len() as u32;
    let access_of = |kind: u32| access.map(|_| Next::Access(2 * count + kind * flows));
    let mut links = Vec::new();
    let mut add = |hop: &[f64], next: [Next; 2]| {
        let (ns_per_byte, delay_ns) = (8e9 / hop[0], (hop[1] * 1e9) as u64);
        links.push(Link { ns_per_byte, delay_ns, free_at_ns: 0, waited_ns: 0, ring: VecDeque::new(), next });
    };
    for (hop, at) in hops.iter().zip(0..count) {
        let onwards = if at + 1 < count { Next::Link(2 * at + 2) } else { access_of(2).unwrap_or(Next::Host) };
        let back = if at > 0 { Next::Link(2 * at - 1) } else { access_of(1).unwrap_or(Next::Host) };
        add(hop, [onwards; 2]);
        add(hop, [back; 2]);
    }
    if let Some(access) = access {
        // From a source into the chain, from the chain to a source; to a sink, and from it.
        let (into, back) = (Next::Link(0), Next::Link(2 * count - 1));
        for next in [into, Next::Host, Next::Host, back] {
            (0..flows).for_each(|_| add(access, [next; 2]));
        }
    }
    let first =
        First { data: access_of(0).unwrap_or(Next::Link(0)), ack: access_of(3).unwrap_or(Next::Link(2 * count - 1)) };
    (Chain { links, events: BinaryHeap::new(), now_ns: 0 }, first)
}

/// Zero where the system does not tell.
fn peak_rss_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
