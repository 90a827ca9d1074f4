//! What hosts and switches have in common: a node owns its state, and handles its events one after the other.

use crate::context::Context;
use crate::frame::{Frame, Order};
use crate::mail::{FarArrival, Inbox, Sources};
use crate::observer::Observer;
use anabranch_base::NodeId;
use anabranch_proto::IntStack;

/// A host or a switch. Its handlers see it and the [`Context`]; no other node's state.
pub trait Node {
    /// Its number.
    fn node(&self) -> NodeId;
    /// Where its next own event stands: a port that frees up, a timer, a start of messages.
    fn next(&self) -> Order;
    /// Its next own event happens, now.
    fn run_next<O: Observer>(&mut self, at: &mut Context<'_, O>);
    /// A frame comes in, with its telemetry.
    fn arrive<O: Observer>(&mut self, frame: &Frame, stack: Option<&IntStack>, at: &mut Context<'_, O>);
}

/// Runs the events of `node` that stand before `bound`, its own and what came in, in their order.
#[inline]
pub fn run<N: Node, O: Observer>(
    node: &mut N,
    inbox: &mut Inbox,
    (sources, far): (&Sources<'_>, &[FarArrival]),
    bound: Order,
    at: &mut Context<'_, O>,
) {
    loop {
        let (own, mail) = (node.next(), inbox.next());
        if own < mail {
            if own >= bound {
                return;
            }
            at.now = own.time();
            node.run_next(at);
        } else {
            if mail >= bound {
                return;
            }
            at.now = mail.time();
            let (arrival, stack) = inbox.take(sources, far);
            node.arrive(&arrival.frame, stack, at);
        }
        at.counters.events += 1;
    }
}
