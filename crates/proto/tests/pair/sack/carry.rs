//! ACKs that carry all entropy values (REPS, section 4.5.1, "ACK+Carry EVs").

use super::data;
use crate::pair::schedule::{ACK, ENDS, HEADER, PAYLOAD, message_id};
use anabranch_base::{Bytes, Duration, Rate, Time};
use anabranch_proto::cc::AnyCc;
use anabranch_proto::lb::{AnyLb, LoadBalancer};
use anabranch_proto::transport::{Receiver as _, SackConfig, SackReceiver, SackSender, Sender as _};
use anabranch_proto::{Packet, PathFacts, Span};
use std::sync::{Arc, Mutex};

/// The ACKs that a load balancer handled, each with its entropy value, mark and RTT in nanoseconds.
type Told = Arc<Mutex<Vec<(u16, bool, u64)>>>;

/// A load balancer whose entropy values count its packets, and which records ACKs.
struct Log {
    next: u16,
    told: Told,
}

impl LoadBalancer for Log {
    fn next_ev(&mut self, _now: Time, _window: u64) -> u16 {
        self.next += 1;
        self.next - 1
    }

    fn handle_ack(&mut self, _now: Time, ev: u16, marked: bool, rtt: Duration) {
        self.told.lock().unwrap().push((ev, marked, rtt.0 / 1_000));
    }
}

fn at(ns: u64) -> Time {
    Time::ZERO + Duration::from_ns(ns)
}

fn config(carry_evs: bool) -> SackConfig {
    SackConfig {
        payload: Bytes(PAYLOAD),
        header: Bytes(HEADER),
        ack: Bytes(ACK),
        ack_every: 4,
        carry_evs,
        rto: Span::Time(Duration::from_us(100)),
        inherits: Default::default(),
    }
}

/// A sender of `packets` packets, which were sent a nanosecond apart and have their PSNs as entropy values.
fn sender(carry_evs: bool, packets: u64) -> (SackSender, Vec<Packet>, Told) {
    let facts = PathFacts {
        base_rtt: Duration::from_us(8),
        bdp: Bytes(1 << 30),
        packet: Bytes(PAYLOAD + HEADER),
        line_rate: Rate::from_gbps(400),
        port_rate: Rate::from_gbps(400),
        queue: Bytes(1 << 30),
    };
    let told = Told::default();
    let lb = AnyLb::Custom(Box::new(Log { next: 0, told: told.clone() }));
    let mut sender = SackSender::new(&config(carry_evs), &facts, ENDS, AnyCc::constant(1 << 30), lb);
    sender.post(message_id(0), packets * PAYLOAD).unwrap();
    let sent = (0..packets).map(|n| sender.poll_transmit(at(n)).unwrap()).collect();
    (sender, sent, told)
}

/// The ACKs for packets that arrive in the order `order`. The packets in `marked` have a mark.
fn acks(carry_evs: bool, packets: &[Packet], order: &[usize], marked: &[usize]) -> Vec<Packet> {
    let mut receiver = SackReceiver::new(&config(carry_evs), ENDS);
    let mut answers = Vec::new();
    for &slot in order {
        let packet = packets[slot].with_mark(marked.contains(&slot));
        receiver.handle_packet(at(500), &packet);
        answers.extend(std::iter::from_fn(|| receiver.poll_transmit()));
    }
    answers
}

/// The calls of the load balancer when the ACKs of [`acks`], except those at the positions `lost`, arrive at 1000 ns.
fn heard(
    carry_evs: bool,
    packets: u64,
    order: &[usize],
    marked: &[usize],
    lost: &[usize],
) -> Vec<(u16, bool, u64)> {
    let (mut sender, sent, told) = sender(carry_evs, packets);
    let answers = acks(carry_evs, &sent, order, marked);
    for (slot, ack) in answers.iter().enumerate() {
        if !lost.contains(&slot) {
            sender.handle_packet(at(1_000), ack);
        }
    }
    told.lock().unwrap().clone()
}

#[test]
fn an_ack_brings_the_entropies_of_all_that_it_answers() {
    let order = [0, 2, 1, 3, 4, 5, 6, 7];
    let plain = heard(false, 100, &order, &[], &[]);
    assert_eq!(plain, [(3, false, 997), (7, false, 993)]);
    let carried = heard(true, 100, &order, &[], &[]);
    let evs: Vec<u16> = carried.iter().map(|told| told.0).collect();
    assert_eq!(evs, [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(carried[0], (0, false, 997), "the header brings no times: that of the cause");
}

/// A marked packet is acknowledged immediately, together with the unmarked packets before it.
#[test]
fn a_marked_packet_is_told_as_marked_and_those_before_it_are_not() {
    let carried = heard(true, 100, &[0, 1, 2, 3, 4, 5, 6], &[1, 2], &[]);
    assert_eq!(carried[..3], [(0, false, 999), (1, true, 999), (2, true, 998)]);
    assert_eq!(carried[3..].iter().map(|told| told.0).collect::<Vec<_>>(), [3, 4, 5, 6]);
}

/// Later ACKs do not repeat the entropy values of a lost ACK.
#[test]
fn a_lost_ack_takes_its_entropies_with_it() {
    let carried = heard(true, 100, &[0, 1, 2, 3, 4, 5, 6, 7], &[], &[0]);
    assert_eq!(carried.iter().map(|told| told.0).collect::<Vec<_>>(), [4, 5, 6, 7]);
}

/// An overtaken ACK carries its own entropies, and the ACK that overtook it carries none of them.
#[test]
fn each_entropy_comes_with_its_own_ack_alone() {
    let (mut sender, sent, told) = sender(true, 100);
    // PSNs 5 to 8 are missing, so that the cumulative PSN does not acknowledge PSNs 9 to 11.
    let answers = acks(true, &sent, &[0, 9, 2, 3, 1, 10, 4, 11], &[]);
    for ack in answers.iter().rev() {
        sender.handle_packet(at(1_000), ack);
    }
    let evs: Vec<u16> = told.lock().unwrap().iter().map(|told| told.0).collect();
    assert_eq!(evs, [1, 4, 10, 11, 0, 2, 9, 3]);
}

/// There are more packets than the sender had slots for initially.
#[test]
fn entropies_of_long_windows_are_remembered() {
    let order: Vec<usize> = (0..1_000).rev().collect();
    let mut evs: Vec<u16> = heard(true, 1_000, &order, &[], &[]).iter().map(|told| told.0).collect();
    evs.sort_unstable();
    assert_eq!(evs, (0..1_000).collect::<Vec<u16>>());
}

/// Each entropy value that an ACK carries in addition to its own takes 2 B.
#[test]
fn an_ack_is_as_long_as_what_it_brings() {
    let packets: Vec<Packet> = (0..100).map(data).collect();
    let bytes = |carry_evs, marked: &[usize]| -> Vec<u16> {
        acks(carry_evs, &packets, &[0, 1, 2, 3, 4, 5, 6, 7], marked)
            .iter()
            .map(|ack| ack.wire_bytes)
            .collect()
    };
    let ack = ACK as u16;
    assert_eq!(bytes(false, &[]), [ack, ack]);
    assert_eq!(bytes(true, &[]), [ack + 6, ack + 6]);
    assert_eq!(bytes(true, &[0, 2]), [ack, ack + 2, ack + 6]);
}
