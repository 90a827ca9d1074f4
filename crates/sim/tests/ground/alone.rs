//! One message alone in the network: no scheme leaves an idle path idle, at any rate and length of links.

use super::needs_sites;
use anabranch_sim::scenario::{self, NoFiles, Overrides, schemes};
use anabranch_sim::{Control, RunResult};

/// In Gb/s.
const RATES: [u64; 7] = [1, 10, 25, 40, 100, 400, 800];

/// Latencies of a link, in nanoseconds.
const LATENCIES: [u64; 3] = [10, 500, 5_000];

/// Links between the two hosts, and the fabric.
const FABRICS: [(u64, &str); 2] =
    [(2, "kind = \"single-switch\"\nhosts = 2"), (4, "kind = \"leaf-spine\"\nhosts = 4\nhosts_per_tor = 2")];

/// A message is as long as so many of the path's BDPs.
const BDPS: u64 = 20;

/// The size of a full packet and its ACK together in the setup `common`, in bytes.
const PACKET_AND_ACK: u64 = 4096 + 78 + 64;

/// The longest that a message may take, as a multiple of its ideal.
const MOST: f64 = 1.02;

/// Who may take longer without a warning, at most so much, and why.
const EXCEPTIONS: [(&str, f64, &str); 3] = [
    ("hpcc", 1.0 / 0.95, "its target is 0.95 of the line rate (HPCC, section 3.3)"),
    (
        "reps-carry",
        1.07,
        "an ACK for 8 packets: it starts with a BDP, and gains a packet a round trip up to 7 more",
    ),
    ("reps-reuse", 1.07, "the same"),
];

/// One message from the first host to the last over `links` links of `rate` Gb/s and `latency` ns, by every scheme.
fn scenario_of(links: u64, fabric: &str, rate: u64, latency: u64, schemes: &[&str]) -> scenario::Scenario {
    let bdp = links * (PACKET_AND_ACK + 2 * latency * rate / 8);
    let to = if links == 2 { 1 } else { 3 };
    let text = format!(
        "schemes = {schemes:?}\n[topology]\n{fabric}\nlink = \"{rate}Gbps\"\nlink_latency = \"{latency}ns\"\n\
         switch_latency = \"0ns\"\n[workload]\nkind = \"messages\"\n[[workload.message]]\nfrom = 0\nto = {to}\n\
         bytes = \"{}B\"\n",
        BDPS * bdp
    );
    scenario::read("alone.toml", &text, &NoFiles, &Overrides::default())
        .unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn slowdown(result: &RunResult) -> f64 {
    let flow = &result.flows[0];
    flow.fct_ps.map_or(f64::INFINITY, |fct| fct as f64 / flow.ideal_fct_ps as f64)
}

#[test]
fn one_message_alone_keeps_its_path_busy() {
    let names: Vec<&str> =
        schemes().iter().map(|listing| listing.name).filter(|name| !needs_sites(name)).collect();
    let mut wrong = Vec::new();
    for (links, fabric) in FABRICS {
        for latency in LATENCIES {
            let mut rows: Vec<String> = names.iter().map(|name| format!("{name:18}")).collect();
            for rate in RATES {
                let scenario = scenario_of(links, fabric, rate, latency, &names);
                let warnings = scenario.check().unwrap();
                for (point, row) in scenario.points().unwrap().iter().zip(&mut rows) {
                    let name = &point.scheme.name;
                    let result = anabranch_sim::run(point, &Control::default());
                    let slowdown = result.as_ref().map_or(f64::INFINITY, slowdown);
                    let is_told = warnings
                        .iter()
                        .map(|warning| warning.message.as_str())
                        .filter(|message| message.contains("of its line rate"))
                        .any(|message| message.starts_with(&format!("scheme {name:?}")));
                    *row += &format!(" {slowdown:8.3}{}", if is_told { "!" } else { " " });
                    let exception = EXCEPTIONS.iter().find(|(of, ..)| of == name);
                    let most = exception.map_or(MOST, |(_, most, _)| *most);
                    if is_told && slowdown <= MOST {
                        wrong.push(format!(
                            "{name} at {rate} Gb/s, {latency} ns, {links} links: warned for nothing"
                        ));
                    }
                    if slowdown > most && !is_told {
                        wrong.push(format!(
                            "{name} at {rate} Gb/s, {latency} ns, {links} links: {slowdown:.3}"
                        ));
                    }
                }
            }
            println!(
                "{links} links of {latency} ns, by rate in Gb/s\n{:18} {RATES:8?}\n{}",
                "",
                rows.join("\n")
            );
        }
    }
    assert_eq!(wrong, [""; 0]);
}
