//! Themis-longhaul, Algorithm 1 and appendix D: how often each packet of a flow loops.
//!
//! What the paper leaves open, and what is done here:
//! - `cnp_num % alpha == 1` is read as `cnp_num = 1 (mod alpha)`, which differs only for alpha = 1: there every
//!   CNP counts, where the printed test would never be true again and a halved alpha would end all throttling. Halving
//!   stops at 1.
//! - As printed, alpha catches up with the count: beginning with 5, it is 7 at the seventh CNP, and from then on the
//!   test holds for every CNP (8 % 7, 9 % 8, ...). The prose of section V-B wants the opposite, a growth that slows
//!   down. [`Growth`] offers both.
//! - Algorithm 1 never lowers `loop_num`, and appendix D gives the packets of a recovering flow one loop, so that they
//!   stay behind those that loop already. But packets return in queue order, not in PSN order: one that joins while an
//!   older one is in the middle of its loops is ahead of it from then on and would leave first. Order is kept by the
//!   register of the same appendix, the PSN of the last packet released: a looping packet of a recovering flow
//!   leaves as it comes back, loops left or not, when it follows directly on that one. This takes one loop if the packet
//!   before it has already left. Where a PSN is missing, since the packet was lost before it came here, the wait ends when
//!   the loops run out; therefore a recovering flow's packets still get `loop_num` of them.
//! - A packet that comes in and needs no loop shows that none of the flow's is in the port: only then is the flow back to
//!   normal, and `loop_num` 0. A CNP before that goes on from the `loop_num` that there is. So `loop_num` never falls
//!   while it could let a packet overtake another.
//! - Direct recovery sets `loop_num` to 0 at once, and lets all packets leave as they come back (figure 21).
//! - Lines 17 to 21 run once in a quiet period, at the first packet after it, not at each one: else alpha would be 1 in
//!   no time.
//! - `loop_num` travels in a header field of unsaid width; here of 8 bits, so it stays at 255.

use anabranch_base::{Duration, Time, parameter_choices};
use serde::{Deserialize, Serialize};

/// Where a flow stands (`flow_status`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FlowStatus {
    /// Its packets go straight on.
    #[default]
    Normal,
    /// Its packets loop: a CNP came within beta.
    Throttled,
    /// No CNP came for longer than beta, and its rate recovers.
    Recover,
}

/// How a flow comes back to its rate after a quiet period (appendix D and E).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// Packets loop until they follow directly on the last that was sent on, so that none overtakes another.
    Rate,
    /// Packets do not loop any more, so they may overtake those that do: for NICs that take them out of order.
    Direct,
    /// Packets loop as before (figure 22, "no recovery").
    None,
}

parameter_choices!(Recovery: "rate" = Rate, "direct" = Direct, "none" = None);

/// Which CNPs make `loop_num` grow (Algorithm 1, line 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Growth {
    /// Those with `cnp_num % alpha == 1`, while `cnp_num` counts on: the pseudocode to the letter.
    Printed,
    /// The first, then every alpha-th after the one before: section V-B's prose. The test is the same, but a growth
    /// sets `cnp_num` back to 1.
    Spaced,
}

parameter_choices!(Growth: "printed" = Printed, "spaced" = Spaced);

/// The constants of Algorithm 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttling {
    /// A flow's first alpha, at least 1.
    pub alpha: u32,
    /// A quiet period: longer than this without a CNP.
    pub beta: Duration,
    /// What follows a quiet period.
    pub recovery: Recovery,
    /// How `loop_num` grows.
    pub growth: Growth,
}

/// The registers of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowState {
    /// `flow_status`.
    pub status: FlowStatus,
    /// `loop_num`: loops of the flow's next packet.
    pub loop_num: u8,
    /// The flow's own alpha.
    pub alpha: u32,
    /// `cnp_num`.
    pub cnp_num: u32,
    /// `cnp_time`: when the last CNP came.
    pub cnp_time: Time,
    /// The sequence number of the last packet that was sent on to its port (appendix D); none was since there are
    /// registers.
    pub last_sent: Option<u32>,
    /// When the last data packet came, for the control plane, which may give idle entries to others.
    pub packet_time: Time,
}

impl FlowState {
    /// Before the first CNP.
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

    /// A CNP of the flow came.
    pub fn handle_cnp(&mut self, now: Time, rules: &Throttling) {
        // Algorithm 1, lines 2-4
        self.cnp_num = self.cnp_num.saturating_add(1);
        self.status = FlowStatus::Throttled;
        self.cnp_time = now;
        // Lines 5-8
        if self.cnp_num % self.alpha == 1 % self.alpha {
            self.loop_num = self.loop_num.saturating_add(1);
            self.alpha = self.alpha.saturating_add(1);
            if rules.growth == Growth::Spaced {
                self.cnp_num = 1;
            }
        }
        // Lines 17-21 cannot apply: it came just now.
    }

    /// A data packet of the flow came in: how often it is to loop; 0 if it goes straight on.
    pub fn handle_data(&mut self, now: Time, psn: u32, rules: &Throttling) -> u8 {
        self.packet_time = now;
        if self.status == FlowStatus::Recover && self.needs_no_loop(psn, rules) {
            (self.status, self.loop_num) = (FlowStatus::Normal, 0);
        }
        // Lines 10-15
        let loops = if self.status == FlowStatus::Normal { 0 } else { self.loop_num };
        self.check_quiet(now, rules);
        loops
    }

    /// A data packet of the flow came back from the port with so many loops left: whether it goes round again.
    pub fn keeps(&mut self, now: Time, psn: u32, loops: u8, rules: &Throttling) -> bool {
        self.packet_time = now;
        // It passes the ingress, as any packet does.
        self.check_quiet(now, rules);
        // Also when the flow is back to normal: what go-back-N sent again has overtaken these copies, and they stay in
        // order among themselves.
        loops > 0 && (self.status == FlowStatus::Throttled || !self.needs_no_loop(psn, rules))
    }

    /// A data packet of the flow was sent on to its port.
    #[inline]
    pub fn handle_sent(&mut self, psn: u32) {
        self.last_sent = Some(psn);
    }

    /// Whether a packet of a recovering flow can overtake none, or may (appendix D).
    fn needs_no_loop(&self, psn: u32, rules: &Throttling) -> bool {
        match rules.recovery {
            Recovery::Rate => self.last_sent.is_some_and(|last| last.wrapping_add(1) == psn),
            Recovery::Direct => true,
            Recovery::None => false,
        }
    }

    /// Lines 17-21.
    fn check_quiet(&mut self, now: Time, rules: &Throttling) {
        if self.status != FlowStatus::Throttled || now.since(self.cnp_time) <= rules.beta {
            return;
        }
        self.status = FlowStatus::Recover;
        self.alpha = (self.alpha / 2).max(1);
        self.cnp_num = 0;
        // Appendix D: what it calls naive
        if rules.recovery == Recovery::Direct {
            self.loop_num = 0;
        }
    }
}
