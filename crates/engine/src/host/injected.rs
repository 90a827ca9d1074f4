//! Queue pairs and messages that are added while the run goes on ([`crate::injection`]).

use super::{Host, Incoming, NOT_OPENED, Outgoing, PORT, QpStats};
use crate::board::parts;
use crate::network::Network;
use anabranch_base::{MessageId, QpId};

impl Host {
    pub fn next_outgoing(&self) -> u32 {
        self.outgoing.len() as u32
    }

    pub fn next_incoming(&self) -> u32 {
        self.incoming.len() as u32
    }

    /// Adds a queue pair on which the host sends. If `stays` is set, the queue pair stays open until the end of the
    /// run. If not, it is done when all its messages are acknowledged.
    pub fn add_outgoing(&mut self, qp: QpId, stays: bool) {
        // If the queue pair stays open, the count has one message more than will be posted, so that the queue pair is
        // never done.
        let messages_left = u32::from(stays);
        self.outgoing.push(Outgoing { qp, index: NOT_OPENED, messages_left, stats: QpStats::default() });
    }

    pub fn add_incoming(&mut self) {
        self.incoming.push(Incoming { index: NOT_OPENED, telemetry: 0, port: PORT });
    }

    /// Counts a message that will be posted on an added queue pair.
    pub fn expect_message(&mut self, message: MessageId, network: &Network<'_>) {
        let message = network.message(message);
        let split = network.scheme.qps;
        let first = network.slots(QpId(message.qp.0 * split))[0] as usize;
        for qp in &mut self.outgoing[first..][..parts(message.bytes, split) as usize] {
            qp.messages_left += 1;
        }
    }
}
