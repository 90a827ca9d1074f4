//! The scheduler of traffic classes. A higher priority is served first. Classes of the same priority are served by
//! weighted round robin in bytes.
//!
//! In its turn, a class sends until it has sent its share: one full packet for the class with the smallest weight, and
//! proportionally more for a larger weight. Only the last packet of a turn may exceed the share, and the excess counts
//! in the next turn. This is surplus round robin, a form of deficit round robin that need not know the next packet's
//! length. A class without data loses its turn, and nothing is carried over to its next turn.

use crate::spec::Share;

#[derive(Clone, Debug)]
pub struct Scheduler {
    /// The priorities, highest first.
    levels: Vec<Level>,
}

/// The classes of one priority.
#[derive(Clone, Debug)]
struct Level {
    classes: Vec<u8>,
    /// The units that each class may send in a turn. A byte costs `cost` units, so that the shares are whole numbers.
    quanta: Vec<i64>,
    cost: i64,
    /// The units that each class may still send.
    left: Vec<i64>,
    /// The position of the class whose turn it is.
    turn: usize,
    /// Whether the class whose turn it is has yet to get its share of this turn.
    fresh: bool,
}

impl Scheduler {
    /// The scheduler of the classes. `shares` has one share for each class, in the order of class numbers. `packet` is
    /// the length of a full packet in bytes.
    pub fn new(shares: &[Share], packet: u64) -> Scheduler {
        let mut priorities: Vec<u8> = shares.iter().map(|share| share.priority).collect();
        priorities.sort_unstable();
        priorities.dedup();
        let level = |priority: u8| {
            let classes = (0..).zip(shares).filter(|(_, share)| share.priority == priority);
            let (classes, weights): (Vec<u8>, Vec<i64>) =
                classes.map(|(class, share)| (class, i64::from(share.weight))).unzip();
            Level {
                quanta: weights.iter().map(|weight| weight * packet as i64).collect(),
                cost: weights.iter().copied().min().unwrap_or(1),
                left: vec![0; classes.len()],
                classes,
                turn: 0,
                fresh: true,
            }
        };
        Scheduler { levels: priorities.into_iter().rev().map(level).collect() }
    }

    /// The class that is served next. `waits` tells whether a class has a packet that may be sent. The result is the
    /// first class for which `waits` returns true, and `waits` is not called afterwards.
    pub fn next(&mut self, mut waits: impl FnMut(u8) -> bool) -> Option<u8> {
        self.levels.iter_mut().find_map(|level| level.next(&mut waits))
    }

    pub fn count(&mut self, class: u8, bytes: u16) {
        for level in &mut self.levels {
            if let Some(position) = level.classes.iter().position(|known| *known == class) {
                level.left[position] -= i64::from(bytes) * level.cost;
                if position == level.turn && level.left[position] <= 0 {
                    level.pass_turn();
                }
            }
        }
    }
}

impl Level {
    fn next(&mut self, waits: &mut impl FnMut(u8) -> bool) -> Option<u8> {
        // The loop runs once more than there are classes. If no class has a packet, the turn therefore passes to the
        // next class.
        for _ in 0..=self.classes.len() {
            let (turn, class) = (self.turn, self.classes[self.turn]);
            if waits(class) {
                if std::mem::take(&mut self.fresh) {
                    self.left[turn] += self.quanta[turn];
                }
                return Some(class);
            }
            self.left[turn] = 0;
            self.pass_turn();
        }
        None
    }

    fn pass_turn(&mut self) {
        self.turn = (self.turn + 1) % self.classes.len();
        self.fresh = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(priority: u8, weight: u32) -> Share {
        Share { priority, weight }
    }

    /// The classes of the next packets, if `backlogged` classes always have packets of `bytes` bytes.
    fn sent(scheduler: &mut Scheduler, backlogged: &[u8], bytes: u16, packets: usize) -> Vec<u8> {
        let mut next = || {
            let class = scheduler.next(|class| backlogged.contains(&class)).unwrap();
            scheduler.count(class, bytes);
            class
        };
        (0..packets).map(|_| next()).collect()
    }

    #[test]
    fn weights_of_one_and_three_give_one_and_three_packets() {
        let mut scheduler = Scheduler::new(&[share(0, 1), share(0, 3)], 1_000);
        assert_eq!(sent(&mut scheduler, &[0, 1], 1_000, 9), [0, 1, 1, 1, 0, 1, 1, 1, 0]);
    }

    /// One class sends 14 of 29 packets, and the other 15. At no time is a class more than one packet away from its
    /// share.
    #[test]
    fn weights_of_14_and_15_are_exact() {
        let mut scheduler = Scheduler::new(&[share(0, 14), share(0, 15)], 4_174);
        for packets in sent(&mut scheduler, &[0, 1], 4_174, 29 * 100).chunks(29) {
            assert_eq!(packets.iter().filter(|class| **class == 0).count(), 14);
            for (sent, _) in packets.iter().enumerate() {
                let first = packets[..=sent].iter().filter(|class| **class == 0).count() as f64;
                assert!((first - (sent + 1) as f64 * 14.0 / 29.0).abs() <= 1.0, "after {sent}");
            }
        }
    }

    #[test]
    fn shares_count_bytes() {
        let mut scheduler = Scheduler::new(&[share(0, 1), share(0, 3)], 1_000);
        let mut bytes = [0_u64; 2];
        for number in 0..10_000_u64 {
            let class = scheduler.next(|_| true).unwrap();
            let length = 100 + number * 7_919 % 901;
            scheduler.count(class, length as u16);
            bytes[usize::from(class)] += length;
        }
        assert!((bytes[1] as f64 / bytes[0] as f64 - 3.0).abs() < 0.002, "{bytes:?}");
    }

    #[test]
    fn a_higher_priority_is_served_first() {
        let mut scheduler = Scheduler::new(&[share(0, 1), share(3, 1), share(0, 1)], 1_000);
        assert_eq!(sent(&mut scheduler, &[0, 1, 2], 1_000, 3), [1, 1, 1]);
        assert_eq!(sent(&mut scheduler, &[0, 2], 1_000, 4), [0, 2, 0, 2]);
    }

    #[test]
    fn a_class_alone_has_everything_and_saves_nothing() {
        let mut scheduler = Scheduler::new(&[share(0, 1), share(0, 3)], 1_000);
        assert_eq!(sent(&mut scheduler, &[0], 1_000, 5), [0; 5]);
        assert_eq!(sent(&mut scheduler, &[0, 1], 1_000, 5), [1, 1, 1, 0, 1]);
        assert_eq!(scheduler.next(|_| false), None);
    }
}
