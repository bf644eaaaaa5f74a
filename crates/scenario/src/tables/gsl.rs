//! Links between ground stations and satellites, and handover.

use super::links::{Transmitter, TransmitterFile};
use super::queue::QueueFile;
use super::repair::RepairFile;
use super::starlink::LinkProfileFile;
use super::trace::TraceFile;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skyhop_base::{Angle, Bytes, Duration, Length, Rate};
use skyhop_sim::errors::ErrorConfig;

/// Links between ground stations and satellites. `uplink` and `downlink` say where the two directions differ.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GslFile {
    pub rate: Option<Rate>,
    pub queue: Option<QueueFile>,
    /// What happens to the packets that wait for a satellite that is left.
    pub on_down: Option<OnDownName>,
    /// Bytes added to each packet while it is sent.
    pub framing: Option<Bytes>,
    pub errors: Option<Vec<ErrorConfig>>,
    /// What the link does about its errors.
    pub repair: Option<RepairFile>,
    /// A recording that the transmitters of both directions follow, each for itself.
    pub trace: Option<TraceFile>,
    /// How links of an operator behave; concerns stations without a wired link. Not with a recording. `handover`
    /// follows the slots of the uplink, unless it says otherwise.
    pub profile: Option<LinkProfileFile>,
    /// From stations to satellites.
    pub uplink: Option<TransmitterFile>,
    /// From satellites to stations.
    pub downlink: Option<TransmitterFile>,
    /// A station uses satellites that stand higher than this above its horizon.
    pub elevation_mask: Option<Angle>,
    /// A station uses satellites that are at most so far away (slant range), besides `elevation_mask`. Without it: the
    /// mask alone decides.
    pub longest: Option<Length>,
    pub handover: Option<HandoverFile>,
    /// What happens to the link while a station changes its satellite. Without it: "make_before_break".
    pub switching: Option<SwitchingFile>,
    /// A satellite serves at most so many stations that have no wired link. Without it: any number.
    #[schemars(range(min = 1))]
    pub users_per_satellite: Option<u32>,
    /// Spot beams of every satellite: "iridium", or their rings. Without it: one beam.
    pub beams: Option<BeamsFile>,
    /// Which satellites stations without a wired link may take. Without it: "any".
    pub gateways: Option<GatewaysName>,
}

/// Spot beams, by name alone or with values.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum BeamsFile {
    Named(BeamsName),
    Options(BeamsOptions),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BeamsName {
    /// 48 beams in four rings.
    Iridium,
}

/// Rings of equal sectors around the point below the satellite; all beams cover the same area.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BeamsOptions {
    /// Beams of each ring, the innermost first.
    pub rings: Vec<u32>,
    /// Time between looks for the beam. Without it: 1 s.
    pub every: Option<Duration>,
    /// Time without a link at each change of beams. Without it: 0 s.
    pub outage: Option<Duration>,
}

/// A change of satellites, by name alone or with values.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum SwitchingFile {
    Named(SwitchingName),
    Options(SwitchingOptions),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SwitchingName {
    /// The new link is there when the old one ends.
    MakeBeforeBreak,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SwitchingOptions {
    /// The old link ends, and the new one comes up after the outage.
    BreakBeforeMake(OutageFile),
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutageFile {
    /// Time without a link.
    pub outage: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GatewaysName {
    /// Any in sight.
    Any,
    /// Only those that serve a gateway, a station with a wired link, at that moment.
    BentPipe,
}

/// When a station changes its satellite.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HandoverFile {
    pub policy: Option<HandoverPolicyName>,
    /// Time between checks.
    pub every: Option<Duration>,
    /// When a station checks its satellite. Without it: "regular".
    pub checks: Option<HandoverChecksFile>,
    /// The policy of gateways, stations with a wired link. Without it: `policy`, but "until-below-mask" where that is
    /// "random": a gateway that left its satellites by chance would break the paths of those whom they serve.
    pub gateways: Option<HandoverPolicyName>,
}

/// Times of checks, by name alone or with values.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum HandoverChecksFile {
    Named(HandoverChecksName),
    Options(HandoverChecksOptions),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HandoverChecksName {
    /// At t = 0 and after every interval.
    Regular,
    /// Each station by itself, after half to one and a half of the interval.
    Randomised,
    /// When the choice changes, to the microsecond.
    Exact,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HandoverChecksOptions {
    /// By the wall clock: slots of the interval.
    Slots(SlotsFile),
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlotsFile {
    /// A slot begins so much after each full minute. Without an epoch t = 0 is a full minute.
    pub at: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HandoverPolicyName {
    /// Keep the satellite until it is below the mask; then the one that follows it in its plane, or else the
    /// highest: what ns-2 does.
    UntilBelowMask,
    /// The nearest at each check.
    Nearest,
    /// The highest above the horizon at each check.
    HighestElevation,
    /// The one that stays visible longest.
    LongestVisibility,
    /// At each check one of those in sight by chance.
    Random,
}

/// What happens to the packets of a satellite link that goes away. Packets that already propagate arrive in every case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnDownName {
    /// Queued packets are lost at once.
    Drop,
    /// Queued packets are sent to the old peer and lost there.
    SendInVain,
    /// Queued packets wait for the link, or go to the new peer.
    Hold,
    /// Queued packets are routed afresh from the node where they wait.
    Reroute,
    /// Queued packets still cross to the old peer.
    Drain,
}

/// Links between satellites and the ground.
#[derive(Clone, Debug, Serialize)]
pub struct Gsl {
    pub on_down: OnDownName,
    pub uplink: Transmitter,
    pub downlink: Transmitter,
    pub elevation_mask: Angle,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest: Option<Length>,
    pub handover: Handover,
    pub switching: SwitchingFile,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users_per_satellite: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beams: Option<BeamsOptions>,
    pub gateways: GatewaysName,
}

#[derive(Clone, Debug, Serialize)]
pub struct Handover {
    pub policy: HandoverPolicyName,
    pub every: Duration,
    pub checks: HandoverChecksFile,
    /// The policy of gateways; always there where it is not that of the others by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateways: Option<HandoverPolicyName>,
}
