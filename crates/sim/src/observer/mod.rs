//! Observers: what is recorded while a run goes on. An absent observer costs nothing.

mod series;

use anabranch_base::{LinkId, Time};

pub use series::SeriesObserver;

/// Sees packets pass. It cannot change anything, so results do not depend on it.
pub trait Observer {
    /// `bytes` bytes occupy `link` between two times.
    #[inline]
    fn transmitted(&mut self, link: LinkId, from: Time, until: Time, bytes: u16) {
        let _ = (link, from, until, bytes);
    }

    /// From now on, `bytes` bytes wait for `link`.
    #[inline]
    fn queued(&mut self, link: LinkId, now: Time, bytes: u32) {
        let _ = (link, now, bytes);
    }
}

/// Nobody looks.
pub struct NoObserver;

impl Observer for NoObserver {}
