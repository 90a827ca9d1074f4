//! MRC, compared with numbers that follow from arithmetic and with its published results.

use super::support::*;
use anabranch_sim::RunResult;

/// Runs a message of 64 MB from NIC 0 to NIC 4, among eight NICs of eight ports. Each ToR of a plane has four of the
/// NICs.
fn planes(scheme: &str, uplinks: u32, set: &str, rest: &str) -> RunResult {
    let text = format!(
        r#"
schemes = ["{scheme}"]
setup = "mrc"
seeds = [1]
[topology]
kind = "multi-plane"
servers = 8
nics = 1
ports = 8
link = "100Gbps"
segment = 4
spines = {uplinks}
uplinks = {uplinks}
[set]
{set}
[workload]
kind = "messages"
[[workload.message]]
from = 0
to = 4
bytes = "64MB"
{rest}"#
    );
    finish_one(&text, &[])
}

fn gbps(result: &RunResult) -> f64 {
    64e6 * 8.0 / 1e3 / result.run.completion_us
}

fn down(links: &[String]) -> String {
    format!("[[fault]]\nkind = \"link-down\"\nlinks = {links:?}\nat = \"0us\"\n")
}

/// An upper limit of the time that a sender alone on a path needs to fill it, in microseconds. NSCC's window is at
/// least one packet, and must grow to a BDP. For each acknowledged byte, the fast increase adds 0.25 B times the BDP
/// over 150 KB. Each round trip therefore multiplies the window by 1 + 0.25 * BDP / 150 KB. One more round trip ends
/// the message.
fn time_to_fill(base_rtt_us: f64, bdp: f64, packet: f64) -> f64 {
    let growth = 1.0 + 0.25 * bdp / 150e3;
    let (mut window, mut round_trips) = (packet, 1.0);
    while window < bdp {
        window *= growth;
        round_trips += 1.0;
    }
    base_rtt_us * round_trips
}

/// With 4,096 B of payload in packets of 4,242 B, eight ports of 100 Gb/s carry 772.5 Gb/s. A round trip of less than
/// 10 us is added at the end. The paper has 770 Gb/s.
#[test]
fn a_message_fills_all_planes() {
    let result = planes("mrc", 4, "", "");
    let ideal = 64e6 * 8.0 / 1e3 * 4242.0 / 4096.0 / 800.0;
    assert!((ideal..ideal + 10.0).contains(&result.run.completion_us), "{} us", result.run.completion_us);
    assert_eq!((result.run.retransmissions, result.run.timeouts), (0, 0));
}

#[test]
fn planes_carry_equally_much() {
    let measure = "[[measure]]\nseries = \"link-utilisation\"\nevery = \"100us\"\nlinks = \"host:0\"\n";
    let result = planes("mrc", 4, "", measure);
    let carried: Vec<f64> = (0..8)
        .map(|port| {
            let points =
                result.series.iter().filter(|row| row.entity == format!("server:0/nic:0/port:{port}"));
            points.filter(|row| row.time_ps <= 600_000_000).map(|row| row.value).sum()
        })
        .collect();
    let mean = carried.iter().sum::<f64>() / 8.0;
    assert!(mean > 0.0 && carried.iter().all(|sum| (sum / mean - 1.0).abs() < 0.01), "{carried:?}");
}

/// Successive entropy values of a plane name successive uplinks of a ToR. With 16 entropy values per plane and four
/// uplinks, each uplink has four entropy values, and all uplinks carry almost equally many packets.
#[test]
fn source_routes_name_uplinks() {
    let set = "\"mrc.lb.evs\" = 128\n\"mrc.lb.active\" = 128\n";
    let measure =
        "[[measure]]\nseries = \"link-utilisation\"\nevery = \"100us\"\nlinks = \"plane:0/tor:0/up\"\n";
    let result = planes("mrc", 4, set, measure);
    let carried: Vec<f64> = (0..4)
        .map(|up| {
            let points = result.series.iter().filter(|row| row.entity == format!("plane:0/tor:0/up:{up}"));
            points.filter(|row| row.time_ps <= 600_000_000).map(|row| row.value).sum()
        })
        .collect();
    // A port carries 1,768 packets in 600 us, which are 442 for each uplink. Four packets more or fewer are 1 %.
    let mean = carried.iter().sum::<f64>() / 4.0;
    assert!(mean > 0.0 && carried.iter().all(|sum| (sum / mean - 1.0).abs() < 0.01), "{carried:?}");
}

#[test]
fn source_routes_are_not_rerouted() {
    let fault = down(&["plane:0/tor:0/up:0".to_owned()]);
    let [never, soon] =
        ["", "\"*.fabric.routing_delay\" = \"0us\""].map(|set| planes("mrc", 4, set, &fault).run);
    assert!(never.retransmissions > 0);
    assert_eq!((never.completion_us, never.retransmissions), (soon.completion_us, soon.retransmissions));
    let set = "\"*.fabric.routing_delay\" = \"0us\"\n\"*.fabric.routing\" = \"ecmp\"";
    assert_eq!(
        planes("mrc", 4, set, &fault).run.retransmissions,
        0,
        "switches that hash find another uplink"
    );
}

/// A host with k of its 8 links down sends or receives at (8 - k) / 8 of the full rate. A sending NIC knows which of
/// its own ports are down, and loses no packets there. A port status tells the sending NIC which ports of the
/// receiver's NIC are down.
#[test]
fn ports_that_are_down_cost_their_share() {
    let whole = gbps(&planes("mrc", 4, "", ""));
    for dead in [1, 3, 6] {
        for host in [0, 4] {
            let links: Vec<String> = (0..dead).map(|port| format!("host:{host}/port:{port}")).collect();
            let result = planes("mrc", 4, "", &down(&links));
            let share = gbps(&result) / whole;
            let expected = f64::from(8 - dead) / 8.0;
            assert!((share / expected - 1.0).abs() < 0.01, "{dead} of host {host}: {share}");
            assert_eq!(result.run.retransmissions == 0, host == 0, "{dead} of host {host}");
        }
    }
}

/// If a spine (T1) goes down, the packets on it are lost, and the message takes less than 1 % longer. If a ToR (T0) or
/// a whole plane goes down, an eighth of the rate is missing from then on.
#[test]
fn a_switch_that_goes_down_costs_no_more_than_its_plane() {
    let whole = planes("mrc", 4, "", "").run.completion_us;
    let of = |switches: &str| {
        let fault = format!("[[fault]]\nkind = \"switch-down\"\nswitches = \"{switches}\"\nat = \"100us\"\n");
        planes("mrc", 4, "", &fault).run
    };
    let spine = of("plane:0/spine:0");
    assert!(spine.retransmissions > 0 && spine.completion_us < whole * 1.01, "{} us", spine.completion_us);
    // The message has the full rate for 100 us, and seven eighths of it for the rest of the time.
    let expected = 100.0 + (whole - 100.0) * 8.0 / 7.0;
    for switches in ["plane:0/tor:0", "plane:0"] {
        let run = of(switches);
        assert!((run.completion_us / expected - 1.0).abs() < 0.02, "{switches}: {} us", run.completion_us);
    }
}

/// Eight of 16 entropy values are in use, one in each plane. The path of one entropy value loses 20 % of the packets.
/// The sender retires this entropy value and keeps more than 99 % of the rate. Each of the three runs detects losses
/// by a different rule: by packets out of order, by later packets of the same path, or by timeouts alone.
#[test]
fn a_lossy_path_is_left() {
    let set = "\"mrc.lb.evs\" = 16\n\"mrc.lb.active\" = 8\n";
    let whole = planes("mrc", 2, set, "").run.completion_us;
    let fault = "[[fault]]\nkind = \"packet-loss\"\nlinks = [\"plane:0/tor:0/up:0\"]\nprobability = 0.2\nat = \"0us\"\n";
    let mut hits = Vec::new();
    for rule in [
        "",
        "\"*.transport.loss_packets\" = 0\n\"*.transport.loss_by_path\" = true",
        "\"*.transport.loss_packets\" = 0",
    ] {
        let run = planes("mrc", 2, &format!("{set}{rule}"), fault).run;
        assert!(run.completion_us < whole * 1.01, "{rule}: {} us", run.completion_us);
        hits.push(run.retransmissions);
    }
    // If the entropy value stayed in use, 2,000 packets would take the path, and 400 would be lost. The first loss
    // comes after about five packets. In 10 us, a plane carries 29 packets, and the path loses 6 of them. The loss is
    // detected after 20 to 40 us by packets out of order, and after 70 to 90 us by a timeout.
    assert!(hits[..2].iter().all(|&lost| (1..30).contains(&lost)), "{hits:?}");
    assert!((1..60).contains(&hits[2]), "{hits:?}");
    assert!(hits[1] < hits[2], "a later packet of the path tells sooner than a timeout: {hits:?}");
}

/// A plane that is up again is used again. The sender learns this from a port status or from probes.
#[test]
fn a_plane_that_comes_back_is_used_again() {
    let whole = planes("mrc", 4, "", "").run.completion_us;
    for (kind, parts) in
        [("link-down", "links = \"host:4/port:2\""), ("switch-down", "switches = \"plane:2\"")]
    {
        let fault = format!("[[fault]]\nkind = \"{kind}\"\n{parts}\nat = \"100us\"\nduration = \"150us\"\n");
        let run = planes("mrc", 4, "", &fault).run;
        // An eighth of the rate is missing for 150 us, and then for at most 100 us until the next probe.
        let most = whole + 250.0 / 8.0 + 10.0;
        assert!(
            (whole + 150.0 / 8.0 - 1.0..most).contains(&run.completion_us),
            "{kind}: {}",
            run.completion_us
        );
    }
}

#[test]
fn an_incast_leaves_its_neighbour_alone() {
    let senders =
        (0..7).map(|from| format!("[[workload.message]]\nfrom = {from}\nto = 8\nbytes = \"4MB\"\n"));
    let text = format!(
        r#"
schemes = ["mrc-1plane"]
setup = "mrc"
[topology]
kind = "fat-tree"
hosts = 16
tiers = 2
hosts_per_tor = 8
link = "400Gbps"
[workload]
kind = "messages"
{}
[[workload.message]]
from = 7
to = 9
bytes = "28MB"
"#,
        senders.collect::<String>()
    );
    let result = finish_one(&text, &[]);
    // The time of a message ends with the last ACK and includes the round trip of 7 us. Even an idle network therefore
    // gives 28 MB no more than 0.988 of the link rate. The victim is compared with the ideal time of its message.
    let victim = result.flows.iter().find(|flow| flow.bytes == 28_000_000).unwrap();
    let share = victim.ideal_fct_ps as f64 / victim.fct_ps.unwrap() as f64;
    assert!(share > 0.99, "{share} of the rate of an idle network");
    // 28 MB with headers, in packets of 4,202 B, take 574.5 us at 400 Gb/s. The base RTT is 7.35 us.
    let senders = result.flows.iter().filter(|flow| flow.bytes == 4_000_000);
    let last = senders.filter_map(|flow| flow.fct_ps).max().unwrap() as f64 / 1e6;
    let most = 574.5 + time_to_fill(7.35, 367.5e3, 4202.0);
    assert!((574.5..most).contains(&last), "{last} us, at most {most}");
}

/// A NIC with one port cannot leave a plane, but it can leave a path: switches hash the entropy values.
#[test]
fn one_plane_leaves_a_dead_path_too() {
    let text = |fault: &str| {
        format!(
            r#"
schemes = ["mrc-1plane"]
setup = "mrc"
[topology]
kind = "fat-tree"
hosts = 32
tiers = 2
link = "400Gbps"
[workload]
kind = "permutation"
bytes = "8MB"
{fault}"#
        )
    };
    let whole = finish_one(&text(""), &[]).run.completion_us;
    let fault = "[[fault]]\nkind = \"link-down\"\nlinks = \"tor:0/up:0\"\nat = \"20us\"\n";
    let run = finish_one(&text(fault), &[]).run;
    // A quarter of the entropy values name the dead uplink: 26 of 104 in use, and 6 of 24 backups. Each of the 26
    // loses its packets until a timeout of 58.8 us retires it. If one of the 6 backups then replaces a retired entropy
    // value, packets wait for a second timeout. Answers of receivers below the dead link are lost too until a probe
    // finds another path, which may cost a third timeout. Each loss takes a packet from a window, and the windows must
    // then grow again.
    let most = whole + 3.0 * 58.8 + time_to_fill(7.35, 367.5e3, 4202.0);
    assert!(
        run.retransmissions > 0 && run.completion_us < most,
        "{} us, at most {most}, and {whole} without the fault",
        run.completion_us
    );
}

/// Switches serve one plane, so their queues and thresholds in BDP follow the rate of a port. If they followed the
/// rate of the NIC, queues would hold eight times as much, and the incast would have more than 5,000 timeouts of
/// packets that only wait.
///
/// Here, switches trim all packets that do not fit, so senders need not infer losses. The rule of the scheme (1.5
/// windows of packets out of order) would make the incast take 6 % longer, and 5 % of the retransmissions would be of
/// packets that were not lost. The reason is that windows have only a few packets: more than 1.5 windows overtake a
/// packet that waits in a queue of 1.5 BDP.
#[test]
fn an_incast_on_eight_planes_has_no_timeout() {
    let text = r#"
schemes = ["mrc"]
setup = "mrc"
seeds = [1]
[set]
"*.transport.loss_packets" = 0
[topology]
kind = "multi-plane"
servers = 32
nics = 1
ports = 8
link = "100Gbps"
segment = 8
uplinks = 8
spines = 8
[workload]
kind = "incast"
degree = 20
target = 0
bytes = "4MB"
"#;
    let run = finish_one(text, &[]).run;
    assert_eq!(run.timeouts, 0, "{run:?}");
    assert_eq!(run.retransmissions, run.trims, "only trimmed packets are sent again");
    // 80 MB at 100 Gb/s on each of eight planes take 828.5 us with headers. The last flow cannot fill the link at once.
    let most = 828.5 + time_to_fill(8.4, 840e3, 4242.0);
    assert!((828.5..most).contains(&run.completion_us), "{} us, at most {most}", run.completion_us);
    assert!(run.peak_queue_bytes < 200_000, "1.5 BDP of a plane, not of the NIC: {}", run.peak_queue_bytes);
}

/// Without latencies, a synchronisation window lasts as long as the shortest packet takes on a link. This packet is a
/// NACK of 20 B.
#[test]
fn nacks_may_be_shorter_than_probes() {
    let text = "schemes = [\"mrc\"]\nseeds = [1]\n[topology]\nkind = \"fat-tree\"\nhosts = 16\nlink = \"100Gbps\"\n\
                link_latency = \"0ns\"\nswitch_latency = \"0ns\"\n[workload]\nkind = \"incast\"\ndegree = 8\nbytes = \"1MB\"\n[set]\n\"*.transport.control\" = \"20B\"\n\
                \"*.fabric.queue\" = \"10packets\"\n\"*.fabric.ecn_kmin\" = \"2packets\"\n\"*.fabric.ecn_kmax\" = \"8packets\"\n\
                \"*.fabric.trim\" = true\n";
    let result = finish_one(text, &[]);
    assert!(result.run.trims > 0);
    assert!(result.run.extra["nacks"] > 0.0 && result.run.extra["nacks_of_a_qp_max"] > 0.0);
}
