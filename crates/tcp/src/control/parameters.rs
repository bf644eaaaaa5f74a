//! Parameters of a control: one declaration gives the options in a scenario, the defaults, ranges, units and sources.

use crate::switch::Switch;

/// A control in the documentation.
#[derive(Clone, Copy, Debug)]
pub struct About {
    pub title: &'static str,
    pub source: &'static str,
    pub year: u16,
    /// The signal to which it reacts.
    pub kind: &'static str,
    /// When to use it over satellites.
    pub advice: &'static str,
}

/// A parameter in the documentation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    pub name: &'static str,
    pub sentence: &'static str,
    pub default: Written,
    /// Least and largest value; `None` for switches and names.
    pub range: Option<(f64, f64)>,
    /// Empty where it has none.
    pub unit: &'static str,
    pub source: &'static str,
}

/// A value as a scenario has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Written {
    Number(f64),
    Name(&'static str),
}

/// A type that a parameter may have.
pub trait Value: Copy {
    fn written(self) -> Written;
}

impl Value for f64 {
    fn written(self) -> Written {
        Written::Number(self)
    }
}

impl Value for u32 {
    fn written(self) -> Written {
        Written::Number(self.into())
    }
}

impl Value for Switch {
    fn written(self) -> Written {
        Written::Name(if self.is_on() { "on" } else { "off" })
    }
}

/// The range of a parameter, where it has one.
pub(crate) fn range_of(given: &[f64]) -> Option<(f64, f64)> {
    match *given {
        [least, most] => Some((least, most)),
        _ => None,
    }
}

/// An error unless a number lies within the range.
pub(crate) fn check(name: &'static str, value: Written, given: &[f64], words: &'static str) -> Result<(), ConfigError> {
    match (value, range_of(given)) {
        (Written::Number(value), Some((least, most))) => ConfigError::within(name, value, least..=most, words),
        _ => Ok(()),
    }
}

pub(crate) use skyhop_cc::ConfigError;

/// Declares the options of a control. Each has its sentence, type, default, range, unit and source; switches and names
/// need no range. The block at the end says how the control follows from options and seed.
macro_rules! parameters {
    (
        $(#[$about:meta])+
        pub struct $name:ident, $facts:expr, |$options:ident, $seed:pat_param| $build:expr => {
            $(
                #[doc = $doc:literal]
                $field:ident: $ty:ty = $default:expr $(, in $least:literal..=$most:literal)? $(, unit $unit:literal)?;
                $source:literal
            )*
        }
    ) => {
        $(#[$about])+
        #[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            $(
                #[doc = $doc]
                $(#[doc = concat!(" From ", $least, " to ", $most, ".")])?
                $(#[doc = concat!(" In ", $unit, ".")])?
                pub $field: $ty,
            )*
        }

        impl Default for $name {
            fn default() -> $name {
                $name { $( $field: $default, )* }
            }
        }

        impl $crate::control::ControlOptions for $name {
            const ABOUT: $crate::control::About = $facts;

            fn build(&self, $seed: u64) -> Box<dyn $crate::control::Control> {
                let $options = *self;
                Box::new($build)
            }

            fn check(&self) -> Result<(), $crate::control::parameters::ConfigError> {
                use $crate::control::parameters::{Value, check};
                $( check(
                    stringify!($field),
                    self.$field.written(),
                    &[$($least as f64, $most as f64)?],
                    concat!("" $(, $least, " to ", $most)? $(, " ", $unit)?),
                )?; )*
                Ok(())
            }

            fn parameters() -> Vec<$crate::control::Parameter> {
                use $crate::control::parameters::{Parameter, Value, range_of};
                let defaults = $name::default();
                vec![ $( Parameter {
                    name: stringify!($field),
                    sentence: $doc.trim_ascii(),
                    default: defaults.$field.written(),
                    range: range_of(&[$($least as f64, $most as f64)?]),
                    unit: concat!("" $(, $unit)?),
                    source: $source,
                } ),* ]
            }
        }
    };
}
pub(crate) use parameters;
