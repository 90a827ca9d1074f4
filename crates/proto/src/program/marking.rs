//! How a queue of a program marks packets (ECN), where it is one of the program's own.

use anabranch_base::Stream;

/// Marks by what a packet leaves behind as it goes out, as ports do.
pub(super) struct Marking {
    /// Bytes above which it begins to mark.
    pub kmin: u64,
    /// Bytes above which it marks every packet.
    pub kmax: u64,
    /// Share of the packets that it marks just below `kmax`.
    pub pmax: f64,
    /// What it draws from.
    pub random: Stream,
}

impl Marking {
    /// Whether a packet that leaves `bytes` behind is marked.
    pub fn marks(&mut self, bytes: u64) -> bool {
        if bytes <= self.kmin {
            return false;
        }
        let share = (bytes - self.kmin) as f64 / self.kmax.saturating_sub(self.kmin) as f64;
        bytes > self.kmax || self.random.unit() < share * self.pmax
    }
}
