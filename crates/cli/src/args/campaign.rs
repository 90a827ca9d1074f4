//! The arguments of `anabranch campaign`.

use super::{at_least_one, one_seed, share, whole};
use clap::Args;
use std::path::PathBuf;

/// Arguments of `anabranch campaign`.
#[derive(Debug, Args)]
pub struct CampaignArgs {
    /// The scenario's TOML file, with its sweep; `-` reads it from standard input
    #[arg(value_name = "PLAN")]
    pub plan: PathBuf,
    /// Put the runs into this folder, which may already contain some of them
    #[arg(long = "out", value_name = "DIR")]
    pub folder: PathBuf,
    /// Carry out this part of the runs: 3/8 is the fourth of eight
    #[arg(long, value_name = "NUMBER/OF", default_value = "0/1", value_parser = share)]
    pub share: (usize, usize),
    /// Carry out only this number of runs, drawn at random with --sample-seed [default: all]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub sample: Option<usize>,
    /// Draw the sample with this seed
    #[arg(long, value_name = "SEED", default_value_t = 1, value_parser = one_seed, allow_negative_numbers = true)]
    pub sample_seed: u64,
    /// Use this many threads for all runs [default: one per core]
    #[arg(long, value_name = "N", value_parser = whole(1..=1024_u16, 1))]
    pub threads: Option<u16>,
    /// Run nothing; print how many runs are already stored
    #[arg(long)]
    pub status: bool,
    /// Run nothing; print a job script for sbatch, with an array of this many tasks
    #[arg(long, value_name = "TASKS", value_parser = at_least_one, conflicts_with_all = ["status", "share", "json"])]
    pub slurm: Option<usize>,
    /// An option of sbatch for that script, such as --time=02:00:00 [repeat for more]
    #[arg(long, value_name = "OPTION", requires = "slurm", allow_hyphen_values = true)]
    pub sbatch: Vec<String>,
    /// Print one JSON document on standard output, and nothing else
    #[arg(long)]
    pub json: bool,
}
