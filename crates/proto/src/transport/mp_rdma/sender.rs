//! The sending end.

use super::config::MpRdmaConfig;
use crate::PathFacts;
use crate::cc::{Acked, AnyCc};
use crate::lb::AnyLb;
use crate::packet::{Packet, Repr};
use crate::psn_set::PsnSet;
use crate::transport::common::{Ends, Framing, Messages, OutOfPsns, Sender, SenderCounters};
use anabranch_base::{Duration, HostId, MessageId, QpId, Time};

/// An ACK lets no more packets go than this by its path: the one that it stands for, and one when the window grew.
const MOST_CLOCKED: u32 = 2;

/// The sending end of a queue pair.
///
/// Drive it: [`post`](Self::post) messages, [`handle_packet`](Self::handle_packet) for each packet that comes
/// back, [`handle_timeout`](Self::handle_timeout) at [`next_timeout`](Self::next_timeout), and after each of these
/// [`poll_acknowledged`](Self::poll_acknowledged) until it answers none. Whenever the wire is free,
/// [`poll_transmit`](Self::poll_transmit).
// Fields stay in this order: what every packet touches comes first, so that it shares few cache lines.
#[repr(C)]
pub struct MpRdmaSender {
    /// Every PSN below is acknowledged (snd_una).
    unacked: u32,
    /// The PSN to send next (snd_nxt; snd_retx after a go-back-N restart).
    next: u32,
    /// First PSN that was never sent.
    fresh: u32,
    /// Of the PSNs from `unacked` to `next`, how many are acknowledged one by one: the members of `named`.
    inflate: u32,
    /// Packets from before the last go-back-N restart that are not acknowledged.
    stray: u32,
    /// Packets that ACKs let go and that have not gone: the balancer holds their paths.
    clocked: u32,
    /// The highest PSN that an ACK named (snd_ooh).
    highest: u32,
    /// Delta: how far behind `highest` an ACK's packet may be.
    delta: u32,
    /// Below this PSN packets were sent again, or are to be.
    recovery: u32,
    qp: QpId,
    dst: HostId,
    /// PSNs from `unacked` to `next` that ACKs named since the last go-back-N restart. A NIC has the number alone, adds
    /// one for each ACK and takes off it what that moves snd_una; this is the same, except where ACKs overtake each other.
    named: PsnSet,
    /// The time of the last go-back-N restart.
    went_back: Time,
    /// When the timer of the RTO started: at the last new acknowledgement, or when the first unacknowledged packet went
    /// out after an idle period or again.
    since: Time,
    rto: Duration,
    restart_after: Duration,
    messages: Messages,
    cc: AnyCc,
    lb: AnyLb,
    counters: SenderCounters,
}

impl MpRdmaSender {
    /// The sending end of a queue pair between `ends`.
    pub fn new(config: &MpRdmaConfig, facts: &PathFacts, ends: Ends, cc: AnyCc, lb: AnyLb) -> Self {
        let &MpRdmaConfig { payload, header, ack, .. } = config;
        MpRdmaSender {
            unacked: 0,
            next: 0,
            fresh: 0,
            inflate: 0,
            stray: 0,
            clocked: 0,
            highest: 0,
            delta: config.delta,
            recovery: 0,
            qp: ends.qp,
            dst: ends.dst,
            named: PsnSet::new(),
            went_back: Time::ZERO,
            since: Time::ZERO,
            rto: config.rto.on(facts),
            restart_after: config.restart_after.on(facts),
            messages: Messages::new(&Framing { payload, header, ack }),
            cc,
            lb,
            counters: SenderCounters::default(),
        }
    }
}

impl Sender for MpRdmaSender {
    fn post(&mut self, id: MessageId, bytes: u64) -> Result<(), OutOfPsns> {
        self.messages.post(id, bytes)
    }

    /// The next data packet, if there is one and the window has room for it.
    ///
    /// Room that no ACK accounts for is used as well, at once: that of the first window, and what an ACK freed beyond
    /// the two packets that it may let go. One simulation sends the latter with the ACKs that follow, or when a timer
    /// rings, so that they come in no burst; such room is rare enough here, after timeouts and lost ACKs.
    #[inline]
    fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        if self.next == self.messages.end() || self.in_flight() >= self.window() {
            return None;
        }
        let psn = self.next;
        let part = self.messages.packet_info(psn);
        if psn == self.unacked {
            if psn == self.fresh && now.since(self.since) >= self.restart_after {
                self.cc.handle_restart(now);
            }
            self.since = now;
        }
        self.next += 1;
        self.clocked = self.clocked.saturating_sub(1);
        if psn < self.fresh {
            self.counters.retransmissions += 1;
        } else {
            self.fresh = self.next;
        }
        let ev = self.lb.next_ev(now, self.cc.window());
        // Every packet is acknowledged by itself.
        let repr = Repr::data(psn)
            .with_message(part.message, part.message_packets)
            .with_sent_at(now)
            .with_ack_now(true);
        Some(Packet::new(self.qp, self.dst, repr).with_bytes(part.bytes).with_ev(ev))
    }

    #[inline]
    fn handle_packet(&mut self, now: Time, packet: &Packet) {
        match packet.repr {
            Repr::Ack { cumulative, base: psn, marked, sent_at, .. } => {
                self.acknowledge(now, cumulative);
                self.count(psn, sent_at);
                let (rtt, bytes) = (now.since(sent_at), u64::from(self.messages.packet_bytes()));
                // Each ACK, and a duplicate's too: the window counts packets, not what they acknowledge.
                self.cc.handle_ack(&Acked { now, packets: 1, bytes, probe: false, marked, rtt });
                if self.is_slow(psn, sent_at) {
                    // Out-of-order aware path selection: no packet may follow by that path, and the window gives up
                    // the packet that it lost, or another path would take it at once.
                    self.cc.handle_loss(now);
                } else {
                    self.clock(now, packet.ev, marked, rtt);
                }
            }
            Repr::Nack { psn, sent_at } => {
                self.counters.nacks += 1;
                self.acknowledge(now, psn);
                // A bitmap that overflows brings many. The packet of one that left before the last go-back-N restart is
                // sent again anyhow. One that left since must be, whatever the NACK asks for: an acknowledgement may
                // have overtaken it, and nothing else tells that its packet was dropped.
                if sent_at < self.went_back {
                    self.stray = self.stray.saturating_sub(1);
                } else if self.unacked < self.next {
                    self.go_back(now);
                    self.stray = self.stray.saturating_sub(1);
                }
                // Its packet has left the network, so that another may go. Whether the window shrinks is unsaid; here
                // it does not: a NACK signals a late path, not a congested one.
                self.clock(now, packet.ev, false, now.since(sent_at));
            }
            _ => {}
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due: while packets are in flight or unacknowledged.
    #[inline]
    fn next_timeout(&mut self) -> Option<Time> {
        (self.unacked < self.next || self.stray > 0).then_some(self.since + self.rto)
    }

    /// Sends everything unacknowledged again when nothing new was acknowledged for an RTO.
    ///
    /// One simulation of the paper halves the window then, the others have no timeouts; here a packet is taken off,
    /// which is what REPS says of a loss under this control (section 4.1).
    fn handle_timeout(&mut self, now: Time) {
        if self.next_timeout().is_some_and(|due| due <= now) {
            self.go_back(now);
            // All that was in flight is given up, and so are the ACKs' paths, of which one may have failed.
            self.stray = 0;
            self.clocked = 0;
            self.counters.timeouts += 1;
            self.lb.handle_timeout(now);
            self.cc.handle_loss(now);
        }
    }

    /// Never: the window alone holds packets back.
    #[inline]
    fn paces(&self) -> bool {
        false
    }

    #[inline]
    fn poll_acknowledged(&mut self) -> Option<MessageId> {
        self.messages.poll_acknowledged()
    }

    fn counters(&self) -> SenderCounters {
        self.counters
    }

    /// What an idle window waits for may be due earlier.
    #[inline]
    fn advances_timer(&self) -> bool {
        true
    }
}

impl MpRdmaSender {
    /// Packets that may be in flight: whole ones, as public simulations count cwnd, and one at least, so that a small
    /// window cannot stop the queue pair.
    #[inline]
    fn window(&self) -> u32 {
        let packets = self.cc.window() / u64::from(self.messages.packet_bytes());
        u32::try_from(packets).unwrap_or(u32::MAX).max(1)
    }

    /// Packets in flight, as far as the sender can know. The window that the paper's sender has left is cwnd + inflate
    /// - (snd_nxt - snd_una): what is subtracted from cwnd is this, except after a go-back-N restart. Then packets from
    ///   before may still be in flight, and count as well.
    #[inline]
    fn in_flight(&self) -> u32 {
        self.stray + (self.next - self.unacked) - self.inflate
    }

    /// Everything below `cumulative` has arrived.
    #[inline]
    fn acknowledge(&mut self, now: Time, cumulative: u32) {
        if cumulative <= self.unacked {
            return;
        }
        self.messages.acknowledge(self.unacked, cumulative);
        for psn in self.unacked..cumulative.min(self.next) {
            self.inflate -= u32::from(self.named.contains(psn));
            self.named.remove(psn);
        }
        self.unacked = cumulative;
        if cumulative >= self.recovery {
            // All from before has arrived. What was lost of it will have no answer, and must not count for ever.
            self.stray = 0;
        }
        // After a go-back-N restart, more may have arrived than was retransmitted.
        self.next = self.next.max(cumulative);
        self.since = now;
    }

    /// The packet that an ACK names is no longer in flight.
    #[inline]
    fn count(&mut self, psn: u32, sent_at: Time) {
        if sent_at < self.went_back {
            self.stray = self.stray.saturating_sub(1);
        } else if self.unacked <= psn && psn < self.next {
            self.named.make_room(self.unacked, psn);
            self.inflate += u32::from(self.named.insert(psn));
        }
    }

    /// Whether the packet that an ACK names came by a slow path: its PSN is lower than snd_ooh - Delta. A packet that
    /// was sent again is late for another reason, and says nothing of its path.
    #[inline]
    fn is_slow(&mut self, psn: u32, sent_at: Time) -> bool {
        self.highest = self.highest.max(psn);
        let was_sent_again = psn < self.recovery && sent_at >= self.went_back;
        self.highest - psn > self.delta && !was_sent_again
    }

    /// Multi-path ACK clocking: what an answer makes room for goes by the path of that answer. None when the window
    /// shrank, and so the path loses a packet; two when it grew by one.
    #[inline]
    fn clock(&mut self, now: Time, ev: u16, marked: bool, rtt: Duration) {
        let room = self.window().saturating_sub(self.in_flight()).saturating_sub(self.clocked);
        let backlog = (self.messages.end() - self.next).saturating_sub(self.clocked);
        if room > 0 && backlog == 0 {
            // Use it or lose it: if an ACK allows a packet but there is none to send, the window shrinks by one, since
            // the path then returns no ACK for it.
            self.cc.handle_loss(now);
        }
        let packets = room.min(backlog).min(MOST_CLOCKED);
        self.clocked += packets;
        for _ in 0..packets {
            self.lb.handle_ack(now, ev, marked, rtt);
        }
    }

    /// DCP, section 3: MP-RDMA recovers by go-back-N. It starts again at the first unacknowledged packet and sends all
    /// that follow, except for what is acknowledged meanwhile, as answers let them go: what is in flight still counts.
    ///
    /// In one simulation of the paper new packets wait until all is repaired, and each answer lets one packet go
    /// whatever the window; here the window says how many, and new packets follow without a pause.
    fn go_back(&mut self, now: Time) {
        self.stray = self.in_flight();
        for psn in self.unacked..self.next {
            self.named.remove(psn);
        }
        self.inflate = 0;
        self.next = self.unacked;
        self.recovery = self.fresh;
        self.went_back = now;
    }
}
