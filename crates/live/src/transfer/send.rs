//! The sender of files.

use super::control::{Control, FromReceiver, FromSender, Grant, Offer};
use super::datagram::{Batch, Codec, Losses, MOST_OVERHEAD, ReceiveBuffer, Socket, transfer_of};
use super::endpoints::Endpoints;
use super::source::{self, Part, Source};
use super::{Progress, SendSettings, Statistics, Stored, TransferParameters, core_time, system};
use crate::clock::monotonic_ns;
use crate::error::LiveError;
use anabranch_base::{Bytes, Duration, HostId, MessageId, QpId, Rate, Time};
use anabranch_proto::transport::{AnySender, PayloadRange};
use anabranch_proto::{Packet, Repr};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::prctl::set_timerslack;
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::IpMtu;
use nix::sys::time::TimeSpec;
use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration as RealDuration;

/// The largest payload in bytes unless the user sets the payload: the largest MTU of RoCEv2.
const USUAL_PAYLOAD: u16 = 4096;
/// The smallest payload in bytes.
const LEAST_PAYLOAD: u16 = 64;
/// The messages per queue pair, on average, that are sent at the same time ([`messages_at_once`]).
const MESSAGES_AT_ONCE: u64 = 4;
/// The most memory for messages beyond [`MESSAGES_AT_ONCE`] per queue pair.
const MOST_OUTSTANDING: Bytes = Bytes(256 << 20);
/// The time by which packets may be sent early, so that the kernel gets them in batches.
const EARLY: Duration = Duration::from_us(200);
/// The largest lateness that the sender makes up for by sending faster. The system may wake up a process late,
/// especially if other processes use the processor.
const MADE_UP: Duration = Duration::from_us(1000);
/// The shortest wait for timers, so that the packets paced within this time make a batch.
const PACED_TOGETHER: Duration = Duration::from_us(50);
const LONGEST_WAIT_NS: u64 = 100_000_000;
/// The most batches that are received before packets are sent.
const RECEIVED_AT_ONCE: usize = 8;

/// Sends files to one or more receivers.
///
/// # Errors
/// The transfer fails if a parameter is wrong, if a file cannot be read, if a file arrives damaged, if a receiver
/// refuses the transfer or reports an error, if a receiver is gone, silent or of another version, or if the user
/// interrupts the transfer.
pub fn send(settings: &SendSettings<'_>) -> Result<Vec<Statistics>, LiveError> {
    // Parameters are checked before a connection is made.
    let payload = if settings.parameters.payload == 0 { USUAL_PAYLOAD } else { settings.parameters.payload };
    Endpoints::new(&TransferParameters { payload, ..settings.parameters.clone() })?;
    source::check(&settings.inputs, settings.parameters.message_bytes)?;
    let mut sessions: Vec<Session> = Vec::new();
    for to in &settings.to {
        let session = Session::open(*to, settings, &mut sessions)?;
        sessions.push(session);
    }
    let mut nic = Nic { rate: sessions.first().map_or(Rate(1), |session| session.rate), free_at: Time::ZERO };
    let mut buffer = ReceiveBuffer::new();
    let (begin_ns, mut turn) = (monotonic_ns(), 0);
    // The NIC and all sessions count time from the same instant.
    sessions.iter_mut().for_each(|session| session.begin_ns = begin_ns);
    // Waits are short, and the kernel must not prolong them in order to combine timers.
    let _ = set_timerslack(1);
    while sessions.iter().any(|session| !session.is_done()) {
        if (settings.common.interrupted)() {
            return Err(LiveError::Interrupted);
        }
        let mut has_received = false;
        let (count, mut first_to_send) = (sessions.len(), None);
        for index in (turn..turn + count).map(|index| index % count) {
            let session = &mut sessions[index];
            session.handle_control()?;
            session.post()?;
            // Packets that were due are sent before answers are handled, so that time never goes back for a sender.
            let has_sent = session.transmit(&mut nic)?;
            has_received |= session.receive(&mut buffer)?;
            if session.transmit(&mut nic)? || has_sent {
                first_to_send = first_to_send.or(Some(index));
            }
        }
        // A session may use up the rate, so the session after it comes first in the next round.
        turn = first_to_send.map_or(turn, |index| (index + 1) % count);
        let all = sessions.iter().map(|session| session.sent_bytes - session.outstanding_bytes).min();
        (settings.common.progress)(Progress { bytes: all.unwrap_or(0), of: sessions[0].length });
        if !has_received {
            wait(&mut sessions, &nic);
        }
    }
    Ok(sessions.into_iter().map(|session| session.finish(begin_ns)).collect())
}

/// The sender's NIC, which limits the rate of all transfers together.
struct Nic {
    rate: Rate,
    free_at: Time,
}

impl Nic {
    fn is_free(&self, now: Time) -> bool {
        self.free_at < now + EARLY
    }

    fn send(&mut self, now: Time, bytes: u16) {
        let earliest = Time(now.0.saturating_sub(MADE_UP.0));
        self.free_at = self.free_at.max(earliest) + self.rate.time_for(u64::from(bytes));
    }
}

/// The transfer to one receiver.
struct Session {
    control: Control,
    codec: Codec,
    senders: Vec<AnySender>,
    rate: Rate,
    /// The most messages that are sent at the same time.
    at_once: u64,
    begin_ns: u64,
    source: Source,
    length: Option<u64>,
    /// Whether [`FromSender::Finished`] has been sent.
    has_finished: bool,
    files: u32,
    stored: Vec<Stored>,
    /// For each message number, the bytes of the message, until the message is acknowledged.
    outstanding: BTreeMap<u32, Vec<u8>>,
    /// Memory of acknowledged messages, which later messages reuse.
    free: Vec<Vec<u8>>,
    sent_bytes: u64,
    outstanding_bytes: u64,
    posted: u64,
    written: u64,
    /// The time until which the protocol state machines have acted.
    acted: Time,
    /// The queue pair that may send next.
    turn: usize,
    /// The socket of each UDP source port, with its datagrams that wait to be sent. Answers arrive at the first socket.
    ports: Vec<(Socket, Batch)>,
    losses: Losses,
    statistics: Statistics,
}

impl Session {
    /// Opens the session with a receiver. Until this receiver answers, the receivers of the sessions in `opened` get
    /// signs of life.
    fn open(
        to: SocketAddr,
        settings: &SendSettings<'_>,
        opened: &mut [Session],
    ) -> Result<Session, LiveError> {
        let (mut control, own) = Control::connect(to, settings.common.silence)?;
        let mut parameters = settings.parameters.clone();
        if parameters.payload == 0 {
            parameters.payload = fitting_payload(own, to);
        }
        let Endpoints { senders, facts, .. } = Endpoints::new(&parameters)?;
        let mut ports = Vec::new();
        for _ in 0..settings.ports.max(1) {
            let socket = Socket::bind(SocketAddr::new(own.ip(), 0)).map_err(system("a UDP socket"))?;
            ports.push((socket, Batch::new(to, true)));
        }
        let answers = ports[0].0.udp.local_addr().map_err(system("a UDP socket"))?.port();
        control.greet(&Offer { parameters: parameters.clone(), answers })?;
        let transfer = loop {
            opened.iter_mut().try_for_each(Session::handle_control)?;
            match control.greeting::<Grant>()? {
                Some(Grant::Transfer(transfer)) => break transfer,
                Some(Grant::Refused(why)) => {
                    return Err(LiveError::Broken(format!("{} refuses: {why}", control.peer)));
                }
                None if (settings.common.interrupted)() => return Err(LiveError::Interrupted),
                None => wait_for(&[PollFd::new(control.fd(), PollFlags::POLLIN)], LONGEST_WAIT_NS),
            }
        };
        let source = Source::new(settings.inputs.clone(), parameters.message_bytes);
        Ok(Session {
            control,
            codec: Codec::new(transfer, parameters.qps),
            senders,
            rate: facts.line_rate,
            at_once: messages_at_once(&parameters, facts.bdp),
            begin_ns: monotonic_ns(),
            length: source.length(),
            source,
            has_finished: false,
            files: 0,
            stored: Vec::new(),
            outstanding: BTreeMap::new(),
            free: Vec::new(),
            sent_bytes: 0,
            outstanding_bytes: 0,
            posted: 0,
            written: 0,
            acted: Time::ZERO,
            turn: 0,
            ports,
            losses: Losses::new(settings.common.loss, parameters.seed),
            statistics: Statistics::default(),
        })
    }

    fn is_done(&self) -> bool {
        self.has_finished && self.stored.len() as u32 == self.files
    }

    fn now(&self) -> Time {
        core_time(self.begin_ns)
    }

    fn handle_control(&mut self) -> Result<(), LiveError> {
        if self.is_done() {
            return Ok(());
        }
        self.control.sign(&FromSender::Alive)?;
        while let Some(message) = self.control.next()? {
            match message {
                FromReceiver::Written(written) => self.written = written.min(self.posted),
                FromReceiver::Stored(stored) => self.stored.push(stored),
                FromReceiver::Failed(why) => {
                    return Err(LiveError::Broken(self.control.reports(&why)));
                }
                FromReceiver::Alive => {}
            }
            if self.is_done() {
                break;
            }
        }
        Ok(())
    }

    fn post(&mut self) -> Result<(), LiveError> {
        let qps = self.senders.len() as u64;
        // Beside the messages that are sent, as many may wait until the receiver has written them.
        while (self.outstanding.len() as u64) < self.at_once && self.posted - self.written < 2 * self.at_once
        {
            let Some(part) = self.source.next(&mut self.free)? else { break };
            match part {
                Part::Begin { number, name, bytes } => {
                    self.files += 1;
                    self.control.send(&FromSender::Begin { number, name, bytes })?;
                }
                Part::End { number, messages, bytes, crc } => {
                    self.control.send(&FromSender::End { number, messages, bytes, crc })?;
                }
                Part::Message { number, bytes } => {
                    let length = bytes.len() as u64;
                    let qp = (self.posted % qps) as usize;
                    self.posted += 1;
                    let posted = self.senders[qp].post(MessageId(number), length);
                    posted.map_err(|error| LiveError::Broken(error.to_string()))?;
                    self.sent_bytes += length;
                    self.outstanding_bytes += length;
                    self.outstanding.insert(number, bytes);
                }
            }
        }
        if self.source.is_done() && !self.has_finished {
            self.has_finished = true;
            self.control.send(&FromSender::Finished)?;
        }
        Ok(())
    }

    /// Handles the answers that have arrived and the timeouts that are due. Returns false if no answer had arrived.
    fn receive(&mut self, buffer: &mut ReceiveBuffer) -> Result<bool, LiveError> {
        let Session { codec, senders, ports, statistics, begin_ns, acted, .. } = self;
        let mut has_received = false;
        for _ in 0..RECEIVED_AT_ONCE {
            let now = core_time(*begin_ns);
            *acted = now;
            let more = ports[0].0.receive(buffer, |is_marked, frame| {
                let read = codec.decode((now, HostId(0)), is_marked, frame);
                match read.ok().filter(|_| transfer_of(frame) == Some(codec.transfer)) {
                    Some(read) if !read.packet.is_for_receiver() => {
                        statistics.answers += 1;
                        statistics.marked += u64::from(is_marked);
                        senders[read.packet.qp.index()].handle_packet(now, &read.packet);
                    }
                    _ => statistics.unreadable += 1,
                }
                Ok(())
            })?;
            if !more {
                break;
            }
            has_received = true;
        }
        let now = self.now();
        self.acted = now;
        for qp in 0..self.senders.len() {
            if self.senders[qp].next_timeout().is_some_and(|due| due <= now) {
                self.senders[qp].handle_timeout(now);
            }
            while let Some(message) = self.senders[qp].poll_acknowledged() {
                if let Some(bytes) = self.outstanding.remove(&message.0) {
                    self.outstanding_bytes -= bytes.len() as u64;
                    self.free.push(bytes);
                }
            }
        }
        Ok(has_received)
    }

    /// Sends packets while the rate and the windows allow it. A paced sender gets one turn for each past time at which
    /// a packet became due. Returns whether a packet has left.
    fn transmit(&mut self, nic: &mut Nic) -> Result<bool, LiveError> {
        let (now, mut has_sent) = (self.now(), false);
        let due = self.next_pacing().filter(|due| *due <= now);
        let mut at = due.map_or(now, |due| due.max(self.acted));
        while nic.is_free(now) {
            let Some((qp, packet)) = self.next_packet(at) else {
                match self.pass_pacing(at).filter(|due| *due <= now) {
                    Some(due) if due > at => at = due,
                    _ if at < now => at = now,
                    _ => break,
                }
                continue;
            };
            nic.send(now, packet.wire_bytes);
            has_sent = true;
            let (mut range, mut bytes): (PayloadRange, &[u8]) = Default::default();
            if let Repr::Data { psn, .. } = packet.repr {
                let gone = || LiveError::Broken(format!("the payload of {packet:?} is gone"));
                range = self.senders[qp].payload_range(psn).ok_or_else(gone)?;
                let message = self.outstanding.get(&range.message.0).ok_or_else(gone)?;
                let from = range.offset as usize;
                bytes = message.get(from..from + usize::from(range.bytes)).ok_or_else(gone)?;
                self.statistics.data_packets += 1;
            }
            let datagram = self.codec.encode(&packet, (range, bytes));
            let datagram = datagram.map_err(|error| LiveError::Broken(error.to_string()))?;
            let port = usize::from(packet.ev) % self.ports.len();
            let (socket, batch) = &mut self.ports[port];
            batch.push(&datagram, socket, &mut self.losses)?;
        }
        self.acted = now;
        for (socket, batch) in &mut self.ports {
            batch.flush(socket)?;
        }
        Ok(has_sent)
    }

    /// Calls the senders whose pace allows a packet by `now`. Returns the next time at which a pace allows a packet.
    fn pass_pacing(&mut self, now: Time) -> Option<Time> {
        for sender in &mut self.senders {
            if sender.next_pacing().is_some_and(|due| due <= now) {
                sender.handle_pacing(now);
            }
        }
        self.next_pacing()
    }

    fn next_pacing(&self) -> Option<Time> {
        self.senders.iter().filter_map(AnySender::next_pacing).min()
    }

    fn next_packet(&mut self, now: Time) -> Option<(usize, Packet)> {
        let count = self.senders.len();
        for _ in 0..count {
            let qp = self.turn;
            let packet = self.senders[qp].poll_transmit(now);
            if packet.is_none() || !self.senders[qp].holds_turn() {
                self.turn = (qp + 1) % count;
            }
            if let Some(packet) = packet {
                return Some((qp, Packet { qp: QpId(qp as u32), ..packet }));
            }
        }
        None
    }

    fn next_timeout(&mut self) -> Time {
        let due = self.senders.iter_mut().filter_map(AnySender::next_timeout);
        due.min().unwrap_or(Time::NEVER)
    }

    fn finish(self, begin_ns: u64) -> Statistics {
        let counters = self.senders.iter().map(AnySender::counters);
        let (retransmissions, timeouts) =
            counters.fold((0, 0), |sum, next| (sum.0 + next.retransmissions, sum.1 + next.timeouts));
        let mut statistics = Statistics {
            files: self.stored,
            retransmissions,
            timeouts,
            lost_on_purpose: self.losses.count,
            ..self.statistics
        };
        statistics.finish(begin_ns);
        statistics
    }
}

fn wait(sessions: &mut [Session], nic: &Nic) {
    let mut ns = LONGEST_WAIT_NS;
    for session in &mut *sessions {
        let now = session.now();
        let mut due = session.next_timeout().max(now + PACED_TOGETHER);
        if !nic.is_free(now) {
            // The rate sets a time for each packet, and the packet may leave up to `EARLY` before this time. The wait
            // ends half of `EARLY` before the time of the next packet, so that packets leave together as a batch.
            due = due.min(Time(nic.free_at.0.saturating_sub(EARLY.0 / 2)));
        }
        ns = ns.min(due.since(now).0 / 1000);
    }
    let mut fds = Vec::new();
    for session in &*sessions {
        fds.push(PollFd::new(session.control.fd(), PollFlags::POLLIN));
        fds.push(PollFd::new(session.ports[0].0.udp.as_fd(), PollFlags::POLLIN));
        fds.extend(session.source.fd().map(|fd| PollFd::new(fd, PollFlags::POLLIN)));
    }
    wait_for(&fds, ns);
}

fn wait_for(fds: &[PollFd<'_>], ns: u64) {
    let mut fds = fds.to_vec();
    // If a signal interrupts the wait, the caller waits again.
    let _ = ppoll(&mut fds, Some(TimeSpec::from_duration(RealDuration::from_nanos(ns))), None);
}

/// The number of messages that are sent at the same time: [`MESSAGES_AT_ONCE`] per queue pair, or else two BDPs, so that
/// messages that wait for their last ACKs do not limit the rate. More messages would only leave the processor's cache.
fn messages_at_once(parameters: &TransferParameters, bdp: Bytes) -> u64 {
    let two_bdps = bdp.0.saturating_mul(2).min(MOST_OUTSTANDING.0).div_ceil(parameters.message_bytes.into());
    two_bdps.max(u64::from(parameters.qps) * MESSAGES_AT_ONCE)
}

/// The payload for the first link of the path to `to` ([`payload_within`]). If the MTU of this link is unknown, it is
/// taken to be 1500 bytes.
fn fitting_payload(own: SocketAddr, to: SocketAddr) -> u16 {
    let mtu = || {
        let socket = UdpSocket::bind(SocketAddr::new(own.ip(), 0)).ok()?;
        socket.connect(to).ok()?;
        getsockopt(&socket, IpMtu).ok()
    };
    payload_within(mtu().and_then(|mtu| mtu.try_into().ok()).unwrap_or(1500))
}

/// The largest payload whose packets fit an MTU, even with the longest headers ([`MOST_OVERHEAD`]). The result is a
/// multiple of 4 from [`LEAST_PAYLOAD`] to [`USUAL_PAYLOAD`].
fn payload_within(mtu: usize) -> u16 {
    let room = mtu.saturating_sub(MOST_OVERHEAD) & !3;
    room.clamp(LEAST_PAYLOAD.into(), USUAL_PAYLOAD.into()) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_at_once_keep_a_long_path_busy() {
        let at_once = |message_bytes, bdp| {
            let parameters = TransferParameters {
                scheme: "reps".to_owned(),
                rate: "10Gbps".to_owned(),
                rtt: "500us".to_owned(),
                payload: 4096,
                qps: 4,
                message_bytes,
                seed: 1,
            };
            messages_at_once(&parameters, Bytes(bdp))
        };
        assert_eq!(at_once(128 << 10, 625_000), 16);
        assert_eq!(at_once(128 << 10, 12_500_000), 191);
        assert_eq!(at_once(1 << 20, 12_500_000), 24);
        assert_eq!(at_once(1 << 20, u64::MAX), 256);
    }

    #[test]
    fn a_payload_fits_every_mtu() {
        assert_eq!([1_500, 9_000, 65_536].map(payload_within), [1_380, 4_096, 4_096]);
        // The longest headers alone fill a link of IPv4's smallest MTU.
        assert_eq!([68, 117, 118, 200].map(payload_within), [64, 64, 64, 80]);
    }
}
