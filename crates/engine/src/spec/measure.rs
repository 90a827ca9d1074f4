//! Curves over time: what is measured, and where.

use anabranch_base::Duration;
use serde::{Deserialize, Serialize};

/// A curve to record over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasureSpec {
    /// The measured quantity.
    pub series: Series,
    /// The length of the interval of each point.
    pub every: Duration,
    /// The links of a series of links, as a selector ([`anabranch_fabric::Selector`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links: Option<String>,
    /// The switches of a series of programs, as a selector ([`anabranch_fabric::Selector`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switches: Option<String>,
    /// The queue pairs of the workload, of a series of queue pairs: `"all"`, `"3"`, `"0-7"`, `"0,4,9-12"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qps: Option<String>,
    /// Points at or below this are left out (only for `queue-delay`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<Duration>,
}

impl MeasureSpec {
    /// The number of points of `curves` curves within `time`, as far as it is known. Curves with a threshold or of events count
    /// as 0, since their points depend on the run.
    pub fn points(&self, curves: usize, time: Duration) -> f64 {
        match self.every {
            Duration::ZERO => 0.0,
            _ if self.above.is_some() => 0.0,
            every => curves as f64 * (time.0 as f64 / every.0 as f64),
        }
    }
}

/// The quantity that a curve shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Series {
    /// Bits sent in the interval over its length, in Gb/s.
    LinkUtilisation,
    /// Bytes waiting in the port's queues at the end of the interval.
    QueueDepth,
    /// The bytes waiting in the port's queues at the end of the interval, as the time that the link takes for them.
    QueueDelay,
    /// Bits that arrived at a switch in the interval to be sent on the link, over its length, in Gb/s.
    ArrivalRate,
    /// Packets dropped at the port in the interval; trimmed packets are not counted.
    Drops,
    /// XOFF events in the interval: the number of times that the link's data class was paused.
    Pauses,
    /// Time within the interval for which the link's data class was paused.
    PauseTime,
    /// Victim flows of PFC in the interval: queue pairs blocked at a paused port although their port at the next switch
    /// was free.
    PauseVictims,
    /// Bytes that a switch's program holds outside the shared buffer at the end of the interval.
    #[serde(alias = "set-aside")]
    ProgramBuffer,
    /// Entries at the end of the interval in those tables of a switch's program that follow queue pairs.
    TableEntries,
    /// Wire bits of data that reached the receiving end in the interval, over its length, in Gb/s.
    FlowThroughput,
    /// Round trips that the sender measured: a point for each acknowledgement.
    SenderRtt,
    /// 1 for each acknowledgement of a marked packet, 0 for the others.
    SenderEcn,
}

impl Series {
    /// The name in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Series::LinkUtilisation => "link-utilisation",
            Series::QueueDepth => "queue-depth",
            Series::QueueDelay => "queue-delay",
            Series::ArrivalRate => "arrival-rate",
            Series::Drops => "drops",
            Series::Pauses => "pauses",
            Series::PauseTime => "pause-time",
            Series::PauseVictims => "pause-victims",
            Series::ProgramBuffer => "program-buffer",
            Series::TableEntries => "table-entries",
            Series::FlowThroughput => "flow-throughput",
            Series::SenderRtt => "sender-rtt",
            Series::SenderEcn => "sender-ecn",
        }
    }

    /// The name of its curves in results, with their unit.
    pub fn column(self) -> &'static str {
        match self {
            Series::LinkUtilisation => "link_utilisation_gbps",
            Series::QueueDepth => "queue_depth_bytes",
            Series::QueueDelay => "queue_delay_us",
            Series::ArrivalRate => "arrival_rate_gbps",
            Series::Drops => "drops",
            Series::Pauses => "pauses",
            Series::PauseTime => "pause_time_us",
            Series::PauseVictims => "pause_victims",
            Series::ProgramBuffer => "set_aside_bytes",
            Series::TableEntries => "table_entries",
            Series::FlowThroughput => "flow_throughput_gbps",
            Series::SenderRtt => "sender_rtt_us",
            Series::SenderEcn => "sender_ecn",
        }
    }
}
