//! Runs the long flows of a reference folder of Linux and prints their figures beside the recorded ones, as a table in
//! Markdown, and then what misses a bound: `flows DIR`.

use std::io::Write;
use std::path::Path;

use skyhop_tcp::reference::{Sample, judge_flow, read_flow_rows, read_flow_windows, read_flows, run_flow, window_at};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: flows DIR")?;
    let folder = Path::new(&folder);
    let mut out = std::io::stdout().lock();
    writeln!(out, "| flow | goodput Mbit/s | retransmissions | packets | mean cwnd | largest cwnd | cwnd RMS |")?;
    writeln!(out, "|---|---|---|---|---|---|---|")?;
    for case in read_flows(folder)? {
        for (number, (flow, result)) in case.flows.iter().zip(run_flow(&case, Sample::Exact)).enumerate() {
            let recorded = read_flow_windows(folder, &case.name, number)?;
            match case.flows.len() {
                1 => write!(out, "| {} ", case.group)?,
                _ => write!(out, "| {}, flow {number} ({}) ", case.group, flow.control.name())?,
            }
            for (figure, digits) in
                [("goodput_Mbps", 3), ("retrans", 0), ("segs_sent", 0), ("cwnd_mean", 1), ("cwnd_max", 0)]
            {
                let (least, most) =
                    flow.figures.get(figure).map_or((f64::NAN, f64::NAN), |range| (range.least, range.most));
                let ours = result.figures[figure];
                write!(out, "| {ours:.digits$} ({least:.digits$}")?;
                if least != most {
                    write!(out, "-{most:.digits$}")?;
                }
                write!(out, ") ")?;
            }
            let times = (1..).map(|i| f64::from(i) * 0.01).take_while(|&at| at < case.length.as_secs_f64());
            let (mut squares, mut sum, mut count) = (0.0, 0.0, 0.0);
            for at in times {
                let theirs = f64::from(window_at(&recorded, at));
                squares += (f64::from(result.window_at(at)) - theirs).powi(2);
                sum += theirs;
                count += 1.0;
            }
            writeln!(out, "| {:.1} % |", (squares / count).sqrt() / (sum / count) * 100.0)?;
        }
    }
    writeln!(out)?;
    for row in read_flow_rows(folder)? {
        match judge_flow(folder, &row) {
            Err(problem) => writeln!(out, "{}: {problem}", row.name)?,
            Ok(judged) => {
                let measures = judged.measures;
                writeln!(
                    out,
                    "{}: {} of {}",
                    row.name,
                    measures.iter().filter(|one| one.ok()).count(),
                    measures.len()
                )?;
                for one in measures.iter().filter(|one| !one.ok()) {
                    let ((least, most), name) = (one.reference, &one.name);
                    writeln!(out, "  {name} {:.4} for {least:.4} to {most:.4} ± {:.4}", one.ours, one.bound)?;
                }
            }
        }
    }
    Ok(())
}
