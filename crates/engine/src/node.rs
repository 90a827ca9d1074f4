//! The interface of nodes. A node is a host or a switch, owns its state, and handles its events one after the other.

use crate::context::Context;
use crate::frame::{Frame, Order};
use crate::mail::{FarArrival, Inbox, Sources};
use crate::observer::Observer;
use anabranch_base::NodeId;
use anabranch_proto::IntStack;

/// A host or a switch. Its handlers have access to its own state and the [`Context`], but not to the state of any other
/// node.
pub trait Node {
    fn node(&self) -> NodeId;
    /// The next event of the node itself, such as a port that becomes free, a timer, or the start of a message.
    fn next(&self) -> Order;
    /// Handles the next event of the node itself, at the present time.
    fn run_next<O: Observer>(&mut self, at: &mut Context<'_, O>);
    /// Handles the arrival of a frame, with its telemetry.
    fn arrive<O: Observer>(&mut self, frame: &Frame, stack: Option<&IntStack>, at: &mut Context<'_, O>);
}

/// Runs the events of `node` that are before `bound`, both its own events and arrivals, in their order.
#[inline]
pub fn run<N: Node, O: Observer>(
    node: &mut N,
    inbox: &mut Inbox,
    (sources, far): (&Sources<'_>, &[FarArrival]),
    bound: Order,
    at: &mut Context<'_, O>,
) {
    let (mut mail, mut events) = (inbox.next(), 0);
    loop {
        let own = node.next();
        if own.min(mail) >= bound {
            break;
        }
        if own < mail {
            at.now = own.time();
            node.run_next(at);
        } else {
            at.now = mail.time();
            let (arrival, stack) = inbox.take(sources, far);
            node.arrive(&arrival.frame, stack, at);
            mail = inbox.next();
        }
        events += 1;
    }
    at.counters.events += events;
}
