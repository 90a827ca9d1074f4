//! The recirculation port, compared with closed formulas and with a simple simulation of every dummy.

use crate::themis_longhaul::trp::data;
use anabranch_base::{Bytes, Duration, Rate, Time};
use anabranch_proto::Packet;
use anabranch_proto::program::themis_longhaul::{LoopingPacket, Recirculation};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// A byte takes 5 ps at this rate.
const RATE: Rate = Rate(1_600_000_000_000);
const LATENCY: Duration = Duration::from_ns(100);

fn port(dummies: u32, dummy_bytes: u64) -> Recirculation {
    Recirculation::new(RATE, LATENCY, dummies, Bytes(dummy_bytes))
}

fn looping(psn: u32, bytes: u16, loops: u8) -> LoopingPacket {
    let packet = Packet { wire_bytes: bytes, ..data(0, psn) };
    LoopingPacket { packet, loops }
}

/// The first `count` return times of a packet that joins at `at` and joins again whenever it returns.
fn returns(port: &mut Recirculation, at: Time, bytes: u16, count: usize) -> Vec<Time> {
    port.join(at, looping(0, bytes, 1));
    let turn = |_| {
        let (time, looping) = port.pop_returned().expect("it is in the port");
        port.join(time, looping);
        time
    };
    (0..count).map(turn).collect()
}

#[test]
fn an_empty_port_takes_105_ns() {
    let mut port = port(0, 1_500);
    assert_eq!(port.next_return(), None);
    let pass = Duration(105_240);
    let start = Time(7);
    assert_eq!(returns(&mut port, start, 1_048, 3), [1, 2, 3].map(|n| start + pass * n));
}

#[test]
fn packets_queue_behind_each_other() {
    let mut port = port(0, 1_500);
    (0..3).for_each(|psn| port.join(Time(0), looping(psn, 1_000, 1)));
    assert_eq!((port.bytes(), port.max_bytes()), (3_000, 3_000));
    for n in 1..=3 {
        let due = Time(n * 5_000 + 100_000);
        assert_eq!(port.next_return(), Some(due));
        assert_eq!(port.pop_returned().map(|(at, _)| at), Some(due));
        assert_eq!((port.bytes(), port.max_bytes()), (3_000 - n * 1_000, 3_000));
    }
    assert_eq!(port.pop_returned(), None);
}

/// 40 dummies of 1000 B take 200 ns at the port's rate, which is more than the link's 100 ns. The queue is therefore
/// never empty, and a packet is served once in 41 services.
#[test]
fn many_dummies_make_a_pass_as_long_as_all_of_them_take() {
    let mut port = port(40, 1_000);
    let times = returns(&mut port, Time(1_000_000_000), 1_000, 20);
    let gaps: BTreeSet<u64> = times.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    assert_eq!(gaps, BTreeSet::from([41 * 5_000]));
    // The packet waits for the dummies in the queue. Of the 40, about 20 are on the link and do not count.
    let first = times[0].0 - 1_000_000_000;
    assert!((200_000..=205_000).contains(&first), "{first}");
}

/// 4 dummies have 6 KB, and the link holds 20 KB. A packet takes 105 ns per pass, or 107.5 ns once it is right behind a
/// dummy. Its first pass takes longer if dummies are in the queue.
#[test]
fn few_dummies_are_hardly_in_the_way() {
    let mut port = port(4, 1_500);
    let times = returns(&mut port, Time(1_000_000_000), 1_048, 20);
    let gaps: Vec<u64> = times.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    assert!(gaps.iter().all(|gap| (105_240..=107_500).contains(gap)), "{gaps:?}");
    let first = times[0].0 - 1_000_000_000;
    assert!((105_240..=105_240 + 4 * 7_500).contains(&first), "{first}");
}

#[test]
#[should_panic(expected = "dummies of 0 bytes")]
fn dummies_have_a_size() {
    port(1, 0);
}

/// A port with arbitrary parameters, and the arrival, size and loops of each packet.
#[derive(Clone, Debug)]
struct Plan {
    latency: Duration,
    dummies: u32,
    dummy_bytes: u64,
    packets: Vec<(Time, u16, u8)>,
}

fn plans() -> impl Strategy<Value = Plan> {
    let gap = prop_oneof![Just(0), 0u64..20, 0u64..300_000, 0u64..50_000_000];
    let packet = (gap, 60u16..2_000, 1u8..6);
    let ring = (0u64..200, 0u32..30, 60u64..2_000);
    (ring, prop::collection::vec(packet, 1..30)).prop_map(|((ns, dummies, dummy_bytes), packets)| {
        let mut now = Time::ZERO;
        let packets = packets.into_iter().map(|(gap, bytes, loops)| {
            now += Duration(gap);
            (now, bytes, loops)
        });
        Plan { latency: Duration::from_ns(ns), dummies, dummy_bytes, packets: packets.collect() }
    })
}

/// The time at which each packet leaves, from a simulation of every pass of every dummy.
fn every_pass(plan: &Plan) -> Vec<Time> {
    /// The order of packets that join at the same time: dummies first, then returning packets, then new ones.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    enum Item {
        Dummy(u32),
        Back(usize, u8),
        New(usize),
    }
    let mut joins: BTreeSet<(Time, Item)> = BTreeSet::new();
    joins.extend((0..plan.dummies).map(|dummy| (Time::ZERO, Item::Dummy(dummy))));
    joins.extend(plan.packets.iter().enumerate().map(|(index, packet)| (packet.0, Item::New(index))));
    let mut left = vec![Time::NEVER; plan.packets.len()];
    let mut free_at = Time::ZERO;
    while left.contains(&Time::NEVER) {
        let (now, item) = joins.pop_first().expect("somebody is on the way");
        let bytes = match item {
            Item::Dummy(_) => plan.dummy_bytes,
            Item::Back(index, 0) => {
                left[index] = now;
                continue;
            }
            Item::New(index) | Item::Back(index, _) => plan.packets[index].1.into(),
        };
        free_at = free_at.max(now) + Duration(bytes * 5);
        let item = match item {
            Item::Dummy(_) => item,
            Item::New(index) => Item::Back(index, plan.packets[index].2 - 1),
            Item::Back(index, loops) => Item::Back(index, loops - 1),
        };
        joins.insert((free_at + plan.latency, item));
    }
    left
}

/// The time at which each packet leaves, from the port itself.
fn by_the_port(plan: &Plan) -> Vec<Time> {
    let mut port = Recirculation::new(RATE, plan.latency, plan.dummies, Bytes(plan.dummy_bytes));
    let mut left = vec![Time::NEVER; plan.packets.len()];
    let mut turn = |port: &mut Recirculation, until: Time| {
        while port.next_return().is_some_and(|due| due <= until) {
            let (now, mut looping) = port.pop_returned().expect("it is due");
            let psn = crate::themis_longhaul::trp::psn(&looping.packet);
            looping.loops -= 1;
            if looping.loops > 0 {
                port.join(now, looping);
            } else {
                left[psn as usize] = now;
            }
        }
    };
    for (index, &(now, bytes, loops)) in plan.packets.iter().enumerate() {
        turn(&mut port, now);
        port.join(now, looping(index as u32, bytes, loops));
    }
    turn(&mut port, Time(u64::MAX - 1));
    assert_eq!(port.bytes(), 0);
    left
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn dummies_that_nobody_simulates_are_where_they_would_be(plan in plans()) {
        prop_assert_eq!(by_the_port(&plan), every_pass(&plan));
    }
}
