//! The lateness of actions: the time from the instant at which a node should act to the instant at which it acts.

use serde::{Deserialize, Serialize};

/// Number of histogram steps per power of two.
const STEPS: u32 = 8;

/// A histogram of times in nanoseconds. Each time is known to within an eighth of its value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lateness {
    counts: Vec<u64>,
    /// The longest time in nanoseconds.
    pub max_ns: u64,
}

impl Lateness {
    /// Counts an action that came `ns` nanoseconds late.
    pub fn record(&mut self, ns: u64) {
        let shift = (ns | u64::from(STEPS)).ilog2() - STEPS.ilog2();
        let step = (u64::from(shift * STEPS) + (ns >> shift)) as usize;
        if self.counts.len() <= step {
            self.counts.resize(step + 1, 0);
        }
        self.counts[step] += 1;
        self.max_ns = self.max_ns.max(ns);
    }

    /// Adds the actions of other nodes.
    pub fn add(&mut self, other: &Lateness) {
        self.counts.resize(self.counts.len().max(other.counts.len()), 0);
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// The lateness in nanoseconds that at most one in `one_in` actions exceeded.
    pub fn all_but_one_in(&self, one_in: u64) -> u64 {
        let all: u64 = self.counts.iter().sum();
        let (mut above, mut step) = (all / one_in.max(1), self.counts.len());
        while step > 0 && above >= self.counts[step - 1] {
            above -= self.counts[step - 1];
            step -= 1;
        }
        // The result is the longest time of the histogram step before `step`.
        match (step as u64).checked_sub(1) {
            None => 0,
            Some(index) if index < u64::from(STEPS) => index,
            Some(index) => {
                let shift = index / u64::from(STEPS) - 1;
                let first = index % u64::from(STEPS) + u64::from(STEPS);
                (((first + 1) << shift) - 1).min(self.max_ns)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_known_to_an_eighth() {
        let mut lateness = Lateness::default();
        (0..=10_000).for_each(|ns| lateness.record(ns));
        let median = lateness.all_but_one_in(2);
        assert!((5_000..=5_700).contains(&median), "{median}");
        assert_eq!(lateness.all_but_one_in(u64::MAX), 10_000);
        let mut few = Lateness::default();
        few.record(3);
        assert_eq!((few.all_but_one_in(100), Lateness::default().all_but_one_in(100)), (3, 0));
        few.add(&lateness);
        assert_eq!(few.max_ns, 10_000);
    }
}
