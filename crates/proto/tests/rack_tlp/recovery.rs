//! Tests of loss detection.

use super::*;

/// DCP, section 6.3: the reordering window is an RTT. A retransmission is therefore sent two RTTs after the packet,
/// which is one RTT after its ACK would have arrived.
#[test]
fn a_lost_packet_is_sent_again_a_round_trip_late() {
    let mut sender = Sender::with(10);
    sender.stream(0, 0..10);
    for psn in 0..3 {
        assert_eq!(sender.upon(us(u64::from(psn) + 8), psn + 1, psn), []);
    }
    for psn in 4..10 {
        assert_eq!(sender.upon(us(u64::from(psn) + 8), 3, psn), []);
    }
    assert_eq!(sender.ring(us(3 + 16)), [3]);
    assert_eq!(sender.counted(), (1, 0));
    assert_eq!(sender.upon(us(27), 10, 3), []);
    assert_eq!(sender.acknowledged(), [1]);
    assert_eq!(sender.end.next_timeout(), None);
}

#[test]
fn an_ack_finds_what_the_timer_would() {
    let mut sender = Sender::with(40);
    sender.stream(0, 0..20);
    assert_eq!(sender.one(us(20)), Some((20, false)));
    sender.ack(us(12), 0, 4);
    assert_eq!(sender.end.next_timeout(), Some(us(16)));
    sender.ack(us(17), 0, 9);
    assert_eq!(sender.one(us(17)), Some((0, false)));
    assert_eq!(sender.one(us(17)), Some((1, false)));
    assert_eq!(sender.one(us(17)), Some((21, false)));
    // PSN 2 left at 2 us. It is lost after the latest RTT, which is 8 us again, and the reordering window of 8 us.
    assert_eq!(sender.end.next_timeout(), Some(us(18)));
}

#[test]
fn two_losses_are_found_each_in_its_turn() {
    let mut sender = Sender::with(10);
    sender.stream(0, 0..10);
    sender.ack(us(8), 1, 0);
    for psn in [2, 4, 5, 6, 7, 8, 9] {
        assert_eq!(sender.upon(us(8 + u64::from(psn)), 1, psn), if psn == 9 { vec![1] } else { vec![] });
    }
    assert_eq!(sender.ring(us(19)), [3]);
    assert_eq!(sender.upon(us(25), 3, 1), []);
    assert_eq!(sender.upon(us(27), 10, 3), []);
    assert_eq!(sender.counted(), (2, 0));
}

/// DCP, section 6.3: reordering within an RTT has no effect. A packet that is delayed for more time counts as lost.
#[test]
fn packets_may_overtake_each_other_within_the_window() {
    let mut sender = Sender::with(10);
    sender.stream(0, 0..10);
    for psn in [4, 2, 1, 3] {
        assert_eq!(sender.upon(us(12), 0, psn), []);
    }
    // PSN 0 was sent at 0 us. It would count as lost at 17 us, after the latest RTT (9 us, of PSN 3) and the reordering
    // window (8 us).
    assert_eq!(sender.end.next_timeout(), Some(us(17)));
    assert_eq!(sender.upon(us(16), 5, 0), []);
    assert_eq!(sender.upon(us(18), 5, 9), []);
    for psn in 5..9 {
        assert_eq!(sender.upon(us(20), if psn == 8 { 10 } else { psn + 1 }, psn), []);
    }
    assert_eq!(sender.counted(), (0, 0));
    assert_eq!(sender.end.next_timeout(), None);
    // Without a reordering window, every packet that another one overtakes is retransmitted.
    let hasty = RackTlpConfig { reo_wnd: Span::Time(Duration::ZERO), ..config() };
    let mut sender = Sender::new(&hasty, AnyCc::constant(HUGE), 10);
    sender.stream(0, 0..10);
    assert_eq!(sender.upon(us(12), 0, 4), [0, 1, 2, 3]);
}

/// Packets with the same transmission time count as sent in the order of their PSNs (RFC 8985, RACK_sent_after).
#[test]
fn of_packets_sent_at_once_the_higher_was_sent_later() {
    let mut sender = Sender::with(10);
    assert_eq!(sender.burst(us(0)), psns(0..10));
    sender.ack(us(8), 0, 3);
    assert_eq!(sender.ring(us(16)), [0, 1, 2]);
    assert_eq!(sender.upon(us(17), 0, 3), []);
}

/// DCP, section 6.3: a lost retransmission causes no timeout, as long as another packet was sent after it.
#[test]
fn a_retransmission_that_is_lost_is_found_like_any_packet() {
    let mut sender = Sender::with(100);
    sender.stream(0, 0..10);
    sender.ack(us(8), 0, 1);
    assert_eq!(sender.end.next_timeout(), Some(us(15)));
    sender.end.handle_timeout(us(16));
    assert_eq!(sender.one(us(16)), Some((0, false)));
    assert_eq!(sender.one(us(17)), Some((10, false)));
    for psn in 2..10 {
        sender.ack(us(17), 0, psn);
        assert_eq!(sender.end.next_timeout().filter(|&due| due < us(300)), None);
    }
    // Packet 10 was sent after the lost retransmission.
    sender.ack(us(25), 0, 10);
    sender.end.handle_timeout(us(31));
    assert_eq!(sender.one(us(31)), Some((11, false)));
    sender.end.handle_timeout(us(32));
    assert_eq!(sender.one(us(32)), Some((0, false)));
    assert_eq!(sender.counted(), (2, 0));
}

#[test]
fn the_ack_of_a_first_copy_does_not_speak_for_the_second() {
    let mut sender = Sender::with(10);
    sender.stream(0, 0..10);
    let first = Repr::ack(0).with_received(2, 1).with_sent_at(us(2));
    sender.ack(us(12), 0, 4);
    sender.end.handle_timeout(us(17));
    assert_eq!(sender.burst(us(17)), [0, 1]);
    sender.end.handle_timeout(us(19));
    assert_eq!(sender.burst(us(19)), [2, 3]);
    // The latest packet that is known to have arrived is still PSN 4, so that PSNs 0 and 1 were not overtaken again.
    sender.hear(us(30), first);
    assert_eq!(sender.burst(us(30)), []);
    assert_eq!(sender.end.next_timeout(), Some(us(330)));
}

#[test]
fn what_is_acknowledged_meanwhile_is_not_sent_again() {
    let mut sender = Sender::with(10);
    sender.stream(0, 0..10);
    sender.ack(us(12), 0, 4);
    sender.end.handle_timeout(us(22));
    sender.ack(us(22), 1, 0);
    sender.ack(us(22), 1, 2);
    assert_eq!(sender.one(us(22)).map(|(psn, _)| psn), Some(1));
    sender.ack(us(22), 10, 3);
    assert_eq!(sender.burst(us(22)), []);
    assert_eq!(sender.counted(), (1, 0));
    assert_eq!(sender.end.next_timeout(), None);
}

/// RFC 8985, section 6.3: a timeout declares the lowest packet lost. It also declares lost the packets that were sent
/// at least an RTT plus the reordering window ago.
#[test]
fn a_timeout_takes_the_lowest_packet_and_the_old_ones() {
    let mut sender = Sender::new(
        &RackTlpConfig { rto: Span::Time(Duration::from_us(30)), ..config() },
        AnyCc::constant(HUGE),
        20,
    );
    sender.stream(0, 0..2);
    assert_eq!(sender.one(us(17)), Some((2, false)));
    sender.stream(20, 3..6);
    assert_eq!(sender.end.next_timeout(), Some(us(30)));
    sender.end.handle_timeout(us(30));
    assert_eq!(sender.one(us(30)), Some((6, false)), "the probe");
    sender.stream(50, 7..9);
    assert_eq!(sender.end.next_timeout(), Some(us(60)));
    sender.end.handle_timeout(us(60));
    // PSNs 7 and 8 were sent less than 16 us ago.
    let again: Vec<_> = (0..7).map(|_| sender.one(us(60)).unwrap().0).collect();
    assert_eq!(again, psns(0..7));
    assert_eq!(sender.one(us(60)), Some((9, false)));
    assert_eq!(sender.counted(), (7, 1));
    // The next timeout is due an RTO after the last retransmission.
    assert_eq!(sender.end.next_timeout(), Some(us(90)));
}

/// If no packet was sent after a lost retransmission, the timeout repairs the loss (RFC 8985, section 7.2: no probe in
/// recovery).
#[test]
fn a_last_retransmission_that_is_lost_waits_for_the_timeout() {
    let mut sender = Sender::with(3);
    sender.stream(0, 0..3);
    sender.ack(us(9), 0, 1);
    sender.ack(us(10), 0, 2);
    assert_eq!(sender.ring(us(16)), [0]);
    assert_eq!(sender.ring(us(316)), [0]);
    assert_eq!(sender.counted(), (2, 1));
    assert_eq!(sender.upon(us(324), 3, 0), []);
    assert_eq!(sender.acknowledged(), [1]);
}

#[test]
fn each_timeout_is_a_sign_of_congestion() {
    let (cc, log) = Told::boxed();
    let mut sender = Sender::new(&config(), cc, 3);
    sender.stream(0, 0..3);
    sender.ack(us(10), 0, 2);
    assert_eq!(sender.ring(us(16)), [0]);
    assert_eq!(sender.ring(us(17)), [1]);
    assert_eq!(sender.ring(us(317)), [0, 1]);
    assert_eq!(*log.lock().unwrap(), ["1 of 1000 B, false, 8us", "loss", "loss"]);
}
