//! Scratch: one case, printed.
use skyhop_quic::lab::{cases, run};
use std::path::Path;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let folder = Path::new(&args[1]);
    for case in cases::read(folder).unwrap() {
        if !case.name.contains(&args[2]) || (args[2].ends_with('$') ) { continue; }
        for r in case.runs.iter().take(1) {
            let t = std::time::Instant::now();
            let habits = match args.get(3).map(|s| s.as_str()) { Some("exact") => run::Habits::Exact, Some("xt") => run::Habits::ExactTimers, Some("single") => run::Habits::TokioSingle, _ => run::Habits::Tokio };
            let Some(o) = run::run(&case, r, habits, 1) else { continue };
            let o = o.unwrap();
            for (f, m) in o.flows.iter().zip(&r.flows) {
                let m = &m.measured;
                println!("{} r{}: hs {:?}/{:?} fb {:?}/{:?} compl {:?}/{:?} goodput {:?}/{:?} sent {}/{:?} wire {}/{:?} tail {}/{:?} rtt {:?}/{:?} peak {}/{:?} app {}/{:?} ftd {:?} holes {} ppc {:.2} death {:?} [{:.1?}]", case.name, r.number, f.handshake_s, m.handshake_s, f.first_byte_s, m.first_byte_s, f.completion_s, m.completion_s, f.goodput_bps.map(|x| x.round()), m.goodput_bps, f.sent_packets, m.sent_packets, f.wire_data_packets, m.wire_data_packets, f.tail_drops, m.tail_drops, f.mean_rtt_ms, m.mean_rtt_ms, f.peak_cwnd, m.peak_cwnd, f.app_bytes, m.app_bytes, f.first_tail_drop, f.holes, f.packets_per_call, f.death, t.elapsed());
            }
            if args.len() > 4 {
                let s = cases::start(folder, &case.name).unwrap().unwrap();
                let n: usize = args[4].parse().unwrap();
                for (a, b) in o.start.iter().zip(&s).take(n) {
                    println!("{:.6} {} {} {} | {:.6} {} {} {}", a.at.as_secs_f64(), a.flow, if a.data {"D"} else {"A"}, a.length, b.t_in_s, b.flow, if b.data {"D"} else {"A"}, b.length);
                }
            }
        }
    }
}
