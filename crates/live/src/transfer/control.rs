//! The TCP connection between a sender and a receiver. Its messages are the agreement at the beginning, reports on
//! files, and signs of life.

use super::{Stored, TransferParameters, VERSION, system};
use crate::channel::Channel;
use crate::clock::monotonic_ns;
use crate::error::LiveError;
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::TcpNoDelay;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::VecDeque;
use std::io::{ErrorKind, Read};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration as RealDuration;

/// The interval of signs of life, in nanoseconds.
const SIGN_NS: u64 = 500_000_000;
/// The longest wait for a connection to be established or to accept data.
const CONNECT: RealDuration = RealDuration::from_secs(5);

/// The time in nanoseconds for which a connection stays open after a failure, unless the peer ends it.
const CLOSE_NS: u64 = 1_000_000_000;

/// The beginning of a hint in an error message.
const HELP: &str = "\n  help: ";

/// The first message of each peer. A peer of any version can read the first two fields.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Greeting {
    /// The version of messages and packets ([`VERSION`]).
    anabranch_live: u32,
    program: String,
    /// The offer of a sender, or the grant of a receiver.
    #[serde(default)]
    content: Value,
}

/// A message from a sender after its greeting.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum FromSender {
    /// A file begins.
    Begin {
        number: u32,
        name: String,
        /// The length in bytes, if it is known.
        bytes: Option<u64>,
    },
    /// A file has ended.
    End {
        number: u32,
        /// The number of messages of the file.
        messages: u32,
        /// The length of the file in bytes.
        bytes: u64,
        crc: u32,
    },
    Finished,
    /// A sign of life.
    Alive,
}

/// A message from a receiver, after its greeting.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum FromReceiver {
    /// The number of messages that have been written so far.
    Written(u64),
    /// A file has arrived whole.
    Stored(Stored),
    /// The transfer has failed.
    Failed(String),
    /// A sign of life.
    Alive,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Offer {
    pub parameters: TransferParameters,
    /// The sender's UDP port for answers.
    pub answers: u16,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Grant {
    /// The transfer begins, with this number.
    Transfer(u32),
    Refused(String),
}

pub struct Control {
    channel: Channel<TcpStream>,
    /// The name of the peer in error messages, such as `the receiver at 127.0.0.1:4791`.
    pub peer: String,
    silence: RealDuration,
    heard_ns: u64,
    signed_ns: u64,
    greeted: bool,
    has_spoken: bool,
    waiting: VecDeque<Value>,
}

impl Control {
    /// Connects to a receiver. Returns the connection and its local address.
    pub fn connect(to: SocketAddr, silence: RealDuration) -> Result<(Control, SocketAddr), LiveError> {
        let stream = TcpStream::connect_timeout(&to, CONNECT).map_err(|error| {
            LiveError::Broken(format!(
                "no receiver at {to}: {error}\n  help: start it first: anabranch live receive --listen {to}"
            ))
        })?;
        let own = stream.local_addr().map_err(system("the connection"))?;
        Ok((Control::new(stream, format!("the receiver at {to}"), silence)?, own))
    }

    pub fn new(stream: TcpStream, peer: String, silence: RealDuration) -> Result<Control, LiveError> {
        // Messages are short, and a peer waits for some of them, so they are sent without delay.
        setsockopt(&stream, TcpNoDelay, &true).map_err(|error| system(&peer)(error.into()))?;
        stream.set_write_timeout(Some(CONNECT)).map_err(system(&peer))?;
        let now = monotonic_ns();
        let channel = Channel::new(stream);
        let waiting = VecDeque::new();
        Ok(Control {
            channel,
            peer,
            silence,
            heard_ns: now,
            signed_ns: now,
            greeted: false,
            has_spoken: false,
            waiting,
        })
    }

    pub fn greet(&mut self, content: &impl Serialize) -> Result<(), LiveError> {
        let content = serde_json::to_value(content).unwrap_or_default();
        let program = env!("CARGO_PKG_VERSION").to_owned();
        self.send(&Greeting { anabranch_live: VERSION, program, content })
    }

    /// The content of the peer's greeting. None if the greeting has not arrived yet.
    pub fn greeting<T: DeserializeOwned>(&mut self) -> Result<Option<T>, LiveError> {
        self.read()?;
        let Some(value) = self.waiting.pop_front() else { return Ok(None) };
        let peer = &self.peer;
        let Ok(greeting) = serde_json::from_value::<Greeting>(value) else {
            return Err(stranger(peer));
        };
        if greeting.anabranch_live != VERSION {
            return Err(LiveError::Broken(format!(
                "{peer} is of another version: anabranch {} with transfers of version {}, and this is anabranch {} with version \
                 {VERSION}\n  help: use the same version of anabranch at both ends",
                greeting.program,
                greeting.anabranch_live,
                env!("CARGO_PKG_VERSION")
            )));
        }
        self.greeted = true;
        let content = serde_json::from_value(greeting.content);
        content.map(Some).map_err(|error| LiveError::Broken(format!("the greeting of {peer}: {error}")))
    }

    pub fn is_greeted(&self) -> bool {
        self.greeted
    }

    /// Whether the peer has sent a line of JSON. A program that is no sender may connect and send none.
    pub fn has_spoken(&self) -> bool {
        self.has_spoken
    }

    pub fn send(&mut self, message: &impl Serialize) -> Result<(), LiveError> {
        self.signed_ns = monotonic_ns();
        let Err(error) = self.channel.send(message) else { return Ok(()) };
        // A peer that fails sends the reason before it ends.
        self.waiting.extend(self.channel.receive::<Value>().unwrap_or_default());
        let words = self.waiting.iter().find_map(|value| value.get("Failed")?.as_str());
        let gone = || format!("{} is gone: {error}", self.peer);
        Err(LiveError::Broken(words.map_or_else(gone, |words| self.reports(words))))
    }

    /// The peer's reason for a failure. The options in its hint are those of the peer.
    pub fn reports(&self, why: &str) -> String {
        let (what, help) = why.split_once(HELP).unwrap_or((why, ""));
        let help = if help.is_empty() { String::new() } else { format!("{HELP}at the other end: {help}") };
        format!("{} reports: {what}{help}", self.peer)
    }

    /// Ends the connection after a failure, and gives the peer time to read the message about the failure. If the
    /// connection were closed at once, data from the peer would reset it, and the peer could lose the message.
    pub fn close(self) {
        let stream = self.channel.stream();
        let deadline = monotonic_ns() + CLOSE_NS;
        // An error means that the connection has already ended.
        let _ = stream.shutdown(Shutdown::Write);
        let _ = stream.set_nonblocking(false);
        let _ = stream.set_read_timeout(Some(RealDuration::from_nanos(CLOSE_NS)));
        let (mut rest, mut stream) = ([0; 1 << 12], stream);
        while monotonic_ns() < deadline && stream.read(&mut rest).is_ok_and(|bytes| bytes > 0) {}
    }

    /// The next message that has arrived. None if there is no further message yet.
    pub fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>, LiveError> {
        if self.waiting.is_empty() {
            self.read()?;
        }
        let Some(value) = self.waiting.pop_front() else { return Ok(None) };
        let message = serde_json::from_value(value);
        message.map(Some).map_err(|error| LiveError::Broken(format!("a message of {}: {error}", self.peer)))
    }

    fn read(&mut self) -> Result<(), LiveError> {
        let read = self.channel.receive::<Value>();
        let peer = &self.peer;
        let values = read.map_err(|error| match error.kind() {
            // The line is no JSON.
            ErrorKind::InvalidData | ErrorKind::UnexpectedEof => stranger(peer),
            _ => system(peer)(error),
        })?;
        if !values.is_empty() {
            self.heard_ns = monotonic_ns();
            self.has_spoken = true;
        }
        self.waiting.extend(values);
        if self.channel.is_closed() && self.waiting.is_empty() {
            return Err(LiveError::Broken(format!(
                "{peer} closed the connection before the end: it was stopped, killed, or its machine went down"
            )));
        }
        let silent = RealDuration::from_nanos(monotonic_ns().saturating_sub(self.heard_ns));
        if silent > self.silence {
            return Err(LiveError::Broken(format!(
                "{peer} has been silent for {:.1} s: it is stopped, or the network between is down",
                silent.as_secs_f64()
            )));
        }
        Ok(())
    }

    /// Sends a sign of life, if it is time for one.
    pub fn sign(&mut self, alive: &impl Serialize) -> Result<(), LiveError> {
        match monotonic_ns().saturating_sub(self.signed_ns) > SIGN_NS {
            true => self.send(alive),
            false => Ok(()),
        }
    }

    pub fn address(&self) -> Result<SocketAddr, LiveError> {
        self.channel.stream().peer_addr().map_err(system(&self.peer))
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.channel.stream().as_fd()
    }
}

/// The error for a peer that is another program.
fn stranger(peer: &str) -> LiveError {
    LiveError::Broken(format!(
        "{peer} is no anabranch live{HELP}--to takes the address that `anabranch live receive` prints"
    ))
}
