//! The choice of the packet in a full queue that is dropped or trimmed.

use super::Switch;
use super::plain_port::PortStream;
use crate::context::Context;
use crate::egress::{trim_or_drop, waits_with_control};
use crate::frame::Frame;
use crate::observer::Observer;
use crate::queue::FullQueue;
use anabranch_base::Purpose;

impl Switch {
    /// Handles a packet that may not wait at `port`. This packet, the youngest packet in the queue, or both are dropped
    /// or trimmed.
    #[cold]
    #[inline(never)]
    pub(super) fn reject<O: Observer>(&mut self, port: u16, frame: &Frame, at: &mut Context<'_, O>) {
        let limits = &at.network.queues;
        let is_data = !waits_with_control(&frame.packet, limits);
        let uses_coin = is_data && limits.full == FullQueue::Coin && self.pfc.is_none();
        if !uses_coin || !self.coin_evicts_youngest(port, at) || !self.replace_youngest(port, frame, at) {
            self.trim_or_drop(port, frame, at);
        }
    }

    /// Decides at random whether `port` drops or trims the youngest packet in the queue (true) or the arriving one
    /// (false).
    fn coin_evicts_youngest<O>(&mut self, port: u16, at: &Context<'_, O>) -> bool {
        let stream = &mut self.coins[usize::from(port)];
        PortStream { stream, purpose: Purpose::FullQueue }
            .of(self.egress.ports[usize::from(port)].link, at)
            .below(2)
            == 0
    }

    /// Drops or trims the youngest packet in the data queue of `port` and puts the arriving packet in its place.
    /// Returns false if the arriving packet still does not fit, or if the queue is empty.
    fn replace_youngest<O: Observer>(&mut self, port: u16, frame: &Frame, at: &mut Context<'_, O>) -> bool {
        let bytes = frame.packet.wire_bytes;
        let out = &mut self.egress.ports[usize::from(port)];
        let limit = at.network.link_kinds[usize::from(out.link_kind)].data_limit;
        let Some(youngest) = out.data.last(&self.egress.pool).copied() else { return false };
        out.data_bytes -= u32::from(youngest.packet.wire_bytes);
        let held = out.data_bytes;
        let fits = match &mut self.shared {
            Some(shared) => {
                shared.release(youngest.packet.wire_bytes);
                shared.admit(held, bytes)
            }
            None => u64::from(held) + u64::from(bytes) <= u64::from(limit),
        };
        let out = &mut self.egress.ports[usize::from(port)];
        if fits {
            out.data.replace_last(&mut self.egress.pool, frame);
            out.data_bytes += u32::from(bytes);
        } else {
            out.data.pop_last(&mut self.egress.pool);
        }
        self.egress.note_queued(port, at);
        self.trim_or_drop(port, &youngest, at);
        fits
    }

    fn trim_or_drop<O: Observer>(&mut self, port: u16, frame: &Frame, at: &mut Context<'_, O>) {
        let header = trim_or_drop(&self.egress.ports[usize::from(port)], &frame.packet, at);
        self.egress.release_telemetry(frame.telemetry);
        if let Some(header) = header {
            self.egress.enqueue(port, &Frame::new(header, frame.port), true, at);
        }
    }
}
