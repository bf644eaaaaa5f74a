//! What a flow with the TCP of Linux keeps in memory before it starts.

#[path = "../../sim/tests/memory/support.rs"]
mod support;

use skyhop_hosts::linux::LinuxTcp;
use skyhop_sim::spec::TransportConfig;
use std::sync::Arc;
use support::each_idle;

#[test]
fn an_idle_flow_holds_at_most_three_kibibytes() {
    let each = each_idle(&TransportConfig::Hosts(Arc::new(LinuxTcp::default())));
    eprintln!("{each} B per idle flow");
    // Two hosts, an application and the flow's measures cannot be kept in less than the lower bound.
    assert!((500..=3 * 1024).contains(&each), "{each} B per idle flow");
}
