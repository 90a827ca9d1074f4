//! The reception of a host with a fault of the host itself: a slow receiver, or a NIC that storms with pauses.
//!
//! Data that a slow receiver has not taken yet waits in a buffer of its NIC. In a lossless class the NIC pauses its
//! links once the data exceeds the buffer, and resumes them when two full packets fit again or nothing waits. Data that
//! still arrives after the links were paused goes into the headroom. The NIC drops a packet that does not fit, unless
//! no other packet waits.

use super::{Host, RECEPTION};
use crate::context::Context;
use crate::egress::count_refused_by_host;
use crate::frame::{Frame, Order, event_kind};
use crate::network::Network;
use crate::observer::Observer;
use crate::pause::{PauseState, longest_pause};
use crate::switch::headroom_needed;
use anabranch_base::{Duration, HostId, LinkId, Rate, Time};
use anabranch_proto::IntStack;
use std::cmp::Reverse;
use std::collections::VecDeque;

const RESUME_PACKETS: u64 = 2;

/// The reception of a host that is a slow receiver or storms with pauses at some time.
pub(super) struct Reception {
    /// The first uplink of the host. A slow receiver is a fault of all uplinks of the host, so one of them suffices to
    /// find the fault.
    uplink: LinkId,
    /// The sum of the rates of all ports. When the host is no longer slow, it takes the remaining data at this rate.
    rate: Rate,
    /// The data that the host has not taken yet, with its telemetry.
    waiting: VecDeque<(Frame, Option<IntStack>)>,
    held: u64,
    /// The bytes of waiting data above which the NIC pauses its links. The value comes from the fault that was in
    /// effect last.
    buffer: u64,
    /// The bytes beyond `buffer` that may still arrive once the links are paused. 0 in a lossy class.
    headroom: u64,
    /// The bytes that must fit into `buffer` again before the NIC resumes its links, unless nothing waits.
    resume: u64,
    /// Whether the waiting data requires that the links are paused.
    full: bool,
    /// The time at which the host will have taken the oldest waiting packet. [`Time::NEVER`] if none waits.
    taken_at: Time,
    /// The pauses of each port. Empty in a lossy class.
    pauses: Vec<PortPauses>,
    /// The time of the next scheduled timer event. [`Time::NEVER`] if there is none.
    armed: Time,
}

struct PortPauses {
    link: LinkId,
    state: PauseState,
    storms: bool,
    /// The time at which XOFF is sent again if the pause still holds: half of the longest pause after the last XOFF
    /// frame. [`Time::NEVER`] if no XOFF is to be sent again.
    refresh: Time,
}

impl Reception {
    /// The reception of `host`. None if the host never has a fault of its own.
    pub fn new(network: &Network<'_>, host: HostId) -> Option<Reception> {
        let links = || network.topology.links_of(host.into()).map(LinkId);
        let first = links().next().filter(|_| links().any(|link| network.faults.has_host_fault(link)))?;
        let lossless = network.scheme.fabric.pfc.is_some();
        let pauses = links().filter(|_| lossless).map(|link| PortPauses {
            link,
            state: PauseState::default(),
            storms: false,
            refresh: Time::NEVER,
        });
        let Network { topology, facts, scheme, .. } = network;
        let headroom =
            |link| headroom_needed(topology, topology.reverse(link), facts, scheme.fabric.clock_ppm).0;
        Some(Reception {
            uplink: first,
            rate: Rate(links().map(|link| network.topology.ports[link.index()].rate.0).sum()),
            waiting: VecDeque::new(),
            held: 0,
            buffer: 0,
            headroom: if lossless { links().map(headroom).sum() } else { 0 },
            resume: RESUME_PACKETS * network.facts.packet.0,
            full: false,
            taken_at: Time::NEVER,
            pauses: pauses.collect(),
            armed: Time::NEVER,
        })
    }

    /// The time of the next timer event after `now`. `now` is none before the first event.
    fn next(&self, network: &Network<'_>, now: Option<Time>) -> Time {
        let of_port =
            |port: &PortPauses| network.faults.next_change_of_host(port.link, now).min(port.refresh);
        self.pauses.iter().map(of_port).fold(self.taken_at, Time::min)
    }

    pub fn waiting(&self) -> u64 {
        self.waiting.len() as u64
    }

    /// The time at which the host will have taken the oldest waiting packet, if it begins at `now`. [`Time::NEVER`] if
    /// none waits.
    fn time_to_take(&self, network: &Network<'_>, now: Time) -> Time {
        self.waiting.front().map_or(Time::NEVER, |(frame, _)| {
            network.faults.taken_by_host(self.uplink, now, frame.packet.wire_bytes, self.rate)
        })
    }
}

fn half_pause(network: &Network<'_>, link: LinkId) -> Duration {
    Duration(longest_pause(network.topology.ports[link.index()].rate).0 / 2)
}

impl Host {
    /// Handles a packet for a receiver at a host with a reception. The host may take the packet later.
    #[cold]
    #[inline(never)]
    pub(super) fn receive<O: Observer>(
        &mut self,
        frame: &Frame,
        stack: Option<&IntStack>,
        at: &mut Context<'_, O>,
    ) {
        let Some(reception) = &mut self.reception else { return };
        let slow = at.network.faults.slow_receiver(reception.uplink, at.now);
        if frame.packet.is_control() || (slow.is_none() && reception.waiting.is_empty()) {
            return self.take(frame, stack, at);
        }
        let bytes = u64::from(frame.packet.wire_bytes);
        if let Some((fault, buffer)) = slow {
            reception.buffer = buffer.0;
            let hits = at.effects.hits.of(fault);
            (hits.slowed, hits.data) = (hits.slowed + 1, hits.data + 1);
        }
        if !reception.waiting.is_empty() && reception.held + bytes > reception.buffer + reception.headroom {
            if let Some((fault, _)) = slow {
                let hits = at.effects.hits.of(fault);
                (hits.dropped, hits.slowed) = (hits.dropped + 1, hits.slowed - 1);
            }
            let link = at.network.topology.link(self.id.into(), frame.port);
            return count_refused_by_host(at.network.topology.reverse(link), &frame.packet, at);
        }
        reception.waiting.push_back((*frame, stack.copied()));
        reception.held += bytes;
        reception.full |= reception.held > reception.buffer;
        if reception.waiting.len() == 1 {
            reception.taken_at = reception.time_to_take(at.network, at.now);
        }
        self.update_pauses(at);
    }

    /// Handles a timer event of the reception: the host has taken a packet, a pause is due again, or a fault of the
    /// host begins or ends.
    #[cold]
    #[inline(never)]
    pub(super) fn handle_reception<O: Observer>(&mut self, at: &mut Context<'_, O>) {
        let Some(reception) = &mut self.reception else { return };
        if reception.armed <= at.now {
            reception.armed = Time::NEVER;
        }
        let taken = if reception.taken_at <= at.now { reception.waiting.pop_front() } else { None };
        if let Some((frame, _)) = &taken {
            reception.held -= u64::from(frame.packet.wire_bytes);
            reception.full &= reception.held + reception.resume > reception.buffer && reception.held > 0;
            reception.taken_at = reception.time_to_take(at.network, at.now);
        }
        self.update_pauses(at);
        if let Some((frame, stack)) = taken {
            self.take(&frame, stack.as_ref(), at);
        }
    }

    #[inline(never)]
    fn take<O: Observer>(&mut self, frame: &Frame, stack: Option<&IntStack>, at: &mut Context<'_, O>) {
        self.handle_data(frame, stack, at);
    }

    /// Pauses or resumes each port as the reception requires, and schedules the next timer event.
    fn update_pauses<O: Observer>(&mut self, at: &mut Context<'_, O>) {
        let Some(reception) = &mut self.reception else { return };
        let mut due: u16 = 0;
        for (port, pauses) in reception.pauses.iter_mut().enumerate() {
            let storms = at.network.faults.storm(pauses.link, at.now).is_some();
            let (stop, ended) = (storms || reception.full, pauses.storms && !storms);
            let half = half_pause(at.network, pauses.link);
            pauses.storms = storms;
            let out = self.egress.port(port as u16);
            if ended && !stop {
                // A NIC that stops storming does not send XON, so its last pause expires.
                (pauses.state, pauses.refresh) = (PauseState::default(), Time::NEVER);
                out.pause_pending = false;
            } else if stop != pauses.state.stopped {
                out.pause_pending = pauses.state.request(stop).unwrap_or(out.pause_pending);
                pauses.refresh = if stop { at.now + half } else { Time::NEVER };
            } else if stop && pauses.refresh <= at.now {
                // A change of the link's state may cancel the frame before it is sent.
                pauses.refresh = at.now + half;
                out.pause_pending = true;
            }
            due |= u16::from(out.pause_pending && !out.busy) << port;
        }
        (0..u16::BITS as u16).filter(|port| due >> port & 1 == 1).for_each(|port| {
            self.send_due_pause(port, at);
        });
        self.arm_reception(Some(at.now), at.network);
    }

    /// Sends the pause frame that is due at `port`. The link of the port is free. Returns false if no frame is due.
    pub(super) fn send_due_pause<O: Observer>(&mut self, port: u16, at: &mut Context<'_, O>) -> bool {
        let Some(reception) = &mut self.reception else { return false };
        if !self.egress.port(port).pause_pending {
            return false;
        }
        let Some(pauses) = reception.pauses.get_mut(usize::from(port)) else { return false };
        let stop = pauses.state.sent();
        pauses.refresh = if stop { at.now + half_pause(at.network, pauses.link) } else { Time::NEVER };
        self.egress.transmit_pause(port, 0, stop, at);
        self.arm_reception(Some(at.now), at.network);
        true
    }

    /// Resets the pause state after the link of `port` went down or came up (`up`). Returns whether the other end is
    /// paused from now on.
    pub fn settle_pause(&mut self, port: u16, up: bool) -> bool {
        let pauses =
            self.reception.as_mut().and_then(|reception| reception.pauses.get_mut(usize::from(port)));
        let Some(pauses) = pauses else { return false };
        self.egress.port(port).pause_pending = false;
        pauses.state.settle(up)
    }

    /// Schedules the next timer event of the reception. `now` is none before the first event.
    pub(super) fn arm_reception(&mut self, now: Option<Time>, network: &Network<'_>) {
        let Some(reception) = &mut self.reception else { return };
        let due = reception.next(network, now);
        if due < reception.armed {
            reception.armed = due;
            self.timers.push(Reverse((due, RECEPTION)));
            self.next_call = self.next_call.min(Order::chosen(due, event_kind::TIMER));
        }
    }

    /// The number of packets that have arrived and that the host has not taken yet.
    pub fn not_taken(&self) -> u64 {
        self.reception.as_ref().map_or(0, |reception| reception.waiting())
    }
}
