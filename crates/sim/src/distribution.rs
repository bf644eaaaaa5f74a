//! Distributions of sizes and gaps: draws, means and distribution functions.

use skyhop_base::Stream;
use std::sync::Arc;

/// A distribution of a quantity that is not negative: bytes, or seconds.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    Constant(f64),
    Exponential {
        mean: f64,
    },
    /// The logarithm is normal: its mean is ln(`median`), its standard deviation `sigma`.
    Lognormal {
        median: f64,
        sigma: f64,
    },
    /// Pareto of this shape between two bounds: `P[X > x] = ((least / x)^shape - cut) / (1 - cut)` with
    /// cut = (least / largest)^shape. Needs 0 < `least` < `largest` and `shape` > 0.
    Pareto {
        least: f64,
        largest: f64,
        shape: f64,
    },
    /// Points (value, share of all values up to it), both ascending, the last share 1. Between two points the share
    /// grows linearly; the share of the first point belongs to its value alone, and two points of one value are a step.
    Empirical(Arc<[(f64, f64)]>),
}

/// The field's usual sizes of transfers in bytes, by their points.
///
/// Web search: M. Alizadeh et al., "Data center TCP (DCTCP)", SIGCOMM 2010, figure 4; in segments of 1460 B as the
/// simulations of M. Alizadeh et al., "pFabric", SIGCOMM 2013, §5.1, have them, with their mean of 1138 segments.
pub const WEB_SEARCH: [(f64, f64); 11] = [
    (6.0, 0.15),
    (13.0, 0.2),
    (19.0, 0.3),
    (33.0, 0.4),
    (53.0, 0.53),
    (133.0, 0.6),
    (667.0, 0.7),
    (1333.0, 0.8),
    (3333.0, 0.9),
    (6667.0, 0.97),
    (20_000.0, 1.0),
];

/// Data mining: A. Greenberg et al., "VL2: a scalable and flexible data center network", SIGCOMM 2009, figure 2; in
/// segments of 1460 B as pFabric's simulations have them, with their mean of 5117 segments.
pub const DATA_MINING: [(f64, f64); 8] =
    [(1.0, 0.5), (2.0, 0.6), (3.0, 0.7), (7.0, 0.8), (267.0, 0.9), (2107.0, 0.95), (66_667.0, 0.99), (666_667.0, 1.0)];

/// Cache follower, bytes: A. Roy et al., "Inside the social network's (datacenter) network", SIGCOMM 2015, figure 6,
/// flows of a cache follower within its cluster, as read from the figure for the simulations of B. Montazeri et al.,
/// "Homa", SIGCOMM 2018 (`Facebook_CacheFollowerDist_IntraCluster.txt`). These take the points alone as sizes, with a
/// mean of 718204.9 B.
pub const CACHE_FOLLOWER: [(f64, f64); 66] = [
    (68.0, 0.0204),
    (144.0, 0.0409),
    (266.0, 0.0539),
    (340.0, 0.1803),
    (490.0, 0.277),
    (577.0, 0.3048),
    (639.0, 0.3178),
    (707.0, 0.3532),
    (900.0, 0.3643),
    (1042.0, 0.3773),
    (1110.0, 0.3996),
    (1303.0, 0.4052),
    (1414.0, 0.4126),
    (1440.0, 0.4238),
    (2000.0, 0.4368),
    (2450.0, 0.4461),
    (3000.0, 0.4535),
    (3466.0, 0.4572),
    (4000.0, 0.461),
    (5000.0, 0.4665),
    (6000.0, 0.4703),
    (8000.0, 0.4758),
    (10_000.0, 0.4777),
    (13_855.0, 0.4833),
    (16_643.0, 0.487),
    (18_057.0, 0.4888),
    (25_531.0, 0.4944),
    (28_270.0, 0.5),
    (36_101.0, 0.5037),
    (44_260.0, 0.5091),
    (62_583.0, 0.5186),
    (72_178.0, 0.5223),
    (81_565.0, 0.526),
    (92_173.0, 0.5297),
    (102_060.0, 0.5335),
    (110_726.0, 0.539),
    (127_700.0, 0.5465),
    (141_398.0, 0.5558),
    (156_563.0, 0.5651),
    (169_860.0, 0.5743),
    (184_283.0, 0.5836),
    (199_933.0, 0.5923),
    (212_537.0, 0.6022),
    (225_934.0, 0.6115),
    (245_121.0, 0.6208),
    (260_573.0, 0.6301),
    (276_998.0, 0.6394),
    (326_042.0, 0.658),
    (391_670.0, 0.6766),
    (531_696.0, 0.6952),
    (588_724.0, 0.7138),
    (1_385_457.0, 0.72),
    (1_503_111.0, 0.723),
    (1_597_864.0, 0.7416),
    (1_681_372.0, 0.7602),
    (1_787_361.0, 0.7787),
    (1_842_836.0, 0.7974),
    (1_959_004.0, 0.816),
    (2_125_366.0, 0.8346),
    (2_213_771.0, 0.8532),
    (2_329_467.0, 0.8717),
    (2_553_169.0, 0.9276),
    (2_827_011.0, 0.974),
    (3_006_219.0, 0.9888),
    (3_260_426.0, 0.9944),
    (3_837_698.0, 1.0),
];

/// User bytes of a segment in the tables of web search and data mining.
const TABLE_SEGMENT_BYTES: f64 = 1460.0;

impl Distribution {
    /// One of the tables above whose sizes are segments, in bytes.
    pub fn of_segments(points: &[(f64, f64)]) -> Distribution {
        Distribution::Empirical(
            points.iter().map(|&(segments, share)| (segments * TABLE_SEGMENT_BYTES, share)).collect(),
        )
    }

    /// The distribution of a list of values, each equally likely; the list must not be empty.
    pub fn of_values(mut values: Vec<f64>) -> Distribution {
        values.sort_by(f64::total_cmp);
        let count = values.len() as f64;
        let mut points: Vec<(f64, f64)> = Vec::new();
        for (i, &value) in values.iter().enumerate() {
            let (before, up_to) = (i as f64 / count, (i + 1) as f64 / count);
            match points.last_mut() {
                Some(last) if last.0 == value => last.1 = up_to,
                Some(_) => points.extend([(value, before), (value, up_to)]),
                None => points.push((value, up_to)),
            }
        }
        Distribution::Empirical(points.into())
    }

    /// The value below which the share `u` of all values lies, 0 <= `u` < 1. A lognormal one needs a second number and
    /// has no quantile here.
    fn quantile(&self, u: f64) -> Option<f64> {
        Some(match self {
            Distribution::Constant(value) => *value,
            Distribution::Exponential { mean } => -mean * libm::log(1.0 - u),
            Distribution::Lognormal { .. } => return None,
            Distribution::Pareto { least, largest, shape } => {
                let cut = libm::pow(least / largest, *shape);
                (least * libm::pow(1.0 - u * (1.0 - cut), -1.0 / shape)).min(*largest)
            }
            Distribution::Empirical(points) => {
                let above = points.partition_point(|&(_, share)| share <= u);
                let (value, share) = *points.get(above)?;
                let Some(&(before, share_before)) = above.checked_sub(1).and_then(|below| points.get(below)) else {
                    return Some(value);
                };
                before + (value - before) * (u - share_before) / (share - share_before)
            }
        })
    }

    /// The next value.
    pub fn draw(&self, stream: &mut Stream) -> f64 {
        let u = stream.uniform();
        match (self, self.quantile(u)) {
            // G. Box and M. Muller, "A note on the generation of random normal deviates", 1958.
            (Distribution::Lognormal { median, sigma }, _) => {
                let radius = libm::sqrt(-2.0 * libm::log(1.0 - u));
                let normal = radius * libm::cos(2.0 * std::f64::consts::PI * stream.uniform());
                median * libm::exp(sigma * normal)
            }
            (_, Some(value)) => value,
            (_, None) => 0.0,
        }
    }

    /// The mean by formula.
    pub fn mean(&self) -> f64 {
        match self {
            Distribution::Constant(value) => *value,
            Distribution::Exponential { mean } => *mean,
            Distribution::Lognormal { median, sigma } => median * libm::exp(sigma * sigma / 2.0),
            Distribution::Pareto { least, largest, shape } => {
                let cut = libm::pow(least / largest, *shape);
                let density = shape * libm::pow(*least, *shape) / (1.0 - cut);
                // The integral of x^-shape; at a shape near 1 the formula loses its digits, and the logarithm is right.
                if (shape - 1.0).abs() < 1e-9 {
                    density * libm::log(largest / least)
                } else {
                    density * (libm::pow(*least, 1.0 - shape) - libm::pow(*largest, 1.0 - shape)) / (shape - 1.0)
                }
            }
            Distribution::Empirical(points) => {
                let first = points.first().map_or(0.0, |(value, share)| value * share);
                first + points.windows(2).map(|two| (two[1].1 - two[0].1) * (two[0].0 + two[1].0) / 2.0).sum::<f64>()
            }
        }
    }

    /// The share of all values up to `x`.
    pub fn share_up_to(&self, x: f64) -> f64 {
        match self {
            Distribution::Constant(value) => f64::from(u8::from(x >= *value)),
            Distribution::Exponential { mean } => 1.0 - libm::exp(-x.max(0.0) / mean),
            Distribution::Lognormal { median, sigma } => {
                0.5 * libm::erfc(-libm::log(x.max(f64::MIN_POSITIVE) / median) / (sigma * std::f64::consts::SQRT_2))
            }
            Distribution::Pareto { least, largest, shape } => {
                let cut = libm::pow(least / largest, *shape);
                (1.0 - libm::pow(least / x.clamp(*least, *largest), *shape)) / (1.0 - cut)
            }
            Distribution::Empirical(points) => {
                let above = points.partition_point(|&(value, _)| value <= x);
                let Some(&(before, share_before)) = above.checked_sub(1).and_then(|below| points.get(below)) else {
                    return 0.0;
                };
                match points.get(above) {
                    None => 1.0,
                    Some(&(value, share)) => share_before + (share - share_before) * (x - before) / (value - before),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Distribution> {
        vec![
            Distribution::Exponential { mean: 30_000.0 },
            Distribution::Lognormal { median: 10_000.0, sigma: 1.0 },
            Distribution::Pareto { least: 1000.0, largest: 1e7, shape: 1.2 },
            Distribution::Pareto { least: 1000.0, largest: 1e6, shape: 1.0 },
            Distribution::of_segments(&WEB_SEARCH),
            Distribution::of_segments(&DATA_MINING),
            Distribution::Empirical(CACHE_FOLLOWER.into()),
            Distribution::of_values(vec![5.0, 1.0, 1.0, 9.0]),
        ]
    }

    /// Kolmogorov's statistic of n draws stays below 1.95 / sqrt(n) in 99.9 % of all samples (A. Kolmogorov 1933; N.
    /// Smirnov 1948); steps only make it smaller. The seed is fixed, so this either holds or does not.
    #[test]
    fn draws_follow_their_distribution_function() {
        let n = 20_000;
        for distribution in all() {
            let mut stream = Stream::new(3, "distribution", "test");
            let mut values: Vec<f64> = (0..n).map(|_| distribution.draw(&mut stream)).collect();
            values.sort_by(f64::total_cmp);
            let farthest = values.iter().enumerate().map(|(i, &value)| {
                // Of equal values the last one tells the share of all up to them, the first one that of all below.
                let last = values.partition_point(|&other| other <= value) as f64 / f64::from(n);
                let first = i as f64 / f64::from(n);
                let below = distribution.share_up_to(value * (1.0 - 1e-12));
                let is_first = i == 0 || values[i - 1] < value;
                let at = (distribution.share_up_to(value) - last).abs();
                if is_first { at.max((below - first).abs()) } else { at }
            });
            let farthest = farthest.fold(0.0, f64::max);
            assert!(farthest < 1.95 / f64::from(n).sqrt(), "{distribution:?}: {farthest}");
        }
    }

    #[test]
    fn means_are_those_of_the_distribution_functions() {
        for distribution in all() {
            // The integral of 1 - F over logarithmic steps; all values lie below 1e10.
            let steps = 400_000;
            let at = |i: usize| 1e-3 * libm::pow(1e13, i as f64 / steps as f64);
            let tail = |x: f64| 1.0 - distribution.share_up_to(x);
            let integral: f64 =
                (0..steps).map(|i| (at(i + 1) - at(i)) * (tail(at(i)) + tail(at(i + 1))) / 2.0).sum::<f64>() + at(0);
            let mean = distribution.mean();
            assert!((integral / mean - 1.0).abs() < 1e-3, "{distribution:?}: {mean} {integral}");
        }
    }

    /// The means that the simulations of pFabric state for their tables.
    #[test]
    fn the_usual_sizes_have_their_published_means() {
        let segments = |points: &[(f64, f64)]| Distribution::of_segments(points).mean() / TABLE_SEGMENT_BYTES;
        assert!((segments(&WEB_SEARCH) / 1138.0 - 1.0).abs() < 0.005, "{}", segments(&WEB_SEARCH));
        assert!((segments(&DATA_MINING) / 5117.0 - 1.0).abs() < 0.005, "{}", segments(&DATA_MINING));
    }

    /// The mean in the first line of Homa's file, whose sizes are the points alone; between them it is smaller by half
    /// a step.
    #[test]
    fn the_sizes_of_cache_followers_have_their_published_mean() {
        let shares = [0.0].into_iter().chain(CACHE_FOLLOWER.iter().map(|&(_, share)| share));
        let steps = CACHE_FOLLOWER.iter().zip(shares).map(|(&(bytes, share), before)| bytes * (share - before));
        let mean: f64 = steps.sum();
        assert!((mean - 718_204.9).abs() < 0.1, "{mean}");
        let linear = Distribution::Empirical(CACHE_FOLLOWER.into()).mean();
        assert!((linear / mean - 1.0).abs() < 0.05 && linear < mean, "{linear}");
    }

    #[test]
    fn a_list_of_values_is_drawn_from_as_it_is() {
        let distribution = Distribution::of_values(vec![7.0, 2.0, 2.0, 4.0]);
        assert_eq!(
            [0.0, 0.49, 0.5, 0.74, 0.75, 0.99].map(|u| distribution.quantile(u).unwrap()),
            [2.0, 2.0, 4.0, 4.0, 7.0, 7.0]
        );
        assert_eq!(distribution.mean(), 3.75);
        assert_eq!([1.0, 2.0, 3.0, 4.0, 7.0].map(|x| distribution.share_up_to(x)), [0.0, 0.5, 0.5, 0.75, 1.0]);
    }
}
