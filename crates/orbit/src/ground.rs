//! Ground stations, and what they see in the sky.

use crate::{Earth, OrbitError, Vec3};
use skyhop_base::{Angle, Length};

/// A point by geodetic latitude (north positive), longitude (east positive) and altitude above the Earth's surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroundPoint {
    pub latitude: Angle,
    pub longitude: Angle,
    pub altitude: Length,
}

impl GroundPoint {
    /// The point below (or at) an Earth-fixed position; `altitude` is the height of the position over it.
    /// On the ellipsoid by iteration, exact to a millimetre from the ground to far beyond geostationary orbit.
    pub fn below(earth: &Earth, position: Vec3) -> GroundPoint {
        let across = (position.x * position.x + position.y * position.y).sqrt();
        let e2 = eccentricity_squared(earth);
        let mut latitude = libm::atan2(position.z, across * (1.0 - e2));
        // Each turn gains a factor of e² or more; a sphere is right at once.
        for _ in 0..6 {
            let (sin, _) = libm::sincos(latitude);
            latitude = libm::atan2(position.z + e2 * prime_vertical_km(earth, sin) * sin, across);
        }
        let (sin, cos) = libm::sincos(latitude);
        let normal = prime_vertical_km(earth, sin);
        let surface = Vec3::new(normal * cos, 0.0, normal * (1.0 - e2) * sin);
        let altitude = (across - surface.x) * cos + (position.z - surface.z) * sin;
        GroundPoint {
            latitude: Angle::from_degrees(latitude.to_degrees()),
            longitude: Angle::from_degrees(libm::atan2(position.y, position.x).to_degrees()),
            altitude: Length::from_km(altitude),
        }
    }
}

/// A ground station.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroundStation(GroundPoint);

impl GroundStation {
    /// # Errors
    /// A latitude beyond the poles, an altitude that is not on the ground, a longitude that is not a number.
    pub fn new(point: GroundPoint) -> Result<GroundStation, OrbitError> {
        let (latitude, longitude, km) = (point.latitude.degrees(), point.longitude.degrees(), point.altitude.km());
        if !(-90.0..=90.0).contains(&latitude) {
            return Err(OrbitError::Latitude { degrees: latitude });
        }
        if !longitude.is_finite() {
            return Err(OrbitError::Angle { what: "longitude", degrees: longitude });
        }
        if !(-1.0..=100.0).contains(&km) {
            return Err(OrbitError::StationAltitude { km });
        }
        Ok(GroundStation(point))
    }

    pub fn point(&self) -> GroundPoint {
        self.0
    }

    /// The constants of the station: where it stands and which way is up.
    pub fn site(&self, earth: &Earth) -> Site {
        let (sin_lat, cos_lat) = libm::sincos(self.0.latitude.radians());
        let (sin_lon, cos_lon) = libm::sincos(self.0.longitude.radians());
        let normal = prime_vertical_km(earth, sin_lat);
        let height = self.0.altitude.km();
        let across = (normal + height) * cos_lat;
        Site {
            position: Vec3::new(
                across * cos_lon,
                across * sin_lon,
                (normal * (1.0 - eccentricity_squared(earth)) + height) * sin_lat,
            ),
            up: Vec3::new(cos_lat * cos_lon, cos_lat * sin_lon, sin_lat),
            east: Vec3::new(-sin_lon, cos_lon, 0.0),
            north: Vec3::new(-sin_lat * cos_lon, -sin_lat * sin_lon, cos_lat),
            heading_rad: 0.0,
        }
    }
}

fn eccentricity_squared(earth: &Earth) -> f64 {
    earth.flattening * (2.0 - earth.flattening)
}

/// Radius of curvature in the prime vertical, km: N = a / √(1 − e² sin² φ).
fn prime_vertical_km(earth: &Earth, sin_latitude: f64) -> f64 {
    earth.radius_km / (1.0 - eccentricity_squared(earth) * sin_latitude * sin_latitude).sqrt()
}

/// A station's place in the Earth-fixed frame, with its horizon.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Site {
    position: Vec3,
    up: Vec3,
    east: Vec3,
    north: Vec3,
    /// Where a moving station's front points, from north over east; 0 for one that stands.
    heading_rad: f64,
}

/// A direction and a distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Above the horizon.
    pub elevation: Angle,
    /// From north over east, 0° to 360°.
    pub azimuth: Angle,
    pub slant_range: Length,
}

impl Site {
    /// The place whose vertical has this (unit) direction, at this height over the ellipsoid.
    pub(crate) fn with_vertical(earth: &Earth, up: Vec3, height_km: f64) -> Site {
        let normal = prime_vertical_km(earth, up.z);
        let across = normal + height_km;
        // At a pole every direction is south (or north); east is then that of longitude 0.
        let cos_lat = (up.x * up.x + up.y * up.y).sqrt();
        let (sin_lon, cos_lon) = if cos_lat > 0.0 { (up.y / cos_lat, up.x / cos_lat) } else { (0.0, 1.0) };
        let polar = (normal * (1.0 - eccentricity_squared(earth)) + height_km) * up.z;
        Site {
            position: Vec3::new(across * up.x, across * up.y, polar),
            up,
            east: Vec3::new(-sin_lon, cos_lon, 0.0),
            north: Vec3::new(-up.z * cos_lon, -up.z * sin_lon, cos_lat),
            heading_rad: 0.0,
        }
    }

    /// The same place, with its front towards the place whose vertical is `ahead`.
    pub(crate) fn heading_for(self, ahead: Vec3) -> Site {
        Site { heading_rad: libm::atan2(ahead.dot(self.east), ahead.dot(self.north)), ..self }
    }

    /// The azimuth of an Earth-fixed position from the front of a moving station, clockwise, 0° to 360°; from north for
    /// a station that stands.
    pub fn bearing_deg(&self, target: Vec3) -> f64 {
        let line = target - self.position;
        let azimuth = libm::atan2(line.dot(self.east), line.dot(self.north)) - self.heading_rad;
        azimuth.to_degrees().rem_euclid(360.0)
    }

    /// The point in this direction, degrees from north over east and above the horizon, so many km away.
    #[cfg(test)]
    pub(crate) fn along(&self, azimuth_deg: f64, elevation_deg: f64, km: f64) -> Vec3 {
        let (sin_az, cos_az) = libm::sincos(azimuth_deg.to_radians());
        let (sin_el, cos_el) = libm::sincos(elevation_deg.to_radians());
        let level = self.north * cos_az + self.east * sin_az;
        self.position + (level * cos_el + self.up * sin_el) * km
    }

    /// Unit vector towards the zenith.
    pub fn up(&self) -> Vec3 {
        self.up
    }

    /// Earth-fixed, km.
    pub fn position(&self) -> Vec3 {
        self.position
    }

    /// Where an Earth-fixed position stands in the sky. Refraction is left out.
    pub fn look(&self, target: Vec3) -> Look {
        let line = target - self.position;
        let range = line.norm();
        let azimuth = libm::atan2(line.dot(self.east), line.dot(self.north)).to_degrees();
        Look {
            elevation: Angle::from_degrees(libm::asin(self.sin_elevation(target)).to_degrees()),
            azimuth: Angle::from_degrees(if azimuth < 0.0 { azimuth + 360.0 } else { azimuth }),
            slant_range: Length::from_km(range),
        }
    }

    /// Sine of the elevation of an Earth-fixed position: enough to compare, and cheap. 1 for the station's own place.
    #[inline]
    pub fn sin_elevation(&self, target: Vec3) -> f64 {
        let line = target - self.position;
        let range = line.norm();
        if range > 0.0 { (line.dot(self.up) / range).clamp(-1.0, 1.0) } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(latitude: f64, longitude: f64, km: f64) -> GroundPoint {
        GroundPoint {
            latitude: Angle::from_degrees(latitude),
            longitude: Angle::from_degrees(longitude),
            altitude: Length::from_km(km),
        }
    }

    #[test]
    fn a_position_goes_to_latitude_and_longitude_and_back() {
        for earth in [Earth::NS2, Earth::WGS84] {
            for latitude in [-90.0, -89.9, -45.0, 0.0, 13.04, 60.0, 89.999] {
                for km in [0.0, 8.8] {
                    let here = point(latitude, -122.3, km);
                    let site = GroundStation::new(here).unwrap().site(&earth);
                    let back = GroundPoint::below(&earth, site.position());
                    assert!((back.latitude.degrees() - latitude).abs() < 1e-9, "{back:?}");
                    assert!((back.altitude.km() - km).abs() < 1e-6, "{back:?}");
                    assert!((back.longitude.degrees() + 122.3).abs() < 1e-6, "{back:?}");
                }
            }
        }
    }

    #[test]
    fn the_poles_of_wgs84_are_nearer_than_the_equator() {
        // Semi-minor axis 6356.7523 km, NIMA TR8350.2 table 3.3.
        let pole = GroundStation::new(point(90.0, 0.0, 0.0)).unwrap().site(&Earth::WGS84);
        assert!((pole.position().z - 6356.7523).abs() < 1e-4);
        // GPS coordinates of a known point: 45° N on the prime meridian, X 4517.590879 km, Z 4487.348409 km.
        let site = GroundStation::new(point(45.0, 0.0, 0.0)).unwrap().site(&Earth::WGS84);
        assert!((site.position() - Vec3::new(4_517.590_879, 0.0, 4_487.348_409)).norm() < 1e-5);
    }

    #[test]
    fn directions_in_the_sky() {
        let site = GroundStation::new(point(0.0, 0.0, 0.0)).unwrap().site(&Earth::NS2);
        let above = site.look(Vec3::new(6378.0 + 780.0, 0.0, 0.0));
        assert!((above.elevation.degrees() - 90.0).abs() < 1e-5);
        assert!((above.slant_range.km() - 780.0).abs() < 1e-9);
        let around = [(0.0, 1.0, 90.0), (0.0, -1.0, 270.0), (1.0, 0.0, 0.0), (-1.0, 0.0, 180.0)];
        for (north, east, azimuth) in around {
            let look = site.look(Vec3::new(6378.0, east * 100.0, north * 100.0));
            assert!((look.azimuth.degrees() - azimuth).abs() < 1e-9, "{look:?}");
            assert!(look.elevation.degrees().abs() < 1e-9);
        }
        assert!(site.look(Vec3::new(-7000.0, 0.0, 0.0)).elevation.degrees() < -89.0);
    }

    #[test]
    fn what_is_no_station_is_refused() {
        assert_eq!(GroundStation::new(point(91.0, 0.0, 0.0)), Err(OrbitError::Latitude { degrees: 91.0 }));
        assert!(GroundStation::new(point(f64::NAN, 0.0, 0.0)).is_err());
        assert!(GroundStation::new(point(0.0, f64::NAN, 0.0)).is_err());
        assert!(GroundStation::new(point(0.0, 0.0, 780.0)).is_err());
    }
}
