//! The length of a queue pair's turn (section 4.3, Tx path).

use super::*;

/// Sends until no packet may be sent. Returns the number of packets in each turn.
fn turns(sender: &mut DcpSender, now: Time) -> Vec<u32> {
    let mut turns = vec![0];
    while sender.poll_transmit(now).is_some() {
        *turns.last_mut().unwrap() += 1;
        if !sender.holds_turn() {
            turns.push(0);
        }
    }
    assert!(!sender.holds_turn());
    assert_eq!(turns.pop(), Some(0), "it knew that nothing more could be sent");
    turns
}

#[test]
fn a_turn_ends_with_its_quota() {
    let mut sender = sender(config());
    assert!(!sender.holds_turn());
    post(&mut sender, [20, 20]);
    assert_eq!(turns(&mut sender, us(0)), [16, 16, 8]);
    // A quota of 16,999 B does not admit seventeen packets, and each turn has at least one packet.
    for (quota, expected) in [(16_999, vec![16, 4]), (17_000, vec![17, 3]), (0, vec![1; 20])] {
        let mut sender = super::sender(DcpConfig { round_quota: Bytes(quota), ..config() });
        post(&mut sender, [20]);
        assert_eq!(turns(&mut sender, us(0)), expected, "{quota} B");
    }
}

/// Fetched retransmissions count in the quota, and new data follows in the same turn.
#[test]
fn new_data_follows_in_the_turn_of_copies() {
    let mut sender = narrowed(config(), 40 * PACKET);
    post(&mut sender, [30, 30]);
    assert_eq!(turns(&mut sender, us(0)), [16, 16, 8]);
    (0..10).for_each(|psn| answer(&mut sender, us(1), header_only(psn, 0, 0)));
    answer(&mut sender, us(1), header_only(30, 1, 0));
    assert_eq!(turns(&mut sender, us(1)), [11]);
    (0..10).for_each(|psn| answer(&mut sender, us(2), header_only(30 + psn, 1, 0)));
    answer(&mut sender, us(2), ack(1));
    assert_eq!(turns(&mut sender, us(2)), [16, 14]);
}

/// A turn takes up to n = 8 WQEs, which are those at the head of the send queue when the turn began.
#[test]
fn a_turn_ends_with_its_wqes() {
    let mut sender = sender(config());
    for id in 0..20 {
        sender.post(MessageId(id), 10).unwrap();
    }
    for n in 1..=3 {
        assert!(sender.poll_transmit(us(0)).is_some());
        assert!(sender.holds_turn(), "after {n}");
    }
    answer(&mut sender, us(1), ack(3));
    for n in 4..=8 {
        assert!(sender.poll_transmit(us(1)).is_some());
        assert_eq!(sender.holds_turn(), n < 8, "after {n}");
    }
    assert_eq!(turns(&mut sender, us(1)), [3], "messages 8 to 10");
}

#[test]
fn a_turn_ends_when_nothing_can_be_sent() {
    let mut sender = narrowed(config(), 3 * PACKET);
    post(&mut sender, [2, 5]);
    assert_eq!(turns(&mut sender, us(0)), [3]);
    answer(&mut sender, us(1), ack(1));
    assert_eq!(turns(&mut sender, us(1)), [4]);
    assert_eq!(sender.poll_transmit(us(1)), None);
    // A turn that ended early does not continue with its unused quota.
    post(&mut sender, [20]);
    assert_eq!(turns(&mut sender, us(2)), []);
    answer(&mut sender, us(2), ack(2));
    assert_eq!(turns(&mut sender, us(2)), [16, 4]);
}
