//! Egress ports of hosts and switches: queues, and transmission onto links.

mod classes;
mod free_times;
mod scheduler;
mod special;

use crate::context::Context;
use crate::frame::{Arrival, Frame};
use crate::link::{DelayClass, HopTimes, PAUSE_FRAME_BYTES, QueueLimits};
use crate::network::Network;
use crate::observer::Observer;
use crate::queue::{Fifo, Pool, SlotHandle};
use crate::spec::RoutingMode;
use crate::telemetry::Telemetry;
use anabranch_base::{Duration, LinkId, NodeId, Stream, Time};
use anabranch_proto::{Packet, Repr};

use classes::ClassQueues;
use special::{Clock, Jitter};

pub use free_times::{DelayQueues, FreeTimes, HostPorts, LAST_TIME, PortTimes};

/// The sending end of a link, with its queues. It fits in one cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub struct Port {
    /// The end of the latest transmission, or of a delay by jitter.
    pub busy_until: Time,
    /// The data queue. With several traffic classes, it is the queue of the first class.
    pub data: Fifo,
    pub control: Fifo,
    pub data_bytes: u32,
    pub control_bytes: u32,
    /// The most bytes that have waited at the same time.
    pub peak: u32,
    pub peer: NodeId,
    /// The link on which the port sends.
    pub link: LinkId,
    pub peer_port: u16,
    /// The index of the kind of the port's link.
    pub link_kind: u16,
    /// The bytes of control that are sent per 2^16 bytes of data while both queues wait. With 0, control has strict
    /// priority.
    weight: u32,
    /// The bytes by which the control queue is ahead of its share while both queues wait.
    ahead: i64,
    /// Whether an event is scheduled for the time when the link becomes free.
    pub busy: bool,
    /// Whether transmission needs the slow path ([`special`]) even without telemetry: the link has a fault at any
    /// time, the sending device has jitter or an inexact clock, or a PFC watchdog observes the port.
    pub impaired: bool,
    pub paused: bool,
    /// Whether a pause frame is pending. A pending pause frame is sent ahead of everything else.
    pub pause_pending: bool,
}

const _: () = assert!(size_of::<Port>() == 64);

impl Port {
    fn new(link: LinkId, peer: NodeId, peer_port: u16, weight: u32) -> Self {
        Port {
            busy_until: Time::ZERO,
            data: Fifo::EMPTY,
            control: Fifo::EMPTY,
            data_bytes: 0,
            control_bytes: 0,
            peak: 0,
            peer,
            link,
            peer_port,
            link_kind: 0,
            weight,
            ahead: 0,
            busy: false,
            impaired: false,
            paused: false,
            pause_pending: false,
        }
    }

    /// Whether a frame that may be sent is waiting.
    #[inline]
    pub fn has_work(&self) -> bool {
        !self.control.is_empty() || (!self.data.is_empty() && !self.paused) || self.pause_pending
    }

    #[inline]
    pub fn queued(&self) -> u32 {
        self.data_bytes + self.control_bytes
    }

    /// Whether control goes first, by weighted round robin (DCP, section 4.2). If a queue is empty or data is paused,
    /// the result is true and the balance is reset to 0, as deficit round robin resets the deficit of an empty queue.
    #[inline]
    fn weigh(&mut self, waits: [bool; 2]) -> bool {
        if waits != [true; 2] || self.paused {
            self.ahead = 0;
            return true;
        }
        self.ahead <= 0
    }

    /// The class that is served next. `waits` tells whether data waits, and whether control waits.
    #[inline]
    pub fn turn(&mut self, waits: [bool; 2]) -> Option<QueueClass> {
        let [data_waits, control_waits] = waits;
        let is_control = match self.weight {
            0 => control_waits,
            _ => self.weigh(waits) && control_waits,
        };
        if is_control {
            return Some(QueueClass::Control);
        }
        (data_waits && !self.paused).then_some(QueueClass::Data)
    }

    #[inline]
    pub fn count_left(&mut self, class: QueueClass, bytes: u16, control_waits: bool) {
        match class {
            QueueClass::Control => {
                self.control_bytes -= u32::from(bytes);
                if self.weight > 0 {
                    self.ahead += i64::from(bytes);
                }
            }
            QueueClass::Data => {
                self.data_bytes -= u32::from(bytes);
                self.count_data(bytes, control_waits);
            }
        }
    }

    /// Counts a departing data packet of `bytes` bytes in the balance between control and data.
    #[inline]
    fn count_data(&mut self, bytes: u16, control_waits: bool) {
        if self.weight > 0 && control_waits {
            let share = (u64::from(bytes) * u64::from(self.weight)) >> 16;
            self.ahead -= share as i64;
        }
    }

    /// Whether a waiting control packet is served next. `data_waits` tells whether data of any class may be sent.
    fn control_is_next(&mut self, data_waits: bool) -> bool {
        if self.weight == 0 || !data_waits {
            self.ahead = 0;
        }
        self.ahead <= 0
    }

    #[inline]
    fn dequeue(&mut self, pool: &Pool) -> Option<SlotHandle> {
        let control_waits = !self.control.is_empty();
        let class = self.turn([!self.data.is_empty(), control_waits])?;
        let queue = if class == QueueClass::Control { &mut self.control } else { &mut self.data };
        let taken = queue.pop(pool)?;
        self.count_left(class, pool.frame(&taken).packet.wire_bytes, control_waits);
        Some(taken)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueClass {
    /// Data, and other packets that wait with data.
    Data,
    /// Packets that do not wait with data, such as trimmed packets and usually ACKs.
    Control,
}

/// All ports of a node, with their queues.
pub struct Egress<F> {
    pub ports: Vec<Port>,
    pub node: NodeId,
    pub pool: Pool,
    /// The times at which busy ports become free. At a switch, also the times of pause timers.
    pub free_times: F,
    /// Telemetry at the node, if the scheme's congestion control uses it.
    pub telemetry: Option<Box<NodeTelemetry>>,
    /// For each port, the time since which the first class is paused. [`Time::NEVER`] if it is not paused. Empty if the
    /// first class is not lossless.
    paused_since: Vec<Time>,
    /// For each port, the time at which the port last began to send a data packet. Empty unless a PFC watchdog needs
    /// these times.
    last_data: Vec<Time>,
    /// For each port, the bytes in all its queues. Empty unless adaptive routing compares these bytes.
    depths: Vec<u32>,
    has_impaired: bool,
    /// For each port that has sent on a link with faults, the random stream of losses.
    losses: Vec<(u16, Stream)>,
    jitter: Option<Box<Jitter>>,
    clock: Option<Box<Clock>>,
    /// The queues of traffic classes beyond the first one, if there are any.
    pub classes: Option<Box<ClassQueues>>,
}

#[derive(Default)]
pub struct NodeTelemetry {
    pub records: Telemetry,
    /// The bytes sent by each port. Empty at hosts.
    sent: Vec<u64>,
}

impl<F: FreeTimes> Egress<F> {
    /// The ports of `node`, with empty queues. `weight` is the WRR weight of their control queues in units of 2^-16,
    /// or 0 for strict priority. `link_kind_of` maps a link to the index of its kind.
    pub fn new(
        network: &Network<'_>,
        node: NodeId,
        weight: u32,
        link_kind_of: impl Fn(LinkId) -> u16,
        free_times: F,
    ) -> Self {
        let jitter = Jitter::of(network, node).map(Box::new);
        let clock = Clock::of(network, node, network.topology.links_of(node).len()).map(Box::new);
        let pfc = network.scheme.fabric.pfc.as_ref();
        let is_watched = !network.is_host(node) && pfc.is_some_and(|pfc| pfc.watchdog.is_some());
        let ports: Vec<Port> = network
            .topology
            .links_of(node)
            .map(|link| {
                let port = &network.topology.ports[link as usize];
                let link = LinkId(link);
                Port {
                    link_kind: link_kind_of(link),
                    impaired: network.faults.is_impaired(link)
                        || jitter.is_some()
                        || clock.is_some()
                        || is_watched,
                    ..Port::new(link, port.peer, port.peer_port, weight)
                }
            })
            .collect();
        let compares = !network.is_host(node) && network.scheme.fabric.routing == RoutingMode::Adaptive;
        let telemetry = network.scheme.cc.wants_telemetry().then(|| {
            let sent = if network.is_host(node) { Vec::new() } else { vec![0; ports.len()] };
            Box::new(NodeTelemetry { records: Telemetry::default(), sent })
        });
        Egress {
            classes: ClassQueues::new(network, ports.len()).map(Box::new),
            paused_since: if pfc.is_some() { vec![Time::NEVER; ports.len()] } else { Vec::new() },
            last_data: if is_watched { vec![Time::ZERO; ports.len()] } else { Vec::new() },
            depths: if compares { vec![0; ports.len()] } else { Vec::new() },
            has_impaired: ports.iter().any(|port| port.impaired),
            ports,
            node,
            pool: Pool::default(),
            free_times,
            telemetry,
            losses: Vec::new(),
            jitter,
            clock,
        }
    }

    #[inline]
    pub fn port(&mut self, port: u16) -> &mut Port {
        &mut self.ports[usize::from(port)]
    }

    /// Sends a packet on a free link.
    #[inline(always)]
    pub fn transmit<O: Observer>(&mut self, port: u16, frame: &Frame, at: &mut Context<'_, O>) {
        if self.is_plain(port) {
            put_on_plain_wire(&mut self.ports[usize::from(port)], &mut self.free_times, port, frame, at);
        } else {
            self.transmit_special(port, frame, false, at);
        }
    }

    /// Sends a packet, which has just left its queue, on a free link.
    #[inline(always)]
    pub fn transmit_dequeued<O: Observer>(&mut self, port: u16, taken: SlotHandle, at: &mut Context<'_, O>) {
        if self.is_plain(port) {
            let frame = self.pool.frame(&taken);
            put_on_plain_wire(&mut self.ports[usize::from(port)], &mut self.free_times, port, frame, at);
            self.pool.release(taken);
        } else {
            let frame = self.pool.take(taken);
            self.transmit_special(port, &frame, true, at);
        }
    }

    /// Whether the fast path applies: the port is not impaired, and packets carry no telemetry.
    #[inline]
    pub fn is_plain(&self, port: u16) -> bool {
        !self.ports[usize::from(port)].impaired && self.telemetry.is_none()
    }

    /// Sends a pause frame of `class` on a free link. The latency of a switch does not apply, because MACs handle pause
    /// frames. The frame is lost if the link is down at any time until the frame arrives. Random loss does not affect
    /// the frame, since the pauses of switches are not refreshed in this model.
    pub fn transmit_pause<O: Observer>(&mut self, port: u16, class: u8, stop: bool, at: &mut Context<'_, O>) {
        let network = at.network;
        let out = &mut self.ports[usize::from(port)];
        debug_assert!(out.busy_until <= at.now, "two packets on one wire");
        let link = out.link;
        let mut until = Time::ZERO;
        if out.impaired {
            out.link_kind = network.faults.kind_at(link, at.now, out.link_kind).0;
            until =
                network.faults.leaves(link, &network.link_kinds, at.now, PAUSE_FRAME_BYTES, out.link_kind);
        }
        let kind = &network.link_kinds[usize::from(out.link_kind)];
        if !out.impaired {
            until = at.now + kind.class(PAUSE_FRAME_BYTES).serialisation;
        }
        let until = at.now + self.actual_duration(port, until.since(at.now));
        let acts_at = until + kind.latency;
        let out = &mut self.ports[usize::from(port)];
        out.busy_until = until;
        out.busy = true;
        let (peer, peer_port, impaired) = (out.peer, out.peer_port, out.impaired);
        self.set_pause_pending(port, class, false);
        self.free_times.push(DelayClass::NONE, until, port);
        at.counters.pause_frames += u64::from(stop);
        at.observer.sent_pause(link, at.now, until, stop);
        if !impaired || network.faults.cut_by(link, at.now, acts_at).is_none() {
            at.send(peer, Arrival { time: acts_at, frame: Frame::pause(peer_port, class, stop) }, None);
        }
    }

    /// Queues a packet, whether it fits or not.
    #[inline]
    pub fn enqueue<O: Observer>(&mut self, port: u16, frame: &Frame, control: bool, at: &mut Context<'_, O>) {
        let out = &mut self.ports[usize::from(port)];
        if control {
            out.control.push(&mut self.pool, frame);
            out.control_bytes += u32::from(frame.packet.wire_bytes);
        } else {
            out.data.push(&mut self.pool, frame);
            out.data_bytes += u32::from(frame.packet.wire_bytes);
        }
        if !out.busy && out.has_work() {
            out.busy = true;
            let free = out.busy_until.max(at.now);
            self.free_times.push(DelayClass::NONE, free, port);
        }
        self.note_queued(port, at);
    }

    #[inline]
    pub fn note_queued<O: Observer>(&mut self, port: u16, at: &mut Context<'_, O>) {
        let of_classes = self.classes.as_ref().map_or(0, |classes| classes.bytes(port));
        let out = &mut self.ports[usize::from(port)];
        let queued = out.queued() + of_classes;
        out.peak = out.peak.max(queued);
        if let Some(depth) = self.depths.get_mut(usize::from(port)) {
            *depth = queued;
        }
        at.observer.queued(out.link, at.now, queued);
    }

    /// For each port, the bytes in all its queues. None if adaptive routing does not compare these bytes, or if a port
    /// is impaired.
    #[inline]
    pub fn depths(&self) -> Option<&[u32]> {
        (!self.has_impaired && !self.depths.is_empty()).then_some(&self.depths)
    }

    #[inline(always)]
    pub fn dequeue<O: Observer>(&mut self, port: u16, at: &mut Context<'_, O>) -> Option<SlotHandle> {
        let taken = self.ports[usize::from(port)].dequeue(&self.pool)?;
        self.note_queued(port, at);
        Some(taken)
    }

    /// Drops a packet that `port` should have sent.
    #[cold]
    pub fn drop_packet<O: Observer>(&mut self, port: u16, frame: &Frame, at: &mut Context<'_, O>) {
        self.release_telemetry(frame.telemetry);
        count_drop(self.ports[usize::from(port)].link, &frame.packet, at);
    }

    /// Releases the telemetry record with this number, or none if the number is 0.
    #[inline]
    pub fn release_telemetry(&mut self, record: u32) {
        if let Some(telemetry) = &mut self.telemetry {
            telemetry.records.release(record);
        }
    }

    /// Pauses the data class of `port`. Returns false if it was already paused.
    pub fn pause<O: Observer>(&mut self, port: u16, at: &mut Context<'_, O>) -> bool {
        let out = &mut self.ports[usize::from(port)];
        if out.paused {
            return false;
        }
        out.paused = true;
        self.paused_since[usize::from(port)] = at.now;
        at.observer.paused(out.link, 0, at.now, true);
        true
    }

    /// Resumes the data class of `port`. Returns false if it was not paused.
    pub fn unpause<O: Observer>(&mut self, port: u16, at: &mut Context<'_, O>) -> bool {
        let out = &mut self.ports[usize::from(port)];
        if !out.paused {
            return false;
        }
        out.paused = false;
        let since = std::mem::replace(&mut self.paused_since[usize::from(port)], Time::NEVER);
        at.counters.pause_time = at.counters.pause_time + at.now.since(since);
        at.observer.paused(out.link, 0, at.now, false);
        true
    }

    pub fn last_data(&self, port: u16) -> Option<Time> {
        self.last_data.get(usize::from(port)).copied()
    }

    /// The total length until `now` of the pauses that are still in effect.
    pub fn lasting_pauses(&self, now: Time) -> Duration {
        let lasting = self.paused_since.iter().filter(|since| **since <= now);
        let of_classes = self.classes.as_ref().map_or(Duration::ZERO, |classes| classes.lasting_pauses(now));
        lasting.fold(of_classes, |sum, &since| sum + now.since(since))
    }

    /// The packets in the control queues and in the data queues of the first class.
    pub fn each_queued(&self) -> impl Iterator<Item = &Frame> {
        self.ports
            .iter()
            .flat_map(|port| [&port.data, &port.control])
            .flat_map(|queue| queue.iter(&self.pool))
    }
}

/// Counts a packet that was dropped before it could be sent on `link`.
#[cold]
pub fn count_drop<O: Observer>(link: LinkId, packet: &Packet, at: &mut Context<'_, O>) {
    count_dropped(packet, at);
    at.observer.dropped(link, at.now);
}

/// Counts a packet that a slow receiver dropped after it had crossed `link`.
#[cold]
pub fn count_refused_by_host<O: Observer>(link: LinkId, packet: &Packet, at: &mut Context<'_, O>) {
    count_dropped(packet, at);
    at.observer.refused_by_host(link, at.now);
}

fn count_dropped<O: Observer>(packet: &Packet, at: &mut Context<'_, O>) {
    at.counters.drops += 1;
    at.counters.header_drops += u64::from(is_trimmed(packet));
    at.note_lost_payload(packet);
}

/// Sends a packet on a free link that is not impaired, and schedules the event at which the port becomes free.
#[inline(always)]
fn put_on_plain_wire<F: FreeTimes, O: Observer>(
    out: &mut Port,
    free_times: &mut F,
    port: u16,
    frame: &Frame,
    at: &mut Context<'_, O>,
) {
    debug_assert!(out.busy_until <= at.now, "two packets on one wire");
    let bytes = frame.packet.wire_bytes;
    let kind = &at.network.link_kinds[usize::from(out.link_kind)];
    let HopTimes { leaves: until, acts: arrives, delay_class } = kind.hop(at.now, bytes);
    out.busy_until = until;
    out.busy = true;
    match free_times.is_one_port() {
        true => at.link.send((out.peer, out.peer_port), arrives, &frame.packet, &mut at.out),
        false => {
            // `LinkMail` may hold packets of a host with one port. They must be put into the mailbox before this
            // packet.
            at.link.finish(&mut at.out);
            at.out.send_packet(out.peer, arrives, &frame.packet, out.peer_port);
        }
    }
    free_times.push(delay_class, until, port);
    at.counters.packet_hops += 1;
    at.observer.transmitted(out.link, at.now, until, bytes);
    at.observer.sent(out.link, at.now, until, &frame.packet);
}

/// A data packet trimmed to its header in front of the port `out`. None if switches do not trim, or if the packet is
/// not a data packet.
pub fn trimmed(out: &Port, packet: &Packet, network: &Network<'_>) -> Option<Packet> {
    packet.cut(network.queues.trimmed_bytes?, network.is_host(out.peer))
}

/// Trims or drops a packet for which its queue at `out` has no room. Returns the header if the packet is trimmed and
/// the control queue has room for the header. Otherwise the packet is dropped.
pub fn trim_or_drop<O: Observer>(out: &Port, packet: &Packet, at: &mut Context<'_, O>) -> Option<Packet> {
    let limits = &at.network.queues;
    let Some(header) = trimmed(out, packet, at.network) else {
        count_drop(out.link, packet, at);
        return None;
    };
    at.counters.trims += 1;
    at.note_lost_payload(packet);
    if out.control_bytes + u32::from(header.wire_bytes) > limits.control {
        count_drop(out.link, &header, at);
        return None;
    }
    Some(header)
}

/// Whether a packet belongs in the control queue of a switch with these limits.
#[inline]
pub fn waits_with_control(packet: &Packet, limits: &QueueLimits) -> bool {
    packet.is_control() && (!limits.acks_with_data || is_trimmed(packet))
}

/// Whether a packet has been trimmed. It may be on its way to the receiver or back.
pub fn is_trimmed(packet: &Packet) -> bool {
    matches!(packet.repr, Repr::Trimmed { .. } | Repr::HeaderOnly { .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_base::{HostId, QpId};

    /// A port whose control queue has the same weight as its data queue, counted in bytes.
    fn port() -> Port {
        Port::new(LinkId(0), NodeId(0), 0, 1 << 16)
    }

    fn queue(port: &mut Port, pool: &mut Pool, control: bool) {
        let repr = if control { Repr::header_only(0) } else { Repr::data(0) };
        let frame = Frame::new(Packet::new(QpId(0), HostId(0), repr).with_bytes(100), 0);
        if control {
            port.control.push(pool, &frame);
            port.control_bytes += 100;
        } else {
            port.data.push(pool, &frame);
            port.data_bytes += 100;
        }
    }

    /// Sends the next packet. Returns whether it was a control packet.
    fn send(port: &mut Port, pool: &mut Pool) -> Option<bool> {
        let taken = port.dequeue(pool)?;
        Some(pool.take(taken).packet.is_control())
    }

    #[test]
    fn control_and_data_take_turns_by_bytes() {
        let (mut port, mut pool) = (port(), Pool::default());
        for _ in 0..3 {
            queue(&mut port, &mut pool, true);
            queue(&mut port, &mut pool, false);
        }
        let sent: Vec<_> = std::iter::from_fn(|| send(&mut port, &mut pool)).collect();
        assert_eq!(sent, [true, false, true, false, true, false]);
    }

    #[test]
    fn no_account_outlasts_empty_queues() {
        let (mut port, mut pool) = (port(), Pool::default());
        queue(&mut port, &mut pool, true);
        assert_eq!(send(&mut port, &mut pool), Some(true));
        assert_eq!(send(&mut port, &mut pool), None);
        queue(&mut port, &mut pool, false);
        queue(&mut port, &mut pool, true);
        assert_eq!(send(&mut port, &mut pool), Some(true));
    }
}
