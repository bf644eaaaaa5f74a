//! Applications: where the data of a flow comes from. One trait, one file for each application, one list.
//!
//! `docs/howto/add-an-application.md` shows how to add one.

mod call;
mod constant_rate;
mod contract;
mod files;
mod ftp;
mod messages;
mod on_off;
mod pareto_on_off;
mod poisson;
mod requests;
mod telnet;
mod video;

pub use call::{CallOptions, CodecChoice, CodecName, CodecValues, PlayoutChoice};
pub use constant_rate::{ConstantRateOptions, SpacingName};
pub use contract::{
    ApplicationModel, Carrier, FlowOfSource, Gaps, Source, Transfers, check_packet_size, check_positive, packet_bytes,
};
pub use files::FilesOptions;
pub use ftp::FtpOptions;
pub use messages::MessagesOptions;
pub use on_off::OnOffOptions;
pub use pareto_on_off::ParetoOnOffOptions;
pub use poisson::PoissonOptions;
pub use requests::RequestsOptions;
pub use telnet::TelnetOptions;
pub use video::{ChoiceName, REQUEST, VideoOptions};

use crate::call::CallConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Duration, Faults};

macro_rules! applications {
    ($($(#[doc = $doc:literal])+ $key:literal: $variant:ident($options:ty);)+) => {
        /// An application with its options.
        #[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
        pub enum ApplicationConfig {
            $($(#[doc = $doc])+ #[serde(rename = $key)] $variant($options),)+
        }

        $(impl From<$options> for ApplicationConfig {
            fn from(options: $options) -> ApplicationConfig {
                ApplicationConfig::$variant(options)
            }
        })+

        /// Calls what the options inside have.
        macro_rules! forward {
            ($self:ident, $inner:ident => $call:expr) => {
                match $self { $(ApplicationConfig::$variant($inner) => $call,)+ }
            };
        }

        impl ApplicationConfig {
            /// The keys of all applications, with the transports that each goes over.
            pub const ALL: &'static [(&'static str, Carrier)] =
                &[$(($key, <$options as ApplicationModel>::CARRIER)),+];

            /// The key under which a scenario has it.
            pub fn key(&self) -> &'static str {
                match self { $(ApplicationConfig::$variant(_) => $key,)+ }
            }

            /// The transports that it goes over.
            pub fn carrier(&self) -> Carrier {
                match self { $(ApplicationConfig::$variant(_) => <$options as ApplicationModel>::CARRIER,)+ }
            }
        }
    };
}

// One line registers an application: the key in scenario files, with its documentation in the schema, and its options.
applications! {
    /// Always has data to send.
    "ftp": Ftp(FtpOptions);
    /// Equal portions in equal times.
    "constant_rate": ConstantRate(ConstantRateOptions);
    /// Equal portions at random, independent instants; the rate is the mean.
    "poisson": Poisson(PoissonOptions);
    /// A user who types.
    "telnet": Telnet(TelnetOptions);
    /// A constant rate for a random time, then silence for a random time.
    "on_off": OnOff(OnOffOptions);
    /// A constant rate for a heavy-tailed time, then silence for a heavy-tailed time.
    "pareto_on_off": ParetoOnOff(ParetoOnOffOptions);
    /// One direction of a call: voice over RTP, rated by the E-model; needs UDP, or QUIC with datagrams.
    "call": Call(CallOptions);
    /// Messages by the clock, each with a deadline.
    "messages": Messages(MessagesOptions);
    /// Adaptive video; needs TCP or QUIC.
    "video": Video(VideoOptions);
    /// Files one after another; needs TCP.
    "files": Files(FilesOptions);
    /// The node `to` asks, the node `from` answers; needs TCP.
    "requests": Requests(RequestsOptions);
}

impl ApplicationConfig {
    /// See [`ApplicationModel::check`].
    pub fn check(&self, faults: &mut Faults) {
        forward!(self, options => options.check(faults));
    }

    /// See [`ApplicationModel::tidy`].
    pub fn tidy(&mut self) {
        forward!(self, options => options.tidy());
    }

    /// See [`ApplicationModel::source`].
    pub fn source(&self, flow: &FlowOfSource<'_>) -> Source {
        forward!(self, options => options.source(flow))
    }

    /// See [`ApplicationModel::payload_bytes`].
    pub fn payload_bytes(&self) -> Option<u32> {
        forward!(self, options => options.payload_bytes())
    }

    /// See [`ApplicationModel::request_bytes`].
    pub fn request_bytes(&self) -> Option<u32> {
        forward!(self, options => options.request_bytes())
    }

    /// See [`ApplicationModel::has_end`].
    pub fn has_end(&self) -> bool {
        forward!(self, options => options.has_end())
    }

    /// See [`ApplicationModel::deadline`].
    pub fn deadline(&self) -> Option<Duration> {
        forward!(self, options => options.deadline())
    }

    /// See [`ApplicationModel::call`].
    pub fn call(&self) -> Option<CallConfig> {
        forward!(self, options => options.call())
    }
}

#[cfg(test)]
mod tests;
