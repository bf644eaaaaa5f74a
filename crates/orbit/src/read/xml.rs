//! OMM in XML (CCSDS 505.0-B): `omm` elements anywhere in the document; what has text and no children is a keyword.

use super::build::Message;
use super::{ElementError, ElementFile, ElementPlace};
use roxmltree::{Document, Node};

pub(super) fn read(text: &str, file: &mut ElementFile) {
    let document = match Document::parse(text) {
        Ok(document) => document,
        Err(error) => {
            let line = ElementPlace::Line(error.pos().row);
            return file.problem(line, None, ElementError::Syntax { format: "XML", text: error.to_string() });
        }
    };
    let is_message = |node: &Node<'_, '_>| node.tag_name().name().eq_ignore_ascii_case("omm");
    // Finding the line of each message anew would read the document again and again.
    let (mut read, mut line) = (0, 1);
    for omm in document.descendants().filter(is_message) {
        let start = omm.range().start;
        line += text.as_bytes()[read..start].iter().filter(|&&b| b == b'\n').count() as u32;
        read = start;
        let mut message = Message::default();
        for node in omm.descendants().filter(|node| node.is_element() && !node.children().any(|c| c.is_element())) {
            message.push(node.tag_name().name(), node.text().unwrap_or(""));
        }
        let place = ElementPlace::Line(line);
        file.take(place, message.name(), message.elements(place));
    }
}
