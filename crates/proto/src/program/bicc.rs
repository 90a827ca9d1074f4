//! BiCC ("Bilateral Congestion Control", INFOCOM 2024), as Themis-longhaul simulates it (sections II-D and VII-A), at the
//! external switch (ESW) of each data centre.
//!
//! *Near-destination loop.* Data that comes from another data centre for a host of this one is forwarded as long as the
//! bytes in flight from this switch to that host stay within the BDP of a data centre. The rest waits in the host's
//! virtual output queue (VOQ), first in, first out, whatever queue pairs it belongs to: that is the control by IP
//! address which section II-D finds too coarse. VOQs are of unlimited size (section VII-A), in memory of their own.
//!
//! *Near-source loop.* Without a cQPN no sender can tell whose the CNPs of this loop are (sections III-B and VII-A),
//! so they have no effect, and are not simulated. Whether the switch clears the mark as it sends one, as PNP does
//! (section IV), is unsaid: by default it does not; with `clear_marks` it does, and then no CNP at all answers congestion
//! near the source.
//!
//! What else the text leaves open:
//! - What the window counts. Section II-D has it between the switch and the receiver, and queues for traffic with the same
//!   destination IP. The simulation published with the paper has one counter for each external switch, over all
//!   destinations and ports: `scope = "switch"`, whose queue is one too, first in, first out.
//! - Whether a VOQ marks what waits in it. By default it does not; with `ecn` it does as a port would. In that simulation
//!   packets wait at ports, which mark.
//!
//! Neither text says how the switch knows what is on its way. Here it remembers each data packet that it sends on,
//! until the first of these:
//! - An ACK or NACK of the host passes back with a cumulative PSN beyond it, or a selective ACK that names it. An ACK of
//!   the first copy of a packet also releases a retransmitted copy still in flight: no harm, since the host drops that one.
//! - A retransmission comes from the sender. Then the sender has given up the earlier copy, which was lost or which a
//!   go-back-N receiver has dropped. The earlier copy is released when the new one arrives, not when it is sent on: the
//!   new one may wait in the very VOQ that the lost packet holds up.
//! - A NACK asks for an earlier packet, and a round trip within the data centre has passed: a go-back-N host drops all that
//!   comes before the packet that it asks for, so that none of it is in flight for longer. What would otherwise hold up
//!   the VOQ is a window of packets that the host dropped long ago.
//! - `release` has passed. It covers losses without a retransmission: a lost duplicate that the receiver did
//!   not need, or its lost ACK. It bounds how long anything can hold up a VOQ.
//!
//! So it needs what the papers assume: one ESW per data centre, which sees both directions, and NICs whose ACKs and
//! NACKs are cumulative in PSNs (`go-back-n`, `irn`, `rack-tlp`, `rnic-sr`). Receivers should acknowledge each packet
//! (`ack_every` of 1): otherwise packets that wait for a coalesced ACK block the VOQ that holds the packets needed to
//! trigger it. And RTOs should be above what a packet may wait in a VOQ: otherwise senders fill it with retransmissions
//! faster than it empties.

use super::interface::{
    Emitted, Held, Passage, Program, ProgramCounter, ProgramFacts, Sites, Total, Verdict,
};
use super::marking::Marking;
use crate::{Packet, Repr, Size, Span, StateField};
use anabranch_base::{AboveZero, Bytes, Duration, HostId, QpId, Stream, Time, parameter_choices, parameters};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

parameters! {
    /// Parameters of BiCC.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct BiccConfig {
        /// Most bytes on the wire between the switch and one host: the BDP within a data centre. (`"1bdp"` would be that
        /// of the fabric's longest path, which leads from one data centre to the other.) One packet is always allowed.
        /// With `scope = "switch"`, between the switch and all its hosts.
        #[param(AboveZero; example = "100KB";
            source = "Themis-longhaul, section VII-A: 100 Gb/s and a round trip of 8 us")]
        pub window: Size,
        /// A packet of which nothing is heard for this long is no longer counted.
        #[param(AboveZero; example = "20ms"; source = "unsaid; only after losses")]
        pub release: Span,
        /// What the window is of, and what has a queue.
        #[serde(default, skip_serializing_if = "BiccScope::is_destination")]
        #[param(any; example = "switch";
            source = "destination: Themis-longhaul, section II-D; switch: the simulation published with it";
            default = "destination")]
        pub scope: BiccScope,
        /// The near-source loop clears the mark of packets that leave the data centre.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[param(any; example = true; source = "unsaid; as PNP does, section IV"; default = false)]
        pub clear_marks: bool,
        /// Queues of what the window holds back mark packets (ECN) as ports do.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[param(any; example = true; source = "unsaid; packets wait at ports in the simulation published with \
            Themis-longhaul"; default = false)]
        pub ecn: bool,
        /// Bytes in such a queue above which it begins to mark.
        #[serde(default = "ecn_kmin", skip_serializing_if = "is_ecn_kmin")]
        #[param(any; example = "800KB"; source = "the simulation published with Themis-longhaul, for 100 Gb/s";
            default = "400KB")]
        pub ecn_kmin: Bytes,
        /// Bytes in such a queue above which it marks every packet.
        #[serde(default = "ecn_kmax", skip_serializing_if = "is_ecn_kmax")]
        #[param(any; example = "6400KB"; source = "the simulation published with Themis-longhaul, for 100 Gb/s";
            default = "1600KB")]
        pub ecn_kmax: Bytes,
        /// Share of the packets that it marks just below `ecn_kmax`; rises evenly from 0 at `ecn_kmin`.
        #[serde(default = "ecn_pmax", skip_serializing_if = "is_ecn_pmax")]
        #[param(0.0..=1.0; example = 0.2; source = "the simulation published with Themis-longhaul"; default = 0.2)]
        pub ecn_pmax: f64,
    }
}

/// What BiCC's window is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BiccScope {
    /// Each host of the data centre.
    #[default]
    Destination,
    /// All of them together.
    Switch,
}

parameter_choices!(BiccScope: "destination" = Destination, "switch" = Switch);

impl BiccScope {
    fn is_destination(&self) -> bool {
        *self == BiccScope::Destination
    }
}

fn ecn_kmin() -> Bytes {
    Bytes(400_000)
}

fn is_ecn_kmin(bytes: &Bytes) -> bool {
    *bytes == ecn_kmin()
}

fn ecn_kmax() -> Bytes {
    Bytes(1_600_000)
}

fn is_ecn_kmax(bytes: &Bytes) -> bool {
    *bytes == ecn_kmax()
}

fn ecn_pmax() -> f64 {
    0.2
}

fn is_ecn_pmax(share: &f64) -> bool {
    *share == ecn_pmax()
}

/// The program of one ESW.
pub struct Bicc {
    window: u64,
    release: Duration,
    /// The window at the line rate of a host: a round trip within the data centre.
    round_trip: Duration,
    scope: BiccScope,
    clear_marks: bool,
    marking: Option<Marking>,
    sites: Sites,
    /// By host of the fabric; one for all with the scope of a switch.
    destinations: Vec<Destination>,
    /// By queue pair: what was sent on and is still counted, in the order of PSNs.
    qps: Vec<VecDeque<Sent>>,
    /// By queue pair: the ePSN of a NACK, until the packet that it asks for is sent on. The host keeps nothing beyond it.
    asked: Vec<Option<u32>>,
    /// What was sent on, in that order: some of it is no longer counted, but the first is.
    log: VecDeque<Logged>,
    /// As `log`, of what the host will drop.
    doomed: VecDeque<Logged>,
    held_bytes: u64,
    counts: Counts,
}

/// A host of the switch's data centre, or all of them.
#[derive(Default)]
struct Destination {
    /// Bytes sent on and still counted.
    in_flight: u64,
    /// Its VOQ.
    queue: VecDeque<Waiting>,
    queue_bytes: u64,
}

/// A packet in a VOQ.
struct Waiting {
    packet: Packet,
    psn: u32,
    since: Time,
}

/// A packet that was sent on.
#[derive(Clone, Copy)]
struct Sent {
    psn: u32,
    bytes: u16,
    /// When it is no longer counted, whatever is heard.
    due: Time,
}

/// Where to find a [`Sent`].
#[derive(Clone, Copy)]
struct Logged {
    host: HostId,
    qp: QpId,
    psn: u32,
    due: Time,
}

#[derive(Default)]
struct Counts {
    held_packets: u64,
    released_packets: u64,
    given_up_packets: u64,
    expired_packets: u64,
    marks_cleared: u64,
    queue_marks: u64,
    max_held_bytes: u64,
    max_queue_bytes: u64,
    max_in_flight_bytes: u64,
    max_wait: Duration,
}

impl Bicc {
    /// Before the first packet.
    pub fn new(config: &BiccConfig, facts: &ProgramFacts, random: Stream) -> Self {
        let (kmin, kmax, pmax) = (config.ecn_kmin.0, config.ecn_kmax.0, config.ecn_pmax);
        let window = config.window.on(&facts.path);
        Bicc {
            window: window.0,
            round_trip: facts.path.line_rate.time_for(window.0).max(Duration(1)),
            release: config.release.on(&facts.path).max(Duration(1)),
            scope: config.scope,
            clear_marks: config.clear_marks,
            marking: config.ecn.then_some(Marking { kmin, kmax, pmax, random }),
            sites: facts.sites.clone(),
            destinations: Vec::new(),
            qps: Vec::new(),
            asked: Vec::new(),
            log: VecDeque::new(),
            doomed: VecDeque::new(),
            held_bytes: 0,
            counts: Counts::default(),
        }
    }

    /// What hardware needs at the least, where a queue pair's packets are all of one size; the first two are those of
    /// its destination, whose queue pairs share them.
    pub(super) fn state() -> Vec<StateField> {
        vec![
            StateField::new("destination: bytes in flight", 32, 1),
            StateField::new("destination: VOQ", 16, 1),
            StateField::new("PSN acknowledged", 24, 1),
            StateField::new("PSN sent on", 24, 1),
            StateField::new("PSN that a NACK asks for", 24, 1),
        ]
    }

    /// Data from another data centre for a host of this one.
    #[inline]
    fn take(&mut self, packet: &Packet, psn: u32, at: &Passage, out: &mut Vec<Emitted>) -> Verdict {
        let (qp, host) = (packet.qp, packet.dst);
        let place = self.place(host);
        if self.qps.len() <= qp.index() {
            self.qps.resize_with(qp.index() + 1, VecDeque::new);
            self.asked.resize(qp.index() + 1, None);
        }
        if self.destinations.len() <= place {
            self.destinations.resize_with(place + 1, Destination::default);
        }
        self.counts.given_up_packets += self.free(qp, host, psn, psn);
        if self.destinations[place].queue.is_empty() && self.has_room(host, packet.wire_bytes) {
            self.count(qp, host, psn, packet.wire_bytes, at.now);
            return Verdict::Forward;
        }
        let destination = &mut self.destinations[place];
        destination.queue.push_back(Waiting { packet: *packet, psn, since: at.now });
        destination.queue_bytes += u64::from(packet.wire_bytes);
        self.held_bytes += u64::from(packet.wire_bytes);
        let counts = &mut self.counts;
        counts.held_packets += 1;
        counts.max_held_bytes = counts.max_held_bytes.max(self.held_bytes);
        counts.max_queue_bytes = counts.max_queue_bytes.max(destination.queue_bytes);
        self.serve(host, at.now, out);
        Verdict::HoldOutside
    }

    /// A host of this data centre has all PSNs of a queue pair below `cumulative`, and those that `received` names,
    /// bit 0 being `base`.
    #[inline]
    fn acknowledge(&mut self, qp: QpId, host: HostId, cumulative: u32, base: u32, mut received: u64) {
        if cumulative > 0 {
            self.free(qp, host, 0, cumulative - 1);
        }
        if let Some(asked) = self.asked.get_mut(qp.index())
            && asked.is_some_and(|asked| asked < cumulative)
        {
            *asked = None;
        }
        while received != 0 {
            let psn = base.saturating_add(received.trailing_zeros());
            self.free(qp, host, psn, psn);
            received &= received - 1;
        }
    }

    /// A go-back-N host dropped what it got beyond `psn`, and drops what follows until that comes.
    fn doom(&mut self, qp: QpId, host: HostId, psn: u32, now: Time) {
        let Some(sent) = self.qps.get_mut(qp.index()) else { return };
        self.asked[qp.index()] = Some(psn);
        let due = now + self.round_trip;
        let from = sent.partition_point(|sent| sent.psn <= psn);
        for sent in sent.range_mut(from..).filter(|sent| sent.due > due) {
            sent.due = due;
            self.doomed.push_back(Logged { host, qp, psn: sent.psn, due });
        }
    }

    /// Releases the packets in flight with PSNs from `first` to `last` of a queue pair; returns how many those were.
    fn free(&mut self, qp: QpId, host: HostId, first: u32, last: u32) -> u64 {
        let place = self.place(host);
        let (Some(sent), Some(destination)) =
            (self.qps.get_mut(qp.index()), self.destinations.get_mut(place))
        else {
            return 0;
        };
        let from = sent.partition_point(|sent| sent.psn < first);
        let to = sent.partition_point(|sent| sent.psn <= last);
        for sent in sent.drain(from..to) {
            destination.in_flight -= u64::from(sent.bytes);
        }
        (to - from) as u64
    }

    /// Where a host's window and queue are.
    #[inline]
    fn place(&self, host: HostId) -> usize {
        match self.scope {
            BiccScope::Destination => host.index(),
            BiccScope::Switch => 0,
        }
    }

    /// Whether one more packet may be in flight to a host. With none in flight it always may: a window below one packet
    /// must not block a host.
    #[inline]
    fn has_room(&self, host: HostId, bytes: u16) -> bool {
        let in_flight = self.destinations[self.place(host)].in_flight;
        in_flight == 0 || in_flight + u64::from(bytes) <= self.window
    }

    /// A packet is sent on.
    fn count(&mut self, qp: QpId, host: HostId, psn: u32, bytes: u16, now: Time) {
        let place = self.place(host);
        let destination = &mut self.destinations[place];
        destination.in_flight += u64::from(bytes);
        self.counts.max_in_flight_bytes = self.counts.max_in_flight_bytes.max(destination.in_flight);
        let asked = &mut self.asked[qp.index()];
        let is_doomed = asked.is_some_and(|asked| psn > asked);
        if *asked == Some(psn) {
            *asked = None;
        }
        let due = now + if is_doomed { self.round_trip.min(self.release) } else { self.release };
        // Behind the last one, except for packets that go out again.
        let sent = &mut self.qps[qp.index()];
        let slot = match sent.back() {
            Some(last) if last.psn > psn => sent.partition_point(|sent| sent.psn <= psn),
            _ => sent.len(),
        };
        sent.insert(slot, Sent { psn, bytes, due });
        let log = if is_doomed { &mut self.doomed } else { &mut self.log };
        log.push_back(Logged { host, qp, psn, due });
    }

    /// Sends on what a host's VOQ holds, as far as there is room.
    fn serve(&mut self, host: HostId, now: Time, out: &mut Vec<Emitted>) {
        let place = self.place(host);
        while let Some(first) = self.destinations.get(place).and_then(|destination| destination.queue.front())
            && self.has_room(host, first.packet.wire_bytes)
        {
            let destination = &mut self.destinations[place];
            let Some(Waiting { mut packet, psn, since }) = destination.queue.pop_front() else { return };
            destination.queue_bytes -= u64::from(packet.wire_bytes);
            self.held_bytes -= u64::from(packet.wire_bytes);
            self.counts.released_packets += 1;
            self.counts.max_wait = self.counts.max_wait.max(now.since(since));
            if let Some(marking) = &mut self.marking
                && marking.marks(destination.queue_bytes)
            {
                packet.marked = true;
                self.counts.queue_marks += 1;
            }
            self.count(packet.qp, packet.dst, psn, packet.wire_bytes, now);
            out.push(Emitted { packet, held: Held::OutsideBuffer });
        }
    }

    /// Forgets the oldest packets sent on as far as they are no longer counted, so that the timer waits for none of
    /// them.
    #[inline]
    fn trim_log(&mut self) {
        while let Some(&oldest) = self.log.front()
            && self.slot(oldest).is_none()
        {
            self.log.pop_front();
        }
        while let Some(&oldest) = self.doomed.front()
            && self.slot(oldest).is_none()
        {
            self.doomed.pop_front();
        }
    }

    /// What is to be forgotten first.
    fn oldest(&self) -> Option<&Logged> {
        self.log.front().into_iter().chain(self.doomed.front()).min_by_key(|oldest| oldest.due)
    }

    /// Where a packet that was sent on stands in its queue pair, while it is counted.
    fn slot(&self, Logged { qp, psn, due, .. }: Logged) -> Option<usize> {
        let sent = self.qps.get(qp.index())?;
        let slot = sent.partition_point(|sent| (sent.psn, sent.due) < (psn, due));
        sent.get(slot).is_some_and(|sent| (sent.psn, sent.due) == (psn, due)).then_some(slot)
    }
}

impl Program for Bicc {
    fn ingress(&mut self, packet: &mut Packet, at: &Passage, out: &mut Vec<Emitted>) -> Verdict {
        let (is_from_here, is_for_here) = (self.sites.is_own(at.src), self.sites.is_own(packet.dst));
        let verdict = match packet.repr {
            Repr::Data { psn, .. } if is_for_here && !is_from_here => self.take(packet, psn, at, out),
            Repr::Ack { cumulative, base, received, .. } if is_from_here && !is_for_here => {
                self.acknowledge(packet.qp, at.src, cumulative, base, received);
                self.serve(at.src, at.now, out);
                Verdict::Forward
            }
            Repr::Nack { psn, .. } if is_from_here && !is_for_here => {
                self.acknowledge(packet.qp, at.src, psn, psn, 0);
                self.doom(packet.qp, at.src, psn, at.now);
                self.serve(at.src, at.now, out);
                Verdict::Forward
            }
            _ => return Verdict::Forward,
        };
        self.trim_log();
        verdict
    }

    /// The near-source loop: its CNP has no effect.
    fn egress(&mut self, packet: &mut Packet, at: &Passage, _: &mut Vec<Emitted>) {
        let leaves = self.sites.is_own(at.src) && !self.sites.is_own(packet.dst);
        if self.clear_marks && packet.marked && leaves && matches!(packet.repr, Repr::Data { .. }) {
            packet.marked = false;
            self.counts.marks_cleared += 1;
        }
    }

    fn handle_timeout(&mut self, now: Time, out: &mut Vec<Emitted>) {
        while let Some(&oldest) = self.oldest()
            && oldest.due <= now
        {
            if self.log.front().is_some_and(|first| first.due == oldest.due) {
                self.log.pop_front();
            } else {
                self.doomed.pop_front();
            }
            let Some(slot) = self.slot(oldest) else { continue };
            if let Some(sent) = self.qps[oldest.qp.index()].remove(slot) {
                let place = self.place(oldest.host);
                self.destinations[place].in_flight -= u64::from(sent.bytes);
                self.counts.expired_packets += 1;
                self.serve(oldest.host, now, out);
            }
        }
        self.trim_log();
    }

    fn next_timeout(&self) -> Option<Time> {
        self.oldest().map(|oldest| oldest.due)
    }

    fn counters(&self) -> Vec<ProgramCounter> {
        let sum = |name, value| ProgramCounter { name, value, total: Total::Sum };
        let max = |name, value| ProgramCounter { name, value, total: Total::Max };
        let counts = &self.counts;
        let mut counters = vec![
            sum("held_packets", counts.held_packets),
            sum("released_packets", counts.released_packets),
            sum("given_up_packets", counts.given_up_packets),
            sum("expired_packets", counts.expired_packets),
            max("max_held_bytes", counts.max_held_bytes),
            max("max_queue_bytes", counts.max_queue_bytes),
            max("max_in_flight_bytes", counts.max_in_flight_bytes),
            max("max_wait_ns", counts.max_wait.0 / 1_000),
        ];
        if self.clear_marks {
            counters.push(sum("marks_cleared", counts.marks_cleared));
        }
        if self.marking.is_some() {
            counters.push(sum("queue_marks", counts.queue_marks));
        }
        counters
    }
}
