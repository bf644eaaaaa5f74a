//! The list of controls: names, parameters, and that each parameter has an effect.

use crate::support::*;
use serde_json::Value;
use skyhop_tcp::control::{ControlKind, Parameter, Written};
use skyhop_tcp::sender::EcnMode;

/// Values of a parameter that are not its default.
fn others(parameter: &Parameter, names: &[&str]) -> Vec<Value> {
    match (parameter.default, parameter.range) {
        (Written::Number(default), Some((least, most))) => {
            [least, most].into_iter().filter(|&end| end != default).map(number).collect()
        }
        (Written::Name(default), _) => names.iter().filter(|&&name| name != default).map(|&name| name.into()).collect(),
        (Written::Number(_), None) => Vec::new(),
    }
}

/// Whole numbers are written without a fraction.
fn number(number: f64) -> Value {
    if number.fract() == 0.0 { Value::from(number as i64) } else { Value::from(number) }
}

/// The names that a parameter takes, as the error about a wrong one lists them.
fn names_of(control: &str, parameter: &Parameter) -> Vec<String> {
    let wrong = serde_json::json!({ control: { parameter.name: "no such name" } });
    let message = serde_json::from_value::<ControlKind>(wrong).unwrap_err().to_string();
    message.split('`').skip(3).step_by(2).map(str::to_owned).collect()
}

fn values(control: &str, parameter: &Parameter) -> Vec<Value> {
    let names = if parameter.range.is_none() { names_of(control, parameter) } else { Vec::new() };
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    others(parameter, &names)
}

#[test]
fn each_control_has_a_source_and_documented_parameters() {
    for name in ControlKind::NAMES {
        let control = ControlKind::named(name).unwrap();
        assert_eq!(control.build(1).name(), *name);
        let about = control.about();
        assert!(!about.source.is_empty() && !about.advice.is_empty() && about.year > 1980, "{name}");
        control.check().unwrap();
        for parameter in control.parameters() {
            let full = format!("{name}.{}", parameter.name);
            assert!(parameter.sentence.ends_with('.') && !parameter.source.is_empty(), "{full}");
            let values = values(name, &parameter);
            assert!(!values.is_empty(), "{full}");
            for value in values {
                with_option(name, parameter.name, value).check().unwrap();
            }
            if let Some((least, most)) = parameter.range {
                let wrong = with_option(name, parameter.name, number(most + 1.0));
                let message = wrong.check().unwrap_err().to_string();
                assert!(message.contains(parameter.name) && message.contains(&most.to_string()), "{full}: {message}");
                assert!(least < most, "{full}");
            }
        }
    }
}

/// Paths that show different things: changes of rate with marks and loss; much loss from the start; a slow one.
fn paths() -> [Bottleneck; 3] {
    let mut changing = Bottleneck::new(6.0, 50.0, 40);
    changing.mark_at = Some(30);
    changing.loss = 0.02;
    changing.loss_between = (4.0, 7.0);
    changing.rates = vec![(0.0, 6.0), (9.0, 2.0), (12.0, 12.0)];
    let mut lossy = Bottleneck::new(6.0, 200.0, 300);
    lossy.loss = 0.04;
    [changing, lossy, Bottleneck::new(1.0, 20.0, 100)]
}

/// The progress of a flow over a path.
fn trace(control: &ControlKind, path: &Bottleneck) -> Vec<(u64, u32, u64)> {
    let mut flow = Flow::of(control.clone()).with(|c| c.ecn = EcnMode::On);
    flow.writes = vec![(0.0, 9_000_000), (16.0, 1 << 30)];
    run(path, vec![flow], 18.0).points.iter().map(|p| (p.acked, p.cwnd, p.pacing)).collect()
}

/// Minutes are longer than these runs: the unit test `the_base_delay_ages_after_the_minutes_of_its_history` shows them.
/// The paths have no RTT below 20 ms: `a_short_path_takes_no_more_than_one_of_25_ms` shows the virtual one. Nobody
/// tells of a handover, and LeoCC's clock is off: see `control_handover`. Nothing reads the count of RTT jumps here:
/// see `rtt_jumps`.
const ELSEWHERE: &[&str] = &[
    "ledbat.base_history",
    "ledbat++.base_history",
    "prague.virtual_rtt",
    "prague.rounds_before",
    "bbr3.rtt_jumps",
    "satcp.lead",
    "satcp.shrink",
    "satcp.longest",
    "satcp.restore",
    "leocc.period",
    "leocc.offset",
    "leocc.fall",
];

#[test]
fn every_parameter_has_an_effect() {
    let mut idle = Vec::new();
    let paths = paths();
    for name in ControlKind::NAMES {
        let control = ControlKind::named(name).unwrap();
        let stock: Vec<_> = paths.iter().map(|path| trace(&control, path)).collect();
        for parameter in control.parameters() {
            let full = format!("{name}.{}", parameter.name);
            let changed = values(name, &parameter).into_iter().map(|value| with_option(name, parameter.name, value));
            let equal =
                |control: ControlKind| paths.iter().zip(&stock).all(|(path, stock)| trace(&control, path) == *stock);
            if !ELSEWHERE.contains(&full.as_str()) && changed.into_iter().all(equal) {
                idle.push(full);
            }
        }
    }
    assert!(idle.is_empty(), "without effect: {idle:?}");
}

/// The part of the page between a comment that names it and the next "end".
fn part<'a>(page: &'a str, name: &str) -> &'a str {
    let from = page.split(&format!("<!-- {name} -->\n")).nth(1).expect(name);
    from.split("<!-- end -->").next().expect("an end")
}

#[test]
fn the_page_has_the_lists() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/models/controls.md");
    let page = std::fs::read_to_string(path).expect("the page is readable");
    let mut controls =
        "| name | control | source | year | signal | over satellites |\n|---|---|---|---|---|---|\n".to_owned();
    let mut parameters =
        "| control | parameter | meaning | unit | range | default | source |\n|---|---|---|---|---|---|---|\n"
            .to_owned();
    for name in ControlKind::NAMES {
        let control = ControlKind::named(name).unwrap();
        let about = control.about();
        controls += &format!(
            "| `{name}` | {} | {} | {} | {} | {} |\n",
            about.title, about.source, about.year, about.kind, about.advice
        );
        for parameter in control.parameters() {
            let range = match parameter.range {
                Some((least, most)) => format!("{least} to {most}"),
                None => names_of(name, &parameter).join(", "),
            };
            let default = match parameter.default {
                Written::Number(number) => number.to_string(),
                Written::Name(name) => name.to_owned(),
            };
            parameters += &format!(
                "| `{name}` | `{}` | {} | {} | {range} | {default} | {} |\n",
                parameter.name, parameter.sentence, parameter.unit, parameter.source
            );
        }
    }
    for (name, right) in [("controls of Linux", &controls), ("parameters of Linux", &parameters)] {
        let have = part(&page, name);
        assert!(have == right, "{name} in docs/models/controls.md should be:\n{right}");
    }
    let own = page.split("## In Skyhop's own TCP").nth(1).expect("the second table");
    let names: Vec<&str> = own.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    assert_eq!(names.len(), skyhop_cc::ControlSpec::NAMES.len());
    for name in skyhop_cc::ControlSpec::NAMES {
        assert!(names.contains(name), "{name} lacks in docs/models/controls.md");
    }
}
