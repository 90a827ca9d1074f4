//! The `sack` transport with a congestion control that sets a rate.

use super::*;
use anabranch_proto::transport::{Ends, SackConfig, SackSender, Sender as _};

/// 1,000 B take 80 ns at 100 Gb/s. The marked ACK takes the place of a CNP and halves the rate, so that 1,000 B take
/// 160 ns.
#[test]
fn packets_keep_their_distance_under_dcqcn() {
    let config = SackConfig {
        payload: Bytes(936),
        header: Bytes(64),
        ack: Bytes(64),
        ack_every: 1,
        carry_evs: false,
        rto: Span::Time(Duration::from_us(70)),
        inherits: Default::default(),
    };
    let cc = CcConfig::Dcqcn(DcqcnConfig { window: Size::Bdp(10.0), ..DcqcnConfig::paper() });
    let ends = Ends { qp: QpId(3), src: HostId(1), dst: HostId(2) };
    let mut sender = SackSender::new(&config, &facts(100), ends, cc.build(&facts(100)), AnyLb::ecmp(9));
    assert!(sender.paces());
    sender.post(MessageId(1), 100 * 936).unwrap();
    assert!(sender.poll_transmit(Time(0)).is_some());
    assert!(sender.poll_transmit(Time(79_999)).is_none());
    assert_eq!(sender.next_timeout(), Some(Time(80_000)));
    assert!(sender.poll_transmit(Time(80_000)).is_some());
    let repr = Repr::ack(1).with_received(0, 1).with_mark(true);
    let ack = Packet::new(QpId(3), HostId(1), repr).with_bytes(64).with_ev(9);
    sender.handle_packet(Time(90_000), &ack);
    assert!(sender.poll_transmit(Time(239_999)).is_none());
    assert_eq!(sender.next_timeout(), Some(Time(240_000)));
    assert!(sender.poll_transmit(Time(240_000)).is_some());
    // The packet that was sent at 80 ns is declared lost after the RTO, and its retransmission waits for the pacing as
    // well.
    assert_eq!(sender.next_timeout(), Some(Time(70_080_000)));
    assert!(sender.poll_transmit(Time(70_079_000)).is_some());
    sender.handle_timeout(Time(70_080_000));
    assert_eq!(sender.counters().timeouts, 1);
    assert!(sender.poll_transmit(Time(70_080_000)).is_none());
    let again = sender.poll_transmit(Time(70_200_000)).map(|packet| packet.repr);
    assert!(matches!(again, Some(Repr::Data { psn: 1, .. })), "{again:?}");
    assert_eq!(sender.counters().retransmissions, 1);
}
