//! The sending end.

use crate::cc::AnyCc;
use crate::lb::AnyLb;
use crate::transport::{Ends, GoBackNConfig, OutOfPsns, SenderCounters};
use crate::{Packet, PathFacts};
use anabranch_base::{MessageId, Time};

/// The sending end of a queue pair.
pub struct GoBackNSender {
    cc: AnyCc,
    lb: AnyLb,
}

impl GoBackNSender {
    /// The sending end of a queue pair between `ends`.
    pub fn new(_config: &GoBackNConfig, _facts: &PathFacts, _ends: Ends, cc: AnyCc, lb: AnyLb) -> Self {
        GoBackNSender { cc, lb }
    }

    /// Queues a message of `bytes` bytes behind those already posted.
    ///
    /// # Errors
    /// When the queue pair would run out of PSNs.
    pub fn post(&mut self, _message: MessageId, _bytes: u64) -> Result<(), OutOfPsns> {
        Ok(())
    }

    /// Takes a packet in that the receiver sent.
    pub fn handle_packet(&mut self, _now: Time, _packet: &Packet) {}

    /// Its timer is due.
    pub fn handle_timeout(&mut self, _now: Time) {}

    /// When [`handle_timeout`](Self::handle_timeout) is due.
    pub fn next_timeout(&mut self) -> Option<Time> {
        None
    }

    /// Whether a packet may have to wait for its time.
    #[inline]
    pub fn paces(&self) -> bool {
        self.cc.paces()
    }

    /// The next data packet, if there is one and it may go out now.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        let _ = self.lb.next_ev(now, 0);
        None
    }

    /// The next message of which every byte is acknowledged.
    pub fn poll_acknowledged(&mut self) -> Option<MessageId> {
        None
    }

    /// What it counted so far.
    pub fn counters(&self) -> SenderCounters {
        SenderCounters::default()
    }
}
