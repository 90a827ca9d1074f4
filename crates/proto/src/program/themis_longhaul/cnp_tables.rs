//! CNP_Cache and CNP_Store (Themis-longhaul, section V-B): which flows the switch throttles, and their registers.
//!
//! The cache is an array of registers that the data plane writes as a CNP passes, in the slot given by a hash
//! of the data receiver's address and the queue pair. It holds no key, so that flows that share a slot cannot be told
//! apart; or it holds 32 bits of the hash as a fingerprint (section V-B has the register store a hash, which can be read as
//! either): then a packet matches only a slot with its own fingerprint, and a CNP evicts whichever flow has the slot. The
//! store is a table with exact keys, into which the control plane puts a flow `install_delay` after its CNP came by;
//! then it resets the slot in the cache. A data packet looks in the cache first, then in the store.
//!
//! In hardware a CNP carries the data receiver's address as source and the data sender's QPN; a data packet carries the
//! same address as destination and the data receiver's QPN. Here both ends of a queue pair have one number.
//!
//! What the paper leaves open, and what is done here:
//! - Where the registers of Algorithm 1 are: each slot of the cache has a set of them, and so has each entry of the
//!   store. The control plane copies those of the slot into the new entry before it resets the slot, so that a flow
//!   goes on as it was (and, after a collision, with what the other flow's CNPs added). Where no CNP of the flow has
//!   come since the slot was reset for another flow, which the control plane knows, or where there is no cache, the
//!   entry begins as after the one CNP that asked for it, at the time of that CNP.
//! - A CNP of a flow in the store changes the entry alone: through the cache, each CNP would fill the slot again that
//!   the entry was to make free.
//! - A slot whose flow is back to normal is a miss, like an empty one.
//! - The reset does not check which flow the slot belongs to: another flow that uses the same slot is then not throttled
//!   until its own entry is installed or its next CNP comes. With `reset_own` it does check, and leaves the slot alone
//!   where another flow's CNP was the last to write it.
//! - What else frees a slot: its flow is back to normal. With `expiry` also that no CNP has come for so long ("expired
//!   register entries", section V-B), even while packets of the flow still loop, which may then be overtaken.
//! - The control plane asks for one entry per flow at a time.
//! - Entries are never taken out, so that a flow keeps its lower alpha and the next congestion throttles it the faster.
//!   When the store is full, a new flow takes the place of the idle one whose last CNP is the oldest. A flow is idle
//!   when it had no CNP for longer than beta and is back to normal, or had no packet for as long either. Where none is
//!   idle, the new flow stays in the cache, which is not reset, and its next CNP asks again.

use super::throttling::{FlowState, FlowStatus, Throttling};
use anabranch_base::{Duration, HostId, QpId, Time};
use std::collections::VecDeque;

/// Both tables.
pub struct CnpTables {
    rules: Throttling,
    install_delay: Duration,
    salt: u64,
    /// Slots hold fingerprints.
    fingerprints: bool,
    /// A slot without a CNP for longer than this is free.
    expiry: Option<Duration>,
    /// The control plane resets a slot only where the entry's own flow was the last to write it.
    reset_own: bool,
    /// CNP_Cache; empty where there is none.
    cache: Vec<Place>,
    /// CNP_Store.
    store: Vec<Entry>,
    /// Entries that the store has room for; 0 where there is none.
    store_entries: usize,
    /// What the control plane is about to install, by time.
    installs: VecDeque<Install>,
    /// By queue pair.
    flows: Vec<Flow>,
    counts: TableCounts,
}

/// What the tables counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableCounts {
    /// Entries that came into the store.
    pub installs: u64,
    /// Entries that found no room there.
    pub installs_refused: u64,
    /// Entries that took the place of an idle one.
    pub entries_reused: u64,
    /// CNPs that wrote to a slot of the cache where another flow was throttled.
    pub collisions: u64,
}

/// Registers that were found for a packet.
pub struct Found<'a> {
    /// The registers.
    pub state: &'a mut FlowState,
    /// They are those of a slot to which no CNP of this flow has written since it is in use. The data plane cannot
    /// know; it is for counting only.
    pub is_wrong_flow: bool,
}

/// A slot of the cache.
struct Place {
    state: FlowState,
    /// That of the last CNP's flow; always 0 where slots hold none.
    fingerprint: u32,
    /// Whose CNP was the last to write it, which the control plane knows.
    writer: Option<QpId>,
    /// Grows when it is reset, and when a CNP comes while nothing is throttled there.
    generation: u32,
}

impl Place {
    /// Whether the last CNP that wrote it is too long ago.
    fn has_expired(&self, now: Time, expiry: Option<Duration>) -> bool {
        self.state.status != FlowStatus::Normal
            && expiry.is_some_and(|expiry| now.since(self.state.cnp_time) > expiry)
    }
}

struct Entry {
    qp: QpId,
    state: FlowState,
}

struct Install {
    due: Time,
    receiver: HostId,
    qp: QpId,
    /// When the CNP came that asks for it.
    cnp_time: Time,
}

/// What is known of a queue pair.
#[derive(Clone, Copy, Default)]
struct Flow {
    stored: Stored,
    /// The generation of its slot at its last CNP that went there; 0: none did.
    generation: u32,
}

#[derive(Clone, Copy, Default)]
enum Stored {
    #[default]
    No,
    /// The control plane knows of it.
    Soon,
    /// At this index.
    At(u32),
}

impl CnpTables {
    /// Empty tables of so many slots, with `fingerprints` or without, and entries; with 0 that table is missing. `salt`
    /// decides what collides.
    pub fn new(
        rules: Throttling,
        (cache_slots, fingerprints): (usize, bool),
        store_entries: usize,
        install_delay: Duration,
        salt: u64,
    ) -> Self {
        let slot = || Place { state: FlowState::new(&rules), fingerprint: 0, writer: None, generation: 0 };
        CnpTables {
            rules,
            install_delay,
            salt,
            fingerprints,
            expiry: None,
            reset_own: false,
            cache: std::iter::repeat_with(slot).take(cache_slots).collect(),
            store: Vec::with_capacity(store_entries),
            store_entries,
            installs: VecDeque::new(),
            flows: Vec::new(),
            counts: TableCounts::default(),
        }
    }

    /// With other rules for what frees a slot.
    #[must_use]
    pub fn freeing(self, expiry: Option<Duration>, reset_own: bool) -> Self {
        CnpTables { expiry, reset_own, ..self }
    }

    /// A CNP passes on its way from `receiver`.
    pub fn handle_cnp(&mut self, now: Time, receiver: HostId, qp: QpId) {
        if self.flows.len() <= qp.index() {
            self.flows.resize(qp.index() + 1, Flow::default());
        }
        let (slot, fingerprint) = self.slot(receiver, qp);
        let flow = &mut self.flows[qp.index()];
        if let Stored::At(index) = flow.stored {
            self.store[index as usize].state.handle_cnp(now, &self.rules);
            return;
        }
        // Section V-B: the data plane does not wait for the control plane.
        let expiry = self.expiry;
        if let Some(slot) = self.cache.get_mut(slot) {
            if slot.has_expired(now, expiry) {
                slot.state = FlowState::new(&self.rules);
            }
            if slot.state.status == FlowStatus::Normal {
                slot.generation += 1;
            } else if flow.generation != slot.generation {
                self.counts.collisions += 1;
                if slot.fingerprint != fingerprint {
                    slot.state = FlowState::new(&self.rules);
                    slot.generation += 1;
                }
            }
            slot.fingerprint = fingerprint;
            slot.writer = Some(qp);
            flow.generation = slot.generation;
            slot.state.handle_cnp(now, &self.rules);
        }
        // Section V-B: the switch CPU hears of it too.
        if self.store_entries > 0 && matches!(flow.stored, Stored::No) {
            flow.stored = Stored::Soon;
            self.installs.push_back(Install { due: now + self.install_delay, receiver, qp, cnp_time: now });
        }
    }

    /// The registers that apply to a data packet to `receiver`: those of the cache, otherwise those of the store.
    pub fn find(&mut self, now: Time, receiver: HostId, qp: QpId) -> Option<Found<'_>> {
        let (slot, fingerprint) = self.slot(receiver, qp);
        let flow = self.flows.get(qp.index()).copied().unwrap_or_default();
        if let Some(slot) = self.cache.get_mut(slot)
            && slot.state.status != FlowStatus::Normal
            && slot.fingerprint == fingerprint
            && !slot.has_expired(now, self.expiry)
        {
            let is_wrong_flow = flow.generation != slot.generation;
            return Some(Found { state: &mut slot.state, is_wrong_flow });
        }
        let Stored::At(index) = flow.stored else { return None };
        Some(Found { state: &mut self.store[index as usize].state, is_wrong_flow: false })
    }

    /// When the control plane installs the next entry.
    #[inline]
    pub fn next_install(&self) -> Option<Time> {
        self.installs.front().map(|install| install.due)
    }

    /// The control plane installs the next entry.
    pub fn install(&mut self) {
        let Some(Install { due, receiver, qp, cnp_time }) = self.installs.pop_front() else { return };
        let Some(index) = self.free_entry(due) else {
            self.counts.installs_refused += 1;
            self.flows[qp.index()].stored = Stored::No;
            return;
        };
        let (slot, fingerprint) = self.slot(receiver, qp);
        let state = match self.cache.get_mut(slot) {
            Some(slot) if slot.fingerprint == fingerprint && (!self.reset_own || slot.writer == Some(qp)) => {
                let flow = &self.flows[qp.index()];
                let is_its = flow.generation == slot.generation && !slot.has_expired(due, self.expiry);
                let state = std::mem::replace(&mut slot.state, FlowState::new(&self.rules));
                slot.generation += 1;
                is_its.then_some(state)
            }
            _ => None,
        };
        let state = state.unwrap_or_else(|| {
            let mut state = FlowState::new(&self.rules);
            state.handle_cnp(cnp_time, &self.rules);
            state
        });
        let entry = Entry { qp, state };
        match self.store.get_mut(index) {
            Some(reused) => *reused = entry,
            None => self.store.push(entry),
        }
        self.flows[qp.index()].stored = Stored::At(index as u32);
        self.counts.installs += 1;
    }

    /// Entries in the store.
    pub fn stored(&self) -> usize {
        self.store.len()
    }

    /// What the tables counted.
    pub fn counts(&self) -> TableCounts {
        self.counts
    }

    /// Where in the store another entry fits.
    fn free_entry(&mut self, now: Time) -> Option<usize> {
        if self.store.len() < self.store_entries {
            return Some(self.store.len());
        }
        let beta = self.rules.beta;
        let is_idle = |state: &FlowState| {
            let quiet = now.since(state.cnp_time) > beta;
            quiet && (state.status == FlowStatus::Normal || now.since(state.packet_time) > beta)
        };
        let idle = self.store.iter().enumerate().filter(|(_, entry)| is_idle(&entry.state));
        let (index, entry) = idle.min_by_key(|(_, entry)| entry.state.cnp_time)?;
        self.flows[entry.qp.index()].stored = Stored::No;
        self.counts.entries_reused += 1;
        Some(index)
    }

    /// A flow's slot in the cache, and its fingerprint there.
    #[inline]
    fn slot(&self, receiver: HostId, qp: QpId) -> (usize, u32) {
        // MurmurHash3's finaliser: any bit of the key changes every bit of the hash.
        let mut hash = ((u64::from(receiver.0) << 32) | u64::from(qp.0)) ^ self.salt;
        hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        hash ^= hash >> 33;
        let slot = ((u128::from(hash) * self.cache.len() as u128) >> 64) as usize;
        // The slot comes from the upper bits.
        (slot, if self.fingerprints { hash as u32 } else { 0 })
    }
}
