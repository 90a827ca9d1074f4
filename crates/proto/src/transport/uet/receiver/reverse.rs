//! The entropy values of a receiver's answers, and the status of its NIC's ports (MRC, OCP 1.0).
//!
//! There is one entropy value for each plane. Every arriving packet except a response can make the receiver probe a new
//! random entropy value of a random plane, at most once per round trip. When the response arrives, the new value
//! replaces the old value of its plane. Queue pairs here carry data in one direction only, so the receiver gets no
//! SACKs from which it could learn about paths.

use crate::PathFacts;
use crate::lb::NicPorts;
use crate::packet::{EndpointOp, Packet, Repr};
use crate::transport::common::{Answers, Ends};
use anabranch_base::{Bytes, Duration, Stream, Time};
use std::collections::VecDeque;

pub(in crate::transport) struct ReverseEvs {
    /// The entropy value of each plane.
    evs: Vec<u16>,
    ports: NicPorts,
    /// Mask of the receiver's ports that the sender is known to count as up.
    confirmed: u16,
    probe_at: Time,
    status_at: Time,
    /// The least time between two probes, and between two reports of the ports.
    round_trip: Duration,
    requests: Answers,
    responses: Answers,
    due: VecDeque<Packet>,
    random: Stream,
}

impl ReverseEvs {
    /// The entropy values of a NIC with one port. `request` and `response` are sizes of packets.
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

    /// Handles the state of the NIC's ports. A sender counts all ports as up until it receives a report.
    pub fn see_ports(&mut self, ports: NicPorts) {
        if ports.count != self.ports.count {
            self.confirmed = all_of(ports.count);
            self.ports = ports;
            self.draw();
        }
        self.ports = ports;
    }

    /// The entropy value of an answer to a packet with the entropy value `ev`. The answer uses the packet's plane.
    #[inline]
    pub fn ev_of(&self, ev: u16) -> u16 {
        self.evs[usize::from(ev % self.ports.count)]
    }

    #[inline]
    pub fn handle_packet(&mut self, now: Time, packet: &Packet) {
        let is_response = matches!(packet.repr, Repr::Endpoint { is_response: true, .. });
        if now >= self.probe_at && !is_response {
            self.probe(now);
        }
        match packet.repr {
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

    #[inline]
    pub fn poll_transmit(&mut self) -> Option<Packet> {
        self.due.pop_front()
    }

    /// Probes a random plane instead of the arriving packet's plane. Packets of a message use the planes one after the
    /// other, so the first packet after each round trip could always come from the same plane.
    #[cold]
    fn probe(&mut self, now: Time) {
        self.probe_at = now + self.round_trip;
        let plane = self.random.below(self.ports.count.into()) as u16;
        let ev = draw_ev(plane, self.ports.count, &mut self.random);
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

fn draw_ev(plane: u16, planes: u16, random: &mut Stream) -> u16 {
    random.below((1 << 16) / u32::from(planes)) as u16 * planes + plane
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_base::{HostId, Purpose, QpId, Rate, stream};

    fn of_eight_planes() -> ReverseEvs {
        let rate = Rate::from_gbps(100);
        let facts = PathFacts {
            base_rtt: Duration::from_us(8),
            bdp: Bytes(800_000),
            packet: Bytes(4_242),
            line_rate: rate,
            port_rate: rate,
            queue: Bytes(0),
        };
        let ends = Ends { qp: QpId(0), src: HostId(0), dst: HostId(1) };
        let random = stream(1, 1, Purpose::Transport);
        let mut reverse = ReverseEvs::new(&facts, ends, (Bytes(138), Bytes(158)), random);
        reverse.see_ports(NicPorts { count: 8, free: 0xff, up: 0xff });
        reverse
    }

    #[test]
    fn probes_of_the_sender_let_the_receiver_probe_too() {
        for repr in [Repr::probe(0), Repr::trimmed(0)] {
            let mut reverse = of_eight_planes();
            reverse.handle_packet(Time::ZERO, &Packet::new(QpId(0), HostId(1), repr));
            assert!(reverse.poll_transmit().is_some(), "{repr:?}");
        }
    }

    /// All data packets here come from plane 0.
    #[test]
    fn every_plane_is_probed_whatever_plane_data_comes_from() {
        let mut reverse = of_eight_planes();
        let mut probed = 0_u8;
        for round in 0..100 {
            let data = Packet::new(QpId(0), HostId(1), Repr::data(round));
            reverse.handle_packet(Time::ZERO + Duration::from_us(8) * u64::from(round), &data);
            let probe = reverse.poll_transmit().expect("a probe for each round trip");
            assert!(reverse.poll_transmit().is_none());
            probed |= 1 << (probe.ev % 8);
        }
        assert_eq!(probed, 0xff);
    }
}
