//! Themis-longhaul, Algorithm 1 and appendix D: the number of loops of each packet of a flow.
//!
//! Choices where the paper is silent or ambiguous:
//! - `cnp_num % alpha == 1` is read as `cnp_num = 1 (mod alpha)`. This differs only for alpha = 1, where every CNP
//!   then counts. The printed test never holds for alpha = 1, so that `loop_num` would never increase again once alpha
//!   was halved to 1. Halving stops at 1.
//! - In the printed form, alpha catches up with `cnp_num`. If alpha starts at 5, it is 7 after the seventh CNP, and
//!   from then on the test holds for every CNP (8 % 7, 9 % 8, ...). The text of section V-B describes the opposite, a
//!   growth that slows down. [`Growth`] offers both.
//! - Algorithm 1 never lowers `loop_num`. Appendix D gives the packets of a recovering flow one loop, so that they
//!   stay behind looping packets. But packets return in the order of the queue, not of PSNs. A packet with one loop
//!   would therefore be released before an older packet with more loops left. Here the packets of a recovering flow
//!   still get `loop_num` loops.
//! - In appendix D, a register holds the PSN of the flow's last released packet. With [`Recovery::Rate`], a returning
//!   packet of a recovering flow is released, however many loops it has left, if its PSN directly follows the PSN in
//!   this register. If the packet's predecessor was lost before the switch, the packet waits until its loops run out.
//! - With [`Recovery::Rate`], a recovering flow returns to normal, with `loop_num` 0, when a packet arrives whose PSN
//!   directly follows the PSN in this register: no earlier packet of the flow is then in the port. A CNP before that
//!   continues from the current `loop_num`.
//! - Direct recovery sets `loop_num` to 0 immediately, and releases all packets when they return (figure 21).
//! - Lines 17 to 21 run once per quiet period, at the first packet after its beginning. If they ran at each packet,
//!   alpha would fall to 1 within a few packets.
//! - The paper does not specify the width of the header field for `loop_num`. Here it has 8 bits, and the value
//!   saturates at 255.

use anabranch_base::{Duration, Time, parameter_choices};
use serde::{Deserialize, Serialize};

/// The status of a flow (`flow_status`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FlowStatus {
    /// Packets are forwarded without looping.
    #[default]
    Normal,
    /// Packets loop, because the last CNP arrived at most beta ago.
    Throttled,
    /// The rate recovers, because the last CNP is older than beta.
    Recover,
}

/// The recovery of a flow's rate after a quiet period (appendix D and E).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// A packet stops looping when it directly follows the last forwarded packet, or when it has made its loops.
    Rate,
    /// Packets no longer loop, and may overtake looping ones. This is for NICs that accept packets out of order.
    Direct,
    /// Packets loop as before (figure 22, "no recovery").
    None,
}

parameter_choices!(Recovery: "rate" = Rate, "direct" = Direct, "none" = None);

/// The CNPs that increase `loop_num` (Algorithm 1, line 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Growth {
    /// The CNPs with `cnp_num % alpha == 1`, as in the printed pseudocode. `cnp_num` counts the CNPs since the last
    /// quiet period.
    Printed,
    /// The first CNP, then every alpha-th CNP after the previous increase, as in the text of section V-B. The test is
    /// that of [`Growth::Printed`], but an increase resets `cnp_num` to 1.
    Spaced,
}

parameter_choices!(Growth: "printed" = Printed, "spaced" = Spaced);

/// The constants of Algorithm 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttling {
    /// The initial alpha of a flow, at least 1.
    pub alpha: u32,
    /// The time without a CNP after which a quiet period begins.
    pub beta: Duration,
    /// The recovery after a quiet period.
    pub recovery: Recovery,
    /// The growth of `loop_num`.
    pub growth: Growth,
}

/// The registers of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowState {
    /// The status of the flow (`flow_status`).
    pub status: FlowStatus,
    /// `loop_num`: the number of loops that a packet makes if it arrives while the flow is throttled or recovers.
    pub loop_num: u8,
    /// The current alpha of the flow. It increases by 1 with each increase of `loop_num`, and is halved once per quiet
    /// period.
    pub alpha: u32,
    /// `cnp_num`: the number of CNPs since the last quiet period. With [`Growth::Spaced`], an increase of `loop_num`
    /// resets it to 1.
    pub cnp_num: u32,
    /// `cnp_time`: the arrival of the last CNP.
    pub cnp_time: Time,
    /// The PSN of the last packet that was forwarded to its egress port (appendix D). None before the first such packet
    /// since the registers were allocated.
    pub last_sent: Option<u32>,
    /// The time at which a data packet of the flow last arrived, or returned from the recirculation port. The control
    /// plane uses it to find idle entries for reuse.
    pub packet_time: Time,
}

impl FlowState {
    /// The registers before the first CNP.
    pub fn new(rules: &Throttling) -> Self {
        FlowState {
            status: FlowStatus::Normal,
            loop_num: 0,
            alpha: rules.alpha.max(1),
            cnp_num: 0,
            cnp_time: Time::ZERO,
            last_sent: None,
            packet_time: Time::ZERO,
        }
    }

    /// Handles a CNP of the flow.
    pub fn handle_cnp(&mut self, now: Time, rules: &Throttling) {
        // Algorithm 1, lines 2-4.
        self.cnp_num = self.cnp_num.saturating_add(1);
        self.status = FlowStatus::Throttled;
        self.cnp_time = now;
        // Lines 5-8: certain CNPs increase `loop_num`.
        if self.cnp_num % self.alpha == 1 % self.alpha {
            self.loop_num = self.loop_num.saturating_add(1);
            self.alpha = self.alpha.saturating_add(1);
            if rules.growth == Growth::Spaced {
                self.cnp_num = 1;
            }
        }
        // Lines 17-21 (recovery) cannot apply here, since the CNP has just arrived.
    }

    /// Handles the arrival of a data packet. Returns its number of loops, which is 0 if it is forwarded immediately.
    pub fn handle_data(&mut self, now: Time, psn: u32, rules: &Throttling) -> u8 {
        self.packet_time = now;
        if self.status == FlowStatus::Recover && self.needs_no_loop(psn, rules) {
            (self.status, self.loop_num) = (FlowStatus::Normal, 0);
        }
        // Lines 10-15: the number of loops.
        let loops = if self.status == FlowStatus::Normal { 0 } else { self.loop_num };
        self.check_quiet(now, rules);
        loops
    }

    /// Handles the return of a data packet with `loops` loops left. Returns whether it loops again.
    pub fn loops_again(&mut self, now: Time, psn: u32, loops: u8, rules: &Throttling) -> bool {
        self.packet_time = now;
        // A returning packet passes the ingress, like any packet.
        self.check_quiet(now, rules);
        // The rule of a recovering flow also applies to copies that still loop after the flow has returned to normal.
        // Retransmissions of go-back-N have then overtaken these copies, which stay in order among themselves.
        loops > 0 && (self.status == FlowStatus::Throttled || !self.needs_no_loop(psn, rules))
    }

    /// Records that a data packet was forwarded to its egress port.
    #[inline]
    pub fn handle_sent(&mut self, psn: u32) {
        self.last_sent = Some(psn);
    }

    /// Whether a packet of a recovering flow may be released immediately, because it overtakes no other packet or
    /// because overtaking is allowed (appendix D).
    fn needs_no_loop(&self, psn: u32, rules: &Throttling) -> bool {
        match rules.recovery {
            Recovery::Rate => self.last_sent.is_some_and(|last| last.wrapping_add(1) == psn),
            Recovery::Direct => true,
            Recovery::None => false,
        }
    }

    /// Begins the recovery if the last CNP is older than beta (lines 17-21).
    fn check_quiet(&mut self, now: Time, rules: &Throttling) {
        if self.status != FlowStatus::Throttled || now.since(self.cnp_time) <= rules.beta {
            return;
        }
        self.status = FlowStatus::Recover;
        self.alpha = (self.alpha / 2).max(1);
        self.cnp_num = 0;
        // The naive recovery of appendix D.
        if rules.recovery == Recovery::Direct {
            self.loop_num = 0;
        }
    }
}
