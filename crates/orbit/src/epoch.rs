//! Calendar time, and how far the Earth has turned by then.
//!
//! UT1 is taken as UTC (they differ by less than 0.9 s, 420 m at the equator), and polar motion as zero. Leap seconds
//! are left out: a UTC day has 86,400 s, as in the elements that are published.

use crate::OrbitError;
use skyhop_base::{Duration, Time};
use std::f64::consts::TAU;
use std::fmt;
use std::str::FromStr;

const NANOS_PER_SECOND: i64 = 1_000_000_000;
const NANOS_PER_DAY: i64 = 86_400 * NANOS_PER_SECOND;
/// Days from 1970-01-01 to 2000-01-01.
const DAYS_1970_TO_2000: i64 = 10_957;
/// Years that the nanoseconds of an `i64` hold with room to spare on both sides of 2000.
const YEARS: std::ops::RangeInclusive<i64> = 1800..=2199;

/// An instant in UTC, to the nanosecond, from the year 1800 to 2199.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Utc {
    /// Nanoseconds since 2000-01-01T12:00:00, the epoch J2000.
    nanos: i64,
}

impl Utc {
    /// 2000-01-01T12:00:00.
    pub const J2000: Utc = Utc { nanos: 0 };

    /// The instant after midnight of a day of the Gregorian calendar; `None` when there is no such day or time.
    pub fn from_calendar(year: i64, month: u32, day: u32, after_midnight: Duration) -> Option<Utc> {
        let length = days_of_month(year, month)?;
        if !YEARS.contains(&year) || day == 0 || day > length {
            return None;
        }
        Utc::from_day(days_since_1970(year, month, day), after_midnight)
    }

    /// The instant on a day of a year, 1 = January 1; `None` when the year has no such day.
    pub fn from_day_of_year(year: i64, day: u32, after_midnight: Duration) -> Option<Utc> {
        let length = if is_leap(year) { 366 } else { 365 };
        if !YEARS.contains(&year) || day == 0 || day > length {
            return None;
        }
        Utc::from_day(days_since_1970(year, 1, 1) + i64::from(day) - 1, after_midnight)
    }

    fn from_day(days_since_1970: i64, after_midnight: Duration) -> Option<Utc> {
        let nanos = i64::try_from(after_midnight.as_nanos()).ok().filter(|&nanos| nanos < NANOS_PER_DAY)?;
        let days = days_since_1970 - DAYS_1970_TO_2000;
        Some(Utc { nanos: days * NANOS_PER_DAY + nanos - NANOS_PER_DAY / 2 })
    }

    /// The instant `t` after this one; the last representable one if it lies beyond.
    pub fn after(self, t: Time) -> Utc {
        Utc { nanos: self.nanos.saturating_add(i64::try_from(t.as_nanos()).unwrap_or(i64::MAX)) }
    }

    /// Seconds from `earlier` to this instant; negative if it is the later one.
    pub fn seconds_since(self, earlier: Utc) -> f64 {
        // Whole seconds and the rest apart: a century in nanoseconds has more digits than f64 holds.
        let seconds = self.nanos.div_euclid(NANOS_PER_SECOND) - earlier.nanos.div_euclid(NANOS_PER_SECOND);
        let rest = self.nanos.rem_euclid(NANOS_PER_SECOND) - earlier.nanos.rem_euclid(NANOS_PER_SECOND);
        seconds as f64 + rest as f64 * 1e-9
    }

    /// Days since J2000, with their fraction.
    pub fn days_since_j2000(self) -> f64 {
        let days = self.nanos.div_euclid(NANOS_PER_DAY);
        days as f64 + self.nanos.rem_euclid(NANOS_PER_DAY) as f64 / NANOS_PER_DAY as f64
    }

    /// Since the last full minute, for schedules that follow the wall clock.
    pub fn second_of_minute(self) -> Duration {
        Duration::from_nanos(self.nanos.rem_euclid(60 * NANOS_PER_SECOND) as u64)
    }

    /// Since the last midnight, for what follows the hours of the day.
    pub fn time_of_day(self) -> Duration {
        Duration::from_nanos((self.nanos + NANOS_PER_DAY / 2).rem_euclid(NANOS_PER_DAY) as u64)
    }

    /// Greenwich mean sidereal time in radians, from 0 to 2π: the IAU expression of 1982 (Aoki et al., "The new
    /// definition of universal time", Astronomy and Astrophysics 105, 1982; Vallado, "Fundamentals of Astrodynamics
    /// and Applications", eq. 3-47), which belongs to the frame TEME.
    ///
    /// The day and its fraction are kept apart, so that the result is good to 10⁻¹¹ rad (0.1 mm on the ground).
    pub fn sidereal_time_rad(self) -> f64 {
        let days = self.nanos.div_euclid(NANOS_PER_DAY);
        let fraction = self.nanos.rem_euclid(NANOS_PER_DAY) as f64 / NANOS_PER_DAY as f64;
        let centuries = (days as f64 + fraction) / 36_525.0;
        // 876600 h of the expression are one turn per day of UT1; only the fraction of the day is left of them.
        let seconds = 67_310.548_41
            + fraction * 86_400.0
            + centuries * (8_640_184.812_866 + centuries * (0.093_104 - centuries * 6.2e-6));
        (seconds / 86_400.0).rem_euclid(1.0) * TAU
    }
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_of_month(year: i64, month: u32) -> Option<u32> {
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => Some(31),
        4 | 6 | 9 | 11 => Some(30),
        2 => Some(if is_leap(year) { 29 } else { 28 }),
        _ => None,
    }
}

/// Days of the Gregorian calendar, counted by eras of 400 years that begin in March, so that the leap day comes last.
fn days_since_1970(year: i64, month: u32, day: u32) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = (i64::from(month) + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + i64::from(day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Year, month and day of a day counted from 1970-01-01: the reverse of [`days_since_1970`].
fn calendar(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// ISO 8601, in UTC: a date with month and day or with the day of the year, and a time if wanted: `2025-10-07`,
/// `2025-280T09:03:13.95`, `2025-10-07 09:03:13.95Z`. Other time zones are refused.
impl FromStr for Utc {
    type Err = OrbitError;

    fn from_str(text: &str) -> Result<Utc, OrbitError> {
        let bad = || OrbitError::Epoch { text: text.chars().take(60).collect() };
        let trimmed = text.trim();
        let (date, time) = trimmed.split_once(['T', 't', ' ']).unwrap_or((trimmed, "00:00:00"));
        let time = time.trim_start().trim_end_matches(['Z', 'z']).trim_end_matches("+00:00");
        let after_midnight = time_of_day(time).ok_or_else(bad)?;
        let parts: Vec<&str> = date.split('-').collect();
        let found = match parts[..] {
            [year, month, day] => digits(year, 4..=4)
                .zip(digits(month, 1..=2))
                .zip(digits(day, 1..=2))
                .and_then(|((year, month), day)| Utc::from_calendar(year.into(), month, day, after_midnight)),
            [year, day] => digits(year, 4..=4)
                .zip(digits(day, 3..=3))
                .and_then(|(year, day)| Utc::from_day_of_year(year.into(), day, after_midnight)),
            _ => None,
        };
        found.ok_or_else(bad)
    }
}

/// A number of so many decimal digits.
fn digits(text: &str, length: std::ops::RangeInclusive<usize>) -> Option<u32> {
    let fits = length.contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    fits.then(|| text.parse().ok()).flatten()
}

/// `hh:mm`, `hh:mm:ss` or `hh:mm:ss.fraction`; digits below a nanosecond are cut off.
fn time_of_day(text: &str) -> Option<Duration> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let parts: Vec<&str> = whole.split(':').collect();
    let (hours, minutes, seconds) = match parts[..] {
        [h, m] if fraction.is_empty() && !text.contains('.') => (h, m, "00"),
        [h, m, s] => (h, m, s),
        _ => return None,
    };
    let [hours, minutes, seconds] = [hours, minutes, seconds].map(|part| digits(part, 2..=2));
    let (hours, minutes, seconds) = (hours?, minutes?, seconds?);
    if hours > 23 || minutes > 59 || seconds > 59 || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let nanos = fraction.bytes().chain(std::iter::repeat(b'0')).take(9).fold(0, |n, b| n * 10 + u64::from(b - b'0'));
    Some(Duration::from_nanos(u64::from(hours * 3600 + minutes * 60 + seconds) * NANOS_PER_SECOND as u64 + nanos))
}

/// ISO 8601: `2025-10-07T09:03:13.953984Z`, without a fraction if it is zero.
impl fmt::Display for Utc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let since_midnight = self.nanos.saturating_add(NANOS_PER_DAY / 2);
        let (year, month, day) = calendar(since_midnight.div_euclid(NANOS_PER_DAY) + DAYS_1970_TO_2000);
        let nanos = since_midnight.rem_euclid(NANOS_PER_DAY);
        let (seconds, fraction) = (nanos / NANOS_PER_SECOND, nanos % NANOS_PER_SECOND);
        let (h, m, s) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{h:02}:{m:02}:{s:02}")?;
        if fraction > 0 {
            write!(f, ".{}", format!("{fraction:09}").trim_end_matches('0'))?;
        }
        f.write_str("Z")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utc(text: &str) -> Utc {
        text.parse().unwrap()
    }

    #[test]
    fn what_is_written_is_read_again() {
        for text in [
            "2000-01-01T12:00:00Z",
            "2025-10-07T09:03:13.953984Z",
            "1999-12-31T23:59:59.999999999Z",
            "2024-02-29T00:00:00Z",
            "1900-03-01T00:00:00.000000001Z",
            "1957-10-04T19:28:34Z",
        ] {
            assert_eq!(utc(text).to_string(), text);
        }
        assert_eq!(utc("2000-01-01 12:00"), Utc::J2000);
        assert_eq!(utc("2025-280T09:03:13.95"), utc("2025-10-07T09:03:13.950Z"));
        assert_eq!(utc("2024-366"), utc("2024-12-31"));
    }

    #[test]
    fn what_is_no_instant_is_refused() {
        for text in [
            "",
            "T",
            "2025",
            "2025-13-01",
            "2025-02-29",
            "2025-366",
            "2025-10-07T24:00:00",
            "2025-10-07T09:60",
            "2025-1",
            "2025-10-07T09:03:13+02:00",
            "25-10-07",
            "2025-10-07T9:3:1",
            "2025-10-07T09:03:13.x",
            "−2025-10-07",
            "9999-01-01",
            "2025-10-07T09:03.5",
            "2025-1O-07",
        ] {
            assert!(text.parse::<Utc>().is_err(), "{text}");
        }
    }

    #[test]
    fn days_count_as_julian_days_do() {
        // Vallado, example 3-4: 1996-10-26 14:20:00 UTC is JD 2450383.09722222; J2000 is JD 2451545.0.
        assert!((utc("1996-10-26T14:20:00").days_since_j2000() - (2_450_383.097_222_22 - 2_451_545.0)).abs() < 1e-8);
        assert_eq!(utc("2025-10-07").seconds_since(utc("2025-10-06")), 86_400.0);
        assert_eq!(utc("2025-10-06").seconds_since(utc("2025-10-07T00:00:00.25")), -86_400.25);
        assert_eq!(utc("2025-10-06T00:01:12").second_of_minute(), Duration::from_secs(12));
    }

    #[test]
    fn sidereal_time_of_a_published_example() {
        // Vallado, "Fundamentals of Astrodynamics and Applications", example 3-5: 1992-08-20 12:14:00 UT1 has a GMST
        // of 152.578788 degrees (rounded here to six places).
        let degrees = utc("1992-08-20T12:14:00").sidereal_time_rad().to_degrees();
        assert!((degrees - 152.578_788).abs() < 5e-7, "{degrees}");
        // Meeus, "Astronomical Algorithms", example 12.b: 1987-04-10 19:21:00 UT, 8 h 34 min 57.0896 s.
        let seconds = utc("1987-04-10T19:21:00").sidereal_time_rad() / TAU * 86_400.0;
        assert!((seconds - (8.0 * 3600.0 + 34.0 * 60.0 + 57.0896)).abs() < 1e-4, "{seconds}");
        // The same expression in another program, whose single sum is good to 10⁻⁸ rad.
        for text in ["1980-06-01T03:00:00", "2000-01-01T12:00:00", "2025-10-07T09:03:13.5", "2056-12-31T23:59:59"] {
            let other = sgp4::iau_epoch_to_sidereal_time(utc(text).days_since_j2000() / 365.25);
            assert!((utc(text).sidereal_time_rad() - other).abs() < 1e-8, "{text}");
        }
    }
}
