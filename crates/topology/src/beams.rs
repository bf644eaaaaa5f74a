//! Spot beams: which of a satellite's beams lights a station.
//!
//! The satellite's footprint, the cap of the Earth from which it stands above the mask, is cut into rings around the
//! point below it, and each ring into equal sectors. All beams cover the same area: with λ the angle at the Earth's
//! centre between station and satellite, a beam's share of the cap is that of 1 − cos λ. Ring by ring outwards, and in
//! a ring clockwise as seen from above from the direction of flight, beams count from 0. The pattern flies with the
//! satellite.
//!
//! Deviation: real patterns are those of antennas, overlap, and are switched off where satellites meet.

use crate::NodeId;
use crate::sky::{Sky, next_multiple};
use skyhop_base::{Duration, Time};
use skyhop_orbit::Vec3;

/// A satellite's beams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BeamOptions {
    /// Beams of each ring, the innermost first; none is empty.
    pub rings: Vec<u32>,
    /// Stations look for their beam at t = 0 and after every interval; more than zero.
    pub every: Duration,
    /// Time without a link at each change of beams of one satellite.
    pub outage: Duration,
}

impl BeamOptions {
    /// More than any satellite has.
    pub const MOST: u32 = 10_000;

    /// Iridium's 48 beams: three panels of 16, which make rings of 3, 9, 15 and 21 (Fossa et al., "An overview of the
    /// IRIDIUM low Earth orbit (LEO) satellite system", NAECON 1998, has the numbers; that each panel has rows of 1, 3,
    /// 5 and 7 is our reading).
    pub const IRIDIUM_RINGS: [u32; 4] = [3, 9, 15, 21];
}

/// The beams of all stations.
#[derive(Clone, Debug)]
pub(crate) struct Beams {
    pub options: BeamOptions,
    pub next: Time,
    /// Elevation at the edge of the footprint, at least 0.
    mask_rad: f64,
}

impl Beams {
    /// A mask below 0 is for users in the air, and counts as 0: the ground sees nothing below its horizon, and rings
    /// beyond it would never be used.
    pub fn new(options: BeamOptions, mask_rad: f64) -> Beams {
        let mask_rad = mask_rad.max(0.0);
        Beams { options, next: Time::ZERO, mask_rad }
    }

    /// After a check at `now`.
    pub fn schedule(&mut self, now: Time) {
        self.next = next_multiple(now, self.options.every);
    }

    /// The beam of a satellite that lights a place; the outermost one where the satellite stands below the mask.
    pub fn of(&self, place: Vec3, satellite: NodeId, now: Time, sky: &Sky) -> u32 {
        let here = sky.position_at(satellite, now);
        let soon = sky.motion(satellite).earth_fixed_km(&sky.earth, now.saturating_add(Duration::from_secs(1)));
        let up = here * (1.0 / here.norm());
        let way = soon - here;
        let along = way - up * way.dot(up);
        // A geostationary satellite flies east.
        let ahead = if along.norm() > 1e-3 { along } else { Vec3::new(-here.y, here.x, 0.0) };
        let ahead = ahead * (1.0 / ahead.norm());
        let right = ahead.cross(up);
        let down = place * (1.0 / place.norm());
        let reach = libm::acos((place.norm() * libm::cos(self.mask_rad) / here.norm()).min(1.0)) - self.mask_rad;
        let share = (1.0 - down.dot(up)) / (1.0 - libm::cos(reach));
        let clockwise = libm::atan2(down.dot(right), down.dot(ahead)) / std::f64::consts::TAU;
        self.beam_at(share, clockwise.rem_euclid(1.0))
    }

    /// By the share of the footprint that lies nearer to its centre, and the part of a turn from the direction of
    /// flight.
    fn beam_at(&self, share: f64, turn: f64) -> u32 {
        let total = f64::from(self.options.rings.iter().sum::<u32>());
        let mut inside = 0;
        for (ring, &beams) in self.options.rings.iter().enumerate() {
            let outermost = ring + 1 == self.options.rings.len();
            if outermost || share * total < f64::from(inside + beams) {
                return inside + ((turn * f64::from(beams)) as u32).min(beams.saturating_sub(1));
            }
            inside += beams;
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beams_cover_equal_areas_and_count_outwards() {
        let rings = BeamOptions::IRIDIUM_RINGS.to_vec();
        let options = BeamOptions { rings, every: Duration::from_secs(1), outage: Duration::ZERO };
        let beams = Beams::new(options, 0.0);
        let mut counts = [0; 48];
        // Points spread evenly over the cap.
        for i in 0..480 {
            for j in 0..315 {
                let (share, turn) = ((f64::from(i) + 0.5) / 480.0, (f64::from(j) + 0.5) / 315.0);
                counts[beams.beam_at(share, turn) as usize] += 1;
            }
        }
        assert!(counts.iter().all(|&n| n == 480 * 315 / 48), "{counts:?}");
        // Ahead of the satellite, in each ring: the first beam; behind it a later one.
        assert_eq!([0.01, 0.1, 0.3, 0.9].map(|share| beams.beam_at(share, 0.001)), [0, 3, 12, 27]);
        assert_eq!([0.01, 0.1, 0.3, 0.9].map(|share| beams.beam_at(share, 0.999)), [2, 11, 26, 47]);
        assert_eq!(beams.beam_at(1.7, 0.5), 37, "beyond the mask: the outermost ring");
    }
}
