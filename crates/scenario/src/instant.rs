//! Instants of the calendar in a scenario.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use skyhop_orbit::Utc;
use std::borrow::Cow;

/// UTC as ISO 8601 writes it: "2025-10-07T12:00:00Z".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instant(pub Utc);

impl<'de> Deserialize<'de> for Instant {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Instant, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        text.parse().map(Instant).map_err(serde::de::Error::custom)
    }
}

impl Serialize for Instant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl JsonSchema for Instant {
    fn schema_name() -> Cow<'static, str> {
        "Instant".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "format": "instant",
            "description": "An instant of UTC in ISO 8601: a date, and a time of day if wanted",
            "examples": ["2025-10-07T12:00:00Z"],
        })
    }
}
