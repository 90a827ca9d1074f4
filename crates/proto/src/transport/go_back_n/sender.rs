//! The sender of the `go-back-n` transport.

use super::config::GoBackNConfig;
use crate::cc::{AnyCc, LossCause, TelemetryReport};
use crate::lb::AnyLb;
use crate::packet::{Packet, Repr};
use crate::transport::common::{
    AckRequests, Acked, Ends, Flow, Framing, OutOfPsns, Sender, SenderCounters, forward_to_flow,
};
use crate::{IntStack, PathFacts};
use anabranch_base::{Duration, MessageId, Time};

/// The sender of a queue pair.
///
/// To drive it, [`post`](Self::post) messages, call [`handle_packet`](Self::handle_packet) for each packet that comes
/// back and [`handle_timeout`](Self::handle_timeout) at [`next_timeout`](Self::next_timeout). After each of these, call
/// [`poll_acknowledged`](Self::poll_acknowledged) until it returns None. Whenever the wire is free, call
/// [`poll_transmit`](Self::poll_transmit). If this returns None and the sender [`paces`](Self::paces), read the next
/// timeout again.
// The order of the fields matters: fields that every packet touches come first, so that they share few cache lines.
#[repr(C)]
pub struct GoBackNSender {
    /// Bytes on the wire of the PSNs in `flow.unacked..flow.next`.
    in_flight: u64,
    /// The first PSN that was never sent.
    fresh: u32,
    /// The start of the RTO timer: the last new acknowledgement, or the first packet after an idle period or a
    /// go-back-N restart.
    since: Time,
    rto: Duration,
    flow: Flow,
}

impl GoBackNSender {
    /// The sender of a queue pair between `ends`.
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
            Repr::Nack { psn, sent_at, .. } => {
                self.acknowledge(now, psn, false, now.since(sent_at));
                // A NACK for an earlier PSN is older than an acknowledgement that has already arrived.
                if psn == self.flow.unacked && psn < self.flow.next {
                    self.go_back();
                    self.flow.cc.handle_loss(&self.flow.loss(now, LossCause::Inferred, self.in_flight));
                }
            }
            Repr::Cnp => self.flow.cc.handle_cnp(now),
            _ => {}
        }
    }

    #[inline]
    fn handle_telemetry(&mut self, cumulative: u32, stack: &IntStack) {
        self.flow.cc.handle_telemetry(&TelemetryReport { stack, acked: cumulative, next: self.flow.next });
    }

    #[inline]
    fn next_timeout(&mut self) -> Option<Time> {
        let rto = (self.flow.unacked < self.flow.next).then(|| self.since + self.rto);
        match (rto, self.flow.next_pacing()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        self.handle_pacing(now);
        if self.flow.unacked < self.flow.next && self.since + self.rto <= now {
            self.go_back();
            self.flow.report_timeout(now, self.in_flight);
        }
    }

    /// False, because received packets can only postpone the timeout.
    #[inline]
    fn advances_timer(&self) -> bool {
        false
    }
}

impl GoBackNSender {
    fn acknowledge(&mut self, now: Time, cumulative: u32, marked: bool, rtt: Duration) {
        // After a go-back-N restart, an ACK may cover packets that are not yet retransmitted, but no packets that were
        // never sent.
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
        let acked = Acked { now, packets, bytes, in_flight: self.in_flight };
        self.flow.report_acked(acked, marked, rtt);
    }

    fn go_back(&mut self) {
        self.flow.next = self.flow.unacked;
        self.in_flight = 0;
    }
}
