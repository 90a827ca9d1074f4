//! The double-length variable base bitmap (Themis-spraying, Appendix A).

/// The packets of a queue pair that were sent to the receiving NIC: the Proxy Bitmap (section 4.2).
///
/// It has two bits for each packet of the transmit window, in two halves. Each half has a base bit. A bit that equals
/// the base bit of its half means "not received". The base bit flips when the start pointer leaves the half. All
/// packets of the half have then been received, so that no bits need to be cleared.
pub(super) struct ProxyBitmap {
    /// Bit `psn % (2 * window)` stands for `psn`.
    words: Box<[u64]>,
    /// Number of packets in the transmit window, and of bits in a half.
    window: u32,
    /// The start pointer: the receiving NIC has acknowledged every PSN below it, by ACKs or NACKs (epsn_array).
    start: u32,
    /// The base bits of the first and the second half.
    base: [bool; 2],
}

impl ProxyBitmap {
    pub(super) fn new(window: u32) -> Self {
        let window = window.max(1);
        let words = vec![0; (window as usize * 2).div_ceil(64)].into_boxed_slice();
        ProxyBitmap { words, window, start: 0, base: [false; 2] }
    }

    /// Whether `psn` was sent to the NIC. The caller must pass a PSN below the start pointer plus a window.
    #[inline]
    pub(super) fn contains(&self, psn: u32) -> bool {
        psn < self.start || self.bit(psn) != self.base[self.half(psn)]
    }

    /// Marks `psn` as sent to the NIC.
    ///
    /// A copy of a packet below the start pointer changes nothing. Once the start pointer has left that packet's
    /// half, its bit represents a later packet (`psn + 2 * window` or beyond), which need not have been sent.
    #[inline]
    pub(super) fn insert(&mut self, psn: u32) {
        if psn < self.start {
            return;
        }
        debug_assert!(psn - self.start < self.window, "PSN {psn} is beyond the window from {}", self.start);
        let received = !self.base[self.half(psn)];
        let (word, bit) = self.slot(psn);
        if received {
            self.words[word] |= bit;
        } else {
            self.words[word] &= !bit;
        }
    }

    /// Advances the start pointer to `start`, by at most a window: the receiving NIC has every PSN below `start`.
    #[inline]
    pub(super) fn advance(&mut self, start: u32) {
        if start <= self.start {
            return;
        }
        debug_assert!(start - self.start <= self.window, "more acknowledged than the window holds");
        // Appendix A: when the pointer leaves a half, the base bit of that half flips.
        for half in self.start / self.window..start / self.window {
            let base = &mut self.base[half as usize % 2];
            *base = !*base;
        }
        self.start = start;
    }

    #[inline]
    fn half(&self, psn: u32) -> usize {
        (psn / self.window) as usize % 2
    }

    #[inline]
    fn bit(&self, psn: u32) -> bool {
        let (word, bit) = self.slot(psn);
        self.words[word] & bit != 0
    }

    #[inline]
    fn slot(&self, psn: u32) -> (usize, u64) {
        let slot = u64::from(psn) % (u64::from(self.window) * 2);
        (slot as usize / 64, 1 << (slot % 64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Figure 17 with a window of 4: once the start pointer has left a half, its bits are reused with the opposite
    /// meaning, and none is cleared.
    #[test]
    fn a_half_is_used_again_with_its_base_flipped() {
        let mut bitmap = ProxyBitmap::new(4);
        let bits = |bitmap: &ProxyBitmap| format!("{:08b}", bitmap.words[0].reverse_bits() >> 56);
        [0, 1, 3].into_iter().for_each(|psn| bitmap.insert(psn));
        bitmap.advance(2);
        bitmap.insert(4);
        assert_eq!(
            (bits(&bitmap), bitmap.base),
            ("11011000".into(), [false, false]),
            "17a: in the first half"
        );
        assert_eq!([2, 3, 4, 5].map(|psn| bitmap.contains(psn)), [false, true, true, false]);

        bitmap.insert(2);
        bitmap.advance(5);
        assert_eq!(
            (bits(&bitmap), bitmap.base),
            ("11111000".into(), [true, false]),
            "17b: in the second half"
        );
        assert_eq!([5, 6, 7, 8].map(|psn| bitmap.contains(psn)), [false; 4], "8 has the bit that 0 had");

        bitmap.insert(8);
        assert_eq!((bits(&bitmap), bitmap.base), ("01111000".into(), [true, false]));
        assert!(bitmap.contains(8), "in the first half, 0 means received now");
        [5, 6, 7].into_iter().for_each(|psn| bitmap.insert(psn));
        bitmap.advance(9);
        assert_eq!((bits(&bitmap), bitmap.base), ("01111111".into(), [true, true]), "back in the first half");
        assert_eq!([9, 10, 11, 12].map(|psn| bitmap.contains(psn)), [false; 4]);
    }

    #[test]
    fn a_copy_from_before_the_start_pointer_is_not_taken_for_the_packet_two_windows_on() {
        let mut bitmap = ProxyBitmap::new(4);
        (0..4).for_each(|psn| bitmap.insert(psn));
        bitmap.advance(4);
        (4..7).for_each(|psn| bitmap.insert(psn));
        bitmap.advance(7);
        bitmap.insert(1);
        assert!(!bitmap.contains(9), "1 and 9 share a bit");
        assert!(bitmap.contains(1));
    }

    #[derive(Clone, Debug)]
    enum Step {
        /// The packet at this offset, modulo the window, is sent.
        Insert(u32),
        /// A copy of the packet at this distance below the start pointer is sent.
        Copy(u32),
        /// Packets from the start pointer on are sent in order, even those that were sent before. Their number is the
        /// value, wrapped into the range from 1 to the window.
        Fill(u32),
        /// The NIC acknowledges packets. The value is the number of further packets that it could acknowledge.
        Acknowledge(u32),
    }

    fn steps() -> impl Strategy<Value = (u32, Vec<Step>)> {
        let step = prop_oneof![
            4 => (0u32..4000).prop_map(Step::Insert),
            1 => (1u32..4000).prop_map(Step::Copy),
            2 => (1u32..4000).prop_map(Step::Fill),
            2 => (0u32..4).prop_map(Step::Acknowledge),
        ];
        (prop_oneof![1u32..9, 60u32..70, Just(512u32)], prop::collection::vec(step, 1..200))
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn agrees_with_a_plain_set((window, steps) in steps()) {
            let (mut bitmap, mut plain, mut start) = (ProxyBitmap::new(window), BTreeSet::new(), 0);
            for step in steps {
                match step {
                    Step::Insert(ahead) => {
                        bitmap.insert(start + ahead % window);
                        plain.insert(start + ahead % window);
                    }
                    Step::Copy(behind) if behind <= start => bitmap.insert(start - behind),
                    Step::Copy(_) => {}
                    Step::Fill(count) => (start..start + 1 + (count - 1) % window).for_each(|psn| {
                        bitmap.insert(psn);
                        plain.insert(psn);
                    }),
                    Step::Acknowledge(less) => {
                        let all = (start..).find(|psn| !plain.contains(psn)).unwrap_or(start);
                        start = start.max(all.saturating_sub(less));
                        bitmap.advance(start);
                        bitmap.advance(start.saturating_sub(less));
                    }
                }
                for psn in start.saturating_sub(window * 3)..start + window {
                    prop_assert_eq!(bitmap.contains(psn), plain.contains(&psn), "{} from {}", psn, start);
                }
            }
        }
    }
}
