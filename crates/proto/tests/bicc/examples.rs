use super::*;
use anabranch_base::{Purpose, stream};
use anabranch_proto::program::ProgramConfig;

const LONG: Duration = Duration::from_us(4_000);
const OTHER: HostId = HostId(6);

impl Esw {
    fn send(&mut self, qp: u32, psn: u32, dst: HostId) -> Vec<Sent> {
        sent(&self.pass(data(qp, psn, dst), SENDER))
    }

    /// Passes an answer of a host and checks that it is forwarded. Returns the other forwarded packets.
    fn hear(&mut self, qp: u32, src: HostId, repr: Repr) -> Vec<Sent> {
        let packet = answer(qp, SENDER, repr);
        let out = self.pass(packet, src);
        assert_eq!(out[0], packet);
        sent(&out[1..])
    }
}

fn sent(packets: &[Packet]) -> Vec<Sent> {
    packets.iter().map(|packet| (packet.qp.0, psn(packet))).collect()
}

fn us(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
}

#[test]
fn what_the_window_does_not_admit_waits_for_acks() {
    let mut esw = Esw::new(&config(3, LONG));
    let passed: Vec<_> = (0..7).map(|psn| esw.send(0, psn, RECEIVER)).collect();
    assert_eq!(passed.concat(), [(0, 0), (0, 1), (0, 2)]);
    assert_eq!(esw.hear(0, RECEIVER, ack(1)), [(0, 3)]);
    assert_eq!(esw.hear(0, RECEIVER, ack(1)), [], "heard before");
    assert_eq!(esw.hear(0, RECEIVER, ack(3)), [(0, 4), (0, 5)]);
    assert_eq!(esw.send(0, 7, RECEIVER), [], "behind those that wait");
    assert_eq!(esw.hear(0, RECEIVER, ack(6)), [(0, 6), (0, 7)]);
    // The window has room for one more packet.
    assert_eq!(esw.send(0, 8, RECEIVER), [(0, 8)]);
    assert_eq!(esw.send(0, 9, RECEIVER), []);
    assert_eq!(esw.hear(0, RECEIVER, ack(9)), [(0, 9)]);
    assert_eq!(esw.hear(0, RECEIVER, ack(10)), []);
    assert_eq!(esw.program.next_timeout(), None, "nothing is on its way");
    assert_eq!(esw.count("held_packets"), 6);
    assert_eq!(esw.count("released_packets"), 6);
    assert_eq!(esw.count("max_queue_bytes"), 4 * u64::from(PACKET));
    assert_eq!(esw.count("max_held_bytes"), 4 * u64::from(PACKET));
    assert_eq!(esw.count("max_in_flight_bytes"), 3 * u64::from(PACKET));
    assert_eq!(esw.count("given_up_packets") + esw.count("expired_packets"), 0);
}

/// Section II-D, rate limiting by IP address: the packets of a queue pair wait for packets of other queue pairs to the
/// same host, but not for packets to other hosts.
#[test]
fn queue_pairs_of_a_host_share_its_queue() {
    let mut esw = Esw::new(&config(2, LONG));
    for psn in 0..4 {
        esw.send(0, psn, RECEIVER);
    }
    assert_eq!(esw.send(1, 0, RECEIVER), [], "nothing of it is on its way");
    assert_eq!(esw.send(0, 4, RECEIVER), []);
    assert_eq!(esw.send(2, 0, OTHER), [(2, 0)]);
    assert_eq!(esw.send(2, 1, OTHER), [(2, 1)]);
    assert_eq!(esw.send(2, 2, OTHER), []);
    assert_eq!(esw.count("max_queue_bytes"), 4 * u64::from(PACKET));
    assert_eq!(esw.count("max_held_bytes"), 5 * u64::from(PACKET));
    assert_eq!(esw.hear(0, RECEIVER, ack(2)), [(0, 2), (0, 3)]);
    // Packets leave in the order of arrival. An ACK makes room only for packets to the host that sent the ACK.
    assert_eq!(esw.hear(0, RECEIVER, ack(4)), [(1, 0), (0, 4)]);
    assert_eq!(esw.hear(1, RECEIVER, ack(1)), []);
    assert_eq!(esw.hear(2, OTHER, ack(1)), [(2, 2)]);
}

#[test]
fn the_window_is_in_bytes() {
    let mut esw = Esw::new(&of_bytes(2_000, LONG));
    let mut send =
        |psn, wire_bytes| sent(&esw.pass(Packet { wire_bytes, ..data(0, psn, RECEIVER) }, SENDER)).len();
    assert_eq!([send(0, 1_000), send(1, 999), send(2, 2)], [1, 1, 0]);
    assert_eq!(send(3, 1), 0, "the first in the queue is too large, and it keeps its place");
    assert_eq!(esw.hear(0, RECEIVER, ack(1)), [(0, 2), (0, 3)]);
    let mut esw = Esw::new(&of_bytes(2_000, LONG));
    let mut send =
        |psn| sent(&esw.pass(Packet { wire_bytes: 1_000, ..data(0, psn, RECEIVER) }, SENDER)).len();
    assert_eq!([send(0), send(1), send(2)], [1, 1, 0], "all of the window may be used");
}

#[test]
fn a_window_below_a_packet_lets_one_after_another_pass() {
    let mut esw = Esw::new(&of_bytes(1, LONG));
    for psn in 0..3 {
        esw.send(0, psn, RECEIVER);
    }
    assert_eq!(esw.hear(0, RECEIVER, ack(1)), [(0, 1)]);
    assert_eq!(esw.hear(0, RECEIVER, ack(2)), [(0, 2)]);
}

#[test]
fn only_what_comes_from_outside_counts() {
    let mut esw = Esw::new(&config(1, LONG));
    let (here, there) = (HostId(FIRST_OWN), HostId(FIRST_OWN - 1));
    for (src, dst) in [(here, RECEIVER), (here, there), (SENDER, there)] {
        for psn in 0..4 {
            let packet = data(9, psn, dst);
            assert_eq!(esw.pass(packet, src), [packet]);
        }
    }
    assert_eq!(esw.program.next_timeout(), None);
    esw.send(0, 0, RECEIVER);
    esw.send(0, 1, RECEIVER);
    let acks = [(SENDER, RECEIVER), (RECEIVER, HostId(FIRST_OWN)), (SENDER, HostId(2))];
    for (src, dst) in acks {
        for repr in [ack(1), nack(1)] {
            let packet = answer(0, dst, repr);
            assert_eq!(esw.pass(packet, src), [packet], "no answer to what was held");
        }
    }
    let cnp = answer(0, SENDER, Repr::Cnp);
    assert_eq!(esw.pass(cnp, RECEIVER), [cnp]);
    assert_eq!(esw.hear(1, RECEIVER, ack(1)), [], "of another queue pair");
    assert_eq!(esw.hear(0, RECEIVER, ack(1)), [(0, 1)]);
}

#[test]
fn one_data_centre_needs_no_loop() {
    let facts = ProgramFacts { sites: Sites::default(), ..facts() };
    let program = Bicc::new(&config(1, LONG), &facts, stream(1, 0, Purpose::Program));
    let mut esw = Esw { program, ..Esw::new(&config(1, LONG)) };
    assert_eq!([0, 1].map(|psn| esw.send(0, psn, RECEIVER).len()), [1, 1]);
}

#[test]
fn a_nack_is_cumulative() {
    let mut esw = Esw::new(&config(4, LONG));
    for psn in 0..8 {
        esw.send(0, psn, RECEIVER);
    }
    assert_eq!(esw.hear(0, RECEIVER, nack(0)), []);
    assert_eq!(esw.hear(0, RECEIVER, nack(2)), [(0, 4), (0, 5)]);
    assert_eq!(esw.hear(0, RECEIVER, nack(2)), []);
}

/// IRN's NIC keeps packets that arrive out of order, and its ACKs name them.
#[test]
fn a_selective_ack_counts_what_it_names() {
    let mut esw = Esw::new(&config(4, LONG));
    for psn in 0..10 {
        esw.send(0, psn, RECEIVER);
    }
    assert_eq!(esw.hear(0, RECEIVER, selective_ack(0, 2, 0b1)), [(0, 4)]);
    assert_eq!(esw.hear(0, RECEIVER, selective_ack(0, 2, 0b1)), []);
    assert_eq!(esw.hear(0, RECEIVER, selective_ack(0, 1, 0b1111)), [(0, 5), (0, 6), (0, 7)]);
    assert_eq!(esw.hear(0, RECEIVER, selective_ack(1, u32::MAX, u64::MAX)), [(0, 8)]);
}

/// A go-back-N receiver drops all packets that follow a loss. When the lost packet is retransmitted, it waits in the
/// queue behind packets that the receiver will drop, and dropped packets fill the window. Each further copy of a packet
/// in the window makes room for one packet, so that the lost packet finally reaches the receiver.
#[test]
fn a_gap_before_the_switch_stops_nobody() {
    let mut esw = Esw::new(&config(3, LONG));
    let passed: Vec<_> = (1..8).map(|psn| esw.send(0, psn, RECEIVER)).collect();
    assert_eq!(passed.concat(), [(0, 1), (0, 2), (0, 3)]);
    assert_eq!(esw.send(1, 0, RECEIVER), [], "another queue pair suffers");
    assert_eq!(esw.hear(0, RECEIVER, nack(0)), []);
    assert_eq!(esw.send(0, 0, RECEIVER), [], "no copy of it was sent on");
    assert_eq!(esw.send(0, 1, RECEIVER), [(0, 4)]);
    assert_eq!(esw.send(0, 2, RECEIVER), [(0, 5)]);
    assert_eq!(esw.send(0, 3, RECEIVER), [(0, 6)]);
    assert_eq!(esw.send(0, 4, RECEIVER), [(0, 7)]);
    assert_eq!(esw.send(0, 5, RECEIVER), [(1, 0)]);
    assert_eq!(esw.hear(1, RECEIVER, ack(1)), [(0, 0)]);
    assert_eq!(esw.hear(0, RECEIVER, ack(1)), [(0, 1)]);
    assert_eq!(esw.count("given_up_packets"), 5);
    assert_eq!(esw.hear(0, RECEIVER, ack(8)), [(0, 2), (0, 3), (0, 4)], "whatever copy it was for");
    assert_eq!(esw.hear(0, RECEIVER, ack(8)), [(0, 5)], "below the ePSN as well");
}

/// PSN 0 is lost before the switch, so that a go-back-N receiver drops all packets until PSN 0 arrives. The copies of
/// PSNs 1 to 7, which would make room in the full window, are lost too. Each dropped packet counts as in flight for one
/// round trip at most.
#[test]
fn what_a_receiver_drops_counts_for_a_round_trip() {
    let mut esw = Esw::new(&config(3, LONG));
    for psn in 1..8 {
        esw.send(0, psn, RECEIVER);
    }
    assert_eq!(esw.hear(0, RECEIVER, nack(0)), []);
    assert_eq!(esw.send(0, 0, RECEIVER), [], "of 1 to 7 no copy comes");
    let round_trip = facts().path.line_rate.time_for(3 * u64::from(PACKET));
    let mut passed = Vec::new();
    for trip in 1..=2 {
        let due = Time::ZERO + round_trip * trip;
        assert_eq!(esw.program.next_timeout(), Some(due));
        esw.now = due;
        passed.extend(sent(&esw.time_out()));
    }
    assert_eq!(passed, [(0, 4), (0, 5), (0, 6), (0, 7), (0, 0)]);
    assert_eq!(esw.hear(0, RECEIVER, ack(1)), []);
    // From here on, the host receives the expected packets.
    esw.now += round_trip;
    assert_eq!(esw.time_out(), []);
    esw.send(0, 1, RECEIVER);
    assert_eq!(esw.program.next_timeout(), Some(esw.now + LONG));
}

#[test]
fn duplicates_count_until_the_next_answer() {
    let mut esw = Esw::new(&config(2, LONG));
    esw.send(0, 0, RECEIVER);
    esw.send(0, 1, RECEIVER);
    assert_eq!(esw.hear(0, RECEIVER, ack(2)), []);
    assert_eq!(esw.send(0, 0, RECEIVER), [(0, 0)]);
    assert_eq!(esw.send(0, 2, RECEIVER), [(0, 2)]);
    assert_eq!(esw.send(0, 1, RECEIVER), [], "two are on their way");
    assert_eq!(esw.hear(0, RECEIVER, ack(2)), [(0, 1)]);
    assert_eq!(esw.hear(0, RECEIVER, ack(3)), []);
    assert_eq!(esw.program.next_timeout(), None);
}

#[test]
fn copies_that_waited_together_count_each() {
    let mut esw = Esw::new(&config(2, LONG));
    for psn in [0, 1, 2, 2, 3, 4, 5] {
        esw.send(0, psn, RECEIVER);
    }
    assert_eq!(esw.hear(0, RECEIVER, ack(2)), [(0, 2), (0, 2)]);
    assert_eq!(esw.send(0, 2, RECEIVER), [(0, 3), (0, 4)]);
    assert_eq!(esw.count("given_up_packets"), 2);
}

#[test]
fn what_nothing_is_heard_of_is_released_in_time() {
    let mut esw = Esw::new(&config(2, Duration::from_us(100)));
    esw.send(0, 0, RECEIVER);
    esw.now = us(10);
    esw.send(0, 1, RECEIVER);
    esw.now = us(20);
    for psn in 0..3 {
        esw.send(1, psn, RECEIVER);
    }
    assert_eq!(esw.program.next_timeout(), Some(us(100)));
    esw.now = us(100);
    assert_eq!(sent(&esw.time_out()), [(1, 0)]);
    assert_eq!(esw.program.next_timeout(), Some(us(110)));
    esw.now = us(105);
    assert_eq!(sent(&esw.time_out()), [], "too early");
    assert_eq!(esw.hear(0, RECEIVER, ack(2)), [(1, 1)]);
    assert_eq!(esw.program.next_timeout(), Some(us(200)), "that of the packet sent on at 100 us");
    esw.now = us(205);
    assert_eq!(sent(&esw.time_out()), [(1, 2)], "all that is due, and no more");
    assert_eq!(esw.program.next_timeout(), Some(us(305)));
    assert_eq!(esw.hear(1, RECEIVER, ack(3)), []);
    assert_eq!(esw.program.next_timeout(), None);
    assert_eq!(esw.count("expired_packets"), 3);
    assert_eq!(esw.count("max_wait_ns"), 185_000);
}

#[test]
fn the_timer_waits_for_the_oldest_that_counts() {
    let mut esw = Esw::new(&config(9, Duration::from_us(100)));
    for qp in 0..4 {
        esw.now = us(qp.into());
        esw.send(qp, 0, RECEIVER);
    }
    assert_eq!(esw.hear(1, RECEIVER, ack(1)), []);
    assert_eq!(esw.program.next_timeout(), Some(us(100)));
    assert_eq!(esw.hear(0, RECEIVER, ack(1)), []);
    assert_eq!(esw.program.next_timeout(), Some(us(102)));
    // A retransmitted copy expires later than the first copy would have.
    esw.now = us(50);
    assert_eq!(esw.send(2, 0, RECEIVER), [(2, 0)]);
    assert_eq!(esw.program.next_timeout(), Some(us(103)));
    esw.now = us(150);
    assert_eq!(esw.time_out(), []);
    assert_eq!((esw.count("expired_packets"), esw.program.next_timeout()), (2, None));
}

/// Section VII-A: the largest RTT within a data centre is 8 us, which at 100 Gb/s is a BDP of 100 KB. A packet of 1,048
/// B takes 84 ns, so a host at line rate whose ACKs take 8 us has 96 packets in flight when it sends the next one. With
/// a window of 97 packets (101,656 B) the host never waits. With a window of 99,000 B it waits.
#[test]
fn one_bdp_lets_a_host_have_its_line_rate() {
    let run = |window: u64| {
        let mut esw = Esw::new(&of_bytes(window, LONG));
        let (wire, rtt) = (Duration::from_ns(84), Duration::from_us(8));
        for psn in 0..1_000 {
            esw.now = Time::ZERO + wire * u64::from(psn);
            let acked = esw.now.since(Time::ZERO + rtt).0 / wire.0;
            esw.hear(0, RECEIVER, ack(acked as u32));
            esw.send(0, psn, RECEIVER);
        }
        esw.count("held_packets")
    };
    assert_eq!(run(101_656), 0);
    assert!(run(99_000) > 100);
}

#[test]
fn it_is_a_program_like_the_others() {
    let config = ProgramConfig::Bicc(config(1, LONG));
    assert_eq!(config.path_entries(), None);
    let bits: u32 = config.state().iter().map(|field| field.bits * field.count).sum();
    assert_eq!(bits, 120);
    let mut program = config.build(&facts(), stream(1, 0, Purpose::Program));
    let at =
        Passage { now: us(1), src: SENDER, port: 3, from_host: false, to_host: false, ports: 4, queued: 0 };
    let (mut out, mut marked) = (Vec::new(), data(0, 0, RECEIVER));
    assert_eq!(program.ingress(&mut marked, &at, &mut out), Verdict::Forward);
    assert_eq!(program.ingress(&mut data(0, 1, RECEIVER), &at, &mut out), Verdict::HoldOutside);
    program.egress(&mut marked, &at, &mut out);
    assert_eq!(
        (out, marked),
        (Vec::new(), data(0, 0, RECEIVER)),
        "no CNPs: their senders could not tell whose"
    );
    assert_eq!(program.next_timeout(), Some(us(4_001)));
}

#[test]
fn with_the_scope_of_a_switch_hosts_share_its_window() {
    let mut esw = Esw::new(&BiccConfig { scope: BiccScope::Switch, ..config(2, LONG) });
    assert_eq!(esw.send(0, 0, RECEIVER), [(0, 0)]);
    assert_eq!(esw.send(0, 1, RECEIVER), [(0, 1)]);
    assert_eq!(esw.send(2, 0, OTHER), [], "nothing is on its way to this host");
    assert_eq!(esw.send(0, 2, RECEIVER), []);
    assert_eq!(esw.hear(0, RECEIVER, ack(1)), [(2, 0)], "first in, first out");
    assert_eq!(esw.hear(2, OTHER, ack(1)), [(0, 2)]);
    assert_eq!(esw.hear(0, RECEIVER, ack(3)), []);
    assert_eq!(esw.count("max_in_flight_bytes"), 2 * u64::from(PACKET));
}

/// The CNPs of the near-source loop are not simulated.
#[test]
fn the_near_source_loop_may_take_the_mark_away() {
    let (here, there) = (HostId(FIRST_OWN), HostId(FIRST_OWN - 1));
    for clear_marks in [false, true] {
        let mut esw = Esw::new(&BiccConfig { clear_marks, ..config(1, LONG) });
        let mut marked = |src, dst| {
            let at =
                Passage { now: us(1), src, port: 0, from_host: false, to_host: false, ports: 4, queued: 0 };
            let (mut packet, mut out) = (data(0, 0, dst), Vec::new());
            esw.program.egress(&mut packet, &at, &mut out);
            assert!(out.is_empty());
            packet.marked
        };
        assert_eq!(marked(here, there), !clear_marks);
        assert!(marked(there, here) && marked(here, RECEIVER), "only what leaves the data centre");
        if clear_marks {
            assert_eq!(esw.count("marks_cleared"), 1);
        }
    }
}

/// A queue marks a packet by the bytes that stay in the queue when the packet leaves.
#[test]
fn a_queue_may_mark() {
    let packet = u64::from(PACKET);
    let (ecn_kmin, ecn_kmax) = (Bytes(packet), Bytes(packet));
    let mut esw = Esw::new(&BiccConfig { ecn: true, ecn_kmin, ecn_kmax, ..config(1, LONG) });
    let unmarked = |psn| data(0, psn, RECEIVER).with_mark(false);
    for psn in 0..4 {
        let _ = esw.program.ingress(&mut unmarked(psn), &passage(), &mut Vec::new());
    }
    let mut next = |acknowledged: u32| {
        let mut out = Vec::new();
        esw.program.ingress(&mut answer(0, SENDER, ack(acknowledged)), &from_receiver(), &mut out);
        out.iter().map(|emitted| (psn(&emitted.packet), emitted.packet.marked)).collect::<Vec<_>>()
    };
    assert_eq!(next(1), [(1, true)], "two packets are left");
    assert_eq!(next(2), [(2, false)]);
    assert_eq!(next(3), [(3, false)]);
    assert_eq!(esw.count("queue_marks"), 1);
}

fn passage() -> Passage {
    Passage { now: us(1), src: SENDER, port: 0, from_host: false, to_host: false, ports: 4, queued: 0 }
}

fn from_receiver() -> Passage {
    Passage { src: RECEIVER, ..passage() }
}
