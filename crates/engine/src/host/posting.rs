//! Starts and ends of a host's messages and steps.

use super::{Host, NOT_OPENED};
use crate::board::{Completion, ReadyWork, Starts, parts, start_time};
use crate::context::{Context, Failure};
use crate::frame::{Order, event_kind};
use crate::injector::InjectedEnd;
use crate::network::Network;
use crate::observer::Observer;
use anabranch_base::{MessageId, QpId, Time};
use anabranch_workload::Done;
use std::cmp::Reverse;

impl Host {
    pub fn post<O: Observer>(&mut self, message: MessageId, at: &mut Context<'_, O>) {
        let network = at.network;
        let spec = network.message(message);
        network.board.post(message, at.now);
        at.counters.posted += 1;
        let split = network.scheme.qps;
        let parts = parts(spec.bytes, split);
        for part in 0..parts {
            let qp = QpId(spec.qp.0 * split + part);
            // All parts have the same length, except that the first ones may be one byte longer.
            let longer = u64::from(u64::from(part) < spec.bytes % u64::from(parts));
            let bytes = spec.bytes / u64::from(parts) + longer;
            let slot = network.slots(qp)[0];
            let index = match self.outgoing[slot as usize].index {
                NOT_OPENED => self.open_sender(slot, qp, at),
                index => index,
            };
            if self.senders[index as usize].sender.post(message, bytes).is_err() {
                at.effects.fail(at.now, self.id.into(), Failure::OutOfPsns(qp));
                return;
            }
            self.make_ready(slot, index, network);
        }
        self.kick(at);
    }

    /// Ends the steps and posts the messages that are due now.
    pub(super) fn handle_post<O: Observer>(&mut self, at: &mut Context<'_, O>) {
        while self.steps.peek().is_some_and(|Reverse((over, _))| *over <= at.now) {
            let Some(Reverse((_, step))) = self.steps.pop() else { break };
            at.counters.steps += 1;
            let mut ready = std::mem::take(&mut at.effects.ready_work);
            at.network.board.end_step(step, at.now, &mut ready);
            self.start_ready(&mut ready, at);
            at.effects.ready_work = ready;
        }
        while let Some(message) = self.next_start(at.network).filter(|(time, _)| *time <= at.now) {
            self.started += 1;
            self.post(message.1, at);
        }
        self.reschedule(at.network);
    }

    fn next_start(&self, network: &Network<'_>) -> Option<(Time, MessageId)> {
        let starts: &Starts = &network.starts;
        let message = *starts.of(self.id).get(self.started)?;
        Some((start_time(network.workload, message)?, message))
    }

    pub(super) fn reschedule(&mut self, network: &Network<'_>) {
        let timer = self
            .timers
            .peek()
            .map_or(Order::NEVER, |Reverse((time, _))| Order::chosen(*time, event_kind::TIMER));
        let post =
            self.next_start(network).map_or(Order::NEVER, |(time, _)| Order::chosen(time, event_kind::POST));
        let step = self
            .steps
            .peek()
            .map_or(Order::NEVER, |Reverse((time, _))| Order::chosen(*time, event_kind::POST));
        self.next_call = timer.min(post).min(step);
    }

    /// Handles the delivery or acknowledgement of a message, or of the part of it on queue pair `qp`, and starts the
    /// messages and steps that become ready. Returns false if the message does not belong to the connection or has
    /// already ended, which fails the run.
    pub(super) fn end_message<O: Observer>(
        &mut self,
        message: MessageId,
        qp: QpId,
        on: Done,
        at: &mut Context<'_, O>,
    ) -> bool {
        let its_own = at.network.board.message(message);
        if its_own.is_none_or(|its| its.qp != at.network.connection(qp)) {
            return self.fail_transport(
                qp,
                &format!("ended message {message}, which is none of its own"),
                at,
            );
        }
        let mut ready = std::mem::take(&mut at.effects.ready_work);
        match at.network.board.end(message, on, at.now, &mut ready) {
            Completion::Partial => {}
            Completion::Complete => {
                at.counters.acknowledged += u64::from(on == Done::Acknowledged);
                if message.index() >= at.network.workload.messages.len() {
                    at.effects.injected_ends.push(InjectedEnd { message, on });
                }
            }
            Completion::Duplicate => {
                return self.fail_transport(qp, &format!("has message {message}, which ended twice"), at);
            }
        }
        self.start_ready(&mut ready, at);
        at.effects.ready_work = ready;
        true
    }

    #[inline]
    fn start_ready<O: Observer>(&mut self, ready: &mut ReadyWork, at: &mut Context<'_, O>) {
        if !ready.steps.is_empty() {
            self.begin_steps(ready, at);
        }
        for message in ready.messages.drain(..) {
            if at.network.ends_of_message(message).src == self.id {
                self.post(message, at);
            } else {
                at.effects.remote_messages.push(message);
            }
        }
    }

    /// Begins a step that another host of the cluster made ready.
    pub fn begin_remote_step<O: Observer>(&mut self, step: u32, at: &mut Context<'_, O>) {
        let mut ready = std::mem::take(&mut at.effects.ready_work);
        ready.steps.push(step);
        self.start_ready(&mut ready, at);
        at.effects.ready_work = ready;
    }

    /// Begins the host's ready steps in the order in which they became ready. Steps that take no time end immediately.
    /// Ready steps of other hosts are passed on.
    #[inline(never)]
    fn begin_steps<O>(&mut self, ready: &mut ReadyWork, at: &mut Context<'_, O>) {
        let mut next = 0;
        while let Some(&step) = ready.steps.get(next) {
            next += 1;
            if at.network.workload.steps[step as usize].host != self.id {
                at.effects.remote_steps.push(step);
                continue;
            }
            let over = self.begin_step(step, at.now, at.network);
            if over <= at.now {
                at.counters.steps += 1;
                at.network.board.end_step(step, at.now, ready);
            } else {
                self.steps.push(Reverse((over, step)));
                self.next_call = self.next_call.min(Order::chosen(over, event_kind::POST));
            }
        }
        ready.steps.clear();
    }

    /// Begins a step. Returns the time of its end.
    pub(super) fn begin_step(&mut self, number: u32, now: Time, network: &Network<'_>) -> Time {
        let step = &network.workload.steps[number as usize];
        let mut begin = now;
        if step.is_receiving() {
            // The sending GPU has just finished, and the data began to arrive one latency after that GPU began to
            // send it.
            begin = Time((now + step.latency).0.saturating_sub(step.takes.0));
        }
        if step.is_serial() {
            let free = self.processors.entry(step.processor).or_insert(Time::ZERO);
            begin = begin.max(*free);
            *free = begin + step.takes;
        }
        network.board.begin_step(number, begin);
        begin + step.takes
    }
}
