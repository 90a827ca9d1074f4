//! CNP_Cache and CNP_Store (Themis-longhaul, section V-B): the throttled flows and their registers.
//!
//! The cache is an array of registers. When a CNP passes, the data plane writes the slot given by a hash of the data
//! receiver's address and the queue pair. In section V-B the register stores a hash, which permits two variants of
//! slots. Without a key, flows that share a slot cannot be distinguished. With 32 bits of the hash as a fingerprint, a
//! packet matches only a slot with its own fingerprint, and a CNP evicts another flow from the slot. The store is a
//! table with exact keys. The control plane makes an entry for a flow `install_delay` after its CNP passed, and then
//! resets the slot in the cache. A data packet is looked up in the cache first, then in the store.
//!
//! In hardware, a CNP has the data receiver's address as its source and carries the data sender's QPN. A data packet
//! has the data receiver's address as its destination and carries the data receiver's QPN. Here sender and receiver
//! know a queue pair by one number.
//!
//! Choices where the paper is silent:
//! - Location of the registers of Algorithm 1: each slot of the cache and each entry of the store has a set of them.
//! - Start of an entry: the control plane copies the registers of the slot into the new entry before it resets the
//!   slot, so that the flow continues in its state. After a collision, this state includes the other flow's CNPs. If
//!   no slot holds the flow's registers, the entry starts as if the CNP that requested it were the flow's first CNP. A
//!   slot loses the registers when it is reset, expires or comes into use anew. With fingerprints or `reset_own`, a
//!   slot also loses the registers to another flow's CNP.
//! - A CNP of a flow in the store changes only the entry. The entry is meant to free the slot, so the CNP must not
//!   fill the slot again.
//! - A slot whose flow has returned to normal is a miss, like an empty slot.
//! - Without fingerprints and without `reset_own`, the reset does not check which flow uses the slot. Another flow with
//!   this slot is then not throttled until its own entry is installed or its next CNP arrives. With fingerprints or
//!   `reset_own`, the slot is not reset if another flow's CNP was the last to write it.
//! - A slot is released when its flow returns to normal. With `expiry` it is also released when no CNP has arrived for
//!   that time ("expired register entries", section V-B). Packets of the flow may still loop then, and may be
//!   overtaken.
//! - Each flow has at most one pending installation in the control plane.
//! - Entries do not expire, so that a flow keeps its lower alpha and the next congestion throttles it faster. When the
//!   store is full, a new flow replaces the idle flow whose last CNP is the oldest. A flow is idle on two conditions:
//!   its last CNP is older than beta, and it has returned to normal or its last packet is older than beta. If no flow
//!   is idle, the new flow stays in the cache, the slot is not reset, and the next CNP requests an entry again.

use super::throttling::{FlowState, FlowStatus, Throttling};
use anabranch_base::{Duration, HostId, QpId, Time};
use std::collections::VecDeque;

/// The CNP_Cache and the CNP_Store of a switch.
pub struct CnpTables {
    rules: Throttling,
    install_delay: Duration,
    salt: u64,
    fingerprints: bool,
    /// The time without a CNP after which a slot is free. None if slots do not expire.
    expiry: Option<Duration>,
    /// Whether the control plane resets a flow's slot only if this flow was the last to write the slot.
    reset_own: bool,
    /// The slots of CNP_Cache. A switch without CNP_Cache has no slots.
    cache: Vec<CacheSlot>,
    store: Vec<Entry>,
    /// The largest number of entries in CNP_Store, or 0 for a switch without CNP_Store.
    store_entries: usize,
    /// Pending installations of the control plane, in the order of their times.
    installs: VecDeque<Install>,
    /// Indexed by queue pair.
    flows: Vec<Flow>,
    counts: TableCounts,
}

/// The counters of the tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableCounts {
    /// Entries installed in the store.
    pub installs: u64,
    /// Entries refused for lack of room.
    pub installs_refused: u64,
    /// Entries that replaced an idle one.
    pub entries_reused: u64,
    /// CNPs with which a flow began to write to a slot of the cache that another throttled flow was using. Further
    /// CNPs of the flow count only after it has lost the slot.
    pub collisions: u64,
}

/// The registers that apply to a packet.
pub struct FlowRegisters<'a> {
    /// The registers of the slot or entry.
    pub state: &'a mut FlowState,
    /// Whether the registers belong to another flow. This is so if no CNP of this packet's flow has written to the
    /// slot since the slot came into use. The data plane cannot know this, so the value affects nothing but a counter.
    pub is_wrong_flow: bool,
}

struct CacheSlot {
    state: FlowState,
    /// The fingerprint of the flow whose CNP came last. It is always 0 without fingerprints.
    fingerprint: u32,
    /// The flow whose CNP was the last to write the slot.
    writer: Option<QpId>,
    /// A counter that increases when the slot is reset, when a CNP arrives while the slot holds no throttled flow,
    /// and when a CNP evicts a flow with another fingerprint.
    generation: u32,
}

impl CacheSlot {
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
    /// The arrival of the CNP that requests the entry.
    cnp_time: Time,
}

#[derive(Clone, Copy, Default)]
struct Flow {
    stored: StoreState,
    /// The generation of the slot after the last CNP of the flow that wrote to the slot, or 0 before the first one.
    generation: u32,
}

#[derive(Clone, Copy, Default)]
enum StoreState {
    #[default]
    No,
    /// An installation is pending.
    Soon,
    /// The flow has an entry at this index.
    At(u32),
}

impl CnpTables {
    /// Empty tables with these numbers of slots and entries, with or without `fingerprints`. A table of size 0 does not
    /// exist. `salt` determines which flows collide.
    pub fn new(
        rules: Throttling,
        (cache_slots, fingerprints): (usize, bool),
        store_entries: usize,
        install_delay: Duration,
        salt: u64,
    ) -> Self {
        let slot =
            || CacheSlot { state: FlowState::new(&rules), fingerprint: 0, writer: None, generation: 0 };
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

    /// Sets the rules by which slots are released.
    #[must_use]
    pub fn freeing(self, expiry: Option<Duration>, reset_own: bool) -> Self {
        CnpTables { expiry, reset_own, ..self }
    }

    /// Handles a CNP from `receiver`.
    pub fn handle_cnp(&mut self, now: Time, receiver: HostId, qp: QpId) {
        if self.flows.len() <= qp.index() {
            self.flows.resize(qp.index() + 1, Flow::default());
        }
        let (slot, fingerprint) = self.slot(receiver, qp);
        let flow = &mut self.flows[qp.index()];
        if let StoreState::At(index) = flow.stored {
            self.store[index as usize].state.handle_cnp(now, &self.rules);
            return;
        }
        // Section V-B: the data plane writes the slot without waiting for the control plane.
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
        // Section V-B: the switch CPU gets the CNP too.
        if self.store_entries > 0 && matches!(flow.stored, StoreState::No) {
            flow.stored = StoreState::Soon;
            self.installs.push_back(Install { due: now + self.install_delay, receiver, qp, cnp_time: now });
        }
    }

    /// Returns the registers that apply to a data packet for `receiver`, from the cache or else from the store.
    pub fn find(&mut self, now: Time, receiver: HostId, qp: QpId) -> Option<FlowRegisters<'_>> {
        let (slot, fingerprint) = self.slot(receiver, qp);
        let flow = self.flows.get(qp.index()).copied().unwrap_or_default();
        if let Some(slot) = self.cache.get_mut(slot)
            && slot.state.status != FlowStatus::Normal
            && slot.fingerprint == fingerprint
            && !slot.has_expired(now, self.expiry)
        {
            let is_wrong_flow = flow.generation != slot.generation;
            return Some(FlowRegisters { state: &mut slot.state, is_wrong_flow });
        }
        let StoreState::At(index) = flow.stored else { return None };
        Some(FlowRegisters { state: &mut self.store[index as usize].state, is_wrong_flow: false })
    }

    /// The time at which the control plane installs the next entry.
    #[inline]
    pub fn next_install(&self) -> Option<Time> {
        self.installs.front().map(|install| install.due)
    }

    /// Installs the next entry, or refuses it if the store has no room.
    pub fn install(&mut self) {
        let Some(Install { due, receiver, qp, cnp_time }) = self.installs.pop_front() else { return };
        let Some(index) = self.free_entry(due) else {
            self.counts.installs_refused += 1;
            self.flows[qp.index()].stored = StoreState::No;
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
        self.flows[qp.index()].stored = StoreState::At(index as u32);
        self.counts.installs += 1;
    }

    /// Number of entries in the store.
    pub fn stored(&self) -> usize {
        self.store.len()
    }

    /// The counters so far.
    pub fn counts(&self) -> TableCounts {
        self.counts
    }

    /// Returns the index of a free entry of the store, or else of the idle flow whose last CNP is the oldest. None if
    /// no flow is idle.
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
        self.flows[entry.qp.index()].stored = StoreState::No;
        self.counts.entries_reused += 1;
        Some(index)
    }

    #[inline]
    fn slot(&self, receiver: HostId, qp: QpId) -> (usize, u32) {
        // This is MurmurHash3's finaliser, in which every bit of the key affects every bit of the hash.
        let mut hash = ((u64::from(receiver.0) << 32) | u64::from(qp.0)) ^ self.salt;
        hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        hash ^= hash >> 33;
        let slot = ((u128::from(hash) * self.cache.len() as u128) >> 64) as usize;
        // The slot comes from the upper bits, so the fingerprint takes the lower ones.
        (slot, if self.fingerprints { hash as u32 } else { 0 })
    }
}
