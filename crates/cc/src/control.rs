//! What the list of controls in `lib.rs` makes of each: its variant of [`Control`] (static dispatch), its configuration
//! in scenario files, its row in the documentation and its instance of every shared test.

use crate::*;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use skyhop_base::Rate;
use std::borrow::Cow;
use std::fmt;

/// The key of a control that is written in Python.
const PYTHON: &str = "python";

/// The key of a control that a shared library has.
const PLUGIN: &str = "plugin";

macro_rules! controls {
    ($($name:literal: $variant:ident, $config:ident, $spec:ident, $recovery:ident, $agent:ident;)+) => {
        /// A congestion control with static dispatch; `Boxed` is the way in for one from outside. Each stands in a
        /// place of its own: the largest is six times as large as Reno, and every sender would have room for it.
        #[derive(Debug)]
        pub enum Control {
            $($variant(Box<$variant>),)+
            Boxed(Box<dyn CongestionControl + Send>),
        }

        /// Forwards to whichever control is inside.
        macro_rules! forward {
            ($self:ident, $control:ident => $call:expr) => {
                match $self {
                    $(Control::$variant($control) => $call,)+
                    Control::Boxed($control) => $call,
                }
            };
        }

        /// A control with every parameter filled.
        #[derive(Clone, Debug, PartialEq, Serialize)]
        pub enum ControlConfig {
            $(#[serde(rename = $name)] $variant($config),)+
            /// One from outside, which is not among the names.
            #[serde(rename = "python")]
            Python(PythonConfig),
            #[serde(rename = "plugin")]
            Plugin(PluginConfig),
        }

        /// A control as a scenario names it: `"bic"`, or `{ bic = { beta = 0.8 } }`.
        #[derive(Clone, Debug, PartialEq)]
        pub enum ControlSpec {
            $($variant($spec),)+
            Python(PythonSpec),
            Plugin(PluginSpec),
        }

        impl ControlSpec {
            /// The names of all controls.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// The control of that name with nothing said about its parameters.
            pub fn named(name: &str) -> Result<ControlSpec, ConfigError> {
                match name {
                    $($name => Ok(ControlSpec::$variant(Default::default())),)+
                    _ => Err(ConfigError::UnknownName {
                        what: "congestion control",
                        name: name.to_owned(),
                        valid: Self::NAMES.to_vec(),
                    }),
                }
            }

            pub fn name(&self) -> &'static str {
                match self {
                    $(ControlSpec::$variant(_) => $name,)+
                    ControlSpec::Python(_) => PYTHON,
                    ControlSpec::Plugin(_) => PLUGIN,
                }
            }

            /// Fills what was left out from the bundle and checks every value.
            pub fn resolve(&self, bundle: Bundle) -> Result<ControlConfig, ConfigError> {
                match self {
                    $(ControlSpec::$variant(spec) => {
                        let config = spec.resolve(bundle);
                        config.check()?;
                        Ok(ControlConfig::$variant(config))
                    })+
                    ControlSpec::Python(spec) => Ok(ControlConfig::Python(spec.resolve())),
                    ControlSpec::Plugin(spec) => Ok(ControlConfig::Plugin(spec.resolve())),
                }
            }
        }

        impl ControlConfig {
            pub fn name(&self) -> &'static str {
                match self {
                    $(ControlConfig::$variant(_) => $name,)+
                    ControlConfig::Python(_) => PYTHON,
                    ControlConfig::Plugin(_) => PLUGIN,
                }
            }

            /// Whether its code is outside of the project, so that nothing is known about it.
            pub fn is_outside(&self) -> bool {
                matches!(self, ControlConfig::Python(_) | ControlConfig::Plugin(_))
            }

            /// A control at the start of a connection.
            pub fn start(&self, start: Start) -> Control {
                match self {
                    $(ControlConfig::$variant(config) =>
                        Control::$variant(Box::new($variant::new(config.clone(), start))),)+
                    ControlConfig::Python(config) => Control::Boxed(config.start(start)),
                    ControlConfig::Plugin(config) => Control::Boxed(config.start(start)),
                }
            }

            /// Every control's name with its options, for the documentation.
            pub fn rows() -> Vec<(&'static str, Vec<OptionRow>)> {
                vec![$(($name, $config::rows())),+]
            }
        }

        impl ControlSpec {
            fn from_table<'de, A: MapAccess<'de>>(name: &str, map: &mut A) -> Result<ControlSpec, A::Error> {
                match name {
                    $($name => Ok(ControlSpec::$variant(map.next_value()?)),)+
                    PYTHON => Ok(ControlSpec::Python(map.next_value()?)),
                    PLUGIN => Ok(ControlSpec::Plugin(map.next_value()?)),
                    _ => Err(de::Error::unknown_variant(name, Self::NAMES)),
                }
            }
        }

        impl JsonSchema for ControlSpec {
            fn schema_name() -> Cow<'static, str> {
                "Control".into()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "description": "Congestion control: its name, or a table with its name and parameters",
                    "anyOf": [
                        { "type": "string", "enum": Self::NAMES },
                        $({
                            "type": "object",
                            "properties": { $name: generator.subschema_for::<$spec>() },
                            "required": [$name],
                            "additionalProperties": false,
                        },)+
                        {
                            "type": "object",
                            "properties": { "python": generator.subschema_for::<PythonSpec>() },
                            "required": [PYTHON],
                            "additionalProperties": false,
                        },
                        {
                            "type": "object",
                            "properties": { "plugin": generator.subschema_for::<PluginSpec>() },
                            "required": [PLUGIN],
                            "additionalProperties": false,
                        },
                    ],
                })
            }
        }
    };
}

for_each_control!(controls);

impl Control {
    /// [`CongestionControl::on_ack`] for a control that needs nothing of the sample but these two. `false`: this one
    /// needs more, and nothing has happened.
    #[inline]
    pub fn on_growth(&mut self, newly_acked: Segments, growth: Growth) -> bool {
        match self {
            Control::Reno(reno) => reno.on_growth(newly_acked, growth),
            _ => return false,
        }
        true
    }
}

impl CongestionControl for Control {
    #[inline]
    fn on_sent(&mut self, sample: &SentSample) {
        forward!(self, c => c.on_sent(sample))
    }
    #[inline]
    fn on_ack(&mut self, sample: &AckSample) {
        forward!(self, c => c.on_ack(sample))
    }
    fn on_measured(&mut self, sample: &AckSample) {
        forward!(self, c => c.on_measured(sample))
    }
    fn on_lost(&mut self, sample: &LossSample) {
        forward!(self, c => c.on_lost(sample))
    }
    fn on_congestion(&mut self, event: &CongestionEvent) {
        forward!(self, c => c.on_congestion(event))
    }
    fn on_recovered(&mut self) {
        forward!(self, c => c.on_recovered())
    }
    fn on_probe_acked(&mut self) {
        forward!(self, c => c.on_probe_acked())
    }
    fn on_path_hint(&mut self, hint: &PathHint) {
        forward!(self, c => c.on_path_hint(hint))
    }
    fn hears_of_handovers(&self) -> bool {
        forward!(self, c => c.hears_of_handovers())
    }
    fn set_cwnd(&mut self, cwnd: Segments) {
        forward!(self, c => c.set_cwnd(cwnd))
    }
    #[inline]
    fn cwnd(&self) -> Segments {
        forward!(self, c => c.cwnd())
    }
    fn recovery_floor(&self) -> Segments {
        forward!(self, c => c.recovery_floor())
    }
    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        forward!(self, c => c.pacing_rate())
    }
    fn state(&self) -> CcState {
        forward!(self, c => c.state())
    }
}

impl<'de> Deserialize<'de> for ControlSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ControlSpec, D::Error> {
        struct NameOrTable;

        impl<'de> Visitor<'de> for NameOrTable {
            type Value = ControlSpec;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a congestion control, or a table with one name and its parameters")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<ControlSpec, E> {
                ControlSpec::named(name).map_err(|_| E::unknown_variant(name, ControlSpec::NAMES))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ControlSpec, A::Error> {
                let Some(name) = map.next_key::<String>()? else {
                    return Err(de::Error::custom("a control table has one key, the name of the control"));
                };
                let spec = ControlSpec::from_table(&name, &mut map)?;
                match map.next_key::<String>()? {
                    None => Ok(spec),
                    Some(second) => Err(de::Error::custom(format!(
                        "a control table has one key, the name of the control; found \"{name}\" and \"{second}\""
                    ))),
                }
            }
        }

        deserializer.deserialize_any(NameOrTable)
    }
}
