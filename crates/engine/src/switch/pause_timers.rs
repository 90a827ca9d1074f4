//! Timers of pauses at a switch: the pauses of hosts, which expire unless the host refreshes them, and the polls of the
//! PFC watchdog.
//!
//! The watchdog is that of SONiC (sonic-utilities, `pfcwd`, and the detection and restoration scripts of sonic-swss).
//! A port is stormed during an interval between two polls if data waits there at the end of the interval, none was
//! sent in the interval, and the port was paused for more than 99 % of it.

use super::Switch;
use crate::context::Context;
use crate::egress::{FreeTimes, count_drop};
use crate::link::DelayClass;
use crate::network::Network;
use crate::observer::Observer;
use crate::pause::longest_pause;
use crate::spec::{PfcSpec, WatchdogAction};
use anabranch_base::{Duration, LinkId, NodeId, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The port number that stands for pause timers in the queue of times at which ports become free.
pub(super) const PAUSE_TIMERS: u16 = u16::MAX;

/// A stormed port is paused for more than this percentage of an interval (sonic-swss PR #3036; 80 % before).
const STORMED_PERCENT: u64 = 99;

pub(super) struct PauseTimers {
    due: BinaryHeap<Reverse<(Time, u16, Timer)>>,
    ports: Vec<PortTimers>,
    watchdog: Option<Watchdog>,
    storms: u64,
    drops: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    Expiry,
    Poll,
}

#[derive(Clone, Copy)]
struct Watchdog {
    action: WatchdogAction,
    poll: Duration,
    detection: Duration,
    restoration: Duration,
}

#[derive(Clone, Copy)]
struct PortTimers {
    /// The duration of a pause, if the other end is a host that may send pauses. The pauses of switches do not expire.
    lasts: Option<Duration>,
    expires: Time,
    /// The time since which the other end has paused the port, or the last poll if that is later. [`Time::NEVER`] if
    /// the other end does not pause the port.
    paused_since: Time,
    /// The time for which the port was paused since the last poll, without the present pause.
    paused: Duration,
    /// Whether a poll is scheduled. A pause schedules one, and each poll schedules the next while the port is paused
    /// or a storm lasts.
    polled: bool,
    /// The time for which the port has been stormed.
    stormed: Duration,
    /// The time for which the port has not been paused, during a storm.
    calm: Duration,
    /// Whether the watchdog has acted and has not restored the port yet.
    storm: bool,
}

impl Watchdog {
    fn of(pfc: &PfcSpec) -> Option<Watchdog> {
        Some(Watchdog {
            action: pfc.watchdog?,
            poll: pfc.watchdog_poll,
            detection: pfc.watchdog_detection,
            restoration: pfc.watchdog_restoration,
        })
    }
}

impl PauseTimers {
    /// Returns none if the first class is not lossless, or if the switch has neither a watchdog nor a host that may
    /// send pauses.
    pub fn new(network: &Network<'_>, node: NodeId) -> Option<PauseTimers> {
        let watchdog = Watchdog::of(network.scheme.fabric.pfc.as_ref()?);
        let lasts = |link: LinkId| {
            let pauses = network.faults.has_host_fault(network.topology.reverse(link));
            pauses.then(|| longest_pause(network.topology.ports[link.index()].rate))
        };
        let port = |link| PortTimers {
            lasts: lasts(LinkId(link)),
            expires: Time::NEVER,
            paused_since: Time::NEVER,
            paused: Duration::ZERO,
            polled: false,
            stormed: Duration::ZERO,
            calm: Duration::ZERO,
            storm: false,
        };
        let ports: Vec<PortTimers> = network.topology.links_of(node).map(port).collect();
        let is_needed = watchdog.is_some() || ports.iter().any(|port| port.lasts.is_some());
        is_needed.then_some(PauseTimers { due: BinaryHeap::new(), ports, watchdog, storms: 0, drops: 0 })
    }
}

impl PortTimers {
    /// The time for which the port was paused since the last poll.
    fn paused_until(&self, now: Time, poll: Duration) -> Duration {
        match self.paused_since {
            Time::NEVER => self.paused,
            since => (self.paused + now.since(since)).min(poll),
        }
    }

    fn set_paused(&mut self, on: bool, now: Time) {
        match (self.paused_since, on) {
            (Time::NEVER, true) => self.paused_since = now,
            (Time::NEVER, false) | (_, true) => {}
            (since, false) => {
                self.paused = self.paused + now.since(since);
                self.paused_since = Time::NEVER;
            }
        }
    }
}

impl Switch {
    fn start_timer(&mut self, time: Time, port: u16, timer: Timer) {
        let Some(timers) = &mut self.pause_timers else { return };
        timers.due.push(Reverse((time, port, timer)));
        self.egress.free_times.push(DelayClass::NONE, time, PAUSE_TIMERS);
    }

    /// Records that the other end of `port` pauses or resumes it. Returns whether the port obeys.
    pub(super) fn note_pause<O>(&mut self, port: u16, stop: bool, at: &mut Context<'_, O>) -> bool {
        let Some(timers) = &mut self.pause_timers else { return true };
        let watchdog = timers.watchdog;
        let its = &mut timers.ports[usize::from(port)];
        its.set_paused(stop, at.now);
        its.expires = its.lasts.filter(|_| stop).map_or(Time::NEVER, |lasts| at.now + lasts);
        let (expires, obeys) = (its.expires, !its.storm);
        let starts = watchdog.filter(|_| stop && !its.polled);
        its.polled |= starts.is_some();
        if expires < Time::NEVER {
            self.start_timer(expires, port, Timer::Expiry);
        }
        if let Some(Watchdog { poll, .. }) = starts {
            self.start_timer(Time((at.now.0 / poll.0 + 1) * poll.0), port, Timer::Poll);
        }
        obeys
    }

    #[cold]
    #[inline(never)]
    pub(super) fn handle_pause_timers<O: Observer>(&mut self, at: &mut Context<'_, O>) {
        while let Some(timers) = &mut self.pause_timers
            && let Some(Reverse((time, port, timer))) = timers.due.peek().copied()
            && time <= at.now
        {
            timers.due.pop();
            match timer {
                Timer::Expiry if timers.ports[usize::from(port)].expires == time => {
                    self.handle_pause(port, 0, false, at);
                }
                Timer::Expiry => {}
                Timer::Poll => self.poll(port, at),
            }
        }
    }

    fn poll<O: Observer>(&mut self, port: u16, at: &mut Context<'_, O>) {
        let waits = !self.egress.port(port).data.is_empty();
        let last_data = self.egress.last_data(port).unwrap_or(Time::ZERO);
        let Some(timers) = &mut self.pause_timers else { return };
        let Some(watchdog) = timers.watchdog else { return };
        let Watchdog { poll, detection, restoration, .. } = watchdog;
        let its = &mut timers.ports[usize::from(port)];
        let paused = its.paused_until(at.now, poll);
        its.paused = Duration::ZERO;
        if its.paused_since < Time::NEVER {
            its.paused_since = at.now;
        }
        let has_sent = last_data > Time::ZERO && last_data.0 + poll.0 >= at.now.0;
        let is_stormed = waits && !has_sent && paused.0 * 100 > poll.0 * STORMED_PERCENT;
        its.stormed = if is_stormed && !its.storm { its.stormed + poll } else { Duration::ZERO };
        let is_calm = paused == Duration::ZERO && its.paused_since == Time::NEVER;
        its.calm = if its.storm && is_calm { its.calm + poll } else { Duration::ZERO };
        let (begins, ends) = (its.stormed >= detection, its.storm && its.calm >= restoration);
        its.storm = (its.storm || begins) && !ends;
        its.polled = its.storm || its.paused_since < Time::NEVER;
        if begins {
            its.stormed = Duration::ZERO;
            timers.storms += 1;
        }
        if timers.ports[usize::from(port)].polled {
            self.start_timer(at.now + poll, port, Timer::Poll);
        }
        if begins {
            self.begin_storm(port, watchdog.action, at);
        } else if ends && watchdog.action == WatchdogAction::Drop {
            // The other end does not pause the port any more.
            self.resume(port, at);
        }
    }

    fn begin_storm<O: Observer>(&mut self, port: u16, action: WatchdogAction, at: &mut Context<'_, O>) {
        if action == WatchdogAction::Forward {
            return self.resume(port, at);
        }
        self.egress.pause(port, at);
        while let Some(taken) = self.egress.ports[usize::from(port)].data.pop(&self.egress.pool) {
            let frame = self.egress.pool.take(taken);
            let bytes = frame.packet.wire_bytes;
            self.egress.port(port).data_bytes -= u32::from(bytes);
            self.egress.note_queued(port, at);
            self.release(0, frame.port, bytes, at);
            count_drop(self.egress.port(port).link, &frame.packet, at);
            self.egress.release_telemetry(frame.telemetry);
            self.count_watchdog_drop(port, at);
        }
    }

    fn resume<O: Observer>(&mut self, port: u16, at: &mut Context<'_, O>) {
        if self.egress.unpause(port, at) && self.egress.port(port).has_work() && !self.egress.port(port).busy
        {
            self.serve(port, at);
        }
    }

    /// Returns whether a data packet may wait at `port`. It may not if the watchdog drops the port's data. If the port
    /// is paused during a pause storm of the host at its other end, the packet is counted as slowed by that fault.
    #[cold]
    #[inline(never)]
    pub(super) fn may_wait<O>(&mut self, port: u16, at: &mut Context<'_, O>) -> bool {
        let Some(timers) = &self.pause_timers else { return true };
        let drops = timers.watchdog.is_some_and(|watchdog| watchdog.action == WatchdogAction::Drop);
        if drops && timers.ports[usize::from(port)].storm {
            self.count_watchdog_drop(port, at);
            return false;
        }
        if self.egress.port(port).paused
            && let Some(fault) = self.storming_host(port, at)
        {
            let hits = at.effects.hits.of(fault);
            (hits.slowed, hits.data) = (hits.slowed + 1, hits.data + 1);
        }
        true
    }

    /// The fault by which the host at the other end of `port` sends a storm of pauses now.
    fn storming_host<O>(&self, port: u16, at: &Context<'_, O>) -> Option<u16> {
        let link = self.egress.ports[usize::from(port)].link;
        at.network.faults.storm(at.network.topology.reverse(link), at.now)
    }

    fn count_watchdog_drop<O>(&mut self, port: u16, at: &mut Context<'_, O>) {
        if let Some(timers) = &mut self.pause_timers {
            timers.drops += 1;
        }
        if let Some(fault) = self.storming_host(port, at) {
            let hits = at.effects.hits.of(fault);
            (hits.dropped, hits.data) = (hits.dropped + 1, hits.data + 1);
        }
    }

    /// Forgets the pauses of `port` and ends its storm, since the switch is down.
    pub(super) fn forget_pauses(&mut self, port: u16, now: Time) {
        if let Some(timers) = &mut self.pause_timers {
            let its = &mut timers.ports[usize::from(port)];
            its.set_paused(false, now);
            (its.expires, its.storm) = (Time::NEVER, false);
        }
    }

    /// The number of times that the PFC watchdog has acted, and the number of packets that it has dropped.
    pub fn watchdog_counts(&self) -> (u64, u64) {
        self.pause_timers.as_ref().map_or((0, 0), |timers| (timers.storms, timers.drops))
    }
}
