//! The sending end.

use super::config::GoBackNConfig;
use crate::cc::{AnyCc, Reported};
use crate::lb::AnyLb;
use crate::packet::{Packet, Repr};
use crate::transport::common::{
    AckRequests, Ends, Flow, Framing, OutOfPsns, Sender, SenderCounters, forward_to_flow,
};
use crate::{IntStack, PathFacts};
use anabranch_base::{Duration, MessageId, Time};

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
    /// Bytes on the wire of the PSNs from the lowest unacknowledged one to the one to send next.
    in_flight: u64,
    /// First PSN that was never sent.
    fresh: u32,
    /// When the timer of the RTO started: at the last new acknowledgement, or the first packet after an idle period.
    since: Time,
    rto: Duration,
    flow: Flow,
}

impl GoBackNSender {
    /// The sending end of a queue pair between `ends`.
    pub fn new(config: &GoBackNConfig, facts: &PathFacts, ends: Ends, cc: AnyCc, lb: AnyLb) -> Self {
        let &GoBackNConfig { payload, header, ack, ack_every, .. } = config;
        let rto = config.rto.on(facts);
        let ack_requests = AckRequests { ack_every, rto, cnp_interval: config.cnp_interval.on(facts) };
        GoBackNSender {
            in_flight: 0,
            fresh: 0,
            since: Time::ZERO,
            rto,
            flow: Flow::new(&Framing { payload, header, ack }, &ack_requests, ends, cc, lb),
        }
    }
}

impl Sender for GoBackNSender {
    forward_to_flow!(messages, pacing);

    /// The next data packet, if there is one and window and rate let it go now.
    #[inline]
    fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        let psn = self.flow.next;
        if psn == self.flow.messages.end() {
            return None;
        }
        let part = self.flow.messages.packet_info(psn);
        if !self.flow.window_allows(self.in_flight) || !self.flow.pace(now, part.bytes) {
            return None;
        }
        if psn == self.flow.unacked {
            self.since = now;
        }
        self.flow.next += 1;
        self.in_flight += u64::from(part.bytes);
        if psn < self.fresh {
            self.flow.counters.retransmissions += 1;
        } else {
            self.fresh = self.flow.next;
        }
        let goes_on = self.flow.next < self.flow.messages.end() && self.flow.window_allows(self.in_flight);
        Some(self.flow.packet(now, psn, part, goes_on))
    }

    #[inline]
    fn handle_packet(&mut self, now: Time, packet: &Packet) {
        match packet.repr {
            Repr::Ack { cumulative, marked, sent_at, .. } => {
                let rtt = now.since(sent_at);
                self.acknowledge(now, cumulative, marked, rtt);
                self.flow.handle_feedback(now, packet.ev, marked, rtt);
            }
            Repr::Nack { psn, sent_at } => {
                self.acknowledge(now, psn, false, now.since(sent_at));
                // One for an earlier PSN is older than an acknowledgement that came.
                if psn == self.flow.unacked && psn < self.flow.next {
                    self.go_back();
                    self.flow.cc.handle_loss(now);
                }
            }
            Repr::Cnp => self.flow.cc.handle_cnp(now),
            _ => {}
        }
    }

    /// Switches told the packet that an ACK answers of their load; the ACK, which acknowledges every PSN below
    /// `cumulative`, comes next.
    #[inline]
    fn handle_telemetry(&mut self, cumulative: u32, stack: &IntStack) {
        self.flow.cc.handle_telemetry(&Reported { stack, acked: cumulative, next: self.flow.next });
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due: for the RTO while packets are in flight, or for a packet
    /// that waits for its time, which asks again when the rate may have risen.
    #[inline]
    fn next_timeout(&mut self) -> Option<Time> {
        let rto = (self.flow.unacked < self.flow.next).then(|| self.since + self.rto);
        match (rto, self.flow.next_pacing()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Goes back when nothing new was acknowledged for an RTO. A packet that waited for its time may ask again.
    fn handle_timeout(&mut self, now: Time) {
        self.handle_pacing(now);
        if self.flow.unacked < self.flow.next && self.since + self.rto <= now {
            self.go_back();
            self.flow.counters.timeouts += 1;
            self.flow.lb.handle_timeout(now);
            self.flow.cc.handle_loss(now);
        }
    }

    /// What comes in only puts it off.
    #[inline]
    fn advances_timer(&self) -> bool {
        false
    }
}

impl GoBackNSender {
    /// Everything below `cumulative` has arrived.
    fn acknowledge(&mut self, now: Time, cumulative: u32, marked: bool, rtt: Duration) {
        // After a go-back-N restart, more may have arrived than was retransmitted; but never more than was sent.
        let cumulative = cumulative.min(self.fresh);
        if cumulative <= self.flow.unacked {
            return;
        }
        let packets = cumulative - self.flow.unacked;
        let bytes = self.flow.advance(cumulative);
        if cumulative < self.flow.next {
            self.in_flight -= bytes;
        } else {
            self.flow.next = cumulative;
            self.in_flight = 0;
        }
        self.since = now;
        self.flow.report_acked(now, packets, bytes, marked, rtt);
    }

    /// Starts again at the first unacknowledged packet.
    fn go_back(&mut self) {
        self.flow.next = self.flow.unacked;
        self.in_flight = 0;
    }
}
