//! Cumulative and selective acknowledgement of the PSNs of a sender.

use crate::psn_set::PsnSet;

/// A sender whose packets may be acknowledged in any order.
pub(in crate::transport) trait Acknowledging {
    /// The lowest PSN that is not acknowledged, and the set of acknowledged PSNs above it.
    fn acknowledged(&mut self) -> (&mut u32, &mut PsnSet);

    /// The first PSN that was never sent.
    fn next(&self) -> u32;

    /// Marks `psn`, which was not acknowledged before, as acknowledged.
    fn acknowledge_one(&mut self, psn: u32);

    /// Acknowledges every PSN below `cumulative`. Returns the number of newly acknowledged packets.
    #[inline(always)]
    fn acknowledge_below(&mut self, cumulative: u32) -> u32 {
        let cumulative = cumulative.min(self.next());
        let mut packets = 0;
        loop {
            let (unacked, acked) = self.acknowledged();
            if *unacked >= cumulative {
                return packets;
            }
            // PSNs that earlier bitmaps acknowledged are skipped.
            *unacked = acked.take_run(*unacked);
            let psn = *unacked;
            if psn < cumulative {
                self.acknowledge_one(psn);
                packets += 1;
            }
        }
    }

    /// Acknowledges the PSNs of a bitmap whose bit 0 stands for `base`. Bits of PSNs that were never sent are ignored.
    /// Returns the number of newly acknowledged packets.
    #[inline(always)]
    fn acknowledge_bits(&mut self, base: u32, received: u64) -> u32 {
        let next = self.next();
        let (unacked, acked) = self.acknowledged();
        let (base, mut bits) = acked.absent(*unacked..next, base, received);
        let packets = bits.count_ones();
        while bits != 0 {
            self.acknowledge_one(base + bits.trailing_zeros());
            bits &= bits - 1;
        }
        let (unacked, acked) = self.acknowledged();
        if acked.contains(*unacked) {
            *unacked = acked.take_run(*unacked);
        }
        packets
    }
}
