//! Tests that a message that is alone in the network keeps its path busy, at all rates and latencies of links. Slower
//! schemes are listed in `EXCEPTIONS`, or `check` warns about their rate.

use super::needs_sites;
use anabranch_sim::Control;
use anabranch_sim::scenario::{self, NoFiles, Overrides, RunPoint, Scenario, schemes};

/// Rates of a link, in Gb/s.
const RATES: [u64; 7] = [1, 10, 25, 40, 100, 400, 800];

/// Latencies of a link, in nanoseconds.
const LATENCIES: [u64; 3] = [10, 500, 5_000];

/// The fabrics, each with the number of links between the two hosts.
const FABRICS: [(u64, &str); 2] =
    [(2, "kind = \"single-switch\"\nhosts = 2"), (4, "kind = \"leaf-spine\"\nhosts = 4\nhosts_per_tor = 2")];

/// The length of a message in BDPs of the path.
const BDPS: u64 = 20;

/// The size of a full packet and its ACK together in the setup `common`, in bytes.
const PACKET_AND_ACK: u64 = 4096 + 78 + 64;

/// The largest permitted slowdown of a message.
const MOST: f64 = 1.02;

/// Schemes that may be slower without a warning, each with its largest permitted slowdown and the reason.
const EXCEPTIONS: [(&str, f64, &str); 3] = [
    ("hpcc", 1.0 / 0.95, "its target is 0.95 of the line rate (HPCC, section 3.3)"),
    (
        "reps-carry",
        1.07,
        "an ACK for 8 packets: it starts with a BDP, and gains a packet a round trip up to 7 more",
    ),
    ("reps-reuse", 1.07, "the same"),
];

/// Schemes that may be faster than their warning says. Their receivers send an ACK after a certain number of bytes.
/// The last packet of a window also requests an ACK, and this ACK restarts the count. ACKs may therefore be more
/// frequent than the warning assumes.
const WARNED_BEFOREHAND: [&str; 8] = [
    "uet-nscc",
    "uet-nscc-bitmap",
    "uet-nscc-reps",
    "uet-nscc-oblivious",
    "uet-both",
    "mrc",
    "mrc-no-trim",
    "mrc-1plane",
];

/// Schemes whose programs are at the edges of data centres. They are left out, because the fabrics of these tests have
/// no such edges.
const OF_SITES: [&str; 4] = ["themis-longhaul", "pnp-only", "trp-only", "bicc"];

fn scenario_of(topology: &str, to: u32, bytes: u64, schemes: &[&str]) -> Scenario {
    scenario_with(topology, to, bytes, schemes, "")
}

fn scenario_with(topology: &str, to: u32, bytes: u64, schemes: &[&str], set: &str) -> Scenario {
    let text = format!(
        "schemes = {schemes:?}\n[topology]\n{topology}\n[workload]\nkind = \"messages\"\n[[workload.message]]\n\
         from = 0\nto = {to}\nbytes = \"{bytes}B\"\n[set]\n{set}\n"
    );
    scenario::read("alone.toml", &text, &NoFiles, &Overrides::default())
        .unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// For each scheme, the slowdown of the message, and whether `check` warns about the rate of the scheme.
fn slowdowns(scenario: &Scenario) -> Vec<(String, f64, bool)> {
    let warnings = scenario.check().unwrap();
    let points = scenario.points().unwrap();
    let of = |point: &RunPoint| {
        let name = &point.scheme.name;
        let result = anabranch_sim::run(point, &Control::default()).unwrap_or_else(|e| panic!("{name}: {e}"));
        let flow = &result.flows[0];
        let slowdown = flow.fct_ps.unwrap() as f64 / flow.ideal_fct_ps as f64;
        let of_it = format!("scheme {name:?}: ");
        let is_warned = warnings.iter().any(|warning| {
            warning.message.starts_with(&of_it) && warning.message.ends_with("% of its line rate")
        });
        (name.clone(), slowdown, is_warned)
    };
    points.iter().map(of).collect()
}

fn fault_of((name, slowdown, is_warned): &(String, f64, bool)) -> Option<String> {
    let most = EXCEPTIONS.iter().find(|(of, ..)| of == name).map_or(MOST, |(_, most, _)| *most);
    match is_warned {
        true => (*slowdown <= MOST && !WARNED_BEFOREHAND.contains(&&**name))
            .then(|| format!("{name}: {slowdown:.3}, and a warning all the same")),
        false => (*slowdown > most).then(|| format!("{name}: {slowdown:.3}")),
    }
}

#[test]
fn one_message_alone_keeps_its_path_busy() {
    let all: Vec<&str> = schemes().iter().map(|listing| listing.name).collect();
    let (left_out, names): (Vec<&str>, Vec<&str>) = all.into_iter().partition(|name| needs_sites(name));
    assert_eq!(left_out, OF_SITES);
    let mut wrong = Vec::new();
    for (links, fabric) in FABRICS {
        for latency in LATENCIES {
            let mut rows: Vec<String> = names.iter().map(|name| format!("{name:18}")).collect();
            for rate in RATES {
                let topology = format!(
                    "{fabric}\nlink = \"{rate}Gbps\"\nlink_latency = \"{latency}ns\"\nswitch_latency = \"0ns\""
                );
                let bdp = links * (PACKET_AND_ACK + 2 * latency * rate / 8);
                let to = if links == 2 { 1 } else { 3 };
                let found = slowdowns(&scenario_of(&topology, to, BDPS * bdp, &names));
                for (row, found) in rows.iter_mut().zip(&found) {
                    *row += &format!(" {:8.3}{}", found.1, if found.2 { "!" } else { " " });
                    let at = |fault| format!("{rate} Gb/s, {latency} ns, {links} links: {fault}");
                    wrong.extend(fault_of(found).map(at));
                }
            }
            let rates: String = RATES.iter().map(|rate| format!(" {rate:8} ")).collect();
            println!(
                "{links} links of {latency} ns, by rate in Gb/s (!: a warning)\n{:18}{rates}\n{}",
                "",
                rows.join("\n")
            );
        }
    }
    println!("exceptions: {EXCEPTIONS:?}");
    assert_eq!(wrong, [""; 0]);
}

/// With the defaults, a path at 10 Gb/s holds 2.9 packets. A window of only two packets would therefore slow a message
/// down by a factor of 1.46.
#[test]
fn a_window_of_few_packets_is_not_cut() {
    let names =
        ["rocev2", "pfc-ecmp", "reps", "strack", "dcp", "irn-ecmp", "hpcc", "mp-rdma", "rack-tlp", "eqds"];
    for rate in [10, 40, 100, 400] {
        let topology = format!("kind = \"single-switch\"\nhosts = 2\nlink = \"{rate}Gbps\"");
        let found = slowdowns(&scenario_of(&topology, 1, 5_000_000, &names));
        let wrong: Vec<String> = found.iter().filter_map(fault_of).collect();
        assert_eq!(wrong, [""; 0], "{rate} Gb/s");
        assert!(found.iter().all(|(_, _, is_warned)| !is_warned), "{rate} Gb/s");
    }
}

#[test]
fn an_ack_for_every_packet_keeps_the_path_busy() {
    for (rate, latency) in [(1, 500), (10, 500), (25, 500), (40, 10), (800, 10)] {
        for (links, fabric) in FABRICS {
            let topology = format!(
                "{fabric}\nlink = \"{rate}Gbps\"\nlink_latency = \"{latency}ns\"\nswitch_latency = \"0ns\""
            );
            let bytes = BDPS * links * (PACKET_AND_ACK + 2 * latency * rate / 8);
            let to = if links == 2 { 1 } else { 3 };
            let set = "\"*.transport.sack_bytes\" = \"1B\"";
            let found = slowdowns(&scenario_with(&topology, to, bytes, &WARNED_BEFOREHAND, set));
            for (name, slowdown, is_warned) in found {
                assert!(
                    slowdown <= MOST && !is_warned,
                    "{name}, {rate} Gb/s, {latency} ns, {links} links: {slowdown}"
                );
            }
        }
    }
}
