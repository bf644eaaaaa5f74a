//! Measures of durations: exact mean and extremes, quantiles from a histogram of narrow logarithmic buckets.

use crate::records::Distribution;
use crate::totals::FlowTotals;
use skyhop_base::{Duration, Time};
use std::ops::{AddAssign, Range};

/// Buckets per octave. The relative width of a bucket is at most 1/1024, so a quantile is within 0.1 %.
const PER_OCTAVE_BITS: u32 = 10;
/// Room is made for so many buckets at a time.
const PAGE: usize = 128;

/// So many values wait until they are counted together. Their counters are scattered over more memory than caches hold
/// when flows are many: fetched together they come at the same time, fetched one by one each is waited for.
const BATCH: usize = 16;

/// Among fewer values each rank is selected, because looking through 256 counters takes longer.
const FEW_TO_SELECT: usize = 100;

/// Values that wait to be counted.
#[derive(Clone, Debug)]
struct Batch<T> {
    values: [T; BATCH],
    length: usize,
}

impl<T: Copy + Default> Default for Batch<T> {
    fn default() -> Batch<T> {
        Batch { values: [T::default(); BATCH], length: 0 }
    }
}

impl<T: Copy> Batch<T> {
    /// Whether the batch is full now.
    #[inline]
    fn add(&mut self, value: T) -> bool {
        self.values[self.length % BATCH] = value;
        self.length += 1;
        self.length == BATCH
    }

    /// The values added since the last call.
    fn take(&mut self) -> &[T] {
        &self.values[..std::mem::take(&mut self.length)]
    }
}

/// Counts durations. Memory is 2 B per value, but no more than the range of the values asks for (some 14 kB per
/// decade); before the first value there is none: flows that wait for their start are many.
#[derive(Clone, Debug, Default)]
pub struct Histogram(Option<Box<Sample>>);

#[derive(Clone, Debug, Default)]
struct Sample {
    /// Nanoseconds.
    waiting: Batch<u64>,
    counts: Counts,
}

#[derive(Clone, Debug)]
struct Counts {
    count: u64,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
    buckets: Buckets,
}

/// How many values fell into each bucket.
#[derive(Clone, Debug)]
enum Buckets {
    /// The bucket of each value, in the order of arrival; numbers of buckets are below 2¹⁶.
    Few(Vec<u16>),
    Many(Counters),
}

/// A counter for each bucket of a range.
#[derive(Clone, Debug)]
struct Counters {
    /// Bucket number of `counts[0]`.
    first: usize,
    counts: Vec<u32>,
}

/// Durations of a run, in ns, are below this: a double holds them exactly, and its lower bits are theirs.
const EXACT: f64 = (1_u64 << 52) as f64;

/// The same number and [`EXACT`] more: without a conversion from 64-bit integers, which SSE2 has not.
#[inline(always)]
fn beyond_exact(ns: u64) -> f64 {
    f64::from_bits(ns | EXACT.to_bits())
}

/// The same number.
#[inline(always)]
fn as_double(ns: u64) -> f64 {
    beyond_exact(ns) - EXACT
}

/// Values below 1024 ns have a bucket each; above, the ten bits below the leading one choose within an octave, which
/// are the first ten bits of a double's fraction. Without a branch, so that two values are found at a time.
#[inline(always)]
fn bucket_of(ns: u64) -> u16 {
    const BITS_OF_FRACTION: u32 = f64::MANTISSA_DIGITS - 1;
    const OCTAVES_BEFORE: u64 = f64::MAX_EXP as u64 - 1 + PER_OCTAVE_BITS as u64 - 1;
    let double = as_double(ns);
    let octave_and_part = double.to_bits() >> (BITS_OF_FRACTION - PER_OCTAVE_BITS);
    let bucket = octave_and_part.wrapping_sub(OCTAVES_BEFORE << PER_OCTAVE_BITS);
    (if double < f64::from(1 << PER_OCTAVE_BITS) { ns } else { bucket }) as u16
}

/// The middle of a bucket, ns.
fn middle_of(bucket: u16) -> f64 {
    let bucket = usize::from(bucket);
    if bucket < 1 << PER_OCTAVE_BITS {
        return bucket as f64;
    }
    let octave = (bucket >> PER_OCTAVE_BITS) - 1;
    let low = ((bucket - (octave << PER_OCTAVE_BITS)) as u64) << octave;
    low as f64 + ((1u64 << octave) - 1) as f64 / 2.0
}

impl Default for Counts {
    fn default() -> Counts {
        Counts { count: 0, sum_ns: 0, min_ns: u64::MAX, max_ns: 0, buckets: Buckets::Few(Vec::new()) }
    }
}

impl Histogram {
    #[inline(always)]
    pub fn add(&mut self, value: Duration) {
        let sample = self.0.get_or_insert_default();
        if sample.waiting.add(value.as_nanos()) {
            sample.count();
        }
    }

    pub fn distribution(&mut self) -> Distribution {
        let Some(sample) = &mut self.0 else { return Distribution::default() };
        sample.count();
        sample.counts.distribution()
    }
}

impl Sample {
    #[inline(never)]
    fn count(&mut self) {
        self.counts.add(self.waiting.take());
    }
}

impl Counts {
    /// A batch at most.
    #[inline]
    fn add(&mut self, values_ns: &[u64]) {
        match values_ns.try_into() {
            Ok(batch) => self.add_first_of(batch, BATCH),
            Err(_) => self.add_few(values_ns),
        }
    }

    #[inline(never)]
    fn add_few(&mut self, values_ns: &[u64]) {
        let Some(&any) = values_ns.first() else { return };
        let mut padded = [any; BATCH];
        padded[..values_ns.len()].copy_from_slice(values_ns);
        self.add_first_of(&padded, values_ns.len());
    }

    /// The first `length` values of a batch; the others are within their range.
    #[inline(always)]
    fn add_first_of(&mut self, batch: &[u64; BATCH], length: usize) {
        debug_assert!(batch.iter().all(|&ns| ns < EXACT as u64));
        let (buckets, min_ns, max_ns) = survey(batch);
        self.count += length as u64;
        // A batch of the longest durations stays far below 2⁶⁴.
        self.sum_ns += u128::from(batch[..length].iter().sum::<u64>());
        (self.min_ns, self.max_ns) = (self.min_ns.min(min_ns), self.max_ns.max(max_ns));
        if let Buckets::Few(values) = &self.buckets
            && values.capacity() - values.len() < length
        {
            self.make_room();
        }
        match &mut self.buckets {
            Buckets::Few(values) => values.extend_from_slice(&buckets[..length]),
            Buckets::Many(counters) => buckets[..length].iter().for_each(|&bucket| counters.add(bucket.into())),
        }
    }

    /// For a batch: in the list as long as it takes less memory than counters.
    #[cold]
    fn make_room(&mut self) {
        let range = self.range();
        let Buckets::Few(values) = &mut self.buckets else { return };
        if size_of_val(values.as_slice()) < range.len() * size_of::<u32>() {
            values.reserve_exact(values.len() / 2 + 3 * BATCH);
        } else {
            self.buckets = Buckets::Many(Counters::of(values, range));
        }
    }

    /// The buckets that values fell into lie in here.
    fn range(&self) -> Range<usize> {
        usize::from(bucket_of(self.min_ns))..usize::from(bucket_of(self.max_ns)) + 1
    }

    /// The smallest values of which at least the shares `q`, ascending, of all values are not above; within 0.1 %.
    fn quantiles_s<const N: usize>(&self, q: [f64; N]) -> [f64; N] {
        let ranks = q.map(|q| ((q * self.count as f64).ceil() as u64).max(1));
        // The middle of an end bucket may lie outside of what was seen.
        let (min_ns, max_ns) = (self.min_ns as f64, self.max_ns as f64);
        let buckets = match &self.buckets {
            // Counters have to be zeroed and looked through, which pays where most of them count something.
            Buckets::Few(values) if values.len() < self.range().len() / 8 => at_ranks_of(values, ranks),
            // Half as much to zero and to look through where so few cannot overflow.
            Buckets::Few(values) if values.len() < 1 << 16 => {
                let (first, counts) = counted::<u16>(values, self.range());
                at_ranks(first, &counts, ranks)
            }
            Buckets::Few(values) => {
                let (first, counts) = counted::<u32>(values, self.range());
                at_ranks(first, &counts, ranks)
            }
            Buckets::Many(counters) => at_ranks(counters.first, &counters.counts, ranks),
        };
        buckets.map(|bucket| middle_of(bucket as u16).clamp(min_ns, max_ns) / 1e9)
    }

    fn distribution(&self) -> Distribution {
        if self.count == 0 {
            return Distribution::default();
        }
        let [median_s, p95_s] = self.quantiles_s([0.5, 0.95]);
        Distribution {
            count: self.count,
            mean_s: self.sum_ns as f64 / self.count as f64 / 1e9,
            median_s,
            p95_s,
            min_s: self.min_ns as f64 / 1e9,
            max_s: self.max_ns as f64 / 1e9,
        }
    }
}

/// The buckets of a batch, the least value and the greatest. A function of its own, because the compiler handles two
/// values at a time here, which is how wide SSE2 is, and one where this is part of a longer function.
#[inline(never)]
fn survey(values_ns: &[u64; BATCH]) -> ([u16; BATCH], u64, u64) {
    let (buckets, numbers) = (values_ns.map(bucket_of), values_ns.map(beyond_exact));
    // The comparisons of `f64::min` and `f64::max` care for values that are not numbers.
    let least = best(&numbers, |a, b| if a < b { a } else { b });
    let greatest = best(&numbers, |a, b| if a > b { a } else { b });
    (buckets, least.to_bits() ^ EXACT.to_bits(), greatest.to_bits() ^ EXACT.to_bits())
}

/// The best of all numbers, two of them compared at a time.
#[inline(always)]
fn best(numbers: &[f64; BATCH], better: impl Fn(f64, f64) -> f64) -> f64 {
    let pairs = numbers.as_chunks::<2>().0;
    let [a, b] = pairs[1..].iter().fold(pairs[0], |[a, b], &[c, d]| [better(a, c), better(b, d)]);
    better(a, b)
}

/// The values of these ranks, ascending, from 1 on. Many are counted, first by their upper and then by their lower
/// byte.
fn at_ranks_of<const N: usize>(values: &[u16], ranks: [u64; N]) -> [usize; N] {
    if let Some(few) = [0; FEW_TO_SELECT].get_mut(..values.len()) {
        few.copy_from_slice(values);
        return selected(few, ranks);
    }
    let mut upper = [0_u32; 256];
    values.iter().for_each(|value| upper[usize::from(value >> 8)] += 1);
    let mut lower_of = (usize::MAX, [0_u32; 256]);
    ranks.map(|rank| {
        let (high, before) = reached(&upper, rank);
        if lower_of.0 != high {
            lower_of = (high, [0; 256]);
            let inside = values.iter().filter(|&value| usize::from(value >> 8) == high);
            inside.for_each(|value| lower_of.1[usize::from(value & 0xff)] += 1);
        }
        let (low, _) = reached(&lower_of.1, rank - before);
        high << 8 | low
    })
}

/// The values of these ranks: each is looked for among those that are not before the one of the rank before.
fn selected<const N: usize>(mut values: &mut [u16], ranks: [u64; N]) -> [usize; N] {
    let (mut before, mut last) = (0, 0);
    ranks.map(|rank| {
        if let Some(at) = (rank as usize).checked_sub(before + 1) {
            let (_, &mut value, behind) = std::mem::take(&mut values).select_nth_unstable(at);
            (before, last, values) = (rank as usize, value, behind);
        }
        usize::from(last)
    })
}

/// The first counter up to which there are `rank` values, and how many there are before it. Sixteen counters, of which
/// there is a multiple, are added at a time until theirs is known.
fn reached(counts: &[u32], rank: u64) -> (usize, u64) {
    reached_after(counts, (0, 0), rank)
}

/// The same where sixteen times `first` counters hold `before` values, fewer than `rank`.
fn reached_after<C: Copy + Into<u64>>(counts: &[C], (first, mut before): (usize, u64), rank: u64) -> (usize, u64) {
    for (i, some) in counts.as_chunks::<16>().0.iter().enumerate().skip(first) {
        let together: u64 = some.iter().map(|&count| count.into()).sum();
        if before + together < rank {
            before += together;
            continue;
        }
        for (j, &count) in some.iter().enumerate() {
            if before + count.into() >= rank {
                return (16 * i + j, before);
            }
            before += count.into();
        }
    }
    (counts.len() - 1, before)
}

/// Counts the values in a range of buckets: the bucket of the first counter, and the counters.
fn counted<C: Copy + From<bool> + AddAssign>(buckets: &[u16], range: Range<usize>) -> (usize, Vec<C>) {
    let first = range.start / PAGE * PAGE;
    let mut counts = vec![C::from(false); (range.end - first).next_multiple_of(PAGE)];
    buckets.iter().for_each(|&bucket| counts[usize::from(bucket) - first] += C::from(true));
    (first, counts)
}

/// The buckets of the values of these ranks, ascending, from 1 on, where the first counter is that of bucket `first`.
fn at_ranks<C: Copy + Into<u64>, const N: usize>(first: usize, counts: &[C], ranks: [u64; N]) -> [usize; N] {
    let mut known = (0, 0);
    ranks.map(|rank| {
        let (at, before) = reached_after(counts, known, rank);
        let sixteen = at / 16;
        known = (sixteen, before - counts[16 * sixteen..at].iter().map(|&count| count.into()).sum::<u64>());
        first + at
    })
}

impl Counters {
    /// Counts the values in a range of buckets.
    fn of(buckets: &[u16], range: Range<usize>) -> Counters {
        let (first, counts) = counted(buckets, range);
        Counters { first, counts }
    }

    #[inline]
    fn add(&mut self, bucket: usize) {
        match self.counts.get_mut(bucket.wrapping_sub(self.first)) {
            Some(count) => *count += 1,
            None => self.grow_to(bucket),
        }
    }

    /// Makes room for a bucket outside the range seen so far, and for a quarter more, and counts one in it.
    #[cold]
    fn grow_to(&mut self, bucket: usize) {
        let length = self.counts.len();
        let ahead = length / 4 / PAGE * PAGE;
        if bucket < self.first {
            let first = (bucket / PAGE * PAGE).min(self.first.saturating_sub(ahead));
            let mut wider = vec![0; length + self.first - first];
            wider[self.first - first..].copy_from_slice(&self.counts);
            (self.first, self.counts) = (first, wider);
        } else {
            let wider = (bucket + 1 - self.first).next_multiple_of(PAGE).max(length + ahead);
            self.counts.reserve_exact(wider - length);
            self.counts.resize(wider, 0);
        }
        self.counts[bucket - self.first] += 1;
    }
}

/// Mean of the durations seen since it was last read.
#[derive(Clone, Copy, Debug, Default)]
pub struct StepMean {
    count: u32,
    sum_ns: u64,
}

impl StepMean {
    #[inline]
    fn add(&mut self, values_ns: &[u64]) {
        self.count += values_ns.len() as u32;
        self.sum_ns += values_ns.iter().sum::<u64>();
    }

    /// The mean in seconds, `None` without values; starts afresh.
    pub fn take(&mut self) -> Option<f64> {
        let StepMean { count, sum_ns } = std::mem::take(self);
        (count > 0).then(|| sum_ns as f64 / f64::from(count) / 1e9)
    }
}

/// What a receiver measures on each arriving data packet.
#[derive(Clone, Debug, Default)]
pub struct ArrivalMeter {
    /// From the first packet on.
    seen: Option<Box<Seen>>,
    steps: Option<Box<Steps>>,
}

/// In one place: with many flows each of them is on cache lines of its own, which have to be fetched.
#[derive(Clone, Debug)]
struct Seen {
    /// When packets arrived, and their delays, since the last that was counted.
    waiting: Batch<(Time, Duration)>,
    /// The last that was counted.
    last: (Time, Duration),
    delay: Counts,
    jitter: Counts,
    interarrival: Counts,
}

/// What arrivals were like in one step of the grid, or in the whole run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrivals<T> {
    pub delay: T,
    pub jitter: T,
    pub interarrival: T,
}

type Steps = Arrivals<StepMean>;

impl ArrivalMeter {
    /// The same with means over steps: [`ArrivalMeter::take_step`].
    pub fn with_steps(mut self) -> ArrivalMeter {
        self.steps = Some(Box::default());
        self
    }

    #[inline(always)]
    pub fn arrived(&mut self, now: Time, sent: Time) {
        let delay = now.since(sent);
        let Some(seen) = &mut self.seen else { return self.begin(now, delay) };
        if seen.waiting.add((now, delay)) {
            self.count();
        }
    }

    /// Counts what has arrived.
    #[inline(never)]
    fn count(&mut self) {
        let Some(seen) = self.seen.as_deref_mut() else { return };
        let [mut delays, mut jitters, mut gaps] = [[0; BATCH]; 3];
        let arrivals = seen.waiting.take();
        let (mut last_arrival, mut last_delay) = seen.last;
        for (i, &(now, delay)) in arrivals.iter().enumerate() {
            delays[i] = delay.as_nanos();
            // RFC 3393 §2.4: the difference of the one-way delays of two consecutive packets; here its size.
            jitters[i] = delay.as_nanos().abs_diff(last_delay.as_nanos());
            gaps[i] = now.since(last_arrival).as_nanos();
            (last_arrival, last_delay) = (now, delay);
        }
        seen.last = (last_arrival, last_delay);
        let length = arrivals.len();
        let [delays, jitters, gaps] = [&delays[..length], &jitters[..length], &gaps[..length]];
        seen.delay.add(delays);
        seen.jitter.add(jitters);
        seen.interarrival.add(gaps);
        if let Some(steps) = &mut self.steps {
            steps.delay.add(delays);
            steps.jitter.add(jitters);
            steps.interarrival.add(gaps);
        }
    }

    /// The first packet has a delay only.
    #[cold]
    fn begin(&mut self, now: Time, delay: Duration) {
        let (mut delays, jitter, interarrival) = (Counts::default(), Counts::default(), Counts::default());
        delays.add(&[delay.as_nanos()]);
        let seen = Seen { waiting: Batch::default(), last: (now, delay), delay: delays, jitter, interarrival };
        self.seen = Some(Box::new(seen));
        if let Some(steps) = &mut self.steps {
            steps.delay.add(&[delay.as_nanos()]);
        }
    }

    /// Over the whole run.
    pub fn distributions(&mut self) -> Arrivals<Distribution> {
        self.count();
        self.seen.as_deref().map_or_else(Arrivals::default, |seen| Arrivals {
            delay: seen.delay.distribution(),
            jitter: seen.jitter.distribution(),
            interarrival: seen.interarrival.distribution(),
        })
    }

    /// Means in seconds since the last call, `None` without values or steps.
    pub fn take_step(&mut self) -> Arrivals<Option<f64>> {
        self.count();
        self.steps.as_deref_mut().map_or_else(Arrivals::default, |steps| Arrivals {
            delay: steps.delay.take(),
            jitter: steps.jitter.take(),
            interarrival: steps.interarrival.take(),
        })
    }
}

/// Time average of a value that changes in steps.
#[derive(Clone, Copy, Debug)]
pub struct TimeAverage {
    since: Time,
    at: Time,
    value: f64,
    integral: f64,
}

impl TimeAverage {
    pub fn new(start: Time, value: f64) -> TimeAverage {
        TimeAverage { since: start, at: start, value, integral: 0.0 }
    }

    #[inline]
    pub fn set(&mut self, now: Time, value: f64) {
        self.integral += self.value * now.since(self.at).as_nanos() as f64;
        self.at = now;
        self.value = value;
    }

    pub fn mean(mut self, end: Time) -> f64 {
        self.set(end, self.value);
        let span = end.since(self.since).as_nanos() as f64;
        if span > 0.0 { self.integral / span } else { self.value }
    }
}

/// Jain's index of fairness, (Σx)² / (n Σx²): Jain, Chiu and Hawe, DEC-TR-301, 1984. `None` without values; 1 when
/// all are zero, since then all are equal.
pub fn jain(values: &[f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let (sum, squares) = values.iter().fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
    Some(if squares == 0.0 { 1.0 } else { sum * sum / (values.len() as f64 * squares) })
}

/// (transmitted - retransmitted) / transmitted bytes: Govindarajan and Kousalya 2016, equation 6. `None` when nothing
/// was sent.
pub fn tcp_efficiency(sent_bytes: u64, resent_bytes: u64) -> Option<f64> {
    (sent_bytes > 0).then(|| (sent_bytes - resent_bytes.min(sent_bytes)) as f64 / sent_bytes as f64)
}

/// The share of the packets sent that arrived themselves: copies that helpers on the path send do not count.
/// `None` when nothing was sent.
pub fn delivery_fraction(totals: &FlowTotals) -> Option<f64> {
    (totals.sent > 0).then(|| (totals.received - totals.copies) as f64 / totals.sent as f64)
}

/// Govindarajan and Kousalya 2016, equation 7: the share of user data in what is sent times the share of packets that
/// arrive, whatever took the others.
pub fn information_efficiency(totals: &FlowTotals) -> Option<f64> {
    let user_data = (totals.sent_bytes > 0).then(|| totals.sent_payload_bytes as f64 / totals.sent_bytes as f64);
    Some(user_data? * delivery_fraction(totals)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_base::Stream;

    #[test]
    fn buckets_are_narrow_and_in_order() {
        let mut last = 0;
        for ns in (0..5000).chain((0..52).flat_map(|octave| [1 << octave, (2 << octave) - 1])) {
            let middle = middle_of(bucket_of(ns));
            assert!((middle - ns as f64).abs() <= ns as f64 / 1024.0, "{ns} {middle}");
        }
        for ns in (0..1 << 22).step_by(37) {
            let bucket = bucket_of(ns);
            assert!(bucket >= last);
            last = bucket;
        }
    }

    /// Beside the definition in whole numbers, at all lengths of a batch.
    #[test]
    fn batches_are_counted_like_single_values() {
        let mut stream = Stream::new(2, "measure", "test");
        for length in 1..=BATCH {
            for _ in 0..200 {
                let mut some = || (stream.uniform() * (EXACT - 1.0)) as u64 >> (stream.uniform() * 52.0) as u32;
                let values: Vec<u64> = (0..length).map(|_| some()).collect();
                let mut counts = Counts::default();
                counts.add(&values);
                let (least, greatest) = (values.iter().min().unwrap(), values.iter().max().unwrap());
                assert_eq!((counts.min_ns, counts.max_ns), (*least, *greatest));
                assert_eq!(
                    (counts.count, counts.sum_ns),
                    (length as u64, values.iter().map(|&ns| u128::from(ns)).sum())
                );
                let octave_of = |ns: u64| ns.max(1 << PER_OCTAVE_BITS).ilog2() - PER_OCTAVE_BITS;
                let want = |&ns: &u64| ((u64::from(octave_of(ns)) << PER_OCTAVE_BITS) + (ns >> octave_of(ns))) as u16;
                let Buckets::Few(buckets) = &counts.buckets else { panic!("few values are a list") };
                assert_eq!(*buckets, values.iter().map(want).collect::<Vec<_>>(), "{values:?}");
            }
        }
    }

    /// As a list of few values and with counters.
    #[test]
    fn quantiles_agree_with_sorting() {
        for count in [1, 2, 15, 16, 17, 72, 100, 101, 1001, 10_001, 100_001] {
            quantiles_agree(count);
        }
    }

    fn quantiles_agree(count: usize) {
        let mut stream = Stream::new(1, "measure", "test");
        let mut histogram = Histogram::default();
        let mut values: Vec<f64> = (0..count).map(|_| stream.exponential(0.07)).collect();
        let at = |q: f64| ((q * count as f64).ceil() as usize).max(1) - 1;
        values.iter().for_each(|&v| histogram.add(Duration::from_secs_f64(v)));
        values.sort_by(f64::total_cmp);
        let got = histogram.distribution();
        assert_eq!(got.count, count as u64);
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        for (got, want) in [
            (got.mean_s, mean),
            (got.median_s, values[at(0.5)]),
            (got.p95_s, values[at(0.95)]),
            (got.min_s, values[0]),
            (got.max_s, values[count - 1]),
        ] {
            assert!((got / want - 1.0).abs() < 1.1e-3, "{count} values: {got} {want}");
        }
    }

    #[test]
    fn jitter_is_that_of_the_worked_example() {
        let vectors: serde_json::Value =
            serde_json::from_str(include_str!("../../../tests/vectors/algorithms_vectors.json")).unwrap();
        let find =
            |name: &str| vectors["vectors"].as_array().unwrap().iter().find(|v| v["name"] == name).cloned().unwrap();
        let numbers =
            |v: &serde_json::Value| -> Vec<f64> { v.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect() };
        let jitter = find("jitter");
        let mut meter = ArrivalMeter::default();
        for (i, delay_ms) in numbers(&jitter["inputs"]["one_way_delay_ms"]).into_iter().enumerate() {
            let sent = Time::from_secs_f64(i as f64);
            meter.arrived(sent + Duration::from_secs_f64(delay_ms / 1e3), sent);
        }
        let want = jitter["expected"]["mean_abs_ipdv_ms"].as_f64().unwrap() / 1e3;
        assert!((meter.distributions().jitter.mean_s - want).abs() < 1e-9);

        let fairness = find("jain");
        let cases = fairness["inputs"]["x"].as_array().unwrap();
        for (case, want) in cases.iter().zip(numbers(&fairness["expected"]["index"])) {
            assert!((jain(&numbers(case)).unwrap() - want).abs() < 1e-12);
        }
    }

    #[test]
    fn efficiencies_are_those_of_the_worked_examples() {
        let vectors: serde_json::Value =
            serde_json::from_str(include_str!("../../../tests/vectors/algorithms_vectors.json")).unwrap();
        let find = |name: &str| vectors["vectors"].as_array().unwrap().iter().find(|v| v["name"] == name).unwrap();
        let tcp = find("tcp_efficiency");
        let bytes = |key: &str| tcp["inputs"][key].as_u64().unwrap();
        let efficiency = tcp_efficiency(bytes("transmitted_bytes"), bytes("retransmitted_bytes")).unwrap();
        assert!((efficiency * 100.0 - tcp["expected"]["percent"].as_f64().unwrap()).abs() < 1e-9);
        assert_eq!(tcp_efficiency(0, 0), None);

        let information = find("information_efficiency");
        for i in 0..2 {
            let value = |part: &str, key: &str| information[part][key][i].as_f64().unwrap();
            let (size, sent) = (value("inputs", "packet_bytes") as u64, 1_000_000_000_000_u64);
            let totals = FlowTotals {
                sent,
                sent_bytes: sent * size,
                sent_payload_bytes: sent * (size - 40),
                received: (value("expected", "e_p_per_byte") * sent as f64).round() as u64,
                ..FlowTotals::default()
            };
            let efficiency = information_efficiency(&totals).unwrap();
            assert!((efficiency - value("expected", "product")).abs() < 1e-11, "{size}");
        }
    }

    #[test]
    fn the_time_average_weighs_by_time() {
        let at = Time::from_secs_f64;
        let mut average = TimeAverage::new(at(1.0), 2.0);
        average.set(at(2.0), 6.0);
        assert!((average.mean(at(5.0)) - 5.0).abs() < 1e-12);
    }
}
