//! Tests of registered parts: they are read like built-in ones, written out, and read back.

use crate::scenario::*;
use anabranch_base::{Bytes, Duration, HostId, Parameter, Problem, Rate, Refused, Time};
use anabranch_proto::cc::AnyCc;
use anabranch_proto::lb::{AnyLb, OpsConfig};
use anabranch_proto::program::{Flowlet, Program};
use anabranch_proto::transport::{AnyReceiver, AnySender};
use anabranch_proto::{LbConfig, Size, Span, TransportConfig};
use anabranch_workload::Start;

const SCENARIO: &str = r#"title = "T"
[topology]
kind = "my-ring"
switches = 5
link = "100Gbps"
[workload]
kind = "my-pattern"
bytes = "64KB"
[[scheme]]
name = "mine"
transport = { kind = "my-transport", ack = "70B", window = "2bdp" }
cc = { kind = "my-window", window = "1.5bdp" }
lb = { kind = "my-balancer", gap = 4 }
[scheme.fabric]
queue = "1bdp"
control_queue = "1bdp"
ecn_kmin = "0.2bdp"
ecn_kmax = "0.8bdp"
ecn_pmax = 1.0
trim = false
program = { kind = "my-program", gap = "30us" }
"#;

fn registry() -> Registry {
    Registry::new()
        .load_balancer(
            "my-balancer",
            [
                Parameter::new("gap", 3u32, "packets on a path").must("be at least 1", |gap: &u32| *gap >= 1),
                Parameter::new("share", 0.5, "of what"),
                Parameter::new("eager", false, "whether at once"),
            ],
            |_, parameters, _| {
                let ev = parameters.get::<u32>("gap") as u16;
                Box::new(anabranch_proto::lb::Ecmp(ev))
            },
        )
        .congestion_control(
            "my-window",
            [Parameter::new("window", Size::Bdp(1.0), "what may be in flight")],
            |facts, parameters, _| {
                let window = parameters.get::<Size>("window").on(facts);
                Box::new(anabranch_proto::cc::Constant(window.0))
            },
        )
        .transport(
            "my-transport",
            [Parameter::required::<Size>("window", "what may be in flight")],
            |_, _| unreachable!("no run here"),
            |_, _| unreachable!("no run here"),
        )
        .program(
            "my-program",
            [Parameter::new("gap", Span::Rtt(1.0), "a pause that starts a flowlet")],
            |facts, parameters, random| -> Box<dyn Program> {
                Box::new(Flowlet::new(parameters.get::<Span>("gap").on(&facts.path), random))
            },
        )
        .topology(
            "my-ring",
            [
                Parameter::required::<u32>("switches", "on the ring"),
                Parameter::new("link", Rate::from_gbps(400), "rate of every link"),
            ],
            |graph, parameters| {
                let (switches, link) = (parameters.get::<u32>("switches"), parameters.get::<Rate>("link"));
                if switches < 3 {
                    let problem =
                        Problem::with_value(format!("a ring has at least 3 switches, not {switches}"), 3);
                    return Err(Refused::new("switches", problem));
                }
                let latency = Duration::from_ns(500);
                let ring: Vec<_> = (0..switches).map(|_| graph.switch(1, latency)).collect();
                for (place, &switch) in ring.iter().enumerate() {
                    graph.host(switch, link, latency);
                    graph.link(switch, ring[(place + 1) % ring.len()], link, latency);
                }
                Ok(())
            },
        )
        .workload(
            "my-pattern",
            [Parameter::required::<Bytes>("bytes", "length of a message")],
            |workload, fabric, parameters, mut random| {
                let bytes = parameters.get::<Bytes>("bytes").0;
                if bytes > 1_000_000 {
                    return Err(Refused::new("bytes", Problem::with_value("messages are short here", "1MB")));
                }
                for host in 0..fabric.hosts {
                    let to = (host + 1 + random.below(fabric.hosts - 1)) % fabric.hosts;
                    let qp = workload.add_qp(HostId(host), HostId(to));
                    workload.add_message(qp, bytes, Start::At(Time::ZERO));
                }
                Ok(())
            },
        )
}

fn attempt(text: &str) -> Result<Scenario, Diagnostic> {
    let scenario = read_with(&registry(), "t.toml", text, &NoFiles, &Overrides::default())?;
    scenario.check()?;
    Ok(scenario)
}

fn good(text: &str) -> Scenario {
    attempt(text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn wrong(old: &str, new: &str) -> String {
    assert!(SCENARIO.contains(old), "{old}");
    attempt(&SCENARIO.replace(old, new)).expect_err(new).to_string()
}

#[test]
fn what_is_registered_is_read_with_its_defaults_and_read_back() {
    let scenario = good(SCENARIO);
    let written = scenario.to_toml();
    for line in [
        "kind = \"my-balancer\"",
        "gap = 4",
        "share = 0.5",
        "eager = false",
        "rto = \"2rtt+5queue\"",
        "window = \"2bdp\"",
    ] {
        assert!(written.contains(line), "{line}\n{written}");
    }
    let again = good(&written);
    assert_eq!(again, scenario);
    assert_eq!(again.canonical(), scenario.canonical());
    let point = &scenario.points().unwrap()[0];
    let framing = point.scheme.transport.framing();
    assert_eq!((framing.payload, framing.ack), (Bytes(4_096), Bytes(70)));
    let LbConfig::Registered(lb) = &point.scheme.lb else { panic!("{:?}", point.scheme.lb) };
    assert_eq!((lb.name(), lb.parameters().get::<u32>("gap")), ("my-balancer", 4));
    // Without the registry, the scenario cannot be read.
    let error = read("t.toml", &written, &NoFiles, &Overrides::default()).unwrap_err().to_string();
    assert!(error.contains("unknown kind \"my-ring\""), "{error}");
}

#[test]
fn factories_get_their_parameters() {
    let scenario = good(SCENARIO);
    let scheme = &scenario.schemes[0];
    let facts = anabranch_proto::PathFacts {
        base_rtt: Duration::from_us(8),
        bdp: Bytes(100_000),
        packet: Bytes(4_160),
        line_rate: Rate::from_gbps(100),
        port_rate: Rate::from_gbps(100),
        queue: Bytes(1_000_000),
    };
    let cc = scheme.cc.build(&facts);
    assert!(matches!(cc, AnyCc::Custom(_)));
    assert_eq!(cc.window(), 150_000);
    let environment = anabranch_proto::lb::Environment { facts, rto: Duration::from_us(70), trimming: false };
    let random = anabranch_base::stream(1, 0, anabranch_base::Purpose::LoadBalancer);
    let mut lb = scheme.lb.build(&environment, random);
    assert!(matches!(lb, AnyLb::Custom(_)));
    assert_eq!(lb.next_ev(Time::ZERO, 0), 4);
    assert!(matches!(scheme.transport, TransportConfig::Registered(_)));
    fn is_send<T: Send>() {}
    is_send::<(AnySender, AnyReceiver)>();
}

#[test]
fn parameters_are_set_and_swept_as_ours() {
    let text = format!("{SCENARIO}[set]\n\"mine.lb.gap\" = 7\n\"mine.fabric.program.gap\" = \"0.5rtt\"\n");
    let scheme = &good(&text).schemes[0];
    let LbConfig::Registered(lb) = &scheme.lb else { panic!() };
    assert_eq!(lb.parameters().get::<u32>("gap"), 7);
    let Some(anabranch_proto::ProgramConfig::Registered(program)) = &scheme.fabric.program else { panic!() };
    assert_eq!(program.parameters().get::<Span>("gap"), Span::Rtt(0.5));
    let text = format!(
        "{SCENARIO}[sweep]\n\"*.lb.gap\" = [1, 2]\n\"topology.switches\" = [3, 4]\n\"workload.bytes\" = [\"1KB\", \"2KB\"]\n"
    );
    let swept = good(&text);
    assert_eq!(swept.points().unwrap().len(), 8);
    assert_eq!(good(&swept.to_toml()), swept);
    // A built-in scheme gets the registered balancer, and the scenario's own scheme gets a built-in balancer.
    let text = SCENARIO.replace("[[scheme]]", "schemes = [\"reps\"]\n[[scheme]]");
    let text = format!(
        "{}[set]\n\"reps.lb\" = {{ kind = \"my-balancer\" }}\n\"mine.lb\" = {{ kind = \"ops\", evs = 8 }}\n",
        text.replace("schemes = [\"reps\"]\n", "")
            .replace("title = \"T\"", "title = \"T\"\nschemes = [\"reps\"]")
    );
    let schemes = good(&text).schemes;
    assert!(matches!(&schemes[0].lb, LbConfig::Registered(lb) if lb.parameters().get::<u32>("gap") == 3));
    assert_eq!(schemes[1].lb, LbConfig::Ops(OpsConfig { evs: 8 }));
}

#[test]
fn an_unknown_kind_is_told_of_ours_and_the_registered_ones() {
    let error = wrong("\"my-ring\"", "\"my-rink\"");
    assert!(error.starts_with("t.toml:3:1: unknown kind \"my-rink\"\n"), "{error}");
    assert!(error.contains("kind = \"my-ring\"") && error.contains("\"fat-tree\""), "{error}");
    let error = wrong("\"my-pattern\"", "\"xyz\"");
    assert!(error.starts_with("t.toml:7:1: unknown kind \"xyz\""), "{error}");
    assert!(error.contains("\"permutation\"") && error.contains("the registered \"my-pattern\""), "{error}");
    let error = wrong("kind = \"my-pattern\"\n", "");
    assert!(error.contains("has no \"kind\"") && error.contains("\"my-pattern\""), "{error}");
    for (registered, ours, line) in [
        ("my-transport", "go-back-n", 11),
        ("my-window", "dctcp", 12),
        ("my-balancer", "reps", 13),
        ("my-program", "conweave", 21),
    ] {
        let error = wrong(&format!("kind = \"{registered}\""), "kind = \"nobody\"");
        let place = error.split(':').nth(1).unwrap().parse::<usize>().unwrap();
        assert!(place == line || registered == "my-program" && (14..=21).contains(&place), "{error}");
        assert!(error.contains("kind is \"nobody\"") && error.contains(&format!("{ours}, ")), "{error}");
        assert!(error.contains(&format!("and the registered {registered}\n")), "{error}");
        for near in [registered, ours] {
            let typed = format!("kind = {:?}", &near[..near.len() - 1]);
            let error = wrong(&format!("kind = \"{registered}\""), &typed);
            let help = error.lines().last().unwrap();
            assert!(help.contains(&format!("kind = \"{near}\"")), "{error}");
        }
    }
    let error = attempt(&format!("{SCENARIO}[set]\n\"mine.lb\" = {{ kind = \"nobody\" }}\n")).unwrap_err();
    assert_eq!(error.span.line, Some(23));
    assert!(error.message.contains("reps, ") && error.message.ends_with("registered my-balancer"), "{error}");
    let error = attempt(&format!("{SCENARIO}[set]\n\"mine.cc.kind\" = \"nobody\"\n")).unwrap_err();
    assert!(error.message.ends_with("registered my-window"), "{error}");
}

#[test]
fn a_wrong_parameter_is_told_where_it_stands() {
    let cases = [
        (
            "gap = 4",
            "gap = \"x\"",
            13,
            "lb.gap must be a whole number, not \"x\"",
            "gap = 3  # packets on a path",
        ),
        (
            "gap = 4",
            "gap = \"8\"",
            13,
            "lb.gap must be a whole number, not \"8\"",
            "gap = 8  # packets on a path",
        ),
        ("gap = 4", "gap = 0", 13, "lb.gap must be at least 1, not 0", "gap = 3  # packets on a path"),
        (
            "gap = 4",
            "gap = [4]",
            13,
            "lb.gap must be a whole number, not [4]",
            "gap = 3  # packets on a path",
        ),
        (
            "gap = 4",
            "gap = 4, eager = 1",
            13,
            "lb.eager must be true or false, not 1",
            "eager = false  # whether at once",
        ),
        (
            "gap = 4",
            "gaps = 4",
            13,
            "lb: \"my-balancer\" has no parameter \"gaps\"",
            "gap = 4 (did you mean \"gap\"?)",
        ),
        (
            "\"1.5bdp\"",
            "\"1.5\"",
            12,
            "cc.window: \"1.5\" is not a size",
            "window = \"1.5bdp\"  # what may be in flight",
        ),
        (", window = \"2bdp\"", "", 11, "transport: \"my-transport\" has no \"window\"", "window = a size"),
        ("\"30us\"", "\"30usec\"", 21, "fabric.program.gap: \"30usec\" is not a time", "gap = \"30us\""),
        ("\"100Gbps\"", "\"100gbps\"", 5, "link: \"100gbps\" is not a rate", "link = \"100Gbps\""),
        ("switches = 5", "switches = 2", 4, "a ring has at least 3 switches, not 2", "switches = 3"),
        ("switches = 5", "hosts = 5", 4, "\"my-ring\" has no parameter \"hosts\"", "one of switches, link"),
        ("\"64KB\"", "64", 8, "bytes: \"64\" is not a size", "bytes = \"64B\""),
        ("\"64KB\"", "\"2MB\"", 8, "bytes: messages are short here", "bytes = \"1MB\""),
        ("ack = \"70B\"", "ack = \"0B\"", 11, "transport.ack must be 1B to 65535B, not 0B", "ack = \"64B\""),
    ];
    for (old, new, line, message, help) in cases {
        let error = attempt(&SCENARIO.replace(old, new)).expect_err(new);
        assert_eq!(error.span.line, Some(line), "{new}: {error}");
        assert!(error.message.starts_with(message), "{new}: {error}");
        assert!(error.help().clone().unwrap_or_default().contains(help), "{new}: {error}");
    }
    let settings = [
        (
            "\"mine.lb.gap\" = \"x\"",
            "lb.gap must be a whole number",
            "\"mine.lb.gap\" = 3  # packets on a path",
        ),
        ("\"mine.lb.gpa\" = 3", "scheme \"mine\" has no parameter \"lb.gpa\"", "\"mine.lb.gap\" = 3"),
        ("\"mine.lb\" = { kind = \"my-balancer\", gap = 0 }", "lb.gap must be at least 1", "gap = 3"),
    ];
    for (setting, message, help) in settings {
        let error = attempt(&format!("{SCENARIO}[set]\n{setting}\n")).expect_err(setting);
        assert_eq!(error.span.line, Some(23), "{error}");
        assert!(error.message.starts_with(message), "{error}");
        assert!(error.help().clone().unwrap_or_default().contains(help), "{error}");
    }
}

#[test]
fn a_kind_in_the_place_of_a_part_or_a_scheme_is_answered_with_what_it_makes() {
    let ours = "schemes = [\"reps\"]\n";
    let set = |line: &str| format!("{ours}{SCENARIO}[set]\n{line}\n");
    let whole = "\"reps.lb\" = { kind = \"my-balancer\" }";
    let cases = [
        ("\"reps.lb\" = \"my-balancer\"", whole),
        ("\"reps.lb\" = \"my-balancr\"", whole),
        ("\"reps.lb.kind\" = \"my-balancer\"", whole),
        ("\"reps.lb\" = { gap = 4 }", "\"reps.lb\" = { kind = \"my-balancer\", gap = 4 }"),
    ];
    for (line, help) in cases {
        let error = attempt(&set(line)).expect_err(line);
        assert_eq!(error.help().as_deref(), Some(help), "{error}");
        attempt(&set(help)).unwrap_or_else(|e| panic!("{help}: {e}"));
    }
    let own = |lb: &str| SCENARIO.replace("lb = { kind = \"my-balancer\", gap = 4 }", lb);
    let error = attempt(&own("lb = \"my-balancer\"")).unwrap_err();
    assert_eq!(error.help().as_deref(), Some("lb = { kind = \"my-balancer\" }"), "{error}");
    let error = attempt(&own("lb = { paths = 4 }")).unwrap_err();
    assert_eq!(error.message, "lb does not say which kind of load balancer it is");
    assert!(error.help().unwrap().contains("my-balancer, ops, plb, reps"));
    let error = attempt(&format!("schemes = [\"my-balancer\"]\n{SCENARIO}")).unwrap_err();
    assert_eq!(error.message, "\"my-balancer\" is a load balancer and no scheme");
    let help = "[[scheme]] and below it base = \"reps\", name = \"my-balancer\", set = { \"lb\" = { kind = \"my-balancer\" } }";
    assert_eq!(error.help().as_deref(), Some(help));
}

#[test]
fn a_scheme_file_is_named_as_ours_are() {
    let (before, scheme) = SCENARIO.split_once("[[scheme]]\n").unwrap();
    let file = scheme.replace("[scheme.fabric]", "[fabric]").replace("trim = false", "trim = false # none");
    let registry = registry().scheme("mine.toml", &file).unwrap_or_else(|e| panic!("{e}"));
    let text = before.replace("title = \"T\"", "title = \"T\"\nschemes = [\"mine\", \"ops\"]");
    let text = format!("{text}[[scheme]]\nbase = \"mine\"\nname = \"other\"\nset = {{ \"lb.gap\" = 9 }}\n");
    let swept = format!("{text}[sweep]\n\"mine.lb.gap\" = [1, 2]\n");
    let read = read_with(&registry, "t.toml", &swept, &NoFiles, &Overrides::default());
    let scenario = read.unwrap_or_else(|e| panic!("{e}"));
    let names: Vec<&str> = scenario.schemes.iter().map(|scheme| scheme.name.as_str()).collect();
    assert_eq!(names, ["mine", "ops", "other"]);
    let error = registry.clone().scheme("mine.toml", &file).unwrap_err().to_string();
    assert!(error.contains("a scheme \"mine\" already"), "{error}");
    let error = registry.scheme("other.toml", &file.replace("gap = 4", "gap = 0")).unwrap_err().to_string();
    assert!(error.starts_with("other.toml:4:"), "{error}");
    let error = attempt(&text).unwrap_err().to_string();
    assert!(error.contains("unknown scheme \"mine\""), "{error}");
}

#[test]
fn a_figure_may_name_what_is_registered() {
    let scenario = SCENARIO.replace("title = \"T\"\n", "");
    let text = format!("id = \"own/1\"\ntitle = \"T\"\n{scenario}[plot]\nkind = \"cdf\"\n");
    let figure = read_figure_with(&registry(), "f.toml", &text, Scale::Quick, &NoFiles)
        .unwrap_or_else(|e| panic!("{e}"));
    let scheme = &figure.scenario.unwrap().schemes[0];
    assert!(matches!(&scheme.lb, LbConfig::Registered(lb) if lb.name() == "my-balancer"));
    assert!(read_figure("f.toml", &text, Scale::Quick, &NoFiles).is_err());
}

#[test]
fn what_is_registered_is_listed_with_its_parameters() {
    let registry = registry();
    let listed: Vec<(&str, &str, usize)> =
        registry.list().iter().map(|listed| (listed.family, listed.name, listed.parameters.len())).collect();
    assert_eq!(
        listed,
        [
            ("load balancer", "my-balancer", 3),
            ("congestion control", "my-window", 1),
            // One parameter is the transport's own, and every transport has the other four.
            ("transport", "my-transport", 5),
            ("program", "my-program", 1),
            ("topology", "my-ring", 2),
            ("workload", "my-pattern", 1),
        ]
    );
}

#[test]
fn what_is_registered_is_listed_beside_ours() {
    let parts = registry().parts();
    let lb = parts.iter().find(|part| part.part == "lb").unwrap();
    let kind = |name: &str| lb.kinds.iter().find(|kind| kind.name.as_deref() == Some(name)).unwrap();
    assert!(kind("reps").parameters.iter().any(|parameter| parameter.name() == "buffer"));
    let gap = kind("my-balancer").parameters.iter().find(|parameter| parameter.name() == "gap").unwrap();
    assert_eq!((gap.range().as_str(), gap.unit()), ("at least 1", "count"));
}
