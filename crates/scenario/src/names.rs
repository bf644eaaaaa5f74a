//! Names: their order, what one may look like, and which one was probably meant.

use std::cmp::Ordering;

/// The order of components: as people sort, "ftp-2" before "ftp-10". A component's index is its rank in this
/// order, never the order of declaration.
pub fn natural_order(a: &str, b: &str) -> Ordering {
    let (mut x, mut y) = (a.as_bytes(), b.as_bytes());
    while let (Some(&p), Some(&q)) = (x.first(), y.first()) {
        if p.is_ascii_digit() && q.is_ascii_digit() {
            let (n, rest_x) = split_digits(x);
            let (m, rest_y) = split_digits(y);
            // Without leading zeros the longer number is the greater one, whatever its size.
            let order = n.len().cmp(&m.len()).then_with(|| n.cmp(m));
            if order != Ordering::Equal {
                return order;
            }
            (x, y) = (rest_x, rest_y);
        } else if p != q {
            return p.cmp(&q);
        } else {
            (x, y) = (&x[1..], &y[1..]);
        }
    }
    // "a01" and "a1" are different names.
    x.len().cmp(&y.len()).then_with(|| a.cmp(b))
}

/// The digits at the start without leading zeros, and what follows them.
fn split_digits(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(|b| !b.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    let zeros = digits.iter().take_while(|&&b| b == b'0').count();
    (&digits[zeros..], rest)
}

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
    fn numbers_in_names_sort_as_numbers() {
        let mut names = vec!["ftp-10", "ftp-2", "ftp", "b", "ftp-02", "a9z", "a10"];
        names.sort_by(|a, b| natural_order(a, b));
        assert_eq!(names, ["a9z", "a10", "b", "ftp", "ftp-02", "ftp-2", "ftp-10"]);
        assert_eq!(natural_order("x1", "x01"), Ordering::Greater);
        assert_eq!(natural_order("x0", "x"), Ordering::Greater);
    }

    #[test]
    fn the_natural_order_is_an_order() {
        let names = ["", "0", "00", "1", "01", "a", "a0", "a00", "a1", "a1b", "a01b", "a10", "-", "a-1", "a-01-2"];
        for a in names {
            assert_eq!(natural_order(a, a), Ordering::Equal);
            for b in names {
                assert_eq!(natural_order(a, b), natural_order(b, a).reverse(), "{a} {b}");
                for c in names {
                    if natural_order(a, b) != Ordering::Greater && natural_order(b, c) != Ordering::Greater {
                        assert_ne!(natural_order(a, c), Ordering::Greater, "{a} {b} {c}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_nearest_name_is_near() {
        assert_eq!(nearest("berkley", ["berkeley", "chennai"]), Some("berkeley"));
        assert_eq!(nearest("drop-tail", ["drop_tail"]), Some("drop_tail"));
        assert_eq!(nearest("Iridium", ["iridium"]), Some("iridium"));
        assert_eq!(nearest("x", ["a", "b"]), None);
        assert_eq!(nearest("mars", ["berkeley", "chennai"]), None);
    }
}
