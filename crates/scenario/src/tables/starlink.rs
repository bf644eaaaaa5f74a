//! Profiles of links: the known properties of an operator's links.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Bytes, Duration, Rate};

/// How links of an operator behave besides what is written, by name alone or with values.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum LinkProfileFile {
    Named(LinkProfileName),
    Options(Box<LinkProfileOptions>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LinkProfileName {
    /// Nothing but what is written.
    None,
    /// Starlink: slots of 15 s, at whose edges rate, delay and loss change.
    Starlink,
}

#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LinkProfileOptions {
    /// Starlink: slots of 15 s, at whose edges rate, delay and loss change.
    Starlink(StarlinkFile),
}

/// Each value stands for itself; zero turns it off. For a pair, each slot draws a value between both. A longer list
/// holds evenly spaced quantiles from the least value to the greatest: what is drawn falls into each gap equally often.
///
/// Large because it is one table of a scenario.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StarlinkFile {
    /// Whose values are the defaults. Without it: "up" for `forward` and `uplink`, "down" for `backward` and
    /// `downlink`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<StarlinkDirection>,
    /// Where the defaults come from. Without it: "published".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<StarlinkValues>,
    /// Length of a slot. Without it: 15 s.
    pub every: Option<Duration>,
    /// A slot begins so much after each full minute. Without it: 12 s.
    pub at: Option<Duration>,
    /// Rate of a slot. Without it: `rate`, or 10 to 70 Mbit/s up (recorded: 38 to 58), 10 to 370 Mbit/s down (loaded:
    /// quantiles within these ranges).
    #[schemars(length(min = 2, max = 1001))]
    pub rates: Option<Vec<Rate>>,
    /// Largest delay that a slot adds, or the quantiles of what it adds. Without it: 3.8 ms (recorded: 3 ms); links to
    /// satellites 0 ms, their geometry makes it.
    pub step: Option<UpToFile>,
    /// Largest delay that each interval of `jitter_every` adds, or its quantiles. Without it: 14.4 ms (recorded: 5 ms).
    pub jitter: Option<UpToFile>,
    /// Quantiles of the factor by which a slot's jitter is larger or smaller than others'. Without it: 1 for all
    /// (fitted, up: its own).
    #[schemars(length(min = 2, max = 1001))]
    pub spread: Option<Vec<f64>>,
    /// Without it: 20 ms.
    pub jitter_every: Option<Duration>,
    /// `jitter` of packets whose service begins within 5 ms after the end of the one before. Without it: `jitter`
    /// (loaded, up: 5 ms).
    pub busy_jitter: Option<UpToFile>,
    /// Quantiles of the factor by which the rate of each interval of `jitter_every` differs from its slot's. Without
    /// it: 1 for all (loaded, up: its own).
    #[schemars(length(min = 2, max = 1001))]
    pub ripple: Option<Vec<f64>>,
    /// Correlation of neighbouring slots in step and spread (of the normal numbers behind them). Without it: 0
    /// (loaded: 0.06, seattle-2023 and seoul-2026: 0.1, lagos-2023: 0.3).
    #[schemars(range(min = 0.0, max = 0.9))]
    pub correlation: Option<f64>,
    /// The same of their rates. 0.95 lets a rate hold for some five minutes. Without it: 0 (loaded and
    /// the sets over it: 0.06).
    #[schemars(range(min = 0.0, max = 0.95))]
    pub rate_correlation: Option<f64>,
    /// 24 factors of the rate, for the hours of a day from 0 to 1 h UTC on, or the name of a published curve; without
    /// an epoch t = 0 is midnight. A slot has that of its start. Without it: 1 for all.
    pub hours: Option<HoursFile>,
    /// Packets leave in grants only, as an uplink's do. Without it: at any time.
    pub grants: Option<GrantsFile>,
    /// What the link may carry beyond a rate, as a token bucket, or "none": all that its rates let pass. Without it:
    /// none (seoul-2026, up: its own).
    pub allowance: Option<AllowanceOrNone>,
    /// Delay added around an edge. Without it: 15 to 25 ms (recorded: 0 ms).
    #[schemars(length(min = 2, max = 1001))]
    pub spike: Option<Vec<Duration>>,
    /// An edge is felt from so much before it. Without it: 75 ms.
    pub before: Option<Duration>,
    /// An edge is felt until so much after it. Without it: 140 ms.
    pub after: Option<Duration>,
    /// Nothing is sent for so long after an edge; of a pair each edge draws. Without it: 0 s (recorded, up: 59 to 106
    /// ms).
    pub pause: Option<PauseFile>,
    /// Packets lost around an edge, as a share of those of one second: at most `before` and `after` in seconds. Without
    /// it: 0.005 to 0.06 (seoul-2026: 0).
    pub edge_loss: Option<[f64; 2]>,
    /// Probability that a packet is lost at other times, or the quantiles of it: each slot draws its own, in each
    /// direction by itself. Without it: 0.002 up (seoul-2026: 0.00055), 0.0001 down.
    pub loss: Option<LossFile>,
    /// Fades, which lose a share of the packets for a short time, at any time and in each direction by itself, or
    /// "none". Without it: none (seoul-2026-fades, up: its own).
    pub fades: Option<FadesOrNone>,
    /// How long something stands before the satellite in each slot, as quantiles: all packets are lost meanwhile, in
    /// both directions at once. Only on wires; a station has `obstructions`. Without it: never.
    #[schemars(length(min = 2, max = 1001))]
    pub obstructed: Option<Vec<Duration>>,
    /// Where in its slot the obstructed time lies. Only with `obstructed`. Without it: "anywhere".
    pub obstructed_at: Option<ObstructedAtName>,
    /// How long all packets are lost up to each edge, as quantiles, in both directions at once: what the old satellite
    /// was to carry does not arrive. Without it: never (seoul-2026: its own).
    #[schemars(length(min = 2, max = 1001))]
    pub outage: Option<Vec<Duration>>,
    /// Probability that the path changes once within a slot: the slot draws its step anew then, in both directions at
    /// once. Only on wires; on links to satellites geometry makes the path. Without it: 0
    /// (seattle-2023 and seoul-2026: 0.164, lagos-2023: 0.306).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub reroute: Option<f64>,
    /// Quantiles of the time from the start of a slot to its reroute. Without it: from 0 s to `every`, evenly
    /// (seattle-2023, lagos-2023 and seoul-2026: their own).
    #[schemars(length(min = 2, max = 1001))]
    pub reroute_at: Option<Vec<Duration>>,
    /// Probability that a slot begins with the path, and so the step, with which the one before ended. In both
    /// directions at once, and only on wires. Without it: 0 (lagos-2023: 0.308).
    #[schemars(range(min = 0.0, max = 0.95))]
    pub stay: Option<f64>,
    /// Probability that an edge, or a reroute, loses all packets in flight: those that arrive before a packet over the
    /// new path could, in both directions at once. Without it: 0 (lagos-2023: 0.31).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub in_flight_loss: Option<f64>,
}

/// Where in its slot an obstructed time lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ObstructedAtName {
    /// It begins at any time at which all of it fits into the slot: trees beside a road.
    #[default]
    Anywhere,
    /// It begins with the slot: no satellite serves after a handover that failed.
    Edge,
}

impl ObstructedAtName {
    fn is_anywhere(&self) -> bool {
        *self == ObstructedAtName::Anywhere
    }
}

/// Load by the hour.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum HoursFile {
    Named(HoursName),
    Factors(#[schemars(length(equal = 24))] Vec<f64>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HoursName {
    /// Median downloads of each hour over six months at Osnabrück and Enschede, without rain (WetLinks, TMA 2024). For
    /// the direction "down".
    Wetlinks,
}

/// Grants of an uplink: one in each period.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrantsFile {
    /// Length of a period. Without it: 4 ms, three frames.
    pub every: Option<Duration>,
    /// Length of a grant. Without it: 0.25 ms.
    pub length: Option<Duration>,
    /// Quantiles of the time from the start of a period to its grant. Without it: 0 to 2.75 ms, as recorded.
    #[schemars(length(min = 2, max = 1001))]
    pub shift: Option<Vec<Duration>>,
}

/// Fades, or their absence where the set of values has some.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum FadesOrNone {
    Named(NoneOfSet),
    Fades(FadesFile),
}

/// Fades begin independently of one another. A packet that arrives during one is lost with its probability.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FadesFile {
    /// Mean time from the start of a fade to the start of the next.
    pub every: Duration,
    /// Length of a fade, or the quantiles of it; none is longer than `every`.
    pub length: PauseFile,
    /// Probability that a packet is lost that arrives during a fade, or the quantiles of it: each fade draws its own.
    pub loss: LossFile,
}

/// A limit on volume, or its absence where the set of values has one.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum AllowanceOrNone {
    Named(NoneOfSet),
    Bucket(AllowanceFile),
}

/// The name for leaving out what a set of values has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoneOfSet {
    None,
}

/// A token bucket before the transmitter: each bit that is sent takes a token, and packets wait where there are none.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllowanceFile {
    /// At which tokens come: the long-run rate of a link that is always busy, below the rates of its slots.
    pub rate: Rate,
    /// As many tokens are kept at most.
    pub volume: Bytes,
    /// Share of the volume that is there at the start. Without it: 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub filled: Option<f64>,
    /// The whole volume is there again so long after the last time that it was restored, whatever was sent; a list
    /// holds the quantiles of these times, of at least 1 s. Without it: never, tokens come at `rate` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restored: Option<PauseFile>,
    /// When the volume is restored for the first time, from t = 0 on. Only with `restored`. Without it: drawn, as if
    /// t = 0 lay anywhere between two restorations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restored_at: Option<Duration>,
}

/// Every value of the token bucket.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Allowance {
    pub rate: Rate,
    pub volume: Bytes,
    pub filled: f64,
    /// None: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restored: Option<PauseFile>,
    /// None: drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restored_at: Option<Duration>,
}

/// Every value of the fades.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fades {
    pub every: Duration,
    pub length: PauseFile,
    pub loss: LossFile,
}

/// Every value of the grants.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Grants {
    pub every: Duration,
    pub length: Duration,
    pub shift: Vec<Duration>,
}

/// One length, or between which two each edge draws its own.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum PauseFile {
    Same(Duration),
    Drawn(#[schemars(length(min = 2, max = 1001))] Vec<Duration>),
}

impl PauseFile {
    /// Quantiles from the shortest to the longest.
    pub fn quantiles(&self) -> Vec<Duration> {
        match self {
            PauseFile::Same(pause) => vec![*pause],
            PauseFile::Drawn(quantiles) => quantiles.clone(),
        }
    }
}

/// One probability for all slots, or the quantiles from which each slot draws its own.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum LossFile {
    Same(#[schemars(range(min = 0.0, max = 1.0))] f64),
    Drawn(#[schemars(length(min = 2, max = 1001), inner(range(min = 0.0, max = 1.0)))] Vec<f64>),
}

impl LossFile {
    /// Quantiles from the least to the greatest.
    pub fn quantiles(&self) -> Vec<f64> {
        match self {
            LossFile::Same(loss) => vec![*loss],
            LossFile::Drawn(quantiles) => quantiles.clone(),
        }
    }

    /// The greatest that a slot can draw.
    pub fn greatest(&self) -> f64 {
        match self {
            LossFile::Same(loss) => *loss,
            LossFile::Drawn(quantiles) => quantiles.last().copied().unwrap_or_default(),
        }
    }

    /// As one probability where all slots have the same.
    pub fn in_few_words(self) -> LossFile {
        match &self {
            LossFile::Drawn(quantiles) if quantiles.windows(2).all(|pair| pair[0] == pair[1]) => {
                quantiles.first().map_or(LossFile::Same(0.0), |&loss| LossFile::Same(loss))
            }
            _ => self,
        }
    }
}

/// The largest of delays that are drawn evenly from zero on, or the quantiles of a distribution.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum UpToFile {
    Largest(Duration),
    Quantiles(#[schemars(length(min = 2, max = 1001))] Vec<Duration>),
}

impl UpToFile {
    pub fn quantiles(&self) -> Vec<Duration> {
        match self {
            UpToFile::Largest(most) => vec![Duration::ZERO, *most],
            UpToFile::Quantiles(quantiles) => quantiles.clone(),
        }
    }
}

/// See `docs/models/starlink.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StarlinkValues {
    /// What articles and measurements state.
    Published,
    /// What one recorded uplink of 120 s shows (SpaceNetLab/LeoCC); what it does not show is as published.
    Recorded,
    /// What `skyhop fit starlink` finds in a recording of Seattle; rates are as recorded, the rest is as published.
    Fitted,
    /// As fitted, and what published transfers and a recorded uplink tell of a loaded link: rates, their change within
    /// a slot, jitter of packets that follow one another, losses around edges.
    Loaded,
    /// As loaded, with a better fit to the same round trips: a bent pipe in Seattle, September 2023.
    #[serde(rename = "seattle-2023")]
    Seattle2023,
    /// As loaded, with a fit to round trips over ISLs to the gateway in Lagos, September 2023.
    #[serde(rename = "lagos-2023")]
    Lagos2023,
    /// As seattle-2023, with what uploads over a dish in Seoul show, April 2026: rates, a limit on volume, losses,
    /// pauses and shorter delays; the uplink's queue is CoDel.
    #[serde(rename = "seoul-2026")]
    Seoul2026,
    /// As seoul-2026, with other losses of the uplink: fades at any time and no outages before edges.
    #[serde(rename = "seoul-2026-fades")]
    Seoul2026Fades,
    /// As seoul-2026-fades, with what another dish shows, March and April 2026: delays of two fifths, a limit on volume
    /// that is restored, fair queueing of the uplink's flows (FQ-CoDel), and a short queue and lower rates down.
    #[serde(rename = "sydney-2026")]
    Sydney2026,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StarlinkDirection {
    /// From the terminal.
    Up,
    /// To the terminal.
    Down,
}

/// How links of an operator behave.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkProfile {
    Starlink(Starlink),
}

/// Every value of the profile, as [`StarlinkFile`](crate::format::StarlinkFile) has them. Large because it is that
/// table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Starlink {
    pub every: Duration,
    pub at: Duration,
    pub rates: Vec<Rate>,
    pub step: UpToFile,
    pub jitter: UpToFile,
    /// Empty: the same jitter in all slots.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spread: Vec<f64>,
    pub jitter_every: Duration,
    /// None: as `jitter`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy_jitter: Option<UpToFile>,
    /// Empty: the rate of the slot throughout.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ripple: Vec<f64>,
    /// Zero: steps and spreads of slots are independent.
    #[serde(skip_serializing_if = "is_zero")]
    pub correlation: f64,
    /// Zero: rates of slots are independent.
    #[serde(skip_serializing_if = "is_zero")]
    pub rate_correlation: f64,
    /// Empty: the same rates at all hours.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hours: Vec<f64>,
    /// None: packets leave at any time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grants: Option<Grants>,
    /// None: the rates of slots are all that limits the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowance: Option<Allowance>,
    pub spike: Vec<Duration>,
    pub before: Duration,
    pub after: Duration,
    pub pause: PauseFile,
    pub edge_loss: [f64; 2],
    pub loss: LossFile,
    /// None: no fades.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fades: Option<Fades>,
    /// Empty: never.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub obstructed: Vec<Duration>,
    #[serde(skip_serializing_if = "ObstructedAtName::is_anywhere")]
    pub obstructed_at: ObstructedAtName,
    /// Empty: never.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outage: Vec<Duration>,
    /// Zero: a slot has one path.
    #[serde(skip_serializing_if = "is_zero")]
    pub reroute: f64,
    /// Empty without `reroute`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reroute_at: Vec<Duration>,
    /// Zero: each slot has a path of its own.
    #[serde(skip_serializing_if = "is_zero")]
    pub stay: f64,
    /// Zero: packets in flight at an edge arrive.
    #[serde(skip_serializing_if = "is_zero")]
    pub in_flight_loss: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(value: &f64) -> bool {
    *value == 0.0
}
