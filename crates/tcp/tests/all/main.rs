//! All tests of the crate in one binary, because each binary costs seconds of linking.

mod control_bbr3;
mod control_copa;
mod control_dctcp;
mod control_handover;
mod control_ledbat;
mod control_list;
mod control_prague;
mod control_start;
mod control_vivace;
mod receiver_rules;
mod reference_flows;
mod reference_receiver;
mod reference_sender;
mod reference_whole_flows;
mod rtt_jumps;
mod sender_options;
mod sender_random;
mod support;
