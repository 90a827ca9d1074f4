//! State by queue pair.

use anabranch_base::QpId;

/// What is kept for each queue pair that this switch has seen, side by side in the order of its first use.
pub(super) struct ByQp<T> {
    /// By queue pair: the index of its entry plus one, or 0.
    places: Vec<u32>,
    entries: Vec<T>,
}

impl<T> ByQp<T> {
    pub(super) fn new() -> Self {
        ByQp { places: Vec::new(), entries: Vec::new() }
    }

    /// The entry of a queue pair, if it has one.
    #[inline]
    pub(super) fn get_mut(&mut self, qp: QpId) -> Option<&mut T> {
        let place = self.places.get(qp.index())?.checked_sub(1)?;
        self.entries.get_mut(place as usize)
    }

    /// The entry of a queue pair; its first use makes it.
    #[inline]
    pub(super) fn get_or_insert_with(&mut self, qp: QpId, first: impl FnOnce() -> T) -> &mut T {
        if self.places.len() <= qp.index() {
            self.places.resize(qp.index() + 1, 0);
        }
        let place = &mut self.places[qp.index()];
        if *place == 0 {
            self.entries.push(first());
            *place = self.entries.len() as u32;
        }
        &mut self.entries[*place as usize - 1]
    }
}
