//! The rows of the tables of results.

use crate::declared::{Columns, count_numbers, group_named, numbers};
use crate::row_macro::columns;
use crate::{RunWarning, Statistic};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

columns! {
    /// One run: its keys and its totals.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub struct RunRow {
        /// The scheme.
        #[column("", key, digest)]
        pub scheme: String,
        /// The seed.
        #[column("", key, digest)]
        pub seed: u64,
        /// The swept parameters of this run.
        pub sweep: BTreeMap<String, Value>,
        /// Whether this run is a baseline, which has none of the scenario's faults. Runs of the same scheme, seed and
        /// sweep point, apart from swept faults, are compared with their baseline. A baseline has no rows of flows,
        /// jobs and parts.
        #[column("", last)]
        pub baseline: bool,
        /// Messages of the workload.
        #[column("messages", digest)]
        pub flows: u64,
        /// Messages whose delivery was acknowledged to the sender.
        #[column("messages", digest)]
        pub flows_finished: u64,
        /// Mean flow completion time. With several traffic classes, this time, the percentiles, the maximum and the
        /// slowdowns are those of the first class.
        #[column("us", digest)]
        pub fct_mean_us: f64,
        /// Median flow completion time.
        #[column("us", digest)]
        pub fct_p50_us: f64,
        /// 99th percentile of the flow completion time.
        #[column("us", digest)]
        pub fct_p99_us: f64,
        /// Largest flow completion time.
        #[column("us", digest)]
        pub fct_max_us: f64,
        /// Largest FCT that a flow would have alone in the network. With several traffic classes, a flow of the first
        /// class.
        #[column("us", digest)]
        pub ideal_fct_max_us: f64,
        /// Mean slowdown (FCT over ideal FCT) of the flows that have a row and finished. It is 0 if there are none.
        #[column("")]
        pub slowdown_mean: f64,
        /// Median slowdown, with the same exceptions as the mean.
        #[column("")]
        pub slowdown_p50: f64,
        /// 95th percentile of the slowdown, with the same exceptions as the mean.
        #[column("")]
        pub slowdown_p95: f64,
        /// 99th percentile of the slowdown, with the same exceptions as the mean.
        #[column("")]
        pub slowdown_p99: f64,
        /// Time from the first start of a message, a computation or a transfer over NVLink to the last completion.
        #[column("us", digest)]
        pub completion_us: f64,
        /// Jobs of the workload: collectives, or jobs from traces.
        #[column("jobs", digest)]
        pub jobs: u64,
        /// Jobs of which all messages, computations and transfers over NVLink finished.
        #[column("jobs")]
        pub jobs_finished: u64,
        /// Mean collective completion time of the jobs that finished. It is 0 if no job finished.
        #[column("us", digest)]
        pub cct_mean_us: f64,
        /// Largest collective completion time of the jobs that finished. It is 0 if no job finished.
        #[column("us", digest)]
        pub cct_max_us: f64,
        /// Lower bound of the CCT of the slowest job, given its messages, their order and the links. It is 0 without
        /// jobs.
        #[column("us")]
        pub ideal_cct_max_us: f64,
        /// Bytes of a collective divided by its CCT, for the finished job with the smallest bus bandwidth. None if no
        /// collective finished.
        #[column("GB/s", last)]
        pub algbw_gbytes_per_sec: Option<f64>,
        /// Bus bandwidth of the same job: `algbw_gbytes_per_sec` times a factor of nccl-tests, so that collectives of
        /// any number of ranks are comparable with the rate of a rank's links. For n ranks, the factor is 2(n-1)/n for
        /// an AllReduce, (n-1)/n for AllGather, ReduceScatter and AllToAll, and 1 for Broadcast and SendRecv.
        #[column("GB/s", last)]
        pub busbw_gbytes_per_sec: Option<f64>,
        /// Time from the start of the first fault until smoothed goodput is back at 95 % of the baseline's goodput at
        /// the same progress (the same number of delivered bytes), and stays there on average. It is 0 if all bytes
        /// arrived and goodput never fell below 95 %. None if the run ended without having recovered, has no faults
        /// other than failures at random times, or has no baseline.
        #[column("us", last)]
        pub time_to_recover_us: Option<f64>,
        /// 99th percentile of the number of bytes that waited at a port of a switch when a data packet arrived there.
        /// The number is rounded up by at most a sixteenth. Packets that found no room are counted too.
        #[column("bytes")]
        pub queue_p99_bytes: u64,
        /// Largest number of bytes that waited at one port of a switch.
        #[column("bytes")]
        pub peak_queue_bytes: u64,
        /// The link of the port with the largest number of waiting bytes. It is empty if no bytes waited.
        #[column("")]
        pub peak_queue_link: String,
        /// Packets dropped for lack of buffer, by a fault of a switch, by a slow receiver or by a PFC watchdog.
        #[column("packets", digest)]
        pub drops: u64,
        /// Packets lost on links (down, lossy or with bit errors), in switches that went down or for lack of a route.
        #[column("packets", digest)]
        pub link_losses: u64,
        /// Data packets that a switch trimmed to their header.
        #[column("packets", digest)]
        pub trims: u64,
        /// XOFF pause frames sent.
        #[column("frames", digest)]
        pub pause_frames: u64,
        /// Time during which a data class of a port was paused, summed over all ports and data classes.
        #[column("us", digest)]
        pub pause_us: f64,
        /// ECN marks of data packets. A packet that is marked at several ports counts several times.
        #[column("packets", digest)]
        pub ecn_marks: u64,
        /// Retransmitted data packets.
        #[column("packets", digest)]
        pub retransmissions: u64,
        /// Timeouts that fired.
        #[column("timeouts", digest)]
        pub timeouts: u64,
        /// Packets sent over directed links, counted once per link. It is the unit of simulation work.
        #[column("packet-hops", digest)]
        pub packet_hops: u64,
        /// Simulated time at the end of the run. If all messages finished, it is the time of the last acknowledgement,
        /// computation or transfer over NVLink.
        #[column("us", digest)]
        pub sim_time_us: f64,
        /// Wall-clock time. It is not part of the digest.
        #[column("s")]
        pub wall_s: f64,
        /// Numbers that only some runs have, by name, such as those of a scheme or an abstract model.
        pub extra: BTreeMap<String, f64>,
        /// The packets that each fault affected, in the order of the faults. They are not part of the digest.
        pub faults: Vec<FaultRow>,
        /// Warnings about the meaning of this run, for example about a fault that affected no packet or a curve without
        /// a point above 0. They are not part of the digest.
        pub warnings: Vec<RunWarning>,
        /// Digest of this run's totals, flows and jobs.
        #[column("", last)]
        pub digest: String,
    }
}

columns! {
    /// One fault of a run, and the packets that it affected.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub struct FaultRow {
        /// The number of the fault in the scenario, from 0, as in paths: `fault.0.at`.
        #[column("")]
        pub fault: u32,
        /// The kind of the fault, as in the scenario: `link-down`.
        #[column("")]
        pub kind: String,
        /// The links, switches or hosts of the fault, as written in the scenario.
        #[column("")]
        pub on: String,
        /// The time at which the fault starts for the first time, or the run's time limit if its random failures never
        /// begin.
        #[column("us")]
        pub at_us: f64,
        /// Packets lost on the links of the fault, or in a switch that went down.
        #[column("packets")]
        pub packets_lost: u64,
        /// Data packets that were dropped or trimmed because of the fault, by a switch, a slow receiver or a PFC
        /// watchdog.
        #[column("packets")]
        pub packets_refused: u64,
        /// Packets sent at another rate because of the fault, and data packets that waited for a slow receiver or for a
        /// port that the fault paused.
        #[column("packets")]
        pub packets_slowed: u64,
        /// Data packets among the packets above, counted in the same way. The others are control packets such as ACKs.
        /// A later ACK can replace a lost ACK.
        #[column("packets")]
        pub data_packets: u64,
    }
}

impl FaultRow {
    /// The number of packets that the fault affected in any way.
    pub fn packets(&self) -> u64 {
        self.packets_lost + self.packets_refused + self.packets_slowed
    }
}

impl RunRow {
    /// The columns that hold numbers, except the seed, in the order of the fields.
    pub const FIELDS: [&'static str; count_numbers(Self::DECLARED)] = numbers(Self::DECLARED);

    /// The number called `name`: one of [`RunRow::FIELDS`], or else an extra number.
    ///
    /// It is `None` if the run has no such number. Whatever value the field holds, it is also `None` in these cases:
    /// - an FCT, if no message of the class that it covers finished;
    /// - the completion time, unless there are messages and all of them finished;
    /// - a CCT, unless there are jobs and all of them finished;
    /// - the ideal CCT, if there are no jobs or it is 0;
    /// - a slowdown, if the mean slowdown is 0, because then no flow with a row finished.
    pub fn number(&self, name: &str) -> Option<f64> {
        if !Self::FIELDS.contains(&name) {
            return self.extra.get(name).copied();
        }
        let exists = match name {
            "fct_mean_us" | "fct_p50_us" | "fct_p99_us" | "fct_max_us" => {
                self.flows_finished > 0 && self.fct_max_us > 0.0
            }
            "slowdown_mean" | "slowdown_p50" | "slowdown_p95" | "slowdown_p99" => self.slowdown_mean > 0.0,
            "completion_us" => 0 < self.flows && self.flows <= self.flows_finished,
            "cct_mean_us" | "cct_max_us" => 0 < self.jobs && self.jobs <= self.jobs_finished,
            "ideal_cct_max_us" => 0 < self.jobs && self.ideal_cct_max_us > 0.0,
            _ => true,
        };
        let mut number = None;
        self.visit(&mut |column, cell| {
            if column.name == name {
                number = cell.number();
            }
        });
        number.filter(|_| exists)
    }

    /// Sets the slowdowns of the run from `flows`.
    pub fn set_slowdowns<'a>(&mut self, flows: impl Iterator<Item = &'a FlowRow>) {
        let mut slowdowns: Vec<f64> = flows.filter_map(FlowRow::slowdown).collect();
        let mean = Statistic::Mean.of(&slowdowns);
        slowdowns.sort_unstable_by(f64::total_cmp);
        let percentile = |percent| Statistic::percentile(percent, &slowdowns).unwrap_or(0.0);
        self.slowdown_mean = mean.unwrap_or(0.0);
        self.slowdown_p50 = percentile(50.0);
        self.slowdown_p95 = percentile(95.0);
        self.slowdown_p99 = percentile(99.0);
    }
}

/// The value of a swept parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A boolean.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// Any other number.
    Number(f64),
    /// Text, such as a size with its unit.
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bool(value) => write!(f, "{value}"),
            Value::Integer(value) => write!(f, "{value}"),
            Value::Number(value) => write!(f, "{value}"),
            Value::Text(value) => f.write_str(value),
        }
    }
}

columns! {
    /// One message of one run.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub struct FlowRow {
        /// The number of the run.
        #[column("")]
        pub run: u32,
        /// The message's number.
        #[column("", digest)]
        pub flow: u32,
        /// The queue pair of the message.
        #[column("", digest)]
        pub qp: u32,
        /// Sending host.
        #[column("", digest)]
        pub src: u32,
        /// Receiving host.
        #[column("", digest)]
        pub dst: u32,
        /// Length of the message.
        #[column("bytes", digest)]
        pub bytes: u64,
        /// Time at which the message was posted. None if it was never posted.
        #[column("ps", digest)]
        pub start_ps: Option<u64>,
        /// Time from posting to the last byte's arrival at the receiver. None if it never arrived.
        #[column("ps", digest)]
        pub delivery_ps: Option<u64>,
        /// Time from posting to the arrival of the last byte's acknowledgement at the sender. None if it never arrived.
        #[column("ps", digest)]
        pub fct_ps: Option<u64>,
        /// The FCT that the message would have if it were alone in the network.
        #[column("ps", digest)]
        pub ideal_fct_ps: u64,
        /// The group of the message: up to four words with `/` between them, such as `background/inter`, or empty. With
        /// several traffic classes, the first word is the class. If the workload has several parts, the next word is the
        /// part, such as `background` or `incast`. With several data centres, the next word is `intra` if the message
        /// stays in one data centre, otherwise `inter`. If some hosts have another load balancer than the rest, the last
        /// word is `mixed` for the messages that these hosts send and `main` for the others.
        #[column("")]
        pub group: Cow<'static, str>,
        /// Data packets of the message without retransmissions.
        #[column("packets")]
        pub packets: u64,
        /// Retransmitted data packets of the message. None if other messages share the queue pair, because the packets
        /// of a shared queue pair cannot be attributed to one message.
        #[column("packets")]
        pub retransmissions: Option<u32>,
        /// Timeouts that fired for the message. None under the same conditions as `retransmissions`.
        #[column("timeouts")]
        pub timeouts: Option<u32>,
        /// Data packets whose entropy value differs from the previous packet's entropy value. This is the number of
        /// times that the host changed the path. Path choices of switches, such as adaptive routing, are not counted.
        /// None under the same conditions as `retransmissions`.
        #[column("packets")]
        pub path_changes: Option<u32>,
        /// Data packets, including retransmissions, whose payload was lost: dropped, trimmed, or lost on a link. None
        /// under the same conditions as `retransmissions`.
        #[column("packets")]
        pub lost: Option<u32>,
    }
}

impl FlowRow {
    /// The [`FlowRow::group`] with this name. It needs no allocation for the most frequent groups.
    pub fn group_named(name: &str) -> Cow<'static, str> {
        group_named(name)
    }

    /// The FCT divided by the ideal FCT, or `None` if the message did not finish.
    pub fn slowdown(&self) -> Option<f64> {
        Some(self.fct_ps? as f64 / self.ideal_fct_ps.max(1) as f64)
    }

    /// Whether the message is in the group `name`, which is either the full name of its group or some of the components
    /// between `/`. For example, `inter` is the traffic that crosses data centres, `background` is a part of the
    /// workload, and `background/inter` is both.
    pub fn in_group(&self, name: &str) -> bool {
        self.group == name || name.split('/').all(|word| self.group.split('/').any(|part| part == word))
    }

    /// The number of retransmitted data packets divided by the number of packets of the message, or `None` if
    /// [`FlowRow::retransmissions`] is `None`.
    pub fn retransmitted_share(&self) -> Option<f64> {
        Some(f64::from(self.retransmissions?) / self.packets.max(1) as f64)
    }
}

columns! {
    /// One job of a run: a collective among its ranks, or a job from a trace.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub struct JobRow {
        /// The number of the run.
        #[column("")]
        pub run: u32,
        /// The job's number.
        #[column("", digest)]
        pub job: u32,
        /// The collective and its algorithm, as scenarios name them: `allreduce-ring`, `alltoall`. If NCCL's model
        /// chose the algorithm, a colon and the model's choice follow. For a job from a trace, this is the format of
        /// the trace.
        #[column("", digest)]
        pub algorithm: String,
        /// Ranks that take part.
        #[column("ranks", digest)]
        pub ranks: u32,
        /// Bytes of the collective, as the scenario states them, or of all network messages of a job from a trace.
        #[column("bytes", digest)]
        pub bytes: u64,
        /// Time at which the job begins: its first message is posted, or its first computation or transfer over
        /// NVLink begins.
        #[column("ps", digest)]
        pub start_ps: u64,
        /// Lower bound of the job's CCT, computed like `ideal_cct_max_us` of the run.
        #[column("ps")]
        pub ideal_cct_ps: u64,
        /// Collective completion time: from the beginning of the job to the end of its last message (the
        /// acknowledgement), computation or transfer over NVLink. None if one of these did not end.
        #[column("ps", digest)]
        pub cct_ps: Option<u64>,
        /// Bytes of the collective divided by its CCT. None for a job from a trace, and for a job that did not finish.
        #[column("GB/s")]
        pub algbw_gbytes_per_sec: Option<f64>,
        /// Bus bandwidth of the job, computed like `busbw_gbytes_per_sec` of the run.
        #[column("GB/s")]
        pub busbw_gbytes_per_sec: Option<f64>,
    }
}

columns! {
    /// A rank of a job that has steps, or a collective of a job from a trace. The row has the computing time and the
    /// time without computation. Jobs from traces and jobs with transfers over NVLink have steps.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub struct PartRow {
        /// The number of the run.
        #[column("")]
        pub run: u32,
        /// The job's number.
        #[column("")]
        pub job: u32,
        /// `rank` or `collective`.
        #[column("")]
        pub part: String,
        /// The rank, or the number of the collective in the order of the trace.
        #[column("")]
        pub number: u32,
        /// The host of a rank. None for a collective.
        #[column("")]
        pub host: Option<u32>,
        /// The algorithm of a collective. It is empty for a rank.
        #[column("")]
        pub algorithm: String,
        /// The line or the node of the trace that contains a collective. None for a rank.
        #[column("")]
        pub place: Option<u64>,
        /// The number of ranks that take part. It is 1 for a rank.
        #[column("ranks")]
        pub ranks: u32,
        /// Bytes of a collective. It is 0 for a rank.
        #[column("bytes")]
        pub bytes: u64,
        /// Time at which the rank's job begins, or at which the first rank begins the collective. None for a collective
        /// that never began.
        #[column("ps")]
        pub start_ps: Option<u64>,
        /// Time at which the rank's job, or the last rank of the collective, is done. None if it never was.
        #[column("ps")]
        pub end_ps: Option<u64>,
        /// Computing time of the rank. For a collective, each rank has a computing time between its own start and its
        /// own end of the collective, and this is the smallest of these times.
        #[column("ps")]
        pub compute_ps: u64,
        /// Time during which the rank does not compute. For a collective, each rank has such a time between its own
        /// start and its own end of the collective, and this is the largest of these times.
        #[column("ps")]
        pub exposed_ps: u64,
    }
}

columns! {
    /// One point of a measured curve.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct SeriesRow {
        /// The number of the run.
        #[column("")]
        pub run: u32,
        /// The measured quantity, with its unit: `link_utilisation_gbps`, `queue_depth_bytes`.
        #[column("")]
        pub series: String,
        /// The place of the measurement: `tor:0/up:3`.
        #[column("")]
        pub entity: String,
        /// Time of the point: the end of the interval to which the value applies, or the time of an event.
        #[column("ps")]
        pub time_ps: u64,
        /// The value.
        #[column("")]
        pub value: f64,
    }
}

/// Points of one curve, in the order of their rows.
#[derive(Clone, Debug, PartialEq)]
pub struct CurvePoints {
    /// The place of the measurement: a link, a switch, a flow.
    pub entity: Arc<str>,
    /// Time in picoseconds, and the value.
    pub points: Vec<(u64, f64)>,
}

#[cfg(test)]
mod tests;
