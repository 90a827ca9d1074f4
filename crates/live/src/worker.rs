//! The nodes of one process in real time.

use crate::channel::{Channel, FromNodes, NodesReport, ToNodes};
use crate::clock::Clock;
use crate::codec::TRAILER_BYTES;
use crate::error::LiveError;
use crate::lateness::Lateness;
use crate::node::{Arrived, Frame, LiveNode};
use crate::record::{Entry, Event, FrameRecord, Recorder, SentRecord};
use anabranch_base::{MessageId, Time};
use anabranch_sim::{DrivenNode, DrivenRun, Signal, SignalKind};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::socket::{MsgFlags, recv, send};
use nix::sys::time::TimeSpec;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration as RealDuration;

/// The most frames that are read from a socket before nodes handle their own events.
const MOST_AT_ONCE: usize = 32;
/// The length of the longest frame: an Ethernet header, the longest IP packet and the trailer.
const LONGEST_FRAME: usize = 14 + 65_535 + TRAILER_BYTES;
const LONGEST_WAIT_NS: u64 = 100_000_000;

/// A frame on an emulated link: the time of its arrival, its number, the index and the port of the sending node, and
/// its bytes.
type FrameOnLink = (Time, u64, usize, u16, Vec<u8>);

pub struct Worker<'r> {
    run: &'r DrivenRun<'r>,
    nodes: Vec<LiveNode<'r>>,
    /// For each node, the socket of each port.
    sockets: Vec<Vec<OwnedFd>>,
    channel: Channel,
    clock: Clock,
    on_links: BinaryHeap<Reverse<FrameOnLink>>,
    sent: u64,
    leaving: Vec<Frame>,
    buffer: Vec<u8>,
    recorder: Option<Recorder>,
    ended: u64,
    stop: Time,
    frames: Lateness,
    events: Lateness,
}

impl<'r> Worker<'r> {
    /// Waits for the start of the run, runs the nodes until the end of the run, and reports the results or the error.
    pub fn serve(
        run: &'r DrivenRun<'r>,
        nodes: Vec<LiveNode<'r>>,
        sockets: Vec<Vec<OwnedFd>>,
        channel: Channel,
        (dilation, recorder): (u32, Option<Recorder>),
    ) {
        let mut worker = Worker {
            run,
            nodes,
            sockets,
            channel,
            clock: Clock { start_ns: 0, dilation },
            on_links: BinaryHeap::new(),
            sent: 0,
            leaving: Vec::new(),
            buffer: Vec::new(),
            recorder,
            ended: 0,
            stop: Time::NEVER,
            frames: Lateness::default(),
            events: Lateness::default(),
        };
        let ended = worker.run_all().and_then(|is_whole| {
            worker.recorder.take().map_or(Ok(()), Recorder::finish)?;
            Ok(is_whole)
        });
        let last = match ended {
            Ok(true) => FromNodes::Report(Box::new(worker.report())),
            Ok(false) => return,
            Err(error) => FromNodes::Failed(error.to_string()),
        };
        // If the parent has ended, nobody reads the report.
        let _ = worker.channel.send(&last);
    }

    /// Runs the nodes until the end of the run. Returns false if the parent has ended.
    fn run_all(&mut self) -> Result<bool, LiveError> {
        self.send_message(&FromNodes::Ready)?;
        while self.clock.start_ns == 0 {
            if self.channel.is_closed() {
                return Ok(false);
            }
            self.wait(LONGEST_WAIT_NS);
            self.handle_messages()?;
        }
        loop {
            let now = self.clock.now();
            if now >= self.stop {
                return Ok(true);
            }
            if self.channel.is_closed() {
                return Ok(false);
            }
            self.release(now)?;
            self.receive()?;
            self.run_nodes()?;
            self.handle_messages()?;
            let next = self.nodes.iter().map(|node| node.driven().next_time()).min().unwrap_or(Time::NEVER);
            let next = next.min(self.on_links.peek().map_or(Time::NEVER, |Reverse((time, ..))| *time));
            self.wait(self.clock.ns_until(next.min(self.stop)));
        }
    }

    /// Waits until a socket or the channel can be read, but no longer than `ns` nanoseconds.
    fn wait(&self, ns: u64) {
        let all = self.sockets.iter().flatten().map(AsFd::as_fd);
        let all = all.chain([self.channel.stream().as_fd()]);
        let mut all: Vec<PollFd<'_>> = all.map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
        let timeout = TimeSpec::from_duration(RealDuration::from_nanos(ns.min(LONGEST_WAIT_NS)));
        // If a signal interrupts the wait, the caller waits again.
        let _ = ppoll(&mut all, Some(timeout), None);
    }

    /// Sends the frames that have reached the ends of their emulated links.
    fn release(&mut self, now: Time) -> Result<(), LiveError> {
        while let Some(Reverse((acts, ..))) = self.on_links.peek()
            && *acts <= now
            && let Some(Reverse((_, _, node, port, bytes))) = self.on_links.pop()
        {
            let socket = self.sockets[node][usize::from(port)].as_raw_fd();
            loop {
                match send(socket, &bytes, MsgFlags::empty()) {
                    // A frame for a node whose process has ended is lost, as on a cable that was pulled out.
                    Ok(_) | Err(Errno::EPIPE | Errno::ECONNRESET | Errno::ECONNREFUSED) => break,
                    Err(Errno::EINTR | Errno::EAGAIN | Errno::ENOBUFS) => self.wait(100_000),
                    Err(error) => {
                        return Err(system(&format!("{} cannot send", self.nodes[node].name()), error));
                    }
                }
            }
        }
        Ok(())
    }

    fn receive(&mut self) -> Result<(), LiveError> {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.resize(LONGEST_FRAME, 0);
        for index in 0..self.nodes.len() {
            for port in 0..self.sockets[index].len() {
                for _ in 0..MOST_AT_ONCE {
                    let socket = self.sockets[index][port].as_raw_fd();
                    match recv(socket, &mut buffer, MsgFlags::MSG_DONTWAIT) {
                        Ok(bytes) if is_ours(&buffer[..bytes]) => {
                            self.arrive(index, port as u16, &buffer[..bytes])?
                        }
                        Ok(0) => break,
                        Ok(_) | Err(Errno::EINTR) => {}
                        Err(Errno::EAGAIN | Errno::ECONNRESET) => break,
                        Err(error) => {
                            let what = format!("{} cannot receive", self.nodes[index].name());
                            return Err(system(&what, error));
                        }
                    }
                }
            }
        }
        self.buffer = buffer;
        Ok(())
    }

    fn arrive(&mut self, index: usize, port: u16, bytes: &[u8]) -> Result<(), LiveError> {
        let now = self.clock.now();
        let Arrived { acts, payload } = self.nodes[index].receive(now, port, bytes)?;
        self.frames.record(self.clock.real_ns(now.since(acts).0));
        self.record(index, || Event::Receive {
            time: now,
            port,
            frame: FrameRecord::of(bytes, payload.as_ref()),
        })?;
        self.pass_on(index)
    }

    fn run_nodes(&mut self) -> Result<(), LiveError> {
        for index in 0..self.nodes.len() {
            let (due, now) = (self.nodes[index].driven().next_time(), self.clock.now());
            if due <= now {
                self.events.record(self.clock.real_ns(now.since(due).0));
                self.nodes[index].run_until(now)?;
                self.record(index, || Event::Run { until: now })?;
                self.pass_on(index)?;
            }
        }
        let ended: u64 = self.nodes.iter().map(|node| node.driven().ended()).sum();
        if ended > self.ended {
            self.ended = ended;
            self.send_message(&FromNodes::Progress { ended, last_end: self.run.last_end() })?;
        }
        Ok(())
    }

    fn pass_on(&mut self, index: usize) -> Result<(), LiveError> {
        let mut frames = std::mem::take(&mut self.leaving);
        self.nodes[index].take_frames(|frame| frames.push(frame))?;
        for frame in frames.drain(..) {
            self.record(index, || Event::Sent(SentRecord::of(&frame)))?;
            let Frame { acts, port, bytes, .. } = frame;
            self.sent += 1;
            self.on_links.push(Reverse((acts, self.sent, index, port, bytes)));
        }
        self.leaving = frames;
        let signals: Vec<Signal> = self.nodes[index].take_signals().collect();
        for signal in &signals {
            self.record(index, || Event::Signalled(*signal))?;
        }
        for signal in signals {
            self.handle(&signal)?;
            self.send_message(&FromNodes::Signal(signal))?;
        }
        Ok(())
    }

    fn handle(&mut self, signal: &Signal) -> Result<(), LiveError> {
        for index in 0..self.nodes.len() {
            self.nodes[index].handle(signal)?;
            self.record(index, || Event::Handle(*signal))?;
            if !matches!(signal.kind, SignalKind::Qp { .. }) {
                self.pass_on(index)?;
            }
        }
        Ok(())
    }

    fn handle_messages(&mut self) -> Result<(), LiveError> {
        for message in self.channel.receive::<ToNodes>().map_err(|error| channel_error(&error))? {
            match message {
                ToNodes::Start(start_ns) => self.clock.start_ns = start_ns,
                ToNodes::Signal(signal) => self.handle(&signal)?,
                ToNodes::Stop(time) => self.stop = time,
            }
        }
        Ok(())
    }

    fn record(&mut self, index: usize, event: impl FnOnce() -> Event) -> Result<(), LiveError> {
        let Some(recorder) = &mut self.recorder else { return Ok(()) };
        recorder.write(&Entry { node: self.nodes[index].node().0, event: event() })
    }

    fn send_message(&mut self, message: &FromNodes) -> Result<(), LiveError> {
        self.channel.send(message).map_err(|error| channel_error(&error))
    }

    fn report(&self) -> NodesReport {
        let driven: Vec<&DrivenNode<'_>> = self.nodes.iter().map(LiveNode::driven).collect();
        let [messages, steps] = self.run.counts();
        let messages = (0..messages).map(|number| (number, self.run.message_times(MessageId(number))));
        let steps = (0..steps).map(|number| (number, self.run.step_times(number)));
        NodesReport {
            totals: DrivenNode::totals(&driven),
            messages: messages.filter(|(_, times)| times.iter().any(Option::is_some)).collect(),
            steps: steps.filter(|(_, times)| times.iter().any(Option::is_some)).collect(),
            checked: self.nodes.iter().map(LiveNode::checked_messages).sum(),
            checked_bytes: self.nodes.iter().map(LiveNode::checked_bytes).sum(),
            frames: self.frames.clone(),
            events: self.events.clone(),
            kernel_drops: self.sockets.iter().flatten().map(crate::sockets::kernel_drops).sum(),
        }
    }
}

/// Whether the frame is IPv4 or MAC control. Nodes send no other frames, but the kernel does.
fn is_ours(frame: &[u8]) -> bool {
    matches!(frame.get(12..14), Some([0x08, 0x00] | [0x88, 0x08]))
}

fn system(what: &str, error: Errno) -> LiveError {
    LiveError::System { what: what.to_owned(), error: error.into() }
}

fn channel_error(error: &std::io::Error) -> LiveError {
    LiveError::Broken(format!("the process that began the run is gone: {error}"))
}
