//! The recirculation port of Themis-longhaul (section V-B), whose packets return to the switch.
//!
//! The port is a FIFO queue for a link of `rate` that leads back to the switch in `latency`. A pass takes the queueing
//! delay, the packet's serialisation time and the latency. Without queueing, it takes 105 ns for 1048 B with a rate of
//! 1.6 Tb/s and a latency of 100 ns.
//!
//! The control plane fills the port with dummy packets. Dummies wait in the queue too, and each dummy joins the queue
//! again whenever it returns. If all dummies together are larger than the capacity of the link (20 KB at 1.6 Tb/s and
//! 100 ns), they lengthen every pass. Fewer dummies delay packets only occasionally. The paper gives no number of
//! dummies beyond "a few".
//!
//! Packets do not overtake each other in the port, so that a packet's return time is known when it joins. Dummies
//! cause no events. When a packet joins, the dummies that have returned by then rejoin first. A revolution is one pass
//! of all dummies. Without looping packets the dummies are periodic after one revolution, so that any number of
//! complete revolutions is skipped in one step. A revolution takes the larger of two times: the latency plus the
//! serialisation time of one dummy, and the serialisation time of all dummies.
//!
//! Figure 13 measures how many bytes the port's buffer holds. The paper does not specify the size of this buffer. Here
//! it is unlimited. The loop count in a packet's header does not lengthen the packet.

use crate::Packet;
use anabranch_base::{Bytes, Duration, Rate, Time};
use std::collections::VecDeque;

/// A packet in the recirculation port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopingPacket {
    /// The packet that loops.
    pub packet: Packet,
    /// Number of loops that are left, which the packet carries in a header field (section V-B).
    pub loops: u8,
}

/// The recirculation port with its packets.
pub struct Recirculation {
    rate: Rate,
    latency: Duration,
    /// The looping packets with their return times, in the order of these times.
    packets: VecDeque<(Time, LoopingPacket)>,
    /// The return times of the dummies, earliest first.
    dummies: VecDeque<Time>,
    dummy_time: Duration,
    /// The time of one revolution of the dummies, if no looping packet is among them.
    revolution: Duration,
    /// The time at which the serialisation of the last packet or dummy ends.
    free_at: Time,
    /// The size and serialisation time of the last packet that was not a dummy.
    last_size: (u16, Duration),
    bytes: u64,
    max_bytes: u64,
}

impl Recirculation {
    /// The port at the start of the run, when the control plane inserts `dummies` packets of `dummy_bytes` bytes at
    /// the same time.
    ///
    /// # Panics
    /// The rate is 0, or there are dummies of 0 bytes. The checks of scenarios refuse both.
    pub fn new(rate: Rate, latency: Duration, dummies: u32, dummy_bytes: Bytes) -> Self {
        assert!(dummies == 0 || dummy_bytes.0 > 0, "dummies of 0 bytes");
        let dummy_time = rate.time_for(dummy_bytes.0);
        let served = |count: u32| dummy_time * u64::from(count);
        Recirculation {
            rate,
            latency,
            packets: VecDeque::new(),
            dummies: (1..=dummies).map(|count| Time::ZERO + served(count) + latency).collect(),
            dummy_time,
            revolution: served(dummies).max(latency + dummy_time),
            free_at: Time::ZERO + served(dummies),
            last_size: (0, Duration::ZERO),
            bytes: 0,
            max_bytes: 0,
        }
    }

    /// Adds a packet to the queue, for the first time or again. The times of calls must not decrease.
    pub fn join(&mut self, now: Time, looping: LoopingPacket) {
        self.turn_dummies(now);
        let size = looping.packet.wire_bytes;
        if self.last_size.0 != size {
            self.last_size = (size, self.rate.time_for(u64::from(size)));
        }
        let returns = self.serve(now, self.last_size.1);
        self.packets.push_back((returns, looping));
        self.bytes += u64::from(size);
        self.max_bytes = self.max_bytes.max(self.bytes);
    }

    /// The return time of the next packet.
    #[inline]
    pub fn next_return(&self) -> Option<Time> {
        self.packets.front().map(|(returns, _)| *returns)
    }

    /// Removes the packet that returns next, with its return time.
    #[inline]
    pub fn pop_returned(&mut self) -> Option<(Time, LoopingPacket)> {
        let (returns, looping) = self.packets.pop_front()?;
        self.bytes -= u64::from(looping.packet.wire_bytes);
        Some((returns, looping))
    }

    /// Bytes of the packets in the queue and on the link, without the dummies.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The maximum of [`bytes`](Self::bytes) so far.
    pub fn max_bytes(&self) -> u64 {
        self.max_bytes
    }

    /// Returns the return time of a packet that joins at `now` and has a serialisation time of `time`.
    fn serve(&mut self, now: Time, time: Duration) -> Time {
        self.free_at = self.free_at.max(now) + time;
        self.free_at + self.latency
    }

    /// Queues again the dummies that have returned by `now`.
    fn turn_dummies(&mut self, now: Time) {
        for _ in 0..self.dummies.len() {
            if !self.turn_dummy(now) {
                return;
            }
        }
        // All dummies have made a revolution without a looping packet among them, so all later revolutions are equal.
        let Some(first) = self.dummies.front() else { return };
        let skipped = self.revolution * (now.since(*first).0 / self.revolution.0);
        self.dummies.iter_mut().for_each(|returns| *returns += skipped);
        self.free_at += skipped;
        while self.turn_dummy(now) {}
    }

    fn turn_dummy(&mut self, now: Time) -> bool {
        let Some(returns) = self.dummies.front().copied().filter(|returns| *returns <= now) else {
            return false;
        };
        self.dummies.pop_front();
        let returns = self.serve(returns, self.dummy_time);
        self.dummies.push_back(returns);
        true
    }
}
