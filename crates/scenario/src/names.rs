//! Names: what one may look like, and which one was probably meant.

/// The longest name.
pub(crate) const LONGEST_NAME: usize = 64;

/// Why `name` cannot name a component; `None` when it can.
pub(crate) fn name_problem(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("a name must not be empty".to_owned());
    }
    if name.chars().count() > LONGEST_NAME {
        return Some(format!("a name has at most {LONGEST_NAME} characters"));
    }
    let odd = name.chars().find(|&c| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '.')))?;
    Some(format!("a name consists of letters, digits, \"-\", \"_\" and \".\", not {:?}", odd.to_string()))
}

/// The one of `candidates` that `typed` was probably meant to be. `None` when none is near.
pub(crate) fn nearest<'c>(typed: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    // A long text is not a misspelling, and the distance costs the product of the lengths.
    if typed.chars().count() > 2 * LONGEST_NAME {
        return None;
    }
    let wanted = fold(typed);
    let length = wanted.chars().count();
    let most = (length / 3).clamp(1, 3);
    candidates
        .into_iter()
        // The distance is at least the difference of the lengths, and takes far longer to find.
        .filter(|candidate| candidate.chars().count().abs_diff(length) <= most)
        .map(|candidate| (strsim::damerau_levenshtein(&wanted, &fold(candidate)), candidate))
        .filter(|&(distance, candidate)| distance <= most && distance < candidate.chars().count())
        .min_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.cmp(b.1)))
        .map(|(_, candidate)| candidate)
}

/// Case and the kind of hyphen are what people mistype most.
fn fold(text: &str) -> String {
    text.chars().map(|c| if matches!(c, '-' | ' ') { '_' } else { c.to_ascii_lowercase() }).collect()
}

/// What the valid names are.
pub(crate) fn there_are<'c>(names: impl ExactSizeIterator<Item = &'c str>) -> String {
    match names.len() {
        0 => "there are none".to_owned(),
        1 => format!("there is only {}", list(names, "and")),
        _ => format!("there are {}", list(names, "and")),
    }
}

/// `"a", "b" or "c"`, the first of them.
pub(crate) fn list<'c>(names: impl IntoIterator<Item = &'c str>, joint: &str) -> String {
    const SHOWN: usize = 30;
    let mut names = names.into_iter();
    let quoted: Vec<String> = names.by_ref().take(SHOWN).map(|name| format!("{:?}", shorten(name))).collect();
    let more = names.count();
    if more > 0 {
        return format!("{}, ... ({} in all)", quoted.join(", "), quoted.len() + more);
    }
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} {joint} {last}", rest.join(", ")),
        Some((last, _)) => last.clone(),
        None => String::new(),
    }
}

/// A message stays readable whatever was typed.
pub(crate) fn shorten(text: &str) -> String {
    if text.chars().count() <= LONGEST_NAME {
        return text.to_owned();
    }
    text.chars().take(LONGEST_NAME).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_near() {
        assert_eq!(nearest("berkley", ["berkeley", "chennai"]), Some("berkeley"));
        assert_eq!(nearest("drop-tail", ["drop_tail"]), Some("drop_tail"));
        assert_eq!(nearest("Iridium", ["iridium"]), Some("iridium"));
        assert_eq!(nearest("x", ["a", "b"]), None);
        assert_eq!(nearest("mars", ["berkeley", "chennai"]), None);
    }
}
