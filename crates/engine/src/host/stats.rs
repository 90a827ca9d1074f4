//! Counters of senders: the sums over all queue pairs of a host, and the counters of a single queue pair.

use super::round::SenderSlot;
use anabranch_proto::transport::SenderCounters;
use serde::{Deserialize, Serialize};

/// Counters of senders, summed over the senders. Only `most_nacks` is a maximum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Data packets sent again.
    pub retransmissions: u64,
    /// Timeouts that fired. Depending on the transport, each is of a single packet or of a whole queue pair.
    pub timeouts: u64,
    /// NACKs received, as far as the transport counts them.
    pub nacks: u64,
    /// The largest number of NACKs that one queue pair received.
    pub most_nacks: u64,
    /// Batches of retransmissions fetched from host memory.
    pub fetches: u64,
}

impl Totals {
    pub(super) fn add(mut self, counters: SenderCounters) -> Self {
        self.retransmissions += counters.retransmissions;
        self.timeouts += counters.timeouts;
        self.nacks += counters.nacks;
        self.fetches += counters.fetches;
        self.most_nacks = self.most_nacks.max(counters.nacks);
        self
    }

    /// These totals combined with `other`.
    pub fn and(mut self, other: Totals) -> Self {
        self.retransmissions += other.retransmissions;
        self.timeouts += other.timeouts;
        self.nacks += other.nacks;
        self.fetches += other.fetches;
        self.most_nacks = self.most_nacks.max(other.most_nacks);
        self
    }
}

/// Statistics of a queue pair. All but `lost` are counted at its sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QpStats {
    pub retransmissions: u32,
    pub timeouts: u32,
    /// Data packets whose entropy value differs from that of the queue pair's previous data packet.
    pub path_changes: u32,
    /// Data packets whose payload was lost.
    pub lost: u32,
}

impl QpStats {
    #[must_use]
    pub fn and(self, other: QpStats) -> QpStats {
        QpStats {
            retransmissions: self.retransmissions.saturating_add(other.retransmissions),
            timeouts: self.timeouts.saturating_add(other.timeouts),
            path_changes: self.path_changes.saturating_add(other.path_changes),
            lost: self.lost.saturating_add(other.lost),
        }
    }
}

pub(super) fn stats(slot: &SenderSlot) -> QpStats {
    let SenderCounters { retransmissions, timeouts, .. } = slot.sender.counters();
    let [retransmissions, timeouts] =
        [retransmissions, timeouts].map(|count| u32::try_from(count).unwrap_or(u32::MAX));
    QpStats { retransmissions, timeouts, path_changes: slot.path_changes, lost: 0 }
}
