//! The files of a transfer at its receiver.
//!
//! Messages arrive in any order. If the files go to a folder, each message is written at its offset as soon as its
//! file is known. The name of a file ends with `.part` until the file is whole. If the files go to standard output, a
//! message waits for all messages before it, and for a slow reader of the pipe.

use super::{Output, Stored, system};
use crate::error::LiveError;
use crc32fast::Hasher;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::collections::{BTreeMap, VecDeque};
use std::fs::{File, OpenOptions, hard_link, remove_file, rename};
use std::io::{self, ErrorKind, stdout};
use std::mem;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A file has fewer messages than this number. Message `i` of file `f` has the number `f * MOST_MESSAGES + i`.
pub const MOST_MESSAGES: u32 = 1 << 20;
/// The largest number of files of a transfer.
pub const MOST_FILES: u32 = u32::MAX / MOST_MESSAGES;

pub struct Sink {
    output: Output,
    message_bytes: u64,
    files: BTreeMap<u32, Arriving>,
    /// The messages whose file is not known yet, or that wait for earlier messages.
    waiting: BTreeMap<u32, Vec<u8>>,
    /// The messages for standard output, in order.
    leaving: VecDeque<Vec<u8>>,
    /// The number of bytes of the first message of `leaving` that are written.
    left: usize,
    /// The number of messages that are written.
    pub written: u64,
}

struct Arriving {
    name: String,
    /// The number of messages, the length and the CRC-32, once the sender has reported them.
    end: Option<(u32, u64, u32)>,
    /// The file in a folder, and its path, which ends with `.part`. None on standard output.
    file: Option<(File, PathBuf)>,
    /// The CRC-32 of the messages with an index below `checked`. `later` has the CRC-32 of each message after a
    /// missing message.
    crc: Hasher,
    checked: u32,
    later: BTreeMap<u32, Hasher>,
    messages: u32,
    bytes: u64,
}

impl Sink {
    pub fn new(output: Output, message_bytes: u32) -> Sink {
        Sink {
            output,
            message_bytes: message_bytes.into(),
            files: BTreeMap::new(),
            waiting: BTreeMap::new(),
            leaving: VecDeque::new(),
            left: 0,
            written: 0,
        }
    }

    pub fn begin(&mut self, number: u32, name: String) -> Result<(), LiveError> {
        // A name with folders could lead out of the folder of the receiver.
        if Path::new(&name).file_name().is_none_or(|file| file != name.as_str()) {
            return Err(LiveError::Broken(format!(
                "the sender names a file {name:?}, which is no name of a file"
            )));
        }
        let file = match &self.output {
            Output::Standard => None,
            Output::Folder(folder) => {
                let (whole, part) = (folder.join(&name), folder.join(format!("{name}.part")));
                if whole.exists() {
                    return Err(exists(&whole));
                }
                let file = OpenOptions::new().write(true).create_new(true).open(&part).map_err(|error| {
                    match error.kind() {
                        ErrorKind::AlreadyExists => LiveError::Broken(format!(
                            "{} exists already: another transfer writes it, or was ended early\n  help: remove it, or \
                             name another folder with --out",
                            part.display()
                        )),
                        _ => system(&format!("{} cannot be written", part.display()))(error),
                    }
                })?;
                Some((file, part))
            }
        };
        let (crc, later) = (Hasher::new(), BTreeMap::new());
        let arriving = Arriving { name, end: None, file, crc, checked: 0, later, messages: 0, bytes: 0 };
        self.files.insert(number, arriving);
        self.write_waiting(&mut Vec::new())
    }

    /// Takes a message that has arrived whole. The memory of messages that are written at once goes to `free`.
    pub fn put(&mut self, message: u32, bytes: Vec<u8>, free: &mut Vec<Vec<u8>>) -> Result<(), LiveError> {
        self.waiting.insert(message, bytes);
        self.write_waiting(free)
    }

    fn write_waiting(&mut self, free: &mut Vec<Vec<u8>>) -> Result<(), LiveError> {
        let in_order = self.output == Output::Standard;
        let mut next = self.waiting.first_key_value().map(|(message, _)| *message);
        while let Some(message) = next {
            let (number, index) = (message / MOST_MESSAGES, message % MOST_MESSAGES);
            let is_turn = !in_order || self.files.keys().next() == Some(&number);
            match self.files.get_mut(&number).filter(|file| is_turn && (!in_order || index == file.checked)) {
                Some(file) => {
                    let Some(bytes) = self.waiting.remove(&message) else { break };
                    file.take(index, &bytes, self.message_bytes)?;
                    match &file.file {
                        Some(_) => {
                            self.written += 1;
                            free.push(bytes);
                        }
                        None => self.leaving.push_back(bytes),
                    }
                }
                None if in_order => break,
                None => {}
            }
            next = self.waiting.range(message + 1..).next().map(|(message, _)| *message);
        }
        Ok(())
    }

    /// Writes messages to standard output until a write would have to wait for the reader.
    pub fn write_out(&mut self, free: &mut Vec<Vec<u8>>) -> Result<(), LiveError> {
        while let Some(bytes) = self.leaving.front() {
            let out = stdout();
            let mut fds = [PollFd::new(out.as_fd(), PollFlags::POLLOUT)];
            if matches!(poll(&mut fds, PollTimeout::ZERO), Ok(0)) {
                break;
            }
            // A pipe that is ready takes `PIPE_BUF` bytes without waiting.
            let end = bytes.len().min(self.left + libc::PIPE_BUF);
            match nix::unistd::write(&out, &bytes[self.left..end]) {
                Ok(written) => self.left += written,
                Err(Errno::EAGAIN | Errno::EINTR) => break,
                Err(error) => return Err(system("standard output cannot be written")(error.into())),
            }
            if self.left == bytes.len() {
                self.left = 0;
                self.written += 1;
                free.extend(self.leaving.pop_front());
            }
        }
        Ok(())
    }

    /// Whether messages wait for the reader of standard output.
    pub fn waits_for_reader(&self) -> bool {
        !self.leaving.is_empty()
    }

    pub fn end(&mut self, number: u32, end: (u32, u64, u32)) {
        if let Some(file) = self.files.get_mut(&number) {
            file.end = Some(end);
        }
    }

    /// Completes the next file that has arrived whole. None if no file is whole, or while messages wait for the reader
    /// of standard output.
    pub fn next_whole(&mut self) -> Result<Option<Stored>, LiveError> {
        if self.waits_for_reader() {
            return Ok(None);
        }
        let is_whole = |file: &Arriving| file.end.is_some_and(|(messages, ..)| file.messages == messages);
        let number = self.files.iter().find(|(_, file)| is_whole(file)).map(|(number, _)| *number);
        let Some((number, file)) = number.and_then(|number| Some((number, self.files.remove(&number)?)))
        else {
            return Ok(None);
        };
        let stored = file.finish(number)?;
        // Messages of the next file may have waited for their turn.
        self.write_waiting(&mut Vec::new())?;
        Ok(Some(stored))
    }

    /// The number of bytes that have arrived in the files that are not completed yet.
    pub fn bytes(&self) -> u64 {
        self.files.values().map(|file| file.bytes).sum()
    }
}

/// A file that does not become whole is removed when its transfer ends.
impl Drop for Arriving {
    fn drop(&mut self) {
        if let Some((_, part)) = &self.file {
            // An error is ignored, because the name still shows that the file is not whole.
            let _ = remove_file(part);
        }
    }
}

impl Arriving {
    /// Writes a message to the file, if there is one, and adds it to the CRC-32.
    fn take(&mut self, index: u32, bytes: &[u8], message_bytes: u64) -> Result<(), LiveError> {
        if let Some((file, _)) = &self.file {
            let written = file.write_all_at(bytes, u64::from(index) * message_bytes);
            written.map_err(system(&format!("{} cannot be written", self.name)))?;
        }
        let mut crc = Hasher::new();
        crc.update(bytes);
        self.later.insert(index, crc);
        while let Some(crc) = self.later.remove(&self.checked) {
            self.crc.combine(&crc);
            self.checked += 1;
        }
        self.messages += 1;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    fn finish(mut self, number: u32) -> Result<Stored, LiveError> {
        let (found, (_, bytes, crc)) = (mem::take(&mut self.crc).finalize(), self.end.unwrap_or_default());
        if (found, self.bytes) != (crc, bytes) {
            return Err(LiveError::Broken(format!(
                "{} arrived with other bytes than were sent: {} bytes with CRC-32 {found:08x}, not {bytes} with {crc:08x}",
                self.name, self.bytes
            )));
        }
        if let Some((_, part)) = self.file.take() {
            let whole = part.with_file_name(&self.name);
            if let Err(error) = rename_to_new(&part, &whole) {
                // An error is ignored, because the file's name shows that it is not whole.
                let _ = remove_file(&part);
                return Err(match error.kind() {
                    ErrorKind::AlreadyExists => exists(&whole),
                    _ => system(&format!("{} cannot be written", self.name))(error),
                });
            }
        }
        Ok(Stored { number, name: mem::take(&mut self.name), bytes, crc32: format!("{crc:08x}") })
    }
}

fn exists(file: &Path) -> LiveError {
    LiveError::Broken(format!("{} exists already\n  help: name another folder with --out", file.display()))
}

/// Renames a file, unless there is one with the new name.
fn rename_to_new(from: &Path, to: &Path) -> io::Result<()> {
    match hard_link(from, to) {
        Ok(()) => remove_file(from),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(error),
        // Not every file system has hard links.
        Err(_) if to.exists() => Err(ErrorKind::AlreadyExists.into()),
        Err(_) => rename(from, to),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_in_any_order_are_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let mut sink = Sink::new(Output::Folder(folder.path().to_owned()), 10);
        let bytes: Vec<u8> = (0..25).collect();
        let (mut free, first) = (Vec::new(), MOST_MESSAGES);
        sink.put(first + 2, bytes[20..].to_vec(), &mut free).unwrap();
        sink.begin(0, "empty".to_owned()).unwrap();
        assert_eq!(free.len(), 0, "its file is not known yet");
        sink.end(0, (0, 0, 0));
        sink.begin(1, "a".to_owned()).unwrap();
        sink.put(first, bytes[..10].to_vec(), &mut free).unwrap();
        sink.end(1, (3, 25, crc32fast::hash(&bytes)));
        assert_eq!(sink.next_whole().unwrap().unwrap().bytes, 0);
        assert_eq!(sink.next_whole().unwrap(), None);
        sink.put(first + 1, bytes[10..20].to_vec(), &mut free).unwrap();
        let stored = sink.next_whole().unwrap().unwrap();
        assert_eq!((stored.name.as_str(), stored.bytes), ("a", 25));
        assert_eq!(std::fs::read(folder.path().join("a")).unwrap(), bytes);
    }

    #[test]
    fn a_file_that_appears_meanwhile_stays() {
        let folder = tempfile::tempdir().unwrap();
        let put = |sink: &mut Sink, number: u32, bytes: &[u8]| {
            sink.put(number * MOST_MESSAGES, bytes.to_vec(), &mut Vec::new()).unwrap();
            sink.end(number, (1, bytes.len() as u64, crc32fast::hash(bytes)));
        };
        let mut sink = Sink::new(Output::Folder(folder.path().to_owned()), 10);
        sink.begin(0, "a.part".to_owned()).unwrap();
        sink.begin(1, "a".to_owned()).unwrap();
        put(&mut sink, 0, b"first");
        let error = sink.next_whole().unwrap_err().to_string();
        assert!(error.contains("a.part exists already"), "{error}");
        put(&mut sink, 1, b"second");
        assert_eq!(sink.next_whole().unwrap().unwrap().name, "a");
        assert_eq!(std::fs::read(folder.path().join("a")).unwrap(), b"second");
        sink.begin(2, "b".to_owned()).unwrap();
        std::fs::write(folder.path().join("b"), "mine").unwrap();
        put(&mut sink, 2, b"third");
        let error = sink.next_whole().unwrap_err().to_string();
        assert!(error.contains("b exists already"), "{error}");
        assert_eq!(std::fs::read(folder.path().join("b")).unwrap(), b"mine");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "parts are removed");
    }

    #[test]
    fn other_bytes_and_names_outside_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let mut sink = Sink::new(Output::Folder(folder.path().to_owned()), 10);
        for name in ["../a", "", "/etc/a", "a/b", ".."] {
            let error = sink.begin(0, name.to_owned()).unwrap_err().to_string();
            assert!(error.contains("no name of a file"), "{error}");
        }
        sink.begin(0, "a".to_owned()).unwrap();
        let error = sink.begin(1, "a".to_owned()).unwrap_err().to_string();
        assert!(error.contains("exists already"), "{error}");
        sink.put(0, vec![1, 2], &mut Vec::new()).unwrap();
        sink.end(0, (1, 2, crc32fast::hash(&[1, 3])));
        let error = sink.next_whole().unwrap_err().to_string();
        assert!(error.contains("other bytes than were sent"), "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "the damaged file is removed");
        sink.begin(2, "b".to_owned()).unwrap();
        assert!(folder.path().join("b.part").exists());
        drop(sink);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left that is not whole");
    }
}
