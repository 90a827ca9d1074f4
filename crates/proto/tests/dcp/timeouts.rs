//! The coarse timeout and its retry numbers (section 4.5).

use super::receiver::{Receiver, data};
use super::*;
use anabranch_proto::transport::SenderCounters;

/// Times out once, at the time that it gives.
fn time_out(sender: &mut DcpSender) -> Time {
    let (due, before) = (sender.next_timeout().unwrap(), sender.counters().timeouts);
    sender.handle_timeout(Time(due.0 - 1));
    assert_eq!(sender.counters().timeouts, before);
    sender.handle_timeout(due);
    assert_eq!(sender.counters().timeouts, before + 1);
    due
}

/// All packets of the oldest message, with the next number, and nothing of later ones.
#[test]
fn a_timeout_repeats_the_oldest_message() {
    let mut sender = sender(config());
    post(&mut sender, [3, 2]);
    assert_eq!(send(&mut sender, us(1)), [(0, 0, 0), (1, 0, 0), (2, 0, 0), (3, 1, 0), (4, 1, 0)]);
    assert_eq!(time_out(&mut sender), us(4_001));
    assert_eq!(send(&mut sender, us(4_001)), [(0, 0, 1), (1, 0, 1), (2, 0, 1)]);
    assert_eq!(time_out(&mut sender), us(8_001));
    assert_eq!(send(&mut sender, us(8_001)), [(0, 0, 2), (1, 0, 2), (2, 0, 2)]);
    // The next one begins with 0, and with a new time.
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

/// Our rule: the timer does not run while packets of the message wait to be sent. By the text's the message would
/// start over here before it was ever sent in full.
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
    // The same in a later round.
    for (at, due) in [(14_000, None), (19_000, None), (24_000, Some(us(28_000)))] {
        assert!(sender.poll_transmit(us(at)).is_some());
        assert_eq!(sender.next_timeout(), due);
        sender.handle_timeout(us(at + 3_999));
    }
    assert_eq!(sender.counters().timeouts, 1);
}

/// Our rule: a message with packets that wait for retransmission, or are being fetched, does not time out. Waiting
/// packets of later messages make no difference, and are sent before the new round.
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
    // The next message is the oldest once this one is acknowledged, with what waits of it.
    answer(&mut sender, us(9_001), header_only(5, 1, 0));
    answer(&mut sender, us(9_002), ack(1));
    assert_eq!(sender.next_timeout(), None);
    assert_eq!(send(&mut sender, us(9_003)), [(5, 1, 0)]);
    assert_eq!(sender.next_timeout(), Some(us(13_003)));
}

/// A packet that a header took out of flight counts again once it is sent or dropped: the window does not leak.
#[test]
fn the_window_stays_whole() {
    for number in [0, 1] {
        let mut sender = narrowed(config(), 6 * PACKET);
        post(&mut sender, [3, 9]);
        assert_eq!(psns(&mut sender, us(0)), range(0..6));
        sender.handle_timeout(us(4_000));
        assert_eq!(psns(&mut sender, us(4_000)), range(0..3));
        // A new round is trimmed while the old one completes, or goes on.
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

/// Our rule: a header of an earlier round is not obeyed. Both the round and the header would bring PSN 1, and the
/// receiver, which counts, would take 0, 1, 1 for the whole message.
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
    // This is what the receiver would do.
    for psn in [0, 1] {
        assert_eq!(receiver.take(&data(psn, 10, 3, 0, 1)), (vec![], vec![]));
    }
    assert_eq!(receiver.take(&data(1, 10, 3, 0, 1)), (vec![ack(1)], vec![10]), "without PSN 2");
}

/// Our rule: later messages carry 0. Were the number the queue pair's, message 1 would begin with the 1 of message
/// 0, and its own first timeout would be 1 again: PSNs 1 and 1 would make it whole.
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
    // This is what the receiver would do.
    let mut receiver = Receiver::new(config());
    receiver.take(&data(0, 10, 1, 0, 1));
    assert_eq!(receiver.take(&data(2, 11, 2, 1, 1)), (vec![], vec![]), "the first round");
    assert_eq!(receiver.take(&data(2, 11, 2, 1, 1)), (vec![ack(2)], vec![11]), "the second, without PSN 3");
}

/// After a late ACK of a message that timed out, the rest of the round is not sent.
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

/// Our rule: the first eight timeouts of a message come after the RTO each; then each takes twice as long.
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
    // The next message begins anew.
    answer(&mut sender, last, ack(1));
    assert_eq!(time_out(&mut sender), last + RTO);
}

/// The reason: a receiver that missed 256 rounds would count the packets of the next one together with those that it has. A
/// sender takes more than six million RTOs for 127 rounds, up to which numbers tell rounds apart.
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
    // The number may wrap as long as the receiver gets one of every 127 rounds.
    let (mut receiver, mut sent) = (Receiver::new(config()), 0u32);
    for _ in 0..20 {
        sent += 127;
        assert_eq!(receiver.take(&data(1, 10, 3, 0, sent as u8)), (vec![], vec![]));
        assert_eq!(receiver.take(&data(2, 10, 3, 0, sent as u8)), (vec![], vec![]));
        assert_eq!(receiver.take(&data(0, 10, 3, 0, (sent - 1) as u8)), (vec![], vec![]), "an old one");
    }
    assert_eq!(receiver.take(&data(0, 10, 3, 0, sent as u8)), (vec![ack(1)], vec![10]));
}

/// A sender that posts messages as requests of this many packets, of which it tracks four.
fn split(packets: u64) -> DcpSender {
    windowed(DcpConfig { tracked_messages: 4, ..config() }, 4 * packets * PACKET)
}

/// Section 4.5: all packets of the oldest *message*, also where it goes as several requests; each of those with a
/// number of its own. With a timeout for each request, four lost together would take four timeouts one after the other.
#[test]
fn a_timeout_repeats_all_requests_of_the_oldest_message() {
    let mut sender = split(2);
    post(&mut sender, [7, 2]);
    // Requests of 3, 3 and 1 packets; the window has room for 8 packets.
    let first = [(0, 0, 0), (1, 0, 0), (2, 0, 0), (3, 1, 0), (4, 1, 0), (5, 1, 0), (6, 2, 0), (7, 3, 0)];
    assert_eq!(send(&mut sender, us(0)), first);
    time_out(&mut sender);
    let round = [(0, 0, 1), (1, 0, 1), (2, 0, 1), (3, 1, 1), (4, 1, 1), (5, 1, 1), (6, 2, 1)];
    assert_eq!(send(&mut sender, us(4_000)), round, "and nothing of the next message");
    // One timer for them all, and one timeout.
    assert_eq!(sender.next_timeout(), Some(us(8_000)));
    assert_eq!(sender.counters(), SenderCounters { retransmissions: 7, timeouts: 1, nacks: 0, fetches: 0 });
    // All that was lost comes in that round.
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
    // The next message is the oldest now, with a timer and numbers of its own.
    assert_eq!(send(&mut sender, us(4_010)), [(8, 3, 0)]);
    assert_eq!(time_out(&mut sender), us(8_010));
    assert_eq!(send(&mut sender, us(8_010)), [(7, 3, 1), (8, 3, 1)]);
}

/// A round has only the packets that were sent: the rest of a request follows in its new round. Acknowledged packets
/// are not retransmitted, and header-only packets of abandoned rounds are ignored.
#[test]
fn a_round_has_what_was_sent_and_is_not_acknowledged() {
    let mut sender = split(2);
    post(&mut sender, [12]);
    // Requests of 2 packets: four of them fill window and tracking.
    assert_eq!(send(&mut sender, us(0)).len(), 8);
    answer(&mut sender, us(1), header_only(5, 2, 0));
    assert_eq!(send(&mut sender, us(1)), [(5, 2, 0)]);
    // One packet of request 2 waits in the RetransQ when the timer of request 0 runs out.
    answer(&mut sender, us(3_999), header_only(4, 2, 0));
    time_out(&mut sender);
    assert!(matches!(sender.poll_transmit(us(4_000)).unwrap().repr, Repr::Data { psn: 0, .. }));
    answer(&mut sender, us(4_001), header_only(6, 3, 0));
    answer(&mut sender, us(4_002), ack(2));
    // Requests 0 and 1 are not wanted any more, and 4 and 5 come into the window.
    let rest = [(4, 2, 1), (5, 2, 1), (6, 3, 1), (7, 3, 1), (8, 4, 0), (9, 4, 0), (10, 5, 0), (11, 5, 0)];
    assert_eq!(send(&mut sender, us(4_002)), rest);
    answer(&mut sender, us(4_003), header_only(7, 3, 1));
    assert_eq!(send(&mut sender, us(4_003)), [(7, 3, 1)]);
    // The timeout retransmits everything that was sent, also the rest of the message, and request 2 for the third time.
    time_out(&mut sender);
    let third: Vec<_> =
        send(&mut sender, us(8_010)).into_iter().map(|(psn, _, retry)| (psn, retry)).collect();
    assert_eq!(third, [(4, 2), (5, 2), (6, 2), (7, 2), (8, 1), (9, 1), (10, 1), (11, 1)]);
}

/// The rest of a request that was sent in part follows with the number of the new round: the receiver counts both
/// together.
#[test]
fn the_rest_of_a_request_follows_in_its_new_round() {
    let mut sender = windowed(DcpConfig { tracked_messages: 2, ..config() }, 4 * PACKET);
    post(&mut sender, [6]);
    // Requests of 2 packets; window and tracking let two of them go.
    assert_eq!(send(&mut sender, us(0)), [(0, 0, 0), (1, 0, 0), (2, 1, 0), (3, 1, 0)]);
    answer(&mut sender, us(1), ack(1));
    assert!(matches!(sender.poll_transmit(us(1)).unwrap().repr, Repr::Data { psn: 4, .. }));
    // Request 1 is the oldest and was sent in full; of request 2 one packet was.
    time_out(&mut sender);
    assert_eq!(send(&mut sender, us(4_001)), [(2, 1, 1), (3, 1, 1), (4, 2, 1), (5, 2, 1)]);
    let mut receiver = Receiver::new(DcpConfig { tracked_messages: 2, ..config() });
    receiver.take(&data(0, 10, 2, 0, 0));
    receiver.take(&data(1, 10, 2, 0, 0));
    // The old copy of PSN 4 arrives, then the round, of which PSN 4 is lost: two packets of request 2, and not whole.
    for (psn, msn, retry) in [(4, 2, 0), (2, 1, 1), (3, 1, 1), (5, 2, 1)] {
        let (answers, _) = receiver.take(&data(psn, 10, 2, msn, retry));
        assert!(!answers.contains(&ack(3)), "{psn} in round {retry}");
    }
    let (answers, _) = receiver.take(&data(4, 10, 2, 2, 1));
    assert_eq!(answers, [ack(3)]);
}
