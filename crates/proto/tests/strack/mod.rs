//! STrack's own rules, tested step by step: Algorithms 1 to 4, figure 7, and the reliability of section 3.3.
//!
//! The network is that of Table 1, where all scaling factors are 1. It has 100 Gb/s and a base RTT of 12 us, hence a
//! BDP of 150 packets of 1,000 B.

mod path;
mod receiver;
mod sender;

use crate::support::loss;
use anabranch_base::{Bytes, Duration, HostId, MessageId, Purpose, QpId, Rate, Time, stream};
use anabranch_proto::cc::{AckReport, AnyCc, CcConfig, StrackCcConfig};
use anabranch_proto::lb::{AnyLb, Environment, LbConfig, StateField, StrackLbConfig};
use anabranch_proto::transport::{Ends, StrackConfig};
use anabranch_proto::{Packet, PathFacts, Repr, SackCause, Size, Span};
use std::fmt::Write;

const PACKET: u64 = 1_000;
const FACTS: PathFacts = PathFacts {
    base_rtt: Duration::from_us(12),
    bdp: Bytes(150 * PACKET),
    packet: Bytes(PACKET),
    line_rate: Rate::from_gbps(100),
    port_rate: Rate::from_gbps(100),
    queue: Bytes(1_000_000),
};

const ENDS: Ends = Ends { qp: QpId(7), src: HostId(1), dst: HostId(2) };
const HEADER: u64 = 64;
const ACK: u64 = 60;
const MESSAGE: MessageId = MessageId(3);

/// Packets of 1,000 B on the wire, a SACK for every four of them, and probes after 36 us. The SACK of a probe
/// indicates a loss if it returns in less than 24 us.
fn config() -> StrackConfig {
    StrackConfig {
        payload: Bytes(PACKET - HEADER),
        header: Bytes(HEADER),
        ack: Bytes(ACK),
        sack_bytes: Bytes(4 * PACKET),
        min_threshold: 5,
        probe_after: Span::Rtt(3.0),
        probe_rtt: Span::Rtt(2.0),
        probe_takes_all: true,
        rto: Span::Time(Duration::from_us(250)),
    }
}

fn bits(set: impl IntoIterator<Item = u32>) -> u64 {
    set.into_iter().fold(0, |bits, bit| bits | 1 << bit)
}

fn at(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
}

mod load_balancing {
    use super::*;

    /// The entropy values of ACKs, and whether each ACK was marked.
    type Acks = &'static [(u16, bool)];

    fn balancer(max_paths: u32) -> AnyLb {
        let environment = Environment { facts: FACTS, rto: Duration::from_us(250), trimming: false };
        let config = LbConfig::Strack(StrackLbConfig { max_paths, min_paths: 8 });
        config.build(&environment, stream(1, 0, Purpose::LoadBalancer))
    }

    fn send(lb: &mut AnyLb, packets: u32, cwnd: u64) -> Vec<u16> {
        (0..packets).map(|_| lb.next_ev(Time::ZERO, cwnd * PACKET)).collect()
    }

    fn ack(lb: &mut AnyLb, ev: u16, marked: bool) {
        lb.handle_ack(Time::ZERO, ev, marked, FACTS.base_rtt);
    }

    /// Algorithm 3, lines 17-19: the round-robin counter `rr` is 0 initially, and advances before it is used.
    #[test]
    fn goes_round_twice_the_window_but_8_at_least_and_256_at_most() {
        let round = |cwnd, packets| send(&mut balancer(256), packets, cwnd);
        assert_eq!(round(1, 9), [1, 2, 3, 4, 5, 6, 7, 0, 1]);
        assert_eq!(round(4, 8)[7], 0);
        assert_eq!(round(5, 10)[6..], [7, 8, 9, 0]);
        assert_eq!(round(150, 257)[254..], [255, 0, 1]);
        assert_eq!(send(&mut balancer(10), 11, 150)[8..], [9, 0, 1]);
    }

    /// Algorithm 3, lines 7 and 12-14: each ACK overwrites the path of the previous one, and a marked ACK leaves no
    /// path.
    #[test]
    fn an_unmarked_path_carries_the_next_packet_once() {
        let mut lb = balancer(256);
        ack(&mut lb, 0, false);
        assert_eq!(send(&mut lb, 2, 100), [0, 1], "path 0 too, and the round robin goes on from it");
        ack(&mut lb, 50, false);
        ack(&mut lb, 60, false);
        assert_eq!(send(&mut lb, 2, 100), [60, 61]);
        ack(&mut lb, 70, false);
        ack(&mut lb, 90, true);
        assert_eq!(send(&mut lb, 1, 100), [62], "line 4: the path of the ACK before is invalid");
        ack(&mut lb, 255, false);
        assert_eq!(send(&mut lb, 2, 4), [255, 0], "rr continues within the range of a smaller window");
    }

    /// Lines 20-27 of Algorithm 3.
    #[test]
    fn a_marked_path_is_skipped_once_and_one_bit_goes_a_packet() {
        let mut lb = balancer(256);
        [2, 3, 5].iter().for_each(|&path| ack(&mut lb, path, true));
        // Path 1 is used. Paths 2 and 3 are skipped, but only the bit of path 2 is cleared, and path 4 is used. Path 5
        // is skipped and its bit is cleared. Then paths 6, 7 and 0 are used.
        assert_eq!(send(&mut lb, 5, 4), [1, 4, 6, 7, 0]);
        // In the next round path 2 is free again. Path 3 is skipped for the second time, and its bit is cleared.
        assert_eq!(send(&mut lb, 4, 4), [1, 2, 4, 5]);
        assert_eq!(send(&mut lb, 6, 4), [6, 7, 0, 1, 2, 3]);
    }

    /// Section 3.1: an unmarked ACK clears the bit of its path.
    #[test]
    fn an_unmarked_ack_clears_its_bit() {
        let mut lb = balancer(256);
        ack(&mut lb, 2, true);
        ack(&mut lb, 2, false);
        ack(&mut lb, 7, true);
        assert_eq!(send(&mut lb, 3, 4), [1, 2, 3]);
    }

    #[test]
    fn an_ack_of_another_balancers_path_changes_nothing() {
        let mut lb = balancer(16);
        ack(&mut lb, 5, false);
        ack(&mut lb, 16, true);
        ack(&mut lb, u16::MAX, false);
        assert_eq!(send(&mut lb, 2, 100), [5, 6]);
    }

    #[test]
    fn keeps_a_bit_a_path_and_two_path_ids() {
        let state = LbConfig::Strack(StrackLbConfig { max_paths: 256, min_paths: 8 }).state();
        assert_eq!(state[0], StateField::new("bitmap", 1, 256));
        assert_eq!(state.iter().map(|field| field.bits * field.count).sum::<u32>(), 273);
    }

    /// A `!` precedes a marked path. In the last line, all 8 paths are marked.
    #[test]
    fn trajectory() {
        let mut lb = balancer(256);
        let mut table = String::new();
        let script: [(Acks, u32, u64); 6] = [
            (&[], 10, 10),
            (&[(1, true), (2, true), (3, false)], 3, 10),
            (&[(4, true), (5, true), (6, true)], 6, 3),
            (&[], 10, 3),
            (&[(19, false)], 3, 10),
            (
                &[(0, true), (1, true), (2, true), (3, true), (4, true), (5, true), (6, true), (7, true)],
                10,
                1,
            ),
        ];
        for (acks, packets, cwnd) in script {
            let marks = acks.iter().map(|&(ev, marked)| format!("{}{ev}", if marked { "!" } else { "" }));
            let marks: Vec<_> = marks.collect();
            acks.iter().for_each(|&(ev, marked)| ack(&mut lb, ev, marked));
            let evs: Vec<_> = send(&mut lb, packets, cwnd).iter().map(u16::to_string).collect();
            writeln!(table, "cwnd {cwnd:>2}  acks {:<24}  EVs {}", marks.join(" "), evs.join(" ")).unwrap();
        }
        insta::assert_snapshot!(table, @r"
        cwnd 10  acks                           EVs 1 2 3 4 5 6 7 8 9 10
        cwnd 10  acks !1 !2 3                   EVs 3 4 5
        cwnd  3  acks !4 !5 !6                  EVs 7 0 3 6 7 0
        cwnd  3  acks                           EVs 1 3 4 6 7 0 1 2 3 4
        cwnd 10  acks 19                        EVs 19 0 1
        cwnd  1  acks !0 !1 !2 !3 !4 !5 !6 !7   EVs 2 2 3 2 3 4 2 3 4 5
        ");
    }
}

mod congestion_control {
    use super::*;

    pub fn config(cwnd: f64) -> StrackCcConfig {
        StrackCcConfig {
            initial_window: Size::Packets(cwnd),
            max_window: Size::Bdp(1.0),
            target_qdelay: Span::Rtt(1.0),
            target_qhigh: Span::Rtt(3.0),
            ewma: 0.125,
            beta: 5.0,
            eta: 0.15,
            alpha: 4.0,
            gamma: 0.8,
            max_decrease: 0.5,
        }
    }

    fn start(config: StrackCcConfig) -> AnyCc {
        CcConfig::Strack(config).build(&FACTS)
    }

    /// A congestion control whose average delay is the last sample.
    fn sharp(cwnd: f64) -> AnyCc {
        start(StrackCcConfig { ewma: 1.0, ..config(cwnd) })
    }

    /// The window after an ACK of `packets` packets at `us` us. The queueing delay was `delay` us.
    fn ack(cc: &mut AnyCc, us: u64, delay: u64, marked: bool, packets: u32) -> u64 {
        let rtt = Duration::from_us(12 + delay);
        let bytes = u64::from(packets) * PACKET;
        cc.handle_ack(&AckReport {
            now: at(us),
            packets,
            bytes,
            probe: false,
            marked,
            rtt,
            rtt_is_valid: true,
            in_flight: 0,
        });
        cc.window()
    }

    /// Algorithm 4, lines 8-9: the window grows by alpha * (target - delay) / cwnd, with alpha = 4 packets per 12 us.
    /// Lines 19-22: the window also grows by 0.15 packets if more than a base RTT has passed since the last such
    /// increase.
    #[test]
    fn grows_in_proportion_to_the_room_below_the_target() {
        let mut cc = start(config(20.0));
        assert_eq!(ack(&mut cc, 100, 0, false, 1), 20_350, "20 + 4 / 20 + 0.15");
        assert_eq!(ack(&mut cc, 101, 6, false, 9), 20_448, "+ 2 / 20.35, once an ACK");
        assert_eq!(
            ack(&mut cc, 112, 12, false, 1),
            20_448,
            "at the target; 12 us are not more than a base RTT"
        );
        assert_eq!(ack(&mut cc, 113, 12, false, 1), 20_598, "+ 0.15");
    }

    /// Table 1 scaled to another network: bdp_sf = 400 KB / 150 KB, delay_sf = 8 / 12, and alpha * 8 us = 7.111
    /// packets.
    #[test]
    fn gains_follow_the_network() {
        let (base_rtt, bdp) = (Duration::from_us(8), Bytes(400_000));
        let rate = Rate::from_gbps(400);
        let facts = PathFacts { base_rtt, bdp, line_rate: rate, port_rate: rate, ..FACTS };
        let mut cc = CcConfig::Strack(config(100.0)).build(&facts);
        cc.handle_ack(&AckReport {
            now: at(8),
            packets: 1,
            bytes: PACKET,
            probe: false,
            marked: false,
            rtt: base_rtt,
            rtt_is_valid: true,
            in_flight: 0,
        });
        assert_eq!(cc.window(), 100_471, "100 + 7.111 / 100 + 0.15 * 2.667");
    }

    /// Algorithm 4, lines 6-7, which apply to delays above three targets.
    #[test]
    fn an_unmarked_packet_that_waited_long_adds_beta() {
        let mut cc = start(config(20.0));
        assert_eq!(ack(&mut cc, 100, 37, false, 1), 20_400, "20 + 5 / 20 + 0.15");
        assert_eq!(ack(&mut cc, 101, 36, false, 1), 20_400);
    }

    /// Scenario 2 of section 3: below the target, a mark only changes paths.
    #[test]
    fn a_mark_below_the_target_leaves_the_window() {
        let mut cc = start(config(20.0));
        assert_eq!(ack(&mut cc, 100, 0, true, 1), 20_150, "eta alone");
        assert_eq!(ack(&mut cc, 101, 11, true, 1), 20_150);
    }

    /// Algorithm 4, lines 14-16. The average after n samples of 24 us is 24 * (1 - 0.875^n). It is 11.69 us after
    /// five samples, and 13.2289 us after six, when the window is cut by 0.8 * 1.2289 / 13.2289 = 7.4317 %.
    #[test]
    fn cuts_when_the_average_passes_the_target_once_a_base_rtt() {
        let mut cc = start(config(20.0));
        for us in 100..105 {
            assert_eq!(ack(&mut cc, us, 24, true, 1), 20_150);
        }
        assert_eq!(ack(&mut cc, 105, 24, true, 1), 18_653, "20.15 * 0.925683");
        assert_eq!(ack(&mut cc, 106, 24, true, 1), 18_653, "can_decrease");
        assert_eq!(ack(&mut cc, 112, 12, true, 1), 18_653);
        // The average is above the target but the sample is not, so there is no cut (line 14), and the window grows
        // only by eta.
        assert_eq!(ack(&mut cc, 118, 12, true, 1), 18_803);
    }

    #[test]
    fn cuts_one_half_at_most() {
        let mut cc = sharp(20.0);
        assert_eq!(ack(&mut cc, 100, 36, true, 1), 10_150, "0.8 * 24 / 36 is more than a half; + 0.15");
    }

    /// Algorithm 4, lines 11-13, and Algorithm 2. The period of Algorithm 2 is base_rtt + target = 24 us and begins
    /// with the first ACK.
    #[test]
    fn far_above_the_target_the_window_is_what_arrived() {
        let mut cc = sharp(20.0);
        assert_eq!(ack(&mut cc, 100, 0, true, 1), 20_150);
        assert_eq!(ack(&mut cc, 101, 37, true, 0), 10_075, "nothing measured yet: one half");
        assert_eq!(ack(&mut cc, 124, 0, true, 3), 10_225, "24 us are not more than the period");
        assert_eq!(ack(&mut cc, 125, 37, true, 1), 5_000, "1 + 3 + 1 packets; eta came a microsecond ago");
        // The next period counts only its own bytes, and no bytes of probes.
        let rtt = Duration::from_us(49);
        let probe = AckReport {
            now: at(150),
            packets: 2,
            bytes: 2 * PACKET,
            probe: true,
            marked: true,
            rtt,
            rtt_is_valid: true,
            in_flight: 0,
        };
        cc.handle_ack(&probe);
        assert_eq!(cc.window(), 1_150, "nothing arrived: one packet; + 0.15");
    }

    /// Algorithm 4, line 11: an eighth of the largest window is 18.75 packets, and the achieved BDP must be less than
    /// that.
    #[test]
    fn follows_what_arrived_only_below_an_eighth_of_the_largest_window() {
        for (packets, expected) in [(18, 18_150), (19, 20_150)] {
            let mut cc = sharp(40.0);
            assert_eq!(ack(&mut cc, 100, 0, true, 0), 40_150);
            let window = ack(&mut cc, 125, 37, true, packets);
            // 18 packets are less than an eighth, so the window becomes 18. 19 packets are not, so the window of
            // 40.15 is cut to a half instead. In both cases, 0.15 is added.
            assert_eq!(window, if packets == 18 { expected } else { 20_225 });
        }
    }

    /// Algorithm 1, lines 5 to 8: the lowest RTT measured so far is the base RTT.
    #[test]
    fn a_shorter_round_trip_becomes_the_base() {
        let acked = |us, rtt, marked| AckReport {
            now: at(us),
            packets: 1,
            bytes: PACKET,
            probe: false,
            marked,
            rtt: Duration::from_us(rtt),
            rtt_is_valid: true,
            in_flight: 0,
        };
        let mut cc = sharp(20.0);
        cc.handle_ack(&acked(100, 4, true));
        assert_eq!(cc.window(), 20_150);
        // An RTT of 20 us is a delay of 16 us above the base RTT of 4 us. This is 4 us above the target of 12 us: the
        // window is cut by 0.8 * 4 / 16 = 20 %. Then eta is added, because more than a base RTT has passed since eta
        // was last added.
        cc.handle_ack(&acked(105, 20, true));
        assert_eq!(cc.window(), 16_270, "20.15 * 0.8 + 0.15");
    }

    #[test]
    fn the_window_stays_between_a_packet_and_the_largest() {
        let mut cc = start(config(150.0));
        assert_eq!(ack(&mut cc, 100, 0, false, 1), 150_000);
        let mut cc = sharp(1.2);
        assert_eq!(ack(&mut cc, 100, 12, true, 1), 1_350);
        assert_eq!(ack(&mut cc, 101, 36, true, 1), 1_000);
        cc.handle_loss(&loss(at(102)));
        assert_eq!(cc.window(), 1_000, "a loss cuts nothing");
    }

    /// A queue builds up, causes delay and marks, and drains. Computed by hand: with the sample of 32 us, the average
    /// becomes 13.621 us and exceeds the target. The window is then 150 * (1 - 0.8 * 1.621 / 13.621) = 135.719 packets.
    #[test]
    fn trajectory() {
        let mut cc = start(config(150.0));
        let mut table = String::from("  us  delay  mark  window\n");
        let delays = [0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 40, 40, 36, 28, 20, 12, 8, 4, 0];
        for (i, delay) in delays.into_iter().enumerate() {
            // ACKs are marked from a delay of 8 us on, until the queue begins to drain.
            let (us, marked) = (100 + 6 * i as u64, (2..13).contains(&i));
            let window = ack(&mut cc, us, delay, marked, 4);
            writeln!(table, "{us:>4}  {delay:>5}  {:<4}  {window:>6}", if marked { "yes" } else { "" })
                .unwrap();
        }
        insta::assert_snapshot!(table, @r"
         us  delay  mark  window
        100      0        150000
        106      4        150000
        112      8  yes   150000
        118     12  yes   150000
        124     16  yes   150000
        130     20  yes   150000
        136     24  yes   150000
        142     28  yes   150000
        148     32  yes   135719
        154     36  yes   135869
        160     40  yes   135869
        166     40  yes    86610
        172     40  yes    86760
        178     36         86760
        184     28         49427
        190     20         49577
        196     12         49577
        202      8         49603
        208      4         49807
        214      0         49888
        ");
    }
}
