//! Queue pairs and messages that come while the run goes on ([`crate::posts`]).

use super::{Host, Incoming, NOT_OPENED, Outgoing, QpStats};
use crate::board::parts;
use crate::network::Network;
use anabranch_base::{MessageId, QpId};

impl Host {
    /// The number that the next queue pair on which it sends has among them.
    pub fn next_outgoing(&self) -> u32 {
        self.outgoing.len() as u32
    }

    /// The number that the next queue pair on which it receives has among them.
    pub fn next_incoming(&self) -> u32 {
        self.incoming.len() as u32
    }

    /// It sends on one more queue pair, to the end of the run.
    pub fn add_outgoing(&mut self, qp: QpId) {
        // A message more than it will have, so that it never has all acknowledged.
        self.outgoing.push(Outgoing { qp, index: NOT_OPENED, messages_left: 1, stats: QpStats::default() });
    }

    /// It receives on one more queue pair.
    pub fn add_incoming(&mut self) {
        self.incoming.push(Incoming { index: NOT_OPENED, telemetry: 0 });
    }

    /// One more message of one of those queue pairs will be posted.
    pub fn expect_message(&mut self, message: MessageId, network: &Network<'_>) {
        let message = network.message(message);
        let split = network.scheme.qps;
        let first = network.slots(QpId(message.qp.0 * split))[0] as usize;
        for qp in &mut self.outgoing[first..][..parts(message.bytes, split) as usize] {
            qp.messages_left += 1;
        }
    }
}
