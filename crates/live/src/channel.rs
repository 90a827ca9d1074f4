//! Channels that carry messages as lines of JSON over a stream, and the messages between the processes of a run.

use crate::lateness::Lateness;
use anabranch_base::Time;
use anabranch_sim::{NodeTotals, Signal};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;

/// A message from a process that runs nodes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum FromNodes {
    Ready,
    Signal(Signal),
    /// The progress of the process so far.
    Progress {
        /// Number of acknowledged messages plus number of ended steps.
        ended: u64,
        /// The time of the latest acknowledgement or end of a step.
        last_end: Time,
    },
    /// A node or its record failed, for this reason.
    Failed(String),
    Report(Box<NodesReport>),
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct NodesReport {
    pub totals: NodeTotals,
    /// Numbers of messages, each with the times of its posting, delivery and acknowledgement, as far as these nodes
    /// know them.
    pub messages: Vec<(u32, [Option<Time>; 3])>,
    /// Numbers of steps, each with the times of its start and its end, as far as these nodes know them.
    pub steps: Vec<(u32, [Option<Time>; 2])>,
    /// Number of messages whose bytes were checked.
    pub checked: u64,
    /// Number of bytes of the checked messages.
    pub checked_bytes: u64,
    /// Lateness with which nodes acted on frames.
    pub frames: Lateness,
    /// Lateness of the events that nodes scheduled themselves, such as timers.
    pub events: Lateness,
    /// Number of frames that the kernel dropped because a socket was full.
    pub kernel_drops: u64,
}

/// A message to a process that runs nodes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ToNodes {
    /// The run begins at this monotonic time in nanoseconds.
    Start(u64),
    Signal(Signal),
    /// The run ends at this simulated time.
    Stop(Time),
}

pub trait Stream: Read + Write {
    /// Sets whether reads and writes block.
    fn let_wait(&self, waits: bool) -> io::Result<()>;
}

impl Stream for UnixStream {
    fn let_wait(&self, waits: bool) -> io::Result<()> {
        self.set_nonblocking(!waits)
    }
}

impl Stream for TcpStream {
    fn let_wait(&self, waits: bool) -> io::Result<()> {
        self.set_nonblocking(!waits)
    }
}

pub struct Channel<S = UnixStream> {
    stream: S,
    buffer: Vec<u8>,
    closed: bool,
}

impl<S: Stream> Channel<S> {
    pub fn new(stream: S) -> Channel<S> {
        Channel { stream, buffer: Vec::new(), closed: false }
    }

    pub fn stream(&self) -> &S {
        &self.stream
    }

    /// Whether the other end is gone.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    pub fn send(&mut self, value: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        self.stream.let_wait(true)?;
        self.stream.write_all(&line)
    }

    /// Reads the values that have arrived, without waiting.
    pub fn receive<T: DeserializeOwned>(&mut self) -> io::Result<Vec<T>> {
        self.stream.let_wait(false)?;
        let mut part = [0; 1 << 14];
        loop {
            match self.stream.read(&mut part) {
                Ok(0) => {
                    self.closed = true;
                    break;
                }
                Ok(bytes) => self.buffer.extend_from_slice(&part[..bytes]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::ConnectionReset => {
                    self.closed = true;
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        let Some(end) = self.buffer.iter().rposition(|byte| *byte == b'\n') else { return Ok(Vec::new()) };
        let lines: Vec<u8> = self.buffer.drain(..=end).collect();
        let lines = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_slice(line).map_err(io::Error::from)).collect()
    }
}
