//! Trials of the options of a TCP over small networks: each changes a run, or the scenario says that it has no effect.

use serde_json::{Map, Value};
use skyhop_scenario::{Override, Scenario};
use skyhop_sim::Simulation;
use std::collections::BTreeMap;

/// An option and a value, as they are set on the command line.
pub type Setting<'t> = (&'t str, &'t str);

/// A wire, what happens on it, the flow's application, and options that every trial has.
pub struct Network {
    pub seconds: u32,
    pub delay: &'static str,
    pub wire: &'static str,
    pub flow: &'static str,
    pub tcp: &'static [Setting<'static>],
}

impl Network {
    pub fn scenario(&self, profile: &str, options: &[Setting<'_>]) -> Result<Scenario, String> {
        let Network { seconds, delay, wire, flow, tcp } = self;
        let text = format!(
            "duration = \"{seconds} s\"\nprofile = \"{profile}\"\n\
             [[links]]\nbetween = [\"a\", \"b\"]\ndelay = \"{delay}\"\n{wire}[[flows]]\n\
             name = \"f\"\nfrom = \"a\"\nto = \"b\"\ntcp = {{ name = \"cubic\" }}\n{flow}[records]\ngrid = \"100 ms\"\n"
        );
        let set = |(key, value): &Setting<'_>| Override::new(&format!("flows.f.tcp.{key}"), value).unwrap();
        // The options that are tried come last.
        let changes: Vec<_> = tcp.iter().chain(options).map(set).collect();
        Scenario::from_toml(&text, "test", &changes).map_err(|problems| problems.to_string())
    }

    /// What a run of the network gave, as text. `None` if the options are refused.
    fn run(&self, profile: &str, options: &[Setting<'_>]) -> Option<String> {
        let scenario = self.scenario(profile, options).ok()?;
        let run = Simulation::new(&scenario.simulation_spec(), 1).unwrap().run();
        Some(format!("{} {:?} {:?}", run.events, run.flows, run.flow_series))
    }
}

/// The trials of many TCPs, and what came out.
pub struct Trials<'n> {
    profile: &'static str,
    networks: &'n [Network],
    /// The network whose warnings say what is idle.
    asked: usize,
    /// The network that showed an option's effect for one TCP is asked first for the next.
    first: BTreeMap<String, usize>,
    pub live: usize,
    pub idle: usize,
    pub wrong: Vec<String>,
}

/// A TCP without the options that are tried.
pub struct Plain<'t> {
    /// Its name in messages.
    what: String,
    /// The options that make it.
    base: Vec<Setting<'t>>,
    runs: Vec<String>,
    /// The options of TCP in the canonical form, `true` for those that are called idle where all are written out.
    idle: BTreeMap<String, bool>,
}

impl<'n> Trials<'n> {
    pub fn new(profile: &'static str, networks: &'n [Network], asked: usize) -> Trials<'n> {
        Trials { profile, networks, asked, first: BTreeMap::new(), live: 0, idle: 0, wrong: Vec::new() }
    }

    pub fn plain<'t>(&self, what: String, base: &[Setting<'t>]) -> Plain<'t> {
        let runs = self.networks.iter().map(|network| network.run(self.profile, base).unwrap()).collect();
        // Looking for keys without effect takes as long as many runs, and answers for all keys at once.
        let canonical = self.networks[self.asked].scenario(self.profile, base).unwrap().canonical();
        let said = Scenario::from_json(&canonical, "test", &[]).unwrap().all_warnings();
        let tcp = canonical["flows"][0]["tcp"].as_object().unwrap();
        let ns2 = tcp.get("ns2").and_then(Value::as_object).into_iter().flat_map(Map::keys);
        let options = tcp.keys().cloned().chain(ns2.map(|option| format!("ns2.{option}")));
        let idle = options.map(|option| {
            let is_idle = is_called_idle(&said, &option);
            (option, is_idle)
        });
        Plain { what, base: base.to_vec(), runs, idle: idle.collect() }
    }

    /// Tries an option with other values. `is_excused`: no network here has the circumstances in which it matters.
    pub fn judge(&mut self, plain: &Plain<'_>, option: &str, values: &[&str], is_excused: bool) {
        let Plain { what, base, runs, idle } = plain;
        let with = |value| [base.as_slice(), &[(option, value)]].concat();
        let is_idle = idle.get(option).copied().unwrap_or_else(|| {
            let scenario = self.networks[self.asked].scenario(self.profile, &with(values[0])).unwrap();
            is_called_idle(&scenario.all_warnings(), option)
        });
        // An option that is called idle is tried with two values.
        let values = &values[..if is_idle { values.len().min(2) } else { values.len() }];
        let start = self.first.get(option).copied().unwrap_or(0);
        let changed = (start..self.networks.len()).chain(0..start).find(|&at| {
            let differs = |value| self.networks[at].run(self.profile, &with(value)).is_some_and(|run| run != runs[at]);
            values.iter().any(|&value| differs(value))
        });
        match (is_idle, changed) {
            (true, None) => self.idle += 1,
            (false, Some(at)) => {
                self.live += 1;
                self.first.insert(option.to_owned(), at);
            }
            (true, Some(at)) => self.wrong.push(format!("{what}: {option} is called idle and changes network {at}")),
            (false, None) if is_excused => {}
            (false, None) => self.wrong.push(format!("{what}: {option} changes nothing, and nothing says so")),
        }
    }
}

fn is_called_idle(warnings: &[String], option: &str) -> bool {
    warnings.iter().any(|warning| warning.contains(&format!("tcp.{option}: has no effect")))
}
