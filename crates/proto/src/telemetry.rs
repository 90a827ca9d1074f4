//! In-network telemetry (INT): what switches tell a sender about its path.
//!
//! A packet has no room for it. Whoever drives the cores keeps the records beside the packets, adds a hop at each port,
//! and hands a packet's record over with the ACK that answers it
//! ([`Sender::handle_telemetry`](crate::transport::Sender::handle_telemetry)).

use anabranch_base::{LinkId, Rate, Time};

/// What an egress port says of itself when a packet leaves it (HPCC, section 4.1).
///
/// In the paper's header these are 64 bits per hop: a coarser clock and coarser counts, which wrap. Here they are
/// exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntHop {
    /// Bytes that wait behind the packet (qlen).
    pub queue_bytes: u32,
    /// Bytes that the port has sent, up to this packet, not counting it (txBytes).
    pub tx_bytes: u64,
    /// When the packet begins to leave (ts).
    pub at: Time,
    /// Rate of the port's link (B).
    pub rate: Rate,
}

/// What the ports on a packet's path recorded, in the order of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntStack {
    hops: [IntHop; IntStack::MAX_HOPS],
    len: u32,
    path: u32,
}

impl IntStack {
    /// Room for so many hops; ports beyond say nothing. Of any fabric here a path has fewer: the longest, between two
    /// data centres, has six.
    pub const MAX_HOPS: usize = 8;

    /// No hop yet.
    pub const EMPTY: IntStack = IntStack {
        hops: [IntHop { queue_bytes: 0, tx_bytes: 0, at: Time::ZERO, rate: Rate(0) }; IntStack::MAX_HOPS],
        len: 0,
        path: 0,
    };

    /// Adds what `port` says.
    pub fn push(&mut self, port: LinkId, hop: IntHop) {
        if let Some(free) = self.hops.get_mut(self.len as usize) {
            *free = hop;
            self.len += 1;
            // HPCC, section 4.1: pathID, 12 bits, is the XOR of the switches' numbers. Here it is a hash of the ports'
            // numbers, in 32 bits, so that two paths do not pass for one.
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
