//! Packets that the protocol state machines exchange, as typed values instead of bytes.

use anabranch_base::{HostId, MessageId, QpId, Time};

/// A packet between the sender and the receiver of a queue pair. It has 48 bytes, so that it shares a cache line with
/// its event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The queue pair. Sender and receiver know it by the same number.
    pub qp: QpId,
    /// The destination host.
    pub dst: HostId,
    /// Size on the wire, headers included.
    pub wire_bytes: u16,
    /// Entropy value, which ECMP hashes in addition to the flow.
    pub ev: u16,
    /// Congestion experienced (CE): whether a switch marked the packet.
    pub marked: bool,
    /// Bits in which programs in switches exchange information. Hosts ignore them, and set them to 0 when they send a
    /// packet.
    pub tag: u16,
    /// The type of the packet, with its fields.
    pub repr: Repr,
}

/// The type of a packet, with its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repr {
    /// A data packet, which is a part of a message.
    Data {
        /// Packet sequence number on its queue pair.
        psn: u32,
        /// The message to which the packet belongs.
        message: MessageId,
        /// Number of packets of that message, so that the receiver needs no other information about it (like a RETH in
        /// every packet). With `dcp`, it is the number of packets of the request.
        message_packets: u32,
        /// The time at which this copy left the sender. The receiver echoes it, so that a retransmission does not lead
        /// to a wrong RTT.
        sent_at: Time,
        /// Whether the packet requests an immediate ACK, since the sender can send nothing more until this packet is
        /// acknowledged. With `dcp`, it is whether the packet's request is signalled, that is, has a CQE (AckReq of the
        /// BTH).
        ack_now: bool,
        /// Timestamps that programs in switches exchange. They are 0 when a host sends the packet.
        stamps: u32,
        /// With `dcp`, the packet's request of the send queue. With `eqds`, the number of the last pull for which the
        /// sender has data.
        msn: Msn,
    },
    /// A data packet whose payload a switch cut off.
    Trimmed {
        /// PSN of the data packet.
        psn: u32,
        /// `msn` of the data packet.
        msn: Msn,
        /// The time at which the data packet left the sender.
        sent_at: Time,
    },
    /// Selective acknowledgement.
    Ack {
        /// ePSN: the receiver has every PSN below this one. With `dcp`, it is the eMSN, for the requests of the send
        /// queue.
        cumulative: u32,
        /// The PSN of bit 0 of `received`.
        base: u32,
        /// The bitmap of the PSNs from `base` on: a bit is set if the receiver has the PSN.
        received: u64,
        /// Whether the packet that caused this ACK was marked.
        marked: bool,
        /// With `sack` and `carry_evs`, the packets whose entropy values the ACK carries, in addition to the packet
        /// that caused it.
        carried: CarriedEvs,
        /// `sent_at` of the packet that caused this ACK.
        sent_at: Time,
    },
    /// Negative acknowledgement. With `sack`, the packet with this PSN arrived trimmed and must be retransmitted. With
    /// `go-back-n`, everything from this PSN on must be retransmitted. With `rnic-sr`, all packets below this PSN
    /// arrived, and at least one beyond it.
    Nack {
        /// The PSN. With `go-back-n` and `rnic-sr` it is the ePSN.
        psn: u32,
        /// The time at which the packet that caused the NACK left the sender. With `sack`, the NACK does not refer to
        /// later copies of the packet.
        sent_at: Time,
    },
    /// A trimmed packet on its way back to the sender (DCP, section 4.1, step 2): the receiver has swapped its source
    /// and destination.
    HeaderOnly {
        /// PSN of the data packet.
        psn: u32,
        /// `msn` of the data packet.
        msn: Msn,
    },
    /// Congestion notification packet (DCQCN, section 3): the notification point received a marked packet.
    Cnp,
    /// Selective acknowledgement with the fields of STrack, figure 7.
    Sack {
        /// ePSN: the receiver has every PSN below.
        expected: u32,
        /// The PSN of bit 0 of `received`.
        base: u32,
        /// The bitmap of the PSNs from `base` on: a bit is set if the receiver has the PSN.
        received: u64,
        /// Bytes on the wire of all data packets received so far, without duplicates, modulo 2^32.
        bytes_received: u32,
        /// Number of packets received since the ePSN last advanced. Figure 7 has 12 bits for it.
        out_of_order: u16,
        /// Properties of the packet that caused the SACK.
        cause: SackCause,
        /// `sent_at` of the packet that caused the SACK.
        sent_at: Time,
    },
    /// Requests an immediate SACK (STrack, section 3.3.2). The probe queues with data, so that it has the same delay.
    Probe {
        /// The PSN at which the SACK's bitmap starts.
        base: u32,
        /// The time at which the probe left the sender.
        sent_at: Time,
    },
    /// Credit (EQDS). The sender may send one packet for each pull by which this number exceeds the highest number that
    /// it has received.
    Pull {
        /// Number of packets granted so far, retransmissions included.
        number: u32,
    },
    /// Request to send (EQDS): a sender without credit announces its demand.
    Rts {
        /// The number of the last pull for which the sender has data.
        target: u32,
    },
    /// A packet from one switch's program to another's. It is addressed to a host of the other switch, but that host
    /// never receives it.
    Program {
        /// The content, in the format of that program.
        word: u64,
    },
    /// A packet of a user-defined transport that carries no payload of the application. Payload is carried by
    /// [`Repr::Data`].
    Custom {
        /// The content, in the format of that transport.
        content: [u8; Repr::CUSTOM_BYTES],
        /// Whether the packet is for the queue pair's receiver. Otherwise it is for the sender.
        to_receiver: bool,
        /// Whether the packet is in the class of data. It then queues with data, is never trimmed, and is lossless
        /// under PFC. Otherwise it has the priority of an ACK.
        with_data: bool,
    },
}

/// The largest value of the out-of-order counter.
pub const MAX_OUT_OF_ORDER: u16 = (1 << 12) - 1;

/// The PSNs, among the 48 from a base on, whose entropy values an ACK carries. The values themselves do not fit into a
/// [`Packet`], so that the sender looks them up by PSN. The type has six bytes, so that a packet has 48.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CarriedEvs([u16; 3]);

impl CarriedEvs {
    /// The empty set.
    pub const NONE: CarriedEvs = CarriedEvs([0; 3]);

    /// The number of PSNs that can be named.
    pub const SPAN: u32 = 48;

    /// Creates the set of the PSNs whose bits are set. Bit 0 stands for the base. Bits from [`CarriedEvs::SPAN`] on
    /// must be 0.
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

/// The properties of the packet that caused a SACK. The type has one byte, so that a packet has 48.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackCause(u8);

impl SackCause {
    /// Creates the cause: a packet that was marked or not, and that was a probe or not.
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
}

/// The number of the message to which a DCP packet belongs, in the order of posting (MSN, 24 bits), and the number of
/// the sender's timeouts for that message so far (sRetryNo, 8 bits). The type has four bytes, so that a packet has 48.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Msn(u32);

impl Msn {
    /// The value for transports without MSNs.
    pub const NONE: Msn = Msn(0);

    /// The upper limit of numbers: the largest number plus one.
    pub const LIMIT: u32 = 1 << 24;

    /// Creates the MSN with this number, which must be below [`Msn::LIMIT`].
    pub const fn new(number: u32, retry: u8) -> Self {
        debug_assert!(number < Msn::LIMIT);
        Msn(number << 8 | retry as u32)
    }

    /// The message's number on its queue pair, from 0.
    #[inline]
    pub const fn number(self) -> u32 {
        self.0 >> 8
    }

    /// With `eqds`, stores in the same four bytes the number of the last pull for which the sender has data.
    #[inline]
    pub const fn of_pull_target(target: u32) -> Self {
        Msn(target)
    }

    /// The number of the pull that [`Msn::of_pull_target`] stored.
    #[inline]
    pub const fn pull_target(self) -> u32 {
        self.0
    }

    /// sRetryNo (DCP, section 4.5).
    #[inline]
    pub const fn retry(self) -> u8 {
        self.0 as u8
    }
}

/// Constructors of each packet type, and `with_` methods for its further fields. A constructor sets defaults for all
/// fields but its arguments, and a `with_` method applies only to the types that have the field. A new field therefore
/// needs a default and a method here, and no change in code that does not use it.
impl Repr {
    /// The number of bytes of a [`Repr::Custom`], which is the largest for which a packet has room.
    pub const CUSTOM_BYTES: usize = 24;

    /// A packet of a user-defined transport from the receiver to the sender of a queue pair, in the class of ACKs.
    #[inline]
    pub const fn custom(content: [u8; Repr::CUSTOM_BYTES]) -> Repr {
        Repr::Custom { content, to_receiver: false, with_data: false }
    }

    /// A data packet, the only one of message 0, sent at time 0.
    #[inline]
    pub const fn data(psn: u32) -> Repr {
        Repr::Data {
            psn,
            message: MessageId(0),
            message_packets: 1,
            sent_at: Time::ZERO,
            ack_now: false,
            stamps: 0,
            msn: Msn::NONE,
        }
    }

    /// A trimmed [`Repr::data`].
    #[inline]
    pub const fn trimmed(psn: u32) -> Repr {
        Repr::Trimmed { psn, msn: Msn::NONE, sent_at: Time::ZERO }
    }

    /// An acknowledgement of every PSN below `cumulative`, and of nothing beyond.
    #[inline]
    pub const fn ack(cumulative: u32) -> Repr {
        let (marked, sent_at) = (false, Time::ZERO);
        Repr::Ack { cumulative, base: cumulative, received: 0, marked, carried: CarriedEvs::NONE, sent_at }
    }

    /// A NACK for `psn`.
    #[inline]
    pub const fn nack(psn: u32) -> Repr {
        Repr::Nack { psn, sent_at: Time::ZERO }
    }

    /// A [`Repr::trimmed`] that the receiver returns.
    #[inline]
    pub const fn header_only(psn: u32) -> Repr {
        Repr::HeaderOnly { psn, msn: Msn::NONE }
    }

    /// STrack's acknowledgement of every PSN below `expected`, and of nothing beyond.
    #[inline]
    pub const fn sack(expected: u32) -> Repr {
        Repr::Sack {
            expected,
            base: expected,
            received: 0,
            bytes_received: 0,
            out_of_order: 0,
            cause: SackCause::new(false, false),
            sent_at: Time::ZERO,
        }
    }

    /// A probe for the segment from `base` on.
    #[inline]
    pub const fn probe(base: u32) -> Repr {
        Repr::Probe { base, sent_at: Time::ZERO }
    }

    /// Sets the message and its number of packets. Only data packets have them.
    #[inline]
    pub const fn with_message(mut self, id: MessageId, packets: u32) -> Repr {
        match &mut self {
            Repr::Data { message, message_packets, .. } => (*message, *message_packets) = (id, packets),
            _ => debug_assert!(false, "data alone has a message"),
        }
        self
    }

    /// Sets the time at which the data packet left. Data packets and all types that echo this time have it.
    #[inline]
    pub const fn with_sent_at(mut self, time: Time) -> Repr {
        match &mut self {
            Repr::Data { sent_at, .. }
            | Repr::Trimmed { sent_at, .. }
            | Repr::Ack { sent_at, .. }
            | Repr::Nack { sent_at, .. }
            | Repr::Sack { sent_at, .. }
            | Repr::Probe { sent_at, .. } => *sent_at = time,
            Repr::HeaderOnly { .. }
            | Repr::Cnp
            | Repr::Pull { .. }
            | Repr::Rts { .. }
            | Repr::Program { .. }
            | Repr::Custom { .. } => {
                debug_assert!(false, "this kind carries no time")
            }
        }
        self
    }

    /// Sets whether an immediate ACK is requested. Only data packets can request one.
    #[inline]
    pub const fn with_ack_now(mut self, at_once: bool) -> Repr {
        match &mut self {
            Repr::Data { ack_now, .. } => *ack_now = at_once,
            _ => debug_assert!(false, "data alone asks for an ACK"),
        }
        self
    }

    /// Sets the timestamps of programs in switches. Only data packets have them.
    #[inline]
    pub const fn with_stamps(mut self, bits: u32) -> Repr {
        match &mut self {
            Repr::Data { stamps, .. } => *stamps = bits,
            _ => debug_assert!(false, "data alone is stamped"),
        }
        self
    }

    /// Sets the MSN. Data, trimmed and header-only packets have one.
    #[inline]
    pub const fn with_msn(mut self, number: Msn) -> Repr {
        match &mut self {
            Repr::Data { msn, .. } | Repr::Trimmed { msn, .. } | Repr::HeaderOnly { msn, .. } => {
                *msn = number;
            }
            _ => debug_assert!(false, "this kind has no MSN"),
        }
        self
    }

    /// Sets the bitmap of received PSNs from `from` on. ACKs and SACKs have one.
    #[inline]
    pub const fn with_received(mut self, from: u32, bits: u64) -> Repr {
        match &mut self {
            Repr::Ack { base, received, .. } | Repr::Sack { base, received, .. } => {
                (*base, *received) = (from, bits);
            }
            _ => debug_assert!(false, "ACKs and SACKs alone have a bitmap"),
        }
        self
    }

    /// Sets whether the packet that caused the ACK was marked. Only for ACKs.
    #[inline]
    pub const fn with_mark(mut self, was_marked: bool) -> Repr {
        match &mut self {
            Repr::Ack { marked, .. } => *marked = was_marked,
            _ => debug_assert!(false, "an ACK alone echoes a mark here; a SACK has a cause"),
        }
        self
    }

    /// Sets the packets whose entropy values are carried. Only for ACKs.
    #[inline]
    pub const fn with_carried(mut self, packets: CarriedEvs) -> Repr {
        match &mut self {
            Repr::Ack { carried, .. } => *carried = packets,
            _ => debug_assert!(false, "an ACK alone brings entropy values"),
        }
        self
    }

    /// Sets the received bytes, the out-of-order count and the cause. Only for SACKs.
    #[inline]
    pub const fn with_counts(mut self, bytes: u32, late: u16, by: SackCause) -> Repr {
        match &mut self {
            Repr::Sack { bytes_received, out_of_order, cause, .. } => {
                (*bytes_received, *out_of_order, *cause) = (bytes, late, by);
            }
            _ => debug_assert!(false, "a SACK alone has counts"),
        }
        self
    }
}

/// Constructors: [`Packet::new`], shorter forms for common types, and `with_` methods for the other fields.
impl Packet {
    /// A packet whose size, entropy value and tag are 0, and which has no mark.
    #[inline]
    pub const fn new(qp: QpId, dst: HostId, repr: Repr) -> Packet {
        Packet { qp, dst, wire_bytes: 0, ev: 0, marked: false, tag: 0, repr }
    }

    /// [`Repr::data`] towards `dst`.
    #[inline]
    pub const fn data(qp: QpId, dst: HostId, psn: u32) -> Packet {
        Packet::new(qp, dst, Repr::data(psn))
    }

    /// [`Repr::ack`] towards `dst`.
    #[inline]
    pub const fn ack(qp: QpId, dst: HostId, cumulative: u32) -> Packet {
        Packet::new(qp, dst, Repr::ack(cumulative))
    }

    /// [`Repr::nack`] towards `dst`.
    #[inline]
    pub const fn nack(qp: QpId, dst: HostId, psn: u32) -> Packet {
        Packet::new(qp, dst, Repr::nack(psn))
    }

    /// A CNP towards `dst`.
    #[inline]
    pub const fn cnp(qp: QpId, dst: HostId) -> Packet {
        Packet::new(qp, dst, Repr::Cnp)
    }

    /// Sets the size on the wire.
    #[inline]
    pub const fn with_bytes(mut self, wire_bytes: u16) -> Packet {
        self.wire_bytes = wire_bytes;
        self
    }

    /// Sets the entropy value.
    #[inline]
    pub const fn with_ev(mut self, ev: u16) -> Packet {
        self.ev = ev;
        self
    }

    /// Sets whether the packet is marked.
    #[inline]
    pub const fn with_mark(mut self, marked: bool) -> Packet {
        self.marked = marked;
        self
    }

    /// Sets the tag.
    #[inline]
    pub const fn with_tag(mut self, tag: u16) -> Packet {
        self.tag = tag;
        self
    }

    /// The trimmed form of a data packet. There is none for other types.
    #[inline]
    pub const fn cut(&self, wire_bytes: u16) -> Option<Packet> {
        match self.repr {
            Repr::Data { psn, sent_at, msn, .. } => {
                let repr = Repr::Trimmed { psn, msn, sent_at };
                Some(Packet { wire_bytes, repr, ..*self })
            }
            _ => None,
        }
    }

    /// Whether the packet belongs to the control class (ACK, NACK, CNP, SACK, pull, RTS, trimmed and header-only
    /// packets, packets between programs), which has priority over data.
    #[inline]
    pub fn is_control(&self) -> bool {
        !matches!(self.repr, Repr::Data { .. } | Repr::Probe { .. } | Repr::Custom { with_data: true, .. })
    }

    /// Whether the packet is for the queue pair's receiver, not its sender.
    #[inline]
    pub fn is_for_receiver(&self) -> bool {
        matches!(
            self.repr,
            Repr::Data { .. }
                | Repr::Trimmed { .. }
                | Repr::Probe { .. }
                | Repr::Rts { .. }
                | Repr::Custom { to_receiver: true, .. }
        )
    }
}

const _: () = assert!(size_of::<Packet>() == 48);
