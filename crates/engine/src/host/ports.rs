//! NICs with several ports: the choice of the port by which a packet leaves.
//!
//! The port follows from the packet alone, so that a balancer that spreads packets over entropy values spreads them over ports
//! and planes without knowing of them. A packet whose port is busy waits there, so that other ports do not stay idle. A queue
//! pair with as many such packets as the NIC has ports has no turn until one leaves.

use super::{DONE, Host, PORT};
use crate::context::Context;
use crate::network::Network;
use crate::observer::Observer;
use crate::queue::SlotHandle;
use crate::spec::PortChoice;
use anabranch_base::{NodeId, Time};
use anabranch_proto::Packet;

/// The choice among the ports of a NIC.
pub(super) struct SeveralPorts {
    ports: u16,
    choice: PortChoice,
    /// Whether packets avoid a port whose link the NIC knows to be down.
    fails_over: bool,
}

impl SeveralPorts {
    /// The choice at a NIC with so many ports.
    pub fn new(network: &Network<'_>, ports: u16) -> Self {
        let fabric = &network.scheme.fabric;
        SeveralPorts { ports, choice: fabric.port_choice, fails_over: fabric.port_failover }
    }

    /// The port of a packet of a NIC at `node`.
    fn port_of(&self, packet: &Packet, node: NodeId, now: Time, network: &Network<'_>) -> u16 {
        let number = match self.choice {
            PortChoice::Entropy => u32::from(packet.ev),
            PortChoice::QueuePair => network.slots(packet.qp)[0],
        };
        let ports = u32::from(self.ports);
        let port = (number % ports) as u16;
        let is_up = |port: u16| {
            let link = network.topology.link(node, port);
            let back = network.topology.reverse(link);
            !network.faults.is_down(link, now) && !network.faults.is_down(back, now)
        };
        if !self.fails_over || is_up(port) {
            return port;
        }
        let up: u16 = (0..self.ports).filter(|port| is_up(*port)).fold(0, |up, port| up | 1 << port);
        let others = up.count_ones();
        let other =
            (0..self.ports).filter(|port| up >> port & 1 == 1).nth((number / ports % others.max(1)) as usize);
        other.unwrap_or(port)
    }
}

impl Host {
    /// The port by which a packet leaves.
    #[inline]
    pub(super) fn port_of<O>(&self, packet: &Packet, at: &Context<'_, O>) -> u16 {
        match &self.several {
            None => PORT,
            Some(several) => several.port_of(packet, self.id.into(), at.now, at.network),
        }
    }

    /// Sends data packets as long as a port is idle and there are some. A packet whose port is busy waits there.
    pub(super) fn fill_ports<O: Observer>(&mut self, at: &mut Context<'_, O>) {
        while self.egress.ports.iter().any(|port| !port.busy && !port.paused) {
            let Some(packet) = self.next_data(at.now) else { return };
            let port = self.port_of(&packet, at);
            let frame = self.data_frame(packet, at);
            let out = self.egress.port(port);
            if !out.busy && !out.paused {
                self.egress.transmit(port, &frame, at);
                continue;
            }
            self.egress.enqueue(port, &frame, false, at);
            let index = self.outgoing[at.network.slots(packet.qp)[0] as usize].index;
            if index < DONE {
                self.senders[index as usize].at_ports += 1;
            }
        }
    }

    /// Counts a packet that leaves its port: its queue pair may have a turn again.
    pub(super) fn leave_port(&mut self, taken: &SlotHandle, network: &Network<'_>) {
        let packet = &self.egress.pool.frame(taken).packet;
        if !packet.is_for_receiver() {
            return;
        }
        let index = self.outgoing[network.slots(packet.qp)[0] as usize].index;
        let Some(slot) = self.senders.get_mut(index as usize).filter(|_| index < DONE) else { return };
        let waited = slot.waits_for_port();
        slot.at_ports = slot.at_ports.saturating_sub(1);
        if waited {
            self.round.make_ready(&mut self.senders, index);
        }
    }
}
