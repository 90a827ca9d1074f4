//! No control at all.

use super::interface::CongestionControl;
/// A window in bytes that never changes.
#[derive(Clone, Copy, Debug)]
pub struct Constant(pub u64);

impl CongestionControl for Constant {
    #[inline]
    fn window(&self) -> u64 {
        self.0
    }

    #[inline]
    fn paces(&self) -> bool {
        false
    }
}
