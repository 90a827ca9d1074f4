//! The TCP handshake monitor: which pairs of hosts talk across data centres (Themis-longhaul, section IV, figure 5).
//!
//! Queue pairs are set up over TCP, and TCP within a data centre never passes its external switch. So a handshake
//! that does pass is one between data centres. To withstand SYN floods the switch keeps no state for a SYN: it answers
//! with a SYN cookie, and keeps a record only of a client that returns the cookie. That client is reset and connects again:
//!
//! ```text
//! client   SYN ->           <- SYN-ACK (cookie)   ESW keeps nothing
//! client   ACK (cookie) ->  <- RST                ESW records the connection
//! client   SYN ->                                 recorded: forwarded
//! client   ACK ->                                 forwarded, and the control plane is told
//! ```
//!
//! Unsaid in the text, and chosen here:
//! - How long a cookie is valid: to the end of the [`COOKIE_SLOT`] after the one that it was made in.
//! - What becomes of an ACK without a good cookie: it is forwarded, as the segments of established connections are
//!   ACKs too. The server has no such connection and resets it. One in 2^31 of an established connection's ACKs
//!   acknowledges a valid cookie by chance, and resets its connection.
//! - When a record ends: with the ACK that is told to the control plane. The array so holds only handshakes that are
//!   under way, and those that their clients gave up, until another connection needs the register.
//! - What a collision does: the later connection takes the register. The earlier one, if it is still shaking hands,
//!   is asked for a cookie once more. A connection is taken for another only when the fingerprints are equal too.

use anabranch_base::{Duration, HostId, Stream, Time};

/// Cookies made in one slot of time hold to the end of the next: between one slot and two. A client of the same data
/// centre answers within tens of microseconds.
pub const COOKIE_SLOT: Duration = Duration::from_us(1_000_000);

/// Width of a register's fingerprint; with the two bits of its state a register has 32.
const FINGERPRINT_BITS: u32 = 30;

/// What the data plane reads of a TCP segment.
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
    /// What it is.
    pub flags: TcpFlags,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number; 0 in a SYN.
    pub ack: u32,
}

/// The flags of a segment, as far as handshakes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcpFlags {
    /// SYN alone.
    Syn,
    /// SYN and ACK.
    SynAck,
    /// ACK alone.
    Ack,
    /// RST.
    Rst,
}

/// What becomes of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MonitorVerdict {
    /// It goes where routing sends it.
    Forward,
    /// It goes where routing sends it, and the control plane hears that these two are in different data centres.
    ForwardAndReport {
        /// The client.
        src: HostId,
        /// The server.
        dst: HostId,
    },
    /// It goes no further; the switch sends its sender this.
    Reply(Segment),
}

/// One register of the TCP-cookie array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TcpRegister {
    /// Free.
    #[default]
    Empty,
    /// The connection with this fingerprint has sent its cookie back, and is to dial once more.
    Recorded(u32),
    /// It has dialled: its next ACK is the third segment of the handshake.
    Dialled(u32),
}

/// What the monitor counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MonitorCounters {
    /// SYNs answered with a cookie.
    pub cookies: u64,
    /// Cookies that came back in time, and reset their client.
    pub recorded: u64,
    /// ACKs that belong to no record and carry no good cookie: forged or late ones, and those of established
    /// connections.
    pub unverified: u64,
    /// Records that another connection's took the place of.
    pub overwritten: u64,
    /// Handshakes told to the control plane.
    pub reports: u64,
}

/// The monitor in the data plane of one external switch.
///
/// It is for segments that come from the switch's own data centre. Those from outside pass: the client's own switch
/// has asked for the cookie, in order that it goes no further than one data centre.
pub struct HandshakeMonitor {
    registers: Box<[TcpRegister]>,
    /// Of the hash that makes cookies, so that nobody else can make one.
    cookie_secret: u64,
    /// Of the hash that finds registers.
    register_secret: u64,
    counters: MonitorCounters,
}

impl HandshakeMonitor {
    /// With so many registers, at least one, all empty.
    pub fn new(registers: u32, random: &mut Stream) -> Self {
        HandshakeMonitor {
            registers: vec![TcpRegister::Empty; registers.max(1) as usize].into_boxed_slice(),
            cookie_secret: random.next_u64(),
            register_secret: random.next_u64(),
            counters: MonitorCounters::default(),
        }
    }

    /// A segment comes in from a host of the switch's data centre.
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
            // Figure 5: the second handshake. A SYN that is sent again passes like the first.
            TcpRegister::Recorded(known) | TcpRegister::Dialled(known) if known == fingerprint => {
                self.registers[index] = TcpRegister::Dialled(fingerprint);
                MonitorVerdict::Forward
            }
            // Section IV: a SYN-ACK with a cookie, and no state.
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
        if register == TcpRegister::Dialled(fingerprint) {
            // Figure 5: the third segment of the second handshake. Later ACKs find no record and pass untold.
            self.registers[index] = TcpRegister::Empty;
            self.counters.reports += 1;
            return MonitorVerdict::ForwardAndReport { src: ack.src, dst: ack.dst };
        }
        if !self.has_cookie(now, ack) {
            self.counters.unverified += 1;
            return MonitorVerdict::Forward;
        }
        // Section IV: a RST, so that the client dials again, and a record of it. Its first ACK may come twice.
        let was_other =
            !matches!(register, TcpRegister::Empty) && register != TcpRegister::Recorded(fingerprint);
        self.counters.overwritten += u64::from(was_other);
        self.counters.recorded += 1;
        self.registers[index] = TcpRegister::Recorded(fingerprint);
        // The client takes a RST whose sequence number is the one that it expects.
        MonitorVerdict::Reply(answer(ack, TcpFlags::Rst, ack.ack, ack.seq))
    }

    /// Whether an ACK acknowledges the cookie of this slot of time or of the one before.
    fn has_cookie(&self, now: Time, ack: &Segment) -> bool {
        let (cookie, slot) = (ack.ack.wrapping_sub(1), slot_of(now));
        cookie == self.cookie(ack, slot) || (slot > 0 && cookie == self.cookie(ack, slot - 1))
    }

    fn cookie(&self, segment: &Segment, slot: u64) -> u32 {
        (hash(self.cookie_secret, segment, slot) >> 32) as u32
    }

    /// Where the array keeps a connection, and its fingerprint there.
    fn register_of(&self, segment: &Segment) -> (usize, u32) {
        let hash = hash(self.register_secret, segment, 0);
        let index = ((hash >> 32) * self.registers.len() as u64) >> 32;
        (index as usize, hash as u32 >> (32 - FINGERPRINT_BITS))
    }

    /// The TCP-cookie register array; its size never changes.
    pub fn registers(&self) -> &[TcpRegister] {
        &self.registers
    }

    /// Registers that are not free.
    pub fn in_use(&self) -> usize {
        self.registers.iter().filter(|register| **register != TcpRegister::Empty).count()
    }

    /// What it counted so far.
    pub fn counters(&self) -> &MonitorCounters {
        &self.counters
    }
}

/// What the switch sends the client in the server's name.
fn answer(to: &Segment, flags: TcpFlags, seq: u32, ack: u32) -> Segment {
    Segment { src: to.dst, dst: to.src, src_port: to.dst_port, dst_port: to.src_port, flags, seq, ack }
}

fn slot_of(now: Time) -> u64 {
    now.0 / COOKIE_SLOT.0
}

/// A keyed hash of the addresses and ports and of a slot of time. It stands for that of the switch, whose rounds are
/// as few; it withstands no cryptanalyst.
fn hash(secret: u64, segment: &Segment, slot: u64) -> u64 {
    /// 2^64 over the golden ratio: odd, and without a pattern in its bits.
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    let addresses = u64::from(segment.src.0) << 32 | u64::from(segment.dst.0);
    let ports = u64::from(segment.src_port) << 16 | u64::from(segment.dst_port);
    let round = |state: u64, word: u64| {
        let product = (state ^ word).wrapping_mul(SPREAD);
        (product ^ product >> 29).rotate_left(32)
    };
    // The last round brings the slot's bits to all of the others.
    [addresses, ports, slot, secret].into_iter().fold(secret, round).wrapping_mul(SPREAD)
}
