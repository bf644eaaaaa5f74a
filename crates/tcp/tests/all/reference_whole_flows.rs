//! Long flows of Linux, sender and receiver together: goodput, retransmissions and the window over time.
//!
//! The first test needs `../shared`; without it it says so and is skipped. The second has its runs in the project.

use skyhop_tcp::reference::{Sample, judge_flow, read_flow_rows, read_flows, run_flow};
use std::path::PathBuf;

/// How far `ours` lies outside the recorded range, in parts of its nearer end.
fn off(ours: f64, (least, most): (f64, f64)) -> f64 {
    if ours > most { ours / most - 1.0 } else { (1.0 - ours / least).max(0.0) }
}

#[test]
fn long_flows_go_as_the_reference_says() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/reference/linux");
    if !folder.join("cases.csv").is_file() {
        eprintln!("skipped: {} is absent", folder.display());
        return;
    }
    let flows = read_flows(&folder).unwrap();
    assert!(!flows.is_empty());
    for case in flows {
        let result = run_flow(&case, Sample::Exact).remove(0);
        let figures = |name: &str| {
            let range = case.flows[0].figures[name];
            (range.least, range.most)
        };
        let name = &case.group;
        for (figure, bound) in [("goodput_Mbps", 0.02), ("segs_sent", 0.02), ("cwnd_mean", 0.05), ("cwnd_max", 0.02)] {
            let (ours, range) = (result.figures[figure], figures(figure));
            assert!(off(ours, range) <= bound, "{name}: {figure} {ours}, recorded {range:?}");
        }
        for figure in ["retrans", "drop_tail"] {
            let (ours, (least, most)) = (result.figures[figure], figures(figure));
            let bound = (0.1 * most).max(5.0);
            let range = least - bound..=most + bound;
            assert!(range.contains(&ours), "{name}: {figure} {ours}, recorded {least} to {most}");
        }
        assert_eq!(result.figures["rto_events"], figures("rto_events").0, "{name}: timeouts");
    }
    // Every measure keeps its bound, but for packets of the start: the recordings' machine stood still for some ms
    // among those of one run of reno, and bbr's first rounds follow from bandwidths in microseconds.
    let (mut all, mut missed) = (0, 0);
    for row in read_flow_rows(&folder).unwrap() {
        for one in judge_flow(&folder, &row).unwrap().measures {
            all += 1;
            if !one.ok() {
                missed += 1;
                let (name, ours, reference, bound) = (&one.name, one.ours, one.reference, one.bound);
                let words = format!("{}: {name} {ours:.4}, recorded {reference:?}, bound {bound:.4}", row.name);
                eprintln!("{words}");
                let of_start = name.starts_with("first packets") || name.starts_with("rounds");
                assert!(of_start && (row.group.ends_with("bbr") || name.starts_with("first packets")), "{words}");
            }
        }
    }
    assert!(all >= 140 && missed <= 3, "{missed} of {all} measures out of their bounds");
}

/// Random losses that the recording names, an outage that drops, pacing by TCP and a stock receive buffer, as a busy
/// machine recorded them: single packets are some ms late there, so their times prove nothing.
#[test]
fn flows_with_losses_outages_and_pacing_go_as_the_project_recorded_them() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference/linux");
    let rows = read_flow_rows(&folder).unwrap();
    assert_eq!(rows.len(), 5);
    let mut overlays = 0;
    for row in rows {
        for one in judge_flow(&folder, &row).unwrap().measures {
            let words = format!("{}: {} {:.4}, recorded {:?}", row.name, one.name, one.ours, one.reference);
            if one.name.starts_with("cwnd RMS") {
                // At a loss of 1 % the window is 12 segments, and one segment is 8 %.
                overlays += usize::from(one.ok());
                assert!(one.ours < 0.10, "{words}");
            } else if !one.name.starts_with("first packets") {
                assert!(one.ok(), "{words}");
            }
        }
    }
    assert!(overlays >= 4, "{overlays}");
}

/// Two flows over one path: packets of both fill its capacity, and each flow has figures of its own.
#[test]
fn competing_flows_share_the_capacity() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("competing-flows");
    std::fs::create_dir_all(&folder).unwrap();
    let header = "run,config,rate_bps,delay_s,limit_packets,duration_s,flows,random_loss,seed,schedule,outage,\
                  receive_buffer,paced\n";
    let row = |flows: &str, loss: &str| format!("a,a,5000000,0.03,60,20,{flows},{loss},1,,,8 MiB initial,0\n");
    std::fs::write(folder.join("targets.csv"), "config,flow,cc,metric,n,mean,min,max\n").unwrap();
    let read = |flows: &str, loss: &str| {
        std::fs::write(folder.join("cases.csv"), format!("{header}{}", row(flows, loss))).unwrap();
        read_flow_rows(&folder).unwrap().remove(0)
    };
    for flows in ["cubic+reno", "\"reno,cubic\"", "2xreno cubic@5"] {
        let row = read(flows, "");
        // The recording is not there: judging says which file or figure is missing.
        assert!(judge_flow(&folder, &row).unwrap_err().contains("targets.csv has nothing of"));
        let case = row.case.unwrap();
        let results = run_flow(&case, Sample::Exact);
        assert_eq!(results.len(), case.flows.len());
        let bits: f64 = results
            .iter()
            .zip(&case.flows)
            .map(|(result, flow)| result.figures["goodput_Mbps"] * (20.0 - flow.start.as_secs_f64()))
            .sum();
        // 1448 of 1500 bytes are data; start and repairs cost some of it.
        assert!((0.9..=1.0).contains(&(bits / (20.0 * 5.0 * 1448.0 / 1500.0))), "{flows}: {bits}");
        assert!(results.iter().all(|result| result.figures["goodput_Mbps"] > 0.3), "{flows}");
        assert_eq!(run_flow(&case, Sample::Drawn(3))[0].figures, run_flow(&case, Sample::Drawn(3))[0].figures);
        assert_ne!(run_flow(&case, Sample::Drawn(3))[0].figures, run_flow(&case, Sample::Drawn(4))[0].figures);
    }
    let message = read("cubic+carrier pigeon", "").case.unwrap_err().to_string();
    assert!(message.contains("cubic+carrier pigeon") && message.contains("2xcubic"), "{message}");
    let message = read("cubic", "1.5").case.unwrap_err().to_string();
    assert!(message.contains("probability"), "{message}");
    // Without a recording the losses are drawn, the figures of the table are judged, and the missing files are named.
    let table = "config,flow,cc,metric,n,mean,min,max\na_cubic,0,cubic,goodput_Mbps,2,2.2,1.9,2.5\n";
    let row = read("cubic", "0.01");
    assert!(row.case.as_ref().unwrap().draws_losses());
    // No measure keeps or leaves its bound because a comparison with NaN is false, or because min and max are swapped.
    for (figures, column) in
        [("2.2,nan,2.5", "min"), ("2.2,1.9,NaN", "max"), ("2.2,2.5,1.9", "min"), ("2,1.9,x", "max")]
    {
        std::fs::write(folder.join("targets.csv"), table.replace("2.2,1.9,2.5", figures)).unwrap();
        let message = read_flow_rows(&folder).unwrap_err().to_string();
        assert!(message.contains("targets.csv, row 2") && message.contains(column), "{message}");
    }
    std::fs::write(folder.join("targets.csv"), table).unwrap();
    let judged = judge_flow(&folder, &read("cubic", "0.01")).unwrap();
    assert_eq!((judged.measures.len(), judged.missing.len()), (1, 3), "{judged:?}");
    assert!(judged.measures[0].ours > 1.0 && judged.missing.contains(&"a.cwnd.csv.gz".to_owned()), "{judged:?}");
}
