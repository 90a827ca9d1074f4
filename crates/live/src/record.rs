//! The record of a live run: the inputs of each node with their times, and its outputs.
//!
//! Each process writes a file of JSON lines, in the order of its events. For a frame with payload, the record contains
//! the message, the offset and the length of the payload instead of the payload itself. Message and offset determine
//! the bytes of the payload. The other bytes of the frame are recorded in hexadecimal digits. They include the ICRC,
//! which covers the payload.

use crate::error::LiveError;
use crate::node::{Frame, PayloadPlace};
use crate::pattern;
use anabranch_base::{MessageId, Time};
use anabranch_sim::Signal;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub node: u32,
    pub event: Event,
}

/// An input of a node, or an output that follows from the inputs before it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// The node received a frame.
    Receive {
        /// The time of the arrival.
        time: Time,
        /// The number of the port.
        port: u16,
        /// The bytes of the frame.
        frame: FrameRecord,
    },
    /// The node handled the events that it had scheduled itself.
    Run {
        /// The time up to which the node handled events, inclusive.
        until: Time,
    },
    /// The node received a signal.
    Handle(Signal),
    /// The node sent a frame.
    Sent(SentRecord),
    /// The node sent a signal.
    Signalled(Signal),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentRecord {
    /// The time at which the next node should act on the frame.
    pub acts: Time,
    /// The number of the port.
    pub port: u16,
    /// The bytes of the frame.
    pub frame: FrameRecord,
}

/// The bytes of a frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameRecord {
    /// The bytes before the payload, or all bytes of a frame without payload, in hexadecimal digits.
    pub head: String,
    /// The message of the payload, its offset in the message, and its length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<(u32, u64, u16)>,
    /// The bytes after the payload, in hexadecimal digits.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tail: String,
}

impl SentRecord {
    pub fn of(frame: &Frame) -> SentRecord {
        let record = FrameRecord::of(&frame.bytes, frame.payload.as_ref());
        SentRecord { acts: frame.acts, port: frame.port, frame: record }
    }
}

impl FrameRecord {
    pub fn of(bytes: &[u8], payload: Option<&PayloadPlace>) -> FrameRecord {
        match payload {
            None => FrameRecord { head: digits(bytes), payload: None, tail: String::new() },
            Some((place, message, offset)) => FrameRecord {
                head: digits(&bytes[..place.start]),
                payload: Some((message.0, *offset, place.len() as u16)),
                tail: digits(&bytes[place.end..]),
            },
        }
    }

    /// The bytes of the frame. None if `head` or `tail` has an odd length, or characters other than hexadecimal digits.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        let mut bytes = from_digits(&self.head)?;
        if let Some((message, offset, length)) = self.payload {
            let begin = bytes.len();
            bytes.resize(begin + usize::from(length), 0);
            pattern::fill(MessageId(message), offset, &mut bytes[begin..]);
        }
        bytes.extend(from_digits(&self.tail)?);
        Some(bytes)
    }
}

fn digits(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|digit| DIGITS[usize::from(digit)] as char)
        .collect()
}

fn from_digits(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| (byte as char).to_digit(16).map(|digit| digit as u8);
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| Some(digit(pair[0])? << 4 | digit(*pair.get(1)?)?)).collect()
}

pub fn file_of(folder: &Path, process: usize) -> PathBuf {
    folder.join(format!("process-{process}.jsonl"))
}

pub struct Recorder {
    out: BufWriter<File>,
    path: PathBuf,
}

impl Recorder {
    /// Creates the file of a process in `folder`, which must exist.
    pub fn create(folder: &Path, process: usize) -> Result<Recorder, LiveError> {
        let path = file_of(folder, process);
        let file = File::create(&path).map_err(|error| unwritable(&path, error))?;
        Ok(Recorder { out: BufWriter::with_capacity(1 << 20, file), path })
    }

    pub fn write(&mut self, entry: &Entry) -> Result<(), LiveError> {
        let written = serde_json::to_writer(&mut self.out, entry).map_err(std::io::Error::from);
        let written = written.and_then(|()| self.out.write_all(b"\n"));
        written.map_err(|error| unwritable(&self.path, error))
    }

    /// Writes the buffered lines to the file.
    pub fn finish(mut self) -> Result<(), LiveError> {
        self.out.flush().map_err(|error| unwritable(&self.path, error))
    }
}

fn unwritable(path: &Path, error: std::io::Error) -> LiveError {
    LiveError::System { what: format!("{} cannot be written", path.display()), error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_has_the_bytes_of_its_record() {
        let mut bytes = b"head".to_vec();
        bytes.resize(4 + 11, 0);
        pattern::fill(MessageId(3), 77, &mut bytes[4..]);
        bytes.extend(b"tail");
        let record = FrameRecord::of(&bytes, Some(&(4..15, MessageId(3), 77)));
        assert_eq!(record.bytes(), Some(bytes.clone()));
        assert_eq!(FrameRecord::of(&bytes, None).bytes(), Some(bytes));
        assert_eq!(from_digits("0g"), None);
        assert_eq!(from_digits("012"), None);
    }
}
