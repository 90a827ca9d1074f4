//! The recirculation port of Themis-longhaul (section V-B): packets that it sends come straight back into the switch.
//!
//! The port is one FIFO queue of a link of `rate` that leads back to the switch in `latency`. A pass takes the wait in
//! the queue, the packet's serialisation time, and the latency: 105 ns for 1048 B at 1.6 Tb/s and 100 ns when nothing
//! waits.
//!
//! The dummy packets with which the control plane fills the port stand in the same queue, each a packet of its own that
//! joins again whenever it comes back. In a ring with one server each packet is served once in a revolution, so a
//! packet that loops is behind all dummies each time, and a pass comes to the larger of
//!
//! - the latency plus the serialisation time of a packet, its own or a larger one right before it, and
//! - the serialisation time of all that is in the ring: the dummies, and the packets that loop.
//!
//! So dummies lengthen passes once they are more than the link holds (20 KB at 1.6 Tb/s and 100 ns); below, they are
//! only now and then in the way. The paper says "a few" and no more.
//!
//! As nothing overtakes in the port, a packet's return time is known when it joins. Dummies cause no events: when a
//! packet joins, those that have come back by then rejoin first. Dummies alone are periodic after one revolution, so
//! any number of whole revolutions is skipped in one step: a revolution takes the larger of the latency plus the
//! serialisation time of one dummy, and the serialisation time of all dummies.
//!
//! Unsaid: the size of the port's buffer, which figure 13 measures; here it is unlimited. The count of loops in a
//! packet's header takes none of the port's rate.

use crate::Packet;
use anabranch_base::{Bytes, Duration, Rate, Time};
use std::collections::VecDeque;

/// A packet that loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Looping {
    /// The packet.
    pub packet: Packet,
    /// Loops that are left: a header field that it carries meanwhile (section V-B).
    pub loops: u8,
}

/// The port, and the packets on their way through it.
pub struct Recirculation {
    rate: Rate,
    latency: Duration,
    /// With the time of each one's return, in that order.
    packets: VecDeque<(Time, Looping)>,
    /// Returns of the dummies, in that order.
    dummies: VecDeque<Time>,
    /// A dummy's serialisation time.
    dummy_time: Duration,
    /// What a revolution takes while there are only dummies.
    revolution: Duration,
    /// When the last packet's serialisation ends.
    free_at: Time,
    /// The size of the last packet that was no dummy, and its serialisation time.
    last_size: (u16, Duration),
    bytes: u64,
    max_bytes: u64,
}

impl Recirculation {
    /// At the start of the run, when the control plane puts in `dummies` packets of `dummy_bytes` at once.
    ///
    /// # Panics
    /// When the rate is 0, or there are dummies without a size: scenario checks refuse both.
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

    /// A packet joins the queue, for the first time or again. Times of joining never fall.
    pub fn join(&mut self, now: Time, looping: Looping) {
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

    /// When the next packet comes back.
    #[inline]
    pub fn next_return(&self) -> Option<Time> {
        self.packets.front().map(|(returns, _)| *returns)
    }

    /// The packet that comes back next, with the time. It is no longer in the port then.
    #[inline]
    pub fn come_back(&mut self) -> Option<(Time, Looping)> {
        let (returns, looping) = self.packets.pop_front()?;
        self.bytes -= u64::from(looping.packet.wire_bytes);
        Some((returns, looping))
    }

    /// Bytes of the packets in the queue and on the link, without the dummies.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The most that [`bytes`](Self::bytes) ever was.
    pub fn max_bytes(&self) -> u64 {
        self.max_bytes
    }

    /// What joins now is served for `time`; when it comes back.
    fn serve(&mut self, now: Time, time: Duration) -> Time {
        self.free_at = self.free_at.max(now) + time;
        self.free_at + self.latency
    }

    /// Lets join the dummies that have come back by now, since the last packet that joined.
    fn turn_dummies(&mut self, now: Time) {
        for _ in 0..self.dummies.len() {
            if !self.turn_dummy(now) {
                return;
            }
        }
        // Each has been round without a packet among them: from here on it goes by revolutions.
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
