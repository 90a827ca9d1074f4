//! The receiver of the `dcp` transport.

use super::config::DcpConfig;
use crate::PathFacts;
use crate::packet::{Msn, Packet, Repr};
use crate::transport::common::{Answers, Cause, Ends, NotificationPoint, Receiver};
use anabranch_base::{MessageId, Time};
use std::collections::VecDeque;

/// The receiver of a queue pair, with DCQCN's notification point. See [`AnyReceiver`](crate::transport::AnyReceiver)
/// for the order of calls.
///
/// It relies on a network that does not duplicate packets, since it counts each packet that arrives.
pub struct DcpReceiver {
    /// eMSN: every request below it is complete.
    expected: u32,
    fresh: u32,
    /// The requests from `expected` on. The index is the request's number modulo the length of the list.
    tracked: Box<[Tracked]>,
    /// A header-only packet to return to the sender.
    returned: Option<Packet>,
    ack_due: Option<Cause>,
    /// Messages that the last packet completed, except the first of them.
    delivered: VecDeque<MessageId>,
    notification: NotificationPoint,
    trims_as_marks: bool,
    answers: Answers,
    header_bytes: u16,
}

/// The state of a request that is incomplete, or waits for earlier ones (DCP, figure 6c). `message` and `recounted`
/// exist only in the simulation. Hardware has the counter and the flags in two bytes, and `retry` in one.
#[derive(Clone, Copy)]
struct Tracked {
    /// Number of arrived packets of the counted round.
    count: u32,
    /// The largest number of packets that arrived in an abandoned round. It serves only [`DcpReceiver::fresh_packets`].
    recounted: u32,
    /// rRetryNo: the number of the round whose packets are counted.
    retry: u8,
    /// mcf: whether all packets have arrived.
    is_complete: bool,
    /// Cf: whether the request has a CQE.
    is_signalled: bool,
    message: MessageId,
}

const EMPTY: Tracked = Tracked {
    count: 0,
    recounted: 0,
    retry: 0,
    is_complete: false,
    is_signalled: false,
    message: MessageId(0),
};

impl DcpReceiver {
    /// The receiver of a queue pair between `ends`.
    pub fn new(config: &DcpConfig, facts: &PathFacts, ends: Ends) -> Self {
        DcpReceiver {
            expected: 0,
            fresh: 0,
            tracked: vec![EMPTY; config.tracked_messages as usize].into_boxed_slice(),
            returned: None,
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
    /// ACKs cannot echo every mark, since there is only one ACK per request. With a `cnp_interval` of 0, every marked
    /// packet therefore causes a CNP. With `trims_as_marks`, every trimmed packet then causes a CNP too.
    #[inline]
    fn handle_packet(&mut self, now: Time, packet: &Packet) -> Option<MessageId> {
        match packet.repr {
            Repr::Data { message, message_packets, sent_at, ack_now, msn, .. } => {
                if packet.marked {
                    self.notification.notify(now, packet.ev);
                }
                let cause = Cause::new(packet, sent_at);
                if msn.number() < self.expected {
                    // The ACK may be lost, so that the sender does not know that the request is complete.
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
                // DCP, section 4.1, step 2: the header returns to the sender, and the receiver keeps no state for it.
                let repr = Repr::header_only(psn).with_msn(msn);
                self.returned = Some(self.answers.packet(packet.ev, repr).with_bytes(self.header_bytes));
                None
            }
            _ => None,
        }
    }

    #[inline]
    fn poll_delivered(&mut self) -> Option<MessageId> {
        self.delivered.pop_front()
    }

    #[inline]
    fn poll_transmit(&mut self) -> Option<Packet> {
        if let Some(returned) = self.returned.take() {
            return Some(returned);
        }
        if let Some(cause) = self.ack_due.take() {
            return Some(self.answers.packet(cause.ev, cause.ack(self.expected)));
        }
        self.notification.poll(&self.answers)
    }

    /// The number of data packets received for the first time so far, as far as counters can tell.
    ///
    /// The receiver does not distinguish PSNs. After a timeout, a request is counted anew, and its packets count as
    /// duplicates until their number exceeds the numbers of all earlier rounds. The result may therefore be too low,
    /// but never too high, and it is exact whenever no request has arrived in part.
    #[inline]
    fn fresh_packets(&self) -> u64 {
        u64::from(self.fresh)
    }
}

impl DcpReceiver {
    /// Counts a packet of an incomplete request, unless it belongs to an earlier round (DCP, section 4.5, the coarse
    /// timeout). Returns whether the packet completes the request of the eMSN.
    #[inline]
    fn count(&mut self, msn: Msn, message: MessageId, packets: u32, is_signalled: bool) -> bool {
        let ahead = msn.number() - self.expected;
        // A correct sender never sends packets of untracked requests.
        if ahead as usize >= self.tracked.len() {
            return false;
        }
        let tracked = self.slot(msn.number());
        // A complete request waits only for earlier ones, and ignores packets of later rounds.
        if tracked.is_complete {
            return false;
        }
        if tracked.retry != msn.retry() {
            // Retry numbers wrap. A later round is less than half of the range ahead, and earlier rounds are ignored.
            if msn.retry().wrapping_sub(tracked.retry) >= 128 {
                return false;
            }
            tracked.retry = msn.retry();
            tracked.recounted = tracked.recounted.max(std::mem::take(&mut tracked.count));
        }
        tracked.count += 1;
        let is_fresh = tracked.count > tracked.recounted;
        if tracked.count == packets {
            *tracked = Tracked { is_complete: true, is_signalled, message, ..*tracked };
        }
        let completes = ahead == 0 && tracked.is_complete;
        self.fresh += u32::from(is_fresh);
        completes
    }

    /// DCP, section 4.5: once the request of the eMSN is complete, the eMSN advances to the next incomplete request.
    /// The CQEs of the passed requests are then due in order. Returns the first message that is complete, if any.
    fn complete(&mut self) -> Option<MessageId> {
        while self.slot(self.expected).is_complete {
            let whole = std::mem::replace(self.slot(self.expected), EMPTY);
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
