//! STrack's congestion control (STrack, section 3.2, Algorithms 1, 2 and 4, Table 1).
//!
//! The window is counted in packets, since the terms of the pseudocode have the same unit only then. `window` returns
//! it in bytes. All steps are taken once per ACK, even if the ACK acknowledges several packets. A loss does not change
//! the window. In the paper, a loss only causes a retransmission, which waits for the window.

use super::AnyCc;
use super::interface::{AckReport, CcProperties, CongestionControl, Windows};
use crate::{PathFacts, Size, Span};
use anabranch_base::{AboveZero, Duration, Rate, Stream, Time, parameters};
use serde::{Deserialize, Serialize};

parameters! {
    /// Parameters of STrack's congestion control (Table 1).
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct StrackCcConfig {
        /// Window at the start.
        #[param(AboveZero; example = "1bdp"; source = "unspecified; the largest")]
        pub initial_window: Size,
        /// Largest window (max_cwnd).
        #[param(AboveZero; example = "1bdp"; source = "STrack, section 3, scenario 1")]
        pub max_window: Size,
        /// Queueing delay to which the window converges (target_Qdelay).
        #[param(AboveZero; example = "1rtt"; source = "STrack, Table 1")]
        pub target_qdelay: Span,
        /// Upper threshold of the queueing delay (target_Qhigh). Above the threshold, an unmarked ACK increases the
        /// window, and a marked ACK may set the window to the bytes delivered in a period.
        #[param(AboveZero; example = "3rtt"; source = "STrack, Table 1")]
        pub target_qhigh: Span,
        /// Weight of a sample in the average delay (ewma).
        #[param(0.0..=1.0; example = 0.125; source = "STrack, Table 1")]
        pub ewma: f64,
        /// Additive increase in packets, before scaling (beta = this * bdp_sf).
        #[param(0.0..; example = 5.0; source = "STrack, Table 1")]
        pub beta: f64,
        /// Increase for fairness in packets, before scaling (eta = this * bdp_sf).
        #[param(0.0..; example = 0.15; source = "STrack, Table 1")]
        pub eta: f64,
        /// Gain of the proportional increase, before scaling (alpha = this * bdp_sf * delay_sf / base_rtt).
        #[param(0.0..; example = 4.0; source = "STrack, Table 1")]
        pub alpha: f64,
        /// Multiplicative decrease (gamma).
        #[param(0.0..=1.0; example = 0.8; source = "STrack, Table 1")]
        pub gamma: f64,
        /// Least share of the window that remains after a cut (Algorithm 4, line 15).
        #[param(0.0..=1.0; example = 0.5; source = "STrack, Algorithm 4, line 15")]
        pub max_decrease: f64,
    }
}

/// The network for which Table 1 gives its constants: 100 Gb/s and a base RTT of 12 us.
const REFERENCE_RATE: Rate = Rate::from_gbps(100);
const REFERENCE_RTT: Duration = Duration::from_us(12);

/// A window that adapts until the queueing delay equals the target. Names follow the paper's pseudocode.
#[derive(Clone, Debug)]
pub struct StrackCc {
    /// The window in packets.
    cwnd: f64,
    /// The averaged queueing delay in picoseconds.
    avg_delay: f64,
    /// The network's base RTT, or the shortest measured RTT if that is lower.
    base_rtt: Duration,
    /// Bytes acknowledged in the last complete period. Before the end of the first period, it is the largest window.
    achieved_bdp: u64,
    /// Bytes acknowledged since `rxcount_clear_ts` by ACKs of data.
    rx_count: u64,
    /// The start of the current period. The paper does not specify when the first period starts. Here it starts with
    /// the first ACK.
    rxcount_clear_ts: Option<Time>,
    /// The time of the last decrease. None before the first one, so that the first decrease need not wait.
    last_decrease_ts: Option<Time>,
    last_selfai_ts: Option<Time>,
    constants: Constants,
}

#[derive(Clone, Debug)]
struct Constants {
    /// Size of a full packet in bytes.
    packet: f64,
    /// The largest window in packets.
    max_cwnd: f64,
    target_qdelay: Duration,
    target_qhigh: Duration,
    ewma: f64,
    /// The additive increase in packets.
    beta: f64,
    /// The increase for fairness in packets.
    eta: f64,
    /// The gain of the proportional increase in packets per picosecond.
    alpha: f64,
    gamma: f64,
    max_decrease: f64,
}

impl StrackCc {
    /// A congestion control with its initial window.
    ///
    /// Before the end of the first period, the achieved BDP equals the largest window. The paper specifies no initial
    /// value, and 0 would cut the window to one packet before anything was measured.
    pub fn new(config: &StrackCcConfig, facts: &PathFacts) -> Self {
        let constants = Constants::new(config, facts);
        let max_window = config.max_window.window_on(facts).0;
        StrackCc {
            cwnd: (config.initial_window.window_on(facts).0 as f64 / constants.packet)
                .clamp(1.0, constants.max_cwnd),
            avg_delay: 0.0,
            base_rtt: facts.base_rtt,
            achieved_bdp: max_window,
            rx_count: 0,
            rxcount_clear_ts: None,
            last_decrease_ts: None,
            last_selfai_ts: None,
            constants,
        }
    }
}

impl CcProperties for StrackCcConfig {
    fn build_with_stream(&self, facts: &PathFacts, _random: Stream) -> AnyCc {
        AnyCc::Strack(Box::new(StrackCc::new(self, facts)))
    }

    fn windows(&self) -> Windows {
        Windows::Adaptive { initial: self.initial_window, max: self.max_window }
    }

    fn reacts_to_ecn(&self) -> bool {
        true
    }

    fn target_delay(&self) -> Option<(&'static str, Span)> {
        Some(("cc.target_qdelay", self.target_qdelay))
    }
}

impl CongestionControl for StrackCc {
    /// The window is rounded to the nearest byte, so that a window of n packets admits n packets.
    #[inline]
    fn window(&self) -> u64 {
        (self.cwnd * self.constants.packet + 0.5) as u64
    }

    /// STrack, Algorithm 1, lines 5-8 and 13-14. In the paper, line 13 and line 2 of Algorithm 4 both update the
    /// achieved BDP; here an ACK counts only once.
    #[inline]
    fn handle_ack(&mut self, acked: &AckReport) {
        self.base_rtt = self.base_rtt.min(acked.rtt);
        let delay = Duration(acked.rtt.0 - self.base_rtt.0);
        self.update_achieved_bdp(acked);
        self.adjust_cwnd(acked.now, acked.marked, delay);
    }

    #[inline]
    fn paces(&self) -> bool {
        false
    }
}

impl StrackCc {
    /// STrack, Algorithm 2.
    #[inline]
    fn update_achieved_bdp(&mut self, acked: &AckReport) {
        let period = self.base_rtt + self.constants.target_qdelay;
        let cleared = *self.rxcount_clear_ts.get_or_insert(acked.now);
        if !acked.probe {
            self.rx_count += acked.bytes;
        }
        if acked.now.since(cleared) > period {
            self.achieved_bdp = self.rx_count;
            self.rx_count = 0;
            self.rxcount_clear_ts = Some(acked.now);
        }
    }

    /// STrack, Algorithm 4, as listed. The paper's text and its listing differ on line 7. By the text, an unmarked ACK
    /// increases the window if the delay is above twice the target. By the listing, an unmarked ACK increases the
    /// window if the delay is above target_Qhigh, which is three times the target in Table 1.
    #[inline]
    fn adjust_cwnd(&mut self, now: Time, ecn: bool, delay: Duration) {
        let constants = &self.constants;
        let (target, high) = (constants.target_qdelay, constants.target_qhigh);
        let target_ps = target.0 as f64;
        let is_over = |last: Option<Time>| last.is_none_or(|last| now.since(last) > self.base_rtt);
        // Lines 3-5: a decrease and a fairness increase are each permitted once per base RTT.
        let can_decrease = is_over(self.last_decrease_ts);
        let can_fairness_shuffle = is_over(self.last_selfai_ts);
        self.avg_delay = self.avg_delay * (1.0 - constants.ewma) + constants.ewma * delay.0 as f64;
        if !ecn && delay > high {
            // Lines 6-7: the packet waited long, but the queue behind it was short, since it carries no mark.
            self.cwnd += constants.beta / self.cwnd;
        } else if !ecn && delay < target {
            // Lines 8-9.
            self.cwnd += constants.alpha * (target_ps - delay.0 as f64) / self.cwnd;
        } else if can_decrease && self.avg_delay > target_ps {
            let achieved = self.achieved_bdp as f64 / constants.packet;
            if delay > high && achieved < constants.max_cwnd / 8.0 {
                // Lines 11-13: the window becomes the achieved BDP, in packets. The achieved BDP may be 0.
                self.cwnd = achieved.max(1.0);
                self.last_decrease_ts = Some(now);
            } else if delay > target {
                // Lines 14-16: a decrease in proportion to the excess of the average delay.
                let cut = constants.gamma * (self.avg_delay - target_ps) / self.avg_delay;
                self.cwnd *= (1.0 - cut).max(constants.max_decrease);
                self.last_decrease_ts = Some(now);
            }
        }
        // Lines 19-22.
        if can_fairness_shuffle {
            self.cwnd += constants.eta;
            self.last_selfai_ts = Some(now);
        }
        // The lower bound of one packet is not in the paper, but the increases divide by the window, which an
        // achieved BDP of 0 would set to 0. The upper bound is "roughly the BDP" (section 3, scenario 1).
        self.cwnd = self.cwnd.clamp(1.0, constants.max_cwnd);
    }
}

impl Constants {
    /// The constants of STrack, Table 1, scaled to the network.
    fn new(config: &StrackCcConfig, facts: &PathFacts) -> Self {
        let packet = facts.packet.0.max(1) as f64;
        let base_rtt = facts.base_rtt.0.max(1) as f64;
        let bdp_sf = facts.bdp.0 as f64 / REFERENCE_RATE.bytes_in(REFERENCE_RTT) as f64;
        let delay_sf = base_rtt / REFERENCE_RTT.0 as f64;
        Constants {
            packet,
            max_cwnd: (config.max_window.window_on(facts).0 as f64 / packet).max(1.0),
            target_qdelay: config.target_qdelay.on(facts),
            target_qhigh: config.target_qhigh.on(facts),
            ewma: config.ewma,
            beta: config.beta * bdp_sf,
            eta: config.eta * bdp_sf,
            alpha: config.alpha * bdp_sf * delay_sf / base_rtt,
            gamma: config.gamma,
            max_decrease: config.max_decrease,
        }
    }
}
