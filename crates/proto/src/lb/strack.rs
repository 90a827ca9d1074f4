//! STrack's adaptive load balancing (STrack, section 3.1, Algorithm 3).
//!
//! The printed algorithm inverts the meaning of a bit: its lines 5 and 8 clear the bit of a marked path and set the
//! bit of a good one, while line 20 skips paths whose bit is set. Here the bits have the meaning that the paper's
//! text describes: a marked ACK sets its path's bit, and a path with a set bit is skipped.

use super::AnyLb;
use super::interface::{Environment, LbProperties, LoadBalancer};
use crate::{Conflict, StateField};
use anabranch_base::{Duration, Stream, Time, parameters};
use serde::{Deserialize, Serialize};

parameters! {
    /// Parameters of STrack's load balancer.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct StrackLbConfig {
        /// Number of entropy values, and of bits in the bitmap (max_paths).
        #[param(1..=MAX_PATHS; example = 256; source = "STrack, section 4.1")]
        pub max_paths: u32,
        /// Least number of paths that the round robin covers (Algorithm 3, line 18), at most `max_paths`.
        #[param(1..=MAX_PATHS; example = 8; source = "STrack, Algorithm 3, line 18")]
        pub min_paths: u32,
    }
}

/// The largest number of paths of a balancer: the number of bits in its bitmap.
const MAX_PATHS: u32 = 256;

/// The paths of a STrack sender. Names follow the paper's pseudocode.
#[derive(Clone, Debug)]
pub struct StrackLb {
    /// Bit `path` is set by a marked ACK of `path`. It is cleared by an unmarked ACK, or when `path` is the first path
    /// that a packet skips.
    bitmap: [u64; MAX_PATHS as usize / 64],
    /// The path chosen last.
    rr: u32,
    /// The path of an unmarked ACK, for the next packet. The paper stores a negative number for "none" and tests for
    /// "> 0", so that path 0 would never be chosen because of its ACK.
    next_path_id: Option<u16>,
    max_paths: u32,
    min_paths: u32,
    /// Size of a full packet in bytes. The window is given in bytes, while Algorithm 3 counts packets.
    packet: u64,
}

impl StrackLb {
    /// A balancer without marked paths (line 1). The algorithm uses no random numbers.
    pub fn new(config: &StrackLbConfig, environment: &Environment, _random: Stream) -> Self {
        StrackLb {
            bitmap: [0; MAX_PATHS as usize / 64],
            rr: 0,
            next_path_id: None,
            max_paths: config.max_paths,
            min_paths: config.min_paths,
            packet: environment.facts.packet.0.max(1),
        }
    }

    /// The state of Algorithm 3, line 1. The paper gives no widths. The number of one of 256 paths takes 8 bits, and
    /// `next_path_id` needs one more bit for "none".
    pub(super) fn state(config: &StrackLbConfig) -> Vec<StateField> {
        vec![
            StateField::new("bitmap", 1, config.max_paths),
            StateField::new("rr", 8, 1),
            StateField::new("next_path_id", 9, 1),
        ]
    }
}

impl LbProperties for StrackLbConfig {
    fn build(&self, environment: &Environment, random: Stream) -> AnyLb {
        AnyLb::Strack(StrackLb::new(self, environment, random))
    }

    fn state(&self) -> Vec<StateField> {
        StrackLb::state(self)
    }

    fn reacts_to_ecn(&self) -> bool {
        true
    }

    fn leaves_lossy_paths(&self) -> bool {
        true
    }

    fn check_together(&self, part: &str) -> Result<(), Conflict> {
        let (least, most) = (self.min_paths, self.max_paths);
        if least <= most {
            return Ok(());
        }
        let message = format!("{part}.min_paths is {least}, above the {part}.max_paths of {most}");
        Err(Conflict::value(format!("{part}.min_paths"), message, most)
            .involving(format!("{part}.max_paths")))
    }
}

impl LoadBalancer for StrackLb {
    /// STrack, Algorithm 3, `choose_path`, lines 11-30, for a window of `window` bytes.
    #[inline]
    fn next_ev(&mut self, _now: Time, window: u64) -> u16 {
        // Lines 12-14: the path of the last ACK, if that ACK was unmarked. The round robin continues from this path.
        if let Some(path) = self.next_path_id.take() {
            self.rr = u32::from(path);
            return path;
        }
        // Lines 17-19: the number of paths in the round robin is the number of packets in two windows, but at least
        // `min_paths` and at most `max_paths`. The state of other paths is outdated.
        let two_windows = (window.saturating_mul(2) / self.packet).min(u64::from(self.max_paths)) as u32;
        let paths = two_windows.max(self.min_paths);
        self.rr = (self.rr + 1) % paths;
        // Lines 20-27: skips marked paths, but clears only the first bit. If all bits in the range were set, the loop
        // ends after one round at the cleared bit.
        if self.is_marked(self.rr) {
            self.bitmap[self.rr as usize / 64] &= !(1 << (self.rr % 64));
            self.rr = self.next_unmarked(self.rr + 1, paths);
        }
        self.rr as u16
    }

    /// STrack, Algorithm 3, `update_ecn_bitmap`, lines 2-10.
    #[inline]
    fn handle_ack(&mut self, _now: Time, ev: u16, marked: bool, _rtt: Duration) {
        if u32::from(ev) >= self.max_paths {
            return;
        }
        let (word, bit) = (usize::from(ev) / 64, 1 << (ev % 64));
        if marked {
            // Line 4 discards the path that was kept for the next packet.
            self.next_path_id = None;
            self.bitmap[word] |= bit;
        } else {
            self.next_path_id = Some(ev);
            self.bitmap[word] &= !bit;
        }
    }
}

impl StrackLb {
    #[inline]
    fn is_marked(&self, path: u32) -> bool {
        self.bitmap[path as usize / 64] >> (path % 64) & 1 != 0
    }

    /// The first unmarked path at or after `from`, cyclically within the first `paths` paths. At least one of these
    /// paths must be unmarked.
    fn next_unmarked(&self, from: u32, paths: u32) -> u32 {
        let ahead = self.unmarked_in(from, paths);
        ahead.or_else(|| self.unmarked_in(0, paths)).unwrap_or(0)
    }

    fn unmarked_in(&self, mut from: u32, to: u32) -> Option<u32> {
        while from < to {
            let free = !self.bitmap[from as usize / 64] >> (from % 64);
            if free != 0 {
                let path = from + free.trailing_zeros();
                return (path < to).then_some(path);
            }
            from = (from / 64 + 1) * 64;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PathFacts;
    use anabranch_base::{Bytes, Duration, Purpose, Rate, stream};
    use proptest::prelude::*;

    const PACKET: u64 = 1_000;

    fn balancer(max_paths: u32, min_paths: u32) -> StrackLb {
        let facts = PathFacts {
            base_rtt: Duration::from_us(8),
            bdp: Bytes(100 * PACKET),
            packet: Bytes(PACKET),
            line_rate: Rate::from_gbps(100),
            port_rate: Rate::from_gbps(100),
            queue: Bytes(1_000_000),
        };
        let environment = Environment { facts, rto: Duration::from_us(250), trimming: false };
        let config = StrackLbConfig { max_paths, min_paths };
        StrackLb::new(&config, &environment, stream(1, 0, Purpose::LoadBalancer))
    }

    /// The printed loop of Algorithm 3, with a bool for each bit. Two points are corrected: a set bit marks a congested
    /// path, and an unmarked ACK of path 0 selects this path.
    struct Plain {
        bitmap: Vec<bool>,
        rr: usize,
        next_path_id: Option<usize>,
        min_paths: usize,
    }

    impl Plain {
        fn choose_path(&mut self, cwnd: usize) -> usize {
            if let Some(path) = self.next_path_id.take() {
                self.rr = path;
                return path;
            }
            let mut flag = false;
            let paths = self.min_paths.max(self.bitmap.len().min(2 * cwnd));
            self.rr = (self.rr + 1) % paths;
            while self.bitmap[self.rr] {
                if !flag {
                    self.bitmap[self.rr] = false;
                    flag = true;
                }
                self.rr = (self.rr + 1) % paths;
            }
            self.rr
        }

        fn update_ecn_bitmap(&mut self, path: usize, ecn: bool) {
            self.next_path_id = (!ecn).then_some(path);
            self.bitmap[path] = ecn;
        }
    }

    fn acknowledge(lb: &mut StrackLb, path: u16, marked: bool) {
        lb.handle_ack(Time::ZERO, path, marked, Duration::ZERO);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn agrees_with_the_printed_loop(
            max_paths in prop_oneof![8u32..=256, Just(256u32)],
            steps in prop::collection::vec((0u16..256, 0u8..8, 0u64..200), 1..600),
        ) {
            let mut lb = balancer(max_paths, 8);
            let bitmap = vec![false; max_paths as usize];
            let mut plain = Plain { bitmap, rr: 0, next_path_id: None, min_paths: 8 };
            for (path, action, cwnd) in steps {
                if action < 5 && u32::from(path) < max_paths {
                    // Most ACKs are marked, so that whole ranges of the bitmap are set.
                    acknowledge(&mut lb, path, action > 0);
                    plain.update_ecn_bitmap(path.into(), action > 0);
                } else {
                    let chosen = lb.next_ev(Time::ZERO, cwnd * PACKET);
                    prop_assert_eq!(usize::from(chosen), plain.choose_path(cwnd as usize));
                }
            }
        }
    }

    #[test]
    fn a_range_without_an_unmarked_path_ends_where_its_bit_was_cleared() {
        for (max_paths, window) in [(8, 0), (64, 32), (100, 50), (256, 128)] {
            let mut lb = balancer(max_paths, 8);
            (0..max_paths as u16).for_each(|path| acknowledge(&mut lb, path, true));
            let marked = |lb: &StrackLb| lb.bitmap.iter().map(|word| word.count_ones()).sum::<u32>();
            // The round ends at the bit that was cleared at its start.
            assert_eq!((lb.next_ev(Time::ZERO, window * PACKET), marked(&lb)), (1, max_paths - 1));
            // Path 2 is skipped and its bit is cleared. The next unmarked path is path 1.
            assert_eq!((lb.next_ev(Time::ZERO, window * PACKET), marked(&lb)), (1, max_paths - 2));
            assert_eq!((lb.next_ev(Time::ZERO, window * PACKET), marked(&lb)), (2, max_paths - 2));
        }
    }
}
