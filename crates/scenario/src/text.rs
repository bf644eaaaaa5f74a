//! TOML text to a tree of values. Every syntax error is found in one pass.

use crate::diagnostic::Problems;
use crate::names;
use crate::source::Source;
use crate::tree::{DEEPEST, Entry, Node, Origin, Path, Value};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use toml_parser::lexer::TokenKind;

/// The largest scenario that is read, in bytes. Ten thousand stations need a tenth of it.
pub const LARGEST_TEXT: u64 = 8 << 20;

/// So many parts has the longest key (`a.b.c` has three). A scenario needs fewer than ten.
const LONGEST_KEY: usize = 16;

/// The tree of `text`, with what could be read of it when there are errors. `None` when it is not worth reading.
pub(crate) fn parse(text: &str, source: &Source, problems: &mut Problems<'_>) -> Option<Node> {
    if text.len() as u64 > LARGEST_TEXT {
        let message = format!("the file has {} bytes: the largest that is read has {LARGEST_TEXT}", text.len());
        problems.add(&Origin::Text(0..0), &Path::root(), message, None);
        return None;
    }
    if let Some(span) = overlong_key(text) {
        let message = format!("a key has more than {LONGEST_KEY} parts");
        problems.add(&Origin::Text(span), &Path::root(), message, None);
        return None;
    }
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        add_syntax_error(&error, text, source, problems);
    }
    let node = Node { value: convert_table(table.into_inner(), 0), origin: Origin::Nowhere };
    match first_foreign(&node, &Path::root()) {
        None => Some(node),
        Some((origin, path)) => {
            problems.add(&origin, &path, format!("tables and lists nest more than {DEEPEST} deep"), None);
            None
        }
    }
}

/// Where a key of too many parts stands: each part is a table in a table, and their depth is memory of the stack.
fn overlong_key(text: &str) -> Option<Range<usize>> {
    let mut parts = 1;
    for token in toml_parser::Source::new(text).lex() {
        match token.kind() {
            TokenKind::Dot => parts += 1,
            TokenKind::Whitespace
            | TokenKind::Atom
            | TokenKind::BasicString
            | TokenKind::LiteralString
            | TokenKind::MlBasicString
            | TokenKind::MlLiteralString => {}
            _ => parts = 1,
        }
        if parts > LONGEST_KEY {
            return Some(token.span().start()..token.span().end());
        }
    }
    None
}

fn add_syntax_error(error: &toml::de::Error, text: &str, source: &Source, problems: &mut Problems<'_>) {
    let span = error.span().unwrap_or(text.len()..text.len());
    let there = names::shorten(source.slice(span.clone()).lines().next().unwrap_or_default().trim());
    let (message, help) = match error.message() {
        "duplicate key" => (format!("the key {there:?} is already there"), None),
        // The parser's words for a text that is not a value.
        "string values must be quoted, expected literal string" if there.is_empty() => {
            ("a value is missing".to_owned(), None)
        }
        "string values must be quoted, expected literal string" => {
            ("a text needs quotes".to_owned(), Some(format!("write {there:?}")))
        }
        other => (other.to_owned(), None),
    };
    problems.add(&Origin::Text(span), &Path::root(), format!("syntax: {message}"), help);
}

const TOO_DEEP: &str = "too deep";

fn convert(value: Spanned<DeValue<'_>>, depth: usize) -> Node {
    let origin = Origin::Text(value.span());
    if depth > DEEPEST {
        return Node { value: Value::Foreign(TOO_DEEP), origin };
    }
    let value = match value.into_inner() {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Integer(integer) => match i128::from_str_radix(integer.as_str(), integer.radix()) {
            Ok(integer) => Value::Integer(integer),
            Err(_) => Value::Foreign("a number with too many digits"),
        },
        DeValue::Float(float) => float.as_str().parse().map_or(Value::Foreign("no number"), Value::Float),
        DeValue::Boolean(flag) => Value::Boolean(flag),
        DeValue::Datetime(_) => Value::Foreign("a date or time of day"),
        DeValue::Array(items) => Value::List(items.into_iter().map(|item| convert(item, depth + 1)).collect()),
        DeValue::Table(table) => convert_table(table, depth),
    };
    Node { value, origin }
}

fn convert_table(table: DeTable<'_>, depth: usize) -> Value {
    let entries = table.into_iter().map(|(key, value)| {
        let key_origin = Origin::Text(key.span());
        (key.into_inner().into_owned(), Entry { key_origin, node: convert(value, depth + 1) })
    });
    Value::Table(entries.collect())
}

/// The first place that [`convert`] gave up.
fn first_foreign(node: &Node, path: &Path) -> Option<(Origin, Path)> {
    match &node.value {
        Value::Foreign(TOO_DEEP) => Some((node.origin.clone(), path.head(3))),
        Value::List(items) => items.iter().enumerate().find_map(|(i, item)| first_foreign(item, &path.index(i))),
        Value::Table(entries) => entries.iter().find_map(|(key, entry)| first_foreign(&entry.node, &path.key(key))),
        _ => None,
    }
}

/// A TOML value alone, as an override has it. `None` if the text is not a value.
pub(crate) fn parse_value(text: &str, origin: &Origin) -> Option<Node> {
    if overlong_key(text).is_some() {
        return None;
    }
    let mut node = convert(DeValue::parse(text).ok()?, 0);
    if first_foreign(&node, &Path::root()).is_some() {
        return None;
    }
    set_origin(&mut node, origin);
    Some(node)
}

fn set_origin(node: &mut Node, origin: &Origin) {
    node.origin = origin.clone();
    match &mut node.value {
        Value::List(items) => items.iter_mut().for_each(|item| set_origin(item, origin)),
        Value::Table(entries) => {
            for entry in entries.values_mut() {
                entry.key_origin = origin.clone();
                set_origin(&mut entry.node, origin);
            }
        }
        _ => {}
    }
}
