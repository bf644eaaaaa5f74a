//! Which stack, which congestion control, which windows: checked before a stack is built.

use skyhop_base::Duration;
use skyhop_cc::{ControlConfig, Spacing};
use std::fmt;
use std::str::FromStr;

/// A stack whose own code can run here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackKind {
    /// quinn-proto 0.11.19, the protocol of quinn 0.11.12.
    Quinn,
    /// noq-proto 1.4.0, the protocol of noq 1.4.0.
    Noq,
    /// picoquic 1.1.53.0 of 2026-10-08.
    Picoquic,
}

impl StackKind {
    pub const ALL: [StackKind; 3] = [StackKind::Quinn, StackKind::Noq, StackKind::Picoquic];

    pub fn name(self) -> &'static str {
        match self {
            StackKind::Quinn => "quinn",
            StackKind::Noq => "noq",
            StackKind::Picoquic => "picoquic",
        }
    }

    /// Whether this build has the stack.
    pub fn is_built(self) -> bool {
        match self {
            StackKind::Quinn => cfg!(feature = "quinn"),
            StackKind::Noq => cfg!(feature = "noq"),
            StackKind::Picoquic => cfg!(feature = "picoquic"),
        }
    }

    /// The congestion controls that the stack ships.
    pub fn controls(self) -> &'static [Control] {
        match self {
            StackKind::Quinn => &[Control::NewReno, Control::Cubic, Control::Bbr],
            StackKind::Noq => &[Control::NewReno, Control::Cubic, Control::Bbr3],
            StackKind::Picoquic => &[
                Control::NewReno,
                Control::Cubic,
                Control::DCubic,
                Control::Fast,
                Control::Bbr,
                Control::Bbr1,
                Control::Prague,
                Control::C4,
            ],
        }
    }
}

impl fmt::Display for StackKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for StackKind {
    type Err = ConfigError;

    fn from_str(name: &str) -> Result<Self, ConfigError> {
        let found = StackKind::ALL.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| ConfigError::UnknownStack(name.into()))
    }
}

/// A congestion control of the stack's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    NewReno,
    Cubic,
    /// quinn's BBR, after version 1; picoquic's, after version 3.
    Bbr,
    /// noq's BBR, version 3.
    Bbr3,
    /// picoquic's BBR, after version 1.
    Bbr1,
    /// picoquic's CUBIC that reacts to delay.
    DCubic,
    /// picoquic's FastCC, which reacts to delay.
    Fast,
    /// picoquic's Prague (L4S).
    Prague,
    /// picoquic's C4 (draft-huitema-ccwg-c4-design).
    C4,
}

impl Control {
    pub const ALL: [Control; 9] = [
        Control::NewReno,
        Control::Cubic,
        Control::Bbr,
        Control::Bbr3,
        Control::Bbr1,
        Control::DCubic,
        Control::Fast,
        Control::Prague,
        Control::C4,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Control::NewReno => "newreno",
            Control::Cubic => "cubic",
            Control::Bbr => "bbr",
            Control::Bbr3 => "bbr3",
            Control::Bbr1 => "bbr1",
            Control::DCubic => "dcubic",
            Control::Fast => "fast",
            Control::Prague => "prague",
            Control::C4 => "c4",
        }
    }

    /// Whether the control draws random numbers, so that two seeds differ without any loss.
    pub fn is_random(self) -> bool {
        matches!(self, Control::Bbr | Control::Bbr3)
    }
}

impl FromStr for Control {
    type Err = ConfigError;

    fn from_str(name: &str) -> Result<Self, ConfigError> {
        let found = Control::ALL.into_iter().find(|control| control.name() == name);
        found.ok_or_else(|| ConfigError::UnknownControl(name.into()))
    }
}

/// Who decides over the congestion window.
#[derive(Clone, Debug, PartialEq)]
pub enum Governor {
    /// The stack's own control.
    Stack(Control),
    /// A control of `skyhop-cc`, in the stack's own place for controls.
    Ours(ControlConfig),
}

impl From<Control> for Governor {
    fn from(control: Control) -> Governor {
        Governor::Stack(control)
    }
}

/// How a stack is set up. `None` leaves the stack's default, whatever that is.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    pub stack: StackKind,
    pub control: Governor,
    /// Credit for each stream that the peer may use, in bytes.
    pub stream_window: Option<u64>,
    /// Credit for all streams together, in bytes.
    pub connection_window: Option<u64>,
    /// Data that the sender keeps until it is acknowledged, in bytes.
    pub send_window: Option<u64>,
    pub initial_rtt: Option<Duration>,
    /// Bidirectional streams that the peer may have open at a time.
    pub streams: Option<u32>,
    /// Size of a full datagram without IP and UDP headers, in bytes. The stack does not look for larger ones.
    pub udp_payload: u16,
    /// Whether the host takes DATAGRAM frames (RFC 9221). quinn and noq take them by default, picoquic does not.
    pub datagrams: bool,
    /// The connection ends after this time without a packet.
    pub idle_timeout: Duration,
    /// Whether the stack may hand over several datagrams at once. Off: one by one.
    pub offload: bool,
    /// The congestion window at the start, in bytes.
    pub initial_window: Option<u64>,
    /// Whether packets are encrypted. Off: they have the same lengths, and their frames stand in them as they are; the
    /// handshake of TLS and the protection of headers stay. Both ends must agree.
    pub packet_protection: bool,
    /// How often the peer is asked to acknowledge (draft-ietf-quic-ack-frequency). `None`: it decides itself.
    pub ack_frequency: Option<AckFrequency>,
}

/// What a sender asks of the receiver's acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckFrequency {
    /// An acknowledgement for at least every so many packets that ask for one.
    pub packets: u32,
    /// The longest time until one of fewer packets. The stacks keep it within 25 ms, or one RTT where that is longer.
    pub max_delay: Option<Duration>,
}

impl Config {
    pub fn new(stack: StackKind, control: impl Into<Governor>) -> Config {
        Config {
            stack,
            control: control.into(),
            stream_window: None,
            connection_window: None,
            send_window: None,
            initial_rtt: None,
            streams: None,
            udp_payload: 1200,
            datagrams: false,
            idle_timeout: Duration::from_secs(300),
            offload: true,
            initial_window: None,
            packet_protection: true,
            ack_frequency: None,
        }
    }

    /// Says what the stacks would refuse, or take for something else.
    pub fn check(&self) -> Result<(), ConfigError> {
        // RFC 9000, section 16: a variable-length integer has 62 bits.
        const LARGEST: u64 = (1 << 62) - 1;
        if !self.stack.is_built() {
            return Err(ConfigError::NotBuilt(self.stack));
        }
        if self.stack == StackKind::Picoquic {
            self.check_picoquic()?;
        }
        match &self.control {
            Governor::Stack(control) if !self.stack.controls().contains(control) => {
                return Err(ConfigError::NotItsControl { stack: self.stack, control: control.name() });
            }
            // Dummy segments are its way to grow after a loss; without them it would be Reno under another name.
            Governor::Ours(ControlConfig::Peach(_)) => return Err(ConfigError::NoProbes),
            Governor::Ours(ControlConfig::Hybla(hybla))
                if hybla.spacing == Spacing::On && self.stack == StackKind::Quinn =>
            {
                return Err(ConfigError::NoSpacing);
            }
            Governor::Stack(_) | Governor::Ours(_) => {}
        }
        let windows = [("stream_window", self.stream_window), ("connection_window", self.connection_window)];
        let of_sender = [("send_window", self.send_window), ("initial_window", self.initial_window)];
        for (name, value) in windows.into_iter().chain(of_sender) {
            if value.is_some_and(|value| value == 0 || value > LARGEST) {
                return Err(ConfigError::Window { name, value: value.unwrap_or(0) });
            }
        }
        // RFC 9000, section 14: at least 1200 bytes; the largest UDP payload over IPv4 is 65 507.
        if !(1200..=65_507).contains(&self.udp_payload) {
            return Err(ConfigError::Payload(self.udp_payload));
        }
        if self.streams == Some(0) {
            return Err(ConfigError::Streams);
        }
        if self.ack_frequency.is_some_and(|frequency| frequency.packets == 0) {
            return Err(ConfigError::AckFrequency);
        }
        if self.initial_rtt.is_some_and(|rtt| rtt.is_zero()) {
            return Err(ConfigError::InitialRtt);
        }
        let milliseconds = self.idle_timeout.as_nanos() / 1_000_000;
        if milliseconds == 0 || milliseconds > LARGEST {
            return Err(ConfigError::IdleTimeout);
        }
        Ok(())
    }
}

impl Config {
    /// What picoquic has no place for.
    fn check_picoquic(&self) -> Result<(), ConfigError> {
        // PICOQUIC_MAX_PACKET_SIZE is 1536, headers of IP and UDP included.
        const LARGEST: u16 = 1536 - 28;
        if matches!(self.control, Governor::Ours(_)) {
            return Err(ConfigError::NoOurs);
        }
        if self.ack_frequency.is_some() {
            let why = "it asks the receiver by its own rule, from the rate and the RTT";
            return Err(ConfigError::NotPicoquics { option: "ack_every", why });
        }
        if self.initial_window.is_some() != self.initial_rtt.is_some() {
            return Err(ConfigError::HalfSeed);
        }
        if self.udp_payload > LARGEST {
            return Err(ConfigError::NotPicoquics { option: "payload", why: "a datagram carries 1508 bytes at most" });
        }
        Ok(())
    }
}

/// Why a stack cannot be set up so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    #[error("no QUIC stack is called \"{0}\"; there are \"quinn\", \"noq\" and \"picoquic\"")]
    UnknownStack(String),
    #[error(
        "no congestion control is called \"{0}\"; there are \"newreno\", \"cubic\", \"bbr\" (quinn, picoquic), \
         \"bbr3\" (noq), \"bbr1\", \"dcubic\", \"fast\", \"prague\" and \"c4\" (picoquic)"
    )]
    UnknownControl(String),
    #[error("this build has no {0}; build with `make build FEATURES={0}`")]
    NotBuilt(StackKind),
    #[error("{stack} has no congestion control \"{control}\"; it has {}", controls(*.stack))]
    NotItsControl { stack: StackKind, control: &'static str },
    #[error("\"peach\" sends dummy segments, which QUIC has not: use another control, or tcp")]
    NoProbes,
    #[error(
        "quinn paces by the window and takes no rate from a control: write {{ hybla = {{ spacing = \"off\" }} }}, or \
         stack = \"noq\""
    )]
    NoSpacing,
    #[error("picoquic runs its own congestion controls: write control = \"cubic\", or stack = \"quinn\" or \"noq\"")]
    NoOurs,
    #[error("picoquic does not take {option}: {why}")]
    NotPicoquics { option: &'static str, why: &'static str },
    #[error(
        "picoquic takes initial_window together with initial_rtt, as what an earlier connection has measured: give \
         both or neither"
    )]
    HalfSeed,
    #[error("{name} is {value} bytes; QUIC allows 1 to 2^62 - 1")]
    Window { name: &'static str, value: u64 },
    #[error("a full datagram carries {0} bytes; QUIC over IPv4 allows 1200 to 65507")]
    Payload(u16),
    #[error("the receiver acknowledges at least every packet: ack_every is 1 or more")]
    AckFrequency,
    #[error("the receiver allows no stream: max_streams is 1 or more")]
    Streams,
    #[error("the initial RTT is 0 s; the stack waits a multiple of it for its first answer")]
    InitialRtt,
    #[error("the idle timeout is out of range; QUIC allows 1 ms to 2^62 - 1 ms")]
    IdleTimeout,
    #[error("the stack refuses its configuration: {0}")]
    Refused(String),
}

fn controls(stack: StackKind) -> String {
    let names: Vec<String> = stack.controls().iter().map(|control| format!("\"{}\"", control.name())).collect();
    names.join(", ")
}
