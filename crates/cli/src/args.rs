//! The arguments of `anabranch`.

mod campaign;
mod live;
mod number;
mod testbed;

use anabranch_report::claims;
use clap::{Args, Parser, Subcommand, ValueEnum};
use number::{at_least_one, one_seed, seconds, seed, share, whole};
use std::path::PathBuf;

pub use campaign::CampaignArgs;
pub use live::{BothArgs, LiveCommand, ReceiveArgs, SendArgs};
pub use testbed::TestbedArgs;

/// Which transport and which load balancer should this fabric run?
///
/// Anabranch simulates RDMA fabrics packet by packet. It compares schemes, reproduces figures of papers, and shows
/// what happens when links fail. The same scenario and seed give the same results on any machine.
#[derive(Debug, Parser)]
#[command(name = "anabranch", version = env!("ANABRANCH_VERSION"), arg_required_else_help = true, max_term_width = 110)]
#[command(after_help = "Exit codes:
  0    all went well
  1    a run failed: flows could not finish, a limit was reached, an invariant broke
  2    bad input: the message says where, and what to write instead
  130  interrupted by Ctrl-C; what was finished is kept")]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Simulate a scenario and compare its schemes
    #[command(after_help = "Examples:
  anabranch run examples/permutation-1024.toml
  anabranch run perm.toml --scheme reps --scheme ecmp --seed 1 --seed 2
  anabranch run perm.toml --json > perm.json
  cat perm.toml | anabranch run -")]
    Run(RunArgs),
    /// Reproduce the papers' figures and check their claims against the results
    #[command(after_help = reproduce_help())]
    Reproduce(ReproduceArgs),
    /// Run every scheme in every scenario of the league, and rank the schemes
    #[command(after_help = "Examples:
  anabranch league                                 minutes: small fabrics, one seed, no ranks
  anabranch league --scale paper                   128 to 8,192 hosts, five seeds
  anabranch league lossy-links incast --scale paper --seed 6,7,8,9,10

All schemes stand on the setup `common`. Runs that finished are kept: what was stopped goes on where it was.")]
    League(LeagueArgs),
    /// Carry out the runs of a large scenario on one or more machines, and store each run in a folder of its own
    #[command(after_help = "Examples:
  anabranch campaign plan.toml --out runs              what is in the folder already is not run again
  anabranch campaign plan.toml --out runs --sample 500 of its schemes, sweep points and seeds 500 runs, drawn
  anabranch campaign plan.toml --out runs --share 3/8  the fourth of eight parts; others do the rest, at the same time
  anabranch campaign plan.toml --out runs --slurm 8 --sbatch=--time=02:00:00 | sbatch
  anabranch campaign plan.toml --out runs --status

The folder has runs as task=000017, each whole or not there, with the files of `anabranch run`; Python's \
`anabranch.campaign` writes and reads the same. A run's digest is the same wherever it ran.")]
    Campaign(CampaignArgs),
    /// List the schemes, setups, figures, workloads, topologies, faults, series, examples, terms, keys, parameters or
    /// columns
    #[command(after_help = "Examples:
  anabranch list schemes
  anabranch list schemes --state           bits of hardware state, field by field
  anabranch list parameters lb             what each load balancer takes, and within which range
  anabranch list examples incast > incast.toml     a scenario to begin with
  anabranch list figures --json")]
    List(ListArgs),
    /// Explain a parameter of a scheme or a key of a scenario
    #[command(after_help = "Examples:
  anabranch docs fabric.queue
  anabranch docs rto")]
    Docs(DocsArgs),
    /// Print the JSON Schema of scenarios, schemes, setups or figures, with which editors complete and check such files
    #[command(after_help = "Examples:
  anabranch schema > anabranch.schema.json
  anabranch schema scheme > scheme.schema.json

A scenario whose first line is `#:schema ./anabranch.schema.json` is then completed in VS Code (Even Better TOML) and \
checked by `taplo lint`. `anabranch check` checks more: rules between values, and names of links and schemes.")]
    Schema {
        /// The file that is described
        #[arg(value_enum, default_value = "scenario")]
        file: SchemaFile,
    },
    /// Resolve and validate a scenario without simulating it
    #[command(after_help = "Examples:
  anabranch check examples/permutation-1024.toml
  anabranch check perm.toml --json")]
    Check(CheckArgs),
    /// Write the page of stored results again and print their table
    #[command(after_help = "Examples:
  anabranch report results/permutation-1024-0123456789abcdef
  anabranch report runs                    all runs of a campaign that are there")]
    Report(ReportArgs),
    /// Find the smallest or largest value of a parameter for which a condition still holds
    #[command(after_help = "The scenario has a question beside everything else:
  [find]
  parameter = \"*.fabric.queue\"         any path that [set] or [sweep] takes
  smallest = [\"16KB\", \"8MB\"]         or largest: a range, or three values or more in their order
  where = \"drops(scheme) == 0\"         in the language of claims, for each scheme and seed
  resolution = 0.02                     how near, as a share; the default

Each scheme and seed is a bisection: what holds for a value has to hold for every larger one (smallest) or smaller one \
(largest). Both ends are tried first, and a value on each side of the answer last, so that a violation of this is \
reported. A run in which a message does not finish does not hold. Runs are stored and not simulated again.

Examples:
  anabranch find examples/smallest-buffer.toml
  anabranch find examples/highest-load.toml --scheme reps --json")]
    Find(FindArgs),
    /// Compare two or more result folders seed by seed
    #[command(after_help = "Examples:
  anabranch compare results/before-0123456789abcdef results/after-0123456789abcdef
  anabranch compare results/a-* results/b-* --page a-b.html --json")]
    Compare(CompareArgs),
    /// Write a table of stored results as CSV
    #[command(after_help = "Examples:
  anabranch export results/perm-0123456789abcdef                    # runs, to standard output
  anabranch export results/perm-0123456789abcdef --table flows --out flows.csv

The tables are Parquet files already (runs.parquet, flows.parquet, jobs.parquet, parts.parquet, series.parquet, faults.parquet), which \
DuckDB and Polars read: every row has the scheme, the seed and the swept values of its run.")]
    Export(ExportArgs),
    /// Simulate one run and write its timeline for the Perfetto UI
    #[command(after_help = "Examples:
  anabranch trace examples/jobs/pipeline.toml
  anabranch trace perm.toml --scheme reps --seed 2 --out reps.perfetto-trace

Open the file at ui.perfetto.dev, which reads it in the browser. Each host has its messages and what it computes, on \
lanes where they overlap; jobs and faults have tracks, and curves (`measures` of the scenario) are counters.")]
    Trace(TraceArgs),
    /// Simulate one run and write the packets on chosen links as a capture for tshark and Wireshark
    #[command(after_help = "Examples:
  anabranch pcap examples/permutation-1024.toml --link host:0
  anabranch pcap perm.toml --link tor:0/up,spine:0/down:2 --scheme dcp --seed 2 --out dcp.pcapng
  tshark -r dcp.pcapng -Y infiniband.bth.opcode==17

The file is pcapng, an interface per directed link, times in whole nanoseconds as the first bit leaves. Headers are those of \
RoCEv2 (Ethernet, IPv4, UDP 4791 with the entropy in the source port, BTH, RETH, AETH), of the transport uet those of Ultra \
Ethernet (UDP 4793), of mrc those of MRC in a layout of its own, of pause frames those of 802.1Qbb; payloads are zeros. The book's page docs/traces.md says what stands in each field.")]
    Pcap(PcapArgs),
    /// Run a scenario on real packets between network namespaces, beside its simulation
    #[command(after_help = testbed::HELP)]
    Testbed(TestbedArgs),
    /// Give the nodes of recorded testbed runs the same inputs again, and check that they send the same packets
    #[command(after_help = testbed::REPLAY_HELP)]
    Replay {
        /// The folder that `anabranch testbed --record` wrote
        #[arg(value_name = "RECORD")]
        folder: PathBuf,
    },
    /// Send files between two addresses with the transport of a scheme
    #[command(subcommand, after_help = live::HELP)]
    Live(LiveCommand),
    /// Measure the simulator's own speed and memory
    #[command(after_help = "Examples:
  anabranch bench
  anabranch bench perm1024 --threads 1 --threads 2
  anabranch bench perm128 perm1024 --scheme reps --json
  anabranch bench perm1024 --scheme reps --scheme rocev2   # also compares lossless and lossy packet-hops")]
    Bench(BenchArgs),
    /// Print a shell completion script
    #[command(after_help = "Examples:
  anabranch completions bash > ~/.local/share/bash-completion/completions/anabranch
  anabranch completions zsh > ~/.zfunc/_anabranch
  anabranch completions fish > ~/.config/fish/completions/anabranch.fish")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    #[command(after_help = "Examples:
  anabranch man | man -l -
  anabranch man > ~/.local/share/man/man1/anabranch.1")]
    Man,
    /// Run one bench case in this process, whose peak memory is then that of the case
    #[command(hide = true)]
    BenchCase {
        /// The case's name.
        case: String,
        /// The scheme's name.
        scheme: String,
        /// The number of threads.
        threads: u16,
        /// The number of hosts, if it differs from that of the case.
        hosts: Option<u32>,
        /// The bytes of a message, if they differ from those of the case.
        bytes: Option<u64>,
    },
}

impl Command {
    /// Whether standard output contains one JSON document.
    pub fn is_json(&self) -> bool {
        match self {
            Command::Run(args) => args.output.json,
            Command::Reproduce(args) => args.output.json,
            Command::League(args) => args.output.json,
            Command::Find(args) => args.output.json,
            Command::Campaign(args) => args.json,
            Command::List(args) => args.json,
            Command::Docs(args) => args.json,
            Command::Schema { .. } => true,
            Command::Check(args) => args.json,
            Command::Compare(args) => args.json,
            Command::Testbed(args) => args.json,
            Command::Live(command) => command.is_json(),
            Command::Bench(args) => args.json,
            _ => false,
        }
    }
}

/// Arguments of `anabranch run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The scenario's TOML file; `-` reads it from standard input
    #[arg(required_unless_present = "astra")]
    pub scenario: Option<PathBuf>,
    /// Run every example in a folder of ASTRA-sim instead of a scenario: networks and workloads with as many NPUs
    #[arg(long, value_name = "DIR", conflicts_with_all = ["scenario", "per_seed"])]
    pub astra: Option<PathBuf>,
    /// Run this scheme instead of the schemes of the scenario [repeat for more]
    #[arg(long = "scheme", value_name = "NAME", value_delimiter = ',')]
    pub schemes: Vec<String>,
    /// Run with this seed instead of the seeds of the scenario (1, 2 and 3 if it names none) [repeat for more]
    #[arg(long = "seed", value_name = "N", value_delimiter = ',', value_parser = seed, allow_negative_numbers = true)]
    pub seeds: Vec<u64>,
    /// Leave out the baselines, which are the same runs without faults
    #[arg(long)]
    pub no_baseline: bool,
    /// Print a table with a row for each run, too
    #[arg(long)]
    pub per_seed: bool,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `reproduce --unsaid` runs all combinations of unspecified values if neither they nor their runs are more than this.
pub const MOST_RUNS_TOGETHER: usize = 512;

fn reproduce_help() -> String {
    let rule: String = claims::RULE.iter().map(|(name, rule)| format!("  {name:<15} {rule}\n")).collect();
    format!(
        "Examples:
  anabranch reproduce --all                every figure, at quick scale
  anabranch reproduce reps                 every figure of one paper
  anabranch reproduce reps/figure-2 --scale paper
  anabranch reproduce dcp/figure-13 --unsaid

The rule by which claims are judged, with m what is measured and p the paper's number:
{rule}
The quick scale shows what is measured and judges nothing. A claim that does not hold is a finding and no failure: the \
exit code stays 0. --unsaid runs all combinations where they take at most {MOST_RUNS_TOGETHER} runs, else one change \
at a time; its runs are kept below --out and used again."
    )
}

/// Arguments of `anabranch reproduce`.
#[derive(Debug, Args)]
pub struct ReproduceArgs {
    /// Papers (`reps`) or figures (`reps/figure-2`); if none is named, the command lists the papers, or runs all
    /// figures of --figures-dir
    #[arg(value_name = "PAPER[/FIGURE]")]
    pub figures: Vec<String>,
    /// Every figure of every paper
    #[arg(long, conflicts_with = "figures")]
    pub all: bool,
    #[arg(long, help = "How large to run them", value_enum, default_value_t = ScaleArg::Quick)]
    pub scale: ScaleArg,
    /// Also run the figures with other values of the settings that the papers do not specify, in all combinations or
    /// one at a time, and print for each claim how far it moves and under how many set-ups it holds
    #[arg(long)]
    pub unsaid: bool,
    /// Also run the first seed of each figure on real packets, as `testbed` does, and print the results beside the
    /// simulated ones; claims are judged by the simulation alone
    #[arg(long, conflicts_with = "unsaid")]
    pub live: bool,
    /// With --live: make all times this many times as long [default: a factor that a busy machine can carry]
    #[arg(long, value_name = "N", requires = "live", value_parser = whole(1..=100_000_000_u32, 100_000))]
    pub dilation: Option<u32>,
    /// With --live: use pairs of sockets in place of network namespaces and veth pairs, which needs no privileges
    #[arg(long, requires = "live")]
    pub sockets: bool,
    /// Read figures from DIR/PAPER/FIGURE.toml instead of the built-in ones
    #[arg(long, value_name = "DIR")]
    pub figures_dir: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}

impl ReproduceArgs {
    /// The papers and figures that were named. With `--all`, which selects every figure, the list is empty.
    pub fn selection(&self) -> &[String] {
        if self.all { &[] } else { &self.figures }
    }
}

/// Arguments of `anabranch league`.
#[derive(Debug, Args)]
pub struct LeagueArgs {
    /// Scenarios of the league [default: all]
    #[arg(value_name = "SCENARIO")]
    pub scenarios: Vec<String>,
    #[arg(long, help = "How large to run them", value_enum, default_value_t = ScaleArg::Quick)]
    pub scale: ScaleArg,
    /// Run with this seed instead of the seeds of the scenarios [repeat for more]
    #[arg(long = "seed", value_name = "N", value_delimiter = ',', value_parser = seed, allow_negative_numbers = true)]
    pub seeds: Vec<u64>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// The sizes at which figures and the scenarios of the league run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ScaleArg {
    /// Smaller fabrics and messages
    Quick,
    /// The sizes of the paper; only these outcomes count
    Paper,
}

/// The options that `run`, `reproduce`, `league` and `find` share.
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// Simulate on this many threads, which does not change the results [default: one per core]
    #[arg(long, value_name = "N", value_parser = whole(1..=1024_u16, 1))]
    pub threads: Option<u16>,
    /// Write results below this folder
    #[arg(long = "out", value_name = "DIR", default_value = "results")]
    pub folder: PathBuf,
    /// Print one JSON document on standard output, and nothing else
    #[arg(long)]
    pub json: bool,
    /// Simulate again even if the same results are stored already
    #[arg(long)]
    pub fresh: bool,
}

/// Arguments of `anabranch list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    #[arg(help = "What to list", value_enum)]
    pub what: Listing,
    /// For parameters: only those of this part of a scheme (`lb`) or of this kind (`reps`). For keys: only those of
    /// this table (`workload`) or kind (`incast`). For examples: prints this one
    pub kind: Option<String>,
    /// For schemes: the hardware state of each, in bits, field by field
    #[arg(long)]
    pub state: bool,
    /// For parameters, keys, columns and schemes: the page of the reference, as Markdown
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
    /// Print one JSON document on standard output, and nothing else
    #[arg(long)]
    pub json: bool,
}

/// The lists that `anabranch list` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Listing {
    /// Transport, congestion control and load balancer under one name
    Schemes,
    /// Conditions under which schemes run: `setup = "common"` in a scenario
    Setups,
    /// Figures of papers that `anabranch reproduce` runs
    Figures,
    /// Values of `kind` in `[workload]`
    Workloads,
    /// Values of `kind` in `[topology]`
    Topologies,
    /// Values of `kind` in `[[fault]]`
    Faults,
    /// Values of `series` in `[[measure]]`
    Series,
    /// Example scenarios
    Examples,
    /// Words of tables and verdicts
    Terms,
    /// Keys of a scenario outside its schemes: permitted values, default, meaning
    Keys,
    /// Parameters of schemes: unit, range, default, source, meaning
    Parameters,
    /// Columns of the tables of results: type, unit, meaning
    Columns,
}

/// The files that have a JSON Schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SchemaFile {
    /// The input of `anabranch run`
    Scenario,
    /// A scheme in a file of its own
    Scheme,
    /// The conditions under which schemes run
    Setup,
    /// A figure of a paper, which `anabranch reproduce` runs
    Figure,
}

/// Arguments of `anabranch docs`.
#[derive(Debug, Args)]
pub struct DocsArgs {
    /// The parameter of a scheme, by its path as `[set]` takes it (`fabric.queue`, `*.lb.buffer`) or by its last word
    /// (`queue`); or the key of a scenario, with its table or without (`workload.load`, `oversubscription`)
    pub key: String,
    /// Print one JSON document on standard output, and nothing else
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `anabranch check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The scenario's TOML file; `-` reads it from standard input
    pub scenario: PathBuf,
    /// Print one JSON document on standard output, and nothing else
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `anabranch report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// A folder of results, or the folder of a campaign
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

/// Arguments of `anabranch find`.
#[derive(Debug, Args)]
pub struct FindArgs {
    /// The scenario's TOML file, which has a table `[find]`; `-` reads it from standard input
    pub scenario: PathBuf,
    /// Search with this scheme instead of the schemes of the scenario [repeat for more]
    #[arg(long = "scheme", value_name = "NAME", value_delimiter = ',')]
    pub schemes: Vec<String>,
    /// Search with this seed instead of the seeds of the scenario (1, 2 and 3 if it names none) [repeat for more]
    #[arg(long = "seed", value_name = "N", value_delimiter = ',', value_parser = seed, allow_negative_numbers = true)]
    pub seeds: Vec<u64>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Arguments of `anabranch trace`.
#[derive(Debug, Args)]
pub struct TraceArgs {
    /// The scenario's TOML file; `-` reads it from standard input
    pub scenario: PathBuf,
    /// Run this scheme instead of the first scheme of the scenario
    #[arg(long, value_name = "NAME")]
    pub scheme: Option<String>,
    /// Run with this seed instead of the first seed of the scenario
    #[arg(long, value_name = "N", value_parser = one_seed, allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// Simulate on this many threads, which does not change the timeline
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole(1..=1024_usize, 1))]
    pub threads: usize,
    /// Write to this file; without it, one named after scenario, scheme and seed
    #[arg(long = "out", value_name = "FILE")]
    pub file: Option<PathBuf>,
}

/// Arguments of `anabranch pcap`.
#[derive(Debug, Args)]
pub struct PcapArgs {
    /// The scenario's TOML file; `-` reads it from standard input
    pub scenario: PathBuf,
    /// Capture what these links carry, named as in scenarios (`host:5`, `tor:0/up:3`, `cable:tor:0/up:3`) [repeat for
    /// more]
    #[arg(long = "link", value_name = "LINK", value_delimiter = ',', required = true)]
    pub links: Vec<String>,
    /// Run this scheme instead of the first scheme of the scenario
    #[arg(long, value_name = "NAME")]
    pub scheme: Option<String>,
    /// Run with this seed instead of the first seed of the scenario
    #[arg(long, value_name = "N", value_parser = one_seed, allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// Keep at most this many bytes of a frame; all headers fit into 102
    #[arg(long, value_name = "BYTES", default_value_t = 65_535, value_parser = whole(96..=65_535_u32, 65_535))]
    pub snaplen: u32,
    /// End the run, and the capture, after this many frames
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = whole(1..=100_000_000_u64, 100_000))]
    pub packets: u64,
    /// Simulate on this many threads, which does not change the capture
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole(1..=1024_usize, 1))]
    pub threads: usize,
    /// Write to this file; without it, one named after scenario, scheme and seed
    #[arg(long = "out", value_name = "FILE")]
    pub file: Option<PathBuf>,
}

/// Arguments of `anabranch compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Folders of results or of campaigns; all are compared with the first
    #[arg(value_name = "DIR", num_args = 2.., required = true)]
    pub folders: Vec<PathBuf>,
    /// Write the page to this file
    #[arg(long, value_name = "FILE", default_value = "compare.html")]
    pub page: PathBuf,
    /// Print one JSON document on standard output, and nothing else
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `anabranch export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// A folder of results
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// The table to write
    #[arg(long, value_enum, default_value_t = TableArg::Runs)]
    pub table: TableArg,
    /// The format of the output
    #[arg(long, value_enum, default_value_t = FormatArg::Csv)]
    pub format: FormatArg,
    /// Write to this file; `-` is standard output
    #[arg(long = "out", value_name = "FILE", default_value = "-")]
    pub file: PathBuf,
}

/// The tables of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TableArg {
    /// A row per run
    Runs,
    /// A row per message that belongs to no job
    Flows,
    /// A row per job, such as a collective or a trace
    Jobs,
    /// A row per rank of each job that has steps, and per collective of a job from a trace
    Parts,
    /// A row per point of a measured curve
    Series,
    /// A row per fault of each run, with the numbers of packets that it affected
    Faults,
}

/// The formats of exported tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FormatArg {
    /// Comma-separated values with a line of column names; a missing value is an empty cell
    Csv,
}

/// Arguments of `anabranch bench`.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// perm128, perm1024, perm8192 or perm131072 (3 tiers) [default: all; each with reps and ops, perm1024 also with
    /// the other schemes of --scheme]
    #[arg(value_name = "CASE")]
    pub cases: Vec<String>,
    /// Only this scheme, in each case: reps, ops, rocev2, strack, themis-spraying or dcp [repeat for more; default:
    /// those of the case]
    #[arg(long = "scheme", value_name = "NAME", value_delimiter = ',')]
    pub schemes: Vec<String>,
    /// Simulate on this many threads [repeat to compare]
    #[arg(long, value_name = "N", default_value = "1", value_parser = whole(1..=1024_u16, 1))]
    pub threads: Vec<u16>,
    /// Print one JSON document on standard output, and nothing else
    #[arg(long)]
    pub json: bool,
}
