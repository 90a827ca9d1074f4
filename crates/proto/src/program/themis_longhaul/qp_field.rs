//! The QP_field table and its control plane (Themis-longhaul, section IV).
//!
//! A data packet carries only the queue pair's number at the server, and a CNP needs the number at the client. The
//! client's daemon knows both while the queue pair is set up, and reports them to the control plane of the external
//! switch, which makes an entry. Daemons report every queue pair, since a host does not know the location of the
//! other host. With `monitor`, only queue pairs between hosts whose handshake passed the monitor get an entry.
//! Daemons also report the destruction of queue pairs.
//!
//! Choices where the paper is silent:
//! - Full table: the entry is refused and counted, and not tried again. The queue pair then gets no CNPs from this
//!   switch.
//! - Lifetime of a known pair of hosts: unlimited. The CPU's memory is not scarce. If a host moves back into the data
//!   centre, the pair only costs unneeded entries.
//! - Delay of the monitor's report: the pair is known when the daemon's packet is handled, since the handshake
//!   precedes the setup of the queue pair.

use super::config::PnpConfig;
use crate::PathFacts;
use crate::program::interface::QpNotice;
use anabranch_base::{Duration, HostId, QpId, Time};
use std::collections::{BTreeSet, VecDeque};

/// sQPN: the number of a queue pair at its responder. Data packets carry it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerQpn(pub QpId);

/// cQPN: the number of a queue pair at its requester. CNPs must carry it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientQpn(pub QpId);

/// The match fields of an entry: the addresses and queue pair number of a data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QpKey {
    /// The requester.
    pub src: HostId,
    /// The responder.
    pub dst: HostId,
    /// The queue pair number in the data packet's BTH.
    pub server: ServerQpn,
}

/// The report about a queue pair that a requester's daemon sends at `ibv_modify_qp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DaemonPacket {
    /// The source address in the packet's header, and the dstIP and the sQPN in the packet's payload.
    pub key: QpKey,
    /// The cQPN in the packet's payload.
    pub client: ClientQpn,
}

impl DaemonPacket {
    /// The report about a queue pair. In the simulator, requester and responder know a queue pair by the same number.
    pub fn of(notice: &QpNotice) -> Self {
        let key = QpKey { src: notice.src, dst: notice.dst, server: ServerQpn(notice.qp) };
        DaemonPacket { key, client: ClientQpn(notice.qp) }
    }
}

/// An entry of the table with its register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QpEntry {
    /// The match fields.
    pub key: QpKey,
    /// The parameter of the action: the cQPN for the CNP.
    pub client: ClientQpn,
    /// The register: the time of the last CNP. None before the first CNP of the entry.
    pub last_cnp: Option<Time>,
}

/// The QP_field table in the data plane.
pub struct QpField {
    /// The entries, indexed by sQPN, which is unique in the simulator.
    entries: Vec<Option<QpEntry>>,
    capacity: u32,
    in_use: u32,
    max_in_use: u32,
    refused: u64,
}

impl QpField {
    /// An empty table with room for `capacity` entries.
    pub fn new(capacity: u32) -> Self {
        QpField { entries: Vec::new(), capacity, in_use: 0, max_in_use: 0, refused: 0 }
    }

    /// The entry that matches a data packet.
    #[inline]
    pub fn get_mut(&mut self, key: &QpKey) -> Option<&mut QpEntry> {
        let entry = self.entries.get_mut(key.server.0.index())?.as_mut()?;
        (entry.key == *key).then_some(entry)
    }

    /// Makes an entry with an empty register, if there is room.
    pub fn insert(&mut self, packet: &DaemonPacket) {
        let index = packet.key.server.0.index();
        let is_known = self.entries.get(index).is_some_and(Option::is_some);
        if !is_known && self.in_use == self.capacity {
            self.refused += 1;
            return;
        }
        if self.entries.len() <= index {
            self.entries.resize(index + 1, None);
        }
        self.entries[index] = Some(QpEntry { key: packet.key, client: packet.client, last_cnp: None });
        self.in_use += u32::from(!is_known);
        self.max_in_use = self.max_in_use.max(self.in_use);
    }

    /// Deletes the entry of `key` with its register, if there is such an entry.
    pub fn remove(&mut self, key: &QpKey) {
        if self.get_mut(key).is_some() {
            self.entries[key.server.0.index()] = None;
            self.in_use -= 1;
        }
    }

    /// Current number of entries.
    pub fn in_use(&self) -> u32 {
        self.in_use
    }

    /// The largest number of entries so far.
    pub fn max_in_use(&self) -> u32 {
        self.max_in_use
    }

    /// Number of entries that were refused for lack of room.
    pub fn refused(&self) -> u64 {
        self.refused
    }
}

/// The part of an external switch's control plane that maintains the QP_field table.
///
/// The first message of a queue pair is posted `setup` after the queue pair was initialised (INIT). A change of the
/// table that is due before the first message is made when the first message is posted. No packet of the queue pair
/// could have passed before.
pub struct ControlPlane {
    monitor: bool,
    expire: bool,
    /// The delay from the INIT or the destruction of a queue pair to the change of the table.
    delay: Duration,
    /// The part of `delay` that is left when the first message is posted.
    delay_after_setup: Duration,
    /// Pairs (client, server) of hosts in different data centres.
    pairs: BTreeSet<(HostId, HostId)>,
    /// Pending insertions, in the order of their times.
    inserts: VecDeque<(Time, DaemonPacket)>,
    deletes: VecDeque<(Time, QpKey)>,
    ignored: u64,
}

impl ControlPlane {
    /// The control plane before the first handshake.
    pub fn new(config: &PnpConfig, path: &PathFacts) -> Self {
        let delay = config.daemon_delay.on(path) + config.install_delay.on(path);
        ControlPlane {
            monitor: config.monitor,
            expire: config.expire,
            delay,
            delay_after_setup: Duration(delay.0.saturating_sub(config.setup.on(path).0)),
            pairs: BTreeSet::new(),
            inserts: VecDeque::new(),
            deletes: VecDeque::new(),
            ignored: 0,
        }
    }

    /// Records the data plane's report of a handshake.
    pub fn learn(&mut self, src: HostId, dst: HostId) {
        self.pairs.insert((src, dst));
    }

    /// Handles the first message of a queue pair, whose daemon has sent `packet` at setup.
    ///
    /// The times of calls must not decrease.
    pub fn handle_init(&mut self, now: Time, packet: &DaemonPacket, table: &mut QpField) {
        // Section IV: only queue pairs that the control plane recognises as inter-DC get an entry.
        if self.monitor && !self.pairs.contains(&(packet.key.src, packet.key.dst)) {
            self.ignored += 1;
            return;
        }
        self.inserts.push_back((now + self.delay_after_setup, *packet));
        self.handle_timeout(now, table);
    }

    /// Handles the destruction of a queue pair, which the requester's daemon reports.
    pub fn handle_destroy(&mut self, now: Time, key: &QpKey, table: &mut QpField) {
        if self.expire {
            self.deletes.push_back((now + self.delay, *key));
            self.handle_timeout(now, table);
        }
    }

    /// Applies the changes that are due, in the order of their times.
    pub fn handle_timeout(&mut self, now: Time, table: &mut QpField) {
        while let Some(due) = self.next_timeout().filter(|due| *due <= now) {
            // At equal times insertions come first, so that without delays an entry is made before it is deleted.
            if let Some((_, packet)) = self.inserts.pop_front_if(|(at, _)| *at == due) {
                table.insert(&packet);
            } else if let Some((_, key)) = self.deletes.pop_front() {
                table.remove(&key);
            }
        }
    }

    /// The time of the next change of the table.
    pub fn next_timeout(&self) -> Option<Time> {
        let insert = self.inserts.front().map(|(at, _)| *at);
        let delete = self.deletes.front().map(|(at, _)| *at);
        insert.into_iter().chain(delete).min()
    }

    /// Number of known pairs of hosts in different data centres.
    pub fn pairs(&self) -> usize {
        self.pairs.len()
    }

    /// Number of queue pairs that were denied an entry, since their hosts were not known to be in different data
    /// centres.
    pub fn ignored(&self) -> u64 {
        self.ignored
    }
}
