//! Themis-S, the role of the sender's ToR (sections 4.1 and 4.4).

use super::by_qp::ByQp;
use super::{PATH_AVOIDANCE_SIGNAL, SPRAYED, ThemisSprayingConfig};
use crate::Packet;
use crate::program::interface::{ProgramFacts, Verdict};
use anabranch_base::{HostId, Purpose, QpId, Stream, stream};
use std::sync::Arc;

/// Sprays the data packets of local hosts to other ToRs.
pub(super) struct Source {
    /// Number of paths (N).
    paths: u32,
    path_map: Option<Arc<[u16]>>,
    reroute: bool,
    avoidance_window: u32,
    qps: ByQp<QueuePair>,
    /// Salt of the hash that determines base paths.
    salt: u64,
    random: Stream,
    pub(super) counters: SourceCounters,
}

#[derive(Default)]
pub(super) struct SourceCounters {
    /// Retransmissions that took another path.
    pub(super) rerouted: u64,
    /// Other packets that took another path because their own was avoided.
    pub(super) avoided: u64,
}

/// The state of a queue pair in Themis-S: Table 3, and the base path, which hardware computes for each packet.
struct QueuePair {
    base_path: u32,
    /// The PSN of the last NACK (lastNackPsn, recved_nack_psn).
    last_nack_psn: u32,
    /// For each relative path, the number of packets for which it is still avoided (path_adaptive_count). It is empty
    /// before the first signal.
    avoidance: Box<[u32]>,
}

/// The value of lastNackPsn before the first NACK. No packet has this PSN, since the largest PSN of a packet is one
/// below it.
const NO_PSN: u32 = u32::MAX;

impl Source {
    pub(super) fn new(config: &ThemisSprayingConfig, facts: &ProgramFacts, mut random: Stream) -> Self {
        Source {
            paths: facts.paths.max(1),
            path_map: facts.path_map.clone(),
            reroute: config.reroute,
            avoidance_window: config.avoidance_window,
            qps: ByQp::new(),
            salt: random.next_u64(),
            random,
            counters: SourceCounters::default(),
        }
    }

    /// Chooses the path of a data packet from a local host to another ToR.
    #[inline]
    pub(super) fn handle_data(&mut self, packet: &mut Packet, psn: u32) -> Verdict {
        packet.tag |= SPRAYED;
        let (salt, paths) = (self.salt, self.paths);
        let qp = self.qps.get_or_insert_with(packet.qp, || QueuePair {
            base_path: base_path(salt, packet.qp, packet.dst, paths),
            last_nack_psn: NO_PSN,
            avoidance: Box::default(),
        });
        let mut path = psn % paths;
        // Section 4.4, failure handling: each packet of an avoided path decrements the path's counter.
        let is_avoided = qp.avoidance.get(path as usize).is_some_and(|&left| left > 0);
        if is_avoided {
            qp.avoidance[path as usize] -= 1;
        }
        // Section 4.4, retransmission rerouting: a retransmission whose path is also avoided moves only once.
        let is_rerouted = self.reroute && psn == qp.last_nack_psn;
        if (is_avoided || is_rerouted) && paths > 1 {
            path = other_path(path, paths, &qp.avoidance, &mut self.random);
            let count = &mut self.counters;
            *(if is_rerouted { &mut count.rerouted } else { &mut count.avoided }) += 1;
        }
        match &self.path_map {
            // Section 4.1, figure 4: the base path is the one that ECMP chooses for the packet's own entropy value.
            Some(path_map) => {
                packet.ev ^= path_map[path as usize];
                Verdict::Forward
            }
            // Section 4.1, equation 1.
            None => Verdict::Port(((path + qp.base_path) % paths) as u16),
        }
    }

    pub(super) fn handle_nack(&mut self, packet: &mut Packet, psn: u32) {
        let is_signal = packet.tag & PATH_AVOIDANCE_SIGNAL != 0;
        packet.tag &= !PATH_AVOIDANCE_SIGNAL;
        let Some(qp) = self.qps.get_mut(packet.qp) else {
            return;
        };
        qp.last_nack_psn = psn;
        if is_signal {
            if qp.avoidance.is_empty() {
                qp.avoidance = vec![0; self.paths as usize].into_boxed_slice();
            }
            qp.avoidance[(psn % self.paths) as usize] = self.avoidance_window;
        }
    }
}

/// The base path P_base. It is a hash of the queue pair, which replaces ECMP's hash.
fn base_path(salt: u64, qp: QpId, dst: HostId, paths: u32) -> u32 {
    stream(salt, u64::from(dst.0) << 32 | u64::from(qp.0), Purpose::EcmpSalt).below(paths)
}

/// A random relative path other than `path`.
///
/// Section 4.4 does not specify whether the new path may be an avoided path. Here avoided paths are excluded as long
/// as another path is left, since a packet that moves to a failed path would be lost there.
fn other_path(path: u32, paths: u32, avoidance: &[u32], random: &mut Stream) -> u32 {
    let is_good =
        |other: &u32| *other != path && avoidance.get(*other as usize).is_none_or(|&left| left == 0);
    match (0..paths).filter(is_good).count() as u32 {
        0 => (path + 1 + random.below(paths - 1)) % paths,
        good => {
            let nth = random.below(good) as usize;
            (0..paths).filter(is_good).nth(nth).unwrap_or(path)
        }
    }
}
