//! The sender of the `mp-rdma` transport.

use super::config::MpRdmaConfig;
use crate::PathFacts;
use crate::cc::{AckReport, AnyCc, LossCause, LossReport};
use crate::lb::AnyLb;
use crate::packet::{Packet, Repr};
use crate::psn_set::PsnSet;
use crate::transport::common::{Ends, Framing, Messages, OutOfPsns, PayloadRange, Sender, SenderCounters};
use anabranch_base::{Duration, HostId, MessageId, QpId, Time};

/// The largest number of packets that an ACK or NACK clocks out on its path: one for the packet that it answers, and
/// one if the window grew.
const MAX_CLOCKED: u32 = 2;

/// The sender of a queue pair.
///
/// To drive it, [`post`](Self::post) messages, call [`handle_packet`](Self::handle_packet) for each packet that comes
/// back and [`handle_timeout`](Self::handle_timeout) at [`next_timeout`](Self::next_timeout). After each of these, call
/// [`poll_acknowledged`](Self::poll_acknowledged) until it returns None. Whenever the wire is free, call
/// [`poll_transmit`](Self::poll_transmit).
// The order of the fields matters: fields that every packet touches come first, so that they share few cache lines.
#[repr(C)]
pub struct MpRdmaSender {
    /// The lowest unacknowledged PSN (snd_una).
    unacked: u32,
    /// The PSN to send next (snd_nxt; snd_retx after a go-back-N restart).
    next: u32,
    /// The first PSN that was never sent.
    fresh: u32,
    /// Number of individually acknowledged PSNs between `unacked` and `next`, which are the members of `sacked`.
    inflate: u32,
    /// Number of packets that were sent before the last go-back-N restart and may still be in flight.
    stray: u32,
    /// Number of packets that ACKs and NACKs have clocked out and that are not yet sent. The load balancer stores
    /// their paths.
    clocked: u32,
    /// The highest acknowledged PSN (snd_ooh).
    highest: u32,
    /// Delta: the largest distance below `highest` at which a PSN does not count as late.
    delta: u32,
    /// The first PSN that had never been sent at the last go-back-N restart.
    recovery: u32,
    qp: QpId,
    dst: HostId,
    /// Individually acknowledged PSNs between `unacked` and `next` since the last go-back-N restart. A NIC has only
    /// their number: it adds one for each ACK, and subtracts the advance of snd_una.
    sacked: PsnSet,
    went_back: Time,
    /// The start of the RTO timer: the last new acknowledgement, or the last transmission of the lowest unacknowledged
    /// packet.
    since: Time,
    rto: Duration,
    restart_after: Duration,
    messages: Messages,
    cc: AnyCc,
    lb: AnyLb,
    counters: SenderCounters,
}

impl MpRdmaSender {
    /// The sender of a queue pair between `ends`.
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
            sacked: PsnSet::new(),
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
    fn load_balancer(&mut self) -> Option<&mut AnyLb> {
        Some(&mut self.lb)
    }

    fn post(&mut self, id: MessageId, bytes: u64) -> Result<(), OutOfPsns> {
        self.messages.post(id, bytes)
    }

    fn payload_range(&self, psn: u32) -> Option<PayloadRange> {
        self.messages.payload_range(psn)
    }

    /// The next data packet, if there is one and if fewer packets are in flight than the window allows. The admission
    /// rule is that of the public simulations of MP-RDMA (NSDI 2018), whose sender has cwnd + inflate - (snd_nxt -
    /// snd_una) packets left. The available papers do not specify it.
    ///
    /// Room in the window is used immediately, even if no ACK clocks out packets for it. This applies to the initial
    /// window, and to room that an ACK frees beyond the two packets that it may clock out.
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
        // Every packet is acknowledged individually.
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
                self.record_arrival(psn, sent_at);
                let (rtt, bytes) = (now.since(sent_at), u64::from(self.messages.packet_bytes()));
                // Every ACK counts, even that of a duplicate, because the window changes by packets and not by newly
                // acknowledged PSNs.
                let in_flight = self.bytes_in_flight();
                self.cc.handle_ack(&AckReport {
                    now,
                    packets: 1,
                    bytes,
                    probe: false,
                    marked,
                    rtt,
                    rtt_is_valid: true,
                    in_flight,
                });
                if self.is_slow(psn, sent_at) {
                    // Out-of-order aware path selection: no packet follows on this path. The window shrinks by one
                    // packet, so that no other path uses the room immediately.
                    self.report_loss(now, LossCause::Inferred);
                } else {
                    self.clock(now, packet.ev, marked, rtt);
                }
            }
            Repr::Nack { psn, sent_at, .. } => {
                self.counters.nacks += 1;
                self.acknowledge(now, psn);
                // An overflowing bitmap causes many NACKs. A packet that was sent before the last go-back-N restart is
                // retransmitted anyway. A packet that was sent since then must be retransmitted, even if an
                // acknowledgement has overtaken the NACK. Only the NACK indicates that this packet was dropped.
                if sent_at < self.went_back {
                    self.stray = self.stray.saturating_sub(1);
                } else if self.unacked < self.next {
                    self.go_back(now);
                    self.stray = self.stray.saturating_sub(1);
                }
                // The packet of the NACK has left the network, so that another packet may be sent. The available
                // papers do not specify whether the window shrinks. Here it does not, since a NACK indicates a late
                // path and not a congested path.
                self.clock(now, packet.ev, false, now.since(sent_at));
            }
            _ => {}
        }
    }

    /// The time at which [`handle_timeout`](Self::handle_timeout) is due. None while no sent packet awaits its
    /// acknowledgement.
    #[inline]
    fn next_timeout(&mut self) -> Option<Time> {
        (self.unacked < self.next || self.stray > 0).then_some(self.since + self.rto)
    }

    /// Retransmits everything unacknowledged if nothing new was acknowledged for an RTO.
    ///
    /// One public simulation of MP-RDMA halves the window at a timeout, and the other public simulations have no
    /// timeouts. Here the window shrinks by one packet, as REPS describes for a loss under this congestion control
    /// (section 4.1).
    fn handle_timeout(&mut self, now: Time) {
        if self.next_timeout().is_some_and(|due| due <= now) {
            self.go_back(now);
            // All packets in flight count as lost. The paths of the ACKs are discarded too, since one of them may have
            // failed.
            self.stray = 0;
            self.clocked = 0;
            self.counters.timeouts += 1;
            self.lb.handle_timeout(now, None);
            self.report_loss(now, LossCause::Timeout);
        }
    }

    /// Only the window delays packets.
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

    /// True, so that the driver reads the timeout after each received packet. If nothing was sent since a go-back-N
    /// restart, the answer to the last stray packet stops the timer.
    #[inline]
    fn advances_timer(&self) -> bool {
        true
    }
}

impl MpRdmaSender {
    /// The window in whole packets, as public simulations of MP-RDMA count cwnd. It is at least one packet, so that a
    /// small window cannot stop the queue pair.
    #[inline]
    fn window(&self) -> u32 {
        let packets = self.cc.window() / u64::from(self.messages.packet_bytes());
        u32::try_from(packets).unwrap_or(u32::MAX).max(1)
    }

    /// Number of packets in flight, as far as the sender can know. It is `snd_nxt - snd_una - inflate`, which public
    /// simulations of MP-RDMA subtract from cwnd, plus `stray`.
    #[inline]
    fn in_flight(&self) -> u32 {
        self.stray + (self.next - self.unacked) - self.inflate
    }

    /// Bytes in flight, where each packet counts as a full one.
    fn bytes_in_flight(&self) -> u64 {
        u64::from(self.in_flight()) * u64::from(self.messages.packet_bytes())
    }

    fn report_loss(&mut self, now: Time, cause: LossCause) {
        let (bytes, in_flight) = (self.messages.packet_bytes().into(), self.bytes_in_flight());
        self.cc.handle_loss(&LossReport { now, bytes, cause, rtt: None, in_flight });
    }

    #[inline]
    fn acknowledge(&mut self, now: Time, cumulative: u32) {
        let cumulative = cumulative.min(self.fresh);
        if cumulative <= self.unacked {
            return;
        }
        self.messages.acknowledge(self.unacked, cumulative);
        for psn in self.unacked..cumulative.min(self.next) {
            self.inflate -= u32::from(self.sacked.contains(psn));
            self.sacked.remove(psn);
        }
        self.unacked = cumulative;
        if cumulative >= self.recovery {
            // Every PSN that was sent before the restart has arrived. Copies that were lost are never answered, and
            // must not count for ever.
            self.stray = 0;
        }
        // After a go-back-N restart, an ACK may cover packets that are not yet retransmitted.
        self.next = self.next.max(cumulative);
        self.since = now;
    }

    #[inline]
    fn record_arrival(&mut self, psn: u32, sent_at: Time) {
        if sent_at < self.went_back {
            self.stray = self.stray.saturating_sub(1);
        } else if self.unacked <= psn && psn < self.next {
            self.sacked.make_room(self.unacked, psn);
            self.inflate += u32::from(self.sacked.insert(psn));
        }
    }

    /// Whether the packet that an ACK names took a slow path, because its PSN is lower than snd_ooh - Delta. A
    /// retransmitted packet is late for another reason, and indicates nothing about its path.
    #[inline]
    fn is_slow(&mut self, psn: u32, sent_at: Time) -> bool {
        self.highest = self.highest.max(psn);
        let was_sent_again = psn < self.recovery && sent_at >= self.went_back;
        self.highest - psn > self.delta && !was_sent_again
    }

    /// Multi-path ACK clocking: the packets for which an answer makes room take the path of that answer. If the window
    /// shrank, no packet takes the path. If the window grew by one packet, two packets take the path.
    #[inline]
    fn clock(&mut self, now: Time, ev: u16, marked: bool, rtt: Duration) {
        let room = self.window().saturating_sub(self.in_flight()).saturating_sub(self.clocked);
        let backlog = (self.messages.end() - self.next).saturating_sub(self.clocked);
        if room > 0 && backlog == 0 {
            // Unused room is lost: if an ACK or NACK allows a packet but there is none to send, the window shrinks by
            // one packet, since the path then has no packet that would return an ACK.
            self.report_loss(now, LossCause::Inferred);
        }
        let packets = room.min(backlog).min(MAX_CLOCKED);
        self.clocked += packets;
        for _ in 0..packets {
            self.lb.handle_ack(now, ev, marked, rtt);
        }
    }

    /// By DCP, section 3, MP-RDMA recovers by go-back-N. The sender restarts at the lowest unacknowledged packet and
    /// retransmits all that follow, except packets that are acknowledged meanwhile. After a NACK, answers clock out
    /// these retransmissions, because the packets in flight still count.
    ///
    /// In one public simulation of MP-RDMA, new packets wait until all losses are repaired, and each answer clocks out
    /// one packet whatever the window is. Here the window limits the number, and new packets follow without a pause.
    fn go_back(&mut self, now: Time) {
        self.stray = self.in_flight();
        for psn in self.unacked..self.next {
            self.sacked.remove(psn);
        }
        self.inflate = 0;
        self.next = self.unacked;
        self.recovery = self.fresh;
        self.went_back = now;
    }
}
