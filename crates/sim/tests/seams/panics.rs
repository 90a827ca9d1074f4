//! Registered components that panic or break a rule: the run ends with an error that names the component, and other
//! runs continue.

use super::support::{on, scenario};
use anabranch_sim::base::{HostId, LinkId, MessageId};
use anabranch_sim::proto::Packet;
use anabranch_sim::proto::cc::{AckReport, CongestionControl};
use anabranch_sim::proto::lb::LoadBalancer;
use anabranch_sim::proto::program::{Emitted, Held, Passage, Program, Verdict};
use anabranch_sim::proto::transport::{
    OutOfPsns, Receiver, SackConfig, SackReceiver, Sender, SenderCounters,
};
use anabranch_sim::scenario::{NoFiles, Overrides, read_with};
use anabranch_sim::workload::Start;
use anabranch_sim::{
    Bytes, Duration, Observer, Parameter, Rate, Registry, RunError, Time, run, run_observed,
};

/// A component of several kinds that panics when it is used.
struct Fragile;

impl LoadBalancer for Fragile {
    fn next_ev(&mut self, _: Time, _: u64) -> u16 {
        7
    }

    fn handle_ack(&mut self, _: Time, ev: u16, _: bool, _: Duration) {
        assert!(ev == 8, "path {ev} is not there");
    }
}

impl CongestionControl for Fragile {
    fn window(&self) -> u64 {
        10_000
    }

    fn handle_ack(&mut self, acked: &AckReport) {
        panic!("{} B acknowledged", acked.bytes);
    }
}

impl Sender for Fragile {
    fn post(&mut self, _: MessageId, bytes: u64) -> Result<(), OutOfPsns> {
        panic!("{bytes} B are too many")
    }
    fn handle_packet(&mut self, _: Time, _: &Packet) {}
    fn handle_timeout(&mut self, _: Time) {}
    fn next_timeout(&mut self) -> Option<Time> {
        None
    }
    fn poll_transmit(&mut self, _: Time) -> Option<Packet> {
        None
    }
    fn poll_acknowledged(&mut self) -> Option<MessageId> {
        None
    }
    fn counters(&self) -> SenderCounters {
        SenderCounters::default()
    }
}

impl Program for Fragile {
    fn ingress(&mut self, packet: &mut Packet, _: &Passage, _: &mut Vec<Emitted>) -> Verdict {
        panic!("a packet to host {}", packet.dst)
    }
}

/// A program that claims to release packets that it never held.
struct Lying(Held);

impl Program for Lying {
    fn ingress(&mut self, packet: &mut Packet, at: &Passage, out: &mut Vec<Emitted>) -> Verdict {
        if at.to_host {
            out.push(Emitted { packet: *packet, held: self.0 });
        }
        Verdict::Forward
    }
}

fn registry() -> Registry {
    let sack = |ack| SackConfig {
        payload: Bytes(4096),
        header: Bytes(64),
        ack,
        ack_every: 1,
        carry_evs: false,
        rto: anabranch_sim::proto::Span::Rtt(5.0),
        inherits: Default::default(),
    };
    Registry::new()
        .load_balancer("fragile", [], |_, _, _| Box::new(Fragile))
        .load_balancer("asks-amiss", [Parameter::new("paths", 8u32, "paths")], |_, parameters, _| {
            let _: Duration = parameters.get("paths");
            Box::new(Fragile)
        })
        .load_balancer("asks-in-vain", [Parameter::new("paths", 8u32, "paths")], |_, parameters, _| {
            let _: u32 = parameters.get("path");
            Box::new(Fragile)
        })
        .congestion_control("fragile", [], |_, _, _| Box::new(Fragile))
        .transport(
            "fragile",
            [],
            |_, _| Box::new(Fragile),
            move |parts, parameters| -> Box<dyn Receiver> {
                Box::new(SackReceiver::new(&sack(parameters.get("ack")), parts.ends))
            },
        )
        .program("fragile", [], |_, _, _| Box::new(Fragile))
        .program("lying", [], |_, _, _| Box::new(Lying(Held::OutsideBuffer)))
        .program("lying-of-its-buffer", [], |_, _, _| Box::new(Lying(Held::InBuffer(3))))
}

const GROUND: &str = r#"
[topology]
kind = "fat-tree"
hosts = 16
hosts_per_tor = 4
link = "100Gbps"

[workload]
kind = "permutation"
bytes = "100KB"
"#;

/// A scenario with two schemes: `mine`, which is REPS with one replaced component, and REPS itself.
fn with(set: &str) -> String {
    format!("{GROUND}[[scheme]]\nname = \"mine\"\nbase = \"reps\"\nset = {{ {set} }}\n")
        .replace("\n[topology]", "\nschemes = [\"reps\"]\n[topology]")
}

/// Returns the error of the run of `mine`. Its kind must be the same on 1 and on 3 threads, and the run of REPS must
/// succeed.
fn error(set: &str) -> RunError {
    let points = scenario(&registry(), &with(set)).points().unwrap();
    let errors = [1, 3].map(|threads| {
        let mut ends = points.iter().map(|point| (point.scheme.name.as_str(), run(point, &on(threads))));
        let mine = ends.find_map(|(scheme, end)| (scheme == "mine").then(|| end.unwrap_err())).unwrap();
        let reps = points.iter().find(|point| point.scheme.name == "reps").unwrap();
        assert_eq!(run(reps, &on(threads)).unwrap().run.flows_finished, 16);
        mine
    });
    let [one, three] = errors;
    assert_eq!(std::mem::discriminant(&one), std::mem::discriminant(&three));
    one
}

#[test]
fn a_panic_names_the_scheme_and_the_part() {
    for (set, expected) in [
        (
            "lb = { kind = \"fragile\" }",
            "the load balancer \"fragile\" of scheme \"mine\" panicked: path 7 is not there",
        ),
        ("cc = { kind = \"fragile\" }", "the congestion control \"fragile\" of scheme \"mine\" panicked: "),
        (
            "transport = { kind = \"fragile\" }",
            "the transport \"fragile\" of scheme \"mine\" panicked: 100000 B are too many",
        ),
        (
            "\"fabric.program\" = { kind = \"fragile\" }",
            "the program \"fragile\" of scheme \"mine\" panicked: a packet to host ",
        ),
    ] {
        let error = error(set);
        assert!(
            matches!(error, RunError::Panicked { .. }) && error.to_string().starts_with(expected),
            "{error}"
        );
    }
}

#[test]
fn a_parameter_asked_for_amiss_is_told_with_the_place() {
    for (kind, expected) in [
        ("asks-amiss", "asks for the parameter \"paths\" as a time, but it is declared as a whole number: 8"),
        ("asks-in-vain", "asks for the parameter \"path\", which is not declared; declared are [\"paths\"]"),
    ] {
        let error = error(&format!("lb = {{ kind = {kind:?} }}")).to_string();
        let start = format!("the load balancer {kind:?} of scheme \"mine\" panicked: ");
        assert!(error.starts_with(&start) && error.contains(expected), "{error}");
        assert!(error.contains("panics.rs:"), "{error}");
    }
}

#[test]
fn a_program_that_sends_what_it_does_not_hold_ends_the_run() {
    for kind in ["lying", "lying-of-its-buffer"] {
        let error = error(&format!("\"fabric.program\" = {{ kind = {kind:?} }}"));
        let told = error.to_string();
        assert!(matches!(error, RunError::Invariant { .. }), "{told}");
        assert!(told.contains("the program of tor:") && told.contains("that it does not hold"), "{told}");
    }
}

#[test]
fn a_panic_of_a_topology_or_a_workload_is_told_where_it_is_chosen() {
    let registry = Registry::new()
        .topology("fragile", [], |graph, _| {
            let switch = graph.switch(1, Duration::ZERO);
            graph.host(switch, Rate::from_gbps(1), Duration::ZERO);
            panic!("no more hosts")
        })
        .workload("fragile", [], |workload, _, _, _| {
            let qp = workload.add_qp(HostId(0), HostId(1));
            workload.add_message(qp, 1, Start::At(Time::ZERO));
            panic!("no more messages")
        });
    for (before, line, expected) in [
        (
            "\"fat-tree\"\nhosts = 16\nhosts_per_tor = 4\nlink = \"100Gbps\"",
            4,
            "the topology panicked: no more hosts",
        ),
        ("\"permutation\"\nbytes = \"100KB\"", 10, "the workload panicked: no more messages"),
    ] {
        let text = format!("schemes = [\"reps\"]\n{}", GROUND.replace(before, "\"fragile\""));
        let read = read_with(&registry, "t.toml", &text, &NoFiles, &Overrides::default());
        if let Ok(read) = &read {
            let error = run(&read.points().unwrap()[0], &on(1)).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let error = read.and_then(|scenario| scenario.check()).unwrap_err();
        assert!(error.message.contains(expected) && error.span.line == Some(line), "{error}");
    }
}

struct PanickingObserver;

impl Observer for PanickingObserver {
    fn fork(&self) -> Self {
        PanickingObserver
    }
    fn join(&mut self, PanickingObserver: Self) {}
    fn transmitted(&mut self, link: LinkId, _: Time, _: Time, _: u16) {
        panic!("what is link {link}?")
    }
}

#[test]
fn a_panic_of_an_observer_is_its_own() {
    let text = format!("schemes = [\"reps\"]\n{GROUND}");
    let point = &scenario(&Registry::new(), &text).points().unwrap()[0];
    for threads in [1, 3] {
        let error = run_observed(point, &on(threads), &mut PanickingObserver).unwrap_err().to_string();
        assert!(error.starts_with("the observer of scheme \"reps\" panicked: what is link "), "{error}");
    }
}
