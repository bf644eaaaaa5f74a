//! Which satellites a station sees, out of many, without looking at all of them.
//!
//! Satellites are sorted by their direction from the Earth's centre into the cells of a cube around the unit sphere,
//! apart by height. A station looks into the cells that its horizon reaches; what it finds there is tested exactly, so
//! the answer is that of a test of all satellites.

use crate::{Site, Vec3};

/// Cells along each side of the cube. A cell is then 7° wide, about the reach of a low satellite with a mask of 25°.
const SIDE: usize = 16;
/// Upper limits of the classes of height, as distances in km from the Earth's centre: a much higher satellite is seen
/// from much further, so it must not widen the search for low ones.
const CLASSES: [f64; 6] = [7_000.0, 7_700.0, 9_500.0, 14_000.0, 28_000.0, f64::INFINITY];
/// Satellites nearer to the Earth's centre than any station have decayed. They are few and are always tested.
const LOWEST_KM: f64 = 6_400.0;

/// An index over the positions of satellites at one instant. Building it is cheap; its memory is used again.
#[derive(Clone, Debug, Default)]
pub struct SkyIndex {
    classes: Vec<Class>,
    sunken: Vec<u32>,
}

#[derive(Clone, Debug, Default)]
struct Class {
    highest_km: f64,
    /// Members of cell n are `members[starts[n]..starts[n + 1]]`.
    starts: Vec<u32>,
    members: Vec<Member>,
    /// Before they are sorted into the cells: member and cell.
    unsorted: Vec<(Member, u32)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Member {
    satellite: u32,
    direction: [f32; 3],
}

/// Half the width in which a direction in f32 may be wrong, with room to spare.
const DIRECTION_SLACK: f64 = 1e-6;

impl SkyIndex {
    /// Sorts in the satellites of these numbers, which are places in `positions` (Earth-fixed, km).
    pub fn renew(&mut self, positions: &[Vec3], satellites: impl Iterator<Item = u32>) {
        self.classes.resize_with(CLASSES.len(), Class::default);
        self.classes.iter_mut().for_each(Class::clear);
        self.sunken.clear();
        for satellite in satellites {
            let position = positions[satellite as usize];
            let radius = position.norm();
            if radius < LOWEST_KM {
                self.sunken.push(satellite);
                continue;
            }
            let direction = position * (1.0 / radius);
            let class = CLASSES.iter().position(|&limit| radius < limit).unwrap_or(CLASSES.len() - 1);
            let class = &mut self.classes[class];
            class.highest_km = class.highest_km.max(radius);
            let direction = [direction.x, direction.y, direction.z];
            let [x, y, z] = direction.map(cell);
            let member = Member { satellite, direction: direction.map(|u| u as f32) };
            class.unsorted.push((member, (x * SIDE * SIDE + y * SIDE + z) as u32));
        }
        self.classes.iter_mut().for_each(Class::sort);
    }

    /// Those that stand higher over the site than the mask with this sine, in the order of their numbers. `positions`
    /// are those with which the index was renewed.
    pub fn visible(&self, site: &Site, sin_mask: f64, positions: &[Vec3], out: &mut Vec<u32>) {
        out.clear();
        let sees = |satellite: u32| site.sin_elevation(positions[satellite as usize]) > sin_mask;
        out.extend(self.sunken.iter().copied().filter(|&satellite| sees(satellite)));
        let place = site.position();
        let radius = place.norm();
        let centre = place * (1.0 / radius);
        // Angle between the ellipsoid's vertical, to which the mask refers, and the radius.
        let lean = libm::acos(site.up().dot(centre).clamp(-1.0, 1.0));
        let mask = libm::asin(sin_mask.clamp(-1.0, 1.0)) - lean;
        for class in self.classes.iter().filter(|class| !class.members.is_empty()) {
            // λ = acos(R cos ε / r) − ε grows with r and falls with ε (docs/models/orbits.md, coverage).
            let reach = libm::acos((radius * libm::cos(mask) / class.highest_km).clamp(-1.0, 1.0)) - mask;
            let reach = reach.clamp(0.0, std::f64::consts::PI);
            let chord = 2.0 * libm::sin(reach / 2.0) + DIRECTION_SLACK;
            let least = (libm::cos(reach) - DIRECTION_SLACK) as f32;
            let centre_f32 = [centre.x, centre.y, centre.z].map(|u| u as f32);
            let range = |u: f64| (cell(u - chord), cell(u + chord));
            let (x, y, z) = (range(centre.x), range(centre.y), range(centre.z));
            for row in (x.0..=x.1).flat_map(|x| (y.0..=y.1).map(move |y| (x * SIDE + y) * SIDE)) {
                let members = class.starts[row + z.0] as usize..class.starts[row + z.1 + 1] as usize;
                for member in &class.members[members] {
                    let [a, b, c] = member.direction;
                    let cosine = a * centre_f32[0] + b * centre_f32[1] + c * centre_f32[2];
                    if cosine >= least && sees(member.satellite) {
                        out.push(member.satellite);
                    }
                }
            }
        }
        out.sort_unstable();
    }
}

/// The cell along one side in which a component of a unit vector lies; the outermost ones reach to infinity.
fn cell(component: f64) -> usize {
    // `as` saturates at 0 for what is negative.
    (((component + 1.0) * (SIDE as f64 / 2.0)) as usize).min(SIDE - 1)
}

impl Class {
    fn clear(&mut self) {
        self.highest_km = 0.0;
        self.members.clear();
        self.unsorted.clear();
    }

    /// Sorts by counting.
    fn sort(&mut self) {
        if self.unsorted.is_empty() {
            return;
        }
        self.starts.clear();
        self.starts.resize(SIDE * SIDE * SIDE + 1, 0);
        self.unsorted.iter().for_each(|&(_, cell)| self.starts[cell as usize + 1] += 1);
        for cell in 1..self.starts.len() {
            self.starts[cell] += self.starts[cell - 1];
        }
        self.members.resize(self.unsorted.len(), Member::default());
        // Filled from the back, after which `starts[cell + 1]` holds the beginning of `cell`.
        for &(member, cell) in self.unsorted.iter().rev() {
            let place = &mut self.starts[cell as usize + 1];
            *place -= 1;
            self.members[*place as usize] = member;
        }
        self.starts.rotate_left(1);
        if let Some(end) = self.starts.last_mut() {
            *end = self.members.len() as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Earth, GroundPoint, GroundStation};
    use skyhop_base::{Angle, Length, Stream};

    #[test]
    fn the_index_finds_what_looking_at_all_finds() {
        let mut stream = Stream::new(3, "index", "test");
        let mut index = SkyIndex::default();
        let (mut found, mut seen) = (Vec::new(), 0);
        for round in 0..60 {
            let earth = if round % 2 == 0 { Earth::WGS84 } else { Earth::NS2 };
            // Low shells, and in some rounds everything up to geostationary, debris and what has come down.
            let count = 1 + (stream.uniform() * 3000.0) as usize;
            let positions: Vec<Vec3> = (0..count)
                .map(|_| {
                    let mut component = || 2.0 * stream.uniform() - 1.0;
                    let direction = Vec3::new(component(), component(), component());
                    let radius = match (round % 5, component()) {
                        (0, u) => 6_000.0 + 20_000.0 * u.abs(),
                        (1, u) if u > 0.5 => 42_164.0,
                        (1, u) if u < -0.9 => 0.0,
                        (_, u) => 6_900.0 + 80.0 * u,
                    };
                    direction * (radius / direction.norm())
                })
                .collect();
            index.renew(&positions, (0..count as u32).filter(|n| n % 7 != 3));
            for _ in 0..40 {
                let mask = [25.0, 5.0, 0.0, -5.0, 60.0, 89.0, -90.0][(stream.uniform() * 7.0) as usize];
                let point = GroundPoint {
                    latitude: Angle::from_degrees(
                        [90.0, -90.0, 180.0 * stream.uniform() - 90.0][(stream.uniform() * 3.0) as usize],
                    ),
                    longitude: Angle::from_degrees(360.0 * stream.uniform()),
                    altitude: Length::from_km(stream.uniform() * 12.0 - 1.0),
                };
                let site = GroundStation::new(point).unwrap().site(&earth);
                let sin_mask = libm::sin(Angle::from_degrees(mask).radians());
                index.visible(&site, sin_mask, &positions, &mut found);
                let all: Vec<u32> = (0..count as u32)
                    .filter(|&n| n % 7 != 3 && site.sin_elevation(positions[n as usize]) > sin_mask)
                    .collect();
                assert_eq!(found, all, "round {round}, mask {mask}");
                seen += all.len();
            }
        }
        assert!(seen > 100_000, "{seen}");
    }
}
