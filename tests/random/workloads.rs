//! Workloads: transfers of a random scenario, few enough for its small run.

use super::chance::Chance;
use super::values::{Draw, duration, rate, size};
use serde_json::{Map, Value as Json, json};

/// Adds a workload between these nodes.
pub fn insert(draw: &mut Draw<'_>, scenario: &mut Map<String, Json>, nodes: &[String]) {
    let mut names: Vec<&String> = nodes.iter().collect();
    draw.chance.shuffle(&mut names);
    if names.len() < 2 {
        return;
    }
    let cut = 1 + draw.chance.below(names.len() - 1);
    let (from, to) = names.split_at(cut);
    let ends = |chance: &mut Chance, names: &[&String]| match names {
        [only] if chance.happens(0.7) => json!(only),
        _ => json!(names),
    };
    let mut workload = Map::new();
    workload.insert("name".to_owned(), "people".into());
    workload.insert("from".to_owned(), ends(&mut draw.chance, from));
    workload.insert("to".to_owned(), ends(&mut draw.chance, to));
    let (arrivals, gives_sizes) = arrivals(draw);
    workload.insert("arrivals".to_owned(), arrivals);
    if !gives_sizes && draw.chance.happens(0.3) {
        workload.insert("pages".to_owned(), pages(draw));
    } else if !gives_sizes {
        workload.insert("sizes".to_owned(), sizes(&mut draw.chance));
    }
    let shape = draw.schema.definition("WorkloadFile");
    let is_udp = draw.chance.happens(0.2) && !workload.contains_key("pages");
    for key in if is_udp { &["udp", "burst"][..] } else { &["tcp"] } {
        let inner = draw.schema.shape(shape.name, &shape.json["properties"][*key]);
        let mut value = draw.value(inner, &format!("WorkloadFile.{key}"));
        if *key == "tcp" {
            value = draw.with_profile(value);
        }
        workload.insert((*key).to_owned(), value);
    }
    let mut workload = draw.table(shape, workload);
    if let Some(table) = workload.as_object_mut().filter(|table| table.contains_key("pages")) {
        table.remove("connections");
    }
    scenario.insert("workloads".to_owned(), json!([workload]));
}

/// When transfers begin, and whether that says how large they are.
fn arrivals(draw: &mut Draw<'_>) -> (Json, bool) {
    let run_s = draw.world.duration_s;
    let chance = &mut draw.chance;
    match chance.below(4) {
        0 => (json!({ "poisson": { "per_s": chance.magnitude(1.0, 30.0) / run_s } }), false),
        1 => {
            let bps = draw.world.rate_bps * chance.real(0.05, 0.5);
            (json!({ "poisson": { "load": rate(chance, bps) } }), false)
        }
        2 => {
            let gap = |chance: &mut Chance, share: f64| {
                let gap_s = run_s * share * chance.magnitude(0.02, 0.2);
                duration(chance, gap_s)
            };
            let gaps = match chance.below(5) {
                0 => json!({ "constant": gap(chance, 1.0) }),
                1 => json!({ "exponential": { "mean": gap(chance, 1.0) } }),
                2 => json!({ "lognormal": { "median": gap(chance, 1.0), "sigma": chance.real(0.1, 2.0) } }),
                3 => {
                    json!({ "pareto": { "least": gap(chance, 0.09), "largest": gap(chance, 1.0),
                        "shape": chance.real(0.5, 3.0) } })
                }
                _ => json!({ "empirical": { "text": format!("seconds\n{}\n{}\n", run_s * 0.01, run_s * 0.1) } }),
            };
            (json!({ "renewal": gaps }), false)
        }
        _ => {
            let with_sizes = chance.happens(0.5);
            let row = |i: usize| match with_sizes {
                true => format!("{},{}", run_s * i as f64 / 9.0, 100 + 7000 * i),
                false => format!("{}", run_s * i as f64 / 9.0),
            };
            let rows: Vec<String> = (0..8).map(row).collect();
            let head = if with_sizes { "time_s,bytes" } else { "time_s" };
            (json!({ "at": { "text": format!("{head}\n{}\n", rows.join("\n")) } }), with_sizes)
        }
    }
}

/// What a user loads: small pages, so that a small run loads some.
fn pages(draw: &mut Draw<'_>) -> Json {
    let run_s = draw.world.duration_s;
    let chance = &mut draw.chance;
    let mut pages = Map::new();
    if chance.happens(0.8) {
        let count = 1 + chance.below(12);
        let objects = match chance.happens(0.5) {
            true => json!(count),
            false => json!({ "lognormal": { "median": count, "sigma": chance.real(0.1, 1.0) } }),
        };
        let mut content = json!({ "document": sizes(chance), "objects": objects, "sizes": sizes(chance) });
        if chance.happens(0.5) {
            content["late"] = chance.real(0.0, 0.9).into();
        }
        pages.insert("content".to_owned(), content);
    } else if chance.happens(0.5) {
        pages.insert("content".to_owned(), "median-2024".into());
    }
    match chance.below(4) {
        0 => _ = pages.insert("protocol".to_owned(), "http/1.1".into()),
        1 => _ = pages.insert("protocol".to_owned(), "http/2".into()),
        2 => {
            let protocol = json!({ "connections": 1 + chance.below(4), "multiplexed": chance.happens(0.5) });
            pages.insert("protocol".to_owned(), protocol);
        }
        _ => {}
    }
    if chance.happens(0.5) {
        pages.insert("views".to_owned(), (2 + chance.below(3)).into());
        pages.insert("think".to_owned(), duration(chance, run_s * 0.05).into());
    }
    if chance.happens(0.3) {
        pages.insert("request".to_owned(), size(chance, 400.0).into());
    }
    Json::Object(pages)
}

fn sizes(chance: &mut Chance) -> Json {
    let mut bytes = |least: f64, most: f64| {
        let bytes = chance.magnitude(least, most);
        size(chance, bytes.round())
    };
    let [one, small, large] = [bytes(500.0, 5e4), bytes(100.0, 5e3), bytes(1e4, 1e5)];
    match chance.below(8) {
        0 => "web-search".into(),
        1 => "data-mining".into(),
        7 => "cache-follower".into(),
        2 => json!({ "constant": one }),
        3 => json!({ "exponential": { "mean": one } }),
        4 => json!({ "lognormal": { "median": one, "sigma": chance.real(0.1, 1.5) } }),
        5 => json!({ "pareto": { "least": small, "largest": large, "shape": chance.real(0.5, 3.0) } }),
        _ => json!({ "empirical": { "text": "bytes,cdf\n100,0.3\n5000,0.9\n50000,1\n" } }),
    }
}
