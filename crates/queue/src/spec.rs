//! Every discipline by name, made of the list in `lib.rs`. Those that need values of their own stand apart.

use crate::{ConfigError, Discipline};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::Time;

/// The parameters of a discipline, as a scenario writes them.
pub trait Parameters {
    /// The first parameter that cannot be.
    fn check(&self) -> Result<(), ConfigError>;

    /// The discipline, empty, created at `now`: its timers count from there. The parameters have been checked.
    fn build(&self, now: Time) -> Result<Box<dyn Discipline>, ConfigError>;

    /// Whether the discipline treats packets by their class.
    fn sees_classes(&self) -> bool {
        false
    }

    /// Whether the discipline marks packets that can carry an ECN mark.
    fn marks(&self) -> bool {
        false
    }

    /// The parameters that decide nothing beside the others. `can_mark` says whether any packet can carry an ECN mark:
    /// of a discipline that marks none anyway it must make no difference.
    fn unread(&self, _can_mark: bool) -> Vec<&'static str> {
        Vec::new()
    }
}

macro_rules! disciplines {
    (
        by_name { $( $(#[$meta:meta])+ $variant:ident($module:ident::$config:ident) ),+ $(,)? }
        with_values { $( $(#[$meta2:meta])+ $variant2:ident($module2:ident::$config2:ident) ),+ $(,)? }
    ) => {
        /// A queue discipline with its parameters.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum QueueSpec {
            $( $(#[$meta])+ $variant(crate::$module::$config), )+
            $( $(#[$meta2])+ $variant2(crate::$module2::$config2), )+
        }

        /// A queue discipline that needs no parameters, by its name alone.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum DisciplineName {
            $( $(#[$meta])+ $variant, )+
        }

        impl From<DisciplineName> for QueueSpec {
            fn from(name: DisciplineName) -> QueueSpec {
                match name {
                    $( DisciplineName::$variant => QueueSpec::$variant(Default::default()), )+
                }
            }
        }

        impl QueueSpec {
            fn parameters(&self) -> &dyn Parameters {
                match self {
                    $( QueueSpec::$variant(parameters) => parameters, )+
                    $( QueueSpec::$variant2(parameters) => parameters, )+
                }
            }
        }
    };
}

for_each_discipline!(disciplines);

impl QueueSpec {
    /// The first parameter that cannot be.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.parameters().check()
    }

    /// The discipline, empty, created at `now`: its timers count from there.
    pub fn build(&self, now: Time) -> Result<Box<dyn Discipline>, ConfigError> {
        self.check()?;
        self.parameters().build(now)
    }

    /// Whether it treats packets by their class.
    pub fn sees_classes(&self) -> bool {
        self.parameters().sees_classes()
    }

    /// Whether it marks packets that can carry an ECN mark.
    pub fn marks(&self) -> bool {
        self.parameters().marks()
    }

    /// The parameters that decide nothing beside the others. `can_mark` says whether any packet can carry an ECN mark.
    pub fn unread(&self, can_mark: bool) -> Vec<&'static str> {
        self.parameters().unread(can_mark)
    }
}
