//! The specification of a run, in which every default is explicit.

mod class;
mod measure;
mod pfc;
mod routing;

pub(crate) use class::Share;
pub use class::{ClassSpec, ClassTraffic};
pub use measure::{MeasureSpec, Series};
pub use pfc::{AlphaStep, PfcClass, PfcSpec, WatchdogAction};
pub use routing::{PortChoice, RoutingMode};

use crate::fault_spec::FaultSpec;
use crate::mail::ArrivalOrder;
use crate::observer::ObserverSpec;
use crate::queue::FullQueue;
use anabranch_base::{
    AboveZero, Bytes, Declared, Duration, HostId, OutOfRange, Parameter, ParameterValue, Problem, Ranged,
    Rate, parameters,
};
use anabranch_fabric::TopologySpec;
use anabranch_proto::{CcConfig, LbConfig, PathFacts, ProgramConfig, Size, Threshold, TransportConfig};
use anabranch_results::{PathChoice, Value};
use anabranch_workload::WorkloadSpec;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One run: a scheme, a point of the sweep and a seed.
#[derive(Clone, Debug, PartialEq)]
pub struct RunPoint {
    /// The scheme that carries the messages.
    pub scheme: Scheme,
    /// The seed of every random stream.
    pub seed: u64,
    /// The values of the swept parameters at this point.
    pub sweep: BTreeMap<String, Value>,
    /// The fabric.
    pub topology: TopologySpec,
    /// The messages and their start conditions.
    pub workload: WorkloadSpec,
    /// The traffic classes: first the class of `scheme` and `workload`, then the others. Empty if there is only one
    /// class.
    pub classes: Vec<ClassSpec>,
    /// The faults.
    pub faults: Vec<FaultSpec>,
    /// The curves to record.
    pub measures: Vec<MeasureSpec>,
    /// Registered observers.
    pub observers: Vec<ObserverSpec>,
    /// The limits of the run.
    pub limits: Limits,
    /// The largest number of points that all curves of the run may have together.
    pub most_points: u64,
    /// The contents of every file that the scenario names. The runs of a scenario share the contents, since there may
    /// be thousands of runs and a trace may be very long.
    pub files: Arc<BTreeMap<String, String>>,
}

/// The largest allowed jitter of NICs and of timers, and the longest allowed interval between timer ticks.
const LONGEST_JITTER: Duration = Duration::from_us(1_000);

/// The smallest weight or dynamic threshold (alpha), since these are stored in units of 2^-16.
const LEAST_SHARE: f64 = 1.0 / 65_536.0;

parameters! {
    /// A named composition of transport, congestion control, load balancer and fabric settings.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Scheme {
        /// The name of the scheme in scenarios.
        #[param(part)]
        pub name: String,
        /// A title in one line.
        #[param(part)]
        pub title: String,
        /// The source of the scheme's parameters, such as a paper.
        #[param(part)]
        pub source: String,
        /// The requirements of the scheme on any setup, in words. Empty if there are none.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        #[param(part)]
        pub needs: String,
        /// The names of the setup parameters that follow from the scheme's requirements, such as `transport.header`.
        /// Their values may therefore differ from the values in other schemes.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[param(part)]
        pub own: Vec<String>,
        /// The number of queue pairs of a connection. Each message is split over them. Each queue pair has its own
        /// transport state and entropy values.
        #[param(1..=64; example = 4; source = "unspecified; one queue pair per connection"; default = 1)]
        pub qps: u32,
        /// The transport.
        #[param(part)]
        pub transport: TransportConfig,
        /// The congestion control.
        #[param(part)]
        pub cc: CcConfig,
        /// The load balancer of hosts.
        #[param(part)]
        pub lb: LbConfig,
        /// The settings of switches.
        #[param(table)]
        pub fabric: FabricSpec,
        /// The hosts with another load balancer. Without this, all hosts have the same one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[param(table)]
        pub mix: Option<MixSpec>,
    }
}

parameters! {
    /// Hosts with a load balancer of their own, for example in a fabric that is migrated step by step. All hosts share
    /// the same queues. Flows from hosts with `mix.lb` are in the group `mixed`, and all other flows in the group
    /// `main`.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct MixSpec {
        /// Hosts 0, n, 2n and so on use the load balancer `mix.lb`.
        #[param(2..=65_536; example = 10; source = "REPS, section 4.3.2: a tenth of the traffic; unspecified: whose")]
        pub every: u32,
        /// The load balancer of these hosts.
        #[param(part)]
        pub lb: LbConfig,
    }
}

impl MixSpec {
    /// Whether flows from `source` use the load balancer [`MixSpec::lb`].
    pub fn covers(&self, source: HostId) -> bool {
        source.0.is_multiple_of(self.every)
    }
}

impl Scheme {
    /// The load balancer of flows from `source`.
    pub fn lb_of(&self, source: HostId) -> &LbConfig {
        match &self.mix {
            Some(mix) if mix.covers(source) => &mix.lb,
            _ => &self.lb,
        }
    }

    /// The load balancers in use: the scheme's own, and the one of its mix if there is one.
    pub fn all_lbs(&self) -> impl Iterator<Item = &LbConfig> {
        std::iter::once(&self.lb).chain(self.mix.as_ref().map(|mix| &mix.lb))
    }

    /// Whether the packets of every queue pair may leave by all ports of their NIC.
    pub fn uses_all_ports(&self) -> bool {
        match self.fabric.port_choice() {
            PortChoice::Entropy => self.all_lbs().all(LbConfig::spreads_packets),
            PortChoice::QueuePair => false,
            PortChoice::Packet => true,
        }
    }

    /// The component that chooses a packet's path under this scheme.
    pub fn path_choice(&self) -> PathChoice {
        let by_hash = !matches!(self.fabric.routing, RoutingMode::Adaptive | RoutingMode::Spray);
        let program = self.fabric.program.as_ref();
        if !by_hash || program.is_some_and(ProgramConfig::chooses_paths) {
            PathChoice::Switches
        } else if self.all_lbs().any(LbConfig::chooses_paths) {
            PathChoice::Host
        } else {
            PathChoice::Hash
        }
    }

    /// Checks each parameter of the scheme and of its components against the parameter's declaration. Also checks that
    /// packet sizes fit in 16 bits and that the RTO is above 0.
    ///
    /// # Errors
    /// The first parameter that is out of its range.
    pub fn check(&self) -> Result<(), OutOfRange> {
        Declared::check(self)?;
        self.transport.check().map_err(|error| error.of("transport"))?;
        self.check_packets().map_err(|error| error.of("transport"))?;
        self.cc.check().map_err(|error| error.of("cc"))?;
        self.lb.check().map_err(|error| error.of("lb"))?;
        self.mix.iter().try_for_each(|mix| mix.lb.check().map_err(|error| error.of("mix.lb")))?;
        match &self.fabric.program {
            Some(program) => program.check().map_err(|error| error.of("fabric.program")),
            None => Ok(()),
        }
    }

    /// Checks the framing and the RTO of any transport, registered ones included.
    fn check_packets(&self) -> Result<(), OutOfRange> {
        let most = u64::from(u16::MAX);
        let framing = self.transport.framing();
        let room = most - framing.payload.0.min(most - 1);
        for (parameter, size, most) in
            [("payload", framing.payload, most), ("header", framing.header, room), ("ack", framing.ack, most)]
        {
            if !(1..=most).contains(&size.0) {
                let instead = ParameterValue::Text(format!("{}B", size.0.clamp(1, most)));
                let problem = Problem::with_value(format!("must be 1B to {most}B, not {}B", size.0), instead);
                return Err(OutOfRange { parameter: parameter.to_owned(), problem });
            }
        }
        if self.transport.rto().is_above_zero() {
            return Ok(());
        }
        let problem = Problem::with_value("must be above 0", ParameterValue::from("70us"));
        Err(OutOfRange { parameter: "rto".to_owned(), problem })
    }

    /// The declarations of the parameters of the scheme itself, of the fabric and of the mix. The transport, the
    /// congestion control, the load balancer and the program declare their own.
    pub fn parameters() -> &'static [Parameter] {
        <Scheme as Declared>::declared()
    }
}

parameters! {
    /// The settings of switches and NICs in a scheme, such as queues, ECN marking and routing.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct FabricSpec {
        /// Capacity of a port's data queue. Packets beyond it are dropped or trimmed. With `shared_buffer` this
        /// capacity limits no queue, since the queues share that buffer. Only timeouts and thresholds in units of the
        /// queue (`5queue`, `0.2queue`) then refer to it. Lossless fabrics have `pfc` instead.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[param(AboveZero; example = "1bdp"; source = "REPS, section 4.1")]
        pub queue: Option<Size>,
        /// Data buffer of a switch that drops or trims. The egress queues share the buffer by the dynamic threshold
        /// `shared_alpha`. With 0, each queue has the static limit `queue`.
        #[serde(default, skip_serializing_if = "is_none")]
        #[param(any; example = "32MB"; source = "unspecified; switches share the memory of queues that drop, too"; default = "0B")]
        pub shared_buffer: Bytes,
        /// Capacity of the data queues of ports to hosts. Without `last_hop_queue`, their capacity is `queue`. With a
        /// shared buffer, `last_hop_queue` has no effect.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[param(AboveZero; example = "1.5bdp"; source = "UET 1.0.3: trimming beyond 1.5 BDP at the last hop, beyond 1 elsewhere")]
        pub last_hop_queue: Option<Size>,
        /// Dynamic threshold of a shared buffer: one data queue may hold this many times the free part of the buffer.
        #[serde(default = "shared_alpha", skip_serializing_if = "is_shared_alpha")]
        #[param(LEAST_SHARE..=65_536.0; example = 8.0; source = "Choudhury and Hahne (1998); 1 there"; default = 1.0)]
        pub shared_alpha: f64,
        /// The packet that a full data queue drops or trims. With `arriving` it is the arriving packet (drop-tail).
        /// With `coin`, a fair coin decides between the arriving packet and the youngest packet in the queue. If the
        /// youngest packet is chosen, the arriving packet takes its place. If the arriving packet does not fit there,
        /// because the youngest packet was shorter, both are dropped or trimmed.
        #[serde(default, skip_serializing_if = "is_default")]
        #[param(any; example = "coin"; source = "htsim and the REPS paper's fork of it (`compositequeue.cpp`): a fair \
            coin; there the arriving packet waits even where it does not fit"; default = "arriving")]
        pub full_queue: FullQueue,
        /// Capacity of a port's control queue.
        #[param(AboveZero; example = "1bdp"; source = "unspecified; ACKs and headers wait in a queue of their own")]
        pub control_queue: Size,
        /// The queue length up to which no data packet is marked.
        #[param(any; example = "0.2bdp"; source = "REPS, section 4.1")]
        pub ecn_kmin: Threshold,
        /// The queue length above which every data packet is marked.
        #[param(any; example = "0.8bdp"; source = "REPS, section 4.1")]
        pub ecn_kmax: Threshold,
        /// Marking probability at `ecn_kmax` (Pmax). The probability rises to it from 0 at `ecn_kmin`.
        #[param(0.0..=1.0; example = 1.0; source = "DCQCN (SIGCOMM 2015), section 3.1")]
        pub ecn_pmax: f64,
        /// Whether ports to hosts mark packets. Where receivers grant credit, a queue at such a port is no sign of a
        /// congested path.
        #[serde(default = "is_on", skip_serializing_if = "std::clone::Clone::clone")]
        #[param(any; example = false; source = "UET 1.0.3, section 3.6.14, and MRC (OCP 1.0): false"; default = true)]
        pub last_hop_ecn: bool,
        /// Whether the queue of a link follows the rate that a fault gives to the link (`kind = "rate"`). The capacity
        /// of its data queue and its ECN thresholds are then multiplied by the new rate over the usual one, so that a
        /// full queue takes as long to drain as before. A queue always holds at least a full packet. Control queues and
        /// shared buffers do not follow.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[param(any; example = true; source = "unspecified; uet-htsim: true"; default = false)]
        pub queues_follow_rate: bool,
        /// Other thresholds for faster links, sorted by increasing rate.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[param(table)]
        pub ecn_from: Vec<EcnStep>,
        /// Data packets that do not fit are trimmed to their header instead of being dropped.
        #[serde(default)]
        #[param(any; example = true; source = "DCP, section 4.2; REPS, Appendix A"; default = false)]
        pub trim: bool,
        /// Weighted round robin between the control and the data queue. If left out, the control queue has strict
        /// priority.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[param(table)]
        pub wrr: Option<WrrSpec>,
        /// Switches treat only trimmed packets as control packets. ACKs, NACKs and CNPs wait in the data queue, take
        /// the paths of data, and are dropped where data is trimmed (DCP, section 4.2).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[param(any; example = true; source = "DCP, section 4.2"; default = false)]
        pub acks_with_data: bool,
        /// Time from the failure of a link until routing withdraws the link, and from its recovery until routing
        /// restores the link. If this is left out, routing never changes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[param(any; example = "10ms"; source = "unspecified")]
        pub routing_delay: Option<Duration>,
        /// The way in which switches choose among equal-cost ports.
        #[serde(default)]
        #[param(any; example = "adaptive"; source = "Themis-spraying, sections 2.2 and 4.1"; default = "ecmp")]
        pub routing: RoutingMode,
        /// The port, and so the plane, by which a packet leaves a NIC with several ports. With `entropy` it is the
        /// entropy value modulo the number of ports. A load balancer that spreads packets over entropy values then
        /// spreads them over ports. With `queue-pair` each queue pair uses one port, and a host assigns its queue pairs
        /// to its ports in rotation. With `packet` each data packet leaves by the next free port. The default is
        /// `packet` if `routing` is `adaptive` or `spray`, otherwise `entropy`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[param(any; example = "queue-pair";
            source = "unspecified; multi-plane NICs and MRC (OCP 1.0) spread the packets of a queue pair over planes, bonded \
            NICs keep a queue pair on one port")]
        pub port_choice: Option<PortChoice>,
        /// A packet leaves by another port of the NIC if the NIC knows that the link of the packet's own port is down.
        #[serde(default = "is_on", skip_serializing_if = "std::clone::Clone::clone")]
        #[param(any; example = false; source = "unspecified; a NIC sees at once that its own link has no signal"; default = true)]
        pub port_failover: bool,
        /// The order in which a node handles packets that arrive at one instant. With `port` the order is by increasing
        /// ingress port. With `random` the order is drawn for each node and instant, so that no port is always served
        /// first.
        #[serde(default, skip_serializing_if = "is_default")]
        #[param(any; example = "random"; source = "unspecified; ports are not in step in hardware, so that none is always first";
            default = "port")]
        pub arrival_order: ArrivalOrder,
        /// The largest delay of the first packet, data or ACK, after a port of a NIC was idle. The delay is drawn
        /// uniformly from 0 to this value. Packets that follow within a packet's serialisation time are not delayed,
        /// because a gap before each of them would have the effect of a slower link. With 0 there is no delay.
        #[serde(default, skip_serializing_if = "is_default")]
        #[param(Duration::ZERO..=LONGEST_JITTER; example = "100ns"; source = "unspecified; a NIC reads what it sends from host \
            memory, which takes times that vary (Neugebauer et al., SIGCOMM 2018, on PCIe)"; default = "0us")]
        pub nic_jitter: Duration,
        /// The interval between the timer ticks of a host. A sender's timeout (for a retransmission, a probe or a
        /// request for credit) fires at the first tick at or after its due time. The first tick of each host is random.
        /// Pacing does not use the ticks. With 0, timeouts do not wait for ticks.
        #[serde(default, skip_serializing_if = "is_default")]
        #[param(Duration::ZERO..=LONGEST_JITTER; example = "4096ns"; source = "unspecified; timeouts of InfiniBand and RoCEv2 NICs \
            come in units of 4.096 us, those of MRC (OCP 1.0) of 1.024 us"; default = "0us")]
        pub timer_tick: Duration,
        /// The largest delay of a sender's timeout after its tick, or after its due time if `timer_tick` is 0. The
        /// delay is drawn uniformly from 0 to this value for each timeout.
        #[serde(default, skip_serializing_if = "is_default")]
        #[param(Duration::ZERO..=LONGEST_JITTER; example = "10us"; source = "unspecified; NVIDIA's adaptive retransmission draws the \
            first timeout of each queue pair so that they do not time out together"; default = "0us")]
        pub timer_jitter: Duration,
        /// The largest deviation of the clock of a NIC or switch from the nominal rate, in parts per million. Each
        /// device draws its deviation uniformly between minus and plus this value. The deviation changes the
        /// serialisation times of the device's packets. Latencies, pacing, timers and ideal FCTs are not affected. With
        /// 0, all clocks are exact.
        #[serde(default, skip_serializing_if = "is_default")]
        #[param(0..=100; example = 100; source = "IEEE 802.3: signalling rates within 100 ppm of nominal"; default = 0)]
        pub clock_ppm: u32,
        /// The settings of the lossless data class. Without them, data is lossy.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[param(table)]
        pub pfc: Option<PfcSpec>,
        /// The program in switches.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[param(part)]
        pub program: Option<ProgramConfig>,
        /// The switches to which the program is attached, such as `tor:0` or `esw:100%`. Without it, the program is
        /// attached to every ToR.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[param(any; example = "esw:100%";
            source = "Themis-longhaul, section III: the switches between data centres")]
        pub program_at: Option<String>,
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn is_on() -> bool {
    true
}

fn is_none(bytes: &Bytes) -> bool {
    bytes.0 == 0
}

fn shared_alpha() -> f64 {
    1.0
}

fn is_shared_alpha(alpha: &f64) -> bool {
    *alpha == shared_alpha()
}

impl FabricSpec {
    /// The choice of the port by which a packet leaves a NIC with several ports. Without a setting, the choice follows
    /// from the routing mode.
    pub fn port_choice(&self) -> PortChoice {
        self.port_choice.unwrap_or(match self.routing {
            RoutingMode::Adaptive | RoutingMode::Spray => PortChoice::Packet,
            RoutingMode::Ecmp | RoutingMode::EcmpLinear | RoutingMode::Source => PortChoice::Entropy,
        })
    }

    /// The most bytes that a data queue can hold before packets are dropped or trimmed, on a path with these facts. A
    /// `last_hop_queue` is not considered. Of a shared buffer, the only occupied queue of a switch gets the share
    /// `alpha / (1 + alpha)`. None without `queue`, and so in a lossless class.
    pub fn longest_queue(&self, facts: &PathFacts) -> Option<Bytes> {
        let own = self.queue?.on(&facts.of_port());
        Some(match self.shared_buffer.0 {
            0 => own,
            whole => Bytes((whole as f64 * self.shared_alpha / (1.0 + self.shared_alpha)) as u64),
        })
    }

    /// The facts `path` with the length of a full queue. This length is the capacity `queue`. In a lossless class it is
    /// `pfc.buffer` without scaling, since the whole buffer may be queued ahead of a packet.
    pub fn facts(&self, path: PathFacts) -> PathFacts {
        let pauses = || self.pfc.as_ref().map(|pfc| pfc.buffer);
        let queue = self.queue.map(|queue| queue.on(&path.of_port())).or_else(pauses);
        PathFacts { queue: queue.unwrap_or(path.queue), ..path }
    }
}

parameters! {
    /// ECN thresholds for links from a given rate on.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct EcnStep {
        /// The thresholds apply to links of this rate and faster ones, up to the rate of the next step.
        #[param(any; example = "400Gbps"; source = "the simulation published with Themis-longhaul")]
        pub rate: Rate,
        /// The queue length up to which no data packet is marked on these links.
        #[param(any; example = "800KB"; source = "the simulation published with Themis-longhaul")]
        pub kmin: Threshold,
        /// The queue length above which every data packet is marked on these links.
        #[param(any; example = "6400KB"; source = "the simulation published with Themis-longhaul")]
        pub kmax: Threshold,
    }
}

parameters! {
    /// Weighted round robin between a port's control queue and its data queue (DCP, section 4.2).
    ///
    /// A weight of w means that w bytes of control packets are sent for each byte of data while both queues wait. Let
    /// data packets be r times as long as trimmed packets, and a switch have N ports of one rate. With
    /// w = (N - 1) / (r - N + 1), an egress port keeps up with the headers from all N - 1 other ports, even if every
    /// packet is trimmed.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct WrrSpec {
        /// Number of ports N for which the weight is computed. Without it, each switch's own number of ports is used.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[param(2..=65_536; example = 16; source = "DCP, section 6.3")]
        pub radix: Option<u32>,
        /// The weight itself: the bytes of the control queue per byte of the data queue while both wait. Without it,
        /// the weight follows from the radix.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[param(LEAST_SHARE..=65_535.0; example = 2.0; source = "DCP, section 4.2")]
        pub weight: Option<f64>,
    }
}

/// The limits at which a run ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// The simulated time after which the run ends.
    pub max_time: Duration,
    /// The time without new deliveries after which a run with outstanding messages counts as stalled. Allowances for
    /// a timer, a round trip and a PFC watchdog are added ([`Limits::patience`]). The time during which a temporary
    /// fault blocks or slows traffic does not count.
    pub stall: Duration,
    /// Largest number of events.
    pub max_events: u64,
    /// Largest number of packets that exist at the same time.
    pub max_packets: u64,
}

impl Limits {
    /// The largest `max_time`. The times at which ports become free are stored in 48 bits, in picoseconds.
    pub const MAX_TIME: Duration = Duration::from_us(281_000_000);

    /// The time without new deliveries after which a run of `scheme` counts as stalled: `stall` plus allowances for a
    /// running timer, a packet in flight and a PFC watchdog that has yet to act.
    pub fn patience(&self, scheme: &Scheme, facts: &PathFacts) -> Duration {
        let FabricSpec { timer_tick, timer_jitter, .. } = scheme.fabric;
        let watchdog = scheme.fabric.pfc.as_ref().filter(|pfc| pfc.watchdog.is_some());
        let watchdog = watchdog.map_or(Duration::ZERO, |pfc| pfc.watchdog_poll + pfc.watchdog_detection);
        let timer = scheme.transport.rto().on(facts) + timer_tick + timer_jitter;
        self.stall + timer + watchdog + facts.base_rtt
    }
}

impl Default for Limits {
    /// The defaults: one simulated second, 10 ms without progress, enough events for half an hour at ten million
    /// events per second, and packets for about a gigabyte of memory.
    fn default() -> Self {
        Limits {
            max_time: Duration::from_us(1_000_000),
            stall: Duration::from_us(10_000),
            max_events: 20_000_000_000,
            max_packets: 16_000_000,
        }
    }
}
