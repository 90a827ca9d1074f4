//! ECN marking in the queues of programs.

use anabranch_base::Stream;

/// ECN marking by the queue length that a packet leaves behind at dequeue, as at the ports of switches.
pub(super) struct Marking {
    /// Queue length in bytes above which packets are marked with a probability that rises from 0.
    pub kmin: u64,
    /// Queue length in bytes above which every packet is marked.
    pub kmax: u64,
    /// Probability of a mark at `kmax`. The probability rises linearly from 0 at `kmin`.
    pub pmax: f64,
    pub random: Stream,
}

impl Marking {
    /// Whether a packet that leaves a queue of `bytes` bytes behind is marked.
    pub fn marks(&mut self, bytes: u64) -> bool {
        if bytes <= self.kmin {
            return false;
        }
        let share = (bytes - self.kmin) as f64 / self.kmax.saturating_sub(self.kmin) as f64;
        bytes > self.kmax || self.random.unit() < share * self.pmax
    }
}
