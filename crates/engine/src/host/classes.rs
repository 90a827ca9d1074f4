//! The senders of traffic classes beyond the first one, and a NIC's choice among the classes.

use super::round::Round;
use super::{Host, PORT};
use crate::context::Context;
use crate::network::Network;
use crate::observer::Observer;

pub(super) struct HostClasses {
    rounds: Vec<Round>,
}

impl HostClasses {
    /// An empty round robin for each class beyond the first one. None if there is only one class.
    pub fn new(network: &Network<'_>) -> Option<HostClasses> {
        let beyond = network.classes.len();
        (beyond > 0).then(|| HostClasses { rounds: vec![Round::EMPTY; beyond] })
    }
}

impl Host {
    /// Adds the sender at `index`, of the queue pair at `slot`, to the round robin of its class.
    #[inline]
    pub(super) fn make_ready(&mut self, slot: u32, index: u32, network: &Network<'_>) {
        let round = match &mut self.classes {
            None => &mut self.round,
            Some(classes) => {
                let class = network.class_of(self.outgoing[slot as usize].qp);
                match usize::from(class).checked_sub(1) {
                    None => &mut self.round,
                    Some(beyond) => &mut classes.rounds[beyond],
                }
            }
        };
        round.make_ready(&mut self.senders, index);
    }

    /// Swaps the round robin of `class` with `round`. A second call swaps them back. The call has no effect for the
    /// first class.
    fn swap_rounds(&mut self, class: u8) {
        if let (Some(classes), Some(beyond)) = (&mut self.classes, usize::from(class).checked_sub(1)) {
            std::mem::swap(&mut self.round, &mut classes.rounds[beyond]);
        }
    }

    /// Sends the next packet of a NIC with several classes. The link of the NIC is free.
    #[cold]
    #[inline(never)]
    pub(super) fn serve_by_class<O: Observer>(&mut self, at: &mut Context<'_, O>) {
        if let Some((_, taken)) = self.egress.dequeue_by_class(PORT, at) {
            return self.egress.transmit_dequeued(PORT, taken, at);
        }
        let Some(mut queues) = self.egress.classes.take() else { return };
        let mut packet = None;
        let paused = queues.of_port(PORT).filter(|(_, queue)| queue.is_paused());
        let paused =
            paused.fold(u16::from(self.egress.port(PORT).paused), |mask, (class, _)| mask | 1 << class);
        let class = queues.scheduler(PORT).next(|class| {
            if paused >> class & 1 == 1 {
                return false;
            }
            self.swap_rounds(class);
            packet = self.next_data(at.now, None);
            self.swap_rounds(class);
            packet.is_some()
        });
        self.egress.classes = Some(queues);
        let (Some(class), Some(packet)) = (class, packet) else { return };
        let frame = self.data_frame(packet, at);
        self.egress.transmit(PORT, &frame, at);
        // A packet that jitter delays waits in its queue, and counts when it leaves the queue.
        let has_left = self.egress.bytes_of(PORT, class) == 0;
        if let Some(queues) = self.egress.classes.as_mut().filter(|_| has_left) {
            queues.scheduler(PORT).count(class, packet.wire_bytes);
        }
    }
}
