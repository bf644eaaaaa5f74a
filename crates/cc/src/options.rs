//! Options with one declaration: field, sentence, and the value in each bundle.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A named bundle of option values, as a scenario writes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "OwnProfile")]
pub enum Profile {
    /// The text of the standards.
    #[default]
    #[serde(rename = "rfc")]
    Rfc,
    /// What the agents of ns-2 2.35 do, the network of the papers.
    #[serde(rename = "ns-2")]
    Ns2,
}

/// A profile, and within ns-2 the agent whose behaviour is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bundle {
    Rfc,
    /// Agent/TCP and its Reno, Newreno, Sack1 and Fack.
    Ns2,
    /// Agent/TCP/Vegas.
    Ns2Vegas,
    /// Agent/TCP/Linux, which runs the modules of Linux 2.6.22.
    Ns2Linux,
}

/// One option in the documentation.
#[derive(Clone, Copy, Debug)]
pub struct OptionRow {
    pub name: &'static str,
    pub sentence: &'static str,
}

/// Declares a configuration and its twin in scenario files from one list.
///
/// Each field has a sentence, its value under `rfc` and, where it differs, under `ns2`, and for two agents of
/// ns-2 under `vegas` and `linux` (without one, that of `ns2`; without that, that of `rfc`). Made are the
/// configuration with every value filled, the twin in which every field is optional (unknown ones rejected,
/// JSON Schema), `Config::of(bundle)`, `Spec::resolve(bundle)` and `Config::rows()`. A `room` is a table within the
/// table, whose options another list declares; `also` adds keys that only the file has. An option that came later names
/// with `unwritten_if` the test for the value that was there before it: that value is not written out, so that the
/// scenarios of before keep their hashes.
#[macro_export]
macro_rules! options {
    (
        $(#[doc = $about:expr])+
        pub struct $config:ident, $spec:ident {
            $(
                $(#[doc = $doc:expr])+
                $field:ident: $ty:ty = $rfc:expr
                    $(; ns2 = $ns2:expr)? $(; vegas = $vegas:expr)? $(; linux = $linux:expr)?
                    $(; unwritten_if = $unwritten:literal)?,
            )+
        }
        $(room {
            $(#[doc = $room_doc:expr])+
            $room:ident: $room_config:ident, $room_spec:ident
        })?
        $(also {
            $( $(#[doc = $also_doc:expr])+ $also:ident: $also_ty:ty, )+
        })?
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq, $crate::reexport::serde::Serialize)]
        #[serde(crate = "skyhop_cc::reexport::serde")]
        pub struct $config {
            $( $(#[doc = $doc])+ $(#[serde(skip_serializing_if = $unwritten)])? pub $field: $ty, )+
            $( $(#[doc = $room_doc])+ pub $room: $room_config, )?
        }

        $(#[doc = $about])+
        ///
        /// As a scenario writes it; an absent key takes the profile's value.
        #[derive(Clone, Debug, Default, PartialEq,
            $crate::reexport::serde::Deserialize, $crate::reexport::schemars::JsonSchema)]
        #[serde(default, deny_unknown_fields, crate = "skyhop_cc::reexport::serde")]
        #[schemars(crate = "skyhop_cc::reexport::schemars")]
        pub struct $spec {
            $($( $(#[doc = $also_doc])+ pub $also: Option<$also_ty>, )+)?
            $( $(#[doc = $doc])+ pub $field: Option<$ty>, )+
            $( $(#[doc = $room_doc])+ pub $room: Option<$room_spec>, )?
        }

        impl $config {
            /// The values of a bundle.
            pub fn of(bundle: $crate::Bundle) -> $config {
                $config {
                    $( $field: match bundle {
                        $crate::Bundle::Rfc => $rfc,
                        $crate::Bundle::Ns2 => $crate::first_given!([$($ns2)?] [$rfc]),
                        $crate::Bundle::Ns2Vegas => $crate::first_given!([$($vegas)?] [$($ns2)?] [$rfc]),
                        $crate::Bundle::Ns2Linux => $crate::first_given!([$($linux)?] [$($ns2)?] [$rfc]),
                    }, )+
                    $( $room: $room_config::of(bundle), )?
                }
            }

            /// Name and sentence of every option, for the documentation.
            pub fn rows() -> Vec<$crate::OptionRow> {
                vec![$( $crate::OptionRow {
                    name: stringify!($field),
                    sentence: concat!($($doc),+),
                } ),+]
            }
        }

        impl $spec {
            /// The given values over those of a bundle.
            pub fn resolve(&self, bundle: $crate::Bundle) -> $config {
                let defaults = $config::of(bundle);
                $config {
                    $( $field: self.$field.clone().unwrap_or(defaults.$field), )+
                    $( $room: self.$room.as_ref().map_or(defaults.$room, |given| given.resolve(bundle)), )?
                }
            }
        }
    };
}

/// The first expression that was given.
#[doc(hidden)]
#[macro_export]
macro_rules! first_given {
    ([] $($rest:tt)+) => { $crate::first_given!($($rest)+) };
    ([$given:expr] $($rest:tt)*) => { $given };
}
