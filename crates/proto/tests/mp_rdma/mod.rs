//! Sender and receiver of `mp-rdma`, tested call by call.

mod paths;
mod receiver;
mod recovery;
mod sender;
mod window;

use crate::support::{ENDS, ids, us, wide_facts};
use anabranch_base::{Bytes, Duration, MessageId, Purpose, Time, stream};
use anabranch_proto::cc::{CcConfig, MpRdmaCcConfig};
use anabranch_proto::lb::{AnyLb, Environment, LbConfig, MpRdmaLbConfig};
use anabranch_proto::transport::{MpRdmaConfig, MpRdmaSender, Sender as _};
use anabranch_proto::{Packet, PathFacts, Repr, Size, Span};

const ACK: u16 = 64;
const PATHS: u32 = 10_000;

const FACTS: PathFacts = wide_facts(1_000);

/// Packets of 1,000 B, of which 64 B are headers. `delta` and `bitmap` (L) have the values of the paper's simulations.
fn config() -> MpRdmaConfig {
    MpRdmaConfig {
        payload: Bytes(936),
        header: Bytes(64),
        ack: Bytes(64),
        delta: 32,
        bitmap: 64,
        restart_after: Span::Time(Duration::from_us(500)),
        rto: Span::Time(Duration::from_us(100)),
    }
}

fn paths(probe: f64) -> AnyLb {
    let environment = Environment { facts: FACTS, rto: Duration::from_us(100), trimming: false };
    let config = MpRdmaLbConfig { paths: PATHS, probe, probe_interval: Span::Rtt(1.0) };
    LbConfig::MpRdma(config).build(&environment, stream(1, 0, Purpose::LoadBalancer))
}

/// A sender that starts with a window of `window` packets.
fn sender(window: f64) -> MpRdmaSender {
    let cc = CcConfig::MpRdma(MpRdmaCcConfig {
        initial_window: Size::Packets(window),
        max_window: Size::Packets(1_000.0),
    });
    MpRdmaSender::new(&config(), &FACTS, ENDS, cc.build(&FACTS), paths(0.0))
}

fn post(sender: &mut MpRdmaSender, packets: u64) {
    sender.post(MessageId(1), packets * 936).unwrap();
}

/// The PSNs that are sent now, each with its path.
fn send(sender: &mut MpRdmaSender, now: Time) -> Vec<(u32, u16)> {
    std::iter::from_fn(|| sender.poll_transmit(now))
        .map(|packet| match packet.repr {
            Repr::Data { psn, sent_at, ack_now: true, stamps: 0, .. } => {
                assert_eq!((packet.qp, packet.dst), (ENDS.qp, ENDS.dst));
                assert_eq!((packet.marked, packet.tag, sent_at), (false, 0, now));
                (psn, packet.ev)
            }
            other => panic!("{other:?}"),
        })
        .collect()
}

fn burst(sender: &mut MpRdmaSender, now: Time) -> Vec<u32> {
    send(sender, now).into_iter().map(|(psn, _)| psn).collect()
}

fn answer(sender: &mut MpRdmaSender, now: Time, ev: u16, repr: Repr) {
    let packet = Packet::new(ENDS.qp, ENDS.src, repr).with_bytes(ACK).with_ev(ev);
    sender.handle_packet(now, &packet);
}

/// The ACK of `psn`, which was sent at time 0. Every PSN below `cumulative` has arrived.
fn ack(psn: u32, cumulative: u32) -> Repr {
    Repr::ack(cumulative).with_received(psn, 1)
}

/// The ACK of a copy of `psn` that was sent at `sent_at`.
fn ack_of(psn: u32, cumulative: u32, sent_at: Time) -> Repr {
    Repr::ack(cumulative).with_received(psn, 1).with_sent_at(sent_at)
}

fn marked(psn: u32, cumulative: u32) -> Repr {
    Repr::ack(cumulative).with_received(psn, 1).with_mark(true)
}

fn nack(psn: u32, sent_at: Time) -> Repr {
    Repr::nack(psn).with_sent_at(sent_at)
}

fn psns(range: std::ops::Range<u32>) -> Vec<u32> {
    range.collect()
}
