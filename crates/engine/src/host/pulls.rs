//! The pulls of a host whose receivers grant credit (`eqds`, and `uet` with credit). One pacer serves all receivers of
//! the host.

use super::{DONE, Host, PULLS};
use crate::context::Context;
use crate::frame::{Order, event_kind};
use crate::network::Network;
use crate::observer::Observer;
use anabranch_base::{Duration, HostId, Purpose, Time, stream};
use anabranch_proto::Packet;
use anabranch_proto::transport::PullPacer;
use std::cmp::Reverse;

pub struct Pulls {
    pacer: PullPacer,
    /// Whether a timer event is pending.
    armed: bool,
}

impl Pulls {
    /// The pull pacer of a host. None if the receivers of `network` do not pull.
    pub fn new(network: &Network<'_>, host: HostId) -> Option<Pulls> {
        let mut pacer = network.scheme.transport.pull_pacer(&network.facts)?;
        pacer.draw_periods(stream(network.seed, u64::from(host.0), Purpose::PullPeriods));
        Some(Pulls { pacer, armed: false })
    }

    #[inline]
    pub fn observe(&mut self, now: Time, packet: &Packet) {
        self.pacer.observe(now, packet);
    }
}

impl Host {
    /// Adds a receiver to the pacer's queue if the receiver has demand. `index` is its index in `receivers`, and `slot`
    /// is the index of its queue pair in `incoming`.
    pub(super) fn request_pull(&mut self, slot: usize, index: usize, now: Time) {
        let Some(pulls) = &mut self.pulls else { return };
        if self.receivers[index].requests_pull() {
            pulls.pacer.join(slot as u32);
            self.arm_pulls(now);
        }
    }

    /// Handles the pacer's timer: receivers in the queue send pulls, as far as the pacer permits.
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
                pulls.pacer.pulled(at.now, pull.bytes);
            }
            self.send_answer((slot, self.incoming[slot].port), pull.packet, at);
            self.request_pull(slot, index as usize, at.now);
        }
        self.arm_pulls(at.now);
    }

    fn arm_pulls(&mut self, now: Time) {
        let Some(pulls) = &mut self.pulls else { return };
        if let (false, Some(due)) = (pulls.armed, pulls.pacer.next_timeout()) {
            pulls.armed = true;
            let due = due.max(now + Duration(1));
            self.timers.push(Reverse((due, PULLS)));
            self.next_call = self.next_call.min(Order::chosen(due, event_kind::TIMER));
        }
    }
}
