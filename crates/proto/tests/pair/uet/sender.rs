//! The sender, compared with a simple model of it.

use super::{CONTROL, UetEnds};
use crate::pair::run::Sending;
use crate::pair::schedule::{ENDS, PACKET, Planned, QP, RECEIVER, Schedule, check_data, message_id};
use anabranch_base::{Duration, Time};
use anabranch_proto::cc::{AckReport, AnyCc, LossCause, LossReport};
use anabranch_proto::lb::AnyLb;
use anabranch_proto::transport::{PayloadRange, Sender as _, SenderCounters, UetConfig, UetSender};
use anabranch_proto::{Packet, Repr};
use proptest::prelude::*;

/// The model calls its own copies of the congestion control and the load balancer.
pub struct CheckedSender {
    sender: UetSender,
    cc: AnyCc,
    lb: AnyLb,
    config: UetConfig,
    rto: Duration,
    planned: Vec<Planned>,
    /// The state of each packet, indexed by PSN.
    packets: Vec<Known>,
    posted: u32,
    sent: u32,
    /// The lowest unacknowledged PSN.
    unacked: u32,
    received_end: u32,
    recovery_end: u32,
    /// PSNs below this one are not declared lost again in this recovery.
    recovered: u32,
    /// The value of `sent` at the time of the last probe.
    probed: u32,
    in_flight: i64,
    received: u64,
    probe_sent: Option<Time>,
    /// The bytes of credit left, whether they are speculative, the highest pull number that has arrived, and the credit
    /// window in bytes. None without credit.
    credit: Option<(i64, bool, u64, i64)>,
    last_timeout: Time,
    left: Vec<u32>,
    payload: Vec<u64>,
    acknowledged: Vec<usize>,
    counters: SenderCounters,
}

#[derive(Clone, Copy)]
struct Known {
    state: State,
    sent: Time,
    retransmissions: u32,
    ev: u16,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    New,
    InFlight,
    Lost,
    Acknowledged,
}

impl CheckedSender {
    pub fn new(schedule: &Schedule<UetEnds>) -> Self {
        let (cc, lb, config) = (schedule.cc(), schedule.lb(), schedule.transport());
        let new = Known { state: State::New, sent: Time::ZERO, retransmissions: 0, ev: 0 };
        CheckedSender {
            sender: UetSender::new(&config, &schedule.path.facts(), ENDS, cc, lb),
            cc: schedule.cc(),
            lb: schedule.lb(),
            rto: schedule.ends.rto,
            config,
            planned: schedule.planned(),
            packets: vec![new; schedule.packets() as usize],
            posted: 0,
            sent: 0,
            unacked: 0,
            received_end: 0,
            recovery_end: 0,
            recovered: 0,
            probed: 0,
            in_flight: 0,
            received: 0,
            probe_sent: None,
            credit: schedule.ends.credit.map(|(window, ..)| {
                let window = i64::from(window) * PACKET as i64;
                (window, true, 0, window)
            }),
            last_timeout: Time::ZERO,
            left: schedule.messages.iter().map(|message| message.packets).collect(),
            payload: schedule.messages.iter().map(|message| message.bytes()).collect(),
            acknowledged: Vec::new(),
            counters: SenderCounters::default(),
        }
    }

    fn in_state(&self, state: State) -> impl Iterator<Item = u32> {
        (self.unacked..self.sent).filter(move |&psn| self.packets[psn as usize].state == state)
    }

    fn has_room(&self) -> bool {
        let room = self.cc.window().saturating_sub(self.in_flight.max(0) as u64);
        self.in_state(State::InFlight).next().is_none() || PACKET <= room
    }

    fn next_new(&self) -> Option<u32> {
        (self.sent < self.posted && self.sent - self.unacked < self.config.mpr).then_some(self.sent)
    }

    /// The pull number, in units of 256 B, up to which the waiting packets need credit. None without credit.
    fn target(&self) -> Option<u64> {
        let (bytes, is_speculative, pulled, window) = self.credit?;
        let waits = self.in_state(State::Lost).chain(self.sent..self.posted);
        let waiting: u64 = waits.map(|psn| self.planned[psn as usize].bytes).sum();
        let waiting = waiting.min(self.cc.window().saturating_add(PACKET));
        let least = if is_speculative && waiting > 0 { PACKET as i64 } else { 0 };
        let demand = (waiting.min(window as u64) as i64 - bytes).max(least);
        Some(pulled + (demand as u64).div_ceil(256))
    }

    fn expiry(&self, psn: u32) -> Time {
        let known = self.packets[psn as usize];
        known.sent + self.rto * (1 << known.retransmissions.min(self.config.rto_doublings))
    }

    fn lose(&mut self, now: Time, psn: u32, cause: LossCause, rtt: Option<Duration>) {
        let bytes = self.planned[psn as usize].bytes;
        let known = &mut self.packets[psn as usize];
        known.state = State::Lost;
        let ev = known.ev;
        self.in_flight -= bytes as i64;
        if matches!(cause, LossCause::Timeout | LossCause::Inferred) {
            self.lb.handle_timeout(now, Some(ev));
        }
        let in_flight = self.in_flight.max(0) as u64;
        self.cc.handle_loss(&LossReport { now, bytes, cause, rtt, in_flight });
    }

    fn acknowledge(&mut self, psn: u32) -> Result<Option<usize>, TestCaseError> {
        prop_assert!(psn < self.sent, "{psn} was acknowledged and never sent");
        let Planned { bytes, message, .. } = self.planned[psn as usize];
        let before = std::mem::replace(&mut self.packets[psn as usize].state, State::Acknowledged);
        if let State::Lost = before {
            self.in_flight += bytes as i64;
        }
        self.left[message] -= 1;
        Ok((self.left[message] == 0).then_some(message))
    }

    fn handle_ack(&mut self, now: Time, packet: &Packet) -> Result<Vec<usize>, TestCaseError> {
        let Repr::UetAck {
            cumulative,
            base_offset,
            psn_offset,
            received,
            bytes_received,
            out_of_order,
            cause,
            sent_at,
        } = packet.repr
        else {
            return Err(TestCaseError::fail("a receiver sent something else"));
        };
        let (rtt, marked, probe) = (now.since(sent_at), cause.marked(), cause.probe());
        let psn = cumulative.wrapping_add_signed(psn_offset.into());
        let again = u32::from(cause.retransmitted());
        let rtt_is_valid =
            !probe && psn >= self.unacked && self.packets[psn as usize].retransmissions == again;
        if !probe {
            self.lb.handle_ack(now, packet.ev, marked, rtt);
        }
        let base = cumulative + u32::from(base_offset);
        let above = (0..64).filter(|i| received >> i & 1 == 1).map(|i| base + i);
        let (mut whole, mut packets) = (Vec::new(), 0);
        for psn in (self.unacked..cumulative).chain(above).collect::<Vec<_>>() {
            self.received_end = self.received_end.max(psn + 1);
            if self.packets[psn as usize].state != State::Acknowledged {
                whole.extend(self.acknowledge(psn)?);
                packets += 1;
            }
        }
        while self.unacked < self.sent && self.packets[self.unacked as usize].state == State::Acknowledged {
            self.unacked += 1;
        }
        let bytes = u64::from(bytes_received).saturating_sub(self.received);
        self.received += bytes;
        self.in_flight -= bytes as i64;
        let in_flight = self.in_flight.max(0) as u64;
        self.cc.handle_ack(&AckReport { now, packets, bytes, probe, marked, rtt, rtt_is_valid, in_flight });
        if marked {
            // Only congestion controls that set a rate react to this call.
            self.cc.handle_cnp(now);
        }
        self.infer(now, out_of_order, probe && Some(sent_at) == self.probe_sent);
        Ok(whole)
    }

    /// The rule of uet-htsim with `-sleek`. A recovery begins once max(min(`loss_windows` windows, MaxWnd),
    /// `loss_packets` packets) have arrived out of order, or with the answer to a probe. It ends when all packets that
    /// were sent before its beginning are acknowledged. In a recovery, each missing packet within a window from the
    /// cumulative PSN is declared lost once. Unlike in uet-htsim, a higher PSN must have arrived, or a probe that was
    /// sent after the packet must have been answered.
    fn infer(&mut self, now: Time, out_of_order: u16, is_probed: bool) {
        let UetConfig { loss_packets, loss_windows, .. } = self.config;
        if loss_packets == 0 || self.in_state(State::InFlight).next().is_none() {
            return;
        }
        let (window, late) = (self.cc.window(), u64::from(out_of_order) * PACKET);
        let windows = ((loss_windows * window as f64) as u64).min(self.cc.max_window());
        let exceeds = late > 0 && late >= windows.max(u64::from(loss_packets) * PACKET);
        let is_over = self.unacked >= self.recovery_end;
        if is_probed || (is_over && exceeds) {
            self.recovery_end = self.sent;
            self.recovered = 0;
        }
        if is_probed {
            self.received_end = self.received_end.max(self.probed);
        }
        if self.unacked >= self.recovery_end {
            return;
        }
        let within = window.div_ceil(PACKET).min(u64::from(u32::MAX)) as u32;
        let end = self.unacked.saturating_add(within).min(self.recovery_end).min(self.received_end);
        let missing = self.in_state(State::InFlight).filter(|psn| (self.recovered..end).contains(psn));
        for psn in missing.collect::<Vec<_>>() {
            self.lose(now, psn, LossCause::Inferred, None);
        }
        self.recovered = self.recovered.max(end);
    }

    fn check(&self) -> Result<(), TestCaseError> {
        prop_assert_eq!(self.sender.in_flight(), self.in_flight.max(0) as u64, "bytes in flight");
        prop_assert_eq!(self.sender.window(), self.cc.window(), "the window");
        prop_assert_eq!(self.sender.counters(), self.counters);
        Ok(())
    }
}

impl Sending for CheckedSender {
    fn post(&mut self, _now: Time, message: usize) -> Result<(), TestCaseError> {
        prop_assert!(self.sender.post(message_id(message), self.payload[message]).is_ok());
        self.posted += self.left[message];
        self.check()
    }

    fn payload_range(&self, psn: u32) -> Option<PayloadRange> {
        self.sender.payload_range(psn)
    }

    fn poll_transmit(&mut self, now: Time) -> Result<Option<Packet>, TestCaseError> {
        let lost = self.in_state(State::Lost).next();
        let (next, has_room) = (lost.or(self.next_new()), self.has_room());
        let has_credit = self.credit.is_none_or(|(bytes, ..)| bytes > 0);
        let Some(packet) = self.sender.poll_transmit(now) else {
            let is_free = has_room && has_credit && !self.sender.paces();
            prop_assert!(next.is_none() || !is_free, "it stopped with room for {next:?}");
            return Ok(None);
        };
        if let Repr::Rts { target } = packet.repr {
            let pulled = self.credit.map_or(0, |(_, _, pulled, _)| pulled);
            prop_assert!(
                !has_credit && next.is_some() && u64::from(target) > pulled,
                "a request for nothing"
            );
            prop_assert_eq!(Some(u64::from(target)), self.target());
            prop_assert_eq!(u64::from(packet.wire_bytes), CONTROL);
            prop_assert_eq!(
                packet.ev,
                self.lb.next_ev(now, self.cc.window()),
                "a request takes a path of its own"
            );
            return Ok(Some(packet));
        }
        prop_assert_eq!(packet.ev, self.lb.next_ev(now, self.cc.window()));
        if let Repr::Probe { base, sent_at, is_control } = packet.repr {
            prop_assert_eq!((base, sent_at, is_control), (self.unacked, now, true));
            prop_assert_eq!((packet.qp, packet.dst, u64::from(packet.wire_bytes)), (QP, RECEIVER, CONTROL));
            prop_assert!(self.config.probe_after.is_some());
            self.probe_sent = Some(now);
            self.probed = self.sent;
            return Ok(Some(packet));
        }
        let (psn, known, ack_now) = check_data(&self.planned, now, &packet)?;
        prop_assert!(has_room && has_credit, "no room for {psn}");
        if let Some((bytes, ..)) = &mut self.credit {
            *bytes -= known.bytes as i64;
        }
        prop_assert_eq!(Some(psn), next);
        let Repr::Data { retransmitted, msn, .. } = packet.repr else { unreachable!() };
        prop_assert_eq!(retransmitted, lost.is_some());
        match lost {
            Some(_) => {
                self.counters.retransmissions += 1;
                self.packets[psn as usize].retransmissions += 1;
            }
            None => self.sent += 1,
        }
        let packets = &mut self.packets[psn as usize];
        (packets.state, packets.sent, packets.ev) = (State::InFlight, now, packet.ev);
        self.in_flight += known.bytes as i64;
        self.cc.handle_sent(now, packet.wire_bytes);
        if let Some(target) = self.target() {
            prop_assert_eq!(u64::from(msn.pull_target()), target, "the demand at {}", psn);
        }
        let runs_dry = self.in_state(State::Lost).next().is_none() && self.next_new().is_none();
        let is_small = self.cc.window() < self.config.sack_bytes.0;
        let is_spent = self.credit.is_some_and(|(bytes, ..)| bytes <= 0);
        prop_assert_eq!(ack_now, retransmitted || runs_dry || is_small || is_spent || !self.has_room());
        self.check()?;
        Ok(Some(packet))
    }

    fn handle_packet(&mut self, now: Time, packet: &Packet) -> Result<(), TestCaseError> {
        self.sender.handle_packet(now, packet);
        let mut whole = Vec::new();
        if let Some((bytes, is_speculative, pulled, window)) = &mut self.credit {
            if std::mem::take(is_speculative) {
                *bytes = (*bytes).min(0);
            }
            if let Repr::Pull { number } = packet.repr {
                *bytes += (u64::from(number).saturating_sub(*pulled) * 256) as i64;
                *bytes = (*bytes).min(*window);
                *pulled = (*pulled).max(number.into());
                return self.check();
            }
        }
        match packet.repr {
            Repr::Nack { psn, sent_at, last_hop, marked } => {
                let known = self.packets[psn as usize];
                if (known.state, known.sent) == (State::InFlight, sent_at) {
                    self.counters.nacks += 1;
                    let rtt = now.since(sent_at);
                    match last_hop {
                        true => self.lb.handle_ack(now, packet.ev, marked, rtt),
                        false => self.lb.handle_trim(now, packet.ev),
                    }
                    let cause = if last_hop { LossCause::TrimmedAtLastHop } else { LossCause::Trimmed };
                    self.lose(now, psn, cause, Some(rtt));
                }
            }
            _ => whole = self.handle_ack(now, packet)?,
        }
        self.probe_sent = None;
        let mut answered: Vec<_> = std::iter::from_fn(|| self.sender.poll_acknowledged()).collect();
        answered.sort();
        let mut expected: Vec<_> = whole.iter().map(|&message| message_id(message)).collect();
        expected.sort();
        prop_assert_eq!(answered, expected, "messages acknowledged by {:?}", packet);
        self.acknowledged.extend(whole);
        self.check()
    }

    fn next_timeout(&mut self) -> Result<Option<Time>, TestCaseError> {
        let answered = self.sender.next_timeout();
        let first = self.in_state(State::InFlight).map(|psn| self.expiry(psn)).min();
        if let Some(first) = first {
            prop_assert!(answered.is_some_and(|due| due <= first), "{first} instead of {answered:?}");
        }
        if let (Some(due), false) = (answered, self.sender.paces() || self.credit.is_some()) {
            prop_assert!(first.is_some(), "a timer without packets in flight");
            prop_assert!(due >= self.last_timeout, "a timeout moved forward");
            self.last_timeout = due;
        }
        Ok(answered)
    }

    fn handle_timeout(&mut self, now: Time) -> Result<(), TestCaseError> {
        self.sender.handle_timeout(now);
        let mut over: Vec<u32> =
            self.in_state(State::InFlight).filter(|&psn| self.expiry(psn) <= now).collect();
        // First transmissions time out in the order of PSNs, then retransmissions in the order of their timeouts.
        over.sort_by_key(|&psn| match self.packets[psn as usize].retransmissions {
            0 => (Time::ZERO, psn),
            _ => (self.expiry(psn), psn),
        });
        for psn in over {
            self.counters.timeouts += 1;
            self.lose(now, psn, LossCause::Timeout, None);
        }
        self.check()
    }

    fn check_finished(&mut self) -> Result<(), TestCaseError> {
        prop_assert_eq!((self.sent, self.unacked), (self.posted, self.posted));
        prop_assert!(
            self.sender.in_flight() < self.config.received_unit.0,
            "all but what is not a whole unit"
        );
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
