//! Web pages: a document, objects that it names, objects that those name, and connections that fetch them.
//!
//! This file knows pages only; `browser.rs` runs them on the network.

use crate::distribution::Distribution;
use skyhop_base::{Duration, Stream};

/// Objects of a page at most, whatever its distribution says.
pub const MOST_OBJECTS: u32 = 10_000;

/// Visits of pages: what a page consists of, and how it is fetched.
#[derive(Clone, Debug, PartialEq)]
pub struct PagesConfig {
    /// Size of the document, bytes.
    pub document: Distribution,
    /// The other objects. A group may only name one before it.
    pub groups: Vec<ObjectGroup>,
    /// Connections of a visit. At least one.
    pub connections: u32,
    /// Whether a connection takes any number of requests at once, which the server answers one after another.
    pub multiplexed: bool,
    /// Pages of a visit, one after another over the same connections. At least one.
    pub views: u32,
    /// Mean of the exponential time from the end of a page to the request for the next one.
    pub think: Duration,
    /// Size of a request on the wire.
    pub request_bytes: u32,
}

/// Objects of one kind on a page.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectGroup {
    /// How many there are, rounded.
    pub count: Distribution,
    /// Their sizes in bytes, rounded up.
    pub sizes: Distribution,
    pub named_by: Namer,
}

/// What names the objects of a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Namer {
    /// The document, at places drawn at random: each object is found when the document has arrived up to its place.
    Document,
    /// The objects of the group of this number: each object is found when one of those, drawn at random, has arrived as
    /// a whole.
    Group(usize),
    /// The document names all but this share, and those name the rest, as above. Less than 1.
    Itself(f64),
}

impl PagesConfig {
    /// User bytes of a visit, on average.
    pub fn mean_bytes(&self) -> f64 {
        let groups: f64 = self.groups.iter().map(|group| group.count.mean() * group.sizes.mean()).sum();
        f64::from(self.views) * (self.document.mean() + groups)
    }
}

/// A page of the HTTP Archive, desktop, October 2024, by the medians of the Web Almanac 2024, chapter "Page weight": 71
/// requests and 2,652 kB; 2 HTML files (18 kB together), 8 style sheets (78 kB), 24 scripts (613 kB), 18 images (1,054
/// kB) and 4 fonts (131 kB). Medians of kinds do not add up to the median of all: the 15 requests and 758 kB that are
/// left stand for everything else.
///
/// The almanac does not say what names what. Assumptions: the document names HTML, style sheets, scripts and images;
/// style sheets name fonts; scripts name the rest. All objects of a kind have the same size, so that every view loads
/// the same page.
pub fn median_2024() -> (Distribution, Vec<ObjectGroup>) {
    use Namer::{Document, Group};
    let group = |count: f64, kilobytes: f64, named_by| ObjectGroup {
        count: Distribution::Constant(count),
        sizes: Distribution::Constant(1000.0 * kilobytes / count),
        named_by,
    };
    let groups = vec![
        group(8.0, 78.0, Document),
        group(24.0, 613.0, Document),
        group(18.0, 1054.0, Document),
        group(1.0, 9.0, Document),
        group(4.0, 131.0, Group(0)),
        group(15.0, 758.0, Group(1)),
    ];
    (Distribution::Constant(9000.0), groups)
}

/// An object of a page that is being loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    pub bytes: u64,
    /// The object that names it; `None` is the document, or nothing for the document itself.
    named_by: Option<u32>,
    /// Bytes of the document at which it is found there.
    place: u64,
}

/// A page that is being loaded. Object 0 is the document.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub objects: Vec<Object>,
    /// Objects that the document names, by their places.
    in_document: Vec<u32>,
    /// How many of them are found.
    parsed: usize,
    arrived: usize,
}

impl Page {
    /// The next page of a visit. The stream belongs to the visit, so that pages do not hang on what the network does.
    pub fn draw(config: &PagesConfig, stream: &mut Stream) -> Page {
        let size = |sizes: &Distribution, stream: &mut Stream| libm::ceil(sizes.draw(stream)).max(1.0) as u64;
        let document = size(&config.document, stream);
        let mut objects = vec![Object { bytes: document, named_by: None, place: 0 }];
        let mut ranges: Vec<std::ops::Range<u32>> = Vec::new();
        for group in &config.groups {
            let room = MOST_OBJECTS.saturating_sub(objects.len() as u32);
            let count = (libm::round(group.count.draw(stream)).max(0.0) as u32).min(room);
            let first = objects.len() as u32;
            let nobody = 0..0;
            let namers = match group.named_by {
                Namer::Document => nobody,
                Namer::Group(group) => ranges.get(group).cloned().unwrap_or(nobody),
                Namer::Itself(late) => first..first + count - libm::round(f64::from(count) * late) as u32,
            };
            for _ in 0..count {
                let bytes = size(&group.sizes, stream);
                let u = stream.uniform();
                // Where there is nothing that could name it, the document does.
                let is_late = !namers.is_empty() && !namers.contains(&(objects.len() as u32));
                let named_by = is_late.then(|| namers.start + (u * namers.len() as f64) as u32);
                let place = 1 + (u * document as f64) as u64;
                objects.push(Object { bytes, named_by, place: place.min(document) });
            }
            ranges.push(first..first + count);
        }
        let mut in_document: Vec<u32> =
            (1..objects.len() as u32).filter(|&object| objects[object as usize].named_by.is_none()).collect();
        in_document.sort_by_key(|&object| (objects[object as usize].place, object));
        Page { objects, in_document, parsed: 0, arrived: 0 }
    }

    pub fn bytes(&self) -> u64 {
        self.objects.iter().map(|object| object.bytes).sum()
    }

    /// Bytes of the document at which the next object is found in it.
    pub fn next_place(&self) -> Option<u64> {
        self.in_document.get(self.parsed).map(|&object| self.objects[object as usize].place)
    }

    /// The next object that the document names in its first `bytes`; callers ask until there is none.
    pub fn find_in_document(&mut self, bytes: u64) -> Option<u32> {
        let &object = self.in_document.get(self.parsed)?;
        (self.objects[object as usize].place <= bytes).then(|| {
            self.parsed += 1;
            object
        })
    }

    /// An object has arrived as a whole: the objects that it names.
    pub fn arrived(&mut self, object: u32) -> Vec<u32> {
        self.arrived += 1;
        if object == 0 {
            return Vec::new();
        }
        let named = |&other: &u32| self.objects[other as usize].named_by == Some(object);
        (1..self.objects.len() as u32).filter(named).collect()
    }

    pub fn is_complete(&self) -> bool {
        self.arrived == self.objects.len()
    }

    pub fn memory_bytes(&self) -> u64 {
        (self.objects.capacity() * size_of::<Object>() + self.in_document.capacity() * size_of::<u32>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(document: Distribution, groups: Vec<ObjectGroup>) -> PagesConfig {
        PagesConfig {
            document,
            groups,
            connections: 6,
            multiplexed: false,
            views: 1,
            think: Duration::ZERO,
            request_bytes: 700,
        }
    }

    /// 71 requests and 2,652 kB, as the almanac has them.
    #[test]
    fn the_median_page_has_the_published_size() {
        let (document, groups) = median_2024();
        let config = config(document, groups);
        let page = Page::draw(&config, &mut Stream::new(1, "web", "page"));
        assert_eq!(page.objects.len(), 71);
        // Sizes are rounded up to bytes.
        assert!((2_652_000..2_652_071).contains(&page.bytes()), "{}", page.bytes());
        assert!((config.mean_bytes() - 2_652_000.0).abs() < 1e-6);
        let late = page.objects.iter().filter(|object| object.named_by.is_some()).count();
        assert_eq!(late, 19, "fonts and what scripts ask for");
        assert!(page.objects.iter().all(|object| object.place <= 9000));
    }

    /// Every object is found exactly once, in the document in the order of the places, and a late one behind the one
    /// that names it.
    #[test]
    fn every_object_is_found_once() {
        let (document, groups) = median_2024();
        let mut page = Page::draw(&config(document, groups), &mut Stream::new(7, "web", "page"));
        let mut found = vec![0];
        let mut places = Vec::new();
        for bytes in (0..=9000).step_by(500) {
            while let Some(object) = page.find_in_document(bytes) {
                places.push(page.objects[object as usize].place);
                found.push(object);
            }
            assert!(page.next_place().is_none_or(|place| place > bytes));
        }
        assert!(places.is_sorted() && found.len() == 52, "{found:?}");
        let mut next = 0;
        while let Some(&object) = found.get(next) {
            assert!(!page.is_complete());
            found.extend(page.arrived(object));
            next += 1;
        }
        found.sort_unstable();
        assert!(page.is_complete());
        assert_eq!(found, (0..71).collect::<Vec<u32>>());
    }

    /// Counts and sizes follow their distributions, and a group whose namers are absent is named by the document.
    #[test]
    fn pages_follow_their_distributions() {
        let group = |count, named_by| ObjectGroup { count, sizes: Distribution::Exponential { mean: 30e3 }, named_by };
        let spread = Distribution::Lognormal { median: 20.0, sigma: 0.5 };
        let config = config(
            Distribution::Constant(5e3),
            vec![group(spread.clone(), Namer::Document), group(Distribution::Constant(4.0), Namer::Group(0))],
        );
        let mut stream = Stream::new(3, "web", "page");
        let pages: Vec<Page> = (0..4000).map(|_| Page::draw(&config, &mut stream)).collect();
        let mean = pages.iter().map(|page| page.bytes() as f64).sum::<f64>() / 4000.0;
        // Standard deviation of a page: some 27 objects of 30 kB, and 12 more or less of them.
        assert!((mean / config.mean_bytes() - 1.0).abs() < 4.0 * 0.55 / 4000_f64.sqrt(), "{mean}");
        let counts = pages.iter().filter(|page| page.objects.len() - 5 > 20).count() as f64 / 4000.0;
        assert!((counts - 0.5).abs() < 0.05, "half of them are above the median: {counts}");
        let none = self::config(
            Distribution::Constant(5e3),
            vec![
                group(Distribution::Constant(0.0), Namer::Document),
                group(Distribution::Constant(4.0), Namer::Group(0)),
            ],
        );
        let mut page = Page::draw(&none, &mut stream);
        let found: Vec<u32> = std::iter::from_fn(|| page.find_in_document(5000)).collect();
        assert_eq!(found.len(), 4);
        let half = vec![group(Distribution::Constant(11.0), Namer::Itself(0.5))];
        let page = Page::draw(&self::config(Distribution::Constant(5e3), half), &mut stream);
        let late: Vec<Option<u32>> = page.objects.iter().map(|object| object.named_by).collect();
        assert!(
            late[..6].iter().all(Option::is_none)
                && late[6..].iter().all(|by| by.is_some_and(|by| (1..6).contains(&by)))
        );
    }
}
