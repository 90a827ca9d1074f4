//! The sending end.

use super::Pacer;
use crate::cc::{Acked, AnyCc, Reported};
use crate::lb::AnyLb;
use crate::packet::{Packet, Repr};
use crate::transport::{Ends, GoBackNConfig, OutOfPsns, Sender, SenderCounters};
use crate::{IntStack, PathFacts};
use anabranch_base::{Duration, HostId, MessageId, QpId, Time};
use std::collections::VecDeque;

/// The sending end of a queue pair.
///
/// Drive it: [`post`](Self::post) messages, [`handle_packet`](Self::handle_packet) for each packet that comes
/// back, [`handle_timeout`](Self::handle_timeout) at [`next_timeout`](Self::next_timeout), and after each of these
/// [`poll_acknowledged`](Self::poll_acknowledged) until it answers none. Whenever the wire is free,
/// [`poll_transmit`](Self::poll_transmit); when that answers none and it [`paces`](Self::paces), ask for the next
/// timeout again.
// Fields stay in this order: what every packet touches comes first, so that it shares few cache lines.
#[repr(C)]
pub struct GoBackNSender {
    /// Bytes on the wire of the PSNs from `unacked` to `next`.
    in_flight: u64,
    /// Every PSN below is acknowledged.
    unacked: u32,
    /// The PSN to send next.
    next: u32,
    /// First PSN that was never sent.
    fresh: u32,
    /// First PSN that no message has claimed.
    end: u32,
    packet_bytes: u16,
    header_bytes: u16,
    payload: u16,
    paces: bool,
    /// A marked ACK stands for a CNP.
    marks_are_cnps: bool,
    qp: QpId,
    dst: HostId,
    /// Number of the message that holds `next`, `first` being 0.
    current: usize,
    /// When the timer of the RTO started: at the last new acknowledgement, or the first packet after a pause.
    since: Time,
    rto: Duration,
    pacer: Pacer,
    /// Below this rate every packet asks for an ACK: see [`GoBackNSender::asks`].
    slow: u64,
    /// The first message with unacknowledged packets: here, so that most queue pairs need no pointer to it.
    first: Outgoing,
    cc: AnyCc,
    lb: AnyLb,
    acknowledged: VecDeque<MessageId>,
    /// The messages after the first one, in PSN order.
    later: VecDeque<Outgoing>,
    counters: SenderCounters,
}

/// A message on its way.
struct Outgoing {
    id: MessageId,
    first: u32,
    packets: u32,
    last_bytes: u16,
}

/// Stands where no message is.
const NO_MESSAGE: Outgoing = Outgoing { id: MessageId(0), first: 0, packets: 0, last_bytes: 0 };

impl GoBackNSender {
    /// The sending end of a queue pair between `ends`.
    pub fn new(config: &GoBackNConfig, facts: &PathFacts, ends: Ends, cc: AnyCc, lb: AnyLb) -> Self {
        let packet_bytes = (config.payload.0 + config.header.0) as u16;
        let rto = config.rto.on(facts);
        let bits_between_acks = u64::from(config.ack_every.max(1)) * u64::from(packet_bytes) * 8;
        GoBackNSender {
            in_flight: 0,
            unacked: 0,
            next: 0,
            fresh: 0,
            end: 0,
            packet_bytes,
            header_bytes: config.header.0 as u16,
            payload: config.payload.0 as u16,
            paces: cc.paces(),
            marks_are_cnps: config.cnp_interval.on(facts) == Duration::ZERO,
            qp: ends.qp,
            dst: ends.dst,
            current: 0,
            since: Time::ZERO,
            rto,
            pacer: Pacer::new(),
            slow: (2.0 * bits_between_acks as f64 / (rto.0.max(1) as f64 / 1e12)) as u64,
            first: NO_MESSAGE,
            cc,
            lb,
            acknowledged: VecDeque::new(),
            later: VecDeque::new(),
            counters: SenderCounters::default(),
        }
    }
}

impl Sender for GoBackNSender {
    fn post(&mut self, id: MessageId, bytes: u64) -> Result<(), OutOfPsns> {
        let packets = bytes.div_ceil(u64::from(self.payload)).max(1);
        let end = u32::try_from(u64::from(self.end) + packets).map_err(|_| OutOfPsns)?;
        let packets = packets as u32;
        let last_payload = bytes - u64::from(packets - 1) * u64::from(self.payload);
        let last_bytes = last_payload as u16 + self.header_bytes;
        let message = Outgoing { id, first: self.end, packets, last_bytes };
        if self.first.packets == 0 {
            self.first = message;
        } else {
            self.later.push_back(message);
        }
        self.end = end;
        Ok(())
    }

    /// The next data packet, if there is one and window and rate let it go now.
    #[inline]
    fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        if self.next == self.end {
            return None;
        }
        let psn = self.next;
        let message = if self.current == 0 { &self.first } else { &self.later[self.current - 1] };
        let is_last = psn + 1 == message.first + message.packets;
        let bytes = if is_last { message.last_bytes } else { self.packet_bytes };
        let (id, message_packets) = (message.id, message.packets);
        if !self.window_allows(bytes) || (self.paces && !self.pacer.send(now, bytes, &mut self.cc)) {
            return None;
        }
        if self.next == self.unacked {
            self.since = now;
        }
        self.current += usize::from(is_last);
        self.next += 1;
        self.in_flight += u64::from(bytes);
        if psn < self.fresh {
            self.counters.retransmissions += 1;
        } else {
            self.fresh = self.next;
        }
        let ev = self.lb.next_ev(now, self.cc.window());
        let repr =
            Repr::data(psn).with_message(id, message_packets).with_sent_at(now).with_ack_now(self.asks(now));
        Some(Packet::new(self.qp, self.dst, repr).with_bytes(bytes).with_ev(ev))
    }

    #[inline]
    fn handle_packet(&mut self, now: Time, packet: &Packet) {
        match packet.repr {
            Repr::Ack { cumulative, marked, sent_at, .. } => {
                let rtt = now.since(sent_at);
                self.acknowledge(now, cumulative, marked, rtt);
                self.lb.handle_ack(now, packet.ev, marked, rtt);
                if marked && self.marks_are_cnps {
                    self.cc.handle_cnp(now);
                }
            }
            Repr::Nack { psn, sent_at } => {
                self.acknowledge(now, psn, false, now.since(sent_at));
                // One for an earlier PSN is older than an acknowledgement that came.
                if psn == self.unacked && psn < self.next {
                    self.go_back();
                    self.cc.handle_loss(now);
                }
            }
            Repr::Cnp => self.cc.handle_cnp(now),
            _ => {}
        }
    }

    /// Switches told the packet that an ACK answers of their load; the ACK, which acknowledges every PSN below
    /// `cumulative`, comes next.
    #[inline]
    fn handle_telemetry(&mut self, cumulative: u32, stack: &IntStack) {
        self.cc.handle_telemetry(&Reported { stack, acked: cumulative, next: self.next });
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due: for the RTO while packets are in flight, or for a packet
    /// that waits for its time, which asks again when the rate may have risen.
    #[inline]
    fn next_timeout(&mut self) -> Option<Time> {
        let rto = (self.unacked < self.next).then(|| self.since + self.rto);
        match (rto, self.pacer.next_timeout()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Goes back when nothing new was acknowledged for an RTO. A packet that waited for its time may ask again.
    fn handle_timeout(&mut self, now: Time) {
        self.pacer.handle_timeout(now);
        if self.unacked < self.next && self.since + self.rto <= now {
            self.go_back();
            self.counters.timeouts += 1;
            self.lb.handle_timeout(now);
            self.cc.handle_loss(now);
        }
    }

    #[inline]
    fn paces(&self) -> bool {
        self.paces
    }

    #[inline]
    fn poll_acknowledged(&mut self) -> Option<MessageId> {
        self.acknowledged.pop_front()
    }

    fn counters(&self) -> SenderCounters {
        self.counters
    }

    /// What comes in only puts it off.
    #[inline]
    fn advances_timer(&self) -> bool {
        false
    }
}

impl GoBackNSender {
    /// At least one packet may always be in flight, so that a small window cannot stop the queue pair.
    #[inline]
    fn window_allows(&self, bytes: u16) -> bool {
        self.in_flight == 0 || self.in_flight + u64::from(bytes) <= self.cc.window()
    }

    /// Whether a packet asks for an ACK at once: when nothing more can be sent before one comes, or when the next
    /// would come late. A receiver that waits for more packets would otherwise let the RTO pass, in the first
    /// case for want of window or backlog, in the second because they take half an RTO at this rate.
    #[inline]
    fn asks(&mut self, now: Time) -> bool {
        self.next == self.end
            || !self.window_allows(self.packet_bytes)
            || (self.paces && self.cc.rate(now).is_some_and(|rate| rate.0 < self.slow))
    }

    /// Everything below `cumulative` has arrived.
    fn acknowledge(&mut self, now: Time, cumulative: u32, marked: bool, rtt: Duration) {
        // After going back, more may have arrived than was sent again; but never more than was sent.
        let cumulative = cumulative.min(self.fresh);
        if cumulative <= self.unacked {
            return;
        }
        let (packets, mut bytes) = (cumulative - self.unacked, 0);
        while self.unacked < cumulative {
            let message = &self.first;
            let end = message.first + message.packets;
            let until = end.min(cumulative);
            bytes += u64::from(until - self.unacked) * u64::from(self.packet_bytes);
            self.unacked = until;
            if until == end {
                bytes -= u64::from(self.packet_bytes - message.last_bytes);
                self.acknowledged.push_back(message.id);
                self.first = self.later.pop_front().unwrap_or(NO_MESSAGE);
                self.current = self.current.saturating_sub(1);
            }
        }
        if cumulative < self.next {
            self.in_flight -= bytes;
        } else {
            self.next = cumulative;
            self.in_flight = 0;
            self.current = 0;
        }
        self.since = now;
        self.cc.handle_ack(&Acked { now, packets, bytes, probe: false, marked, rtt });
    }

    /// Starts again at the first unacknowledged packet.
    fn go_back(&mut self) {
        self.next = self.unacked;
        self.in_flight = 0;
        self.current = 0;
    }
}
