//! The Temporary Reaction Point (Themis-longhaul, section V), at the edge of the receivers' data centre.
//!
//! When a CNP leaves the data centre for a sender in another one, the switch throttles the sender's flow, because the
//! CNP reaches the sender only after the delay of the long link. The flow's packets pass the [recirculation
//! port](super::Recirculation) once or more before they are forwarded. The [tables](super::CnpTables) contain the
//! throttled flows, and [Algorithm 1](super::FlowState) gives the number of loops.
//!
//! A packet that returns from the port passes the ingress, where its flow is looked up again. The flow may no longer
//! be in the tables, for example because it was found there only by a collision. The packet then continues with the
//! number of loops in its header. Under direct recovery, where order does not matter, it is released immediately
//! instead.
//!
//! Packets of a flow are released in order, with these exceptions:
//! - Recovery is direct.
//! - The flow's cache slot expires while packets loop.
//! - Another flow uses the flow's cache slot. This occurs in hardware too.
//! - Go-back-N retransmits packets that still loop. This occurs in hardware too. It is harmless: no packet is released
//!   before some copy of its predecessor.

use super::cnp_tables::CnpTables;
use super::recirculation::{LoopingPacket, Recirculation};
use super::throttling::{FlowState, FlowStatus, Growth, Recovery, Throttling};
use crate::program::interface::{
    Emitted, Held, Passage, ProgramCounter, ProgramFacts, Sites, Total, Verdict,
};
use crate::program::marking::Marking;
use crate::{Packet, Repr, Span, StateField};
use anabranch_base::{AboveZero, Bytes, Duration, Rate, Stream, Time, parameters};
use serde::{Deserialize, Serialize};

parameters! {
    /// Parameters of the Temporary Reaction Point.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct TrpConfig {
        /// Initial alpha of a flow: number of CNPs per increase of `loop_num` (Algorithm 1; 5 in section VI).
        #[param(1..=u32::MAX; example = 5; source = "Themis-longhaul, section VI")]
        pub alpha: u32,
        /// Time without a CNP after which a flow recovers (Algorithm 1; 500 us in section VI).
        #[param(AboveZero; example = "500us"; source = "Themis-longhaul, section VI")]
        pub beta: Span,
        /// CNPs that increase `loop_num` (Algorithm 1, line 5).
        #[param(any; example = "spaced"; source = "Themis-longhaul, Algorithm 1, line 5, and section V-B")]
        pub growth: Growth,
        /// Recovery of a flow (appendix D).
        #[param(any; example = "rate"; source = "Themis-longhaul, appendix D")]
        pub recovery: Recovery,
        /// Whether CNP_Cache is used (figure 18).
        #[param(any; example = true; source = "Themis-longhaul, section V-B")]
        pub cache: bool,
        /// Number of slots of CNP_Cache (1024 in section VI).
        #[param(1..=1 << 24; example = 1024; source = "Themis-longhaul, section VI")]
        pub cache_slots: u32,
        /// Whether a slot of CNP_Cache has a fingerprint of its flow, 32 bits of the hash, which packets must match.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[param(any; example = true; source = "unspecified: the register of section V-B stores a hash"; default = false)]
        pub cache_fingerprint: bool,
        /// Time without a CNP after which a slot of CNP_Cache is free. With 0, slots do not expire.
        #[serde(default = "no_expiry", skip_serializing_if = "is_no_expiry")]
        #[param(any; example = "1ms"; source = "unspecified; section V-B: expired register entries"; default = "0us")]
        pub cache_expiry: Span,
        /// Whether the control plane resets a flow's slot of CNP_Cache only if this flow was the last to write the
        /// slot. The control plane resets the slot when it has made the flow's entry in CNP_Store.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[param(any; example = true; source = "unspecified; section V-B: the control plane resets the register";
            default = false)]
        pub cache_reset_own: bool,
        /// Whether CNP_Store is used (figure 18).
        #[param(any; example = true; source = "Themis-longhaul, section V-B")]
        pub store: bool,
        /// Number of entries of CNP_Store (1024 in section VI).
        #[param(1..=1 << 24; example = 1024; source = "Themis-longhaul, section VI")]
        pub store_entries: u32,
        /// Time from a CNP to its flow's entry in CNP_Store (1 ms in section VII-C).
        #[param(any; example = "1ms"; source = "Themis-longhaul, section VII-C")]
        pub install_delay: Span,
        /// Rate of the recirculation port.
        #[param(AboveZero; example = "1600Gbps"; source = "unspecified; the simulation published with Themis-longhaul")]
        pub rate: Rate,
        /// Latency of a pass through the recirculation port.
        #[param(any; example = "100ns"; source = "unspecified; the simulation published with Themis-longhaul")]
        pub latency: Span,
        /// Whether the port marks packets (ECN) as other ports do.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[param(any; example = true;
            source = "unspecified; the port of the simulation published with Themis-longhaul does"; default = false)]
        pub ecn: bool,
        /// Bytes in the port above which packets are marked with a probability that rises from 0.
        #[serde(default = "ecn_kmin", skip_serializing_if = "is_ecn_kmin")]
        #[param(any; example = "800KB"; source = "the simulation published with Themis-longhaul, for 1.6 Tb/s";
            default = "1600KB")]
        pub ecn_kmin: Bytes,
        /// Bytes in the port above which every packet is marked.
        #[serde(default = "ecn_kmax", skip_serializing_if = "is_ecn_kmax")]
        #[param(any; example = "6400KB"; source = "the simulation published with Themis-longhaul, for 1.6 Tb/s";
            default = "25600KB")]
        pub ecn_kmax: Bytes,
        /// Share of packets that are marked just below `ecn_kmax`. The share rises linearly from 0 at `ecn_kmin`.
        #[serde(default = "ecn_pmax", skip_serializing_if = "is_ecn_pmax")]
        #[param(0.0..=1.0; example = 0.2; source = "the simulation published with Themis-longhaul"; default = 0.2)]
        pub ecn_pmax: f64,
        /// Number of dummy packets that circulate in the recirculation port (section V-B: "a few").
        #[param(any; example = 4; source = "Themis-longhaul, section V-B: a few")]
        pub dummies: u32,
        /// Size of a dummy packet.
        #[param(AboveZero; example = "64B"; source = "unspecified; the smallest Ethernet frame")]
        pub dummy_bytes: Bytes,
    }
}

fn no_expiry() -> Span {
    Span::Time(Duration::ZERO)
}

fn is_no_expiry(span: &Span) -> bool {
    *span == no_expiry()
}

fn ecn_kmin() -> Bytes {
    Bytes(1_600_000)
}

fn is_ecn_kmin(bytes: &Bytes) -> bool {
    *bytes == ecn_kmin()
}

fn ecn_kmax() -> Bytes {
    Bytes(25_600_000)
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

/// The reaction point of a single external switch.
pub struct Trp {
    rules: Throttling,
    sites: Sites,
    tables: CnpTables,
    port: Recirculation,
    marking: Option<Marking>,
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    cnps_seen: u64,
    redirected: u64,
    loops: u64,
    marks: u64,
    wrong_flow_redirects: u64,
    recoveries: u64,
    max_loop_num: u64,
}

impl Trp {
    /// The reaction point before the first packet.
    pub fn new(config: &TrpConfig, facts: &ProgramFacts, random: &mut Stream) -> Self {
        let rules = Throttling {
            alpha: config.alpha,
            beta: config.beta.on(&facts.path),
            recovery: config.recovery,
            growth: config.growth,
        };
        let size = |is_there: bool, size: u32| if is_there { size as usize } else { 0 };
        let (slots, entries) =
            (size(config.cache, config.cache_slots), size(config.store, config.store_entries));
        let install_delay = config.install_delay.on(&facts.path);
        let latency = config.latency.on(&facts.path);
        let expiry = Some(config.cache_expiry.on(&facts.path)).filter(|expiry| *expiry > Duration::ZERO);
        let key = random.next_u64();
        let fingerprints = (slots, config.cache_fingerprint);
        let marking = config.ecn.then(|| Marking {
            kmin: config.ecn_kmin.0,
            kmax: config.ecn_kmax.0,
            pmax: config.ecn_pmax,
            random: random.clone(),
        });
        Trp {
            rules,
            sites: facts.sites.clone(),
            tables: CnpTables::new(rules, fingerprints, entries, install_delay, key)
                .freeing(expiry, config.cache_reset_own),
            marking,
            port: Recirculation::new(config.rate, latency, config.dummies, config.dummy_bytes),
            counts: Counts::default(),
        }
    }

    /// The state of a throttled flow. The paper gives no widths. Here a status of three values has 2 bits, the PSN has
    /// 24 bits as in a BTH, times have 32 bits, and the other numbers 8 or 16 bits.
    pub fn state(_: &TrpConfig) -> Vec<StateField> {
        vec![
            StateField::new("TRP: flow_status", 2, 1),
            StateField::new("TRP: loop_num", 8, 1),
            StateField::new("TRP: alpha", 16, 1),
            StateField::new("TRP: cnp_num", 16, 1),
            StateField::new("TRP: cnp_time", 32, 1),
            StateField::new("TRP: last PSN sent on", 24, 1),
            StateField::new("TRP: time of the last packet", 32, 1),
        ]
    }

    /// Handles the arrival of a packet.
    pub fn ingress(&mut self, packet: &Packet, at: &Passage, out: &mut Vec<Emitted>) -> Verdict {
        match packet.repr {
            Repr::Cnp if self.sites.is_own(at.src) && !self.sites.is_own(packet.dst) => {
                self.advance(at.now, out);
                self.counts.cnps_seen += 1;
                self.tables.handle_cnp(at.now, at.src, packet.qp);
                Verdict::Forward
            }
            Repr::Data { psn, .. } if self.sites.is_own(packet.dst) && !self.sites.is_own(at.src) => {
                self.receive(packet, psn, at, out)
            }
            _ => Verdict::Forward,
        }
    }

    fn receive(&mut self, packet: &Packet, psn: u32, at: &Passage, out: &mut Vec<Emitted>) -> Verdict {
        let queued = out.len();
        self.advance(at.now, out);
        let mut loops = 0;
        if let Some(found) = self.tables.find(at.now, packet.dst, packet.qp) {
            let before = found.state.status;
            loops = found.state.handle_data(at.now, psn, &self.rules);
            self.counts.recoveries += u64::from(begins_recovery(before, found.state));
            if loops == 0 {
                found.state.handle_sent(psn);
            } else {
                self.counts.redirected += 1;
                self.counts.wrong_flow_redirects += u64::from(found.is_wrong_flow);
                self.counts.max_loop_num = self.counts.max_loop_num.max(loops.into());
            }
        }
        if loops > 0 {
            self.counts.loops += 1;
            self.port.join(at.now, LoopingPacket { packet: *packet, loops });
            return Verdict::HoldOutside;
        }
        if out.len() > queued {
            // Packets that return at this very time must go first. [`Verdict::Forward`] would send the arriving packet
            // before the packets in `out`, so the arriving packet is appended to `out`.
            out.push(Emitted { packet: *packet, held: Held::OutsideBuffer });
            return Verdict::HoldOutside;
        }
        Verdict::Forward
    }

    /// Handles the packets that return from the port by `now`, and the entries that are due.
    pub fn handle_timeout(&mut self, now: Time, out: &mut Vec<Emitted>) {
        self.advance(now, out);
    }

    /// The time at which [`handle_timeout`](Self::handle_timeout) is due.
    #[inline]
    pub fn next_timeout(&self) -> Option<Time> {
        match (self.tables.next_install(), self.port.next_return()) {
            (Some(install), Some(returns)) => Some(install.min(returns)),
            (install, returns) => install.or(returns),
        }
    }

    /// The counters so far.
    pub fn counters(&self) -> Vec<ProgramCounter> {
        let sum = |name, value| ProgramCounter { name, value, total: Total::Sum };
        let max = |name, value| ProgramCounter { name, value, total: Total::Max };
        let tables = self.tables.counts();
        vec![
            sum("cnps_seen", self.counts.cnps_seen),
            sum("redirected", self.counts.redirected),
            sum("loops", self.counts.loops),
            sum("loop_marks", self.counts.marks),
            sum("wrong_flow_redirects", self.counts.wrong_flow_redirects),
            sum("recoveries", self.counts.recoveries),
            sum("cache_collisions", tables.collisions),
            sum("installs", tables.installs),
            sum("installs_refused", tables.installs_refused),
            sum("entries_reused", tables.entries_reused),
            max("max_loop_num", self.counts.max_loop_num),
            max("max_recirculating_bytes", self.port.max_bytes()),
        ]
    }

    /// Bytes of the packets in the recirculation port (figure 13).
    pub fn held_bytes(&self) -> u64 {
        self.port.bytes()
    }

    /// Handles all events up to and including `now`, in the order of their times.
    fn advance(&mut self, now: Time, out: &mut Vec<Emitted>) {
        while let Some(due) = self.next_timeout()
            && due <= now
        {
            if self.tables.next_install() == Some(due) {
                self.tables.install();
            } else {
                self.handle_return(out);
            }
        }
    }

    fn handle_return(&mut self, out: &mut Vec<Emitted>) {
        let Some((now, mut looping)) = self.port.pop_returned() else { return };
        looping.loops = looping.loops.saturating_sub(1);
        if let Some(marking) = &mut self.marking
            && marking.marks(self.port.bytes())
        {
            looping.packet.marked = true;
            self.counts.marks += 1;
        }
        let packet = looping.packet;
        let Repr::Data { psn, .. } = packet.repr else { return };
        let mut found = self.tables.find(now, packet.dst, packet.qp);
        let again = match &mut found {
            Some(found) => {
                let before = found.state.status;
                let again = found.state.loops_again(now, psn, looping.loops, &self.rules);
                self.counts.recoveries += u64::from(begins_recovery(before, found.state));
                again
            }
            None => looping.loops > 0 && self.rules.recovery != Recovery::Direct,
        };
        if again {
            self.counts.loops += 1;
            self.port.join(now, looping);
            return;
        }
        if let Some(found) = found {
            found.state.handle_sent(psn);
        }
        out.push(Emitted { packet, held: Held::OutsideBuffer });
    }
}

fn begins_recovery(before: FlowStatus, now: &FlowState) -> bool {
    before == FlowStatus::Throttled && now.status == FlowStatus::Recover
}
