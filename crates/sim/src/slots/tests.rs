use super::*;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn at(n: u64) -> Time {
    Time::ZERO + ms(n)
}

/// Edges at 12, 27, 42 s; nothing but slots.
fn bare() -> SlotConfig {
    SlotConfig {
        every: ms(15_000),
        phase: ms(12_000),
        rates: vec![1_000_000],
        step: vec![Duration::ZERO],
        jitter: vec![Duration::ZERO],
        spread: vec![1.0],
        jitter_every: ms(10),
        spike: vec![Duration::ZERO],
        before: ms(75),
        after: ms(140),
        pause: vec![Duration::ZERO],
        edge_loss: [0.0; 2],
        loss: vec![0.0],
        busy_jitter: Vec::new(),
        busy_within: Duration::ZERO,
        ripple: Vec::new(),
        correlation: 0.0,
        rate_correlation: 0.0,
        hours: Vec::new(),
        time_of_day: Duration::ZERO,
        obstructed: Vec::new(),
        obstructed_at: ObstructedAt::Anywhere,
        outage: Vec::new(),
        reroute: 0.0,
        reroute_at: Vec::new(),
        stay: 0.0,
        in_flight_loss: 0.0,
        fades: None,
        grants: None,
        allowance: None,
    }
}

fn slots(config: &SlotConfig) -> SlotScheduler {
    SlotScheduler::new(config, 1, "link")
}

#[test]
fn a_bare_one_is_a_link_of_constant_rate() {
    let mut slots = slots(&bare());
    // 125 B at 1 Mbit/s take 1 ms, also over an edge.
    for n in [0, 11_999, 12_000, 26_999] {
        let served = slots.serve(at(n), 125, Idle::No, &mut Meter::default());
        assert_eq!((served.start, served.departure, served.busy), (at(n), at(n + 1), ms(1)), "{n}");
        assert_eq!((slots.delay(at(n)), slots.loss(at(n))), (Duration::ZERO, 0.0));
    }
}

#[test]
fn rate_and_step_hold_for_a_slot_and_fill_their_ranges() {
    let config = SlotConfig { rates: vec![10_000_000, 70_000_000], step: vec![ms(0), ms(4)], ..bare() };
    let mut slots = slots(&config);
    let mut seen = Vec::new();
    for n in 0..400_u64 {
        let edge = 12_000 + 15_000 * n;
        let mut of = |t| (slots.serve(at(t), 12_500, Idle::Yes, &mut Meter::default()).busy, slots.delay(at(t)));
        let first = of(edge + 200);
        assert_eq!((first, first), (of(edge + 7000), of(edge + 14_900)), "slot {n}");
        seen.push((100_000.0 / first.0.as_secs_f64(), first.1.as_secs_f64()));
    }
    // Means of 400 uniform numbers: four standard deviations are 4 · 60 / √(12 · 400) = 3.5 and 0.23.
    let rate = seen.iter().map(|(bps, _)| bps / 1e6).sum::<f64>() / 400.0;
    let step = seen.iter().map(|(_, s)| s * 1e3).sum::<f64>() / 400.0;
    assert!((rate - 40.0).abs() < 3.5 && (step - 2.0).abs() < 0.23, "{rate} {step}");
    assert!(seen.iter().all(|(bps, s)| (9.9e6..70.1e6).contains(bps) && (0.0..=4e-3).contains(s)));
}

#[test]
fn edges_delay_lose_and_pause() {
    let config = SlotConfig {
        spike: vec![ms(15), ms(25)],
        edge_loss: [0.1, 0.2],
        loss: vec![0.01],
        pause: vec![ms(60)],
        ..bare()
    };
    let mut slots = slots(&config);
    for n in [11_926, 12_000, 12_139, 26_926, 27_139] {
        let (delay, loss) = (slots.delay(at(n)), slots.loss(at(n)));
        assert!((ms(15)..=ms(25)).contains(&delay) && (0.1..=0.2).contains(&loss), "{n}: {delay} {loss}");
    }
    for n in [0, 100, 11_924, 12_140, 26_924] {
        assert_eq!((slots.delay(at(n)), slots.loss(at(n))), (Duration::ZERO, 0.01), "{n}");
    }
    // 2 ms of work: the first before the edge, the other after the pause.
    let served = slots.serve(at(11_999), 250, Idle::No, &mut Meter::default());
    assert_eq!((served.start, served.departure, served.busy), (at(11_999), at(12_061), ms(2)));
    assert_eq!(slots.serve(at(12_010), 125, Idle::No, &mut Meter::default()).start, at(12_060));
    assert_eq!(slots.serve(at(0), 125, Idle::No, &mut Meter::default()).departure, at(1), "no edge at the start");
}

#[test]
fn every_slot_draws_its_loss_and_nothing_else_changes() {
    let same = SlotConfig {
        rates: vec![10_000_000, 70_000_000],
        step: vec![ms(0), ms(4)],
        jitter: vec![ms(0), ms(9)],
        edge_loss: [0.3, 0.4],
        loss: vec![0.01],
        ..bare()
    };
    let config = SlotConfig { loss: vec![0.0, 0.01, 0.02, 0.1, 0.2], ..same.clone() };
    let [mut up, mut other] = [&config, &same].map(|config| SlotScheduler::new(config, 1, "a->b"));
    let down = SlotScheduler::new(&config, 1, "b->a");
    let mut drawn = [Vec::new(), Vec::new()];
    for n in 0..4000_u64 {
        let edge = 12_000 + 15_000 * n;
        let loss = up.loss(at(edge + 140));
        assert_eq!([loss; 2], [7000, 14_924].map(|into| up.loss(at(edge + into))), "slot {n}");
        // Near edges `edge_loss` counts, with the draws that it has without a list.
        for into in [0, 139, 14_925] {
            assert_eq!(up.loss(at(edge + into)), other.loss(at(edge + into)), "slot {n}");
        }
        let [ours, theirs] =
            [&mut up, &mut other].map(|one| one.serve(at(edge + 500), 1250, Idle::Yes, &mut Meter::default()));
        assert_eq!((ours, up.delay(at(edge + 510))), (theirs, other.delay(at(edge + 510))), "slot {n}");
        drawn[0].push(loss);
        drawn[1].push(down.loss(at(edge + 140)));
    }
    for (from, to) in [(0.0, 0.01), (0.01, 0.02), (0.02, 0.1), (0.1, 0.2)] {
        for drawn in &drawn {
            let inside = drawn.iter().filter(|&&loss| (from..to).contains(&loss)).count();
            // Five standard deviations of a count of 4000 with probability 1/4: 5 · √750 = 137.
            assert!(inside.abs_diff(1000) < 137, "{inside} from {from} to {to}");
        }
    }
    // Neighbouring slots and the two directions have nothing in common: four standard errors of 4000 are 0.063.
    let correlation = |pairs: &[(f64, f64)]| {
        let count = pairs.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / count;
        let [a, b] = [mean(|pair| pair.0), mean(|pair| pair.1)];
        let product = |of: fn(f64, f64) -> f64| pairs.iter().map(|&(x, y)| of(x - a, y - b)).sum::<f64>();
        product(|x, y| x * y) / (product(|x, _| x * x) * product(|_, y| y * y)).sqrt()
    };
    let [up, down] = drawn;
    let neighbours: Vec<(f64, f64)> = up.iter().copied().zip(up[1..].iter().copied()).collect();
    let directions: Vec<(f64, f64)> = up.iter().copied().zip(down).collect();
    assert!(correlation(&neighbours).abs() < 0.063, "{}", correlation(&neighbours));
    assert!(correlation(&directions).abs() < 0.063, "{}", correlation(&directions));
}

#[test]
fn every_edge_draws_its_pause() {
    let mut slots = slots(&SlotConfig { pause: vec![ms(59), ms(135)], ..bare() });
    let mut seen = Vec::new();
    for n in 0..400_u64 {
        let edge = 12_000 + 15_000 * n;
        let begun = |slots: &mut SlotScheduler, t| slots.serve(at(t), 125, Idle::Yes, &mut Meter::default()).start;
        let first = begun(&mut slots, edge);
        assert_eq!(begun(&mut slots, edge + 58), first, "slot {n}");
        seen.push(first.since(at(edge)).as_secs_f64() * 1e3);
    }
    // Four standard deviations of the mean of 400 are 4 · 76 / √(12 · 400) = 4.4.
    let mean = seen.iter().sum::<f64>() / 400.0;
    assert!((mean - 97.0).abs() < 4.4 && seen.iter().all(|ms| (59.0..=135.0).contains(ms)), "{mean}");
}

#[test]
fn quantiles_give_the_distribution_that_they_describe() {
    // A quarter of the values in each gap, and twice the jitter in half of the slots.
    let config = SlotConfig { step: vec![ms(0), ms(1), ms(2), ms(10), ms(50)], ..bare() };
    let drawn: Vec<f64> =
        (0..4000).map(|n| slots(&config).delay(at(20_000 + 15_000 * n)).as_secs_f64() * 1e3).collect();
    for (from, to) in [(0.0, 1.0), (1.0, 2.0), (2.0, 10.0), (10.0, 50.0)] {
        let inside = drawn.iter().filter(|&&ms| (from..to).contains(&ms)).count();
        // Five standard deviations of a count of 4000 with probability 1/4: 5 · √750 = 137.
        assert!(inside.abs_diff(1000) < 137, "{inside} from {from} to {to} ms");
    }
    let config = SlotConfig { jitter: vec![ms(0), ms(10)], spread: vec![1.0, 1.0, 3.0, 3.0], ..bare() };
    let slots = slots(&config);
    let widest =
        |slot: u64| (0..500).map(|n| slots.delay(at(12_000 + 15_000 * slot + 20 * n)).as_nanos()).max().unwrap();
    let wide = (0..300).filter(|&slot| widest(slot) > 25_000_000).count();
    let narrow = (0..300).filter(|&slot| widest(slot) <= 10_000_000).count();
    // A third of the slots each; five standard deviations of 300 are 41.
    assert!(wide.abs_diff(100 + 25) < 41 && narrow.abs_diff(100) < 41, "{wide} {narrow}");
}

#[test]
fn jitter_is_drawn_anew_in_every_interval_and_by_link() {
    let config = SlotConfig { jitter: vec![ms(0), ms(12)], ..bare() };
    let (one, other) = (SlotScheduler::new(&config, 1, "up"), SlotScheduler::new(&config, 1, "down"));
    let drawn =
        |slots: &SlotScheduler| (0..1000).map(|n| slots.delay(at(10 * n + 5)).as_secs_f64()).collect::<Vec<_>>();
    let (a, b) = (drawn(&one), drawn(&other));
    assert_ne!(a, b);
    assert_eq!(one.delay(at(51)), one.delay(at(59)));
    // Mean distance of two uniform numbers: a third of the range, 4 ms; of sums of two: 7/15, 5.6 ms (the mean
    // over 999 pairs is within 10 % of it).
    let change = |v: &[f64]| v.windows(2).map(|w| (w[1] - w[0]).abs()).sum::<f64>() / 999.0 * 1e3;
    assert!((change(&a) - 4.0).abs() < 0.4, "{}", change(&a));
    let both: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
    assert!((change(&both) - 5.6).abs() < 0.56, "{}", change(&both));
}

#[test]
fn neighbouring_slots_correlate_as_they_are_told_and_keep_their_distribution() {
    let config = SlotConfig { step: vec![ms(0), ms(100)], correlation: 0.8, ..bare() };
    let slots = slots(&config);
    let drawn: Vec<f64> = (0..4000).map(|n| slots.delay(at(12_001 + 15_000 * n)).as_secs_f64() * 10.0).collect();
    let mean = drawn.iter().sum::<f64>() / 4000.0;
    let variance = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 4000.0;
    let lag = |n: usize| {
        let products: f64 = drawn.iter().zip(&drawn[n..]).map(|(a, b)| (a - mean) * (b - mean)).sum();
        products / (4000 - n) as f64 / variance
    };
    // Uniform in [0, 1): mean 1/2, variance 1/12. Of uniform numbers behind normal ones of correlation ρ it is
    // 6/π asin(ρ/2): 0.786, and 0.622 for ρ². Four standard errors of 4000 numbers of which one in nine counts.
    assert!((mean - 0.5).abs() < 0.055 && (variance - 1.0 / 12.0).abs() < 0.015, "{mean} {variance}");
    assert!((lag(1) - 0.786).abs() < 0.06 && (lag(2) - 0.622).abs() < 0.08, "{} {}", lag(1), lag(2));
    assert!(lag(40).abs() < 0.2, "{}", lag(40));
    // A cached draw is the same draw.
    let mut served = slots.clone();
    for n in [0_u64, 7, 7, 8, 3] {
        let t = at(12_001 + 15_000 * n);
        served.serve(t, 125, Idle::Yes, &mut Meter::default());
        assert_eq!(served.delay(t), slots.delay(t));
    }
}

#[test]
fn rates_and_steps_have_correlations_of_their_own() {
    let config = SlotConfig { rates: vec![10_000_000, 70_000_000], step: vec![ms(0), ms(100)], ..bare() };
    let rates = SlotConfig { rate_correlation: 0.9, ..config.clone() };
    let steps = SlotConfig { correlation: 0.9, ..config };
    let drawn = |config: &SlotConfig| -> [Vec<f64>; 2] {
        let mut slots = slots(config);
        let times = || (0..2000).map(|n| at(12_001 + 15_000 * n));
        let rate =
            times().map(|t| 10_000.0 / slots.serve(t, 1250, Idle::Yes, &mut Meter::default()).busy.as_secs_f64());
        let rate = rate.collect();
        [rate, times().map(|t| slots.delay(t).as_secs_f64()).collect()]
    };
    let lag = |drawn: &[f64]| {
        let mean = drawn.iter().sum::<f64>() / 2000.0;
        let variance = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 2000.0;
        drawn.windows(2).map(|two| (two[0] - mean) * (two[1] - mean)).sum::<f64>() / 1999.0 / variance
    };
    // Uniform numbers behind normal ones of correlation 0.9: 6/π asin(0.45) = 0.891.
    for (config, [of_rates, of_steps]) in [(&rates, [0.891, 0.0]), (&steps, [0.0, 0.891])] {
        let [rate, step] = drawn(config).map(|drawn| lag(&drawn));
        assert!((rate - of_rates).abs() < 0.09 && (step - of_steps).abs() < 0.09, "{rate} {step}");
    }
    assert_eq!(drawn(&rates)[1], drawn(&SlotConfig { rate_correlation: 0.0, ..rates.clone() })[1]);
}

#[test]
fn the_rate_ripples_within_a_slot_around_its_mean() {
    let config = SlotConfig { rates: vec![10_000_000], ripple: vec![0.5, 1.5], jitter_every: ms(20), ..bare() };
    let mut slots = slots(&config);
    let mut took = |n: u64| slots.serve(at(20 * n), 1250, Idle::Yes, &mut Meter::default()).busy.as_secs_f64();
    let rates: Vec<f64> = (0..2000).map(|n| 10_000.0 / took(n) / 10e6).collect();
    let mean = rates.iter().sum::<f64>() / 2000.0;
    // Uniform in [0.5, 1.5): standard deviation 0.289; five standard errors are 0.032.
    assert!((mean - 1.0).abs() < 0.032 && rates.iter().all(|rate| (0.499..=1.501).contains(rate)), "{mean}");
    // A packet that takes longer than an interval meets the next rate: 100 ms at 1 Mbit/s on average.
    let long = slots.serve(at(60_000), 125_000, Idle::Yes, &mut Meter::default()).busy;
    assert!((ms(70)..ms(150)).contains(&long), "{long}");
}

#[test]
fn grants_carry_what_even_spacing_does() {
    let shift = vec![ms(0), ms(3)];
    let grants = Some(Grants { every: ms(4), length: Duration::from_micros(500), shift });
    let config = SlotConfig { rates: vec![12_000_000], ..bare() };
    let even = SlotScheduler::new(&config, 1, "a->b");
    let mut granted = SlotScheduler::new(&SlotConfig { grants, ..config }, 1, "a->b");
    // 12 Mbit/s: 6 kB in each period of 4 ms, within 0.5 ms.
    let (mut now, mut meter, mut departures) = (Time::ZERO, Meter::default(), Vec::new());
    while now < at(1000) {
        now = granted.serve(now, 1500, Idle::No, &mut meter).departure;
        departures.push(now.as_nanos());
    }
    assert!((997..=1000).contains(&departures.len()), "{}", departures.len());
    assert_eq!(even.piece(0), (12_000_000, ms(12_000).as_nanos()));
    // Each grant carries four packets; the last may end with its grant.
    let mut of_period = vec![0; 251];
    departures.iter().for_each(|ns| of_period[((ns - 1) / ms(4).as_nanos()) as usize] += 1);
    assert!(of_period[..249].iter().all(|&count| (3..=5).contains(&count)), "{of_period:?}");
    let begins: Vec<f64> =
        departures.windows(2).filter(|two| two[1] - two[0] > 600_000).map(|two| two[1] as f64).collect();
    let apart: Vec<f64> = begins.windows(2).map(|two| (two[1] - two[0]) / 1e6).collect();
    assert!(apart.iter().all(|ms| (0.9..7.1).contains(ms)), "{apart:?}");
    assert!(apart.iter().any(|ms| *ms < 2.5) && apart.iter().any(|ms| *ms > 5.5));
}

#[test]
fn hours_and_time_of_day_scale_the_rate_of_a_slot() {
    let mut hours = vec![1.0; 24];
    hours[23] = 0.25;
    let time_of_day = Duration::from_secs(23 * 3600 + 3599);
    let config = SlotConfig { rates: vec![1_000_000], hours, time_of_day, ..bare() };
    let mut slots = slots(&config);
    let mut took = |t| slots.serve(at(t), 125, Idle::Yes, &mut Meter::default()).busy;
    // Slot 0 began before midnight, slot 1 after it; a day later the same.
    assert_eq!((took(500), took(11_000), took(12_500)), (ms(4), ms(4), ms(1)));
    assert_eq!((took(86_400_500 - 15_000), took(86_412_500)), (ms(4), ms(1)));
}

#[test]
fn packets_that_follow_one_another_have_their_own_jitter() {
    let config = SlotConfig { jitter: vec![ms(50)], busy_jitter: vec![ms(2)], busy_within: ms(5), ..bare() };
    let mut slots = slots(&config);
    let mut delay = |t| {
        let served = slots.serve(at(t), 125, Idle::Yes, &mut Meter::default());
        slots.delay(served.departure)
    };
    // Each takes 1 ms: the first comes alone, the next 4 ms after its end, then 6 ms after.
    assert_eq!([delay(0), delay(5), delay(12), delay(13)], [ms(50), ms(2), ms(50), ms(2)]);
}

#[test]
fn an_obstruction_lies_within_its_slot_in_both_directions_at_once() {
    let config = SlotConfig { obstructed: vec![ms(0), ms(0), ms(3000)], loss: vec![0.01], ..bare() };
    let [up, down] = ["a->b", "b->a"].map(|name| SlotScheduler::new(&config, 1, name));
    let hidden = |slots: &SlotScheduler, slot: u64| {
        (0..1500).filter(|n| slots.loss(at(12_000 + 15_000 * slot + 10 * n)) == 1.0).count()
    };
    let of: Vec<usize> = (0..400).map(|slot| hidden(&up, slot)).collect();
    assert_eq!(of, (0..400).map(|slot| hidden(&down, slot)).collect::<Vec<_>>());
    // Half of the slots are clear, the others hidden for 1.5 s on average; five standard errors.
    let clear = of.iter().filter(|&&n| n == 0).count();
    let mean = of.iter().sum::<usize>() as f64 / 400.0 / 100.0;
    assert!(clear.abs_diff(200) < 50 && (mean - 0.75).abs() < 0.25, "{clear} {mean}");
    assert!(of.iter().all(|&n| n <= 300), "within the slot");
    let other = SlotScheduler::new(&config, 2, "a->b");
    assert_ne!(of, (0..400).map(|slot| hidden(&other, slot)).collect::<Vec<_>>());
}

#[test]
fn an_obstruction_at_the_edge_begins_with_its_slot_and_is_as_long_as_one_anywhere() {
    let anywhere = SlotConfig { obstructed: vec![ms(0), ms(0), ms(6000)], loss: vec![0.01], ..bare() };
    let edge = SlotConfig { obstructed_at: ObstructedAt::Edge, ..anywhere.clone() };
    let hidden = |config: &SlotConfig, name: &str, slot: u64| -> Vec<u64> {
        let slots = SlotScheduler::new(config, 1, name);
        (0..1500).filter(|n| slots.loss(at(12_000 + 15_000 * slot + 10 * n)) == 1.0).collect()
    };
    let mut later = 0;
    for slot in 0..200 {
        let [there, here] = [&anywhere, &edge].map(|config| hidden(config, "a->b", slot));
        // From the start of the slot without a gap; the same length, to a step of 10 ms.
        assert!(here.iter().copied().eq(0..here.len() as u64), "slot {slot}: {here:?}");
        assert!(here.len().abs_diff(there.len()) <= 1, "slot {slot}: {} and {}", here.len(), there.len());
        assert_eq!(here, hidden(&edge, "b->a", slot));
        later += u32::from(there.first().is_some_and(|&first| first > 0));
    }
    assert!(later > 80, "{later} of some 100 begin later without it");
}

#[test]
fn an_outage_ends_with_its_edge_in_both_directions_at_once() {
    let config = SlotConfig { outage: vec![ms(0), ms(0), ms(60)], loss: vec![0.01], ..bare() };
    let [up, down] = ["a->b", "b->a"].map(|name| SlotScheduler::new(&config, 1, name));
    // Milliseconds lost in the last 100 ms before the edge; they are in a row and end with it.
    let lost = |slots: &SlotScheduler, n: u64| {
        let edge = 12_000 + 15_000 * n;
        let is_lost: Vec<bool> = (edge - 100..edge).map(|t| slots.loss(at(t)) == 1.0).collect();
        let last = is_lost.iter().rev().take_while(|&&lost| lost).count();
        assert_eq!(is_lost.iter().filter(|&&lost| lost).count(), last, "edge {n}");
        assert!([0, 1, 5000].iter().all(|after| slots.loss(at(edge + after)) < 1.0), "edge {n}");
        last
    };
    let of: Vec<usize> = (0..400).map(|n| lost(&up, n)).collect();
    assert_eq!(of, (0..400).map(|n| lost(&down, n)).collect::<Vec<_>>());
    // None at half of the edges, else 0 to 60 ms: a mean of 15 ms; five standard errors are 5 · 20 / √400.
    let none = of.iter().filter(|&&n| n == 0).count();
    let mean = of.iter().sum::<usize>() as f64 / 400.0;
    assert!(none.abs_diff(200) < 50 && (mean - 15.0).abs() < 5.0, "{none} {mean}");
}

#[test]
fn a_reroute_changes_the_step_once_within_its_slot_in_both_directions_at_once() {
    let config =
        SlotConfig { step: vec![ms(0), ms(100)], reroute: 0.5, reroute_at: vec![ms(5000), ms(10_000)], ..bare() };
    let steps = |config: &SlotConfig, link: &str| -> Vec<Vec<(u64, Duration)>> {
        let slots = SlotScheduler::new(config, 1, link);
        let of = |n: u64| (0..15_000).step_by(10).map(move |into| (into, 12_000 + 15_000 * n + into));
        let in_one = |n| {
            let mut seen: Vec<(u64, Duration)> = of(n).map(|(into, t)| (into, slots.delay(at(t)))).collect();
            seen.dedup_by_key(|(_, step)| *step);
            seen
        };
        (0..400).map(in_one).collect()
    };
    let up = steps(&config, "a->b");
    assert!(up.iter().all(|of| of.len() <= 2));
    let when = |of: &[Vec<(u64, Duration)>]| -> Vec<Option<u64>> {
        of.iter().map(|of| of.get(1).map(|(into, _)| *into)).collect()
    };
    let changes = when(&up);
    assert_eq!(changes, when(&steps(&config, "b->a")));
    // Half of the slots, at 7.5 s in the mean; five standard errors of 200 are 50, of a mean over 200 0.5 s.
    let times: Vec<u64> = changes.iter().flatten().copied().collect();
    let mean = times.iter().sum::<u64>() as f64 / times.len() as f64;
    assert!(times.len().abs_diff(200) < 50 && (mean - 7500.0).abs() < 515.0, "{} {mean}", times.len());
    assert!(times.iter().all(|into| (5000..=10_010).contains(into)));
    // The second step is a draw of its own: mean 50 ms, and as far from the one before as two uniform numbers.
    let pairs: Vec<(f64, f64)> =
        up.iter().filter_map(|of| Some((of.first()?.1.as_secs_f64(), of.get(1)?.1.as_secs_f64()))).collect();
    let mean = pairs.iter().map(|(_, after)| after).sum::<f64>() / pairs.len() as f64;
    let apart = pairs.iter().map(|(before, after)| (before - after).abs()).sum::<f64>() / pairs.len() as f64;
    assert!((mean - 0.05).abs() < 0.0102 && (apart - 0.1 / 3.0).abs() < 0.0085, "{mean} {apart}");
    // With a correlation it follows what was before it, also from the cache.
    let mut correlated = SlotScheduler::new(&SlotConfig { correlation: 0.9, ..config.clone() }, 1, "a->b");
    let mut apart = 0.0;
    for (n, change) in changes.iter().enumerate().filter_map(|(n, change)| Some((n, (*change)?))) {
        let edge = 12_000 + 15_000 * n as u64;
        let [before, after] = [edge + 1, edge + change + 1].map(|t| correlated.delay(at(t)));
        correlated.serve(at(edge + 1), 125, Idle::Yes, &mut Meter::default());
        assert_eq!([before, after], [edge + 1, edge + change + 1].map(|t| correlated.delay(at(t))), "{n}");
        apart += before.as_secs_f64().max(after.as_secs_f64()) - before.as_secs_f64().min(after.as_secs_f64());
    }
    assert!(apart / times.len() as f64 <= 0.017, "{}", apart / times.len() as f64);
    // Without it the same slots have the same steps, with one draw each.
    let without = steps(&SlotConfig { reroute: 0.0, reroute_at: Vec::new(), ..config }, "a->b");
    assert!(without.iter().zip(&up).all(|(a, b)| a.len() == 1 && a[0] == b[0]));
}

#[test]
fn a_slot_may_stay_on_the_path_with_which_the_one_before_ended() {
    let config = SlotConfig { step: vec![ms(0), ms(100)], stay: 0.4, ..bare() };
    let reroute = SlotConfig { reroute: 0.5, reroute_at: vec![ms(5000)], ..config.clone() };
    for (config, correlation) in [(&config, 0.0), (&reroute, 0.0), (&reroute, 0.5)] {
        let config = SlotConfig { correlation, ..config.clone() };
        let [up, down] = ["a->b", "b->a"].map(|name| SlotScheduler::new(&config, 1, name));
        let of = |slots: &SlotScheduler, n: u64| [0, 14_999].map(|into| slots.delay(at(12_000 + 15_000 * n + into)));
        let stays = |slots: &SlotScheduler| -> Vec<bool> {
            (1..2000).map(|n| of(slots, n - 1)[1] == of(slots, n)[0]).collect()
        };
        let same = stays(&up);
        assert_eq!(same, stays(&down), "in both directions at once");
        // Five standard deviations of 1999 draws.
        let count = same.iter().filter(|&&same| same).count();
        assert!(count.abs_diff(800) < 110, "{count} of 1999 with correlation {correlation}");
        // Steps keep their distribution: mean 50 ms; five standard errors where one in ten counts.
        let mean = (0..2000).map(|n| of(&up, n)[1].as_secs_f64()).sum::<f64>() / 2000.0;
        assert!((mean - 0.05).abs() < 0.0103, "{mean}");
        // A cached draw is the same draw.
        let mut served = up.clone();
        for n in [0_u64, 7, 7, 8, 9, 10, 3] {
            served.serve(at(12_000 + 15_000 * n), 125, Idle::Yes, &mut Meter::default());
            assert!((0..12).all(|n| of(&served, n) == of(&up, n)), "{n}");
        }
    }
}

#[test]
fn an_edge_or_a_reroute_loses_what_arrives_before_the_new_path_could_carry_it() {
    let config = SlotConfig {
        step: vec![ms(40)],
        pause: vec![ms(60)],
        reroute: 1.0,
        reroute_at: vec![ms(5000)],
        in_flight_loss: 0.25,
        loss: vec![0.01],
        ..bare()
    };
    let [up, down] = ["a->b", "b->a"].map(|name| SlotScheduler::new(&config, 1, name));
    let lost = |slots: &SlotScheduler, from: u64| {
        let is_lost: Vec<bool> = (0..200).map(|n| slots.loss(at(from + n)) == 1.0).collect();
        let first = is_lost.iter().take_while(|&&lost| lost).count();
        assert_eq!(is_lost.iter().filter(|&&lost| lost).count(), first, "at {from}");
        first
    };
    let (edges, changes): (Vec<usize>, Vec<usize>) =
        (0..400).map(|n| 12_000 + 15_000 * n).map(|edge| (lost(&up, edge), lost(&up, edge + 5000))).unzip();
    for (found, whole) in [(&edges, 100), (&changes, 40)] {
        assert!(found.iter().all(|&ms| ms == 0 || ms == whole), "{found:?}");
        let count = found.iter().filter(|&&ms| ms > 0).count();
        // Five standard deviations of 400 draws of 1/4 are 43.
        assert!(count.abs_diff(100) < 43, "{count} of {whole} ms");
    }
    let back: Vec<usize> = (0..400).map(|n| lost(&down, 12_000 + 15_000 * n)).collect();
    assert_eq!(edges, back, "both directions at once");
    // A packet that leaves over the new path arrives: not before its step has passed.
    let mut slots = up.clone();
    let served = slots.serve(at(12_000), 125, Idle::Yes, &mut Meter::default());
    assert!(slots.loss(served.departure + slots.delay(served.departure)) < 1.0);
    assert!([0, 50, 11_999].iter().all(|&t| up.loss(at(t)) < 1.0), "no edge before the first one");
}

/// A slot of 80 Mbit/s, tokens of 24 Mbit/s, 3 MB of them.
fn limited(filled: f64) -> SlotConfig {
    let allowance =
        Some(Allowance { rate: 24_000_000, bytes: 3_000_000, filled, restored: Vec::new(), restored_at: None });
    SlotConfig { rates: vec![80_000_000], allowance, ..bare() }
}

/// Bytes of packets of 1500 B that a busy link has served by each of these instants, in ms from `from` on.
fn carried(slots: &mut SlotScheduler, from: u64, until: &[u64]) -> Vec<u64> {
    let (mut now, mut meter, mut sent) = (at(from), Meter::default(), 0);
    let by = |end: &u64| {
        loop {
            let served = slots.clone().serve(now, 1500, Idle::No, &mut meter);
            if served.departure > at(*end) {
                return sent;
            }
            now = slots.serve(now, 1500, Idle::No, &mut meter).departure;
            sent += 1500;
        }
    };
    until.iter().map(by).collect()
}

#[test]
fn an_allowance_lets_pass_its_volume_beyond_its_rate_and_then_its_rate_exactly() {
    let mut slots = slots(&limited(1.0));
    // Tokens go at 56 Mbit/s: 24 Mbit last 3/7 s, in which 30/7 MB pass; from then on 3 MB pass in a second.
    let sent = carried(&mut slots, 0, &[400, 429, 1429, 10_429]);
    assert_eq!(sent[0], 3_999_000, "400 ms at 80 Mbit/s: 2666 packets");
    let near = |sent: u64, exact: f64| assert!((sent as f64 - exact).abs() <= 1501.0, "{sent} for {exact}");
    // In any time t it is 3 MB + 3 MB/s · t, to one packet, over the edge at 12 s, too.
    for (sent, t) in sent[1..].iter().zip([0.429, 1.429, 10.429]) {
        near(*sent, 3e6 + 3e6 * t);
    }
    // Half a second without traffic gives half a second of tokens.
    let later = carried(&mut slots, 10_929, &[11_929, 12_929]);
    near(later[0], 1.5e6 + 3e6);
    near(later[1], 1.5e6 + 6e6);
}

#[test]
fn a_bucket_fills_no_further_than_its_volume_and_begins_as_full_as_it_is_told() {
    for (filled, from, more) in [(0.0, 0, 0.0), (0.5, 0, 1.5e6), (0.0, 500, 1.5e6), (0.0, 9000, 3e6), (1.0, 9000, 3e6)]
    {
        let sent = carried(&mut slots(&limited(filled)), from, &[from + 2000])[0] as f64;
        assert!((sent - 6e6 - more).abs() <= 1501.0, "{sent} with {filled} at {from} ms");
    }
}

#[test]
fn tokens_that_a_slower_slot_leaves_are_used_later_and_the_next_start_waits_for_tokens() {
    // 12 Mbit/s leave half of the tokens, until the bucket is full.
    let slow = SlotConfig { rates: vec![12_000_000], ..limited(0.0) };
    assert_eq!(carried(&mut slots(&slow), 0, &[3000]), [4_500_000]);
    let mut of_none = slots(&SlotConfig { rates: vec![12_000_000], ..limited(0.0) });
    carried(&mut of_none, 0, &[500]);
    of_none.config.rates = vec![80_000_000];
    let sent = carried(&mut of_none, 500, &[1500])[0] as f64;
    assert!((sent - 3e6 - 0.75e6).abs() <= 3001.0, "{sent}");
    // 1500 B of an empty bucket are owed for 0.5 ms, whoever asks; the packet itself takes 0.15 ms.
    let mut empty = slots(&limited(0.0));
    let first = empty.serve(at(0), 1500, Idle::Yes, &mut Meter::default());
    assert_eq!((first.start, first.departure), (at(0), Time::from_nanos(150_000)));
    assert_eq!(empty.next_start(first.departure), Time::from_nanos(500_000));
    assert_eq!(empty.next_start(at(2)), at(2));
    let second = empty.serve(first.departure, 1500, Idle::No, &mut Meter::default());
    assert_eq!((second.start, second.busy), (Time::from_nanos(500_000), Duration::from_nanos(150_000)));
}

#[test]
fn a_bucket_is_restored_as_a_whole_while_a_flow_sends_at_its_rate() {
    let with = |restored: Vec<Duration>, restored_at: Option<Duration>| {
        let mut config = limited(1.0);
        config.allowance = config.allowance.map(|bucket| Allowance { restored, restored_at, ..bucket });
        slots(&config)
    };
    let mut never = with(Vec::new(), None);
    let mut often = with(vec![ms(4000)], Some(ms(2000)));
    // 3 MB each second, and the 3 MB of the bucket once, and again from 2, 6 and 10 s on. A packet is 1500 B.
    let near = |found: Vec<u64>, mb: &[u64]| {
        assert!(found.iter().zip(mb).all(|(found, mb)| found.abs_diff(1_000_000 * mb) <= 3000), "{found:?} {mb:?}");
    };
    let times = [1999, 4000, 5999, 9999, 11_000];
    near(carried(&mut never, 0, &times), &[9, 15, 21, 33, 36]);
    near(carried(&mut often, 0, &times), &[9, 18, 24, 39, 45]);
    // No more than its volume is there after many restorations, nor after one at t = 0.
    for (restored, restored_at, filled) in [(ms(1000), ms(500), 1.0), (ms(60_000), ms(0), 0.0)] {
        let mut config = limited(filled);
        config.allowance =
            config.allowance.map(|one| Allowance { restored: vec![restored], restored_at: Some(restored_at), ..one });
        near(carried(&mut slots(&config), 10_510, &[11_177]), &[5]);
    }
}

#[test]
fn restorations_are_as_far_apart_as_drawn_and_begin_at_any_time() {
    // A packet owes hours of tokens at 1 bit/s, so the next one may leave when the bucket is restored.
    let times = |restored: &[u64], restored_at: Option<u64>, link: usize| -> Vec<f64> {
        let allowance = Some(Allowance {
            rate: 1,
            bytes: 1,
            filled: 0.0,
            restored: restored.iter().map(|&s| ms(1000 * s)).collect(),
            restored_at: restored_at.map(|s| ms(1000 * s)),
        });
        let config = SlotConfig { rates: vec![1_000_000_000], allowance, ..bare() };
        let mut slots = SlotScheduler::new(&config, 1, &format!("a->{link}"));
        slots.serve(Time::ZERO, 1500, Idle::Yes, &mut Meter::default());
        let mut next = || slots.serve(at(1), 1500, Idle::Yes, &mut Meter::default()).start.as_secs_f64();
        (0..3).map(|_| next()).collect()
    };
    assert_eq!(times(&[20], Some(7), 0), [7.0, 27.0, 47.0]);
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    let every: Vec<Vec<f64>> = (0..2000).map(|link| times(&[20], None, link)).collect();
    assert!(every.iter().all(|one| (one[2] - one[1] - 20.0).abs() < 1e-6 && (0.0..=20.0).contains(&one[0])));
    // Four standard errors of 2000 uniform numbers up to 20 are 0.52.
    let first = mean(every.iter().map(|one| one[0]).collect());
    assert!((first - 10.0).abs() < 0.52, "{first}");
    let drawn: Vec<Vec<f64>> = (0..2000).map(|link| times(&[10, 20, 30], None, link)).collect();
    let apart = mean(drawn.iter().map(|one| one[2] - one[1]).collect());
    assert!((apart - 20.0).abs() < 0.52, "{apart}");
    assert!(drawn.iter().all(|one| (9.999..30.001).contains(&(one[2] - one[1]))));
    // The rest of the time that is under way, E(T²) / 2 E(T): 433.3 / 40 and 617.3 / 44. Halves of the means would be
    // 10 and 11.
    let first = mean(drawn.iter().map(|one| one[0]).collect());
    assert!((first - 10.83).abs() < 0.6, "{first}");
    let first = mean((0..2000).map(|link| times(&[2, 42], None, link)[0]).collect());
    assert!((first - 14.03).abs() < 0.95, "{first}");
}
