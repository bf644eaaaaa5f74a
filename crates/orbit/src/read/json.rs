//! OMM in JSON: one object or a list of them; numbers may be strings.

use super::build::Message;
use super::{ElementError, ElementFile, ElementPlace};
use serde_json::Value;

pub(super) fn read(text: &str, file: &mut ElementFile) {
    let syntax = |text: String| ElementError::Syntax { format: "JSON", text };
    let entries = match serde_json::from_str(text) {
        Ok(Value::Array(entries)) => entries,
        Ok(entry) => vec![entry],
        Err(error) => {
            let line = ElementPlace::Line(error.line() as u32);
            return file.problem(line, None, syntax(error.to_string()));
        }
    };
    for (number, entry) in (1..).zip(entries) {
        let place = ElementPlace::Entry(number);
        let Value::Object(fields) = entry else {
            file.problem(place, None, syntax("not an object of keywords and values".to_owned()));
            continue;
        };
        let mut message = Message::default();
        for (key, value) in &fields {
            match value {
                Value::String(text) => message.push(key, text),
                Value::Number(number) => message.push(key, &number.to_string()),
                Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {}
            }
        }
        file.take(place, message.name(), message.elements(place));
    }
}
