//! Recordings that links follow.

use super::Resolver;
use super::content::Content;
use crate::format::{ContentFile, InlineFile, TraceFile};
use crate::names::shorten;
use crate::quantity::LONGEST;
use crate::scenario::Trace;
use crate::tree::Path;
use skyhop_base::{Duration, Rate};
use skyhop_sim::spec::{OPPORTUNITY_BYTES, Service, TraceConfig};
use std::sync::Arc;

/// Between two lines of a file of delays.
const DELAYS_EVERY: Duration = Duration::from_millis(10);

/// As the longest wire.
const LONGEST_DELAY_S: f64 = 3600.0;

/// As the highest rate of a link, in bit/s.
const HIGHEST_RATE: f64 = 1e15;

/// The rows of a table.
#[derive(Clone, Default)]
struct Rows {
    rates: Vec<(Duration, u64)>,
    delays: Vec<(Duration, Duration)>,
    losses: Vec<(Duration, f64)>,
    /// When it ends: the last row holds as long as the one before.
    end: Duration,
}

impl Resolver<'_, '_, '_> {
    pub(super) fn trace(&mut self, file: &TraceFile, path: &Path) -> Option<Trace> {
        let before = self.problems.count();
        let opportunities =
            self.part(file.opportunities.as_ref(), &path.key("opportunities"), ("opportunities", opportunities));
        let table = self.part(file.table.as_ref(), &path.key("table"), ("table", rows));
        let every = file.delays_every.unwrap_or(DELAYS_EVERY);
        if every.is_zero() {
            self.add(&path.key("delays_every"), "must be longer than zero", None);
        }
        let by_line = (&*format!("delays every {} ns", every.as_nanos()), |text: &str| delays(text, every));
        let delays = self.part(file.delays.as_ref(), &path.key("delays"), by_line);
        // A problem that the other direction of a link has shown is not counted again.
        let unread = [
            file.opportunities.is_some() && opportunities.is_none(),
            file.table.is_some() && table.is_none(),
            file.delays.is_some() && delays.is_none(),
        ];
        if unread.contains(&true) || self.problems.count() > before {
            return None;
        }
        let (opportunities, times) = opportunities.unzip();
        let (table, rows) = table.unzip();
        let (delays, by_line) = delays.unzip();
        let rows = rows.unwrap_or_default();
        for (key, twice) in [
            ("opportunities", times.is_some() && !rows.rates.is_empty()),
            ("delays", by_line.is_some() && !rows.delays.is_empty()),
        ] {
            if twice {
                self.add(&path.key(key), "the table has a column for the same", Some("keep one of them".to_owned()));
            }
        }
        let ends = [
            times.as_ref().and_then(|times| times.last().copied()),
            table.is_some().then_some(rows.end),
            by_line.as_ref().map(|lines| every.saturating_mul(lines.len() as u64)),
        ];
        let Some(end) = ends.into_iter().flatten().max() else {
            let help = Some("give opportunities, table or delays".to_owned());
            self.add(path, "records nothing", help);
            return None;
        };
        let period = file.period.unwrap_or(end);
        let last = [
            times.as_ref().and_then(|times| times.last()),
            rows.rates.last().map(|(at, _)| at),
            rows.delays.last().map(|(at, _)| at),
            rows.losses.last().map(|(at, _)| at),
            by_line.as_ref().and_then(|lines| lines.last()).map(|(at, _)| at),
        ];
        if period.is_zero() || last.into_iter().flatten().any(|&last| last > period) {
            let message = format!("a period of {period} ends before the recording does");
            self.add(&path.key("period"), message, Some(format!("use {end} or more")));
            return None;
        }
        if period > LONGEST {
            // A period that is given was read as a duration, which is no longer than this.
            let message = format!("the recording lasts {period}; the longest duration in a scenario is {LONGEST}");
            self.add(path, message, Some("leave out the last rows, or give a period".to_owned()));
            return None;
        }
        if let Some(duration) = self.duration.filter(|&duration| file.period.is_none() && end < duration) {
            let message = format!("the recording lasts {end} and begins anew until the end of the run, {duration}");
            self.warn(path, format!("{message}; say so with period = \"{end}\""));
        }
        let service = match times {
            Some(times) => Service::Opportunities(times.into()),
            None if rows.rates.is_empty() => Service::Constant,
            None => Service::Rates(rows.rates.into()),
        };
        let delays_over_time = Arc::from(by_line.unwrap_or(rows.delays));
        let config = TraceConfig { service, delays: delays_over_time, losses: rows.losses.into(), period };
        let delays_every = delays.is_some().then_some(every);
        Some(Trace { opportunities, table, delays, delays_every, period, config })
    }

    /// A file of the recording with what it says, read in a manner that has a name; a line that says nothing is a
    /// problem.
    fn part<T: Clone + 'static>(
        &mut self,
        file: Option<&ContentFile>,
        path: &Path,
        (how, read): (&str, impl FnOnce(&str) -> Result<T, (usize, String)>),
    ) -> Option<(InlineFile, T)> {
        let file = file?;
        let place = match file {
            ContentFile::Path(name) => Some(name),
            ContentFile::Inline(_) => None,
        };
        if let Some(known) = place.and_then(|name| self.shelf.kept(name, how)) {
            return Some(known);
        }
        let Content { name, text, .. } = self.content(file, path)?;
        match read(&text) {
            Ok(found) => {
                let found = (InlineFile { text }, found);
                if let Some(name) = place {
                    self.shelf.keep(name, how, &found);
                }
                Some(found)
            }
            Err((line, message)) => {
                self.add(path, format!("{name}, line {line}: {message}"), None);
                None
            }
        }
    }
}

/// The mean rate of a recording; `None` where it is the link's own.
pub(super) fn mean_rate(config: &TraceConfig) -> Option<Rate> {
    let period_s = config.period.as_secs_f64();
    let bits = match &config.service {
        Service::Constant => return None,
        Service::Opportunities(times) => times.len() as f64 * f64::from(OPPORTUNITY_BYTES) * 8.0,
        Service::Rates(rates) => {
            let ends = rates.iter().skip(1).map(|(at, _)| at.as_secs_f64()).chain([period_s]);
            let first = rates.first().map_or(0.0, |(at, _)| at.as_secs_f64());
            let before = rates.last().map_or(0.0, |(_, bps)| *bps as f64) * first;
            before + rates.iter().zip(ends).map(|((at, bps), end)| *bps as f64 * (end - at.as_secs_f64())).sum::<f64>()
        }
    };
    Rate::from_bps((bits / period_s).round() as u64)
}

/// Lines that are not empty and no comment, with their number.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let numbered = text.lines().enumerate().map(|(i, line)| (i + 1, line.trim()));
    numbered.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

fn opportunities(text: &str) -> Result<Vec<Duration>, (usize, String)> {
    let mut times = Vec::new();
    for (number, line) in lines(text) {
        let ms: u32 = line.parse().map_err(|_| (number, format!("{:?} is not a whole number of ms", shorten(line))))?;
        let time = Duration::from_millis(u64::from(ms));
        if times.last().is_some_and(|last| *last > time) {
            return Err((number, format!("{ms} ms lies before the line above")));
        }
        times.push(time);
    }
    match times.last() {
        None => Err((1, "there is no opportunity".to_owned())),
        Some(last) if last.is_zero() => Err((1, "the last opportunity must be later than 0 ms".to_owned())),
        Some(_) => Ok(times),
    }
}

fn delays(text: &str, every: Duration) -> Result<Vec<(Duration, Duration)>, (usize, String)> {
    let mut delays = Vec::new();
    for (number, line) in lines(text) {
        let at = every.saturating_mul(delays.len() as u64);
        let delay = line.parse::<f64>().ok().and_then(|ms| seconds(ms / 1e3));
        delays.push((at, delay.ok_or_else(|| (number, format!("{:?} is not a delay in ms", shorten(line))))?));
    }
    if delays.is_empty() { Err((1, "there is no delay".to_owned())) } else { Ok(delays) }
}

fn seconds(s: f64) -> Option<Duration> {
    (0.0..=LONGEST_DELAY_S).contains(&s).then(|| Duration::from_secs_f64(s))
}

fn rows(text: &str) -> Result<Rows, (usize, String)> {
    let mut lines = lines(text);
    let Some((first, head)) = lines.next() else { return Err((1, "there is no header".to_owned())) };
    let columns: Vec<&str> = head.split(',').map(str::trim).collect();
    if columns.first() != Some(&"time_s") {
        return Err((first, "the first column must be time_s".to_owned()));
    }
    if let Some(odd) = columns[1..].iter().find(|name| !["rate_bps", "delay_s", "loss"].contains(name)) {
        return Err((first, format!("{:?} is not a column: use rate_bps, delay_s and loss", shorten(odd))));
    }
    let mut rows = Rows::default();
    let mut last: Option<Duration> = None;
    for (number, line) in lines {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        if fields.len() != columns.len() {
            return Err((number, format!("has {} fields, the header {}", fields.len(), columns.len())));
        }
        let mut at = Duration::ZERO;
        for (column, field) in columns.iter().zip(&fields) {
            let highest = match *column {
                "time_s" => LONGEST.as_secs_f64(),
                "rate_bps" => HIGHEST_RATE,
                "delay_s" => LONGEST_DELAY_S,
                _ => 1.0,
            };
            let wrong = || (number, format!("{column} is {:?}; use a number from 0 to {highest}", shorten(field)));
            let value: f64 = field.parse().map_err(|_| wrong())?;
            if !(0.0..=highest).contains(&value) {
                return Err(wrong());
            }
            match *column {
                "time_s" => at = Duration::from_secs_f64(value),
                "rate_bps" => rows.rates.push((at, value.round() as u64)),
                "delay_s" => rows.delays.push((at, Duration::from_secs_f64(value))),
                _ => rows.losses.push((at, value)),
            }
        }
        if last.is_some_and(|last| at <= last) {
            return Err((number, "its time is not later than that of the line above".to_owned()));
        }
        let step = last.map_or(Duration::from_secs(1), |last| at.saturating_sub(last));
        rows.end = at + step;
        last = Some(at);
    }
    if last.is_none() {
        return Err((first, "there is no row".to_owned()));
    }
    if !rows.rates.is_empty() && rows.rates.iter().all(|&(_, bps)| bps == 0) {
        return Err((first, "the rate is never more than zero".to_owned()));
    }
    Ok(rows)
}
