//! Jobs from traces: closed forms of their CCTs, and error messages.

mod aicb;
mod algorithms;
mod formats;
mod groups;
mod hints;
mod plans;
mod refused;
mod servers;
mod several;

use anabranch_sim::scenario::{self, Files, Overrides};
use anabranch_sim::{Control, RunResult};
use std::collections::BTreeMap;

/// The payload of a packet, in bytes.
const PAYLOAD: u64 = 4086;
/// The serialisation times of a full packet and of an ACK at 400 Gb/s, in ps.
const T: u64 = 4150 * 20;
const A: u64 = 64 * 20;
/// The latency of a link, in ps.
const D: u64 = 1_000_000;
/// The time of a packet from sender to receiver over a store-and-forward switch, and the time of an ACK back.
const THERE: u64 = 2 * (T + D);
const BACK: u64 = 2 * (A + D);
const NS: u64 = 1_000;

struct Folder(BTreeMap<String, Vec<u8>>);

impl Files for Folder {
    fn read(&self, name: &str) -> Result<String, String> {
        self.read_bytes(name).and_then(|bytes| String::from_utf8(bytes).map_err(|error| error.to_string()))
    }

    fn read_bytes(&self, name: &str) -> Result<Vec<u8>, String> {
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

fn simulated(hosts: u32, keys: &str, file: &str, threads: usize) -> Result<RunResult, String> {
    let text = scenario(hosts, &format!("kind = \"trace\"\nfile = \"job\"\n{keys}"), "reps");
    run(&text, file, threads)
}

fn run(text: &str, file: &str, threads: usize) -> Result<RunResult, String> {
    run_in(&Folder([("job".to_owned(), file.as_bytes().to_vec())].into()), text, threads)
}

fn of_ranks(keys: &str, files: &[Vec<u8>]) -> Result<RunResult, String> {
    of_ranks_beside(keys, files, Vec::new())
}

/// The result of a job whose ranks have these files, with additional files in the same folder.
fn of_ranks_beside(
    keys: &str,
    files: &[Vec<u8>],
    others: Vec<(String, Vec<u8>)>,
) -> Result<RunResult, String> {
    let named = files.iter().enumerate().map(|(rank, bytes)| (format!("job.{rank}.et"), bytes.clone()));
    let keys = format!("kind = \"trace\"\nformat = \"chakra\"\nfile = \"job\"\n{keys}");
    run_in(&Folder(named.chain(others).collect()), &scenario(files.len().max(2) as u32, &keys, "reps"), 1)
}

fn run_in(folder: &Folder, text: &str, threads: usize) -> Result<RunResult, String> {
    let scenario =
        scenario::read("test.toml", text, folder, &Overrides::default()).map_err(|e| e.to_string())?;
    let point = scenario.points().map_err(|e| e.to_string())?.remove(0);
    let control = Control { threads, ..Control::default() };
    let result = anabranch_sim::run(&point, &control).map_err(|e| e.to_string())?;
    assert_eq!((result.run.drops, result.run.retransmissions), (0, 0));
    for job in &result.jobs {
        assert!(job.cct_ps.unwrap() >= job.ideal_cct_ps, "no job is faster than its ideal: {job:?}");
    }
    Ok(result)
}

/// The CCT of the only job, in ps.
fn cct(hosts: u32, keys: &str, file: &str) -> u64 {
    let result = simulated(hosts, keys, file, 1).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(result.jobs.len(), 1);
    result.jobs[0].cct_ps.unwrap()
}

/// The CCT of a built-in collective, in ps.
fn collective(ranks: u32, keys: &str) -> u64 {
    let text = scenario(ranks, &format!("kind = \"collective\"\n{keys}"), "reps");
    run(&text, "", 1).unwrap_or_else(|error| panic!("{error}")).jobs[0].cct_ps.unwrap()
}
