//! NSCC (UET 1.0.3, section 3.6.13), compared with values that were computed by hand.

use anabranch_base::{Bytes, Duration, Rate, Time};
use anabranch_proto::PathFacts;
use anabranch_proto::cc::{AckReport, CongestionControl, LossCause, LossReport, Nscc, NsccConfig, NsccRules};
use std::fmt::Write;

/// The path of uet-htsim's fat tree: 100 Gb/s, a base RTT of 14 us, and packets of 4,150 B.
const FACTS: PathFacts = PathFacts {
    base_rtt: Duration::from_us(14),
    bdp: Bytes(175_000),
    packet: Bytes(MTU),
    line_rate: Rate::from_gbps(100),
    port_rate: Rate::from_gbps(100),
    queue: Bytes(175_000),
};
const MTU: u64 = 4_150;

/// An NSCC source. Times are in nanoseconds.
struct Source {
    cc: Nscc,
    in_flight: u64,
}

impl Source {
    fn new(config: &NsccConfig) -> Source {
        Source { cc: Nscc::new(config, &FACTS), in_flight: 200_000 }
    }

    fn ack(&mut self, ns: u64, delay_ns: u64, marked: bool) {
        let rtt = FACTS.base_rtt + Duration::from_ns(delay_ns);
        self.ack_of(MTU, ns, rtt, marked, true);
    }

    fn ack_of(&mut self, bytes: u64, ns: u64, rtt: Duration, marked: bool, rtt_is_valid: bool) {
        let (now, in_flight) = (at(ns), self.in_flight);
        let report = AckReport { now, packets: 1, bytes, probe: false, marked, rtt, rtt_is_valid, in_flight };
        self.cc.handle_ack(&report);
    }

    fn lose(&mut self, ns: u64, cause: LossCause) {
        let rtt = matches!(cause, LossCause::Trimmed | LossCause::TrimmedAtLastHop).then_some(FACTS.base_rtt);
        let lost = LossReport { now: at(ns), bytes: MTU, cause, rtt, in_flight: self.in_flight };
        self.cc.handle_loss(&lost);
    }
}

fn at(ns: u64) -> Time {
    Time::ZERO + Duration::from_ns(ns)
}

/// A configuration without averaging, in which only the last delay counts.
fn sharp() -> NsccConfig {
    NsccConfig { ewma: 1.0, ..NsccConfig::spec() }
}

/// UET scales the gains by a (the BDP divided by 150,000 B) and b (the target delay divided by 12 us). With a BDP of
/// 175,000 B and a target of 10.5 us, a is 1.1667 and b is 0.875.
#[test]
fn the_constants_follow_from_bdp_target_and_packet() {
    let source = Source::new(&NsccConfig::spec());
    let constants = source.cc.constants();
    assert_eq!(constants.target, Duration::from_ns(10_500));
    // alpha is 4 * 1.1667 * 0.875 * 4150 / 10.5 us = 1,614 B per microsecond.
    assert_eq!((constants.alpha * 1e6).round(), 1_614.0);
    assert_eq!(constants.fi.round(), 24_208.0);
    assert_eq!((constants.fi_scale * 1e3).round(), 292.0);
    assert_eq!(constants.eta.round(), 726.0);
    assert_eq!((constants.max_window, source.cc.window()), (262_500.0, 262_500));
    assert_eq!(constants.max_window as u64 >> constants.qa_gate, 32_812);
    assert_eq!((constants.adjust_bytes, constants.adjust_period), (8 * MTU, FACTS.base_rtt));
    assert_eq!(constants.qa_threshold, Duration(u64::MAX), "never where switches trim");
    assert_eq!(Nscc::new(&NsccConfig::htsim(), &FACTS).constants().qa_threshold, Duration::from_us(42));
}

/// The growth of the window in bytes, when one window of data is acknowledged without marks and with this delay.
fn gained_by_a_window(delay_ns: u64) -> f64 {
    let config = NsccConfig { eta: 0.0, initial_window: "1bdp".parse().unwrap(), ..NsccConfig::spec() };
    let mut source = Source::new(&config);
    // This ACK ends the first period.
    source.ack_of(0, 14_000, FACTS.base_rtt + Duration::from_ns(delay_ns), false, true);
    let before = source.cc.window();
    // The window of 175,000 B is acknowledged in parts above adjust_bytes, so that each part is evaluated.
    for part in 0..5 {
        source.ack_of(35_000, 14_001 + part, FACTS.base_rtt + Duration::from_ns(delay_ns), false, true);
    }
    (source.cc.window() - before) as f64
}

/// A window of ACKs arrives in several parts. If the delay is half the target, the ACKs add 2 * MTU * a * b = 8,473 B.
/// If the delay is the target, the ACKs add fi = 24,208 B. The window grows with each part, so that later parts add a
/// little less.
#[test]
fn a_window_of_acknowledgements_raises_the_window_by_the_gains() {
    let half = gained_by_a_window(5_250);
    assert!((8_473.0 * 0.95..8_473.0).contains(&half), "{half}");
    let fair = gained_by_a_window(10_500);
    assert!((24_208.0 * 0.9..24_208.0).contains(&fair), "{fair}");
    // If all bytes are acknowledged in a single part, the window grows by exactly 8,473 B.
    let mut source =
        Source::new(&NsccConfig { eta: 0.0, initial_window: "1bdp".parse().unwrap(), ..sharp() });
    source.ack_of(0, 14_000, FACTS.base_rtt + Duration::from_ns(5_250), false, true);
    source.ack_of(175_000, 14_001, FACTS.base_rtt + Duration::from_ns(5_250), false, true);
    assert_eq!(source.cc.window(), 175_000 + 8_473);
}

/// The window grows by eta = 726 B per period, even if packets are marked, as long as their delay is below the
/// target.
#[test]
fn the_window_grows_by_eta_each_period() {
    let mut source = Source::new(&NsccConfig { initial_window: "1bdp".parse().unwrap(), ..sharp() });
    for period in 1..=4 {
        source.ack_of(0, 14_000 * period, FACTS.base_rtt + Duration::from_ns(5_000), true, true);
        let more = (726.25 * period as f64).round() as u64;
        assert_eq!(source.cc.window(), 175_000 + more);
    }
}

/// If the average delay is twice the target, the window is cut to 60 %. At 1.25 times the target it is cut to 84 %, and
/// from 2.67 times the target on to 50 %. There is at most one cut per base RTT.
#[test]
fn the_decrease_follows_the_average_once_a_round_trip() {
    for (delay_ns, share) in [(21_000, 0.6_f64), (13_125, 0.84), (28_035, 0.5), (100_000, 0.5)] {
        let mut source = Source::new(&NsccConfig { eta: 0.0, ..sharp() });
        source.ack(1_000, delay_ns, true);
        let cut = (262_500.0 * share + 0.5) as u64;
        assert!(source.cc.window().abs_diff(cut) <= 1, "{delay_ns}: {}", source.cc.window());
        source.ack(15_000, delay_ns, true);
        assert!(source.cc.window().abs_diff(cut) <= 1, "within a base RTT of the first");
        source.ack(15_001, delay_ns, true);
        assert!(source.cc.window() < cut, "after it");
    }
    // The average delay decides, so that a single late packet causes no cut.
    let mut source = Source::new(&NsccConfig { eta: 0.0, ..NsccConfig::spec() });
    source.ack(1_000, 30_000, true);
    assert_eq!(source.cc.window(), 262_500);
}

/// After a whole window of bytes without queueing, each acknowledged byte adds fi_scale bytes immediately.
#[test]
fn the_window_grows_fast_after_a_window_without_queueing() {
    let config = NsccConfig { alpha: 0.0, eta: 0.0, initial_window: "1packets".parse().unwrap(), ..sharp() };
    let mut source = Source::new(&config);
    source.ack(1_000, 0, false);
    assert_eq!(source.cc.window(), MTU, "one window, no more");
    source.ack(1_100, 500, false);
    // One packet adds 4150 * 0.29167 = 1,210 B.
    assert_eq!(source.cc.window(), MTU + 1_210);
    source.ack(1_200, 0, false);
    assert_eq!(source.cc.window(), MTU + 2_421);
    source.ack(1_300, 1_001, false);
    source.ack(1_400, 0, false);
    assert_eq!(source.cc.window(), MTU + 2_421, "a queue ends it");
}

/// Quick adapt acts after a trim, if less than MaxWnd / 8 was delivered in a period of base RTT plus target. Until the
/// bytes that were then in flight are answered, marked ACKs and NACKs have no further effect.
#[test]
fn a_trim_in_a_poor_period_sets_the_window_to_what_it_delivered() {
    let mut source = Source::new(&NsccConfig::spec());
    source.ack(1_000, 0, true);
    // The period lasts 24.5 us.
    (0..3).for_each(|n| source.ack(2_000 + n, 0, true));
    source.lose(10_000, LossCause::Trimmed);
    assert_eq!(source.cc.window(), 262_500 - MTU, "within the period a trim takes a packet");
    source.in_flight = 100_000;
    source.lose(25_500, LossCause::Trimmed);
    assert_eq!(source.cc.window(), 3 * MTU, "what the period delivered");
    for n in 0..12 {
        source.ack(26_000 + n, 30_000, true);
        source.lose(27_000 + n, LossCause::Trimmed);
    }
    assert_eq!(source.cc.window(), 3 * MTU);
    // The 24 answers above were for 24 * 4150 B = 99,600 B. The next one exceeds the 100,000 B, so it takes a packet
    // from the window.
    source.lose(28_000, LossCause::Trimmed);
    assert_eq!(source.cc.window(), 2 * MTU);
}

#[test]
fn a_rich_period_sees_no_quick_adapt() {
    let mut source = Source::new(&NsccConfig::spec());
    source.ack(1_000, 0, true);
    (0..8).for_each(|n| source.ack(2_000 + n, 0, true));
    source.lose(25_500, LossCause::Trimmed);
    assert_eq!(source.cc.window(), 262_500 - MTU, "33,200 B are above the gate");
    // The trigger of quick adapt remains set. The next period delivers less than the gate (MaxWnd / 8), so that the
    // ACK at its end causes quick adapt.
    source.ack(50_000, 0, true);
    assert_eq!(source.cc.window(), MTU);
}

#[test]
fn a_loss_takes_its_bytes_off() {
    let mut source = Source::new(&NsccConfig::spec());
    source.lose(1_000, LossCause::Timeout);
    source.lose(1_000, LossCause::Inferred);
    assert_eq!(source.cc.window(), 262_500 - 2 * MTU);
    (0..100).for_each(|_| source.lose(1_000, LossCause::Timeout));
    assert_eq!(source.cc.window(), MTU);
}

/// With RCCC, a trim at the last hop is no sign of congestion, since the receiver controls its own link.
#[test]
fn trims_at_the_last_hop_may_be_no_congestion() {
    let mut source = Source::new(&NsccConfig { last_hop_trims: false, ..NsccConfig::spec() });
    source.lose(1_000, LossCause::TrimmedAtLastHop);
    assert_eq!(source.cc.window(), 262_500);
    source.lose(1_000, LossCause::Trimmed);
    assert_eq!(source.cc.window(), 262_500 - MTU);
    // uet-htsim applies quick adapt nevertheless.
    let config = NsccConfig { last_hop_trims: false, rules: NsccRules::Htsim, ..NsccConfig::spec() };
    let mut source = Source::new(&config);
    source.ack(1_000, 0, true);
    source.lose(25_501, LossCause::TrimmedAtLastHop);
    assert_eq!(source.cc.window(), MTU);
}

/// Section 3.6.13, step 4: without a valid RTT only the counters change. uet-htsim continues with the average delay.
#[test]
fn an_invalid_rtt_changes_no_window() {
    let mut source = Source::new(&NsccConfig { initial_window: "1bdp".parse().unwrap(), ..sharp() });
    source.ack_of(175_000, 14_000, Duration::from_us(20), false, false);
    assert_eq!(source.cc.window(), 175_000);
    let config = NsccConfig { initial_window: "1bdp".parse().unwrap(), rules: NsccRules::Htsim, ..sharp() };
    let mut source = Source::new(&config);
    source.ack_of(175_000, 14_000, Duration::from_us(20), false, false);
    assert!(source.cc.window() > 175_000);
}

/// A round trip shorter than the configured one lowers MaxWnd in proportion.
#[test]
fn a_shorter_path_has_a_smaller_largest_window() {
    let mut source = Source::new(&NsccConfig::spec());
    source.ack_of(MTU, 14_000, Duration::from_us(7), false, true);
    assert_eq!(source.cc.window(), 131_250);
}

/// A fast increase may raise the window above MaxWnd until the next evaluation. With the rules of uet-htsim it does
/// not.
#[test]
fn uet_htsim_limits_a_fast_increase() {
    for (rules, passes) in [(NsccRules::Spec, true), (NsccRules::Htsim, false)] {
        let mut source = Source::new(&NsccConfig { rules, ..NsccConfig::spec() });
        let windows = (1..=120).map(|packet| {
            source.ack(14_000 + packet * 332, 0, false);
            source.cc.window()
        });
        assert_eq!(windows.max().unwrap() > 262_500, passes, "{rules:?}");
    }
}

/// The window during an incast, with rising delays, trims, and the end of the queue. If this table changes, results
/// have changed.
#[test]
fn trajectory() {
    let mut table = String::from("event                  window\n");
    for config in [NsccConfig::spec(), NsccConfig::htsim()] {
        let mut source = Source::new(&config);
        let mut line = |event: &str, window: u64| writeln!(table, "{event:<22} {window:>6}").unwrap();
        line("start", source.cc.window());
        let mut ns = 14_000;
        for (delay_us, marked, trims, acks) in [
            (0, false, 0, 60),
            (5, false, 0, 60),
            (12, false, 0, 60),
            (14, true, 0, 60),
            (30, true, 0, 60),
            (30, true, 0, 60),
            (14, true, 12, 2),
            (14, true, 12, 6),
            (6, true, 0, 60),
            (2, false, 0, 60),
            (0, false, 0, 200),
        ] {
            for _ in 0..acks {
                ns += 332;
                source.ack(ns, delay_us * 1_000, marked);
            }
            for _ in 0..trims {
                ns += 2_500;
                source.lose(ns, LossCause::Trimmed);
            }
            let mark = if marked { ", marked" } else { "" };
            line(&format!("{acks} at {delay_us} us{mark}"), source.cc.window());
        }
    }
    insta::assert_snapshot!(table, @r"
    event                  window
    start                  262500
    60 at 0 us             262500
    60 at 5 us             262500
    60 at 12 us            262500
    60 at 14 us, marked    262440
    60 at 30 us, marked    181219
    60 at 30 us, marked     55414
    2 at 14 us, marked       4150
    6 at 14 us, marked       4150
    60 at 6 us, marked       4876
    60 at 2 us             116768
    200 at 0 us            267342
    start                  262500
    60 at 0 us             262500
    60 at 5 us             262500
    60 at 12 us            262500
    60 at 14 us, marked    262500
    60 at 30 us, marked    168657
    60 at 30 us, marked     95297
    2 at 14 us, marked       4150
    6 at 14 us, marked       4150
    60 at 6 us, marked       4876
    60 at 2 us             125684
    200 at 0 us            262500
    ");
}
