//! Themis-D, the role of the receiver's ToR (sections 4.2 to 4.4, Algorithm 1).

use super::bitmap::ProxyBitmap;
use super::by_qp::ByQp;
use super::{PATH_AVOIDANCE_SIGNAL, SPRAYED, ThemisSprayingConfig};
use crate::program::interface::{Emitted, Held, ProgramFacts, Verdict};
use crate::{Packet, Repr};
use anabranch_base::{HostId, Time};

/// Distinguishes NACKs for lost packets from NACKs for late ones.
pub(super) struct Destination {
    /// Number of paths (N).
    paths: u32,
    window: u32,
    confirmation: bool,
    lazy_drop: bool,
    /// OOO_THRESHOLD. None if failures are not handled.
    ooo_threshold: Option<u32>,
    nack_bytes: u16,
    qps: ByQp<QueuePair>,
    pub(super) counters: DestinationCounters,
}

#[derive(Default)]
pub(super) struct DestinationCounters {
    /// NACKs that were forwarded immediately as valid.
    pub(super) valid: u64,
    /// NACKs that were dropped, since their packet was delivered.
    pub(super) invalid: u64,
    /// NACKs for which it was not known whether their packet was lost. They were stashed with lazy dropping, and
    /// dropped otherwise.
    pub(super) undetermined: u64,
    /// Stashed NACKs that were forwarded, since a later packet of the same path proved the loss.
    pub(super) confirmed: u64,
    /// Stashed NACKs that were discarded, since their packet arrived.
    pub(super) refuted: u64,
    /// Stashed NACKs that were sent as Path Avoidance Signals.
    pub(super) avoidance_signals: u64,
}

/// The state of a queue pair in Themis-D (Table 4).
struct QueuePair {
    /// The packets that were sent to the NIC, and the ePSN of the NIC (bitmap_array, epsn_array and the bases).
    delivered: ProxyBitmap,
    /// For each relative path, the highest PSN that was sent to the NIC (path_psn_max_array). 0 replaces minus
    /// infinity, since the value is only tested for being above some PSN.
    path_max: Box<[u32]>,
    /// The stashed NACK. None while the paper's Valid bit is not set.
    stashed: Option<StashedNack>,
}

/// The stored fields of an undetermined NACK. Its path (stash_nack_path_id) is its PSN modulo N, and is not stored.
/// `dst` stands for the addresses that hardware swaps in the mirrored packet, and for the egress port.
struct StashedNack {
    /// The ePSN of the stored NACK (SePSN).
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

    /// Handles a sprayed data packet that has left its egress queue and goes to the NIC.
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
            // Section 4.3, second rule: the packet was not lost.
            self.counters.refuted += 1;
            qp.stashed = None;
        } else if psn > stashed.psn {
            // Section 4.3, first rule. It precedes failure handling, since a path that delivers packets has not failed.
            let tag = if psn % paths == stashed.psn % paths {
                self.counters.confirmed += 1;
                0
            } else if self.ooo_threshold.is_some_and(|threshold| psn - stashed.psn > threshold) {
                // The failure handling of section 4.4.
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

    /// Handles the acknowledgement of every PSN below `expected` by a local NIC.
    #[inline]
    pub(super) fn handle_ack(&mut self, packet: &Packet, expected: u32) {
        if let Some(qp) = self.qps.get_mut(packet.qp) {
            qp.delivered.advance(expected);
        }
    }

    /// Handles a NACK of a local NIC for `psn`, the ePSN of this NIC (Algorithm 1, `onNACK`).
    pub(super) fn handle_nack(&mut self, packet: &Packet, psn: u32, sent_at: Time) -> Verdict {
        // If no packet of the queue pair was sprayed, the sender's ToR does not run Themis.
        let Some(qp) = self.qps.get_mut(packet.qp) else {
            return Verdict::Forward;
        };
        // Appendix A mentions only ACKs, but the ePSN of a NACK has the same meaning.
        qp.delivered.advance(psn);
        // Lines 5-8, condition C1, "not yet delivered": a NACK for a packet that was delivered is invalid.
        if qp.delivered.contains(psn) {
            self.counters.invalid += 1;
            return Verdict::Drop;
        }
        // Lines 9-12, condition C2: a later packet of the same path has arrived, so the packet is lost. Without
        // `confirmation`, the packet is assumed to be lost.
        if !self.confirmation || qp.path_max[(psn % self.paths) as usize] > psn {
            self.counters.valid += 1;
            return Verdict::Forward;
        }
        // Line 14: it is not known yet whether the packet is lost.
        self.counters.undetermined += 1;
        if self.lazy_drop {
            // Section 4.3: there is one stashed NACK per queue pair, and a later NACK replaces an earlier NACK.
            qp.stashed = Some(StashedNack { psn, dst: packet.dst, ev: packet.ev, sent_at });
        }
        Verdict::Drop
    }
}

impl StashedNack {
    /// Builds the NACK from a mirrored copy of the data packet that triggers it (section 5, mirroring).
    fn nack(&self, data: &Packet, wire_bytes: u16, tag: u16) -> Packet {
        let repr = Repr::nack(self.psn).with_sent_at(self.sent_at);
        Packet::new(data.qp, self.dst, repr).with_bytes(wire_bytes).with_ev(self.ev).with_tag(tag)
    }
}
