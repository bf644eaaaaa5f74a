//! Every discipline by name: one list.

use crate::cake::{Cake, CakeConfig};
use crate::codel::{CodelConfig, CodelQueue};
use crate::drr::{Drr, DrrConfig};
use crate::dualpi2::{DualPi2, DualPi2Config};
use crate::fifo::{Fifo, FifoConfig};
use crate::fq::{Fq, FqConfig};
use crate::fq_codel::{FqCodel, FqCodelConfig};
use crate::fq_pie::{FqPie, FqPieConfig};
use crate::pie::{PieConfig, PieQueue};
use crate::prio::{Prio, PrioConfig};
use crate::red::{Red, RedConfig};
use crate::sfq::{Sfq, SfqConfig};
use crate::tbf::{Tbf, TbfConfig};
use crate::{ConfigError, Discipline};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::Time;

macro_rules! disciplines {
    ($( $(#[$meta:meta])+ $variant:ident($config:ty) => |$parameters:ident, $now:ident| $make:expr ),+ $(,)?) => {
        /// A queue discipline with its parameters.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum QueueSpec {
            $( $(#[$meta])+ $variant($config), )+
        }

        impl QueueSpec {
            /// The first parameter that cannot be.
            pub fn check(&self) -> Result<(), ConfigError> {
                match self {
                    $( QueueSpec::$variant(config) => config.check(), )+
                }
            }

            /// The discipline, empty, created at `now`: its timers count from there.
            pub fn build(&self, now: Time) -> Result<Box<dyn Discipline>, ConfigError> {
                self.check()?;
                Ok(match self {
                    $( QueueSpec::$variant($parameters) => { let $now = now; let _ = $now; Box::new($make) } )+
                })
            }
        }
    };
}

disciplines! {
    /// First in, first out; what finds no room is dropped.
    DropTail(FifoConfig) => |config, now| Fifo::new(*config),
    /// CoDel, RFC 8289.
    Codel(CodelConfig) => |config, now| CodelQueue::new(config),
    /// FQ-CoDel, RFC 8290.
    FqCodel(FqCodelConfig) => |config, now| FqCodel::new(config.clone()),
    /// PIE, RFC 8033.
    Pie(PieConfig) => |config, now| PieQueue::new(config, now),
    /// FQ-PIE.
    FqPie(FqPieConfig) => |config, now| FqPie::new(config, now),
    /// DualPI2, RFC 9332.
    #[serde(rename = "dualpi2")]
    DualPi2(DualPi2Config) => |config, now| DualPi2::new(config.clone(), now),
    /// RED.
    Red(RedConfig) => |config, now| Red::new(config, now)?,
    /// Token bucket filter.
    Tbf(TbfConfig) => |config, now| Tbf::new(config, now),
    /// Stochastic fairness queueing.
    Sfq(SfqConfig) => |config, now| Sfq::new(config, now)?,
    /// Deficit round robin.
    Drr(DrrConfig) => |config, now| Drr::new(config),
    /// Strict priorities.
    Prio(PrioConfig) => |config, now| Prio::new(config),
    /// Fair queueing with pacing.
    Fq(FqConfig) => |config, now| Fq::new(config.clone()),
    /// CAKE.
    Cake(CakeConfig) => |config, now| Cake::new(config.clone()),
}
