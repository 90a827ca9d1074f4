//! The sender of the `dcp` transport.

use super::config::{DcpConfig, MAX_DOUBLINGS, PLAIN_ROUNDS, Requests};
use crate::PathFacts;
use crate::cc::{AckReport, AnyCc, LossCause, LossReport};
use crate::lb::AnyLb;
use crate::packet::{Msn, Packet, Repr};
use crate::transport::common::{Claim, Ends, OutOfPsns, Pacer, PayloadRange, Sender, SenderCounters};
use anabranch_base::{Duration, HostId, MessageId, QpId, Time};
use std::collections::VecDeque;

/// The sender of a queue pair. See [`AnySender`](crate::transport::AnySender) for the order of calls.
// The order of the fields matters: fields that every packet touches come first, so that they share few cache lines.
#[repr(C)]
pub struct DcpSender {
    /// Bytes on the wire of all packets of unacknowledged requests that were sent so far. Each packet counts once.
    sent: u64,
    /// The part of `sent` that waits in the RetransQ and is therefore not in flight.
    waiting: u64,
    /// The next PSN to send for the first time.
    next: u32,
    /// The first PSN that is not assigned to a message.
    end: u32,
    /// unaMSN: every request below it is acknowledged.
    unacked: u32,
    /// Number of requests from `unacked` on that were sent completely. It is the position of the request that contains
    /// `next`.
    current: u32,
    /// PSNs of the oldest message that are still to be retransmitted after a timeout: `repeat_next..repeat_end`.
    repeat_next: u32,
    repeat_end: u32,
    /// Number of timeouts since `unacked` last advanced.
    rounds: u32,
    /// Number of fetched entries at the front of `retransmissions`.
    fetched: u32,
    /// Number of entries of `retransmissions` that belong to the oldest request.
    oldest_waiting: u32,
    /// Payload that the queue pair may still send in this turn.
    turn_bytes: u64,
    /// The request after the last WQE of the turn.
    turn_end: u32,
    packet_bytes: u16,
    header_bytes: u16,
    payload: u16,
    holds_turn: bool,
    paces: bool,
    qp: QpId,
    dst: HostId,
    /// The time at which the fetched packets are available.
    fetched_at: Time,
    /// The end of a fetch for which a packet waits. It is [`Time::NEVER`] if no packet waits.
    resume: Time,
    /// The time at which the RTO timer was started.
    since: Time,
    rto: Duration,
    fetch_time: Duration,
    pacer: Pacer,
    tracked: u32,
    requests: Requests,
    batch: u32,
    round_quota: u64,
    cc: AnyCc,
    lb: AnyLb,
    /// The send queue, which contains the requests from `unacked` on.
    queue: VecDeque<Request>,
    /// The RetransQ, which is in host memory except for the fetched entries.
    retransmissions: VecDeque<Entry>,
    acknowledged: VecDeque<MessageId>,
    counters: SenderCounters,
}

/// A WQE: a message, or a part of a split message.
struct Request {
    message: MessageId,
    first: u32,
    packets: u32,
    last_bytes: u16,
    /// Offset of the request's first byte in the message.
    offset: u64,
    message_bytes: u64,
    /// sRetryNo: the number of abandoned rounds, modulo 256.
    retry: u8,
    /// Whether this is the last request of its message.
    is_signalled: bool,
}

/// A retransmission entry (DCP, section 4.3).
#[derive(Clone, Copy)]
struct Entry {
    msn: u32,
    psn: u32,
    /// Size on the wire, which hardware reads from the WQE.
    bytes: u16,
}

impl DcpSender {
    /// The sender of a queue pair between `ends`.
    pub fn new(config: &DcpConfig, facts: &PathFacts, ends: Ends, cc: AnyCc, lb: AnyLb) -> Self {
        DcpSender {
            sent: 0,
            waiting: 0,
            next: 0,
            end: 0,
            unacked: 0,
            current: 0,
            repeat_next: 0,
            repeat_end: 0,
            rounds: 0,
            fetched: 0,
            oldest_waiting: 0,
            turn_bytes: 0,
            turn_end: 0,
            packet_bytes: (config.payload.0 + config.header.0) as u16,
            header_bytes: config.header.0 as u16,
            payload: config.payload.0 as u16,
            holds_turn: false,
            paces: cc.paces(),
            qp: ends.qp,
            dst: ends.dst,
            fetched_at: Time::ZERO,
            resume: Time::NEVER,
            since: Time::ZERO,
            rto: config.rto.on(facts),
            // DCP, footnote 9: the entries and WQEs take one round trip, and the payload takes another.
            fetch_time: config.pcie.on(facts) * 2,
            pacer: Pacer::new(),
            tracked: config.tracked_messages,
            requests: Requests::new(config, cc.window()),
            batch: config.batch,
            round_quota: config.round_quota.0,
            cc,
            lb,
            queue: VecDeque::new(),
            retransmissions: VecDeque::new(),
            acknowledged: VecDeque::new(),
            counters: SenderCounters::default(),
        }
    }
}

impl Sender for DcpSender {
    fn load_balancer(&mut self) -> Option<&mut AnyLb> {
        Some(&mut self.lb)
    }

    /// Adds a message to the send queue as one or more requests (`Requests::packets`), of which only the last one
    /// has a CQE.
    fn post(&mut self, message: MessageId, bytes: u64) -> Result<(), OutOfPsns> {
        let packets = bytes.div_ceil(u64::from(self.payload)).max(1);
        let end = u32::try_from(u64::from(self.end) + packets).map_err(|_| OutOfPsns)?;
        let longest = self.requests.packets(packets);
        let requests = packets.div_ceil(u64::from(longest));
        if u64::from(self.unacked) + self.queue.len() as u64 + requests > u64::from(Msn::LIMIT) {
            return Err(OutOfPsns);
        }
        let last_payload = bytes - (packets - 1) * u64::from(self.payload);
        let begin = self.end;
        while self.end < end {
            let packets = longest.min(end - self.end);
            let is_signalled = self.end + packets == end;
            let last_bytes =
                if is_signalled { last_payload as u16 + self.header_bytes } else { self.packet_bytes };
            let first = self.end;
            self.queue.push_back(Request {
                message,
                first,
                packets,
                last_bytes,
                offset: u64::from(first - begin) * u64::from(self.payload),
                message_bytes: bytes,
                retry: 0,
                is_signalled,
            });
            self.end += packets;
        }
        Ok(())
    }

    fn payload_range(&self, psn: u32) -> Option<PayloadRange> {
        let slot = self.queue.partition_point(|request| request.first + request.packets <= psn);
        let &Request { message, first, packets, last_bytes, offset, message_bytes, .. } =
            self.queue.get(slot)?;
        let claim = Claim { first, packets, last_bytes };
        let of_request = claim.payload_range(message, psn, self.payload.into(), self.header_bytes)?;
        Some(PayloadRange { offset: offset + of_request.request_offset, message_bytes, ..of_request })
    }

    #[inline]
    fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        if !self.holds_turn {
            // DCP, section 4.3, Tx path: a turn takes up to n WQEs from the head of the send queue.
            self.turn_bytes = self.round_quota;
            self.turn_end = self.unacked + self.tracked;
        }
        let packet = self.next_packet(now);
        self.holds_turn = packet.is_some() && self.turn_goes_on();
        packet
    }

    /// Whether the queue pair's turn continues after the last packet (DCP, section 4.3, Tx path). Retransmissions
    /// count in the quota, and new data follows them in the same turn.
    #[inline]
    fn holds_turn(&self) -> bool {
        self.holds_turn
    }

    #[inline]
    fn handle_packet(&mut self, now: Time, packet: &Packet) {
        match packet.repr {
            Repr::Ack { cumulative, marked, sent_at, .. } => {
                let rtt = now.since(sent_at);
                self.acknowledge(now, cumulative, marked, rtt);
                self.lb.handle_ack(now, packet.ev, marked, rtt);
            }
            Repr::HeaderOnly { psn, msn } => {
                // By DCP, section 4.3, retransmission and congestion control are decoupled, so the congestion control
                // is not called.
                self.lb.handle_trim(now, packet.ev);
                self.enqueue(psn, msn);
            }
            Repr::Cnp => self.cc.handle_cnp(now),
            _ => {}
        }
    }

    #[inline]
    fn next_timeout(&mut self) -> Option<Time> {
        let rto = if self.is_timed() { self.expiry() } else { Time::NEVER };
        let due = rto.min(self.resume).min(self.pacer.next_timeout().unwrap_or(Time::NEVER));
        (due < Time::NEVER).then_some(due)
    }

    /// DCP, section 4.5: when the timer expires, a new round of the oldest unacknowledged message begins.
    fn handle_timeout(&mut self, now: Time) {
        self.handle_pacing(now);
        if self.is_timed() && self.expiry() <= now {
            self.rounds += 1;
            self.start_round();
            self.counters.timeouts += 1;
            self.lb.handle_timeout(now, None);
            let (bytes, in_flight) = (self.packet_bytes.into(), self.in_flight());
            self.cc.handle_loss(&LossReport { now, bytes, cause: LossCause::Timeout, rtt: None, in_flight });
        }
    }

    fn next_pacing(&self) -> Option<Time> {
        let due = self.resume.min(self.pacer.next_timeout().unwrap_or(Time::NEVER));
        (due < Time::NEVER).then_some(due)
    }

    fn handle_pacing(&mut self, now: Time) {
        self.pacer.handle_timeout(now);
        if self.resume <= now {
            self.resume = Time::NEVER;
        }
    }

    #[inline]
    fn paces(&self) -> bool {
        self.paces || self.fetch_time > Duration::ZERO
    }

    #[inline]
    fn poll_acknowledged(&mut self) -> Option<MessageId> {
        self.acknowledged.pop_front()
    }

    fn counters(&self) -> SenderCounters {
        self.counters
    }

    /// An acknowledgement ends the doubling of the timeout. It also starts the timer if the timer had stopped because
    /// a packet of the acknowledged requests waited for retransmission.
    #[inline]
    fn advances_timer(&self) -> bool {
        true
    }
}

impl DcpSender {
    /// The next packet: retransmissions first, then the packets of a new round after a timeout, then new data.
    ///
    /// In DCP, section 4.3, the NIC checks the RetransQ when the queue pair is scheduled. Here it checks before each
    /// packet.
    #[inline]
    fn next_packet(&mut self, now: Time) -> Option<Packet> {
        if !self.retransmissions.is_empty() {
            return self.send_copy(now);
        }
        if self.repeat_next < self.repeat_end {
            return self.send_again(now);
        }
        self.next_fits().then(|| self.send_next(now))?
    }

    #[inline]
    fn turn_goes_on(&self) -> bool {
        let is_new = self.retransmissions.is_empty() && self.repeat_next == self.repeat_end;
        let is_there = !is_new || (self.next_fits() && self.unacked + self.current < self.turn_end);
        self.turn_bytes >= u64::from(self.payload) && is_there
    }

    /// Whether there is a new packet of a request that the receiver tracks, and whether the whole packet fits into the
    /// window.
    ///
    /// The window does not apply to the oldest request. There is one ACK per request, so a window that has shrunk
    /// below this request since it was posted would stop the queue pair.
    #[inline]
    fn next_fits(&self) -> bool {
        if self.next == self.end || self.current >= self.tracked {
            return false;
        }
        let bytes = u64::from(self.queue[self.current as usize].bytes_of(self.next, self.packet_bytes));
        self.current == 0 || self.in_flight() + bytes <= self.cc.window()
    }

    /// Bytes in flight, as far as the sender knows. The number is too low if the same header-only packet arrives twice.
    #[inline]
    fn in_flight(&self) -> u64 {
        self.sent.saturating_sub(self.waiting)
    }

    /// Sends the next new packet, which `next_fits` must have admitted.
    #[inline]
    fn send_next(&mut self, now: Time) -> Option<Packet> {
        let (psn, slot) = (self.next, self.current);
        let request = &self.queue[slot as usize];
        let bytes = request.bytes_of(psn, self.packet_bytes);
        let is_last = psn + 1 == request.first + request.packets;
        if self.paces && !self.pacer.send(now, bytes, &mut self.cc) {
            return None;
        }
        self.sent += u64::from(bytes);
        self.next += 1;
        self.current += u32::from(is_last);
        Some(self.packet(now, self.unacked + slot, psn, bytes))
    }

    /// Begins a new round for all requests of the oldest message that were sent at least in part.
    #[cold]
    fn start_round(&mut self) {
        let message = self.queue[0].message;
        self.repeat_next = self.queue[0].first;
        self.repeat_end = self.next;
        let mut last = self.unacked;
        for (request, number) in self.queue.iter_mut().zip(self.unacked..) {
            if request.message != message || request.first >= self.next {
                self.repeat_end = self.repeat_end.min(request.first);
                break;
            }
            request.retry = request.retry.wrapping_add(1);
            last = number;
        }
        // The new round includes the packets whose entries the RetransQ still had from the abandoned round.
        self.drop_entries(last);
    }

    /// Sends the next packet of a new round. The window does not apply, since each packet replaces a packet that counts
    /// as in flight.
    #[cold]
    fn send_again(&mut self, now: Time) -> Option<Packet> {
        let psn = self.repeat_next;
        let slot = self.queue.partition_point(|request| request.first + request.packets <= psn);
        let bytes = self.queue[slot].bytes_of(psn, self.packet_bytes);
        if self.paces && !self.pacer.send(now, bytes, &mut self.cc) {
            return None;
        }
        self.repeat_next += 1;
        self.counters.retransmissions += 1;
        let packet = self.packet(now, self.unacked + slot as u32, psn, bytes);
        // The RTO starts at the last packet of the round, however long pacing stretches the round.
        self.since = now;
        Some(packet)
    }

    /// Retransmits the first packet of the RetransQ, once it is fetched.
    ///
    /// By DCP, section 4.3, challenge 2, congestion control governs both retransmissions and new data. The rate
    /// applies here, and the window (*awin*) applies when entries are fetched. Waiting entries are not in flight, and
    /// no new data is sent while entries wait. Retransmissions therefore use only the part of the window that their
    /// originals freed. At least one entry is always fetched, and its packet may exceed a window that has shrunk.
    #[cold]
    fn send_copy(&mut self, now: Time) -> Option<Packet> {
        if self.fetched == 0 {
            self.fetch(now);
        }
        if now < self.fetched_at {
            self.resume = self.fetched_at;
            return None;
        }
        self.resume = Time::NEVER;
        let &Entry { msn, psn, bytes } = self.retransmissions.front()?;
        if self.paces && !self.pacer.send(now, bytes, &mut self.cc) {
            return None;
        }
        self.retransmissions.pop_front();
        self.fetched -= 1;
        self.waiting -= u64::from(bytes);
        self.oldest_waiting -= u32::from(msn == self.unacked);
        self.counters.retransmissions += 1;
        Some(self.packet(now, msn, psn, bytes))
    }

    /// Fetches min(`batch`, len, awin / MTU) entries (DCP, section 4.3, with a batch of 16), but at least one, so
    /// that a small window cannot stop the queue pair.
    fn fetch(&mut self, now: Time) {
        let room = self.cc.window().saturating_sub(self.in_flight()) / u64::from(self.packet_bytes);
        let most = (self.retransmissions.len() as u64).min(self.batch.into());
        self.fetched = most.min(room.max(1)) as u32;
        self.fetched_at = now + self.fetch_time;
        self.counters.fetches += 1;
    }

    /// Builds a packet of a request. The packet counts in the turn, and restarts the timer if its request is the
    /// oldest.
    #[inline]
    fn packet(&mut self, now: Time, number: u32, psn: u32, bytes: u16) -> Packet {
        self.turn_bytes = self.turn_bytes.saturating_sub(u64::from(bytes - self.header_bytes));
        if number == self.unacked {
            self.since = now;
        }
        let request = &self.queue[(number - self.unacked) as usize];
        let msn = Msn::new(number, request.retry);
        let ev = self.lb.next_ev(now, self.cc.window());
        let repr = Repr::data(psn)
            .with_message(request.message, request.packets)
            .with_sent_at(now)
            .with_ack_now(request.is_signalled)
            .with_msn(msn);
        Packet::new(self.qp, self.dst, repr).with_bytes(bytes).with_ev(ev)
    }

    /// Whether the timer runs. There are three conditions: the oldest request was sent completely, all packets of a new
    /// round were sent, and no packet of the oldest request waits in the RetransQ.
    #[inline]
    fn is_timed(&self) -> bool {
        self.current > 0 && self.repeat_next == self.repeat_end && self.oldest_waiting == 0
    }

    #[inline]
    fn expiry(&self) -> Time {
        let doublings = self.rounds.saturating_sub(PLAIN_ROUNDS).min(MAX_DOUBLINGS);
        self.since + self.rto * (1 << doublings)
    }

    /// Handles a header-only packet. Its entry is appended to the RetransQ (DCP, section 4.3, Rx path), unless its
    /// request is acknowledged or its round was abandoned.
    fn enqueue(&mut self, psn: u32, msn: Msn) {
        let number = msn.number();
        let slot = number.checked_sub(self.unacked).map(|slot| slot as usize);
        let Some(request) = slot.and_then(|slot| self.queue.get(slot)) else { return };
        let of_request = request.first..(request.first + request.packets).min(self.next);
        if of_request.contains(&psn) && msn.retry() == request.retry {
            let bytes = request.bytes_of(psn, self.packet_bytes);
            self.retransmissions.push_back(Entry { msn: number, psn, bytes });
            self.waiting += u64::from(bytes);
            self.oldest_waiting += u32::from(number == self.unacked);
        }
    }

    /// Removes the entries of requests up to and including `last` from the RetransQ, whether they are fetched or not.
    fn drop_entries(&mut self, last: u32) {
        let (mut slot, mut fetched, mut waiting) = (0, 0, 0);
        let limit = self.fetched;
        self.retransmissions.retain(|entry| {
            let stays = entry.msn > last;
            if stays {
                fetched += u32::from(slot < limit);
                waiting += u64::from(entry.bytes);
            }
            slot += 1;
            stays
        });
        (self.fetched, self.waiting) = (fetched, waiting);
    }

    /// Handles the acknowledgement of every request below `expected` (DCP, section 4.5).
    fn acknowledge(&mut self, now: Time, expected: u32, marked: bool, rtt: Duration) {
        // A receiver cannot complete requests that were not sent completely.
        let expected = expected.min(self.unacked + self.current);
        if expected <= self.unacked {
            return;
        }
        let (mut packets, mut bytes) = (0, 0);
        for request in self.queue.drain(..(expected - self.unacked) as usize) {
            packets += request.packets;
            bytes +=
                u64::from(request.packets - 1) * u64::from(self.packet_bytes) + u64::from(request.last_bytes);
            if request.is_signalled {
                self.acknowledged.push_back(request.message);
            }
        }
        // Pending retransmissions of the acknowledged requests are obsolete.
        self.drop_entries(expected - 1);
        self.oldest_waiting =
            self.retransmissions.iter().filter(|entry| entry.msn == expected).count() as u32;
        self.sent -= bytes;
        self.current -= expected - self.unacked;
        self.unacked = expected;
        self.rounds = 0;
        let still_open = self.queue.front().map_or(self.end, |request| request.first);
        self.repeat_next = self.repeat_next.max(still_open).min(self.repeat_end);
        self.since = now;
        let in_flight = self.in_flight();
        let probe = false;
        self.cc.handle_ack(&AckReport {
            now,
            packets,
            bytes,
            probe,
            marked,
            rtt,
            rtt_is_valid: true,
            in_flight,
        });
    }
}

impl Request {
    /// Size on the wire of the packet with this PSN. `full` is the size of a full packet.
    #[inline]
    fn bytes_of(&self, psn: u32, full: u16) -> u16 {
        if psn + 1 == self.first + self.packets { self.last_bytes } else { full }
    }
}
