//! What posts messages while a run goes on: another simulator, which hears when others end. How it comes to be called is in
//! [`crate::posts`].

use anabranch_base::{HostId, MessageId, Time};
use anabranch_workload::Done;

/// Posts messages while a run goes on.
pub trait Injector: Send {
    /// All that hosts do at the instant `now` is done. `ends` are the ends at it of messages that this posted: by rising
    /// number of the host where they were noticed, and at each host in the order of its events. What is added to `posts` is
    /// posted at this instant, in this order. Returns when to call next, after `now`, if no message ends before; none: only
    /// when one does.
    ///
    /// It is called first at time 0, then at each instant at which one of its messages ends or which it has named. The run
    /// ends when it has named none and every message is acknowledged.
    fn inject(
        &mut self,
        now: Time,
        ends: &[InjectedEnd],
        messages: &mut Vec<InjectedMessage>,
    ) -> Option<Time>;
}

/// A message to be posted. Messages have numbers in the order of posting, behind those of the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InjectedMessage {
    /// The sender.
    pub src: HostId,
    /// The receiver, never the sender itself. Messages that are posted from one host to another share a queue pair, which
    /// stays open to the end of the run.
    pub dst: HostId,
    /// Length in bytes, at least 1.
    pub bytes: u64,
}

/// One of the two ends of a posted message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InjectedEnd {
    /// Its number.
    pub message: MessageId,
    /// Which end.
    pub on: Done,
}
