use super::*;

#[test]
fn a_reply_in_time_begins_the_next_epoch_on_the_same_path() {
    let mut pair = Pair::new(&config(), 4);
    let (first, port) = pair.send(us(0), 0);
    assert!(is_init(&first));
    let (second, by) = pair.send(us(1), 1);
    assert!(!is_init(&second) && by == port, "one INIT an epoch");
    let reply = pair.arrive(us(5), &first).control;
    assert_eq!(reply.len(), 1);
    // The reply arrives at the deadline, which is the latest time at which it is not late.
    pair.hear(us(DEADLINE_US), &reply);
    let (third, by) = pair.send(us(DEADLINE_US + 1), 2);
    assert!(is_init(&third) && !is_tail(&third) && by == port);
    assert_ne!(first.tag, third.tag, "another epoch");
    // The deadline of the second epoch counts from the INIT of that epoch.
    let (fourth, by) = pair.send(us(2 * DEADLINE_US + 1), 3);
    assert!(!is_tail(&fourth) && by == port);
    assert_eq!((pair.sent("reroutes"), pair.sent("replies_in_time")), (0, 1));
}

/// The deadline is the round trip between the two ToRs plus `reply_extra` (4 us). For `NEAR_RECEIVER`, whose round trip
/// is 4 us, the deadline is the paper's 8 us (table 3).
#[test]
fn the_deadline_is_that_of_the_two_tors() {
    for (dst, deadline) in [(RECEIVER, DEADLINE_US), (NEAR_RECEIVER, 8)] {
        let mut source = program(&config(), 1);
        let mut send = |now| {
            let mut packet = Packet { dst, ..data(0, 0) };
            let at = passage(now, SENDER, true, false, 4);
            assert!(matches!(source.ingress(&mut packet, &at, &mut Vec::new()), Verdict::Port(_)));
            packet
        };
        assert!(is_init(&send(us(0))));
        assert!(!is_tail(&send(us(deadline))), "{deadline}: not late yet");
        assert!(is_tail(&send(us(deadline) + Duration(1))), "{deadline}");
    }
}

#[test]
fn a_late_reply_makes_the_next_packet_the_tail_and_the_rest_goes_elsewhere() {
    let mut pair = Pair::new(&config(), 4);
    let (first, old) = pair.send(us(0), 0);
    let (second, by) = pair.send(us(DEADLINE_US), 1);
    assert!(!is_tail(&second) && by == old, "not late yet");
    let reply = pair.arrive(us(5), &first).control;
    pair.hear(us(DEADLINE_US) + Duration(1), &reply);
    let (tail, by) = pair.send(us(DEADLINE_US) + Duration(1), 2);
    assert!(is_tail(&tail) && !is_rerouted(&tail) && by == old);
    let (after, new) = pair.send(us(14), 3);
    assert!(is_rerouted(&after) && !is_tail(&after) && new != old);
    let (later, by) = pair.send(us(100), 4);
    assert!(is_rerouted(&later) && by == new, "no other reroute before a CLEAR");
    assert_eq!((pair.sent("reroutes"), pair.sent("replies_late")), (1, 1));
}

#[test]
fn a_clear_begins_an_epoch_on_the_new_path_and_allows_the_next_reroute() {
    let mut pair = Pair::new(&config(), 4);
    let (_, new, init, tail) = pair.reroute();
    pair.arrive(us(20), &init);
    let clear = pair.arrive(us(21), &tail).control;
    assert_eq!(clear.len(), 1);
    pair.hear(us(25), &clear);
    let (next, by) = pair.send(us(26), 2);
    assert!(is_init(&next) && !is_rerouted(&next) && by == new);
    // The repeated CLEAR belongs to an earlier epoch.
    pair.hear(us(27), &clear);
    let (still, _) = pair.send(us(28), 3);
    assert!(!is_init(&still));
    let (tail, by) = pair.send(us(26 + DEADLINE_US + 1), 4);
    assert!(is_tail(&tail) && by == new);
    pair.hear(us(40), &clear);
    let (after, by) = pair.send(us(41), 5);
    assert!(is_rerouted(&after) && by != new, "an old CLEAR does not end this reroute");
    assert_eq!(pair.sent("reroutes"), 2);
}

#[test]
fn without_a_clear_only_idling_ends_a_reroute() {
    let mut pair = Pair::new(&config(), 4);
    let (_, new, ..) = pair.reroute();
    let tail_at = us(DEADLINE_US + 1);
    let steps: Vec<(Packet, u16)> =
        (1..=10).map(|step| pair.send(tail_at + Duration::from_us(300 * step), 2)).collect();
    assert!(steps.iter().all(|(packet, by)| is_rerouted(packet) && *by == new), "it never idles");
    assert_eq!(pair.sent("clears_missed"), 0);
    let again = tail_at + Duration::from_us(3_300) + Duration(1);
    let (next, _) = pair.send(again, 3);
    assert!(is_init(&next) && !is_rerouted(&next));
    assert_eq!(pair.sent("clears_missed"), 1);
    let (tail, _) = pair.send(again + Duration::from_us(DEADLINE_US) + Duration(1), 4);
    assert!(is_tail(&tail));
}

#[test]
fn after_idling_any_path_will_do() {
    let mut moved = 0;
    for qp in 0..32 {
        let mut pair = Pair::new(&config(), 4);
        (0..qp).for_each(|other| assert!(is_init(&pair.send_on(other, us(0), 0).0)));
        let (_, old) = pair.send_on(qp, us(0), 0);
        let (early, by) = pair.send_on(qp, us(10), 1);
        assert!(!is_init(&early) && by == old);
        let (tail, by) = pair.send_on(qp, us(310), 1);
        assert!(is_tail(&tail) && by == old, "idle for the expiry, not longer");
        let (next, by) = pair.send_on(qp, us(610) + Duration(1), 2);
        assert!(is_init(&next) && !is_rerouted(&next));
        assert_eq!(pair.sent("clears_missed"), 1);
        moved += u32::from(by != old);
    }
    assert!((16..32).contains(&moved), "three of four: {moved}");
}

fn notify(pair: &mut Pair, now: Time, port: u16) {
    for qp in 1_000.. {
        let (mut packet, by) = pair.send_on(qp, now, 0);
        if by == port {
            packet.marked = true;
            let control = pair.arrive(now, &packet).control;
            assert!(!control.is_empty(), "a NOTIFY");
            pair.hear(now, &control);
            return;
        }
    }
}

#[test]
fn with_both_samples_paused_it_stays_and_tries_again() {
    let mut pair = Pair::new(&config(), 2);
    let (first, old) = pair.send(us(0), 0);
    pair.arrive(us(1), &first);
    let other = 1 - old;
    notify(&mut pair, us(4), other);
    for at in [13, 15, 19] {
        let (packet, by) = pair.send(us(at), 1);
        assert!(!is_tail(&packet) && !is_rerouted(&packet) && by == old, "{at}");
    }
    assert_eq!((pair.sent("reroutes"), pair.sent("reroutes_refused")), (0, 3));
    // The other path is paused for 16 us and no longer.
    let (tail, by) = pair.send(us(4 + 16), 2);
    assert!(is_tail(&tail) && by == old);
    assert_eq!(pair.send(us(21), 3).1, other);
}

#[test]
fn a_pause_is_of_one_path_and_new_queue_pairs_heed_it() {
    let mut pair = Pair::new(&config(), 3);
    notify(&mut pair, us(0), 0);
    notify(&mut pair, us(0), 1);
    let mut draws_of_2 =
        |at, qps: std::ops::Range<u32>| qps.filter(|&qp| pair.send_on(qp, at, 0).1 == 2).count();
    // Two of three ports are paused. The source samples two ports and takes the first that is not paused. If both
    // samples are paused, the source takes a random port. The free port is thus taken in 5/9 of the cases, plus a third
    // of the other 4/9.
    let free = draws_of_2(us(1), 0..600);
    assert!((390..455).contains(&free), "{free} of 600");
    let free = draws_of_2(us(17), 2_000..2_600);
    assert!((160..240).contains(&free), "a third again: {free} of 600");
}

#[test]
fn with_one_path_it_never_leaves_it() {
    let mut pair = Pair::new(&config(), 1);
    let sent: Vec<(Packet, u16)> = (0..50).map(|i| pair.send(us(10 * i), 0)).collect();
    assert!(sent.iter().all(|(packet, port)| *port == 0 && !is_tail(packet) && !is_rerouted(packet)));
}

#[test]
fn new_paths_are_drawn_from_all_others() {
    let mut taken = [[0; 4]; 4];
    let mut pair = Pair::new(&config(), 4);
    for qp in 0..400 {
        let (_, old) = pair.send_on(qp, us(0), 0);
        pair.send_on(qp, us(20), 1);
        let (_, new) = pair.send_on(qp, us(20), 2);
        taken[usize::from(old)][usize::from(new)] += 1;
    }
    for (old, row) in taken.iter().enumerate() {
        for (new, &count) in row.iter().enumerate() {
            assert_eq!(count == 0, old == new, "{taken:?}");
        }
    }
}
