//! The TCP handshake monitor: section IV, figure 5.

use anabranch_base::{HostId, Purpose, Time, stream};
use anabranch_proto::program::themis_longhaul::{
    COOKIE_SLOT, HandshakeMonitor, MonitorVerdict, Segment, TCP_COOKIE_REGISTERS, TcpFlags, TcpRegister,
};
use proptest::prelude::*;
use std::collections::BTreeSet;

const CLIENT: HostId = HostId(3);
const SERVER: HostId = HostId(20);

/// Figure 5, segment by segment.
#[test]
fn a_client_dials_twice_and_the_control_plane_hears_of_it_once() {
    let mut monitor = monitor();
    let first = syn(CLIENT, 1000);
    let MonitorVerdict::Reply(syn_ack) = monitor.handle(us(5), &first) else { panic!("a cookie") };
    assert_eq!(
        syn_ack,
        Segment {
            src: SERVER,
            dst: CLIENT,
            src_port: first.dst_port,
            dst_port: first.src_port,
            flags: TcpFlags::SynAck,
            seq: syn_ack.seq,
            ack: 1001,
        }
    );
    assert_eq!(monitor.in_use(), 0, "nothing is kept of a SYN");

    let MonitorVerdict::Reply(rst) = monitor.handle(us(9), &ack_of(&syn_ack)) else { panic!("a RST") };
    let expected = Segment { flags: TcpFlags::Rst, seq: syn_ack.seq.wrapping_add(1), ack: 1001, ..syn_ack };
    assert_eq!(rst, expected, "with the sequence number that the client expects");
    assert_eq!(monitor.in_use(), 1);

    assert_eq!(monitor.handle(us(12), &syn(CLIENT, 7000)), MonitorVerdict::Forward);
    let from_server = Segment { seq: 99, ack: 7001, ..syn_ack };
    assert_eq!(monitor.handle(us(1013), &from_server), MonitorVerdict::Forward);
    let third = ack_of(&from_server);
    let report = MonitorVerdict::ForwardAndReport { src: CLIENT, dst: SERVER };
    assert_eq!(monitor.handle(us(1015), &third), report);
    assert_eq!(monitor.in_use(), 0, "the register is free for others");
    assert_eq!(monitor.handle(us(1016), &third), MonitorVerdict::Forward, "an ACK of the connection");

    let counters = monitor.counters();
    assert_eq!((counters.cookies, counters.recorded, counters.reports), (1, 1, 1));
    assert_eq!((counters.unverified, counters.overwritten), (1, 0));
}

/// A million forged clients leave half-open connections, and a million ACKs guess their cookies.
#[test]
fn a_flood_creates_no_state() {
    let mut monitor = monitor();
    let honest = connect_up_to_rst(&mut monitor, us(1), CLIENT);
    let before = monitor.registers().to_vec();
    let mut random = stream(3, 0, Purpose::Model);
    for i in 0..1_000_000 {
        let flood = Segment {
            src: HostId(random.next_u32()),
            dst: HostId(random.next_u32()),
            src_port: random.next_u32() as u16,
            ..syn(CLIENT, random.next_u32())
        };
        assert!(matches!(monitor.handle(us(i), &flood), MonitorVerdict::Reply(_)), "{flood:?}");
        let guess = Segment { flags: TcpFlags::Ack, ack: random.next_u32(), ..flood };
        assert_eq!(monitor.handle(us(i), &guess), MonitorVerdict::Forward, "{guess:?}");
    }
    assert_eq!(monitor.registers(), before, "neither more nor other registers");
    assert_eq!(monitor.registers().len(), TCP_COOKIE_REGISTERS as usize);
    assert_eq!((monitor.in_use(), monitor.counters().reports), (1, 0));
    assert_eq!(monitor.counters().unverified, 1_000_000);
    assert_eq!(monitor.handle(us(1_000_001), &honest), MonitorVerdict::Forward, "honest clients get through");
}

/// A cookie is valid until the end of the time slot that follows the one in which it was made.
#[test]
fn cookies_expire() {
    let slot = |n: u64| Time(COOKIE_SLOT.0 * n);
    let answered = |made: Time, comes: Time| {
        let mut monitor = monitor();
        let ack = ack_of(&cookie(&mut monitor, made, &syn(CLIENT, 1)));
        let is_taken = matches!(monitor.handle(comes, &ack), MonitorVerdict::Reply(_));
        assert_eq!(monitor.in_use(), usize::from(is_taken));
        is_taken
    };
    for made in [slot(0), Time(slot(1).0 - 1), Time(1)] {
        assert!(answered(made, Time(slot(1).0 - 1)));
        assert!(answered(made, Time(slot(2).0 - 1)));
        assert!(!answered(made, slot(2)), "made {made}");
        assert!(!answered(made, slot(3)));
    }
    assert!(answered(slot(1), Time(slot(3).0 - 1)));
    assert!(!answered(slot(1), slot(3)));
}

/// A cookie is valid only for one connection at one switch, and only if all its bits are right.
#[test]
fn wrong_cookies_are_refused() {
    let mut monitor = monitor();
    let good = ack_of(&cookie(&mut monitor, us(1), &syn(CLIENT, 1000)));
    let wrong = [
        Segment { ack: good.ack.wrapping_add(1), ..good },
        Segment { ack: good.ack.wrapping_sub(1), ..good },
        Segment { ack: good.ack ^ 1 << 31, ..good },
        Segment { src: HostId(4), ..good },
        Segment { dst: HostId(21), ..good },
        Segment { src: good.dst, dst: good.src, ..good },
        Segment { src_port: good.src_port + 1, ..good },
        Segment { dst_port: good.dst_port + 1, ..good },
        Segment { src_port: good.dst_port, dst_port: good.src_port, ..good },
    ];
    for wrong in wrong {
        assert_eq!(monitor.handle(us(2), &wrong), MonitorVerdict::Forward, "{wrong:?}");
    }
    assert_eq!((monitor.in_use(), monitor.counters().unverified), (0, wrong.len() as u64));
    let mut elsewhere = HandshakeMonitor::new(TCP_COOKIE_REGISTERS, &mut stream(1, 2, Purpose::Program));
    assert_eq!(elsewhere.handle(us(2), &good), MonitorVerdict::Forward, "another switch's secret");
    assert!(matches!(monitor.handle(us(2), &good), MonitorVerdict::Reply(_)));
}

#[test]
fn segments_that_come_twice_change_nothing() {
    let mut monitor = monitor();
    let first = syn(CLIENT, 1000);
    let cookie = cookie(&mut monitor, us(0), &first);
    assert_eq!(monitor.handle(us(1), &first), MonitorVerdict::Reply(cookie), "the same cookie");
    let ack = ack_of(&cookie);
    let reset = monitor.handle(us(2), &ack);
    assert_eq!(monitor.handle(us(3), &ack), reset, "no third segment: the client has not dialled again");
    assert_eq!((monitor.in_use(), monitor.counters().overwritten), (1, 0));
    for at in 4..7 {
        assert_eq!(monitor.handle(us(at), &syn(CLIENT, 2000)), MonitorVerdict::Forward);
    }
    let third = Segment { seq: 2001, ack: 5, ..ack };
    assert!(matches!(monitor.handle(us(7), &third), MonitorVerdict::ForwardAndReport { .. }));
    assert_eq!(monitor.handle(us(8), &third), MonitorVerdict::Forward);
    assert_eq!(monitor.counters().reports, 1);
}

/// After the RST, the client's connection is recorded. An ACK with a wrong number that arrives before the client's
/// second SYN is not taken for the third segment of the second handshake.
#[test]
fn a_record_alone_is_no_handshake() {
    let mut monitor = monitor();
    let redial = connect_up_to_rst(&mut monitor, us(0), CLIENT);
    let stray = Segment { flags: TcpFlags::Ack, seq: 1, ack: 1, ..redial };
    assert_eq!(monitor.handle(us(1), &stray), MonitorVerdict::Forward);
    assert_eq!((monitor.in_use(), monitor.counters().reports), (1, 0));
}

#[test]
fn all_else_is_forwarded() {
    let mut monitor = monitor();
    for flags in [TcpFlags::SynAck, TcpFlags::Rst] {
        assert_eq!(monitor.handle(us(1), &Segment { flags, ..syn(CLIENT, 1) }), MonitorVerdict::Forward);
    }
    let redial = connect_up_to_rst(&mut monitor, us(1), CLIENT);
    for flags in [TcpFlags::SynAck, TcpFlags::Rst] {
        assert_eq!(monitor.handle(us(2), &Segment { flags, ..redial }), MonitorVerdict::Forward);
    }
    assert_eq!(monitor.in_use(), 1, "a RST ends no record");
}

/// Two connections share one register. The later one takes it, so that the earlier one has to connect a third time.
#[test]
fn a_collision_costs_the_earlier_connection_another_round() {
    let mut monitor = HandshakeMonitor::new(1, &mut stream(1, 1, Purpose::Program));
    let other = HostId(4);
    let redial = connect_up_to_rst(&mut monitor, us(0), CLIENT);
    assert_eq!(monitor.counters().overwritten, 0);
    let other_redial = connect_up_to_rst(&mut monitor, us(1), other);
    assert_eq!((monitor.in_use(), monitor.counters().overwritten), (1, 1));
    assert!(matches!(monitor.handle(us(2), &redial), MonitorVerdict::Reply(_)), "a cookie once more");
    assert_eq!(monitor.handle(us(3), &other_redial), MonitorVerdict::Forward);
    let stray = Segment { flags: TcpFlags::Ack, seq: 2, ack: 9, ..redial };
    assert_eq!(monitor.handle(us(4), &stray), MonitorVerdict::Forward, "not taken for the other's");
    let third = Segment { flags: TcpFlags::Ack, seq: 2, ack: 9, ..other_redial };
    let report = MonitorVerdict::ForwardAndReport { src: other, dst: SERVER };
    assert_eq!(monitor.handle(us(5), &third), report);
    let redial = connect_up_to_rst(&mut monitor, us(6), CLIENT);
    assert_eq!(monitor.handle(us(7), &redial), MonitorVerdict::Forward);
    assert_eq!(monitor.counters().overwritten, 1);
}

/// Clients of one rack that connect to one server fill the array evenly, and rarely have the same cookie.
#[test]
fn neighbours_are_told_apart() {
    let mut monitor = monitor();
    let mut cookies = BTreeSet::new();
    for i in 0..1 << 16 {
        let neighbour = Segment { src_port: 49_152 + (i >> 6) as u16, ..syn(HostId(i & 63), 0) };
        cookies.insert(cookie(&mut monitor, us(0), &neighbour).seq);
        if i < 1 << 10 {
            let ack = ack_of(&cookie(&mut monitor, us(0), &neighbour));
            assert!(matches!(monitor.handle(us(0), &ack), MonitorVerdict::Reply(_)));
        }
    }
    assert!(cookies.len() > (1 << 16) - 4, "half a pair is to be expected: {}", cookies.len());
    // 1024 balls in 1024 bins leave 1024 / e of the bins empty.
    assert!((600..700).contains(&monitor.in_use()), "{}", monitor.in_use());
    let fingerprints: BTreeSet<u32> = monitor.registers().iter().filter_map(fingerprint).collect();
    assert_eq!(fingerprints.len(), monitor.in_use());
    assert!(fingerprints.last() < Some(&(1 << 30)), "30 bits, and 2 for what it means");
}

/// An action of a client in the property below.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Sends a SYN.
    Dial,
    /// Answers the last SYN-ACK that the client received, from the switch or from the server.
    Answer,
    /// Sends an ACK with an arbitrary acknowledgement number.
    Forge(u32),
}

proptest! {
    /// Holds for any actions of clients in any order. A client is reported to the control plane only after it has
    /// returned its cookie and connected again. Registers contain only clients that have returned their cookies.
    /// Without disturbance, each client succeeds.
    #[test]
    fn only_those_who_answer_are_recorded(
        registers in 1u32..6,
        steps in prop::collection::vec((0u32..5, steps()), 0..200),
    ) {
        let mut monitor = HandshakeMonitor::new(registers, &mut stream(7, 0, Purpose::Program));
        // For each client: the last SYN-ACK that it received, whether the switch has recorded the client (as far as
        // the client can tell from the answers), and whether the switch has forwarded a SYN of the client since then.
        let mut clients = [(None, false, false); 5];
        for (n, (client, step)) in steps.into_iter().enumerate() {
            let at = us(n as u64);
            let (heard, is_recorded, has_dialled) = &mut clients[client as usize];
            let before = monitor.registers().to_vec();
            match step {
                Step::Dial => match monitor.handle(at, &syn(HostId(client), n as u32)) {
                    MonitorVerdict::Reply(cookie) => {
                        prop_assert_eq!(monitor.registers(), &before[..]);
                        *heard = Some(cookie);
                    }
                    verdict => {
                        prop_assert_eq!(verdict, MonitorVerdict::Forward);
                        prop_assert!(*is_recorded);
                        *has_dialled = true;
                        *heard = Some(from_server(client, n as u32));
                    }
                },
                Step::Answer | Step::Forge(_) => {
                    let ack = match (step, *heard) {
                        (Step::Forge(ack), _) => Segment { flags: TcpFlags::Ack, ack, ..syn(HostId(client), 1) },
                        (_, Some(syn_ack)) => ack_of(&syn_ack),
                        (_, None) => continue,
                    };
                    match monitor.handle(at, &ack) {
                        MonitorVerdict::ForwardAndReport { src, dst } => {
                            prop_assert_eq!((src, dst), (HostId(client), SERVER));
                            prop_assert!(*is_recorded && *has_dialled);
                            (*is_recorded, *has_dialled) = (false, false);
                        }
                        MonitorVerdict::Reply(rst) => {
                            prop_assert_eq!((rst.flags, rst.seq), (TcpFlags::Rst, ack.ack));
                            prop_assert!(matches!(step, Step::Answer));
                            (*is_recorded, *has_dialled) = (true, false);
                        }
                        MonitorVerdict::Forward => prop_assert_eq!(monitor.registers(), &before[..]),
                    }
                }
            }
            let recorded = clients.iter().filter(|(_, is_recorded, _)| *is_recorded).count();
            prop_assert!(monitor.in_use() <= recorded.min(registers as usize));
        }
        for client in 0..5 {
            let reports = monitor.counters().reports;
            for dial in 0..2 {
                let syn_ack = match monitor.handle(us(500), &syn(HostId(client), dial)) {
                    MonitorVerdict::Reply(cookie) => cookie,
                    _ => from_server(client, dial),
                };
                if matches!(monitor.handle(us(500), &ack_of(&syn_ack)), MonitorVerdict::ForwardAndReport { .. }) {
                    break;
                }
            }
            prop_assert_eq!(monitor.counters().reports, reports + 1, "client {}", client);
        }
    }
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![3 => Just(Step::Dial), 3 => Just(Step::Answer), 1 => any::<u32>().prop_map(Step::Forge)]
}

fn monitor() -> HandshakeMonitor {
    HandshakeMonitor::new(TCP_COOKIE_REGISTERS, &mut stream(1, 1, Purpose::Program))
}

fn us(us: u64) -> Time {
    Time(us * 1_000_000)
}

fn syn(src: HostId, seq: u32) -> Segment {
    Segment { src, dst: SERVER, src_port: 50_000, dst_port: 18_515, flags: TcpFlags::Syn, seq, ack: 0 }
}

/// The answer of a server to a SYN.
fn from_server(client: u32, seq: u32) -> Segment {
    let Segment { src, dst, src_port, dst_port, .. } = syn(HostId(client), seq);
    let (flags, ack) = (TcpFlags::SynAck, seq + 1);
    Segment { src: dst, dst: src, src_port: dst_port, dst_port: src_port, flags, seq: 77_777, ack }
}

/// The answer of a client to a SYN-ACK.
fn ack_of(syn_ack: &Segment) -> Segment {
    Segment {
        src: syn_ack.dst,
        dst: syn_ack.src,
        src_port: syn_ack.dst_port,
        dst_port: syn_ack.src_port,
        flags: TcpFlags::Ack,
        seq: syn_ack.ack,
        ack: syn_ack.seq.wrapping_add(1),
    }
}

fn cookie(monitor: &mut HandshakeMonitor, now: Time, syn: &Segment) -> Segment {
    match monitor.handle(now, syn) {
        MonitorVerdict::Reply(cookie) => cookie,
        verdict => panic!("no cookie: {verdict:?}"),
    }
}

/// Lets a client connect for the first time, up to the RST. Returns the SYN of its second attempt.
fn connect_up_to_rst(monitor: &mut HandshakeMonitor, now: Time, client: HostId) -> Segment {
    let ack = ack_of(&cookie(monitor, now, &syn(client, 1)));
    assert!(matches!(monitor.handle(now, &ack), MonitorVerdict::Reply(_)));
    syn(client, 2)
}

fn fingerprint(register: &TcpRegister) -> Option<u32> {
    match *register {
        TcpRegister::Empty => None,
        TcpRegister::Recorded(fingerprint) | TcpRegister::SynForwarded(fingerprint) => Some(fingerprint),
    }
}
