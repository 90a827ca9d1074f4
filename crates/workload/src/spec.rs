//! Specifications of workloads, with every default explicit.

use crate::TraceSpec;
use crate::collective::CollectiveSpec;
use crate::{Fabric, FlowFormat, WorkloadBuilder};
use anabranch_base::{
    Bytes, Duration, HostId, Parameters, Refused, Registered, Stream, serde_but_registered,
};
use serde::{Deserialize, Serialize};

/// The messages that the hosts send.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum WorkloadSpec {
    /// Each of the first `hosts` hosts sends one message and receives one.
    Permutation {
        /// Message length.
        bytes: Bytes,
        /// Number of participating hosts, from host 0.
        hosts: u32,
        /// Whether sender and receiver are always under different ToRs.
        cross_tor: bool,
    },
    /// Host i sends to the host half the fabric away.
    Tornado {
        /// Message length.
        bytes: Bytes,
        /// Number of sending hosts, from host 0.
        senders: u32,
    },
    /// `degree` hosts send to one.
    Incast {
        /// Message length.
        bytes: Bytes,
        /// Number of senders.
        degree: u32,
        /// The receiver.
        target: HostId,
    },
    /// Poisson arrivals at a given load, with sizes from a distribution and uniform destinations.
    Poisson {
        /// The size distribution: one of [`SizeDistribution::NAMES`](crate::SizeDistribution::NAMES), or a file's name.
        sizes: String,
        /// Share of the line rate of a host, above 0; of the slowest host if their rates differ.
        load: f64,
        /// Number of hosts that send and receive, from host 0.
        hosts: u32,
        /// Time after which arrivals stop.
        duration: Duration,
        /// Share of the messages whose receiver is in another data centre; without it receivers are uniform.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        inter: Option<f64>,
        /// Incasts in addition to this background.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        incast: Option<IncastsSpec>,
        /// Pipeline parallelism across data centres in addition to this background.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pipeline: Option<PipelineSpec>,
    },
    /// The messages of a list, each on a queue pair of its own.
    Messages {
        /// The messages.
        message: Vec<MessageSpec>,
    },
    /// Jobs that run a collective.
    Collective(CollectiveSpec),
    /// An htsim connection matrix.
    Cm {
        /// The file's name, as the scenario gives it.
        file: String,
        /// The unit of `start` in the file: `1ps` (csg-htsim) or `1us` (uet-htsim).
        start_unit: Duration,
    },
    /// An ns-3 flow file.
    Ns3Flows {
        /// The file's name, as the scenario gives it.
        file: String,
        /// The time in the file at which the run starts.
        origin: Duration,
        /// The simulator whose columns it has, needed if the file fits several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        format: Option<FlowFormat>,
    },
    /// A job from a trace file of another tool.
    Trace(TraceSpec),
    /// Several jobs from traces, on disjoint hosts.
    Jobs {
        /// The jobs.
        job: Vec<TraceSpec>,
    },
    /// A custom workload from a registry.
    #[serde(skip)]
    Registered(RegisteredWorkload),
}

serde_but_registered!(WorkloadSpec);

/// A custom workload with its parameters.
pub type RegisteredWorkload = Registered<WorkloadFactory>;

/// A function that adds queue pairs, messages and gates for a fabric to a builder, and draws from the stream.
pub type WorkloadFactory =
    dyn Fn(&mut WorkloadBuilder, &Fabric, &Parameters, Stream) -> Result<(), Refused> + Send + Sync;

/// Incasts at random times in addition to a background, among its hosts and for its duration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IncastsSpec {
    /// Senders of an incast, which are distinct and not the receiver.
    pub degree: u32,
    /// Message length of each sender.
    pub bytes: Bytes,
    /// The bytes of all incasts as a share of the capacity of all hosts, above 0, like the load of the background.
    pub load: f64,
}

/// Pipeline parallelism across data centres: every host is a stage and sends the activations of each micro-batch at fixed
/// intervals to the host at the same position in the next data centre, for the duration of the background.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PipelineSpec {
    /// Size of the activations of a micro-batch, which are one message.
    pub bytes: Bytes,
    /// The bytes of these messages as a share of the capacity of all hosts, above 0, like the load of the background.
    pub load: f64,
    /// Whether a stage sends all its messages on one persistent queue pair instead of one per message.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub persistent: bool,
}

/// A message from a host to another one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessageSpec {
    /// The sending host.
    pub from: HostId,
    /// The receiving host, not the sender itself.
    pub to: HostId,
    /// Message length.
    pub bytes: Bytes,
    /// The time at which it is posted.
    pub start: Duration,
}
