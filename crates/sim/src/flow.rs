//! One flow: its application, its two endpoints and what is measured of them.

use crate::application::Application;
use crate::call::CallMeter;
use crate::host::{Datagrams, Ends, Hosts, TcpEnds, UnackedSendTimes};
use crate::jitter::Jitter;
use crate::legs::Leg;
use crate::measure::{ArrivalMeter, Histogram, TimeAverage};
use crate::spec::{FlowConfig, RecordConfig, RelayShare, SourceConfig, TransportConfig};
use crate::totals::FlowTotals;
use crate::updates::Updates;
use skyhop_base::{Stream, Time};
use skyhop_transport::{Notification, Receiver, Sender, TcpConfig, TickPhase, ns2_tick_phases};

/// The phases of the senders' clocks that ns-2's generator deals out, by flow, with the run's seed as ns-2's: one for
/// each TCP that asks for it.
pub fn tick_phases(flows: &[FlowConfig], seed: u64) -> Vec<Option<f64>> {
    let asking: Vec<&TcpConfig> = flows.iter().filter_map(with_ns2_phase).collect();
    let mut phases = ns2_tick_phases(seed as u32, &asking).into_iter();
    flows.iter().map(|flow| with_ns2_phase(flow).and_then(|_| phases.next())).collect()
}

/// Whether the flow's sender weighs its cuts by what survives the path.
fn wants_survival(config: &FlowConfig) -> bool {
    matches!(&config.transport, TransportConfig::Tcp(tcp) if matches!(tcp.notification, Some(Notification::Ceten(_))))
}

/// The flow's TCP, if ns-2's generator deals out the phase of its clock.
fn with_ns2_phase(flow: &FlowConfig) -> Option<&TcpConfig> {
    match &flow.transport {
        TransportConfig::Tcp(tcp) => Some(&**tcp).filter(|tcp| tcp.options.ns2.tick_phase == TickPhase::Ns2),
        TransportConfig::Udp { .. } | TransportConfig::Hosts(_) => None,
    }
}

/// What can be seen of a flow while the simulation runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowState {
    /// User bytes that the application at the far end could read by now.
    pub bytes_delivered: u64,
    /// Congestion window in segments; none without a window.
    pub cwnd: Option<f64>,
}

/// Every packet touches what stands in front. With many flows that has to be fetched each time, hence the order.
#[repr(C, align(64))]
pub struct Flow {
    pub ends: Ends,
    /// Its place in a split connection, if it is a leg of one.
    pub leg: Option<Box<Leg>>,
    /// Of an application that writes by the clock, when they are recorded.
    pub updates: Updates,
    pub call: Option<Box<CallMeter>>,
    pub jitter: Option<Box<Jitter>>,
    /// Packets that each end has put on the network.
    pub numbers: [u32; 2],
    pub meter: ArrivalMeter,
    pub ages: UnackedSendTimes,
    pub rtt: Histogram,
    pub ttl: u8,
    /// ACKs have details even without selective reports: of a leg, and to a sender that wants to know about corruption.
    pub acks_say_more: bool,
    pub cwnd: Option<TimeAverage>,
    pub application: Application,
    pub totals: FlowTotals,
    /// Tells flows apart in random streams, whatever their order.
    pub key: u64,
    /// Totals at the moment when the application stopped: rates count what arrived until then.
    pub at_stop: Option<Box<FlowTotals>>,
    pub completed: Option<Time>,
    /// Totals at the last grid point, once there was one.
    pub at_grid: Option<Box<FlowTotals>>,
    /// Node by node, as last recorded.
    pub path: Vec<u32>,
}

impl Flow {
    /// `tick_phase` is that of the sender's clock, where the run deals it out.
    pub fn new(config: &FlowConfig, records: &RecordConfig, tick_phase: Option<f64>, seed: u64) -> Flow {
        let application = Application::new(config, seed);
        let followed = application.deadline().is_some() || (records.updates && application.portion_bytes().is_some());
        let ends = match &config.transport {
            TransportConfig::Tcp(tcp) => {
                let mut sender = match tick_phase {
                    Some(share) => Sender::at_tick_phase(tcp, share),
                    None => Sender::new(tcp, Stream::new(seed, &config.name, "sender")),
                };
                if wants_survival(config) {
                    sender.draw_from(Stream::new(seed, &config.name, "cuts"));
                }
                if matches!(&config.application, SourceConfig::Relay { share: RelayShare::OfLink, .. }) {
                    sender.replace_control(crate::legs::assigned(tcp));
                }
                Ends::Tcp(Box::new(TcpEnds::new(sender, Receiver::new(tcp))))
            }
            TransportConfig::Udp { header_bytes } => Ends::Datagrams(Datagrams::new(*header_bytes)),
            TransportConfig::Hosts(transport) => Ends::Hosts(Box::new(Hosts::new(&**transport, &config.name, seed))),
        };
        let cwnd = ends.cwnd().map(|cwnd| TimeAverage::new(config.start, cwnd));
        let meter = ArrivalMeter::default();
        Flow {
            key: Stream::new(0, &config.name, "flow").bits_at(0),
            ends,
            application,
            jitter: Jitter::new(config.jitter, Stream::new(seed, &config.name, "jitter")).map(Box::new),
            ttl: config.ttl,
            acks_say_more: wants_survival(config),
            numbers: [0; 2],
            totals: FlowTotals::default(),
            at_stop: None,
            completed: None,
            meter: if records.grid.is_some() { meter.with_steps() } else { meter },
            ages: UnackedSendTimes::default(),
            updates: if followed { Updates::followed() } else { Updates::default() },
            call: match &config.application {
                SourceConfig::Application(application) => {
                    application.call().map(|call| Box::new(CallMeter::new(&call)))
                }
                _ => None,
            },
            rtt: Histogram::default(),
            cwnd,
            at_grid: None,
            path: Vec::new(),
            leg: None,
        }
    }

    /// The end of the flow's own time.
    pub fn end(&self, end_of_run: Time) -> Time {
        let stop = self.application.stop.unwrap_or(end_of_run).min(end_of_run);
        self.completed.map_or(stop, |completed| completed.min(stop))
    }
}
