//! Files that a scenario names.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A file, by its path from the folder of the scenario, or what would stand in it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ContentFile {
    Path(String),
    Inline(InlineFile),
}

/// The content of a file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InlineFile {
    pub text: String,
}
