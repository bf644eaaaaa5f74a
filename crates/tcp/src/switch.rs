//! Switches in files: "on" or "off". In the code they are truth values.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A behaviour that is there or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "OnOff")]
pub enum Switch {
    /// It is there.
    On,
    /// It is not.
    Off,
}

impl Switch {
    pub fn of(is_on: bool) -> Switch {
        if is_on { Switch::On } else { Switch::Off }
    }

    pub fn is_on(self) -> bool {
        self == Switch::On
    }
}

/// For `#[serde(with = "…")]`.
pub fn serialize<S: Serializer>(is_on: &bool, serializer: S) -> Result<S::Ok, S::Error> {
    Switch::of(*is_on).serialize(serializer)
}

/// For `#[serde(with = "…")]`.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Switch::deserialize(deserializer).map(Switch::is_on)
}
