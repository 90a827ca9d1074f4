//! The receiver of `irn` and `rack-tlp`.

use crate::packet::{Packet, Repr};
use crate::transport::common::{Answers, Arrivals, Cause, Ends, InOrder, NotificationPoint, Receiver};
use anabranch_base::{Bytes, Duration, MessageId, Time};

/// The receiver of a queue pair, with DCQCN's notification point.
///
/// To drive it, call [`handle_packet`](Self::handle_packet) for each packet, then
/// [`poll_transmit`](Self::poll_transmit) and [`poll_delivered`](Self::poll_delivered) until they return None.
pub struct IrnReceiver {
    arrivals: Arrivals,
    /// Number of PSNs by which the ePSN has advanced since the last ACK.
    unacked: u32,
    ack_every: u32,
    /// The PSN after the highest one that has arrived.
    highest: u32,
    /// The PSN of the packet for which an ACK is due, and the fields of the packet that the ACK echoes.
    ack_due: Option<(u32, Cause)>,
    open: InOrder,
    notification: NotificationPoint,
    answers: Answers,
}

impl IrnReceiver {
    /// The receiver of a queue pair between `ends`. It sends an ACK of `ack` bytes for every `ack_every` packets, and
    /// CNPs at least `cnp_interval` apart. With an interval of 0 it sends no CNPs, and the ACKs of marked packets take
    /// the place of CNPs.
    pub fn new(ack: Bytes, ack_every: u32, cnp_interval: Duration, ends: Ends) -> Self {
        IrnReceiver {
            arrivals: Arrivals::new(),
            unacked: 0,
            ack_every,
            highest: 0,
            ack_due: None,
            open: InOrder::new(),
            notification: NotificationPoint::new(cnp_interval),
            answers: Answers::new(ends, ack),
        }
    }
}

impl Receiver for IrnReceiver {
    /// Messages are delivered in order: a message is complete when the ePSN is beyond its last packet. Trimmed packets
    /// are discarded, since NICs with IRN do not know trimming.
    #[inline]
    fn handle_packet(&mut self, now: Time, packet: &Packet) -> Option<MessageId> {
        let Repr::Data { psn, message, message_packets, sent_at, ack_now, .. } = packet.repr else {
            return None;
        };
        // By DCP, section 2.2, every out-of-order packet causes a SACK. A packet below the ePSN is a duplicate, which
        // is acknowledged since the sender does not know that the first copy arrived. A packet that fills a gap, or
        // part of a gap, is acknowledged immediately as in TCP (RFC 5681, section 4.2). If that ACK were delayed, the
        // sender might retransmit the packet.
        let is_in_order = psn == self.arrivals.expected && psn >= self.highest;
        self.highest = self.highest.max(psn + 1);
        if let Some(advance) = self.arrivals.accept(psn) {
            self.unacked += advance;
            self.open.count(psn, message, message_packets);
        }
        let delivered = self.poll_delivered();
        let pays_mark = packet.marked && self.notification.is_off();
        let at_once = ack_now || !is_in_order || delivered.is_some() || pays_mark;
        if at_once || self.unacked >= self.ack_every {
            self.ack_due = Some((psn, Cause::new(packet, sent_at)));
        }
        if packet.marked && !pays_mark {
            self.notification.notify(now, packet.ev);
        }
        delivered
    }

    #[inline]
    fn poll_delivered(&mut self) -> Option<MessageId> {
        self.open.poll_delivered(self.arrivals.expected)
    }

    /// Every ACK carries the ePSN and the PSN of the packet that caused it. If that packet is beyond the ePSN, the
    /// ACK is a SACK (IRN's NACK has the same content).
    #[inline]
    fn poll_transmit(&mut self) -> Option<Packet> {
        if let Some((psn, cause)) = self.ack_due.take() {
            self.unacked = 0;
            let repr = cause.ack(self.arrivals.expected).with_received(psn, 1);
            return Some(self.answers.packet(cause.ev, repr));
        }
        self.notification.poll(&self.answers)
    }

    #[inline]
    fn fresh_packets(&self) -> u64 {
        self.arrivals.fresh.into()
    }
}
