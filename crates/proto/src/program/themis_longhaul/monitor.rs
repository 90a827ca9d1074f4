//! The TCP handshake monitor, which finds pairs of hosts in different data centres (Themis-longhaul, section IV, figure
//! 5).
//!
//! Queue pairs are set up over TCP, and TCP within a data centre never passes its external switch (ESW). A handshake
//! that passes the switch is therefore a handshake between data centres. To withstand SYN floods, the switch keeps no
//! state for a SYN. It answers with a SYN cookie, and records only clients that return the cookie. The switch resets
//! such a client, which then connects again:
//!
//! ```text
//! client   SYN ->           <- SYN-ACK (cookie)   ESW keeps nothing
//! client   ACK (cookie) ->  <- RST                ESW records the connection
//! client   SYN ->                                 recorded: forwarded
//! client   ACK ->                                 forwarded, and reported to the control plane
//! ```
//!
//! Choices where the paper is silent:
//! - A cookie is valid to the end of the [`COOKIE_SLOT`] after the slot in which it was made.
//! - An ACK without a valid cookie is forwarded, since the segments of established connections are ACKs too. If the
//!   server does not know the connection, it answers with a RST. One in 2^31 ACKs of an established connection
//!   acknowledges a valid cookie by chance, and the switch then resets the connection.
//! - A record ends with the ACK that is reported to the control plane. The array therefore contains only handshakes in
//!   progress, and abandoned handshakes until another connection needs the register.
//! - If two connections share a register, the later connection takes it. If the earlier connection's second SYN has not
//!   yet passed, that SYN is answered with another cookie. If the second SYN has passed, the ACK after it passes too,
//!   without a report. A connection is mistaken for another only if the fingerprints are equal too.

use anabranch_base::{Duration, HostId, Stream, Time};

/// The length of the time slots. In each slot, a connection gets another cookie. A client of the same data centre
/// answers within tens of microseconds.
pub const COOKIE_SLOT: Duration = Duration::from_us(1_000_000);

/// Number of bits of a register's fingerprint. With the two bits of its state, a register has 32 bits.
const FINGERPRINT_BITS: u32 = 30;

/// The fields of a TCP segment that the data plane reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Source address.
    pub src: HostId,
    /// Destination address.
    pub dst: HostId,
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// The flags.
    pub flags: TcpFlags,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number, which is 0 in a SYN.
    pub ack: u32,
}

/// The flags of a segment that matter in handshakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcpFlags {
    /// SYN is set and ACK is not.
    Syn,
    /// SYN and ACK are set.
    SynAck,
    /// ACK is set and SYN is not.
    Ack,
    /// RST is set.
    Rst,
}

/// The decision about a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MonitorVerdict {
    /// The segment follows routing.
    Forward,
    /// The segment follows routing, and the control plane learns that the two hosts are in different data centres.
    ForwardAndReport {
        /// The client.
        src: HostId,
        /// The server.
        dst: HostId,
    },
    /// The segment is dropped, and the switch sends this reply to the segment's sender.
    Reply(Segment),
}

/// One register of the TCP-cookie array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TcpRegister {
    /// The register is free.
    #[default]
    Empty,
    /// The connection with this fingerprint has returned its cookie, and must connect once more.
    Recorded(u32),
    /// The connection with this fingerprint has sent its second SYN, so that its next ACK is the third segment of the
    /// handshake.
    SynForwarded(u32),
}

/// The counters of the monitor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MonitorCounters {
    /// SYNs that the switch answered with a cookie.
    pub cookies: u64,
    /// Cookies that were returned in time, and whose clients were reset.
    pub recorded: u64,
    /// ACKs that neither complete a recorded handshake nor return a valid cookie.
    pub unverified: u64,
    /// Records that were overwritten by the record of another connection.
    pub overwritten: u64,
    /// Handshakes reported to the control plane.
    pub reports: u64,
}

/// The monitor in the data plane of a single external switch.
///
/// It handles segments from the switch's own data centre. Segments from other data centres pass, since the switch of
/// the client's data centre has checked the cookie.
pub struct HandshakeMonitor {
    registers: Box<[TcpRegister]>,
    /// The secret of the hash for cookies, so that only the switch can make a valid cookie.
    cookie_secret: u64,
    register_secret: u64,
    counters: MonitorCounters,
}

impl HandshakeMonitor {
    /// A monitor with `registers` empty registers, or with one if `registers` is 0.
    pub fn new(registers: u32, random: &mut Stream) -> Self {
        HandshakeMonitor {
            registers: vec![TcpRegister::Empty; registers.max(1) as usize].into_boxed_slice(),
            cookie_secret: random.next_u64(),
            register_secret: random.next_u64(),
            counters: MonitorCounters::default(),
        }
    }

    /// Handles a segment from a host of the switch's data centre.
    pub fn handle(&mut self, now: Time, segment: &Segment) -> MonitorVerdict {
        match segment.flags {
            TcpFlags::Syn => self.handle_syn(now, segment),
            TcpFlags::Ack => self.handle_ack(now, segment),
            TcpFlags::SynAck | TcpFlags::Rst => MonitorVerdict::Forward,
        }
    }

    fn handle_syn(&mut self, now: Time, syn: &Segment) -> MonitorVerdict {
        let (index, fingerprint) = self.register_of(syn);
        match self.registers[index] {
            // Figure 5: the second handshake. A retransmitted SYN passes too.
            TcpRegister::Recorded(known) | TcpRegister::SynForwarded(known) if known == fingerprint => {
                self.registers[index] = TcpRegister::SynForwarded(fingerprint);
                MonitorVerdict::Forward
            }
            // Section IV: the switch answers with a cookie in a SYN-ACK, and keeps no state.
            _ => {
                self.counters.cookies += 1;
                let (seq, ack) = (self.cookie(syn, slot_of(now)), syn.seq.wrapping_add(1));
                MonitorVerdict::Reply(answer(syn, TcpFlags::SynAck, seq, ack))
            }
        }
    }

    fn handle_ack(&mut self, now: Time, ack: &Segment) -> MonitorVerdict {
        let (index, fingerprint) = self.register_of(ack);
        let register = self.registers[index];
        if register == TcpRegister::SynForwarded(fingerprint) {
            // Figure 5: the third segment of the second handshake. Later ACKs find no record and pass without a report.
            self.registers[index] = TcpRegister::Empty;
            self.counters.reports += 1;
            return MonitorVerdict::ForwardAndReport { src: ack.src, dst: ack.dst };
        }
        if !self.has_cookie(now, ack) {
            self.counters.unverified += 1;
            return MonitorVerdict::Forward;
        }
        // Section IV: the switch records the connection, and sends a RST so that the client connects again. If this
        // ACK arrives twice, the second copy overwrites the connection's own record.
        let was_other =
            !matches!(register, TcpRegister::Empty) && register != TcpRegister::Recorded(fingerprint);
        self.counters.overwritten += u64::from(was_other);
        self.counters.recorded += 1;
        self.registers[index] = TcpRegister::Recorded(fingerprint);
        // The client accepts a RST only with the sequence number that it expects.
        MonitorVerdict::Reply(answer(ack, TcpFlags::Rst, ack.ack, ack.seq))
    }

    fn has_cookie(&self, now: Time, ack: &Segment) -> bool {
        let (cookie, slot) = (ack.ack.wrapping_sub(1), slot_of(now));
        cookie == self.cookie(ack, slot) || (slot > 0 && cookie == self.cookie(ack, slot - 1))
    }

    fn cookie(&self, segment: &Segment, slot: u64) -> u32 {
        (hash(self.cookie_secret, segment, slot) >> 32) as u32
    }

    fn register_of(&self, segment: &Segment) -> (usize, u32) {
        let hash = hash(self.register_secret, segment, 0);
        let index = ((hash >> 32) * self.registers.len() as u64) >> 32;
        (index as usize, hash as u32 >> (32 - FINGERPRINT_BITS))
    }

    /// The TCP-cookie register array, of constant size.
    pub fn registers(&self) -> &[TcpRegister] {
        &self.registers
    }

    /// Number of registers in use.
    pub fn in_use(&self) -> usize {
        self.registers.iter().filter(|register| **register != TcpRegister::Empty).count()
    }

    /// The counters so far.
    pub fn counters(&self) -> &MonitorCounters {
        &self.counters
    }
}

/// The reply to `to` that the switch sends to the client on behalf of the server.
fn answer(to: &Segment, flags: TcpFlags, seq: u32, ack: u32) -> Segment {
    Segment { src: to.dst, dst: to.src, src_port: to.dst_port, dst_port: to.src_port, flags, seq, ack }
}

fn slot_of(now: Time) -> u64 {
    now.0 / COOKIE_SLOT.0
}

/// A keyed hash, which represents the switch's hash. It has few rounds and is not cryptographically secure.
fn hash(secret: u64, segment: &Segment, slot: u64) -> u64 {
    /// 2^64 divided by the golden ratio: an odd number without a pattern in its bits.
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    let addresses = u64::from(segment.src.0) << 32 | u64::from(segment.dst.0);
    let ports = u64::from(segment.src_port) << 16 | u64::from(segment.dst_port);
    let round = |state: u64, word: u64| {
        let product = (state ^ word).wrapping_mul(SPREAD);
        (product ^ product >> 29).rotate_left(32)
    };
    // The secret comes last, so that the bits of the slot go through two rounds.
    [addresses, ports, slot, secret].into_iter().fold(secret, round).wrapping_mul(SPREAD)
}
