//! The receiver of files.

use super::control::{Control, FromReceiver, FromSender, Grant, Offer};
use super::datagram::{Batch, Codec, Losses, ReceiveBuffer, Socket, transfer_of};
use super::endpoints::Endpoints;
use super::sink::Sink;
use super::{Progress, ReceiveSettings, Statistics, Stored, core_time, system};
use crate::clock::monotonic_ns;
use crate::error::LiveError;
use anabranch_base::{HostId, MessageId, Time};
use anabranch_proto::transport::{AnyReceiver, PayloadRange, PullPacer};
use anabranch_proto::{Packet, Repr};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Error, ErrorKind, stdout};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::time::Duration as RealDuration;

const LONGEST_WAIT_NS: u64 = 100_000_000;
/// The most batches that are received before connections are handled.
const RECEIVED_AT_ONCE: usize = 8;

/// Receives files until the expected number of senders have finished or failed.
///
/// # Errors
/// A transfer fails if the address cannot be used, if a file cannot be written, if a file arrives damaged, if a sender
/// is gone, silent or of another version, or if the user interrupts the transfers. If a sender fails, the other senders
/// are still served before the error is returned.
pub fn receive(settings: &ReceiveSettings<'_>) -> Result<Vec<Statistics>, LiveError> {
    let at = settings.listen;
    let listener = TcpListener::bind(at).map_err(|error| cannot_listen(at, &error))?;
    listener.set_nonblocking(true).map_err(system("the listening socket"))?;
    // With port 0, the system chooses one.
    let at = listener.local_addr().map_err(system("the listening socket"))?;
    let socket = Socket::bind(at).map_err(|error| cannot_listen(at, &error))?;
    let (sessions, expected) = (BTreeMap::new(), settings.senders);
    let mut receiver = Receiver { settings, listener, socket, sessions, begun: 0, expected };
    (settings.listening)(at)?;
    let (mut ended, mut failure, mut buffer) = (Vec::new(), None, ReceiveBuffer::new());
    while (ended.len() as u32) < settings.senders {
        if (settings.common.interrupted)() {
            return Err(LiveError::Interrupted);
        }
        let has_received = receiver.receive(&mut buffer)?;
        receiver.accept()?;
        for (session, error) in receiver.handle_sessions() {
            if error.is_some() {
                session.control.close();
            }
            ended.push(session.statistics);
            failure = failure.or(error);
        }
        let bytes = receiver.sessions.values().map(Session::bytes).sum::<u64>();
        let before = ended.iter().map(|statistics: &Statistics| statistics.bytes).sum::<u64>();
        let mut expected = receiver.sessions.values().map(|session| session.expected);
        // The lengths are those that the senders announce, which may be any numbers.
        let of = expected.try_fold(before, |sum: u64, bytes| Some(sum.saturating_add(bytes?)));
        (settings.common.progress)(Progress { bytes: bytes + before, of });
        if !has_received {
            receiver.wait();
        }
    }
    failure.map_or(Ok(ended), Err)
}

fn cannot_listen(at: SocketAddr, error: &Error) -> LiveError {
    let free = SocketAddr::new(at.ip(), 0);
    let (why, help) = match error.kind() {
        ErrorKind::AddrInUse => (
            "another program uses the port".to_owned(),
            format!("--listen {free} takes a free port and prints it for the sender's --to"),
        ),
        ErrorKind::AddrNotAvailable => (
            "this machine has no such address".to_owned(),
            "one of those that `ip address` lists, or 0.0.0.0 for all of them".to_owned(),
        ),
        ErrorKind::PermissionDenied => (
            "permission denied".to_owned(),
            format!("--listen {} has a port above 1023", SocketAddr::new(at.ip(), 4791)),
        ),
        _ => (error.to_string(), format!("--listen {free}, for example")),
    };
    LiveError::Broken(format!("the receiver cannot listen at {at}: {why}\n  help: {help}"))
}

struct Receiver<'s> {
    settings: &'s ReceiveSettings<'s>,
    listener: TcpListener,
    socket: Socket,
    sessions: BTreeMap<u32, Session>,
    /// The number of connections accepted so far, which is the number of the next session.
    begun: u32,
    /// The number of expected senders that have not greeted yet.
    expected: u32,
}

/// The transfer from one sender.
struct Session {
    control: Control,
    /// Whether the peer counts as one of the expected senders. Other programs may connect, too.
    is_expected: bool,
    /// The state of the transfer, once the offer of the sender is accepted.
    running: Option<Running>,
    sink: Option<Sink>,
    begin_ns: u64,
    /// The total length of the files that the sender has announced so far. None if one of them is a stream.
    expected: Option<u64>,
    stored: Vec<Stored>,
    files: u32,
    /// The number of messages that were reported to the sender as written.
    reported: u64,
    /// Whether the sender has reported that there are no more files.
    is_finished: bool,
    statistics: Statistics,
}

/// The protocol state machines of a transfer, and the memory for its messages.
struct Running {
    receivers: Vec<AnyReceiver>,
    pulls: Option<PullPacer>,
    codec: Codec,
    answers: Batch,
    losses: Losses,
    message_bytes: usize,
    /// For each message that is arriving, its memory and the end of the bytes received so far.
    memory: BTreeMap<u32, (Vec<u8>, usize)>,
    free: Vec<Vec<u8>>,
    delivered: BTreeSet<u32>,
    /// The messages that are whole and wait to be written.
    whole: Vec<(u32, Vec<u8>)>,
    begin_ns: u64,
}

impl Receiver<'_> {
    fn accept(&mut self) -> Result<(), LiveError> {
        loop {
            let (stream, from) = match self.listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => break,
                Err(error) => return Err(system("a connection")(error)),
            };
            let control =
                Control::new(stream, format!("the sender at {from}"), self.settings.common.silence)?;
            let session = Session {
                control,
                is_expected: false,
                running: None,
                sink: None,
                begin_ns: monotonic_ns(),
                expected: Some(0),
                stored: Vec::new(),
                files: 0,
                reported: 0,
                is_finished: false,
                statistics: Statistics::default(),
            };
            self.sessions.insert(self.begun, session);
            self.begun += 1;
        }
        Ok(())
    }

    /// Handles packets that have arrived. Returns false if there were none.
    fn receive(&mut self, buffer: &mut ReceiveBuffer) -> Result<bool, LiveError> {
        let Receiver { socket, sessions, .. } = self;
        let mut has_received = false;
        for _ in 0..RECEIVED_AT_ONCE {
            let more = socket.receive(buffer, |is_marked, frame| {
                let session = transfer_of(frame).and_then(|number| sessions.get_mut(&number));
                match session {
                    Some(session) => session.handle_datagram(is_marked, frame, socket),
                    // The packet belongs to a transfer that has ended, or to no transfer.
                    None => Ok(()),
                }
            })?;
            if !more {
                break;
            }
            has_received = true;
        }
        for session in sessions.values_mut() {
            if let Some(running) = &mut session.running {
                running.pull(socket, &mut session.statistics)?;
                running.answers.flush(socket)?;
            }
        }
        Ok(has_received)
    }

    /// Handles the connections. Removes and returns the transfers that have ended, each with its error if it failed.
    fn handle_sessions(&mut self) -> Vec<(Session, Option<LiveError>)> {
        let mut ended = Vec::new();
        let numbers: Vec<u32> = self.sessions.keys().copied().collect();
        for number in numbers {
            let Some(session) = self.sessions.get_mut(&number) else { continue };
            let handled = session.handle(number, self.settings, &mut self.expected);
            if matches!(handled, Ok(false)) {
                continue;
            }
            let Some(mut session) = self.sessions.remove(&number) else { continue };
            if !session.is_expected {
                // The peer was no sender, or there were already enough senders.
                continue;
            }
            if let Err(error) = &handled {
                // A sender that is gone cannot be notified.
                let _ = session.control.send(&FromReceiver::Failed(error.to_string()));
                session.sink = None;
            }
            let lost = session.running.as_ref().map_or(0, |running| running.losses.count);
            session.statistics.lost_on_purpose = lost;
            session.statistics.files = std::mem::take(&mut session.stored);
            session.statistics.finish(session.begin_ns);
            ended.push((session, handled.err()));
        }
        ended
    }

    fn wait(&self) {
        let mut ns = LONGEST_WAIT_NS;
        for running in self.sessions.values().filter_map(|session| session.running.as_ref()) {
            let due = running.pulls.as_ref().and_then(PullPacer::next_timeout);
            ns = ns.min(due.map_or(LONGEST_WAIT_NS, |due| due.since(core_time(running.begin_ns)).0 / 1000));
        }
        let mut fds = vec![
            PollFd::new(self.listener.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.socket.udp.as_fd(), PollFlags::POLLIN),
        ];
        fds.extend(
            self.sessions.values().map(|session| PollFd::new(session.control.fd(), PollFlags::POLLIN)),
        );
        let out = stdout();
        if self.sessions.values().filter_map(|session| session.sink.as_ref()).any(Sink::waits_for_reader) {
            fds.push(PollFd::new(out.as_fd(), PollFlags::POLLOUT));
        }
        // If a signal interrupts the wait, the caller waits again.
        let _ = ppoll(&mut fds, Some(TimeSpec::from_duration(RealDuration::from_nanos(ns))), None);
    }
}

impl Session {
    /// Handles the connection. Returns whether the session has ended.
    fn handle(
        &mut self,
        number: u32,
        settings: &ReceiveSettings<'_>,
        expected: &mut u32,
    ) -> Result<bool, LiveError> {
        if !self.control.is_greeted() && !self.begin(number, settings, expected)? {
            // The session of a refused peer has ended.
            return Ok(self.control.is_greeted());
        }
        self.control.sign(&FromReceiver::Alive)?;
        let (Some(running), Some(sink)) = (&mut self.running, &mut self.sink) else { return Ok(false) };
        while let Some(message) = self.control.next()? {
            match message {
                FromSender::Begin { number, name, bytes } => {
                    self.files += 1;
                    self.expected = match (self.expected, bytes) {
                        (Some(sum), Some(bytes)) => Some(sum.checked_add(bytes).ok_or_else(|| {
                            let peer = &self.control.peer;
                            LiveError::Broken(format!(
                                "{peer} announces files of more than {} bytes",
                                u64::MAX
                            ))
                        })?),
                        _ => None,
                    };
                    sink.begin(number, name)?;
                }
                FromSender::End { number, messages, bytes, crc } => sink.end(number, (messages, bytes, crc)),
                FromSender::Finished => {
                    self.is_finished = true;
                    break;
                }
                FromSender::Alive => {}
            }
        }
        for (message, bytes) in running.whole.drain(..) {
            sink.put(message, bytes, &mut running.free)?;
        }
        sink.write_out(&mut running.free)?;
        if sink.written > self.reported {
            self.reported = sink.written;
            self.control.send(&FromReceiver::Written(sink.written))?;
        }
        while let Some(stored) = sink.next_whole()? {
            self.control.send(&FromReceiver::Stored(stored.clone()))?;
            self.stored.push(stored);
        }
        Ok(self.is_finished && self.stored.len() as u32 == self.files)
    }

    /// Handles the offer of a sender, once the offer has arrived. Returns whether the transfer begins.
    fn begin(
        &mut self,
        number: u32,
        settings: &ReceiveSettings<'_>,
        expected: &mut u32,
    ) -> Result<bool, LiveError> {
        let offer = match self.control.greeting::<Offer>() {
            Ok(None) => return Ok(false),
            Ok(Some(_)) if *expected == 0 => {
                let why = format!(
                    "it has all senders that it waits for ({0})\n  help: send when it is done, or begin it with --senders {1}",
                    settings.senders,
                    settings.senders + 1
                );
                // A sender that is gone cannot be notified.
                let _ = self.control.greet(&Grant::Refused(why));
                return Ok(false);
            }
            Ok(Some(offer)) => offer,
            Err(error) => {
                self.is_expected = self.control.has_spoken() && *expected > 0;
                *expected -= u32::from(self.is_expected);
                // A sender of another version can read the version in this greeting.
                let _ = self.control.greet(&Grant::Refused("it is of another version".to_owned()));
                return Err(error);
            }
        };
        self.is_expected = true;
        *expected -= 1;
        match Running::new(number, &offer, &self.control, settings) {
            Ok(running) => self.running = Some(running),
            Err(error) => {
                self.control.greet(&Grant::Refused(error.to_string()))?;
                return Err(error);
            }
        }
        self.sink = Some(Sink::new(settings.output.clone(), offer.parameters.message_bytes));
        self.control.greet(&Grant::Transfer(number))?;
        self.begin_ns = monotonic_ns();
        Ok(true)
    }

    fn handle_datagram(
        &mut self,
        is_marked: bool,
        frame: &mut [u8],
        socket: &Socket,
    ) -> Result<(), LiveError> {
        let Some(running) = &mut self.running else { return Ok(()) };
        let statistics = &mut self.statistics;
        let now = core_time(running.begin_ns);
        let Ok(read) = running.codec.decode((now, HostId(1)), is_marked, frame) else {
            statistics.unreadable += 1;
            return Ok(());
        };
        if !read.packet.is_for_receiver() {
            statistics.unreadable += 1;
            return Ok(());
        }
        statistics.marked += u64::from(is_marked);
        if let (Repr::Data { message, .. }, Some((place, offset))) = (read.packet.repr, read.payload) {
            statistics.data_packets += 1;
            if !running.place(message, offset, &frame[place]) {
                statistics.unreadable += 1;
                return Ok(());
            }
        }
        running.handle_packet(now, &read.packet, socket, statistics)
    }

    /// The number of bytes of files that the sink has received, including whole files.
    fn bytes(&self) -> u64 {
        self.sink.as_ref().map_or(0, Sink::bytes) + self.stored.iter().map(|stored| stored.bytes).sum::<u64>()
    }
}

impl Running {
    fn new(
        number: u32,
        offer: &Offer,
        control: &Control,
        settings: &ReceiveSettings<'_>,
    ) -> Result<Running, LiveError> {
        let parameters = &offer.parameters;
        let Endpoints { receivers, pulls, .. } = Endpoints::new(parameters)?;
        let to = SocketAddr::new(control.address()?.ip(), offer.answers);
        Ok(Running {
            receivers,
            pulls,
            codec: Codec::new(number, parameters.qps),
            answers: Batch::new(to, false),
            losses: Losses::new(settings.common.loss, parameters.seed.wrapping_add(1)),
            message_bytes: parameters.message_bytes as usize,
            memory: BTreeMap::new(),
            free: Vec::new(),
            delivered: BTreeSet::new(),
            whole: Vec::new(),
            begin_ns: monotonic_ns(),
        })
    }

    /// Writes a payload at its offset in the message. Returns false if the payload would end beyond the message size.
    fn place(&mut self, message: MessageId, offset: u64, payload: &[u8]) -> bool {
        if self.delivered.contains(&message.0) {
            return true;
        }
        let (from, end) = (offset as usize, offset as usize + payload.len());
        if end > self.message_bytes {
            return false;
        }
        let (free, bytes) = (&mut self.free, self.message_bytes);
        let (memory, filled) = self.memory.entry(message.0).or_insert_with(|| {
            let mut memory: Vec<u8> = free.pop().unwrap_or_default();
            memory.resize(bytes, 0);
            (memory, 0)
        });
        memory[from..end].copy_from_slice(payload);
        *filled = end.max(*filled);
        true
    }

    fn handle_packet(
        &mut self,
        now: Time,
        packet: &Packet,
        socket: &Socket,
        statistics: &mut Statistics,
    ) -> Result<(), LiveError> {
        let qp = packet.qp.index();
        let mut delivered = self.receivers[qp].handle_packet(now, packet);
        while let Some(answer) = self.receivers[qp].poll_transmit() {
            self.answer(&answer, socket, statistics)?;
        }
        if let Some(pulls) = &mut self.pulls {
            pulls.observe(now, packet);
            if self.receivers[qp].requests_pull() {
                pulls.join(qp as u32);
            }
        }
        while let Some(message) = delivered {
            self.delivered.insert(message.0);
            if let Some((mut memory, filled)) = self.memory.remove(&message.0) {
                memory.truncate(filled);
                self.whole.push((message.0, memory));
            }
            delivered = self.receivers[qp].poll_delivered();
        }
        Ok(())
    }

    fn pull(&mut self, socket: &Socket, statistics: &mut Statistics) -> Result<(), LiveError> {
        let now = core_time(self.begin_ns);
        while let Some(qp) = self.pulls.as_mut().and_then(|pulls| pulls.take_turn(now)) {
            let receiver = &mut self.receivers[qp as usize];
            let (pull, wants_more) = (receiver.pull(), receiver.requests_pull());
            if let (Some(pulls), Some(pull)) = (&mut self.pulls, &pull) {
                pulls.pulled(now, pull.bytes);
            }
            if let (Some(pulls), true) = (&mut self.pulls, wants_more) {
                pulls.join(qp);
            }
            if let Some(pull) = pull {
                self.answer(&pull.packet, socket, statistics)?;
            }
        }
        Ok(())
    }

    fn answer(
        &mut self,
        packet: &Packet,
        socket: &Socket,
        statistics: &mut Statistics,
    ) -> Result<(), LiveError> {
        let datagram = self.codec.encode(packet, (PayloadRange::default(), &[]));
        let datagram = datagram.map_err(|error| LiveError::Broken(error.to_string()))?;
        statistics.answers += 1;
        self.answers.push(&datagram, socket, &mut self.losses)
    }
}
