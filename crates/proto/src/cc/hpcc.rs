//! HPCC (SIGCOMM 2019, section 3.2, Algorithm 1): a window from in-network telemetry.
//!
//! A sender gets reports of each egress port on the path. From two successive reports, it computes the bytes in flight
//! of all flows over the link. U is the ratio of these bytes to the link's capacity in a base RTT. At every ACK (fast
//! reaction), the sender sets its window such that U of the busiest link approaches `eta`. The window is always
//! computed from a reference window that changes once per round trip, so that the sender does not react to the same
//! queue twice.
//!
//! Choices where the paper is silent:
//!
//! - The first report is only stored, since a rate can be computed only from two reports.
//! - U is 1 before the first measurement, as in the simulator published with the paper.
//! - The window never exceeds its initial value, which is the line rate times the base RTT. The simulator bounds the
//!   rate instead. The simulator also has a lowest rate. It is left out here, since the additive increase per round
//!   trip (`rate_ai`) keeps the window above 0.
//! - A report that is not newer than the last one is ignored.
//! - Losses, marks, CNPs and NACKs do not change the window.
//!
//! # Fairness
//!
//! Flows that share a bottleneck drift apart if `rate_ai` is small compared to one packet per round trip. A paced flow
//! finds packets of other flows in the queue and hardly any of its own. A flow with a larger share of the link
//! therefore measures a shorter queue and a smaller U. This advantage of a larger flow nearly cancels the advantage
//! that `rate_ai` gives to a smaller flow. The remaining difference is less than the error of U.
//!
//! The drift follows from Algorithm 1. A model that consists only of the published simulator's rules has a Jain's
//! index of 0.77 to 0.92 in an 8:1 incast. This code has an index of 0.83 to 0.89. Without the queue in U, both have
//! an index of 0.99. Jitter, deviating clocks and the order of arrivals do not change the index.
//!
//! Eight flows keep equal shares if their increases together exceed about half a packet per round trip. This is so
//! with a `rate_ai` four times as large as in the published scripts, or with packets of 250 B.

use super::interface::{CcProperties, CongestionControl, TelemetryReport, Windows};
use super::{AnyCc, CcWants};
use crate::relative::SPAN_FORMS;
use crate::{IntHop, IntStack, Pace, PathFacts, Span};
use anabranch_base::{AboveZero, Duration, Ranged, Rate, Stream, Time, parameter_quantities, parameters};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

parameters! {
    /// Parameters of HPCC (section 3.3).
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct HpccConfig {
        /// Target utilisation of the bottleneck link (eta).
        #[param(0.01..=1.0; example = 0.95; source = "HPCC (SIGCOMM 2019), section 3.3")]
        pub eta: f64,
        /// Consecutive RTTs of additive increase before a multiplicative one (maxStage). With 0, there are none.
        #[param(any; example = 5; source = "HPCC (SIGCOMM 2019), section 3.3; 0 in the scripts published with it")]
        pub max_stage: u32,
        /// Additive increase per RTT, as a rate (W_AI / T).
        #[param(AboveZero; example = "0.0004line";
            source = "the scripts published with HPCC: 10 Mb/s per 25 Gb/s of line rate")]
        pub rate_ai: Pace,
        /// Round trip of an idle path (T).
        #[param(AboveZero; example = "path";
            source = "HPCC (SIGCOMM 2019), section 3.2, has one for the whole network")]
        pub base_rtt: BaseRtt,
    }
}

/// The base RTT of HPCC: the round trip of an idle path (T).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BaseRtt {
    /// The base RTT of the queue pair's own path (`"path"`).
    Path,
    /// One value for all queue pairs: a time (`"13us"`) or a multiple of the base RTT of the fabric's longest path
    /// (`"1rtt"`).
    Fabric(Span),
}

/// A window and a rate, controlled by in-network telemetry.
#[derive(Clone, Debug)]
pub struct Hpcc {
    /// The window in bytes (W).
    window: f64,
    /// The rate R = W / T, in bits per second.
    rate: Rate,
    /// The reference window in bytes, from which all reactions within a round trip start (Wc).
    reference: f64,
    /// Bytes in flight on the busiest link as a share of its capacity in a base RTT, smoothed (U).
    u: f64,
    /// Number of consecutive round trips of additive increase (incStage).
    inc_stage: u32,
    max_stage: u32,
    /// The PSN that the sender was about to send when `reference` last changed, or when the first report arrived
    /// (lastUpdateSeq).
    last_update: u32,
    eta: f64,
    /// Additive increase in bytes (W_AI).
    increase: f64,
    /// Base RTT in picoseconds (T).
    base_rtt: f64,
    line_rate: Rate,
    /// The largest window in bytes: the line rate times the base RTT.
    most: f64,
    /// The last report (L). It has no hops before the first report arrives.
    last: IntStack,
}

impl Hpcc {
    /// A sender at line rate. With [`BaseRtt::Path`], `facts` must describe the queue pair's own path.
    pub fn new(config: &HpccConfig, facts: &PathFacts) -> Self {
        let base_rtt = match config.base_rtt {
            BaseRtt::Path => facts.base_rtt,
            BaseRtt::Fabric(span) => span.on(facts),
        };
        let base_rtt = base_rtt.max(Duration(1)).0 as f64;
        let in_base_rtt = |rate: Rate| rate.0 as f64 * base_rtt / BITS_A_BYTE_AND_PS_A_SECOND;
        let most = in_base_rtt(facts.line_rate);
        Hpcc {
            // HPCC, section 3.2: a flow starts at line rate, W_init = B_NIC * T.
            window: most,
            rate: facts.line_rate,
            reference: most,
            u: 1.0,
            inc_stage: 0,
            max_stage: config.max_stage,
            last_update: 0,
            eta: config.eta,
            increase: in_base_rtt(config.rate_ai.on(facts)),
            base_rtt,
            line_rate: facts.line_rate,
            most,
            last: IntStack::EMPTY,
        }
    }

    /// The reference window in bytes (Wc).
    pub fn reference(&self) -> f64 {
        self.reference
    }

    /// The smoothed utilisation of the busiest link (U).
    pub fn utilisation(&self) -> f64 {
        self.u
    }

    /// Round trips of additive increase since the last multiplicative change (incStage).
    pub fn inc_stage(&self) -> u32 {
        self.inc_stage
    }
}

impl CcProperties for HpccConfig {
    fn build_with_stream(&self, facts: &PathFacts, _random: Stream) -> AnyCc {
        AnyCc::Hpcc(Box::new(Hpcc::new(self, facts)))
    }

    fn windows(&self) -> Windows {
        Windows::Own
    }

    fn reacts_to_ecn(&self) -> bool {
        false
    }

    fn wants(&self) -> CcWants {
        CcWants { telemetry: true, own_path: self.base_rtt == BaseRtt::Path }
    }
}

impl CongestionControl for Hpcc {
    #[inline]
    fn window(&self) -> u64 {
        self.window as u64
    }

    #[inline]
    fn rate(&mut self, _now: Time) -> Option<Rate> {
        Some(self.rate)
    }

    /// HPCC, Algorithm 1, NewAck.
    fn handle_telemetry(&mut self, report: &TelemetryReport<'_>) {
        if !report.stack.same_path(&self.last) {
            if self.last.hops().is_empty() {
                self.last_update = report.next.max(report.acked);
            }
            // By HPCC, section 4.1, reports of different paths are not comparable.
            self.last = *report.stack;
            return;
        }
        let mut hops = report.stack.hops().iter().zip(self.last.hops());
        if hops.len() == 0 || hops.any(|(hop, last)| hop.at <= last.at) {
            return;
        }
        self.measure_inflight(report.stack);
        let update = report.acked > self.last_update;
        self.compute_wind(update);
        if update {
            // After a go-back-N restart, more may be acknowledged than was retransmitted.
            self.last_update = report.next.max(report.acked);
        }
        self.last = *report.stack;
    }
}

impl Hpcc {
    /// HPCC, Algorithm 1, MeasureInflight: averages the share of the busiest link into U. The weight of the new share
    /// is the time between the two reports divided by the base RTT, at most 1.
    fn measure_inflight(&mut self, stack: &IntStack) {
        let (mut busiest, mut watched) = (0.0, 0.0);
        for (hop, last) in stack.hops().iter().zip(self.last.hops()) {
            let share = self.share(hop, last);
            if share > busiest {
                busiest = share;
                watched = since(hop.at, last.at);
            }
        }
        let weight = watched.min(self.base_rtt) / self.base_rtt;
        self.u = (1.0 - weight) * self.u + weight * busiest;
    }

    /// HPCC, section 3.2: the bytes in flight over a link, divided by the link's capacity in a base RTT. The bytes in
    /// flight are the queue plus the transmission rate times a base RTT. The smaller of the two reported queue lengths
    /// is used, so that transient queues do not count.
    fn share(&self, hop: &IntHop, last: &IntHop) -> f64 {
        let holds = hop.rate.0 as f64 * self.base_rtt / BITS_A_BYTE_AND_PS_A_SECOND;
        let queue = f64::from(hop.queue_bytes.min(last.queue_bytes));
        let sent = hop.tx_bytes.saturating_sub(last.tx_bytes) as f64;
        let tx_rate = sent * BITS_A_BYTE_AND_PS_A_SECOND / since(hop.at, last.at);
        queue / holds + tx_rate / hop.rate.0 as f64
    }

    /// HPCC, Algorithm 1, ComputeWind.
    fn compute_wind(&mut self, update: bool) {
        let multiplies = self.u >= self.eta || self.inc_stage >= self.max_stage;
        let window = match multiplies {
            true => self.reference / (self.u / self.eta) + self.increase,
            false => self.reference + self.increase,
        };
        self.window = window.min(self.most);
        let rate = self.window * BITS_A_BYTE_AND_PS_A_SECOND / self.base_rtt;
        self.rate = Rate(rate as u64).min(self.line_rate);
        if update {
            self.inc_stage = if multiplies { 0 } else { self.inc_stage + 1 };
            self.reference = self.window;
        }
    }
}

const BITS_A_BYTE_AND_PS_A_SECOND: f64 = 8e12;

fn since(now: Time, earlier: Time) -> f64 {
    now.since(earlier).0 as f64
}

impl FromStr for BaseRtt {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "path" {
            return Ok(BaseRtt::Path);
        }
        text.parse().map(BaseRtt::Fabric).map_err(|e| format!("{e}, and so does \"path\""))
    }
}

impl fmt::Display for BaseRtt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BaseRtt::Path => f.write_str("path"),
            BaseRtt::Fabric(span) => span.fmt(f),
        }
    }
}

parameter_quantities!(
    BaseRtt: "a time or path", in "time, rtt or path",
    as &[SPAN_FORMS[0], SPAN_FORMS[1], SPAN_FORMS[2], "path"]
);

impl PartialOrd for BaseRtt {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (BaseRtt::Fabric(one), BaseRtt::Fabric(other)) => one.partial_cmp(other),
            _ => None,
        }
    }
}

impl Ranged for BaseRtt {
    fn is_above_zero(&self) -> bool {
        match self {
            BaseRtt::Path => true,
            BaseRtt::Fabric(span) => span.is_above_zero(),
        }
    }
}

impl Serialize for BaseRtt {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{self:#}"))
    }
}

impl<'de> Deserialize<'de> for BaseRtt {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}
