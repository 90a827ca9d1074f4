//! A custom transport with its own type of packet: `cargo run --release --example own_transport`.
//!
//! The receiver answers each data packet with a report. The report contains, in 24 bytes, the receiver's ePSN, the PSN
//! of the data packet, the ECN mark, and a bitmap of the 127 PSNs from the ePSN on. A packet counts as lost if a
//! report shows the arrival of a packet that was sent later and whose PSN is more than `reordering` higher. The sender
//! then retransmits the lost packet. The timeout repairs losses that no report shows.

use anabranch_sim::base::{HostId, MessageId};
use anabranch_sim::proto::cc::{AckReport, LossCause, LossReport};
use anabranch_sim::proto::transport::{Ends, OutOfPsns, Receiver, Sender, SenderCounters, SenderParts};
use anabranch_sim::proto::{Packet, Repr};
use anabranch_sim::scenario::{NoFiles, Overrides, read_with};
use anabranch_sim::{Bytes, Control, Duration, Parameter, Parameters, Registry, Session, Time, run};
use std::collections::{BTreeMap, VecDeque};
use std::error::Error;
use std::fmt::Write;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Report {
    /// The ePSN: all PSNs below it have arrived.
    expected: u32,
    /// The PSN of the data packet that the report answers.
    cause: u32,
    /// Whether that data packet had an ECN mark.
    marked: bool,
    /// A bitmap of the PSNs from `expected` on. A bit is set if the PSN has arrived. Bit 127 stands for no PSN,
    /// because it is used for the mark.
    received: u128,
}

const MARK: u128 = 1 << 127;

impl Report {
    fn write(self) -> Repr {
        let mut content = [0; Repr::CUSTOM_BYTES];
        content[..4].copy_from_slice(&self.expected.to_be_bytes());
        content[4..8].copy_from_slice(&self.cause.to_be_bytes());
        let bits = self.received & !MARK | if self.marked { MARK } else { 0 };
        content[8..].copy_from_slice(&bits.to_be_bytes());
        Repr::custom(content)
    }

    fn read(content: &[u8; Repr::CUSTOM_BYTES]) -> Report {
        let word = |at: usize| content[at..at + 4].iter().fold(0, |word, byte| word << 8 | u32::from(*byte));
        let bits = content[8..].iter().fold(0, |bits, byte| bits << 8 | u128::from(*byte));
        Report { expected: word(0), cause: word(4), marked: bits & MARK != 0, received: bits & !MARK }
    }
}

/// A packet that was posted and is not acknowledged yet.
struct Pending {
    message: MessageId,
    message_packets: u32,
    bytes: u16,
    /// The time at which the packet was last sent. It is `None` before the first transmission and after a loss.
    sent: Option<Time>,
    retransmission: bool,
}

struct ReportSender {
    parts: SenderParts,
    payload: u64,
    header: u64,
    rto: Duration,
    reordering: u32,
    pending: BTreeMap<u32, Pending>,
    /// The number of unacknowledged packets of each message, in the order of posting.
    messages: VecDeque<(MessageId, u32)>,
    next_psn: u32,
    in_flight: u64,
    counters: SenderCounters,
}

impl ReportSender {
    fn new(parts: SenderParts, parameters: &Parameters) -> Self {
        let bytes = |name| parameters.get::<Bytes>(name).0;
        let rto = parameters.get::<anabranch_sim::proto::Span>("rto").on(&parts.facts);
        ReportSender {
            payload: bytes("payload"),
            header: bytes("header"),
            rto,
            reordering: parameters.get("reordering"),
            pending: BTreeMap::new(),
            messages: VecDeque::new(),
            next_psn: 0,
            in_flight: 0,
            counters: SenderCounters::default(),
            parts,
        }
    }

    /// Handles the acknowledgement of a packet. Returns the packet's bytes, or `None` if it was acknowledged before.
    fn acknowledge(&mut self, psn: u32) -> Option<u64> {
        let packet = self.pending.remove(&psn)?;
        let bytes = u64::from(packet.bytes);
        if packet.sent.is_some() {
            self.in_flight -= bytes;
        }
        let message = self.messages.iter_mut().find(|(message, _)| *message == packet.message);
        message.expect("its message is not complete").1 -= 1;
        Some(bytes)
    }

    /// Marks packets in flight as lost if `is_lost` is true for them. Returns the number of lost packets.
    fn lose(&mut self, is_lost: impl Fn(u32, Time) -> bool) -> u64 {
        let mut lost = 0;
        for (psn, packet) in &mut self.pending {
            if packet.sent.is_some_and(|sent| is_lost(*psn, sent)) {
                (packet.sent, packet.retransmission) = (None, true);
                self.in_flight -= u64::from(packet.bytes);
                lost += 1;
            }
        }
        lost
    }

    /// Reports the loss of a packet to the congestion control, with the length of a full packet.
    fn report_loss(&mut self, now: Time, cause: LossCause) {
        let (bytes, in_flight) = (self.header + self.payload, self.in_flight);
        self.parts.cc.handle_loss(&LossReport { now, bytes, cause, rtt: None, in_flight });
    }
}

impl Sender for ReportSender {
    fn post(&mut self, message: MessageId, bytes: u64) -> Result<(), OutOfPsns> {
        let packets = u32::try_from(bytes.div_ceil(self.payload)).map_err(|_| OutOfPsns)?;
        let end = self.next_psn.checked_add(packets).ok_or(OutOfPsns)?;
        for (place, psn) in (0..).zip(self.next_psn..end) {
            let bytes = (self.header + self.payload.min(bytes - place * self.payload)) as u16;
            let (sent, retransmission) = (None, false);
            self.pending
                .insert(psn, Pending { message, message_packets: packets, bytes, sent, retransmission });
        }
        self.messages.push_back((message, packets));
        self.next_psn = end;
        Ok(())
    }

    fn handle_packet(&mut self, now: Time, packet: &Packet) {
        let Repr::Custom { content, .. } = &packet.repr else { return };
        let report = Report::read(content);
        let sent = self.pending.get(&report.cause).and_then(|packet| packet.sent);
        let below: Vec<u32> = self.pending.range(..report.expected).map(|(psn, _)| *psn).collect();
        let beyond = (0..127).filter(|bit| report.received >> bit & 1 != 0).map(|bit| report.expected + bit);
        let news: Vec<u64> =
            below.into_iter().chain(beyond).filter_map(|psn| self.acknowledge(psn)).collect();
        if let (Some(sent), false) = (sent, news.is_empty()) {
            let (rtt, marked) = (now.since(sent), report.marked);
            let (packets, bytes) = (news.len() as u32, news.iter().sum());
            self.parts.cc.handle_ack(&AckReport {
                now,
                packets,
                bytes,
                probe: false,
                marked,
                rtt,
                rtt_is_valid: true,
                in_flight: self.in_flight,
            });
            self.parts.lb.handle_ack(now, packet.ev, marked, rtt);
        }
        // The reported packet can have overtaken only packets that were sent before it.
        let cause_sent = sent.unwrap_or(Time::ZERO);
        let reordering = self.reordering;
        for _ in 0..self.lose(|psn, sent| psn + reordering < report.cause && sent < cause_sent) {
            self.report_loss(now, LossCause::Inferred);
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        let rto = self.rto;
        let lost = self.lose(|_, sent| sent + rto <= now);
        self.counters.timeouts += lost;
        for _ in 0..lost {
            self.report_loss(now, LossCause::Timeout);
            self.parts.lb.handle_timeout(now, None);
        }
    }

    fn next_timeout(&mut self) -> Option<Time> {
        self.pending.values().filter_map(|packet| packet.sent).min().map(|sent| sent + self.rto)
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        let window = self.parts.cc.window();
        if self.in_flight > 0 && self.in_flight >= window {
            return None;
        }
        let (psn, pending) = self.pending.iter_mut().find(|(_, packet)| packet.sent.is_none())?;
        pending.sent = Some(now);
        self.in_flight += u64::from(pending.bytes);
        self.counters.retransmissions += u64::from(pending.retransmission);
        let Ends { qp, dst, .. } = self.parts.ends;
        let repr = Repr::data(*psn).with_message(pending.message, pending.message_packets).with_sent_at(now);
        Some(Packet::new(qp, dst, repr).with_bytes(pending.bytes).with_ev(self.parts.lb.next_ev(now, window)))
    }

    fn poll_acknowledged(&mut self) -> Option<MessageId> {
        let done = self.messages.iter().position(|(_, left)| *left == 0)?;
        self.messages.remove(done).map(|(message, _)| message)
    }

    fn counters(&self) -> SenderCounters {
        self.counters
    }
}

struct ReportReceiver {
    ends: Ends,
    bytes: u16,
    expected: u32,
    /// The PSNs above the ePSN that have arrived.
    beyond: BTreeMap<u32, ()>,
    /// The number of missing packets of each message.
    missing: BTreeMap<MessageId, u32>,
    fresh: u64,
    report: Option<Packet>,
}

impl ReportReceiver {
    fn new(ends: Ends, ack: Bytes) -> Self {
        let (beyond, missing) = (BTreeMap::new(), BTreeMap::new());
        ReportReceiver { ends, bytes: ack.0 as u16, expected: 0, beyond, missing, fresh: 0, report: None }
    }
}

impl Receiver for ReportReceiver {
    fn handle_packet(&mut self, _now: Time, packet: &Packet) -> Option<MessageId> {
        let Repr::Data { psn, message, message_packets, .. } = packet.repr else { return None };
        let is_fresh = psn >= self.expected && self.beyond.insert(psn, ()).is_none();
        while self.beyond.remove(&self.expected).is_some() {
            self.expected += 1;
        }
        let bits = self.beyond.range(self.expected..self.expected + 127);
        let received = bits.fold(0, |bits, (psn, ())| bits | 1 << (psn - self.expected));
        let report = Report { expected: self.expected, cause: psn, marked: packet.marked, received };
        let back: HostId = self.ends.src;
        // The report carries the entropy value of the data packet that it answers.
        self.report =
            Some(Packet::new(self.ends.qp, back, report.write()).with_bytes(self.bytes).with_ev(packet.ev));
        if !is_fresh {
            return None;
        }
        self.fresh += 1;
        let missing = self.missing.entry(message).or_insert(message_packets);
        *missing -= 1;
        (*missing == 0).then_some(message)
    }

    fn poll_transmit(&mut self) -> Option<Packet> {
        self.report.take()
    }

    fn fresh_packets(&self) -> u64 {
        self.fresh
    }
}

/// The scenario selects the transport by its kind, like a built-in one.
const SCENARIO: &str = r#"
schemes = ["reps"]

[topology]
kind = "fat-tree"
hosts = 32
hosts_per_tor = 8
link = "100Gbps"

[workload]
kind = "permutation"
bytes = "4MB"

[[fault]]
kind = "packet-loss"
links = "tor-uplinks:50%"
probability = 0.005

[[scheme]]
name = "report"
base = "reps"
set = { transport = { kind = "report", reordering = 32 } }
"#;

/// Runs all schemes. The number of threads changes only the run time.
pub fn compare(threads: usize) -> Result<String, Box<dyn Error>> {
    let reordering = Parameter::new("reordering", 64u32, "later packets after which one is lost");
    let registry = Registry::new().transport(
        "report",
        [reordering],
        |parts, parameters| Box::new(ReportSender::new(parts, parameters)),
        |parts, parameters| Box::new(ReportReceiver::new(parts.ends, parameters.get("ack"))),
    );
    let scenario = read_with(&registry, "own_transport.toml", SCENARIO, &NoFiles, &Overrides::default())?;
    let mut session = Session::of(scenario)?;
    while let Some(index) = session.next() {
        let control = Control { threads, ..session.control(index) };
        session.ended(index, run(&session.points()[index], &control));
    }
    let results = session.results();
    if let Some(missing) = results.missing.first() {
        return Err(format!("{}: {:?}", missing.describe(), missing.cause).into());
    }
    let mut table = format!(
        "{:8}  {:>11}  {:>6}  {:>6}  {:>8}\n",
        "scheme", "max FCT, us", "losses", "resent", "timeouts"
    );
    for row in results.actual() {
        let (losses, resent) = (row.link_losses, row.retransmissions);
        writeln!(
            table,
            "{:8}  {:11.1}  {losses:6}  {resent:6}  {:8}",
            row.scheme, row.fct_max_us, row.timeouts
        )?;
    }
    Ok(table)
}

fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", compare(2)?);
    Ok(())
}
