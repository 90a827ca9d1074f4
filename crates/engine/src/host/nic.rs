//! The NIC of a host: the choice of the next packet for its link.

use super::ports::PortsNow;
use super::{Host, PORT};
use crate::context::Context;
use crate::frame::Frame;
use crate::observer::Observer;
use anabranch_base::Time;
use anabranch_proto::{IntStack, Packet, Repr};

impl Host {
    /// Sends an answer of the receiver at `slot`. `to` is the port at which the answered packet arrived.
    #[inline]
    pub(super) fn send_answer<O: Observer>(
        &mut self,
        (slot, to): (usize, u16),
        packet: Packet,
        at: &mut Context<'_, O>,
    ) {
        at.counters.injected += 1;
        let port = if self.several.is_some() { self.port_of_answer(&packet, to, at) } else { PORT };
        let mut frame = Frame::new(packet, PORT);
        if self.egress.telemetry.is_some() && matches!(packet.repr, Repr::Ack { .. }) {
            frame.telemetry = std::mem::take(&mut self.incoming[slot].telemetry);
        }
        let out = self.egress.port(port);
        if !packet.is_control() {
            self.send_data_answer(port, &frame, at);
        } else if !out.busy {
            self.egress.transmit(port, &frame, at);
        } else if u64::from(out.control_bytes) + u64::from(packet.wire_bytes)
            <= u64::from(at.network.queues.control)
        {
            self.egress.enqueue(port, &frame, true, at);
        } else {
            self.egress.drop_packet(port, &frame, at);
        }
    }

    /// Sends an answer that belongs to the data class of its queue pair, which may be paused.
    #[cold]
    fn send_data_answer<O: Observer>(&mut self, port: u16, frame: &Frame, at: &mut Context<'_, O>) {
        let class = at.network.class_of(frame.packet.qp);
        let is_free = !self.egress.port(port).busy;
        if is_free && !self.egress.is_paused(port, class) {
            self.egress.transmit(port, frame, at);
        } else {
            self.egress.enqueue_in(port, class, frame, at);
        }
    }

    /// Sends the next packet of a NIC with one port. The link of the NIC is free.
    #[inline]
    pub(super) fn serve<O: Observer>(&mut self, at: &mut Context<'_, O>) {
        if self.is_special && self.serve_special(at) {
            return;
        }
        if let Some(taken) = self.egress.dequeue(PORT, at) {
            return self.egress.transmit_dequeued(PORT, taken, at);
        }
        if self.egress.port(PORT).paused {
            return;
        }
        let Some(packet) = self.next_data(at.now, None) else { return };
        let frame = self.data_frame(packet, at);
        self.egress.transmit(PORT, &frame, at);
    }

    /// Sends a pause frame if one is due at a NIC with one port. If none is due and there are several classes, the
    /// next packet of any class is sent. Returns false if no pause frame is due and there is one class.
    #[cold]
    #[inline(never)]
    fn serve_special<O: Observer>(&mut self, at: &mut Context<'_, O>) -> bool {
        if self.send_due_pause(PORT, at) {
            return true;
        }
        if self.classes.is_some() {
            self.serve_by_class(at);
        }
        self.classes.is_some()
    }

    /// The frame of a data packet that is about to be sent, or to wait at its port.
    #[inline]
    pub(super) fn data_frame<O>(&mut self, packet: Packet, at: &mut Context<'_, O>) -> Frame {
        at.counters.injected += 1;
        let mut frame = Frame::new(packet, PORT);
        if let (Some(telemetry), Repr::Data { .. }) = (&mut self.egress.telemetry, packet.repr) {
            frame.telemetry = telemetry.records.insert(&IntStack::EMPTY);
        }
        frame
    }

    /// The next packet of a sender, by round robin over queue pairs. If the NIC has several ports, `ports` tells which
    /// of them can send now. Load balancers see these ports, and a queue pair that uses a single port keeps its packets
    /// while that port cannot send.
    #[inline(always)]
    pub(super) fn next_data(&mut self, now: Time, ports: Option<PortsNow>) -> Option<Packet> {
        let mut held_back = 0;
        while let Some(index) = self.round.take_turn(&mut self.senders) {
            let slot = &mut self.senders[index as usize];
            if slot.is_done() {
                self.free_senders.push(index);
                continue;
            }
            if slot.waits_for_port() {
                continue;
            }
            if let Some(ports) = ports {
                if ports.hold_back(slot) {
                    self.round.make_ready(&mut self.senders, index);
                    held_back += 1;
                    if held_back >= self.senders.len() {
                        return None;
                    }
                    continue;
                }
                if let Some(lb) = slot.sender.load_balancer() {
                    lb.see_ports(ports.nic);
                }
            }
            let qp = slot.qp;
            if let Some(packet) = slot.sender.poll_transmit(now) {
                if let Repr::Data { .. } = packet.repr {
                    slot.note_ev(packet.ev);
                }
                let armed = slot.timer != Time::NEVER;
                if slot.sender.holds_turn() {
                    self.round.keep_turn(&mut self.senders, index);
                } else {
                    self.round.make_ready(&mut self.senders, index);
                }
                if !armed {
                    self.arm(qp, index, now);
                }
                return Some(packet);
            }
            if slot.sender.paces() {
                // The sender may have data that waits for its pacing time.
                self.arm(qp, index, now);
            }
        }
        None
    }

    /// Sends packets if there are some and links are idle. A busy port serves its queues when its link becomes free.
    #[inline]
    pub(super) fn kick<O: Observer>(&mut self, at: &mut Context<'_, O>) {
        if self.several.is_some() {
            self.fill_ports(at);
        } else if !self.egress.port(PORT).busy {
            self.serve(at);
        }
    }

    pub fn handle_pause<O: Observer>(&mut self, port: u16, class: u8, stop: bool, at: &mut Context<'_, O>) {
        if self.egress.set_paused(port, class, stop, at) && !stop {
            match self.several.is_some() && !self.egress.port(port).busy {
                true => self.serve_port(port, at),
                false => self.kick(at),
            }
        }
    }

    /// Stores the telemetry of a data packet until the next ACK. The record replaces an older one that still waits.
    #[cold]
    pub(super) fn hold_for_ack(&mut self, slot: usize, stack: &IntStack) {
        if let Some(telemetry) = &mut self.egress.telemetry {
            let number = telemetry.records.insert(stack);
            let before = std::mem::replace(&mut self.incoming[slot].telemetry, number);
            telemetry.records.release(before);
        }
    }
}
