//! Helpers that run a scenario from its text, without a file system.

use anabranch_sim::scenario::{self, Files, Overrides, RunPoint, Scenario};
use anabranch_sim::{Control, RunError, RunResult};
use std::path::PathBuf;

/// The name and the text of each file of a scenario.
pub type Named<'a> = [(&'a str, &'a str)];

struct InMemory<'a>(&'a Named<'a>);

impl Files for InMemory<'_> {
    fn read(&self, name: &str) -> Result<String, String> {
        let found = self.0.iter().find(|(known, _)| *known == name);
        found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| "no such file".to_owned())
    }
}

pub fn read(text: &str, files: &Named<'_>) -> Scenario {
    scenario::read("test.toml", text, &InMemory(files), &Overrides::default())
        .unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// The setup in which the tests run a scheme, usually that of the paper that describes the scheme.
pub fn paper(scheme: &str) -> &'static str {
    match scheme {
        "reps" | "ops" | "ecmp" | "plb" | "flowlet" | "bitmap" | "mprdma-lb" | "mptcp"
        | "mptcp-one-window" | "adaptive-roce" | "reps-carry" | "reps-reuse" | "eqds" => "reps-paper",
        "strack" | "strack-ops" | "rocev2" | "rocev2-4qp" => "strack-paper",
        "themis-spraying" | "conweave" | "sr-ecmp" | "sr-ar" | "sr-spray" | "to-ar" => {
            "themis-spraying-paper"
        }
        "dcqcn" | "themis-longhaul" | "pnp-only" | "trp-only" | "annulus" | "bicc" => "themis-longhaul-paper",
        "hpcc" => "hpcc-paper",
        scheme if scheme.starts_with("uet-") => "uet-htsim",
        scheme if scheme.starts_with("mrc") => "mrc",
        _ => "dcp-paper",
    }
}

pub fn points(text: &str, files: &Named<'_>) -> Vec<RunPoint> {
    read(text, files).points().unwrap()
}

pub fn attempt(point: &RunPoint) -> Result<RunResult, RunError> {
    anabranch_sim::run(point, &Control::default())
}

/// Runs a point. All its flows must finish.
pub fn finish(point: &RunPoint) -> RunResult {
    let result = attempt(point).unwrap_or_else(|e| panic!("{} seed {}: {e}", point.scheme.name, point.seed));
    assert_eq!(result.run.flows_finished, result.run.flows, "a run that ended well left flows");
    result
}

pub fn finish_all(text: &str, files: &Named<'_>) -> Vec<RunResult> {
    points(text, files).iter().map(finish).collect()
}

pub fn finish_one(text: &str, files: &Named<'_>) -> RunResult {
    let mut results = finish_all(text, files);
    assert_eq!(results.len(), 1, "the scenario has several runs");
    results.remove(0)
}

/// The folder with inputs and results of other simulators. Prints a note if ANABRANCH_PEERS does not name one.
pub fn peers() -> Option<PathBuf> {
    let folder = std::env::var_os("ANABRANCH_PEERS").map(PathBuf::from);
    if folder.is_none() {
        println!("skipped: ANABRANCH_PEERS is not set");
    }
    folder
}

pub fn peer_file(folder: &std::path::Path, name: &str) -> String {
    let path = folder.join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

pub fn long() -> bool {
    std::env::var_os("ANABRANCH_LONG").is_some()
}

/// Two tiers: four ToRs with four hosts each, under four spines.
pub const LEAF_SPINE: &str = r#"
[topology]
kind = "leaf-spine"
hosts = 16
hosts_per_tor = 4
link = "100Gbps"
link_latency = "600ns"
switch_latency = "300ns"
"#;

/// Settings with windows and queues that never fill, so that queue pairs send at line rate and nothing is dropped.
pub const UNBOUNDED: &str = r#"
[set]
"*.cc" = { kind = "constant", window = "60000packets" }
"*.transport.rto" = "9ms"
"*.fabric.queue" = "60000packets"
"*.fabric.control_queue" = "60000packets"
"#;

/// The payload of a full packet in the setup of the REPS paper, in bytes.
pub const PAYLOAD: u64 = 4086;
/// The wire size of a full packet, in bytes.
pub const FULL: u64 = 4150;
/// The wire size of a header, in bytes.
pub const HEADER: u64 = 64;
/// The wire size of an ACK, in bytes.
pub const ACK: u64 = 64;

/// A microsecond in picoseconds.
pub const US: u64 = 1_000_000;

/// Serialisation time in ps at a rate in bits per second, rounded up.
pub fn time_on_wire(bytes: u64, rate: u64) -> u64 {
    (u128::from(bytes) * 8_000_000_000_000).div_ceil(u128::from(rate)) as u64
}

#[derive(Clone, Copy, Debug)]
pub struct Hop {
    /// The rate in bits per second.
    pub rate: u64,
    /// The time from the last bit's departure until the next node may act on the packet, in ps.
    pub delay: u64,
}

/// The closed form of a flow that is alone on one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alone {
    /// The FCT at the sender, in ps.
    pub fct: u64,
    /// The FCT if the last ACK does not wait for another ACK. It is shorter than `fct` only if a short last packet
    /// arrives immediately after a full one and the return path has a slow link.
    pub ideal: u64,
}

/// The FCT computed packet by packet and link by link. A packet starts on a link when the packet has arrived there and
/// the link is free.
pub fn packet_by_packet(path: &[Hop], bytes: u64, back: &[Hop]) -> Alone {
    let packets = bytes.div_ceil(PAYLOAD);
    let payload = |packet: u64| PAYLOAD.min(bytes - packet * PAYLOAD);
    let data: Vec<(u64, u64)> = (0..packets).map(|packet| (0, payload(packet) + HEADER)).collect();
    let arrivals = travel(path, &data);
    let acks: Vec<(u64, u64)> = arrivals.iter().map(|&at| (at, ACK)).collect();
    let last = packets as usize - 1;
    Alone { fct: travel(back, &acks)[last], ideal: travel(back, &acks[last..])[0] }
}

/// The arrival times of `packets` at the end of a path. Each element of `packets` has the time at which the packet is
/// ready and its number of bytes.
fn travel(path: &[Hop], packets: &[(u64, u64)]) -> Vec<u64> {
    let mut free = vec![0; path.len()];
    let along = |&(ready, bytes): &(u64, u64)| {
        path.iter().zip(&mut free).fold(ready, |at, (hop, free)| {
            *free = at.max(*free) + time_on_wire(bytes, hop.rate);
            *free + hop.delay
        })
    };
    packets.iter().map(along).collect()
}
