use super::*;

#[test]
fn what_overtakes_the_tail_is_held_until_it_has_passed() {
    let mut pair = Pair::new(&config(), 4);
    let (.., init, tail) = pair.reroute();
    let after = [2, 3, 4].map(|psn| pair.send(us(14), psn).0);
    pair.arrive(us(8), &init);
    for packet in &after[..2] {
        assert_eq!(pair.arrive(us(18), packet), Out::default());
    }
    let out = pair.arrive(us(20), &tail);
    assert_eq!((out.delivered, out.control.len()), (vec![1, 2, 3], 1), "and a CLEAR");
    assert_eq!(pair.arrive(us(21), &after[2]).delivered, [4], "it may pass now");
    assert_eq!(pair.destination.next_timeout(), None);
    let counts = ["held_packets", "max_held_bytes", "max_reorder_queues", "flushed_by_tail"];
    assert_eq!(counts.map(|name| pair.received(name)), [2, 2_096, 1, 1]);
    assert_eq!(pair.received("flushed_by_timeout"), 0);
}

#[test]
fn a_tail_that_nothing_overtook_brings_a_clear_too() {
    let mut pair = Pair::new(&config(), 4);
    let (.., init, tail) = pair.reroute();
    pair.arrive(us(8), &init);
    assert_eq!(pair.arrive(us(20), &tail).control.len(), 1);
    let (after, _) = pair.send(us(14), 2);
    assert_eq!(pair.arrive(us(21), &after).delivered, [2]);
    assert_eq!(pair.received("held_packets"), 0);
}

#[test]
fn a_lost_tail_is_given_up_a_little_after_it_should_have_come() {
    let mut pair = Pair::new(&config(), 4);
    let (_, new, init, _lost) = pair.reroute();
    let after = [2, 3].map(|psn| pair.send(us(14), psn).0);
    // The INIT took 9 us and the TAIL left at 13 us, so the TAIL is expected at 22 us. It is given up after another
    // 16 us (`flush_extra`).
    pair.arrive(us(9), &init);
    after.iter().for_each(|packet| assert_eq!(pair.arrive(us(18), packet), Out::default()));
    let due = pair.destination.next_timeout().expect("nothing is kept for ever");
    assert_eq!(due, expected_release(us(9), us(0), us(13)));
    assert!(due.0.abs_diff(us(13 + 9 + 16).0) < STAMP.0, "{due}");
    assert_eq!(pair.time_out(Time(due.0 - 1)), Out::default());
    let out = pair.time_out(due);
    assert_eq!((out.delivered, out.control.len()), (vec![2, 3], 1), "and a CLEAR");
    assert_eq!(pair.destination.next_timeout(), None);
    assert_eq!((pair.received("flushed_by_timeout"), pair.received("flushed_by_tail")), (1, 0));
    pair.hear(us(50), &out.control);
    let (next, by) = pair.send(us(51), 4);
    assert!(is_init(&next) && by == new);
}

/// The time at which the destination should release the packets that it holds. The last packet that arrived on the old
/// path left the source at `passed` and arrived at `came`. The TAIL left at `tail_at`, so it is expected `tail_at -
/// passed` after `came`. The destination waits 16 us longer (`flush_extra`). It computes the difference from the stamps
/// in packets, which are rounded down to their unit.
fn expected_release(came: Time, passed: Time, tail_at: Time) -> Time {
    let units = tail_at.0 / STAMP.0 - passed.0 / STAMP.0;
    came + STAMP * units + Duration::from_us(16)
}

#[test]
fn each_packet_of_the_old_path_makes_the_estimate_anew() {
    let mut pair = Pair::new(&config(), 4);
    let (init, _) = pair.send(us(0), 0);
    let (slow, _) = pair.send(us(11), 1);
    let (_tail, _) = pair.send(us(13), 2);
    let (after, _) = pair.send(us(14), 3);
    pair.arrive(us(4), &init);
    assert_eq!(pair.arrive(us(18), &after), Out::default());
    assert_eq!(pair.destination.next_timeout(), Some(expected_release(us(4), us(0), us(13))));
    assert_eq!(pair.arrive(us(30), &slow).delivered, [1], "it was sent before what is held");
    assert_eq!(pair.destination.next_timeout(), Some(expected_release(us(30), us(11), us(13))));
}

#[test]
fn the_estimate_outlives_the_wrap_of_stamps() {
    let mut pair = Pair::new(&config(), 4);
    let wrap = Duration(STAMP.0 << 16);
    let start = Time(wrap.0 - 5_000_000);
    let (init, _) = pair.send(start, 0);
    let tail_at = start + Duration::from_us(13);
    let (_tail, _) = pair.send(tail_at, 1);
    let (after, _) = pair.send(tail_at, 2);
    pair.arrive(start + Duration::from_us(9), &init);
    pair.arrive(tail_at + Duration::from_us(4), &after);
    let due = expected_release(start + Duration::from_us(9), start, tail_at);
    assert_eq!(pair.destination.next_timeout(), Some(due));
}

#[test]
fn with_nothing_known_of_the_old_path_it_waits_the_default_time() {
    let mut pair = Pair::new(&config(), 4);
    pair.reroute();
    let after = [2, 3].map(|psn| pair.send(us(14), psn).0);
    assert_eq!(pair.arrive(us(18), &after[0]), Out::default());
    assert_eq!(pair.arrive(us(30), &after[1]), Out::default());
    assert_eq!(pair.destination.next_timeout(), Some(us(218)), "from the first");
    assert_eq!(pair.time_out(us(218)).delivered, [2, 3]);
}

#[test]
fn a_packet_long_after_the_tail_should_have_come_is_not_held() {
    let mut pair = Pair::new(&config(), 4);
    let (.., init, tail) = pair.reroute();
    let (after, _) = pair.send(us(14), 2);
    pair.arrive(us(9), &init);
    let out = pair.arrive(us(39), &after);
    assert_eq!((out.delivered, out.control.len()), (vec![2], 1), "and a CLEAR");
    assert_eq!(pair.received("flushed_by_timeout"), 1);
    let out = pair.arrive(us(40), &tail);
    assert_eq!((out.delivered, out.control.len()), (vec![1], 1), "a CLEAR again, if one was lost");
    assert_eq!(pair.received("held_packets"), 0);
}

#[test]
fn what_comes_of_the_old_path_after_all_is_handed_on() {
    let mut pair = Pair::new(&config(), 4);
    let (init, _) = pair.send(us(0), 0);
    let (slow, _) = pair.send(us(11), 1);
    let (tail, _) = pair.send(us(13), 2);
    let after = [3, 4].map(|psn| pair.send(us(14), psn).0);
    pair.arrive(us(4), &init);
    pair.arrive(us(18), &after[0]);
    let due = pair.destination.next_timeout().expect("held");
    let clear = pair.time_out(due).control;
    assert_eq!(pair.arrive(us(50), &slow).delivered, [1]);
    assert_eq!(pair.arrive(us(50), &after[1]).delivered, [4], "no second wait");
    // The next epoch takes the new path, and the old TAIL must not count for it.
    pair.hear(us(50), &clear);
    let (_, new) = pair.send(us(51), 5);
    let (next_tail, by) = pair.send(us(64), 6);
    assert!(is_tail(&next_tail) && by == new);
    let (held, _) = pair.send(us(65), 7);
    assert_eq!(pair.arrive(us(70), &held), Out::default());
    assert_eq!(pair.arrive(us(71), &tail).delivered, [2]);
    assert_eq!(pair.arrive(us(72), &next_tail).delivered, [6, 7]);
}

#[test]
fn a_later_epoch_lets_go_what_is_held_ahead_of_it() {
    let slow_to_flush = ConweaveConfig { default_wait: Span::Time(Duration::from_us(900)), ..config() };
    let mut pair = Pair::new(&slow_to_flush, 4);
    pair.reroute();
    let (after, _) = pair.send(us(14), 2);
    assert_eq!(pair.arrive(us(18), &after), Out::default());
    let (next, _) = pair.send(us(350), 3);
    assert!(is_init(&next));
    let out = pair.arrive(us(355), &next);
    assert_eq!((out.delivered, out.control.len()), (vec![2, 3], 1), "and the reply");
    assert_eq!(pair.destination.next_timeout(), None);
    assert_eq!(pair.received("flushed_by_timeout"), 1);
}

#[test]
fn an_estimate_is_of_its_own_epoch() {
    let mut pair = Pair::new(&config(), 4);
    let (init, _) = pair.send(us(0), 0);
    let reply = pair.arrive(us(4), &init).control;
    pair.hear(us(8), &reply);
    pair.send(us(100), 1);
    pair.send(us(113), 2);
    let (after, _) = pair.send(us(114), 3);
    pair.arrive(us(118), &after);
    assert_eq!(pair.destination.next_timeout(), Some(us(118 + 200)), "INIT and TAIL are not here yet");
}

#[test]
fn queue_pairs_are_held_apart_and_counted_together() {
    let mut pair = Pair::new(&config(), 4);
    let mut tails = Vec::new();
    for qp in 0..3 {
        pair.send_on(qp, us(0), 0);
        tails.push(pair.send_on(qp, us(13), 1).0);
        let (after, _) = pair.send_on(qp, us(14), 2);
        assert_eq!(pair.arrive(us(18 + u64::from(qp)), &after), Out::default());
    }
    assert_eq!(pair.destination.next_timeout(), Some(us(218)));
    assert_eq!(pair.arrive(us(25), &tails[0]).delivered, [1, 2]);
    assert_eq!(pair.destination.next_timeout(), Some(us(219)), "of the queue pair after it");
    assert_eq!(pair.time_out(us(220)).delivered, [2, 2]);
    assert_eq!((pair.received("max_reorder_queues"), pair.received("max_held_bytes")), (3, 3 * 1_048));
}

#[test]
fn each_marked_packet_is_told_of() {
    let mut pair = Pair::new(&config(), 4);
    pair.send(us(0), 0);
    let (mut packet, _) = pair.send(us(1), 1);
    assert_eq!(pair.arrive(us(5), &packet).control.len(), 0);
    packet.marked = true;
    (6..9).for_each(|at| assert_eq!(pair.arrive(us(at), &packet).control.len(), 1));
    assert_eq!(pair.received("notifies"), 3);
}

#[test]
fn what_went_out_is_held_no_more() {
    let mut pair = Pair::new(&config(), 4);
    for qp in 0..3 {
        pair.send_on(qp, us(0), 0);
        let (tail, _) = pair.send_on(qp, us(13), 1);
        let (after, _) = pair.send_on(qp, us(14), 2);
        pair.arrive(us(18), &after);
        assert_eq!(pair.arrive(us(19), &tail).delivered, [1, 2]);
    }
    let counts = ["held_packets", "max_held_bytes", "max_reorder_queues", "flushed_by_tail"];
    assert_eq!(counts.map(|name| pair.received(name)), [3, 1_048, 1, 3]);
}
