//! The `anabranch` command: files, flags, progress and exit codes around the simulator.
#![forbid(unsafe_code)]

mod args;
mod clock;
mod command;
mod execute;
mod failure;
mod figures;
mod interrupt;
mod json;
mod kept;
mod made_by;
mod model;
mod output;
mod progress;
mod ran;
mod simulated;
mod sizes;
mod source;
mod spool;
mod store;
mod varied;

use args::{Cli, Command};
use clap::Parser;
use failure::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    execute::keep_panics();
    let ended = execute::guarded(|| act(&cli.command)).unwrap_or_else(|error| Err(Failure::Run(error)));
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::NobodyReads) => Failure::NobodyReads.code(),
        Err(failure) => {
            output::note(&format!("error: {failure}"));
            failure.code()
        }
    }
}

fn act(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Run(args) => command::run::run(args),
        Command::Reproduce(args) => command::reproduce::reproduce(args),
        Command::List(args) => command::list::list(args),
        Command::Check(args) => command::check::check(args),
        Command::Report(args) => command::report::report(args),
        Command::Find(args) => command::find::find(args),
        Command::Compare(args) => command::compare::compare(args),
        Command::Export(args) => command::export::export(args),
        Command::Bench(args) => command::bench::bench(args),
        Command::BenchCase { case, scheme, threads } => command::bench::case_alone(case, scheme, *threads),
    }
}
