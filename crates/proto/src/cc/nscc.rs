//! NSCC, the sender-based congestion control of Ultra Ethernet (UET 1.0.3, section 3.6.13, constants of tables 3-76 and
//! 3-82), read in a translation and in implementers' digests.
//!
//! The window counts bytes and follows the queueing delay. Acknowledged bytes add up to an increase, which is applied
//! after more than eight packets or after a round trip. If the average delay is above the target, a marked packet
//! whose delay reaches the target cuts the window, at most once per round trip. In an incast, "quick adapt" sets the
//! window to the bytes that a period delivered. It acts only if these bytes are few, and if a packet was trimmed or
//! delayed by more than a threshold.
//!
//! The receiver's penalty (step 3), by which a slow host requests a smaller window, is not implemented, since the text
//! does not say when a host requests it. [`NsccRules::Htsim`] reproduces differences of the public simulator
//! (uet-htsim). docs/uet.md lists the differences that remain.

use super::interface::{AckReport, CcProperties, CongestionControl, LossCause, LossReport, Windows};
use super::{AnyCc, CcConfig};
use crate::{PathFacts, Size, Span, StateField};
use anabranch_base::{AboveZero, Duration, Rate, Stream, Time, parameter_choices, parameters};
use serde::{Deserialize, Serialize};

parameters! {
    /// Parameters of NSCC. Gains are those before scaling by the BDP.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct NsccConfig {
        /// Window at the start.
        #[param(AboveZero; example = "1.5bdp"; source = "UET 1.0.3, table 3-76: MaxWnd")]
        pub initial_window: Size,
        /// Largest window (MaxWnd). If a shorter base RTT is measured, it shrinks in proportion.
        #[param(AboveZero; example = "1.5bdp"; source = "UET 1.0.3, table 3-76")]
        pub max_window: Size,
        /// Queueing delay to settle at (target_qdelay).
        #[param(AboveZero; example = "0.75rtt"; source = "UET 1.0.3, table 3-82: 0.75 base RTTs where switches trim, 1 elsewhere")]
        pub target: Span,
        /// Gain of the proportional increase (alpha = this * a * b * MTU / target, where a is the BDP divided by the BDP of
        /// 100 Gb/s and 12 us, and b is the target divided by 12 us).
        #[param(0.0..; example = 4.0; source = "UET 1.0.3, table 3-82")]
        pub alpha: f64,
        /// Fair increase in packets (fi = this * a * MTU).
        #[param(0.0..; example = 5.0; source = "UET 1.0.3, table 3-82")]
        pub fi: f64,
        /// Fast increase: bytes of window for each acknowledged byte (fi_scale = this * a).
        #[param(0.0..; example = 0.25; source = "UET 1.0.3, table 3-82")]
        pub fi_scale: f64,
        /// Increase in each round trip, in packets (eta = this * a * MTU).
        #[param(0.0..; example = 0.15; source = "UET 1.0.3, table 3-82")]
        pub eta: f64,
        /// Multiplicative decrease (gamma).
        #[param(0.0..=1.0; example = 0.8; source = "UET 1.0.3, table 3-82")]
        pub gamma: f64,
        /// Smallest share of the window that one decrease may leave (max_md_jump).
        #[param(0.0..=1.0; example = 0.5; source = "UET 1.0.3, table 3-82")]
        pub max_decrease: f64,
        /// Exponent for the gate of quick adapt (qa_gate). Quick adapt acts only if a period delivered fewer bytes
        /// than MaxWnd / 2^qa_gate, and sets the window to these bytes.
        #[param(0..=16; example = 3; source = "UET 1.0.3, table 3-82")]
        pub qa_gate: u32,
        /// Queueing delay above which quick adapt acts even without a trim (qa_threshold). If it is not set, quick
        /// adapt acts only after a trim.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[param(AboveZero; example = "3rtt"; source = "UET 1.0.3, section 3.6.13: never where switches trim, otherwise four times the target")]
        pub qa_threshold: Option<Span>,
        /// Samples that ACKs add to the average delay. With `spec`, each sample is the measured delay of a packet.
        /// With `htsim`, an unmarked packet whose delay is above the target has a quarter of the base RTT as its
        /// sample.
        #[serde(default, skip_serializing_if = "NsccAverage::is_spec")]
        #[param(any; example = "htsim"; source = "uet-htsim: `htsim`; UET 1.0.3 does not except any sample"; default = "spec")]
        pub average: NsccAverage,
        /// Weight of a sample in the average delay.
        #[param(0.0..=1.0; example = 0.0125; source = "unspecified; uet-htsim. Others have 0.25")]
        pub ewma: f64,
        /// Queueing delay up to which a packet counts as not delayed, so that the fast increase applies.
        #[param(any; example = "1us"; source = "unspecified; uet-htsim: 1 us")]
        pub zero_delay: Span,
        /// Whether a trim at the last hop is a sign of congestion. If receivers grant credit, such a trim is no sign
        /// of congestion, since a receiver knows the senders that share its link.
        #[serde(default = "is_on", skip_serializing_if = "std::clone::Clone::clone")]
        #[param(any; example = false; source = "UET 1.0.3, section 3.6.13: false beside RCCC"; default = true)]
        pub last_hop_trims: bool,
        /// Rules to apply. With `spec`, they are those of UET. With `htsim`, they are those of uet-htsim wherever
        /// uet-htsim departs from UET.
        #[serde(default, skip_serializing_if = "NsccRules::is_spec")]
        #[param(any; example = "htsim"; source = "htsim: uet-htsim at 40ccb05"; default = "spec")]
        pub rules: NsccRules,
    }
}

/// The delays that enter the average with ACKs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NsccAverage {
    /// The measured delay of each packet.
    #[default]
    Spec,
    /// The measured delay of each packet, except that an unmarked packet whose delay is above the target counts as a
    /// quarter of the base RTT.
    Htsim,
}

parameter_choices!(NsccAverage: "spec" = Spec, "htsim" = Htsim);

impl NsccAverage {
    fn is_spec(&self) -> bool {
        *self == NsccAverage::Spec
    }
}

/// The rules of NSCC.
///
/// uet-htsim differs from the specification in these points:
/// - If the RTT of an ACK is not valid, the average delay is used. In the specification, the ACK then has no further
///   effect.
/// - The bytes of a timed-out or inferred loss do not count towards the bytes that quick adapt ignores.
/// - A period of quick adapt is over after its end time, not at its end time.
/// - The bytes in flight that quick adapt ignores include the trimmed packet.
/// - A trim at the last hop that is no sign of congestion still causes quick adapt.
/// - An ACK that reaches step 8 limits the window to MaxWnd, even if step 8 applies no increase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NsccRules {
    /// UET 1.0.3, section 3.6.13.
    #[default]
    Spec,
    /// The rules of the public simulator (uet-htsim).
    Htsim,
}

parameter_choices!(NsccRules: "spec" = Spec, "htsim" = Htsim);

impl NsccRules {
    fn is_spec(&self) -> bool {
        *self == NsccRules::Spec
    }
}

fn is_on() -> bool {
    true
}

/// The network to which the constants refer: 100 Gb/s and 12 us.
const REFERENCE_RATE: Rate = Rate::from_gbps(100);
const REFERENCE_RTT: Duration = Duration::from_us(12);

/// The constants of a queue pair (UET 1.0.3, tables 3-76 and 3-82), in bytes and picoseconds.
#[derive(Clone, Debug)]
pub struct NsccConstants {
    /// MTU: the size of a full packet.
    pub mtu: f64,
    /// config_base_rtt: the round trip of a full packet on the longest path.
    pub base_rtt: Duration,
    /// MaxWnd at `base_rtt`.
    pub max_window: f64,
    /// target_qdelay: the queueing delay to settle at.
    pub target: Duration,
    /// alpha: the gain of the proportional increase, in bytes for each picosecond below the target.
    pub alpha: f64,
    /// fi: the constant of the fair increase, in bytes.
    pub fi: f64,
    /// fi_scale: bytes of window for each acknowledged byte in the fast increase.
    pub fi_scale: f64,
    /// eta: the increase of each round trip, in bytes.
    pub eta: f64,
    /// gamma: the gain of the multiplicative decrease.
    pub gamma: f64,
    /// max_md_jump: the least share of the window that a decrease leaves.
    pub max_decrease: f64,
    /// adjust_bytes: the acknowledged bytes after which the added increase is applied early (8 MTU).
    pub adjust_bytes: u64,
    /// adjust_period: the time after which the added increase is applied in any case (config_base_rtt).
    pub adjust_period: Duration,
    /// qa_gate: quick adapt acts only if a period delivered fewer bytes than MaxWnd divided by two to this power.
    pub qa_gate: u32,
    /// qa_threshold: the queueing delay above which quick adapt acts even without a trim. With the largest
    /// [`Duration`], quick adapt acts only after a trim.
    pub qa_threshold: Duration,
    zero_delay: Duration,
    ewma: f64,
    average: NsccAverage,
    rules: NsccRules,
    last_hop_trims: bool,
}

/// The congestion control of a source. Names follow the specification.
#[derive(Clone, Debug)]
pub struct Nscc {
    cwnd: f64,
    max_wnd: f64,
    /// The averaged queueing delay in picoseconds.
    avg_delay: f64,
    base_rtt: Duration,
    /// inc_bytes: the increase that the next evaluation applies, times the window. Quick adapt discards it.
    inc: f64,
    /// Bytes acknowledged since the last evaluation or quick adapt.
    received: u64,
    last_adjust: Time,
    /// The time of the last decrease. None before the first one, so that the first decrease need not wait.
    last_decrease: Option<Time>,
    /// fi_count: the bytes acknowledged without queueing since this counter was last reset.
    fi_count: u64,
    /// Whether `fi_count` has exceeded the window, so that the window increases fast.
    increases_fast: bool,
    /// Bytes acknowledged in the current period of quick adapt.
    achieved: u64,
    /// The end of the current period of quick adapt. None before the first period.
    qa_end: Option<Time>,
    trigger_qa: bool,
    bytes_to_ignore: u64,
    bytes_ignored: u64,
    quick_adapts: u32,
    constants: NsccConstants,
}

impl NsccConfig {
    /// The names of the published parameter sets.
    pub const PRESETS: [&'static str; 2] = ["spec", "htsim"];

    /// The values of UET 1.0.3 for a fabric whose switches trim, with those of uet-htsim where UET gives none.
    pub fn spec() -> Self {
        NsccConfig {
            initial_window: Size::Bdp(1.5),
            max_window: Size::Bdp(1.5),
            target: Span::Rtt(0.75),
            alpha: 4.0,
            fi: 5.0,
            fi_scale: 0.25,
            eta: 0.15,
            gamma: 0.8,
            max_decrease: 0.5,
            qa_gate: 3,
            qa_threshold: None,
            average: NsccAverage::Spec,
            ewma: 0.0125,
            zero_delay: Span::Time(Duration::from_us(1)),
            last_hop_trims: true,
            rules: NsccRules::Spec,
        }
    }

    /// The rules and samples of uet-htsim. Quick adapt also acts above a delay of four times the target, even though
    /// switches trim.
    pub fn htsim() -> Self {
        let qa_threshold = Some(Span::Rtt(3.0));
        NsccConfig { qa_threshold, average: NsccAverage::Htsim, rules: NsccRules::Htsim, ..Self::spec() }
    }
}

impl Nscc {
    /// A congestion control with its initial window.
    pub fn new(config: &NsccConfig, facts: &PathFacts) -> Self {
        let constants = NsccConstants::new(config, facts);
        let most = constants.max_window.max(constants.mtu);
        Nscc {
            cwnd: (config.initial_window.on(facts).0 as f64).clamp(constants.mtu, most),
            max_wnd: constants.max_window,
            avg_delay: 0.0,
            base_rtt: constants.base_rtt,
            inc: 0.0,
            received: 0,
            last_adjust: Time::ZERO,
            last_decrease: None,
            fi_count: 0,
            increases_fast: false,
            achieved: 0,
            qa_end: None,
            trigger_qa: false,
            bytes_to_ignore: 0,
            bytes_ignored: 0,
            quick_adapts: 0,
            constants,
        }
    }

    /// The constants of this queue pair.
    pub fn constants(&self) -> &NsccConstants {
        &self.constants
    }

    /// The number of times that quick adapt has set the window to the bytes that a period delivered.
    pub fn quick_adapts(&self) -> u32 {
        self.quick_adapts
    }
}

impl CcProperties for NsccConfig {
    fn build_with_stream(&self, facts: &PathFacts, _random: Stream) -> AnyCc {
        AnyCc::Nscc(Box::new(Nscc::new(self, facts)))
    }

    fn windows(&self) -> Windows {
        Windows::Adaptive { initial: self.initial_window, max: self.max_window }
    }

    fn reacts_to_ecn(&self) -> bool {
        true
    }

    /// The fields of UET 1.0.3, table 3-77, and avg_delay. The table gives no widths. saved_cwnd is left out, because
    /// it belongs to the receiver's penalty.
    fn state(&self) -> Vec<StateField> {
        let numbers = [
            "cwnd",
            "inflight",
            "base_rtt",
            "max_wnd",
            "achieved_bytes",
            "bytes_to_ignore",
            "bytes_ignored",
            "qa_endtime",
            "inc_bytes",
            "received_bytes",
            "last_adjust_time",
            "last_dec_time",
            "fi_count",
            "avg_delay",
        ];
        let mut fields: Vec<StateField> =
            numbers.into_iter().map(|name| StateField::new(name, 32, 1)).collect();
        fields.extend(["trigger_qa", "mode"].map(|name| StateField::new(name, 1, 1)));
        fields
    }

    fn target_delay(&self) -> Option<(&'static str, Span)> {
        Some(("cc.target", self.target))
    }

    fn presets(&self) -> &'static [&'static str] {
        &NsccConfig::PRESETS
    }

    fn preset(&self, name: &str) -> Option<CcConfig> {
        match name {
            "spec" => Some(CcConfig::Nscc(Self::spec())),
            "htsim" => Some(CcConfig::Nscc(Self::htsim())),
            _ => None,
        }
    }
}

impl CongestionControl for Nscc {
    #[inline]
    fn window(&self) -> u64 {
        (self.cwnd + 0.5) as u64
    }

    #[inline]
    fn max_window(&self) -> u64 {
        self.max_wnd as u64
    }

    #[inline]
    fn paces(&self) -> bool {
        false
    }

    /// The actions of UET 1.0.3, section 3.6.13, on an ACK. The transport counts the bytes in flight.
    #[inline]
    fn handle_ack(&mut self, acked: &AckReport) {
        // Step 1.
        self.bytes_ignored += acked.bytes;
        self.received += acked.bytes;
        self.achieved += acked.bytes;
        // Steps 2, 4 and 5: the queueing delay. Without a valid RTT, the specification does nothing further, and
        // uet-htsim uses the average delay.
        let delay = match (acked.rtt_is_valid, self.constants.rules) {
            (true, _) => self.measure(acked.rtt, acked.marked),
            (false, NsccRules::Htsim) => Duration(self.avg_delay as u64),
            (false, NsccRules::Spec) => return,
        };
        // Step 6.
        if self.quick_adapt(acked.now, false, acked.marked, delay, acked.in_flight) {
            return;
        }
        // Step 7.
        let is_late = delay >= self.constants.target;
        match (acked.marked, is_late) {
            (false, true) => self.inc += self.constants.fi * acked.bytes as f64,
            (false, false) => self.increase(acked.bytes, delay),
            (true, true) => self.decrease(acked.now),
            // The window stays: the load balancer moves traffic away from this path instead.
            (true, false) => {}
        }
        self.evaluate(acked.now);
        if self.constants.rules == NsccRules::Htsim {
            self.cwnd = self.cwnd.min(self.max_wnd).max(self.constants.mtu);
        }
    }

    /// The actions of UET 1.0.3, section 3.6.13, on a NACK, an inferred loss or a timeout.
    fn handle_loss(&mut self, lost: &LossReport) {
        if let LossCause::Trimmed | LossCause::TrimmedAtLastHop = lost.cause {
            return self.handle_trim(lost);
        }
        self.shrink(lost.bytes);
        if self.constants.rules == NsccRules::Spec {
            self.bytes_ignored += lost.bytes;
        }
    }
}

impl Nscc {
    /// Returns the queueing delay of a packet, and adds a sample to the average delay. The queueing delay is the RTT
    /// minus the base RTT. The base RTT is the shortest RTT so far, but at most config_base_rtt.
    #[inline]
    fn measure(&mut self, rtt: Duration, marked: bool) -> Duration {
        self.lower_base_rtt(rtt);
        let delay = Duration(rtt.0 - self.base_rtt.0);
        let excepted =
            self.constants.average == NsccAverage::Htsim && !marked && delay > self.constants.target;
        self.add_sample(if excepted { 0.25 * self.base_rtt.0 as f64 } else { delay.0 as f64 });
        delay
    }

    #[inline]
    fn lower_base_rtt(&mut self, rtt: Duration) {
        if rtt < self.base_rtt {
            self.base_rtt = rtt;
            let share = rtt.0 as f64 / self.constants.base_rtt.0.max(1) as f64;
            self.max_wnd = self.constants.max_window * share;
        }
    }

    #[inline]
    fn add_sample(&mut self, delay_ps: f64) {
        let weight = self.constants.ewma;
        self.avg_delay = self.avg_delay * (1.0 - weight) + weight * delay_ps;
    }

    /// Applies quick adapt. Returns whether the ACK or NACK must have no further effect.
    #[inline]
    fn quick_adapt(
        &mut self,
        now: Time,
        loss: bool,
        ignorable: bool,
        delay: Duration,
        in_flight: u64,
    ) -> bool {
        let constants = &self.constants;
        let mut adapts = false;
        let is_over = |end: Time| now > end || (now == end && constants.rules == NsccRules::Spec);
        if ignorable && self.bytes_ignored < self.bytes_to_ignore {
            adapts = true;
        } else if self.qa_end.is_none_or(is_over) {
            let is_bad = self.trigger_qa || loss || delay > constants.qa_threshold;
            let gate = self.max_wnd as u64 >> constants.qa_gate;
            // The first ACK or NACK opens the first period.
            if self.qa_end.is_some() && is_bad && self.achieved < gate {
                self.cwnd = (self.achieved as f64).max(constants.mtu);
                self.bytes_to_ignore = in_flight;
                self.bytes_ignored = 0;
                self.trigger_qa = false;
                self.quick_adapts += 1;
                adapts = true;
            }
            self.achieved = 0;
            self.qa_end = Some(now + self.base_rtt + constants.target);
        }
        if adapts {
            (self.inc, self.received) = (0.0, 0);
        }
        adapts
    }

    /// Step 7 for an unmarked packet whose delay is below the target. After a whole window without queueing, the
    /// increase is fast. Before that, it is proportional.
    #[inline]
    fn increase(&mut self, bytes: u64, delay: Duration) {
        if delay <= self.constants.zero_delay {
            self.fi_count += bytes;
            if self.increases_fast || self.fi_count as f64 > self.cwnd {
                self.increases_fast = true;
                self.cwnd += bytes as f64 * self.constants.fi_scale;
                return;
            }
        } else {
            (self.fi_count, self.increases_fast) = (0, false);
        }
        let below = (self.constants.target.0 - delay.0) as f64;
        self.inc += self.constants.alpha * bytes as f64 * below;
    }

    /// Step 7 for a marked packet whose delay is not below the target.
    fn decrease(&mut self, now: Time) {
        (self.fi_count, self.increases_fast) = (0, false);
        let constants = &self.constants;
        let target = constants.target.0 as f64;
        let may = self.last_decrease.is_none_or(|last| now.since(last) > self.base_rtt);
        if may && self.avg_delay > target {
            let cut = constants.gamma * (self.avg_delay - target) / self.avg_delay;
            self.cwnd = (self.cwnd * (1.0 - cut).max(constants.max_decrease)).max(constants.mtu);
            self.last_decrease = Some(now);
        }
    }

    /// Step 8: applies the accumulated increase after `adjust_bytes` or `adjust_period`.
    #[inline]
    fn evaluate(&mut self, now: Time) {
        let constants = &self.constants;
        let period_is_over = now.since(self.last_adjust) >= constants.adjust_period;
        if !period_is_over && self.received <= constants.adjust_bytes {
            return;
        }
        self.cwnd += self.inc / self.cwnd;
        if period_is_over {
            self.last_adjust = now;
            self.cwnd += constants.eta;
        }
        self.cwnd = self.cwnd.min(self.max_wnd).max(constants.mtu);
        (self.inc, self.received) = (0.0, 0);
    }

    fn handle_trim(&mut self, lost: &LossReport) {
        if let Some(rtt) = lost.rtt {
            self.lower_base_rtt(rtt);
        }
        self.add_sample(self.constants.base_rtt.0 as f64);
        self.bytes_ignored += lost.bytes;
        let is_congestion = lost.cause == LossCause::Trimmed || self.constants.last_hop_trims;
        let in_flight = match self.constants.rules {
            NsccRules::Spec if !is_congestion => return,
            NsccRules::Spec => lost.in_flight,
            NsccRules::Htsim => lost.in_flight + lost.bytes,
        };
        self.trigger_qa = true;
        if !self.quick_adapt(lost.now, true, true, Duration::ZERO, in_flight) && is_congestion {
            self.shrink(lost.bytes);
        }
    }

    fn shrink(&mut self, bytes: u64) {
        self.cwnd = (self.cwnd - bytes as f64).max(self.constants.mtu);
    }
}

impl NsccConstants {
    /// The formulas of UET 1.0.3, tables 3-76 and 3-82.
    fn new(config: &NsccConfig, facts: &PathFacts) -> Self {
        let mtu = facts.packet.0.max(1) as f64;
        let target = config.target.on(facts);
        let a = facts.bdp.0 as f64 / REFERENCE_RATE.bytes_in(REFERENCE_RTT) as f64;
        let b = target.0 as f64 / REFERENCE_RTT.0 as f64;
        NsccConstants {
            mtu,
            base_rtt: facts.base_rtt,
            max_window: config.max_window.on(facts).0 as f64,
            target,
            alpha: config.alpha * a * b * mtu / target.0.max(1) as f64,
            fi: config.fi * a * mtu,
            fi_scale: config.fi_scale * a,
            eta: config.eta * a * mtu,
            gamma: config.gamma,
            max_decrease: config.max_decrease,
            adjust_bytes: 8 * facts.packet.0,
            adjust_period: facts.base_rtt,
            qa_gate: config.qa_gate,
            qa_threshold: config.qa_threshold.map_or(Duration(u64::MAX), |span| span.on(facts)),
            zero_delay: config.zero_delay.on(facts),
            ewma: config.ewma,
            average: config.average,
            rules: config.rules,
            last_hop_trims: config.last_hop_trims,
        }
    }
}
