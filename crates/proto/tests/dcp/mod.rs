//! DCP's sender and receiver, tested call by call (sections 4.3 to 4.5).

mod batches;
mod receiver;
mod reception;
mod sender;
mod timeouts;
mod turns;

use crate::support::{ENDS, ids, us, wide_facts};
use anabranch_base::{Bytes, Duration, MessageId, Rate, Time};
use anabranch_proto::cc::{AnyCc, CongestionControl};
use anabranch_proto::lb::AnyLb;
use anabranch_proto::transport::{DcpConfig, DcpSender, Sender as _};
use anabranch_proto::{Msn, Packet, PathFacts, Repr, Span, TransportConfig};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const ACK: u16 = 64;
const HEADER: u16 = 57;
const PAYLOAD: u64 = 1_000;
/// Size of a full packet in bytes.
const PACKET: u64 = 1_057;
const HUGE: u64 = 1 << 40;
const RTO: Duration = Duration::from_us(4_000);

const FACTS: PathFacts = wide_facts(PACKET);

/// Counter, tracking, quota and batch have the paper's sizes.
fn config() -> DcpConfig {
    DcpConfig {
        payload: Bytes(PAYLOAD),
        header: Bytes(HEADER.into()),
        ack: Bytes(ACK.into()),
        counter_bits: 14,
        tracked_messages: 8,
        round_quota: Bytes(16_000),
        batch: 16,
        pcie: Span::Time(Duration::ZERO),
        cnp_interval: Span::Time(Duration::from_us(50)),
        trims_as_marks: false,
        rto: Span::Time(RTO),
    }
}

fn ack(cumulative: u32) -> Repr {
    Repr::ack(cumulative)
}

fn header_only(psn: u32, number: u32, retry: u8) -> Repr {
    Repr::header_only(psn).with_msn(Msn::new(number, retry))
}

fn sender(config: DcpConfig) -> DcpSender {
    windowed(config, HUGE)
}

fn windowed(config: DcpConfig, window: u64) -> DcpSender {
    DcpSender::new(&config, &FACTS, ENDS, AnyCc::constant(window), AnyLb::ecmp(9))
}

/// A window that a test can change.
struct Closing(Arc<AtomicU64>);

impl CongestionControl for Closing {
    fn window(&self) -> u64 {
        self.0.load(Relaxed)
    }
    fn paces(&self) -> bool {
        false
    }
}

/// A sender whose window is huge until the test changes it.
fn closing(config: DcpConfig) -> (DcpSender, Arc<AtomicU64>) {
    let now = Arc::new(AtomicU64::new(HUGE));
    let cc = AnyCc::Custom(Box::new(Closing(now.clone())));
    (DcpSender::new(&config, &FACTS, ENDS, cc, AnyLb::ecmp(9)), now)
}

/// The window is huge while the sender is built, so that its requests are as long as the counter permits. Then the
/// window becomes `window`.
fn narrowed(config: DcpConfig, window: u64) -> DcpSender {
    let (sender, now) = closing(config);
    now.store(window, Relaxed);
    sender
}

/// Posts messages with these numbers of packets. The ids of the messages are 10, 11 and so on.
fn post<const N: usize>(sender: &mut DcpSender, packets: [u64; N]) {
    for (id, packets) in (10..).zip(packets) {
        sender.post(MessageId(id), packets * PAYLOAD).unwrap();
    }
}

fn answer(sender: &mut DcpSender, now: Time, repr: Repr) {
    let packet = Packet::new(ENDS.qp, ENDS.src, repr).with_bytes(ACK).with_ev(9);
    sender.handle_packet(now, &packet);
}

/// The PSN, MSN and sRetryNo of each packet that is sent now.
fn send(sender: &mut DcpSender, now: Time) -> Vec<(u32, u32, u8)> {
    std::iter::from_fn(|| sender.poll_transmit(now))
        .map(|packet| match packet.repr {
            Repr::Data { psn, sent_at, msn, stamps: 0, .. } => {
                assert_eq!((packet.qp, packet.dst, packet.ev), (ENDS.qp, ENDS.dst, 9));
                assert_eq!((packet.marked, packet.tag, sent_at), (false, 0, now));
                (psn, msn.number(), msn.retry())
            }
            other => panic!("{other:?}"),
        })
        .collect()
}

fn psns(sender: &mut DcpSender, now: Time) -> Vec<u32> {
    send(sender, now).into_iter().map(|(psn, ..)| psn).collect()
}

fn acknowledged(sender: &mut DcpSender) -> Vec<u32> {
    ids(std::iter::from_fn(|| sender.poll_acknowledged()))
}

fn range(range: std::ops::Range<u32>) -> Vec<u32> {
    range.collect()
}

/// Section 4.5: the tracking takes two bytes per message. Table 3: a queue pair takes 32 B, of which the text accounts
/// for 24 B.
#[test]
fn state_in_bits() {
    let state = config().state();
    let bits = |names: &[&str]| -> u32 {
        let named = state.iter().filter(|field| names.contains(&field.name));
        named.map(|field| field.bits * field.count).sum()
    };
    assert_eq!(bits(&["packet counter", "mcf", "Cf"]), 8 * 2 * 8);
    assert_eq!(bits(&["eMSN", "rRetryNo", "unaMSN", "sRetryNo"]), 8 * 8);
    assert_eq!(state.iter().map(|field| field.bits * field.count).sum::<u32>(), 24 * 8);
}

#[test]
fn both_ends_behind_the_common_interface() {
    let transport = TransportConfig::Dcp(config());
    assert_eq!((transport.rto(), transport.framing().header), (Span::Time(RTO), Bytes(57)));
    let mut sender = transport.build_sender(ENDS, &FACTS, AnyCc::constant(HUGE), AnyLb::ecmp(9));
    let mut receiver = transport.build_receiver(ENDS, &FACTS);
    for id in 10..13 {
        sender.post(MessageId(id), PAYLOAD).unwrap();
    }
    let [first, second, third] = [true, true, false].map(|goes_on| {
        let packet = sender.poll_transmit(us(0)).unwrap();
        assert_eq!(sender.holds_turn(), goes_on);
        packet
    });
    assert_eq!(receiver.handle_packet(us(1), &third), None);
    assert_eq!(receiver.handle_packet(us(1), &second), None);
    assert_eq!(receiver.poll_transmit(), None);
    let delivered = receiver.handle_packet(us(1), &first);
    let answer = receiver.poll_transmit().unwrap();
    assert_eq!((answer.repr, receiver.poll_transmit()), (ack(3), None));
    let others = std::iter::from_fn(|| receiver.poll_delivered());
    assert_eq!(ids(delivered.into_iter().chain(others)), [10, 11, 12]);
    sender.handle_packet(us(2), &answer);
    assert_eq!(ids(std::iter::from_fn(|| sender.poll_acknowledged())), [10, 11, 12]);
    assert_eq!((sender.next_timeout(), sender.paces()), (None, false));
}
