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
        /// Whether this run has none of the scenario's faults: the runs of the same scheme, seed and sweep point (without
        /// swept faults) are compared with it. It has no rows of flows and jobs.
        #[column("", last)]
        pub baseline: bool,
        /// Messages of the workload.
        #[column("messages", digest)]
        pub flows: u64,
        /// Messages whose sender learnt of their delivery.
        #[column("messages", digest)]
        pub flows_finished: u64,
        /// Mean flow completion time.
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
        /// Largest FCT that a flow would have alone in the network.
        #[column("us", digest)]
        pub ideal_fct_max_us: f64,
        /// Mean slowdown (FCT over ideal FCT) of the flows that finished; 0 where none did, and in runs without a row
        /// for each flow.
        #[column("")]
        pub slowdown_mean: f64,
        /// Median slowdown, likewise.
        #[column("")]
        pub slowdown_p50: f64,
        /// 95th percentile of the slowdown, likewise.
        #[column("")]
        pub slowdown_p95: f64,
        /// 99th percentile of the slowdown, likewise.
        #[column("")]
        pub slowdown_p99: f64,
        /// Time from the first start to the last completion.
        #[column("us", digest)]
        pub completion_us: f64,
        /// Jobs of a collective workload.
        #[column("jobs", digest)]
        pub jobs: u64,
        /// Jobs of which every message finished.
        #[column("jobs")]
        pub jobs_finished: u64,
        /// Mean collective completion time of the jobs that finished; 0 where none did.
        #[column("us", digest)]
        pub cct_mean_us: f64,
        /// Largest collective completion time of the jobs that finished; 0 where none did.
        #[column("us", digest)]
        pub cct_max_us: f64,
        /// Lower bound of the CCT of the slowest job, given its messages, their order and the links; 0 without jobs.
        #[column("us")]
        pub ideal_cct_max_us: f64,
        /// Bytes of a collective over its CCT, of the finished job with the least bus bandwidth. None without collectives.
        #[column("GB/s", last)]
        pub algbw_gbytes_per_sec: Option<f64>,
        /// Its bus bandwidth: `algbw_gbytes_per_sec` by the factor of nccl-tests, which makes collectives of any number of ranks
        /// comparable with the rate of a rank's links: 2(n-1)/n for an AllReduce, (n-1)/n for AllGather, ReduceScatter and
        /// AllToAll, 1 for a Broadcast.
        #[column("GB/s", last)]
        pub busbw_gbytes_per_sec: Option<f64>,
        /// Time from the start of the first fault until smoothed goodput is back at 95 % of the baseline's at the same
        /// progress (as many bytes delivered), and stays there on average; 0
        /// where it never fell below. None where the run ended without having recovered, and without faults or a baseline.
        #[column("us", last)]
        pub time_to_recover_us: Option<f64>,
        /// 99th percentile, over the data packets that arrived at a port of a switch, of the bytes that waited there,
        /// rounded up by at most a sixteenth. Packets for which there was no room count too.
        #[column("bytes")]
        pub queue_p99_bytes: u64,
        /// Largest number of bytes that waited at one port of a switch.
        #[column("bytes")]
        pub peak_queue_bytes: u64,
        /// The link of that port; empty where nothing waited.
        #[column("")]
        pub peak_queue_link: String,
        /// Data packets dropped for lack of buffer.
        #[column("packets", digest)]
        pub drops: u64,
        /// Packets lost on links (down, lossy or corrupted) or in switches that went down.
        #[column("packets", digest)]
        pub link_losses: u64,
        /// Data packets that a switch trimmed to their header.
        #[column("packets", digest)]
        pub trims: u64,
        /// XOFF pause frames sent.
        #[column("frames", digest)]
        pub pause_frames: u64,
        /// Time for which the data class of a port was paused, summed over all ports.
        #[column("us", digest)]
        pub pause_us: f64,
        /// Data packets that left a queue with an ECN mark.
        #[column("packets", digest)]
        pub ecn_marks: u64,
        /// Data packets sent again.
        #[column("packets", digest)]
        pub retransmissions: u64,
        /// Timeouts that fired.
        #[column("timeouts", digest)]
        pub timeouts: u64,
        /// Packets sent over directed links: the unit of simulation work.
        #[column("packet-hops", digest)]
        pub packet_hops: u64,
        /// Simulated time at the end of the run.
        #[column("us", digest)]
        pub sim_time_us: f64,
        /// Wall-clock time; not part of the digest.
        #[column("s")]
        pub wall_s: f64,
        /// Numbers that a scheme or an abstract model adds, by name.
        pub extra: BTreeMap<String, f64>,
        /// The packets that each fault hit, in the order of the faults. Not part of the digest.
        pub faults: Vec<FaultRow>,
        /// Warnings about the meaning of this run: a fault that hit no packet, a curve without a point. Not part of the digest.
        pub warnings: Vec<RunWarning>,
        /// Digest of this run's totals, flows and jobs.
        #[column("", last)]
        pub digest: String,
    }
}

columns! {
    /// One fault of a run, and the packets that it hit.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub struct FaultRow {
        /// Its number in the scenario, from 0, as paths name it: `fault.0.at`.
        #[column("")]
        pub fault: u32,
        /// The kind of fault, as in the scenario: `link-down`.
        #[column("")]
        pub kind: String,
        /// The links or switches, as written in the scenario.
        #[column("")]
        pub on: String,
        /// The time of its first start.
        #[column("us")]
        pub at_us: f64,
        /// Packets lost on its links, or in a switch that went down.
        #[column("packets")]
        pub packets_lost: u64,
        /// Data packets that a switch dropped or trimmed because of it.
        #[column("packets")]
        pub packets_refused: u64,
        /// Packets sent at another rate because of it.
        #[column("packets")]
        pub packets_slowed: u64,
        /// Data packets among all of these, counted as often as above. The others are ACKs and the like, which later ones
        /// cover.
        #[column("packets")]
        pub data_packets: u64,
    }
}

impl FaultRow {
    /// Packets that it hit in any way.
    pub fn packets(&self) -> u64 {
        self.packets_lost + self.packets_refused + self.packets_slowed
    }
}

impl RunRow {
    /// The columns that are numbers, in the order of the fields.
    pub const FIELDS: [&'static str; count_numbers(Self::DECLARED)] = numbers(Self::DECLARED);

    /// The number called `name`: one of [`RunRow::FIELDS`], or else an extra one.
    ///
    /// None when there is no such number, and when this run did not reach it, whatever its field holds: an FCT or
    /// slowdown when no message finished, the completion time when one is missing, a CCT when a job is missing, an
    /// ideal CCT without jobs. A run of jobs has no slowdowns, as its messages have no rows.
    pub fn number(&self, name: &str) -> Option<f64> {
        if !Self::FIELDS.contains(&name) {
            return self.extra.get(name).copied();
        }
        let exists = match name {
            "fct_mean_us" | "fct_p50_us" | "fct_p99_us" | "fct_max_us" => self.flows_finished > 0,
            "slowdown_mean" | "slowdown_p50" | "slowdown_p95" | "slowdown_p99" => {
                self.flows_finished > 0 && self.jobs == 0
            }
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

    /// Sets the slowdowns from the run's flows.
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
    /// True or false.
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
        /// The number of its run.
        #[column("")]
        pub run: u32,
        /// The message's number.
        #[column("", digest)]
        pub flow: u32,
        /// Its queue pair.
        #[column("", digest)]
        pub qp: u32,
        /// Sending host.
        #[column("", digest)]
        pub src: u32,
        /// Receiving host.
        #[column("", digest)]
        pub dst: u32,
        /// Length.
        #[column("bytes", digest)]
        pub bytes: u64,
        /// Time at which it was posted; none if it never was.
        #[column("ps", digest)]
        pub start_ps: Option<u64>,
        /// Time from posting to the last byte's arrival at the receiver; none if it never arrived.
        #[column("ps", digest)]
        pub delivery_ps: Option<u64>,
        /// Time from posting to the acknowledgement of the last byte at the sender; none if it never came.
        #[column("ps", digest)]
        pub fct_ps: Option<u64>,
        /// The FCT of this message alone in the network.
        #[column("ps", digest)]
        pub ideal_fct_ps: u64,
        /// The part of the workload to which it belongs, such as `background` or `incast`; empty where there is one part.
        /// With several data centres, `intra` or `inter` says whether it stays in one, behind a `/` if there is a part:
        /// `background/inter`. Where some hosts have another load balancer than the rest, the last part is `mixed` for the
        /// messages that those send and `main` for the others.
        #[column("")]
        pub group: Cow<'static, str>,
        /// Data packets of the message without retransmissions; 0 in results of earlier builds.
        #[column("packets")]
        pub packets: u64,
        /// Data packets sent again. None where other messages share the queue pair, so that its packets cannot be
        /// attributed, and in results of earlier builds.
        #[column("packets")]
        pub retransmissions: Option<u32>,
        /// Timeouts that fired, likewise.
        #[column("timeouts")]
        pub timeouts: Option<u32>,
        /// Data packets with another entropy value than the one before, likewise: the number of times that the host changed
        /// the path. Choices of switches, such as adaptive routing, are not counted.
        #[column("packets")]
        pub path_changes: Option<u32>,
        /// Data packets, retransmissions among them, whose payload was lost, likewise: dropped, trimmed, or lost on a link.
        #[column("packets")]
        pub lost: Option<u32>,
    }
}

impl FlowRow {
    /// A [`FlowRow::group`] by its name, without an allocation where it is a group of a built-in workload.
    pub fn group_named(name: &str) -> Cow<'static, str> {
        group_named(name)
    }

    /// The FCT over the ideal one; none if it did not finish.
    pub fn slowdown(&self) -> Option<f64> {
        Some(self.fct_ps? as f64 / self.ideal_fct_ps.max(1) as f64)
    }

    /// Whether it is in the group `name`: the whole name of its group, or some of the parts between `/`. So `inter` is
    /// the traffic that crosses data centres, `background` a part of the workload, and `background/inter` both.
    pub fn in_group(&self, name: &str) -> bool {
        self.group == name || name.split('/').all(|word| self.group.split('/').any(|part| part == word))
    }

    /// Data packets sent again over the packets of the message: 1 when as many were sent again. None where
    /// [`FlowRow::retransmissions`] is.
    pub fn retransmitted_share(&self) -> Option<f64> {
        Some(f64::from(self.retransmissions?) / self.packets.max(1) as f64)
    }
}

columns! {
    /// One job of a run: a collective among its ranks.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub struct JobRow {
        /// The number of its run.
        #[column("")]
        pub run: u32,
        /// The job's number.
        #[column("", digest)]
        pub job: u32,
        /// The collective and its algorithm, under its name in scenarios: `allreduce-ring`, `alltoall`.
        #[column("", digest)]
        pub algorithm: String,
        /// Hosts that take part.
        #[column("hosts", digest)]
        pub ranks: u32,
        /// Bytes of the collective, as the scenario gives them.
        #[column("bytes", digest)]
        pub bytes: u64,
        /// Time at which its first message was posted.
        #[column("ps", digest)]
        pub start_ps: u64,
        /// Lower bound of the job's CCT, as `ideal_cct_max_us` of its run.
        #[column("ps")]
        pub ideal_cct_ps: u64,
        /// Collective completion time: from the job's first posting to its last acknowledgement; none if that never came.
        #[column("ps", digest)]
        pub cct_ps: Option<u64>,
        /// Bytes of the collective over its CCT; none for a job from a trace, and for one that did not finish.
        #[column("GB/s")]
        pub algbw_gbytes_per_sec: Option<f64>,
        /// Its bus bandwidth, as `busbw_gbytes_per_sec` of its run.
        #[column("GB/s")]
        pub busbw_gbytes_per_sec: Option<f64>,
    }
}

columns! {
    /// A rank of a job from a trace, or a collective in it: its computing time, and the time in which it does not compute.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub struct PartRow {
        /// The number of its run.
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
        /// The host of a rank; none for a collective.
        #[column("")]
        pub host: Option<u32>,
        /// The algorithm of a collective; empty for a rank.
        #[column("")]
        pub algorithm: String,
        /// The line or node of the trace that names a collective; none for a rank.
        #[column("")]
        pub place: Option<u64>,
        /// Ranks that take part; 1 for a rank.
        #[column("hosts")]
        pub ranks: u32,
        /// Bytes of a collective; 0 for a rank.
        #[column("bytes")]
        pub bytes: u64,
        /// Time at which it begins: for a rank its job, for a collective its first rank. None if it never did.
        #[column("ps")]
        pub start_ps: Option<u64>,
        /// Time at which it is over, at the last rank; none if it never was.
        #[column("ps")]
        pub end_ps: Option<u64>,
        /// Computing time of the rank; for a collective, that of the rank that computes least meanwhile.
        #[column("ps")]
        pub compute_ps: u64,
        /// Time in which the rank does not compute; for a collective, the largest of any rank from its own beginning to its
        /// own end.
        #[column("ps")]
        pub exposed_ps: u64,
    }
}

columns! {
    /// One point of a measured curve.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct SeriesRow {
        /// The number of its run.
        #[column("")]
        pub run: u32,
        /// The measured quantity, with its unit: `link_utilisation_gbps`, `queue_depth_bytes`.
        #[column("")]
        pub series: String,
        /// The place of the measurement: `tor:0/up:3`.
        #[column("")]
        pub entity: String,
        /// End of the interval that the value stands for.
        #[column("ps")]
        pub time_ps: u64,
        /// The value.
        #[column("")]
        pub value: f64,
    }
}

/// Points of one curve, in the order of the rows.
#[derive(Clone, Debug, PartialEq)]
pub struct CurvePoints {
    /// The place of the measurement: a link, a switch, a flow.
    pub entity: Arc<str>,
    /// Time in picoseconds, and the value.
    pub points: Vec<(u64, f64)>,
}

#[cfg(test)]
mod tests;
