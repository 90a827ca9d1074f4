//! The senders and receivers of a run's scheme, for a driver that has no nodes.

use super::DrivenRun;
use anabranch_proto::PathFacts;
use anabranch_proto::transport::{AnyReceiver, AnySender, Ends, PullPacer};

impl DrivenRun<'_> {
    /// The facts about the fabric's longest path.
    pub fn facts(&self) -> &PathFacts {
        &self.network.facts
    }

    /// The sender of a queue pair that need not be one of the workload.
    pub fn sender(&self, ends: Ends) -> AnySender {
        self.network.sender(0, ends)
    }

    /// The receiver of a queue pair that need not be one of the workload.
    pub fn receiver(&self, ends: Ends) -> AnyReceiver {
        self.network.receiver(0, ends)
    }

    /// The pacer of a host's pulls, if receivers grant credit.
    pub fn pull_pacer(&self) -> Option<PullPacer> {
        self.network.scheme.transport.pull_pacer(&self.network.facts)
    }
}
