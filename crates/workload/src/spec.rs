//! The specifications of workloads in scenarios.

use crate::TraceSpec;
use crate::collective::{CollectiveSpec, Members};
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
        /// The length of a message.
        bytes: Bytes,
        /// The number of participating hosts, which start with host 0.
        hosts: u32,
        /// Whether sender and receiver are always under different ToRs.
        cross_tor: bool,
    },
    /// Each of the first `senders` hosts sends one message to the host half the fabric away.
    Tornado {
        /// The length of a message.
        bytes: Bytes,
        /// The number of sending hosts, which start with host 0.
        senders: u32,
    },
    /// `degree` hosts send one message each to the same host.
    Incast {
        /// The length of a message.
        bytes: Bytes,
        /// The number of senders.
        degree: u32,
        /// The host that receives all messages.
        target: HostId,
    },
    /// Poisson arrivals at a given load, with sizes from a distribution and random destinations.
    Poisson {
        /// The size distribution: one of [`SizeDistribution::NAMES`](crate::SizeDistribution::NAMES), or a file's name.
        sizes: String,
        /// The load as a share of a host's line rate. It is above 0. If hosts have different rates, the slowest rate
        /// counts.
        load: f64,
        /// The number of hosts that send and receive, which start with host 0.
        hosts: u32,
        /// The time after which no more messages start.
        duration: Duration,
        /// The share of the messages whose receiver is in another data centre. Without it, all receivers have the same
        /// probability.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        inter: Option<f64>,
        /// Incasts in addition to this background.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        incast: Option<IncastsSpec>,
        /// Pipeline parallelism across data centres in addition to this background.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pipeline: Option<PipelineSpec>,
    },
    /// The messages of a list, each on its own queue pair.
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
        /// The simulator that defines the file's columns. It is required if the file fits several formats.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        format: Option<FlowFormat>,
    },
    /// A job from a trace file of another tool.
    Trace(TraceSpec),
    /// Several jobs from traces, on disjoint hosts or GPUs.
    Jobs {
        /// The jobs.
        job: Vec<TraceSpec>,
    },
    /// A custom workload from a registry.
    #[serde(skip)]
    Registered(RegisteredWorkload),
}

serde_but_registered!(WorkloadSpec);

impl WorkloadSpec {
    /// The total length of the messages in bytes, for permutation, tornado, incast and listed messages. None for the
    /// other kinds of workloads.
    pub fn total_bytes(&self) -> Option<u64> {
        match self {
            WorkloadSpec::Permutation { bytes, hosts: senders, .. }
            | WorkloadSpec::Tornado { bytes, senders }
            | WorkloadSpec::Incast { bytes, degree: senders, .. } => {
                Some(bytes.0.saturating_mul(u64::from(*senders)))
            }
            WorkloadSpec::Messages { message } => {
                Some(message.iter().fold(0, |sum, message| message.bytes.0.saturating_add(sum)))
            }
            WorkloadSpec::Poisson { .. }
            | WorkloadSpec::Collective(_)
            | WorkloadSpec::Cm { .. }
            | WorkloadSpec::Ns3Flows { .. }
            | WorkloadSpec::Trace(_)
            | WorkloadSpec::Jobs { .. }
            | WorkloadSpec::Registered(_) => None,
        }
    }

    /// Whether the specification shows that each message starts at a time that does not depend on other messages or
    /// on computing. False for files and user-defined code, whatever their messages are.
    pub fn has_fixed_starts(&self) -> bool {
        match self {
            WorkloadSpec::Permutation { .. }
            | WorkloadSpec::Tornado { .. }
            | WorkloadSpec::Incast { .. }
            | WorkloadSpec::Messages { .. }
            | WorkloadSpec::Poisson { .. } => true,
            WorkloadSpec::Collective(_)
            | WorkloadSpec::Cm { .. }
            | WorkloadSpec::Ns3Flows { .. }
            | WorkloadSpec::Trace(_)
            | WorkloadSpec::Jobs { .. }
            | WorkloadSpec::Registered(_) => false,
        }
    }

    /// Whether the messages belong to jobs, which have their own completion times. False for a custom workload, even if
    /// it adds jobs.
    pub fn has_jobs(&self) -> bool {
        match self {
            WorkloadSpec::Collective(_) | WorkloadSpec::Trace(_) | WorkloadSpec::Jobs { .. } => true,
            WorkloadSpec::Permutation { .. }
            | WorkloadSpec::Tornado { .. }
            | WorkloadSpec::Incast { .. }
            | WorkloadSpec::Poisson { .. }
            | WorkloadSpec::Messages { .. }
            | WorkloadSpec::Cm { .. }
            | WorkloadSpec::Ns3Flows { .. }
            | WorkloadSpec::Registered(_) => false,
        }
    }

    /// The names of the parts of the workload that results distinguish. Empty if there is only one part.
    pub fn parts(&self) -> Vec<&'static str> {
        match self {
            WorkloadSpec::Poisson { incast: None, pipeline: None, .. } => Vec::new(),
            WorkloadSpec::Poisson { incast, pipeline, .. } => {
                let others = [incast.as_ref().map(|_| "incast"), pipeline.as_ref().map(|_| "pipeline")];
                ["background"].into_iter().chain(others.into_iter().flatten()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The path of the scenario's key that determines the length of a message, and the key's name if its value is a
    /// length. `group` is the name of the message's group, or empty.
    pub fn length_path(&self, message: usize, group: &str) -> (String, Option<&'static str>) {
        let bytes = |path: &str| (path.to_owned(), Some("bytes"));
        match self {
            WorkloadSpec::Permutation { .. }
            | WorkloadSpec::Tornado { .. }
            | WorkloadSpec::Incast { .. }
            | WorkloadSpec::Collective(_) => bytes("workload.bytes"),
            WorkloadSpec::Messages { .. } => bytes(&format!("workload.message.{message}.bytes")),
            WorkloadSpec::Poisson { .. } => match group {
                "incast" => bytes("workload.incast.bytes"),
                "pipeline" => bytes("workload.pipeline.bytes"),
                _ => ("workload.sizes".to_owned(), None),
            },
            WorkloadSpec::Cm { .. } | WorkloadSpec::Ns3Flows { .. } | WorkloadSpec::Trace(_) => {
                ("workload.file".to_owned(), None)
            }
            WorkloadSpec::Jobs { .. } => ("workload.job".to_owned(), None),
            WorkloadSpec::Registered(_) => ("workload.kind".to_owned(), None),
        }
    }

    /// The description of the workload in the title of a figure: `permutation of 8MiB from 64 of them`, where `them`
    /// are the fabric's hosts. `hosts` is the number of all hosts, if it is known. `is_swept` tells whether a path is
    /// swept. The description leaves out a length, a degree or an algorithm that is swept.
    pub fn describe(&self, hosts: Option<u32>, is_swept: &dyn Fn(&str) -> bool) -> String {
        let bytes = |bytes: &Bytes| match is_swept("workload.bytes") {
            true => String::new(),
            false => format!(" of {bytes}"),
        };
        let part = |senders: &u32| match hosts {
            Some(hosts) if *senders < hosts => format!(" from {senders} of them"),
            _ => String::new(),
        };
        match self {
            WorkloadSpec::Permutation { bytes: length, hosts, .. } => {
                format!("permutation{}{}", bytes(length), part(hosts))
            }
            WorkloadSpec::Tornado { bytes: length, senders } => {
                format!("tornado{}{}", bytes(length), part(senders))
            }
            WorkloadSpec::Incast { bytes: length, degree, .. } => {
                let degree = match is_swept("workload.degree") {
                    true => String::new(),
                    false => format!("{degree}:1 "),
                };
                format!("{degree}incast{}", bytes(length))
            }
            WorkloadSpec::Poisson { hosts, .. } => format!("{}{}", self.describe_arrivals(), part(hosts)),
            WorkloadSpec::Collective(spec) => {
                let algorithm = match is_swept("workload.algorithm") {
                    true => "collective",
                    false => spec.algorithm.name(),
                };
                let members = match &spec.members {
                    Members::Groups { groups } => counted(groups.len(), "job"),
                    Members::Placed { ranks, jobs, .. } => {
                        format!("{} of {ranks} ranks", counted(*jobs as usize, "job"))
                    }
                };
                format!("{algorithm}{}, {members}", bytes(&spec.bytes))
            }
            WorkloadSpec::Messages { message } => counted(message.len(), "message"),
            WorkloadSpec::Cm { file, .. } | WorkloadSpec::Ns3Flows { file, .. } => format!("flows of {file}"),
            WorkloadSpec::Trace(spec) => format!("the {} trace {}", spec.format.name(), spec.file),
            WorkloadSpec::Jobs { job } => counted(job.len(), "job"),
            WorkloadSpec::Registered(its) => its.name().to_owned(),
        }
    }

    /// The description of random arrivals: `websearch at 30% load for 5ms`.
    fn describe_arrivals(&self) -> String {
        let WorkloadSpec::Poisson { sizes, load, duration, inter, incast, pipeline, .. } = self else {
            return String::new();
        };
        let mut text = format!("{sizes} at {}% load", load * 100.0);
        if let Some(share) = inter {
            text.push_str(&format!(", {}% between data centres", share * 100.0));
        }
        if let Some(incast) = incast {
            text.push_str(&format!(" and {}:1 incasts at {}%", incast.degree, incast.load * 100.0));
        }
        if let Some(pipeline) = pipeline {
            text.push_str(&format!(" and a pipeline at {}%", pipeline.load * 100.0));
        }
        text + &format!(" for {duration}")
    }
}

/// A count with its word: `1 job`, `2 jobs`.
fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// A custom workload with its parameters.
pub type RegisteredWorkload = Registered<WorkloadFactory>;

/// A function that builds a workload for a fabric. It adds queue pairs, messages and gates to the builder, and takes
/// random numbers from the stream.
pub type WorkloadFactory =
    dyn Fn(&mut WorkloadBuilder, &Fabric, &Parameters, Stream) -> Result<(), Refused> + Send + Sync;

/// Incasts at random times in addition to a background, among the background's hosts and for its duration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IncastsSpec {
    /// The number of senders of an incast. They are distinct, and the receiver is not among them.
    pub degree: u32,
    /// The length of each sender's message.
    pub bytes: Bytes,
    /// The load of the incasts: the bytes of all incasts as a share of the capacity of the background's hosts. It is
    /// above 0.
    pub load: f64,
}

/// Pipeline parallelism across data centres. Every host is a stage, and the next stage is the host at the same position
/// in the next data centre. A stage sends the activations of each micro-batch to the next stage, at fixed intervals,
/// for the duration of the background.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PipelineSpec {
    /// The size of a micro-batch's activations, which are sent as one message.
    pub bytes: Bytes,
    /// The load of the pipeline: the bytes of its messages as a share of the capacity of all hosts. It is above 0.
    pub load: f64,
    /// Whether a stage sends all its messages on one persistent queue pair instead of one per message.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub persistent: bool,
}

/// A message from one host to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessageSpec {
    /// The sending host.
    pub from: HostId,
    /// The receiving host, which must differ from the sender.
    pub to: HostId,
    /// The length of the message.
    pub bytes: Bytes,
    /// The time at which the message is posted.
    pub start: Duration,
}
