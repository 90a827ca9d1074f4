//! Pulls of a host whose receivers grant credit (`eqds`): one pacer for all of them.

use super::{DONE, Host, PULLS};
use crate::context::Context;
use crate::frame::{Order, kind};
use crate::network::Network;
use crate::observer::Observer;
use anabranch_base::{Duration, Time};
use anabranch_proto::transport::PullPacer;
use std::cmp::Reverse;

/// The pacer, and whether its timer runs.
pub struct Pulls {
    pacer: PullPacer,
    armed: bool,
}

impl Pulls {
    /// Of a host of `network`, if receivers pull there.
    pub fn new(network: &Network<'_>) -> Option<Pulls> {
        let pacer = network.scheme.transport.pull_pacer(&network.facts)?;
        Some(Pulls { pacer, armed: false })
    }
}

impl Host {
    /// The receiver at `index`, of the queue pair `slot` among those on which the host receives, may have demand.
    pub(super) fn ask_to_pull(&mut self, slot: usize, index: usize, now: Time) {
        let Some(pulls) = &mut self.pulls else { return };
        if self.receivers[index].requests_pull() {
            pulls.pacer.join(slot as u32);
            self.arm_pulls(now);
        }
    }

    /// The pacer's timer: the next receiver in turn pulls.
    #[inline(never)]
    pub(super) fn handle_pull_turn<O: Observer>(&mut self, at: &mut Context<'_, O>) {
        if let Some(pulls) = &mut self.pulls {
            pulls.armed = false;
        }
        while let Some(slot) = self.pulls.as_mut().and_then(|pulls| pulls.pacer.take_turn(at.now)) {
            let slot = slot as usize;
            let index = self.incoming[slot].index;
            if index >= DONE {
                continue;
            }
            let Some(pull) = self.receivers[index as usize].pull() else { continue };
            if let Some(pulls) = &mut self.pulls {
                pulls.pacer.pulled(at.now);
            }
            self.send_answer(slot, pull, at);
            self.ask_to_pull(slot, index as usize, at.now);
        }
        self.arm_pulls(at.now);
    }

    fn arm_pulls(&mut self, now: Time) {
        let Some(pulls) = &mut self.pulls else { return };
        if let (false, Some(due)) = (pulls.armed, pulls.pacer.next_timeout()) {
            pulls.armed = true;
            let due = due.max(now + Duration(1));
            self.timers.push(Reverse((due, PULLS)));
            self.next_call = self.next_call.min(Order::chosen(due, kind::TIMER));
        }
    }
}
