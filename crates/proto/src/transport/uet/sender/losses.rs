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
                // A NACK of MRC has no mark.
                self.lb.handle_ack(now, ev, marked && !self.has_reverse_evs, rtt);
                LossCause::TrimmedAtLastHop
            }
            false => {
                self.lb.handle_trim(now, ev);
                LossCause::Trimmed
            }
        };
        self.lose(now, psn, cause, Some(rtt));
    }

    pub(super) fn lose(&mut self, now: Time, psn: u32, cause: LossCause, rtt: Option<Duration>) {
        let bytes = u64::from(self.outgoing.packet_info(psn).bytes);
        self.in_flight -= bytes as i64;
        self.outstanding -= 1;
        self.lost_from = if self.lost_count == 0 { psn } else { self.lost_from.min(psn) };
        self.lost.insert(psn);
        self.lost_count += 1;
        if let Some(credit) = &mut self.credit {
            credit.waiting += bytes;
        }
        if cause != LossCause::Timeout {
            self.copies.note_answer(psn);
        }
        if let LossCause::Timeout | LossCause::Inferred = cause {
            let ev = self.copies.of(psn).ev;
            self.lb.handle_timeout(now, Some(ev));
        }
        let in_flight = self.in_flight();
        self.cc.handle_loss(&LossReport { now, bytes, cause, rtt, in_flight });
    }

    /// An option of UET that follows uet-htsim's option `-sleek`. During a recovery, each missing packet within a
    /// window from the cumulative PSN is declared lost once. This requires that a higher PSN has arrived, or that a
    /// later probe is answered. uet-htsim does not require this, since its threshold is at least a window.
    #[inline]
    pub(super) fn infer_losses(&mut self, out_of_order: u16, is_probed: bool, now: Time) {
        if self.loss_packets == 0 || self.outstanding == 0 {
            return;
        }
        let packet = u64::from(self.outgoing.packet_bytes());
        if is_probed || (self.unacked >= self.recovery_end && self.is_far(u64::from(out_of_order) * packet)) {
            (self.recovery_end, self.recovered_end) = (self.next, self.unacked);
        }
        if is_probed {
            self.received_end = self.received_end.max(self.probe_end);
        }
        if self.unacked < self.recovery_end {
            let within = u32::try_from(self.cc.window().div_ceil(packet)).unwrap_or(self.mpr);
            let end = self.recovery_end.min(self.received_end);
            self.recover(now, end.min(self.unacked.saturating_add(within)));
        }
    }

    /// Whether `late` bytes out of order mean a loss. The threshold of `loss_windows` windows is at most MaxWnd, as in
    /// uet-htsim.
    #[inline]
    fn is_far(&self, late: u64) -> bool {
        let windows = (self.loss_windows * self.cc.window() as f64) as u64;
        let packets = self.loss_packets * u64::from(self.outgoing.packet_bytes());
        late > 0 && late >= windows.min(self.cc.max_window()).max(packets)
    }

    /// Declares lost the outstanding packets below `end` that this recovery has not examined yet.
    #[cold]
    fn recover(&mut self, now: Time, end: u32) {
        for psn in self.recovered_end.max(self.unacked)..end {
            if self.is_outstanding(psn) {
                self.lose(now, psn, LossCause::Inferred, None);
            }
        }
        self.recovered_end = self.recovered_end.max(end);
    }
}
