//! The receiving end.

use crate::Packet;
use crate::transport::{Ends, StrackConfig};
use anabranch_base::{MessageId, Time};

/// The receiving end of a queue pair.
pub struct StrackReceiver {
    ends: Ends,
}

impl StrackReceiver {
    /// The receiving end of a queue pair between `ends`.
    pub fn new(_config: &StrackConfig, ends: Ends) -> Self {
        StrackReceiver { ends }
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
