//! OMM in CSV: a line of keywords, then one line for each satellite.

use super::build::Message;
use super::{ElementError, ElementFile, ElementPlace};

pub(super) fn read(text: &str, file: &mut ElementFile) {
    let mut reader = csv::ReaderBuilder::new().flexible(true).trim(csv::Trim::All).from_reader(text.as_bytes());
    let syntax = |text: String| ElementError::Syntax { format: "CSV", text };
    let keys = match reader.headers() {
        Ok(keys) => keys.clone(),
        Err(error) => return file.problem(ElementPlace::Line(1), None, syntax(error.to_string())),
    };
    for (number, row) in (2..).zip(reader.records()) {
        let row = match row {
            Ok(row) => row,
            Err(error) => {
                file.problem(ElementPlace::Line(number), None, syntax(error.to_string()));
                continue;
            }
        };
        let place = ElementPlace::Line(row.position().map_or(number, |position| position.line() as u32));
        let mut message = Message::default();
        keys.iter().zip(&row).for_each(|(key, value)| message.push(key, value));
        if row.len() == keys.len() {
            file.take(place, message.name(), message.elements(place));
        } else {
            let text = format!("{} values for {} keywords", row.len(), keys.len());
            file.problem(place, message.name(), syntax(text));
        }
    }
}
