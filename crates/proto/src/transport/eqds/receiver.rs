//! The receiver of the `eqds` transport.

use super::config::EqdsConfig;
use super::pacer::PULL_EVS;
use crate::packet::{Packet, Repr};
use crate::transport::common::{Answers, Ends, Pull, Receiver};
use crate::transport::sack::SackReceiver;
use anabranch_base::{MessageId, Time};

/// The receiver of a queue pair: the receiver of `sack`, extended by the granted credit.
///
/// In addition to the calls of every receiver, the driver calls [`requests_pull`](Receiver::requests_pull) after each
/// packet and each pull, and [`pull`](Receiver::pull) when the host's pacer serves this receiver.
pub struct EqdsReceiver {
    sack: SackReceiver,
    /// The number of the last pull for which the sender has data.
    target: u32,
    /// The number of the last pull.
    granted: u32,
    is_queued: bool,
    repeats_grant: bool,
    pull_ev: u16,
    packet_bytes: u64,
    answers: Answers,
}

impl EqdsReceiver {
    /// The receiver of a queue pair between `ends`.
    pub fn new(config: &EqdsConfig, ends: Ends) -> Self {
        EqdsReceiver {
            sack: SackReceiver::new(&config.sack_config(), ends),
            target: 0,
            granted: 0,
            is_queued: false,
            repeats_grant: false,
            pull_ev: 0,
            packet_bytes: config.payload.0 + config.header.0,
            answers: Answers::new(ends, config.ack),
        }
    }

    fn grant(&self) -> Packet {
        self.answers.packet(self.pull_ev, Repr::Pull { number: self.granted })
    }
}

impl Receiver for EqdsReceiver {
    #[inline]
    fn handle_packet(&mut self, now: Time, packet: &Packet) -> Option<MessageId> {
        match packet.repr {
            Repr::Data { msn, .. } => self.target = self.target.max(msn.pull_target()),
            // The payload that was cut off has to be pulled once more, unless another copy of it has arrived.
            Repr::Trimmed { psn, msn, .. } => {
                self.target = self.target.max(msn.pull_target()) + u32::from(!self.sack.has(psn));
            }
            Repr::Rts { target } => {
                self.target = self.target.max(target);
                // If everything was granted but the sender still waits, the last pull may have been lost. The next
                // pulls take another path.
                self.repeats_grant = self.granted >= target;
                if self.repeats_grant {
                    self.pull_ev = (self.pull_ev + 1) % PULL_EVS;
                }
            }
            _ => {}
        }
        self.sack.handle_packet(now, packet)
    }

    #[inline]
    fn poll_transmit(&mut self) -> Option<Packet> {
        if std::mem::take(&mut self.repeats_grant) {
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
        let requests = !self.is_queued && self.granted < self.target;
        self.is_queued |= requests;
        requests
    }

    #[inline]
    fn pull(&mut self) -> Option<Pull> {
        self.is_queued = false;
        if self.granted >= self.target {
            return None;
        }
        self.granted += 1;
        Some(Pull { packet: self.grant(), bytes: self.packet_bytes })
    }
}
