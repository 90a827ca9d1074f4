//! Types of packet fields. Most of them pack several values into a few bytes.

/// The PSNs whose entropy values an ACK carries. They are among the 48 PSNs from the ACK's base on. The values
/// themselves do not fit into the 48 bytes of a [`Packet`](super::Packet), so the sender looks them up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CarriedEvs([u16; 3]);

impl CarriedEvs {
    /// No entropy values.
    pub const NONE: CarriedEvs = CarriedEvs([0; 3]);

    /// Number of PSNs that fit.
    pub const SPAN: u32 = 48;

    /// The PSNs whose bits are set. Bit 0 is the base; bits from [`CarriedEvs::SPAN`] on must be 0.
    #[inline]
    pub const fn new(bits: u64) -> Self {
        debug_assert!(bits >> CarriedEvs::SPAN == 0);
        CarriedEvs([bits as u16, (bits >> 16) as u16, (bits >> 32) as u16])
    }

    /// The PSNs as bits.
    #[inline]
    pub const fn bits(self) -> u64 {
        self.0[0] as u64 | (self.0[1] as u64) << 16 | (self.0[2] as u64) << 32
    }
}

/// The properties of the packet that caused a SACK or a [`Repr::UetAck`](super::Repr::UetAck). This type takes one
/// byte, so that a [`Packet`](super::Packet) takes 48 bytes in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackCause(u8);

impl SackCause {
    /// The properties of a packet that is not a retransmission.
    pub const fn new(marked: bool, probe: bool) -> Self {
        SackCause(marked as u8 | (probe as u8) << 1)
    }

    /// Whether the packet had a congestion mark.
    #[inline]
    pub const fn marked(self) -> bool {
        self.0 & 1 != 0
    }

    /// Whether the packet was a probe.
    #[inline]
    pub const fn probe(self) -> bool {
        self.0 & 2 != 0
    }

    /// Records that the packet was a retransmission if `retransmitted` is true. Only `uet` and `mrc` echo this.
    #[inline]
    #[must_use]
    pub const fn with_retransmitted(self, retransmitted: bool) -> Self {
        SackCause(self.0 | (retransmitted as u8) << 2)
    }

    /// Whether the packet was a retransmission.
    #[inline]
    pub const fn retransmitted(self) -> bool {
        self.0 & 4 != 0
    }
}

/// The MSN of a packet of DCP, and a count of timeouts. The MSN is the number of the packet's request in the order of
/// posting (24 bits). The count is the number of timeouts after which the sender has begun to send that request again
/// (sRetryNo, modulo 256). This type takes four bytes, so that a packet has 48 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Msn(u32);

impl Msn {
    /// The value for transports without MSNs.
    pub const NONE: Msn = Msn(0);

    /// The largest MSN plus one.
    pub const LIMIT: u32 = 1 << 24;

    /// The MSN with this number, which is below [`Msn::LIMIT`].
    pub const fn new(number: u32, retry: u8) -> Self {
        debug_assert!(number < Msn::LIMIT);
        Msn(number << 8 | retry as u32)
    }

    /// The request's number on its queue pair, from 0.
    #[inline]
    pub const fn number(self) -> u32 {
        self.0 >> 8
    }

    /// Stores the pull up to which a sender of `eqds` or `uet` has demand, in the same four bytes.
    #[inline]
    pub const fn of_pull_target(target: u32) -> Self {
        Msn(target)
    }

    /// The pull that [`Msn::of_pull_target`] stored.
    #[inline]
    pub const fn pull_target(self) -> u32 {
        self.0
    }

    /// The count of timeouts (sRetryNo; DCP, section 4.5).
    #[inline]
    pub const fn retry(self) -> u8 {
        self.0 as u8
    }
}

/// The subject of a [`Repr::Endpoint`](super::Repr::Endpoint).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointOp {
    /// Whether the path of an entropy value delivers packets.
    PathProbe,
    /// The ports of a NIC that are up (port status update).
    PortStatus,
}
