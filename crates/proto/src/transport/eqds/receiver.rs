//! The receiving end.

use super::config::EqdsConfig;
use crate::packet::{Packet, Repr};
use crate::transport::common::{Answers, Ends, Receiver};
use crate::transport::sack::SackReceiver;
use anabranch_base::{MessageId, Time};

/// The receiving end of a queue pair: that of `sack`, and what it granted.
///
/// Beside what drives every receiver: after each packet [`requests_pull`](Receiver::requests_pull), and when the host's
/// pacer comes to it, [`pull`](Receiver::pull).
pub struct EqdsReceiver {
    sack: SackReceiver,
    /// The highest pull that the sender has demand for.
    target: u32,
    /// The number of the last pull.
    granted: u32,
    /// It stands in the pacer's queue.
    waits: bool,
    /// The last pull is to be said again, at once.
    repeats: bool,
    answers: Answers,
}

impl EqdsReceiver {
    /// The receiving end of a queue pair between `ends`.
    pub fn new(config: &EqdsConfig, ends: Ends) -> Self {
        EqdsReceiver {
            sack: SackReceiver::new(&config.sack(), ends),
            target: 0,
            granted: 0,
            waits: false,
            repeats: false,
            answers: Answers::new(ends, config.ack),
        }
    }

    fn grant(&self) -> Packet {
        self.answers.packet(0, Repr::Pull { number: self.granted })
    }
}

impl Receiver for EqdsReceiver {
    #[inline]
    fn handle_packet(&mut self, now: Time, packet: &Packet) -> Option<MessageId> {
        match packet.repr {
            Repr::Data { msn, .. } => self.target = self.target.max(msn.pull_target()),
            // What was cut off has to be pulled once more; the sender comes to the same target when it hears of it.
            Repr::Trimmed { msn, .. } => self.target = self.target.max(msn.pull_target()) + 1,
            Repr::Rts { target } => {
                self.target = self.target.max(target);
                // All was granted, and the sender waits: the last pull was lost.
                self.repeats = self.granted >= target;
            }
            _ => {}
        }
        self.sack.handle_packet(now, packet)
    }

    #[inline]
    fn poll_transmit(&mut self) -> Option<Packet> {
        if std::mem::take(&mut self.repeats) {
            return Some(self.grant());
        }
        self.sack.poll_transmit()
    }

    #[inline]
    fn fresh_packets(&self) -> u64 {
        self.sack.fresh_packets()
    }

    #[inline]
    fn requests_pull(&mut self) -> bool {
        let asks = !self.waits && self.granted < self.target;
        self.waits |= asks;
        asks
    }

    #[inline]
    fn pull(&mut self) -> Option<Packet> {
        self.waits = false;
        if self.granted >= self.target {
            return None;
        }
        self.granted += 1;
        Some(self.grant())
    }
}
