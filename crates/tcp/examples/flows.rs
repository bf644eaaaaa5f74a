//! Runs the long flows of a reference folder of Linux and prints their figures beside the recorded ones, as a table in
//! Markdown: `flows DIR`.

use std::io::Write;
use std::path::Path;

use skyhop_tcp::reference::{read_flow_windows, read_flows, run_flow, window_at};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: flows DIR")?;
    let folder = Path::new(&folder);
    let mut out = std::io::stdout().lock();
    writeln!(out, "| flow | goodput Mbit/s | retransmissions | packets | mean cwnd | largest cwnd | cwnd RMS |")?;
    writeln!(out, "|---|---|---|---|---|---|---|")?;
    for case in read_flows(folder)? {
        let result = run_flow(&case);
        let recorded = read_flow_windows(folder, &case.name)?;
        write!(out, "| {} ", case.group)?;
        for (figure, digits) in
            [("goodput_Mbps", 3), ("retrans", 0), ("segs_sent", 0), ("cwnd_mean", 1), ("cwnd_max", 0)]
        {
            let (least, most) = case.figures.get(figure).copied().unwrap_or((f64::NAN, f64::NAN));
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
    Ok(())
}
