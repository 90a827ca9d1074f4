//! A dense map from queue pairs to their state.

use anabranch_base::QpId;

/// The entries of the queue pairs that this switch has seen, stored contiguously in the order of their first use.
pub(super) struct ByQp<T> {
    /// For each queue pair, the index of its entry plus one, or 0 without an entry.
    slots: Vec<u32>,
    entries: Vec<T>,
}

impl<T> ByQp<T> {
    pub(super) fn new() -> Self {
        ByQp { slots: Vec::new(), entries: Vec::new() }
    }

    #[inline]
    pub(super) fn get_mut(&mut self, qp: QpId) -> Option<&mut T> {
        let slot = self.slots.get(qp.index())?.checked_sub(1)?;
        self.entries.get_mut(slot as usize)
    }

    #[inline]
    pub(super) fn get_or_insert_with(&mut self, qp: QpId, first: impl FnOnce() -> T) -> &mut T {
        if self.slots.len() <= qp.index() {
            self.slots.resize(qp.index() + 1, 0);
        }
        let slot = &mut self.slots[qp.index()];
        if *slot == 0 {
            self.entries.push(first());
            *slot = self.entries.len() as u32;
        }
        &mut self.entries[*slot as usize - 1]
    }
}
