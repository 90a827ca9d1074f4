//! Activities of hosts over time, for timelines.

use crate::engine::Engine;
use crate::observer::Observer;
use anabranch_base::{HostId, MessageId, Time};
use anabranch_workload::Step;

/// An activity of a host with its start and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The host. For a message, this is the sender.
    pub host: HostId,
    /// The activity.
    pub activity: Activity,
    /// The start. For a message, this is the time of posting.
    pub from: Time,
    /// The end. For a message, this is the time of its acknowledgement. None if it did not end.
    pub until: Option<Time>,
}

/// The kind of an activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// The host sends a message.
    Sends {
        /// The message's number.
        message: u32,
        /// The receiver.
        to: HostId,
        /// The length of the message in bytes.
        bytes: u64,
        /// The time of delivery. None if the message was not delivered.
        delivered: Option<Time>,
    },
    /// A GPU of the host sends over NVLink.
    SendsWithin,
    /// The host computes.
    Computes {
        /// The processor that the computation occupies. None if it occupies no processor.
        processor: Option<u32>,
    },
}

/// The activities of a run: first the messages of the workload in their order, then the computations and NVLink steps
/// with a duration above 0. Activities that never began are left out.
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
            Step::NO_PROCESSOR => Activity::Computes { processor: None },
            _ if step.is_sending() => Activity::SendsWithin,
            processor if step.computes() => Activity::Computes { processor: Some(processor) },
            _ => return None,
        };
        (step.takes.0 > 0).then_some(Span { host: step.host, activity, from: begun?, until })
    });
    messages.chain(steps).collect()
}
