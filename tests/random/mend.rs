//! What the format refuses is taken out of a drawn scenario, problem by problem, until it is valid. So the generator
//! need not know every rule, and each refusal is a test of the messages, too.

use serde_json::Value as Json;
use skyhop_scenario::{Diagnostic, Diagnostics, Scenario};

/// Largest number of rounds; a scenario that is still invalid then is given up.
const ROUNDS: usize = 25;

#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    Key(String),
    Index(usize),
}

pub struct Mended {
    pub value: Json,
    pub scenario: Scenario,
    /// The problems whose values were taken out; none when it was valid as it was drawn.
    pub taken_out: Vec<Diagnostic>,
}

/// # Errors
/// The last problems of a scenario that cannot be mended.
pub fn mend(mut value: Json) -> Result<Mended, Diagnostics> {
    let mut taken_out = Vec::new();
    for round in 0.. {
        let problems = match Scenario::from_json(&value, "random", &[]) {
            Ok(scenario) => return Ok(Mended { value, scenario, taken_out }),
            Err(problems) => problems,
        };
        assert!(!problems.problems.is_empty(), "refused without a problem");
        let before = taken_out.len();
        for problem in &problems.problems {
            let remedy = remedy(&problem.message, steps(&problem.path));
            if remedy.is_some_and(|place| remove(&mut value, &place)) {
                taken_out.push(problem.clone());
            }
        }
        if taken_out.len() == before || round == ROUNDS {
            return Err(problems);
        }
    }
    unreachable!("the loop returns")
}

/// The key to remove so that a problem disappears.
fn remedy(message: &str, place: Vec<Step>) -> Option<Vec<Step>> {
    match place.as_slice() {
        [] => None,
        // A flow that listens to nobody: the agents go with what they needed.
        [Step::Key(key)] if key == "flows" && !message.contains("via") => Some(vec![all_of("notification")]),
        [Step::Key(key)] if key == "flows" => Some(vec![all_of("via")]),
        _ => Some(place),
    }
}

/// Stands for this key of every flow.
fn all_of(key: &str) -> Step {
    Step::Key(format!("flows[*].{key}"))
}

/// `flows[0].tcp.mss` as steps.
pub fn steps(path: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let Some((index, after)) = inner.split_once(']') else { break };
            steps.extend(index.parse().ok().map(Step::Index));
            rest = after;
        } else {
            rest = rest.strip_prefix('.').unwrap_or(rest);
            if let Some(quoted) = rest.strip_prefix('"') {
                let Some((key, after)) = quoted.split_once('"') else { break };
                steps.push(Step::Key(key.to_owned()));
                rest = after;
            } else {
                let end = rest.find(['.', '[']).unwrap_or(rest.len());
                steps.push(Step::Key(rest[..end].to_owned()));
                rest = &rest[end..];
            }
        }
    }
    steps
}

/// Removes what is at `place`, or the deepest thing on the way there. False when nothing is left to remove.
pub fn remove(value: &mut Json, place: &[Step]) -> bool {
    if let [Step::Key(key)] = place
        && let Some(key) = key.strip_prefix("flows[*].")
    {
        let mut found = false;
        for flow in value.get_mut("flows").and_then(Json::as_array_mut).into_iter().flatten() {
            found |= flow.as_object_mut().is_some_and(|flow| flow.remove(key).is_some());
            let tcp = flow.get_mut("tcp").and_then(Json::as_object_mut);
            found |= tcp.is_some_and(|tcp| tcp.remove(key).is_some());
        }
        return found;
    }
    for length in (1..=place.len()).rev() {
        let (last, way) = place[..length].split_last().expect("not empty");
        let parent = way.iter().try_fold(&mut *value, |at, step| match step {
            Step::Key(key) => at.get_mut(key),
            Step::Index(index) => at.get_mut(*index),
        });
        match (parent, last) {
            (Some(Json::Object(table)), Step::Key(key)) if table.contains_key(key) => {
                table.remove(key);
                return true;
            }
            // The ends of a link go as a whole.
            (Some(Json::Array(items)), Step::Index(index))
                if *index < items.len() && way.last() != Some(&Step::Key("between".to_owned())) =>
            {
                items.remove(*index);
                return true;
            }
            _ => {}
        }
    }
    false
}
