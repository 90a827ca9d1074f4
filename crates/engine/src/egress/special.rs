//! The slow path of transmission: links with faults, packets with telemetry, NICs with jitter, devices with inexact
//! clocks, and ports that a PFC watchdog observes.

use super::{DelayClass, Egress, FreeTimes, trimmed};
use crate::context::Context;
use crate::faults::Fate;
use crate::frame::{Arrival, Frame};
use crate::network::Network;
use crate::observer::Observer;
use anabranch_base::{Duration, LinkId, NodeId, Purpose, Stream, Time, stream};
use anabranch_proto::{IntHop, IntStack, Repr};

/// The jitter of a NIC: a random delay of the first packet after an idle period.
pub(super) struct Jitter {
    most: Duration,
    random: Stream,
}

impl Jitter {
    pub fn of(network: &Network<'_>, node: NodeId) -> Option<Jitter> {
        let most = network.scheme.fabric.nic_jitter;
        let random = || stream(network.seed, u64::from(node.0), Purpose::NicJitter);
        (network.is_host(node) && most > Duration::ZERO).then(|| Jitter { most, random: random() })
    }
}

/// A clock whose rate differs from the nominal rate.
pub(super) struct Clock {
    /// The relative excess of the clock's period over the nominal period, in parts per billion. The value is negative
    /// for a fast clock.
    off: i64,
    /// For each port, the remainder of its transmission times that has not been counted so far, in units of 10^-9 ps.
    /// Each transmission takes a whole number of picoseconds, and one picosecond is 12 ppm of a 4 KiB packet at
    /// 400 Gb/s. Because of the remainder, the sum of all transmissions is exact.
    rest: Vec<i64>,
}

const BILLION: i64 = 1_000_000_000;

impl Clock {
    pub fn of(network: &Network<'_>, node: NodeId, ports: usize) -> Option<Clock> {
        let most = u64::from(network.scheme.fabric.clock_ppm) * 1_000;
        let drawn = || stream(network.seed, u64::from(node.0), Purpose::Clock).up_to(2 * most);
        (most > 0).then(|| Clock { off: drawn() as i64 - most as i64, rest: vec![0; ports] })
    }

    fn actual_duration(&mut self, port: u16, nominal: Duration) -> Duration {
        let rest = &mut self.rest[usize::from(port)];
        let more = (nominal.0 as i64).saturating_mul(self.off).saturating_add(*rest);
        *rest = more.rem_euclid(BILLION);
        Duration(nominal.0.saturating_add_signed(more.div_euclid(BILLION)))
    }
}

impl<F: FreeTimes> Egress<F> {
    /// The duration at `port` of a transmission that would take `nominal` with an exact clock.
    pub(super) fn actual_duration(&mut self, port: u16, nominal: Duration) -> Duration {
        self.clock.as_mut().map_or(nominal, |clock| clock.actual_duration(port, nominal))
    }

    #[cold]
    #[inline(never)]
    pub(super) fn transmit_special<O: Observer>(
        &mut self,
        port: u16,
        frame: &Frame,
        has_waited: bool,
        at: &mut Context<'_, O>,
    ) {
        if !has_waited && self.delayed_by_jitter(port, frame, at) {
            return;
        }
        if at.network.faults.is_impaired(self.ports[usize::from(port)].link) {
            self.transmit_impaired(port, frame, at);
        } else {
            self.transmit_general(port, frame, None, false, at);
        }
    }

    /// Delays the first packet after a port of a NIC with jitter was idle, and puts it into its queue. Returns false
    /// if the packet may leave now. A packet is not delayed if it has already waited, or if it follows another packet
    /// within a packet's serialisation time. A sender that is paced at line rate leaves such gaps if its NIC's clock
    /// is fast, and a delay in each gap would slow the sender down.
    fn delayed_by_jitter<O: Observer>(&mut self, port: u16, frame: &Frame, at: &mut Context<'_, O>) -> bool {
        let Some(jitter) = &mut self.jitter else { return false };
        let out = &mut self.ports[usize::from(port)];
        let kind = &at.network.link_kinds[usize::from(out.link_kind)];
        let takes = kind.class(frame.packet.wire_bytes).serialisation;
        // `busy_until` is 0 before the first packet, which follows no other.
        if out.busy_until > Time::ZERO && at.now.since(out.busy_until) < takes {
            return false;
        }
        let wait = Duration(jitter.random.up_to(jitter.most.0));
        if wait == Duration::ZERO {
            return false;
        }
        out.busy_until = at.now + wait;
        match frame.packet.is_control() {
            true => self.enqueue(port, frame, true, at),
            false => self.enqueue_in(port, at.network.class_of(frame.packet.qp), frame, at),
        }
        true
    }

    /// Sends a packet, with its telemetry. For an impaired link, the faults determine the time `leaves` at which the
    /// last bit leaves, and whether the packet is `lost`.
    fn transmit_general<O: Observer>(
        &mut self,
        port: u16,
        frame: &Frame,
        leaves: Option<Time>,
        lost: bool,
        at: &mut Context<'_, O>,
    ) {
        let stack = self.take_telemetry(port, frame, at);
        let kind = &at.network.link_kinds[usize::from(self.ports[usize::from(port)].link_kind)];
        let class = kind.class(frame.packet.wire_bytes);
        let (until, line) = match leaves {
            Some(leaves) => (leaves, DelayClass::NONE),
            None => (at.now + self.actual_duration(port, class.serialisation), class.delay_class),
        };
        let out = &mut self.ports[usize::from(port)];
        debug_assert!(out.busy_until <= at.now, "two packets on one wire");
        out.busy_until = until;
        out.busy = true;
        let link = out.link;
        if let (Some(last), false) = (self.last_data.get_mut(usize::from(port)), frame.packet.is_control()) {
            *last = at.now;
        }
        let out = &mut self.ports[usize::from(port)];
        if !lost {
            let frame = Frame { port: out.peer_port, telemetry: 0, ..*frame };
            at.send(out.peer, Arrival { time: until + kind.delay, frame }, stack.as_ref());
        }
        self.free_times.push(line, until, port);
        at.counters.packet_hops += 1;
        at.observer.transmitted(link, at.now, until, frame.packet.wire_bytes);
        at.observer.sent(link, at.now, until, &frame.packet);
    }

    /// Removes the telemetry of a departing packet from the node. At a switch, the record of this hop is added to the
    /// telemetry of a data packet.
    fn take_telemetry<O>(&mut self, port: u16, frame: &Frame, at: &Context<'_, O>) -> Option<IntStack> {
        let telemetry = self.telemetry.as_mut()?;
        let out = &self.ports[usize::from(port)];
        let mut hop = IntHop {
            queue_bytes: out.queued(),
            tx_bytes: 0,
            at: at.now,
            rate: at.network.link_kinds[usize::from(out.link_kind)].rate,
        };
        let sent = telemetry.sent.get_mut(usize::from(port));
        if let Some(sent) = &sent {
            hop.tx_bytes = **sent;
        }
        let is_switch = sent.is_some();
        if let Some(sent) = sent {
            *sent += u64::from(frame.packet.wire_bytes);
        }
        let record = telemetry.records.record(frame.telemetry)?;
        if is_switch && matches!(frame.packet.repr, Repr::Data { .. }) {
            record.push(out.link, hop);
        }
        let stack = *record;
        telemetry.records.release(frame.telemetry);
        Some(stack)
    }

    fn transmit_impaired<O: Observer>(&mut self, port: u16, frame: &Frame, at: &mut Context<'_, O>) {
        let network = at.network;
        let out = &mut self.ports[usize::from(port)];
        let (link, bytes) = (out.link, frame.packet.wire_bytes);
        out.link_kind = network.faults.kind_at(link, at.now, out.link_kind).0;
        let kind = out.link_kind;
        let leaves = network.faults.leaves(link, &network.link_kinds, at.now, bytes, kind);
        let leaves = at.now + self.actual_duration(port, leaves.since(at.now));
        let arrives = leaves + network.link_kinds[usize::from(kind)].latency;
        let random = Self::loss_stream(&mut self.losses, network, port, link);
        let fate = network.faults.fate(link, at.now, arrives, &frame.packet, random);
        match fate {
            Fate::DroppedByFault(fault) => {
                let hits = at.effects.hits.of(fault);
                (hits.dropped, hits.data) = (hits.dropped + 1, hits.data + 1);
            }
            _ => {
                if let Some(fault) = network.faults.slowed_by(link, at.now, leaves) {
                    let hits = at.effects.hits.of(fault);
                    hits.slowed += 1;
                    hits.data += u64::from(!frame.packet.is_control());
                }
            }
        }
        match fate {
            Fate::Arrives => self.transmit_general(port, frame, Some(leaves), false, at),
            Fate::Lost(fault) => {
                at.counters.link_losses += 1;
                at.note_lost_payload(&frame.packet);
                let hits = at.effects.hits.of(fault);
                hits.lost += 1;
                hits.data += u64::from(!frame.packet.is_control());
                self.transmit_general(port, frame, Some(leaves), true, at);
            }
            Fate::DroppedByFault(_) => {
                match trimmed(&self.ports[usize::from(port)], &frame.packet, network) {
                    Some(header) => {
                        at.counters.trims += 1;
                        at.note_lost_payload(&frame.packet);
                        self.release_telemetry(frame.telemetry);
                        let leaves = network.faults.leaves(
                            link,
                            &network.link_kinds,
                            at.now,
                            header.wire_bytes,
                            self.ports[usize::from(port)].link_kind,
                        );
                        let leaves = at.now + self.actual_duration(port, leaves.since(at.now));
                        let header = Frame::new(header, frame.port);
                        self.transmit_general(port, &header, Some(leaves), false, at);
                    }
                    None => {
                        // The dropped packet takes no time on the link.
                        self.drop_packet(port, frame, at);
                        if self.has_work(port) {
                            // The next packet is sent a picosecond later, since the events at which ports become free
                            // may be over at this instant.
                            self.ports[usize::from(port)].busy = true;
                            self.free_times.push(DelayClass::NONE, at.now + Duration(1), port);
                        }
                    }
                }
            }
        }
    }

    fn loss_stream<'l>(
        losses: &'l mut Vec<(u16, Stream)>,
        network: &Network<'_>,
        port: u16,
        link: LinkId,
    ) -> &'l mut Stream {
        let slot = losses.iter().position(|(known, _)| *known == port).unwrap_or_else(|| {
            losses.push((port, stream(network.seed, u64::from(link.0), Purpose::LinkLoss)));
            losses.len() - 1
        });
        &mut losses[slot].1
    }
}
