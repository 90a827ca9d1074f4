//! Code that several transports share.

mod acknowledging;
mod answers;
mod arrivals;
mod claim;
mod flow;
mod interface;
mod messages;
mod outgoing;
mod pacer;
mod payload_range;

pub(super) use acknowledging::Acknowledging;
pub(super) use answers::{Answers, Cause, NotificationPoint};
pub(super) use arrivals::{AnyOrder, Arrivals, InOrder};
pub(super) use claim::{Claim, MAX_SPAN};
pub(super) use flow::{AckRequests, Acked, Flow, forward_to_flow};
pub use interface::{Ends, Framing, Headers, NumberSpace, OutOfPsns, Pull, Receiver, Sender, SenderCounters};
pub(super) use messages::{Messages, PacketInfo};
pub(super) use outgoing::Outgoing;
pub(super) use pacer::Pacer;
pub use payload_range::PayloadRange;
