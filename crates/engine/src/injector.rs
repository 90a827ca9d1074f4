//! The interface of an injector, which posts messages while a run goes on: another simulator. [`crate::injection`] calls it.

use anabranch_base::{HostId, MessageId, Time};
use anabranch_workload::Done;

/// A source of messages that are posted while a run goes on.
pub trait Injector: Send {
    /// Called when all other events of hosts at the instant `now` are done. `ends` has the ends, at this instant, of injected
    /// messages: by rising number of the host that noticed them, and in the order of events at each host. Messages added to
    /// `messages` are posted at this instant, in their order. Returns the time of the next call, after `now`, if no message
    /// ends before; none for a call only when a message ends.
    ///
    /// The first call is at time 0, the others at each instant at which an injected message ends or which the injector has
    /// named. The run ends when the injector has named none and every message is acknowledged.
    fn inject(
        &mut self,
        now: Time,
        ends: &[InjectedEnd],
        messages: &mut Vec<InjectedMessage>,
    ) -> Option<Time>;
}

/// A message to be posted. Messages are numbered in the order of posting, after those of the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InjectedMessage {
    /// The sender.
    pub src: HostId,
    /// The receiver, which must not be the sender. Messages from one host to another share a queue pair, which stays open to
    /// the end of the run.
    pub dst: HostId,
    /// Length in bytes, at least 1.
    pub bytes: u64,
}

/// One of the two ends of an injected message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InjectedEnd {
    /// The number of the message.
    pub message: MessageId,
    /// Whether it was delivered or acknowledged.
    pub on: Done,
}
