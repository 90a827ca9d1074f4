//! Explanations of stalled runs, line by line.

use super::*;
use anabranch_base::Rate;
use anabranch_proto::Span;
use anabranch_proto::transport::{DcpConfig, SackConfig};

fn dcp() -> TransportConfig {
    TransportConfig::Dcp(DcpConfig {
        payload: Bytes(1000),
        header: Bytes(57),
        ack: Bytes(60),
        counter_bits: 14,
        tracked_messages: 8,
        round_quota: Bytes(16_000),
        batch: 16,
        pcie: Span::Time(Duration::ZERO),
        cnp_interval: Span::Time(Duration::from_us(4)),
        trims_as_marks: false,
        rto: Span::Time(Duration::from_us(4_000)),
    })
}

fn sack() -> TransportConfig {
    let rto = Span::Time(Duration::from_us(70));
    TransportConfig::Sack(SackConfig {
        payload: Bytes(1_056),
        header: Bytes(1),
        ack: Bytes(64),
        ack_every: 1,
        carry_evs: false,
        rto,
        inherits: Default::default(),
    })
}

fn explained(transport: &TransportConfig, kind: FaultKind, duration: Option<Duration>) -> String {
    explained_cut_off(transport, kind, duration, None)
}

fn explained_cut_off(
    transport: &TransportConfig,
    kind: FaultKind,
    duration: Option<Duration>,
    cut_off: Option<([HostId; 2], usize)>,
) -> String {
    let faults = &[FaultSpec { kind, at: Duration::from_us(1).into(), duration, per_hour: None }];
    stalled_cut_off(transport, faults, &lossy(0.25), &Limits::default(), cut_off)
}

fn stalled(transport: &TransportConfig, faults: &[FaultSpec], on: &Topology, limits: &Limits) -> String {
    stalled_cut_off(transport, faults, on, limits, None)
}

fn stalled_cut_off(
    transport: &TransportConfig,
    faults: &[FaultSpec],
    on: &Topology,
    limits: &Limits,
    cut_off: Option<([HostId; 2], usize)>,
) -> String {
    let lines = stall(transport, faults, on, limits, cut_off).explain().0;
    lines.iter().map(|line| format!("\n  help: {line}")).collect()
}

fn stall<'a>(
    transport: &'a TransportConfig,
    faults: &'a [FaultSpec],
    on: &'a Topology,
    limits: &'a Limits,
    cut_off: Option<([HostId; 2], usize)>,
) -> Stalled<'a> {
    const FACTS: &PathFacts = &PathFacts {
        base_rtt: Duration::from_us(8),
        bdp: Bytes(400_000),
        packet: Bytes(1057),
        line_rate: Rate::from_gbps(400),
        port_rate: Rate::from_gbps(400),
        queue: Bytes(1_000_000),
    };
    Stalled {
        transport,
        window: u64::MAX,
        qps: 1,
        balancer: &LbConfig::Ecmp {},
        cut_off,
        routing_delay: None,
        source_routed: false,
        faults,
        topology: on,
        file: Some(FILE),
        limits,
        facts: FACTS,
        at: Time::ZERO + Duration::from_us(20_000),
        longest: 1_000_000,
    }
}

const FILE: &str = "inputs/pair.txt";

fn lossy(rate: f64) -> Topology {
    let text = format!("3 1 2\n2\n0 2 400Gbps 1us {rate}\n1 2 400Gbps 1us {rate}\n");
    anabranch_fabric::parse_ns3(FILE, &text, Duration::ZERO).unwrap()
}

fn loss() -> FaultKind {
    FaultKind::PacketLoss { links: "host:0".into(), both_directions: Some(false), probability: 0.01 }
}

#[test]
fn dcp_must_get_a_whole_request_through_at_once() {
    let text = explained(&dcp(), loss(), None);
    for part in [
        "all 1000 packets",
        "(4 ms)",
        "0.01 on \"host:0\" from 1us on for good",
        "4.3e-5 a round",
        "of 68KB or less",
    ] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
}

#[test]
fn where_faults_say_nothing_it_is_said_how_to_learn_more() {
    let over = explained(&dcp(), loss(), Some(Duration::from_us(5)));
    assert!(
        over.starts_with("\n  help: no fault holds at this time; transport.rto is 4 ms: a longer stall"),
        "{over}"
    );
    let others = explained(&sack(), loss(), None);
    assert!(
        others.starts_with(
            "\n  help: packet-loss = 0.01 on \"host:0\" holds from 1us on for good; transport.rto is 70 us: "
        ) && others.contains("stall = \"100ms\", shows"),
        "{others}"
    );
    let all =
        FaultKind::PacketLoss { probability: 1.0, links: "all".to_owned().into(), both_directions: None };
    assert!(explained(&dcp(), all, None).contains("every packet on \"all\" is lost from 1us on for good"));
}

/// Both directions of both hosts' links lose packets. A packet therefore crosses two lossy links, and its ACK two more.
#[test]
fn a_stall_outlasts_the_losses_that_hold() {
    let text = |probability| {
        let all =
            FaultKind::PacketLoss { probability, links: "all".to_owned().into(), both_directions: None };
        explained(&sack(), all, None)
    };
    // At a loss of 0.5, a packet and its ACK pass the four links with probability 1/16. The longest expected silence
    // is 214 timeouts of 70 us: 214 rounds in a row fail with a probability of one in a million. Ten times the
    // configured stall limit of 10 ms is 100 ms, which is longer and is therefore proposed. Each of 947 packets takes 16
    // timeouts on average, 1.06 s in all, to which the 20 ms of the run and twice the proposed 100 ms are added.
    let half = text(0.5);
    assert!(half.contains("such as stall = \"100ms\" and max_time = \"1300ms\", shows"), "{half}");
    // At a loss of 0.822, the longest expected silence is some 13,800 timeouts, less than 970 ms, and the packets take
    // 66 s.
    let most = text(0.822);
    assert!(most.contains("such as stall = \"970ms\" and max_time = \"68s\", shows"), "{most}");
    // At a loss of 0.9, only one of 10,000 timeouts sends a packet that is acknowledged. The whole transfer would
    // take 663 s, more than the largest `max_time` (281 s).
    let nearly_all = text(0.9);
    for part in
        ["a chance of 1.0e-4 a timeout", "a loss of 0.15 or less a link, with ", "stall = \"100ms\", lets"]
    {
        assert!(nearly_all.contains(part), "no {part:?} in {nearly_all}");
    }
}

#[test]
fn an_error_rate_of_the_topology_is_named_with_its_lines() {
    let of_file = |probability: f64| {
        let topology = lossy(probability);
        let fault = FaultSpec::of_error_rate(topology.error_rates.iter().next().unwrap());
        let text = stalled(&sack(), &[fault], &topology, &Limits::default());
        text.replace(&format!("{probability}"), "P")
    };
    assert!(
        of_file(0.1).starts_with(
            "\n  help: packet-loss = P on \"error-rate:P\" (lines 3 to 4 of pair.txt) holds from the start for good;"
        ),
        "{}",
        of_file(0.1)
    );
    assert_eq!(
        of_file(1.0),
        "\n  help: every packet on \"error-rate:P\" (lines 3 to 4 of pair.txt) is lost from the start for good; take \
         an error rate below P there"
    );
}

/// The proposed stall limit is longer than the configured one. If it does not fit into the run, a longer `max_time`
/// is proposed too.
#[test]
fn a_longer_stall_is_longer() {
    let topology = lossy(0.1);
    let hint = |stall: u64, max_time: u64| {
        let limits = Limits {
            stall: Duration::from_us(stall),
            max_time: Duration::from_us(max_time),
            ..Limits::default()
        };
        stalled(&sack(), &[], &topology, &limits)
    };
    for (stall, max_time, expected) in [
        (10_000, 1_000_000, "such as stall = \"100ms\", shows"),
        (10, 1_000_000, "such as stall = \"1400us\", shows"),
        (200_000, 100_000_000, "such as stall = \"2s\", shows"),
        (200_000, 1_000_000, "such as stall = \"2s\" and max_time = \"4100ms\", shows"),
    ] {
        assert!(hint(stall, max_time).contains(expected), "{}", hint(stall, max_time));
    }
}

/// The limits that the help lines propose, as values. None if the flows can only end in another scenario.
#[test]
fn longer_limits_are_values() {
    let limits = |transport: TransportConfig, probability| {
        let loss =
            FaultKind::PacketLoss { probability, links: "all".to_owned().into(), both_directions: None };
        let faults =
            [FaultSpec { kind: loss, at: Duration::from_us(1).into(), duration: None, per_hour: None }];
        let topology = lossy(0.25);
        stall(&transport, &faults, &topology, &Limits::default(), None).explain().1
    };
    let of = |stall: &str, max_time: Option<&str>| {
        Some(LongerLimits { stall: stall.into(), max_time: max_time.map(str::to_owned) })
    };
    assert_eq!(limits(sack(), 0.5), of("100ms", Some("1300ms")));
    assert_eq!(limits(sack(), 0.9), None);
    assert_eq!(limits(sack(), 1.0), None);
    assert_eq!(limits(dcp(), 0.0001), of("100ms", None));
}

#[test]
fn a_dead_link_is_named() {
    let down = FaultKind::LinkDown { links: "tor:0/up:1".into(), both_directions: Some(true) };
    let text = explained(&sack(), down, None);
    assert!(text.contains("\"tor:0/up:1\" is down from 1us on for good"), "{text}");
    assert!(text.contains("set fabric.routing_delay, or take a balancer that leaves"), "{text}");
}

#[test]
fn where_no_path_is_left_no_balancer_is_proposed() {
    let down = FaultKind::LinkDown { links: "host:3".into(), both_directions: Some(true) };
    let text = explained_cut_off(&sack(), down, None, Some(([HostId(3), HostId(5)], 2)));
    assert!(text.contains("no path is left between host 3 and host 5, nor for 1 more flows"), "{text}");
    assert!(!text.contains("reps"), "{text}");
}
