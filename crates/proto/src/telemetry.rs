//! In-network telemetry (INT): reports of switches to a sender about its path.
//!
//! The records do not fit into [`Packet`](crate::Packet). The code that drives the state machines therefore stores
//! them separately, and adds a hop at each port of a switch. This code passes a packet's record to the sender together
//! with an ACK ([`Sender::handle_telemetry`](crate::transport::Sender::handle_telemetry)).

use anabranch_base::{LinkId, Rate, Time};

/// The report of an egress port when a packet leaves it (HPCC, section 4.1).
///
/// In the paper's header a report has 64 bits, so that its clock and its counts are coarser and wrap. Here the clock
/// and the counts are exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntHop {
    /// Bytes that wait in the port's queues when the packet leaves (qlen).
    pub queue_bytes: u32,
    /// Bytes that the port has sent before this packet (txBytes).
    pub tx_bytes: u64,
    /// The start of the packet's transmission (ts).
    pub at: Time,
    /// Rate of the port's link (B).
    pub rate: Rate,
}

/// The reports of the ports on a packet's path, in the order of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntStack {
    hops: [IntHop; IntStack::MAX_HOPS],
    len: u32,
    path: u32,
}

impl IntStack {
    /// The largest number of hops. Further ports on the path add no report. In the built-in fabrics with ToRs, the
    /// longest path leads from one data centre to another and has six hops. Paths through a large torus may have more
    /// than eight.
    pub const MAX_HOPS: usize = 8;

    /// A stack without hops.
    pub const EMPTY: IntStack = IntStack {
        hops: [IntHop { queue_bytes: 0, tx_bytes: 0, at: Time::ZERO, rate: Rate(0) }; IntStack::MAX_HOPS],
        len: 0,
        path: 0,
    };

    /// Adds the report of `port`.
    pub fn push(&mut self, port: LinkId, hop: IntHop) {
        if let Some(free) = self.hops.get_mut(self.len as usize) {
            *free = hop;
            self.len += 1;
            // In HPCC, section 4.1, pathID is the XOR of the switches' 12-bit numbers. Here it is a 32-bit hash of the
            // ports' numbers, so that two paths are less likely to be mistaken for one.
            self.path = (self.path ^ port.0.wrapping_add(1)).wrapping_mul(0x9e37_79b1).rotate_left(15);
        }
    }

    /// The hops so far.
    #[inline]
    pub fn hops(&self) -> &[IntHop] {
        &self.hops[..self.len as usize]
    }

    /// Whether two packets took the same path.
    #[inline]
    pub fn same_path(&self, other: &IntStack) -> bool {
        self.len == other.len && self.path == other.path
    }
}
