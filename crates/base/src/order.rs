//! The order of names.

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
}
