//! SGP4 for orbits of less than 225 minutes.
//!
//! Hoots and Roehrich, "Spacetrack Report No. 3", 1980, sections 6 and 11, with the corrections of Vallado, Crawford,
//! Hujsak and Kelso, "Revisiting Spacetrack Report #3", AIAA 2006-6753 (`algorithms.md` §5.8). Names of quantities are
//! theirs. Lengths are Earth radii and times minutes until the end.
//!
//! The crate `sgp4` has the same theory, and does for longer periods; but in a program that contains Arrow its
//! functions are those of the platform (both use `num-traits`, whose feature `std` wins over `libm`), so that a run
//! would not be the same everywhere.

use crate::{MeanElements, Vec3};
use std::f64::consts::{PI, TAU};

/// WGS 72, to which published elements are fitted (AIAA 2006-6753, appendix C).
const MU_KM3_S2: f64 = 398_600.8;
const RADIUS_KM: f64 = 6378.135;
const J2: f64 = 0.001_082_616;
const J3: f64 = -0.000_002_538_81;
const J4: f64 = -0.000_001_655_97;
/// Orbits of this many minutes and more need the terms for deep space.
pub(crate) const DEEP_SPACE_MINUTES: f64 = 225.0;

/// √(μ/R³) per minute.
fn xke() -> f64 {
    60.0 / (RADIUS_KM * RADIUS_KM * RADIUS_KM / MU_KM3_S2).sqrt()
}

/// The constants of one orbit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NearEarth {
    xke: f64,
    /// Elements at the epoch, in radians and radians per minute; mean motion and semi-major axis without Kozai's part.
    eccentricity: f64,
    perigee: f64,
    node: f64,
    anomaly: f64,
    motion: f64,
    axis: f64,
    sin_i: f64,
    cos_i: f64,
    /// Rates by the oblateness, and what drag adds to the node, per minute².
    anomaly_dot: f64,
    perigee_dot: f64,
    node_dot: f64,
    node_drag: f64,
    c1: f64,
    /// B* C4.
    bc4: f64,
    t2: f64,
    /// Drag terms that are left out when the perigee is lower than 220 km.
    drag: Option<Drag>,
}

#[derive(Clone, Debug, PartialEq)]
struct Drag {
    eta: f64,
    /// B* C5, B* C3 cos ω, 2/3 k B*/(e η), (1 + η cos M)³ and sin M at the epoch.
    bc5: f64,
    perigee_rate: f64,
    anomaly_factor: f64,
    cube_at_epoch: f64,
    sin_at_epoch: f64,
    d: [f64; 3],
    t: [f64; 3],
}

impl NearEarth {
    /// The constants; `None` when the period is for the terms of deep space. The elements have been checked.
    pub fn new(elements: &MeanElements) -> Option<NearEarth> {
        let xke = xke();
        let e = elements.eccentricity;
        let (sin_i, cos_i) = libm::sincos(elements.inclination.radians());
        let theta2 = cos_i * cos_i;
        let theta4 = theta2 * theta2;
        let x3 = 3.0 * theta2 - 1.0;
        let beta2 = 1.0 - e * e;
        let beta = beta2.sqrt();

        // The mean motion is Kozai's; SGP4 wants Brouwer's.
        let kozai = elements.mean_motion * (PI / 720.0);
        let d1 = 0.75 * J2 * x3 / (beta2 * beta);
        let a1 = libm::pow(xke / kozai, 2.0 / 3.0);
        let delta = d1 / (a1 * a1);
        let a2 = a1 * (1.0 - delta * delta - delta * (1.0 / 3.0 + 134.0 * delta * delta / 81.0));
        let n = kozai / (1.0 + d1 / (a2 * a2));
        // NaN belongs to neither theory.
        if n.is_nan() || TAU / n >= DEEP_SPACE_MINUTES {
            return None;
        }
        let a = libm::pow(xke / n, 2.0 / 3.0);
        let air = Air::new(elements, a, n, (sin_i, cos_i));

        // Oblateness.
        let p = a * beta2;
        let p2 = p * p;
        let t1 = 1.5 * J2 * n / p2;
        let t2 = 0.5 * t1 * J2 / p2;
        let t3 = -0.468_75 * J4 * n / (p2 * p2);
        let anomaly_dot = n + 0.5 * t1 * beta * x3 + 0.0625 * t2 * beta * (13.0 - 78.0 * theta2 + 137.0 * theta4);
        let perigee_dot = -0.5 * t1 * (1.0 - 5.0 * theta2)
            + 0.0625 * t2 * (7.0 - 114.0 * theta2 + 395.0 * theta4)
            + t3 * (3.0 - 36.0 * theta2 + 49.0 * theta4);
        let node_dot = -t1 * cos_i + (0.5 * t2 * (4.0 - 19.0 * theta2) + 2.0 * t3 * (3.0 - 7.0 * theta2)) * cos_i;
        Some(NearEarth {
            xke,
            eccentricity: e,
            perigee: elements.argument_of_perigee.radians(),
            node: elements.raan.radians(),
            anomaly: elements.mean_anomaly.radians(),
            motion: n,
            axis: a,
            sin_i,
            cos_i,
            anomaly_dot,
            perigee_dot,
            node_dot,
            node_drag: -3.5 * beta2 * t1 * cos_i * air.c1,
            c1: air.c1,
            bc4: elements.drag * air.c4,
            t2: 1.5 * air.c1,
            drag: (air.perigee_km >= 220.0).then(|| air.drag(elements)),
        })
    }

    /// Position in km and velocity in km/s in TEME, so many minutes after the epoch; `None` when drag has made the
    /// orbit something that the theory does not describe.
    pub fn at(&self, t: f64) -> Option<(Vec3, Vec3)> {
        let mean = self.mean(t)?;
        let v = 1.0 / (mean.axis * (1.0 - mean.eccentricity * mean.eccentricity));
        let (sin_w, cos_w) = libm::sincos(mean.perigee);
        let ax = mean.eccentricity * cos_w;
        let ay = mean.eccentricity * sin_w - v * 0.5 * (J3 / J2) * self.sin_i;
        // Retrograde orbits in the equator's plane divide by zero here, and are kept from it as the report's revision
        // does.
        let one_plus_theta = if (1.0 + self.cos_i).abs() > 1.5e-12 { 1.0 + self.cos_i } else { 1.5e-12 };
        let long = v * 0.25 * (J3 / J2) * self.sin_i * (3.0 + 5.0 * self.cos_i) / one_plus_theta * ax;
        let (sin_e, cos_e) = kepler((mean.anomaly + mean.perigee - long) % TAU, ax, ay);
        self.short_period(&mean, (ax, ay), (sin_e, cos_e))
    }

    /// Secular changes by oblateness and drag.
    fn mean(&self, t: f64) -> Option<Mean> {
        let t_2 = t * t;
        let mut anomaly = self.anomaly + self.anomaly_dot * t;
        let mut perigee = self.perigee + self.perigee_dot * t;
        let mut shrink = 1.0 - self.c1 * t;
        let mut eccentricity = self.eccentricity - self.bc4 * t;
        let mut along = self.t2 * t_2;
        if let Some(drag) = &self.drag {
            let cube_now = cube(1.0 + drag.eta * libm::cos(anomaly));
            let shift = drag.perigee_rate * t + drag.anomaly_factor * (cube_now - drag.cube_at_epoch);
            anomaly += shift;
            perigee -= shift;
            let ([d2, d3, d4], [t3, t4, t5]) = (drag.d, drag.t);
            shrink -= t_2 * (d2 + t * (d3 + t * d4));
            eccentricity -= drag.bc5 * (libm::sin(anomaly) - drag.sin_at_epoch);
            along += t_2 * t * (t3 + t * (t4 + t * t5));
        }
        // The semi-major axis is the square of this: an orbit that has shrunk to nothing would grow again.
        if !(-0.001..1.0).contains(&eccentricity) || shrink <= 0.0 {
            return None;
        }
        Some(Mean {
            axis: self.axis * shrink * shrink,
            eccentricity: eccentricity.max(1e-6),
            anomaly: anomaly + self.motion * along,
            perigee,
            node: self.node + self.node_dot * t + self.node_drag * t_2,
        })
    }

    /// Short-periodic terms, and from elements to a place.
    fn short_period(&self, mean: &Mean, (ax, ay): (f64, f64), (sin_e, cos_e): (f64, f64)) -> Option<(Vec3, Vec3)> {
        let (a, theta) = (mean.axis, self.cos_i);
        let theta2 = theta * theta;
        let (c, d) = (ax * cos_e + ay * sin_e, ax * sin_e - ay * cos_e);
        let l2 = 1.0 - ax * ax - ay * ay;
        let pl = a * l2;
        if pl.is_nan() || pl < 0.0 {
            return None;
        }
        let l = l2.sqrt();
        let r = a * (1.0 - c);
        let (r_dot, r_v) = (a.sqrt() * d / r, pl.sqrt() / r);
        let g = d / (1.0 + l);
        let (sin_u, cos_u) = (a / r * (sin_e - ay - ax * g), a / r * (cos_e - ax + ay * g));
        let (sin_2u, cos_2u) = (2.0 * sin_u * cos_u, 1.0 - 2.0 * sin_u * sin_u);
        let w1 = 0.5 * J2 / pl;
        let w2 = w1 / pl;
        let x3 = 3.0 * theta2 - 1.0;
        let n = self.xke / (a * a.sqrt());
        let radius = r * (1.0 - 1.5 * w2 * l * x3) + 0.5 * w1 * (1.0 - theta2) * cos_2u;
        let u = libm::atan2(sin_u, cos_u) - 0.25 * w2 * (7.0 * theta2 - 1.0) * sin_2u;
        let node = mean.node + 1.5 * w2 * theta * sin_2u;
        // sin and cos of i + δ for a δ of at most 10⁻³, from those of i.
        let (sin_d, cos_d) = libm::sincos(1.5 * w2 * theta * self.sin_i * cos_2u);
        let (sin_i, cos_i) = (self.sin_i * cos_d + theta * sin_d, theta * cos_d - self.sin_i * sin_d);
        let radial = r_dot - n * w1 * (1.0 - theta2) * sin_2u / self.xke;
        let across = r_v + n * w1 * ((1.0 - theta2) * cos_2u + 1.5 * x3) / self.xke;
        let ((sin_u, cos_u), (sin_n, cos_n)) = (libm::sincos(u), libm::sincos(node));
        let ahead =
            Vec3::new(-cos_n * sin_u - sin_n * cos_i * cos_u, -sin_n * sin_u + cos_n * cos_i * cos_u, sin_i * cos_u);
        let up = Vec3::new(cos_n * cos_u - sin_n * cos_i * sin_u, sin_n * cos_u + cos_n * cos_i * sin_u, sin_i * sin_u);
        let speed = RADIUS_KM * self.xke / 60.0;
        Some((up * (radius * RADIUS_KM), (up * radial + ahead * across) * speed))
    }
}

/// What drag does: the report's quantities from s to C4.
struct Air {
    a: f64,
    n: f64,
    sin_i: f64,
    perigee_km: f64,
    s: f64,
    xi: f64,
    eta: f64,
    k: f64,
    k1: f64,
    c1: f64,
    c4: f64,
}

impl Air {
    fn new(elements: &MeanElements, a: f64, n: f64, (sin_i, cos_i): (f64, f64)) -> Air {
        let e = elements.eccentricity;
        let theta2 = cos_i * cos_i;
        let x3 = 3.0 * theta2 - 1.0;
        // Density falls with the fourth power of the height over s.
        let perigee_km = (a * (1.0 - e) - 1.0) * RADIUS_KM;
        let s_km = if perigee_km < 98.0 { 20.0 } else { (perigee_km - 78.0).min(78.0) };
        let s = s_km / RADIUS_KM + 1.0;
        let q = fourth((120.0 - s_km) / RADIUS_KM);
        let xi = 1.0 / (a - s);
        let eta = a * e * xi;
        let (eta2, e_eta) = (eta * eta, e * eta);
        let psi = (1.0 - eta2).abs();
        let k = q * fourth(xi);
        let k1 = k / libm::pow(psi, 3.5);
        let c2 = k1
            * n
            * (a * (1.0 + 1.5 * eta2 + e_eta * (4.0 + eta2))
                + 0.375 * J2 * xi / psi * x3 * (8.0 + 3.0 * eta2 * (8.0 + eta2)));
        let cos_2w = libm::cos(2.0 * elements.argument_of_perigee.radians());
        let c4 = 2.0
            * n
            * k1
            * a
            * (1.0 - e * e)
            * (eta * (2.0 + 0.5 * eta2) + e * (0.5 + 2.0 * eta2)
                - J2 * xi / (a * psi)
                    * (-3.0 * x3 * (1.0 - 2.0 * e_eta + eta2 * (1.5 - 0.5 * e_eta))
                        + 0.75 * (1.0 - theta2) * (2.0 * eta2 - e_eta * (1.0 + eta2)) * cos_2w));
        Air { a, n, sin_i, perigee_km, s, xi, eta, k, k1, c1: elements.drag * c2, c4 }
    }

    /// The higher terms.
    fn drag(&self, elements: &MeanElements) -> Drag {
        let Air { a, n, sin_i, s, xi, eta, k, k1, c1, .. } = *self;
        let (e, bstar) = (elements.eccentricity, elements.drag);
        let (eta2, e_eta) = (eta * eta, e * eta);
        let (omega, m0) = (elements.argument_of_perigee.radians(), elements.mean_anomaly.radians());
        // C3 and the factor of the anomaly vanish for circles.
        let elongated = e > 1e-4;
        let c3 = if elongated { -2.0 * k * xi * (J3 / J2) * n * sin_i / e } else { 0.0 };
        let c5 = 2.0 * k1 * a * (1.0 - e * e) * (1.0 + 2.75 * (eta2 + e_eta) + e_eta * eta2);
        let d2 = 4.0 * a * xi * c1 * c1;
        let u = d2 * xi * c1 / 3.0;
        let d3 = (17.0 * a + s) * u;
        let d4 = 0.5 * u * a * xi * (221.0 * a + 31.0 * s) * c1;
        let c1_2 = c1 * c1;
        Drag {
            eta,
            bc5: bstar * c5,
            perigee_rate: bstar * c3 * libm::cos(omega),
            anomaly_factor: if elongated { -2.0 / 3.0 * k * bstar / e_eta } else { 0.0 },
            cube_at_epoch: cube(1.0 + eta * libm::cos(m0)),
            sin_at_epoch: libm::sin(m0),
            d: [d2, d3, d4],
            t: [
                d2 + 2.0 * c1_2,
                0.25 * (3.0 * d3 + c1 * (12.0 * d2 + 10.0 * c1_2)),
                0.2 * (3.0 * d4 + 12.0 * c1 * d3 + 6.0 * d2 * d2 + 15.0 * c1_2 * (2.0 * d2 + c1_2)),
            ],
        }
    }
}

/// Elements after the secular changes.
struct Mean {
    axis: f64,
    eccentricity: f64,
    anomaly: f64,
    perigee: f64,
    node: f64,
}

/// Kepler's equation for E + ω by Newton's steps, of at most 0.95 so that none overshoots; its sine and cosine.
fn kepler(u: f64, ax: f64, ay: f64) -> (f64, f64) {
    let mut angle = u;
    let mut found = libm::sincos(angle);
    for _ in 0..10 {
        let (sin, cos) = found;
        let step = (u - ay * cos + ax * sin - angle) / (1.0 - ax * cos - ay * sin);
        angle += step.clamp(-0.95, 0.95);
        found = libm::sincos(angle);
        if step.abs() < 1e-12 {
            break;
        }
    }
    found
}

fn cube(x: f64) -> f64 {
    x * x * x
}

fn fourth(x: f64) -> f64 {
    (x * x) * (x * x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Utc;
    use skyhop_base::{Angle, Stream};

    #[test]
    fn another_program_of_the_same_theory_agrees() {
        // The crate sgp4, which was written from the same reports by others; beyond the verification set, whose orbits
        // are few and old.
        let mut stream = Stream::new(4, "near-earth", "test");
        let (mut worst, mut ended): (f64, u32) = (0.0, 0);
        for round in 0..2000 {
            let mut between = |low: f64, high: f64| low + (high - low) * stream.uniform();
            let mut turn = || Angle::from_degrees(between(0.0, 360.0));
            let (raan, argument_of_perigee, mean_anomaly) = (turn(), turn(), turn());
            let mean_motion = between(6.5, 16.2);
            // Perigee from 100 km up, so that each of the report's three cases of low perigee comes.
            let axis_km = libm::cbrt(MU_KM3_S2 * (86_400.0 / mean_motion / TAU).powi(2));
            let roundest = (1.0 - (RADIUS_KM + 100.0) / axis_km).max(0.0);
            let eccentricity = if round % 3 == 0 { roundest.min(1e-5) } else { between(0.0, roundest) };
            let inclination = [between(0.0, 180.0), 63.4349, 0.0, 179.999][round % 4];
            let elements = MeanElements {
                catalogue_number: 1,
                epoch: Utc::J2000,
                mean_motion,
                eccentricity,
                inclination: Angle::from_degrees(inclination),
                raan,
                argument_of_perigee,
                mean_anomaly,
                drag: between(-1e-4, 1e-3),
            };
            let ours = NearEarth::new(&elements).unwrap();
            let rad = |angle: Angle| angle.radians();
            let orbit = sgp4::Orbit::from_kozai_elements(
                &sgp4::WGS72,
                rad(elements.inclination),
                rad(raan),
                eccentricity,
                rad(argument_of_perigee),
                rad(mean_anomaly),
                mean_motion * (PI / 720.0),
            )
            .unwrap();
            let time = sgp4::afspc_epoch_to_sidereal_time;
            let theirs = sgp4::Constants::new(sgp4::WGS72, time, 0.0, elements.drag, orbit).unwrap();
            for minutes in [-400.0, 0.0, 33.3, 1440.0] {
                let other = theirs.propagate_afspc_compatibility_mode(sgp4::MinutesSinceEpoch(minutes)).ok();
                let (Some((position, velocity)), Some(other)) = (ours.at(minutes), &other) else {
                    // The other program goes on where the orbit has shrunk to nothing.
                    let shrunk = ours.mean(minutes).is_none();
                    assert!(ours.at(minutes).is_none() && (other.is_none() || shrunk), "{elements:?} {minutes}");
                    ended += 1;
                    continue;
                };
                let vector = |[x, y, z]: [f64; 3]| Vec3::new(x, y, z);
                let off = (position - vector(other.position)).norm();
                worst = worst.max(off);
                // 1 mm; where drag runs away the sums lose more digits.
                assert!(off < 1e-6 * (1.0 + position.norm() / 1e4), "{elements:?} {minutes}: {off} km");
                assert!((velocity - vector(other.velocity)).norm() < 1e-8, "{elements:?} {minutes}");
            }
        }
        assert!(worst > 0.0 && ended < 800, "{worst} {ended}");
    }
}
