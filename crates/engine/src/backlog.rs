//! A histogram of the bytes that data packets find waiting at the ports of switches.

use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

/// The number of histogram steps per power of two. With 16 steps, a queue length is known to within a sixteenth.
const STEPS: u32 = 16;
/// The number of steps needed for all 32-bit lengths.
const LENGTHS: usize = 464;

/// Counts of data packets, and of other packets that wait with data, by the number of bytes that they found waiting at
/// a switch port.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "Vec<u64>", into = "Vec<u64>")]
pub struct Backlogs {
    counts: Box<[u64; LENGTHS]>,
}

impl From<Backlogs> for Vec<u64> {
    fn from(backlogs: Backlogs) -> Vec<u64> {
        backlogs.counts.to_vec()
    }
}

impl TryFrom<Vec<u64>> for Backlogs {
    type Error = String;

    fn try_from(counts: Vec<u64>) -> Result<Backlogs, String> {
        let wrong = |counts: Vec<u64>| format!("{} counts, where {LENGTHS} are expected", counts.len());
        Ok(Backlogs { counts: Box::new(counts.try_into().map_err(wrong)?) })
    }
}

impl Default for Backlogs {
    fn default() -> Self {
        Backlogs { counts: Box::new([0; LENGTHS]) }
    }
}

impl AddAssign<&Backlogs> for Backlogs {
    fn add_assign(&mut self, other: &Backlogs) {
        self.counts.iter_mut().zip(&*other.counts).for_each(|(count, more)| *count += more);
    }
}

impl Backlogs {
    /// Counts a packet that found an empty queue.
    #[inline]
    pub fn record_empty(&mut self) {
        self.counts[0] += 1;
    }

    /// Counts a packet that found this many bytes waiting.
    #[inline]
    pub fn record(&mut self, bytes: u32) {
        self.counts[step_of(bytes)] += 1;
    }

    /// The smallest length such that at least `percent` percent of the packets found at most that many bytes waiting,
    /// rounded up by at most a sixteenth. None if there were no packets.
    pub fn percentile(&self, percent: u64) -> Option<u64> {
        let all: u64 = self.counts.iter().sum();
        let rank = (all * percent).div_ceil(100).max(1);
        let mut below = 0;
        let step = self.counts.iter().position(|count| {
            below += count;
            below >= rank
        })?;
        Some(most_of(step))
    }
}

/// The number of the histogram step that contains a queue length. Each length below 32 has its own step.
#[inline]
fn step_of(bytes: u32) -> usize {
    let shift = (bytes | STEPS).ilog2() - STEPS.ilog2();
    (shift * STEPS + (bytes >> shift)) as usize
}

fn most_of(step: usize) -> u64 {
    let (step, steps) = (step as u64, u64::from(STEPS));
    let shift = (step / steps).saturating_sub(1);
    ((step - shift * steps + 1) << shift) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_length_is_known_to_within_a_sixteenth() {
        let mut next = 0;
        for step in 0..LENGTHS {
            let most = most_of(step);
            for bytes in [next, (next + most) / 2, most] {
                assert_eq!(step_of(u32::try_from(bytes).unwrap()), step, "{bytes}");
            }
            assert!(most - next <= next / 16, "{next} to {most}");
            next = most + 1;
        }
        assert_eq!(next, 1 << 32);
    }

    /// The nearest ranks for 99 % are 198 of 200, 19,800 of 20,000 and 19,803 of 20,003. The histogram has a step
    /// from 192 to 199.
    #[test]
    fn percentiles_are_by_nearest_rank() {
        let mut backlogs = Backlogs::default();
        assert_eq!(backlogs.percentile(99), None);
        (1..=200).for_each(|bytes| backlogs.record(bytes));
        assert_eq!((backlogs.percentile(99), backlogs.percentile(1)), (Some(199), Some(2)));
        let mut both = Backlogs::default();
        (0..19_800).for_each(|_| both.record_empty());
        assert_eq!(both.percentile(99), Some(0));
        both += &backlogs;
        assert_eq!(both.percentile(99), Some(0), "198 of 20,000 are the last of them");
        both.record(40);
        both.record(40);
        both.record(40);
        assert_eq!(
            both.percentile(99),
            Some(3),
            "nearest rank 19,803 of 20,003: the third after those that found none"
        );
    }
}
