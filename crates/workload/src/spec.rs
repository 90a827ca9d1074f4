//! What a workload is made from, every default explicit.

use crate::TraceSpec;
use crate::collective::CollectiveSpec;
use crate::{Fabric, WorkloadBuilder};
use anabranch_base::{
    Bytes, Duration, HostId, Parameters, Refused, Registered, Stream, serde_but_registered,
};
use serde::{Deserialize, Serialize};

/// What the hosts send.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum WorkloadSpec {
    /// Every host (of the first `hosts`) sends one message and receives one.
    Permutation {
        /// Message length.
        bytes: Bytes,
        /// How many hosts take part, from host 0.
        hosts: u32,
        /// Every pair crosses ToRs.
        cross_tor: bool,
    },
    /// Host i sends to its twin in the other half of the fabric.
    Tornado {
        /// Message length.
        bytes: Bytes,
        /// The first `senders` hosts send (all of them: the whole fabric).
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
    /// Poisson arrivals at a load, sizes from a distribution, destinations uniform.
    Poisson {
        /// One of [`SizeDistribution::NAMES`](crate::SizeDistribution::NAMES), or a file's name.
        sizes: String,
        /// Share of a host's line rate, above 0; of the slowest host's, where hosts differ.
        load: f64,
        /// How many hosts send and receive, from host 0.
        hosts: u32,
        /// Arrivals stop after this long.
        duration: Duration,
        /// Share of the messages whose receiver is in another data centre; uniform receivers unless said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        inter: Option<f64>,
        /// Incasts beside it, none unless said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        incast: Option<IncastsSpec>,
        /// Pipeline parallelism across data centres beside it, none unless said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pipeline: Option<PipelineSpec>,
    },
    /// The messages of a list, each on a queue pair of its own.
    Messages {
        /// The list.
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
        /// The instant in the file at which the run starts.
        origin: Duration,
    },
    /// A job from a file of another tool.
    Trace(TraceSpec),
    /// Several of them, no host in two.
    Jobs {
        /// The list.
        job: Vec<TraceSpec>,
    },
    /// Somebody else's, from a registry.
    #[serde(skip)]
    Registered(RegisteredWorkload),
}

serde_but_registered!(WorkloadSpec);

/// A workload of somebody else's with its parameters.
pub type RegisteredWorkload = Registered<WorkloadFactory>;

/// Puts queue pairs, messages and gates into a builder, for a fabric; it draws from the stream.
pub type WorkloadFactory =
    dyn Fn(&mut WorkloadBuilder, &Fabric, &Parameters, Stream) -> Result<(), Refused> + Send + Sync;

/// Incasts that come at random beside a background, among its hosts and for as long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IncastsSpec {
    /// Senders of an incast, all different and none the receiver.
    pub degree: u32,
    /// What each of them sends.
    pub bytes: Bytes,
    /// The bytes of all incasts as a share of what all hosts can send, above 0: as the load of the background.
    pub load: f64,
}

/// Pipeline parallelism across data centres: every host is a stage and sends the activations of each micro-batch to the
/// host at the same place in the next data centre, at fixed intervals, for as long as the background lasts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PipelineSpec {
    /// The activations of a micro-batch, one message.
    pub bytes: Bytes,
    /// All these messages as a share of what all hosts can send, above 0: as the load of the background.
    pub load: f64,
    /// A stage sends all its messages on one queue pair, which stays open, instead of each on its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub persistent: bool,
}

/// A message from a host to another one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessageSpec {
    /// The sending host.
    pub from: HostId,
    /// The receiving host, another one.
    pub to: HostId,
    /// Message length.
    pub bytes: Bytes,
    /// When it is posted.
    pub start: Duration,
}
