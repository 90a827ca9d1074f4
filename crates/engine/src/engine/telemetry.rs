//! In-network telemetry beside the packets, which have no room for it.
//!
//! Each data packet that leaves its sender gets a record, whose number it carries (`stamps`). Each switch port that
//! sends it adds a hop. At the receiver the record waits for the queue pair's next ACK, which carries it back
//! (`telemetry`); one that comes before that takes its place. A NACK has no room for it: the ACK after it brings it. At
//! the sender the transport reads it, and its place is free for another packet.

use super::Engine;
use crate::observer::Observer;
use crate::spec::Scheme;
use anabranch_base::{LinkId, QpId};
use anabranch_fabric::Topology;
use anabranch_proto::{IntHop, IntStack, Packet, Repr};
use anabranch_workload::Workload;

/// The records of all packets.
pub struct Telemetry {
    /// Record `n` is `records[n - 1]`.
    records: Vec<IntStack>,
    /// Numbers of records that no packet has.
    free: Vec<u32>,
    /// By link: the bytes that its port has sent, where a switch sends.
    sent: Vec<u64>,
    /// By queue pair: the record that waits for an ACK, or 0.
    waiting: Vec<u32>,
}

impl Telemetry {
    /// No records; none where the scheme's congestion control does not ask for them.
    pub fn new(scheme: &Scheme, topology: &Topology, workload: &Workload) -> Option<Self> {
        scheme.cc.wants_telemetry().then(|| Telemetry {
            records: Vec::new(),
            free: Vec::new(),
            sent: vec![0; topology.ports.len()],
            waiting: vec![0; workload.qps.len() * scheme.qps as usize],
        })
    }

    /// Gives a data packet that leaves its sender an empty record.
    pub fn attach(&mut self, packet: &mut Packet) {
        if let Repr::Data { stamps, .. } = &mut packet.repr {
            *stamps = match self.free.pop() {
                Some(number) => {
                    self.records[number as usize - 1] = IntStack::EMPTY;
                    number
                }
                None => {
                    self.records.push(IntStack::EMPTY);
                    self.records.len() as u32
                }
            };
        }
    }

    /// A packet has arrived: its record waits for an ACK. One that waited already is out of date.
    pub fn keep(&mut self, packet: &Packet) {
        let number = number_of(packet);
        if number > 0 {
            let before = std::mem::replace(&mut self.waiting[packet.qp.index()], number);
            self.release(before);
        }
    }

    /// Gives the record that waits to an answer that leaves the receiver, if it is an ACK.
    pub fn send_back(&mut self, answer: &mut Packet) {
        if let Repr::Ack { telemetry, .. } = &mut answer.repr {
            *telemetry = std::mem::take(&mut self.waiting[answer.qp.index()]);
        }
    }

    /// The record that an ACK carries.
    pub fn read(&self, number: u32) -> Option<&IntStack> {
        self.records.get((number as usize).checked_sub(1)?)
    }

    /// A packet is no more; nor is its record.
    pub fn forget(&mut self, packet: &Packet) {
        self.release(number_of(packet));
    }

    /// A queue pair is done: no ACK will come.
    pub fn finish(&mut self, qp: QpId) {
        let number = std::mem::take(&mut self.waiting[qp.index()]);
        self.release(number);
    }

    fn release(&mut self, number: u32) {
        if number > 0 {
            self.free.push(number);
        }
    }

    /// A switch's port sends a packet; `hop` is what it says, but for the bytes that it has sent.
    fn add_hop(&mut self, link: LinkId, packet: &Packet, hop: IntHop) {
        let tx_bytes = self.sent[link.index()];
        self.sent[link.index()] += u64::from(packet.wire_bytes);
        if let Repr::Data { stamps, .. } = packet.repr
            && let Some(record) = self.records.get_mut((stamps as usize).wrapping_sub(1))
        {
            record.push(link, IntHop { tx_bytes, ..hop });
        }
    }

    /// What is wrong with the records, if anything: each belongs to one of the `packets`, to one of at most `held` that
    /// programs keep, to a queue pair's next ACK, or is free.
    fn check<'a>(&self, packets: impl Iterator<Item = &'a Packet>, held: u64) -> Option<String> {
        let mut owners = vec![0u32; self.records.len() + 1];
        let waiting = self.waiting.iter().copied();
        packets.map(number_of).chain(waiting).chain(self.free.iter().copied()).for_each(|number| {
            owners[number as usize] += 1;
        });
        let several = (1..owners.len()).find(|&number| owners[number] > 1);
        let lost = owners[1..].iter().filter(|&&owners| owners == 0).count() as u64;
        match several {
            Some(number) => Some(format!("record {number} of telemetry has {} owners", owners[number])),
            None if lost > held => Some(format!("{lost} records of telemetry have no packet")),
            None => None,
        }
    }
}

impl<O: Observer> Engine<'_, O> {
    /// A packet goes out on a link, or is lost on it.
    // Apart from its caller, and cold, so that schemes without telemetry pay a test and no more.
    #[cold]
    #[inline(never)]
    pub(super) fn record_telemetry(&mut self, link: LinkId, packet: &Packet, lost: bool) {
        let port = &self.ports[link.index()];
        let from_switch = port.node.0 >= self.host_count;
        let hop = IntHop {
            queue_bytes: port.data_bytes + port.control_bytes,
            tx_bytes: 0,
            at: self.now,
            rate: self.kinds[port.kind as usize].rate(),
        };
        let Some(telemetry) = &mut self.telemetry else { return };
        if from_switch {
            telemetry.add_hop(link, packet, hop);
        }
        if lost {
            telemetry.forget(packet);
        }
    }

    /// A packet is no more.
    #[inline]
    pub(crate) fn forget_telemetry(&mut self, packet: &Packet) {
        if let Some(telemetry) = &mut self.telemetry {
            telemetry.forget(packet);
        }
    }

    /// What is wrong with the records, if anything.
    pub(super) fn check_telemetry(&self) -> Option<String> {
        let telemetry = self.telemetry.as_ref()?;
        let queues = self.ports.iter().flat_map(|port| [&port.data, &port.control]);
        let queued = queues.flat_map(|queue| queue.iter(&self.pool)).map(|(packet, _)| packet);
        let held = self.programs.as_ref().map_or(0, |programs| programs.held().0);
        telemetry.check(queued.chain(self.scheduler.each_packet()), held)
    }
}

/// The number of a packet's record, or 0.
fn number_of(packet: &Packet) -> u32 {
    match packet.repr {
        Repr::Data { stamps, .. } => stamps,
        Repr::Ack { telemetry, .. } => telemetry,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_base::{HostId, Rate, Time};

    /// Three links, two queue pairs.
    fn empty() -> Telemetry {
        Telemetry { records: Vec::new(), free: Vec::new(), sent: vec![0; 3], waiting: vec![0; 2] }
    }

    fn packet(qp: u32, wire_bytes: u16, repr: Repr) -> Packet {
        Packet::new(QpId(qp), HostId(0), repr).with_bytes(wire_bytes)
    }

    fn data(qp: u32) -> Packet {
        packet(qp, 1_090, Repr::data(0))
    }

    fn ack(qp: u32) -> Packet {
        packet(qp, 88, Repr::ack(1))
    }

    fn hop(at: u64) -> IntHop {
        IntHop { queue_bytes: 5, tx_bytes: 0, at: Time(at), rate: Rate::from_gbps(100) }
    }

    #[test]
    fn a_record_goes_with_its_packet_and_back_with_the_next_ack() {
        let mut telemetry = empty();
        let (mut first, mut second, mut answer, mut other) = (data(0), data(0), ack(0), ack(1));
        telemetry.attach(&mut first);
        telemetry.attach(&mut second);
        assert_eq!([first, second].map(|packet| number_of(&packet)), [1, 2]);
        // The port counts what it sent before, whatever it was.
        telemetry.add_hop(LinkId(2), &first, hop(10));
        telemetry.add_hop(LinkId(2), &other, hop(20));
        telemetry.add_hop(LinkId(2), &second, hop(30));
        telemetry.add_hop(LinkId(1), &second, hop(40));
        telemetry.keep(&first);
        telemetry.keep(&second);
        telemetry.send_back(&mut other);
        telemetry.send_back(&mut answer);
        // The first record gave way to the second; the other queue pair has none.
        assert_eq!((number_of(&other), number_of(&answer)), (0, 2));
        assert_eq!(telemetry.read(0), None);
        let hops = [IntHop { tx_bytes: 1_178, ..hop(30) }, hop(40)];
        assert_eq!(telemetry.read(2).unwrap().hops(), hops);
        assert_eq!(telemetry.check([&answer].into_iter(), 0), None);
        telemetry.forget(&answer);
        assert_eq!(telemetry.check([].into_iter(), 0), None);
        // A place that is used again begins empty.
        let mut third = data(1);
        telemetry.attach(&mut third);
        assert_eq!(telemetry.read(number_of(&third)), Some(&IntStack::EMPTY));
    }

    #[test]
    fn a_queue_pair_that_is_done_keeps_no_record() {
        let mut telemetry = empty();
        let mut packet = data(1);
        telemetry.attach(&mut packet);
        telemetry.keep(&packet);
        assert_eq!(telemetry.check([].into_iter(), 0), None);
        telemetry.finish(QpId(1));
        telemetry.finish(QpId(1));
        assert_eq!(telemetry.check([].into_iter(), 0), None);
        assert_eq!(telemetry.free, [1]);
    }

    #[test]
    fn the_check_finds_what_is_lost_or_owned_twice() {
        let mut telemetry = empty();
        let mut packets = [data(0), data(1)];
        packets.iter_mut().for_each(|packet| telemetry.attach(packet));
        assert_eq!(telemetry.check(packets.iter(), 0), None);
        let lost = telemetry.check(packets[..1].iter(), 0);
        assert_eq!(lost.as_deref(), Some("1 records of telemetry have no packet"));
        // A program may have it.
        assert_eq!(telemetry.check(packets[..1].iter(), 1), None);
        let twice = telemetry.check([packets[0], packets[0], packets[1]].iter(), 1);
        assert_eq!(twice.as_deref(), Some("record 1 of telemetry has 2 owners"));
    }
}
