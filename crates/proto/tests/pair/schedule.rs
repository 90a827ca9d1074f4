//! The schedule of a run, and its random generation.

use crate::pair::run::{Receiving, Sending};
use anabranch_base::{Bytes, Duration, HostId, MessageId, Purpose, QpId, Rate, Stream, Time, stream};
use anabranch_proto::lb::{AnyLb, Environment, LbConfig};
use anabranch_proto::transport::{self, Headers};
use anabranch_proto::{Packet, PathFacts, Repr};
use proptest::prelude::*;
use std::fmt::Debug;

pub const QP: QpId = QpId(3);
pub const SENDER: HostId = HostId(5);
pub const RECEIVER: HostId = HostId(8);
pub const ENDS: transport::Ends = transport::Ends { qp: QP, src: SENDER, dst: RECEIVER };

pub const PAYLOAD: u64 = 1000;
pub const HEADER: u64 = 64;
pub const PACKET: u64 = PAYLOAD + HEADER;
pub const ACK: u64 = 64;

/// A run: the messages that are posted, the parameters of sender and receiver, and the behaviour of the path.
#[derive(Clone, Debug)]
pub struct Schedule<E> {
    pub messages: Vec<Post>,
    pub ends: E,
    /// The delay with which the sender's timer fires. Several packets may be overdue by then.
    pub timer_lag: Duration,
    pub path: Path,
}

/// The parameters of a transport's sender and receiver.
pub trait Ends: Clone + Debug {
    type Sender: Sending;
    type Receiver: Receiving;
    /// The headers with which the packets are encoded as bytes.
    const HEADERS: Headers;
    fn build(schedule: &Schedule<Self>) -> (Self::Sender, Self::Receiver);
    /// The time by which everything must be acknowledged.
    fn deadline(schedule: &Schedule<Self>) -> Time;
}

#[derive(Clone, Debug)]
pub struct Post {
    pub at: Time,
    pub packets: u32,
    /// Payload in bytes of the last packet. Only a message of a single packet may have 0 here.
    pub last_payload: u64,
}

/// The path between the sender and the receiver. The sender's wire takes one packet at a time.
#[derive(Clone, Debug)]
pub struct Path {
    /// The serialisation time of a packet on the sender's wire.
    pub wire: Duration,
    pub data_delay: Duration,
    pub ack_delay: Duration,
    /// The largest additional delay of a packet, which lets packets overtake each other.
    pub jitter: Duration,
    /// Whether packets keep their order. A packet that would overtake another then waits for it.
    pub in_order: bool,
    pub faults: Faults,
    pub seed: u64,
}

#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// The probabilities below apply to packets that are sent before this time.
    pub until: Time,
    /// This probability and the next four are in units of 1/256.
    pub data_loss: u32,
    pub ack_loss: u32,
    pub duplication: u32,
    pub trimming: u32,
    pub marking: u32,
    /// The times at which the link goes down, and the durations for which it is down. All packets that are on the link
    /// meanwhile are lost.
    pub downs: Vec<(Time, Duration)>,
    /// The numbers of the sender's packets that are lost at any time. Every transmission counts, retransmissions too,
    /// and the first has number 1.
    pub dropped: Vec<u64>,
}

/// The content of the packet with some PSN.
#[derive(Clone, Copy, Debug)]
pub struct Planned {
    pub message: usize,
    /// Number of packets of `message`.
    pub of: u32,
    pub is_last: bool,
    /// Size on the wire.
    pub bytes: u64,
}

impl Post {
    pub fn bytes(&self) -> u64 {
        u64::from(self.packets - 1) * PAYLOAD + self.last_payload
    }
}

/// Checks that a packet is data with the content of its PSN, and is sent now. Returns the PSN, its planned content, and
/// whether the packet requests an ACK.
pub fn check_data(
    planned: &[Planned],
    now: Time,
    packet: &Packet,
) -> Result<(u32, Planned, bool), TestCaseError> {
    let Repr::Data { psn, message, message_packets, sent_at, ack_now, .. } = packet.repr else {
        return Err(TestCaseError::fail("a sender sent non-data packets"));
    };
    let known = planned[psn as usize];
    prop_assert_eq!(u64::from(packet.wire_bytes), known.bytes);
    prop_assert_eq!((message, message_packets), (message_id(known.message), known.of));
    prop_assert_eq!((packet.qp, packet.dst, sent_at, packet.marked), (QP, RECEIVER, now, false));
    Ok((psn, known, ack_now))
}

/// Checks that a packet that is sent now follows the last one by at least the serialisation time of the last one.
pub fn check_gap(line_rate: Rate, now: Time, last: Option<(Time, u64)>) -> Result<(), TestCaseError> {
    if let Some((last, bytes)) = last {
        let gap = line_rate.time_for(bytes);
        prop_assert!(now >= last + gap, "it left {} after {bytes} B", now.since(last));
    }
    Ok(())
}

/// The messages whose last packet is among these packets.
pub fn whole(arrived: &[Planned]) -> Vec<usize> {
    arrived.iter().filter(|planned| planned.is_last).map(|planned| planned.message).collect()
}

impl<E> Schedule<E> {
    pub fn packets(&self) -> u64 {
        self.messages.iter().map(|message| u64::from(message.packets)).sum()
    }

    /// The content of each PSN, for a sender that numbers packets in the order of posting.
    pub fn planned(&self) -> Vec<Planned> {
        let mut order: Vec<usize> = (0..self.messages.len()).collect();
        order.sort_by_key(|&message| self.messages[message].at);
        let packets = order.into_iter().flat_map(|message| {
            let Post { packets: of, last_payload, .. } = self.messages[message];
            (1..=of).map(move |i| {
                let is_last = i == of;
                Planned { message, of, is_last, bytes: HEADER + if is_last { last_payload } else { PAYLOAD } }
            })
        });
        packets.collect()
    }

    /// The time from which all messages are posted, the link stays up, and the fault probabilities no longer apply.
    pub fn quiet_from(&self) -> Time {
        let posts = self.messages.iter().map(|message| message.at);
        let downs = self.path.faults.downs.iter().map(|&(at, span)| at + span);
        posts.chain(downs).fold(self.path.faults.until, Time::max)
    }
}

impl Path {
    /// The path facts for a link that is `slower` times slower than the wire.
    pub fn facts_at(&self, slower: u64) -> PathFacts {
        let facts = self.facts();
        let rate = Rate(facts.line_rate.0 / slower);
        PathFacts { line_rate: rate, port_rate: rate, ..facts }
    }

    /// A sender's load balancer on this path, which always draws the same random numbers.
    pub fn lb(&self, config: &LbConfig, environment: &Environment) -> AnyLb {
        config.build(environment, stream(self.seed, 0, Purpose::LoadBalancer))
    }

    pub fn longest_round(&self) -> Duration {
        self.data_delay + self.ack_delay + self.jitter * 2
    }

    /// The facts about the path without jitter and network faults. The line rate is the rate of the wire.
    pub fn facts(&self) -> PathFacts {
        let base_rtt = self.wire + self.data_delay + self.ack_delay;
        let line_rate = Rate(PACKET * 8 * 1_000_000_000_000 / self.wire.0);
        PathFacts {
            base_rtt,
            bdp: Bytes(100 * PACKET),
            packet: Bytes(PACKET),
            line_rate,
            port_rate: line_rate,
            queue: Bytes(1_000_000),
        }
    }

    /// The random stream that decides about the `nth` packet in one direction.
    pub fn fate(&self, forth: bool, nth: u64) -> Stream {
        stream(self.seed, nth << 1 | u64::from(forth), Purpose::Model)
    }

    /// Whether the link is down at any time from `from` to `to`.
    pub fn is_cut(&self, from: Time, to: Time) -> bool {
        self.faults.downs.iter().any(|&(at, span)| from < at + span && at <= to)
    }
}

/// One message over a path that only delays packets.
pub fn calm_schedule<E>(packets: u32, ends: E) -> Schedule<E> {
    Schedule {
        messages: vec![Post { at: Time::ZERO, packets, last_payload: PAYLOAD }],
        ends,
        timer_lag: Duration::ZERO,
        path: Path {
            wire: Duration::from_ns(100),
            data_delay: Duration::from_us(4),
            ack_delay: Duration::from_us(4),
            jitter: Duration::ZERO,
            in_order: false,
            faults: Faults::default(),
            seed: 1,
        },
    }
}

pub fn messages() -> impl Strategy<Value = Vec<Post>> {
    let packets = prop_oneof![1 => Just(1), 1 => 1u32..5, 4 => 1u32..=200];
    let last = prop_oneof![4 => 0..=PAYLOAD, 1 => Just(1), 1 => Just(PAYLOAD)];
    let message = (us(0..300), packets, last).prop_map(|(after, packets, last)| Post {
        at: Time::ZERO + after,
        packets,
        last_payload: if packets == 1 { last } else { last.max(1) },
    });
    prop::collection::vec(message, 1..=5)
}

pub fn ack_every() -> impl Strategy<Value = u32> {
    prop_oneof![Just(1), Just(2), Just(4), Just(16), Just(100)]
}

pub fn window() -> impl Strategy<Value = u64> {
    prop_oneof![1 => 1..=PACKET, 4 => 1..16 * PACKET, 4 => 1..64 * PACKET, 4 => 64 * PACKET..1000 * PACKET]
}

pub fn rto() -> impl Strategy<Value = Duration> {
    prop_oneof![3 => us(20..200), 1 => us(2..20)]
}

pub fn timer_lag() -> impl Strategy<Value = Duration> {
    prop_oneof![Just(Duration::ZERO), ns(1..5_000)]
}

pub fn path() -> impl Strategy<Value = Path> {
    let delays =
        (ns(50..500), ns(0..20_000), ns(0..20_000), prop_oneof![Just(Duration::ZERO), ns(0..30_000)]);
    (delays, any::<u64>()).prop_map(|((wire, data_delay, ack_delay, jitter), seed)| Path {
        wire,
        data_delay,
        ack_delay,
        jitter,
        in_order: false,
        faults: Faults::default(),
        seed,
    })
}

pub fn faults() -> impl Strategy<Value = Faults> {
    let down = (us(0..400), us(1..150)).prop_map(|(at, span)| (Time::ZERO + at, span));
    let chances = (chance(), chance(), chance(), chance(), chance());
    (chances, us(0..400), prop::collection::vec(down, 0..=2)).prop_map(
        |((data_loss, ack_loss, duplication, trimming, marking), until, downs)| Faults {
            until: Time::ZERO + until,
            data_loss,
            ack_loss,
            duplication,
            trimming,
            marking,
            downs,
            dropped: Vec::new(),
        },
    )
}

pub fn chance() -> impl Strategy<Value = u32> {
    prop_oneof![3 => Just(0), 3 => 0u32..26, 1 => 26u32..200]
}

pub fn us(range: std::ops::Range<u64>) -> impl Strategy<Value = Duration> {
    range.prop_map(Duration::from_us)
}

pub fn ns(range: std::ops::Range<u64>) -> impl Strategy<Value = Duration> {
    range.prop_map(Duration::from_ns)
}

/// The id of the message with this index in the schedule. It differs from the index, so that a mix-up is noticed.
pub fn message_id(index: usize) -> MessageId {
    MessageId(1000 - 7 * index as u32)
}
