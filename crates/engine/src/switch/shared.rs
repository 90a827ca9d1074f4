//! The shared buffer of a switch, and the part of it that each port may use.
//!
//! The limit is the dynamic threshold of Choudhury and Hahne (IEEE/ACM Transactions on Networking, 1998): a queue may
//! hold `alpha` times the free part of the buffer. A single full queue gets the share `alpha / (1 + alpha)` of the
//! buffer, and each of n full queues gets `alpha / (1 + n alpha)`. In a lossless class the threshold applies to each
//! ingress port, otherwise to each egress queue.

use crate::spec::FabricSpec;

#[derive(Clone, Copy, Debug)]
pub(super) struct Shared {
    pub(super) size: u64,
    pub(super) used: u64,
}

/// The limit of one queue or ingress port.
#[derive(Clone, Copy, Debug)]
pub(super) enum Threshold {
    /// A multiple of the free part of the buffer, in units of 2^-16.
    Dynamic(u64),
    /// A fixed number of bytes.
    Static(u64),
}

/// The buffer that the data queues of a switch share. Packets that do not fit are dropped or trimmed.
pub(super) struct SharedQueues {
    shared: Shared,
    threshold: Threshold,
}

impl Threshold {
    pub(super) fn dynamic(alpha: f64) -> Threshold {
        Threshold::Dynamic((alpha * 65_536.0) as u64)
    }
}

impl Shared {
    /// The most bytes that a queue with this threshold may hold now.
    #[inline]
    pub(super) fn threshold(&self, of: Threshold) -> u64 {
        match of {
            Threshold::Static(bytes) => bytes,
            Threshold::Dynamic(alpha) => {
                ((u128::from(self.size - self.used) * u128::from(alpha)) >> 16) as u64
            }
        }
    }

    /// Charges `bytes` bytes to a queue or port that holds `held` bytes, if they fit.
    #[inline]
    pub(super) fn admit(&mut self, threshold: Threshold, held: u32, bytes: u16) -> bool {
        let bytes = u64::from(bytes);
        let fits = u64::from(held) + bytes <= self.threshold(threshold) && self.used + bytes <= self.size;
        if fits {
            self.used += bytes;
        }
        fits
    }
}

impl SharedQueues {
    pub(super) fn of(fabric: &FabricSpec) -> Option<SharedQueues> {
        let size = fabric.shared_buffer.0;
        let threshold = Threshold::dynamic(fabric.shared_alpha);
        (size > 0).then_some(SharedQueues { shared: Shared { size, used: 0 }, threshold })
    }

    /// Whether `arriving` bytes of data fit even if all of them come to one queue that already holds `held` bytes.
    pub(super) fn is_calm(&self, held: u64, arriving: u64) -> bool {
        let used = self.shared.used + arriving;
        let fullest = Shared { used: used.min(self.shared.size), ..self.shared };
        used <= self.shared.size && held + arriving <= fullest.threshold(self.threshold)
    }

    pub(super) fn admit(&mut self, held: u32, bytes: u16) -> bool {
        self.shared.admit(self.threshold, held, bytes)
    }

    pub(super) fn release(&mut self, bytes: u16) {
        self.shared.used -= u64::from(bytes);
    }

    pub(super) fn held(&self) -> u64 {
        self.shared.used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(size: u64, alpha: f64) -> SharedQueues {
        SharedQueues { shared: Shared { size, used: 0 }, threshold: Threshold::dynamic(alpha) }
    }

    /// The number of packets of 1,000 B that a queue accepts before one does not fit.
    fn fill(buffer: &mut SharedQueues) -> u32 {
        (0..).find(|packets| !buffer.admit(packets * 1_000, 1_000)).unwrap()
    }

    /// The numbers are computed by hand, for an alpha of 1, a buffer of 10,000 B and packets of 1,000 B. A queue of x
    /// bytes accepts a packet if x + 1,000 is at most the free part. The first queue needs x + 1,000 <= 10,000 - x, so
    /// x <= 4,500: it accepts five packets. A second queue finds 5,000 B left, so x <= 2,000: three packets. A third
    /// queue finds 2,000 B left, so x <= 500: one packet.
    #[test]
    fn a_queue_holds_alpha_times_what_is_left() {
        let mut one = buffer(10_000, 1.0);
        assert_eq!([fill(&mut one), fill(&mut one), fill(&mut one)], [5, 3, 1]);
        assert_eq!(one.held(), 9_000);
        // Bytes that one queue releases are free for others. 2,000 B are free now, so that an empty queue accepts one
        // packet.
        one.release(1_000);
        assert_eq!(fill(&mut one), 1);
    }

    /// With an alpha of 8, a queue of x bytes accepts a packet of 1,000 B if x + 1,000 is at most 8 times the free
    /// part. The first queue needs x + 1,000 <= 8 (90,000 - x), so x <= 79,888: it accepts 80 packets, eight ninths
    /// of the buffer. The second queue finds 10,000 B left, so x <= 8,777: nine packets.
    #[test]
    fn a_large_alpha_leaves_little_to_others() {
        let mut eight = buffer(90_000, 8.0);
        assert_eq!(fill(&mut eight), 80);
        assert_eq!(fill(&mut eight), 9);
    }

    #[test]
    fn nothing_beyond_the_buffer_is_taken() {
        let mut whole = buffer(2_500, 65_536.0);
        assert_eq!(fill(&mut whole), 2);
        assert!(whole.admit(0, 500) && !whole.admit(0, 1));
    }
}
