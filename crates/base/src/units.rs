//! Quantities as they stand in a scenario file: a number, a space, a unit ("25 Mbit/s", "10 ms", "780 km").
//!
//! Each kind has one list of units; a unit of another kind, a missing unit or a misspelt one is an error that
//! names the kind, the text and the units that would do.

use crate::{Duration, Rate};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// A size in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// A length in kilometres.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Length(f64);

/// An angle in degrees.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Angle(f64);

impl Length {
    pub const fn from_km(km: f64) -> Length {
        Length(km)
    }

    pub const fn km(self) -> f64 {
        self.0
    }
}

impl Angle {
    pub const fn from_degrees(degrees: f64) -> Angle {
        Angle(degrees)
    }

    pub const fn degrees(self) -> f64 {
        self.0
    }

    pub fn radians(self) -> f64 {
        self.0.to_radians()
    }
}

/// Why a text is not a quantity of the wanted kind.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum QuantityError {
    #[error("\"{text}\" is not {}: it must start with a number, for example \"{example}\"", with_article(kind))]
    NoNumber { text: String, kind: &'static str, example: &'static str },
    #[error("\"{text}\" has no unit: {} is written like \"{example}\"", with_article(kind))]
    NoUnit { text: String, kind: &'static str, example: &'static str },
    #[error("\"{unit}\" is not a unit of {}: use one of {}", with_article(kind), .valid.join(", "))]
    UnknownUnit { unit: String, kind: &'static str, valid: Vec<&'static str> },
    #[error("\"{text}\" is out of range for {}: {reason}", with_article(kind))]
    OutOfRange { text: String, kind: &'static str, reason: &'static str },
}

fn with_article(kind: &str) -> String {
    let article = if kind.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {kind}")
}

/// The units of one kind: each with its factor to the base unit of the kind.
struct Kind {
    name: &'static str,
    example: &'static str,
    units: &'static [(&'static str, f64)],
}

/// Base unit: second.
const DURATION: Kind = Kind {
    name: "duration",
    example: "10 ms",
    units: &[
        ("ns", 1e-9),
        ("us", 1e-6),
        ("µs", 1e-6),
        ("ms", 1e-3),
        ("s", 1.0),
        ("min", 60.0),
        ("h", 3600.0),
        ("d", 86400.0),
    ],
};

/// Base unit: bit per second.
const RATE: Kind = Kind {
    name: "rate",
    example: "1.5 Mbit/s",
    units: &[("bit/s", 1.0), ("kbit/s", 1e3), ("Mbit/s", 1e6), ("Gbit/s", 1e9), ("Tbit/s", 1e12)],
};

/// Base unit: byte.
const SIZE: Kind = Kind {
    name: "size",
    example: "1448 B",
    units: &[
        ("B", 1.0),
        ("kB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
        ("TB", 1e12),
        ("KiB", 1024.0),
        ("MiB", 1_048_576.0),
        ("GiB", 1_073_741_824.0),
    ],
};

/// Base unit: kilometre.
const LENGTH: Kind = Kind { name: "length", example: "780 km", units: &[("m", 1e-3), ("km", 1.0)] };

/// Base unit: degree.
const ANGLE: Kind = Kind {
    name: "angle",
    example: "86.4 deg",
    units: &[("deg", 1.0), ("°", 1.0), ("rad", 180.0 / std::f64::consts::PI)],
};

impl Kind {
    /// The value in the base unit, finite.
    fn parse(&self, text: &str) -> Result<f64, QuantityError> {
        let trimmed = text.trim();
        let no_number = || QuantityError::NoNumber { text: shorten(text), kind: self.name, example: self.example };
        let (number, unit) = split_number(trimmed).ok_or_else(no_number)?;
        let value: f64 = number.parse().map_err(|_| no_number())?;
        let unit = unit.trim();
        if unit.is_empty() {
            return Err(QuantityError::NoUnit { text: shorten(text), kind: self.name, example: self.example });
        }
        let Some(&(_, factor)) = self.units.iter().find(|(name, _)| *name == unit) else {
            let valid = self.units.iter().map(|&(name, _)| name).collect();
            return Err(QuantityError::UnknownUnit { unit: shorten(unit), kind: self.name, valid });
        };
        let value = value * factor;
        if value.is_finite() { Ok(value) } else { Err(self.out_of_range(text, "it must be finite")) }
    }

    fn parse_unsigned(&self, text: &str) -> Result<f64, QuantityError> {
        let value = self.parse(text)?;
        if value < 0.0 { Err(self.out_of_range(text, "it must not be negative")) } else { Ok(value) }
    }

    /// The nearest whole number. What it changes by more than a thousandth was not meant to be rounded.
    fn whole(&self, value: f64, text: &str, reason: &'static str) -> Result<u64, QuantityError> {
        let whole = (value + 0.5).floor();
        if (whole - value).abs() > 1e-3 * value {
            return Err(self.out_of_range(text, reason));
        }
        Ok(whole as u64)
    }

    fn out_of_range(&self, text: &str, reason: &'static str) -> QuantityError {
        QuantityError::OutOfRange { text: shorten(text), kind: self.name, reason }
    }

    /// Written with the largest unit of `preferred` in which the value is at least 1, exactly.
    fn write(&self, value: f64, preferred: &[&str], f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = || self.units.iter().filter(|(name, _)| preferred.contains(name));
        let (name, factor) = units()
            .rev()
            .find(|(_, factor)| value.abs() >= *factor)
            .or_else(|| units().next())
            .unwrap_or(&self.units[0]);
        let shown = value / factor;
        // A division that does not survive the way back is not written: the canonical form is exact.
        if shown * factor == value { write!(f, "{shown} {name}") } else { write!(f, "{value} {}", self.base()) }
    }

    fn base(&self) -> &'static str {
        self.units.iter().find(|(_, factor)| *factor == 1.0).map_or("", |(name, _)| name)
    }
}

/// Splits "1.5 Mbit/s" into "1.5" and " Mbit/s". `None` when no number stands at the start.
fn split_number(text: &str) -> Option<(&str, &str)> {
    let bytes = text.as_bytes();
    let mut end = 0;
    let mut digits = false;
    while end < bytes.len() {
        match bytes[end] {
            b'0'..=b'9' => digits = true,
            b'.' => {}
            b'+' | b'-' if end == 0 || matches!(bytes[end - 1], b'e' | b'E') => {}
            b'e' | b'E'
                if digits
                    && bytes.get(end + 1).is_some_and(|next| next.is_ascii_digit() || matches!(next, b'+' | b'-')) => {}
            _ => break,
        }
        end += 1;
    }
    digits.then(|| text.split_at(end))
}

/// A message must stay readable whatever was typed.
fn shorten(text: &str) -> String {
    const LONGEST: usize = 60;
    if text.chars().count() <= LONGEST { text.to_owned() } else { text.chars().take(LONGEST).chain(['…']).collect() }
}

impl FromStr for Duration {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Duration, QuantityError> {
        let seconds = DURATION.parse_unsigned(text)?;
        // Half of the range of the clock, so that sums of two still fit.
        if seconds > 9.0e9 {
            return Err(DURATION.out_of_range(text, "the longest is 9e9 s"));
        }
        DURATION.whole(seconds * 1e9, text, "times are whole nanoseconds, and it is not")?;
        Ok(exact_nanos(text).map_or_else(|| Duration::from_secs_f64(seconds), Duration::from_nanos))
    }
}

/// Digits of a number that are read exactly: with days as their unit they fit into 128 bits.
const EXACT_DIGITS: usize = 24;

/// A duration without an exponent to the nearest nanosecond. Seconds in a float are further off from 52 days on.
fn exact_nanos(text: &str) -> Option<u64> {
    let (number, unit) = split_number(text.trim())?;
    let &(_, seconds) = DURATION.units.iter().find(|(name, _)| *name == unit.trim())?;
    // Every unit is a whole number of nanoseconds.
    let unit_ns = (seconds * 1e9).round() as u128;
    let number = number.strip_prefix('+').unwrap_or(number);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.len() + fraction.len() > EXACT_DIGITS {
        return None;
    }
    let digits: u128 = format!("{whole}{fraction}").parse().ok()?;
    let divisor = 10_u128.pow(fraction.len() as u32);
    u64::try_from((digits * unit_ns + divisor / 2) / divisor).ok()
}

impl FromStr for Rate {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Rate, QuantityError> {
        let bps = RATE.parse_unsigned(text)?;
        if bps > 1e15 {
            return Err(RATE.out_of_range(text, "the highest is 1000 Tbit/s"));
        }
        if bps < 1.0 {
            return Err(RATE.out_of_range(text, "it must be at least 1 bit/s"));
        }
        let bps = RATE.whole(bps, text, "rates are whole bits per second, and it is not")?;
        Rate::from_bps(bps).ok_or_else(|| RATE.out_of_range(text, "it must be at least 1 bit/s"))
    }
}

impl FromStr for Bytes {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Bytes, QuantityError> {
        let bytes = SIZE.parse_unsigned(text)?;
        if bytes > 1e18 {
            return Err(SIZE.out_of_range(text, "the largest is 1e18 B"));
        }
        SIZE.whole(bytes, text, "sizes are whole bytes, and it is not").map(Bytes)
    }
}

impl FromStr for Length {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Length, QuantityError> {
        LENGTH.parse(text).map(Length)
    }
}

impl FromStr for Angle {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Angle, QuantityError> {
        ANGLE.parse(text).map(Angle)
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.as_nanos();
        let (digits, unit) = match nanos {
            _ if nanos >= 1_000_000_000 || nanos == 0 => (9, "s"),
            _ if nanos >= 1_000_000 => (6, "ms"),
            _ if nanos >= 1_000 => (3, "us"),
            _ => (0, "ns"),
        };
        let divisor = 10_u64.pow(digits as u32);
        let (whole, fraction) = (nanos / divisor, nanos % divisor);
        if fraction == 0 {
            return write!(f, "{whole} {unit}");
        }
        let fraction = format!("{fraction:0digits$}");
        write!(f, "{whole}.{} {unit}", fraction.trim_end_matches('0'))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        RATE.write(self.bps_f64(), &["bit/s", "kbit/s", "Mbit/s", "Gbit/s"], f)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B", self.0)
    }
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} km", self.0)
    }
}

impl fmt::Display for Angle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} deg", self.0)
    }
}

/// Text in files, with the kind as `format` in the JSON Schema (and the units as a pattern that editors check).
macro_rules! quantity_in_files {
    ($($name:ident: $kind:ident),+ $(,)?) => {$(
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                let text = Cow::<str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let units: Vec<&str> = $kind.units.iter().map(|&(unit, _)| unit).collect();
                json_schema!({
                    "type": "string",
                    "format": $kind.name,
                    "description": format!("A {}: a number and one of the units {}", $kind.name, units.join(", ")),
                    "examples": [$kind.example],
                    "pattern": format!(r"^\s*[+-]?[0-9.]+([eE][+-]?[0-9]+)?\s*({})\s*$", units.join("|")),
                })
            }
        }
    )+};
}

quantity_in_files!(Duration: DURATION, Rate: RATE, Bytes: SIZE, Length: LENGTH, Angle: ANGLE);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rounding_would_change_is_refused() {
        for text in ["0.4 ns", "1.5 ns", "0.01 us 1"] {
            assert!(text.parse::<Duration>().is_err(), "{text}");
        }
        for text in ["0.5 bit/s", "0 bit/s", "1.4 bit/s", "0.0104 kbit/s"] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
        assert!("1.5 B".parse::<Bytes>().is_err());
        // A computed value need not be whole: nobody notices a change by a thousandth.
        assert_eq!("3.33564 us".parse(), Ok(Duration::from_nanos(3336)));
        assert_eq!("33.3333 kbit/s".parse(), Ok(Rate::from_bps(33_333).unwrap()));
        assert_eq!("0 s".parse(), Ok(Duration::ZERO));
    }

    #[test]
    fn quantities_are_read_with_their_units() {
        assert_eq!("10 ms".parse(), Ok(Duration::from_millis(10)));
        assert_eq!("25us".parse(), Ok(Duration::from_micros(25)));
        assert_eq!("1.5 Mbit/s".parse(), Ok(Rate::from_bps(1_500_000).unwrap()));
        assert_eq!("1e3 B".parse(), Ok(Bytes(1000)));
        assert_eq!("550 km".parse(), Ok(Length::from_km(550.0)));
        assert_eq!("-122.3 deg".parse(), Ok(Angle::from_degrees(-122.3)));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let message = |r: Result<Rate, QuantityError>| r.unwrap_err().to_string();
        assert_eq!(
            message("fast".parse()),
            "\"fast\" is not a rate: it must start with a number, for example \"1.5 Mbit/s\""
        );
        assert_eq!(message("15".parse()), "\"15\" has no unit: a rate is written like \"1.5 Mbit/s\"");
        assert_eq!(
            message("15 mbps".parse()),
            "\"mbps\" is not a unit of a rate: use one of bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s"
        );
        assert_eq!(message("0 bit/s".parse()), "\"0 bit/s\" is out of range for a rate: it must be at least 1 bit/s");
        assert_eq!(message("-1 Mbit/s".parse()), "\"-1 Mbit/s\" is out of range for a rate: it must not be negative");
        assert_eq!(message("1e999 bit/s".parse()), "\"1e999 bit/s\" is out of range for a rate: it must be finite");
    }

    #[test]
    fn durations_are_exact_whatever_their_length() {
        let nanos = |text: &str| text.parse::<Duration>().unwrap().as_nanos();
        assert_eq!(nanos("4373735.997 s"), 4_373_735_997_000_000);
        assert_eq!(nanos("50.000000000000001 d"), 4_320_000_000_000_000);
        assert_eq!(nanos("0.1 us"), 100);
        assert_eq!(nanos("1.9999999996 s"), 2_000_000_000);
        for nanos in [1, 999, 1_001, 1_234_567, 4_373_735_997_000_001, 8_999_999_999_999_999_999] {
            let written = Duration::from_nanos(nanos).to_string();
            assert_eq!(written.parse::<Duration>().unwrap().as_nanos(), nanos, "{written}");
        }
        assert_eq!(Duration::from_nanos(1_100_000_000).to_string(), "1.1 s");
    }

    #[test]
    fn what_is_written_is_read_again() {
        for text in ["10 ms", "0 s", "1.5 s", "250 us", "7 ns"] {
            assert_eq!(text.parse::<Duration>().unwrap().to_string(), text);
        }
        for bps in [1, 999, 1_500_000, 25_000_000, 1_000_000_007, 3_333_333] {
            let rate = Rate::from_bps(bps).unwrap();
            assert_eq!(rate.to_string().parse(), Ok(rate));
        }
    }
}
