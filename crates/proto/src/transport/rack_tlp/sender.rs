//! The sending end.

use super::config::RackTlpConfig;
use super::flights::{Flights, State};
use crate::PathFacts;
use crate::cc::AnyCc;
use crate::lb::AnyLb;
use crate::packet::{Packet, Repr};
use crate::transport::common::{
    AckRequests, Ends, Flow, Framing, MAX_SPAN, OutOfPsns, Sender, SenderCounters, forward_to_flow,
};
use anabranch_base::{Duration, MessageId, Time};
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
pub struct RackTlpSender {
    /// Bytes on the wire of what was sent and is neither acknowledged nor declared lost.
    in_flight: u64,
    window: u64,
    /// RACK.xmit_ts and RACK.end_seq: of the packets that are known to have arrived, the one that was sent last.
    latest: Option<(Time, u32)>,
    /// RACK.rtt: the latest round trip.
    rtt: Duration,
    /// The smoothed round trip (RFC 6298), from the first measurement on.
    srtt: Option<Duration>,
    base_rtt: Duration,
    reo_wnd: Duration,
    rto: Duration,
    /// When the timer of the RTO started: when an ACK last told of an arrival, at a retransmission or probe, or at
    /// the first packet after an idle period.
    since: Time,
    /// When the oldest packet that another has overtaken is lost; never when none was overtaken.
    reorder_due: Time,
    /// When a probe is due (PTO); never when none is to be sent.
    probe_due: Time,
    probe: Probe,
    /// One past the highest PSN that was sent when a loss was found, until the ePSN is there.
    recovery_end: Option<u32>,
    /// SACKed packets above the lowest unacknowledged one (RACK.segs_sacked).
    sacked: u32,
    flow: Flow,
    flights: Flights,
    /// Lost and to be sent again, in the order of detection. Those that were sent, or acknowledged meanwhile, are
    /// dropped when they come up.
    lost: VecDeque<u32>,
}

/// The tail loss probe (RFC 8985, section 7): one at a time.
#[derive(Clone, Copy, PartialEq)]
enum Probe {
    None,
    /// To be sent.
    Due,
    /// Sent, until every PSN that was sent by then is acknowledged (TLP.end_seq).
    Out {
        end: u32,
    },
}

impl RackTlpSender {
    /// The sending end of a queue pair between `ends`.
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

    /// The next data packet, if there is one and it may go out now: lost packets first, then a probe, then new ones.
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
        // RFC 8985, section 7.2: new data starts the probe's timer again.
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

    /// When [`handle_timeout`](Self::handle_timeout) is due: for a packet that was overtaken, a probe, or the RTO
    /// while packets are in flight; or for a packet that waits for its time, which asks again when the rate may have
    /// risen.
    #[inline]
    fn next_timeout(&mut self) -> Option<Time> {
        let own = self.reorder_due.min(self.probe_due).min(self.rto_due());
        let due = own.min(self.flow.next_pacing().unwrap_or(Time::NEVER));
        (due < Time::NEVER).then_some(due)
    }

    /// Looks for losses, sends a probe, or gives up what is in flight, whichever is due. A packet that waited for its
    /// time may ask again.
    fn handle_timeout(&mut self, now: Time) {
        self.handle_pacing(now);
        if self.reorder_due <= now {
            self.detect(now);
        }
        if self.probe_due <= now {
            self.probe_due = Time::NEVER;
            self.probe = Probe::Due;
            // RFC 8985, section 7.3: after the probe comes the RTO, in full.
            self.since = now;
        } else if self.rto_due() <= now {
            self.time_out(now);
        }
    }

    /// The reordering window and the probe may be due before the RTO.
    #[inline]
    fn advances_timer(&self) -> bool {
        true
    }
}

impl RackTlpSender {
    /// RFC 8985, section 6.2, steps 1 and 2. An ACK says when the packet that caused it was sent, and so no
    /// retransmission is mistaken for the packet's first copy.
    #[inline]
    fn measure(&mut self, rtt: Duration, sent_at: Time, psn: u32) {
        self.rtt = rtt;
        self.srtt = Some(self.srtt.map_or(rtt, |srtt| Duration((srtt.0 * 7 + rtt.0) / 8)));
        self.latest = self.latest.max(Some((sent_at, psn)));
    }

    /// Everything below `cumulative` has arrived, and `psn`; false when that was known.
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
            self.settle();
            self.flow.report_acked(now, packets, bytes, marked, self.rtt);
        }
        packets > 0
    }

    /// What an arrival means for recovery and probe.
    #[inline]
    fn settle(&mut self) {
        let unacked = self.flow.unacked;
        if self.recovery_end.is_some_and(|end| end <= unacked) {
            self.recovery_end = None;
        }
        // RFC 8985, section 7.4. Left out is its congestion response to a loss that the probe repaired: DCQCN, the
        // congestion control of this comparison, has none to losses. A probe that waits for its time is not needed
        // any more.
        match self.probe {
            Probe::Out { end } if end > unacked => {}
            _ => self.probe = Probe::None,
        }
    }

    /// RFC 8985, section 6.2, step 5: lost is what was sent before a packet that arrived, an RTT and the reordering
    /// window ago. Unlike there, the window has a fixed size (DCP, section 6.3), and the timer rings for each packet
    /// in its turn and not once for all.
    #[inline]
    fn detect(&mut self, now: Time) {
        self.reorder_due = Time::NEVER;
        while let Some((sent, psn)) = self.flights.oldest()
            && self.latest > Some((sent, psn))
        {
            let due = sent + self.rtt + self.reo_wnd;
            if now < due {
                self.reorder_due = due;
                // RFC 8985, section 8: the timers exclude each other.
                self.probe_due = Time::NEVER;
                if self.probe == Probe::Due {
                    self.probe = Probe::None;
                }
                return;
            }
            self.lose(now, psn);
            // The RTO waited for this timer; its time starts anew.
            self.since = now;
        }
    }

    /// RFC 8985, section 6.3: the lowest packet is lost, and what was sent an RTT and the reordering window ago.
    fn time_out(&mut self, now: Time) {
        self.flow.counters.timeouts += 1;
        self.flow.lb.handle_timeout(now);
        // A sign of congestion of its own, even in recovery.
        self.enter_recovery(now);
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

    /// Declares a packet in flight lost.
    fn lose(&mut self, now: Time, psn: u32) {
        self.in_flight -= u64::from(self.flights.get(psn).bytes);
        self.flights.set(psn, State::Lost);
        self.lost.push_back(psn);
        if self.recovery_end.is_none() {
            self.enter_recovery(now);
        }
    }

    /// One sign of congestion per recovery, for a congestion control that takes losses for one; and no probes (RFC
    /// 8985, section 7.1).
    fn enter_recovery(&mut self, now: Time) {
        self.recovery_end = Some(self.flow.next);
        self.probe = Probe::None;
        self.probe_due = Time::NEVER;
        self.flow.cc.handle_loss(now);
    }

    /// RFC 8985, section 7.2: a probe is due two smoothed RTTs from now, or when the RTO would be, while packets are
    /// in flight, and neither a loss nor a gap is known that is dealt with otherwise.
    ///
    /// There the handshake measures a first RTT. A queue pair has none, so the path's stands for it. Nothing is added
    /// for one packet in flight, whose ACK might be held back: the last packet asks for its ACK.
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

    /// When the RTO strikes; never while nothing is in flight, and while a packet that was overtaken is waited for
    /// (RFC 8985, section 8: the timers exclude each other).
    #[inline]
    fn rto_due(&self) -> Time {
        if self.in_flight == 0 || self.reorder_due < Time::NEVER {
            Time::NEVER
        } else {
            self.since + self.rto
        }
    }

    /// The next packet to send again.
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

    /// RFC 8985, section 7.3: new data if there is any, even beyond the window, or else the packet with the highest
    /// PSN, which is in flight: nothing is lost or SACKed.
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

    /// Whether there is new data to send, window aside.
    #[inline]
    fn has_next(&self) -> bool {
        self.flow.next < self.flow.messages.end() && self.flow.next - self.flow.unacked < MAX_SPAN
    }

    /// Both windows bound what is in flight, as TCP's do: a packet goes when they hold it as well (RFC 6675, section 5,
    /// step C: "If cwnd - pipe >= 1 SMSS"). At least one packet may always be in flight, so that a small window cannot
    /// stop the queue pair.
    #[inline]
    fn windows_allow(&self, bytes: u16) -> bool {
        let window = self.window.min(self.flow.cc.window());
        self.in_flight == 0 || self.in_flight + u64::from(bytes) <= window
    }
}
