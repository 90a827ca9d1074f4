//! The window, which is one for all paths.

use super::*;
use anabranch_proto::cc::{AckReport, AnyCc, CongestionControl, LossReport};
use std::sync::{Arc, Mutex};

/// A congestion control with a window of 4 packets, which records its calls.
struct Told(Arc<Mutex<Vec<String>>>);

impl CongestionControl for Told {
    fn window(&self) -> u64 {
        4_000
    }
    fn handle_ack(&mut self, acked: &AckReport) {
        let AckReport { now, packets, bytes, probe, marked, rtt, .. } = acked;
        assert_eq!((*now, *probe), (us(8), false));
        self.0.lock().unwrap().push(format!("{packets} packet, {bytes} B, marked {marked}, {rtt}"));
    }
    fn handle_loss(&mut self, _now: &LossReport) {
        self.0.lock().unwrap().push("loss".to_owned());
    }
    fn handle_restart(&mut self, now: Time) {
        self.0.lock().unwrap().push(format!("restart at {now}"));
    }
}

fn told() -> (MpRdmaSender, Arc<Mutex<Vec<String>>>) {
    let log = Arc::new(Mutex::new(Vec::new()));
    let cc = AnyCc::Custom(Box::new(Told(log.clone())));
    (MpRdmaSender::new(&config(), &FACTS, ENDS, cc, paths(0.0)), log)
}

/// Computed by hand, in packets: the window is 4. Four ACKs add 1/4, 1/4.25, 1/4.485 and 1/4.708, which makes 4.921 and
/// not yet 5. The fifth ACK adds 1/4.921 and makes it 5.124.
#[test]
fn an_ack_adds_a_packet_a_window() {
    let mut sender = sender(4.0);
    post(&mut sender, 100);
    assert_eq!(burst(&mut sender, us(0)), psns(0..4));
    for psn in 0..4 {
        answer(&mut sender, us(8), 7, ack(psn, psn + 1));
        assert_eq!(burst(&mut sender, us(8)), [psn + 4]);
    }
    answer(&mut sender, us(16), 7, ack(4, 5));
    assert_eq!(burst(&mut sender, us(16)), [8, 9]);
}

/// The window falls from 4 packets to 3.5, so that only 3 may be in flight. The second ACK makes it 3.0 and clocks
/// out a packet. Further ACKs make it 2.5, 2.0, 1.5 and 1.0, and no lower.
#[test]
fn a_marked_ack_takes_half_a_packet() {
    let mut sender = sender(4.0);
    post(&mut sender, 100);
    assert_eq!(burst(&mut sender, us(0)), psns(0..4));
    let mut next = 4;
    for (psn, goes) in [false, true, false, true, false, true, true, true].into_iter().enumerate() {
        answer(&mut sender, us(8), 7, marked(psn as u32, psn as u32 + 1));
        let expected = if goes { vec![next] } else { vec![] };
        assert_eq!(burst(&mut sender, us(8)), expected, "after the ACK of {psn}");
        next += u32::from(goes);
    }
}

/// With a window of 2 packets, an unmarked ACK adds half a packet (1 / window), and a marked ACK takes half a packet.
/// Two ACKs on two paths, one of them marked, therefore leave the window unchanged.
#[test]
fn the_window_is_one_for_all_paths() {
    let mut sender = sender(2.0);
    post(&mut sender, 100);
    assert_eq!(burst(&mut sender, us(0)), psns(0..2));
    answer(&mut sender, us(8), 1, ack(0, 1));
    assert_eq!(burst(&mut sender, us(8)), [2], "2.5");
    answer(&mut sender, us(8), 2, marked(1, 2));
    assert_eq!(burst(&mut sender, us(8)), [3], "2.0");
}

/// Each ACK clocks out one packet, even if the packet that caused the ACK arrived out of order. When a cumulative
/// acknowledgement passes PSNs that were acknowledged individually before, they clock out no further packets.
#[test]
fn acks_count_and_not_what_they_acknowledge() {
    let mut sender = sender(4.0);
    post(&mut sender, 100);
    assert_eq!(burst(&mut sender, us(0)), psns(0..4));
    answer(&mut sender, us(8), 7, ack(2, 0));
    assert_eq!(burst(&mut sender, us(8)), [4]);
    answer(&mut sender, us(8), 7, ack(1, 0));
    assert_eq!(burst(&mut sender, us(8)), [5]);
    answer(&mut sender, us(8), 7, ack(0, 3));
    assert_eq!(burst(&mut sender, us(8)), [6]);
    answer(&mut sender, us(8), 7, ack(3, 4));
    assert_eq!(burst(&mut sender, us(8)), [7]);
}

/// The ACK of PSN 1 overtakes the ACK of PSN 0. When the ACK of PSN 0 arrives, PSN 0 no longer counts as in flight.
#[test]
fn an_ack_that_was_overtaken_counts_once() {
    let mut sender = sender(4.0);
    post(&mut sender, 100);
    assert_eq!(burst(&mut sender, us(0)), psns(0..4));
    answer(&mut sender, us(8), 7, ack(1, 2));
    assert_eq!(burst(&mut sender, us(8)), [4, 5]);
    answer(&mut sender, us(8), 7, ack(0, 1));
    assert_eq!(burst(&mut sender, us(8)), []);
    // The next two ACKs acknowledge PSN 3 individually. The ACK after them acknowledges PSNs 2 and 3 cumulatively, so
    // it takes only PSN 2 out of flight.
    answer(&mut sender, us(8), 7, ack(3, 2));
    answer(&mut sender, us(8), 7, ack(3, 2));
    assert_eq!(burst(&mut sender, us(8)), [6]);
    answer(&mut sender, us(8), 7, ack(2, 4));
    assert_eq!(burst(&mut sender, us(8)), [7, 8], "a window of 5.2");
}

/// The ACKs of PSNs 0 and 1 are lost. The ACK of PSN 2 acknowledges all three packets, which no longer count as in
/// flight.
#[test]
fn a_lost_ack_holds_no_place_for_ever() {
    let mut sender = sender(4.0);
    post(&mut sender, 100);
    assert_eq!(burst(&mut sender, us(0)), psns(0..4));
    answer(&mut sender, us(8), 7, ack(2, 3));
    assert_eq!(burst(&mut sender, us(8)), [4, 5, 6]);
}

#[test]
fn the_congestion_control_is_told_of_each_ack_as_a_packet() {
    let (mut sender, log) = told();
    post(&mut sender, 100);
    assert_eq!(burst(&mut sender, us(0)), psns(0..4));
    answer(&mut sender, us(8), 7, ack(0, 1));
    answer(&mut sender, us(8), 7, marked(3, 1));
    // The next ACK answers a duplicate, and the ACK after that acknowledges PSNs 1 and 2.
    answer(&mut sender, us(8), 7, ack(0, 1));
    answer(&mut sender, us(8), 7, ack(1, 3));
    // The congestion control gets no report of a NACK for which a packet can be sent.
    answer(&mut sender, us(8), 7, nack(3, us(0)));
    let told = |marked: bool| format!("1 packet, 1000 B, marked {marked}, {}", Duration::from_us(8));
    assert_eq!(*log.lock().unwrap(), [told(false), told(true), told(false), told(false)]);
}

/// A late ACK changes the window like any ACK, and then shrinks the window by one packet instead of clocking out a
/// packet.
#[test]
fn a_late_ack_takes_a_packet_off_the_window() {
    let (mut sender, log) = told();
    post(&mut sender, 100);
    send(&mut sender, us(0));
    for psn in 0..34 {
        answer(&mut sender, us(8), 7, ack(psn, psn + 1));
        send(&mut sender, us(8));
    }
    log.lock().unwrap().clear();
    answer(&mut sender, us(8), 7, marked(1, 34));
    answer(&mut sender, us(8), 7, marked(0, 34));
    let marked = format!("1 packet, 1000 B, marked true, {}", Duration::from_us(8));
    assert_eq!(*log.lock().unwrap(), [marked.as_str(), &marked, "loss"]);
}

/// An ACK that could clock out a packet but finds none shrinks the window by a packet, after it has increased the
/// window by 1 / window packets. From 4, the window becomes 4.25 - 1 = 3.25, 3.56 - 1 = 2.56, 2.95 - 1 = 1.95, and
/// finally 2.46 - 1 = 1.46.
#[test]
fn window_that_is_not_used_is_lost() {
    let mut sender = sender(4.0);
    post(&mut sender, 4);
    assert_eq!(burst(&mut sender, us(0)), psns(0..4));
    for psn in 0..4 {
        answer(&mut sender, us(8), 7, ack(psn, psn + 1));
    }
    post(&mut sender, 100);
    assert_eq!(burst(&mut sender, us(9)), [4], "1.46");
    answer(&mut sender, us(17), 7, ack(4, 5));
    assert_eq!(burst(&mut sender, us(17)), [5, 6], "2.14");
}

/// After a pause of 500 us without a packet in flight, the window is the initial window. After a pause of 499 us, the
/// window still has 1.46 packets.
#[test]
fn after_a_pause_the_window_is_that_of_the_start() {
    for (pause, expected) in [(499, psns(4..5)), (500, psns(4..8))] {
        let mut sender = sender(4.0);
        post(&mut sender, 4);
        assert_eq!(burst(&mut sender, us(700)), psns(0..4));
        for psn in 0..4 {
            answer(&mut sender, us(708), 7, ack(psn, psn + 1));
        }
        post(&mut sender, 100);
        assert_eq!(burst(&mut sender, us(708 + pause)), expected, "{pause} us");
    }
}

/// Only a pause without packets in flight makes the congestion control restart.
#[test]
fn a_restart_needs_all_to_be_acknowledged() {
    let (mut sender, log) = told();
    post(&mut sender, 2);
    assert_eq!(burst(&mut sender, us(499)), psns(0..2));
    assert!(log.lock().unwrap().is_empty(), "the first packet left soon enough");
    sender.handle_timeout(us(599));
    assert_eq!(burst(&mut sender, us(2_000)), psns(0..2));
    post(&mut sender, 2);
    assert_eq!(burst(&mut sender, us(3_000)), psns(2..4));
    assert_eq!(*log.lock().unwrap(), ["loss"]);
    answer(&mut sender, us(8), 7, ack(3, 4));
    log.lock().unwrap().clear();
    post(&mut sender, 1);
    assert_eq!(burst(&mut sender, us(5_000)), [4]);
    assert_eq!(*log.lock().unwrap(), [format!("restart at {}", us(5_000))]);
}
