//! The entropy values of a receiver's answers, and the status of its NIC's ports (MRC, OCP 1.0).
//!
//! There is one entropy value for each plane. While data arrives, the receiver probes a new random entropy value once
//! per round trip, in the plane of the packet that has just arrived. When the response arrives, the new value replaces
//! that of the plane. Queue pairs here carry data in one direction only, so the receiver gets no SACKs from which it
//! could learn about paths.

use crate::PathFacts;
use crate::lb::NicPorts;
use crate::packet::{EndpointOp, Packet, Repr};
use crate::transport::common::{Answers, Ends};
use anabranch_base::{Bytes, Duration, Stream, Time};
use std::collections::VecDeque;

/// The entropy values of answers.
pub(in crate::transport) struct ReverseEvs {
    /// The entropy value of each plane.
    evs: Vec<u16>,
    ports: NicPorts,
    /// Mask of the receiver's ports that the sender is known to count as up.
    confirmed: u16,
    probe_at: Time,
    status_at: Time,
    /// The least time between two probes, and between two reports of the ports that the sender has not yet confirmed.
    round_trip: Duration,
    requests: Answers,
    responses: Answers,
    /// Requests and responses to send.
    due: VecDeque<Packet>,
    random: Stream,
}

impl ReverseEvs {
    /// The entropy values of a NIC with one port. `request` and `response` are sizes.
    pub fn new(facts: &PathFacts, ends: Ends, (request, response): (Bytes, Bytes), random: Stream) -> Self {
        let mut reverse = ReverseEvs {
            evs: Vec::new(),
            ports: NicPorts::ONE,
            confirmed: all_of(1),
            probe_at: Time::ZERO,
            status_at: Time::ZERO,
            round_trip: facts.base_rtt,
            requests: Answers::new(ends, request),
            responses: Answers::new(ends, response),
            due: VecDeque::new(),
            random,
        };
        reverse.draw();
        reverse
    }

    fn draw(&mut self) {
        self.evs =
            (0..self.ports.count).map(|plane| draw_ev(plane, self.ports.count, &mut self.random)).collect();
    }

    /// Stores the state of the NIC's ports. A sender counts all of them as up until it receives a report.
    pub fn see_ports(&mut self, ports: NicPorts) {
        if ports.count != self.ports.count {
            self.confirmed = all_of(ports.count);
            self.ports = ports;
            self.draw();
        }
        self.ports = ports;
    }

    /// The entropy value of an answer to a packet with the entropy value `ev`, in its plane.
    #[inline]
    pub fn ev_of(&self, ev: u16) -> u16 {
        self.evs[usize::from(ev % self.ports.count)]
    }

    /// Handles any packet of the sender.
    #[inline]
    pub fn handle_packet(&mut self, now: Time, packet: &Packet) {
        match packet.repr {
            Repr::Data { .. } if now >= self.probe_at => self.probe(now, packet.ev),
            Repr::Endpoint { op, value, is_response: true, .. } => self.handle_response(op, value),
            Repr::Endpoint { op, value, .. } => {
                let repr = Repr::endpoint_response(op, value, packet.marked, false);
                self.due.push_back(self.responses.packet(self.ev_of(packet.ev), repr));
            }
            _ => {}
        }
        // A NIC that does not fail over reports all ports as up.
        let up = self.ports.up & all_of(self.ports.count);
        if up != self.confirmed && now >= self.status_at {
            self.status_at = now + self.round_trip;
            let repr = Repr::endpoint_request(EndpointOp::PortStatus, up, false);
            self.due.push_back(self.requests.packet(self.ev_of(packet.ev), repr));
        }
    }

    /// The next request or response.
    #[inline]
    pub fn poll_transmit(&mut self) -> Option<Packet> {
        self.due.pop_front()
    }

    #[cold]
    fn probe(&mut self, now: Time, ev: u16) {
        self.probe_at = now + self.round_trip;
        let ev = draw_ev(ev % self.ports.count, self.ports.count, &mut self.random);
        let repr = Repr::endpoint_request(EndpointOp::PathProbe, ev, false);
        self.due.push_back(self.requests.packet(ev, repr));
    }

    #[cold]
    fn handle_response(&mut self, op: EndpointOp, value: u16) {
        match op {
            EndpointOp::PathProbe => self.evs[usize::from(value % self.ports.count)] = value,
            EndpointOp::PortStatus => self.confirmed = value,
        }
    }
}

/// The mask of all ports of a NIC with `count` ports.
fn all_of(count: u16) -> u16 {
    ((1_u32 << count) - 1) as u16
}

/// A random entropy value of a plane.
fn draw_ev(plane: u16, planes: u16, random: &mut Stream) -> u16 {
    random.below((1 << 16) / u32::from(planes)) as u16 * planes + plane
}
