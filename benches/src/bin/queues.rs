//! `cargo run --release -p skyhop-benches --bin queues`: packets per second of CPU through each queue discipline.
//!
//! One link of 100 Mbit/s, 20 flows with packets of 1000 B at random times, ECT(0), at 90 % and at 120 % of the link's
//! rate. Each row is the median of five runs over a million packets. All rows include the bookkeeping of arrivals and
//! outcomes, so compare the others with drop tail's row.

use cpu_time::ProcessTime;
use skyhop_base::{Duration, Rate, Stream, Time};
use skyhop_queue::cake::CakeConfig;
use skyhop_queue::codel::CodelConfig;
use skyhop_queue::drr::{DrrClass, DrrConfig};
use skyhop_queue::dualpi2::DualPi2Config;
use skyhop_queue::fifo::FifoConfig;
use skyhop_queue::fq::FqConfig;
use skyhop_queue::fq_codel::FqCodelConfig;
use skyhop_queue::fq_pie::FqPieConfig;
use skyhop_queue::pie::PieConfig;
use skyhop_queue::prio::PrioConfig;
use skyhop_queue::red::RedConfig;
use skyhop_queue::replay::{End, LinkStep, OfferedPacket, replay};
use skyhop_queue::sfq::SfqConfig;
use skyhop_queue::tbf::TbfConfig;
use skyhop_queue::{Ecn, Packet, QueueSpec};
use std::process::ExitCode;

const RUNS: usize = 5;
const PACKETS: u32 = 1_000_000;
const BYTES: u32 = 1000;
const FLOWS: u64 = 20;
const LOADS: [f64; 2] = [0.9, 1.2];

fn main() -> ExitCode {
    match report() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

fn report() -> Result<(), String> {
    let link = Rate::from_bps(100_000_000).ok_or("a link has a rate")?;
    let loads = LOADS.map(|load| arrivals(link, load));
    println!(
        "{:<10} {:>16} {:>12} {:>8} {:>16} {:>12} {:>8}",
        "", "90 %: million/s", "of drop tail", "dropped", "120 %: million/s", "of drop tail", "dropped"
    );
    let mut drop_tail = [1.0; LOADS.len()];
    for (name, spec) in specs(link) {
        print!("{name:<10}");
        for (arrivals, base) in loads.iter().zip(&mut drop_tail) {
            let (rate, dropped) = measure(&spec, arrivals, link)?;
            if name == "drop_tail" {
                *base = rate;
            }
            let width = if std::ptr::eq(arrivals, &loads[0]) { 15 } else { 16 };
            print!(" {rate:>width$.2} {:>10.0} % {:>6.1} %", 100.0 * rate / *base, 100.0 * dropped);
        }
        println!();
    }
    Ok(())
}

/// Million packets per second of CPU, the median; and the share that was dropped.
fn measure(spec: &QueueSpec, arrivals: &[OfferedPacket], link: Rate) -> Result<(f64, f64), String> {
    let schedule = [LinkStep { at: Time::ZERO, rate: Some(link) }];
    let end = arrivals.last().map_or(Time::ZERO, |arrival| arrival.at) + Duration::from_secs(60);
    let mut rates = Vec::new();
    let mut dropped = 0.0;
    for _ in 0..RUNS {
        let mut discipline = spec.build(Time::ZERO).map_err(|error| error.to_string())?;
        let start = ProcessTime::now();
        let packets = replay(&mut *discipline, arrivals, &schedule, end, &mut Stream::new(1, "bench", "draws"));
        rates.push(f64::from(PACKETS) / start.elapsed().as_secs_f64() / 1e6);
        let lost = packets.iter().filter(|packet| !matches!(packet.end, End::Delivered | End::Waiting)).count();
        dropped = lost as f64 / f64::from(PACKETS);
    }
    rates.sort_by(f64::total_cmp);
    Ok((rates[RUNS / 2], dropped))
}

/// Packets at exponential intervals.
fn arrivals(link: Rate, load: f64) -> Vec<OfferedPacket> {
    let mean_s = link.time_of(BYTES).as_secs_f64() / load;
    let (mut gaps, mut flows) = (Stream::new(1, "bench", "gaps"), Stream::new(1, "bench", "flows"));
    let mut at = Time::ZERO;
    (0..PACKETS)
        .map(|handle| {
            at += Duration::from_secs_f64(gaps.exponential(mean_s));
            let flow = (flows.bits() % FLOWS) as u32;
            // Four priorities, and DSCPs of cake's tins, by flow.
            let class = [0, 2, 4, 6][flow as usize % 4];
            OfferedPacket { at, packet: Packet { handle, flow, bytes: BYTES, ecn: Ecn::Ect0, class, marked: false } }
        })
        .collect()
}

/// Defaults, with limits and rates that fit the link.
fn specs(link: Rate) -> Vec<(&'static str, QueueSpec)> {
    let tbf = TbfConfig { rate: link, burst: 50_000, limit: 1_000_000, peak: None, overhead: 0, mpu: 0 };
    let class = DrrClass { limit: 50, ..DrrClass::default() };
    vec![
        ("drop_tail", QueueSpec::DropTail(FifoConfig::Packets(1000))),
        ("codel", QueueSpec::Codel(CodelConfig::default())),
        ("fq_codel", QueueSpec::FqCodel(FqCodelConfig { ecn: false, ..FqCodelConfig::default() })),
        ("pie", QueueSpec::Pie(PieConfig::default())),
        ("fq_pie", QueueSpec::FqPie(FqPieConfig::default())),
        ("dualpi2", QueueSpec::DualPi2(DualPi2Config::default())),
        ("red", QueueSpec::Red(RedConfig { bandwidth: link, ..RedConfig::default() })),
        ("tbf", QueueSpec::Tbf(tbf)),
        ("sfq", QueueSpec::Sfq(SfqConfig { limit: 1000, ..SfqConfig::default() })),
        ("drr", QueueSpec::Drr(DrrConfig { classes: vec![class; FLOWS as usize], map: None })),
        ("prio", QueueSpec::Prio(PrioConfig::default())),
        ("fq", QueueSpec::Fq(FqConfig::default())),
        ("cake", QueueSpec::Cake(CakeConfig { bandwidth: Some(link), ..CakeConfig::default() })),
    ]
}
