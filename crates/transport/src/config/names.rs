//! Names that expand to the parts of a transport.

use super::choices::Recovery;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_cc::Bundle;

macro_rules! names {
    ($($variant:ident $name:literal: $recovery:ident, $control:literal, $agent:ident;)+) => {
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

// Name, recovery, control, and the agent of ns-2 that is meant by it.
names! {
    Tahoe "tahoe": Tahoe, "reno", Ns2;
    Reno "reno": Reno, "reno", Ns2;
    NewReno "newreno": NewReno, "reno", Ns2;
    Sack "sack": Sack, "reno", Ns2;
    Fack "fack": Fack, "reno", Ns2;
    Vegas "vegas": Vegas, "vegas", Ns2Vegas;
    Yam "yam": Yam, "yam", Ns2;
    Peach "peach": Peach, "peach", Ns2;
    PeachPlus "peach+": PeachPlus, "peach", Ns2;
    Bic "bic": Sack, "bic", Ns2Linux;
    Cubic "cubic": Sack, "cubic", Ns2Linux;
    Westwood "westwood": Sack, "westwood", Ns2Linux;
    WestwoodPlus "westwood+": Sack, "westwood+", Ns2Linux;
    Hybla "hybla": Sack, "hybla", Ns2Linux;
    Veno "veno": Sack, "veno", Ns2Linux;
    Htcp "htcp": Sack, "htcp", Ns2Linux;
    Highspeed "highspeed": Sack, "highspeed", Ns2Linux;
    Scalable "scalable": Sack, "scalable", Ns2Linux;
    Illinois "illinois": Sack, "illinois", Ns2Linux;
    Yeah "yeah": Sack, "yeah", Ns2Linux;
    Compound "compound": Sack, "compound", Ns2Linux;
    Lp "lp": Sack, "lp", Ns2Linux;
    NaiveReno "naive_reno": Sack, "naive_reno", Ns2Linux;
    Tibet "tibet": NewReno, "tibet", Ns2;
    Fast "fast": NewReno, "fast", Ns2;
}
