//! Packets that the protocol state machines exchange, as typed values instead of bytes.

mod fields;

use anabranch_base::{HostId, MessageId, QpId, Time};

pub use fields::{CarriedEvs, EndpointOp, Msn, SackCause};

/// A packet between the sender and the receiver of a queue pair. It has 48 bytes, so that it shares a cache line with
/// its event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The queue pair. It has the same number at both ends.
    pub qp: QpId,
    /// The destination host.
    pub dst: HostId,
    /// Size on the wire, headers included.
    pub wire_bytes: u16,
    /// Entropy value, which ECMP hashes together with queue pair and destination.
    pub ev: u16,
    /// Congestion experienced (CE): whether a switch marked the packet.
    pub marked: bool,
    /// Bits in which programs in switches exchange information. Hosts ignore them, and set them to 0 when they send a
    /// packet.
    pub tag: u16,
    /// The type of the packet, with its fields.
    pub repr: Repr,
}

/// The type of a packet, with its fields. Unless stated otherwise, statements about `uet` also apply to `mrc`, which
/// has the same sender and receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repr {
    /// A data packet, which is a part of a message.
    Data {
        /// Packet sequence number on its queue pair.
        psn: u32,
        /// The message to which the packet belongs.
        message: MessageId,
        /// Number of packets of the message. With `dcp`, it is the number of packets of the request.
        message_packets: u32,
        /// The time at which this copy left the sender. The receiver echoes it, so that a retransmission does not lead
        /// to a wrong RTT.
        sent_at: Time,
        /// Whether the packet requests an immediate ACK, for example because the sender can send nothing more until
        /// this packet is acknowledged. With `dcp`, it tells whether the packet's request is signalled (AckReq of the
        /// BTH). A signalled request has a completion queue entry (CQE).
        ack_now: bool,
        /// Timestamps that programs in switches exchange. They are 0 when a host sends the packet.
        stamps: u32,
        /// `dcp`: the number of the packet's request in the send queue, and a count of timeouts. `eqds` and `uet`: the
        /// pull up to which the sender has demand.
        msn: Msn,
        /// `uet`: whether the packet is a retransmission.
        retransmitted: bool,
    },
    /// A data packet whose payload a switch cut off.
    Trimmed {
        /// PSN of the data packet.
        psn: u32,
        /// `msn` of the data packet.
        msn: Msn,
        /// The time at which the data packet left the sender.
        sent_at: Time,
        /// Whether the switch is the last one before the receiver.
        last_hop: bool,
        /// `wire_bytes` of the data packet, which its remaining headers state. `uet` grants credit for these bytes.
        data_bytes: u16,
    },
    /// Cumulative and selective acknowledgement.
    Ack {
        /// ePSN: the receiver has every PSN below this one. With `dcp`, it is the eMSN: the receiver has every
        /// request of the send queue below this one.
        cumulative: u32,
        /// The PSN of bit 0 of `received`.
        base: u32,
        /// The bitmap of the PSNs from `base` on. A set bit means that the receiver has the PSN. Built-in transports
        /// other than `sack` and `eqds` set at most bit 0.
        received: u64,
        /// Whether the packet that caused this ACK was marked.
        marked: bool,
        /// With `sack` and `carry_evs`, the packets whose entropy values the ACK carries, in addition to the packet
        /// that caused it.
        carried: CarriedEvs,
        /// `sent_at` of the packet that caused this ACK.
        sent_at: Time,
    },
    /// Negative acknowledgement. With `sack`, `eqds` and `uet`, the packet with this PSN arrived trimmed and must be
    /// retransmitted. With `go-back-n`, everything from this PSN on must be retransmitted. With `rnic-sr`, all
    /// packets below this PSN arrived, and at least one packet beyond this PSN arrived. With `mp-rdma`, all packets
    /// below this PSN arrived, and the receiver dropped the packet that caused the NACK.
    Nack {
        /// The PSN. With `go-back-n`, `mp-rdma` and `rnic-sr` it is the ePSN.
        psn: u32,
        /// The time at which the packet that caused the NACK left the sender. With `sack`, `eqds`, `uet` and `mrc`, the
        /// NACK does not refer to later copies of the packet.
        sent_at: Time,
        /// `sack`, `eqds`, `uet` and `mrc`: whether the last switch before the receiver trimmed the packet.
        last_hop: bool,
        /// `uet` and `mrc`: whether the trimmed packet was marked.
        marked: bool,
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
        /// ePSN: the receiver has every PSN below this one.
        expected: u32,
        /// The PSN of bit 0 of `received`.
        base: u32,
        /// The bitmap of the PSNs from `base` on: a bit is set if the receiver has the PSN.
        received: u64,
        /// Bytes on the wire of all data packets received so far, without duplicates, modulo 2^32.
        bytes_received: u32,
        /// Number of distinct data packets received since the ePSN last advanced. Figure 7 has 12 bits for it.
        out_of_order: u16,
        /// Properties of the packet that caused the SACK.
        cause: SackCause,
        /// `sent_at` of the packet that caused the SACK.
        sent_at: Time,
    },
    /// Acknowledgement of Ultra Ethernet with the state of NSCC (ACK_CC; UET 1.0.3, sections 3.5 and 3.6.13).
    UetAck {
        /// CACK_PSN + 1: the receiver has every PSN below this one.
        cumulative: u32,
        /// The PSN of bit 0 of `received`, minus `cumulative`.
        base_offset: u16,
        /// The PSN of the packet that caused the ACK, minus `cumulative`. In the ACK of a probe, the PSN of bit 0 of
        /// `received` takes the place of the packet's PSN.
        psn_offset: i16,
        /// The bitmap of the PSNs from the base on: a set bit means that the receiver has the PSN. A cleared bit
        /// carries no information.
        received: u64,
        /// Bytes on the wire of all data packets received so far, without duplicates, rounded down to whole units
        /// (`received_unit`), modulo 2^32.
        bytes_received: u32,
        /// Number of distinct data packets received since the cumulative PSN last advanced.
        out_of_order: u16,
        /// Properties of the packet that caused the ACK.
        cause: SackCause,
        /// `sent_at` of the packet that caused the ACK.
        sent_at: Time,
    },
    /// Requests an immediate SACK (STrack, section 3.3.2). The probe queues with data, so that it experiences the same
    /// delay as data. A probe of `uet` (but not of `mrc`) instead has the priority of an ACK.
    Probe {
        /// The PSN at which the requested bitmap starts.
        base: u32,
        /// The time at which the probe left the sender.
        sent_at: Time,
        /// Whether the probe has the priority of an ACK.
        is_control: bool,
    },
    /// Credit of the receiver (EQDS, and RCCC of `uet`). A pull grants the amount by which its number exceeds the
    /// highest number that the sender has received before.
    Pull {
        /// The credit granted so far in total, retransmissions included. The unit is a packet with `eqds`, and 256 B
        /// with `uet`.
        number: u32,
    },
    /// Request to send (EQDS, and RCCC of `uet`): a sender without credit announces its demand.
    Rts {
        /// The number of the last pull for which the sender has data.
        target: u32,
    },
    /// A request about paths or ports from one end of a queue pair to the other end, or the response to such a request
    /// (MRC, OCP 1.0). Requests queue with data, so that they experience the same delays and losses as data.
    Endpoint {
        /// The subject of the request.
        op: EndpointOp,
        /// The entropy value that is probed, or a mask of the ports that are up.
        value: u16,
        /// Whether the packet is a response. A response has the priority of an ACK.
        is_response: bool,
        /// For a response: whether the request was marked.
        marked: bool,
        /// Whether the packet is for the queue pair's receiver. Otherwise it is for the sender.
        to_receiver: bool,
    },
    /// A packet from the program of one switch to the program of another switch. The packet is addressed to a host of
    /// the second switch. Hosts ignore such packets.
    Program {
        /// The content, in the format of the program.
        word: u64,
    },
    /// A packet of a user-defined transport, without payload of the application. Payload is carried by [`Repr::Data`].
    Custom {
        /// The content, in the format of the transport.
        content: [u8; Repr::CUSTOM_BYTES],
        /// Whether the packet is for the queue pair's receiver. Otherwise it is for the sender.
        to_receiver: bool,
        /// Whether the packet is in the class of data. Such a packet queues with data, is never trimmed, and is
        /// lossless under PFC. Other packets have the priority of an ACK.
        with_data: bool,
    },
}

/// The largest value of the out-of-order counter of a [`Repr::Sack`].
pub const MAX_OUT_OF_ORDER: u16 = (1 << 12) - 1;

/// Constructors of most packet types, and `with_` methods for their further fields. A constructor sets some fields to
/// its arguments and the other fields to defaults. A `with_` method applies only to the types that have the field. A
/// new field therefore needs a default and a method here, but no change in code that does not use it.
impl Repr {
    /// The number of bytes of a [`Repr::Custom`]. A packet has no room for more.
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
            retransmitted: false,
        }
    }

    /// A trimmed [`Repr::data`] of an unknown size.
    #[inline]
    pub const fn trimmed(psn: u32) -> Repr {
        Repr::Trimmed { psn, msn: Msn::NONE, sent_at: Time::ZERO, last_hop: false, data_bytes: 0 }
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
        Repr::Nack { psn, sent_at: Time::ZERO, last_hop: false, marked: false }
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

    /// A probe that requests the bitmap of the PSNs from `base` on, in the class of data.
    #[inline]
    pub const fn probe(base: u32) -> Repr {
        Repr::Probe { base, sent_at: Time::ZERO, is_control: false }
    }

    /// Ultra Ethernet's acknowledgement of every PSN below `cumulative`, and of nothing beyond. The packet that caused
    /// it has the PSN right below `cumulative`.
    #[inline]
    pub const fn uet_ack(cumulative: u32) -> Repr {
        Repr::UetAck {
            cumulative,
            base_offset: 0,
            psn_offset: -1,
            received: 0,
            bytes_received: 0,
            out_of_order: 0,
            cause: SackCause::new(false, false),
            sent_at: Time::ZERO,
        }
    }

    /// A request to the other end of a queue pair. `to_receiver` tells whether that end is the receiver.
    #[inline]
    pub const fn endpoint_request(op: EndpointOp, value: u16, to_receiver: bool) -> Repr {
        Repr::Endpoint { op, value, is_response: false, marked: false, to_receiver }
    }

    /// The response to a request. `marked` tells whether the request was marked.
    #[inline]
    pub const fn endpoint_response(op: EndpointOp, value: u16, marked: bool, to_receiver: bool) -> Repr {
        Repr::Endpoint { op, value, is_response: true, marked, to_receiver }
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

    /// Sets the time at which the data packet or the probe left its sender. This is for data packets, trimmed packets,
    /// probes, ACKs, NACKs and SACKs.
    #[inline]
    pub const fn with_sent_at(mut self, time: Time) -> Repr {
        match &mut self {
            Repr::Data { sent_at, .. }
            | Repr::Trimmed { sent_at, .. }
            | Repr::Ack { sent_at, .. }
            | Repr::Nack { sent_at, .. }
            | Repr::Sack { sent_at, .. }
            | Repr::UetAck { sent_at, .. }
            | Repr::Probe { sent_at, .. } => *sent_at = time,
            Repr::HeaderOnly { .. }
            | Repr::Cnp
            | Repr::Pull { .. }
            | Repr::Rts { .. }
            | Repr::Endpoint { .. }
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

    /// Sets whether the packet is a retransmission. Only data packets have this field.
    #[inline]
    pub const fn with_retransmitted(mut self, was_sent: bool) -> Repr {
        match &mut self {
            Repr::Data { retransmitted, .. } => *retransmitted = was_sent,
            _ => debug_assert!(false, "data alone is retransmitted"),
        }
        self
    }

    /// Puts a probe into the class of ACKs.
    #[inline]
    pub const fn in_control_class(mut self) -> Repr {
        match &mut self {
            Repr::Probe { is_control, .. } => *is_control = true,
            _ => debug_assert!(false, "probes alone are in either class"),
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

    /// Sets the bitmap of received PSNs from `from` on. Only ACKs and SACKs have one. In an ACK of `uet`, it begins at
    /// the cumulative PSN or above it.
    #[inline]
    pub const fn with_received(mut self, from: u32, bits: u64) -> Repr {
        match &mut self {
            Repr::Ack { base, received, .. } | Repr::Sack { base, received, .. } => {
                (*base, *received) = (from, bits);
            }
            Repr::UetAck { cumulative, base_offset, received, .. } => {
                debug_assert!(from >= *cumulative && from - *cumulative <= u16::MAX as u32);
                (*base_offset, *received) = ((from - *cumulative) as u16, bits);
            }
            _ => debug_assert!(false, "ACKs and SACKs alone have a bitmap"),
        }
        self
    }

    /// Sets whether the packet that caused this ACK or NACK was marked. In a SACK, the mark is a part of its
    /// [`SackCause`]. A response of [`Repr::Endpoint`] has the mark from its constructor.
    #[inline]
    pub const fn with_mark(mut self, was_marked: bool) -> Repr {
        match &mut self {
            Repr::Ack { marked, .. } => *marked = was_marked,
            Repr::Nack { marked, .. } => *marked = was_marked,
            _ => debug_assert!(false, "ACKs and NACKs alone echo a mark here; a SACK has a cause"),
        }
        self
    }

    /// Sets whether the last switch before the receiver trimmed the packet. Only trimmed packets and NACKs have this
    /// field.
    #[inline]
    pub const fn with_last_hop(mut self, is_last: bool) -> Repr {
        match &mut self {
            Repr::Trimmed { last_hop, .. } | Repr::Nack { last_hop, .. } => *last_hop = is_last,
            _ => debug_assert!(false, "trimmed packets and NACKs alone name a hop"),
        }
        self
    }

    /// Sets the size that the data packet had on the wire. Only trimmed packets have this field.
    #[inline]
    pub const fn with_data_bytes(mut self, bytes: u16) -> Repr {
        match &mut self {
            Repr::Trimmed { data_bytes, .. } => *data_bytes = bytes,
            _ => debug_assert!(false, "a trimmed packet alone names a size"),
        }
        self
    }

    /// Sets the packets whose entropy values the ACK carries. Only [`Repr::Ack`] has this field.
    #[inline]
    pub const fn with_carried(mut self, packets: CarriedEvs) -> Repr {
        match &mut self {
            Repr::Ack { carried, .. } => *carried = packets,
            _ => debug_assert!(false, "an ACK alone brings entropy values"),
        }
        self
    }

    /// Sets the PSN of the packet that caused the ACK. Only ACKs of `uet` have this field. A distance from the
    /// cumulative PSN that does not fit into the field is replaced by the nearest distance that fits.
    #[inline]
    pub const fn with_psn(mut self, psn: u32) -> Repr {
        match &mut self {
            Repr::UetAck { cumulative, psn_offset, .. } => {
                let offset = psn.wrapping_sub(*cumulative) as i32;
                let (least, most) = (i16::MIN as i32, i16::MAX as i32);
                *psn_offset = if offset < least {
                    i16::MIN
                } else if offset > most {
                    i16::MAX
                } else {
                    offset as i16
                };
            }
            _ => debug_assert!(false, "an ACK of uet alone names its cause"),
        }
        self
    }

    /// Sets the received bytes, the out-of-order count and the properties of the packet that caused the ACK. Only SACKs
    /// and ACKs of `uet` have these fields.
    #[inline]
    pub const fn with_counts(mut self, bytes: u32, late: u16, by: SackCause) -> Repr {
        match &mut self {
            Repr::Sack { bytes_received, out_of_order, cause, .. }
            | Repr::UetAck { bytes_received, out_of_order, cause, .. } => {
                (*bytes_received, *out_of_order, *cause) = (bytes, late, by);
            }
            _ => debug_assert!(false, "SACKs alone have counts"),
        }
        self
    }
}

/// Constructors: [`Packet::new`], shorter forms for common types, and `with_` methods for the other fields.
impl Packet {
    /// A packet without a mark, whose size, entropy value and tag are 0.
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

    /// Sets the bits for programs in switches.
    #[inline]
    pub const fn with_tag(mut self, tag: u16) -> Packet {
        self.tag = tag;
        self
    }

    /// The trimmed form of a data packet. None for other packet types. `last_hop` tells whether the next node is the
    /// receiver.
    #[inline]
    pub const fn cut(&self, wire_bytes: u16, last_hop: bool) -> Option<Packet> {
        match self.repr {
            Repr::Data { psn, sent_at, msn, .. } => {
                let repr = Repr::Trimmed { psn, msn, sent_at, last_hop, data_bytes: self.wire_bytes };
                Some(Packet { wire_bytes, repr, ..*self })
            }
            _ => None,
        }
    }

    /// Whether the packet belongs to the control class, which by default has priority over data in switches. All
    /// packets belong to it except data, probes that queue with data, requests of [`Repr::Endpoint`], and user-defined
    /// packets in the class of data.
    #[inline]
    pub fn is_control(&self) -> bool {
        !matches!(
            self.repr,
            Repr::Data { .. }
                | Repr::Probe { is_control: false, .. }
                | Repr::Endpoint { is_response: false, .. }
                | Repr::Custom { with_data: true, .. }
        )
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
                | Repr::Endpoint { to_receiver: true, .. }
                | Repr::Custom { to_receiver: true, .. }
        )
    }
}

const _: () = assert!(size_of::<Packet>() == 48);
