//! Themis-D: figures 6 and 7, then each rule of sections 4.2 to 4.4. (Figure 17 is tested in the module of the bitmap.)

use crate::themis_spraying::tor::*;
use anabranch_base::{QpId, Time};
use anabranch_proto::program::{Emitted, Held, ThemisSprayingConfig, Verdict};
use anabranch_proto::{Packet, Repr};

fn receiving(paths: u32) -> Tor {
    Tor::new(&PAPER, paths)
}

/// The counters of NACKs: valid, invalid, undetermined, confirmed and refuted ones, and avoidance signals.
fn nacks(tor: &Tor) -> [u64; 6] {
    let names = ["valid", "invalid", "undetermined", "confirmed", "refuted"];
    let [a, b, c, d, e] = names.map(|name| tor.counter(&format!("nacks_{name}")));
    [a, b, c, d, e, tor.counter("avoidance_signals")]
}

/// Figure 6: there are two paths, with even PSNs on path 0 and odd ones on path 1. Packet 2 is late and packet 4 is
/// lost. (Where the paper says that C1 is not satisfied for packet 2, it means that the NACK is invalid.)
#[test]
fn figure_6_tells_a_late_packet_from_a_lost_one() {
    let mut tor = receiving(2);
    for psn in [0, 1, 3] {
        assert_eq!(tor.deliver(psn), []);
    }
    // Packet 3 makes the NIC send a NACK for packet 2. Packet 2 passes while the NACK is under way.
    assert_eq!(tor.deliver(2), []);
    assert_eq!(tor.nack(2), Verdict::Drop, "bitmap[2] is set");
    assert_eq!(nacks(&tor), [0, 1, 0, 0, 0, 0]);
    assert_eq!(tor.deliver(6), []);
    assert_eq!(tor.nack(4), Verdict::Forward, "bitmap[4] is not set, and table[0] = 6 > 4");
    assert_eq!(nacks(&tor), [1, 1, 0, 0, 0, 0]);
}

/// Figure 7: when the NACK arrives, it is not known whether packet 0 is lost. Packet 2, on the same path, proves the
/// loss.
#[test]
fn figure_7_sends_a_stashed_nack_when_a_later_packet_confirms_it() {
    let mut tor = receiving(2);
    assert_eq!(tor.deliver(1), []);
    assert_eq!(tor.nack(0), Verdict::Drop, "table[0] is minus infinity");
    assert_eq!(nacks(&tor), [0, 0, 1, 0, 0, 0]);
    assert_eq!(tor.deliver(2), [(0, false)]);
    assert_eq!(nacks(&tor), [0, 0, 1, 1, 0, 0]);
    assert_eq!(tor.deliver(4), [], "Valid is false: one NACK for an ePSN");
}

/// The emitted NACK equals the NIC's, except that it has no ECN mark.
#[test]
fn a_confirmed_nack_is_the_one_that_was_dropped() {
    let mut tor = receiving(2);
    tor.deliver(1);
    tor.nack(0);
    let out = tor.egress(&mut sprayed(QP, 2), true);
    let repr = Repr::nack(0).with_sent_at(Time(99));
    let packet = Packet::new(QP, SENDER, repr).with_bytes(ACK).with_ev(0x55);
    assert_eq!(out, [Emitted { packet, held: Held::Never }]);
}

/// Section 4.3, second rule. A packet on another path has no effect.
#[test]
fn a_stashed_nack_is_dropped_when_its_packet_comes() {
    let mut tor = receiving(2);
    tor.deliver(1);
    tor.nack(0);
    assert_eq!(tor.deliver(3), [], "path 1");
    assert_eq!(tor.deliver(0), []);
    assert_eq!(nacks(&tor), [0, 0, 1, 0, 1, 0]);
    assert_eq!(tor.deliver(2), [], "nothing is stashed any more");
}

/// A packet on the path of the missing packet does not prove its loss if it was sent before the missing packet.
#[test]
fn an_earlier_packet_of_the_path_confirms_nothing() {
    let mut tor = receiving(2);
    tor.deliver_all(&[0, 1, 3, 2, 5]);
    assert_eq!(tor.nack(4), Verdict::Drop, "table[0] = 2 < 4");
    assert_eq!(tor.deliver(2), [], "a copy of 2 was sent before 4");
    assert_eq!(tor.deliver(6), [(4, false)]);
    assert_eq!(nacks(&tor), [0, 0, 1, 1, 0, 0]);
}

/// Algorithm 1, line 23: the table has the highest PSN, not the latest. Section 4.4 relies on this: a retransmission
/// does not change the table, whichever path it takes.
#[test]
fn a_retransmission_does_not_lower_the_highest_psn_of_its_path() {
    let mut tor = receiving(2);
    tor.deliver_all(&[0, 1, 3, 8]);
    assert_eq!(tor.nack(2), Verdict::Forward);
    tor.deliver(2);
    assert_eq!(tor.nack(4), Verdict::Forward, "8 still stands for path 0");
}

/// Section 4.3: a NACK for a later ePSN shows that the packet of the stashed NACK has arrived, even if it did not pass
/// this ToR.
#[test]
fn a_later_nack_takes_the_place_of_the_stashed_one() {
    let mut tor = receiving(2);
    tor.deliver(1);
    tor.nack(0);
    tor.deliver(3);
    assert_eq!(tor.nack(2), Verdict::Drop);
    assert_eq!(tor.deliver(4), [(2, false)]);
    assert_eq!(nacks(&tor), [0, 0, 2, 1, 0, 0]);
}

/// ACKs and NACKs advance the start pointer, by many revolutions of the bitmap. A copy from below the pointer is not
/// mistaken for the packet that now has its bit.
#[test]
fn the_bitmap_serves_for_ever() {
    let config = ThemisSprayingConfig { window: 4, ..PAPER };
    let mut tor = Tor::new(&config, 2);
    for first in (0..400).step_by(5) {
        tor.deliver_all(&[first, first + 2, first + 3]);
        if first > 0 {
            tor.deliver(first - 3);
        }
        assert_eq!(tor.nack(first + 1), Verdict::Forward, "{first}: lost, as the packet two on shows");
        // The NACK has advanced the window by one.
        tor.deliver_all(&[first + 4, first + 1]);
        tor.ack(first + 5);
    }
    assert_eq!(nacks(&tor), [80, 0, 0, 0, 0, 0]);
    assert_eq!(tor.nack(390), Verdict::Drop, "a NACK from before an ACK");
}

/// Without C2, there are only two decisions about a NACK: a packet that was not delivered counts as lost.
#[test]
fn without_confirmation_every_missing_packet_counts_as_lost() {
    let mut tor = Tor::new(&ThemisSprayingConfig { confirmation: false, ..PAPER }, 2);
    tor.deliver_all(&[0, 1, 3]);
    assert_eq!(tor.nack(2), Verdict::Forward);
    tor.deliver(2);
    tor.deliver(5);
    tor.deliver(4);
    assert_eq!(tor.nack(4), Verdict::Drop, "C1 stays");
    assert_eq!(nacks(&tor), [1, 1, 0, 0, 0, 0]);
}

#[test]
fn without_lazy_dropping_an_undetermined_nack_is_gone() {
    let mut tor = Tor::new(&ThemisSprayingConfig { lazy_drop: false, ..PAPER }, 2);
    tor.deliver(1);
    assert_eq!(tor.nack(0), Verdict::Drop);
    assert_eq!(tor.deliver(2), []);
    assert_eq!(tor.deliver(501), []);
    assert_eq!(nacks(&tor), [0, 0, 1, 0, 0, 0]);
}

/// Section 4.4, failure handling: a signal is sent for a packet beyond OOO_THRESHOLD, not for one at it, and only once.
#[test]
fn a_path_whose_packets_stay_out_is_named_in_a_signal() {
    let mut tor = receiving(15);
    tor.deliver(0);
    tor.ack(1);
    tor.deliver(2);
    assert_eq!(tor.nack(1), Verdict::Drop);
    assert_eq!(tor.deliver(1 + 448), []);
    assert_eq!(tor.deliver(1 + 448 + 1), [(1, true)]);
    assert_eq!(tor.deliver(1 + 448 + 2), []);
    assert_eq!(nacks(&tor), [0, 0, 1, 0, 0, 1]);
}

/// A packet of the path itself shows that the path works, however far ahead the packet is.
#[test]
fn a_path_that_delivers_is_not_avoided() {
    let mut tor = receiving(15);
    tor.deliver(0);
    tor.ack(1);
    tor.deliver(2);
    tor.nack(1);
    assert_eq!(tor.deliver(1 + 15 * 30), [(1, false)], "450 beyond");
    assert_eq!(nacks(&tor), [0, 0, 1, 1, 0, 0]);
}

#[test]
fn without_failure_handling_nothing_is_signalled() {
    let mut tor = Tor::new(&ThemisSprayingConfig { failure_handling: false, ..PAPER }, 16);
    tor.deliver(0);
    tor.ack(1);
    tor.deliver(2);
    tor.nack(1);
    assert_eq!(tor.deliver(1 + 511), []);
    assert_eq!(nacks(&tor), [0, 0, 1, 0, 0, 0]);
}

/// Section 5: Themis-D records a data packet only if another ToR has sprayed it and it goes to a host of this ToR.
#[test]
fn packets_of_neighbours_and_packets_in_passing_are_left_alone() {
    let mut tor = receiving(2);
    // Packets between hosts under the same ToR are forwarded without spraying. Their NACKs are forwarded too.
    for psn in [1, 3, 0] {
        let mut packet = data(QP, psn);
        assert_eq!(tor.ingress(&mut packet, true, true), Verdict::Forward);
        assert_eq!(packet, data(QP, psn));
        assert_eq!(tor.egress(&mut packet, true), []);
    }
    assert_eq!(tor.ingress(&mut nack(QP, 0), true, true), Verdict::Forward);
    // The sender's ToR does not run Themis, so that nothing is known about the queue pair.
    assert_eq!(tor.ingress(&mut nack(QP, 0), true, false), Verdict::Forward);
    // A sprayed packet that is not for a host of this ToR keeps its tag, because the ToR of its receiver reads the tag.
    let mut passing = sprayed(QP, 0);
    let (mark, out) = (passing.tag, tor.egress(&mut passing, false));
    assert_eq!((passing.tag, out), (mark, Vec::new()));
    assert_ne!(mark, 0);
    // Themis ignores control packets that are neither ACKs nor NACKs.
    let cnp = Packet { repr: Repr::Cnp, ..nack(QP, 0) };
    for (from_host, to_host) in [(true, false), (false, true), (false, false)] {
        let mut packet = cnp;
        assert_eq!(tor.ingress(&mut packet, from_host, to_host), Verdict::Forward);
        assert_eq!((packet, tor.egress(&mut packet.clone(), to_host)), (cnp, Vec::new()));
    }
    assert_eq!(nacks(&tor), [0; 6]);
}

#[test]
fn each_queue_pair_has_a_state_of_its_own() {
    let mut tor = receiving(2);
    let other = QpId(3);
    tor.deliver(1);
    tor.egress(&mut sprayed(other, 2), true);
    assert_eq!(tor.nack(0), Verdict::Drop, "the other one's packet 2 proves nothing");
    assert_eq!(tor.ingress(&mut nack(other, 0), true, false), Verdict::Forward);
    assert_eq!(tor.egress(&mut sprayed(other, 4), true), []);
    assert_eq!(tor.deliver(2), [(0, false)]);
    assert_eq!(nacks(&tor), [1, 0, 1, 1, 0, 0]);
}
