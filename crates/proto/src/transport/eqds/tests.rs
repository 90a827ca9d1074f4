use super::*;
use crate::cc::AnyCc;
use crate::lb::{AnyLb, LbConfig, OpsConfig};
use crate::packet::{Msn, Packet, Repr};
use crate::transport::common::{Ends, Receiver, Sender};
use crate::{Pace, PathFacts, Size, Span, lb};
use anabranch_base::{Bytes, Duration, HostId, MessageId, Purpose, QpId, Rate, Stream, Time, stream};
use std::collections::BTreeMap;
use std::fmt::Write as _;

const ENDS: Ends = Ends { qp: QpId(0), src: HostId(0), dst: HostId(1) };

/// A path at 8 Gb/s for packets of 1,000 B on the wire, which take a microsecond each.
fn facts() -> PathFacts {
    PathFacts {
        base_rtt: Duration::from_us(8),
        bdp: Bytes(8_000),
        packet: Bytes(1_000),
        line_rate: Rate::from_gbps(8),
        port_rate: Rate::from_gbps(8),
        queue: Bytes(100_000),
    }
}

fn config() -> EqdsConfig {
    EqdsConfig {
        payload: Bytes(936),
        header: Bytes(64),
        ack: Bytes(64),
        rto: Span::Time(Duration::from_us(50)),
        pull_window: Size::Packets(4.0),
        pull_rate: Pace::Line(1.0),
    }
}

fn balancer() -> AnyLb {
    let environment = lb::Environment { facts: facts(), rto: Duration::from_us(50), trimming: false };
    LbConfig::Ops(OpsConfig { evs: 65_536 }).build(&environment, stream(1, 0, Purpose::LoadBalancer))
}

fn sender() -> EqdsSender {
    EqdsSender::new(&config(), &facts(), ENDS, AnyCc::constant(u64::MAX / 2), balancer())
}

fn at(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
}

fn pull(number: u32) -> Packet {
    Packet::new(ENDS.qp, ENDS.src, Repr::Pull { number })
}

fn say(packet: &Packet) -> String {
    match packet.repr {
        Repr::Data { psn, msn, .. } => format!("data {psn} target {}", msn.pull_target()),
        Repr::Rts { target } => format!("RTS target {target}"),
        Repr::Pull { number } => format!("pull {number}"),
        Repr::Ack { cumulative, .. } => format!("ACK {cumulative}"),
        Repr::Nack { psn, .. } => format!("NACK {psn}"),
        _ => "?".to_string(),
    }
}

fn all_out(sender: &mut EqdsSender, now: Time) -> Vec<String> {
    std::iter::from_fn(|| sender.poll_transmit(now)).map(|packet| say(&packet)).collect()
}

/// A fixed script, whose credit and targets were computed by hand from the rules.
#[test]
fn trajectory() {
    let mut sender = sender();
    sender.post(MessageId(0), 936 * 10).unwrap();
    let mut table = String::new();
    let mut row = |what: &str, us: u64, sender: &mut EqdsSender| {
        let out = all_out(sender, at(us)).join(", ");
        writeln!(table, "{us} {what}: {out}; credit {}", sender.credit()).unwrap();
    };
    row("start", 0, &mut sender);
    sender.handle_packet(at(8), &Packet::ack(ENDS.qp, ENDS.src, 1));
    row("first ACK", 8, &mut sender);
    sender.handle_packet(at(9), &pull(1));
    row("pull 1", 9, &mut sender);
    sender.handle_packet(at(10), &pull(4));
    row("pull 4, 2 and 3 were lost", 10, &mut sender);
    sender.handle_packet(at(11), &pull(3));
    row("pull 3, late", 11, &mut sender);
    assert_eq!(sender.next_timeout(), Some(at(50)), "of the first packet");
    sender.handle_packet(at(12), &Packet::ack(ENDS.qp, ENDS.src, 8));
    assert_eq!(sender.next_timeout(), Some(at(62)), "nothing in flight, two packets without credit");
    sender.handle_timeout(at(62));
    row("an RTO without a pull", 62, &mut sender);
    sender.handle_packet(at(70), &pull(6));
    row("pull 6", 70, &mut sender);
    sender.handle_packet(at(78), &Packet::ack(ENDS.qp, ENDS.src, 10));
    assert_eq!((sender.poll_acknowledged(), sender.next_timeout()), (Some(MessageId(0)), None));
    assert_eq!(
        table,
        "0 start: data 0 target 1, data 1 target 2, data 2 target 3, data 3 target 4; credit 0\n\
         8 first ACK: ; credit 0\n\
         9 pull 1: data 4 target 5; credit 0\n\
         10 pull 4, 2 and 3 were lost: data 5 target 6, data 6 target 6, data 7 target 6; credit 0\n\
         11 pull 3, late: ; credit 0\n\
         62 an RTO without a pull: RTS target 6; credit 0\n\
         70 pull 6: data 8 target 6, data 9 target 6; credit 0\n"
    );
}

#[test]
fn the_first_answer_ends_speculation() {
    let mut sender = sender();
    sender.post(MessageId(0), 936 * 3).unwrap();
    let first = sender.poll_transmit(at(0)).unwrap();
    assert_eq!(say(&first), "data 0 target 0", "two packets are left, and credit for three");
    sender.handle_packet(at(1), &Packet::ack(ENDS.qp, ENDS.src, 1));
    assert_eq!(all_out(&mut sender, at(1)), ["RTS target 2"]);
    assert_eq!(all_out(&mut sender, at(2)), Vec::<String>::new(), "it is said once");
}

#[test]
fn a_receiver_grants_demand() {
    let mut receiver = EqdsReceiver::new(&config(), ENDS);
    let data = |psn, target| {
        let repr = Repr::data(psn).with_message(MessageId(0), 9).with_msn(Msn::of_pull_target(target));
        Packet::new(ENDS.qp, ENDS.dst, repr).with_bytes(1_000)
    };
    assert!(!receiver.requests_pull());
    receiver.handle_packet(at(0), &data(0, 1));
    assert!(receiver.requests_pull() && !receiver.requests_pull(), "it asks once");
    assert_eq!(receiver.pull().map(|pull| say(&pull.packet)), Some("pull 1".to_string()));
    assert!(!receiver.requests_pull() && receiver.pull().is_none(), "all is granted");
    receiver.handle_packet(at(1), &data(1, 1).cut(64, false).unwrap());
    assert!(receiver.requests_pull(), "a trimmed packet");
    assert_eq!(receiver.pull().map(|pull| say(&pull.packet)), Some("pull 2".to_string()));
    while receiver.poll_transmit().is_some() {}
    receiver.handle_packet(at(2), &Packet::new(ENDS.qp, ENDS.dst, Repr::Rts { target: 2 }));
    assert!(!receiver.requests_pull());
    assert_eq!(receiver.poll_transmit().map(|packet| say(&packet)), Some("pull 2".to_string()));
}

#[test]
fn a_trimmed_duplicate_is_no_demand() {
    let mut receiver = EqdsReceiver::new(&config(), ENDS);
    let repr = Repr::data(0).with_message(MessageId(0), 9).with_msn(Msn::of_pull_target(1));
    let data = Packet::new(ENDS.qp, ENDS.dst, repr).with_bytes(1_000);
    receiver.handle_packet(at(0), &data);
    assert!(receiver.requests_pull());
    assert_eq!(receiver.pull().map(|pull| say(&pull.packet)), Some("pull 1".to_string()));
    receiver.handle_packet(at(1), &data.cut(64, false).unwrap());
    assert!(!receiver.requests_pull() && receiver.pull().is_none());
}

#[test]
fn the_pacer_takes_turns_at_its_rate() {
    let mut pacer = PullPacer::new(&config(), &facts());
    assert_eq!(pacer.next_timeout(), None);
    pacer.join(7);
    pacer.join(8);
    assert_eq!(pacer.take_turn(at(5)), Some(7));
    let packet = config().payload.0 + config().header.0;
    pacer.pulled(at(5), packet);
    pacer.join(7);
    assert_eq!((pacer.next_timeout(), pacer.take_turn(at(5))), (Some(at(6)), None));
    assert_eq!(pacer.take_turn(at(6)), Some(8));
    pacer.pulled(at(6), packet);
    assert_eq!((pacer.take_turn(at(7)), pacer.next_timeout()), (Some(7), None));
}

#[test]
fn an_adapting_pacer_follows_marks_and_trims() {
    let mut pacer = PullPacer::at_rate(Rate::from_gbps(8)).adapting(Duration::from_us(10), 0.01);
    let gap = |pacer: &mut PullPacer, from: u64| {
        pacer.join(0);
        assert_eq!(pacer.take_turn(at(from)), Some(0));
        pacer.pulled(at(from), 10_000);
        pacer.join(0);
        let due = pacer.next_timeout().unwrap();
        assert_eq!(pacer.take_turn(due), Some(0));
        due.since(at(from)).0 as f64 / 1e6
    };
    assert_eq!(gap(&mut pacer, 0), 10.0);
    let plain = Packet::data(QpId(0), HostId(0), 1).with_bytes(1_000);
    let all_marked = plain.with_mark(true);
    for us in 0..10 {
        pacer.observe(at(us), &all_marked);
    }
    // The average share of marked packets is 0.5, so the pulls have the share 1 - (0.5 - 0.3) / 2 = 0.9 of the rate.
    assert!((gap(&mut pacer, 10) - 10.0 / 0.9).abs() < 0.01);
    // The average share of marked packets halves to 0.25, which is below 0.3. The pulls' share of the rate falls by
    // 0.1, since one of the ten packets was trimmed before the last hop, and does not rise in this period. Marks of
    // trimmed packets do not count.
    for us in 10..20 {
        let trimmed = plain.with_mark(true).cut(64, us % 2 == 0).unwrap();
        pacer.observe(at(us), if us < 12 { &trimmed } else { &plain });
    }
    assert!((gap(&mut pacer, 29) - 10.0 / (0.9 - 0.1)).abs() < 0.01, "one of ten");
    // Periods without a decrease raise the share by 0.01, 0.02, 0.04 and 0.08.
    assert!((gap(&mut pacer, 42) - 10.0 / (0.8 + 0.03)).abs() < 0.01, "two periods");
    assert!((gap(&mut pacer, 60) - 10.0 / (0.8 + 0.15)).abs() < 0.01, "two more");
    // A period with a mark raises the share by only 0.01.
    pacer.observe(at(61), &all_marked);
    for us in 62..70 {
        pacer.observe(at(us), &plain);
    }
    assert!((gap(&mut pacer, 71) - 10.0 / (0.95 + 0.01)).abs() < 0.01, "one mark");
    assert_eq!(gap(&mut pacer, 140), 10.0);
}

#[test]
fn periods_of_an_adapting_pacer_are_drawn() {
    let marked = Packet::data(QpId(0), HostId(0), 1).with_bytes(1_000).with_mark(true);
    // The first adaptation sets the share to 0.9, which lengthens the gap after the next pull.
    let first_end = |entity: u64| {
        let mut pacer = PullPacer::at_rate(Rate::from_gbps(8)).adapting(Duration::from_us(100), 0.01);
        pacer.draw_periods(stream(1, entity, Purpose::PullPeriods));
        pacer.observe(at(0), &marked);
        (0..200).find(|&us| {
            pacer.join(0);
            let now = at(us);
            pacer.take_turn(now);
            pacer.pulled(now, 900);
            pacer.join(0);
            let due = pacer.next_timeout().unwrap();
            pacer.take_turn(due);
            due.since(now) > Duration::from_ns(901)
        })
    };
    let ends: Vec<u64> = (0..20).map(|entity| first_end(entity).unwrap()).collect();
    assert!(ends.iter().all(|end| (75..=126).contains(end)), "{ends:?}");
    let (first, last) = (ends.iter().min().unwrap(), ends.iter().max().unwrap());
    assert!(last - first > 25, "{ends:?}");
}

/// A path on which packets are lost, trimmed and delayed at random until 1 ms.
struct Path {
    random: Stream,
    /// The share of packets that are lost, in percent.
    lost: u32,
    cut: u32,
    on_the_way: BTreeMap<(Time, u64), Packet>,
    sent: u64,
}

impl Path {
    fn carry(&mut self, now: Time, packet: Packet) {
        let bad = now < at(1_000);
        if bad && self.random.below(100) < self.lost {
            return;
        }
        let cut = bad && self.random.below(100) < self.cut;
        let packet = if cut { packet.cut(64, false).unwrap_or(packet) } else { packet };
        let delay = Duration::from_us(4 + if bad { u64::from(self.random.below(10)) } else { 0 });
        self.on_the_way.insert((now + delay, self.sent), packet);
        self.sent += 1;
    }
}

#[test]
fn delivers_over_a_path_that_loses() {
    for seed in 0..200 {
        let mut random = stream(seed, 1, Purpose::Transport);
        let (lost, cut) = (random.below(4) * 10, random.below(4) * 10);
        let messages = 1 + random.below(4);
        let mut path = Path { random, lost, cut, on_the_way: BTreeMap::new(), sent: 0 };
        let (mut sender, mut receiver) = (sender(), EqdsReceiver::new(&config(), ENDS));
        let mut pacer = PullPacer::new(&config(), &facts());
        let (mut delivered, mut acknowledged) = (Vec::new(), Vec::new());
        let mut last_pull = None;
        let mut packets = 0;
        for message in 0..messages {
            let count = 1 + path.random.below(300);
            packets += count;
            sender.post(MessageId(message), 936 * u64::from(count)).unwrap();
        }
        let mut now = Time::ZERO;
        while acknowledged.len() < messages as usize {
            assert!(now < at(10_000), "seed {seed}: {acknowledged:?} of {messages}");
            while let Some(entry) = path.on_the_way.first_entry().filter(|entry| entry.key().0 <= now) {
                let packet = entry.remove();
                if packet.is_for_receiver() {
                    delivered.extend(receiver.handle_packet(now, &packet));
                    while let Some(answer) = receiver.poll_transmit() {
                        path.carry(now, answer);
                    }
                    if receiver.requests_pull() {
                        pacer.join(0);
                    }
                } else {
                    sender.handle_packet(now, &packet);
                    acknowledged.extend(std::iter::from_fn(|| sender.poll_acknowledged()));
                }
            }
            if pacer.take_turn(now).is_some()
                && let Some(pull) = receiver.pull()
            {
                assert!(last_pull.is_none_or(|last| last + Duration::from_us(1) <= now));
                last_pull = Some(now);
                path.carry(now, pull.packet);
                pacer.pulled(now, pull.bytes);
                if receiver.requests_pull() {
                    pacer.join(0);
                }
            }
            if sender.next_timeout().is_some_and(|due| due <= now) {
                sender.handle_timeout(now);
            }
            let credit = sender.credit();
            if let Some(packet) = sender.poll_transmit(now) {
                let spent = u32::from(matches!(packet.repr, Repr::Data { .. }));
                assert_eq!(sender.credit(), credit - spent);
                path.carry(now, packet);
            }
            now += Duration::from_us(1);
        }
        delivered.sort();
        acknowledged.sort();
        let all: Vec<_> = (0..messages).map(MessageId).collect();
        assert_eq!((&delivered, &acknowledged), (&all, &all), "seed {seed}");
        assert_eq!(receiver.fresh_packets(), u64::from(packets));
    }
}

#[test]
fn the_share_of_an_adapting_pacer_has_a_floor() {
    for least in [0.01, 0.225] {
        let mut pacer = PullPacer::at_rate(Rate::from_gbps(8)).adapting(Duration::from_us(10), least);
        let trimmed = Packet::data(QpId(0), HostId(0), 1).with_bytes(1_000).cut(64, false).unwrap();
        for us in 0..50 {
            pacer.observe(at(us), &trimmed);
        }
        pacer.join(0);
        assert_eq!(pacer.take_turn(at(50)), Some(0));
        pacer.pulled(at(50), 10_000);
        pacer.join(0);
        let gap = pacer.next_timeout().unwrap().since(at(50)).0 as f64 / 1e6;
        assert!((gap - 10.0 / least).abs() < 0.01, "{least}: {gap}");
    }
}
