//! A set of PSNs within a sliding range, stored as a ring of bits.

use smallvec::{SmallVec, smallvec};
use std::ops::Range;

/// A set of PSNs in a range that begins at `low`. The owner of the set stores `low`, and moves it forward.
///
/// Bit `psn % capacity` stands for `psn`. The ring grows when the range outgrows it, and it never shrinks.
#[derive(Clone, Debug)]
pub(crate) struct PsnSet {
    /// The words are stored inline for the range of a usual window, which avoids following a pointer for each packet.
    words: SmallVec<[u64; INITIAL_WORDS]>,
}

const INITIAL_WORDS: usize = 4;

impl PsnSet {
    pub(crate) fn new() -> Self {
        PsnSet { words: smallvec![0; INITIAL_WORDS] }
    }

    #[inline]
    fn slot(&self, psn: u32) -> (usize, u64) {
        ((psn as usize / 64) & (self.words.len() - 1), 1 << (psn % 64))
    }

    /// Makes room for `psn` when every member is at or above `low`. Returns whether the ring had to grow.
    #[inline]
    pub(crate) fn make_room(&mut self, low: u32, psn: u32) -> bool {
        // One word stays free, since `low` may be at any bit of its word.
        let grows = (psn - low) as usize >= (self.words.len() - 1) * 64;
        if grows {
            self.grow(low, psn);
        }
        grows
    }

    #[cold]
    fn grow(&mut self, low: u32, psn: u32) {
        let words_needed = (((psn - low) as usize / 64 + 3).next_power_of_two()).max(self.words.len() * 2);
        let mut words = smallvec![0; words_needed];
        for i in 0..self.words.len() {
            let word = low as usize / 64 + i;
            words[word & (words_needed - 1)] = self.words[word & (self.words.len() - 1)];
        }
        self.words = words;
    }

    #[inline]
    pub(crate) fn contains(&self, psn: u32) -> bool {
        let (word, bit) = self.slot(psn);
        self.words[word] & bit != 0
    }

    /// Adds `psn`, and returns false if it was a member already. The caller must have made room.
    #[inline]
    pub(crate) fn insert(&mut self, psn: u32) -> bool {
        let (word, bit) = self.slot(psn);
        let fresh = self.words[word] & bit == 0;
        self.words[word] |= bit;
        fresh
    }

    #[inline]
    pub(crate) fn remove(&mut self, psn: u32) {
        let (word, bit) = self.slot(psn);
        self.words[word] &= !bit;
    }

    /// Removes the unbroken run of members from `low` on, and returns the first PSN after it.
    #[inline]
    pub(crate) fn take_run(&mut self, mut low: u32) -> u32 {
        loop {
            let (word, _) = self.slot(low);
            let offset = low % 64;
            let run = (self.words[word] >> offset).trailing_ones();
            if run == 0 {
                return low;
            }
            let mask = if run == 64 { u64::MAX } else { ((1u64 << run) - 1) << offset };
            self.words[word] &= !mask;
            low += run;
            if run + offset < 64 {
                return low;
            }
        }
    }

    /// The lowest member in `from..end`, a range that the ring covers.
    pub(crate) fn first_from(&self, mut from: u32, end: u32) -> Option<u32> {
        while from < end {
            let inside = u64::MAX >> (64 - (end - from).min(64));
            let bits = self.window(from) & inside;
            if bits != 0 {
                return Some(from + bits.trailing_zeros());
            }
            from += 64;
        }
        None
    }

    /// The members in `base..base + 64`, as bits. Bits of PSNs beyond the set's range are undefined, so the caller must
    /// mask them.
    #[inline]
    pub(crate) fn window(&self, base: u32) -> u64 {
        let (word, _) = self.slot(base);
        let offset = base % 64;
        let first = self.words[word] >> offset;
        if offset == 0 {
            return first;
        }
        first | self.words[(word + 1) & (self.words.len() - 1)] << (64 - offset)
    }

    /// The PSNs that an acknowledgement bitmap would add to the set: PSNs in `range` whose bit in `received` is set and
    /// which are not yet members. Bit 0 of `received` stands for `base`. The result is a bitmap, preceded by the PSN of
    /// its bit 0.
    #[inline]
    pub(crate) fn absent(&self, range: Range<u32>, mut base: u32, received: u64) -> (u32, u64) {
        let mut bits = received;
        if base < range.start {
            let below = range.start - base;
            if below >= 64 {
                return (base, 0);
            }
            bits >>= below;
            base = range.start;
        }
        if base >= range.end {
            return (base, 0);
        }
        if range.end - base < 64 {
            bits &= (1 << (range.end - base)) - 1;
        }
        (base, bits & !self.window(base))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// A step of the owner of a set. PSNs are counted from the owner's `low`.
    #[derive(Clone, Debug)]
    enum Step {
        Insert(u32),
        Remove(u32),
        /// Adds this many PSNs from `low` on, so that the range slides over words and round the ring.
        Fill(u32),
        Look(u32),
    }

    fn step() -> impl Strategy<Value = Step> {
        let ahead = || prop_oneof![0u32..4, 0u32..150, 0u32..3000];
        prop_oneof![
            4 => ahead().prop_map(Step::Insert),
            2 => ahead().prop_map(Step::Remove),
            2 => (1u32..300).prop_map(Step::Fill),
            2 => ahead().prop_map(Step::Look),
        ]
    }

    fn plain_window(plain: &BTreeSet<u32>, base: u32) -> u64 {
        plain.range(base..base + 64).fold(0, |window, psn| window | 1 << (psn - base))
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn agrees_with_a_plain_set(start in 0u32..500, steps in prop::collection::vec(step(), 1..200)) {
            let (mut ring, mut plain, mut low) = (PsnSet::new(), BTreeSet::new(), start);
            // The first PSN for which no room has been made so far.
            let mut end = start;
            for step in steps {
                match step {
                    Step::Insert(ahead) => {
                        ring.make_room(low, low + ahead);
                        end = end.max(low + ahead + 1);
                        prop_assert_eq!(ring.insert(low + ahead), plain.insert(low + ahead));
                    }
                    Step::Remove(ahead) if low + ahead < end => {
                        ring.remove(low + ahead);
                        plain.remove(&(low + ahead));
                    }
                    Step::Fill(count) => {
                        for psn in low..low + count {
                            ring.make_room(low, psn);
                            prop_assert_eq!(ring.insert(psn), plain.insert(psn));
                        }
                        end = end.max(low + count);
                    }
                    Step::Look(ahead) if low + ahead < end => {
                        let base = low + ahead;
                        let inside = u64::MAX >> (64 - (end - base).min(64));
                        prop_assert_eq!(ring.window(base) & inside, plain_window(&plain, base));
                        ring.make_room(low, base + 64);
                        end = end.max(base + 64);
                        prop_assert_eq!(ring.window(base), plain_window(&plain, base), "with room for all 64");
                    }
                    Step::Remove(_) | Step::Look(_) => {}
                }
                let after_run = ring.take_run(low);
                while plain.remove(&low) {
                    low += 1;
                }
                prop_assert_eq!(after_run, low);
            }
            for psn in low..end {
                prop_assert_eq!(ring.contains(psn), plain.contains(&psn), "{}", psn);
            }
        }
    }
}
