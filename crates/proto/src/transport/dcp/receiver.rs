//! The receiving end.

use super::config::DcpConfig;
use crate::PathFacts;
use crate::packet::{Msn, Packet, Repr};
use crate::transport::common::{Answers, Cause, Ends, NotificationPoint, Receiver};
use anabranch_base::{MessageId, Time};
use std::collections::VecDeque;

/// The receiving end of a queue pair, with DCQCN's notification point.
///
/// Drive it: [`handle_packet`](Self::handle_packet) for each packet, then [`poll_transmit`](Self::poll_transmit)
/// until it answers none, and [`poll_delivered`](Self::poll_delivered) likewise.
///
/// It relies on a network that does not copy packets: each is counted when it comes.
pub struct DcpReceiver {
    /// eMSN: every request below is complete.
    expected: u32,
    /// See [`fresh_packets`](Self::fresh_packets).
    fresh: u32,
    /// The requests from `expected` on, each at its number modulo their count.
    tracked: Box<[Tracked]>,
    /// A trimmed packet on its way back.
    turned: Option<Packet>,
    ack_due: Option<Cause>,
    /// Messages that the last packet delivered, after the first.
    delivered: VecDeque<MessageId>,
    notification: NotificationPoint,
    trims_as_marks: bool,
    answers: Answers,
    header_bytes: u16,
}

/// What is known of a request that is not complete, or waits for earlier ones (DCP, figure 6c). The name of the
/// message and `recounted` are the simulation's; hardware has the counter and the flags in two bytes, and `retry` in one.
#[derive(Clone, Copy)]
struct Tracked {
    /// Packets that came in the round that is counted.
    count: u32,
    /// Packets that came in the fullest of the rounds that were given up; for [`DcpReceiver::fresh_packets`] alone.
    recounted: u32,
    /// rRetryNo: the round that is counted.
    retry: u8,
    /// mcf: all came.
    is_complete: bool,
    /// Cf: a CQE is wanted.
    is_signalled: bool,
    message: MessageId,
}

const UNTOUCHED: Tracked = Tracked {
    count: 0,
    recounted: 0,
    retry: 0,
    is_complete: false,
    is_signalled: false,
    message: MessageId(0),
};

impl DcpReceiver {
    /// The receiving end of a queue pair between `ends`.
    pub fn new(config: &DcpConfig, facts: &PathFacts, ends: Ends) -> Self {
        DcpReceiver {
            expected: 0,
            fresh: 0,
            tracked: vec![UNTOUCHED; config.tracked_messages as usize].into_boxed_slice(),
            turned: None,
            ack_due: None,
            delivered: VecDeque::new(),
            notification: NotificationPoint::new(config.cnp_interval.on(facts)),
            trims_as_marks: config.trims_as_marks,
            answers: Answers::new(ends, config.ack),
            header_bytes: config.header.0 as u16,
        }
    }
}

impl Receiver for DcpReceiver {
    /// Processes a received packet; returns the first message that it completes.
    ///
    /// There is one ACK per message: with a `cnp_interval` of 0 every marked packet, and every trimmed one that is taken for
    /// one, has a CNP of its own.
    #[inline]
    fn handle_packet(&mut self, now: Time, packet: &Packet) -> Option<MessageId> {
        match packet.repr {
            Repr::Data { message, message_packets, sent_at, ack_now, msn, .. } => {
                if packet.marked {
                    self.notification.notify(now, packet.ev);
                }
                let cause = Cause::new(packet, sent_at);
                if msn.number() < self.expected {
                    // Unsaid: the sender does not know that the message is complete. The ACK was lost.
                    self.ack_due = Some(cause);
                    return None;
                }
                if self.count(msn, message, message_packets, ack_now) {
                    self.ack_due = Some(cause);
                    return self.complete();
                }
                None
            }
            Repr::Trimmed { psn, msn, .. } => {
                if self.trims_as_marks {
                    self.notification.notify(now, packet.ev);
                }
                // DCP, section 4.1, step 2: back to the sender, and nothing is remembered.
                let repr = Repr::header_only(psn).with_msn(msn);
                self.turned = Some(self.answers.packet(packet.ev, repr).with_bytes(self.header_bytes));
                None
            }
            _ => None,
        }
    }

    #[inline]
    fn poll_delivered(&mut self) -> Option<MessageId> {
        self.delivered.pop_front()
    }

    /// The next header-only packet, ACK or CNP to send, if one is due.
    #[inline]
    fn poll_transmit(&mut self) -> Option<Packet> {
        if let Some(turned) = self.turned.take() {
            return Some(turned);
        }
        if let Some(cause) = self.ack_due.take() {
            return Some(self.answers.packet(cause.ev, cause.ack(self.expected)));
        }
        self.notification.poll(&self.answers)
    }

    /// Data packets received for the first time so far, as far as counters can tell.
    ///
    /// It does not know PSNs apart. A request that the sender timed out for is counted anew, and its packets are
    /// taken for those that came before until there are more of them than in any earlier round. So this may lag
    /// behind what has arrived, never runs ahead of it, and is right whenever no request is half there.
    #[inline]
    fn fresh_packets(&self) -> u64 {
        u64::from(self.fresh)
    }
}

impl DcpReceiver {
    /// Counts a packet of a request that is not complete, if it is of the round that is counted (DCP, section 4.5, the
    /// coarse timeout); whether it completes the request of the eMSN.
    #[inline]
    fn count(&mut self, msn: Msn, message: MessageId, packets: u32, is_signalled: bool) -> bool {
        let ahead = msn.number() - self.expected;
        // One that is not tracked is none that a sender may send.
        if ahead as usize >= self.tracked.len() {
            return false;
        }
        let tracked = self.slot(msn.number());
        // It waits for earlier ones, and a later round has nothing to add.
        if tracked.is_complete {
            return false;
        }
        if tracked.retry != msn.retry() {
            // Numbers go round: the later one is less than half of them ahead. An earlier round was given up.
            if msn.retry().wrapping_sub(tracked.retry) >= 128 {
                return false;
            }
            tracked.retry = msn.retry();
            tracked.recounted = tracked.recounted.max(std::mem::take(&mut tracked.count));
        }
        tracked.count += 1;
        let is_fresh = tracked.count > tracked.recounted;
        // DCP, section 4.5: as many as the message has.
        if tracked.count == packets {
            *tracked = Tracked { is_complete: true, is_signalled, message, ..*tracked };
        }
        let completes = ahead == 0 && tracked.is_complete;
        self.fresh += u32::from(is_fresh);
        completes
    }

    /// DCP, section 4.5: once the request of the eMSN is complete, the eMSN goes on to the next that is not, and the
    /// CQEs of those that it passes are due in order. Answers with the first.
    fn complete(&mut self) -> Option<MessageId> {
        while self.slot(self.expected).is_complete {
            let whole = std::mem::replace(self.slot(self.expected), UNTOUCHED);
            if whole.is_signalled {
                self.delivered.push_back(whole.message);
            }
            self.expected += 1;
        }
        self.delivered.pop_front()
    }

    #[inline]
    fn slot(&mut self, number: u32) -> &mut Tracked {
        let count = self.tracked.len();
        &mut self.tracked[number as usize % count]
    }
}
