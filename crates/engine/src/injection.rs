//! The injection of messages: an [`Injector`], such as another simulator, posts them while a run goes on.
//!
//! All hosts of such a run form one cluster, so that a message may start at any host without delay. When all events of
//! hosts at an instant are done, the injector learns which of its messages were delivered or acknowledged at that
//! instant. The messages that it then posts start at the same instant. The calls of the injector therefore do not
//! depend on where synchronisation windows end.
//!
//! The tables of a run are built before its first event. Connections and messages that are added later are in
//! append-only lists, which all threads may read at any time ([`Network::connect`](crate::network::Network::connect),
//! [`Board::add`](crate::board::Board::add)). A lookup uses the list if the table has no entry.

use crate::context::Context;
use crate::frame::{Order, event_kind};
use crate::host::Host;
use crate::injector::{InjectedMessage, Injector, QueuePair};
use crate::observer::Observer;
use anabranch_base::{HostId, QpId, Time, foreign};
use anabranch_workload::{Message, Qp, Start};
use std::collections::BTreeMap;

/// The injector, with the state that the cluster of all hosts keeps for it.
pub struct Injection {
    injector: Box<dyn Injector>,
    may_pause: bool,
    due: Time,
    /// The shared connections. The key is the sender, the receiver and the number in [`QueuePair::Shared`].
    connections: BTreeMap<(HostId, HostId, u64), QpId>,
    new: Vec<InjectedMessage>,
}

impl Injection {
    /// The state before the first call, which is at time 0.
    pub fn new(injector: Box<dyn Injector>, may_pause: bool) -> Self {
        Injection { injector, may_pause, due: Time::ZERO, connections: BTreeMap::new(), new: Vec::new() }
    }

    /// Whether the injector can be called at the instant `at.now`.
    ///
    /// # Panics
    /// The injector panics, or it is not ready and the run cannot pause. The panic is attributed to the part
    /// "injector".
    pub fn is_ready<O>(&mut self, at: &Context<'_, O>) -> bool {
        foreign("injector", || {
            let is_ready = self.injector.is_ready(at.now, &at.effects.injected_ends);
            assert!(is_ready || self.may_pause, "it is not ready at {}, in a run that cannot pause", at.now);
            is_ready
        })
    }

    /// The time at which the injector must be called. [`Time::NEVER`] if it is called only when a message is delivered
    /// or acknowledged.
    pub fn due(&self) -> Time {
        self.due
    }

    pub fn next(&self) -> Order {
        if self.due == Time::NEVER { Order::NEVER } else { Order::chosen(self.due, event_kind::INJECTOR) }
    }

    /// Calls the injector at the instant `at.now`, when all other events of `hosts` at that instant are done. `hosts`
    /// are all hosts of the fabric. The injector's messages are posted, and `touched` is called with the sender of each
    /// message.
    ///
    /// # Panics
    /// The panic is attributed to the part "injector". It occurs if the injector panics or names an instant that is not
    /// after `at.now`. It also occurs if the injector posts a message of 0 bytes, to its own sender, or from or to a
    /// host that does not exist.
    pub fn call<O: Observer>(
        &mut self,
        hosts: &mut [Host],
        at: &mut Context<'_, O>,
        mut touched: impl FnMut(&Host),
    ) {
        let (now, ends) = (at.now, &at.effects.injected_ends);
        self.due = foreign("injector", || {
            let due = self.injector.inject(now, ends, &mut self.new).unwrap_or(Time::NEVER);
            assert!(due > now, "it wants to be called at {due}, which is over at {now}");
            let is_wrong = |post: &&InjectedMessage| {
                let host = post.src.max(post.dst);
                host.index() >= hosts.len() || post.src == post.dst || post.bytes == 0
            };
            let wrong = self.new.iter().find(is_wrong);
            assert!(wrong.is_none(), "it posts {wrong:?} among {} hosts", hosts.len());
            due
        });
        at.effects.injected_ends.clear();
        let split = at.network.scheme.qps;
        for InjectedMessage { src, dst, bytes, queue_pair } in self.new.drain(..) {
            let mut connect = || {
                let slots = [hosts[src.index()].next_outgoing(), hosts[dst.index()].next_incoming()];
                let connection = at.network.connect(Qp { src, dst }, slots);
                for part in 0..split {
                    let qp = QpId(connection.0 * split + part);
                    hosts[src.index()].add_outgoing(qp, queue_pair != QueuePair::Own);
                    hosts[dst.index()].add_incoming();
                }
                connection
            };
            let qp = match queue_pair {
                QueuePair::Shared(number) => {
                    *self.connections.entry((src, dst, number)).or_insert_with(&mut connect)
                }
                QueuePair::Own => connect(),
            };
            let start = Start::At(at.now);
            let message = Message { bytes, qp, activations_from: 0, activations_len: 0, start };
            let message = at.network.board.add(message);
            let host = &mut hosts[src.index()];
            host.expect_message(message, at.network);
            host.post(message, at);
            touched(host);
        }
    }
}
