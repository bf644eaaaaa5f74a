//! Every discipline by name: one list. Those that need values of their own stand apart.

use crate::cake::{Cake, CakeConfig, Tins};
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
    (
        by_name { $( $(#[$meta:meta])+ $variant:ident($config:ty) =>
            |$parameters:ident, $now:ident| $make:expr ),+ $(,)? }
        with_values { $( $(#[$meta2:meta])+ $variant2:ident($config2:ty) =>
            |$parameters2:ident, $now2:ident| $make2:expr ),+ $(,)? }
    ) => {
        /// A queue discipline with its parameters.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum QueueSpec {
            $( $(#[$meta])+ $variant($config), )+
            $( $(#[$meta2])+ $variant2($config2), )+
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
                    $( DisciplineName::$variant => QueueSpec::$variant(<$config>::default()), )+
                }
            }
        }

        impl QueueSpec {
            /// The first parameter that cannot be.
            pub fn check(&self) -> Result<(), ConfigError> {
                match self {
                    $( QueueSpec::$variant(config) => config.check(), )+
                    $( QueueSpec::$variant2(config) => config.check(), )+
                }
            }

            /// The discipline, empty, created at `now`: its timers count from there.
            pub fn build(&self, now: Time) -> Result<Box<dyn Discipline>, ConfigError> {
                self.check()?;
                Ok(match self {
                    $( QueueSpec::$variant($parameters) => { let $now = now; let _ = $now; Box::new($make) } )+
                    $( QueueSpec::$variant2($parameters2) => { let $now2 = now; let _ = $now2; Box::new($make2) } )+
                })
            }
        }
    };
}

disciplines! {
    by_name {
        /// CoDel: drops from the front when packets have waited too long (RFC 8289).
        Codel(CodelConfig) => |config, now| CodelQueue::new(config),
        /// FQ-CoDel: a queue with CoDel for each flow, in turn (RFC 8290).
        FqCodel(FqCodelConfig) => |config, now| FqCodel::new(config.clone()),
        /// PIE: drops arrivals at random, by the delay (RFC 8033).
        Pie(PieConfig) => |config, now| PieQueue::new(config, now),
        /// FQ-PIE: a queue with PIE for each flow, in turn.
        FqPie(FqPieConfig) => |config, now| FqPie::new(config, now),
        /// DualPI2: one queue for scalable flows, one for others, coupled (RFC 9332).
        #[serde(rename = "dualpi2")]
        DualPi2(DualPi2Config) => |config, now| DualPi2::new(config.clone(), now),
        /// RED as Linux's sch_red and tc have it, in bytes.
        #[serde(rename = "sch_red")]
        Red(RedConfig) => |config, now| Red::new(config, now)?,
        /// SFQ: a queue for each flow, in turn (McKenney 1990).
        Sfq(SfqConfig) => |config, now| Sfq::new(config, now)?,
        /// DRR: a queue for each class, in turn, weighted (Shreedhar and Varghese 1995).
        Drr(DrrConfig) => |config, now| Drr::new(config),
        /// Strict priorities.
        Prio(PrioConfig) => |config, now| Prio::new(config),
        /// FQ: fair queueing with pacing, Linux's sch_fq.
        Fq(FqConfig) => |config, now| Fq::new(config.clone()),
        /// CAKE: a shaper, classes of service and a queue for each flow.
        Cake(CakeConfig) => |config, now| Cake::new(config.clone()),
    }
    with_values {
        /// First in, first out, asked at each departure: `drop_tail` with its sojourns measured.
        #[serde(rename = "fifo")]
        DropTail(FifoConfig) => |config, now| Fifo::new(*config),
        /// Token bucket filter: a shaper before a queue bounded in bytes.
        Tbf(TbfConfig) => |config, now| Tbf::new(config, now),
    }
}

impl QueueSpec {
    /// Whether it treats packets by their class.
    pub fn sees_classes(&self) -> bool {
        match self {
            QueueSpec::Prio(_) | QueueSpec::Fq(_) => true,
            QueueSpec::Drr(config) => config.map.is_some(),
            QueueSpec::Cake(config) => config.tins != Tins::BestEffort,
            QueueSpec::Codel(config) => config.ce_threshold.is_some() && config.ce_threshold_mask != 0,
            QueueSpec::FqCodel(config) => config.ce_threshold.is_some() && config.ce_threshold_mask != 0,
            QueueSpec::DropTail(_)
            | QueueSpec::Pie(_)
            | QueueSpec::FqPie(_)
            | QueueSpec::DualPi2(_)
            | QueueSpec::Red(_)
            | QueueSpec::Sfq(_)
            | QueueSpec::Tbf(_) => false,
        }
    }
}
