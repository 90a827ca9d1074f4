//! A buffer that the data queues of a switch share, which drop or trim what does not fit.
//!
//! The dynamic threshold of Choudhury and Hahne (IEEE/ACM Transactions on Networking, 1998): a queue may hold `alpha` times what
//! is left of the buffer, so that one that is alone takes the share `alpha / (1 + alpha)` of it, and n that are full
//! `alpha / (1 + n alpha)` each. In integers, as in a lossless class.

use crate::spec::FabricSpec;

/// The shared buffer of a switch.
pub(super) struct SharedBuffer {
    size: u64,
    used: u64,
    /// The most that a queue may hold of what is left, in 2^-16ths.
    alpha: u64,
}

impl SharedBuffer {
    /// The empty buffer of a switch, where its data queues share one.
    pub(super) fn of(fabric: &FabricSpec) -> Option<SharedBuffer> {
        let size = fabric.shared_buffer.0;
        (size > 0).then_some(SharedBuffer { size, used: 0, alpha: (fabric.shared_alpha * 65_536.0) as u64 })
    }

    /// Charges `bytes` bytes of a queue that holds `held`, unless they do not fit.
    pub(super) fn admit(&mut self, held: u32, bytes: u16) -> bool {
        let left = self.size - self.used;
        let most = (u128::from(left) * u128::from(self.alpha)) >> 16;
        let fits = u128::from(held) + u128::from(bytes) <= most && u64::from(bytes) <= left;
        if fits {
            self.used += u64::from(bytes);
        }
        fits
    }

    /// Releases `bytes` bytes.
    pub(super) fn release(&mut self, bytes: u16) {
        self.used -= u64::from(bytes);
    }

    /// Bytes that it counts.
    pub(super) fn held(&self) -> u64 {
        self.used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(size: u64, alpha: f64) -> SharedBuffer {
        SharedBuffer { size, used: 0, alpha: (alpha * 65_536.0) as u64 }
    }

    /// Packets of 1,000 B that a queue takes until it is refused one.
    fn fill(buffer: &mut SharedBuffer) -> u32 {
        (0..).find(|packets| !buffer.admit(packets * 1_000, 1_000)).unwrap()
    }

    /// By hand, with an alpha of 1 and 10,000 B: the queue may hold x + 1,000 <= 10,000 - x, so x <= 4,500: five packets. A
    /// second one finds 5,000 B left, x <= 2,000: three. A third finds 2,000 B, x <= 500: one.
    #[test]
    fn a_queue_holds_alpha_times_what_is_left() {
        let mut one = buffer(10_000, 1.0);
        assert_eq!([fill(&mut one), fill(&mut one), fill(&mut one)], [5, 3, 1]);
        assert_eq!(one.held(), 9_000);
        // What one lets go another may take: 2,000 B left, and a queue that is empty.
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
