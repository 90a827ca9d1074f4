//! ECN marking in queues of a program's own.

use anabranch_base::Stream;

/// Marks by the queue length that a packet leaves behind at dequeue, as ports do.
pub(super) struct Marking {
    /// Bytes above which it begins to mark.
    pub kmin: u64,
    /// Bytes above which it marks every packet.
    pub kmax: u64,
    /// Probability of a mark just below `kmax`; it rises linearly from 0 at `kmin`.
    pub pmax: f64,
    /// What it draws from.
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
