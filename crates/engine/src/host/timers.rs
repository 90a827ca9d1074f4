//! Timers of a host's queue pairs. Timeouts fire at the exact time or at the next tick of the host, after a random
//! delay if there is jitter.

use super::{DONE, Host, PULLS, RECEPTION};
use crate::context::Context;
use crate::frame::{Order, event_kind};
use crate::network::Network;
use crate::observer::Observer;
use anabranch_base::{Duration, HostId, Purpose, QpId, Time, draw_at, scaled, stream};
use anabranch_proto::transport::AnySender;
use std::cmp::Reverse;

/// The ticks and the random delays of timeouts of a host whose timers are not exact.
pub(super) struct Ticks {
    /// The time between two ticks. It is 0 if timeouts do not wait for ticks.
    every: Duration,
    first: Time,
    /// The largest random delay of a timeout after its tick or, without ticks, after the exact time.
    jitter: Duration,
    seed: u64,
}

impl Ticks {
    /// The ticks of a host. None if there are neither ticks nor jitter.
    pub fn new(network: &Network<'_>, host: HostId) -> Option<Ticks> {
        let (every, jitter) = (network.scheme.fabric.timer_tick, network.scheme.fabric.timer_jitter);
        if every == Duration::ZERO && jitter == Duration::ZERO {
            return None;
        }
        let seed = network.seed;
        let phase = stream(seed, u64::from(host.0), Purpose::TimerTicks).up_to(every.0.saturating_sub(1));
        Some(Ticks { every, first: Time(phase), jitter, seed })
    }

    /// The time at which a timeout of `qp` fires if it is due at `due`. Its random delay depends only on `qp` and
    /// `due`, so that repeated calls return the same time.
    fn fire_time(&self, qp: QpId, due: Time) -> Time {
        let tick = match self.every {
            Duration::ZERO => due,
            every => self.first + Duration(due.since(self.first).0.div_ceil(every.0) * every.0),
        };
        let bits = draw_at(self.seed, u64::from(qp.0), Purpose::TimerJitter, due.0);
        tick + Duration(scaled(bits, self.jitter.0))
    }

    /// The time of the next timer event of `sender`. Pacing does not wait for ticks.
    fn next(&self, sender: &mut AnySender, qp: QpId) -> Option<Time> {
        let (due, paced) = (sender.next_timeout()?, sender.next_pacing());
        Some(match paced {
            Some(paced) if paced <= due => paced,
            Some(paced) => paced.min(self.fire_time(qp, due)),
            None => self.fire_time(qp, due),
        })
    }

    /// Handles the timers of `sender` that have fired. Returns whether any had fired.
    fn fire(&self, sender: &mut AnySender, qp: QpId, now: Time) -> bool {
        let paced = sender.next_pacing().is_some_and(|due| due <= now);
        if paced {
            sender.handle_pacing(now);
        }
        let times_out = sender.next_timeout().is_some_and(|due| due <= now && self.fire_time(qp, due) <= now);
        if times_out {
            sender.handle_timeout(now);
        }
        paced || times_out
    }
}

/// Handles the timers of `sender`, which are exact, if they are due. Returns whether any was due.
fn fire(sender: &mut AnySender, now: Time) -> bool {
    let is_due = sender.next_timeout().is_some_and(|due| due <= now);
    if is_due {
        sender.handle_timeout(now);
    }
    is_due
}

impl Host {
    /// Handles a timer event. `slot` is an index in `outgoing`, [`PULLS`] or [`RECEPTION`].
    pub(super) fn handle_timer<O: Observer>(&mut self, slot: u32, at: &mut Context<'_, O>) {
        if slot >= RECEPTION {
            return match slot {
                PULLS => self.handle_pull_turn(at),
                _ => self.handle_reception(at),
            };
        }
        let index = self.outgoing[slot as usize].index;
        if index >= DONE {
            return;
        }
        let sender = &mut self.senders[index as usize];
        if sender.timer != at.now {
            return;
        }
        sender.timer = std::mem::replace(&mut sender.later, Time::NEVER);
        let fired = match &self.ticks {
            None => fire(&mut sender.sender, at.now),
            Some(ticks) => ticks.fire(&mut sender.sender, self.outgoing[slot as usize].qp, at.now),
        };
        if fired {
            self.make_ready(slot, index, at.network);
        }
        self.kick(at);
        self.arm(slot, index, at.now);
    }

    /// Schedules the next timer event of a queue pair, if it is due earlier than the event that is scheduled already.
    pub(super) fn arm(&mut self, slot: u32, index: u32, now: Time) {
        let sender = &mut self.senders[index as usize];
        let Some(due) = sender.sender.next_timeout() else { return };
        let mut due = due.max(now + Duration(1));
        // The time with ticks and random delays is computed only if it is needed.
        if due < sender.timer
            && let Some(ticks) = &self.ticks
        {
            let next = ticks.next(&mut sender.sender, self.outgoing[slot as usize].qp);
            due = next.map_or(due, |next| next.max(due));
        }
        if due < sender.timer {
            sender.later = sender.later.min(sender.timer);
            sender.timer = due;
            self.timers.push(Reverse((due, slot)));
            self.next_call = self.next_call.min(Order::chosen(due, event_kind::TIMER));
        }
    }
}
