//! Fetching of retransmissions from host memory (section 4.3).

use super::*;

/// The retransmissions within `span`, if 16,000 packets were trimmed at the start of the span. A PCIe round trip takes
/// 1 us, and a batch has at most `batch` packets.
fn repeated(batch: u32, span: Duration) -> Vec<(Time, u32)> {
    let pcie = Span::Time(Duration::from_us(1));
    let mut sender = sender(DcpConfig { pcie, batch, ..config() });
    assert!(sender.paces());
    post(&mut sender, [16_000, 1_000]);
    // The packets of the second message are new data, which could be sent meanwhile.
    (0..16_000).for_each(|_| assert!(sender.poll_transmit(us(0)).is_some()));
    (0..16_000).for_each(|psn| answer(&mut sender, us(0), header_only(psn, 0, 0)));
    let (mut now, mut sent) = (us(0), Vec::new());
    while now < us(0) + span {
        while let Some(packet) = sender.poll_transmit(now) {
            let Repr::Data { psn, .. } = packet.repr else { panic!("{packet:?}") };
            sent.push((now, psn));
        }
        now = sender.next_timeout().unwrap();
        sender.handle_timeout(now);
    }
    assert_eq!(sender.counters().fetches, sent.len() as u64 / u64::from(batch) + 1);
    sent
}

/// Footnote 9: fetching 1 KB in 2 us gives 4 Gb/s. Footnote 10: fetching sixteen packets in the same time gives sixteen
/// times as much.
#[test]
fn one_fetch_for_each_packet_makes_four_gigabits() {
    // Fetched one by one, packets are available after 2 us, 4 us and so on. The last one within the span is
    // available after 200 us.
    let span = Duration::from_us(201);
    let one_by_one = repeated(1, span);
    let expected: Vec<(Time, u32)> = (0..100).map(|i| (us(2 * (i + 1)), i as u32)).collect();
    assert_eq!(one_by_one, expected);
    let bits = one_by_one.len() as u64 * PAYLOAD * 8;
    assert_eq!(Rate(bits * 1_000_000 / 200), Rate::from_gbps(4));
    let batched = repeated(16, span);
    assert_eq!(batched.len(), 16 * one_by_one.len());
    assert!(
        batched
            .iter()
            .enumerate()
            .all(|(i, &(at, psn))| (at, psn) == (us(2 * (i as u64 / 16 + 1)), i as u32))
    );
}

/// By DCP, section 4.3, a batch has min(16, len, awin / MTU) entries, where `len` is the length of the retransmission
/// queue and `awin` is the room in the window. The simulated batch has at least one entry.
#[test]
fn a_batch_is_bounded_by_the_queue_and_the_window() {
    let fetches = |headers: u32, window: u64, batch: u32| {
        // The window changes to `window` once all packets are sent.
        let (mut sender, now) = closing(DcpConfig { batch, ..config() });
        post(&mut sender, [100]);
        assert_eq!(psns(&mut sender, us(0)).len(), 100);
        now.store(window, Relaxed);
        (0..headers).for_each(|psn| answer(&mut sender, us(1), header_only(psn, 0, 0)));
        assert_eq!(psns(&mut sender, us(1)), range(0..headers));
        sender.counters().fetches
    };
    assert_eq!(fetches(1, HUGE, 16), 1);
    assert_eq!(fetches(16, HUGE, 16), 1);
    assert_eq!(fetches(17, HUGE, 16), 2);
    assert_eq!(fetches(17, HUGE, 1), 17);
    // 100 packets were sent, and the 32 packets whose headers came back are no longer in flight. A window of 104
    // packets therefore has room for 36 packets.
    assert_eq!(fetches(32, 104 * PACKET, 16), 2);
    // With a window of 80 packets there is no room, so that each of 17 fetches takes one entry. With 90 packets, the
    // first fetch takes the ten entries for which the window has room, and ten further fetches take one entry each.
    // With one byte less, there is room for only nine, and eleven entries are left.
    assert_eq!(fetches(17, 80 * PACKET, 16), 17);
    assert_eq!(fetches(20, 90 * PACKET, 16), 1 + 10);
    assert_eq!(fetches(20, 90 * PACKET - 1, 16), 1 + 11);
}

/// Entries that arrive while a batch is fetched belong to the next batch.
#[test]
fn a_fetch_holds_up_the_queue_pair() {
    let pcie = Span::Time(Duration::from_us(3));
    let mut sender = sender(DcpConfig { pcie, ..config() });
    post(&mut sender, [50]);
    for _ in 0..4 {
        assert!(sender.poll_transmit(us(0)).is_some());
    }
    answer(&mut sender, us(10), header_only(1, 0, 0));
    assert_eq!(sender.poll_transmit(us(10)), None);
    assert!(!sender.holds_turn());
    assert_eq!(sender.next_timeout(), Some(us(16)));
    answer(&mut sender, us(11), header_only(3, 0, 0));
    assert_eq!(sender.poll_transmit(Time(us(16).0 - 1)), None);
    sender.handle_timeout(us(16));
    assert_eq!(sender.next_timeout(), None, "not all of it is sent: no timeout runs");
    assert_eq!(psns(&mut sender, us(16)), [1]);
    assert_eq!(sender.counters().fetches, 2);
    assert_eq!(sender.next_timeout(), Some(us(22)));
    assert_eq!(psns(&mut sender, us(22))[..2], [3, 4]);
    assert_eq!(sender.counters().fetches, 2);
    assert_eq!(sender.next_timeout(), Some(us(4_022)), "the fetch is over, though nobody said so");
}
