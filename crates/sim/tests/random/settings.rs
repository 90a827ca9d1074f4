//! Random values for the parameters of a scheme.

use crate::dice::Dice;
use crate::fabrics::Fabric;
use anabranch_sim::scenario::{Scheme, scheme};
use std::collections::BTreeMap;

pub fn settings(dice: &mut Dice, name: &str, fabric: &Fabric) -> String {
    let scheme = scheme(name).unwrap();
    let mut set = BTreeMap::new();
    must(&scheme, fabric, &mut set);
    let count = if dice.chance(30) { 0 } else { dice.within(1, 4) };
    for _ in 0..count {
        if let Some((path, value)) = one(dice, &scheme, fabric) {
            set.insert(path, value);
        }
    }
    together(&scheme, &mut set);
    if dice.chance(30) {
        out_of_step(dice, &scheme, &mut set);
    }
    let lines = set.iter().map(|(path, value)| format!("\"{name}.{path}\" = {value}\n"));
    let lines: String = lines.collect();
    if lines.is_empty() { lines } else { format!("[set]\n{lines}") }
}

/// Draws values for parameters that can keep senders out of lockstep.
fn out_of_step(dice: &mut Dice, scheme: &Scheme, set: &mut BTreeMap<String, String>) {
    let pauses = has(scheme, "fabric.pfc") && !set.contains_key("fabric.queue");
    let drops = !pauses && !set.contains_key("fabric.pfc");
    let mut drawn = |path: &str, values: &[&str]| {
        if dice.chance(60) {
            set.insert(path.to_owned(), dice.pick(values).to_owned());
        }
    };
    if drops {
        drawn("fabric.full_queue", &["\"coin\"", "\"arriving\""]);
    }
    drawn("fabric.arrival_order", &["\"random\"", "\"port\""]);
    drawn("fabric.nic_jitter", &["\"1ps\"", "\"80ns\"", "\"3us\""]);
    drawn("fabric.clock_ppm", &["1", "20", "100"]);
    drawn("fabric.timer_tick", &["\"1ns\"", "\"4096ns\"", "\"100us\""]);
    drawn("fabric.timer_jitter", &["\"1ps\"", "\"2us\"", "\"50us\""]);
}

/// Sets the parameters that a scheme requires on fabrics for which it was not designed.
fn must(scheme: &Scheme, fabric: &Fabric, set: &mut BTreeMap<String, String>) {
    let mut put = |path: &str, value: &str| drop(set.insert(path.to_owned(), value.to_owned()));
    match scheme.name.as_str() {
        "themis-longhaul" | "pnp-only" | "trp-only" | "bicc" if fabric.sites < 2 => {
            put("fabric.program_at", "\"tor:100%\"");
        }
        "themis-spraying" if !fabric.is_regular => {
            // The default program of `themis-spraying` requires numbers of paths that are powers of two, so another
            // program is used.
            put("fabric.program", "{ kind = \"flowlet\", gap = \"10us\" }");
        }
        _ => {}
    }
    if fabric.is_long {
        if scheme.fabric.pfc.as_ref().is_some_and(|pfc| !pfc.headroom_apart) {
            put("fabric.pfc.headroom_apart", "true");
        }
        if scheme.transport.rto().to_string().ends_with("us") {
            put("transport.rto", "\"5rtt\"");
            if has(scheme, "transport.rto_low") {
                put("transport.rto_low", "\"2rtt\"");
            }
        }
    }
}

fn has(scheme: &Scheme, path: &str) -> bool {
    value(scheme, path).is_some()
}

fn value(scheme: &Scheme, path: &str) -> Option<toml::Value> {
    let whole = toml::Value::try_from(scheme).unwrap();
    path.split('.').try_fold(whole, |value, key| value.get(key).cloned())
}

fn kind(scheme: &Scheme, part: &str) -> String {
    let kind = value(scheme, &format!("{part}.kind"));
    kind.and_then(|kind| kind.as_str().map(str::to_owned)).unwrap_or_default()
}

/// Parameters that may be set. Some are listed twice, so that they are drawn more often.
const PATHS: &[&str] = &[
    "qps",
    "transport.payload",
    "transport.header",
    "transport.ack",
    "transport.ack_every",
    "transport.rto",
    "transport.nack_interval",
    "transport.cnp_interval",
    "transport.window",
    "transport.window_packets",
    "transport.rto_low_packets",
    "transport.timeout_takes_all",
    "transport.hears_nacks",
    "transport.retransmission_block",
    "transport.counter_bits",
    "transport.tracked_messages",
    "transport.round_quota",
    "transport.batch",
    "transport.pcie",
    "transport.reo_wnd",
    "transport.delta",
    "transport.bitmap",
    "transport.restart_after",
    "transport.sack_bytes",
    "transport.min_threshold",
    "cc",
    "cc.window",
    "cc.initial_window",
    "cc.max_window",
    "cc.eta",
    "cc.max_stage",
    "cc.min_rate",
    "cc.byte_counter",
    "cc.decrease_interval",
    "cc.decrease",
    "cc.beta",
    "lb",
    "lb.evs",
    "lb.buffer",
    "lb.freezing",
    "lb.explore_packets",
    "lb.max_paths",
    "lb.paths",
    "mix",
    "fabric.queue",
    "fabric.queue",
    "fabric.pfc",
    "fabric.pfc.buffer",
    "fabric.pfc.alpha",
    "fabric.pfc.threshold",
    "fabric.pfc.resume",
    "fabric.control_queue",
    "fabric.ecn_kmin",
    "fabric.ecn_pmax",
    "fabric.trim",
    "fabric.trim",
    "fabric.routing",
    "fabric.routing_delay",
    "fabric.routing_delay",
    "fabric.wrr",
    "fabric.acks_with_data",
    "fabric.shared_buffer",
    "fabric.shared_alpha",
    "fabric.program",
    "fabric.program.confirmation",
    "fabric.program.lazy_drop",
    "fabric.program.failure_handling",
    "fabric.program.paths",
    "fabric.program.default_wait",
    "fabric.program.flush_extra",
    "fabric.program.inter_only",
    "fabric.program.clear_marks",
    "fabric.program.window",
    "fabric.program.trp.recovery",
    "fabric.program.trp.growth",
    "fabric.program.trp.cache",
    "fabric.program.pnp.clear_marks",
    "fabric.program.pnp.setup",
];

/// Parameters that may be set although the scheme does not have them.
const OPTIONAL: &[&str] = &[
    "mix",
    "fabric.routing_delay",
    "fabric.queue",
    "fabric.pfc",
    "fabric.acks_with_data",
    "fabric.program",
    "fabric.shared_buffer",
    "fabric.shared_alpha",
];

/// A random parameter with a random value, or none if the parameter does not suit the scheme.
fn one(dice: &mut Dice, scheme: &Scheme, fabric: &Fabric) -> Option<(String, String)> {
    let path = dice.pick(PATHS);
    let of_pfc = path.starts_with("fabric.pfc.") && has(scheme, "fabric.pfc");
    if !OPTIONAL.contains(&path) && !of_pfc && !has(scheme, path) {
        return None;
    }
    let value = match path.split('.').next() {
        Some("transport" | "qps") => transport_value(dice, path),
        Some("cc") => cc_value(dice, scheme, path),
        Some("lb" | "mix") => balancer_value(dice, scheme, path)?,
        _ if path.starts_with("fabric.program") => program_value(dice, scheme, path)?,
        _ => fabric_value(dice, scheme, fabric, path)?,
    };
    Some((path.to_owned(), value))
}

fn whole(dice: &mut Dice, least: u64, most: u64) -> String {
    dice.scaled(least, most).to_string()
}

fn yes(dice: &mut Dice) -> String {
    dice.chance(50).to_string()
}

fn quoted(text: String) -> String {
    format!("\"{text}\"")
}

fn of(dice: &mut Dice, from: &[&str]) -> String {
    format!("\"{}\"", dice.pick(from))
}

fn transport_value(dice: &mut Dice, path: &str) -> String {
    match path {
        "qps" => dice.within(1, 4).to_string(),
        "transport.payload" => quoted(format!("{}B", dice.scaled(200, 9_000))),
        "transport.header" => quoted(format!("{}B", dice.within(20, 120))),
        "transport.ack" => quoted(format!("{}B", dice.within(40, 120))),
        "transport.ack_every" => whole(dice, 1, 64),
        "transport.rto" => of(dice, &["2rtt", "3.5rtt", "8rtt", "30rtt"]),
        "transport.nack_interval" | "transport.cnp_interval" => quoted(format!("{}us", dice.scaled(1, 500))),
        "transport.window" | "cc.initial_window" => of(dice, &["1packets", "0.3bdp", "1bdp", "3bdp"]),
        "transport.window_packets" => whole(dice, 1, 2_000),
        "transport.rto_low_packets" => whole(dice, 1, 20),
        "transport.timeout_takes_all" | "transport.hears_nacks" => yes(dice),
        "transport.retransmission_block" | "transport.pcie" => quoted(format!("{}ns", dice.within(0, 5_000))),
        "transport.counter_bits" => dice.within(8, 20).to_string(),
        "transport.tracked_messages" | "transport.batch" | "transport.delta" => whole(dice, 1, 64),
        "transport.round_quota" | "transport.sack_bytes" => quoted(format!("{}B", dice.scaled(1, 100_000))),
        "transport.reo_wnd" => of(dice, &["0.25rtt", "1rtt", "2rtt"]),
        "transport.bitmap" => whole(dice, 32, 512),
        "transport.restart_after" => of(dice, &["1rtt", "10rtt"]),
        "transport.min_threshold" => whole(dice, 1, 50),
        _ => yes(dice),
    }
}

fn cc_value(dice: &mut Dice, scheme: &Scheme, path: &str) -> String {
    match path {
        "cc" => match kind(scheme, "transport").as_str() {
            "mp-rdma" => {
                "{ kind = \"mp-rdma\", initial_window = \"2packets\", max_window = \"4bdp\" }".to_owned()
            }
            _ => format!(
                "{{ kind = \"constant\", window = {} }}",
                of(dice, &["1packets", "7packets", "1bdp", "40bdp"])
            ),
        },
        "cc.window" => of(dice, &["1packets", "1bdp", "20bdp"]),
        "cc.max_window" => of(dice, &["1packets", "1bdp", "3bdp"]),
        "cc.eta" => of(dice, &["0.5", "0.8", "1.0"]).replace('"', ""),
        "cc.max_stage" => dice.within(0, 5).to_string(),
        "cc.min_rate" => of(dice, &["100Mbps", "0.01line", "0.3line"]),
        "cc.byte_counter" => of(dice, &["0B", "100KB", "10MB"]),
        "cc.decrease_interval" => quoted(format!("{}us", dice.within(0, 60))),
        "cc.decrease" => of(dice, &["0.0", "0.5", "1.0"]).replace('"', ""),
        "cc.beta" => of(dice, &["0.5", "8.0"]).replace('"', ""),
        _ => yes(dice),
    }
}

fn balancer_value(dice: &mut Dice, scheme: &Scheme, path: &str) -> Option<String> {
    Some(match path {
        "lb" => match kind(scheme, "lb").as_str() {
            "mp-rdma" | "strack" => return None,
            _ if scheme.name == "themis-spraying" => return None,
            _ => dice
                .pick(&[
                    "{ kind = \"ecmp\" }",
                    "{ kind = \"ops\", evs = 32 }",
                    "{ kind = \"ops\", evs = 65536 }",
                ])
                .to_owned(),
        },
        "mix" => match kind(scheme, "lb").as_str() {
            "mp-rdma" | "strack" => return None,
            _ if scheme.name == "themis-spraying" => return None,
            _ => {
                let lb = dice.pick(&["{ kind = \"ecmp\" }", "{ kind = \"ops\", evs = 64 }"]);
                format!("{{ every = {}, lb = {lb} }}", dice.within(2, 12))
            }
        },
        "lb.evs" => whole(dice, 1, 65_536),
        "lb.buffer" => whole(dice, 1, 32),
        "lb.explore_packets" => dice.within(0, 255).to_string(),
        "lb.max_paths" => dice.scaled(8, 256).to_string(),
        "lb.paths" => whole(dice, 1, 65_536),
        _ => yes(dice),
    })
}

fn fabric_value(dice: &mut Dice, scheme: &Scheme, fabric: &Fabric, path: &str) -> Option<String> {
    let lossless = has(scheme, "fabric.pfc");
    Some(match path {
        "fabric.queue" => of(dice, &["10KB", "10packets", "0.5bdp", "1bdp", "100packets", "1MB"]),
        "fabric.pfc" => match dice.within(0, 1) {
            0 => "{ buffer = \"400KB\", headroom_apart = true, alpha = 0.25, resume = \"1packets\" }".to_owned(),
            _ => "{ buffer = \"2MB\", headroom_apart = true, threshold = \"12packets\", resume = \"2packets\" }"
                .to_owned(),
        },
        "fabric.pfc.buffer" if fabric.is_long => quoted(format!("{}KB", dice.scaled(100, 4_000))),
        "fabric.pfc.buffer" => quoted(format!("{}KB", dice.scaled(2_000, 16_000))),
        "fabric.pfc.alpha" => of(dice, &["0.01", "0.0625", "1.0", "16.0"]).replace('"', ""),
        "fabric.pfc.threshold" => of(dice, &["9packets", "30packets"]),
        "fabric.pfc.resume" => of(dice, &["1packets", "5packets"]),
        "fabric.control_queue" => of(dice, &["200B", "3KB", "40KB", "1bdp"]),
        "fabric.ecn_kmin" => of(dice, &["1B", "0.1bdp"]),
        "fabric.ecn_pmax" => of(dice, &["0.0", "0.01", "1.0"]).replace('"', ""),
        "fabric.routing" if scheme.name == "themis-spraying" => return None,
        "fabric.routing" => of(dice, &["ecmp", "ecmp-linear", "adaptive", "spray"]),
        "fabric.routing_delay" => quoted(format!("{}ns", dice.scaled(1, 100_000) - 1)),
        "fabric.wrr" => dice.pick(&["{ weight = 1.0 }", "{ weight = 30.0 }", "{ radix = 8 }"]).to_owned(),
        "fabric.acks_with_data" if lossless => return None,
        "fabric.acks_with_data" => yes(dice),
        "fabric.shared_buffer" | "fabric.shared_alpha" if lossless => return None,
        "fabric.shared_buffer" => of(dice, &["0B", "30KB", "400KB", "32MB"]),
        "fabric.shared_alpha" => of(dice, &["0.125", "1.0", "8.0"]).replace('"', ""),
        _ => yes(dice),
    })
}

fn program_value(dice: &mut Dice, scheme: &Scheme, path: &str) -> Option<String> {
    Some(match path {
        "fabric.program" if has(scheme, "fabric.program") => return None,
        "fabric.program" => dice
            .pick(&["{ kind = \"flowlet\", gap = \"3us\" }", "{ kind = \"nack-drop\", share = 0.5 }"])
            .to_owned(),
        "fabric.program.paths" => dice.pick(&["128", "256"]).to_owned(),
        "fabric.program.default_wait" | "fabric.program.flush_extra" => {
            quoted(format!("{}us", dice.scaled(1, 400)))
        }
        "fabric.program.window" if scheme.name != "bicc" => return None,
        "fabric.program.window" => quoted(format!("{}KB", dice.scaled(5, 500))),
        "fabric.program.trp.recovery" => of(dice, &["rate", "direct", "none"]),
        "fabric.program.trp.growth" => of(dice, &["printed", "spaced"]),
        "fabric.program.pnp.setup" => of(dice, &["0us", "1ms"]),
        _ => yes(dice),
    })
}

/// Adds parameters that other parameters require, and removes parameters that cannot be combined.
fn together(scheme: &Scheme, set: &mut BTreeMap<String, String>) {
    // A component that is set as a whole replaces the parameters within it.
    for part in
        ["cc", "lb", "fabric.program"].into_iter().filter(|part| set.contains_key(*part)).collect::<Vec<_>>()
    {
        set.retain(|path, _| !path.starts_with(&format!("{part}.")));
    }
    if set.contains_key("fabric.queue") {
        // A queue that drops packets replaces a lossless class.
        set.retain(|path, _| !path.starts_with("fabric.pfc"));
    } else if set.contains_key("fabric.pfc") {
        set.retain(|path, _| {
            !path.starts_with("fabric.pfc.") && path != "fabric.trim" && !path.starts_with("fabric.shared_")
        });
        set.insert("fabric.trim".to_owned(), "false".to_owned());
        if has(scheme, "fabric.acks_with_data") {
            set.insert("fabric.acks_with_data".to_owned(), "false".to_owned());
        }
    } else if has(scheme, "fabric.pfc") {
        set.retain(|path, _| path != "fabric.trim" && path != "fabric.acks_with_data");
    }
    if set.contains_key("fabric.pfc.threshold") {
        set.remove("fabric.pfc.alpha");
    }
}
