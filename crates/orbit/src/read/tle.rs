//! Two-line elements: fixed columns.
//!
//! Columns as in CelesTrak, "Two-line element set format"; catalogue numbers up to 339,999 in the Alpha-5 scheme of
//! Space-Track (a letter without I and O in the first place counts 10 to 33).

use super::problem::excerpt;
use super::{ElementError, ElementFile, ElementPlace, ElementSet};
use crate::{MeanElements, Utc};
use skyhop_base::{Angle, Duration};

const FIRST: &str = "first";
const SECOND: &str = "second";

pub(super) fn read(text: &str, file: &mut ElementFile) {
    let lines: Vec<(u32, &str)> = (1..).zip(text.lines().map(str::trim_end)).filter(|(_, l)| !l.is_empty()).collect();
    let mut name: Option<(u32, &str)> = None;
    let mut n = 0;
    while let Some(&(number, line)) = lines.get(n) {
        n += 1;
        let place = ElementPlace::Line(number);
        let called = name.map(|(_, name)| clean_name(name));
        if is_line(line, '1') {
            match lines.get(n).filter(|(_, next)| is_line(next, '2')) {
                Some(&(_, second)) => {
                    n += 1;
                    let set = elements(line, second).map(|(designator, elements)| ElementSet {
                        name: called.clone(),
                        designator,
                        elements,
                        place,
                    });
                    file.take(place, called, set);
                }
                None => file.problem(place, called, ElementError::NoSecondLine),
            }
            name = None;
        } else if is_line(line, '2') {
            file.problem(place, called, ElementError::NoFirstLine);
            name = None;
        } else {
            stray(name.replace((number, line)), file);
        }
    }
    stray(name, file);
}

/// A name that no elements follow.
fn stray(name: Option<(u32, &str)>, file: &mut ElementFile) {
    // Comments of a file that somebody keeps by hand.
    if let Some((number, text)) = name.filter(|(_, text)| !text.starts_with('#')) {
        file.problem(ElementPlace::Line(number), None, ElementError::Stray { text: excerpt(text) });
    }
}

/// A line of elements begins with its number and a blank. A name may do so as well ("1 WORLDS"), but is shorter.
fn is_line(line: &str, number: char) -> bool {
    let mut start = line.chars();
    start.next() == Some(number) && start.next() == Some(' ') && line.len() >= 24
}

/// Without the "0 " that 3LE puts before it.
fn clean_name(line: &str) -> String {
    line.strip_prefix("0 ").unwrap_or(line).trim().to_owned()
}

/// One of the two lines.
struct Line<'a> {
    which: &'static str,
    text: &'a str,
}

impl<'a> Line<'a> {
    fn new(which: &'static str, text: &'a str) -> Result<Line<'a>, ElementError> {
        if let Some(column) = text.chars().position(|c| !c.is_ascii()) {
            return Err(ElementError::NotAscii { line: which, column: column + 1 });
        }
        let length = text.len();
        // Old files lack the checksum, and those of test cases go on after it.
        if length < 68 || length > 69 && text.as_bytes()[69] != b' ' {
            return Err(ElementError::Length { line: which, length });
        }
        if let Some(found) = text.chars().nth(68) {
            let worth = |b: u8| if b == b'-' { 1 } else { char::from(b).to_digit(10).unwrap_or(0) };
            let expected = text.bytes().take(68).map(worth).sum::<u32>() % 10;
            if found.to_digit(10) != Some(expected) {
                return Err(ElementError::Checksum { line: which, found, expected });
            }
        }
        Ok(Line { which, text })
    }

    /// Columns counted from 1, both included.
    fn columns(&self, first: usize, last: usize) -> &'a str {
        &self.text[first - 1..last]
    }

    fn parse<T>(
        &self,
        (first, last): (usize, usize),
        what: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<T, ElementError> {
        let text = self.columns(first, last);
        parse(text.trim()).ok_or_else(|| ElementError::Columns {
            line: self.which,
            first,
            last,
            what,
            text: excerpt(text),
        })
    }
}

fn elements(first: &str, second: &str) -> Result<(Option<String>, MeanElements), ElementError> {
    let (one, two) = (Line::new(FIRST, first)?, Line::new(SECOND, second)?);
    let number = one.parse((3, 7), "catalogue number", alpha5)?;
    let other = two.parse((3, 7), "catalogue number", alpha5)?;
    if number != other {
        return Err(ElementError::Mismatch { first: number, second: other });
    }
    if one.columns(63, 63) == "4" {
        return Err(ElementError::Sgp4Xp);
    }
    let designator = Some(one.columns(10, 17).trim()).filter(|text| !text.is_empty()).map(long_designator);
    let angle = |columns, what| two.parse(columns, what, decimal).map(Angle::from_degrees);
    let elements = MeanElements {
        catalogue_number: number,
        epoch: one.parse((19, 32), "epoch", epoch)?,
        drag: one.parse((54, 61), "drag term", assumed_point)?,
        inclination: angle((9, 16), "inclination")?,
        raan: angle((18, 25), "right ascension of the ascending node")?,
        eccentricity: two.parse((27, 33), "eccentricity", fraction)?,
        argument_of_perigee: angle((35, 42), "argument of perigee")?,
        mean_anomaly: angle((44, 51), "mean anomaly")?,
        mean_motion: two.parse((53, 63), "mean motion", decimal)?,
    };
    elements.check()?;
    Ok((designator, elements))
}

/// "98067A" is 1998-067A.
fn long_designator(short: &str) -> String {
    match (short.get(..2).and_then(year_of_two_digits), short.get(2..)) {
        (Some(year), Some(rest)) => format!("{year}-{}", rest.trim_start()),
        _ => short.to_owned(),
    }
}

/// From 1957, the year of the first satellite, to 2056.
fn year_of_two_digits(text: &str) -> Option<i64> {
    let year: i64 = text.trim().parse().ok().filter(|year| (0..100).contains(year))?;
    Some(if year < 57 { 2000 + year } else { 1900 + year })
}

fn alpha5(text: &str) -> Option<u32> {
    let (first, rest) = (text.chars().next()?, text.get(1..)?);
    if first.is_ascii_digit() {
        return text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten();
    }
    let place = "ABCDEFGHJKLMNPQRSTUVWXYZ".find(first)? as u32;
    let rest: u32 = rest.parse().ok().filter(|_| rest.len() == 4 && rest.bytes().all(|b| b.is_ascii_digit()))?;
    Some((place + 10) * 10_000 + rest)
}

/// yyddd.dddddddd, the day of the year from 1.
fn epoch(text: &str) -> Option<Utc> {
    let year = year_of_two_digits(text.get(..2)?)?;
    let (day, fraction) = text.get(2..)?.split_once('.')?;
    let day: u32 = day.trim_start().parse().ok()?;
    if fraction.is_empty() || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    // In whole numbers: 10⁻⁸ days are 864 µs.
    let digits = fraction.bytes().chain(std::iter::repeat(b'0')).take(12);
    let share = digits.fold(0_u64, |n, b| n * 10 + u64::from(b - b'0'));
    Utc::from_day_of_year(year, day, Duration::from_nanos((u128::from(share) * 864 / 10) as u64))
}

fn decimal(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b"+-.".contains(&b));
    text.parse().ok().filter(|value: &f64| plain && value.is_finite())
}

/// Digits after a decimal point that is not written.
fn fraction(text: &str) -> Option<f64> {
    let digits = text.bytes().all(|b| b.is_ascii_digit()) && !text.is_empty();
    digits.then(|| format!("0.{text}").parse().ok()).flatten()
}

/// "-11606-4" is -0.11606·10⁻⁴.
fn assumed_point(text: &str) -> Option<f64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    if digits.is_empty() {
        return Some(0.0);
    }
    let split = digits.find(['+', '-']).unwrap_or(digits.len());
    let (mantissa, exponent) = digits.split_at(split);
    let mantissa = mantissa.trim_start_matches('.').trim_end();
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let exponent = if exponent.is_empty() { "+0" } else { exponent };
    let valid = number(mantissa) && number(&exponent[1..]);
    valid.then(|| format!("{sign}0.{mantissa}e{exponent}").parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_fixed_columns() {
        assert_eq!(alpha5("25544"), Some(25_544));
        assert_eq!(alpha5("A0000"), Some(100_000));
        assert_eq!(alpha5("J2931"), Some(182_931));
        assert_eq!(alpha5("Z9999"), Some(339_999));
        assert_eq!([alpha5("I0000"), alpha5("A123"), alpha5(""), alpha5("12a45"), alpha5("ÄB")], [None; 5]);
        assert_eq!(assumed_point("-11606-4"), Some(-0.11606e-4));
        assert_eq!(assumed_point("00000+0"), Some(0.0));
        assert_eq!(assumed_point("36508-3"), Some(0.36508e-3));
        assert_eq!([assumed_point("1-"), assumed_point("x"), assumed_point("-")], [None, None, Some(0.0)]);
        assert_eq!(epoch("00179.78495062").unwrap().to_string(), "2000-06-27T18:50:19.733568Z");
        assert_eq!([epoch("25366.0"), epoch("25280"), epoch("2x280.5")], [None; 3]);
        assert_eq!(long_designator("98067A"), "1998-067A");
    }
}
