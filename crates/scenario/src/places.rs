//! Places by name: cities and research sites, from a table that the program carries.

use crate::names;
use skyhop_base::Angle;
use std::collections::HashMap;
use std::sync::LazyLock;

/// GeoNames (www.geonames.org), CC BY 4.0; `python/tools/places.py` writes it.
const TABLE: &str = include_str!("../data/places.csv");

/// A place on the ground.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Without accents.
    pub name: &'static str,
    /// ISO 3166 code of two letters.
    pub country: &'static str,
    pub latitude: Angle,
    pub longitude: Angle,
}

/// All places, larger ones first.
pub fn places() -> impl Iterator<Item = Place> {
    lines().filter_map(place)
}

/// The lines of the table, each of which is a place and begins with its name.
fn lines() -> impl Iterator<Item = &'static str> {
    TABLE.lines().filter(|line| !line.starts_with('#')).skip(1)
}

/// The lines of the table by their names as [`plain`] writes them, larger places first. Each variant of a scenario in a
/// search for keys without effect looks for its cities again.
static LINES: LazyLock<HashMap<String, Vec<&'static str>>> = LazyLock::new(|| {
    let mut by_name: HashMap<String, Vec<&'static str>> = HashMap::new();
    for line in lines() {
        let name = line.split(',').next().unwrap_or_default();
        by_name.entry(plain(name)).or_default().push(line);
    }
    by_name
});

/// The places of a name as [`plain`] writes it.
fn places_called(wanted: &str) -> impl Iterator<Item = Place> {
    LINES.get(wanted).into_iter().flatten().filter_map(|line| place(line))
}

fn place(line: &'static str) -> Option<Place> {
    let mut fields = line.split(',');
    let (name, country) = (fields.next()?, fields.next()?);
    let mut angle = || fields.next()?.parse().ok().map(Angle::from_degrees);
    Some(Place { name, country, latitude: angle()?, longitude: angle()? })
}

/// The largest place of a name, in any case and with or without accents: "Palermo", "são paulo". "Cambridge, GB" is the
/// one in that country.
pub fn find_place(name: &str) -> Option<Place> {
    let (town, country) = match name.rsplit_once(',') {
        Some((town, country)) => (town, Some(country.trim().to_ascii_uppercase())),
        None => (name, None),
    };
    places_called(&plain(town)).find(|p| country.as_deref().is_none_or(|country| country == p.country))
}

/// Those of that name in other countries than the largest, when no country is named.
pub fn namesakes(name: &str) -> Vec<Place> {
    if name.contains(',') {
        return Vec::new();
    }
    let all: Vec<Place> = places_called(&plain(name)).collect();
    let first = all.first().map(|place| place.country);
    all.into_iter().filter(|place| Some(place.country) != first).collect()
}

/// The name that was probably meant: one that goes on where it ends ("New York City" for "New York"), else the nearest.
/// Where the place is known, but not in the country named, the one that is known.
pub fn nearest_place(name: &str) -> Option<String> {
    let town = name.split(',').next().unwrap_or(name).trim();
    if let Some(known) = find_place(town) {
        return Some(format!("{}, {}", known.name, known.country));
    }
    let start = format!("{} ", plain(town));
    if let Some(longer) = places().find(|p| plain(p.name).starts_with(&start)) {
        return Some(longer.name.to_owned());
    }
    let all: Vec<&'static str> = places().map(|place| place.name).collect();
    names::nearest(town, all).map(str::to_owned)
}

/// In lower case, without accents, with blanks for hyphens.
fn plain(name: &str) -> String {
    let letters = name.trim().chars().flat_map(char::to_lowercase).filter_map(|letter| match letter {
        'à'..='å' | 'ā' | 'ă' | 'ą' => Some('a'),
        'ç' | 'ć' | 'č' => Some('c'),
        'è'..='ë' | 'ē' | 'ė' | 'ę' | 'ě' => Some('e'),
        'ì'..='ï' | 'ī' | 'ı' => Some('i'),
        'ñ' | 'ń' | 'ň' => Some('n'),
        'ò'..='ö' | 'ø' | 'ō' | 'ő' => Some('o'),
        'ś' | 'š' | 'ş' | 'ș' => Some('s'),
        'ù'..='ü' | 'ū' | 'ů' | 'ű' => Some('u'),
        'ý' | 'ÿ' => Some('y'),
        'ź' | 'ż' | 'ž' => Some('z'),
        'ł' => Some('l'),
        'ğ' => Some('g'),
        'ř' => Some('r'),
        'ţ' | 'ț' | 'ť' => Some('t'),
        // The dot that İ leaves behind.
        '\u{307}' => None,
        '-' | '_' => Some(' '),
        '’' => Some('\''),
        other => Some(other),
    });
    letters.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_place() {
        assert_eq!(places().count(), TABLE.lines().count() - 3);
        for place in places() {
            assert!(place.latitude.degrees().abs() <= 80.0 && place.longitude.degrees().abs() <= 180.0, "{place:?}");
            assert_eq!(place.country.len(), 2);
            assert!(find_place(place.name).is_some(), "{place:?}");
        }
    }

    #[test]
    fn names_are_found_as_people_write_them() {
        let found = |name: &str| find_place(name).map(|place| (place.name, place.country));
        assert_eq!(found("PALERMO"), Some(("Palermo", "IT")));
        assert_eq!(found("São Paulo"), Some(("Sao Paulo", "BR")));
        assert_eq!(found("osnabrück"), Some(("Osnabruck", "DE")));
        assert_eq!(found("Cambridge, GB"), Some(("Cambridge", "GB")));
        assert_eq!(found("Cambridge, FR"), None);
        assert_eq!(nearest_place("Palremo").as_deref(), Some("Palermo"));
        assert_eq!(nearest_place("New York").as_deref(), Some("New York City"));
        assert_eq!(nearest_place("Cambridge, FR").as_deref(), Some("Cambridge, US"));
        let others = |name: &str| namesakes(name).iter().map(|place| place.country).collect::<Vec<_>>();
        assert_eq!((others("Cambridge"), others("Cambridge, US"), others("Palermo")), (vec!["GB"], vec![], vec![]));
        // Its coordinates on any map.
        let palermo = find_place("Palermo").unwrap();
        assert!((palermo.latitude.degrees() - 38.12).abs() < 0.05, "{palermo:?}");
        assert!((palermo.longitude.degrees() - 13.36).abs() < 0.05, "{palermo:?}");
    }
}
