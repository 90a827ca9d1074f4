//! Traffic classes beyond the first one at a switch: admission, the choice among classes, and marking. Each class has a
//! data queue of its own at each port, and buffers and pauses of its own if it is lossless.
//!
//! A program, and routing other than ECMP, handle only packets of the first class.

use super::pfc::SwitchPfc;
use super::{Switch, SwitchPlan};
use crate::context::Context;
use crate::egress::{Port, count_drop};
use crate::frame::Frame;
use crate::network::Network;
use crate::observer::Observer;
use crate::queue::SlotHandle;
use anabranch_base::{Duration, Purpose, Stream, stream};
use anabranch_proto::Packet;
use serde::{Deserialize, Serialize};

/// The state of a switch for the classes beyond the first one. Each list has an entry for each of these classes.
pub(super) struct SwitchClasses {
    /// PFC accounting, if the class is lossless.
    pfc: Vec<Option<SwitchPfc>>,
    /// The random stream of each port for ECN marking.
    marks: Vec<Vec<Option<Box<Stream>>>>,
    counts: Vec<ClassCounts>,
}

/// The counters of a class at a switch, or at all nodes.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct ClassCounts {
    /// Packets dropped for lack of buffer. The first class also counts the packets of all classes that were dropped for
    /// other reasons.
    pub drops: u64,
    /// ECN marks of data packets.
    pub marks: u64,
    /// The total length of the pauses of the class. In the counters of a switch this field is 0, since the queues count
    /// the pauses.
    pub pause_time: Duration,
}

impl ClassCounts {
    pub fn add(&mut self, other: &ClassCounts) {
        self.drops += other.drops;
        self.marks += other.marks;
        self.pause_time = self.pause_time + other.pause_time;
    }
}

impl SwitchClasses {
    /// Returns none if there is only one class.
    pub fn new(network: &Network<'_>, plan: &SwitchPlan, index: u32, ports: usize) -> Option<SwitchClasses> {
        (!network.classes.is_empty()).then(|| SwitchClasses {
            pfc: plan.class_pfc.iter().map(|pfc| pfc.as_ref().map(|pfc| pfc.switch(index, ports))).collect(),
            marks: vec![vec![None; ports]; network.classes.len()],
            counts: vec![ClassCounts::default(); network.classes.len()],
        })
    }
}

impl Switch {
    pub(super) fn pfc_of(&mut self, class: u8) -> Option<&mut SwitchPfc> {
        match usize::from(class).checked_sub(1) {
            None => self.pfc.as_deref_mut(),
            Some(beyond) => self.classes.as_mut()?.pfc.get_mut(beyond)?.as_mut(),
        }
    }

    /// The counters of `class`, which is not 0.
    pub fn counts_of(&self, class: u8) -> ClassCounts {
        self.classes
            .as_ref()
            .map_or_else(ClassCounts::default, |classes| classes.counts[usize::from(class) - 1])
    }

    /// Counts a packet as marked, or as dropped if `marked` is false. Does nothing for the first class.
    fn count_in(&mut self, class: u8, marked: bool) {
        if let (Some(classes), Some(beyond)) = (&mut self.classes, usize::from(class).checked_sub(1)) {
            let counts = &mut classes.counts[beyond];
            *(if marked { &mut counts.marks } else { &mut counts.drops }) += 1;
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn handle_by_class<O: Observer>(&mut self, frame: &Frame, at: &mut Context<'_, O>) {
        let class = at.network.class_of(frame.packet.qp);
        if class == 0 {
            return self.handle_in_first_class(frame, at);
        }
        match at.network.route(at.routing, self.index, &frame.packet) {
            Some(port) => {
                at.observer.offered(self.egress.port(port).link, at.now, frame.packet.wire_bytes);
                self.forward_in(class, port, frame, at);
            }
            None => self.drop_unroutable(frame, at),
        }
    }

    fn forward_in<O: Observer>(&mut self, class: u8, port: u16, frame: &Frame, at: &mut Context<'_, O>) {
        let control = frame.packet.is_control();
        let (is_paused, held) = (self.egress.is_paused(port, class), self.egress.bytes_of(port, class));
        let out = &self.egress.ports[usize::from(port)];
        if !out.busy && (control || !is_paused) {
            if !control {
                at.backlogs.record_empty();
            }
            return self.egress.transmit(port, frame, at);
        }
        let bytes = frame.packet.wire_bytes;
        if control {
            let fits = fits(out.control_bytes, bytes, at.network.queues_of(class).control);
            return match fits {
                true => self.egress.enqueue(port, frame, true, at),
                false => {
                    self.count_in(class, false);
                    self.egress.drop_packet(port, frame, at);
                }
            };
        }
        at.backlogs.record(held);
        let (_, limit) = at.network.queue_of(class, out.link_kind);
        if fits(held, bytes, limit) && self.charge_lossless(class, frame.port, bytes, at) {
            self.egress.enqueue_in(port, class, frame, at);
        } else {
            self.trim_or_drop_in(class, port, frame, at);
        }
    }

    fn trim_or_drop_in<O: Observer>(&mut self, class: u8, port: u16, frame: &Frame, at: &mut Context<'_, O>) {
        let limits = at.network.queues_of(class);
        let out = &self.egress.ports[usize::from(port)];
        let header = |bytes| frame.packet.cut(bytes, at.network.is_host(out.peer));
        let Some(header) = limits.trimmed_bytes.and_then(header) else {
            self.count_in(class, false);
            return self.egress.drop_packet(port, frame, at);
        };
        at.counters.trims += 1;
        at.note_lost_payload(&frame.packet);
        let (link, waiting) = (out.link, out.control_bytes);
        self.egress.release_telemetry(frame.telemetry);
        if fits(waiting, header.wire_bytes, limits.control) {
            self.egress.enqueue(port, &Frame::new(header, frame.port), true, at);
        } else {
            self.count_in(class, false);
            count_drop(link, &header, at);
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn serve_by_class<O: Observer>(&mut self, port: u16, at: &mut Context<'_, O>) {
        if let Some(class) = self.egress.pending_pause(port) {
            return self.send_pause(port, class, at);
        }
        let Some((class, taken)) = self.dequeue_by_class(port, at) else { return };
        let packet = self.egress.pool.frame(&taken).packet;
        if let Some(class) = class
            && self.marks(class, port, &packet, at)
        {
            self.egress.pool.frame_mut(&taken).packet.marked = true;
            at.counters.ecn_marks += 1;
            self.marked += 1;
            self.count_in(class, true);
        }
        if at.network.class_of(packet.qp) == 0 && self.has_egress_hook(port, at) {
            let frame = self.egress.pool.take(taken);
            self.pass_out(port, &frame, at);
        } else {
            self.egress.transmit_dequeued(port, taken, at);
        }
    }

    /// Removes the next packet that may be sent at `port` from its queue, and releases the packet's charge in a buffer.
    /// For a packet from a data queue, also returns the data class.
    pub(super) fn dequeue_by_class<O: Observer>(
        &mut self,
        port: u16,
        at: &mut Context<'_, O>,
    ) -> Option<(Option<u8>, SlotHandle)> {
        let (class, taken) = self.egress.dequeue_by_class(port, at)?;
        let frame = self.egress.pool.frame(&taken);
        if let Some(class) = class
            && (class > 0 || self.counts)
        {
            let (from, bytes) = (frame.port, frame.packet.wire_bytes);
            self.release(class, from, bytes, at);
        }
        Some((class, taken))
    }

    fn marks<O>(&mut self, class: u8, port: u16, packet: &Packet, at: &Context<'_, O>) -> bool {
        let queued = self.egress.bytes_of(port, class);
        let Port { link, link_kind, .. } = self.egress.ports[usize::from(port)];
        let (marking, _) = at.network.queue_of(class, link_kind);
        if packet.is_control() {
            return false;
        }
        let stream_of_port = match (&mut self.classes, class) {
            (Some(classes), 1..) => &mut classes.marks[usize::from(class) - 1][usize::from(port)],
            _ => &mut self.marks[usize::from(port)],
        };
        let entity = u64::from(class) << 32 | u64::from(link.0);
        let new = || Box::new(stream(at.network.seed, entity, Purpose::EcnMarking));
        marking.marks(queued, || stream_of_port.get_or_insert_with(new).next_u32())
    }

    /// The bytes that the lossless classes beyond the first one have charged to their buffers, and the bytes that
    /// wait in the queues of these classes. The two numbers must be equal.
    pub(super) fn counted_bytes_of_classes(&self) -> (u64, u64) {
        let Some(classes) = &self.classes else { return (0, 0) };
        let ports = 0..self.egress.ports.len() as u16;
        let waiting =
            |class: u8| ports.clone().map(|port| u64::from(self.egress.bytes_of(port, class))).sum::<u64>();
        let counts =
            (1..).zip(&classes.pfc).filter_map(|(class, pfc)| Some((pfc.as_ref()?.held(), waiting(class))));
        counts.fold((0, 0), |(held, waits), (more, longer)| (held + more, waits + longer))
    }
}

fn fits(held: u32, bytes: u16, limit: u32) -> bool {
    u64::from(held) + u64::from(bytes) <= u64::from(limit)
}
