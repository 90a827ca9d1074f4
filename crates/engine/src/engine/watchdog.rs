//! The progress of a run: its limits, and a watchdog that checks whether new data is delivered.

use super::{Engine, RunState, deadlock, fresh_packets, hits_of};
use crate::context::{Counters, Failure};
use crate::control::Control;
use crate::network::Network;
use crate::observer::Observer;
use crate::shard::{Shard, Window};
use anabranch_base::{Duration, Time};
use std::sync::MutexGuard;
use std::sync::atomic::Ordering;

#[derive(Default)]
pub(super) struct Watchdog {
    /// Whether no message was outstanding at the last check, so that the run only waited for the next start.
    idle: bool,
    /// The number of distinct data packets that receivers had received by the last check.
    fresh: u64,
    /// The time since which `fresh` has not changed.
    since: Time,
    next_check: Time,
}

impl<O: Observer> Engine<'_, O> {
    /// Handles the requests of the caller, and checks limits and, at intervals, the progress of the run.
    pub(super) fn check_progress(
        &self,
        state: &mut RunState,
        shards: &[MutexGuard<'_, Shard<O>>],
        counters: &Counters,
        window: &Window,
        control: &Control,
    ) -> Result<(), Failure> {
        if control.cancel.load(Ordering::Relaxed) {
            return Err(Failure::Cancelled);
        }
        if control.count_packets.load(Ordering::Relaxed) {
            control.count_packets.store(false, Ordering::Relaxed);
            control.packets_delivered.store(fresh_packets(shards), Ordering::Relaxed);
        }
        if counters.events > self.limits.max_events {
            return Err(Failure::Limit("max_events"));
        }
        let lost = counters.drops + counters.link_losses;
        if counters.injected.saturating_sub(counters.consumed + lost) > self.limits.max_packets {
            return Err(Failure::Limit("max_packets"));
        }
        let now = window.ends[0];
        let recorded = shards.iter().map(|shard| shard.observer.recorded()).sum();
        if !self.points.fits(recorded, now.min(Time::ZERO + self.limits.max_time)) {
            return Err(Failure::TooManyPoints);
        }
        let RunState { goodput, .. } = state;
        if let Some(goodput) = goodput.as_mut().filter(|goodput| goodput.is_due(now)) {
            goodput.record(now, fresh_packets(shards));
        }
        self.check_deliveries(state, shards, counters, now)
    }

    /// Fails the run as stalled, or as deadlocked, if nothing new has been delivered during the run's patience. Time in
    /// which a temporary fault blocks or slows traffic does not count.
    fn check_deliveries(
        &self,
        state: &mut RunState,
        shards: &[MutexGuard<'_, Shard<O>>],
        counters: &Counters,
        now: Time,
    ) -> Result<(), Failure> {
        let RunState { watchdog: watch, patience, .. } = state;
        // Without outstanding messages, the run only waits for the next start, which is no stall however long it takes.
        if counters.posted == counters.acknowledged {
            watch.idle = true;
            return Ok(());
        }
        if watch.idle {
            *watch = Watchdog {
                idle: false,
                fresh: u64::MAX,
                since: now,
                next_check: now + Duration(patience.0 / 4),
            };
        }
        if now < watch.next_check {
            return Ok(());
        }
        let fresh = fresh_packets(shards);
        if fresh != watch.fresh {
            (watch.fresh, watch.since) = (fresh, now);
        } else if now.since(watch.since) > *patience {
            let hits = hits_of(shards);
            let Network { faults, link_kinds, .. } = &self.network;
            if let Some(over) = faults.blocked_until((watch.since, now), &hits, *patience, link_kinds)
                && now.since(over) <= *patience
            {
                watch.next_check = now.max(over) + Duration(patience.0 / 4);
                return Ok(());
            }
            let cycle = deadlock::find(&self.network, shards);
            return Err(cycle.map_or(Failure::Stalled, Failure::Deadlock));
        }
        watch.next_check = now + Duration(patience.0 / 4);
        Ok(())
    }
}
