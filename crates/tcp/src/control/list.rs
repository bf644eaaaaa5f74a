//! What the list of controls in `mod.rs` makes of each: its name in scenarios and its options, which build it.

use std::fmt::Debug;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_cc::ConfigError;

use super::parameters::{About, Parameter};
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
    ($($(#[doc = $about:literal])+ $name:literal: $variant:ident($module:ident::$options:ident);)+) => {
        /// A congestion control with its options, as in `{ cubic = { tcp_friendliness = "off" } }`.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[schemars(rename = "LinuxControl")]
        pub enum ControlKind { $($(#[doc = $about])+ #[serde(rename = $name)] $variant(super::$module::$options),)+ }

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
                match self { $(ControlKind::$variant(_) => <super::$module::$options as ControlOptions>::ABOUT,)+ }
            }

            /// The parameters with their ranges and sources.
            pub fn parameters(&self) -> Vec<Parameter> {
                match self {
                    $(ControlKind::$variant(_) => <super::$module::$options as ControlOptions>::parameters(),)+
                }
            }

            /// How the control uses ECN; the receiver's echo has to suit it.
            pub fn ecn(&self) -> EcnUse {
                self.build(0).ecn()
            }

            /// Whether the control, and not the sender's options, decides on the least length of bursts.
            pub fn sizes_bursts(&self) -> bool {
                self.build(0).burst(&crate::flow::Flow::new(1448)) != super::Burst::Usual
            }

            /// The same of the pacing rate.
            pub fn sets_rate(&self) -> bool {
                let control = self.build(0);
                control.owns_window() || control.pacing_percent(&crate::flow::Flow::new(1448)).is_some()
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

for_each_control!(controls);
