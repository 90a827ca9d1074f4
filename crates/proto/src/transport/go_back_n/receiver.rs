//! The receiving end.

use crate::{Packet, PathFacts};
use crate::transport::{Ends, GoBackNConfig};
use anabranch_base::{MessageId, Time};

/// The receiving end of a queue pair.
pub struct GoBackNReceiver {
    ends: Ends,
}

impl GoBackNReceiver {
    /// The receiving end of a queue pair between `ends`.
    pub fn new(_config: &GoBackNConfig, _facts: &PathFacts, ends: Ends) -> Self {
        GoBackNReceiver { ends }
    }

    /// Takes a packet in; answers with the message that it made whole.
    pub fn handle_packet(&mut self, _now: Time, _packet: &Packet) -> Option<MessageId> {
        let _ = self.ends;
        None
    }

    /// The next packet to send back.
    pub fn poll_transmit(&mut self) -> Option<Packet> {
        None
    }
}
