//! Packets as the cores exchange them: meanings, not bytes.

use anabranch_base::{HostId, MessageId, QpId, Time};

/// A packet between two ends of a queue pair. 48 bytes, so that it and its event share a cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The queue pair, known by both ends.
    pub qp: QpId,
    /// Where the fabric carries it.
    pub dst: HostId,
    /// Size on the wire, headers included.
    pub wire_bytes: u16,
    /// Entropy value: what ECMP hashes beside the flow.
    pub ev: u16,
    /// Congestion experienced: a switch marked it.
    pub marked: bool,
    /// What programs in switches write for each other into bits that no host looks at; 0 from a host.
    pub tag: u16,
    /// What it says.
    pub repr: Repr,
}

/// What a packet says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repr {
    /// Part of a message.
    Data {
        /// Packet sequence number on its queue pair.
        psn: u32,
        /// The message it belongs to.
        message: MessageId,
        /// Packets of that message, so that the receiver needs no other information about it (as RETH in every packet).
        /// `dcp`: of the request.
        message_packets: u32,
        /// When this copy left the sender; echoed, so that a retransmission gives no wrong RTT.
        sent_at: Time,
        /// Requests an immediate ACK: the sender can send nothing more until this packet is acknowledged. `dcp`: the
        /// request that it belongs to is signalled, that is, wants a CQE (AckReq of the BTH).
        ack_now: bool,
        /// Times that programs in switches write for each other; 0 from a host.
        stamps: u32,
        /// `dcp`: the request of the send queue that it belongs to. `eqds`: the pull up to which the sender has demand.
        msn: Msn,
    },
    /// A data packet whose payload a switch cut off.
    Trimmed {
        /// PSN of the data packet.
        psn: u32,
        /// `msn` of the data packet.
        msn: Msn,
        /// When it left the sender.
        sent_at: Time,
    },
    /// Selective acknowledgement.
    Ack {
        /// ePSN: the receiver has every PSN below. `dcp`: eMSN, for the requests of the send queue.
        cumulative: u32,
        /// The PSN of bit 0 of `received`.
        base: u32,
        /// Which of the 64 PSNs from `base` the receiver has.
        received: u64,
        /// The packet that caused this ACK was marked.
        marked: bool,
        /// `sack` with `carry_evs`: of which packets it brings the entropy values, beside that of its cause.
        carried: Carried,
        /// `sent_at` of the packet that caused this ACK.
        sent_at: Time,
    },
    /// `sack`: this packet arrived trimmed, retransmit it. `go_back_n`: retransmit everything from this PSN on. `rnic_sr`: a
    /// packet from beyond this PSN arrived; all below it did too.
    Nack {
        /// The PSN; for `go_back_n` and `rnic_sr` the ePSN.
        psn: u32,
        /// When the packet that caused this left the sender: for `sack`, a later copy is not meant.
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
    /// Congestion notification packet (DCQCN, section 3): the notification point saw a mark.
    Cnp,
    /// Selective acknowledgement with the fields of STrack, figure 7.
    Sack {
        /// ePSN: the receiver has every PSN below.
        expected: u32,
        /// The PSN of bit 0 of `received`.
        base: u32,
        /// Which of the 64 PSNs from `base` the receiver has.
        received: u64,
        /// Bytes on the wire of all data packets received so far, without duplicates, modulo 2^32.
        bytes_received: u32,
        /// Packets received since the ePSN stands still; figure 7 has 12 bits for them.
        out_of_order: u16,
        /// What caused it.
        cause: SackCause,
        /// `sent_at` of the packet that caused it.
        sent_at: Time,
    },
    /// Asks for a SACK at once (STrack, section 3.3.2). It queues with data, whose delay it is to see.
    Probe {
        /// The PSN from which the SACK's bitmap is to start.
        base: u32,
        /// When it left the sender.
        sent_at: Time,
    },
    /// Credit (EQDS): the sender may send as many packets as this is above the highest number that it heard.
    Pull {
        /// Packets granted so far, repetitions counted.
        number: u32,
    },
    /// Request to send (EQDS): a sender without credit says what it has demand for.
    Rts {
        /// The pull up to which there is demand.
        target: u32,
    },
    /// From one switch's program to another's, by way of the host behind it, which never sees it.
    Program {
        /// What it says, in the bits of that program.
        word: u64,
    },
}

/// The most that the out-of-order counter can say.
pub const MAX_OUT_OF_ORDER: u16 = (1 << 12) - 1;

/// Of which of the 48 PSNs from its base an ACK brings the entropy values. It stands for the values, for which a packet
/// here has no room: the sender looks them up. Six bytes, so that a packet stays at 48.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried([u16; 3]);

impl Carried {
    /// Of none.
    pub const NONE: Carried = Carried([0; 3]);

    /// PSNs that can be named.
    pub const SPAN: u32 = 48;

    /// Of those whose bits are set; bit 0 is the base, and bits beyond [`Carried::SPAN`] have no room.
    #[inline]
    pub const fn new(bits: u64) -> Self {
        debug_assert!(bits >> Carried::SPAN == 0);
        Carried([bits as u16, (bits >> 16) as u16, (bits >> 32) as u16])
    }

    /// A bit for each.
    #[inline]
    pub const fn bits(self) -> u64 {
        self.0[0] as u64 | (self.0[1] as u64) << 16 | (self.0[2] as u64) << 32
    }
}

/// What a SACK says of the packet that caused it. A byte, so that a packet stays at 48.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackCause(u8);

impl SackCause {
    /// The packet was `marked`; it was a `probe`.
    pub const fn new(marked: bool, probe: bool) -> Self {
        SackCause(marked as u8 | (probe as u8) << 1)
    }

    /// It carried a congestion mark.
    #[inline]
    pub const fn marked(self) -> bool {
        self.0 & 1 != 0
    }

    /// It was a probe.
    #[inline]
    pub const fn probe(self) -> bool {
        self.0 & 2 != 0
    }
}

/// What DCP's packets carry of their message: its number in the order of posting (MSN, 24 bits), and how often the
/// sender had timed out for it when the packet left (sRetryNo, 8 bits). Four bytes, so that a packet stays at 48.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Msn(u32);

impl Msn {
    /// Where there is none: other transports than `dcp`.
    pub const NONE: Msn = Msn(0);

    /// One past the largest number.
    pub const LIMIT: u32 = 1 << 24;

    /// That of the message with this number, below [`Msn::LIMIT`].
    pub const fn new(number: u32, retry: u8) -> Self {
        debug_assert!(number < Msn::LIMIT);
        Msn(number << 8 | retry as u32)
    }

    /// The message's number on its queue pair, from 0.
    #[inline]
    pub const fn number(self) -> u32 {
        self.0 >> 8
    }

    /// `eqds`: in the same four bytes, the pull up to which a sender has demand.
    #[inline]
    pub const fn of_pull_target(target: u32) -> Self {
        Msn(target)
    }

    /// What [`Msn::of_pull_target`] was made of.
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

/// Each kind with its number alone, as a transport that knows no more would send it. What else a packet says is added
/// by the `with_` methods, each of which belongs to the kinds that have such a field; so a new field is a default here,
/// a method, and the places that mean it.
impl Repr {
    /// A data packet: the only one of message 0, sent at 0.
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

    /// What is left of [`Repr::data`].
    #[inline]
    pub const fn trimmed(psn: u32) -> Repr {
        Repr::Trimmed { psn, msn: Msn::NONE, sent_at: Time::ZERO }
    }

    /// An acknowledgement of every PSN below `cumulative`, and of nothing beyond.
    #[inline]
    pub const fn ack(cumulative: u32) -> Repr {
        let (marked, sent_at) = (false, Time::ZERO);
        Repr::Ack { cumulative, base: cumulative, received: 0, marked, carried: Carried::NONE, sent_at }
    }

    /// A NACK for `psn`.
    #[inline]
    pub const fn nack(psn: u32) -> Repr {
        Repr::Nack { psn, sent_at: Time::ZERO }
    }

    /// [`Repr::trimmed`] on its way back.
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

    /// Data: it is of this message, which has so many packets.
    #[inline]
    pub const fn with_message(mut self, id: MessageId, packets: u32) -> Repr {
        match &mut self {
            Repr::Data { message, message_packets, .. } => (*message, *message_packets) = (id, packets),
            _ => debug_assert!(false, "data alone has a message"),
        }
        self
    }

    /// Data, and what echoes its time: when the data packet left.
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
            | Repr::Program { .. } => {
                debug_assert!(false, "this kind carries no time")
            }
        }
        self
    }

    /// Data: whether it is to be acknowledged at once.
    #[inline]
    pub const fn with_ack_now(mut self, at_once: bool) -> Repr {
        match &mut self {
            Repr::Data { ack_now, .. } => *ack_now = at_once,
            _ => debug_assert!(false, "data alone asks for an ACK"),
        }
        self
    }

    /// Data: what programs in switches wrote.
    #[inline]
    pub const fn with_stamps(mut self, bits: u32) -> Repr {
        match &mut self {
            Repr::Data { stamps, .. } => *stamps = bits,
            _ => debug_assert!(false, "data alone is stamped"),
        }
        self
    }

    /// Data, trimmed or header-only (`dcp`): the request that it belongs to.
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

    /// ACK and SACK: which of the 64 PSNs from `from` the receiver has.
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

    /// ACK: whether the packet that caused it was marked.
    #[inline]
    pub const fn with_mark(mut self, was_marked: bool) -> Repr {
        match &mut self {
            Repr::Ack { marked, .. } => *marked = was_marked,
            _ => debug_assert!(false, "an ACK alone echoes a mark here; a SACK has a cause"),
        }
        self
    }

    /// ACK: of which packets it brings the entropy values.
    #[inline]
    pub const fn with_carried(mut self, packets: Carried) -> Repr {
        match &mut self {
            Repr::Ack { carried, .. } => *carried = packets,
            _ => debug_assert!(false, "an ACK alone brings entropy values"),
        }
        self
    }

    /// SACK: bytes received in all, packets out of order, and what caused it.
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

/// A packet as a host sends it is [`Packet::new`], or one of the shorter forms for the commonest kinds, with what
/// else it has added by the `with_` methods.
impl Packet {
    /// A packet without size, entropy, mark and tag.
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

    /// Of this size on the wire.
    #[inline]
    pub const fn with_bytes(mut self, wire_bytes: u16) -> Packet {
        self.wire_bytes = wire_bytes;
        self
    }

    /// With this entropy value.
    #[inline]
    pub const fn with_ev(mut self, ev: u16) -> Packet {
        self.ev = ev;
        self
    }

    /// With a mark, or without.
    #[inline]
    pub const fn with_mark(mut self, marked: bool) -> Packet {
        self.marked = marked;
        self
    }

    /// With this tag.
    #[inline]
    pub const fn with_tag(mut self, tag: u16) -> Packet {
        self.tag = tag;
        self
    }

    /// What is left of a data packet when a switch cuts its payload off; none of another kind.
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

    /// Whether this travels in the control class (ACK, NACK, CNP, SACK, pull, RTS, trimmed or header-only packets, packets
    /// between programs), ahead of data.
    #[inline]
    pub fn is_control(&self) -> bool {
        !matches!(self.repr, Repr::Data { .. } | Repr::Probe { .. })
    }

    /// Whether this goes to the queue pair's receiving end.
    #[inline]
    pub fn is_for_receiver(&self) -> bool {
        matches!(self.repr, Repr::Data { .. } | Repr::Trimmed { .. } | Repr::Probe { .. } | Repr::Rts { .. })
    }
}

const _: () = assert!(size_of::<Packet>() == 48);
