//! The arguments of `anabranch live`.

use super::{one_seed, seconds, whole};
use anabranch_base::{Bytes, Duration, Rate};
use clap::{Args, Subcommand};
use std::net::{Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

/// Examples of `anabranch live`.
pub const HELP: &str = "Examples:
  anabranch live receive --out arrived                 waits for one sender at 127.0.0.1:4791
  anabranch live send big.bin notes.txt --scheme reps  in another terminal
  tar c folder | anabranch live send -                 a stream; there: anabranch live receive --out - | tar x
  anabranch live send a.bin --to 127.0.0.1:5000 --to 127.0.0.1:5001 --qps 8 --json

The transport, the congestion control and the load balancer of the scheme move the bytes, in UDP packets and without dilation; \
switches are those of the network between. NOTHING IS AUTHENTICATED OR ENCRYPTED: whoever reaches the port can send files or \
damage a transfer. Addresses other than those of this machine's loopback therefore need --unprotected. The book's page \
docs/live.md has what was measured.";

/// The two ends of a transfer.
#[derive(Debug, Subcommand)]
pub enum LiveCommand {
    /// Send files or standard input to one or more receivers
    Send(SendArgs),
    /// Receive files into a folder or on standard output
    Receive(ReceiveArgs),
}

impl LiveCommand {
    /// Whether standard output contains one JSON document.
    pub fn is_json(&self) -> bool {
        match self {
            LiveCommand::Send(args) => args.both.json,
            LiveCommand::Receive(args) => args.both.json,
        }
    }
}

/// Arguments of both ends.
#[derive(Debug, Args)]
pub struct BothArgs {
    /// Allow addresses outside of this machine, although nothing is authenticated or encrypted
    #[arg(long)]
    pub unprotected: bool,
    /// Give up after this time without a sign of life from the other end
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = seconds(1..=3_600, 10))]
    pub silence: u64,
    /// Lose this share of the packets on purpose instead of sending them
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = share)]
    pub loss: f64,
    /// Print the statistics as one JSON document on standard output, and nothing else
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `anabranch live send`.
#[derive(Debug, Args)]
pub struct SendArgs {
    /// The files; `-` is standard input, which arrives with the name `stdin`
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The address and port of a receiver [repeat for more, each of which gets all files]
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:4791", value_delimiter = ',', value_parser = peer)]
    pub to: Vec<SocketAddr>,
    /// The built-in scheme, of which only the parts in hosts are used
    #[arg(long, value_name = "NAME", default_value = "reps")]
    pub scheme: String,
    /// The number of queue pairs, to which messages are assigned in turn
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = whole(1..=256_u32, 4))]
    pub qps: u32,
    /// The highest sending rate, which the scheme takes as the line rate
    #[arg(long, default_value = "10Gbps", value_parser = rate)]
    pub rate: Rate,
    /// The round trip time of the idle path, from which windows and timeouts follow
    #[arg(long, value_name = "TIME", default_value = "500us")]
    pub rtt: Duration,
    /// The size of messages, from 1B to 64MiB
    #[arg(long, value_name = "BYTES", default_value = "128KiB", value_parser = message)]
    pub message: u32,
    /// The payload of a packet [default: what the path carries, at most 4096B]
    #[arg(long, value_name = "BYTES")]
    pub payload: Option<Bytes>,
    /// The number of UDP source ports, among which the entropy values of the scheme choose
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = whole(1..=256_u16, 8))]
    pub ports: u16,
    /// The seed of random choices
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = one_seed, allow_negative_numbers = true)]
    pub seed: u64,
    #[command(flatten)]
    pub both: BothArgs,
}

/// Arguments of `anabranch live receive`.
#[derive(Debug, Args)]
pub struct ReceiveArgs {
    /// The address and port on which to listen; with port 0, the system chooses one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:4791", value_parser = address)]
    pub listen: SocketAddr,
    /// The folder for the files; `-` writes them to standard output, one after the other
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub out: PathBuf,
    /// The number of senders to wait for, which may send at the same time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole(1..=1_000_u32, 1))]
    pub senders: u32,
    #[command(flatten)]
    pub both: BothArgs,
}

fn rate(text: &str) -> Result<Rate, String> {
    match text.parse() {
        Ok(Rate(0)) => Err("nothing leaves at a rate of 0; write: 10Gbps".to_owned()),
        Ok(rate) => Ok(rate),
        Err(problem) => Err(problem.to_string()),
    }
}

/// The size of messages in bytes.
fn message(text: &str) -> Result<u32, String> {
    const MOST: u32 = 64 << 20;
    match text.parse() {
        Ok(Bytes(bytes)) if (1..=MOST.into()).contains(&bytes) => Ok(bytes as u32),
        Ok(Bytes(0)) => Err("messages have 1B to 64MiB; write: 128KiB".to_owned()),
        Ok(_) => Err("messages have 1B to 64MiB; write: 64MiB".to_owned()),
        Err(_) if text.trim().parse() == Ok(0.0) => message("0B"),
        Err(problem) => Err(problem.to_string()),
    }
}

/// An address and a port. A name is resolved, to an IPv4 address if it has one.
fn address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    if let Some((host, port)) = without_brackets(text) {
        let port = if port.parse::<u16>().is_ok() { port } else { "4791" };
        return Err(format!("an IPv6 address before a port is in brackets; write: [{host}]:{port}"));
    }
    let port = text
        .rsplit_once(':')
        .filter(|(host, port)| !port.is_empty() && (!host.contains(':') || host.ends_with(']')));
    if let Some((host, port)) = port {
        if port.parse::<u16>().is_err() {
            return Err(format!("{port} is no port, which is a number up to 65535; write: {host}:4791"));
        }
    } else {
        let host =
            if text.contains(':') && !text.starts_with('[') { format!("[{text}]") } else { text.to_owned() };
        return Err(format!("it has no port; write: {}:4791", host.trim_end_matches(':')));
    }
    let resolved: Vec<SocketAddr> = text
        .to_socket_addrs()
        .map_err(|error| {
            format!("the name cannot be resolved ({error}); write an address such as 127.0.0.1:4791")
        })?
        .collect();
    let v4 = resolved.iter().find(|address| address.is_ipv4()).or(resolved.first());
    v4.copied().ok_or_else(|| "the name has no address; write one such as 127.0.0.1:4791".to_owned())
}

/// An IPv6 address and a port after it, as in `::1:4791`. A last part with fewer than four digits probably belongs to
/// the address.
fn without_brackets(text: &str) -> Option<(&str, &str)> {
    let (host, port) = text.rsplit_once(':')?;
    let is_port = port.len() > 3 && port.bytes().all(|c| c.is_ascii_digit());
    (is_port && host.parse::<Ipv6Addr>().is_ok()).then_some((host, port))
}

/// Reads an [`address`] whose port is not 0.
fn peer(text: &str) -> Result<SocketAddr, String> {
    match address(text)? {
        address if address.port() == 0 => {
            Err("nobody listens on port 0; write the port that the receiver prints when it begins".to_owned())
        }
        address => Ok(address),
    }
}

fn share(text: &str) -> Result<f64, &'static str> {
    let share = text.parse().ok().filter(|share| (0.0..1.0).contains(share));
    share.ok_or("a share is a number of 0 or more and less than 1, such as 0.01")
}
