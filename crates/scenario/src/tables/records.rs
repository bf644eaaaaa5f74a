//! Records that a run keeps besides its totals.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::Duration;

/// Records that a run keeps besides its totals.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordsFile {
    /// Step of the time series. Without it there are none.
    pub grid: Option<Duration>,
    /// Step of the positions of satellites. Without it there are none.
    pub positions: Option<Duration>,
    /// Links, as in "left->right", of which every packet is kept.
    pub packets: Option<Vec<String>>,
    /// Whether each portion that an application writes by the clock is followed until it can be read, in the table of
    /// transfers. Without it: false.
    pub updates: Option<bool>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Records {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grid: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub positions: Option<Duration>,
    pub packets: Vec<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub updates: bool,
}
