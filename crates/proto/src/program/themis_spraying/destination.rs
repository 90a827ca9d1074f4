//! Themis-D: what the receiver's ToR does (sections 4.2 to 4.4, Algorithm 1).

use super::bitmap::ProxyBitmap;
use super::by_qp::ByQp;
use super::{PATH_AVOIDANCE_SIGNAL, SPRAYED, ThemisSprayingConfig};
use crate::program::interface::{Emitted, Held, ProgramFacts, Verdict};
use crate::{Packet, Repr};
use anabranch_base::{HostId, Time};

/// Tells NACKs for lost packets from NACKs for late ones.
pub(super) struct Destination {
    /// N.
    paths: u32,
    window: u32,
    confirmation: bool,
    lazy_drop: bool,
    /// OOO_THRESHOLD, when failures are handled.
    ooo_threshold: Option<u32>,
    nack_bytes: u16,
    qps: ByQp<QueuePair>,
    pub(super) counters: DestinationCounters,
}

/// What Themis-D counted.
#[derive(Default)]
pub(super) struct DestinationCounters {
    /// NACKs forwarded at once.
    pub(super) valid: u64,
    /// NACKs dropped: the packet was delivered.
    pub(super) invalid: u64,
    /// NACKs stashed (or dropped, without lazy dropping): nothing is known of the packet.
    pub(super) undetermined: u64,
    /// Stashed NACKs sent on, since a later packet of the same path showed the loss.
    pub(super) confirmed: u64,
    /// Stashed NACKs discarded, since their packet arrived.
    pub(super) refuted: u64,
    /// Stashed NACKs that went out as Path Avoidance Signals.
    pub(super) avoidance_signals: u64,
}

/// What Themis-D keeps for a queue pair (Table 4).
struct QueuePair {
    /// What has gone out to the NIC, and its ePSN (bitmap_array, epsn_array and the bases).
    delivered: ProxyBitmap,
    /// By relative path: the highest PSN that has gone out to the NIC (path_psn_max_array). 0 stands for minus
    /// infinity, since what it is asked is whether it is above some PSN.
    path_max: Box<[u32]>,
    /// The stashed NACK, while Valid holds.
    stashed: Option<Stashed>,
}

/// What stays of an undetermined NACK. Its path (stash_nack_path_id) is its PSN modulo N; its `dst` stands for the
/// addresses that hardware swaps in the mirrored packet, and for the egress port.
struct Stashed {
    /// SePSN.
    psn: u32,
    dst: HostId,
    ev: u16,
    sent_at: Time,
}

impl Destination {
    pub(super) fn new(config: &ThemisSprayingConfig, facts: &ProgramFacts) -> Self {
        Destination {
            paths: facts.paths.max(1),
            window: config.window,
            confirmation: config.confirmation,
            lazy_drop: config.lazy_drop,
            ooo_threshold: config.failure_handling.then_some(config.ooo_threshold),
            nack_bytes: facts.ack.0 as u16,
            qps: ByQp::new(),
            counters: DestinationCounters::default(),
        }
    }

    /// A sprayed data packet has left its egress queue and goes out to its NIC.
    #[inline]
    pub(super) fn handle_data(&mut self, packet: &mut Packet, psn: u32, out: &mut Vec<Emitted>) {
        packet.tag &= !SPRAYED;
        let (paths, window) = (self.paths, self.window);
        let qp = self.qps.get_or_insert_with(packet.qp, || QueuePair {
            delivered: ProxyBitmap::new(window),
            path_max: vec![0; paths as usize].into_boxed_slice(),
            stashed: None,
        });
        // Algorithm 1, lines 19-23.
        qp.delivered.insert(psn);
        let path_max = &mut qp.path_max[(psn % paths) as usize];
        *path_max = (*path_max).max(psn);
        let Some(stashed) = &qp.stashed else {
            return;
        };
        if psn == stashed.psn {
            // Section 4.3, second rule: it was not lost.
            self.counters.refuted += 1;
            qp.stashed = None;
        } else if psn > stashed.psn {
            // Section 4.3, first rule. This rule precedes failure handling: a path that delivers packets has not
            // failed.
            let tag = if psn % paths == stashed.psn % paths {
                self.counters.confirmed += 1;
                0
            } else if self.ooo_threshold.is_some_and(|threshold| psn - stashed.psn > threshold) {
                // Section 4.4, failure handling.
                self.counters.avoidance_signals += 1;
                PATH_AVOIDANCE_SIGNAL
            } else {
                return;
            };
            let nack = stashed.nack(packet, self.nack_bytes, tag);
            out.push(Emitted { packet: nack, held: Held::Never });
            qp.stashed = None;
        }
    }

    /// A local NIC acknowledges every PSN below `expected`.
    #[inline]
    pub(super) fn handle_ack(&mut self, packet: &Packet, expected: u32) {
        if let Some(qp) = self.qps.get_mut(packet.qp) {
            qp.delivered.advance(expected);
        }
    }

    /// A local NIC asks for `psn`, its ePSN (Algorithm 1, `onNACK`).
    pub(super) fn handle_nack(&mut self, packet: &Packet, psn: u32, sent_at: Time) -> Verdict {
        // A queue pair from which no sprayed packet has arrived: the sender's ToR does not run Themis.
        let Some(qp) = self.qps.get_mut(packet.qp) else {
            return Verdict::Forward;
        };
        // Appendix A speaks of ACKs; the ePSN of a NACK says the same.
        qp.delivered.advance(psn);
        // Lines 5-8, C1. (The paper's walk through figure 6 says "not satisfied" of a packet that was delivered: such
        // a NACK is invalid, and C1 is "not yet delivered".)
        if qp.delivered.contains(psn) {
            self.counters.invalid += 1;
            return Verdict::Drop;
        }
        // Lines 9-12, C2.
        if !self.confirmation || qp.path_max[(psn % self.paths) as usize] > psn {
            self.counters.valid += 1;
            return Verdict::Forward;
        }
        // Line 14.
        self.counters.undetermined += 1;
        if self.lazy_drop {
            // Section 4.3: one for each queue pair; a NACK stashed before was for a packet that has come.
            qp.stashed = Some(Stashed { psn, dst: packet.dst, ev: packet.ev, sent_at });
        }
        Verdict::Drop
    }
}

impl Stashed {
    /// The NACK, made from a mirrored copy of the data packet that triggers it (section 5, mirroring).
    fn nack(&self, data: &Packet, wire_bytes: u16, tag: u16) -> Packet {
        let repr = Repr::nack(self.psn).with_sent_at(self.sent_at);
        Packet::new(data.qp, self.dst, repr).with_bytes(wire_bytes).with_ev(self.ev).with_tag(tag)
    }
}
