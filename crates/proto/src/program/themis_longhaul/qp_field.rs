//! The QP_field table and its control plane (Themis-longhaul, section IV).
//!
//! A data packet names only the queue pair at the server, and a CNP must name the one at the client. The client's
//! daemon sees both while the queue pair is set up, and tells the control plane of the external switch, which enters
//! them. Daemons report every queue pair, since no host knows where the other one runs; only those between pairs of
//! hosts whose handshake the monitor saw are entered. When a queue pair is destroyed its daemon tells that too.
//!
//! Unsaid in the text, and chosen here:
//! - What happens when the table is full: the entry is refused and counted, and never tried again; that queue pair
//!   does without CNPs from here.
//! - How long a pair of hosts stays known: for ever. The CPU's memory is not scarce, and a host that comes back into
//!   the data centre costs entries at worst.
//! - How long the monitor's report takes: the pair is known when the daemon's packet is looked at, as the handshake
//!   is over before the queue pair is set up.

use super::PnpConfig;
use crate::PathFacts;
use crate::program::interface::QpNotice;
use anabranch_base::{Duration, HostId, QpId, Time};
use std::collections::{BTreeSet, VecDeque};

/// sQPN: the number of a queue pair at its responder, which data packets carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerQpn(pub QpId);

/// cQPN: the number of a queue pair at its requester, which CNPs must carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientQpn(pub QpId);

/// What an entry matches: addresses and queue pair number of a data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QpKey {
    /// The requester.
    pub src: HostId,
    /// The responder.
    pub dst: HostId,
    /// In the data packet's BTH.
    pub server: ServerQpn,
}

/// What a requester's daemon tells of a queue pair at `ibv_modify_qp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DaemonPacket {
    /// The address in its own header, and dstIP and sQPN of its payload.
    pub key: QpKey,
    /// cQPN of its payload.
    pub client: ClientQpn,
}

impl DaemonPacket {
    /// That of a queue pair. The simulator has one name for both ends of it, so both numbers are that one.
    pub fn of(notice: &QpNotice) -> Self {
        let key = QpKey { src: notice.src, dst: notice.dst, server: ServerQpn(notice.qp) };
        DaemonPacket { key, client: ClientQpn(notice.qp) }
    }
}

/// An entry of the table, with the register that belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QpEntry {
    /// What it matches.
    pub key: QpKey,
    /// Its action's parameter.
    pub client: ClientQpn,
    /// The register: when the last CNP was sent; none since the entry was made.
    pub last_cnp: Option<Time>,
}

/// The table in the data plane.
pub struct QpField {
    /// By sQPN, of which the simulator gives each queue pair its own.
    entries: Vec<Option<QpEntry>>,
    capacity: u32,
    in_use: u32,
    max_in_use: u32,
    refused: u64,
}

impl QpField {
    /// Empty, with room for so many entries.
    pub fn new(capacity: u32) -> Self {
        QpField { entries: Vec::new(), capacity, in_use: 0, max_in_use: 0, refused: 0 }
    }

    /// The entry that matches a data packet.
    #[inline]
    pub fn get_mut(&mut self, key: &QpKey) -> Option<&mut QpEntry> {
        let entry = self.entries.get_mut(key.server.0.index())?.as_mut()?;
        (entry.key == *key).then_some(entry)
    }

    /// Makes an entry, its register reset; without room, none.
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

    /// Deletes an entry and resets its register; nothing where there is none.
    pub fn remove(&mut self, key: &QpKey) {
        if self.get_mut(key).is_some() {
            self.entries[key.server.0.index()] = None;
            self.in_use -= 1;
        }
    }

    /// Entries now.
    pub fn in_use(&self) -> u32 {
        self.in_use
    }

    /// Entries at most so far.
    pub fn max_in_use(&self) -> u32 {
        self.max_in_use
    }

    /// Entries for which there was no room.
    pub fn refused(&self) -> u64 {
        self.refused
    }
}

/// The control plane of one external switch, as far as it keeps the QP_field table.
///
/// Time passes as in the simulation, where a queue pair's first message is posted `setup` after its INIT. What comes
/// of that earlier than `now` is done at `now`: no packet could have seen the difference.
pub struct ControlPlane {
    monitor: bool,
    expire: bool,
    /// From INIT or destroy to the table's change.
    delay: Duration,
    /// What is left of `delay` when the first message is posted.
    delay_after_setup: Duration,
    /// Pairs (client, server) of hosts in different data centres.
    pairs: BTreeSet<(HostId, HostId)>,
    /// Entries on their way, in the order of their times.
    inserts: VecDeque<(Time, DaemonPacket)>,
    deletes: VecDeque<(Time, QpKey)>,
    ignored: u64,
}

impl ControlPlane {
    /// Before the first handshake.
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

    /// The data plane has seen a handshake of these two.
    pub fn learn(&mut self, src: HostId, dst: HostId) {
        self.pairs.insert((src, dst));
    }

    /// The first message of a queue pair is posted now; its daemon reported it at setup.
    ///
    /// Times of all calls must not go back.
    pub fn handle_init(&mut self, now: Time, packet: &DaemonPacket, table: &mut QpField) {
        // Section IV: only the queue pairs that the control plane recognizes as inter-DC are entered.
        if self.monitor && !self.pairs.contains(&(packet.key.src, packet.key.dst)) {
            self.ignored += 1;
            return;
        }
        self.inserts.push_back((now + self.delay_after_setup, *packet));
        self.handle_timeout(now, table);
    }

    /// A queue pair is destroyed now, and its daemon says so.
    pub fn handle_destroy(&mut self, now: Time, key: &QpKey, table: &mut QpField) {
        if self.expire {
            self.deletes.push_back((now + self.delay, *key));
            self.handle_timeout(now, table);
        }
    }

    /// Makes the changes that are due, in the order of their times.
    pub fn handle_timeout(&mut self, now: Time, table: &mut QpField) {
        while let Some(due) = self.next_timeout().filter(|due| *due <= now) {
            // At the same time an entry is made first, so that one without delays is made before it is deleted.
            if let Some((_, packet)) = self.inserts.pop_front_if(|(at, _)| *at == due) {
                table.insert(&packet);
            } else if let Some((_, key)) = self.deletes.pop_front() {
                table.remove(&key);
            }
        }
    }

    /// When the table changes next.
    pub fn next_timeout(&self) -> Option<Time> {
        let insert = self.inserts.front().map(|(at, _)| *at);
        let delete = self.deletes.front().map(|(at, _)| *at);
        insert.into_iter().chain(delete).min()
    }

    /// Pairs of hosts known to be in different data centres.
    pub fn pairs(&self) -> usize {
        self.pairs.len()
    }

    /// Daemon packets without such a pair.
    pub fn ignored(&self) -> u64 {
        self.ignored
    }
}
