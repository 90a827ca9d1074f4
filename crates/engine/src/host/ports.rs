//! NICs with several ports: the choice of the port by which a packet leaves.
//!
//! With the port choices `entropy` and `queue-pair`, a data packet alone determines its port, except that a NIC with
//! failover avoids ports whose links are down. With `entropy`, a load balancer that spreads packets over entropy
//! values therefore also spreads them over ports and planes.
//!
//! If a queue pair's packets may leave by several ports, a packet whose port is busy waits at that port, so that other
//! ports do not stay idle. When as many packets of the queue pair wait at ports as there are ports, the queue pair gets
//! no turn until one of these packets leaves. A queue pair whose packets all leave by one port gets no turn while that
//! port cannot send.

use super::round::SenderSlot;
use super::{DONE, Host, PORT};
use crate::context::Context;
use crate::network::Network;
use crate::observer::Observer;
use crate::queue::SlotHandle;
use crate::spec::PortChoice;
use anabranch_base::{NodeId, Time};
use anabranch_proto::Packet;
use anabranch_proto::lb::NicPorts;

#[derive(Clone, Copy)]
pub(super) struct SeveralPorts {
    ports: u16,
    choice: PortChoice,
    /// Whether there may be queue pairs whose packets all leave by the same port.
    pins: bool,
    /// The port that follows the port by which the last data packet left. The field is used only if data leaves by the
    /// next free port.
    turn: u16,
    /// Whether packets avoid ports whose links the NIC knows to be down.
    fails_over: bool,
}

/// The state of a NIC's ports at one instant.
#[derive(Clone, Copy)]
pub(super) struct PortsNow {
    several: SeveralPorts,
    pub nic: NicPorts,
    /// A bit mask of the ports whose links are up, as far as the NIC knows.
    up: u16,
}

impl PortsNow {
    /// Whether the port that the sender's queue pair is expected to use cannot send now. With `entropy`, it is the port
    /// of the queue pair's last packet. If only some load balancers of the scheme spread packets over ports, every
    /// queue pair is nevertheless expected to keep its port.
    #[inline]
    pub fn hold_back(&self, slot: &SenderSlot) -> bool {
        let number = match self.several.choice {
            PortChoice::Entropy => slot.last_ev().map(u32::from),
            PortChoice::QueuePair => Some(slot.qp),
            PortChoice::Packet => None,
        };
        let port = number.filter(|_| self.several.pins).map(|number| self.several.port_by(number, self.up));
        port.is_some_and(|port| self.nic.free >> port & 1 == 0)
    }
}

impl SeveralPorts {
    pub fn new(network: &Network<'_>, ports: u16) -> Self {
        let fabric = &network.scheme.fabric;
        let (choice, fails_over) = (fabric.port_choice(), fabric.port_failover);
        SeveralPorts { ports, choice, pins: !network.scheme.uses_all_ports(), turn: 0, fails_over }
    }

    /// The port that `number` selects: `number` modulo the number of ports. If the NIC fails over and this port is not
    /// in the mask `up`, another port of the mask is selected, unless the mask is empty.
    fn port_by(&self, number: u32, up: u16) -> u16 {
        let ports = u32::from(self.ports);
        let port = (number % ports) as u16;
        if !self.fails_over || up >> port & 1 == 1 || up == 0 {
            return port;
        }
        let mut others = (0..self.ports).filter(|port| up >> port & 1 == 1);
        others.nth((number / ports % up.count_ones()) as usize).unwrap_or(port)
    }

    fn port_of(&self, packet: &Packet, up: u16, network: &Network<'_>) -> u16 {
        let number = match self.choice {
            PortChoice::Entropy | PortChoice::Packet => u32::from(packet.ev),
            PortChoice::QueuePair => network.slots(packet.qp)[0],
        };
        self.port_by(number, up)
    }

    /// The ports as load balancers and receivers see them. Bits of `free` and `up` beyond the ports are ignored.
    fn nic(&self, free: u16, up: u16) -> NicPorts {
        let all = ((1_u32 << self.ports) - 1) as u16;
        NicPorts { count: self.ports, free: free & all, up: up & all }
    }

    /// The next port in turn among those in the mask `free`, which is not empty.
    fn next_free(&mut self, free: u16) -> u16 {
        let mut from = (0..self.ports).map(|step| (self.turn + step) % self.ports);
        let port = from.find(|port| free >> port & 1 == 1).unwrap_or(PORT);
        self.turn = (port + 1) % self.ports;
        port
    }

    fn up_ports(&self, node: NodeId, now: Time, network: &Network<'_>) -> u16 {
        let is_up = |port: &u16| {
            let link = network.topology.link(node, *port);
            let back = network.topology.reverse(link);
            !network.faults.is_down(link, now) && !network.faults.is_down(back, now)
        };
        (0..self.ports).filter(is_up).fold(0, |up, port| up | 1 << port)
    }
}

impl Host {
    #[inline]
    pub(super) fn port_of<O>(&self, packet: &Packet, at: &Context<'_, O>) -> u16 {
        match &self.several {
            None => PORT,
            Some(several) => several.port_of(packet, self.up_ports(at), at.network),
        }
    }

    /// The port for an answer to a packet that arrived at port `to`. If the link of that port is up, the answer leaves
    /// by the same port, so that answers travel in the plane in which data is delivered. Otherwise the entropy value or
    /// the queue pair of the answer determines the port.
    pub(super) fn port_of_answer<O>(&self, packet: &Packet, to: u16, at: &Context<'_, O>) -> u16 {
        if self.up_ports(at) >> to & 1 == 1 { to } else { self.port_of(packet, at) }
    }

    /// A bit mask of the ports whose links are up, as far as the NIC knows. All bits are set if the NIC has one port or
    /// does not fail over, and in a run whose links have no faults.
    fn up_ports<O>(&self, at: &Context<'_, O>) -> u16 {
        match &self.several {
            Some(several) if several.fails_over && at.network.faults.hits_links() => {
                several.up_ports(self.id.into(), at.now, at.network)
            }
            _ => u16::MAX,
        }
    }

    #[inline(never)]
    pub(super) fn show_ports<O>(&mut self, receiver: usize, at: &Context<'_, O>) {
        let Some(several) = self.several.as_ref().filter(|_| self.receivers[receiver].watches_ports()) else {
            return;
        };
        let up = self.up_ports(at);
        let nic = several.nic(up, up);
        self.receivers[receiver].see_ports(nic);
    }

    /// Sends the next packets after the link of `port` has become free.
    #[inline(never)]
    pub(super) fn serve_port<O: Observer>(&mut self, port: u16, at: &mut Context<'_, O>) {
        if self.reception.is_some() && self.send_due_pause(port, at) {
            // The link is busy with the pause frame, so the packets of this port wait.
        } else if let Some(taken) = self.egress.dequeue(port, at) {
            self.leave_port(&taken, at.network);
            self.egress.transmit_dequeued(port, taken, at);
        }
        self.fill_ports(at);
    }

    /// Sends data packets while there are some and a port can send. A packet whose port is busy or paused waits at that
    /// port.
    #[inline(never)]
    pub(super) fn fill_ports<O: Observer>(&mut self, at: &mut Context<'_, O>) {
        while let Some(mut several) = self.several.as_deref().copied() {
            let idle = (0..).zip(&self.egress.ports).filter(|(_, port)| !port.busy && !port.paused);
            let idle = idle.fold(0_u16, |mask, (port, _): (u32, _)| mask | 1 << port);
            let up = self.up_ports(at);
            // If all links are down, packets are sent and lost rather than held.
            let free = if up == 0 { idle } else { idle & up };
            if free == 0 {
                return;
            }
            let nic = several.nic(free, up);
            let Some(packet) = self.next_data(at.now, Some(PortsNow { several, nic, up })) else { return };
            let port = match several.choice {
                PortChoice::Packet => several.next_free(free),
                PortChoice::Entropy | PortChoice::QueuePair => several.port_of(&packet, up, at.network),
            };
            if let Some(kept) = &mut self.several {
                **kept = several;
            }
            let frame = self.data_frame(packet, at);
            let out = self.egress.port(port);
            let waiting = out.data_bytes;
            if !out.busy && !out.paused {
                self.egress.transmit(port, &frame, at);
            } else {
                self.egress.enqueue(port, &frame, false, at);
            }
            let index = self.outgoing[at.network.slots(packet.qp)[0] as usize].index;
            // At a NIC with jitter, a packet may also wait at an idle port.
            if self.egress.port(port).data_bytes > waiting && index < DONE {
                self.senders[index as usize].at_ports += 1;
            }
        }
    }

    /// Counts a packet that leaves its port, so that its queue pair may get a turn again.
    fn leave_port(&mut self, taken: &SlotHandle, network: &Network<'_>) {
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
