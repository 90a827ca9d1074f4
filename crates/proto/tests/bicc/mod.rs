//! BiCC as Themis-longhaul simulates it (sections II-D and VII-A).

mod examples;
mod fabric;
mod model;
mod properties;

use anabranch_base::{Bytes, Duration, HostId, MessageId, Purpose, QpId, Rate, Time, stream};
use anabranch_proto::program::{
    Bicc, BiccConfig, BiccScope, Emitted, Held, Passage, Program, ProgramFacts, Sites, Tors, Verdict,
};
use anabranch_proto::{Packet, PathFacts, Repr, Size, Span};

/// Hosts with lower numbers than this are in the other data centre. The rest are in the switch's own data centre.
const FIRST_OWN: u32 = 4;
const HOSTS: usize = 8;
const SENDER: HostId = HostId(1);
const RECEIVER: HostId = HostId(5);
const PACKET: u16 = 1_048;

/// The queue pair and PSN of a data packet.
type Sent = (u32, u32);

fn facts() -> ProgramFacts {
    let (base_rtt, line_rate) = (Duration::from_us(1_012), Rate::from_gbps(100));
    let path = PathFacts {
        base_rtt,
        bdp: Bytes(12_650_000),
        packet: Bytes(PACKET.into()),
        line_rate,
        port_rate: line_rate,
        queue: Bytes(1_000_000),
    };
    let of_host = (0..HOSTS as u32).map(|host| u16::from(host >= FIRST_OWN)).collect();
    ProgramFacts {
        path,
        ack: Bytes(60),
        paths: 4,
        path_map: None,
        sites: Sites { of_host, own: 1 },
        tors: Tors::default(),
    }
}

fn config(window_packets: u64, release: Duration) -> BiccConfig {
    of_bytes(window_packets * u64::from(PACKET), release)
}

fn of_bytes(window: u64, release: Duration) -> BiccConfig {
    BiccConfig {
        window: Size::Bytes(Bytes(window)),
        release: Span::Time(release),
        scope: BiccScope::Destination,
        clear_marks: false,
        ecn: false,
        ecn_kmin: Bytes(0),
        ecn_kmax: Bytes(0),
        ecn_pmax: 1.0,
    }
}

fn data(qp: u32, psn: u32, dst: HostId) -> Packet {
    let repr = Repr::data(psn).with_message(MessageId(0), 1_000);
    Packet::new(QpId(qp), dst, repr).with_bytes(PACKET).with_ev(3).with_mark(true)
}

fn answer(qp: u32, dst: HostId, repr: Repr) -> Packet {
    Packet::new(QpId(qp), dst, repr).with_bytes(60)
}

fn ack(cumulative: u32) -> Repr {
    selective_ack(cumulative, cumulative, 0)
}

fn selective_ack(cumulative: u32, base: u32, received: u64) -> Repr {
    Repr::ack(cumulative).with_received(base, received)
}

fn nack(psn: u32) -> Repr {
    Repr::nack(psn)
}

fn psn(packet: &Packet) -> u32 {
    match packet.repr {
        Repr::Data { psn, .. } => psn,
        _ => panic!("no data: {packet:?}"),
    }
}

/// The external switch with the packets that it holds.
struct Esw {
    program: Bicc,
    now: Time,
    kept: Vec<Packet>,
}

impl Esw {
    fn new(config: &BiccConfig) -> Self {
        Esw {
            program: Bicc::new(config, &facts(), stream(1, 0, Purpose::Program)),
            now: Time::ZERO,
            kept: Vec::new(),
        }
    }

    /// Lets a packet arrive at the switch. Returns the packets that are sent, starting with the packet itself if it is
    /// forwarded immediately.
    fn pass(&mut self, packet: Packet, src: HostId) -> Vec<Packet> {
        let port = packet.qp.0 as u16 + 2;
        let at = Passage { now: self.now, src, port, from_host: false, to_host: false, ports: 4, queued: 0 };
        let (mut seen, mut out) = (packet, Vec::new());
        let mut passed = Vec::new();
        match self.program.ingress(&mut seen, &at, &mut out) {
            Verdict::Forward => passed.push(seen),
            Verdict::HoldOutside => self.kept.push(seen),
            verdict => panic!("{verdict:?}"),
        }
        assert_eq!(seen, packet, "nothing is written into it");
        passed.extend(self.emitted(out));
        passed
    }

    fn time_out(&mut self) -> Vec<Packet> {
        let mut out = Vec::new();
        self.program.handle_timeout(self.now, &mut out);
        self.emitted(out)
    }

    fn emitted(&mut self, out: Vec<Emitted>) -> Vec<Packet> {
        let take = |Emitted { packet, held }| {
            assert_eq!(held, Held::OutsideBuffer);
            let slot = self.kept.iter().position(|kept| *kept == packet);
            self.kept.remove(slot.unwrap_or_else(|| panic!("not kept: {packet:?}")));
            packet
        };
        out.into_iter().map(take).collect()
    }

    fn count(&self, name: &str) -> u64 {
        let counters = self.program.counters();
        counters.iter().find(|counter| counter.name == name).unwrap_or_else(|| panic!("no {name}")).value
    }
}
