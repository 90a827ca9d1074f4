//! Messages that are posted while a run goes on, by something that hears when others end: another simulator.
//!
//! All hosts of such a run are one cluster, so that one may post at another with no time passing. When all that hosts do at
//! an instant is done, the [`Injector`] is told which messages ended there, and what it posts starts at that instant. So what
//! it hears, and when, does not depend on where windows are cut.
//!
//! The tables of a run are made before its first event. What is posted later is kept behind them, in lists that only grow
//! and that all threads may read meanwhile ([`Network::connect`](crate::network::Network::connect), [`Board::add`](crate::board::Board::add)); who looks
//! something up looks there when the table does not have it.

use crate::context::Context;
use crate::frame::{Order, event_kind};
use crate::host::Host;
use crate::injector::{InjectedMessage, Injector};
use crate::observer::Observer;
use anabranch_base::{HostId, QpId, Time, foreign};
use anabranch_workload::{Message, Qp, Start};
use std::collections::BTreeMap;

/// A injector, with what the cluster of all hosts knows of it.
pub struct Injection {
    injector: Box<dyn Injector>,
    due: Time,
    /// By sender and receiver.
    connections: BTreeMap<(HostId, HostId), QpId>,
    new: Vec<InjectedMessage>,
}

impl Injection {
    /// Before the first instant.
    pub fn of(injector: Box<dyn Injector>) -> Self {
        Injection { injector, due: Time::ZERO, connections: BTreeMap::new(), new: Vec::new() }
    }

    /// When the injector wants to be called; never: only when a message ends.
    pub fn due(&self) -> Time {
        self.due
    }

    /// Where that stands.
    pub fn next(&self) -> Order {
        if self.due == Time::NEVER { Order::NEVER } else { Order::chosen(self.due, event_kind::INJECTOR) }
    }

    /// Calls the injector, all that `hosts` (those of the fabric) do at the instant `at.now` being done; they post what it
    /// posts. `touched` gets each host that did.
    ///
    /// # Panics
    /// When the injector does, or names an instant that is over, or posts a message from or to a host that is not there, to its
    /// own sender, or without a byte: as a panic of the part "injector".
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
        for InjectedMessage { src, dst, bytes } in self.new.drain(..) {
            let connect = || {
                let slots = [hosts[src.index()].next_outgoing(), hosts[dst.index()].next_incoming()];
                let connection = at.network.connect(Qp { src, dst }, slots);
                for part in 0..split {
                    hosts[src.index()].add_outgoing(QpId(connection.0 * split + part));
                    hosts[dst.index()].add_incoming();
                }
                connection
            };
            let qp = *self.connections.entry((src, dst)).or_insert_with(connect);
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
