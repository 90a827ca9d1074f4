//! What hosts did from when to when, for timelines.

use crate::engine::Engine;
use crate::observer::Observer;
use anabranch_base::{HostId, MessageId, Time};
use anabranch_workload::Step;

/// Something that a host did for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The host; of a message the one that sends.
    pub host: HostId,
    /// What it did.
    pub activity: Activity,
    /// When it began: a message, when it was posted.
    pub from: Time,
    /// When it was over: a message, when it was acknowledged. None where that never came.
    pub until: Option<Time>,
}

/// What a host does for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// It sends a message.
    Sends {
        /// The message's number.
        message: u32,
        /// To this host.
        to: HostId,
        /// Its bytes.
        bytes: u64,
        /// When the receiver had all of it.
        delivered: Option<Time>,
    },
    /// It sends within its server.
    SendsWithin,
    /// It computes, on this processor if it is one that does one thing at a time.
    Computes {
        /// The processor.
        processor: Option<u32>,
    },
}

/// All of a run: messages in their order, then steps that took time. What never began is not there.
pub(crate) fn spans<O: Observer>(engine: &Engine<'_, O>) -> Vec<Span> {
    let network = engine.network();
    let workload = network.workload;
    let messages = (0..).map(MessageId).zip(&workload.messages).filter_map(|(number, message)| {
        let [posted, delivered, until] = network.board.times(number);
        let ends = workload.qps[message.qp.index()];
        let activity = Activity::Sends { message: number.0, to: ends.dst, bytes: message.bytes, delivered };
        Some(Span { host: ends.src, activity, from: posted?, until })
    });
    let steps = (0..).zip(&workload.steps).filter_map(|(number, step)| {
        let [begun, until] = network.board.step_times(number);
        let activity = match step.processor {
            Step::IDLE => return None,
            Step::SERVER_LINK => Activity::SendsWithin,
            Step::NO_PROCESSOR => Activity::Computes { processor: None },
            processor => Activity::Computes { processor: Some(processor) },
        };
        (step.takes.0 > 0).then_some(Span { host: step.host, activity, from: begun?, until })
    });
    messages.chain(steps).collect()
}
