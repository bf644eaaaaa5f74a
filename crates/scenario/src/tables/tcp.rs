//! Profiles, and TCP as Linux runs it.

use crate::names;
use crate::tree::{Node, Path, Value};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use skyhop_base::{Bytes, Duration};
use skyhop_cc::Profile;
use skyhop_tcp::control::{ControlKind, ControlName};
use skyhop_tcp::sender::{EcnMode, Estimator, Validation};
use skyhop_transport::{Switch, TcpSpec};
use std::borrow::Cow;
use std::fmt;

/// A named bundle of defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Profile")]
pub enum ProfileName {
    /// The text of the standards.
    #[serde(rename = "rfc")]
    Rfc,
    /// What the agents of ns-2 2.35 do, the network of the papers.
    #[serde(rename = "ns-2")]
    Ns2,
    /// TCP as Linux 6.18 runs it; everything else as with "rfc".
    #[serde(rename = "linux")]
    Linux,
}

impl ProfileName {
    /// The profile of a file: the one that it names, else the default of the version of the format that it states.
    pub(crate) fn of_file(root: &Node) -> ProfileName {
        let named = root.get("profile").and_then(Node::text).and_then(ProfileName::named);
        named.unwrap_or_else(|| ProfileName::usual(root))
    }

    /// The default: files that state `format = 1` were written when it was "rfc".
    fn usual(root: &Node) -> ProfileName {
        match root.get("format").map(|node| &node.value) {
            Some(Value::Integer(1)) => ProfileName::Rfc,
            _ => ProfileName::Linux,
        }
    }

    /// The profile of the TCP at `path`: its own, or that of the file.
    pub(crate) fn of_tcp(root: &Node, path: &Path) -> ProfileName {
        let own = root.find(path).and_then(|tcp| tcp.get("profile")).and_then(Node::text);
        own.and_then(ProfileName::named).unwrap_or_else(|| ProfileName::of_file(root))
    }

    /// Whether every TCP of the file names its own profile.
    pub(crate) fn all_tcps_name_theirs(root: &Node) -> bool {
        let lists = ["flows", "workloads"].into_iter().filter_map(|key| root.get(key)?.list());
        let mut tcps = lists.flatten().filter_map(|flow| flow.get("tcp"));
        tcps.all(|tcp| tcp.get("profile").is_some())
    }

    fn named(name: &str) -> Option<ProfileName> {
        ProfileName::deserialize(de::value::StrDeserializer::<de::value::Error>::new(name)).ok()
    }

    /// As the file has it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            ProfileName::Rfc => "rfc",
            ProfileName::Ns2 => "ns-2",
            ProfileName::Linux => "linux",
        }
    }

    /// The profile of Skyhop's own TCP and of the network; `None` where TCP is another one.
    pub fn own(self) -> Option<Profile> {
        match self {
            ProfileName::Rfc => Some(Profile::Rfc),
            ProfileName::Ns2 => Some(Profile::Ns2),
            ProfileName::Linux => None,
        }
    }
}

/// The message and its help for the name of the TCP at `path` where only the other kind of TCP has it. `None` where the
/// profile has the name, or no profile does.
pub(crate) fn name_of_other_profile(name: &str, root: &Node, path: &Path) -> Option<(String, String)> {
    let profile = ProfileName::of_tcp(root, path);
    let (own, linux) = (TcpSpec::named(name).is_ok(), ControlKind::named(name).is_some());
    let other = match profile {
        ProfileName::Linux if own && !linux => ProfileName::Rfc,
        ProfileName::Rfc | ProfileName::Ns2 if linux && !own => ProfileName::Linux,
        _ => return None,
    };
    let is_given = root.get("profile").is_some() || root.find(path).is_some_and(|tcp| tcp.get("profile").is_some());
    let by_default = if is_given { "" } else { ", the default" };
    let (here, other) = (profile.name(), other.name());
    let message = format!("{name:?} is a TCP of profile = {other:?}, and the profile here is {here:?}{by_default}");
    let mut help = format!("write tcp = {{ profile = {other:?}, name = {name:?} }}");
    if !is_given {
        help += &format!(", or profile = {other:?} at the top for all flows");
    }
    if profile == ProfileName::Linux {
        help += &format!("; the TCP of Linux has {}", names::list(ControlKind::NAMES.iter().copied(), "and"));
    }
    Some((message, help))
}

/// The profile of a flow whose TCP is that of Linux.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum LinuxName {
    /// As Linux 6.18 runs it.
    #[default]
    #[serde(rename = "linux")]
    Linux,
}

/// Whose TCP it is, the profile decides: `resolve` reads it as a [`TcpSpec`] or as a [`LinuxSpec`].
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct TcpFile(serde_json::Value);

impl JsonSchema for TcpFile {
    fn schema_name() -> Cow<'static, str> {
        "AnyTcp".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A TCP: its name, or a table with its parts and options. The profile says whose it is",
            "anyOf": [generator.subschema_for::<TcpSpec>(), generator.subschema_for::<LinuxSpec>()],
        })
    }
}

/// The TCP of Linux: the name of its congestion control, or a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinuxSpec(pub LinuxTable);

impl<'de> Deserialize<'de> for LinuxSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LinuxSpec, D::Error> {
        struct NameOrTable;

        impl<'de> Visitor<'de> for NameOrTable {
            type Value = LinuxSpec;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a congestion control of Linux, or a table with options")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<LinuxSpec, E> {
                let name = ControlName::deserialize(de::value::StrDeserializer::<E>::new(name))?;
                Ok(LinuxSpec(LinuxTable { name: Some(name), ..LinuxTable::default() }))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<LinuxSpec, A::Error> {
                LinuxTable::deserialize(MapAccessDeserializer::new(map)).map(LinuxSpec)
            }
        }

        deserializer.deserialize_any(NameOrTable)
    }
}

impl JsonSchema for LinuxSpec {
    fn schema_name() -> Cow<'static, str> {
        "LinuxTcp".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The TCP of Linux: the name of its congestion control, or a table with options",
            "anyOf": [generator.subschema_for::<ControlName>(), generator.subschema_for::<LinuxTable>()],
        })
    }
}

/// A congestion control of Linux, by its name alone or with its options.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum LinuxControlFile {
    Named(ControlName),
    Options(Box<ControlKind>),
}

/// Whether packets leave evenly spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LinuxPacing {
    /// Where the congestion control asks for it: bbr does, reno and cubic do not.
    Control,
    /// Always, as with the `fq` queue on the host's device.
    Always,
}

fn is_on(switch: &Switch) -> bool {
    *switch == Switch::On
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// When timers of the hosts fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TimersName {
    /// When they are due.
    Exact,
    /// At jiffies of 4 ms, coarser further out, as the kernel's timer wheel. Each host draws the phase of its own.
    Jiffies,
}

skyhop_cc::options! {
    /// The TCP of Linux 6.18: `docs/models/linux-tcp.md` and `docs/models/linux-tcp-receiver.md`. A name in parentheses
    /// is the kernel's.
    pub struct LinuxOptions, LinuxTable {
        /// The largest segment that both hosts announce; timestamps take 12 bytes of it. Without it: 1460 B.
        mss: Bytes = Bytes(1460),
        /// Segments in the first window (RFC 6928). Without it: 10.
        initial_window: u32 = 10,
        /// Least, first and largest memory of a receive buffer that the kernel sizes (tcp_rmem). Without it: 4096 B,
        /// 131072 B and 33554432 B.
        receive_memory: [Bytes; 3] = [Bytes(4096), Bytes(131_072), Bytes(33_554_432)],
        /// Whether that buffer grows with the rate (tcp_moderate_rcvbuf). Without it: on.
        autotuning: Switch = Switch::On,
        /// User bytes that the application can write ahead of their acknowledgement (tcp_wmem, largest). Without it:
        /// 4194304 B.
        send_buffer: Bytes = Bytes(4_194_304),
        /// Explicit congestion notification (tcp_ecn). `dctcp` and `prague` ask for theirs without this key. Without
        /// it: off.
        ecn: EcnMode = EcnMode::Off,
        /// Timestamps (RFC 7323), and with them undo by timestamps. Without it: on.
        timestamps: Switch = Switch::On,
        /// Window scaling (RFC 7323). Without it: on.
        window_scaling: Switch = Switch::On,
        /// Selective acknowledgements (RFC 2018), and with them RACK (RFC 8985); off: NewReno (RFC 6582). Without it:
        /// on.
        sack: Switch = Switch::On,
        /// Reports of duplicates (RFC 2883); needs `sack`. Without it: on.
        dsack: Switch = Switch::On,
        /// Tail loss probes (RFC 8985 §7); need `sack`. Without it: on.
        tlp: Switch = Switch::On,
        /// Detection of needless timeouts (RFC 5682). Without it: on.
        frto: Switch = Switch::On,
        /// Whether reductions of the window that prove wrong are taken back. Without it: on.
        undo: Switch = Switch::On,
        /// Whether data that a duplicate ACK reports lets new data leave before a loss is proved (RFC 3042). The kernel
        /// has no switch for it. Without it: on.
        limited_transmit: Switch = Switch::On; unwritten_if = "is_on",
        /// Whether the window falls in proportion to deliveries (RFC 9937); off: to the threshold at once (RFC 6675).
        /// The kernel has no switch for it. Without it: on.
        prr: Switch = Switch::On; unwritten_if = "is_on",
        /// Whether losses are found by time (RFC 8985); off: by `reordering` SACKed segments above (RFC 6675 §4); needs
        /// `sack`. Linux 6.18 has no switch for it. Without it: on.
        rack: Switch = Switch::On; unwritten_if = "is_on",
        /// Whether RACK's reordering window grows with reports of duplicates (tcp_recovery); needs `sack`. Without it:
        /// on.
        rack_adapts: Switch = Switch::On,
        /// Whether RACK's reordering window is left out once the duplicate threshold is reached; needs `sack`. Without
        /// it: on.
        rack_duplicate_threshold: Switch = Switch::On,
        /// Duplicates that prove a loss before any reordering was seen (tcp_reordering). Without it: 3.
        reordering: u32 = 3,
        /// The most that reordering raises it to (tcp_max_reordering). Without it: 300.
        max_reordering: u32 = 300,
        /// Whether a small segment takes following ones along when it is sent again (tcp_retrans_collapse). Without it:
        /// on.
        join_small: Switch = Switch::On,
        /// Whether the window shrinks after idle time (tcp_slow_start_after_idle). Without it: on.
        slow_start_after_idle: Switch = Switch::On,
        /// How a window is judged that the application does not fill. The kernel has no switch for it. Without it:
        /// "linux".
        window_validation: Validation = Validation::Linux; unwritten_if = "is_default",
        /// Whether the window grows by the segments that an ACK acknowledges (RFC 3465); off: by one for each ACK (RFC
        /// 5681). The kernel has no switch for it. Without it: on.
        byte_counting: Switch = Switch::On; unwritten_if = "is_on",
        /// Whether samples of the delivery rate are marked where the application had nothing to send
        /// (draft-cheng-iccrg-delivery-rate-estimation §3.4). The kernel has no switch for it. Without it: on.
        app_limited_marks: Switch = Switch::On; unwritten_if = "is_on",
        /// Nagle's rule: one small segment in flight at most; off: TCP_NODELAY. Without it: on.
        nagle: Switch = Switch::On,
        /// Whether packets leave evenly spaced. Without it: "control".
        pacing: LinuxPacing = LinuxPacing::Control,
        /// The pacing rate over cwnd / srtt, in percent, in slow start and later; also sizes bursts. Without it: 200
        /// and 120.
        pacing_ratios: [u32; 2] = [200, 120],
        /// Least segments that the host hands over at once (tcp_min_tso_segs), but for bbr, which has a rule. Without
        /// it: 2.
        min_burst: u32 = 2,
        /// Bursts are larger on paths with a smallest RTT below 32 us times 2 to this power (tcp_tso_rtt_log); 0:
        /// never. Without it: 9.
        burst_rtt_log: u32 = 9,
        /// A burst waits to be whole while less than this part of the window is free (tcp_tso_win_divisor); 0: never.
        /// Without it: 3.
        burst_divisor: u32 = 3,
        /// Whether ACKs wait for a second segment, for 40 to 200 ms; off: each segment is acknowledged. Without it: on.
        delayed_ack: Switch = Switch::On,
        /// Whether ACKs wait for nothing at the beginning, after a pause of the sender and while the window grows;
        /// needs `delayed_ack`. The kernel has no switch for it. Without it: on.
        quick_acks: Switch = Switch::On; unwritten_if = "is_on",
        /// Most duplicate ACKs that one replaces (tcp_comp_sack_nr); 0: none waits. Without it: 44.
        compressed_acks: u32 = 44,
        /// How long such an ACK waits, or a twentieth of the RTT if that is shorter (tcp_comp_sack_delay_ns). Without
        /// it: 1 ms.
        compression_delay: Duration = Duration::from_millis(1),
        /// How much later it leaves than that (tcp_comp_sack_slack_ns). Without it: 100 us.
        compression_slack: Duration = Duration::from_micros(100),
        /// The timeout of a SYN. Without it: 1 s.
        initial_rto: Duration = Duration::from_secs(1),
        /// Repetitions of a SYN before its timeout doubles (tcp_syn_linear_timeouts). Without it: 4.
        syn_linear_timeouts: u32 = 4,
        /// How the retransmission timeout follows from the RTT. The kernel has no switch for it. Without it: "linux".
        rto_estimator: Estimator = Estimator::Linux; unwritten_if = "is_default",
        /// Smallest retransmission timeout beyond the smoothed RTT (tcp_rto_min_us). Without it: 200 ms.
        min_rto: Duration = Duration::from_millis(200),
        /// Largest retransmission timeout (tcp_rto_max_ms). Without it: 120 s.
        max_rto: Duration = Duration::from_secs(120),
        /// When timers of the hosts fire. Without it: "exact".
        timers: TimersName = TimersName::Exact,
    }
    also {
        /// Says that these are the options of Linux. Without it: the scenario's profile.
        profile: LinuxName,
        /// The congestion control by its name; a `control` beside it must have this name. Without it: that of
        /// `control`, else "cubic".
        name: ControlName,
        /// The congestion control, with options if wanted. Without it: that of the name.
        control: LinuxControlFile,
        /// A receive buffer of this size in place of one that the kernel sizes (SO_RCVBUF); about half of its memory is
        /// window. Without it: the kernel sizes it.
        receive_buffer: Bytes,
    }
}

/// The TCP of Linux. Written out it is the table of a flow's `tcp` again.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Linux {
    pub profile: LinuxName,
    pub control: ControlKind,
    /// In place of one that the kernel sizes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_buffer: Option<Bytes>,
    #[serde(flatten)]
    pub options: LinuxOptions,
}
