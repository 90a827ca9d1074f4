//! Jobs from traces: that they end when arithmetic says, and what is said of those that cannot be.

mod formats;
mod refused;

use anabranch_sim::scenario::{self, Files, Overrides};
use anabranch_sim::{Control, RunResult};
use std::collections::BTreeMap;

/// Payload of a packet.
pub const PAYLOAD: u64 = 4086;
/// A full packet and an ACK, in ps at 400 Gb/s.
pub const T: u64 = 4150 * 20;
pub const A: u64 = 64 * 20;
/// Latency of a link, in ps.
pub const D: u64 = 1_000_000;
/// From a sender to a receiver, and back with an ACK: a switch between them, which stores and forwards.
pub const THERE: u64 = 2 * (T + D);
pub const BACK: u64 = 2 * (A + D);
pub const NS: u64 = 1_000;

pub struct Folder(BTreeMap<&'static str, String>);

impl Files for Folder {
    fn read(&self, name: &str) -> Result<String, String> {
        self.0.get(name).cloned().ok_or_else(|| "no such file".to_owned())
    }
}

/// A scenario on one switch with windows that never fill.
fn scenario(hosts: u32, workload: &str, scheme: &str) -> String {
    format!(
        "schemes = [\"{scheme}\"]\nsetup = \"reps-paper\"\n[topology]\nkind = \"single-switch\"\nhosts = {hosts}\n\
         link = \"400Gbps\"\nlink_latency = \"1us\"\nswitch_latency = \"0ns\"\n\
         [set]\n\"{scheme}.cc\" = {{ kind = \"constant\", window = \"60000packets\" }}\n\
         \"{scheme}.transport.rto\" = \"9ms\"\n\"{scheme}.fabric.queue\" = \"60000packets\"\n\
         \"{scheme}.fabric.control_queue\" = \"60000packets\"\n[workload]\n{workload}\n"
    )
}

/// What comes of a file under these keys of `[workload]`.
pub fn simulated(hosts: u32, keys: &str, file: &str, threads: usize) -> Result<RunResult, String> {
    let text = scenario(hosts, &format!("kind = \"trace\"\nfile = \"job\"\n{keys}"), "reps");
    run(&text, file, threads)
}

pub fn run(text: &str, file: &str, threads: usize) -> Result<RunResult, String> {
    let folder = Folder([("job", file.to_owned())].into());
    let scenario =
        scenario::read("test.toml", text, &folder, &Overrides::default()).map_err(|e| e.to_string())?;
    let point = scenario.points().map_err(|e| e.to_string())?.remove(0);
    let control = Control { threads, ..Control::default() };
    let result = anabranch_sim::run(&point, &control).map_err(|e| e.to_string())?;
    assert_eq!((result.run.drops, result.run.retransmissions), (0, 0));
    Ok(result)
}

/// The CCT of the only job, in ps.
pub fn cct(hosts: u32, keys: &str, file: &str) -> u64 {
    let result = simulated(hosts, keys, file, 1).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(result.jobs.len(), 1);
    result.jobs[0].cct_ps.unwrap()
}

/// The CCT of a collective of ours, in ps.
pub fn collective(ranks: u32, keys: &str) -> u64 {
    let text = scenario(ranks, &format!("kind = \"collective\"\n{keys}"), "reps");
    run(&text, "", 1).unwrap_or_else(|error| panic!("{error}")).jobs[0].cct_ps.unwrap()
}
