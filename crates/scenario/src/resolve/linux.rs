//! TCP of a flow: the profile says whose it is.

use super::Resolver;
use crate::format::{
    LinuxControlFile, LinuxName, LinuxOptions, LinuxSpec, LinuxTable, ProfileName, name_of_other_profile,
};
use crate::scenario::{Linux, Transport};
use crate::tree::{Node, Path};
use skyhop_base::{Bytes, Duration};
use skyhop_cc::{Bundle, ConfigError};
use skyhop_tcp::control::{ControlKind, ControlName};
use skyhop_transport::TcpSpec;

/// The largest MSS whose packets have at most 65535 bytes, and the kernel's least (TCP_MIN_MSS).
const MSS: [u64; 2] = [88, 65_535 - 40];
/// Bytes of memory of a buffer: the kernel's least (SOCK_MIN_RCVBUF), and what its counters of 32 bits hold.
const BUFFER: [u64; 2] = [2304, 1 << 30];
/// As of Skyhop's own TCP: the segments of a first window leave in one event.
const LARGEST_BURST: u32 = 100_000;

impl Resolver<'_, '_, '_> {
    /// The TCP of the flow or workload at `path`, and what else is asked of it: nodes that split the connection, random
    /// times.
    pub(super) fn tcp(&mut self, via: &[String], jitter: Option<Duration>, path: &Path) -> Option<Transport> {
        let tcp = path.key("tcp");
        if !self.knows_name(&tcp) {
            return None;
        }
        match ProfileName::of_tcp(self.tree, &tcp).own() {
            Some(profile) => match self.take::<TcpSpec>(&tcp)?.resolve(profile) {
                Ok(mut config) => {
                    self.read_code(&mut config.control, path)?;
                    Some(Transport::Tcp(Box::new(config)))
                }
                Err(error) => {
                    self.add_config_error(&error, &tcp);
                    None
                }
            },
            None => {
                self.refuse_what_needs_own_tcp(via, jitter, path);
                let LinuxSpec(table) = self.take(&tcp)?;
                match linux(table) {
                    Ok(linux) => Some(Transport::Linux(Box::new(linux))),
                    Err(error) => {
                        self.add_config_error(&error, &tcp);
                        None
                    }
                }
            }
        }
    }

    /// A name that only the other kind of TCP has is answered with where it stands.
    fn knows_name(&mut self, tcp: &Path) -> bool {
        let Some(node) = self.tree.find(tcp) else { return true };
        let (name, place) = match (node.text(), node.get("name").and_then(Node::text)) {
            (Some(name), _) => (name, tcp.clone()),
            (None, Some(name)) => (name, tcp.key("name")),
            (None, None) => return true,
        };
        let Some((message, help)) = name_of_other_profile(name, self.tree, tcp) else { return true };
        self.add(&place, message, Some(help));
        false
    }

    /// What asks Skyhop's own TCP for something that other hosts do not do.
    fn refuse_what_needs_own_tcp(&mut self, via: &[String], jitter: Option<Duration>, path: &Path) {
        let help = || Some("write profile = \"rfc\" at the top, or tcp = { profile = \"rfc\", ... }".to_owned());
        if !via.is_empty() {
            let message = "a split connection needs Skyhop's own TCP, and this is that of Linux";
            self.add(&path.key("via"), message, help());
        }
        if jitter.is_some_and(|jitter| !jitter.is_zero()) {
            let message = "random times before sending need Skyhop's own TCP, and this is that of Linux";
            self.add(&path.key("jitter"), message, help());
        }
    }
}

/// Every value filled and checked.
fn linux(table: LinuxTable) -> Result<Linux, ConfigError> {
    let control = match (table.name, &table.control) {
        (None, None) => ControlName::Cubic.into(),
        (Some(name), None) => name.into(),
        (_, Some(LinuxControlFile::Named(name))) => ControlKind::from(*name),
        (_, Some(LinuxControlFile::Options(control))) => ControlKind::clone(control),
    };
    if let Some(name) = table.name.map(|name| ControlKind::from(name).name()).filter(|name| *name != control.name()) {
        let (wanted, found) = (name.to_owned(), control.name().to_owned());
        return Err(ConfigError::Contradiction { name, option: "control", wanted, found });
    }
    control.check()?;
    let (receive_memory, autotuning) = (table.receive_memory, table.autotuning);
    let options = table.resolve(Bundle::Rfc);
    check(&options, table.receive_buffer)?;
    if table.receive_buffer.is_some() {
        // The canonical form gives every option, so values that change nothing may stand beside the buffer.
        let usual = LinuxTable::default().resolve(Bundle::Rfc);
        let sized = receive_memory.is_some_and(|memory| memory != usual.receive_memory);
        let tuned = autotuning.is_some_and(|switch| switch != usual.autotuning);
        for (option, given) in [("receive_memory", sized), ("autotuning", tuned)] {
            if given {
                return Err(ConfigError::out_of_range(option, "given", "receive_buffer takes its place: keep one"));
            }
        }
    }
    Ok(Linux { profile: LinuxName::Linux, control, receive_buffer: table.receive_buffer, options })
}

fn check(options: &LinuxOptions, receive_buffer: Option<Bytes>) -> Result<(), ConfigError> {
    let bytes = |option, Bytes(value): Bytes, [least, most]: [u64; 2], reason| {
        ConfigError::within(option, value as f64, least as f64..=most as f64, reason)
    };
    bytes("mss", options.mss, MSS, "88 to 65495 bytes")?;
    bytes(
        "send_buffer",
        options.send_buffer,
        [options.mss.0.max(BUFFER[0]), BUFFER[1]],
        "a segment, at least 2304 B, to 1 GiB",
    )?;
    if let Some(buffer) = receive_buffer {
        bytes("receive_buffer", buffer, BUFFER, "2304 B to 1 GiB")?;
    }
    for memory in options.receive_memory {
        bytes("receive_memory", memory, BUFFER, "2304 B to 1 GiB each")?;
    }
    if !options.receive_memory.is_sorted() {
        return Err(ConfigError::out_of_range("receive_memory", "this", "least, first and largest have to rise"));
    }
    for (option, value, least, most, reason) in [
        ("initial_window", options.initial_window, 1, LARGEST_BURST, "1 to 100000 segments, for they leave at once"),
        ("reordering", options.reordering, 1, 127, "1 to 127 segments"),
        ("max_reordering", options.max_reordering, 1, 127_000, "1 to 127000 segments"),
        ("min_burst", options.min_burst, 1, 44, "1 to 44 segments: what 64 KiB hold"),
        ("burst_rtt_log", options.burst_rtt_log, 0, 31, "0 to 31"),
        ("burst_divisor", options.burst_divisor, 0, 1000, "0 to 1000"),
        ("compressed_acks", options.compressed_acks, 0, 255, "0 to 255 ACKs"),
        ("syn_linear_timeouts", options.syn_linear_timeouts, 0, 127, "0 to 127 SYNs"),
    ] {
        ConfigError::within(option, value.into(), least.into()..=most.into(), reason)?;
    }
    for ratio in options.pacing_ratios {
        ConfigError::within("pacing_ratios", ratio.into(), 1.0..=1000.0, "1 to 1000 percent")?;
    }
    let (least, most) = (Duration::from_millis(1), Duration::from_secs(120));
    for (option, value) in
        [("initial_rto", options.initial_rto), ("min_rto", options.min_rto), ("max_rto", options.max_rto)]
    {
        if value < least || value > most {
            return Err(ConfigError::out_of_range(option, value, "1 ms to 120 s"));
        }
    }
    if options.min_rto > options.max_rto {
        return Err(ConfigError::out_of_range("min_rto", options.min_rto, "it must not be above max_rto"));
    }
    for (option, value) in
        [("compression_delay", options.compression_delay), ("compression_slack", options.compression_slack)]
    {
        if value > Duration::from_secs(1) {
            return Err(ConfigError::out_of_range(option, value, "at most 1 s"));
        }
    }
    Ok(())
}
