//! The sending end.

use crate::PathFacts;
use crate::cc::{Acked, AnyCc};
use crate::lb::AnyLb;
use crate::packet::{Packet, Repr};
use crate::transport::go_back_n::Pacer;
use crate::transport::{Ends, OutOfPsns, RnicSrConfig, Sender, SenderCounters};
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
pub struct RnicSrSender {
    /// Bytes on the wire of the PSNs from `unacked` to `next`, each once: copies do not count.
    in_flight: u64,
    /// Every PSN below is acknowledged.
    unacked: u32,
    /// The PSN to send next in order.
    next: u32,
    /// First PSN that was never sent.
    fresh: u32,
    /// First PSN that no message has claimed.
    end: u32,
    /// PSNs from `unacked` on that may be sent.
    window_packets: u32,
    packet_bytes: u16,
    header_bytes: u16,
    payload: u16,
    /// The congestion control gives a rate: `pacer` has a say in what is sent.
    paces: bool,
    /// A marked ACK stands for a CNP.
    marks_are_cnps: bool,
    hears_nacks: bool,
    qp: QpId,
    dst: HostId,
    /// What a NACK asked for and is not sent again yet: the missing packet, and the one that was sent last. More
    /// cannot wait: a later NACK acknowledges the packet that an earlier one missed, and while one waits no packet
    /// in order is sent.
    missing: Option<u32>,
    latest: Option<u32>,
    /// Nothing goes out before: a retransmission blocks the transmit path.
    blocked_until: Time,
    /// When a packet that the blocked path holds up is to ask again; never when none waits.
    resume: Time,
    /// When the timer of the RTO started: at the last new acknowledgement, or the first packet after a pause.
    since: Time,
    rto: Duration,
    retransmission_block: Duration,
    pacer: Pacer,
    /// Below this rate every packet asks for an ACK: see [`RnicSrSender::asks`].
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

impl RnicSrSender {
    /// The sending end of a queue pair between `ends`.
    pub fn new(config: &RnicSrConfig, facts: &PathFacts, ends: Ends, cc: AnyCc, lb: AnyLb) -> Self {
        let packet_bytes = (config.payload.0 + config.header.0) as u16;
        let rto = config.rto.on(facts);
        let bits_between_acks = u64::from(config.ack_every.max(1)) * u64::from(packet_bytes) * 8;
        RnicSrSender {
            in_flight: 0,
            unacked: 0,
            next: 0,
            fresh: 0,
            end: 0,
            window_packets: config.window_packets.max(1),
            packet_bytes,
            header_bytes: config.header.0 as u16,
            payload: config.payload.0 as u16,
            paces: cc.paces(),
            marks_are_cnps: config.cnp_interval.on(facts) == Duration::ZERO,
            hears_nacks: config.hears_nacks,
            qp: ends.qp,
            dst: ends.dst,
            missing: None,
            latest: None,
            blocked_until: Time::ZERO,
            resume: Time::NEVER,
            since: Time::ZERO,
            rto,
            retransmission_block: config.retransmission_block.on(facts),
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

impl Sender for RnicSrSender {
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

    /// The next data packet, if there is one and windows and rate let it go now: what a NACK asked for first.
    #[inline]
    fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        let copy = self.missing.or(self.latest);
        if copy.is_none() && !self.next_fits() {
            return None;
        }
        if now < self.blocked_until {
            self.resume = self.blocked_until;
            return None;
        }
        self.resume = Time::NEVER;
        match copy {
            Some(psn) => self.send_copy(now, psn),
            None => self.send_next(now),
        }
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
            Repr::Nack { psn, sent_at } if self.hears_nacks => {
                self.counters.nacks += 1;
                self.acknowledge(now, psn, false, now.since(sent_at));
                self.repeat(now, psn);
            }
            Repr::Cnp => self.cc.handle_cnp(now),
            _ => {}
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due: for the RTO while packets are in flight, or for a packet
    /// that waits for its time, which asks again when the rate may have risen.
    #[inline]
    fn next_timeout(&mut self) -> Option<Time> {
        let rto = if self.unacked < self.next { self.since + self.rto } else { Time::NEVER };
        let due = rto.min(self.resume).min(self.pacer.next_timeout().unwrap_or(Time::NEVER));
        (due < Time::NEVER).then_some(due)
    }

    /// Sends everything unacknowledged again when nothing new was acknowledged for an RTO, as the timeout of
    /// InfiniBand has it. A packet that waited for its time may ask again.
    fn handle_timeout(&mut self, now: Time) {
        self.pacer.handle_timeout(now);
        if self.resume <= now {
            self.resume = Time::NEVER;
        }
        if self.unacked < self.next && self.since + self.rto <= now {
            self.next = self.unacked;
            self.in_flight = 0;
            (self.missing, self.latest) = (None, None);
            self.counters.timeouts += 1;
            self.lb.handle_timeout(now);
            self.cc.handle_loss(now);
        }
    }

    #[inline]
    fn paces(&self) -> bool {
        self.paces || self.retransmission_block > Duration::ZERO
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

impl RnicSrSender {
    /// Whether there is a next packet in order, and both windows have room for it.
    #[inline]
    fn next_fits(&self) -> bool {
        self.next < self.end
            && self.window_allows(self.message(self.next).bytes_of(self.next, self.packet_bytes))
    }

    /// Themis-spraying, footnote 5: the window is the largest distance between a PSN sent and an unacknowledged
    /// one, so that a bitmap of as many bits holds what is in it. Of the congestion control's window, at least one
    /// packet may always be in flight, so that a small one cannot stop the queue pair.
    #[inline]
    fn window_allows(&self, bytes: u16) -> bool {
        self.next - self.unacked < self.window_packets
            && (self.in_flight == 0 || self.in_flight + u64::from(bytes) <= self.cc.window())
    }

    /// Sends the next packet in order, which fits.
    #[inline]
    fn send_next(&mut self, now: Time) -> Option<Packet> {
        let psn = self.next;
        let bytes = self.message(psn).bytes_of(psn, self.packet_bytes);
        if self.paces && !self.pacer.send(now, bytes, &mut self.cc) {
            return None;
        }
        if self.next == self.unacked {
            self.since = now;
        }
        self.next += 1;
        self.in_flight += u64::from(bytes);
        if psn < self.fresh {
            self.counters.retransmissions += 1;
        } else {
            self.fresh = self.next;
        }
        Some(self.packet(now, psn, bytes))
    }

    /// Sends a packet again that a NACK asked for. It obeys the rate, and no window: it takes the place of one that
    /// was lost, or so the NIC thinks.
    ///
    /// Themis-spraying, section 2.3, issue 2: retransmissions that NACKs cause seem to block the transmit path while
    /// they are fetched. Unsaid is whether that stops the whole NIC; here it stops this queue pair, which is the
    /// same in the paper's measurement with one a NIC. What a timeout repeats does not block: the measurement was
    /// of NACKs alone, and after a timeout the NIC reads on in order, as it does when it sends for the first time.
    #[cold]
    fn send_copy(&mut self, now: Time, psn: u32) -> Option<Packet> {
        let bytes = self.message(psn).bytes_of(psn, self.packet_bytes);
        if self.paces && !self.pacer.send(now, bytes, &mut self.cc) {
            return None;
        }
        if self.missing.take().is_none() {
            self.latest = None;
        }
        self.blocked_until = now + self.retransmission_block;
        self.counters.retransmissions += 1;
        Some(self.packet(now, psn, bytes))
    }

    #[inline]
    fn packet(&mut self, now: Time, psn: u32, bytes: u16) -> Packet {
        let ack_now = self.asks(now);
        let message = self.message(psn);
        let (message, message_packets) = (message.id, message.packets);
        let ev = self.lb.next_ev(now, self.cc.window());
        let repr =
            Repr::data(psn).with_message(message, message_packets).with_sent_at(now).with_ack_now(ack_now);
        Packet::new(self.qp, self.dst, repr).with_bytes(bytes).with_ev(ev)
    }

    /// Whether a packet asks for an ACK at once: when nothing more can be sent before one comes, or when the next
    /// would come late. A receiver that waits for more packets would otherwise let the RTO pass, in the first
    /// case for want of window or backlog, in the second because they take half an RTO at this rate.
    #[inline]
    fn asks(&mut self, now: Time) -> bool {
        let goes_on = self.missing.or(self.latest).is_some()
            || (self.next < self.end && self.window_allows(self.packet_bytes));
        !goes_on || (self.paces && self.cc.rate(now).is_some_and(|rate| rate.0 < self.slow))
    }

    /// Themis-spraying, section 2.3: a NACK is answered with the packet of its ePSN and the previous one that was
    /// just sent, which is read as the one that went out last in order. The NIC thinks of congestion (issue 1).
    ///
    /// A NACK for less than is acknowledged is older than that acknowledgement. One for a packet that the timeout is
    /// about to send again asks for nothing more. One that comes again for the same ePSN is obeyed again: the
    /// receiver sends no second one, so that a switch must have meant it; but what still waits to be sent waits once.
    fn repeat(&mut self, now: Time, psn: u32) {
        if psn == self.unacked && psn < self.next {
            self.missing = Some(psn);
            self.latest = Some(self.next - 1).filter(|&latest| latest > psn);
            self.cc.handle_nack(now);
        }
    }

    /// Everything below `cumulative` has arrived.
    fn acknowledge(&mut self, now: Time, cumulative: u32, marked: bool, rtt: Duration) {
        // After a timeout, more may have arrived than was sent again; but never more than was sent.
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
            }
        }
        if cumulative < self.next {
            self.in_flight -= bytes;
        } else {
            self.next = cumulative;
            self.in_flight = 0;
        }
        self.missing = self.missing.filter(|&psn| psn >= cumulative);
        self.latest = self.latest.filter(|&psn| psn >= cumulative);
        self.since = now;
        self.cc.handle_ack(&Acked { now, packets, bytes, probe: false, marked, rtt });
    }

    /// The message that `psn` belongs to, which is neither acknowledged nor beyond what was posted.
    #[inline]
    fn message(&self, psn: u32) -> &Outgoing {
        if psn < self.first.first + self.first.packets {
            return &self.first;
        }
        &self.later[self.later.partition_point(|message| message.first + message.packets <= psn)]
    }
}

impl Outgoing {
    /// Size on the wire of the packet with this PSN, where a full one has `full`.
    #[inline]
    fn bytes_of(&self, psn: u32, full: u16) -> u16 {
        if psn + 1 == self.first + self.packets { self.last_bytes } else { full }
    }
}
