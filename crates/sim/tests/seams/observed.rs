//! An observer must change nothing, and must see the same events on any number of threads.

use super::support::{on, scenario};
use anabranch_sim::base::{LinkId, QpId};
use anabranch_sim::proto::Packet;
use anabranch_sim::{Observer, Registry, RunError, Time, run, run_observed};

const SCENARIO: &str = r#"
schemes = ["ecmp", "rocev2"]
setup = "reps-paper"

[topology]
kind = "fat-tree"
hosts = 16
hosts_per_tor = 4
link = "100Gbps"
oversubscription = 2

[workload]
kind = "incast"
bytes = "200KB"

[set]
"rocev2.fabric.pfc.threshold" = "50KB"
"#;

const MEASURE: &str = r#"
[[measure]]
series = "pause-victims"
every = "5us"
links = "all"

[[measure]]
series = "flow-throughput"
every = "5us"
qps = "0-3"
"#;

#[derive(Clone, Debug, Default, PartialEq)]
struct Seen {
    transmitted: u64,
    delivered: u64,
    drops: u64,
    pauses: u64,
    held_up: u64,
    last: Time,
}

impl Observer for Seen {
    fn fork(&self) -> Self {
        Seen::default()
    }

    fn join(&mut self, other: Self) {
        self.transmitted += other.transmitted;
        self.delivered += other.delivered;
        self.drops += other.drops;
        self.pauses += other.pauses;
        self.held_up += other.held_up;
        self.last = self.last.max(other.last);
    }

    fn transmitted(&mut self, _: LinkId, _: Time, until: Time, _: u16) {
        self.transmitted += 1;
        self.last = self.last.max(until);
    }

    fn delivered(&mut self, _: QpId, _: Time, _: &Packet) {
        self.delivered += 1;
    }

    fn dropped(&mut self, _: LinkId, _: Time) {
        self.drops += 1;
    }

    fn paused(&mut self, _: LinkId, _: u8, _: Time, on: bool) {
        self.pauses += u64::from(on);
    }

    fn held_up(&mut self, _: LinkId, _: Time, victims: u32) {
        self.held_up += u64::from(victims);
    }

    fn wants_victims(&self, _: LinkId) -> bool {
        true
    }
}

#[test]
fn an_observer_changes_nothing_and_sees_the_same_on_any_number_of_threads() {
    for text in [SCENARIO.to_owned(), format!("{SCENARIO}{MEASURE}")] {
        let mut paused = 0;
        for point in scenario(&Registry::new(), &text).points().unwrap() {
            let unseen = run(&point, &on(1)).unwrap();
            let seen = [1, 2].map(|threads| {
                let mut seen = Seen::default();
                let result = run_observed(&point, &on(threads), &mut seen).unwrap();
                assert_eq!(result.run.digest, unseen.run.digest, "{}", point.scheme.name);
                assert_eq!(result.series, unseen.series);
                assert_eq!((seen.drops, seen.pauses), (unseen.run.drops, unseen.run.pause_frames));
                seen
            });
            assert_eq!(seen[0], seen[1]);
            assert!(seen[0].transmitted >= unseen.run.packet_hops && seen[0].delivered > 0, "{seen:?}");
            paused += seen[0].pauses;
        }
        assert!(paused > 0, "the lossless scheme never paused");
    }
}

#[test]
fn of_a_run_that_fails_it_has_seen_what_there_was() {
    let text = format!("{SCENARIO}[limits]\nmax_time = \"10us\"\n");
    let point = &scenario(&Registry::new(), &text).points().unwrap()[0];
    let mut seen = Seen::default();
    let result = run_observed(point, &on(2), &mut seen);
    assert!(matches!(result, Err(RunError::Limit { limit: "max_time", .. })));
    assert!(seen.delivered > 0 && seen.last > Time(9_000_000), "{seen:?}");
}

/// A curve with a point in each microsecond may have ten points, so the run ends after at most 10 us.
#[test]
fn a_run_that_has_too_many_points_gives_the_observer_back() {
    let text = format!(
        "{SCENARIO}[[measure]]\nseries = \"queue-depth\"\nlinks = \"tor:0/down:0\"\nevery = \"1us\"\n"
    );
    let mut point = scenario(&Registry::new(), &text).points().unwrap().remove(0);
    point.most_points = 10;
    let mut seen = Seen::default();
    let result = run_observed(&point, &on(2), &mut seen);
    assert!(matches!(result, Err(RunError::TooManyPoints { .. })), "{result:?}");
    assert!(seen.delivered > 0, "{seen:?}");
}
