//! Controls whose code is not part of the project. Whoever can run such code installs a [`Maker`] before the first run;
//! a scenario with such a control is refused where nobody has.

use crate::{CongestionControl, Start};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// A control written in Python. Its source is part of it, so that the same scenario is never run with another control.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PythonConfig {
    /// "module:Class".
    pub class: String,
    /// The text of the module.
    pub source: String,
}

/// A control written in Python as a scenario names it: "module:Class", or a table with the text of the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PythonSpec {
    pub class: String,
    /// Without it, the file of that name beside the scenario has it.
    pub source: Option<String>,
}

impl PythonSpec {
    /// The source is empty where the scenario leaves it to a file.
    pub fn resolve(&self) -> PythonConfig {
        PythonConfig { class: self.class.clone(), source: self.source.clone().unwrap_or_default() }
    }
}

impl PythonConfig {
    /// The module and the class, if `class` names both: identifiers of Python, those of a module with dots between.
    pub fn parts(&self) -> Option<(&str, &str)> {
        let is_name = |name: &str| {
            let mut letters = name.chars();
            letters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
                && letters.all(|letter| letter.is_alphanumeric() || letter == '_')
        };
        let (module, class) = self.class.split_once(':')?;
        (module.split('.').all(is_name) && is_name(class)).then_some((module, class))
    }

    /// The file of the module, from the folder of the scenario.
    pub fn file(&self) -> Option<String> {
        Some(format!("{}.py", self.parts()?.0.replace('.', "/")))
    }

    /// A control at the start of a connection.
    pub(crate) fn start(&self, start: Start) -> Box<dyn CongestionControl + Send> {
        let maker = PYTHON.get().expect("a scenario with a control in Python is refused where nothing runs Python");
        maker.make(self, start)
    }
}

impl<'de> Deserialize<'de> for PythonSpec {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<PythonSpec, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Table {
            class: String,
            source: Option<String>,
        }

        struct NameOrTable;

        impl<'de> serde::de::Visitor<'de> for NameOrTable {
            type Value = PythonSpec;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"module:Class\", or a table with `class` and the `source` of the module")
            }

            fn visit_str<E>(self, class: &str) -> Result<PythonSpec, E> {
                Ok(PythonSpec { class: class.to_owned(), source: None })
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<PythonSpec, A::Error> {
                let table = Table::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
                Ok(PythonSpec { class: table.class, source: table.source })
            }
        }

        deserializer.deserialize_any(NameOrTable)
    }
}

impl JsonSchema for PythonSpec {
    fn schema_name() -> Cow<'static, str> {
        "PythonControl".into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A congestion control written in Python: \"module:Class\" of a file beside the scenario, \
                or a \
                table with the text of the module. It runs with the rights of the program.",
            "anyOf": [
                { "type": "string" },
                {
                    "type": "object",
                    "properties": {
                        "class": { "type": "string", "description": "\"module:Class\"." },
                        "source": {
                            "type": "string",
                            "description": "The text of the module. Without it, the module's file beside the scenario \
                                has it."
                        },
                    },
                    "required": ["class"],
                    "additionalProperties": false,
                },
            ],
        })
    }
}

/// Makes controls whose code is outside.
pub trait Maker<Config>: Send + Sync {
    /// A control at the start of a connection. A failure in it ends the run, for which the maker sees.
    fn make(&self, config: &Config, start: Start) -> Box<dyn CongestionControl + Send>;
}

static PYTHON: OnceLock<Box<dyn Maker<PythonConfig>>> = OnceLock::new();

/// From now on, controls in Python are made by `maker`. The first one stays.
pub fn run_python_with(maker: Box<dyn Maker<PythonConfig>>) {
    let _ = PYTHON.set(maker);
}

/// Whether this process can run controls in Python.
pub fn runs_python() -> bool {
    PYTHON.get().is_some()
}

/// Messages of controls that one run keeps; the others are counted.
const MOST_NOTES: usize = 100;

/// What the controls of a run have said.
#[derive(Debug, Default)]
pub struct Said {
    /// Why the run must end: the first failure.
    pub failure: Option<String>,
    notes: Vec<String>,
    notes_left_out: u64,
}

impl Said {
    /// The messages, a sentence each.
    pub fn notes(self) -> Vec<String> {
        let Said { mut notes, notes_left_out, .. } = self;
        if notes_left_out > 0 {
            notes.push(format!("{notes_left_out} further messages of plug-ins were left out"));
        }
        notes
    }
}

thread_local! {
    /// The run of this thread: what ends it, and what its controls have said.
    static RUN: RefCell<Option<(Arc<AtomicBool>, Said)>> = const { RefCell::new(None) };
}

/// Runs a simulation in this thread and collects what its controls say. A failure of one sets `stop`.
pub fn heard<T>(stop: Arc<AtomicBool>, run: impl FnOnce() -> T) -> (T, Said) {
    let before = RUN.replace(Some((stop, Said::default())));
    let result = run();
    let said = RUN.replace(before).map(|(_, said)| said).unwrap_or_default();
    (result, said)
}

/// A control failed: the run of this thread ends soon, with the first such reason.
pub fn fail(reason: String) {
    RUN.with_borrow_mut(|run| {
        if let Some((stop, said)) = run {
            said.failure.get_or_insert(reason);
            stop.store(true, Ordering::Relaxed);
        }
    });
}

/// A control has a message for whoever reads the results.
pub fn note(message: String) {
    RUN.with_borrow_mut(|run| match run {
        Some((_, said)) if said.notes.len() < MOST_NOTES => said.notes.push(message),
        Some((_, said)) => said.notes_left_out += 1,
        None => {}
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_hears_the_first_failure_and_a_hundred_messages() {
        let stop = Arc::new(AtomicBool::new(false));
        let ((), said) = heard(Arc::clone(&stop), || {
            (0..105).for_each(|number| note(format!("message {number}")));
            fail("the first".to_owned());
            fail("the second".to_owned());
        });
        assert!(stop.load(Ordering::Relaxed));
        assert_eq!(said.failure.as_deref(), Some("the first"));
        let notes = said.notes();
        assert_eq!((notes.len(), notes[99].as_str()), (101, "message 99"));
        assert_eq!(notes[100], "5 further messages of plug-ins were left out");
        // Outside of a run nobody listens.
        note("lost".to_owned());
        assert!(heard(stop, || ()).1.notes().is_empty());
    }

    #[test]
    fn a_class_is_a_module_and_a_name() {
        let config = |class: &str| PythonConfig { class: class.into(), source: "".into() };
        assert_eq!(config("own.mine:My_CC2").parts(), Some(("own.mine", "My_CC2")));
        assert_eq!(config("own.mine:My_CC2").file().as_deref(), Some("own/mine.py"));
        for wrong in ["", "mine", "mine:", ":Mine", "../mine:Mine", "a..b:C", "/etc/x:C", "mine:Mine()", "2:C", "a:b:c"]
        {
            assert_eq!(config(wrong).parts(), None, "{wrong}");
        }
    }
}
