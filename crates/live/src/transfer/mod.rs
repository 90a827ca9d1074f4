//! The transfer of files and streams over a real network by the simulator's protocol state machines.
//!
//! A sender and a receiver agree on the parameters over a TCP connection (`control`). The protocol state machines
//! (`endpoints`) then exchange UDP packets (`datagram`). A file is cut into messages of equal size, except that the
//! last message may be shorter. The queue pairs take turns in carrying messages. The receiver puts each packet at its
//! offset in the message, and each message at its offset in the file (`sink`).

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

/// The version of the messages and packets between two peers. Peers of different versions refuse to transfer files.
pub const VERSION: u32 = 1;

/// The parameters of a transfer. The sender chooses them, and the receiver uses the same ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TransferParameters {
    /// The name of a built-in scheme.
    pub scheme: String,
    /// The highest rate of the sender, written as in a scenario. It is the line rate of the protocol state machines.
    pub rate: String,
    /// The round trip time that the protocol state machines assume for an idle path, written as in a scenario.
    pub rtt: String,
    /// The payload of a full packet in bytes.
    pub payload: u16,
    /// The number of queue pairs.
    pub qps: u32,
    /// The size of a message in bytes. The last message of a file may be shorter.
    pub message_bytes: u32,
    /// The seed of random choices.
    pub seed: u64,
}

/// The settings of a sender.
pub struct SendSettings<'s> {
    /// The parameters of the transfer. If `payload` is 0, the sender chooses the largest payload up to 4096 bytes that
    /// fits the first link of the path.
    pub parameters: TransferParameters,
    /// The addresses of the receivers. Each receiver gets all inputs.
    pub to: Vec<SocketAddr>,
    /// The files and streams to send.
    pub inputs: Vec<Input>,
    /// The number of UDP source ports. The entropy value of a packet selects one of them.
    pub ports: u16,
    /// The settings that senders and receivers both have.
    pub common: CommonSettings<'s>,
}

/// The settings of a receiver.
pub struct ReceiveSettings<'s> {
    /// The address and port on which the receiver listens.
    pub listen: SocketAddr,
    /// The number of senders after which the receiver ends.
    pub senders: u32,
    /// The place where the receiver puts the files.
    pub output: Output,
    /// Called with the address and port once senders may connect. An error ends the receiver.
    pub listening: &'s dyn Fn(SocketAddr) -> Result<(), LiveError>,
    /// The settings that senders and receivers both have.
    pub common: CommonSettings<'s>,
}

/// The settings that senders and receivers both have.
pub struct CommonSettings<'s> {
    /// The longest time without a sign of life from a peer. The transfer fails after a longer silence.
    pub silence: RealDuration,
    /// The share of packets (0 to 1) that are dropped on purpose instead of being sent.
    pub loss: f64,
    /// Called repeatedly with the progress.
    pub progress: &'s dyn Fn(Progress),
    /// Returns whether the user wants the transfer to end.
    pub interrupted: &'s dyn Fn() -> bool,
}

/// The place where a receiver puts files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// A folder.
    Folder(PathBuf),
    /// Standard output, to which the files are written one after the other.
    Standard,
}

/// The progress of a transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// At a receiver, the bytes that have arrived from all senders. At a sender, the bytes that its slowest receiver
    /// has acknowledged.
    pub bytes: u64,
    /// The total length of the files that are known so far. None if one of them is a stream.
    pub of: Option<u64>,
}

/// A file that has arrived whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    /// The number of the file at its sender.
    pub number: u32,
    /// The name of the file.
    pub name: String,
    /// The length of the file in bytes.
    pub bytes: u64,
    /// The CRC-32 of the file in hexadecimal digits, as `gzip` and `crc32` compute it.
    pub crc32: String,
}

/// The statistics of a sender or a receiver.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Statistics {
    /// The files that have arrived.
    pub files: Vec<Stored>,
    /// The total length of these files in bytes.
    pub bytes: u64,
    /// The time in seconds from the agreement to the end of the transfer. At a sender, the time from the agreement with
    /// all receivers to the end of all transfers.
    pub seconds: f64,
    /// The goodput: the bits of all files, divided by `seconds`.
    pub goodput_bps: f64,
    /// At a sender, the data packets sent or dropped on purpose, including retransmissions. At a receiver, the data
    /// packets received.
    pub data_packets: u64,
    /// Packets from the receiver to the sender, such as ACKs.
    pub answers: u64,
    /// Retransmissions of data packets. 0 at a receiver.
    pub retransmissions: u64,
    /// Timeouts of packets or of queue pairs, depending on the transport. 0 at a receiver.
    pub timeouts: u64,
    /// Packets that arrived with a congestion mark (CE).
    pub marked: u64,
    /// Packets that were dropped on purpose.
    pub lost_on_purpose: u64,
    /// Packets that arrived and were not valid packets of the transfer.
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

/// The time for the protocol state machines, which begins at 1000 s. A packet carries only the low bits of a time, from
/// which its receiver restores a time in the recent past. The restored time must not be negative.
fn core_time(begin_ns: u64) -> Time {
    const PAST_NS: u64 = 1_000_000_000_000;
    Time((monotonic_ns().saturating_sub(begin_ns) + PAST_NS) * 1000)
}

fn system(what: &str) -> impl Fn(std::io::Error) -> LiveError + '_ {
    move |error| LiveError::System { what: what.to_owned(), error }
}
