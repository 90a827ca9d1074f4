//! A tournament tree, which gives the earliest of a fixed number of times that may change.

use anabranch_base::Time;

/// The times of entries that are numbered from 0. Changing a time takes one comparison per level of the tree. A heap
/// would keep the old time until the old time reaches the top.
#[derive(Default)]
pub struct Tournament {
    /// A binary tree whose leaves are the entries. The children of node `k` are `2k` and `2k + 1`, and each inner node
    /// equals the earlier one of its two children. Node 0 is unused.
    nodes: Vec<(Time, u32)>,
    /// The index of the first leaf, a power of two.
    leaves: usize,
}

impl Tournament {
    pub fn refill(&mut self, times: impl ExactSizeIterator<Item = Time>) {
        self.leaves = times.len().next_power_of_two();
        self.nodes.clear();
        self.nodes.resize(2 * self.leaves, (Time::NEVER, u32::MAX));
        for (entry, time) in times.enumerate() {
            self.nodes[self.leaves + entry] = (time, entry as u32);
        }
        (1..self.leaves).rev().for_each(|node| self.play(node));
    }

    /// The earliest time and its entry. If several entries have this time, the entry with the lowest number is
    /// returned.
    #[inline]
    pub fn first(&self) -> (Time, u32) {
        self.nodes[1]
    }

    #[inline]
    pub fn set(&mut self, entry: u32, time: Time) {
        let mut node = self.leaves + entry as usize;
        self.nodes[node].0 = time;
        while node > 1 {
            node /= 2;
            self.play(node);
        }
    }

    #[inline]
    fn play(&mut self, node: usize) {
        let (left, right) = (self.nodes[2 * node], self.nodes[2 * node + 1]);
        self.nodes[node] = if right.0 < left.0 { right } else { left };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_is_the_earliest_with_the_lowest_number(
            times in prop::collection::vec(0u64..5, 1..20),
            changes in prop::collection::vec((0usize..20, 0u64..6), 0..50),
        ) {
            let mut times: Vec<Time> = times.into_iter().map(Time).collect();
            let mut tournament = Tournament::default();
            tournament.refill(times.iter().copied());
            for (entry, time) in changes {
                let entry = entry % times.len();
                times[entry] = if time == 5 { Time::NEVER } else { Time(time) };
                tournament.set(entry as u32, times[entry]);
                let (at, first) = (0..).zip(&times).map(|(entry, time)| (*time, entry)).min().unwrap();
                prop_assert_eq!(tournament.first().0, at);
                if at != Time::NEVER {
                    prop_assert_eq!(tournament.first().1, first);
                }
            }
        }
    }
}
