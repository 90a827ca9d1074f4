//! Observers that a scenario names, and the events that an observer sees on any number of threads.

use super::support::{on, scenario};
use anabranch_sim::base::{LinkId, NodeId, QpId};
use anabranch_sim::proto::Packet;
use anabranch_sim::results::SeriesRow;
use anabranch_sim::scenario::{NoFiles, Overrides, RunPoint, Scenario, read, read_with};
use anabranch_sim::topology::Topology;
use anabranch_sim::{
    Curve, Duration, Observer, Parameter, Problem, Recorder, Refused, Registry, RunError, Time, run,
    run_observed,
};

const GROUND: &str = r#"
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
bytes = "60KB"

[set]
"rocev2.fabric.pfc.threshold" = "50KB"
"#;

const NAMED: &str = r#"
[[observer]]
kind = "log"
victims = true
[[observer]]
kind = "drops"
[[observer]]
kind = "log"
shift = 7
"#;

/// A hash of all events in their order. It changes if the observers of the nodes are joined in another order.
#[derive(Clone, Default)]
struct Log {
    victims: bool,
    shift: u32,
    told: u64,
    mixed: u64,
    last: Time,
}

impl Log {
    fn mix(&mut self, numbers: &[u64]) {
        for number in numbers {
            self.mixed =
                (self.mixed ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(11 + self.shift);
        }
    }

    fn note(&mut self, kind: u64, index: u64, now: Time, what: u64) {
        // The events of a node are in the order of time.
        assert!(now >= self.last, "{now} after {}", self.last);
        (self.told, self.last) = (self.told + 1, now);
        self.mix(&[kind, index, now.0, what]);
    }
}

impl Observer for Log {
    fn fork(&self) -> Self {
        Log { victims: self.victims, shift: self.shift, ..Log::default() }
    }
    fn join(&mut self, other: Self) {
        self.mix(&[other.mixed, other.told]);
        self.told += other.told;
        self.last = self.last.max(other.last);
    }
    fn transmitted(&mut self, link: LinkId, from: Time, until: Time, bytes: u16) {
        self.note(1, link.0.into(), from, until.0 ^ u64::from(bytes));
    }
    fn queued(&mut self, link: LinkId, now: Time, bytes: u32) {
        self.note(2, link.0.into(), now, bytes.into());
    }
    fn offered(&mut self, link: LinkId, now: Time, bytes: u16) {
        self.note(3, link.0.into(), now, bytes.into());
    }
    fn dropped(&mut self, link: LinkId, now: Time) {
        self.note(4, link.0.into(), now, 0);
    }
    fn refused_by_host(&mut self, link: LinkId, now: Time) {
        self.note(10, link.0.into(), now, 0);
    }
    fn paused(&mut self, link: LinkId, class: u8, now: Time, on: bool) {
        self.note(5, link.0.into(), now, u64::from(class) << 1 | u64::from(on));
    }
    fn held_up(&mut self, link: LinkId, now: Time, victims: u32) {
        assert!(self.victims, "nobody asked");
        self.note(6, link.0.into(), now, victims.into());
    }
    fn wants_victims(&self, _: LinkId) -> bool {
        self.victims
    }
    fn kept(&mut self, node: NodeId, now: Time, aside: u32, entries: u32) {
        self.note(7, node.0.into(), now, (aside ^ entries).into());
    }
    fn delivered(&mut self, qp: QpId, now: Time, packet: &Packet) {
        self.note(8, qp.0.into(), now, packet.wire_bytes.into());
    }
    fn acknowledged(&mut self, qp: QpId, now: Time, rtt: Duration, marked: bool) {
        self.note(9, qp.0.into(), now, rtt.0 ^ u64::from(marked));
    }
}

impl Recorder for Log {
    fn curves(self, topology: &Topology, end: Time) -> Vec<Curve> {
        let points = vec![(self.last, self.told as f64), (end, (self.mixed >> 12) as f64)];
        vec![Curve { series: "told".to_owned(), entity: topology.node_name(NodeId(0)), points }]
    }
}

#[derive(Default)]
struct Drops(Vec<(Time, f64)>);

impl Observer for Drops {
    fn fork(&self) -> Self {
        Drops::default()
    }
    fn join(&mut self, other: Self) {
        self.0.extend(other.0);
    }
    fn dropped(&mut self, _: LinkId, now: Time) {
        self.0.push((now, 1.0));
    }
    fn recorded(&self) -> u64 {
        self.0.len() as u64
    }
}

impl Recorder for Drops {
    fn curves(self, _: &Topology, _: Time) -> Vec<Curve> {
        vec![Curve { series: "drops".to_owned(), entity: "fabric".to_owned(), points: self.0 }]
    }
}

/// An observer that panics in a chosen hook.
#[derive(Clone)]
struct Fragile(u32);

impl Observer for Fragile {
    fn fork(&self) -> Self {
        assert!(self.0 != 1, "no more of me");
        self.clone()
    }
    fn join(&mut self, _: Self) {
        assert!(self.0 != 2, "never together");
    }
    fn delivered(&mut self, qp: QpId, _: Time, _: &Packet) {
        assert!(self.0 != 3, "who is {qp}?");
    }
}

impl Recorder for Fragile {
    fn curves(self, _: &Topology, _: Time) -> Vec<Curve> {
        panic!("I saw nothing")
    }
}

fn registry() -> Registry {
    let log = [
        Parameter::new("victims", false, "whether victims of pauses are wanted"),
        Parameter::new("shift", 0u32, "how numbers are mixed").within(0..=20u32),
    ];
    Registry::new()
        .observer("log", log, |topology, workload, parameters| {
            assert!(topology.hosts == 16 && workload.qps.len() == 15);
            let (victims, shift) = (parameters.get("victims"), parameters.get("shift"));
            if victims && shift > 0 {
                return Err(Refused::new("shift", Problem::with_value("must be 0 beside victims", 0)));
            }
            Ok(Log { victims, shift, ..Log::default() })
        })
        .observer("drops", [], |_, _, _| Ok(Drops::default()))
        .observer("fragile", [Parameter::required::<u32>("at", "where it breaks")], |_, _, parameters| {
            let at = parameters.get("at");
            assert!(at != 0, "not made");
            Ok(Fragile(at))
        })
}

fn attempt(text: &str) -> Result<Scenario, String> {
    let read = read_with(&registry(), "t.toml", text, &NoFiles, &Overrides::default());
    read.and_then(|scenario| scenario.check().map(|_| scenario)).map_err(|e| e.to_string())
}

/// The curves of observers that scenarios name. The series of these curves have a dot in their names.
fn named(rows: &[SeriesRow]) -> Vec<&SeriesRow> {
    rows.iter().filter(|row| row.series.contains('.')).collect()
}

fn points(text: &str) -> Vec<RunPoint> {
    scenario(&registry(), text).points().unwrap()
}

#[test]
fn one_whose_joining_has_an_order_sees_the_same_on_any_number_of_threads() {
    let mut seen_of = Vec::new();
    for point in points(GROUND) {
        let unseen = run(&point, &on(1)).unwrap();
        let seen = [1, 2, 3, 8].map(|threads| {
            let mut seen = Log { victims: true, ..Log::default() };
            let result = run_observed(&point, &on(threads), &mut seen).unwrap();
            assert_eq!(result, unseen, "{}", point.scheme.name);
            (seen.told, seen.mixed, seen.last)
        });
        assert!(seen[0].0 > 1_000 && seen.iter().all(|other| *other == seen[0]), "{seen:?}");
        seen_of.push(seen[0]);
    }
    assert_ne!(seen_of[0], seen_of[1]);
}

#[test]
fn drops_at_slow_receivers_are_the_same_on_any_number_of_threads() {
    let fault =
        "[[fault]]\nkind = \"slow-receiver\"\nhosts = \"host:0\"\nrate = \"10Gbps\"\nbuffer = \"20KB\"\n";
    let measure = "[[measure]]\nseries = \"drops\"\nevery = \"1us\"\nlinks = \"tor:0/down\"\n";
    let text = format!("{GROUND}{NAMED}{fault}{measure}");
    let all = points(&text);
    let point = all.iter().find(|point| point.scheme.name == "ecmp").unwrap();
    let [first, others @ ..] = [1, 2, 3, 8].map(|threads| run(point, &on(threads)).unwrap());
    assert!(first.run.faults[0].packets_refused > 0, "{:?}", first.run.faults);
    let measured: f64 = first.series.iter().filter(|row| row.series == "drops").map(|row| row.value).sum();
    let counted = first.series.iter().filter(|row| row.series == "drops.drops").count();
    assert!(measured > 0.0 && counted as u64 == first.run.drops, "{measured} {counted}");
    for other in others {
        assert_eq!(other.series, first.series);
    }
}

#[test]
fn what_a_named_one_has_seen_is_among_the_curves_and_changes_nothing_else() {
    let measure = "[[measure]]\nseries = \"queue-depth\"\nlinks = \"tor:0/down\"\n";
    for more in ["", measure] {
        let mut drops = 0.0;
        for (point, plain) in
            points(&format!("{GROUND}{NAMED}{more}")).iter().zip(points(&format!("{GROUND}{more}")))
        {
            let plain = run(&plain, &on(1)).unwrap();
            let first = run(point, &on(1)).unwrap();
            let rows = named(&first.series);
            assert_eq!(first.series.len(), plain.series.len() + rows.len());
            assert_eq!(first.series[..plain.series.len()], plain.series);
            // Curves are in the order of the scenario. The two logs have different hashes.
            let (logs, counted): (Vec<&SeriesRow>, Vec<&SeriesRow>) =
                rows.iter().partition(|row| row.series.ends_with(".told"));
            // The name of the second observer of a kind has a number.
            let names: Vec<&str> = logs.iter().map(|row| row.series.as_str()).collect();
            assert_eq!(names, ["log.told", "log.told", "log-2.told", "log-2.told"]);
            assert!(counted.iter().all(|row| row.series == "drops.drops" && row.entity == "fabric"));
            assert_eq!(counted.len() as u64, first.run.drops);
            drops += counted.len() as f64;
            assert_eq!(logs.len(), 4);
            assert!(logs[0].value > 1_000.0 && logs[1].value != logs[3].value, "{logs:?}");
            for threads in [1, 2, 3, 8] {
                let result = run(point, &on(threads)).unwrap();
                assert_eq!((&result.run, &result.flows), (&plain.run, &plain.flows));
                assert_eq!(result.run.digest, plain.run.digest);
                assert_eq!(result.series, first.series, "{threads} threads");
            }
            // The scenario's observers are used in addition to one that it does not name.
            let mut own = Log::default();
            assert_eq!(run_observed(point, &on(3), &mut own).unwrap(), first);
            assert!(own.told > 1_000);
        }
        assert!(drops > 0.0);
    }
}

#[test]
fn a_run_that_fails_has_the_curves_of_what_there_was() {
    let text = format!("{GROUND}{NAMED}[limits]\nmax_time = \"8us\"\n");
    let seen = [1, 3].map(|threads| match run(&points(&text)[0], &on(threads)) {
        Err(RunError::Limit { limit: "max_time", partial, .. }) => partial.series,
        other => panic!("{other:?}"),
    });
    assert!(named(&seen[0]).iter().any(|row| row.series == "log.told" && row.value > 100.0), "{seen:?}");
    assert_eq!(seen[0], seen[1]);
}

#[test]
fn the_resolved_form_names_them_with_all_their_parameters() {
    let scenario = scenario(&registry(), &format!("{GROUND}{NAMED}"));
    let written = scenario.to_toml();
    let log = "[[observer]]\nkind = \"log\"\nshift = 0\nvictims = true\n\n[[observer]]\nkind = \"drops\"\n";
    assert!(written.contains(log), "{written}");
    assert_eq!(attempt(&written).unwrap(), scenario);
    let listed = registry();
    let listed: Vec<(&str, &str)> = listed.list().iter().map(|listed| (listed.family, listed.name)).collect();
    assert_eq!(listed, [("observer", "drops"), ("observer", "fragile"), ("observer", "log")]);
}

#[test]
fn what_is_wrong_is_told_where_it_stands() {
    // `[[observer]]` is in line 18.
    for (written, expected) in [
        ("kind = \"lgo\"", "t.toml:19:1: unknown kind \"lgo\"\n  write: kind = \"log\""),
        (
            "kind = \"x\"",
            "t.toml:19:1: unknown kind \"x\"\n  write: kind = one of \"drops\", \"fragile\", \"log\"",
        ),
        (
            "shift = 3",
            "t.toml:18:1: [[observer]] has no \"kind\"\n  write: kind = one of \"drops\", \"fragile\", \"log\"",
        ),
        ("kind = 3", "t.toml:19:1: kind: must be text in quotes, not 3"),
        ("kind = \"log\"\nshfit = 3", "t.toml:20:1: \"log\" has no parameter \"shfit\"\n  write: shift = 3"),
        (
            "kind = \"drops\"\nleast = 3",
            "t.toml:20:1: \"drops\" has no parameter \"least\"\n  write: no parameter",
        ),
        ("kind = \"log\"\nshift = 30", "t.toml:20:1: shift must be 0 to 20, not 30\n  write: shift = 20"),
        ("kind = \"fragile\"", "t.toml:19:1: \"fragile\" has no \"at\", which must be said\n  write: at = "),
        (
            "kind = \"log\"\nvictims = true\nshift = 3",
            "t.toml:21:1: shift: must be 0 beside victims\n  write: shift = 0",
        ),
        ("kind = \"fragile\"\nat = 0", "t.toml:19:1: kind: the observer \"fragile\" panicked: not made"),
    ] {
        let text = format!("{}\n[[observer]]\n{written}\n", GROUND.trim_end());
        let error = attempt(&text).unwrap_err();
        assert!(error.starts_with(expected), "{error}\n{expected}");
    }
    let error = attempt(&format!("{GROUND}[observer]\nkind = \"log\"\n")).unwrap_err();
    assert!(error.contains("[[observer]] instead of [observer]"), "{error}");
    let text = format!("{GROUND}{NAMED}");
    let error = read("t.toml", &text, &NoFiles, &Overrides::default()).unwrap_err().to_string();
    assert!(error.contains("no observer is registered") && error.contains("[[measure]]"), "{error}");
}

#[test]
fn a_panic_names_the_observer() {
    for (at, expected) in [(1, "no more of me"), (2, "never together"), (3, "who is "), (4, "I saw nothing")]
    {
        let text = format!("{GROUND}{NAMED}[[observer]]\nkind = \"fragile\"\nat = {at}\n");
        for threads in [1, 3] {
            let error = run(&points(&text)[0], &on(threads)).unwrap_err().to_string();
            let start = format!("the observer \"fragile\" of scheme \"ecmp\" panicked: {expected}");
            assert!(error.starts_with(&start), "{error}");
        }
    }
}

#[test]
fn one_that_keeps_more_than_a_run_may_have_ends_it() {
    let mut point = points(&format!("{GROUND}[[observer]]\nkind = \"drops\"\n")).remove(0);
    point.most_points = 3;
    let errors = [1, 3].map(|threads| run(&point, &on(threads)).unwrap_err().to_string());
    assert!(errors[0].starts_with("the observers came to 3 points within "), "{errors:?}");
    assert_eq!(errors[0], errors[1]);
}
