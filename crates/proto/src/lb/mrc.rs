//! The load balancer of MRC (OCP 1.0, read in digests and in a client written from it): a set of entropy values with
//! states.
//!
//! Each plane has equally many entropy values, some of them backups. If a packet was marked, or was trimmed before the
//! last hop, its entropy value is skipped once. If a packet was lost without a trim, its entropy value is retired
//! immediately, unless too few values would be left. A backup of the plane then replaces the value, if there is one.
//! Probes show when the path of a retired value delivers packets again. The planes whose ports are free take turns, and
//! the entropy values of a plane take turns. The order of the entropy values is drawn anew for each round.

use super::AnyLb;
use super::bitmap::common_divisor;
use super::interface::{Environment, LbProperties, LoadBalancer, NicPorts};
use crate::{Conflict, Span, StateField};
use anabranch_base::{AboveZero, Duration, Stream, Time, parameters};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

parameters! {
    /// Parameters of the `mrc` balancer.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct MrcLbConfig {
        /// Number of entropy values of a queue pair, the backups included. Each plane has an equal part, at least one.
        #[param(1..=4_096; example = 128; source = "MRC (OCP 1.0): 128 to 256")]
        pub evs: u32,
        /// Number of entropy values that are in use. Each plane has an equal part, and the others are backups.
        #[param(1..=4_096; example = 104; source = "MRC (OCP 1.0): somewhat more than 100, one to two windows of packets")]
        pub active: u32,
        /// No entropy value is retired once fewer than this share of `evs` would be left (ev_min_active).
        #[param(0.0..=1.0; example = 0.25; source = "MRC (OCP 1.0), example: a quarter")]
        pub min_active: f64,
        /// The time between probes of a retired entropy value.
        #[param(AboveZero; example = "100us"; source = "unspecified in MRC (OCP 1.0); a model for ns-3: an RTO")]
        pub probe_interval: Span,
        /// Number of successful probes in a row after which an entropy value is used again.
        #[param(1..=255; example = 1; source = "unspecified in MRC (OCP 1.0); a client and a model for ns-3: 1, emulators: 5")]
        pub probe_successes: u32,
        /// Paths that are never used (DENIED).
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[param(table)]
        pub denied: Vec<DeniedPath>,
    }
}

parameters! {
    /// The entropy values of a path that an administrator has denied.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct DeniedPath {
        /// The plane.
        #[param(0..=15; example = 0; source = "MRC (OCP 1.0)")]
        pub plane: u32,
        /// The number of the path in its plane, modulo `of`. With source routes it is the number of the ToR's uplink.
        #[param(0..=65_535; example = 0; source = "MRC (OCP 1.0)")]
        pub path: u32,
        /// Number of paths in a plane.
        #[param(1..=65_536; example = 256; source = "MRC (OCP 1.0): as many as T1 switches")]
        pub of: u32,
    }
}

impl DeniedPath {
    fn contains(&self, path: u32) -> bool {
        path % self.of == self.path
    }
}

impl MrcLbConfig {
    /// Whether [`denied`](Self::denied) may leave a queue pair of a NIC with `ports` ports without an entropy value.
    /// This is so if the denied paths of each plane include as many successive paths as a queue pair has values in a
    /// plane.
    pub fn may_deny_all(&self, ports: u16) -> bool {
        (0..ports).all(|plane| self.most_denied_in_a_row(plane, ports) >= per_plane(self.evs, ports).into())
    }

    /// The largest number of successive denied paths in a plane. The first path follows the last one.
    fn most_denied_in_a_row(&self, plane: u16, planes: u16) -> u32 {
        let here: Vec<&DeniedPath> =
            self.denied.iter().filter(|denied| denied.plane == u32::from(plane)).collect();
        if here.is_empty() {
            return 0;
        }
        let (mut most, mut row) = (0, 0);
        for path in (0..paths(planes)).chain(0..paths(planes)) {
            row = if here.iter().any(|denied| denied.contains(path)) { row + 1 } else { 0 };
            most = most.max(row);
        }
        most
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EvState {
    Good,
    Skip,
    AssumedBad,
    Denied,
}

impl EvState {
    fn is_usable(self) -> bool {
        matches!(self, EvState::Good | EvState::Skip)
    }
}

/// The entropy values of a plane. An entropy value divided by the number of planes is the number of its path. The
/// paths have consecutive numbers from `first` on, so that source routes spread them evenly over the uplinks.
#[derive(Clone, Debug)]
struct Plane {
    first: u32,
    /// The rotation: the slot of the last turn, the distance from one slot to the next, and the turns left in the
    /// round.
    at: u16,
    stride: u16,
    turns: u16,
}

/// An entropy value in the state ASSUMED_BAD. `index` is its index in [`MrcLb::states`].
#[derive(Clone, Copy, Debug)]
struct Retired {
    index: u16,
    probe_at: Time,
    is_probed: bool,
    successes: u8,
}

/// A sender with a set of entropy values.
#[derive(Clone, Debug)]
pub struct MrcLb {
    ports: NicPorts,
    /// Mask of the ports of the receiver's NIC that are up, according to its last report.
    peer_up: u16,
    /// Mask of the planes with a usable entropy value among those in use.
    usable: u16,
    turn: u16,
    per_plane: u16,
    /// Number of entropy values of a plane that are in use.
    active: u16,
    planes: Vec<Plane>,
    /// For each plane, the positions of its entropy values: those in use, then the backups.
    slots: Box<[u16]>,
    /// The state of each entropy value. Its index is the plane times `per_plane` plus the position.
    states: Box<[EvState]>,
    available: u32,
    /// The least number of usable entropy values that retirements leave. If it is 0, they leave one.
    least: u32,
    /// The entropy value to probe first is at the front.
    retired: VecDeque<Retired>,
    probe_interval: Duration,
    config: MrcLbConfig,
    random: Stream,
}

impl MrcLb {
    /// A sender before its first packet.
    pub fn new(config: &MrcLbConfig, environment: &Environment, random: Stream) -> Self {
        let mut lb = MrcLb {
            ports: NicPorts::ONE,
            peer_up: u16::MAX,
            usable: 0,
            turn: 0,
            per_plane: 0,
            active: 0,
            planes: Vec::new(),
            slots: Box::default(),
            states: Box::default(),
            available: 0,
            least: 0,
            retired: VecDeque::new(),
            probe_interval: config.probe_interval.on(&environment.facts),
            config: config.clone(),
            random,
        };
        lb.draw(1);
        lb
    }

    /// Number of entropy values that are neither retired nor denied.
    pub fn available(&self) -> u32 {
        self.available
    }

    /// Draws the set for a NIC with this number of ports.
    #[cold]
    fn draw(&mut self, planes: u16) {
        let config = &self.config;
        let count = u32::from(planes);
        self.per_plane = per_plane(config.evs, planes);
        self.active = ((config.active / count).max(1) as u16).min(self.per_plane);
        let paths = paths(planes);
        self.planes = (0..planes)
            .map(|_| Plane { first: self.random.below(paths), at: 0, stride: 0, turns: 0 })
            .collect();
        self.slots = (0..planes).flat_map(|_| 0..self.per_plane).collect();
        self.states = vec![EvState::Good; self.slots.len()].into();
        self.retired.clear();
        self.turn = self.random.below(count) as u16;
        let all = self.states.len() as u32;
        (self.available, self.usable) = (all, ((1_u32 << planes) - 1) as u16);
        self.least = (f64::from(all) * config.min_active) as u32;
        for denied in self.config.denied.clone() {
            self.deny(&denied);
        }
    }

    /// Marks the entropy values of a path as DENIED. Only a new draw of the set ends this state.
    fn deny(&mut self, denied: &DeniedPath) {
        if denied.plane >= self.planes.len() as u32 {
            return;
        }
        for position in 0..self.per_plane {
            let index = denied.plane as u16 * self.per_plane + position;
            let is_new = self.states[usize::from(index)] != EvState::Denied;
            if is_new && denied.contains(self.path_of(index)) {
                self.states[usize::from(index)] = EvState::Denied;
                self.available -= 1;
                self.replace(index);
            }
        }
    }

    #[inline]
    fn path_of(&self, index: u16) -> u32 {
        let (plane, position) = (index / self.per_plane, index % self.per_plane);
        (self.planes[usize::from(plane)].first + u32::from(position)) % paths(self.planes.len() as u16)
    }

    #[inline]
    fn ev_of(&self, plane: u16, position: u16) -> u16 {
        let count = self.planes.len() as u32;
        let path = self.planes[usize::from(plane)].first + u32::from(position);
        (path % paths(count as u16) * count + u32::from(plane)) as u16
    }

    /// The index of an entropy value. None if the set does not contain it.
    #[inline]
    fn index_of(&self, ev: u16) -> Option<u16> {
        let count = self.planes.len() as u16;
        let (plane, path, paths) = (ev % count, u32::from(ev / count), paths(count));
        let position = (path + paths - self.planes[usize::from(plane)].first) % paths;
        (position < u32::from(self.per_plane)).then(|| plane * self.per_plane + position as u16)
    }

    /// The next plane in turn whose port is up and free, whose port at the receiver is up, and that has usable entropy
    /// values. If there is no such plane, three conditions are dropped in this order: the free port, the usable entropy
    /// values, the port at the receiver.
    #[inline]
    fn next_plane(&mut self) -> u16 {
        if self.ports.count == 1 {
            return 0;
        }
        let up = self.ports.up & self.peer_up;
        let choices = [up & self.usable & self.ports.free, up & self.usable, up, self.ports.up];
        let planes = choices.into_iter().find(|&planes| planes != 0).unwrap_or(1);
        let later = planes >> self.turn << self.turn;
        let plane = if later != 0 { later } else { planes }.trailing_zeros() as u16;
        self.turn = (plane + 1) % self.ports.count;
        plane
    }

    /// The next slot in the rotation of a plane. In a round, the steps have a constant length that is coprime to the
    /// number of slots.
    #[inline]
    fn next_slot(&mut self, plane: u16) -> u16 {
        let Plane { at, stride, turns, .. } = &mut self.planes[usize::from(plane)];
        if *turns == 0 {
            let slots = u32::from(self.active);
            *turns = self.active;
            *at = self.random.below(slots) as u16;
            *stride = loop {
                let stride = 1 + self.random.below(slots);
                if common_divisor(stride, slots) == 1 {
                    break stride as u16;
                }
            };
        }
        *turns -= 1;
        *at += *stride;
        if *at >= self.active {
            *at -= self.active;
        }
        *at
    }

    /// Retires an entropy value, unless too few usable values would be left. If its plane has a usable backup, the
    /// backup replaces the retired value.
    fn retire(&mut self, now: Time, index: u16) {
        if !self.states[usize::from(index)].is_usable() || self.available <= self.least.max(1) {
            return;
        }
        self.states[usize::from(index)] = EvState::AssumedBad;
        self.available -= 1;
        let probe_at = now + self.probe_interval;
        self.retired.push_back(Retired { index, probe_at, is_probed: false, successes: 0 });
        self.replace(index);
    }

    /// Puts a usable backup, if the plane has one, in the place of an entropy value in use that is no longer usable.
    fn replace(&mut self, index: u16) {
        let (plane, position) = (index / self.per_plane, index % self.per_plane);
        let start = usize::from(plane * self.per_plane);
        let (active, backups) =
            self.slots[start..start + usize::from(self.per_plane)].split_at_mut(self.active.into());
        let states = &self.states[start..];
        let is_usable = |position: u16| states[usize::from(position)].is_usable();
        if let Some(slot) = active.iter_mut().find(|slot| **slot == position)
            && let Some(backup) = backups.iter_mut().find(|backup| is_usable(**backup))
        {
            std::mem::swap(slot, backup);
        }
        if !active.iter().any(|&position| is_usable(position)) {
            self.usable &= !(1 << plane);
        }
    }

    /// Makes a retired entropy value usable again. If it is among the backups, it replaces an unusable value in use, or
    /// stays a backup if all values in use are usable.
    fn restore(&mut self, index: u16, state: EvState) {
        self.states[usize::from(index)] = state;
        self.available += 1;
        let (plane, position) = (index / self.per_plane, index % self.per_plane);
        let start = usize::from(plane * self.per_plane);
        let (active, backups) =
            self.slots[start..start + usize::from(self.per_plane)].split_at_mut(self.active.into());
        let states = &self.states[start..];
        if let Some(backup) = backups.iter_mut().find(|backup| **backup == position)
            && let Some(slot) = active.iter_mut().find(|slot| !states[usize::from(**slot)].is_usable())
        {
            std::mem::swap(slot, backup);
        }
        // Now the plane has a usable entropy value in use: this value, or the others if it stayed a backup.
        self.usable |= 1 << plane;
    }

    #[inline]
    fn skip(&mut self, ev: u16) {
        if let Some(index) = self.index_of(ev)
            && self.states[usize::from(index)] == EvState::Good
        {
            self.states[usize::from(index)] = EvState::Skip;
        }
    }
}

/// Number of paths that entropy values can name in each of `planes` planes.
#[inline]
fn paths(planes: u16) -> u32 {
    (1 << 16) / u32::from(planes)
}

/// Number of entropy values in each of `planes` planes, of `evs` in all.
fn per_plane(evs: u32, planes: u16) -> u16 {
    (evs / u32::from(planes)).max(1) as u16
}

impl LbProperties for MrcLbConfig {
    fn build(&self, environment: &Environment, random: Stream) -> AnyLb {
        AnyLb::Mrc(Box::new(MrcLb::new(self, environment, random)))
    }

    /// An entropy value takes 32 bits and its state 2 (MRC, OCP 1.0).
    fn state(&self) -> Vec<StateField> {
        let bits = (u32::BITS - (self.evs - 1).leading_zeros()).max(1);
        vec![
            StateField::new("entropy value", 32, self.evs),
            StateField::new("state", 2, self.evs),
            StateField::new("turn: last, distance, left", bits, 3),
        ]
    }

    fn reacts_to_ecn(&self) -> bool {
        true
    }

    fn leaves_lossy_paths(&self) -> bool {
        true
    }

    fn check_together(&self, part: &str) -> Result<(), Conflict> {
        if self.active > self.evs {
            let message = format!("must be at most {part}.evs ({}), not {}", self.evs, self.active);
            let conflict = Conflict::value(format!("{part}.active"), message, self.evs);
            return Err(conflict.involving(format!("{part}.evs")));
        }
        let Some(i) = self.denied.iter().position(|denied| denied.path >= denied.of) else { return Ok(()) };
        let DeniedPath { path, of, .. } = self.denied[i];
        let message = format!("{part}.denied[{i}].path must be below its \"of\" ({of}), not {path}");
        let paths = self.denied.iter().map(|DeniedPath { plane, path, of }| {
            format!("{{ plane = {plane}, path = {}, of = {of} }}", path % of)
        });
        let instead = format!("[{}]", paths.collect::<Vec<_>>().join(", "));
        Err(Conflict::value(format!("{part}.denied"), message, instead))
    }
}

impl LoadBalancer for MrcLb {
    /// The next good entropy value of the next plane. The first value with the state SKIP that is passed over becomes
    /// good.
    #[inline]
    fn next_ev(&mut self, _now: Time, _window: u64) -> u16 {
        let plane = self.next_plane();
        let start = usize::from(plane * self.per_plane);
        let mut passed = None;
        let mut position = 0;
        // Two rounds less one turn contain a whole round, wherever the first turn is in its round.
        for _ in 1..2 * self.active {
            position = self.slots[start + usize::from(self.next_slot(plane))];
            let state = &mut self.states[start + usize::from(position)];
            match *state {
                EvState::Good => return self.ev_of(plane, position),
                EvState::Skip if passed.is_none() => {
                    *state = EvState::Good;
                    passed = Some(position);
                }
                _ => {}
            }
        }
        // No entropy value is good, so the first value with the state SKIP is used, or any value if none has this
        // state.
        self.ev_of(plane, passed.unwrap_or(position))
    }

    #[inline]
    fn see_ports(&mut self, ports: NicPorts) {
        if ports.count != self.ports.count {
            self.draw(ports.count);
        }
        self.ports = ports;
    }

    /// MRC, SKIP_ONCE: the entropy value of a marked packet is skipped once.
    #[inline]
    fn handle_ack(&mut self, _now: Time, ev: u16, marked: bool, _rtt: Duration) {
        if marked {
            self.skip(ev);
        }
    }

    /// MRC, ASSUMED_BAD: the first untrimmed loss retires an entropy value, unless too few would be left.
    fn handle_timeout(&mut self, now: Time, ev: Option<u16>) {
        if let Some(index) = ev.and_then(|ev| self.index_of(ev)) {
            self.retire(now, index);
        }
    }

    /// After a trim, the entropy value is skipped once. A trim never retires an entropy value.
    fn handle_trim(&mut self, _now: Time, ev: u16) {
        self.skip(ev);
    }

    #[inline]
    fn next_probe(&self) -> Option<Time> {
        self.retired.front().map(|retired| retired.probe_at)
    }

    /// The next probe that is due. Probes in planes that are down are postponed.
    fn poll_probe(&mut self, now: Time) -> Option<u16> {
        for _ in 0..self.retired.len() {
            let due = self.retired.pop_front_if(|retired| retired.probe_at <= now)?;
            let (plane, position) = (due.index / self.per_plane, due.index % self.per_plane);
            let is_up = self.ports.count == 1 || self.ports.up & self.peer_up & 1 << plane != 0;
            // If the last probe had no response, the count of successes restarts.
            let successes = if due.is_probed { 0 } else { due.successes };
            self.retired.push_back(Retired {
                probe_at: now + self.probe_interval,
                is_probed: is_up,
                successes,
                ..due
            });
            if is_up {
                return Some(self.ev_of(plane, position));
            }
        }
        None
    }

    fn handle_probe_response(&mut self, _now: Time, ev: u16, marked: bool) {
        let Some(index) = self.index_of(ev) else { return };
        let Some(slot) = self.retired.iter().position(|retired| retired.index == index) else { return };
        let retired = &mut self.retired[slot];
        retired.is_probed = false;
        retired.successes = retired.successes.saturating_add(1);
        if u32::from(retired.successes) >= self.config.probe_successes {
            self.retired.remove(slot);
            self.restore(index, if marked { EvState::Skip } else { EvState::Good });
        }
    }

    fn handle_peer_ports(&mut self, _now: Time, up: u16) {
        self.peer_up = up;
    }
}

#[cfg(test)]
mod tests;
