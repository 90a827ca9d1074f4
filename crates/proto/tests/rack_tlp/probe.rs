//! Tests of the tail loss probe.

use super::*;

/// RFC 8985, section 7: the last packet is retransmitted two smoothed RTTs after the last ACK.
#[test]
fn a_lost_tail_is_found_by_a_probe() {
    let mut sender = Sender::with(4);
    sender.stream(0, 0..4);
    sender.ack(us(10), 1, 0);
    sender.ack(us(11), 2, 1);
    // Both RTTs were 10 us, so the probe is due 20 us after the last ACK.
    assert_eq!(sender.ring(us(31)), [3]);
    assert_eq!(sender.counted(), (1, 0));
    // The ACK of the probe reveals that PSN 2, which was sent long before, is missing too.
    assert_eq!(sender.upon(us(41), 2, 3), [2]);
    assert_eq!(sender.upon(us(51), 4, 2), []);
    assert_eq!(sender.acknowledged(), [1]);
    assert_eq!(sender.counted(), (2, 0));
    assert_eq!(sender.end.next_timeout(), None);
}

/// There is no handshake, so the path's base RTT is used before the first ACK.
#[test]
fn the_first_probe_goes_by_the_paths_round_trip() {
    let mut sender = Sender::with(1);
    assert_eq!(sender.burst(us(5)), [0]);
    assert_eq!(sender.ring(us(5 + 16)), [0]);
    assert_eq!(sender.upon(us(29), 1, 0), []);
    assert_eq!(sender.acknowledged(), [1]);
}

/// RFC 6298: each new RTT has a weight of one eighth.
#[test]
fn the_round_trip_is_smoothed() {
    let mut sender = Sender::with(4);
    assert_eq!(sender.burst(us(0)), psns(0..4));
    sender.ack(us(16), 1, 0);
    assert_eq!(sender.end.next_timeout(), Some(us(16 + 32)));
    sender.ack(us(24), 2, 1);
    assert_eq!(sender.end.next_timeout(), Some(us(24 + 34)));
    // The smoothed RTT also includes the RTT of an ACK that acknowledges nothing new.
    sender.ack(us(33), 2, 1);
    sender.ack(us(33), 3, 2);
    assert_eq!(
        sender.end.next_timeout(),
        Some(us(33) + Duration((17_000_000 * 7 + 33_000_000) / 8 * 7 / 8 * 2 + 33_000_000 / 4))
    );
}

/// There is one probe at a time, followed by a full RTO.
#[test]
fn after_a_probe_comes_the_timeout() {
    let mut sender = Sender::with(3);
    sender.stream(0, 0..3);
    assert_eq!(sender.ring(us(18)), [2]);
    assert_eq!(sender.ring(us(318)), psns(0..3));
    assert_eq!(sender.counted(), (4, 1));
}

/// If there is new data, it is sent as the probe, even beyond the window. It does not count as a retransmission.
#[test]
fn a_probe_is_new_data_where_there_is_some() {
    let small = RackTlpConfig { window: Size::Bytes(Bytes(2_000)), ..config() };
    let mut sender = Sender::new(&small, AnyCc::constant(HUGE), 9);
    assert_eq!(sender.burst(us(0)), [0, 1]);
    assert_eq!(sender.ring(us(16)), [2]);
    assert_eq!(sender.counted(), (0, 0));
    // Only the probe arrived. PSNs 0 and 1 were sent long before it.
    assert_eq!(sender.upon(us(24), 0, 2), [0, 1]);
    assert_eq!(sender.counted(), (2, 0));
}

/// New data restarts the timer of the probe. An ACK that advances the ePSN restarts it as well.
#[test]
fn a_probe_waits_for_the_last_packet_and_ack() {
    let mut sender = Sender::with(3);
    sender.stream(0, 0..2);
    assert_eq!(sender.end.next_timeout(), Some(us(17)));
    sender.stream(5, 2..3);
    assert_eq!(sender.end.next_timeout(), Some(us(21)));
    sender.ack(us(8), 1, 0);
    assert_eq!(sender.end.next_timeout(), Some(us(24)));
    // While there is a gap, the reordering timer runs. When the gap is filled, the timer of the probe starts again.
    sender.ack(us(13), 1, 2);
    assert_eq!(sender.end.next_timeout(), Some(us(17)));
    sender.end.post(MessageId(2), 936).unwrap();
    sender.stream(14, 3..4);
    assert_eq!(sender.end.next_timeout(), Some(us(17)));
    sender.ack(us(15), 3, 1);
    let srtt = |srtt: u64, rtt: u64| (srtt * 7 + rtt) / 8;
    let smoothed = srtt(8_000_000, 14_000_000);
    assert_eq!(sender.end.next_timeout(), Some(us(15) + Duration(smoothed * 2)));
}

#[test]
fn no_probe_in_recovery() {
    let mut sender = Sender::with(6);
    sender.stream(0, 0..5);
    sender.ack(us(9), 0, 1);
    sender.end.handle_timeout(us(16));
    assert_eq!(sender.one(us(16)), Some((0, false)));
    assert_eq!(sender.one(us(16)), Some((5, true)));
    // PSNs 2 to 4 were sent before this copy of PSN 0, and long enough ago.
    assert_eq!(sender.upon(us(24), 2, 0), [2, 3, 4]);
    // No PSN is SACKed, but the ePSN has not reached the end of the recovery, so that only the RTO timer runs.
    assert_eq!(sender.end.next_timeout(), Some(us(324)));
    sender.ack(us(32), 3, 2);
    sender.ack(us(32), 4, 3);
    assert_eq!(sender.upon(us(32), 5, 4), [5]);
    // The recovery ended when PSN 4 was acknowledged, but the loss of PSN 5 began another one. This ACK ends it.
    assert_eq!(sender.upon(us(40), 6, 5), []);
    sender.end.post(MessageId(2), 936).unwrap();
    assert_eq!(sender.burst(us(41)), [6]);
    assert_eq!(sender.ring(us(41 + 16)), [6]);
}

/// The RTO is short, so the probe is sent when the RTO is due, and the RTO timer restarts (RFC 8985, TLP_calc_PTO).
#[test]
fn a_probe_is_no_later_than_the_timeout() {
    let short = RackTlpConfig { rto: Span::Time(Duration::from_us(10)), ..config() };
    let mut sender = Sender::new(&short, AnyCc::constant(HUGE), 2);
    assert_eq!(sender.burst(us(0)), [0, 1]);
    assert_eq!(sender.ring(us(10)), [1]);
    assert_eq!(sender.ring(us(20)), [0]);
    assert_eq!(sender.counted(), (2, 1));
}
