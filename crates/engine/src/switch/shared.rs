//! The shared buffer of a switch, and the share of it that each port may hold.
//!
//! The dynamic threshold of Choudhury and Hahne (IEEE/ACM Transactions on Networking, 1998): a queue may hold `alpha`
//! times the free part of the buffer. A single full queue gets the share `alpha / (1 + alpha)` of it, each of n full ones
//! `alpha / (1 + n alpha)`. In a lossless class it applies per ingress port, otherwise per egress queue. The arithmetic is in
//! integers.

use crate::spec::FabricSpec;

/// The part of a switch's buffer that ports share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shared {
    pub(super) size: u64,
    pub(super) used: u64,
}

/// The limit of one queue or ingress port.
#[derive(Clone, Copy, Debug)]
pub(super) enum Threshold {
    /// A share of the free part of the buffer, in 2^-16ths.
    Dynamic(u64),
    /// A fixed number of bytes.
    Static(u64),
}

/// The buffer that the data queues of a switch share; packets that do not fit are dropped or trimmed.
pub(super) struct SharedQueues {
    shared: Shared,
    threshold: Threshold,
}

impl Threshold {
    /// The dynamic threshold of `alpha` times the free part.
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

    /// Charges `bytes` bytes to a queue or port that holds `held`, if they fit.
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
    /// The empty buffer of a switch, where its data queues share one.
    pub(super) fn of(fabric: &FabricSpec) -> Option<SharedQueues> {
        let size = fabric.shared_buffer.0;
        let threshold = Threshold::dynamic(fabric.shared_alpha);
        (size > 0).then_some(SharedQueues { shared: Shared { size, used: 0 }, threshold })
    }

    /// Whether `arriving` bytes of data fit however they spread over the queues: even if all of them come to one queue that
    /// already holds `held`.
    pub(super) fn is_calm(&self, held: u64, arriving: u64) -> bool {
        let used = self.shared.used + arriving;
        let fullest = Shared { used: used.min(self.shared.size), ..self.shared };
        used <= self.shared.size && held + arriving <= fullest.threshold(self.threshold)
    }

    /// Charges `bytes` bytes to a queue that holds `held`, if they fit.
    pub(super) fn admit(&mut self, held: u32, bytes: u16) -> bool {
        self.shared.admit(self.threshold, held, bytes)
    }

    /// Releases `bytes` bytes.
    pub(super) fn release(&mut self, bytes: u16) {
        self.shared.used -= u64::from(bytes);
    }

    /// The bytes charged in total.
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

    /// The number of packets of 1,000 B that a queue takes until one does not fit.
    fn fill(buffer: &mut SharedQueues) -> u32 {
        (0..).find(|packets| !buffer.admit(packets * 1_000, 1_000)).unwrap()
    }

    /// By hand, with an alpha of 1 and 10,000 B: the queue may hold x + 1,000 <= 10,000 - x, so x <= 4,500: five packets. A
    /// second one finds 5,000 B left, x <= 2,000: three. A third finds 2,000 B, x <= 500: one.
    #[test]
    fn a_queue_holds_alpha_times_what_is_left() {
        let mut one = buffer(10_000, 1.0);
        assert_eq!([fill(&mut one), fill(&mut one), fill(&mut one)], [5, 3, 1]);
        assert_eq!(one.held(), 9_000);
        // Another queue may take released bytes: 2,000 B are left, and its queue is empty.
        one.release(1_000);
        assert_eq!(fill(&mut one), 1);
    }

    /// With an alpha of 8 a queue that is alone takes eight ninths.
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
