//! Timers of a host's queue pairs, and when the timeouts among them fire: when they are due, or at the host's ticks.

use super::{DONE, Host, PULLS};
use crate::context::Context;
use crate::frame::{Order, kind};
use crate::network::Network;
use crate::observer::Observer;
use anabranch_base::{Duration, HostId, Purpose, QpId, Time, draw_at, scaled, stream};
use anabranch_proto::transport::AnySender;
use std::cmp::Reverse;

/// When timeouts of a host fire whose timers are not exact.
pub(super) struct Ticks {
    /// Between two ticks; 0: timeouts need not wait for one.
    every: Duration,
    /// The first tick.
    first: Time,
    /// The most by which a timeout fires later than its tick.
    jitter: Duration,
    seed: u64,
}

impl Ticks {
    /// The ticks of a host of `network`, unless its timers are exact.
    pub fn of(network: &Network<'_>, host: HostId) -> Option<Ticks> {
        let (every, jitter) = (network.scheme.fabric.timer_tick, network.scheme.fabric.timer_jitter);
        if every == Duration::ZERO && jitter == Duration::ZERO {
            return None;
        }
        let seed = network.seed;
        let phase = stream(seed, u64::from(host.0), Purpose::TimerTicks).up_to(every.0.saturating_sub(1));
        Some(Ticks { every, first: Time(phase), jitter, seed })
    }

    /// When a timeout of `qp` fires that is due at `due`. The draw depends on nothing else, so that it may be asked again.
    fn fires(&self, qp: QpId, due: Time) -> Time {
        let tick = match self.every {
            Duration::ZERO => due,
            every => self.first + Duration(due.since(self.first).0.div_ceil(every.0) * every.0),
        };
        let bits = draw_at(self.seed, u64::from(qp.0), Purpose::TimerJitter, due.0);
        tick + Duration(scaled(bits, self.jitter.0))
    }

    /// When something happens next at `sender`: a packet that waits for its time is exact.
    fn next(&self, sender: &mut AnySender, qp: QpId) -> Option<Time> {
        let (due, paced) = (sender.next_timeout()?, sender.next_pacing());
        Some(match paced {
            Some(paced) if paced <= due => paced,
            Some(paced) => paced.min(self.fires(qp, due)),
            None => self.fires(qp, due),
        })
    }

    /// Does what has come at `sender`: whether anything had.
    fn fire(&self, sender: &mut AnySender, qp: QpId, now: Time) -> bool {
        let goes = sender.next_pacing().is_some_and(|due| due <= now);
        if goes {
            sender.handle_pacing(now);
        }
        let times_out = sender.next_timeout().is_some_and(|due| due <= now && self.fires(qp, due) <= now);
        if times_out {
            sender.handle_timeout(now);
        }
        goes || times_out
    }
}

/// Does what is due at `sender`, whose timers are exact: whether anything was.
fn fire(sender: &mut AnySender, now: Time) -> bool {
    let is_due = sender.next_timeout().is_some_and(|due| due <= now);
    if is_due {
        sender.handle_timeout(now);
    }
    is_due
}

impl Host {
    /// A queue pair's timer.
    pub(super) fn handle_timer<O: Observer>(&mut self, slot: u32, at: &mut Context<'_, O>) {
        if slot == PULLS {
            return self.handle_pull_turn(at);
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
            self.round.make_ready(&mut self.senders, index);
        }
        self.kick(at);
        self.arm(slot, index, at.now);
    }

    /// Has a queue pair's timer run, if it is due earlier than it does.
    pub(super) fn arm(&mut self, slot: u32, index: u32, now: Time) {
        let sender = &mut self.senders[index as usize];
        let Some(due) = sender.sender.next_timeout() else { return };
        let mut due = due.max(now + Duration(1));
        // An event that comes too early is cheap.
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
            self.next_call = self.next_call.min(Order::chosen(due, kind::TIMER));
        }
    }
}
