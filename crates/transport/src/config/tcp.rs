//! A TCP as a scenario writes it, and with every value filled.

use super::choices::{
    Handshake, IdleRestart, InitialWindowAt, Recovery, SackAfterTimeout, SackRules, Switch, TimerRestart,
};
use super::names::TcpName;
use super::options::{BY_MSS, Options, TcpTable, initial_window_rfc6928};
use crate::notification::Notification;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use skyhop_base::Bytes;
use skyhop_cc::{Bundle, ConfigError, ControlConfig, ControlSpec, Profile};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// A TCP as a scenario writes it: `"vegas"`, or a table like `{ recovery = "sack", control = "bic", window = 300 }`,
/// in which a name is allowed too, unless the parts contradict it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TcpSpec(pub TcpTable);

/// A TCP with every value filled.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TcpConfig {
    pub recovery: Recovery,
    pub control: ControlConfig,
    /// One copy for all flows that are cloned from one another, and for their senders.
    #[serde(flatten, serialize_with = "shared")]
    pub options: Arc<Options>,
    /// What the sender does about error reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notification: Option<Notification>,
}

fn shared<S: Serializer>(options: &Arc<Options>, serializer: S) -> Result<S::Ok, S::Error> {
    options.as_ref().serialize(serializer)
}

impl TcpSpec {
    /// The names that expand to a transport.
    pub fn names() -> &'static [&'static str] {
        TcpName::NAMES
    }

    /// A transport by name with nothing else said.
    pub fn named(name: &str) -> Result<TcpSpec, ConfigError> {
        let found = TcpName::find(name).ok_or_else(|| ConfigError::UnknownName {
            what: "TCP",
            name: name.to_owned(),
            valid: TcpName::NAMES.to_vec(),
        })?;
        Ok(TcpSpec(TcpTable { name: Some(found), ..TcpTable::default() }))
    }

    /// Fills what was left out from the profile and checks every value.
    ///
    /// What the table does not say is that of its name. Without a name a control brings the recovery and the agent of
    /// ns-2 that the TCP of its name has, so that a parameter of the control changes nothing else; with neither,
    /// recovery is `newreno` and control `reno`.
    pub fn resolve(&self, profile: Profile) -> Result<TcpConfig, ConfigError> {
        let table = &self.0;
        let profile = table.profile.unwrap_or(profile);
        self.check_name()?;
        let (recovery, control, agent) = self.parts();
        let recovery = table.recovery.unwrap_or(recovery);
        let given = table.ns2.clone().unwrap_or_default();
        let bundle = match (profile, given.agent) {
            (Profile::Rfc, None) => Bundle::Rfc,
            (Profile::Rfc, Some(agent)) => {
                let agent = format!("{agent:?}").to_lowercase();
                return Err(ConfigError::out_of_range("agent", agent, "only profile \"ns-2\" has agents"));
            }
            (Profile::Ns2, Some(agent)) => agent.bundle(),
            (Profile::Ns2, None) => agent,
        };
        let control = match &table.control {
            Some(control) => control.resolve(bundle)?,
            None => ControlSpec::named(control)?.resolve(bundle)?,
        };
        let mut options = table.resolve(bundle);
        if table.pacing.is_none() && control.is_outside() {
            // Under any profile: the rate that the control sets must not be without effect.
            options.pacing = crate::Pacing::Control;
        }
        if given.initial_window_at.is_none() && bundle == Bundle::Rfc && options.handshake != Handshake::Syn {
            options.ns2.initial_window_at = InitialWindowAt::Open;
        }
        if table.sack.is_none() {
            options.sack = recovery.sack();
        }
        if given.duplicates_survive_timeout.is_none() && bundle == Bundle::Ns2 && recovery == Recovery::Tahoe {
            options.ns2.duplicates_survive_timeout = Switch::On;
        }
        if bundle == Bundle::Ns2 && recovery == Recovery::Fack {
            if given.initial_window_at.is_none() {
                options.ns2.initial_window_at = InitialWindowAt::Never;
            }
            if table.idle_restart.is_none() {
                options.idle_restart = IdleRestart::TimerToInitialWindow;
            }
            if given.timer_restart.is_none() {
                options.ns2.timer_restart = TimerRestart::EveryAck;
            }
        }
        if matches!(recovery, Recovery::Yam | Recovery::PeachPlus) {
            // Their papers know nothing of ns-2's counter.
            let must = "recovery \"yam\" and \"peach+\" work with sack_rules \"rfc-6675\" and sack_after_timeout \
                \"keep\" only";
            if table.sack_rules.is_some_and(|rules| rules != SackRules::Rfc6675) {
                return Err(ConfigError::out_of_range("sack_rules", "another set of rules", must));
            }
            if table.sack_after_timeout.is_some_and(|after| after != SackAfterTimeout::Keep) {
                return Err(ConfigError::out_of_range("sack_after_timeout", "forget", must));
            }
            options.sack_rules = SackRules::Rfc6675;
            options.sack_after_timeout = SackAfterTimeout::Keep;
        }
        options.check()?;
        if options.initial_window == BY_MSS {
            let mss = options.mss.0 as u32;
            options.initial_window = initial_window_rfc6928(mss) / mss;
        }
        let full = Bytes(options.mss.0 + options.header.0);
        let notification = table.notification.as_ref().map(|spec| spec.resolve(full)).transpose()?;
        match notification {
            Some(Notification::Ceten(_)) => check_weighs(recovery, &control)?,
            Some(Notification::Eln) => check_hears_marks(recovery)?,
            Some(_) => check_listens(recovery, &options)?,
            None => {}
        }
        Ok(TcpConfig { recovery, control, options: Arc::new(options), notification })
    }

    /// Recovery, control and agent of ns-2 where the table does not state them.
    fn parts(&self) -> (Recovery, &'static str, Bundle) {
        let table = &self.0;
        let of_control = || TcpName::find(table.control.as_ref()?.name()).filter(|name| *name != TcpName::Reno);
        match table.name.or_else(of_control) {
            Some(name) => name.parts(),
            None if table.recovery == Some(Recovery::Vegas) => (Recovery::Vegas, "reno", Bundle::Ns2Vegas),
            None => TcpName::NewReno.parts(),
        }
    }

    /// A part beside a name must be the name's own: else one of the two would have no effect.
    fn check_name(&self) -> Result<(), ConfigError> {
        let TcpTable { name: Some(name), recovery, control, .. } = &self.0 else { return Ok(()) };
        let (own_recovery, own_control, _) = name.parts();
        let contradiction = |option, wanted: String, found: String| {
            Err(ConfigError::Contradiction { name: name.text(), option, wanted, found })
        };
        if let Some(recovery) = recovery.filter(|&recovery| recovery != own_recovery) {
            return contradiction("recovery", own_recovery.name().to_owned(), recovery.name().to_owned());
        }
        match control {
            Some(control) if control.name() != own_control => {
                contradiction("control", own_control.to_owned(), control.name().to_owned())
            }
            _ => Ok(()),
        }
    }
}

/// CETEN weighs the half of the window that Reno takes.
fn check_weighs(recovery: Recovery, control: &ControlConfig) -> Result<(), ConfigError> {
    let must = "\"ceten\" weighs the cuts of control \"reno\", with recovery \"reno\", \"newreno\" or \"sack\"";
    let known = matches!(recovery, Recovery::Reno | Recovery::NewReno | Recovery::Sack);
    if known && control.name() == "reno" {
        return Ok(());
    }
    let found = format!("{} with {}", recovery.name(), control.name());
    Err(ConfigError::out_of_range("notification", found, must))
}

/// Error reports need a recovery that knows which segment is meant, and repairs without cutting.
fn check_listens(recovery: Recovery, options: &Options) -> Result<(), ConfigError> {
    let must = "error reports need recovery \"reno\" or \"newreno\", or \"sack\" with sack_rules \"rfc-6675\"";
    match recovery {
        Recovery::Reno | Recovery::NewReno => Ok(()),
        Recovery::Sack if options.sack_rules == SackRules::Rfc6675 => Ok(()),
        _ => Err(ConfigError::out_of_range("notification", recovery.name().to_owned(), must)),
    }
}

/// A mark on a duplicate ACK stands in for the third one; SACK does not count duplicate ACKs.
fn check_hears_marks(recovery: Recovery) -> Result<(), ConfigError> {
    let must = "\"eln\" needs recovery \"reno\" or \"newreno\"";
    match recovery {
        Recovery::Reno | Recovery::NewReno => Ok(()),
        _ => Err(ConfigError::out_of_range("notification", recovery.name().to_owned(), must)),
    }
}

impl<'de> Deserialize<'de> for TcpSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TcpSpec, D::Error> {
        struct NameOrTable;

        impl<'de> Visitor<'de> for NameOrTable {
            type Value = TcpSpec;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a TCP, or a table with its parts and options")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<TcpSpec, E> {
                TcpSpec::named(name).map_err(|_| E::unknown_variant(name, TcpName::NAMES))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<TcpSpec, A::Error> {
                TcpTable::deserialize(MapAccessDeserializer::new(map)).map(TcpSpec)
            }
        }

        deserializer.deserialize_any(NameOrTable)
    }
}

impl JsonSchema for TcpSpec {
    fn schema_name() -> Cow<'static, str> {
        "Tcp".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A TCP: its name, or a table with its parts and options",
            "anyOf": [generator.subschema_for::<TcpName>(), generator.subschema_for::<TcpTable>()],
        })
    }
}
