//! The specification of a run, with every default explicit.

mod measure;

pub use measure::{MeasureSpec, Series};

use crate::fault_spec::FaultSpec;
use crate::mail::ArrivalOrder;
use crate::observer::ObserverSpec;
use crate::queue::FullQueue;
use anabranch_base::{
    AboveZero, Bytes, Declared, Duration, HostId, OutOfRange, Parameter, ParameterValue, Problem, Ranged,
    Rate, parameter_choices, parameters,
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
    /// Seed of every random stream.
    pub seed: u64,
    /// The values of the swept parameters at this point.
    pub sweep: BTreeMap<String, Value>,
    /// The fabric.
    pub topology: TopologySpec,
    /// The messages and their start conditions.
    pub workload: WorkloadSpec,
    /// The faults.
    pub faults: Vec<FaultSpec>,
    /// The curves to record.
    pub measures: Vec<MeasureSpec>,
    /// Registered observers.
    pub observers: Vec<ObserverSpec>,
    /// The limits of the run.
    pub limits: Limits,
    /// The number of points that all curves of the run may have.
    pub most_points: u64,
    /// The contents of every file that the scenario names. The runs of a scenario share them: a trace may be longer than all
    /// the rest, and there may be thousands of runs.
    pub files: Arc<BTreeMap<String, String>>,
}

/// The longest allowed jitter of a NIC and of timers.
const LONGEST_JITTER: Duration = Duration::from_us(1_000);

/// The smallest weight or share: they are stored in 2^-16ths.
const LEAST_SHARE: f64 = 1.0 / 65_536.0;

parameters! {
    /// A named composition of transport, congestion control, load balancer and fabric settings.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Scheme {
        /// The name of the scheme in scenarios.
        #[param(part)]
        pub name: String,
        /// A title of one line.
        #[param(part)]
        pub title: String,
        /// The source of its parameters.
        #[param(part)]
        pub source: String,
        /// The requirements of the scheme on any setup, in words; empty without any.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        #[param(part)]
        pub needs: String,
        /// The parameters of the setup that follow from its requirements (`transport.header`) and so may differ from those of
        /// other schemes.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[param(part)]
        pub own: Vec<String>,
        /// Queue pairs of a connection: each message is split over them, each with its own transport and entropy.
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
        /// Hosts with another load balancer; without it all have the same.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[param(table)]
        pub mix: Option<MixSpec>,
    }
}

parameters! {
    /// Hosts with another load balancer than the rest, in the same queues: a fabric that is migrated step by step, or shared.
    /// Flows from them are in the group `mixed`, flows from the others in `main`.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct MixSpec {
        /// Hosts 0, n, 2n and so on balance by `mix.lb`.
        #[param(2..=65_536; example = 10; source = "REPS, section 4.3.2: a tenth of the traffic; unspecified: whose")]
        pub every: u32,
        /// Their load balancer.
        #[param(part)]
        pub lb: LbConfig,
    }
}

impl MixSpec {
    /// Whether flows from `source` are balanced by [`MixSpec::lb`].
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

    /// The load balancers in use: that of the scheme and that of its mix.
    pub fn all_lbs(&self) -> impl Iterator<Item = &LbConfig> {
        std::iter::once(&self.lb).chain(self.mix.as_ref().map(|mix| &mix.lb))
    }

    /// Whether packets of one queue pair leave by all ports of their NIC.
    pub fn uses_all_ports(&self) -> bool {
        match self.fabric.port_choice() {
            PortChoice::Entropy => self.all_lbs().all(LbConfig::spreads_packets),
            PortChoice::QueuePair => false,
            PortChoice::Packet => true,
        }
    }

    /// The part that chooses a packet's path under this scheme.
    pub fn path_choice(&self) -> PathChoice {
        let by_hash = matches!(self.fabric.routing, RoutingMode::Ecmp | RoutingMode::EcmpLinear);
        let program = self.fabric.program.as_ref();
        if !by_hash || program.is_some_and(ProgramConfig::chooses_paths) {
            PathChoice::Switches
        } else if self.all_lbs().any(LbConfig::chooses_paths) {
            PathChoice::Host
        } else {
            PathChoice::Hash
        }
    }

    /// Checks each parameter of all parts against its declaration, and that sizes of packets fit 16 bits.
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

    /// Checks the framing and the RTO of any transport, registered ones included: sizes on the wire must fit 16 bits.
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

    /// The declarations of the parameters of the scheme itself, the fabric and the mix. Parts with kinds have their own.
    pub fn parameters() -> &'static [Parameter] {
        <Scheme as Declared>::declared()
    }
}

parameters! {
    /// Queues and marking at switches.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct FabricSpec {
        /// Capacity of a port's data queue; packets beyond it are dropped or trimmed. With `shared_buffer` the queues
        /// share that memory and this is no limit: it is the queue length that relative timeouts and thresholds
        /// (`5queue`, `0.2queue`) refer to. Lossless fabrics have `pfc` instead.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[param(AboveZero; example = "1bdp"; source = "REPS, section 4.1")]
        pub queue: Option<Size>,
        /// Data buffer of a switch that drops or trims, shared by its egress queues with the dynamic threshold
        /// `shared_alpha`. 0: static limits (`queue`).
        #[serde(default, skip_serializing_if = "is_none")]
        #[param(any; example = "32MB"; source = "unspecified; switches share the memory of queues that drop, too"; default = "0B")]
        pub shared_buffer: Bytes,
        /// Capacity of the data queues of ports to hosts, where it differs from `queue`. It has no effect on a shared buffer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[param(AboveZero; example = "1.5bdp"; source = "UET 1.0.3: trimming beyond 1.5 BDP at the last hop, beyond 1 elsewhere")]
        pub last_hop_queue: Option<Size>,
        /// Dynamic threshold of a shared buffer: how many times what is left of it one data queue may hold.
        #[serde(default = "shared_alpha", skip_serializing_if = "is_shared_alpha")]
        #[param(LEAST_SHARE..=65_536.0; example = 8.0; source = "Choudhury and Hahne (1998); 1 there"; default = 1.0)]
        pub shared_alpha: f64,
        /// The packet that a full data queue drops or trims: the arriving one (`arriving`, drop-tail), or by a fair coin
        /// (`coin`) that one or the youngest in the queue, in whose place the arriving one then waits. If it still does not
        /// fit there, as the other was shorter, it is dropped or trimmed as well.
        #[serde(default, skip_serializing_if = "is_default")]
        #[param(any; example = "coin"; source = "htsim and the REPS paper's fork of it (`compositequeue.cpp`): a fair \
            coin; there the arriving packet waits even where it does not fit"; default = "arriving")]
        pub full_queue: FullQueue,
        /// Capacity of a port's control queue.
        #[param(AboveZero; example = "1bdp"; source = "unspecified; ACKs and headers wait in a queue of their own")]
        pub control_queue: Size,
        /// Data is not marked while no more than this is queued.
        #[param(any; example = "0.2bdp"; source = "REPS, section 4.1")]
        pub ecn_kmin: Threshold,
        /// Every data packet is marked while more than this is queued.
        #[param(any; example = "0.8bdp"; source = "REPS, section 4.1")]
        pub ecn_kmax: Threshold,
        /// Marking probability just below `ecn_kmax`; it rises from 0 at `ecn_kmin` (Pmax).
        #[param(0.0..=1.0; example = 1.0; source = "DCQCN (SIGCOMM 2015), section 3.1")]
        pub ecn_pmax: f64,
        /// Whether ports to hosts mark. Where receivers grant credit, a queue there is no sign of a congested path.
        #[serde(default = "is_on", skip_serializing_if = "std::clone::Clone::clone")]
        #[param(any; example = false; source = "UET 1.0.3, section 3.6.14, and MRC (OCP 1.0): false"; default = true)]
        pub last_hop_ecn: bool,
        /// Other thresholds for faster links, by rising rate.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[param(table)]
        pub ecn_from: Vec<EcnStep>,
        /// Data packets that do not fit are cut to their header instead of dropped.
        #[serde(default)]
        #[param(any; example = true; source = "DCP, section 4.2; REPS, Appendix A"; default = false)]
        pub trim: bool,
        /// Weighted round robin between control and data queue; if left out, the control queue has strict priority.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[param(table)]
        pub wrr: Option<WrrSpec>,
        /// In switches, only trimmed packets are control packets: ACKs, NACKs and CNPs wait with data, take its paths, and
        /// are dropped where data is trimmed (DCP, section 4.2).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[param(any; example = true; source = "DCP, section 4.2"; default = false)]
        pub acks_with_data: bool,
        /// Time from a link's going down or up until routing withdraws or restores it; without it routing never
        /// changes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[param(any; example = "10ms"; source = "unspecified")]
        pub routing_delay: Option<Duration>,
        /// The choice of switches among equal-cost ports.
        #[serde(default)]
        #[param(any; example = "adaptive"; source = "Themis-spraying, sections 2.2 and 4.1"; default = "ecmp")]
        pub routing: RoutingMode,
        /// The port, and so the plane, by which a packet leaves a NIC with several: by its entropy value modulo the number of
        /// ports (`entropy`), so that a balancer that spreads packets over entropy values spreads them over ports; by its queue
        /// pair, whose host gives it a port in turn (`queue-pair`); or data by the next free port (`packet`). Without it `packet`
        /// where `routing` chooses a path for each packet, otherwise `entropy`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[param(any; example = "queue-pair";
            source = "unspecified; multi-plane NICs and MRC (OCP 1.0) spread the packets of a queue pair over planes, bonded \
            NICs keep a queue pair on one port")]
        pub port_choice: Option<PortChoice>,
        /// Packets leave by another port of the NIC while it knows that the link of theirs is down.
        #[serde(default = "is_on", skip_serializing_if = "std::clone::Clone::clone")]
        #[param(any; example = false; source = "unspecified; a NIC sees at once that its own link has no signal"; default = true)]
        pub port_failover: bool,
        /// The order in which a node handles packets that arrive at one instant: by rising ingress port (`port`), or drawn for
        /// each node and instant (`random`), so that no port is always served first.
        #[serde(default, skip_serializing_if = "is_default")]
        #[param(any; example = "random"; source = "unspecified; ports are not in step in hardware, so that none is always first";
            default = "port")]
        pub arrival_order: ArrivalOrder,
        /// The largest delay of the first packet, data or an ACK, after a NIC was idle; it is drawn uniformly from 0 to this.
        /// Packets that follow within a packet's time are not delayed, so that no throughput is lost: a gap before each of
        /// them would be a slower link. 0: none.
        #[serde(default, skip_serializing_if = "is_default")]
        #[param(Duration::ZERO..=LONGEST_JITTER; example = "100ns"; source = "unspecified; a NIC reads what it sends from host \
            memory, which takes times that vary (Neugebauer et al., SIGCOMM 2018, on PCIe)"; default = "0us")]
        pub nic_jitter: Duration,
        /// The time between the ticks of a host, at which timeouts of senders (for a retransmission, a probe, a request for
        /// credit) fire: each at the next tick after it is due. The first tick is drawn for each host. Pacing is exact. 0:
        /// timeouts fire at the exact time.
        #[serde(default, skip_serializing_if = "is_default")]
        #[param(Duration::ZERO..=LONGEST_JITTER; example = "4096ns"; source = "unspecified; timeouts of InfiniBand and RoCEv2 NICs \
            come in units of 4.096 us, those of MRC (OCP 1.0) of 1.024 us"; default = "0us")]
        pub timer_tick: Duration,
        /// The largest delay of a sender's timeout after its tick; it is drawn uniformly from 0 to this for each timeout.
        #[serde(default, skip_serializing_if = "is_default")]
        #[param(Duration::ZERO..=LONGEST_JITTER; example = "10us"; source = "unspecified; NVIDIA's adaptive retransmission draws the \
            first timeout of each queue pair so that they do not time out together"; default = "0us")]
        pub timer_jitter: Duration,
        /// The largest deviation of a device's oscillator (a NIC or a switch) from nominal, in parts per million. The deviation
        /// of each device is drawn uniformly between minus and plus this, and its packets take so much longer or shorter to
        /// leave. Latencies, pacing and timers are nominal, and so are ideal FCTs. 0: all are exact.
        #[serde(default, skip_serializing_if = "is_default")]
        #[param(0..=100; example = 100; source = "IEEE 802.3: signalling rates within 100 ppm of nominal"; default = 0)]
        pub clock_ppm: u32,
        /// The data class is lossless.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[param(table)]
        pub pfc: Option<PfcSpec>,
        /// The program in switches.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[param(part)]
        pub program: Option<ProgramConfig>,
        /// The switches that the program is attached to, as `tor:0` or `esw:100%`; without it, every ToR.
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
    /// The port by which a packet leaves a NIC with several. Where switches choose a path for each packet, the NIC does too.
    pub fn port_choice(&self) -> PortChoice {
        self.port_choice.unwrap_or(match self.routing {
            RoutingMode::Adaptive | RoutingMode::Spray => PortChoice::Packet,
            RoutingMode::Ecmp | RoutingMode::EcmpLinear => PortChoice::Entropy,
        })
    }

    /// The most bytes that a data queue that drops or trims can hold, by the facts of a path. Alone at its switch it gets the
    /// share `alpha / (1 + alpha)` of a shared buffer. None in a lossless class.
    pub fn longest_queue(&self, facts: &PathFacts) -> Option<Bytes> {
        let own = self.queue?.on(facts);
        Some(match self.shared_buffer.0 {
            0 => own,
            whole => Bytes((whole as f64 * self.shared_alpha / (1.0 + self.shared_alpha)) as u64),
        })
    }

    /// The facts of a path with the length of a full queue at these switches. With PFC that is the whole shared buffer, as all
    /// of it may be queued ahead of a packet: `pfc.buffer` unscaled, also where switches differ.
    pub fn facts(&self, path: PathFacts) -> PathFacts {
        let pauses = || self.pfc.as_ref().map(|pfc| pfc.buffer);
        let queue = self.queue.map(|queue| queue.on(&path)).or_else(pauses);
        PathFacts { queue: queue.unwrap_or(path.queue), ..path }
    }
}

parameters! {
    /// ECN thresholds of links of a rate and above.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct EcnStep {
        /// The thresholds hold for links of this rate and faster ones, up to that of the next step.
        #[param(any; example = "400Gbps"; source = "the simulation published with Themis-longhaul")]
        pub rate: Rate,
        /// Data is not marked while no more than this is queued there.
        #[param(any; example = "800KB"; source = "the simulation published with Themis-longhaul")]
        pub kmin: Threshold,
        /// Every data packet is marked while more than this is queued there.
        #[param(any; example = "6400KB"; source = "the simulation published with Themis-longhaul")]
        pub kmax: Threshold,
    }
}

parameters! {
    /// Weighted round robin of a port's control and data queue (DCP, section 4.2).
    ///
    /// A weight of w lets w bytes of control go for each byte of data while both queues wait. With data packets r times as
    /// long as trimmed ones and N ports of one rate, w = (N - 1) / (r - N + 1) lets an egress port keep up with the headers
    /// from all N - 1 others, even if every packet is trimmed.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct WrrSpec {
        /// Number of ports N for which the weight is computed; without it, each switch's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[param(2..=65_536; example = 16; source = "DCP, section 6.3")]
        pub radix: Option<u32>,
        /// The weight itself: bytes of the control queue per byte of the data queue while both wait. Without it the
        /// weight follows from the radix.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[param(LEAST_SHARE..=65_535.0; example = 2.0; source = "DCP, section 4.2")]
        pub weight: Option<f64>,
    }
}

/// The choice of a switch among equal-cost ports. Non-data packets (ACKs and the like) use ECMP in all modes, except trimmed
/// packets in `Adaptive`, and ACKs in the data class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RoutingMode {
    /// A hash over flow, entropy value and the switch's salt.
    #[default]
    Ecmp,
    /// A hash that is linear in the entropy value, as those of real switches are: a change of the entropy value changes the path
    /// alike for every flow (Themis-spraying, section 4.1).
    EcmpLinear,
    /// The port with the shortest queue among those whose link is up, at random among equals (Themis-spraying, section 2.2). A
    /// switch detects at its own ports that a link is down, independently of routing.
    Adaptive,
    /// A random port for each packet at the source ToR, ECMP above it.
    Spray,
}

parameter_choices!(
    RoutingMode: "ecmp" = Ecmp, "ecmp-linear" = EcmpLinear, "adaptive" = Adaptive, "spray" = Spray
);

/// The choice of a NIC with several ports among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PortChoice {
    /// The entropy value of the packet decides.
    Entropy,
    /// The queue pair of the packet decides.
    QueuePair,
    /// Data leaves by the next free port.
    Packet,
}

parameter_choices!(PortChoice: "entropy" = Entropy, "queue-pair" = QueuePair, "packet" = Packet);

parameters! {
    /// Priority flow control over a buffer that all ports of a switch share.
    ///
    /// Per ingress port: queued data is charged to the port's share of the shared buffer up to the threshold, then to
    /// its headroom, and the sender is paused; it may resume once the headroom is empty and the share has fallen
    /// `resume` below the threshold, or once the port holds nothing.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct PfcSpec {
        /// Packet buffer of a switch, including headroom, unless `headroom_apart`.
        #[param(AboveZero; example = "256MB"; source = "STrack, section 4.1")]
        pub buffer: Bytes,
        /// Headroom is reserved on top of `buffer` instead of inside it, as it must be for links with a large BDP: one
        /// of 1.6 Tb/s with a latency of 500 us each way needs 200 MB of headroom.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[param(any; example = true; source = "unspecified"; default = false)]
        pub headroom_apart: bool,
        /// `buffer` is that of a switch whose ports add up to this rate, and scaled to others (STrack, section 4.1);
        /// without it every switch has `buffer`. Setting `buffer` alone removes it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[param(AboveZero; example = "51.2Tbps"; source = "STrack, section 4.1")]
        pub buffer_rate: Option<Rate>,
        /// Dynamic threshold (alpha): an ingress port may hold this many times the free part of the shared buffer
        /// before it sends XOFF.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[param(LEAST_SHARE..=65_536.0; example = 0.125; source = "the simulator published with HPCC")]
        pub alpha: Option<f64>,
        /// Other values of `alpha` for faster links, by rising rate.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[param(table)]
        pub alpha_from: Vec<AlphaStep>,
        /// Switches of a class that have another buffer. The last entry of a class counts.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[param(table)]
        pub at: Vec<PfcClass>,
        /// Static XOFF threshold of each ingress port, in place of `alpha`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[param(AboveZero; example = "1bdp"; source = "unspecified; in the place of alpha")]
        pub threshold: Option<Size>,
        /// XON is sent when the ingress port's share of the buffer has fallen this far below the XOFF threshold and its
        /// headroom is empty.
        #[param(AboveZero; example = "2packets"; source = "unspecified; 3 KB in the ns-3 RDMA simulators")]
        pub resume: Size,
        /// Headroom of each ingress port; if left out, what its link needs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[param(AboveZero; example = "120KB"; source = "unspecified; what the link needs")]
        pub headroom: Option<Size>,
    }
}

parameters! {
    /// The dynamic threshold of ports of a rate and above.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct AlphaStep {
        /// This alpha holds for ports of this rate and above, up to the rate of the next entry.
        #[param(AboveZero; example = "400Gbps"; source = "the simulators published with HPCC and Themis-longhaul")]
        pub rate: Rate,
        /// Dynamic threshold of these ports, as `pfc.alpha`.
        #[param(LEAST_SHARE..=65_536.0; example = 0.5; source = "the simulators published with HPCC and Themis-longhaul")]
        pub alpha: f64,
    }
}

parameters! {
    /// The lossless class of the switches of one class.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct PfcClass {
        /// The class: `tor`, `leaf`, `esw` ...
        #[param(any; example = "esw"; source = "Themis-longhaul, section VII: deep buffers at the edge")]
        pub switches: String,
        /// Packet buffer of such a switch, as `buffer` of PFC but never scaled.
        #[param(AboveZero; example = "128MB"; source = "unspecified")]
        pub buffer: Bytes,
        /// Dynamic threshold of all ports of these switches, as `pfc.alpha`; without it, that of the other switches.
        /// With 65536 and a buffer that never fills, these switches never send XOFF.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[param(LEAST_SHARE..=65_536.0; example = 0.125; source = "unspecified")]
        pub alpha: Option<f64>,
    }
}

/// The limits at which a run ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Largest simulated time.
    pub max_time: Duration,
    /// The time without new deliveries after which a run with outstanding messages has stalled. A retransmission timeout and a
    /// round trip are added ([`Limits::patience`]), and the time during which a temporary fault blocks or slows traffic does
    /// not count.
    pub stall: Duration,
    /// Largest number of events.
    pub max_events: u64,
    /// Largest number of packets that exist at once.
    pub max_packets: u64,
}

impl Limits {
    /// The largest `max_time`: times of events have 48 bits of picoseconds.
    pub const MAX_TIME: Duration = Duration::from_us(281_000_000);

    /// The longest time without new deliveries under `scheme` on a fabric, with allowance for a running timer and a packet in
    /// flight.
    pub fn patience(&self, scheme: &Scheme, facts: &PathFacts) -> Duration {
        let FabricSpec { timer_tick, timer_jitter, .. } = scheme.fabric;
        self.stall + scheme.transport.rto().on(facts) + timer_tick + timer_jitter + facts.base_rtt
    }
}

impl Default for Limits {
    /// One simulated second, 10 ms without progress, half an hour of events at ten million a second, and
    /// packets for about a gigabyte.
    fn default() -> Self {
        Limits {
            max_time: Duration::from_us(1_000_000),
            stall: Duration::from_us(10_000),
            max_events: 20_000_000_000,
            max_packets: 16_000_000,
        }
    }
}
