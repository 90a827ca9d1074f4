//! The sender, compared with a simple model of it.

use super::RackTlpEnds;
use crate::pair::run::Sending;
use crate::pair::schedule::{PACKET, Planned, Schedule, check_data, message_id};
use crate::support::loss;
use anabranch_base::{Duration, Time};
use anabranch_proto::cc::{AckReport, AnyCc};
use anabranch_proto::lb::AnyLb;
use anabranch_proto::transport::{PayloadRange, RackTlpSender, Sender as _, SenderCounters};
use anabranch_proto::{Packet, PathFacts, Repr};
use proptest::prelude::*;

pub struct CheckedSender {
    sender: RackTlpSender,
    ends: RackTlpEnds,
    facts: PathFacts,
    /// The model calls its own copies of the congestion control and the load balancer.
    cc: AnyCc,
    lb: AnyLb,
    planned: Vec<Planned>,
    /// The payload of each message, by its index.
    payload: Vec<u64>,
    /// Number of PSNs that are assigned to posted messages.
    end: u32,
    /// The lowest unacknowledged PSN.
    unacked: u32,
    /// All packets that were ever sent, indexed by PSN.
    packets: Vec<Known>,
    /// Lost packets in the order of their retransmission.
    lost: Vec<u32>,
    /// Among the packets that arrived, the one that was sent last.
    latest: Option<(Time, u32)>,
    rtt: Option<Duration>,
    srtt: Option<Duration>,
    recovery_end: Option<u32>,
    probe: Probe,
    probe_due: Option<Time>,
    /// The start of the RTO timer.
    since: Time,
    /// The time at which the last packet was sent, and its size in bytes.
    last: Option<(Time, u64)>,
    counters: SenderCounters,
    acknowledged: Vec<usize>,
}

struct Known {
    sent: Time,
    state: State,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    InFlight,
    Lost,
    Arrived,
}

#[derive(PartialEq)]
enum Probe {
    None,
    Due,
    Until(u32),
}

impl CheckedSender {
    pub fn new(schedule: &Schedule<RackTlpEnds>, sender: RackTlpSender) -> Self {
        CheckedSender {
            sender,
            ends: schedule.ends.clone(),
            facts: schedule.facts(),
            cc: schedule.cc(),
            lb: schedule.lb(),
            planned: schedule.planned(),
            payload: schedule.messages.iter().map(|message| message.bytes()).collect(),
            end: 0,
            unacked: 0,
            packets: Vec::new(),
            lost: Vec::new(),
            latest: None,
            rtt: None,
            srtt: None,
            recovery_end: None,
            probe: Probe::None,
            probe_due: None,
            since: Time::ZERO,
            last: None,
            counters: SenderCounters::default(),
            acknowledged: Vec::new(),
        }
    }

    fn next(&self) -> u32 {
        self.packets.len() as u32
    }

    /// The PSNs in flight, with the times at which they were sent.
    fn flights(&self) -> impl Iterator<Item = (Time, u32)> {
        let from_lowest = (self.unacked..).zip(&self.packets[self.unacked as usize..]);
        let flights = from_lowest.filter(|(_, known)| known.state == State::InFlight);
        flights.map(|(psn, known)| (known.sent, psn))
    }

    fn windows_allow(&self, bytes: u64) -> bool {
        let in_flight: u64 = self.flights().map(|(_, psn)| self.planned[psn as usize].bytes).sum();
        in_flight == 0 || in_flight + bytes <= self.ends.window.min(self.cc.window())
    }

    fn turn(&self) -> Option<u32> {
        let fits = |psn: &u32| self.windows_allow(self.planned[*psn as usize].bytes);
        let next = self.next();
        if let Some(psn) = self.lost.first() {
            return Some(*psn).filter(fits);
        }
        if self.probe == Probe::Due {
            return Some(if next < self.end { next } else { next - 1 });
        }
        (next < self.end).then_some(next).filter(fits)
    }

    /// The earliest time at which the rate admits a packet.
    fn free_at(&mut self, now: Time) -> Time {
        match (self.cc.rate(now), self.last) {
            (Some(rate), Some((last, bytes))) => last + rate.time_for(bytes),
            _ => Time::ZERO,
        }
    }

    fn arm_probe(&mut self, now: Time) {
        let gaps = self.packets[self.unacked as usize..].iter().any(|known| known.state == State::Arrived);
        let is_open = !gaps
            && self.recovery_end.is_none()
            && self.probe == Probe::None
            && self.overtaken().next().is_none();
        let due = now + self.srtt.unwrap_or(self.facts.base_rtt) * 2;
        self.probe_due =
            (is_open && self.flights().next().is_some()).then(|| due.min(self.since + self.ends.rto));
    }

    /// The time at which a packet that was sent at `sent` counts as lost, if a packet that was sent later has arrived.
    fn too_late(&self, sent: Time) -> Time {
        sent + self.rtt.unwrap_or(self.facts.base_rtt) + self.ends.reo_wnd
    }

    fn overtaken(&self) -> impl Iterator<Item = (Time, u32)> {
        self.flights().filter(|&flight| Some(flight) < self.latest)
    }

    fn detect(&mut self, now: Time) {
        let mut late: Vec<_> = self.overtaken().filter(|&(sent, _)| self.too_late(sent) <= now).collect();
        late.sort();
        for (_, psn) in late {
            self.lose(now, psn);
            self.since = now;
        }
        if self.overtaken().next().is_some() {
            self.probe_due = None;
            if self.probe == Probe::Due {
                self.probe = Probe::None;
            }
        }
    }

    fn lose(&mut self, now: Time, psn: u32) {
        self.packets[psn as usize].state = State::Lost;
        self.lost.push(psn);
        if self.recovery_end.is_none() {
            self.enter_recovery(now);
        }
    }

    fn enter_recovery(&mut self, now: Time) {
        self.recovery_end = Some(self.next());
        (self.probe, self.probe_due) = (Probe::None, None);
        self.cc.handle_loss(&loss(now));
    }

    fn rto_due(&self) -> Option<Time> {
        let runs = self.flights().next().is_some() && self.overtaken().next().is_none();
        runs.then(|| self.since + self.ends.rto)
    }

    /// Returns the messages that the ACK completes.
    fn acknowledge(&mut self, now: Time, cumulative: u32, psn: u32, marked: bool, sent: Time) -> Vec<usize> {
        let rtt = now - sent;
        self.rtt = Some(rtt);
        self.srtt = Some(self.srtt.map_or(rtt, |srtt| Duration((srtt.0 * 7 + rtt.0) / 8)));
        self.latest = self.latest.max(Some((sent, psn)));
        let arrived = self.unacked.min(cumulative)..cumulative;
        let fresh: Vec<u32> =
            arrived.chain([psn]).filter(|&psn| self.packets[psn as usize].state != State::Arrived).collect();
        let mut bytes = 0;
        let mut packets = 0;
        for psn in fresh {
            // An in-order ACK names a packet below its own ePSN, so that `fresh` may contain that packet twice.
            if self.packets[psn as usize].state != State::Arrived {
                self.packets[psn as usize].state = State::Arrived;
                bytes += self.planned[psn as usize].bytes;
                packets += 1;
            }
        }
        let mut whole = Vec::new();
        while self.unacked < cumulative {
            let planned = self.planned[self.unacked as usize];
            whole.extend(planned.is_last.then_some(planned.message));
            self.unacked += 1;
        }
        let packets_known = &self.packets;
        self.lost.retain(|&psn| packets_known[psn as usize].state == State::Lost);
        if packets > 0 {
            self.since = now;
            self.recovery_end = self.recovery_end.filter(|&end| self.unacked < end);
            let is_out = matches!(self.probe, Probe::Until(end) if self.unacked < end);
            if !is_out {
                self.probe = Probe::None;
            }
            self.cc.handle_ack(&AckReport {
                now,
                packets,
                bytes,
                probe: false,
                marked,
                rtt,
                rtt_is_valid: true,
                in_flight: 0,
            });
        }
        self.detect(now);
        if packets > 0 {
            self.arm_probe(now);
        }
        whole
    }

    fn check_counters(&self) -> Result<(), TestCaseError> {
        prop_assert_eq!(self.sender.counters(), self.counters);
        Ok(())
    }
}

impl Sending for CheckedSender {
    fn post(&mut self, _now: Time, message: usize) -> Result<(), TestCaseError> {
        prop_assert!(self.sender.post(message_id(message), self.payload[message]).is_ok());
        self.end += self.planned[self.end as usize].of;
        Ok(())
    }

    fn payload_range(&self, psn: u32) -> Option<PayloadRange> {
        self.sender.payload_range(psn)
    }

    fn poll_transmit(&mut self, now: Time) -> Result<Option<Packet>, TestCaseError> {
        let answer = self.sender.poll_transmit(now);
        let (turn, free_at) = (self.turn(), self.free_at(now));
        let may = turn.is_some() && free_at <= now;
        prop_assert_eq!(answer.is_some(), may, "whether {:?} goes, due {}, at {}", turn, free_at, now);
        let (Some(packet), Some(turn)) = (answer, turn) else {
            if turn.is_some() {
                prop_assert!(self.sender.paces());
                let due = self.sender.next_timeout();
                prop_assert!(due.is_some_and(|due| due <= free_at), "{due:?} instead of {free_at}");
            }
            return Ok(None);
        };
        let (psn, known, ack_now) = check_data(&self.planned, now, &packet)?;
        prop_assert_eq!(psn, turn);
        let paces = self.cc.rate(now).is_some();
        if let Some((last, bytes)) = self.last.filter(|_| paces) {
            let gap = self.facts.line_rate.time_for(bytes);
            prop_assert!(now >= last + gap, "{psn} left {} after {bytes} B", now.since(last));
        }
        let is_probe = self.lost.is_empty() && self.probe == Probe::Due;
        let flight = Known { sent: now, state: State::InFlight };
        let is_new = psn == self.next();
        if is_new {
            if self.flights().next().is_none() {
                self.since = now;
            }
            self.packets.push(flight);
        } else {
            self.lost.retain(|&lost| lost != psn);
            self.packets[psn as usize] = flight;
            self.counters.retransmissions += 1;
            self.since = now;
        }
        if is_probe {
            (self.probe, self.since) = (Probe::Until(self.next()), now);
        } else if is_new {
            self.arm_probe(now);
        }
        if paces {
            self.last = Some((now, known.bytes));
            self.cc.handle_sent(now, packet.wire_bytes);
        }
        prop_assert_eq!(packet.ev, self.lb.next_ev(now, self.cc.window()));
        // A paced sender may request more ACKs than necessary.
        let waits = !self.lost.is_empty() || self.next() < self.end;
        let must_ask = !waits || !self.windows_allow(PACKET);
        prop_assert!(ack_now || !must_ask, "{psn} asks for no ACK");
        prop_assert!(paces || must_ask == ack_now, "{psn} asks for an ACK");
        self.check_counters()?;
        Ok(Some(packet))
    }

    fn handle_packet(&mut self, now: Time, packet: &Packet) -> Result<(), TestCaseError> {
        self.sender.handle_packet(now, packet);
        let whole = match packet.repr {
            Repr::Ack { cumulative, base, marked, sent_at, .. } => {
                let whole = self.acknowledge(now, cumulative, base, marked, sent_at);
                self.lb.handle_ack(now, packet.ev, marked, now - sent_at);
                if marked && self.ends.cnp_interval == Duration::ZERO {
                    self.cc.handle_cnp(now);
                }
                whole
            }
            Repr::Cnp => {
                self.cc.handle_cnp(now);
                Vec::new()
            }
            _ => return Err(TestCaseError::fail("a receiver sent data")),
        };
        let answered: Vec<_> = std::iter::from_fn(|| self.sender.poll_acknowledged()).collect();
        let expected: Vec<_> = whole.iter().map(|&message| message_id(message)).collect();
        prop_assert_eq!(answered, expected, "messages acknowledged by {:?}", packet);
        self.acknowledged.extend(whole);
        self.check_counters()
    }

    fn next_timeout(&mut self) -> Result<Option<Time>, TestCaseError> {
        let answered = self.sender.next_timeout();
        let overtaken = self.overtaken().min().map(|(sent, _)| self.too_late(sent));
        let due = [overtaken, self.probe_due, self.rto_due()].into_iter().flatten().min();
        if self.sender.paces() {
            let is_in_time = due.is_none_or(|due| answered.is_some_and(|answered| answered <= due));
            prop_assert!(is_in_time, "{answered:?} instead of {due:?}");
        } else {
            prop_assert_eq!(answered, due);
        }
        Ok(answered)
    }

    fn handle_timeout(&mut self, now: Time) -> Result<(), TestCaseError> {
        self.sender.handle_timeout(now);
        self.detect(now);
        if self.probe_due.is_some_and(|due| due <= now) {
            (self.probe, self.probe_due, self.since) = (Probe::Due, None, now);
        } else if self.rto_due().is_some_and(|due| due <= now) {
            self.counters.timeouts += 1;
            self.lb.handle_timeout(now, None);
            self.enter_recovery(now);
            let mut in_flight: Vec<_> = self.flights().collect();
            in_flight.sort();
            let (lowest, others): (Vec<_>, Vec<_>) =
                in_flight.into_iter().partition(|&(_, psn)| psn == self.unacked);
            let old = others.into_iter().filter(|&(sent, _)| self.too_late(sent) <= now);
            for (_, psn) in lowest.into_iter().chain(old).collect::<Vec<_>>() {
                self.lose(now, psn);
            }
            self.since = now;
        }
        self.check_counters()
    }

    fn check_finished(&mut self) -> Result<(), TestCaseError> {
        prop_assert_eq!((self.unacked, self.next()), (self.end, self.end));
        prop_assert_eq!(self.sender.next_timeout(), None);
        Ok(())
    }

    fn acknowledged(&self) -> &[usize] {
        &self.acknowledged
    }

    fn counters(&self) -> SenderCounters {
        self.counters
    }
}
