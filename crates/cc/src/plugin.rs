//! Controls from a shared library, as a scenario names them. The crate `skyhop-plugin` loads and calls them.

use crate::outside::Maker;
use crate::{CongestionControl, Start};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// A control from a shared library. The hash of the library is part of it, so that the same scenario is never run with
/// another control.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PluginConfig {
    /// The library, as the scenario names it.
    pub file: String,
    /// SHA-256 of the library, in hexadecimal.
    pub sha256: String,
    /// Numbers for the control, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, f64>,
    /// The content of the library: the bytes that were hashed, and that run.
    #[serde(skip)]
    pub code: Code,
    /// Whose control it is, for messages: "flow \"f\"".
    #[serde(skip)]
    pub user: String,
}

/// The content of a library, or why it could not be read.
#[derive(Clone, PartialEq)]
pub enum Code {
    Read(Arc<[u8]>),
    /// The scenario states the hash, so that it can be looked at without the library, but not run.
    Missing(String),
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Code::Read(bytes) => write!(f, "{} bytes", bytes.len()),
            Code::Missing(why) => write!(f, "missing: {why}"),
        }
    }
}

/// A control from a shared library as a scenario names it: the file, or a table with it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PluginSpec {
    pub file: String,
    /// Without it, that of the file.
    pub sha256: Option<String>,
    pub parameters: BTreeMap<String, f64>,
}

impl PluginSpec {
    /// The code, and the hash where the scenario does not state it, are left to whoever reads the file.
    pub fn resolve(&self) -> PluginConfig {
        PluginConfig {
            file: self.file.clone(),
            sha256: self.sha256.clone().unwrap_or_default(),
            parameters: self.parameters.clone(),
            code: Code::Missing("nobody has read it".to_owned()),
            user: String::new(),
        }
    }
}

impl PluginConfig {
    /// A control at the start of a connection.
    pub(crate) fn start(&self, start: Start) -> Box<dyn CongestionControl + Send> {
        let maker = MAKER.get().expect("a scenario with a plug-in is refused where nothing loads plug-ins");
        maker.make(self, start)
    }
}

impl<'de> Deserialize<'de> for PluginSpec {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<PluginSpec, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Table {
            file: String,
            sha256: Option<String>,
            #[serde(default)]
            parameters: BTreeMap<String, f64>,
        }

        struct FileOrTable;

        impl<'de> serde::de::Visitor<'de> for FileOrTable {
            type Value = PluginSpec;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the file of a shared library, or a table with `file`, `parameters` and `sha256`")
            }

            fn visit_str<E>(self, file: &str) -> Result<PluginSpec, E> {
                Ok(PluginSpec { file: file.to_owned(), ..PluginSpec::default() })
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<PluginSpec, A::Error> {
                let Table { file, sha256, parameters } =
                    Table::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
                Ok(PluginSpec { file, sha256, parameters })
            }
        }

        deserializer.deserialize_any(FileOrTable)
    }
}

impl JsonSchema for PluginSpec {
    fn schema_name() -> Cow<'static, str> {
        "PluginControl".into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A congestion control from a shared library: its file, from the folder of the scenario, or \
                a table with it. It runs with the rights of the program.",
            "anyOf": [
                { "type": "string" },
                {
                    "type": "object",
                    "properties": {
                        "file": { "type": "string", "description": "The library, such as \"libmycontrol.so\"." },
                        "sha256": {
                            "type": "string",
                            "description": "SHA-256 of the library, in hexadecimal. A library with another one is \
                                refused; without this key, that of the file becomes part of the scenario."
                        },
                        "parameters": {
                            "type": "object",
                            "description": "Numbers for the control, by name. The control must ask for each.",
                            "additionalProperties": { "type": "number" },
                        },
                    },
                    "required": ["file"],
                    "additionalProperties": false,
                },
            ],
        })
    }
}

static MAKER: OnceLock<Box<dyn Maker<PluginConfig>>> = OnceLock::new();

/// From now on, controls from plug-ins are made by `maker`. The first one stays.
pub fn load_plugins_with(maker: Box<dyn Maker<PluginConfig>>) {
    let _ = MAKER.set(maker);
}

/// Whether this process can load plug-ins.
pub fn loads_plugins() -> bool {
    MAKER.get().is_some()
}
