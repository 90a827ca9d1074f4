//! The files and streams of a sender, cut into messages.

use super::endpoints::LARGEST_MESSAGE;
use super::sink::{MOST_FILES, MOST_MESSAGES};
use super::system;
use crate::error::LiveError;
use crc32fast::Hasher;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{ErrorKind, Read, stdin};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

/// A file or a stream to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// The file or named pipe with this path.
    File(PathBuf),
    /// Standard input.
    Standard,
}

/// Checks the number of inputs and the lengths of regular files, before a connection is made.
pub fn check(inputs: &[Input], message_bytes: u32) -> Result<(), LiveError> {
    if inputs.len() > MOST_FILES as usize {
        return Err(too_many_files());
    }
    inputs.iter().try_for_each(|input| match input {
        // A file that cannot be read is an error when it is opened.
        Input::File(path) => std::fs::metadata(path).map_or(Ok(()), |file| {
            check_length(&input.name(), file.is_file().then_some(file.len()), message_bytes)
        }),
        Input::Standard => Ok(()),
    })
}

/// The most messages of a file.
const FULL_FILE: u64 = MOST_MESSAGES as u64 - 1;
/// The name of standard input at the receiver.
const STANDARD: &str = "stdin";

impl Input {
    /// The name of the file at the receiver.
    pub fn name(&self) -> String {
        match self {
            Input::File(path) => path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            Input::Standard => STANDARD.to_owned(),
        }
    }
}

pub enum Part {
    Begin { number: u32, name: String, bytes: Option<u64> },
    Message { number: u32, bytes: Vec<u8> },
    End { number: u32, messages: u32, bytes: u64, crc: u32 },
}

struct Open {
    reader: File,
    name: String,
    number: u32,
    messages: u32,
    bytes: u64,
    crc: Hasher,
    is_at_end: bool,
}

pub struct Source {
    inputs: VecDeque<Input>,
    open: Option<Open>,
    message_bytes: usize,
    files: u32,
    /// Memory for the next message, of which `filled` bytes are read.
    part: Vec<u8>,
    filled: usize,
    /// Whether the stream has no bytes at present.
    waits: bool,
}

impl Source {
    pub fn new(inputs: Vec<Input>, message_bytes: u32) -> Source {
        Source {
            inputs: inputs.into(),
            open: None,
            message_bytes: message_bytes as usize,
            files: 0,
            part: Vec::new(),
            filled: 0,
            waits: false,
        }
    }

    /// The total length of all inputs. None if one of them is not a regular file.
    pub fn length(&self) -> Option<u64> {
        let of = |input: &Input| match input {
            Input::File(path) => {
                std::fs::metadata(path).ok().filter(|file| file.is_file()).map(|file| file.len())
            }
            Input::Standard => None,
        };
        self.inputs.iter().map(of).sum()
    }

    pub fn is_done(&self) -> bool {
        self.open.is_none() && self.inputs.is_empty()
    }

    /// The file descriptor of the open input, if this input has no bytes at present.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.open.as_ref().filter(|_| self.waits).map(|open| open.reader.as_fd())
    }

    /// The next part. None after the last part, or if the stream has no bytes at present. A message may reuse a buffer
    /// of `memory`.
    pub fn next(&mut self, memory: &mut Vec<Vec<u8>>) -> Result<Option<Part>, LiveError> {
        let Some(open) = &mut self.open else {
            let Some(input) = self.inputs.pop_front() else { return Ok(None) };
            return self.begin(&input).map(Some);
        };
        if self.part.capacity() == 0 {
            self.part = memory.pop().unwrap_or_default();
            self.part.resize(self.message_bytes, 0);
        }
        self.waits = false;
        while self.filled < self.message_bytes && !open.is_at_end {
            if !is_ready(&open.reader) {
                self.waits = true;
                return Ok(None);
            }
            match open.reader.read(&mut self.part[self.filled..]) {
                Ok(0) => open.is_at_end = true,
                Ok(bytes) => self.filled += bytes,
                Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
                Err(error) => return Err(system(&format!("{} cannot be read", open.name))(error)),
            }
        }
        if self.filled == 0 {
            let Open { number, messages, bytes, crc, .. } = open;
            let (number, messages) = (*number, *messages);
            let end = Part::End { number, messages, bytes: *bytes, crc: crc.clone().finalize() };
            self.open = None;
            return Ok(Some(end));
        }
        self.part.truncate(self.filled);
        self.filled = 0;
        open.bytes += self.part.len() as u64;
        open.crc.update(&self.part);
        let number = open.number * MOST_MESSAGES + open.messages;
        open.messages += 1;
        if open.messages == MOST_MESSAGES {
            return Err(too_long(&open.name, None, self.message_bytes as u32));
        }
        Ok(Some(Part::Message { number, bytes: std::mem::take(&mut self.part) }))
    }

    fn begin(&mut self, input: &Input) -> Result<Part, LiveError> {
        let name = input.name();
        let unreadable = |error| system(&format!("{name} cannot be read"))(error);
        let (reader, bytes) = match input {
            // Bytes in the buffer of `Stdin` would be invisible to `is_ready`.
            Input::Standard => {
                (stdin().as_fd().try_clone_to_owned().map(File::from).map_err(unreadable)?, None)
            }
            Input::File(path) => {
                // With `O_NONBLOCK`, a named pipe opens before it has a writer.
                let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path);
                let file = file.map_err(unreadable)?;
                let metadata = file.metadata().map_err(unreadable)?;
                (file, metadata.is_file().then_some(metadata.len()))
            }
        };
        check_length(&name, bytes, self.message_bytes as u32)?;
        let number = self.files;
        self.files += 1;
        if number >= MOST_FILES {
            return Err(too_many_files());
        }
        let part = Part::Begin { number, name: name.clone(), bytes };
        let (crc, is_at_end) = (Hasher::new(), false);
        self.open = Some(Open { reader, name, number, messages: 0, bytes: 0, crc, is_at_end });
        Ok(part)
    }
}

fn check_length(name: &str, bytes: Option<u64>, message_bytes: u32) -> Result<(), LiveError> {
    match bytes {
        Some(bytes) if bytes.div_ceil(message_bytes.into()) > FULL_FILE => {
            Err(too_long(name, Some(bytes), message_bytes))
        }
        _ => Ok(()),
    }
}

/// The error for an input of `bytes` bytes, if its length is known.
fn too_long(name: &str, bytes: Option<u64>, message_bytes: u32) -> LiveError {
    let help = match bytes.map(|bytes| bytes.div_ceil(FULL_FILE)) {
        Some(enough) if enough <= LARGEST_MESSAGE.into() => format!("--message {enough}B, or more"),
        None if message_bytes < 1 << 20 => "--message 1MiB is enough for 1 TB".to_owned(),
        None if message_bytes < LARGEST_MESSAGE => "--message 64MiB is enough for 70 TB".to_owned(),
        _ => "cut it into parts of at most 70 TB, and use --message 64MiB".to_owned(),
    };
    LiveError::Unsupported(format!(
        "{name} has more than {FULL_FILE} messages of {message_bytes} bytes\n  help: {help}"
    ))
}

fn too_many_files() -> LiveError {
    LiveError::Unsupported(format!(
        "there are more than {MOST_FILES} files\n  help: send them in several transfers, or as one stream with tar"
    ))
}

/// Whether a read returns at once. A read that waits would stop the signs of life.
fn is_ready(file: &File) -> bool {
    let mut fds = [PollFd::new(file.as_fd(), PollFlags::POLLIN)];
    !matches!(poll(&mut fds, PollTimeout::ZERO), Ok(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hint_for_a_long_input_is_a_size_that_carries_it() {
        let help = |bytes, message_bytes| {
            let error = too_long("long", bytes, message_bytes).to_string();
            error.split("help: ").nth(1).map(str::to_owned).unwrap_or_default()
        };
        assert_eq!(help(Some(200_000_000), 64), "--message 191B, or more");
        assert!(check_length("long", Some(200_000_000), 191).is_ok());
        assert!(check_length("long", Some(200_000_000), 190).is_err());
        assert_eq!(help(None, 64), "--message 1MiB is enough for 1 TB");
        assert!(check_length("long", Some(1_000_000_000_000), 1 << 20).is_ok());
        assert_eq!(help(None, 1 << 20), "--message 64MiB is enough for 70 TB");
        assert!(check_length("long", Some(70_000_000_000_000), LARGEST_MESSAGE).is_ok());
        assert!(help(Some(80_000_000_000_000), 64).starts_with("cut it into parts of at most 70 TB"));
    }

    #[test]
    fn a_file_of_too_many_messages_is_refused_before_it_is_sent() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("long");
        // The file has no blocks on the disk.
        File::create(&path).unwrap().set_len(64 << 20).unwrap();
        let next = |message_bytes| {
            let first = Source::new(vec![Input::File(path.clone())], message_bytes).next(&mut Vec::new());
            first.map(|part| part.is_some()).map_err(|error| error.to_string())
        };
        assert_eq!(next(65), Ok(true));
        let error = next(64).unwrap_err();
        assert!(error.contains("long has more than 1048575 messages of 64 bytes"), "{error}");
        assert!(error.contains("help: --message 65B"), "{error}");
    }
}
