//! Names that expand to the parts of a transport: some TCPs, and every control with the recovery that goes with it.

use super::choices::Recovery;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_cc::Bundle;

macro_rules! names {
    ($($name:literal: $variant:ident, $config:ident, $spec:ident, $recovery:ident, $agent:ident;)+) => {
        names! {
            @with
            // TCPs whose control has another name.
            Tahoe "tahoe": Tahoe, "reno", Ns2;
            NewReno "newreno": NewReno, "reno", Ns2;
            Sack "sack": Sack, "reno", Ns2;
            Fack "fack": Fack, "reno", Ns2;
            PeachPlus "peach+": PeachPlus, "peach", Ns2;
            $($variant $name: $recovery, $name, $agent;)+
        }
    };
    (@with $($variant:ident $name:literal: $recovery:ident, $control:literal, $agent:ident;)+) => {
        /// A name that expands to the parts of a transport.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        pub enum TcpName {
            $(#[serde(rename = $name)] $variant,)+
        }

        impl TcpName {
            /// All names.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            pub(super) fn find(name: &str) -> Option<TcpName> {
                match name {
                    $($name => Some(TcpName::$variant),)+
                    _ => None,
                }
            }

            pub(super) fn parts(self) -> (Recovery, &'static str, Bundle) {
                match self {
                    $(TcpName::$variant => (Recovery::$recovery, $control, Bundle::$agent),)+
                }
            }

            pub(super) fn text(self) -> &'static str {
                match self {
                    $(TcpName::$variant => $name,)+
                }
            }
        }
    };
}

skyhop_cc::for_each_control!(names);
