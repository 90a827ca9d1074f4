//! Files and streams between two addresses, with the simulator's protocol state machines and without dilation.
//!
//! A sender and a receiver agree over a TCP connection (`control`), and the files follow in UDP packets (`datagram`)
//! between the protocol state machines (`endpoints`). A file is cut into messages of equal size (the last one may be
//! shorter), which take turns on the queue pairs. The receiver writes each packet at its offset in its message, and
//! each message at its offset in the file (`sink`).

mod control;
mod datagram;
mod endpoints;
mod receive;
mod send;
mod sink;
mod source;

pub use receive::receive;
pub use send::send;
pub use source::Input;

use crate::clock::monotonic_ns;
use crate::error::LiveError;
use anabranch_base::Time;
use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration as RealDuration;

/// The version of the messages and packets between two peers. It changes when peers of different versions would
/// misunderstand each other.
pub const VERSION: u32 = 1;

/// The parameters of a transfer, which the sender chooses and the receiver takes over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TransferParameters {
    /// The name of a built-in scheme.
    pub scheme: String,
    /// The rate at which the sender sends at most, as in a scenario. The protocol state machines use it as line rate.
    pub rate: String,
    /// The round trip time that the protocol state machines assume for an idle path, as in a scenario.
    pub rtt: String,
    /// The payload of a full packet in bytes.
    pub payload: u16,
    /// The number of queue pairs.
    pub qps: u32,
    /// The size of messages in bytes.
    pub message_bytes: u32,
    /// The seed of random choices.
    pub seed: u64,
}

/// The settings of a sender.
pub struct SendSettings<'s> {
    /// The parameters. A payload of 0 stands for one that fits the first link of the path, at most 4096 bytes.
    pub parameters: TransferParameters,
    /// The receivers. Each gets all inputs.
    pub to: Vec<SocketAddr>,
    /// The files and streams.
    pub inputs: Vec<Input>,
    /// The number of UDP source ports, among which entropy values choose.
    pub ports: u16,
    /// The settings of both sides.
    pub common: CommonSettings<'s>,
}

/// The settings of a receiver.
pub struct ReceiveSettings<'s> {
    /// The address and port on which the receiver listens.
    pub listen: SocketAddr,
    /// The number of senders after which the receiver ends.
    pub senders: u32,
    /// The place of the files.
    pub output: Output,
    /// Called with the address and port once senders may connect.
    pub listening: &'s dyn Fn(SocketAddr),
    /// The settings of both sides.
    pub common: CommonSettings<'s>,
}

/// The settings of a sender or a receiver.
pub struct CommonSettings<'s> {
    /// The longest time without a sign of life from a peer.
    pub silence: RealDuration,
    /// The share of packets that are lost on purpose, instead of being sent.
    pub loss: f64,
    /// Called now and then with the progress.
    pub progress: &'s dyn Fn(Progress),
    /// Whether the user wants the transfer to end.
    pub interrupted: &'s dyn Fn() -> bool,
}

/// The place where a receiver puts files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// A folder.
    Folder(PathBuf),
    /// Standard output, on which all files follow each other.
    Standard,
}

/// The progress of a transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The bytes that have arrived: at a receiver from all senders, at a sender those that its slowest receiver has
    /// acknowledged.
    pub bytes: u64,
    /// The length of the files that are known so far. None if one of them is a stream.
    pub of: Option<u64>,
}

/// A file that has arrived whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    /// The number of the file at its sender.
    pub number: u32,
    /// The name of the file.
    pub name: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// Its CRC-32 in hexadecimal digits, as `gzip` and `crc32` compute it.
    pub crc32: String,
}

/// The statistics of a sender or a receiver.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Statistics {
    /// The files that have arrived.
    pub files: Vec<Stored>,
    /// The bytes of these files.
    pub bytes: u64,
    /// The time in seconds from the agreement with the peers to the end of the transfer; at a sender, of all its
    /// transfers.
    pub seconds: f64,
    /// The bits of the files per second.
    pub goodput_bps: f64,
    /// Data packets: sent by a sender, for the first time or again; received by a receiver.
    pub data_packets: u64,
    /// Other packets: received by a sender, sent by a receiver.
    pub answers: u64,
    /// Data packets that were sent again. A receiver does not know them.
    pub retransmissions: u64,
    /// Timeouts: of packets or of queue pairs, depending on the transport. A receiver does not know them.
    pub timeouts: u64,
    /// Packets that arrived with a congestion mark (CE).
    pub marked: u64,
    /// Packets that were lost on purpose.
    pub lost_on_purpose: u64,
    /// Packets that could not be read as packets of the transfer.
    pub unreadable: u64,
    /// The CPU time of the process in seconds.
    pub cpu_seconds: f64,
}

impl Statistics {
    fn finish(&mut self, begin_ns: u64) {
        self.bytes = self.files.iter().map(|file| file.bytes).sum();
        self.seconds = monotonic_ns().saturating_sub(begin_ns) as f64 / 1e9;
        self.goodput_bps = self.bytes as f64 * 8.0 / self.seconds.max(1e-9);
        self.cpu_seconds = cpu_seconds();
    }
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID);
    time.map_or(0.0, |time| time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9)
}

/// The time that the protocol state machines see. Times of a peer are restored from their low bits as times in the
/// recent past, which therefore must not lie before time 0.
fn core_time(begin_ns: u64) -> Time {
    const PAST_NS: u64 = 1_000_000_000_000;
    Time((monotonic_ns().saturating_sub(begin_ns) + PAST_NS) * 1000)
}

fn system(what: &str) -> impl Fn(std::io::Error) -> LiveError + '_ {
    move |error| LiveError::System { what: what.to_owned(), error }
}
