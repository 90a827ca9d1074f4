//! The coarse timeout and its retry numbers (section 4.5).

use super::receiver::{Receiver, data};
use super::*;
use anabranch_proto::transport::SenderCounters;

/// Lets the sender time out once, exactly at `next_timeout`, and returns that time.
fn time_out(sender: &mut DcpSender) -> Time {
    let (due, before) = (sender.next_timeout().unwrap(), sender.counters().timeouts);
    sender.handle_timeout(Time(due.0 - 1));
    assert_eq!(sender.counters().timeouts, before);
    sender.handle_timeout(due);
    assert_eq!(sender.counters().timeouts, before + 1);
    due
}

#[test]
fn a_timeout_repeats_the_oldest_message() {
    let mut sender = sender(config());
    post(&mut sender, [3, 2]);
    assert_eq!(send(&mut sender, us(1)), [(0, 0, 0), (1, 0, 0), (2, 0, 0), (3, 1, 0), (4, 1, 0)]);
    assert_eq!(time_out(&mut sender), us(4_001));
    assert_eq!(send(&mut sender, us(4_001)), [(0, 0, 1), (1, 0, 1), (2, 0, 1)]);
    assert_eq!(time_out(&mut sender), us(8_001));
    assert_eq!(send(&mut sender, us(8_001)), [(0, 0, 2), (1, 0, 2), (2, 0, 2)]);
    // The next message starts with retry number 0 and a new timer.
    answer(&mut sender, us(9_000), ack(1));
    assert_eq!(time_out(&mut sender), us(13_000));
    assert_eq!(send(&mut sender, us(13_000)), [(3, 1, 1), (4, 1, 1)]);
    assert_eq!(sender.counters(), SenderCounters { retransmissions: 8, timeouts: 3, nacks: 0, fetches: 0 });
}

/// "If the received ACK's eMSN is greater than the unaMSN, the timer is reset. Otherwise, the timer continues."
#[test]
fn only_a_higher_emsn_resets_the_timer() {
    let mut sender = sender(config());
    post(&mut sender, [1, 1, 1]);
    assert_eq!(sender.next_timeout(), None);
    assert_eq!(psns(&mut sender, us(10)), [0, 1, 2]);
    assert_eq!(sender.next_timeout(), Some(us(4_010)));
    answer(&mut sender, us(100), ack(0));
    assert_eq!(sender.next_timeout(), Some(us(4_010)));
    answer(&mut sender, us(200), ack(1));
    assert_eq!(sender.next_timeout(), Some(us(4_200)));
    answer(&mut sender, us(300), ack(1));
    assert_eq!(sender.next_timeout(), Some(us(4_200)));
    answer(&mut sender, us(300), header_only(2, 2, 0));
    assert_eq!(psns(&mut sender, us(301)), [2]);
    assert_eq!(sender.next_timeout(), Some(us(4_200)), "of a later message");
    answer(&mut sender, us(400), header_only(1, 1, 0));
    assert_eq!(psns(&mut sender, us(401)), [1]);
    assert_eq!(sender.next_timeout(), Some(us(4_401)), "it may still arrive");
    answer(&mut sender, us(500), ack(3));
    assert_eq!(sender.next_timeout(), None);
}

/// A choice of this implementation: the timer does not run while packets of the message wait to be sent. By the paper's
/// text, the message would start over before all of its packets were sent.
#[test]
fn the_timer_waits_for_the_last_packet() {
    let mut sender = sender(config());
    post(&mut sender, [3]);
    for (at, due) in [(0, None), (5_000, None), (10_000, Some(us(14_000)))] {
        assert!(sender.poll_transmit(us(at)).is_some());
        assert_eq!(sender.next_timeout(), due);
        sender.handle_timeout(us(at + 3_999));
    }
    assert_eq!(time_out(&mut sender), us(14_000));
    // The timer also waits for the last packet in a later round.
    for (at, due) in [(14_000, None), (19_000, None), (24_000, Some(us(28_000)))] {
        assert!(sender.poll_transmit(us(at)).is_some());
        assert_eq!(sender.next_timeout(), due);
        sender.handle_timeout(us(at + 3_999));
    }
    assert_eq!(sender.counters().timeouts, 1);
}

/// A choice of this implementation: no timeout occurs while packets of the oldest request wait for retransmission or
/// are being fetched. Waiting packets of later messages make no difference, and are sent before the new round.
#[test]
fn a_message_with_packets_to_repeat_has_not_timed_out() {
    let mut sender = sender(config());
    post(&mut sender, [3, 3]);
    assert_eq!(psns(&mut sender, us(0)), range(0..6));
    for (psn, number) in [(0, 0), (4, 1), (2, 0)] {
        answer(&mut sender, us(1), header_only(psn, number, 0));
    }
    assert_eq!(sender.next_timeout(), None);
    sender.handle_timeout(us(4_000));
    assert_eq!(sender.counters().timeouts, 0);
    assert_eq!(send(&mut sender, us(5_000)), [(0, 0, 0), (4, 1, 0), (2, 0, 0)]);
    assert_eq!(sender.next_timeout(), Some(us(9_000)));
    answer(&mut sender, us(5_001), header_only(3, 1, 0));
    assert_eq!(sender.next_timeout(), Some(us(9_000)));
    sender.handle_timeout(us(9_000));
    assert_eq!(sender.counters().timeouts, 1);
    assert_eq!(send(&mut sender, us(9_000)), [(3, 1, 0), (0, 0, 1), (1, 0, 1), (2, 0, 1)]);
    // Once message 0 is acknowledged, message 1 is the oldest. Its packet that waits for retransmission now holds back
    // the timeout.
    answer(&mut sender, us(9_001), header_only(5, 1, 0));
    answer(&mut sender, us(9_002), ack(1));
    assert_eq!(sender.next_timeout(), None);
    assert_eq!(send(&mut sender, us(9_003)), [(5, 1, 0)]);
    assert_eq!(sender.next_timeout(), Some(us(13_003)));
}

/// A header-only packet reports that a data packet was trimmed, so that the data packet no longer counts as in flight.
/// The number of bytes in flight stays correct if the data packet is retransmitted, and also if an ACK makes the
/// retransmission unnecessary.
#[test]
fn the_window_stays_whole() {
    for number in [0, 1] {
        let mut sender = narrowed(config(), 6 * PACKET);
        post(&mut sender, [3, 9]);
        assert_eq!(psns(&mut sender, us(0)), range(0..6));
        sender.handle_timeout(us(4_000));
        assert_eq!(psns(&mut sender, us(4_000)), range(0..3));
        // A packet of the new round is trimmed. In the first case the packet is retransmitted, and the round times out.
        // In the second case an ACK for the old round makes the new round unnecessary.
        answer(&mut sender, us(4_001), header_only(1, 0, 1));
        match number {
            0 => {
                assert_eq!(psns(&mut sender, us(4_001)), [1]);
                sender.handle_timeout(us(8_001));
            }
            _ => answer(&mut sender, us(4_002), ack(1)),
        }
        let expected = if number == 0 { range(0..3) } else { range(6..12) };
        assert_eq!(psns(&mut sender, us(8_001)), expected);
    }
}

/// A choice of this implementation: a header-only packet of an earlier round is ignored. If it caused a retransmission,
/// PSN 1 would be sent twice in the new round. The receiver only counts packets, so PSNs 0, 1 and 1 would complete the
/// message without PSN 2.
#[test]
fn a_late_header_of_an_earlier_round_asks_for_nothing() {
    let mut sender = sender(config());
    let mut receiver = Receiver::new(config());
    post(&mut sender, [3]);
    assert_eq!(psns(&mut sender, us(0)), range(0..3));
    time_out(&mut sender);
    assert_eq!(send(&mut sender, us(4_000)), [(0, 0, 1), (1, 0, 1), (2, 0, 1)]);
    answer(&mut sender, us(4_001), header_only(1, 0, 0));
    assert_eq!(send(&mut sender, us(4_001)), []);
    answer(&mut sender, us(4_001), header_only(2, 0, 1));
    assert_eq!(send(&mut sender, us(4_001)), [(2, 0, 1)]);
    for psn in [0, 1] {
        assert_eq!(receiver.take(&data(psn, 10, 3, 0, 1)), (vec![], vec![]));
    }
    assert_eq!(receiver.take(&data(1, 10, 3, 0, 1)), (vec![ack(1)], vec![10]), "without PSN 2");
}

/// A choice of this implementation: packets of later messages carry retry number 0. If they carried number 1 after the
/// timeout of message 0, the first timeout of message 1 would lead to number 1 again. PSN 2 would then be counted twice
/// and complete message 1 without PSN 3.
#[test]
fn later_messages_carry_no_retry_number() {
    let mut sender = narrowed(config(), 3 * PACKET);
    post(&mut sender, [2, 2]);
    assert_eq!(psns(&mut sender, us(0)), range(0..3));
    time_out(&mut sender);
    assert_eq!(send(&mut sender, us(4_000)), [(0, 0, 1), (1, 0, 1)]);
    answer(&mut sender, us(4_001), header_only(2, 1, 0));
    assert_eq!(send(&mut sender, us(4_001)), [(2, 1, 0)]);
    answer(&mut sender, us(4_001), header_only(2, 1, 1));
    assert_eq!(send(&mut sender, us(4_001)), [], "no such round");
    answer(&mut sender, us(4_002), ack(1));
    assert_eq!(send(&mut sender, us(4_002)), [(3, 1, 0)]);
    time_out(&mut sender);
    assert_eq!(send(&mut sender, us(8_002)), [(2, 1, 1), (3, 1, 1)]);
    let mut receiver = Receiver::new(config());
    receiver.take(&data(0, 10, 1, 0, 1));
    assert_eq!(receiver.take(&data(2, 11, 2, 1, 1)), (vec![], vec![]), "the first round");
    assert_eq!(receiver.take(&data(2, 11, 2, 1, 1)), (vec![ack(2)], vec![11]), "the second, without PSN 3");
}

#[test]
fn an_ack_ends_a_round() {
    let mut sender = sender(config());
    post(&mut sender, [3, 1, 1]);
    assert_eq!(psns(&mut sender, us(0)), range(0..5));
    time_out(&mut sender);
    assert!(sender.poll_transmit(us(4_000)).is_some());
    answer(&mut sender, us(4_001), header_only(0, 0, 1));
    answer(&mut sender, us(4_002), ack(2));
    assert_eq!(send(&mut sender, us(4_002)), []);
    assert_eq!(acknowledged(&mut sender), [10, 11]);
    assert_eq!(sender.next_timeout(), Some(us(8_002)));
}

/// A choice of this implementation: each of the first eight timeouts of a message takes an RTO, and each later one
/// takes twice as long as the previous one, up to 2^16 RTOs.
#[test]
fn later_rounds_take_longer() {
    let mut sender = sender(config());
    post(&mut sender, [1, 1]);
    assert_eq!(psns(&mut sender, us(0)), range(0..2));
    let mut last = us(0);
    for round in 0..100u32 {
        let due = time_out(&mut sender);
        let doublings = round.saturating_sub(7).min(16);
        assert_eq!(due - last, RTO * (1 << doublings), "round {round}");
        assert_eq!(send(&mut sender, due), [(0, 0, round as u8 + 1)]);
        last = due;
    }
    // The next message starts with the plain RTO again.
    answer(&mut sender, last, ack(1));
    assert_eq!(time_out(&mut sender), last + RTO);
}

/// The reason for the longer timeouts: a receiver that missed 255 rounds would count the packets of the next round
/// together with the old ones. Retry numbers distinguish up to 127 rounds, for which a sender takes more than six
/// million RTOs.
#[test]
fn retry_numbers_do_not_go_round_unheard() {
    let mut sender = sender(config());
    post(&mut sender, [3]);
    assert_eq!(psns(&mut sender, us(0)), range(0..3));
    let mut due = us(0);
    for _ in 0..128 {
        due = time_out(&mut sender);
        assert_eq!(psns(&mut sender, due), range(0..3));
    }
    assert!(due > us(0) + RTO * 6_000_000);
    let mut receiver = Receiver::new(config());
    for (psn, rounds) in [(0, 0), (1, 0), (1, 256)] {
        let (_, delivered) = receiver.take(&data(psn, 10, 3, 0, rounds as u8));
        assert_eq!(delivered.len(), usize::from(rounds == 256), "what must not come to pass");
    }
    // The number may wrap as long as the receiver gets a packet of at least one in 127 rounds.
    let (mut receiver, mut sent) = (Receiver::new(config()), 0u32);
    for _ in 0..20 {
        sent += 127;
        assert_eq!(receiver.take(&data(1, 10, 3, 0, sent as u8)), (vec![], vec![]));
        assert_eq!(receiver.take(&data(2, 10, 3, 0, sent as u8)), (vec![], vec![]));
        assert_eq!(receiver.take(&data(0, 10, 3, 0, (sent - 1) as u8)), (vec![], vec![]), "an old one");
    }
    assert_eq!(receiver.take(&data(0, 10, 3, 0, sent as u8)), (vec![ack(1)], vec![10]));
}

/// A sender whose window is four times `packets` packets, and whose receiver tracks four requests. Its requests have at
/// least `packets` packets, except the last request of a message.
fn split(packets: u64) -> DcpSender {
    windowed(DcpConfig { tracked_messages: 4, ..config() }, 4 * packets * PACKET)
}

/// Section 4.5: a timeout retransmits all packets of the oldest *message*, even if it is split into several requests.
/// Each request has a retry number of its own. With a timeout for each request, four requests that are lost together
/// would take four timeouts in sequence.
#[test]
fn a_timeout_repeats_all_requests_of_the_oldest_message() {
    let mut sender = split(2);
    post(&mut sender, [7, 2]);
    // The requests of the first message have 3, 3 and 1 packets. The window has room for 8 packets, so that one
    // packet of the second message follows.
    let first = [(0, 0, 0), (1, 0, 0), (2, 0, 0), (3, 1, 0), (4, 1, 0), (5, 1, 0), (6, 2, 0), (7, 3, 0)];
    assert_eq!(send(&mut sender, us(0)), first);
    time_out(&mut sender);
    let round = [(0, 0, 1), (1, 0, 1), (2, 0, 1), (3, 1, 1), (4, 1, 1), (5, 1, 1), (6, 2, 1)];
    assert_eq!(send(&mut sender, us(4_000)), round, "and nothing of the next message");
    assert_eq!(sender.next_timeout(), Some(us(8_000)));
    assert_eq!(sender.counters(), SenderCounters { retransmissions: 7, timeouts: 1, nacks: 0, fetches: 0 });
    // The new round contains all packets that were lost, so that the receiver completes the message.
    let mut receiver = Receiver::new(DcpConfig { tracked_messages: 4, ..config() });
    for (psn, msn, retry) in round {
        let (packets, is_last) = [(3, false), (3, false), (1, true)][msn as usize];
        let mut packet = data(psn, 10, packets, msn, retry);
        if let Repr::Data { ack_now, .. } = &mut packet.repr {
            *ack_now = is_last;
        }
        let (answers, delivered) = receiver.take(&packet);
        let ends = [2, 5, 6].contains(&psn);
        assert_eq!((answers.len(), delivered.len()), (usize::from(ends), usize::from(psn == 6)), "{psn}");
    }
    answer(&mut sender, us(4_010), ack(3));
    assert_eq!(acknowledged(&mut sender), [10]);
    // The next message is now the oldest, with a timer and retry numbers of its own.
    assert_eq!(send(&mut sender, us(4_010)), [(8, 3, 0)]);
    assert_eq!(time_out(&mut sender), us(8_010));
    assert_eq!(send(&mut sender, us(8_010)), [(7, 3, 1), (8, 3, 1)]);
}

#[test]
fn a_round_has_what_was_sent_and_is_not_acknowledged() {
    let mut sender = split(2);
    post(&mut sender, [12]);
    // The requests have 2 packets. Four requests fill the window, and four are tracked.
    assert_eq!(send(&mut sender, us(0)).len(), 8);
    answer(&mut sender, us(1), header_only(5, 2, 0));
    assert_eq!(send(&mut sender, us(1)), [(5, 2, 0)]);
    // One packet of request 2 waits in the RetransQ when the timer of request 0 expires.
    answer(&mut sender, us(3_999), header_only(4, 2, 0));
    time_out(&mut sender);
    assert!(matches!(sender.poll_transmit(us(4_000)).unwrap().repr, Repr::Data { psn: 0, .. }));
    answer(&mut sender, us(4_001), header_only(6, 3, 0));
    answer(&mut sender, us(4_002), ack(2));
    // Requests 0 and 1 are acknowledged, and the window now has room for requests 4 and 5.
    let rest = [(4, 2, 1), (5, 2, 1), (6, 3, 1), (7, 3, 1), (8, 4, 0), (9, 4, 0), (10, 5, 0), (11, 5, 0)];
    assert_eq!(send(&mut sender, us(4_002)), rest);
    answer(&mut sender, us(4_003), header_only(7, 3, 1));
    assert_eq!(send(&mut sender, us(4_003)), [(7, 3, 1)]);
    // The timeout retransmits every unacknowledged packet: requests 2 and 3 in their third round, and requests 4 and 5
    // in their second round.
    time_out(&mut sender);
    let third: Vec<_> =
        send(&mut sender, us(8_010)).into_iter().map(|(psn, _, retry)| (psn, retry)).collect();
    assert_eq!(third, [(4, 2), (5, 2), (6, 2), (7, 2), (8, 1), (9, 1), (10, 1), (11, 1)]);
}

/// A timeout may occur after only a part of a request was sent. The rest of the request then carries the number of the
/// new round, so that the receiver counts both parts together.
#[test]
fn the_rest_of_a_request_follows_in_its_new_round() {
    let mut sender = windowed(DcpConfig { tracked_messages: 2, ..config() }, 4 * PACKET);
    post(&mut sender, [6]);
    // The requests have 2 packets, and window and tracking admit two requests.
    assert_eq!(send(&mut sender, us(0)), [(0, 0, 0), (1, 0, 0), (2, 1, 0), (3, 1, 0)]);
    answer(&mut sender, us(1), ack(1));
    assert!(matches!(sender.poll_transmit(us(1)).unwrap().repr, Repr::Data { psn: 4, .. }));
    // Request 1 is the oldest and was sent completely. One packet of request 2 was sent.
    time_out(&mut sender);
    assert_eq!(send(&mut sender, us(4_001)), [(2, 1, 1), (3, 1, 1), (4, 2, 1), (5, 2, 1)]);
    let mut receiver = Receiver::new(DcpConfig { tracked_messages: 2, ..config() });
    receiver.take(&data(0, 10, 2, 0, 0));
    receiver.take(&data(1, 10, 2, 0, 0));
    // The old copy of PSN 4 arrives, and then the new round except PSN 4, which is lost. Two packets of request 2 have
    // then arrived, but the request is not complete.
    for (psn, msn, retry) in [(4, 2, 0), (2, 1, 1), (3, 1, 1), (5, 2, 1)] {
        let (answers, _) = receiver.take(&data(psn, 10, 2, msn, retry));
        assert!(!answers.contains(&ack(3)), "{psn} in round {retry}");
    }
    let (answers, _) = receiver.take(&data(4, 10, 2, 2, 1));
    assert_eq!(answers, [ack(3)]);
}
