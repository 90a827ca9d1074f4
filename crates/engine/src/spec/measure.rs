//! Curves over time: the measured quantity, and the measured entities.

use anabranch_base::Duration;
use anabranch_fabric::GroupBy;
use serde::{Deserialize, Serialize};

/// Curves of one quantity over time that a run records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasureSpec {
    /// The measured quantity.
    pub series: Series,
    /// The length of the interval that each point covers. It is 0 for a series with a point for each event.
    pub every: Duration,
    /// The links to measure, for a series of links, as a selector ([`anabranch_fabric::Selector`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links: Option<String>,
    /// Records a curve for each plane or rail of the links instead of one for each link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<GroupBy>,
    /// The switches to measure, for a series of switch programs, as a selector ([`anabranch_fabric::Selector`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switches: Option<String>,
    /// The queue pairs of the workload to measure, for a series of queue pairs: `"all"`, `"3"`, `"0-7"`, `"0,4,9-12"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qps: Option<String>,
    /// The value up to which points are left out (only for `queue-delay`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<Duration>,
}

impl MeasureSpec {
    /// The number of points of `curves` curves within `time`, as far as this is known in advance. Curves with a
    /// threshold and curves of events count as 0, since the number of their points depends on the run.
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
    /// The bits sent on the link in the interval divided by the length of the interval, in Gb/s.
    LinkUtilisation,
    /// The bytes that wait for the link at the end of the interval, in all queues of its port.
    QueueDepth,
    /// The time that the link takes to send the bytes that wait for it at the end of the interval, in microseconds.
    QueueDelay,
    /// The bits that arrived at a switch in the interval to be sent on the link, divided by the length of the interval,
    /// in Gb/s.
    ArrivalRate,
    /// The packets dropped in the interval, either before they could be sent on the link, or by a slow receiver at the
    /// end of the link. A trimmed packet is counted only if its header is dropped.
    Drops,
    /// The number of times in the interval that a data class of the link was paused (XOFF).
    Pauses,
    /// The time within the interval for which at least one data class of the link was paused, in microseconds.
    PauseTime,
    /// The victim flows of the pauses that began in the interval: queue pairs whose data was blocked at the paused
    /// port, although their port at the next switch was not paused and had no data queued.
    PauseVictims,
    /// The bytes that a switch's program holds outside the shared buffer at the end of the interval.
    #[serde(alias = "set-aside")]
    ProgramBuffer,
    /// The entries in the tables of a switch's program that follow queue pairs, at the end of the interval.
    TableEntries,
    /// The bits of data packets, headers included, that reached the receiver in the interval, divided by the length of
    /// the interval, in Gb/s.
    FlowThroughput,
    /// The round trip times that the sender measured, in microseconds, with a point for each acknowledgement.
    SenderRtt,
    /// The ECN marks that the sender saw, with a point for each acknowledgement: 1 if the packet was marked, otherwise
    /// 0.
    SenderEcn,
}

impl Series {
    /// The name of the series in scenarios.
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

    /// The name of the series' curves in results, with the unit.
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
