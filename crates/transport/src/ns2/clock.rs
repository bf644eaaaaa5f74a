//! ns-2's random phase of the clock that measures RTT (boot_time_).
//!
//! ns-2's default generator, MRG32k3a (L'Ecuyer 1999) with all six seeds equal, gives every agent a number when it is
//! made (Vegas takes two) and again when the simulation starts; the second one is the phase. At the start nodes are
//! visited in the order of Tcl's hash table of their numbers.
//!
//! The numbers of nodes are those of a dumbbell whose two routers are made first, then source and sink of each flow:
//! 0, 1, and 2 + 2 i, 3 + 2 i. Another order of creation in a script would deal out the same numbers in another order.

use crate::{Recovery, RttArithmetic, TcpConfig};

/// MRG32k3a.
struct Generator {
    first: [i64; 3],
    second: [i64; 3],
}

const M1: i64 = 4_294_967_087;
const M2: i64 = 4_294_944_443;
/// ns-2 tcpTick_.
const TICK_S: f64 = 0.01;

impl Generator {
    fn new(seed: u32) -> Generator {
        let seed = i64::from(seed.max(1));
        Generator { first: [seed; 3], second: [seed; 3] }
    }

    /// The next number between 0 and 1.
    fn next(&mut self) -> f64 {
        let first = (1_403_580 * self.first[1] - 810_728 * self.first[0]).rem_euclid(M1);
        let second = (527_612 * self.second[2] - 1_370_589 * self.second[0]).rem_euclid(M2);
        self.first = [self.first[1], self.first[2], first];
        self.second = [self.second[1], self.second[2], second];
        let difference = if first > second { first - second } else { first - second + M1 };
        difference as f64 / (M1 + 1) as f64
    }
}

/// The order in which Tcl's `array names` lists the numbers 0 to n − 1: by buckets, the newest key of a bucket first. A
/// table begins with 4 buckets and grows fourfold at 3 keys per bucket, when each bucket's keys are put into their new
/// ones from the front.
fn tcl_order(n: u32) -> Vec<u32> {
    let hash = |key: u32| key.to_string().bytes().fold(0u32, |h, byte| h.wrapping_mul(9).wrapping_add(byte.into()));
    let mut buckets: Vec<Vec<u32>> = vec![Vec::new(); 4];
    for key in 0..n {
        let at = hash(key) as usize & (buckets.len() - 1);
        buckets[at].insert(0, key);
        if key as usize + 1 >= 3 * buckets.len() {
            let mut wider: Vec<Vec<u32>> = vec![Vec::new(); 4 * buckets.len()];
            for key in buckets.into_iter().flatten() {
                let at = hash(key) as usize & (wider.len() - 1);
                wider[at].insert(0, key);
            }
            buckets = wider;
        }
    }
    buckets.into_iter().flatten().collect()
}

/// The phase of each flow's clock in ns-2, as a share of a tick, for all flows of a run in their order; `seed` is
/// ns-2's (1 unless a script says otherwise).
pub fn ns2_tick_phases(seed: u32, flows: &[&TcpConfig]) -> Vec<f64> {
    let mut generator = Generator::new(seed);
    for flow in flows {
        let draws = ns2_numbers_drawn(flow.recovery) - 1;
        for _ in 0..draws {
            generator.next();
        }
    }
    let mut phases = vec![0.0; flows.len()];
    for node in tcl_order(2 + 2 * flows.len() as u32) {
        // Even numbers from 2 on are sources.
        if node >= 2 && node % 2 == 0 {
            let flow = (node as usize - 2) / 2;
            phases[flow] = phase(flows[flow], generator.next());
        }
    }
    phases
}

/// The phase of a clock when ns-2 has drawn its start within a tick. TCP/Linux, whose clock ticks ten times faster,
/// draws it within the tick of the others.
fn phase(flow: &TcpConfig, drawn: f64) -> f64 {
    match flow.options.rtt_arithmetic {
        RttArithmetic::Ns2Linux => (drawn * (TICK_S / flow.options.tick.as_secs_f64())).fract(),
        _ => drawn,
    }
}

/// Random losses of ns-2's error model (unit pkt, its default random variable), whose numbers come from the same
/// generator as the phases: one for each packet that leaves the link.
#[derive(Clone, Copy, Debug)]
pub struct Ns2Losses {
    /// The argument of `$defaultRNG seed`.
    pub seed: u32,
    /// Numbers that were drawn before the first packet: [`ns2_numbers_drawn`] where only agents draw.
    pub drawn: u32,
    /// Probability of a loss.
    pub probability: f64,
    /// Packets that pass the error model.
    pub packets: u64,
}

/// How many numbers an agent of ns-2 draws before it sends: one at its start for the phase of its clock and one when
/// it is made, Vegas two.
pub fn ns2_numbers_drawn(recovery: Recovery) -> u32 {
    if recovery == Recovery::Vegas { 3 } else { 2 }
}

/// The packets that ns-2 loses, counted from 0.
pub fn ns2_random_losses(losses: Ns2Losses) -> Vec<u64> {
    let mut generator = Generator::new(losses.seed);
    for _ in 0..losses.drawn {
        generator.next();
    }
    (0..losses.packets).filter(|_| generator.next() < losses.probability).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_losses_are_those_of_ns2() {
        // ns-2: tests/reference/ns2/make.py --cases random3 --agents reno loses these packets of the first 100.
        let losses = Ns2Losses { seed: 1, drawn: 2, probability: 0.03, packets: 100 };
        assert_eq!(ns2_random_losses(losses), [0, 42, 54, 88, 96]);
    }

    #[test]
    fn numbers_are_those_of_the_generator() {
        // L'Ecuyer, Simard, Chen and Kelton 2002: the first number of RngStreams from seeds 12345.
        assert!((Generator::new(12_345).next() - 0.127_011_122_046_577_14).abs() < 1e-15);
    }

    #[test]
    fn nodes_are_visited_in_the_order_of_the_hash_table() {
        // tclsh: for {set i 0} {$i<n} {incr i} {set a($i) 1}; array names a
        assert_eq!(tcl_order(8), [4, 0, 5, 1, 6, 2, 7, 3]);
        assert_eq!(tcl_order(12), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
        let of_22 = [17, 0, 18, 1, 20, 19, 2, 21, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];
        assert_eq!(tcl_order(22), of_22);
    }
}
