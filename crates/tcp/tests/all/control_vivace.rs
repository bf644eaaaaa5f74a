//! PCC Vivace: random loss, queues, sharing.

use crate::support::*;

/// NSDI 2018, §6.1 (Figure 6): random loss of up to 5 % hardly counts, where CUBIC keeps a small share.
#[test]
fn vivace_fills_a_path_with_random_loss() {
    let goodput = |control: &str, loss: f64| {
        let mut path = Bottleneck::new(10.0, 50.0, 60);
        path.loss = loss;
        run(&path, vec![Flow::bulk(control)], 40.0).goodput(0, 15.0, 40.0)
    };
    let (vivace, cubic) = (goodput("vivace", 0.02), goodput("cubic", 0.02));
    assert!(vivace > 8.0 && cubic < 5.0, "{vivace} Mbit/s, CUBIC {cubic}");
    assert!(goodput("vivace", 0.0) > 8.5);
}

/// §3: growth of the RTT costs, so a deep buffer stays almost empty.
#[test]
fn vivace_leaves_a_deep_buffer_to_others() {
    let queue =
        |control: &str| run(&Bottleneck::new(10.0, 50.0, 500), vec![Flow::bulk(control)], 40.0).mean_queue(15.0, 40.0);
    let (vivace, cubic) = (queue("vivace"), queue("cubic"));
    assert!(vivace < 0.2 * cubic, "{vivace} packets wait, CUBIC's {cubic}");
}

#[test]
fn vivace_follows_a_path_that_becomes_faster_and_slower() {
    let mut path = Bottleneck::new(10.0, 50.0, 100);
    path.rates = vec![(0.0, 10.0), (20.0, 20.0), (45.0, 5.0)];
    let run = run(&path, vec![Flow::bulk("vivace")], 70.0);
    let shares =
        [run.goodput(0, 10.0, 20.0) / 10.0, run.goodput(0, 30.0, 45.0) / 20.0, run.goodput(0, 55.0, 70.0) / 5.0];
    assert!(shares.iter().all(|share| *share > 0.75), "{shares:?}");
}

#[test]
fn two_vivace_flows_share() {
    let flows = vec![Flow::bulk("vivace"), Flow::bulk("vivace").from(10.0)];
    let run = run(&Bottleneck::new(20.0, 50.0, 100), flows, 100.0);
    let shares = [run.goodput(0, 50.0, 100.0), run.goodput(1, 50.0, 100.0)];
    assert!(jain(&shares) > 0.85 && shares.iter().sum::<f64>() > 16.0, "{shares:?}");
}
