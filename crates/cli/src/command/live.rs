//! `anabranch live`: files between two addresses, with the transport of a scheme.

use crate::args::{BothArgs, LiveCommand, ReceiveArgs, SendArgs};
use crate::failure::{Failure, reason, unwritable};
use crate::interrupt;
use crate::output::{note, print_json};
use anabranch_base::Bytes;
use anabranch_live::{
    CommonSettings, Input, LiveError, Output, Progress, ReceiveSettings, SendSettings, Statistics,
    TransferParameters,
};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use std::fs;
use std::io::{IsTerminal, stderr};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

/// Sends or receives files.
///
/// # Errors
/// Bad input, output that cannot be written, a peer that is gone or of another version, Ctrl-C.
pub fn live(command: &LiveCommand) -> Result<(), Failure> {
    interrupt::catch()?;
    match command {
        LiveCommand::Send(args) => send(args),
        LiveCommand::Receive(args) => receive(args),
    }
}

fn send(args: &SendArgs) -> Result<(), Failure> {
    args.to.iter().try_for_each(|to| check_address(*to, args.both.unprotected))?;
    let inputs: Vec<Input> = args.files.iter().map(|file| input(file)).collect::<Result<_, Failure>>()?;
    check_inputs(args, &inputs)?;
    let payload = args.payload.map_or(Ok(0), |bytes| small(bytes, "--payload").map(|bytes| bytes as u16))?;
    let bar = Bar::new();
    let show = |progress| bar.show(progress);
    let settings = SendSettings {
        parameters: TransferParameters {
            scheme: args.scheme.clone(),
            rate: args.rate.to_string(),
            rtt: args.rtt.to_string(),
            payload,
            qps: args.qps,
            message_bytes: args.message,
            seed: args.seed,
        },
        to: args.to.clone(),
        inputs,
        ports: args.ports,
        common: common(&args.both, &show),
    };
    let sent = anabranch_live::send(&settings);
    bar.end();
    report("sent", &sent.map_err(failure)?, args.both.json)
}

fn receive(args: &ReceiveArgs) -> Result<(), Failure> {
    check_address(args.listen, args.both.unprotected)?;
    let output = match args.out.as_os_str() == "-" {
        true if args.both.json => {
            return Err(Failure::Input(
                "--json and --out - both need standard output\n  help: name a folder with --out DIR"
                    .to_owned(),
            ));
        }
        true if args.senders > 1 => {
            return Err(Failure::Input(
                "--out - takes the files of one sender\n  help: name a folder with --out DIR".to_owned(),
            ));
        }
        true => Output::Standard,
        false => Output::Folder(args.out.clone()),
    };
    let listening = |at| {
        if let Output::Folder(folder) = &output {
            fs::create_dir_all(folder).map_err(|error| {
                let failure = unwritable(folder, &error, "folder that can be written with --out DIR");
                LiveError::Unsupported(failure.to_string())
            })?;
        }
        note(&format!("listening on {at}"));
        Ok(())
    };
    let bar = Bar::new();
    let show = |progress| bar.show(progress);
    let settings = ReceiveSettings {
        listen: args.listen,
        senders: args.senders,
        output: output.clone(),
        listening: &listening,
        common: common(&args.both, &show),
    };
    let received = anabranch_live::receive(&settings);
    bar.end();
    report("received", &received.map_err(failure)?, args.both.json)
}

fn common<'s>(both: &BothArgs, progress: &'s dyn Fn(Progress)) -> CommonSettings<'s> {
    CommonSettings {
        silence: Duration::from_secs(both.silence),
        loss: both.loss,
        progress,
        interrupted: &interrupt::asked_to_stop,
    }
}

fn check_address(address: SocketAddr, unprotected: bool) -> Result<(), Failure> {
    if unprotected || address.ip().is_loopback() {
        return Ok(());
    }
    Err(Failure::Input(format!(
        "{address} is outside of this machine's loopback, and nothing is authenticated or encrypted\n  help: --unprotected \
         allows it, for a network whose users you all trust"
    )))
}

fn input(file: &Path) -> Result<Input, Failure> {
    if file.as_os_str() == "-" {
        return Ok(Input::Standard);
    }
    let unreadable = |what: &str| Failure::Input(format!("{}: cannot be read: {what}", file.display()));
    match fs::metadata(file) {
        Ok(metadata) if metadata.is_dir() => {
            Err(unreadable("it is a folder\n  help: tar c FOLDER | anabranch live send -"))
        }
        Ok(_) => Ok(Input::File(file.to_owned())),
        Err(error) => Err(unreadable(&reason(&error))),
    }
}

fn check_inputs(args: &SendArgs, inputs: &[Input]) -> Result<(), Failure> {
    let again = args.to.iter().enumerate().find(|(number, to)| args.to[..*number].contains(to));
    if let Some((_, to)) = again {
        return Err(Failure::Input(format!("--to names {to} twice\n  help: name each receiver once")));
    }
    if args.to.len() > 1 && inputs.contains(&Input::Standard) {
        return Err(Failure::Input(
            "standard input can be read once, and there are several receivers\n  help: write it to a file first"
                .to_owned(),
        ));
    }
    let names: Vec<String> = inputs.iter().map(Input::name).collect();
    let part = names
        .iter()
        .find_map(|name| name.strip_suffix(".part").filter(|of| names.iter().any(|name| name == of)));
    if let Some(of) = part {
        return Err(Failure::Input(format!(
            "\"{of}.part\" is the name of \"{of}\" until it is whole\n  help: send \"{of}\" first, and the \
             other in a transfer after it"
        )));
    }
    let twice = names.iter().enumerate().find(|(number, name)| names[..*number].contains(name));
    twice.map_or(Ok(()), |(_, name)| {
        Err(Failure::Input(format!(
            "two files arrive with the name {name:?}\n  help: send them one after the other"
        )))
    })
}

fn small(bytes: Bytes, option: &str) -> Result<u64, Failure> {
    match bytes.0 {
        64..=9000 => Ok(bytes.0),
        _ => Err(Failure::Input(format!("{option}: payloads have 64 to 9000 bytes"))),
    }
}

fn failure(error: LiveError) -> Failure {
    match error {
        LiveError::Interrupted => {
            Failure::Interrupted("interrupted; files that are not whole are removed".to_owned())
        }
        LiveError::Unsupported(what) => Failure::Input(what),
        error => Failure::Run(error.to_string()),
    }
}

fn report(what: &str, all: &[Statistics], json: bool) -> Result<(), Failure> {
    if json {
        return print_json(&json!({ "transfers": all }));
    }
    for Statistics { files, bytes, seconds, goodput_bps, data_packets, retransmissions, .. } in all {
        for file in files {
            note(&format!("{}: {} bytes, CRC-32 {}", file.name, file.bytes, file.crc32));
        }
        let again =
            if *retransmissions > 0 { format!(", {retransmissions} of them again") } else { String::new() };
        note(&format!(
            "{what} {bytes} bytes in {seconds:.2} s ({:.2} Gb/s), {data_packets} packets{again}",
            goodput_bps / 1e9
        ));
    }
    Ok(())
}

struct Bar {
    bar: ProgressBar,
}

impl Bar {
    fn new() -> Bar {
        let bar = if stderr().is_terminal() { ProgressBar::new(0) } else { ProgressBar::hidden() };
        let style = "{bar:40} {bytes}/{total_bytes}, {binary_bytes_per_sec}, {eta} left";
        Bar {
            bar: bar.with_style(ProgressStyle::with_template(style).unwrap_or(ProgressStyle::default_bar())),
        }
    }

    fn show(&self, progress: Progress) {
        if !self.bar.is_hidden() {
            self.bar.set_length(progress.of.unwrap_or(progress.bytes));
            self.bar.set_position(progress.bytes);
        }
    }

    fn end(&self) {
        self.bar.finish_and_clear();
    }
}
