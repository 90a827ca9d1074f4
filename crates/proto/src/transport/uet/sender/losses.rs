//! The losses of a sender: by timeouts, by trims, and inferred from the packets that arrived.

use super::UetSender;
use crate::cc::{LossCause, LossReport};
use anabranch_base::{Duration, Time};

impl UetSender {
    pub(super) fn time_out(&mut self, now: Time, psn: u32) {
        self.counters.timeouts += 1;
        self.copies.note_timeout(psn);
        self.lose(now, psn, LossCause::Timeout, None);
    }

    /// UET 1.0.3, section 3.6.16: a trim at the last hop is reported to the load balancer as an ACK, since all paths
    /// end there.
    pub(super) fn handle_trim(&mut self, now: Time, psn: u32, marked: bool, last_hop: bool) {
        self.counters.nacks += 1;
        let sent = self.copies.of(psn);
        let (rtt, ev) = (now.since(sent.at), sent.ev);
        let cause = match last_hop {
            true => {
                self.lb.handle_ack(now, ev, marked, rtt);
                LossCause::TrimmedAtLastHop
            }
            false => {
                self.lb.handle_trim(now, ev);
                LossCause::Trimmed
            }
        };
        self.lose(now, psn, cause, Some(rtt));
    }

    /// Declares an outstanding packet lost.
    pub(super) fn lose(&mut self, now: Time, psn: u32, cause: LossCause, rtt: Option<Duration>) {
        let bytes = u64::from(self.outgoing.packet_info(psn).bytes);
        self.in_flight -= bytes as i64;
        self.outstanding -= 1;
        self.lost_from = if self.lost_count == 0 { psn } else { self.lost_from.min(psn) };
        self.lost.insert(psn);
        self.lost_count += 1;
        if let LossCause::Timeout | LossCause::Inferred = cause {
            let ev = self.copies.of(psn).ev;
            self.lb.handle_timeout(now, Some(ev));
        }
        let in_flight = self.in_flight();
        self.cc.handle_loss(&LossReport { now, bytes, cause, rtt, in_flight });
    }

    /// Infers losses from the number of packets that arrived out of order, or from the answer to a probe that no other
    /// answer preceded. This is optional in UET, and the rule is that of uet-htsim with -sleek. Every missing packet
    /// below the highest PSN that has arrived, within a window from the cumulative PSN, is retransmitted, once per
    /// recovery.
    #[inline]
    pub(super) fn infer_losses(&mut self, now: Time, out_of_order: u16, is_probed: bool) {
        if self.loss_packets == 0 || self.outstanding == 0 || self.unacked < self.recovery_end {
            return;
        }
        let packet = u64::from(self.outgoing.packet_bytes());
        let windows = (self.loss_windows * self.cc.window() as f64) as u64;
        let threshold = windows.max(self.loss_packets * packet);
        if is_probed || (out_of_order > 0 && u64::from(out_of_order) * packet >= threshold) {
            let within = u32::try_from(self.cc.window().div_ceil(packet)).unwrap_or(self.mpr);
            self.recover(now, self.received_end.min(self.unacked.saturating_add(within)));
        }
    }

    #[cold]
    fn recover(&mut self, now: Time, end: u32) {
        self.recovery_end = self.next;
        for psn in self.unacked..end {
            if self.is_outstanding(psn) {
                self.lose(now, psn, LossCause::Inferred, None);
            }
        }
    }
}
