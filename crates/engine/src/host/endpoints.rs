//! The creation and the removal of senders and receivers of a host.

use super::round::SenderSlot;
use super::stats::stats;
use super::{DONE, Host};
use crate::context::{Context, Failure, Notice};
use crate::network::Network;
use anabranch_base::{Purpose, QpId, Time, stream};
use anabranch_proto::lb;
use anabranch_proto::transport::{AnyReceiver, AnySender, Ends};

impl Network<'_> {
    pub fn sender(&self, class: u8, ends: Ends) -> AnySender {
        let (scheme, facts) = self.scheme_of(class);
        let (seed, own_path) = (self.seed, self.own_path_of(class));
        let rto = scheme.transport.rto().on(facts);
        let environment = lb::Environment { facts: *facts, rto, trimming: scheme.fabric.trim };
        let random = stream(seed, u64::from(ends.qp.0), Purpose::LoadBalancer);
        let lb = scheme.lb_of(ends.src).build(&environment, random);
        let path = own_path.map_or(*facts, |own_path| own_path(ends.src, ends.dst));
        let random = stream(seed, u64::from(ends.qp.0), Purpose::CongestionControl);
        let cc = scheme.cc.build_with_stream(&path, random);
        scheme.transport.build_sender_with_seed(ends, facts, cc, lb, seed)
    }

    pub fn receiver(&self, class: u8, ends: Ends) -> AnyReceiver {
        let (scheme, facts) = self.scheme_of(class);
        scheme.transport.build_receiver_with_seed(ends, facts, self.seed)
    }
}

impl Host {
    pub(super) fn open_sender<O>(&mut self, slot: u32, qp: QpId, at: &mut Context<'_, O>) -> u32 {
        let (class, ends) = (at.network.class_of(qp), at.network.ends(qp));
        let mut sender = at.network.sender(class, Ends { qp, src: ends.src, dst: ends.dst });
        if let Some(legacy) = self.cached_states.get(&(class, ends.dst)) {
            sender.inherit(legacy);
        }
        let ports = self.egress.ports.len() as u16;
        let index =
            slab_insert(&mut self.senders, &mut self.free_senders, SenderSlot::new(slot, sender, ports));
        self.outgoing[slot as usize].index = index;
        at.effects.notices.push(Notice { time: at.now, src: self.id, qp, opens: true });
        index
    }

    pub(super) fn open_receiver(&mut self, slot: usize, qp: QpId, network: &Network<'_>) -> u32 {
        let ends = network.ends(qp);
        let ends = Ends { qp, src: ends.src, dst: ends.dst };
        let receiver = network.receiver(network.class_of(qp), ends);
        let index = slab_insert(&mut self.receivers, &mut self.free_receivers, receiver);
        self.incoming[slot].index = index;
        index
    }

    /// Counts a message, or a part of one, as acknowledged. The last message ends the queue pair. Returns false if
    /// the transport acknowledges more messages than the queue pair has, which fails the run.
    pub(super) fn finish_part<O>(&mut self, slot: u32, index: u32, at: &mut Context<'_, O>) -> bool {
        let qp = &mut self.outgoing[slot as usize];
        let Some(left) = qp.messages_left.checked_sub(1) else {
            let qp = qp.qp;
            return self.fail_transport(qp, "acknowledged more messages than it was given", at);
        };
        qp.messages_left = left;
        if left > 0 {
            return true;
        }
        let sender = &self.senders[index as usize];
        if let Some(legacy) = sender.sender.cached_state() {
            self.cached_states.insert((at.network.class_of(qp.qp), at.network.ends(qp.qp).dst), legacy);
        }
        (qp.index, qp.stats) = (DONE, stats(sender));
        self.totals = self.totals.add(sender.sender.counters());
        at.effects.notices.push(Notice { time: at.now, src: self.id, qp: qp.qp, opens: false });
        if self.round.leave(&mut self.senders, index) {
            self.free_senders.push(index);
        }
        true
    }

    /// Schedules the end of a receiver at `time`, because its sender has received all acknowledgements. `slot` is the
    /// number of the queue pair among those on which the host receives. Calls should come in the order of `time`.
    pub fn end_receiver(&mut self, slot: u32, time: Time) {
        self.closing_receivers.push_back((time, slot));
    }

    pub(super) fn close_receiver(&mut self, slot: u32) {
        let incoming = &mut self.incoming[slot as usize];
        let index = std::mem::replace(&mut incoming.index, DONE);
        let telemetry = std::mem::take(&mut incoming.telemetry);
        self.egress.release_telemetry(telemetry);
        if index < DONE {
            self.fresh_of_closed += self.receivers[index as usize].fresh_packets();
            self.free_receivers.push(index);
        }
    }

    /// Fails the run because the transport of a queue pair broke a rule. Always returns false.
    #[cold]
    pub(super) fn fail_transport<O>(&self, qp: QpId, what: &str, at: &mut Context<'_, O>) -> bool {
        let what = format!("the transport of queue pair {qp} {what}");
        at.effects.fail(at.now, self.id.into(), Failure::Invariant(what));
        false
    }
}

fn slab_insert<T>(slab: &mut Vec<T>, free: &mut Vec<u32>, thing: T) -> u32 {
    match free.pop() {
        Some(index) => {
            slab[index as usize] = thing;
            index
        }
        None => {
            if slab.len() == slab.capacity() {
                // Many hosts have a single endpoint. Without the exact reservation, the vector would start with room
                // for several.
                slab.reserve_exact(slab.len().max(1));
            }
            slab.push(thing);
            slab.len() as u32 - 1
        }
    }
}
