//! ECN marking in the queues of programs.

use crate::Conflict;
use anabranch_base::{Bytes, Stream};

pub(super) fn check((kmin, kmax): (Bytes, Bytes), table: &str) -> Result<(), Conflict> {
    if kmin <= kmax {
        return Ok(());
    }
    let message = format!("{table}.ecn_kmin ({kmin}) is above {table}.ecn_kmax ({kmax})");
    let conflict = Conflict::value(format!("{table}.ecn_kmin"), message, format!("\"{kmax}\""));
    Err(conflict.involving(format!("{table}.ecn_kmax")))
}

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
    pub fn marks(&mut self, bytes: u64) -> bool {
        if bytes <= self.kmin {
            return false;
        }
        let share = (bytes - self.kmin) as f64 / self.kmax.saturating_sub(self.kmin) as f64;
        bytes > self.kmax || self.random.unit() < share * self.pmax
    }
}
