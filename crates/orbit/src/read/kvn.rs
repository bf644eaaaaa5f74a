//! OMM as lines of keyword = value. A message begins with its version; files of several messages put one behind the
//! other.

use super::build::Message;
use super::problem::excerpt;
use super::{ElementError, ElementFile, ElementPlace};

/// The first line that is neither empty nor a comment assigns something.
pub(super) fn looks_like(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("COMMENT"));
    lines.next().and_then(|line| line.split_once('=')).is_some_and(|(key, _)| is_keyword(key.trim()))
}

fn is_keyword(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

pub(super) fn read(text: &str, file: &mut ElementFile) {
    let mut message = Message::default();
    let mut start = ElementPlace::Line(1);
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with("COMMENT") {
            continue;
        }
        let place = ElementPlace::Line(number);
        let Some((key, value)) = line.split_once('=').filter(|(key, _)| is_keyword(key.trim())) else {
            let text = format!("not of the form KEYWORD = value: \"{}\"", excerpt(line));
            file.problem(place, message.name(), ElementError::Syntax { format: "KVN", text });
            continue;
        };
        // Without versions between them, messages are told apart by a keyword that comes again.
        if key.trim() == "CCSDS_OMM_VERS" || message.get(key.trim()).is_some() {
            finish(std::mem::take(&mut message), start, file);
        }
        if message.is_empty() {
            start = place;
        }
        message.push(key, without_unit(value));
    }
    finish(message, start, file);
}

fn finish(message: Message, place: ElementPlace, file: &mut ElementFile) {
    if !message.is_empty() {
        file.take(place, message.name(), message.elements(place));
    }
}

/// "51.6 [deg]" is 51.6.
fn without_unit(value: &str) -> &str {
    let value = value.trim();
    match value.strip_suffix(']').and_then(|value| value.rsplit_once('[')) {
        Some((number, _)) => number.trim_end(),
        None => value,
    }
}
