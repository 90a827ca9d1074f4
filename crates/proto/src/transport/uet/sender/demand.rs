//! The demand of a source, from which its receiver grants credit (RCCC).

use super::UetSender;
use crate::packet::{Msn, Packet, Repr};
use crate::transport::uet::credit::Credit;
use anabranch_base::Time;

impl UetSender {
    #[inline]
    pub(super) fn lacks_credit(&self) -> bool {
        self.credit.as_ref().is_some_and(|credit| !credit.allows())
    }

    pub(super) fn has_backlog(&self) -> bool {
        self.lost_count > 0 || self.can_send_new()
    }

    /// Counts the bytes of the PSNs from `first` on, which were just posted, as waiting.
    pub(super) fn await_credit(&mut self, first: u32) {
        let Some(credit) = &mut self.credit else { return };
        let last = self.outgoing.end() - 1;
        credit.waiting += u64::from(last - first) * u64::from(self.outgoing.packet_bytes());
        credit.waiting += u64::from(self.outgoing.packet_info(last).bytes);
    }

    /// The number of the last pull for which the source has data. Data beyond the window plus one packet does not
    /// count.
    pub(super) fn target(&self, credit: &Credit) -> u32 {
        let packet = u64::from(self.outgoing.packet_bytes());
        credit.target(credit.waiting.min(self.cc.window().saturating_add(packet)), packet)
    }

    #[inline]
    pub(super) fn demand(&mut self, now: Time) -> Msn {
        let Some(credit) = &self.credit else { return Msn::NONE };
        let target = self.target(credit);
        if let Some(credit) = &mut self.credit {
            credit.announce(now, target);
        }
        Msn::of_pull_target(target)
    }

    /// A request for credit, if the present demand is not announced yet.
    #[cold]
    pub(super) fn request(&mut self, now: Time) -> Option<Packet> {
        let target = self.credit.as_ref().map(|credit| self.target(credit))?;
        let credit = self.credit.as_mut().filter(|credit| credit.must_request(target))?;
        credit.announce(now, target);
        let ev = self.lb.next_ev(now, self.cc.window());
        let rts = Packet::new(self.ends.qp, self.ends.dst, Repr::Rts { target });
        Some(rts.with_bytes(self.control_bytes).with_ev(ev))
    }
}
