//! BiCC ("Bilateral Congestion Control", INFOCOM 2024), as Themis-longhaul simulates it (sections II-D and VII-A), at
//! the external switch (ESW) of each data centre.
//!
//! *Near-destination loop.* Data from another data centre for a host of the switch's data centre is forwarded as long
//! as the bytes in flight from this switch to that host stay within the BDP of a data centre. Data beyond this limit
//! waits in the host's virtual output queue (VOQ), a FIFO for all queue pairs. This is the control by IP address that
//! section II-D criticises as too coarse. VOQs have unlimited size (section VII-A), in memory of their own.
//!
//! *Near-source loop.* A CNP of this loop does not name the sender's queue pair, so it cannot slow that queue pair
//! (sections III-B and VII-A). These CNPs therefore have no effect, and are not simulated. PNP clears the mark when it
//! sends a CNP (section IV). The papers do not specify whether BiCC's switch does so. By default the switch keeps the
//! mark. With `clear_marks` the switch clears it, so that congestion near the source causes no effective CNP at all.
//!
//! Further choices where the paper is silent:
//! - The scope of the window. In section II-D, the window is between the switch and the receiver, with queues for
//!   traffic with the same destination IP. The simulation published with the paper has one counter for each external
//!   switch, over all destinations and ports. This is `scope = "switch"`, with a single FIFO queue.
//! - Marking in VOQs. By default there is none. With `ecn`, VOQs mark as ports do. In the published simulation,
//!   packets wait at ports, and these ports mark.
//!
//! Neither paper specifies how the switch knows the bytes in flight. Here it records each data packet that it forwards,
//! until the first of these events:
//! - An ACK or NACK of the host has a cumulative PSN beyond the packet, or a selective ACK names the packet. An ACK of
//!   the first copy of a packet also releases a retransmitted copy in flight, which is harmless since the host drops
//!   that copy.
//! - The sender retransmits the packet, because the earlier copy was lost or a go-back-N receiver dropped it. The
//!   earlier copy is released when the new copy arrives, not when the new copy is forwarded, because the new copy may
//!   wait in the very VOQ that the lost packet blocks.
//! - A NACK requests an earlier packet, and a round trip within the data centre has passed. A go-back-N host drops all
//!   packets that arrive before the requested packet, so that none of them is in flight after this round trip.
//!   Otherwise a full window of packets that the host dropped long ago would block the VOQ.
//! - The time `release` has passed. This covers losses that cause no retransmission: the loss of a duplicate that the
//!   receiver did not need, or the loss of the ACK of such a duplicate. It bounds the time for which a packet can block
//!   a VOQ.
//!
//! BiCC therefore needs the assumptions of the papers: one ESW per data centre, which sees both directions, and NICs
//! whose ACKs and NACKs are cumulative in PSNs. These are NICs with `go-back-n`, `irn`, `rack-tlp`, `rnic-sr` or
//! `mp-rdma`. `sack` and `eqds` are suitable only if switches do not trim, since their NACKs name a trimmed packet.
//! Receivers should acknowledge each packet (`ack_every` of 1). Otherwise forwarded packets whose ACK is coalesced
//! count as in flight and block the VOQ, while the packets that would trigger this ACK wait in it. RTOs should exceed
//! the waiting time in a VOQ. Otherwise senders fill the VOQ with retransmissions faster than it empties.

use super::AnyProgram;
use super::interface::{
    Emitted, Held, Passage, Program, ProgramCounter, ProgramFacts, ProgramProperties, SchemeParts, Sites,
    Total, Verdict,
};
use super::marking::{self, Marking};
use crate::{Conflict, Packet, Repr, Size, Span, StateField, TransportConfig};
use anabranch_base::{AboveZero, Bytes, Duration, HostId, QpId, Stream, Time, parameter_choices, parameters};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

parameters! {
    /// Parameters of BiCC.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct BiccConfig {
        /// Largest number of bytes in flight between the switch and one host: the BDP within a data centre. (`"1bdp"`
        /// would be the BDP of the fabric's longest path, which leads from one data centre to the other.) One packet is
        /// always allowed. With `scope = "switch"`, the limit applies to the bytes between the switch and all its hosts
        /// together.
        #[param(AboveZero; example = "100KB";
            source = "Themis-longhaul, section VII-A: 100 Gb/s and a round trip of 8 us")]
        pub window: Size,
        /// Time after which a packet without any feedback is no longer counted as in flight.
        #[param(AboveZero; example = "20ms"; source = "unspecified; only after losses")]
        pub release: Span,
        /// Scope of the window and of the queue.
        #[serde(default, skip_serializing_if = "BiccScope::is_destination")]
        #[param(any; example = "switch";
            source = "destination: Themis-longhaul, section II-D; switch: the simulation published with it";
            default = "destination")]
        pub scope: BiccScope,
        /// Whether the near-source loop clears the mark of packets that leave the data centre.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[param(any; example = true; source = "unspecified; as PNP does, section IV"; default = false)]
        pub clear_marks: bool,
        /// Whether packets are marked (ECN) in the queues of delayed packets, as in the queues of ports.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[param(any; example = true; source = "unspecified; packets wait at ports in the simulation published with \
            Themis-longhaul"; default = false)]
        pub ecn: bool,
        /// Bytes in a queue of delayed packets above which packets are marked with a probability that rises from 0.
        #[serde(default = "ecn_kmin", skip_serializing_if = "is_ecn_kmin")]
        #[param(any; example = "800KB"; source = "the simulation published with Themis-longhaul, for 100 Gb/s";
            default = "400KB")]
        pub ecn_kmin: Bytes,
        /// Bytes in a queue of delayed packets above which every packet is marked.
        #[serde(default = "ecn_kmax", skip_serializing_if = "is_ecn_kmax")]
        #[param(any; example = "6400KB"; source = "the simulation published with Themis-longhaul, for 100 Gb/s";
            default = "1600KB")]
        pub ecn_kmax: Bytes,
        /// Share of packets that are marked just below `ecn_kmax`. The share rises linearly from 0 at `ecn_kmin`.
        #[serde(default = "ecn_pmax", skip_serializing_if = "is_ecn_pmax")]
        #[param(0.0..=1.0; example = 0.2; source = "the simulation published with Themis-longhaul"; default = 0.2)]
        pub ecn_pmax: f64,
    }
}

/// The scope of BiCC's window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BiccScope {
    /// Each host of the data centre separately.
    #[default]
    Destination,
    /// All hosts of the data centre together.
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

/// The program of a single ESW.
pub struct Bicc {
    window: u64,
    release: Duration,
    /// The time in which a host at line rate sends one window, which is a round trip within the data centre.
    round_trip: Duration,
    scope: BiccScope,
    clear_marks: bool,
    marking: Option<Marking>,
    sites: Sites,
    /// The state of each host, indexed by host. With the scope of a switch, there is only one element.
    destinations: Vec<Destination>,
    /// For each queue pair, the packets in flight in the order of their PSNs.
    qps: Vec<VecDeque<Sent>>,
    /// For each queue pair, the ePSN of a NACK, until the requested packet is forwarded or acknowledged. A go-back-N
    /// host drops packets beyond this PSN.
    requested: Vec<Option<u32>>,
    /// Forwarded packets in the order of forwarding, except those that went to `dropped_by_host` when they were
    /// forwarded. The first packet is in flight. Later packets may have been released.
    log: VecDeque<Logged>,
    /// Forwarded packets that the host will drop if it is a go-back-N receiver, in the order of `due`. As in `log`,
    /// only the first packet is certain to be in flight.
    dropped_by_host: VecDeque<Logged>,
    held_bytes: u64,
    counts: Counts,
}

/// The state of one host of the switch's data centre, or of all these hosts together.
#[derive(Default)]
struct Destination {
    in_flight: u64,
    queue: VecDeque<Waiting>,
    queue_bytes: u64,
}

struct Waiting {
    packet: Packet,
    psn: u32,
    since: Time,
}

#[derive(Clone, Copy)]
struct Sent {
    psn: u32,
    bytes: u16,
    /// The time from which on the packet is no longer counted, even without feedback.
    due: Time,
}

/// A reference to a [`Sent`].
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
    /// The program before the first packet.
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
            requested: Vec::new(),
            log: VecDeque::new(),
            dropped_by_host: VecDeque::new(),
            held_bytes: 0,
            counts: Counts::default(),
        }
    }

    /// The least state in hardware, if all packets of a queue pair have the same size. The first two fields belong to
    /// the destination, whose queue pairs share them.
    pub(super) fn state() -> Vec<StateField> {
        vec![
            StateField::new("destination: bytes in flight", 32, 1),
            StateField::new("destination: VOQ", 16, 1),
            StateField::new("PSN acknowledged", 24, 1),
            StateField::new("PSN sent on", 24, 1),
            StateField::new("PSN that a NACK asks for", 24, 1),
        ]
    }

    /// Handles data that comes from another data centre and is for a host of the switch's data centre.
    #[inline]
    fn handle_data(&mut self, packet: &Packet, psn: u32, at: &Passage, out: &mut Vec<Emitted>) -> Verdict {
        let (qp, host) = (packet.qp, packet.dst);
        let index = self.index_of(host);
        if self.qps.len() <= qp.index() {
            self.qps.resize_with(qp.index() + 1, VecDeque::new);
            self.requested.resize(qp.index() + 1, None);
        }
        if self.destinations.len() <= index {
            self.destinations.resize_with(index + 1, Destination::default);
        }
        self.counts.given_up_packets += self.free(qp, host, psn, psn);
        if self.destinations[index].queue.is_empty() && self.has_room(host, packet.wire_bytes) {
            self.record_sent(qp, host, psn, packet.wire_bytes, at.now);
            return Verdict::Forward;
        }
        let destination = &mut self.destinations[index];
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

    /// Handles the acknowledgement of all PSNs below `cumulative`, and of the PSNs in the bitmap `received`, whose bit
    /// 0 is `base`.
    #[inline]
    fn acknowledge(&mut self, qp: QpId, host: HostId, cumulative: u32, base: u32, mut received: u64) {
        if cumulative > 0 {
            self.free(qp, host, 0, cumulative - 1);
        }
        if let Some(requested) = self.requested.get_mut(qp.index())
            && requested.is_some_and(|requested| requested < cumulative)
        {
            *requested = None;
        }
        while received != 0 {
            let psn = base.saturating_add(received.trailing_zeros());
            self.free(qp, host, psn, psn);
            received &= received - 1;
        }
    }

    /// Handles a NACK. The host is taken for a go-back-N receiver, which drops all packets beyond `psn` until `psn`
    /// arrives.
    fn handle_nack(&mut self, qp: QpId, host: HostId, psn: u32, now: Time) {
        let Some(sent) = self.qps.get_mut(qp.index()) else { return };
        self.requested[qp.index()] = Some(psn);
        let due = now + self.round_trip;
        let from = sent.partition_point(|sent| sent.psn <= psn);
        for sent in sent.range_mut(from..).filter(|sent| sent.due > due) {
            sent.due = due;
            self.dropped_by_host.push_back(Logged { host, qp, psn: sent.psn, due });
        }
    }

    /// Releases the packets of a queue pair that are in flight and have a PSN in `first..=last`. Returns the number of
    /// released packets.
    fn free(&mut self, qp: QpId, host: HostId, first: u32, last: u32) -> u64 {
        let index = self.index_of(host);
        let (Some(sent), Some(destination)) =
            (self.qps.get_mut(qp.index()), self.destinations.get_mut(index))
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

    #[inline]
    fn index_of(&self, host: HostId) -> usize {
        match self.scope {
            BiccScope::Destination => host.index(),
            BiccScope::Switch => 0,
        }
    }

    /// Whether another packet may be in flight to a host. If nothing is in flight, one packet always may, since a
    /// window smaller than a packet must not block a host.
    #[inline]
    fn has_room(&self, host: HostId, bytes: u16) -> bool {
        let in_flight = self.destinations[self.index_of(host)].in_flight;
        in_flight == 0 || in_flight + u64::from(bytes) <= self.window
    }

    fn record_sent(&mut self, qp: QpId, host: HostId, psn: u32, bytes: u16, now: Time) {
        let index = self.index_of(host);
        let destination = &mut self.destinations[index];
        destination.in_flight += u64::from(bytes);
        self.counts.max_in_flight_bytes = self.counts.max_in_flight_bytes.max(destination.in_flight);
        let requested = &mut self.requested[qp.index()];
        let is_dropped = requested.is_some_and(|requested| psn > requested);
        if *requested == Some(psn) {
            *requested = None;
        }
        let due = now + if is_dropped { self.round_trip.min(self.release) } else { self.release };
        let sent = &mut self.qps[qp.index()];
        let slot = match sent.back() {
            Some(last) if last.psn > psn => sent.partition_point(|sent| sent.psn <= psn),
            _ => sent.len(),
        };
        sent.insert(slot, Sent { psn, bytes, due });
        let log = if is_dropped { &mut self.dropped_by_host } else { &mut self.log };
        log.push_back(Logged { host, qp, psn, due });
    }

    fn serve(&mut self, host: HostId, now: Time, out: &mut Vec<Emitted>) {
        let index = self.index_of(host);
        while let Some(first) = self.destinations.get(index).and_then(|destination| destination.queue.front())
            && self.has_room(host, first.packet.wire_bytes)
        {
            let destination = &mut self.destinations[index];
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
            self.record_sent(packet.qp, packet.dst, psn, packet.wire_bytes, now);
            out.push(Emitted { packet, held: Held::OutsideBuffer });
        }
    }

    /// Removes from the front of the logs the packets that are no longer in flight, so that the timer does not wait for
    /// them.
    #[inline]
    fn trim_log(&mut self) {
        while let Some(&oldest) = self.log.front()
            && self.slot(oldest).is_none()
        {
            self.log.pop_front();
        }
        while let Some(&oldest) = self.dropped_by_host.front()
            && self.slot(oldest).is_none()
        {
            self.dropped_by_host.pop_front();
        }
    }

    /// The packet that expires next.
    fn oldest(&self) -> Option<&Logged> {
        self.log.front().into_iter().chain(self.dropped_by_host.front()).min_by_key(|oldest| oldest.due)
    }

    /// The position of a packet among the packets in flight of its queue pair. None if the packet was released.
    fn slot(&self, Logged { qp, psn, due, .. }: Logged) -> Option<usize> {
        let sent = self.qps.get(qp.index())?;
        let slot = sent.partition_point(|sent| (sent.psn, sent.due) < (psn, due));
        sent.get(slot).is_some_and(|sent| (sent.psn, sent.due) == (psn, due)).then_some(slot)
    }
}

impl ProgramProperties for BiccConfig {
    fn build(&self, facts: &ProgramFacts, random: Stream) -> AnyProgram {
        AnyProgram::Bicc(Bicc::new(self, facts, random))
    }

    fn state(&self) -> Vec<StateField> {
        Bicc::state()
    }

    fn chooses_paths(&self) -> bool {
        false
    }

    fn is_between_sites(&self) -> bool {
        true
    }

    fn check_beside(&self, parts: &SchemeParts<'_>) -> Result<(), Conflict> {
        marking::check((self.ecn_kmin, self.ecn_kmax), "fabric.program")?;
        let trimming = match parts.transport {
            TransportConfig::Dcp(_)
            | TransportConfig::Strack(_)
            | TransportConfig::Uet(_)
            | TransportConfig::Mrc(_) => "",
            TransportConfig::Sack(_) | TransportConfig::Eqds(_) if parts.trim => " in a fabric that trims",
            _ => return Ok(()),
        };
        let message = format!(
            "the fabric.program bicc counts bytes in flight by ACKs and NACKs of every packet below a PSN, and those of \
             transport.kind = {:?}{trimming} are others",
            parts.transport.kind().unwrap_or_default()
        );
        let fix = "fabric.program for a scheme with such ACKs: bicc, dcqcn, irn-ecmp, rack-tlp, sr-ecmp";
        Err(Conflict::text("fabric.program".to_owned(), message, fix).involving("transport.kind"))
    }
}

impl Program for Bicc {
    fn ingress(&mut self, packet: &mut Packet, at: &Passage, out: &mut Vec<Emitted>) -> Verdict {
        let (is_from_here, is_for_here) = (self.sites.is_own(at.src), self.sites.is_own(packet.dst));
        let verdict = match packet.repr {
            Repr::Data { psn, .. } if is_for_here && !is_from_here => self.handle_data(packet, psn, at, out),
            Repr::Ack { cumulative, base, received, .. } if is_from_here && !is_for_here => {
                self.acknowledge(packet.qp, at.src, cumulative, base, received);
                self.serve(at.src, at.now, out);
                Verdict::Forward
            }
            Repr::Nack { psn, .. } if is_from_here && !is_for_here => {
                self.acknowledge(packet.qp, at.src, psn, psn, 0);
                self.handle_nack(packet.qp, at.src, psn, at.now);
                self.serve(at.src, at.now, out);
                Verdict::Forward
            }
            _ => return Verdict::Forward,
        };
        self.trim_log();
        verdict
    }

    /// The near-source loop, whose CNPs are not simulated.
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
                self.dropped_by_host.pop_front();
            }
            let Some(slot) = self.slot(oldest) else { continue };
            if let Some(sent) = self.qps[oldest.qp.index()].remove(slot) {
                let index = self.index_of(oldest.host);
                self.destinations[index].in_flight -= u64::from(sent.bytes);
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
