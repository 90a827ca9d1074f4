//! Tests that registered components can be used from a scenario's text, and that a copy of a built-in component
//! behaves like the original.

use super::support::{flows, on, results, scenario};
use anabranch_sim::base::HostId;
use anabranch_sim::proto::cc::{BaseRtt, CcWants, Dctcp, DctcpConfig, Hpcc, HpccConfig};
use anabranch_sim::proto::lb::{Ops, OpsConfig};
use anabranch_sim::proto::program::{Emitted, Flowlet, Held, Passage, Program, Verdict};
use anabranch_sim::proto::transport::{
    GoBackNConfig, GoBackNReceiver, GoBackNSender, SackConfig, SackReceiver, SackSender,
};
use anabranch_sim::proto::{Pace, Packet, Repr, Size, Span};
use anabranch_sim::scenario::{NoFiles, Overrides, read, read_with};
use anabranch_sim::workload::Start;
use anabranch_sim::{Bytes, Duration, Parameter, Parameters, Rate, Registry, Time, run};

fn copies() -> Registry {
    let ack_every = || Parameter::new("ack_every", 1u32, "packets that an ACK answers");
    let sack = |parameters: &Parameters| SackConfig {
        payload: parameters.get("payload"),
        header: parameters.get("header"),
        ack: parameters.get("ack"),
        ack_every: parameters.get("ack_every"),
        carry_evs: false,
        rto: parameters.get("rto"),
        inherits: Default::default(),
    };
    let go_back_n = |parameters: &Parameters| GoBackNConfig {
        payload: parameters.get("payload"),
        header: parameters.get("header"),
        ack: parameters.get("ack"),
        ack_every: 1,
        nack_interval: Span::Time(Duration::from_us(500)),
        cnp_interval: Span::Time(Duration::from_us(50)),
        trailing_cnp: false,
        rto: parameters.get("rto"),
    };
    Registry::new()
        .load_balancer(
            "my-ops",
            [Parameter::new("evs", 65_536u32, "entropy values")],
            |_, parameters, random| Box::new(Ops::new(&OpsConfig { evs: parameters.get("evs") }, random)),
        )
        .congestion_control(
            "my-dctcp",
            [Parameter::new("window", Size::Bdp(1.5), "at first and at most")],
            |facts, parameters, _| {
                let window: Size = parameters.get("window");
                let config = DctcpConfig {
                    initial_window: window,
                    max_window: window,
                    decrease: 0.25,
                    loss_decrease: 1.0,
                };
                Box::new(Dctcp::new(&config, facts))
            },
        )
        .congestion_control_wanting(
            CcWants { telemetry: true, own_path: true },
            "my-hpcc",
            [Parameter::new("eta", 0.95, "target utilisation")],
            |facts, parameters, _| {
                let rate_ai = Pace::Line(0.0004);
                let config =
                    HpccConfig { eta: parameters.get("eta"), max_stage: 0, rate_ai, base_rtt: BaseRtt::Path };
                Box::new(Hpcc::new(&config, facts))
            },
        )
        .transport(
            "my-sack",
            [ack_every(), Parameter::new("payload", Bytes(4_086), "as ours")],
            move |parts, parameters| {
                Box::new(SackSender::new(&sack(parameters), &parts.facts, parts.ends, parts.cc, parts.lb))
            },
            move |parts, parameters| Box::new(SackReceiver::new(&sack(parameters), parts.ends)),
        )
        .transport(
            "my-go-back-n",
            [],
            move |parts, parameters| {
                Box::new(GoBackNSender::new(
                    &go_back_n(parameters),
                    &parts.facts,
                    parts.ends,
                    parts.cc,
                    parts.lb,
                ))
            },
            move |parts, parameters| {
                Box::new(GoBackNReceiver::new(&go_back_n(parameters), &parts.facts, parts.ends))
            },
        )
        .program(
            "my-flowlet",
            [Parameter::required::<Span>("gap", "a pause that starts a flowlet")],
            |facts, parameters, random| {
                Box::new(Flowlet::new(parameters.get::<Span>("gap").on(&facts.path), random))
            },
        )
        .topology(
            "my-dumbbell",
            [
                Parameter::required::<u32>("hosts", "in all"),
                Parameter::new("link", Rate::from_gbps(100), "rate of every link"),
            ],
            |graph, parameters| {
                let (hosts, link) = (parameters.get::<u32>("hosts"), parameters.get("link"));
                let latency = Duration::from_ns(500);
                let ends = [graph.switch(1, latency), graph.switch(1, latency)];
                for host in 0..hosts {
                    graph.host(ends[(host / (hosts / 2)) as usize], link, latency);
                }
                graph.link(ends[0], ends[1], link, latency);
                Ok(())
            },
        )
        .workload(
            "my-tornado",
            [Parameter::new("bytes", Bytes(100_000), "length of a message")],
            |workload, fabric, parameters, _| {
                for host in 0..fabric.hosts {
                    let twin = (host + fabric.hosts / 2) % fabric.hosts;
                    let qp = workload.add_qp(HostId(host), HostId(twin));
                    workload.add_message(qp, parameters.get::<Bytes>("bytes").0, Start::At(Time::ZERO));
                }
                Ok(())
            },
        )
}

const FABRIC: &str = r#"
[topology]
kind = "fat-tree"
hosts = 32
hosts_per_tor = 8
link = "100Gbps"

[workload]
kind = "permutation"
bytes = "300KB"

[[fault]]
kind = "packet-loss"
links = "tor-uplinks:30%"
probability = 0.01
"#;

#[test]
fn copies_of_ours_give_the_same_flow_completion_times() {
    let text = format!(
        r#"
        schemes = ["ops"]
        setup = "reps-paper"
        seeds = [1, 2]
        {FABRIC}
        [[scheme]]
        name = "lb"
        base = "ops"
        set = {{ lb = {{ kind = "my-ops" }} }}
        [[scheme]]
        name = "cc"
        base = "ops"
        set = {{ cc = {{ kind = "my-dctcp" }} }}
        [[scheme]]
        name = "transport"
        base = "ops"
        set = {{ transport = {{ kind = "my-sack" }} }}
        [[scheme]]
        name = "all"
        base = "ops"
        set = {{ lb = {{ kind = "my-ops" }}, cc = {{ kind = "my-dctcp" }}, transport = {{ kind = "my-sack" }} }}
        "#
    );
    let flows = flows(&scenario(&copies(), &text));
    let (ours, copies) = flows.split_at(2);
    assert_eq!(copies.len(), 4 * 2);
    assert!(copies.chunks(2).all(|its| its == ours));
    assert_ne!(ours[0], ours[1], "seeds differ");
}

#[test]
fn a_copy_that_learns_from_telemetry_gets_it() {
    let text = format!(
        r#"
        schemes = ["hpcc"]
        setup = "hpcc-paper"
        {}
        [[scheme]]
        name = "copy"
        base = "hpcc"
        set = {{ cc = {{ kind = "my-hpcc" }} }}
        [[scheme]]
        name = "with its transport"
        base = "hpcc"
        [scheme.set]
        cc = {{ kind = "my-hpcc" }}
        transport = {{ kind = "my-go-back-n", payload = "1000B", header = "90B", ack = "88B", rto = "4ms" }}
        "#,
        FABRIC.split("[[fault]]").next().unwrap()
    );
    let text = text.replace("with its transport", "with-its-transport");
    let flows = flows(&scenario(&copies(), &text));
    assert_eq!(flows[0], flows[1]);
    assert_eq!(flows[0], flows[2]);
    // A congestion control that uses telemetry needs a transport that delivers the telemetry.
    let wrong = text.replace("base = \"hpcc\"", "base = \"reps\"");
    let error =
        read_with(&copies(), "t.toml", &wrong, &NoFiles, &Overrides::default()).unwrap_err().to_string();
    assert!(error.contains("cc.kind = \"my-hpcc\" learns from the telemetry"), "{error}");
}

#[test]
fn a_copy_of_a_program_does_the_same() {
    let text = format!(
        r#"
        {FABRIC}
        [[scheme]]
        name = "ours"
        base = "sr-ecmp"
        set = {{ "fabric.program" = {{ kind = "flowlet", gap = "2us" }} }}
        [[scheme]]
        name = "copy"
        base = "sr-ecmp"
        set = {{ "fabric.program" = {{ kind = "my-flowlet", gap = "2us" }} }}
        "#
    );
    let results = results(&scenario(&copies(), &text));
    assert_eq!(results[0].flows, results[1].flows);
    assert!(results[1].run.extra["flowlets"] > 0.0);
    assert_eq!(results[0].run.extra, results[1].run.extra);
}

#[test]
fn copies_of_a_topology_and_a_workload_are_the_same() {
    let with = |topology: &str, workload: &str| {
        let text = format!(
            r#"
            schemes = ["reps"]
            setup = "reps-paper"
            topology = {{ kind = "{topology}", hosts = 12, link = "100Gbps" }}
            workload = {{ kind = "{workload}", bytes = "100KB" }}
            fault = [{{ kind = "link-down", links = "tor:0/up:0", at = "10us", duration = "20us" }}]
            measure = [{{ series = "link-utilisation", every = "5us", links = "tor:0/up" }}]
            "#
        );
        results(&scenario(&copies(), &text)).remove(0)
    };
    let ours = with("dumbbell", "tornado");
    assert!(ours.run.link_losses > 0 && !ours.series.is_empty());
    for (topology, workload) in
        [("my-dumbbell", "tornado"), ("dumbbell", "my-tornado"), ("my-dumbbell", "my-tornado")]
    {
        let copy = with(topology, workload);
        assert_eq!(copy.run.digest, ours.run.digest, "{topology} {workload}");
        assert_eq!(copy.series, ours.series);
    }
}

#[test]
fn the_resolved_form_gives_the_same_digest() {
    let text = r#"
        title = "T"
        topology = { kind = "my-dumbbell", hosts = 12 }
        workload = { kind = "my-tornado" }
        [[scheme]]
        name = "mine"
        base = "ops"
        [scheme.set]
        lb = { kind = "my-ops", evs = 256 }
        cc = { kind = "my-dctcp", window = "1bdp" }
        transport = { kind = "my-sack" }
        "fabric.program" = { kind = "my-flowlet", gap = "2us" }
        [sweep]
        "mine.lb.evs" = [16, 256]
        "workload.bytes" = ["50KB", "100KB"]
    "#;
    let first = scenario(&copies(), text);
    let again = scenario(&copies(), &first.to_toml());
    assert_eq!((again.canonical(), &again), (first.canonical(), &first));
    let digests =
        |scenario| results(scenario).into_iter().map(|result| result.run.digest).collect::<Vec<_>>();
    let distinct: std::collections::BTreeSet<String> = digests(&first).into_iter().collect();
    assert_eq!((digests(&again), distinct.len()), (digests(&first), 4));
    assert!(read("t.toml", &first.to_toml(), &NoFiles, &Overrides::default()).is_err());
}

/// A program that emits a packet of one byte, the shortest possible packet, after each data packet to another ToR.
struct Chatty;

impl Program for Chatty {
    fn ingress(&mut self, packet: &mut Packet, at: &Passage, out: &mut Vec<Emitted>) -> Verdict {
        match packet.repr {
            Repr::Program { .. } if at.to_host => return Verdict::Drop,
            Repr::Data { .. } if at.from_host && !at.to_host => {
                let repr = Repr::Program { word: 0 };
                let word = Packet::new(packet.qp, packet.dst, repr).with_bytes(1).with_ev(packet.ev);
                out.push(Emitted { packet: word, held: Held::Never });
            }
            _ => {}
        }
        Verdict::Forward
    }
}

#[test]
fn packets_shorter_than_any_of_ours_come_at_their_time() {
    let registry = Registry::new().program("chatty", [], |_, _, _| Box::new(Chatty));
    let text = format!(
        "setup = \"reps-paper\"\n{FABRIC}[[scheme]]\nname = \"mine\"\nbase = \"ops\"\nset = {{ \"fabric.program\" = {{ kind = \"chatty\" }} }}\n"
    );
    let text = text
        .replace("hosts_per_tor = 8", "hosts_per_tor = 8\nlink_latency = \"1ps\"\nswitch_latency = \"1ps\"");
    let hops = results(&scenario(&registry, &text))[0].run.packet_hops;
    assert!(hops > 0);
}

#[test]
fn what_a_workload_does_wrong_is_an_error() {
    let text = FABRIC.replace("kind = \"permutation\"\nbytes = \"300KB\"", "kind = \"broken\"");
    let text = format!("schemes = [\"reps\"]\n{text}");
    for (registry, problem) in [
        (Registry::new().workload("broken", [], |_, _, _, _| Ok(())), "there is no message"),
        (
            Registry::new().workload("broken", [], |workload, fabric, _, _| {
                let qp = workload.add_qp(HostId(0), HostId(fabric.hosts));
                workload.add_message(qp, 1, Start::At(Time::ZERO));
                Ok(())
            }),
            "there is no host 32: they are 0 to 31",
        ),
    ] {
        let read = read_with(&registry, "t.toml", &text, &NoFiles, &Overrides::default()).unwrap();
        let error = read.check().unwrap_err();
        assert!(error.message.contains(problem) && error.span.line == Some(9), "{error}");
        assert!(run(&read.points().unwrap()[0], &on(1)).is_err());
    }
}

struct Steering(Vec<u16>);

impl Program for Steering {
    fn ingress(&mut self, packet: &mut Packet, at: &Passage, _: &mut Vec<Emitted>) -> Verdict {
        if let (Repr::Data { psn, .. }, true, false) = (packet.repr, at.from_host, at.to_host) {
            packet.ev ^= self.0[psn as usize % self.0.len()];
        }
        Verdict::Forward
    }
}

#[test]
fn a_program_with_a_table_of_paths_has_a_path_map() {
    let paths = Parameter::new("paths", 64u32, "entries of its table");
    let registry = Registry::new().program("steering", [paths], |facts, parameters, _| {
        let map = facts.path_map.as_ref().expect("three tiers have a path map");
        assert!(map.len() as u32 == facts.paths && facts.paths <= parameters.get("paths"));
        Box::new(Steering(map.to_vec()))
    });
    let text = |set: &str| {
        format!(
            r#"
            [topology]
            kind = "fat-tree"
            hosts = 16
            hosts_per_tor = 2
            tiers = 3
            link = "100Gbps"
            [workload]
            kind = "permutation"
            bytes = "300KB"
            [[scheme]]
            name = "mine"
            base = "sr-ecmp"
            set = {{ {set} }}
            "#
        )
    };
    let linear = "\"fabric.program\" = { kind = \"steering\" }, \"fabric.routing\" = \"ecmp-linear\"";
    let mine = results(&scenario(&registry, &text(linear)));
    let ours = results(&scenario(&registry, &text("\"fabric.routing\" = \"ecmp-linear\"")));
    assert!(mine[0].run.fct_max_us != ours[0].run.fct_max_us, "the program steers");
    for (set, expected) in [
        ("\"fabric.program\" = { kind = \"steering\" }", "fabric.routing"),
        (
            "\"fabric.program\" = { kind = \"steering\", paths = 1 }, \"fabric.routing\" = \"ecmp-linear\"",
            "and the program's tables have 1 entries",
        ),
    ] {
        let read = read_with(&registry, "t.toml", &text(set), &NoFiles, &Overrides::default());
        let error = read.and_then(|scenario| scenario.check()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
