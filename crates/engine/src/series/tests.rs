//! Tests of the rows of curves. The tests call the hooks of the observer directly.

use super::*;
use anabranch_base::HostId;
use anabranch_fabric::GroupBy;

const US: u64 = 1_000_000;
const RATE: Rate = Rate::from_gbps(400);
const A: LinkId = LinkId(1);
const B: LinkId = LinkId(3);
const UNWATCHED: LinkId = LinkId(2);

fn each(series: Series, every: u64) -> MeasureSpec {
    MeasureSpec {
        series,
        every: Duration(every),
        links: None,
        switches: None,
        qps: None,
        above: None,
        by: None,
    }
}

fn delays_above(above: u64) -> MeasureSpec {
    MeasureSpec { above: Some(Duration(above)), ..each(Series::QueueDelay, US) }
}

fn links(series: Series) -> SeriesObserver {
    let mut observer = SeriesObserver::new(4, 1);
    for link in [A, B] {
        observer.watch_link(&each(series, US), link, RATE);
    }
    observer
}

fn rows(observer: SeriesObserver, end: u64, series: &str) -> Vec<(String, u64, f64)> {
    let rows = observer.into_rows(Time(end), |link| format!("link:{link}"), |node| format!("tor:{node}"));
    assert!(rows.iter().all(|row| row.series == series && row.run == 0), "{rows:?}");
    rows.into_iter().map(|row| (row.entity, row.time_ps, row.value)).collect()
}

fn curve(entity: &str, points: &[(u64, f64)]) -> Vec<(String, u64, f64)> {
    points.iter().map(|&(time, value)| (entity.to_owned(), time, value)).collect()
}

fn data(wire_bytes: u16) -> Packet {
    let repr = Repr::data(0);
    Packet::new(QpId(0), HostId(0), repr).with_bytes(wire_bytes)
}

#[test]
fn utilisation_spreads_a_packet_over_its_time_on_the_wire() {
    let mut o = links(Series::LinkUtilisation);
    // A quarter of the packet is sent before the end of the interval, and the rest after it.
    o.transmitted(A, Time(US - 20_000), Time(US + 60_000), 4_000);
    o.transmitted(UNWATCHED, Time(0), Time(80_000), 4_000);
    // The run ends in the middle of the third interval.
    let a = curve("link:1", &[(US, 8.0), (2 * US, 24.0), (2 * US + US / 2, 0.0)]);
    let b = curve("link:3", &[(US, 0.0), (2 * US, 0.0), (2 * US + US / 2, 0.0)]);
    assert_eq!(rows(o, 2 * US + US / 2, "link_utilisation_gbps"), [a, b].concat());
}

#[test]
fn utilisation_has_nothing_that_is_sent_after_the_end_of_the_run() {
    let mut o = links(Series::LinkUtilisation);
    // A quarter of the packet is sent in the first interval, an eighth in the second one, which the end of the run cuts
    // short after 10 ns, and five eighths after the end of the run.
    o.transmitted(A, Time(US - 20_000), Time(US + 60_000), 4_000);
    let ends = |end: u64, last: f64| curve("link:1", &[(US, 8.0), (end, last)]);
    let a = ends(US + 10_000, 400.0);
    let b = curve("link:3", &[(US, 0.0), (US + 10_000, 0.0)]);
    assert_eq!(rows(o, US + 10_000, "link_utilisation_gbps"), [a, b].concat());
}

#[test]
fn depth_is_what_waits_at_the_end_of_each_whole_interval() {
    let mut o = links(Series::QueueDepth);
    o.queued(A, Time(10), 5_000);
    o.queued(A, Time(20), 7_000);
    // A change exactly at the end of an interval belongs to the next interval.
    o.queued(A, Time(US), 9_000);
    o.queued(A, Time(3 * US + 1), 0);
    o.queued(UNWATCHED, Time(20), 7_000);
    // The fifth interval has not ended when the run ends.
    let a = curve("link:1", &[(US, 7_000.0), (2 * US, 9_000.0), (3 * US, 9_000.0), (4 * US, 0.0)]);
    let b = curve("link:3", &[(US, 0.0), (2 * US, 0.0), (3 * US, 0.0), (4 * US, 0.0)]);
    assert_eq!(rows(o, 4 * US + 999_999, "queue_depth_bytes"), [a, b].concat());
}

#[test]
fn a_run_shorter_than_an_interval_has_no_level_and_one_sum() {
    let mut o = links(Series::QueueDepth);
    o.queued(A, Time(10), 5_000);
    assert_eq!(rows(o, US - 1, "queue_depth_bytes"), []);
    let mut o = links(Series::Drops);
    o.dropped(A, Time(0));
    let expected = [curve("link:1", &[(1, 1.0)]), curve("link:3", &[(1, 0.0)])].concat();
    assert_eq!(rows(o, 0, "drops"), expected);
}

#[test]
fn delay_is_depth_over_the_rate_of_the_link() {
    let mut o = links(Series::QueueDelay);
    o.queued(A, Time(10), 50_000);
    o.queued(A, Time(US + 10), 75_000);
    o.queued(A, Time(2 * US + 10), 0);
    o.queued(B, Time(2 * US + 10), 25_000);
    let a = curve("link:1", &[(US, 1.0), (2 * US, 1.5), (3 * US, 0.0)]);
    let b = curve("link:3", &[(US, 0.0), (2 * US, 0.0), (3 * US, 0.5)]);
    assert_eq!(rows(o, 3 * US, "queue_delay_us"), [a, b].concat());
}

#[test]
fn delay_knows_each_links_own_rate() {
    let mut o = SeriesObserver::new(4, 1);
    o.watch_link(&each(Series::QueueDelay, US), A, RATE);
    o.watch_link(&each(Series::QueueDelay, US), B, Rate::from_gbps(100));
    for link in [A, B] {
        o.queued(link, Time(10), 50_000);
    }
    let expected = [curve("link:1", &[(US, 1.0)]), curve("link:3", &[(US, 4.0)])].concat();
    assert_eq!(rows(o, US, "queue_delay_us"), expected);
}

#[test]
fn delays_up_to_the_threshold_have_no_rows() {
    let mut o = SeriesObserver::new(4, 1);
    for link in [A, B] {
        o.watch_link(&delays_above(US), link, RATE);
    }
    // The level equals the threshold in the first interval, is one byte above it in the next two, below it in the
    // fourth and the fifth, and far above it in the sixth and the seventh.
    o.queued(A, Time(10), 50_000);
    o.queued(A, Time(US), 50_001);
    o.queued(A, Time(3 * US), 40_000);
    o.queued(A, Time(5 * US), 500_000);
    o.queued(B, Time(10), 50_000);
    let a = curve("link:1", &[(2 * US, 1.00002), (3 * US, 1.00002), (6 * US, 10.0), (7 * US, 10.0)]);
    assert_eq!(rows(o, 7 * US, "queue_delay_us"), a);
}

#[test]
fn a_threshold_of_zero_leaves_out_empty_queues_alone() {
    let mut o = SeriesObserver::new(4, 1);
    o.watch_link(&delays_above(0), A, RATE);
    o.queued(A, Time(US), 1);
    o.queued(A, Time(2 * US), 0);
    assert_eq!(rows(o, 9 * US, "queue_delay_us"), curve("link:1", &[(2 * US, 0.00002)]));
}

#[test]
fn links_that_stay_below_the_threshold_cost_neither_rows_nor_memory() {
    const LINKS: u32 = 16_384;
    let mut o = SeriesObserver::new(LINKS as usize, 1);
    for link in 0..LINKS {
        o.watch_link(&delays_above(US), LinkId(link), RATE);
    }
    for interval in 0..1_000 {
        for link in 0..LINKS {
            // The level changes at the end of each interval and never exceeds the threshold of 50,000 B (1 us at 400
            // Gb/s).
            o.queued(LinkId(link), Time(interval * US), 1_000 + (interval as u32 % 2) * 49_000);
        }
    }
    o.queued(LinkId(7), Time(1_000 * US), 100_000);
    assert_eq!((0..7).map(|link| o.delay.of(link).map_or(9, |level| level.changes())).sum::<usize>(), 0);
    assert_eq!(rows(o, 1_001 * US, "queue_delay_us"), curve("link:7", &[(1_001 * US, 2.0)]));
}

#[test]
fn a_level_that_stays_costs_one_entry_however_long() {
    let mut o = links(Series::QueueDepth);
    for interval in 0..1_000 {
        o.queued(A, Time(interval * US), 800);
    }
    assert_eq!(o.depth.of(A.index()).map(|level| level.changes()), Some(1));
    assert_eq!(o.depth.of(B.index()).map(|level| level.changes()), Some(0));
    assert_eq!(rows(o, 1_000 * US, "queue_depth_bytes").len(), 2_000);
}

#[test]
fn arrivals_count_where_they_were_headed() {
    let mut o = links(Series::ArrivalRate);
    o.offered(A, Time(0), 4_000);
    o.offered(A, Time(US - 1), 4_000);
    o.offered(A, Time(US), 1_000);
    o.offered(UNWATCHED, Time(US), 1_000);
    // The run ends in the middle of the third interval. The 1,000 B that arrive in its 0.5 us are 16 Gb/s.
    o.offered(B, Time(2 * US + 10), 1_000);
    let a = curve("link:1", &[(US, 64.0), (2 * US, 8.0), (2 * US + US / 2, 0.0)]);
    let b = curve("link:3", &[(US, 0.0), (2 * US, 0.0), (2 * US + US / 2, 16.0)]);
    assert_eq!(rows(o, 2 * US + US / 2, "arrival_rate_gbps"), [a, b].concat());
}

#[test]
fn drops_are_counted_and_the_last_instant_is_not_lost() {
    let mut o = links(Series::Drops);
    for time in [0, 5, US, 2 * US] {
        o.dropped(A, Time(time));
    }
    o.dropped(UNWATCHED, Time(5));
    let a = curve("link:1", &[(US, 2.0), (2 * US, 2.0)]);
    let b = curve("link:3", &[(US, 0.0), (2 * US, 0.0)]);
    assert_eq!(rows(o, 2 * US, "drops"), [a, b].concat());
}

/// Pauses: one that spans two ends of intervals, one within an interval, one that is repeated, an empty one, and one
/// that the end of the run cuts short. There is also a resume without a pause.
fn pause(o: &mut SeriesObserver) {
    for (time, on) in [
        (700_000, true),
        (2 * US + 100_000, false),
        (2 * US + 200_000, true),
        (2 * US + 250_000, false),
        (2 * US + 300_000, true),
        (2 * US + 350_000, true),
        (3 * US, false),
        (3 * US + 1, false),
        (3 * US + 5, true),
        (3 * US + 5, false),
        (4 * US + 700_000, true),
    ] {
        o.paused(A, 0, Time(time), on);
        o.paused(UNWATCHED, 0, Time(time), on);
    }
}

#[test]
fn pauses_count_where_they_begin() {
    let mut o = links(Series::Pauses);
    pause(&mut o);
    let a = curve("link:1", &[(US, 1.0), (2 * US, 0.0), (3 * US, 2.0), (4 * US, 1.0), (5 * US - 1, 1.0)]);
    let b = curve("link:3", &[(US, 0.0), (2 * US, 0.0), (3 * US, 0.0), (4 * US, 0.0), (5 * US - 1, 0.0)]);
    assert_eq!(rows(o, 5 * US - 1, "pauses"), [a, b].concat());
}

#[test]
fn pause_time_is_exact_over_borders_and_up_to_the_end() {
    let mut o = links(Series::PauseTime);
    pause(&mut o);
    let a = [(US, 0.3), (2 * US, 1.0), (3 * US, 0.85), (4 * US, 0.0), (5 * US - 1, 0.299999)];
    let b = curve("link:3", &[(US, 0.0), (2 * US, 0.0), (3 * US, 0.0), (4 * US, 0.0), (5 * US - 1, 0.0)]);
    assert_eq!(rows(o, 5 * US - 1, "pause_time_us"), [curve("link:1", &a), b].concat());
}

#[test]
fn victims_add_up_and_are_wanted_of_watched_links_alone() {
    let mut o = links(Series::PauseVictims);
    assert!(o.wants_victims(A) && o.wants_victims(B) && !o.wants_victims(UNWATCHED));
    assert!(!links(Series::Pauses).wants_victims(A));
    o.held_up(A, Time(1), 3);
    o.held_up(A, Time(2), 0);
    o.held_up(A, Time(3), 2);
    o.held_up(B, Time(US + 3), 7);
    let expected =
        [curve("link:1", &[(US, 5.0), (2 * US, 0.0)]), curve("link:3", &[(US, 0.0), (2 * US, 7.0)])];
    assert_eq!(rows(o, 2 * US, "pause_victims"), expected.concat());
}

#[test]
fn flows_gather_all_parts_of_their_queue_pair() {
    let mut o = SeriesObserver::new(4, 4);
    for qp in [0, 2] {
        o.watch_flow(&each(Series::FlowThroughput, US), QpId(qp));
    }
    // Queue pair 0 of the workload is split into 0 to 3, and queue pair 2 into 8 to 11. The last delivery is in an
    // interval that is half as long as the others.
    for (qp, time) in [(0, 10), (3, 20), (4, 20), (7, 20), (8, US), (11, US + 1), (12, 20), (9, 2 * US + 1)] {
        o.delivered(QpId(qp), Time(time), &data(4_000));
    }
    // Packets without payload do not count.
    for repr in [Repr::trimmed(0), Repr::probe(0), Repr::Cnp] {
        o.delivered(QpId(0), Time(10), &Packet { repr, ..data(64) });
    }
    let end = 2 * US + US / 2;
    let zero = curve("flow:0", &[(US, 64.0), (2 * US, 0.0), (end, 0.0)]);
    let two = curve("flow:2", &[(US, 0.0), (2 * US, 64.0), (end, 64.0)]);
    assert_eq!(rows(o, end, "flow_throughput_gbps"), [zero, two].concat());
}

#[test]
fn senders_have_a_row_for_each_acknowledgement() {
    let acknowledge = |series| {
        let mut o = SeriesObserver::new(4, 2);
        for qp in [3, 1] {
            o.watch_flow(&each(series, 0), QpId(qp));
        }
        for (qp, time, rtt, marked) in [
            (6, 10, 8 * US, false),
            (2, 20, 9 * US, true),
            (7, 20, 9 * US + 1, true),
            (5, 30, 1, true),
            (8, 30, 1, true),
            (6, 40, 500_000, false),
        ] {
            o.acknowledged(QpId(qp), Time(time), Duration(rtt), marked);
        }
        o
    };
    // Curves come in the order in which they were added.
    let three = curve("flow:3", &[(10, 8.0), (20, 9.000001), (40, 0.5)]);
    let rtt = [three, curve("flow:1", &[(20, 9.0)])].concat();
    assert_eq!(rows(acknowledge(Series::SenderRtt), 50, "sender_rtt_us"), rtt);
    let ecn = [curve("flow:3", &[(10, 0.0), (20, 1.0), (40, 0.0)]), curve("flow:1", &[(20, 1.0)])].concat();
    assert_eq!(rows(acknowledge(Series::SenderEcn), 50, "sender_ecn"), ecn);
}

#[test]
fn what_is_asked_for_twice_keeps_its_first_interval() {
    let mut o = SeriesObserver::new(4, 1);
    o.watch_link(&each(Series::Drops, US), A, RATE);
    o.watch_link(&each(Series::Drops, 2 * US), A, RATE);
    o.dropped(A, Time(0));
    assert_eq!(rows(o, 2 * US, "drops"), curve("link:1", &[(US, 1.0), (2 * US, 0.0)]));
}

#[test]
fn a_group_adds_its_links_and_has_the_longest_delay() {
    let grouped = |series: Series| {
        let mut o = SeriesObserver::new(4, 1);
        let by = MeasureSpec { by: Some(GroupBy::Plane), ..each(series, US) };
        o.watch_link(&by, A, RATE);
        o.watch_link(&by, B, Rate::from_gbps(100));
        o.watch_group(CurveGroup { series, name: "plane:0".to_owned(), links: vec![A.0, B.0] });
        o.queued(A, Time(0), 50_000);
        o.queued(B, Time(1), 25_000);
        o.dropped(A, Time(2));
        o.dropped(B, Time(3));
        o
    };
    let plane = |value: f64, last: f64| curve("plane:0", &[(US, value), (2 * US, last)]);
    assert_eq!(rows(grouped(Series::Drops), 2 * US, "drops"), plane(2.0, 0.0));
    assert_eq!(rows(grouped(Series::QueueDepth), 2 * US, "queue_depth_bytes"), plane(75_000.0, 75_000.0));
    assert_eq!(rows(grouped(Series::QueueDelay), 2 * US, "queue_delay_us"), plane(2.0, 2.0));
}

#[test]
fn a_group_beside_its_links_leaves_their_curves() {
    let mut o = SeriesObserver::new(4, 1);
    let by = MeasureSpec { by: Some(GroupBy::Rail), ..each(Series::Drops, US) };
    o.watch_link(&by, A, RATE);
    o.watch_link(&by, B, RATE);
    o.watch_link(&each(Series::Drops, US), B, RATE);
    o.watch_group(CurveGroup { series: Series::Drops, name: "rail:0".to_owned(), links: vec![A.0, B.0] });
    let mut thread = o.fork();
    thread.dropped(A, Time(0));
    o.dropped(B, Time(0));
    o.join(thread);
    let expected = [curve("link:3", &[(US, 1.0)]), curve("rail:0", &[(US, 2.0)])].concat();
    assert_eq!(rows(o, US, "drops"), expected);
}

#[test]
fn all_series_at_once_stand_one_after_another() {
    let mut o = SeriesObserver::new(4, 1);
    for series in [
        Series::SenderEcn,
        Series::SenderRtt,
        Series::FlowThroughput,
        Series::TableEntries,
        Series::ProgramBuffer,
        Series::PauseVictims,
        Series::PauseTime,
        Series::Pauses,
        Series::Drops,
        Series::ArrivalRate,
        Series::QueueDelay,
        Series::QueueDepth,
        Series::LinkUtilisation,
    ] {
        o.watch_link(&each(series, US), A, RATE);
        o.watch_switch(&each(series, US), NodeId(7));
        o.watch_flow(&each(series, US), QpId(3));
    }
    o.queued(A, Time(0), 50_000);
    o.paused(A, 0, Time(US / 4), true);
    o.paused(A, 0, Time(US / 2), false);
    o.kept(NodeId(7), Time(1), 5_000, 12);
    o.kept(NodeId(6), Time(2), 1, 1);
    o.acknowledged(QpId(3), Time(9), Duration(US), true);
    let rows = o.into_rows(Time(US), |link| format!("link:{link}"), |node| format!("tor:{node}"));
    let seen: Vec<_> = rows.iter().map(|r| (r.series.as_str(), r.entity.as_str(), r.value)).collect();
    assert_eq!(
        seen,
        [
            ("link_utilisation_gbps", "link:1", 0.0),
            ("queue_depth_bytes", "link:1", 50_000.0),
            ("queue_delay_us", "link:1", 1.0),
            ("arrival_rate_gbps", "link:1", 0.0),
            ("drops", "link:1", 0.0),
            ("pauses", "link:1", 1.0),
            ("pause_time_us", "link:1", 0.25),
            ("pause_victims", "link:1", 0.0),
            ("set_aside_bytes", "tor:7", 5_000.0),
            ("table_entries", "tor:7", 12.0),
            ("flow_throughput_gbps", "flow:3", 0.0),
            ("sender_rtt_us", "flow:3", 1.0),
            ("sender_ecn", "flow:3", 1.0),
        ]
    );
}
