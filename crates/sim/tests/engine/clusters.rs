//! NICs with several ports, planes and rails, compared with closed forms. Packets have 4,096 B of payload and 78 B of
//! headers, and ACKs have 64 B. Links have a latency of 500 ns, and switches have no latency.

use super::support::*;

/// The FCT, in ps, of n = `packets` packets of 4,174 B over h = `hops` links with a latency d of 500 ns. T and A are
/// the serialisation times of a packet and of an ACK. The last byte arrives at (n + h - 1) T + h d, and its ACK
/// arrives h (A + d) later.
pub(super) fn acknowledged(packets: u64, hops: u64, ps_a_byte: u64) -> u64 {
    let (full, ack, latency) = (4_174 * ps_a_byte, 64 * ps_a_byte, 500_000);
    (packets + hops - 1) * full + hops * latency + hops * (ack + latency)
}

const AT_200G: u64 = 40;
pub(super) const AT_400G: u64 = 20;

/// A scenario with one seed, links of 500 ns, and windows that never fill.
pub(super) fn scenario(schemes: &str, topology: &str, rest: &str) -> String {
    scenario_with(schemes, topology, "", rest)
}

fn scenario_with(schemes: &str, topology: &str, set: &str, rest: &str) -> String {
    format!(
        "schemes = [{schemes}]\nseeds = [1]\n[topology]\n{topology}\nlink_latency = \"500ns\"\nswitch_latency = \"0ns\"\n{UNBOUNDED}{set}\n{rest}"
    )
}

fn messages(messages: &[(u32, u32, &str)]) -> String {
    let each = |(from, to, bytes): &(u32, u32, &str)| {
        format!("[[workload.message]]\nfrom = {from}\nto = {to}\nbytes = \"{bytes}\"\n")
    };
    format!("[workload]\nkind = \"messages\"\n{}", messages.iter().map(each).collect::<String>())
}

pub(super) const ONE_RAIL_A_LEAF: &str = "kind = \"rails\"\nservers = 2\nnics = 4\nspines = 2\nuplinks = 2\nlink = \"400Gbps\"\ntiers = 2\nsegment = 2";
const TWO_PLANES: &str =
    "kind = \"multi-plane\"\nservers = 4\nnics = 1\nports = 2\ntiers = 1\nlink = \"200Gbps\"";

/// NICs on the same rail share a leaf. NICs on different rails are connected through a spine.
#[test]
fn a_message_along_a_rail_passes_one_switch() {
    for (to, hops, expected) in [(4, 2, 23_456_920), (5, 4, acknowledged(256, 4, AT_400G))] {
        assert_eq!(acknowledged(256, hops, AT_400G), expected);
        let text = scenario("\"ecmp\", \"reps\", \"ops\"", ONE_RAIL_A_LEAF, &messages(&[(0, to, "1MiB")]));
        for result in finish_all(&text, &[]) {
            assert_eq!(result.flows[0].fct_ps, Some(expected), "{} to {to}", result.run.scheme);
            assert_eq!(result.flows[0].ideal_fct_ps, expected, "{} to {to}", result.run.scheme);
        }
    }
}

/// A queue pair with a single entropy value uses a single port. With the port choice `queue-pair`, the host assigns
/// ports to queue pairs alternately, so two queue pairs use both ports.
#[test]
fn a_queue_pair_on_one_port_has_the_rate_of_one_port() {
    let pinned = scenario("\"ecmp\"", TWO_PLANES, &messages(&[(0, 1, "16MiB")]));
    let pinned = finish_one(&pinned, &[]);
    let expected = acknowledged(4_096, 2, AT_200G);
    assert_eq!(expected, 685_035_120 + 1_005_120);
    assert_eq!((pinned.flows[0].fct_ps, pinned.flows[0].ideal_fct_ps), (Some(expected), expected));

    let in_turn = "\"*.fabric.port_choice\" = \"queue-pair\"";
    let two = messages(&[(0, 1, "8MiB"), (0, 2, "8MiB")]);
    let two = finish_all(&scenario_with("\"ecmp\"", TWO_PLANES, in_turn, &two), &[]).remove(0);
    let expected = acknowledged(2_048, 2, AT_200G);
    assert_eq!(expected, 343_101_040 + 1_005_120);
    for flow in &two.flows {
        assert_eq!((flow.fct_ps, flow.ideal_fct_ps), (Some(expected), expected));
    }
}

/// Load balancers that spread packets over entropy values also spread them over planes, so that two ports of half the
/// rate carry as much as one port of the full rate.
#[test]
fn sprayed_packets_use_all_planes() {
    let text = scenario("\"ops\", \"reps\", \"strack\", \"dcp\"", TWO_PLANES, &messages(&[(0, 1, "16MiB")]));
    let both = acknowledged(2_048, 2, AT_200G);
    for result in finish_all(&text, &[]) {
        let (scheme, flow) = (&result.run.scheme, &result.flows[0]);
        assert_eq!(flow.ideal_fct_ps, both, "{scheme}");
        let over = flow.fct_ps.unwrap() as f64 / both as f64;
        assert!((1.0..1.02).contains(&over), "{scheme}: {over} of the ideal");
    }
}

/// Four ports of 100 Gb/s carry 392.53 Gb/s of payload. With one port down, the remaining ports carry 294.39 Gb/s. The
/// NIC knows immediately that the port is down.
#[test]
fn a_dead_port_takes_its_share_of_the_rate() {
    let four = "kind = \"multi-plane\"\nservers = 8\nnics = 1\nports = 4\nsegment = 4\nspines = 4\nuplinks = 4\nlink = \"100Gbps\"";
    let down = "[[fault]]\nkind = \"link-down\"\nlinks = \"server:0/nic:0/port:0\"\nboth_directions = true\n";
    for (fault, gbps) in [("", 392.53), (down, 294.39)] {
        let rest = format!("{}{fault}", messages(&[(0, 4, "64MiB")]));
        for result in finish_all(&scenario("\"ops\"", four, &rest), &[]) {
            let seconds = result.flows[0].fct_ps.unwrap() as f64 / 1e12;
            let rate = (64u64 << 20) as f64 * 8.0 / seconds / 1e9;
            assert!((rate / gbps - 1.0).abs() < 0.01, "{rate} Gb/s instead of {gbps}");
            assert_eq!(result.run.timeouts, 0);
        }
    }
}

/// One of the four uplinks of a leaf in plane 0 is down, so that plane 0 carries 300 of 400 Gb/s. With the port choice
/// `packet`, NICs use the next free port, and the four senders together use 1,500 of 1,600 Gb/s. With `entropy`, all
/// ports of a NIC send as much as the slowest port, 1,200 Gb/s in all. The fabric is lossless, and leaves choose the
/// shortest queue.
#[test]
fn a_dead_uplink_costs_its_share_only_if_the_sprayer_adapts() {
    let four = "kind = \"multi-plane\"\nservers = 8\nnics = 1\nports = 4\nsegment = 4\nspines = 4\nuplinks = 4\nlink = \"100Gbps\"";
    let pairs = [0, 1, 2, 3].map(|host| (host, host + 4, "64MiB"));
    for (choice, down, gbps) in [
        ("packet", true, 1_500.0),
        ("entropy", true, 1_200.0),
        ("packet", false, 1_600.0),
        ("entropy", false, 1_600.0),
    ] {
        let set = format!(
            "\"ops.lb\" = {{ kind = \"round-robin\", evs = 4 }}\n\"ops.fabric.routing\" = \"adaptive\"\n\"ops.fabric.port_choice\" = \"{choice}\"\n\
             \"ops.fabric.pfc\" = {{ buffer = \"100MB\", threshold = \"5packets\", resume = \"1packets\" }}\n\
             \"ops.fabric.ecn_kmin\" = \"60000packets\"\n\"ops.fabric.ecn_kmax\" = \"60000packets\"\n"
        );
        let fault = "[[fault]]\nkind = \"link-down\"\nlinks = \"cable:plane:0/tor:0/up:0\"\n";
        let rest = format!("{}{}", messages(&pairs), if down { fault } else { "" });
        let text = scenario_with("\"ops\"", four, &set, &rest);
        let result = finish_one(&text.replace("\"*.fabric.queue\" = \"60000packets\"\n", ""), &[]);
        let last = result.flows.iter().filter_map(|flow| flow.delivery_ps).max().unwrap();
        let rate = (4 * 16_384 * 4_174 * 8_u64) as f64 / (last as f64 / 1e3);
        assert!((rate / gbps - 1.0).abs() < 0.01, "{choice}, down {down}: {rate} instead of {gbps} Gb/s");
        assert_eq!((result.run.drops, result.run.retransmissions), (0, 0), "{choice}, down {down}");
    }
}

#[test]
fn a_queue_pair_fails_over_to_the_other_port() {
    let fault = |port: u32| {
        format!(
            "[[fault]]\nkind = \"link-down\"\nlinks = \"server:0/nic:0/port:{port}\"\nboth_directions = true\n"
        )
    };
    let run = |port: u32, failover: bool| {
        let set =
            format!("\"*.fabric.port_failover\" = {failover}\n\"*.fabric.port_choice\" = \"queue-pair\"");
        let rest = format!("{}{}[limits]\nstall = \"50ms\"\n", messages(&[(0, 1, "1MiB")]), fault(port));
        let text = scenario_with("\"ecmp\"", TWO_PLANES, &set, &rest);
        points(&text, &[]).iter().map(attempt).next().unwrap()
    };
    let ends = acknowledged(256, 2, AT_200G);
    for (port, failover) in [(0, true), (1, true), (1, false)] {
        let result = run(port, failover).unwrap();
        assert_eq!(result.flows[0].fct_ps, Some(ends), "port {port} down, failover {failover}");
    }
    assert!(run(0, false).is_err(), "the only port of the queue pair is down");
}

/// The ToR of plane 0 is down, so that no NIC can use port 0. A queue pair on port 0 ends only with failover.
#[test]
fn a_queue_pair_leaves_the_plane_of_a_dead_tor() {
    let fault =
        "[[fault]]\nkind = \"switch-down\"\nswitches = \"plane:0/tor:0\"\n[limits]\nstall = \"50ms\"\n";
    let run = |failover: bool| {
        let set =
            format!("\"*.fabric.port_failover\" = {failover}\n\"*.fabric.port_choice\" = \"queue-pair\"");
        let rest = format!("{}{fault}", messages(&[(0, 1, "16MiB")]));
        let text = scenario_with("\"ecmp\"", TWO_PLANES, &set, &rest);
        points(&text, &[]).iter().map(attempt).next().unwrap()
    };
    let flow = &run(true).unwrap().flows[0];
    assert_eq!(flow.fct_ps, Some(acknowledged(4_096, 2, AT_200G)));
    assert!(run(false).is_err(), "port 0 of the receiver is down, too");
}

#[test]
fn threads_do_not_matter() {
    let hpn =
        "kind = \"hpn\"\nservers = 8\nnics = 2\nsegment = 4\nuplinks = 2\nspines = 2\nlink = \"200Gbps\"";
    let dcn = "kind = \"dcn-plus\"\nservers = 8\nnics = 2\nsegment = 2\npod = 2\nlink = \"200Gbps\"";
    for topology in [hpn, dcn] {
        let schemes = "\"reps\", \"ecmp\", \"dcp\", \"rocev2\", \"themis-spraying\"";
        let text = scenario(schemes, topology, "[workload]\nkind = \"permutation\"\nbytes = \"256KiB\"\n");
        for point in points(&text.replace(UNBOUNDED, ""), &[]) {
            let digests = [1, 2, 3].map(|threads| {
                let control = anabranch_sim::Control { threads, ..Default::default() };
                anabranch_sim::run(&point, &control).unwrap().run.digest
            });
            assert_eq!(digests[0], digests[1], "{} on two threads", point.scheme.name);
            assert_eq!(digests[0], digests[2], "{} on three threads", point.scheme.name);
        }
    }
}

/// Ports of the senders or of the receivers are down. In joined planes, ToRs withdraw these ports once routing learns
/// of the failure. Packets to the hosts with these ports then use the other ports.
#[test]
fn tors_withdraw_dead_ports_where_planes_are_joined() {
    let dcn = "kind = \"dcn-plus\"\nservers = 8\nnics = 1\nsegment = 2\npod = 2\nlink = \"200Gbps\"";
    for (ends, seeds) in [([0, 1, 2], "[2, 3]"), ([5, 6, 7], "[1, 2]")] {
        let ports = ends.map(|server| format!("\"server:{server}/nic:0/port:0\"")).join(", ");
        let text = format!(
            "schemes = [\"ecmp\", \"rocev2\"]\nseeds = {seeds}\n[topology]\n{dcn}\n{}[[fault]]\nkind = \"link-down\"\nlinks = [{ports}]\nboth_directions = true\n[set]\n\"*.fabric.routing_delay\" = \"20us\"\n",
            messages(&[(0, 5, "512KiB"), (1, 6, "512KiB"), (2, 7, "512KiB")])
        );
        for result in finish_all(&text, &[]) {
            let run = &result.run;
            assert!(run.fct_max_us < 20_000.0, "{} seed {}: {} us", run.scheme, run.seed, run.fct_max_us);
        }
    }
}

/// EQDS sends pulls on the port at which the data arrives, so a dead port of the sender costs only its share of the
/// rate.
#[test]
fn pulls_leave_by_the_port_of_the_data() {
    let four = "kind = \"multi-plane\"\nservers = 8\nnics = 1\nports = 4\nsegment = 4\nspines = 4\nuplinks = 4\nlink = \"100Gbps\"";
    let down = "[[fault]]\nkind = \"link-down\"\nlinks = \"server:0/nic:0/port:0\"\nboth_directions = true\n";
    let text = format!("schemes = [\"eqds\"]\n[topology]\n{four}\n{}{down}", messages(&[(0, 5, "8MiB")]));
    for result in finish_all(&text, &[]) {
        let flow = &result.flows[0];
        let over = flow.fct_ps.unwrap() as f64 / flow.ideal_fct_ps as f64;
        assert!(over < 1.6, "seed {}: {over} of the ideal, with three of four ports", result.run.seed);
    }
}

#[test]
fn jitter_does_not_reorder_at_a_port() {
    let planes = "kind = \"multi-plane\"\nservers = 6\nnics = 1\nports = 2\ntiers = 1\nsegment = 6\nlink = \"100Gbps\"";
    let pfc = "{ buffer = \"60KB\", headroom_apart = true, alpha = 0.5, resume = \"1packets\" }";
    let incast = messages(&[0, 1, 2, 3, 4].map(|from| (from, 5, "1MiB")));
    let text = format!(
        "schemes = [\"rocev2\"]\nseeds = [1, 2]\n[topology]\n{planes}\n{incast}[set]\n\"rocev2.fabric.pfc\" = {pfc}\n\"rocev2.fabric.nic_jitter\" = \"2us\"\n"
    );
    for result in finish_all(&text, &[]) {
        assert_eq!(result.run.retransmissions, 0, "seed {}", result.run.seed);
    }
}

#[test]
fn the_ideal_of_a_balancer_that_keeps_a_path_has_one_port() {
    for result in finish_all(&scenario("\"plb\", \"flowlet\"", TWO_PLANES, &messages(&[(0, 1, "1MiB")])), &[])
    {
        assert_eq!(result.flows[0].ideal_fct_ps, acknowledged(256, 2, AT_200G), "{}", result.run.scheme);
    }
}
