//! The `anabranch` command. It adds files, options, progress and exit codes to the simulator.
#![forbid(unsafe_code)]

mod args;
mod campaign_results;
mod capture;
mod clock;
mod command;
mod cost;
mod examples;
mod execute;
mod fabric;
mod failure;
mod figures;
mod interrupt;
mod json;
mod made_by;
mod model;
mod one_run;
mod output;
mod progress;
mod question;
mod real_packets;
mod record;
mod run_cache;
mod run_outcome;
mod sensitivity;
mod simulated;
mod sizes;
mod source;
mod spool;
mod store;
mod timeline;
mod whole_file;

use args::{Cli, Command};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser};
use failure::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::try_parse()
        .unwrap_or_else(|error| with_choices(with_meant_option(with_nearest_command(error))).exit());
    execute::keep_panics();
    let ended = execute::guarded(|| act(&cli.command)).unwrap_or_else(|error| Err(Failure::Run(error)));
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::NobodyReads) => Failure::NobodyReads.code(),
        Err(failure) => {
            if let Failure::Diagnosed(diagnostic) = &failure
                && cli.command.is_json()
            {
                // If the pipe is closed, the message on standard error and the exit code stay the same.
                let _ = output::print_json(&serde_json::json!({ "error": diagnostic }));
            }
            output::note(&format!("error: {failure}"));
            failure.code()
        }
    }
}

/// The error about a mistyped command, with the most similar command. The parser itself does not recognise swapped
/// letters (`rnu`).
fn with_nearest_command(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(written)) = error.get(ContextKind::InvalidSubcommand) else { return error };
    if error.get(ContextKind::SuggestedSubcommand).is_some() {
        return error;
    }
    let command = Cli::command();
    let names = command.get_subcommands().filter(|known| !known.is_hide_set()).map(|known| known.get_name());
    let near = names.map(|name| (strsim::osa_distance(written, name), name.to_owned())).min();
    if let Some((_, name)) = near.filter(|(distance, _)| *distance <= FAR) {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![name]));
    }
    error
}

/// Options of other programs, each with its counterpart in this program.
const OTHER_OPTIONS: [(&str, &str); 9] = [
    ("-o", "--out FOLDER"),
    ("--output", "--out FOLDER"),
    ("--csv", "anabranch export FOLDER"),
    ("--quiet", "2> /dev/null, where progress and warnings go"),
    ("-q", "2> /dev/null, where progress and warnings go"),
    ("-j", "--threads N"),
    ("--jobs", "--threads N"),
    ("--hosts", "hosts below [topology] in the scenario"),
    ("--set", "[set] and below it the parameter in the scenario"),
];

/// The error about an unknown option, with the option that was probably meant and without the parser's tip to pass it
/// as a value.
fn with_meant_option(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(written)) = error.get(ContextKind::InvalidArg) else { return error };
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    let option = written.split('=').next().unwrap_or(written);
    let instead = OTHER_OPTIONS.iter().find(|(other, _)| *other == option);
    let tip = instead.map(|(other, instead)| format!("in place of '{other}' write '{instead}'"));
    error.remove(ContextKind::Suggested);
    if let Some(tip) = tip {
        error.remove(ContextKind::SuggestedArg);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

fn with_choices(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg) else { return error };
    if error.kind() != ErrorKind::MissingRequiredArgument {
        return error;
    }
    let command = Cli::command();
    let arguments = command.get_subcommands().flat_map(|command| command.get_positionals());
    let choices = arguments.filter(|argument| missing.contains(&argument.to_string())).map(|argument| {
        let words = argument.get_possible_values();
        let words = words.iter().filter(|word| !word.is_hide_set()).map(|word| word.get_name());
        (argument.to_string(), words.collect::<Vec<_>>().join(", "))
    });
    let found = choices.filter(|(_, words)| !words.is_empty());
    let tips: Vec<_> =
        found.map(|(argument, words)| format!("{argument} is one of {words}").into()).collect();
    if !tips.is_empty() {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
    error
}

/// The largest number of mistakes in a mistyped command for which a command is suggested. A mistake is a letter that
/// is added, left out or changed, or a swap of two adjacent letters.
const FAR: usize = 2;

fn act(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Run(args) => command::run::run(args),
        Command::Reproduce(args) => command::reproduce::reproduce(args),
        Command::League(args) => command::league::league(args),
        Command::Campaign(args) => command::campaign::campaign(args),
        Command::List(args) => command::list::list(args),
        Command::Docs(args) => command::docs::docs(args),
        Command::Schema { file } => command::schema::schema(*file),
        Command::Check(args) => command::check::check(args),
        Command::Report(args) => command::report::report(args),
        Command::Find(args) => command::find::find(args),
        Command::Compare(args) => command::compare::compare(args),
        Command::Export(args) => command::export::export(args),
        Command::Trace(args) => command::trace::trace(args),
        Command::Pcap(args) => command::pcap::pcap(args),
        Command::Testbed(args) => command::testbed::testbed(args),
        Command::Live(command) => command::live::live(command),
        Command::Replay { folder } => command::replay::replay(folder),
        Command::Bench(args) => command::bench::bench(args),
        Command::Completions { shell } => command::manual::completions(*shell),
        Command::Man => command::manual::man(),
        Command::BenchCase { case, scheme, threads, hosts, bytes } => {
            command::bench::case_alone(case, scheme, *threads, (*hosts, *bytes))
        }
    }
}
