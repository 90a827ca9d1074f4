//! What one run goes through, and how it is drawn.

use anabranch_base::{Bytes, Duration, MessageId, Purpose, Rate, Stream, Time, stream};
use anabranch_proto::cc::{AnyCc, CcConfig, DctcpConfig};
use anabranch_proto::lb::{AnyLb, Environment, LbConfig, RepsConfig};
use anabranch_proto::transport::SackConfig;
use anabranch_proto::{PathFacts, Size, Span};
use proptest::prelude::*;

pub const PAYLOAD: u64 = 1000;
pub const HEADER: u64 = 64;
pub const PACKET: u64 = PAYLOAD + HEADER;
const ACK: u64 = 64;

/// A run: what is posted, how the ends are set up, and what the path does to packets.
#[derive(Clone, Debug)]
pub struct Schedule {
    pub messages: Vec<Post>,
    pub balancer: LbConfig,
    pub ack_every: u32,
    /// Bytes; the largest window where it moves.
    pub window: u64,
    pub dctcp: bool,
    pub rto: Duration,
    /// How late the sender's timer rings, so that more than one packet is overdue.
    pub timer_lag: Duration,
    pub path: Path,
}

/// A message to post.
#[derive(Clone, Debug)]
pub struct Post {
    pub at: Time,
    pub packets: u32,
    /// Payload of its last packet, 0 only where that is the only one.
    pub last_payload: u64,
}

/// What happens to packets between the ends. The sender's wire takes one packet at a time.
#[derive(Clone, Debug)]
pub struct Path {
    /// How long the sender's wire is busy with a packet.
    pub wire: Duration,
    pub data_delay: Duration,
    pub ack_delay: Duration,
    /// Each packet takes up to this much longer, so packets overtake each other.
    pub jitter: Duration,
    pub faults: Faults,
    pub seed: u64,
}

/// What goes wrong on a path.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// The chances below hold for packets that are sent before this.
    pub until: Time,
    /// Chances in 256.
    pub data_loss: u32,
    pub ack_loss: u32,
    pub duplication: u32,
    pub trimming: u32,
    pub marking: u32,
    /// The link is down from, and for: what is on it is lost.
    pub downs: Vec<(Time, Duration)>,
}

impl Post {
    pub fn bytes(&self) -> u64 {
        u64::from(self.packets - 1) * PAYLOAD + self.last_payload
    }
}

impl Schedule {
    pub fn transport(&self) -> SackConfig {
        SackConfig {
            payload: Bytes(PAYLOAD),
            header: Bytes(HEADER),
            ack: Bytes(ACK),
            ack_every: self.ack_every,
            rto: Span::Time(self.rto),
        }
    }

    pub fn lb(&self) -> AnyLb {
        let trimming = self.path.faults.trimming > 0;
        let environment = Environment { facts: self.facts(), rto: self.rto, trimming };
        self.balancer.build(&environment, stream(self.path.seed, 0, Purpose::LoadBalancer))
    }

    pub fn cc(&self) -> AnyCc {
        let window = Size::Bytes(Bytes(self.window));
        let config = match self.dctcp {
            true => CcConfig::Dctcp(DctcpConfig {
                initial_window: window,
                max_window: window,
                decrease: 0.25,
                loss_decrease: 1.0,
            }),
            false => CcConfig::Constant { window },
        };
        config.build(&self.facts())
    }

    fn facts(&self) -> PathFacts {
        let base_rtt = self.path.wire + self.path.data_delay + self.path.ack_delay;
        let line_rate = Rate::from_gbps(400);
        PathFacts { base_rtt, bdp: Bytes(100 * PACKET), packet: Bytes(PACKET), line_rate }
    }

    pub fn packets(&self) -> u64 {
        self.messages.iter().map(|message| u64::from(message.packets)).sum()
    }

    /// When the last fault is over and everything is posted.
    pub fn quiet_from(&self) -> Time {
        let posts = self.messages.iter().map(|message| message.at);
        let downs = self.path.faults.downs.iter().map(|&(at, span)| at + span);
        posts.chain(downs).fold(self.path.faults.until, Time::max)
    }

    /// When everything must be acknowledged, even with a window of one packet.
    ///
    /// Two RTOs and round trips after the last fault, all that it hit is given up, and what it left on the
    /// path is gone. Then each packet takes its turn: sent and acknowledged, or, where the receiver waits for
    /// more packets, sent, given up, sent again and acknowledged at once as a duplicate.
    pub fn deadline(&self) -> Time {
        let (rto, round) = (self.rto + self.timer_lag, self.path.longest_round());
        let turn = match self.ack_every {
            1 => rto.max(round),
            _ => rto + round,
        };
        self.quiet_from() + (rto + round) * 2 + (turn + self.path.wire) * self.packets()
    }
}

impl Path {
    pub fn longest_round(&self) -> Duration {
        self.data_delay + self.ack_delay + self.jitter * 2
    }

    /// The random stream that decides over the `nth` packet that one end sends.
    pub fn fate(&self, is_data: bool, nth: u64) -> Stream {
        stream(self.seed, nth << 1 | u64::from(is_data), Purpose::Model)
    }

    /// Whether the link is down at any time from `from` to `to`.
    pub fn is_cut(&self, from: Time, to: Time) -> bool {
        self.faults.downs.iter().any(|&(at, span)| from < at + span && at <= to)
    }
}

/// One message over a path that does nothing but take time; ACKs every `ack_every` packets.
pub fn calm_schedule(packets: u32, ack_every: u32, window: u64) -> Schedule {
    Schedule {
        messages: vec![Post { at: Time::ZERO, packets, last_payload: PAYLOAD }],
        balancer: LbConfig::Ops { evs: 65_536 },
        ack_every,
        window,
        dctcp: false,
        rto: Duration::from_us(100),
        timer_lag: Duration::ZERO,
        path: Path {
            wire: Duration::from_ns(100),
            data_delay: Duration::from_us(4),
            ack_delay: Duration::from_us(4),
            jitter: Duration::ZERO,
            faults: Faults::default(),
            seed: 1,
        },
    }
}

/// Anything, sane or not: RTOs below the round trip, windows below a packet, all faults at once.
pub fn any_schedule() -> impl Strategy<Value = Schedule> {
    let ends = (messages(), balancer(), ack_every(), window(), any::<bool>(), rto(), timer_lag());
    (ends, path(), faults()).prop_map(
        |((messages, balancer, ack_every, window, dctcp, rto, timer_lag), path, faults)| {
            let path = Path { faults, ..path };
            Schedule { messages, balancer, ack_every, window, dctcp, rto, timer_lag, path }
        },
    )
}

/// A path that reorders, duplicates and marks but loses nothing, with an RTO beyond anything that it does.
pub fn harmless_schedule() -> impl Strategy<Value = Schedule> {
    let ends = (messages(), balancer(), ack_every(), window(), any::<bool>(), timer_lag());
    (ends, path(), chance(), chance()).prop_map(
        |((messages, balancer, ack_every, window, dctcp, timer_lag), path, duplication, marking)| {
            let (mut messages, mut path) = (messages, path);
            if dctcp && ack_every > 1 && marking > 0 {
                // A mark can shrink the window below what waits at the receiver for more packets, and only a
                // timeout wakes the two: when a marked packet overtook others, or is smaller than what a mark
                // takes.
                path.jitter = Duration::ZERO;
                messages.iter_mut().for_each(|message| message.last_payload = PAYLOAD);
            }
            let faults = Faults { until: Time::NEVER, duplication, marking, ..Faults::default() };
            let path = Path { faults, ..path };
            // The packet that makes an ACK due may have to wait for the ACK before, and for a whole window
            // ahead of it on the wire. Each message may end in a packet that takes no room in the window.
            let ahead = window / PACKET + messages.len() as u64;
            let rto = path.longest_round() * 3 + path.wire * (2 * ahead + 2);
            Schedule { messages, balancer, ack_every, window, dctcp, rto, timer_lag, path }
        },
    )
}

fn messages() -> impl Strategy<Value = Vec<Post>> {
    let message = (us(0..300), 1u32..=200, 0..=PAYLOAD).prop_map(|(after, packets, last)| Post {
        at: Time::ZERO + after,
        packets,
        last_payload: if packets == 1 { last } else { last.max(1) },
    });
    prop::collection::vec(message, 1..=5)
}

fn balancer() -> impl Strategy<Value = LbConfig> {
    let evs = || prop_oneof![Just(65_536), 1u32..=65_536, 1u32..=32];
    let reps = (evs(), 1u32..=32, any::<bool>(), us(1..200), 0u32..=255, 0.5..3.0).prop_map(
        |(evs, buffer, freezing, timeout, explore_packets, failure_rtt)| {
            let freezing_timeout = Span::Time(timeout);
            LbConfig::Reps(RepsConfig {
                evs,
                buffer,
                freezing,
                freezing_timeout,
                explore_packets,
                failure_rtt,
            })
        },
    );
    prop_oneof![
        1 => Just(LbConfig::Ecmp {}),
        1 => evs().prop_map(|evs| LbConfig::Ops { evs }),
        4 => reps,
    ]
}

fn ack_every() -> impl Strategy<Value = u32> {
    prop_oneof![Just(1), Just(2), Just(4), Just(16), Just(100)]
}

fn window() -> impl Strategy<Value = u64> {
    prop_oneof![1..16 * PACKET, 1..64 * PACKET, 64 * PACKET..1000 * PACKET]
}

fn rto() -> impl Strategy<Value = Duration> {
    prop_oneof![3 => us(20..200), 1 => us(2..20)]
}

fn timer_lag() -> impl Strategy<Value = Duration> {
    prop_oneof![Just(Duration::ZERO), ns(1..5_000)]
}

fn path() -> impl Strategy<Value = Path> {
    let delays =
        (ns(50..500), ns(0..20_000), ns(0..20_000), prop_oneof![Just(Duration::ZERO), ns(0..30_000)]);
    (delays, any::<u64>()).prop_map(|((wire, data_delay, ack_delay, jitter), seed)| Path {
        wire,
        data_delay,
        ack_delay,
        jitter,
        faults: Faults::default(),
        seed,
    })
}

fn faults() -> impl Strategy<Value = Faults> {
    let down = (us(0..400), us(1..150)).prop_map(|(at, span)| (Time::ZERO + at, span));
    let chances = (chance(), chance(), chance(), chance(), chance());
    (chances, us(0..400), prop::collection::vec(down, 0..=2)).prop_map(
        |((data_loss, ack_loss, duplication, trimming, marking), until, downs)| Faults {
            until: Time::ZERO + until,
            data_loss,
            ack_loss,
            duplication,
            trimming,
            marking,
            downs,
        },
    )
}

fn chance() -> impl Strategy<Value = u32> {
    prop_oneof![3 => Just(0), 3 => 0u32..26, 1 => 26u32..200]
}

fn us(range: std::ops::Range<u64>) -> impl Strategy<Value = Duration> {
    range.prop_map(Duration::from_us)
}

fn ns(range: std::ops::Range<u64>) -> impl Strategy<Value = Duration> {
    range.prop_map(Duration::from_ns)
}

/// The id of the message that is posted as the `index`-th. Not its index, so that a mix-up shows.
pub fn message_id(index: usize) -> MessageId {
    MessageId(1000 - 7 * index as u32)
}
