//! The destination ToR. It holds packets that overtake the TAIL until the TAIL arrives or a timer expires.
//!
//! Special cases:
//! - The TAIL is lost. The expiry of the timer then releases held packets and completes the epoch of the TAIL. A CLEAR
//!   is sent, since the source ToR waits for one. In the paper "the TAIL or the T_resume timer packet" becomes a CLEAR
//!   (section 3.4). In the public simulator only the TAIL does.
//! - The TAIL or another packet of the old path arrives after this release. The packet is forwarded immediately. It is
//!   out of order, but holding it has no benefit. The TAIL triggers another CLEAR, in case the first one was lost.
//! - A retransmission is treated like any packet: it carries the epoch and phase in which it passes the source ToR.
//! - A packet of an earlier epoch is forwarded immediately, ahead of held packets, since it was sent before them.
//! - A packet of a later epoch arrives while packets are held. This is possible if the queue pair was idle before its
//!   CLEAR arrived. Held packets are then released ahead of the new packet.

use super::ConweaveConfig;
use super::header::{self, Age, Epoch, Header, Stamp, Word, WordKind};
use crate::program::interface::{Emitted, Held, Passage, ProgramFacts, Verdict};
use crate::{Packet, Repr, StateField};
use anabranch_base::{Duration, HostId, QpId, Time};
use std::collections::{BTreeSet, VecDeque};

/// The queue pairs whose receivers are hosts of the switch.
pub(super) struct Destination {
    flush_extra: Duration,
    default_wait: Duration,
    /// Size of a control packet in bytes.
    control: u16,
    /// The name of the switch in control packets: the first of its hosts that received a packet.
    name: Option<HostId>,
    qps: Vec<Option<Box<Arrivals>>>,
    /// The release time of each queue pair with held packets.
    releases: BTreeSet<(Time, QpId)>,
    held_bytes: u64,
    pub counts: Counts,
}

#[derive(Default)]
pub(super) struct Counts {
    pub notifies: u64,
    pub held_packets: u64,
    pub flushed_by_tail: u64,
    /// Number of epochs whose TAIL had not arrived when the timer expired, or when a packet of a later epoch arrived
    /// while packets were held.
    pub flushed_by_timeout: u64,
    pub max_held_bytes: u64,
    pub max_reorder_queues: u64,
}

/// The state of a queue pair.
struct Arrivals {
    src: HostId,
    epoch: Epoch,
    /// Whether the epoch's TAIL has arrived or its timer has expired.
    tail_done: bool,
    /// The times of the epoch's last packet on the old path: when the packet passed the source ToR, and when it arrived
    /// here.
    old_path: Option<(Stamp, Time)>,
    /// The time at which the TAIL passed the source ToR. It is valid while packets are held.
    tail: Stamp,
    /// The time at which held packets are released if the TAIL has not arrived. It is valid while packets are held.
    release: Time,
    /// Held packets, each with the port on which it arrived.
    held: VecDeque<(Packet, u16)>,
}

impl Arrivals {
    fn begin(&mut self, epoch: Epoch) {
        (self.epoch, self.tail_done, self.old_path) = (epoch, false, None);
    }
}

impl Destination {
    pub fn new(config: &ConweaveConfig, facts: &ProgramFacts) -> Self {
        Destination {
            flush_extra: config.flush_extra.on(&facts.path),
            default_wait: config.default_wait.on(&facts.path),
            control: facts.ack.0.min(u64::from(u16::MAX)) as u16,
            name: None,
            qps: Vec::new(),
            releases: BTreeSet::new(),
            held_bytes: 0,
            counts: Counts::default(),
        }
    }

    pub fn state() -> Vec<StateField> {
        vec![
            StateField::new("destination: epoch", 4, 1),
            StateField::new("destination: TAIL done", 1, 1),
            StateField::new("destination: old path known", 1, 1),
            StateField::new("destination: old path's stamp", 16, 1),
            StateField::new("destination: old path's arrival", 32, 1),
            StateField::new("destination: TAIL's stamp", 16, 1),
            StateField::new("destination: release", 32, 1),
            StateField::new("destination: reordering queue", 8, 1),
        ]
    }

    /// Handles a data packet for one of the switch's hosts from another ToR, which wrote the header.
    pub fn receive(
        &mut self,
        header: Header,
        packet: &mut Packet,
        at: &Passage,
        out: &mut Vec<Emitted>,
    ) -> Verdict {
        let Repr::Data { stamps, .. } = &mut packet.repr else { return Verdict::Forward };
        let (passed, tail) = header::of_stamps(*stamps);
        // Hosts must not see the fields of ConWeave.
        (*stamps, packet.tag) = (0, 0);
        self.name.get_or_insert(packet.dst);
        // Every marked packet triggers a notification, as in the public simulator.
        if packet.marked {
            self.counts.notifies += 1;
            out.push(self.control(packet.qp, at.src, WordKind::Notify(header.port)));
        }
        if header.init {
            out.push(self.control(packet.qp, at.src, WordKind::Reply(header.epoch)));
        }

        let qp = self.arrivals(packet.qp, at.src, header.epoch);
        let mut outran = false;
        match header.epoch.age(qp.epoch) {
            Age::Earlier => return Verdict::Forward,
            Age::Same => {}
            Age::Later => {
                qp.begin(header.epoch);
                outran = !qp.held.is_empty();
                if outran {
                    self.counts.flushed_by_timeout += 1;
                    self.release(packet.qp, out);
                }
            }
        }
        if header.rerouted {
            return self.receive_rerouted(packet, tail, at, outran, out);
        }
        self.receive_by_old_path(packet.qp, passed, at.now);
        if header.tail {
            self.end_epoch(packet.qp, out);
        }
        in_order(packet, at, outran, out)
    }

    /// Handles a packet on the old path: one before the TAIL, or the TAIL.
    fn receive_by_old_path(&mut self, id: QpId, passed: Stamp, now: Time) {
        let flush_extra = self.flush_extra;
        let Some(qp) = &mut self.qps[id.index()] else { return };
        qp.old_path = Some((passed, now));
        if !qp.held.is_empty() {
            // The newest packet of the old path gives the best estimate of the TAIL's arrival.
            self.releases.remove(&(qp.release, id));
            qp.release = now + qp.tail.since(passed) + flush_extra;
            self.releases.insert((qp.release, id));
        }
    }

    /// Handles the arrival of the TAIL: held packets are released right after it.
    fn end_epoch(&mut self, id: QpId, out: &mut Vec<Emitted>) {
        let Some(qp) = &mut self.qps[id.index()] else { return };
        qp.tail_done = true;
        let clear = (qp.src, WordKind::Clear(qp.epoch));
        if !qp.held.is_empty() {
            self.counts.flushed_by_tail += 1;
            self.release(id, out);
        }
        out.push(self.control(id, clear.0, clear.1));
    }

    /// Handles a packet that was sent after the TAIL.
    fn receive_rerouted(
        &mut self,
        packet: &Packet,
        tail: Stamp,
        at: &Passage,
        outran: bool,
        out: &mut Vec<Emitted>,
    ) -> Verdict {
        let (flush_extra, default_wait) = (self.flush_extra, self.default_wait);
        let Some(qp) = &mut self.qps[packet.qp.index()] else { return Verdict::Forward };
        if qp.tail_done {
            return in_order(packet, at, outran, out);
        }
        if qp.held.is_empty() {
            // The TAIL is assumed to take as long as the last packet on its path took.
            let release = match qp.old_path {
                Some((passed, came)) => came + tail.since(passed) + flush_extra,
                None => at.now + default_wait,
            };
            if release <= at.now {
                self.give_up(packet.qp, out);
                return in_order(packet, at, outran, out);
            }
            (qp.tail, qp.release) = (tail, release);
            self.releases.insert((release, packet.qp));
        }
        qp.held.push_back((*packet, at.port));
        self.held_bytes += u64::from(packet.wire_bytes);
        self.counts.held_packets += 1;
        self.counts.max_held_bytes = self.counts.max_held_bytes.max(self.held_bytes);
        self.counts.max_reorder_queues = self.counts.max_reorder_queues.max(self.releases.len() as u64);
        Verdict::Hold
    }

    pub fn next_timeout(&self) -> Option<Time> {
        self.releases.first().map(|(due, _)| *due)
    }

    pub fn handle_timeout(&mut self, now: Time, out: &mut Vec<Emitted>) {
        while let Some(&(due, id)) = self.releases.first()
            && due <= now
        {
            self.give_up(id, out);
        }
    }

    /// Handles the expiry of the timer for a TAIL that has not arrived.
    fn give_up(&mut self, id: QpId, out: &mut Vec<Emitted>) {
        let Some(qp) = &mut self.qps[id.index()] else { return };
        qp.tail_done = true;
        let clear = (qp.src, WordKind::Clear(qp.epoch));
        self.counts.flushed_by_timeout += 1;
        self.release(id, out);
        out.push(self.control(id, clear.0, clear.1));
    }

    fn release(&mut self, id: QpId, out: &mut Vec<Emitted>) {
        let Some(qp) = &mut self.qps[id.index()] else { return };
        self.releases.remove(&(qp.release, id));
        for (packet, port) in qp.held.drain(..) {
            self.held_bytes -= u64::from(packet.wire_bytes);
            out.push(Emitted { packet, held: Held::InBuffer(port) });
        }
    }

    fn arrivals(&mut self, id: QpId, src: HostId, epoch: Epoch) -> &mut Arrivals {
        if self.qps.len() <= id.index() {
            self.qps.resize_with(id.index() + 1, || None);
        }
        self.qps[id.index()].get_or_insert_with(|| {
            Box::new(Arrivals {
                src,
                epoch,
                tail_done: false,
                old_path: None,
                tail: Stamp::default(),
                release: Time::NEVER,
                held: VecDeque::new(),
            })
        })
    }

    /// A control packet to the source ToR, addressed to the sending host.
    fn control(&self, qp: QpId, dst: HostId, kind: WordKind) -> Emitted {
        let word = Word { kind, tor: self.name.unwrap_or_default() }.bits();
        let packet = Packet::new(qp, dst, Repr::Program { word }).with_bytes(self.control);
        Emitted { packet, held: Held::Never }
    }
}

/// Forwards a packet. If `out` has packets of an earlier epoch (`outran`), the packet is appended to `out`, since
/// [`Verdict::Forward`] would send it before them.
fn in_order(packet: &Packet, at: &Passage, outran: bool, out: &mut Vec<Emitted>) -> Verdict {
    if !outran {
        return Verdict::Forward;
    }
    out.push(Emitted { packet: *packet, held: Held::InBuffer(at.port) });
    Verdict::Hold
}
