//! A finding's scenario made small: whatever can go, goes, while the same finding stays.

use super::finding::Finding;
use super::judge::judge;
use super::mend::{Step, remove};
use serde_json::Value as Json;
use std::time::{Duration, Instant};

/// The smallest scenario found within `limit` that shows a finding of this kind, with that finding.
pub fn shrink(value: &Json, seed: u64, kind: &str, limit: Duration) -> (Json, Option<Finding>) {
    let end = Instant::now() + limit;
    let shows = |value: &Json| {
        let verdict = judge(value, seed, Duration::from_secs(20));
        verdict.findings.into_iter().find(|finding| finding.kind == kind)
    };
    let mut best = value.clone();
    let mut finding = shows(&best);
    if finding.is_none() {
        return (best, None);
    }
    loop {
        let before = best.clone();
        let mut places = Vec::new();
        collect(&best, &mut Vec::new(), &mut places);
        // Large parts first; of a list the last item first, so that numbers stay right.
        places.sort_by_key(Vec::len);
        places.reverse();
        places.sort_by_key(|place| place.len());
        for place in places {
            let mut smaller = best.clone();
            if Instant::now() > end || !remove(&mut smaller, &place) || smaller == best {
                continue;
            }
            if let Some(found) = shows(&smaller) {
                (best, finding) = (smaller, Some(found));
            }
        }
        if best == before || Instant::now() > end {
            return (best, finding);
        }
    }
}

/// Every place in the scenario.
fn collect(value: &Json, way: &mut Vec<Step>, places: &mut Vec<Vec<Step>>) {
    if !way.is_empty() {
        places.push(way.clone());
    }
    match value {
        Json::Object(table) => {
            for (key, inner) in table {
                way.push(Step::Key(key.clone()));
                collect(inner, way, places);
                way.pop();
            }
        }
        Json::Array(items) => {
            for (index, inner) in items.iter().enumerate().rev() {
                way.push(Step::Index(index));
                collect(inner, way, places);
                way.pop();
            }
        }
        _ => {}
    }
}
