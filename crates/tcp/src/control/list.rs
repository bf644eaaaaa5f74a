//! The list of controls. One line registers a control: its name in scenarios and its options, which build it.

use std::fmt::Debug;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_cc::ConfigError;

use super::bbr::BbrOptions;
use super::bbr3::Bbr3Options;
use super::copa::CopaOptions;
use super::cubic::CubicOptions;
use super::dctcp::DctcpOptions;
use super::ledbat::LedbatOptions;
use super::ledbat_plus_plus::LedbatPlusPlusOptions;
use super::leocc::LeoccOptions;
use super::parameters::{About, Parameter};
use super::prague::PragueOptions;
use super::reno::RenoOptions;
use super::satcp::SatcpOptions;
use super::vivace::VivaceOptions;
use super::{Control, EcnUse};

/// The options of a control. In a file each of them may be left out.
pub trait ControlOptions: Debug + Clone + PartialEq + Default {
    /// For the documentation.
    const ABOUT: About;

    /// A control at the start of a connection. `seed` decides what it draws by chance.
    fn build(&self, seed: u64) -> Box<dyn Control>;

    /// # Errors
    /// A value with which the control cannot work.
    fn check(&self) -> Result<(), ConfigError> {
        Ok(())
    }

    /// For the documentation.
    fn parameters() -> Vec<Parameter> {
        Vec::new()
    }
}

macro_rules! controls {
    ($($(#[doc = $about:literal])+ $name:literal: $variant:ident($options:ty);)+) => {
        /// A congestion control with its options, as in `{ cubic = { tcp_friendliness = "off" } }`.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[schemars(rename = "LinuxControl")]
        pub enum ControlKind { $($(#[doc = $about])+ #[serde(rename = $name)] $variant($options),)+ }

        /// A congestion control whose options have their defaults.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[schemars(rename = "LinuxControlName")]
        pub enum ControlName { $($(#[doc = $about])+ #[serde(rename = $name)] $variant,)+ }

        impl From<ControlName> for ControlKind {
            fn from(name: ControlName) -> ControlKind {
                match name { $(ControlName::$variant => ControlKind::$variant(Default::default()),)+ }
            }
        }

        impl ControlKind {
            /// The names of all controls.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// The control of this name with default options.
            pub fn named(name: &str) -> Option<ControlKind> {
                match name {
                    $($name => Some(ControlKind::$variant(Default::default())),)+
                    _ => None,
                }
            }

            pub fn name(&self) -> &'static str {
                match self { $(ControlKind::$variant(_) => $name,)+ }
            }

            /// Source, year, signal and advice.
            pub fn about(&self) -> About {
                match self { $(ControlKind::$variant(_) => <$options as ControlOptions>::ABOUT,)+ }
            }

            /// The parameters with their ranges and sources.
            pub fn parameters(&self) -> Vec<Parameter> {
                match self { $(ControlKind::$variant(_) => <$options as ControlOptions>::parameters(),)+ }
            }

            /// How the control uses ECN; the receiver's echo has to suit it.
            pub fn ecn(&self) -> EcnUse {
                self.build(0).ecn()
            }

            /// A control at the start of a connection. `seed` decides what it draws by chance.
            pub fn build(&self, seed: u64) -> Box<dyn Control> {
                match self { $(ControlKind::$variant(options) => options.build(seed),)+ }
            }

            /// # Errors
            /// A value with which the control cannot work.
            pub fn check(&self) -> Result<(), ConfigError> {
                match self { $(ControlKind::$variant(options) => options.check(),)+ }
            }
        }
    };
}

controls! {
    /// Reno (RFC 5681).
    "reno": Reno(RenoOptions);
    /// CUBIC (RFC 9438) with the kernel's arithmetic.
    "cubic": Cubic(CubicOptions);
    /// BBR version 1 (draft-cardwell-iccrg-bbr-00).
    "bbr": Bbr(BbrOptions);
    /// BBR version 3 (draft-ietf-ccwg-bbr).
    "bbr3": Bbr3(Bbr3Options);
    /// DCTCP (RFC 8257); asks for ECN by itself and for an exact echo of marks.
    "dctcp": Dctcp(DctcpOptions);
    /// Prague; asks for Accurate ECN (RFC 9768) by itself and sends ECT(1).
    "prague": Prague(PragueOptions);
    /// Copa (NSDI 2018).
    "copa": Copa(CopaOptions);
    /// LEDBAT (RFC 6817).
    "ledbat": Ledbat(LedbatOptions);
    /// LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus).
    "ledbat++": LedbatPlusPlus(LedbatPlusPlusOptions);
    /// CUBIC with hints of handovers (SaTCP, INFOCOM 2023).
    "satcp": Satcp(SatcpOptions);
    /// BBR that measures the path anew at handovers (LeoCC, SIGCOMM 2025).
    "leocc": Leocc(LeoccOptions);
    /// PCC Vivace (NSDI 2018).
    "vivace": Vivace(VivaceOptions);
}
