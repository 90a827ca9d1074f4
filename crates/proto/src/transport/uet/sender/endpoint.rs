//! Packets without data: probes, and the endpoint requests and responses of MRC (OCP 1.0).

use super::UetSender;
use crate::cc::LossCause;
use crate::packet::{EndpointOp, Packet, Repr};
use crate::transport::uet::ev_order::EvOrder;
use anabranch_base::Time;
use std::collections::VecDeque;

/// The state that a sender needs only under MRC.
pub(in crate::transport) struct Endpoint {
    /// Size of a probe or a request.
    pub request_bytes: u16,
    pub response_bytes: u16,
    /// Probes of entropy values and responses to send.
    pub due: VecDeque<Repr>,
    /// The packets in flight by entropy value, if losses are inferred from them. None otherwise.
    pub order: Option<EvOrder>,
}

impl UetSender {
    #[cold]
    pub(super) fn poll_control(&mut self, now: Time) -> Option<Packet> {
        if self.probe_is_due {
            return Some(self.probe(now));
        }
        if let Some(endpoint) = &mut self.endpoint
            && let Some(repr) = endpoint.due.pop_front()
        {
            let (ev, bytes) = match repr {
                Repr::Endpoint { value, is_response: false, .. } => (value, endpoint.request_bytes),
                _ => (self.lb.next_ev(now, self.cc.window()), endpoint.response_bytes),
            };
            return Some(Packet::new(self.ends.qp, self.ends.dst, repr).with_bytes(bytes).with_ev(ev));
        }
        self.has_control = false;
        None
    }

    #[cold]
    pub(super) fn probe_evs(&mut self, now: Time) {
        let Some(endpoint) = &mut self.endpoint else { return };
        while let Some(ev) = self.lb.poll_probe(now) {
            endpoint.due.push_back(Repr::endpoint_request(EndpointOp::PathProbe, ev, true));
            self.has_control = true;
        }
    }

    /// Builds a probe. Its traffic class is that of ACKs under UET, and that of data under MRC. Probes do not count in
    /// the window.
    fn probe(&mut self, now: Time) -> Packet {
        self.probe_is_due = false;
        self.probe_from = now;
        self.probe_sent = now;
        self.probe_end = self.next;
        let ev = self.lb.next_ev(now, self.cc.window());
        let repr = Repr::probe(self.unacked).with_sent_at(now);
        let (repr, bytes) = match &self.endpoint {
            Some(endpoint) => (repr, endpoint.request_bytes),
            None => (repr.in_control_class(), self.control_bytes),
        };
        Packet::new(self.ends.qp, self.ends.dst, repr).with_bytes(bytes).with_ev(ev)
    }

    #[cold]
    pub(super) fn handle_endpoint(
        &mut self,
        now: Time,
        (op, value): (EndpointOp, u16),
        is_response: bool,
        marked: bool,
    ) {
        let Some(endpoint) = &mut self.endpoint else { return };
        if is_response {
            if op == EndpointOp::PathProbe {
                self.lb.handle_probe_response(now, value, marked);
            }
            return;
        }
        if op == EndpointOp::PortStatus {
            self.lb.handle_peer_ports(now, value);
        }
        endpoint.due.push_back(Repr::endpoint_response(op, value, marked, true));
        self.has_control = true;
    }

    #[inline]
    pub(super) fn note_sent(&mut self, now: Time, psn: u32, ev: u16) {
        if let Some(order) = self.endpoint.as_mut().and_then(|endpoint| endpoint.order.as_mut()) {
            order.record(ev, psn, now);
        }
    }

    /// Records that a packet arrived. Retransmitted packets are ignored, since it is unknown which copy arrived.
    #[inline]
    pub(super) fn note_arrival(&mut self, psn: u32) {
        if let Some(order) = self.endpoint.as_mut().and_then(|endpoint| endpoint.order.as_mut()) {
            let sent = self.copies.of(psn);
            if sent.retransmissions == 0 {
                order.note_arrival(sent.ev, sent.at);
            }
        }
    }

    #[inline]
    pub(super) fn lose_overtaken(&mut self, now: Time) {
        while let Some((psn, sent_at)) =
            self.endpoint.as_mut().and_then(|endpoint| endpoint.order.as_mut()?.poll_overtaken())
        {
            if self.is_outstanding(psn) && self.copies.of(psn).at == sent_at {
                self.lose(now, psn, LossCause::Inferred, None);
            }
        }
    }
}
