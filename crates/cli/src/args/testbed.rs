//! The arguments of `anabranch testbed`.

use super::{seconds, seed, whole};
use clap::Args;
use std::path::PathBuf;

/// Examples of `anabranch testbed`.
pub const HELP: &str = "Examples:
  anabranch testbed --check                          what is missing on this machine
  anabranch testbed examples/testbed.toml
  anabranch testbed perm.toml --scheme reps,ecmp --seed 1 --dilation 50000
  anabranch testbed perm.toml --sockets              without privileges, network namespaces and veth pairs

Each host is a process in a network namespace, each cable a veth pair, and a software switch forwards. At a dilation of N all \
times are N times as long, so that queues and windows have the same bytes. What is measured is mechanism and order, never \
the microseconds of a fast fabric. The book's page docs/live.md says how to read the tables.";

/// Examples of `anabranch replay`.
pub const REPLAY_HELP: &str = "Examples:
  anabranch testbed perm.toml --scheme reps --record perm.record
  anabranch replay perm.record

The record has a folder for each run, with a file of JSON lines for each process: frames in, times, frames out. The replay \
uses neither clock nor sockets. The first difference is an error with its file and line.";

/// Arguments of `anabranch testbed`.
#[derive(Debug, Args)]
pub struct TestbedArgs {
    /// The scenario's TOML file; `-` reads it from standard input
    #[arg(required_unless_present = "check")]
    pub scenario: Option<PathBuf>,
    /// Run this scheme instead of the schemes of the scenario [repeat for more]
    #[arg(long = "scheme", value_name = "NAME", value_delimiter = ',')]
    pub schemes: Vec<String>,
    /// Run with this seed instead of the seeds of the scenario (1 if it names none) [repeat for more]
    #[arg(long = "seed", value_name = "N", value_delimiter = ',', value_parser = seed, allow_negative_numbers = true)]
    pub seeds: Vec<u64>,
    /// Make all times this many times as long [default: a factor that a busy machine can carry]
    #[arg(long, value_name = "N", value_parser = whole(1..=100_000_000_u32, 100_000))]
    pub dilation: Option<u32>,
    /// End a run that takes longer than this in real time [default: 10 s plus five times the expected time]
    #[arg(long, value_name = "SECONDS", value_parser = seconds(1..=86_400, 60))]
    pub limit: Option<u64>,
    /// Use pairs of sockets in place of network namespaces and veth pairs, which needs no privileges
    #[arg(long)]
    pub sockets: bool,
    /// Record the inputs of each node with their times, and its outputs, for `anabranch replay`
    #[arg(long, value_name = "DIR")]
    pub record: Option<PathBuf>,
    /// Write results below this folder
    #[arg(long = "out", value_name = "DIR", default_value = "results")]
    pub folder: PathBuf,
    /// Run nothing; print what is missing on this machine
    #[arg(long)]
    pub check: bool,
    /// Print one JSON document on standard output, and nothing else
    #[arg(long)]
    pub json: bool,
}
