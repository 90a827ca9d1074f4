//! Tests of load balancers.

use super::FACTS;
use anabranch_base::{Duration, Purpose, Time, stream};
use anabranch_proto::Span;
use anabranch_proto::lb::{
    AckClockConfig, BitmapConfig, Decay, FlowletConfig, MixedConfig, MrcLbConfig, OpsConfig, PauseSince,
    PlbConfig,
};
use anabranch_proto::lb::{
    AfterFreezing, AnyLb, Environment, FreezingEnds, LbConfig, MpRdmaLbConfig, RepsConfig, ReuseOrder,
    RoundRobinConfig,
};
use std::fmt::Write;

enum Event {
    /// The sending of this many packets.
    Send(u32),
    /// An unmarked ACK with this entropy value.
    Ack(u16),
    Marked(u16),
    /// An unmarked ACK with this entropy value, and a round trip of this many microseconds.
    SlowAck(u16, u64),
    Timeout,
    /// The timeout of a packet with this entropy value.
    Lost(u16),
    Trim(u16),
}
use Event::{Ack, Lost, Marked, Send, SlowAck, Timeout, Trim};

/// A table with a row for each event: its time in microseconds, whether the load balancer is frozen after it, and the
/// entropy values that it chose.
fn table(config: LbConfig, trimming: bool, script: &[(u64, Event)]) -> String {
    let environment = Environment { facts: FACTS, rto: Duration::from_us(70), trimming };
    let mut lb = config.build(&environment, stream(1, 0, Purpose::LoadBalancer));
    let mut table = format!("{:>4}  {:<16} {:<7} {}\n", "us", "event", "frozen", "EVs");
    for (us, event) in script {
        let (name, evs) = apply(&mut lb, Time::ZERO + Duration::from_us(*us), event);
        let frozen = match &lb {
            AnyLb::Reps(reps) if reps.is_freezing() => "yes",
            _ => "",
        };
        let evs: Vec<_> = evs.iter().map(u16::to_string).collect();
        let line = format!("{us:>4}  {name:<16} {frozen:<7} {}", evs.join(" "));
        writeln!(table, "{}", line.trim_end()).unwrap();
    }
    table
}

fn apply(lb: &mut AnyLb, now: Time, event: &Event) -> (String, Vec<u16>) {
    let mut evs = Vec::new();
    let name = match event {
        Send(n) => {
            evs.extend((0..*n).map(|_| lb.next_ev(now, FACTS.bdp.0)));
            format!("send {n}")
        }
        Ack(ev) => {
            lb.handle_ack(now, *ev, false, FACTS.base_rtt);
            format!("ack {ev}")
        }
        Marked(ev) => {
            lb.handle_ack(now, *ev, true, FACTS.base_rtt);
            format!("marked {ev}")
        }
        SlowAck(ev, rtt) => {
            lb.handle_ack(now, *ev, false, Duration::from_us(*rtt));
            format!("ack {ev}, {rtt} us")
        }
        Timeout => {
            lb.handle_timeout(now, None);
            "timeout".to_string()
        }
        Lost(ev) => {
            lb.handle_timeout(now, Some(*ev));
            format!("lost {ev}")
        }
        Trim(ev) => {
            lb.handle_trim(now, *ev);
            format!("trim {ev}")
        }
    };
    (name, evs)
}

/// A configuration of REPS. Entropies in the scripts are below 100 and random ones far above, so that they can be
/// distinguished.
fn reps() -> LbConfig {
    LbConfig::Reps(RepsConfig {
        evs: 65_536,
        buffer: 4,
        freezing: true,
        freezing_timeout: Span::Time(Duration::from_us(100)),
        explore_packets: 10,
        failure_rtt: 1.5,
        reuse: 1,
        reuse_order: ReuseOrder::InARow,
        after_freezing: AfterFreezing::Keep,
        freezing_ends: FreezingEnds::Ack,
        freeze_at: None,
    })
}

/// Section 3.1: the sender explores, caches the entropies of unmarked ACKs, and reuses each once, the oldest first.
#[test]
fn reps_recycles() {
    let script = [
        (0, Send(4)),
        (8, Ack(11)),
        (8, Marked(22)),
        (9, Ack(33)),
        (9, Send(3)),
        (10, Ack(41)),
        (10, Ack(42)),
        (10, Ack(43)),
        (10, Ack(44)),
        (10, Ack(45)),
        (10, Ack(46)),
        (10, Send(6)),
        (11, Trim(41)),
        (11, Ack(51)),
        (11, Ack(51)),
        (11, Send(3)),
    ];
    insta::assert_snapshot!(table(reps(), false, &script), @r"
    us  event            frozen  EVs
     0  send 4                   39096 14432 46066 7607
     8  ack 11
     8  marked 22
     9  ack 33
     9  send 3                   11 33 3628
    10  ack 41
    10  ack 42
    10  ack 43
    10  ack 44
    10  ack 45
    10  ack 46
    10  send 6                   43 44 45 46 64386 18237
    11  trim 41
    11  ack 51
    11  ack 51
    11  send 3                   51 51 46209
    ");
}

/// Section 3.2, Appendix A: a timeout freezes the sender. The sender then cycles through the cache, valid entries
/// first. Freezing ends with the first unmarked ACK that comes more than `freezing_timeout` (100 us) after freezing
/// began. Every fourth of the next ten packets explores.
#[test]
fn reps_freezes_and_explores_after_it() {
    let script = [
        (1, Ack(11)),
        (2, Ack(12)),
        (3, Ack(13)),
        (4, Send(1)),
        (71, Timeout),
        (71, Send(7)),
        (72, Ack(14)),
        (73, Ack(15)),
        (73, Send(6)),
        (80, Timeout),
        (171, Ack(16)),
        (172, Marked(17)),
        (173, Ack(18)),
        (173, Send(6)),
        (174, Timeout),
        (174, Ack(19)),
        (174, Send(4)),
        (175, Send(2)),
        (180, Timeout),
        (180, Send(3)),
    ];
    insta::assert_snapshot!(table(reps(), false, &script), @r"
     us  event            frozen  EVs
      1  ack 11
      2  ack 12
      3  ack 13
      4  send 1                   11
     71  timeout          yes
     71  send 7           yes     12 13 11 12 13 11 12
     72  ack 14           yes
     73  ack 15           yes
     73  send 6           yes     14 15 11 12 14 15
     80  timeout          yes
    171  ack 16           yes
    172  marked 17        yes
    173  ack 18
    173  send 6                   16 39096 18 14 15 14432
    174  timeout
    174  ack 19
    174  send 4                   19 18 14 46066
    175  send 2                   7607 3628
    180  timeout          yes
    180  send 3           yes     15 19 18
    ");
}

/// Appendix A, 2: a round trip of 12 us (1.5 base RTTs) or more in the current or the previous period indicates
/// congestion. A period lasts at least one RTO.
#[test]
fn reps_tells_congestion_from_failure() {
    let script = [
        (10, SlowAck(11, 12)),
        (75, Timeout),
        (75, Send(2)),
        (150, SlowAck(12, 11)),
        (160, Timeout),
        (220, SlowAck(13, 11)),
        (225, Timeout),
        (225, Send(4)),
    ];
    insta::assert_snapshot!(table(reps(), false, &script), @r"
     us  event            frozen  EVs
     10  ack 11, 12 us
     75  timeout
     75  send 2                   11 39096
    150  ack 12, 11 us
    160  timeout          yes
    220  ack 13, 11 us    yes
    225  timeout          yes
    225  send 4           yes     12 13 11 12
    ");
}

/// Appendix A, 1: if switches trim, a packet that times out was lost to a failure.
#[test]
fn reps_with_trimming_takes_every_timeout_for_a_failure() {
    let script = [(10, SlowAck(11, 60)), (20, Trim(12)), (20, Send(2)), (75, Timeout), (75, Send(2))];
    insta::assert_snapshot!(table(reps(), true, &script), @r"
    us  event            frozen  EVs
    10  ack 11, 60 us
    20  trim 12
    20  send 2                   11 39096
    75  timeout          yes
    75  send 2           yes     11 11
    ");
}

fn indifferent() -> Vec<(u64, Event)> {
    vec![
        (0, Send(8)),
        (8, Ack(11)),
        (9, Marked(12)),
        (10, Send(4)),
        (70, Timeout),
        (71, Trim(3)),
        (71, Send(4)),
    ]
}

#[test]
fn ops() {
    insta::assert_snapshot!(table(LbConfig::Ops(OpsConfig { evs: 32 }), false, &indifferent()), @r"
    us  event            frozen  EVs
     0  send 8                   19 7 22 3 1 31 8 22
     8  ack 11
     9  marked 12
    10  send 4                   22 9 16 12
    70  timeout
    71  trim 3
    71  send 4                   30 5 15 12
    ");
    insta::assert_snapshot!(table(LbConfig::Ops(OpsConfig { evs: 65_536 }), false, &indifferent()), @r"
    us  event            frozen  EVs
     0  send 8                   39096 14432 46066 7607 3628 64386 18237 46209
     8  ack 11
     9  marked 12
    10  send 4                   45688 20442 34194 25235
    70  timeout
    71  trim 3
    71  send 4                   62902 11055 31485 25932
    ");
}

/// A packet takes the path of an ACK, marked or not. Each ACK serves one packet, and the oldest is used first. A
/// timeout discards the unused ACKs. Without an unused ACK, a packet takes a random path. Here every packet that may
/// probe does so: at 9 us, and again 8 us later, a packet takes a random path instead of the path of an ACK. The random
/// paths are those of `ops` above with 65,536 entropy values, but a draw for a probe skips two of them.
#[test]
fn mp_rdma() {
    let config =
        LbConfig::MpRdma(MpRdmaLbConfig { paths: 65_536, probe: 1.0, probe_interval: Span::Rtt(1.0) });
    let script = [
        (0, Send(4)),
        (8, Ack(11)),
        (8, Marked(22)),
        (8, Ack(22)),
        (9, Send(2)),
        (16, Ack(33)),
        (16, Trim(33)),
        (16, Send(2)),
        (17, Ack(44)),
        (17, Ack(45)),
        (17, Ack(46)),
        (17, Send(2)),
        (20, Timeout),
        (20, Send(1)),
    ];
    insta::assert_snapshot!(table(config, false, &script), @r"
    us  event            frozen  EVs
     0  send 4                   39096 14432 46066 7607
     8  ack 11
     8  marked 22
     8  ack 22
     9  send 2                   18237 22
    16  ack 33
    16  trim 33
    16  send 2                   22 33
    17  ack 44
    17  ack 45
    17  ack 46
    17  send 2                   20442 45
    20  timeout
    20  send 1                   34194
    ");
}

#[test]
fn ecmp() {
    insta::assert_snapshot!(table(LbConfig::Ecmp {}, false, &indifferent()), @r"
    us  event            frozen  EVs
     0  send 8                   6815 6815 6815 6815 6815 6815 6815 6815
     8  ack 11
     9  marked 12
    10  send 4                   6815 6815 6815 6815
    70  timeout
    71  trim 3
    71  send 4                   6815 6815 6815 6815
    ");
}

/// A script of ACKs, marks, pauses, timeouts and trimmed packets, with entropy values from 1 to 5.
fn eventful() -> Vec<(u64, Event)> {
    vec![
        (0, Send(4)),
        (8, Ack(1)),
        (8, Marked(2)),
        (8, Send(2)),
        (12, Send(2)),
        (20, Ack(3)),
        (22, Send(2)),
        (23, Trim(4)),
        (23, Send(1)),
        (78, Timeout),
        (78, Send(2)),
        (82, Marked(1)),
        (82, Marked(2)),
        (82, Ack(5)),
        (82, Send(2)),
        (100, Send(2)),
    ]
}

/// The first path is 39096. Its round has two ACKs, at 8 and 9 us, and is congested, because one of them is marked. At
/// a timeout the sender moves only if a packet that was sent an RTO ago can have been sent on the current path.
#[test]
fn plb() {
    let script = [
        (0, Send(1)),
        (8, Ack(39_096)),
        (9, Marked(39_096)),
        (9, Marked(5)),
        (16, Ack(39_096)),
        (16, Send(1)),
        (20, Timeout),
        (20, Send(1)),
        (86, Timeout),
        (86, Send(1)),
        (87, Timeout),
        (87, Send(1)),
    ];
    let config = LbConfig::Plb(PlbConfig { evs: 65_536, threshold: 0.05, rounds: 1 });
    insta::assert_snapshot!(table(config, false, &script), @r"
    us  event            frozen  EVs
     0  send 1                   39096
     8  ack 39096
     9  marked 39096
     9  marked 5
    16  ack 39096
    16  send 1                   14432
    20  timeout
    20  send 1                   14432
    86  timeout
    86  send 1                   46066
    87  timeout
    87  send 1                   46066
    ");
}

/// The gap is half of 8 us. The pauses are 8, 4, 10, 1, 55, 4 and 18 us if they are counted from the last sent
/// packet, as in the first table. The second table counts them from the last ACK: before the sends at 78 and 100 us,
/// they are 58 and 18 us, and at most 4 us before the other ones.
#[test]
fn flowlet() {
    let flowlet = |since| LbConfig::Flowlet(FlowletConfig { evs: 65_536, gap: Span::Rtt(0.5), since });
    insta::assert_snapshot!(table(flowlet(PauseSince::Sent), false, &eventful()), @r"
     us  event            frozen  EVs
      0  send 4                   39096 39096 39096 39096
      8  ack 1
      8  marked 2
      8  send 2                   14432 14432
     12  send 2                   14432 14432
     20  ack 3
     22  send 2                   46066 46066
     23  trim 4
     23  send 1                   46066
     78  timeout
     78  send 2                   7607 7607
     82  marked 1
     82  marked 2
     82  ack 5
     82  send 2                   7607 7607
    100  send 2                   3628 3628
    ");
    insta::assert_snapshot!(table(flowlet(PauseSince::Ack), false, &eventful()), @r"
     us  event            frozen  EVs
      0  send 4                   39096 39096 39096 39096
      8  ack 1
      8  marked 2
      8  send 2                   39096 39096
     12  send 2                   39096 39096
     20  ack 3
     22  send 2                   39096 39096
     23  trim 4
     23  send 1                   39096
     78  timeout
     78  send 2                   14432 46066
     82  marked 1
     82  marked 2
     82  ack 5
     82  send 2                   46066 46066
    100  send 2                   7607 3628
    ");
}

/// The timeout at 78 us adds its penalty to entropy value 1, the first of the values that were sent an RTO earlier.
#[test]
fn bitmap() {
    let config = LbConfig::Bitmap(BitmapConfig {
        evs: 8,
        ecn_penalty: 1,
        trim_penalty: 4,
        timeout_penalty: 15,
        max_penalty: 15,
        remembered: 64,
        skip_limit: 1.0,
        decay: Decay::First,
    });
    insta::assert_snapshot!(table(config, true, &eventful()), @r"
     us  event            frozen  EVs
      0  send 4                   5 6 7 0
      8  ack 1
      8  marked 2
      8  send 2                   1 3
     12  send 2                   4 3
     20  ack 3
     22  send 2                   6 1
     23  trim 4
     23  send 1                   7
     78  timeout
     78  send 2                   2 5
     82  marked 1
     82  marked 2
     82  ack 5
     82  send 2                   0 0
    100  send 2                   3 6
    ");
}

/// Entropies that came back unmarked are used again, the oldest first. Otherwise the bitmap chooses.
#[test]
fn mixed() {
    let config = LbConfig::Mixed(MixedConfig {
        evs: 8,
        buffer: 4,
        ecn_penalty: 1,
        trim_penalty: 4,
        timeout_penalty: 15,
        max_penalty: 15,
    });
    insta::assert_snapshot!(table(config, true, &eventful()), @r"
     us  event            frozen  EVs
      0  send 4                   5 6 7 0
      8  ack 1
      8  marked 2
      8  send 2                   1 1
     12  send 2                   3 4
     20  ack 3
     22  send 2                   3 3
     23  trim 4
     23  send 1                   6
     78  timeout
     78  send 2                   1 7
     82  marked 1
     82  marked 2
     82  ack 5
     82  send 2                   5 5
    100  send 2                   0 0
    ");
}

/// A round has 4 of the 8 entropy values. After a mark or a trim, an entropy value is skipped once. After a timeout, a
/// backup replaces it. A timeout whose entropy value is not known has no effect.
#[test]
fn mrc() {
    let config = LbConfig::Mrc(MrcLbConfig {
        evs: 8,
        active: 4,
        min_active: 0.25,
        probe_interval: Span::Time(Duration::from_us(100)),
        probe_successes: 1,
        denied: Vec::new(),
    });
    let script = [
        (0, Send(8)),
        (8, Ack(39_096)),
        (8, Marked(39_097)),
        (8, Send(4)),
        (12, Trim(39_098)),
        (12, Send(8)),
        (78, Timeout),
        (78, Send(4)),
        (79, Lost(39_099)),
        (79, Send(8)),
        (80, Lost(39_096)),
        (80, Send(8)),
    ];
    insta::assert_snapshot!(table(config, true, &script), @r"
     us  event            frozen  EVs
      0  send 8                   39099 39096 39097 39098 39099 39098 39097 39096
      8  ack 39096
      8  marked 39097
      8  send 4                   39096 39099 39098 39098
     12  trim 39098
     12  send 8                   39099 39096 39097 39096 39099 39097 39098 39097
     78  timeout
     78  send 4                   39096 39099 39098 39099
     79  lost 39099
     79  send 8                   39096 39097 39096 39097 39098 39100 39100 39096
     80  lost 39096
     80  send 8                   39097 39098 39098 39100 39101 39097 39101 39097
    ");
}

/// The entropy value of the newest ACK is used once. Other packets have random values.
#[test]
fn ack_clock() {
    let config = LbConfig::AckClock(AckClockConfig { evs: 65_536 });
    insta::assert_snapshot!(table(config, true, &eventful()), @r"
     us  event            frozen  EVs
      0  send 4                   39096 14432 46066 7607
      8  ack 1
      8  marked 2
      8  send 2                   2 3628
     12  send 2                   64386 18237
     20  ack 3
     22  send 2                   3 46209
     23  trim 4
     23  send 1                   45688
     78  timeout
     78  send 2                   20442 34194
     82  marked 1
     82  marked 2
     82  ack 5
     82  send 2                   5 25235
    100  send 2                   62902 11055
    ");
}

#[test]
fn round_robin() {
    let config = LbConfig::RoundRobin(RoundRobinConfig { evs: 3 });
    insta::assert_snapshot!(table(config, false, &indifferent()), @r"
    us  event            frozen  EVs
     0  send 8                   6815 6816 6817 6815 6816 6817 6815 6816
     8  ack 11
     9  marked 12
    10  send 4                   6817 6815 6816 6817
    70  timeout
    71  trim 3
    71  send 4                   6815 6816 6817 6815
    ");
}

/// Section 4.5.1: each entropy of the buffer is used for two packets.
#[test]
fn reps_reuses() {
    let LbConfig::Reps(config) = reps() else { unreachable!() };
    let config = LbConfig::Reps(RepsConfig { reuse: 2, ..config });
    insta::assert_snapshot!(table(config, false, &eventful()), @r"
     us  event            frozen  EVs
      0  send 4                   39096 14432 46066 7607
      8  ack 1
      8  marked 2
      8  send 2                   1 1
     12  send 2                   3628 64386
     20  ack 3
     22  send 2                   3 3
     23  trim 4
     23  send 1                   18237
     78  timeout          yes
     78  send 2           yes     1 3
     82  marked 1         yes
     82  marked 2         yes
     82  ack 5            yes
     82  send 2           yes     5 5
    100  send 2           yes     1 3
    ");
}
