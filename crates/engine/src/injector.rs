//! The interface of an injector, such as another simulator, which posts messages while a run goes on. The calls are in
//! [`crate::injection`].

use anabranch_base::{HostId, MessageId, Time};
use anabranch_workload::Done;

/// A source of messages that are posted while a run goes on.
pub trait Injector: Send {
    /// Whether the injector can decide now on the messages at the instant `now`. Before each call of
    /// [`inject`](Self::inject), `is_ready` is called with the same `now` and `ends`. If the injector is not ready, a
    /// [`PausableRun`](crate::PausableRun) pauses, and calls `is_ready` again when it continues. In any other run, the
    /// injector must always be ready.
    fn is_ready(&mut self, _now: Time, _ends: &[InjectedEnd]) -> bool {
        true
    }

    /// Called when all other events of hosts at the instant `now` are done. `ends` lists the injected messages that
    /// were delivered or acknowledged at this instant. The list is sorted by the number of the host at which the
    /// message ended, and within a host by the order of events. Messages added to `messages` are posted at this
    /// instant, in their order.
    ///
    /// Returns the time of the next call, which must be after `now`. If a message ends earlier, `inject` is called
    /// then, and the new result replaces the earlier one. After a result of None, only the end of a message causes a
    /// call.
    ///
    /// The first call is at time 0. The run ends when the last call has returned None and every message is
    /// acknowledged.
    fn inject(
        &mut self,
        now: Time,
        ends: &[InjectedEnd],
        messages: &mut Vec<InjectedMessage>,
    ) -> Option<Time>;
}

/// A message to be posted. Injected messages are numbered in the order of posting, after the messages of the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InjectedMessage {
    /// The sending host.
    pub src: HostId,
    /// The receiving host, which must differ from the sender.
    pub dst: HostId,
    /// The queue pair that carries the message.
    pub queue_pair: QueuePair,
    /// Length in bytes, at least 1.
    pub bytes: u64,
}

/// The queue pair of an injected message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueuePair {
    /// The queue pair that all messages with the same sender, receiver and number share. It stays open until the end of
    /// the run.
    Shared(u64),
    /// A queue pair that carries only this message.
    Own,
}

/// The delivery or the acknowledgement of an injected message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InjectedEnd {
    /// The number of the message.
    pub message: MessageId,
    /// Whether the message was delivered or acknowledged.
    pub on: Done,
}
