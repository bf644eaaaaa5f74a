//! Congestion controls from shared libraries, over the interface of `skyhop_cc.h`.
//!
//! This crate and `skyhop-picoquic` are the only ones with unsafe code. A plug-in is code of its own that runs with the
//! rights of the process, so that no check here can make a wrong one safe; what can be checked is: version and size of
//! its table, and every number that it gives.

#![deny(clippy::undocumented_unsafe_blocks, clippy::multiple_unsafe_ops_per_block)]

mod control;
mod library;

/// The interface. The file lies with the package in Python, from which plug-ins in Rust take it, too.
#[path = "../../../python/skyhop/include/skyhop_cc.rs"]
mod abi;

use control::Control;
use skyhop_cc::outside::{self, Maker};
use skyhop_cc::plugin::{Code, PluginConfig};
use skyhop_cc::{CongestionControl, Start};

struct Loader;

impl Maker<PluginConfig> for Loader {
    fn make(&self, config: &PluginConfig, start: Start) -> Box<dyn CongestionControl + Send> {
        let place = format!("{} of the {}", config.file, config.user);
        let table = match &config.code {
            Code::Read(bytes) => library::load(&config.file, &config.sha256, bytes),
            Code::Missing(why) => Err(format!("the file {why}")),
        };
        match table {
            Ok(table) => Box::new(Control::create(table, config, place, start)),
            Err(why) => {
                outside::fail(format!("{place}: {why}"));
                Box::new(Control::dead(place, start))
            }
        }
    }
}

/// From now on, this process loads controls from plug-ins.
pub fn install() {
    skyhop_cc::plugin::load_plugins_with(Box::new(Loader));
}
