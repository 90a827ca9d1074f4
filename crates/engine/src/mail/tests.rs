//! Tests of the mail against a plain list of the sent frames: no frame is lost or duplicated, and all arrive in order.

use super::*;
use crate::frame::{Order, event_kind};
use anabranch_base::{HostId, LinkId, QpId, Rate};
use anabranch_proto::{IntHop, Repr};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// More than 2^20 frames from two threads arrive at one node at one instant. They are sent in an order that is not the
/// order of their ports.
#[test]
fn a_million_arrivals_at_one_instant_come_in_their_order() {
    const EACH: u32 = (1 << 19) + 7;
    const PORTS: u32 = 1_000;
    let (node, start, at) = (NodeId(1), Time(1_000), Time(1_500));
    let mut far = Vec::new();
    let mut slots = [WindowMail::new(2), WindowMail::new(2)];
    for (thread, slot) in slots.iter_mut().enumerate() {
        let mut free = Blocks::default();
        slot.reuse_for(1, &mut free);
        let out = SmallVec::from_iter([slot]);
        let mut out = Outbox::new(&[start, Time(2_000)], out, (&mut far, &mut free));
        for number in 0..EACH {
            let packet = Packet::new(QpId(number), HostId(0), Repr::Cnp).with_bytes(64);
            let port = 2 * (PORTS - 1 - number % PORTS) + thread as u32;
            out.send_packet(node, at, &packet, port as u16);
        }
    }
    let slots: Vec<&WindowMail> = slots.iter().collect();
    let sources = Sources { slots: &slots, window: 1, order: None };
    let mut inbox = Inbox::default();
    inbox.open(&sources, node, start, &[], |_| {});
    let (mut count, mut last) = (0, (0, 0));
    while inbox.next() != Order::NEVER {
        assert_eq!(inbox.next().time(), at);
        let (arrival, _) = inbox.take(&sources, &[]);
        let index = (arrival.frame.port, arrival.frame.packet.qp.0);
        assert!(count == 0 || last < index, "{index:?} after {last:?}");
        (count, last) = (count + 1, index);
    }
    assert_eq!(count, 2 * EACH);
    assert!(count > 1 << 20 && far.is_empty());
}

/// The ingress ports of packets that arrive at `node` at one instant, in the order in which the node handles them.
fn drawn_order(ports: u16, seed: u64, node: u32, start: u64, at: u64) -> Vec<u16> {
    let (mut slot, mut free, mut far) = (WindowMail::new(node as usize + 1), Blocks::default(), Vec::new());
    slot.reuse_for(1, &mut free);
    let out = SmallVec::from_iter([&mut slot]);
    let mut out = Outbox::new(&[Time(start), Time(at + 1)], out, (&mut far, &mut free));
    let packet = Packet::new(QpId(0), HostId(0), Repr::Cnp).with_bytes(64);
    // Packets that arrive at other instants keep their positions, and pause frames come before the packets of their
    // instant.
    out.send_packet(NodeId(node), Time(start), &packet, 700);
    (0..ports).for_each(|port| out.send_packet(NodeId(node), Time(at), &packet, port));
    out.send(NodeId(node), Arrival { time: Time(at), frame: Frame::pause(900, 0, true) }, None);
    drop(out);
    let sources = Sources { slots: &[&slot], window: 1, order: Some(seed) };
    let mut inbox = Inbox::default();
    inbox.open(&sources, NodeId(node), Time(start), &[], |_| {});
    let ports =
        std::iter::from_fn(|| (inbox.next() != Order::NEVER).then(|| inbox.take(&sources, &[]).0.frame.port));
    let ports: Vec<u16> = ports.collect();
    assert_eq!(ports[..2], [700, 900]);
    ports[2..].to_vec()
}

/// Each of five ports is about equally often at each position, whatever synchronisation window the instant is in.
#[test]
fn the_order_at_one_instant_is_uniform_over_ports() {
    let (rounds, mut places) = (20_000_u32, [[0_u32; 5]; 5]);
    for round in 0..rounds {
        let (node, at) = (round % 3, 1_000 + u64::from(round) * 83_920);
        let ports = drawn_order(5, 7, node, at - 900, at);
        assert_eq!(ports, drawn_order(5, 7, node, at - 1, at), "another window");
        ports.iter().zip(&mut places).for_each(|(port, place)| place[usize::from(*port)] += 1);
    }
    // Each port is expected at each position in a fifth of the rounds. The tolerance is five standard deviations.
    let off = 5.0 * f64::sqrt(f64::from(rounds) * 0.2 * 0.8);
    let is_fifth = |count: &u32| (f64::from(*count) - f64::from(rounds) * 0.2).abs() < off;
    assert!(places.iter().flatten().all(is_fifth), "{places:?}");
    let many = |seed, node| drawn_order(64, seed, node, 100, 200);
    assert!(many(1, 0) != many(2, 0) && many(1, 0) != many(1, 1));
}

#[test]
fn a_slot_that_is_used_again_takes_no_more_room() {
    let (mut slot, mut free) = (WindowMail::new(2), Blocks::default());
    for window in 1..=1_000 {
        slot.reuse_for(window, &mut free);
        let (now, later) = (Time(100 * window), Time(100 * window + 100));
        let mut far = Vec::new();
        let out = SmallVec::from_iter([&mut slot]);
        let mut out = Outbox::new(&[now, later], out, (&mut far, &mut free));
        let packet = Packet::new(QpId(0), HostId(0), Repr::Cnp).with_bytes(64);
        let arrival = Arrival { time: now, frame: Frame::new(packet, 0) };
        out.send(NodeId(1), arrival, Some(&IntStack::EMPTY));
        drop(out);
        let WindowMail { room, touched, stacks, packets, .. } = &slot;
        assert_eq!((room.used, room.blocks.len(), free.0.len()), (STEP, 1, 0));
        assert_eq!((touched.len(), stacks.len(), *packets), (1, 1, 1));
    }
}

/// At most two of three slots have blocks, since one slot is read and one is written at a time.
#[test]
fn slots_of_a_thread_share_their_blocks() {
    let (mut slots, mut free, mut far) = ([0; 3].map(|_| WindowMail::new(1)), Blocks::default(), Vec::new());
    for window in 1..=20 {
        // The slots are reused as the engine reuses them before each window. The slot that is reused for the window
        // after the next one belonged to the previous window.
        let index = |ahead: u64| (window + ahead) as usize % 3;
        slots[index(2)].reuse_for(window + 2, &mut free);
        slots[index(1)].reuse_for(window + 1, &mut free);
        let (now, later) = (Time(100 * window), Time(100 * window + 100));
        let next = SmallVec::from_iter([&mut slots[index(1)]]);
        let mut out = Outbox::new(&[now, later], next, (&mut far, &mut free));
        for number in 0..BLOCK {
            let packet = Packet::new(QpId(number), HostId(0), Repr::Cnp).with_bytes(64);
            out.send_packet(NodeId(0), now, &packet, 0);
        }
    }
    let each = slots.each_ref().map(|slot| slot.room.blocks.len());
    let most = each.into_iter().max().unwrap_or_default();
    assert!(
        most > 0 && each.iter().sum::<usize>() + free.0.len() <= 2 * most,
        "{each:?}, {} free",
        free.0.len()
    );
}

const THREADS: usize = 3;
const NODES: u32 = 4;

/// The frames that a thread sends to a node within a synchronisation window.
#[derive(Clone, Debug)]
struct Sent {
    thread: usize,
    node: u32,
    /// The time from the end of the window to the arrival.
    after: u64,
    port: u16,
    kind: FrameKind,
    telemetry: bool,
    /// The number of frames. Unless `link` is set, up to 64 frames arrive at one time, each at another port. The next
    /// 64 frames arrive at the same ports 1 ps later, and so on.
    count: u32,
    /// If set, the frames are packets without telemetry that come from one port, each a picosecond after the previous
    /// one.
    link: bool,
}

/// The frames that are sent within a synchronisation window, the length of the future window that is then added, and
/// the idle time. An even idle time means no idle time. An odd idle time has no effect if a later window has mail.
#[derive(Clone, Debug)]
struct Step {
    length: u64,
    sent: Vec<Sent>,
    idle: u64,
}

fn sent() -> impl Strategy<Value = Sent> {
    let after = prop_oneof![4 => 0u64..40, 3 => 0u64..400, 1 => 0u64..20_000];
    let kind =
        prop_oneof![6 => Just(FrameKind::Packet), 1 => Just(FrameKind::Pause), 1 => Just(FrameKind::Resume)];
    let count = prop_oneof![12 => 1u32..4, 2 => 4u32..40, 1 => 500u32..5_000];
    (0..THREADS, 0..NODES, after, 0u16..6, kind, any::<[bool; 2]>(), count).prop_map(
        |(thread, node, after, port, kind, [telemetry, link], count)| {
            let telemetry = telemetry && kind == FrameKind::Packet;
            let link = link && kind == FrameKind::Packet && !telemetry;
            Sent { thread, node, after, port, kind, telemetry, count, link }
        },
    )
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (1u64..60, prop::collection::vec(sent(), 0..8), 0u64..100_000)
        .prop_map(|(length, sent, idle)| Step { length, sent, idle });
    prop::collection::vec(step, 1..30)
}

/// The expected arrivals, sorted by node and then in order of arrival. Each has its frame's number, the sending thread,
/// and whether it has telemetry.
type Listed = BTreeMap<(u32, u64, bool, u16), (u32, usize, bool)>;

/// A telemetry record that identifies its frame.
fn record(number: u32) -> IntStack {
    let mut stack = IntStack::EMPTY;
    let hop = IntHop { queue_bytes: number, tx_bytes: 0, at: Time(1), rate: Rate::from_gbps(1) };
    stack.push(LinkId(number), hop);
    stack
}

/// The egress port of a packet at any node, out of three ports. Some packets have none.
fn egress(arrival: &Arrival) -> Option<u16> {
    let egress = (arrival.frame.packet.qp.0 % 7) as u16 / 2;
    (arrival.frame.kind == FrameKind::Packet && egress < 3).then_some(egress)
}

/// Mail as in the engine: slots for each thread and synchronisation window, and arrivals over long links.
struct TestMail {
    mail: Vec<Vec<WindowMail>>,
    free: Vec<Blocks>,
    far: Vec<FarArrival>,
    number: u64,
    start: u64,
    ends: Vec<u64>,
    listed: Listed,
    numbers: u32,
}

impl TestMail {
    fn new(ahead: usize) -> Self {
        let slots = || (0..=ahead).map(|_| WindowMail::new(NODES as usize)).collect();
        TestMail {
            mail: (0..THREADS).map(|_| slots()).collect(),
            free: (0..THREADS).map(|_| Blocks::default()).collect(),
            far: Vec::new(),
            number: 0,
            start: 0,
            ends: vec![0; ahead + 1],
            listed: BTreeMap::new(),
            numbers: 0,
        }
    }

    fn index(&self, ahead: usize) -> usize {
        ((self.number + ahead as u64) % self.ends.len() as u64) as usize
    }

    /// Advances to the next synchronisation window, and adds one of `length` ps after the last future one.
    fn advance(&mut self, length: u64) {
        self.number += 1;
        self.start = self.ends.remove(0);
        let last = self.ends.last().copied().unwrap_or(self.start);
        self.ends.push(last + length);
    }

    fn send(&mut self, sent: &[Sent]) {
        for thread in 0..THREADS {
            let indexes: Vec<usize> = (1..self.ends.len()).map(|ahead| self.index(ahead)).collect();
            let take = |index: &usize| std::mem::take(&mut self.mail[thread][*index]);
            let mut slots: Vec<WindowMail> = indexes.iter().map(take).collect();
            for (ahead, slot) in (1..).zip(&mut slots) {
                slot.reuse_for(self.number + ahead, &mut self.free[thread]);
            }
            let ends: Vec<Time> = self.ends.iter().map(|end| Time(*end)).collect();
            let room = (&mut self.far, &mut self.free[thread]);
            let (mut out, mut mail) =
                (Outbox::new(&ends, slots.iter_mut().collect(), room), LinkMail::default());
            for sent in sent.iter().filter(|sent| sent.thread == thread) {
                for each in 0..sent.count {
                    let (later, ports) = if sent.link { (each, 0) } else { (each / 64, each % 64) };
                    let time = self.ends[0] + sent.after + u64::from(later);
                    // A port has one link, and so one sender.
                    let port = (sent.port + ports as u16) * THREADS as u16 + thread as u16;
                    let is_packet = sent.kind == FrameKind::Packet;
                    let key = (sent.node, time, is_packet, port);
                    if self.listed.contains_key(&key) {
                        continue;
                    }
                    self.numbers += 1;
                    self.listed.insert(key, (self.numbers, thread, sent.telemetry));
                    let packet = Packet::new(QpId(self.numbers), HostId(0), Repr::Cnp).with_bytes(64);
                    let (node, time) = (NodeId(sent.node), Time(time));
                    match (is_packet, sent.telemetry) {
                        (true, false) if sent.link => mail.send((node, port), time, &packet, &mut out),
                        (true, false) => out.send_packet(node, time, &packet, port),
                        _ => {
                            let frame = Frame { packet, telemetry: 0, port, kind: sent.kind };
                            let stack = sent.telemetry.then(|| record(self.numbers));
                            out.send(node, Arrival { time, frame }, stack.as_ref());
                        }
                    }
                }
                mail.finish(&mut out);
            }
            drop(out);
            for (index, slot) in indexes.into_iter().zip(slots) {
                self.mail[thread][index] = slot;
            }
        }
    }

    /// Compares the number of packets in later windows with the list, both in total and from a given time on.
    fn count(&self, from: u64) -> Result<(), TestCaseError> {
        let far: BTreeSet<u32> = self.far.iter().map(|far| far.arrival.frame.packet.qp.0).collect();
        for ahead in 1..self.ends.len() {
            let window = self.number + ahead as u64;
            let span = self.ends[ahead - 1]..self.ends[ahead];
            for (thread, slots) in self.mail.iter().enumerate() {
                let slot = &slots[self.index(ahead)];
                let its = self.listed.iter().filter(|((_, time, ..), (number, by, _))| {
                    span.contains(time) && *by == thread && !far.contains(number)
                });
                let times: Vec<(u64, bool)> = its.map(|((_, time, packet, _), _)| (*time, *packet)).collect();
                let packets =
                    |from: u64| times.iter().filter(|(time, packet)| *packet && *time >= from).count() as u64;
                prop_assert_eq!(slot.packets(window), packets(0));
                for from in [from, span.start, span.end, times.first().map_or(0, |(time, _)| *time)] {
                    prop_assert_eq!(slot.packets_from(window, Time(from)), packets(from));
                }
                prop_assert_eq!(slot.is_empty(window), times.is_empty());
                // A slot has no frames of other windows.
                let other = window + self.ends.len() as u64;
                prop_assert!(slot.is_empty(other) && slot.packets(other) == 0);
                prop_assert_eq!(slot.packets_from(other, Time(0)), 0);
            }
        }
        Ok(())
    }

    /// Opens the inbox of every node for the present synchronisation window, and compares it with the list.
    fn receive(&mut self) -> Result<(), TestCaseError> {
        let end = self.ends[0];
        let (mut due, later): (Vec<FarArrival>, Vec<FarArrival>) =
            std::mem::take(&mut self.far).into_iter().partition(|far| far.arrival.time.0 < end);
        self.far = later;
        due.sort_by_key(|far| (far.node, far.arrival.time));
        let slots: Vec<&WindowMail> = self.mail.iter().map(|slots| &slots[self.index(0)]).collect();
        let sources = Sources { slots: &slots, window: self.number, order: None };
        let mut called: BTreeSet<u32> = sources.touched().map(|node| node.0).collect();
        called.extend(due.iter().map(|far| far.node.0));
        let mut inbox = Inbox::default();
        let mut came = BTreeSet::new();
        for node in 0..NODES {
            let first = due.partition_point(|far| far.node.0 < node);
            let far = &due[first..due.partition_point(|far| far.node.0 <= node)];
            let calls = std::cell::Cell::new(0);
            inbox.open(&sources, NodeId(node), Time(self.start), far, |_| calls.set(calls.get() + 1));
            let mut count = 0;
            let mut by_port = PortInbox::default();
            by_port.open(&sources, (NodeId(node), 3), (Time(self.start), Time(end)), far, egress);
            let mut ports: BTreeMap<u16, Vec<(u64, u16)>> = BTreeMap::new();
            let until = (node, end, false, 0);
            let due: Vec<_> = self.listed.range((node, 0, false, 0)..until).map(|(a, b)| (*a, *b)).collect();
            for (key, (number, _, telemetry)) in due {
                let (_, time, is_packet, port) = key;
                let kind = if is_packet { event_kind::ARRIVAL } else { event_kind::PAUSE };
                prop_assert!(time >= self.start);
                prop_assert_eq!(inbox.next(), Order::new(Time(time), kind));
                let (arrival, stack) = inbox.take(&sources, far);
                prop_assert_eq!(arrival.frame.packet.qp.0, number);
                prop_assert_eq!((arrival.time.0, arrival.frame.port), (time, port));
                prop_assert_eq!(arrival.frame.kind == FrameKind::Packet, is_packet);
                prop_assert_eq!(stack.copied(), telemetry.then(|| record(number)));
                if let Some(egress) = egress(arrival) {
                    ports.entry(egress).or_default().push((time, port));
                }
                self.listed.remove(&key);
                came.insert(node);
                count += 1;
            }
            let arrival = |entry: &Entry<'_>| {
                let number = entry.arrival.frame.packet.qp.0;
                let is_its = entry.telemetry(&sources, far).is_none_or(|stack| *stack == record(number));
                assert!(is_its, "the telemetry of another packet");
                (entry.arrival.time.0, entry.arrival.frame.port)
            };
            let of_ports = by_port.ports().map(|(port, its)| (port, its.iter().map(arrival).collect()));
            prop_assert_eq!(of_ports.collect::<BTreeMap<_, _>>(), ports);
            prop_assert_eq!(inbox.next(), Order::NEVER, "more than was sent");
            prop_assert_eq!(calls.get(), count);
        }
        prop_assert_eq!(called, came);
        Ok(())
    }

    /// Whether any later synchronisation window that has slots has mail.
    fn has_mail(&self) -> bool {
        let empty = |ahead: usize| {
            let window = self.number + ahead as u64;
            self.mail.iter().all(|slots| slots[self.index(ahead)].is_empty(window))
        };
        !(1..self.ends.len()).all(empty)
    }

    /// Jumps to the first arrival over a long link, or to `otherwise` if there is none. No later synchronisation
    /// window may have mail.
    fn jump(&mut self, otherwise: u64, length: u64) {
        let first = self.far.iter().map(|far| far.arrival.time.0).min().unwrap_or(otherwise);
        let first = first.max(self.ends[0]);
        // Before the engine jumps, it advances past all windows that have slots, which increases the window number.
        self.number += self.ends.len() as u64;
        self.ends.fill(first);
        (0..self.ends.len()).for_each(|_| self.advance(length));
        self.start = first;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// The windows have any lengths, there are gaps between them, and slots are reused.
    #[test]
    fn what_was_sent_comes_in_once_and_in_order(
        ahead in 1usize..=MAX_WINDOWS_AHEAD, from in 0u64..2_000, steps in steps(),
    ) {
        let mut post = TestMail::new(ahead);
        (0..=ahead).for_each(|_| post.advance(7));
        for Step { length, sent, idle } in steps {
            post.receive()?;
            post.send(&sent);
            post.count(from)?;
            match post.has_mail() || idle % 2 == 0 {
                true => post.advance(length),
                false => post.jump(post.ends[0] + idle, length),
            }
        }
        while !post.listed.is_empty() {
            post.receive()?;
            // Slots without new frames are reused as well.
            post.send(&[]);
            match post.has_mail() {
                true => post.advance(50),
                false => post.jump(0, 50),
            }
        }
        prop_assert!(post.far.is_empty());
    }
}
