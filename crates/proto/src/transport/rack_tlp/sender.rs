//! The sender of the `rack-tlp` transport. It infers losses from the send times of acknowledged packets.

use super::config::RackTlpConfig;
use super::flights::{Flights, State};
use crate::PathFacts;
use crate::cc::{AnyCc, LossCause};
use crate::lb::AnyLb;
use crate::packet::{Packet, Repr};
use crate::transport::common::{
    AckRequests, Acked, Ends, Flow, Framing, MAX_SPAN, OutOfPsns, Sender, SenderCounters, forward_to_flow,
};
use anabranch_base::{Duration, MessageId, Time};
use std::collections::VecDeque;

/// The sender of a queue pair.
///
/// To drive it, [`post`](Self::post) messages, call [`handle_packet`](Self::handle_packet) for each packet that comes
/// back and [`handle_timeout`](Self::handle_timeout) at [`next_timeout`](Self::next_timeout). After each of these, call
/// [`poll_acknowledged`](Self::poll_acknowledged) until it returns None. Whenever the wire is free, call
/// [`poll_transmit`](Self::poll_transmit). If this returns None and the sender [`paces`](Self::paces), read the next
/// timeout again.
// The order of the fields matters: fields that every packet touches come first, so that they share few cache lines.
#[repr(C)]
pub struct RackTlpSender {
    /// Bytes on the wire of packets that were sent and are neither acknowledged nor declared lost.
    in_flight: u64,
    window: u64,
    /// RACK.xmit_ts and RACK.end_seq. Among the packets that are known to have arrived, the packet that was sent last
    /// has this transmission time and PSN.
    latest: Option<(Time, u32)>,
    /// RACK.rtt: the latest RTT.
    rtt: Duration,
    /// The smoothed RTT (RFC 6298). None before the first measurement.
    srtt: Option<Duration>,
    base_rtt: Duration,
    reo_wnd: Duration,
    rto: Duration,
    /// The start of the RTO timer. The timer restarts at an ACK of a new arrival, a detected loss, a timeout, a
    /// retransmission, a probe that comes due or is sent, and the first packet after an idle period.
    since: Time,
    /// The time at which the oldest overtaken packet counts as lost. It is [`Time::NEVER`] if none was overtaken.
    reorder_due: Time,
    /// The time at which the probe timer (PTO) expires. It is [`Time::NEVER`] while the timer is stopped.
    probe_due: Time,
    probe: Probe,
    /// The PSN after the highest one that had been sent when the recovery began. None outside a recovery.
    recovery_end: Option<u32>,
    /// Number of SACKed packets above the lowest unacknowledged one (RACK.segs_sacked).
    sacked: u32,
    flow: Flow,
    flights: Flights,
    /// Lost PSNs to retransmit, in the order of detection. Entries that were retransmitted or acknowledged are removed
    /// when they reach the front.
    lost: VecDeque<u32>,
}

/// The tail loss probe (RFC 8985, section 7), of which there is at most one at a time.
#[derive(Clone, Copy, PartialEq)]
enum Probe {
    None,
    Due,
    /// The probe was sent. This state lasts until every PSN that had been sent by then is acknowledged (TLP.end_seq),
    /// or a recovery begins.
    Out {
        end: u32,
    },
}

impl RackTlpSender {
    /// The sender of a queue pair between `ends`.
    pub fn new(config: &RackTlpConfig, facts: &PathFacts, ends: Ends, cc: AnyCc, lb: AnyLb) -> Self {
        let &RackTlpConfig { payload, header, ack, ack_every, .. } = config;
        let rto = config.rto.on(facts);
        let ack_requests = AckRequests { ack_every, rto, cnp_interval: config.cnp_interval.on(facts) };
        RackTlpSender {
            in_flight: 0,
            window: config.window.window_on(facts).0,
            latest: None,
            rtt: facts.base_rtt,
            srtt: None,
            base_rtt: facts.base_rtt,
            reo_wnd: config.reo_wnd.on(facts),
            rto,
            since: Time::ZERO,
            reorder_due: Time::NEVER,
            probe_due: Time::NEVER,
            probe: Probe::None,
            recovery_end: None,
            sacked: 0,
            flow: Flow::new(&Framing { payload, header, ack }, &ack_requests, ends, cc, lb),
            flights: Flights::new(),
            lost: VecDeque::new(),
        }
    }
}

impl Sender for RackTlpSender {
    forward_to_flow!(messages, pacing);

    #[inline]
    fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        if let Some(psn) = self.next_lost() {
            return self.send_lost(now, psn);
        }
        if self.probe == Probe::Due {
            return self.send_probe(now);
        }
        if !self.has_next() || !self.windows_allow(self.flow.messages.packet_info(self.flow.next).bytes) {
            return None;
        }
        let packet = self.send_next(now)?;
        // RFC 8985, section 7.2: new data restarts the probe timer.
        self.arm_probe(now);
        Some(packet)
    }

    #[inline]
    fn handle_packet(&mut self, now: Time, packet: &Packet) {
        match packet.repr {
            Repr::Ack { cumulative, base, marked, sent_at, .. } => {
                let rtt = now.since(sent_at);
                self.measure(rtt, sent_at, base);
                let is_news = self.acknowledge(now, cumulative, base, marked);
                self.detect(now);
                if is_news {
                    self.arm_probe(now);
                }
                self.flow.handle_feedback(now, packet.ev, marked, rtt);
            }
            Repr::Cnp => self.flow.cc.handle_cnp(now),
            _ => {}
        }
    }

    #[inline]
    fn next_timeout(&mut self) -> Option<Time> {
        let own = self.reorder_due.min(self.probe_due).min(self.rto_due());
        let due = own.min(self.flow.next_pacing().unwrap_or(Time::NEVER));
        (due < Time::NEVER).then_some(due)
    }

    fn handle_timeout(&mut self, now: Time) {
        self.handle_pacing(now);
        if self.reorder_due <= now {
            self.detect(now);
        }
        if self.probe_due <= now {
            self.probe_due = Time::NEVER;
            self.probe = Probe::Due;
            // RFC 8985, section 7.3: a full RTO follows the probe, so the RTO timer restarts.
            self.since = now;
        } else if self.rto_due() <= now {
            self.time_out(now);
        }
    }

    /// An ACK may start the reordering timer or the probe timer, which may be due before the RTO.
    #[inline]
    fn advances_timer(&self) -> bool {
        true
    }
}

impl RackTlpSender {
    /// RFC 8985, section 6.2, steps 1 and 2. An ACK echoes the transmission time of the packet that caused it, so that
    /// a retransmission is never mistaken for the first copy.
    #[inline]
    fn measure(&mut self, rtt: Duration, sent_at: Time, psn: u32) {
        self.rtt = rtt;
        self.srtt = Some(self.srtt.map_or(rtt, |srtt| Duration((srtt.0 * 7 + rtt.0) / 8)));
        self.latest = self.latest.max(Some((sent_at, psn)));
    }

    /// Handles the acknowledgement of `psn` and every PSN below `cumulative`. Returns false if nothing is newly
    /// acknowledged.
    #[inline]
    fn acknowledge(&mut self, now: Time, cumulative: u32, psn: u32, marked: bool) -> bool {
        let cumulative = cumulative.min(self.flow.next);
        let (mut packets, mut bytes) = (0, 0);
        let mut arrived = |state: State, size: u16, in_flight: &mut u64| {
            packets += 1;
            bytes += u64::from(size);
            if state == State::InFlight {
                *in_flight -= u64::from(size);
            }
        };
        for _ in self.flow.unacked..cumulative {
            if let Some(flight) = self.flights.pop() {
                match flight.state {
                    State::Sacked => self.sacked -= 1,
                    state => arrived(state, flight.bytes, &mut self.in_flight),
                }
            }
        }
        if cumulative > self.flow.unacked {
            self.flow.advance(cumulative);
        }
        if psn > self.flow.unacked && psn < self.flow.next {
            let flight = self.flights.get(psn);
            if flight.state != State::Sacked {
                arrived(flight.state, flight.bytes, &mut self.in_flight);
                self.flights.set(psn, State::Sacked);
                self.sacked += 1;
            }
        }
        if packets > 0 {
            self.since = now;
            self.update_recovery();
            let acked = Acked { now, packets, bytes, in_flight: self.in_flight };
            self.flow.report_acked(acked, marked, self.rtt);
        }
        packets > 0
    }

    #[inline]
    fn update_recovery(&mut self) {
        let unacked = self.flow.unacked;
        if self.recovery_end.is_some_and(|end| end <= unacked) {
            self.recovery_end = None;
        }
        // This is RFC 8985, section 7.4, without its congestion response to a loss that the probe repaired: DCQCN, the
        // congestion control of DCP's comparison, does not react to losses. A probe that was not yet sent is no longer
        // needed.
        match self.probe {
            Probe::Out { end } if end > unacked => {}
            _ => self.probe = Probe::None,
        }
    }

    /// RFC 8985, section 6.2, step 5: a packet is lost if a later transmission has arrived, and if an RTT plus the
    /// reordering window has passed since the packet was sent. Unlike in the RFC, the reordering window has a fixed
    /// size (DCP, section 6.3), and the timer expires for each packet separately.
    #[inline]
    fn detect(&mut self, now: Time) {
        self.reorder_due = Time::NEVER;
        while let Some((sent, psn)) = self.flights.oldest()
            && self.latest > Some((sent, psn))
        {
            let due = sent + self.rtt + self.reo_wnd;
            if now < due {
                self.reorder_due = due;
                // RFC 8985, section 8: at most one of the timers runs.
                self.probe_due = Time::NEVER;
                if self.probe == Probe::Due {
                    self.probe = Probe::None;
                }
                return;
            }
            self.lose(now, psn);
            // The RTO timer may have been stopped meanwhile, so it restarts.
            self.since = now;
        }
    }

    /// RFC 8985, section 6.3: the lowest unacknowledged packet is lost. Every packet in flight that was sent at least
    /// an RTT plus the reordering window ago is lost too.
    fn time_out(&mut self, now: Time) {
        self.flow.counters.timeouts += 1;
        self.flow.lb.handle_timeout(now, None);
        // A timeout is a congestion signal of its own, even in recovery.
        self.enter_recovery(now, LossCause::Timeout);
        let unacked = self.flow.unacked;
        if self.flights.get(unacked).state == State::InFlight {
            self.lose(now, unacked);
        }
        while let Some((sent, psn)) = self.flights.oldest()
            && sent + self.rtt + self.reo_wnd <= now
        {
            self.lose(now, psn);
        }
        self.since = now;
    }

    fn lose(&mut self, now: Time, psn: u32) {
        self.in_flight -= u64::from(self.flights.get(psn).bytes);
        self.flights.set(psn, State::Lost);
        self.lost.push_back(psn);
        if self.recovery_end.is_none() {
            self.enter_recovery(now, LossCause::Inferred);
        }
    }

    /// Begins a recovery, during which no probes are sent (RFC 8985, section 7.1), and reports one loss to the
    /// congestion control.
    fn enter_recovery(&mut self, now: Time, cause: LossCause) {
        self.recovery_end = Some(self.flow.next);
        self.probe = Probe::None;
        self.probe_due = Time::NEVER;
        self.flow.cc.handle_loss(&self.flow.loss(now, cause, self.in_flight));
    }

    /// Sets the probe timer (RFC 8985, section 7.2). A probe is due two smoothed RTTs from now, or at the RTO if that
    /// is earlier. It is due only while packets are in flight, no other probe is due or unanswered, and no loss or
    /// gap is known, since other timers handle those.
    ///
    /// In the RFC, the handshake measures a first RTT. A queue pair has no handshake, so the path's base RTT is used.
    /// The RFC's allowance for a delayed ACK of a single packet in flight is not needed, since the last packet requests
    /// its ACK.
    #[inline]
    fn arm_probe(&mut self, now: Time) {
        let is_open = self.recovery_end.is_none()
            && self.sacked == 0
            && self.probe == Probe::None
            && self.reorder_due == Time::NEVER;
        self.probe_due = if is_open && self.in_flight > 0 {
            (now + self.srtt.unwrap_or(self.base_rtt) * 2).min(self.since + self.rto)
        } else {
            Time::NEVER
        };
    }

    /// The time at which the RTO timer expires. It is [`Time::NEVER`] while nothing is in flight, or while the
    /// reordering timer runs (RFC 8985, section 8: at most one of the timers runs).
    #[inline]
    fn rto_due(&self) -> Time {
        if self.in_flight == 0 || self.reorder_due < Time::NEVER {
            Time::NEVER
        } else {
            self.since + self.rto
        }
    }

    #[inline]
    fn next_lost(&mut self) -> Option<u32> {
        while let Some(&psn) = self.lost.front() {
            if psn >= self.flow.unacked && self.flights.get(psn).state == State::Lost {
                return Some(psn);
            }
            self.lost.pop_front();
        }
        None
    }

    #[cold]
    fn send_lost(&mut self, now: Time, psn: u32) -> Option<Packet> {
        let part = self.flow.messages.packet_info(psn);
        if !self.windows_allow(part.bytes) || !self.flow.pace(now, part.bytes) {
            return None;
        }
        self.in_flight += u64::from(part.bytes);
        Some(self.send_again(now, psn))
    }

    /// RFC 8985, section 7.3: the probe is new data if there is any, even beyond the window. Without new data, the
    /// probe is the packet with the highest PSN. This packet is in flight, since no packet is lost or SACKed.
    #[cold]
    fn send_probe(&mut self, now: Time) -> Option<Packet> {
        let packet = if self.has_next() {
            self.send_next(now)?
        } else {
            let psn = self.flow.next - 1;
            if !self.flow.pace(now, self.flow.messages.packet_info(psn).bytes) {
                return None;
            }
            self.send_again(now, psn)
        };
        self.probe = Probe::Out { end: self.flow.next };
        self.since = now;
        Some(packet)
    }

    #[cold]
    fn send_again(&mut self, now: Time, psn: u32) -> Packet {
        self.flights.send_again(now, psn);
        self.flow.counters.retransmissions += 1;
        self.since = now;
        self.packet(now, psn)
    }

    #[inline]
    fn send_next(&mut self, now: Time) -> Option<Packet> {
        let psn = self.flow.next;
        let bytes = self.flow.messages.packet_info(psn).bytes;
        if !self.flow.pace(now, bytes) {
            return None;
        }
        if self.in_flight == 0 {
            self.since = now;
        }
        self.flow.next += 1;
        self.in_flight += u64::from(bytes);
        self.flights.send_next(now, bytes);
        Some(self.packet(now, psn))
    }

    #[inline]
    fn packet(&mut self, now: Time, psn: u32) -> Packet {
        let part = self.flow.messages.packet_info(psn);
        let goes_on = (self.next_lost().is_some() || self.has_next())
            && self.windows_allow(self.flow.messages.packet_bytes());
        self.flow.packet(now, psn, part, goes_on)
    }

    /// Whether there is new data to send within [`MAX_SPAN`], whatever the windows allow.
    #[inline]
    fn has_next(&self) -> bool {
        self.flow.next < self.flow.messages.end() && self.flow.next - self.flow.unacked < MAX_SPAN
    }

    /// Whether the transport's window and the congestion control's window admit a packet of this size. Both windows
    /// bound the bytes in flight, as TCP's window does (RFC 6675, section 5, step C: "If cwnd - pipe >= 1 SMSS"). One
    /// packet may always be in flight, so that a small window cannot stop the queue pair.
    #[inline]
    fn windows_allow(&self, bytes: u16) -> bool {
        let window = self.window.min(self.flow.cc.window());
        self.in_flight == 0 || self.in_flight + u64::from(bytes) <= window
    }
}
