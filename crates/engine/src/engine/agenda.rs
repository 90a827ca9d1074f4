//! The choice of the next synchronisation window, and the tasks of faults at its start.

use super::{Engine, RunState, deadlock};
use crate::context::{Failure, Notice};
use crate::egress::LAST_TIME;
use crate::faults::Task;
use crate::network::Network;
use crate::observer::Observer;
use crate::shard::{NodeTask, Shard, Window};
use anabranch_base::{Duration, LinkId, NodeId, Time};
use anabranch_fabric::Routing;
use std::sync::{Arc, MutexGuard, PoisonError};

impl<O: Observer> Engine<'_, O> {
    /// Advances to the next synchronisation window with an event or a task.
    pub(super) fn next_window(
        &self,
        state: &mut RunState,
        window: &mut Window,
        shards: &mut [MutexGuard<'_, Shard<O>>],
        notices: Vec<Notice>,
    ) -> Result<(), Failure> {
        let due = self.network.faults.next_due(state.agenda_done);
        let own = shards.iter().map(|shard| shard.next_time()).min().unwrap_or(Time::NEVER);
        if state.notify_programs {
            let later = |notice: &Notice| Notice { time: notice.time + self.network.window, ..*notice };
            state.pending_notices.extend(notices.iter().map(later));
        }
        let own = state.pending_notices.front().map_or(own, |notice| own.min(notice.time));
        let mut steps = window.ends.len() as u64;
        loop {
            let next = window.ends[0];
            self.advance(window, next);
            if own < window.ends[0] || due <= next || self.has_mail(window.number) {
                break;
            }
            steps -= 1;
            if steps == 0 {
                // Nothing arrives in any of the prepared windows, so time jumps to the next event, the next task of a
                // fault or the end of the run.
                let first = own.min(due).min(window.stop);
                if first == Time::NEVER {
                    let cycle = deadlock::find(&self.network, shards);
                    return Err(cycle.map_or(Failure::NothingLeft, Failure::Deadlock));
                }
                if first > self.end_of_time(window) {
                    return Err(Failure::Limit("max_time"));
                }
                window.ends.fill(first);
                for _ in 0..window.ends.len() {
                    self.advance(window, window.ends[0]);
                }
                window.start = first;
                break;
            }
        }
        if window.start > self.end_of_time(window) {
            return Err(Failure::Limit("max_time"));
        }
        window.notices = notices.into();
        let count =
            state.pending_notices.partition_point(|notice| notice.time < window.ends[0].min(window.stop));
        window.program_notices = state.pending_notices.drain(..count).collect();
        window.tasks = self.run_agenda(state, window, shards).into();
        Ok(())
    }

    /// The last instant that the run may reach.
    fn end_of_time(&self, window: &Window) -> Time {
        let limit = Time::ZERO + self.limits.max_time;
        let limit = if window.stop < Time::NEVER { limit.max(window.stop) } else { limit };
        limit.min(Time(LAST_TIME.0 - 1))
    }

    /// Advances to the synchronisation window that starts at `start`, and determines the end of one more future window.
    fn advance(&self, window: &mut Window, start: Time) {
        window.number += 1;
        window.start = start;
        window.ends.remove(0);
        let last = window.ends.last().copied().unwrap_or(start);
        // A synchronisation window also ends before the tasks of faults, which are done between windows, and at the
        // end of the run.
        let next_due = self.network.faults.next_due(Some(last));
        let end = self.end_of_time(window) + Duration(1);
        window.ends.push((last + self.network.window).min(next_due).min(end).max(last));
    }

    fn has_mail(&self, window: u64) -> bool {
        self.mail.iter().any(|slots| {
            let slot = &slots[(window % slots.len() as u64) as usize];
            !slot.read().unwrap_or_else(PoisonError::into_inner).is_empty(window)
        })
    }

    /// Does the tasks of faults that are due at the start of `window`. Returns the tasks that nodes have to do.
    fn run_agenda(
        &self,
        state: &mut RunState,
        window: &mut Window,
        shards: &mut [MutexGuard<'_, Shard<O>>],
    ) -> Vec<(NodeId, NodeTask)> {
        let Network { faults, topology, .. } = &self.network;
        let mut tasks = Vec::new();
        let due =
            |state: &RunState| Some(faults.next_due(state.agenda_done)).filter(|due| *due <= window.start);
        while let Some(time) = due(state) {
            state.agenda_done = Some(time);
            for task in faults.tasks_at(time) {
                match task {
                    Task::Purge(node, fault) => tasks.push((node, NodeTask::Purge(fault))),
                    Task::SettlePause(link) if self.network.pauses() => {
                        self.settle_pauses(link, window.start, shards, &mut tasks);
                    }
                    Task::SettlePause(_) => {}
                    Task::Reroute(as_of) => {
                        let alive = |link| faults.is_up(link, as_of);
                        window.routing = Arc::new(Routing::new(topology, &alive));
                    }
                }
            }
        }
        tasks
    }

    /// Determines anew which classes are paused on a link that went down or came up, at both ends of the link.
    fn settle_pauses(
        &self,
        link: LinkId,
        now: Time,
        shards: &mut [MutexGuard<'_, Shard<O>>],
        tasks: &mut Vec<(NodeId, NodeTask)>,
    ) {
        let Network { faults, topology, classes, .. } = &self.network;
        // The node that receives on a link decides whether the link is paused.
        let back = topology.reverse(link);
        let up = faults.is_up(link, now) && faults.is_up(back, now);
        let port = &topology.ports[link.index()];
        let (source, its_port) = (topology.source(link), topology.ports[back.index()].peer_port);
        for class in 0..=classes.len() as u8 {
            let at = (port.peer_port, class);
            let stop = shards.iter_mut().any(|shard| shard.settle_pause(port.peer, at, up));
            tasks.push((source, NodeTask::Pause(its_port, class, stop)));
        }
    }
}
