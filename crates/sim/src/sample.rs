//! A random sample of runs.

use anabranch_base::{Purpose, stream};

/// Returns a random sample of `count` of the numbers below `runs`, without repetition and in ascending order. If
/// `runs` is at most `count`, the sample contains all numbers below `runs`. The sample depends only on the arguments.
pub fn sample(runs: usize, count: usize, seed: u64) -> Vec<usize> {
    let mut random = stream(seed, 0, Purpose::Sample);
    let mut numbers: Vec<usize> = (0..runs).collect();
    let count = count.min(runs);
    for slot in 0..count {
        let left = u32::try_from(runs - slot).expect("a scenario has no more runs");
        numbers.swap(slot, slot + random.below(left) as usize);
    }
    numbers.truncate(count);
    numbers.sort_unstable();
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_no_run_twice_and_follows_from_its_seed() {
        let some = sample(1_000, 100, 7);
        assert_eq!(some.len(), 100);
        assert!(some.windows(2).all(|two| two[0] < two[1]) && some[99] < 1_000);
        assert_eq!(some, sample(1_000, 100, 7));
        assert_ne!(some, sample(1_000, 100, 8));
        assert_eq!(sample(5, 9, 1), [0, 1, 2, 3, 4]);
        // Each of the ten numbers is drawn in about 300 of 1,000 samples. Four standard deviations are 58.
        let mut drawn = [0; 10];
        (0..1_000).for_each(|seed| sample(10, 3, seed).into_iter().for_each(|run| drawn[run] += 1));
        assert!(drawn.iter().all(|times| (242..=358).contains(times)), "{drawn:?}");
    }
}
