//! The mixed balancer, which is the default of the public Ultra Ethernet simulator (uet-htsim). An entropy value whose
//! ACK was unmarked is used again. If no such value waits, the bitmap chooses one. UET 1.0.3, section 3.6.16, mandates
//! no balancer.

use super::AnyLb;
use super::bitmap::{Bitmap, BitmapConfig, Decay};
use super::interface::{Environment, LbProperties, LoadBalancer};
use crate::StateField;
use anabranch_base::{Duration, Stream, Time, parameters};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

parameters! {
    /// Parameters of the mixed balancer.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct MixedConfig {
        /// Number of entropy values.
        #[param(1..=4_096; example = 64; source = "uet-htsim: 64, in its tests 128")]
        pub evs: u32,
        /// Largest number of entropy values that wait for reuse. Any further values that come back are discarded.
        #[param(1..=4_096; example = 256; source = "unspecified; uet-htsim has no limit. As many as packets in flight")]
        pub buffer: u32,
        /// Penalty of the bitmap that the ACK of a marked packet adds to its entropy value.
        #[param(0..=255; example = 1; source = "uet-htsim")]
        pub ecn_penalty: u32,
        /// Penalty that a trimmed packet adds.
        #[param(0..=255; example = 4; source = "uet-htsim, of a NACK")]
        pub trim_penalty: u32,
        /// Penalty that a timeout adds.
        #[param(0..=255; example = 15; source = "uet-htsim")]
        pub timeout_penalty: u32,
        /// The highest penalty.
        #[param(1..=255; example = 15; source = "uet-htsim")]
        pub max_penalty: u32,
    }
}

/// A sender that reuses entropy values. If none waits for reuse, a bitmap chooses one.
#[derive(Clone, Debug)]
pub struct Mixed {
    bitmap: Bitmap,
    /// Entropy values of unmarked ACKs that are not yet reused, the oldest first.
    good: VecDeque<u16>,
    buffer: usize,
}

impl MixedConfig {
    fn bitmap(&self) -> BitmapConfig {
        let &MixedConfig { evs, ecn_penalty, trim_penalty, timeout_penalty, max_penalty, .. } = self;
        BitmapConfig {
            evs,
            ecn_penalty,
            trim_penalty,
            timeout_penalty,
            max_penalty,
            remembered: 0,
            skip_limit: 1.0,
            decay: Decay::First,
        }
    }
}

impl LbProperties for MixedConfig {
    fn build(&self, environment: &Environment, random: Stream) -> AnyLb {
        AnyLb::Mixed(Box::new(Mixed {
            bitmap: Bitmap::new(&self.bitmap(), environment, random),
            good: VecDeque::new(),
            buffer: self.buffer as usize,
        }))
    }

    fn state(&self) -> Vec<StateField> {
        let mut state = self.bitmap().state();
        let bits = (u32::BITS - (self.evs - 1).leading_zeros()).max(1);
        state.push(StateField::new("entropy value to use again", bits, self.buffer));
        state
    }

    fn reacts_to_ecn(&self) -> bool {
        true
    }

    fn leaves_lossy_paths(&self) -> bool {
        self.bitmap().leaves_lossy_paths()
    }
}

impl LoadBalancer for Mixed {
    #[inline]
    fn next_ev(&mut self, now: Time, window: u64) -> u16 {
        match self.good.pop_front() {
            Some(ev) => ev,
            None => self.bitmap.next_ev(now, window),
        }
    }

    #[inline]
    fn handle_ack(&mut self, now: Time, ev: u16, marked: bool, rtt: Duration) {
        if marked {
            self.bitmap.handle_ack(now, ev, marked, rtt);
        } else if self.good.len() < self.buffer {
            self.good.push_back(ev);
        }
    }

    fn handle_timeout(&mut self, now: Time, ev: Option<u16>) {
        self.bitmap.handle_timeout(now, ev);
    }

    fn handle_trim(&mut self, now: Time, ev: u16) {
        self.bitmap.handle_trim(now, ev);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{at, environment, random};
    use super::*;

    const CONFIG: MixedConfig = MixedConfig {
        evs: 8,
        buffer: 3,
        ecn_penalty: 1,
        trim_penalty: 4,
        timeout_penalty: 15,
        max_penalty: 15,
    };

    fn sender() -> AnyLb {
        CONFIG.build(&environment(true), random())
    }

    fn ack(lb: &mut AnyLb, ev: u16, marked: bool) {
        lb.handle_ack(at(1), ev, marked, Duration::from_us(8));
    }

    #[test]
    fn what_came_back_unmarked_goes_first_in_its_order() {
        let mut lb = sender();
        for ev in [5, 6, 7, 4] {
            ack(&mut lb, ev, false);
        }
        ack(&mut lb, 1, true);
        let evs: Vec<u16> = (0..3).map(|_| lb.next_ev(at(2), 0)).collect();
        assert_eq!(evs, [5, 6, 7], "4 found the buffer full");
        // This is one round of the bitmap, which skips entropy value 1 once.
        let mut round: Vec<u16> = (0..7).map(|_| lb.next_ev(at(2), 0)).collect();
        round.sort_unstable();
        assert_eq!(round, [0, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn the_value_of_a_lost_packet_is_penalised() {
        let mut lb = sender();
        lb.handle_timeout(at(1), Some(3));
        let taken: Vec<u16> = (0..14).map(|_| lb.next_ev(at(2), 0)).collect();
        assert!(!taken.contains(&3), "{taken:?}");
        lb.handle_timeout(at(1), None);
    }

    #[test]
    fn state_is_as_listed() {
        let config = MixedConfig { evs: 64, buffer: 256, ..CONFIG };
        let bits = config.state().iter().map(|field| field.bits * field.count).sum::<u32>();
        assert_eq!(bits, 64 * 4 + 3 * 6 + 256 * 6);
    }
}
