//! Messages about texts in a scenario that are not quantities.

use crate::names;
use skyhop_base::{Angle, Bytes, Duration, Length, QuantityError, Rate};
use std::str::FromStr;

/// Why a text is not a quantity, and what would be right.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub message: String,
    pub help: Option<String>,
}

/// The longest duration in a scenario: in nanoseconds it is still exact as a floating-point number, so that what
/// the canonical form writes is what was read.
pub(crate) const LONGEST: Duration = Duration::from_secs(100 * 86_400);

/// Whether `text` is a quantity of the kind that the schema's `format` names. Formats that are none are not looked at.
pub(crate) fn check(format: &str, text: &str) -> Result<(), Problem> {
    match format {
        "duration" => match parse::<Duration>(text)? {
            duration if duration > LONGEST => Err(Problem {
                message: format!("{:?} is too long", names::shorten(text)),
                help: Some(format!("the longest duration in a scenario is {LONGEST}")),
            }),
            _ => Ok(()),
        },
        "rate" => parse::<Rate>(text).map(drop),
        "size" => parse::<Bytes>(text).map(drop),
        "length" => parse::<Length>(text).map(drop),
        "angle" => parse::<Angle>(text).map(drop),
        "instant" => text.parse::<skyhop_orbit::Utc>().map(drop).map_err(|_| Problem {
            message: format!("{:?} is not an instant of UTC", names::shorten(text)),
            help: Some("write it like \"2025-10-07T12:00:00Z\"".to_owned()),
        }),
        _ => Ok(()),
    }
}

fn parse<T: FromStr<Err = QuantityError>>(text: &str) -> Result<T, Problem> {
    text.parse().map_err(|error: QuantityError| match &error {
        QuantityError::UnknownUnit { unit, kind, valid } => {
            let help = match nearest_unit(unit, valid) {
                _ if kind == &"rate" && in_bytes(unit).is_some() => {
                    format!("rates are in bits: 1 {unit} is 8 {}", in_bytes(unit).unwrap_or_default())
                }
                Some(near) => format!("did you mean {near:?}?"),
                None => format!("use {}", names::list(valid.iter().copied(), "or")),
            };
            Problem { message: format!("{unit:?} is not a unit of {}", with_article(kind)), help: Some(help) }
        }
        QuantityError::NoUnit { text, kind, example } => Problem {
            message: format!("{text:?} has no unit"),
            help: Some(format!("{} is written like {example:?}", with_article(kind))),
        },
        QuantityError::NoNumber { text, kind, example } => Problem {
            message: format!("{text:?} is not {}", with_article(kind)),
            help: Some(format!("{} is written like {example:?}", with_article(kind))),
        },
        QuantityError::OutOfRange { text, kind, reason } => Problem {
            message: format!("{text:?} is out of range for {}", with_article(kind)),
            help: Some((*reason).to_owned()),
        },
        _ => Problem { message: error.to_string(), help: None },
    })
}

/// "a rate", "an angle".
pub(crate) fn with_article(kind: &str) -> String {
    let article = if kind.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {kind}")
}

/// The unit of bits for a rate in bytes: "Mbit/s" for "MB/s", with a capital B, or spelt out.
fn in_bytes(unit: &str) -> Option<String> {
    let endings = ["B/s", "Bps", "byte/s", "bytes/s", "Byte/s", "Bytes/s"];
    let prefix = endings.iter().find_map(|ending| unit.strip_suffix(ending))?;
    matches!(prefix, "" | "k" | "K" | "M" | "G" | "T").then(|| format!("{}bit/s", prefix.replace('K', "k")))
}

/// The unit that was probably meant. Rates and times have customary spellings that no distance finds.
fn nearest_unit(unit: &str, valid: &[&'static str]) -> Option<&'static str> {
    let lower = unit.to_lowercase();
    let customary = match lower.as_str() {
        "sec" | "secs" | "second" | "seconds" => "s",
        "msec" | "millisecond" | "milliseconds" => "ms",
        "usec" | "microsecond" | "microseconds" => "us",
        "m" | "minute" | "minutes" => "min",
        "hr" | "hour" | "hours" => "h",
        "day" | "days" => "d",
        "byte" | "bytes" => "B",
        "degree" | "degrees" => "deg",
        "radian" | "radians" => "rad",
        "metre" | "meter" | "metres" | "meters" => "m",
        "kilometre" | "kilometer" | "kilometres" | "kilometers" => "km",
        other => other,
    };
    let bits = ["bps", "b/s", "bits/s", "bit/sec", "bits/sec"].iter().find_map(|ending| customary.strip_suffix(ending));
    let spelt = bits.map_or(customary.to_owned(), |prefix| format!("{prefix}bit/s"));
    let same = |candidate: &&&'static str| candidate.eq_ignore_ascii_case(&spelt);
    valid.iter().find(same).copied().or_else(|| names::nearest(&spelt, valid.iter().copied()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn help(format: &str, text: &str) -> String {
        check(format, text).unwrap_err().help.unwrap_or_default()
    }

    #[test]
    fn customary_spellings_lead_to_ours() {
        assert_eq!(help("rate", "3 Mbps"), "did you mean \"Mbit/s\"?");
        assert_eq!(help("rate", "3 Gb/s"), "did you mean \"Gbit/s\"?");
        assert_eq!(help("rate", "3 mbit/s"), "did you mean \"Mbit/s\"?");
        assert_eq!(help("rate", "3 Mbits/s"), "did you mean \"Mbit/s\"?");
        assert_eq!(help("rate", "3 MB/s"), "rates are in bits: 1 MB/s is 8 Mbit/s");
        assert_eq!(help("rate", "3 KBps"), "rates are in bits: 1 KBps is 8 kbit/s");
        assert_eq!(help("duration", "3 sec"), "did you mean \"s\"?");
        assert_eq!(help("duration", "3 m"), "did you mean \"min\"?");
        assert_eq!(help("angle", "3 degrees"), "did you mean \"deg\"?");
        assert_eq!(help("size", "3 kb"), "did you mean \"kB\"?");
        assert_eq!(help("length", "3 miles"), "use \"m\" or \"km\"");
    }

    #[test]
    fn durations_are_exact_or_refused() {
        assert_eq!(check("duration", "100 d"), Ok(()));
        assert_eq!(help("duration", "101 d"), "the longest duration in a scenario is 8640000 s");
        assert!(LONGEST.as_nanos() < 1 << 53);
    }
}
