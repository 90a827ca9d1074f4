//! HPCC in the sender of `go-back-n`.

use super::{FACTS, Port, config, stack, us};
use anabranch_base::{Bytes, Duration, HostId, MessageId, QpId, Rate, Time};
use anabranch_proto::cc::{AckReport, AnyCc, CcConfig, CongestionControl, LossReport, TelemetryReport};
use anabranch_proto::lb::AnyLb;
use anabranch_proto::transport::{AnySender, Ends, GoBackNConfig, TransportConfig};
use anabranch_proto::{Packet, Repr, Span};
use std::sync::{Arc, Mutex};

const ENDS: Ends = Ends { qp: QpId(3), src: HostId(0), dst: HostId(1) };

/// A sender of 1000 packets of 1000 B.
fn sender(cc: AnyCc) -> AnySender {
    let transport = TransportConfig::GoBackN(GoBackNConfig {
        payload: Bytes(910),
        header: Bytes(90),
        ack: Bytes(88),
        ack_every: 1,
        nack_interval: Span::Time(Duration::from_us(500)),
        cnp_interval: Span::Time(Duration::from_us(50)),
        trailing_cnp: false,
        rto: Span::Time(Duration::from_us(4_000)),
    });
    let mut sender = transport.build_sender(ENDS, &FACTS, cc, AnyLb::ecmp(9));
    sender.post(MessageId(0), 910_000).unwrap();
    sender
}

fn answer(repr: Repr) -> Packet {
    Packet::new(ENDS.qp, ENDS.src, repr).with_bytes(88).with_ev(9)
}

fn ack(cumulative: u32) -> Packet {
    let (base, received, sent_at) = (cumulative, 0, Time::ZERO);
    answer(Repr::ack(cumulative).with_received(base, received).with_sent_at(sent_at))
}

/// The log of the calls: the hops, `acked` and `next` of each report, the packets of each ACK, and the losses.
type Log = Arc<Mutex<Vec<String>>>;

struct Told(Log);

impl CongestionControl for Told {
    fn window(&self) -> u64 {
        u64::MAX
    }
    fn handle_ack(&mut self, acked: &AckReport) {
        self.0.lock().unwrap().push(format!("ack of {}", acked.packets));
    }
    fn handle_loss(&mut self, _: &LossReport) {
        self.0.lock().unwrap().push("loss".to_owned());
    }
    fn handle_telemetry(&mut self, report: &TelemetryReport<'_>) {
        let TelemetryReport { stack, acked, next } = report;
        self.0.lock().unwrap().push(format!("{} hops, {acked} of {next}", stack.hops().len()));
    }
}

#[test]
fn a_report_says_how_far_acks_and_sending_are() {
    let log = Log::default();
    let mut sender = sender(AnyCc::Custom(Box::new(Told(log.clone()))));
    (0..10).for_each(|_| assert!(sender.poll_transmit(us(0)).is_some()));
    let report = stack(&[Port::new(0, 100), Port::new(1, 100)]);
    sender.handle_telemetry(4, &report);
    sender.handle_packet(us(9), &ack(4));
    sender.handle_packet(us(10), &answer(Repr::nack(4)));
    assert!(sender.poll_transmit(us(10)).is_some());
    // The sender went back to PSN 4, and packets that it had sent before arrive after all.
    sender.handle_telemetry(8, &report);
    sender.handle_packet(us(11), &ack(8));
    let wanted = ["2 hops, 4 of 10", "ack of 4", "loss", "2 hops, 8 of 5", "ack of 4"];
    assert_eq!(*log.lock().unwrap(), wanted);
}

/// At 100 Gb/s a packet takes 80 ns. A report with a U of about 2 halves rate and window.
#[test]
fn the_sender_keeps_to_window_and_rate() {
    let mut sender = sender(CcConfig::Hpcc(config(0)).build(&FACTS));
    let send_all = |sender: &mut AnySender, from: Time, until: Time| {
        let (mut now, mut sent) = (from, Vec::new());
        while now < until {
            sent.extend(sender.poll_transmit(now).map(|_| now));
            now += Duration::from_ns(1);
        }
        sent
    };
    // The window of 100,000 B admits 100 packets, which are 80 ns apart.
    let sent = send_all(&mut sender, us(0), us(20));
    assert_eq!(sent.len(), 100);
    assert!(sent.windows(2).all(|pair| pair[1].since(pair[0]) == Duration::from_ns(80)));
    let mut port = Port::new(0, 100);
    port.queue = 105_000;
    for (acked, after) in [(1, 0), (2, 8)] {
        port.later(after, after * 12_500, 105_000);
        sender.handle_telemetry(acked, &stack(&[port]));
        sender.handle_packet(us(20), &ack(acked));
    }
    // U = 1 + 1.05, so the window is 100,000 * 0.95 / 2.05 + 40 = 46,381 B. Nothing is sent before 54 of the 100
    // packets are acknowledged. The remaining 46 packets in flight are below the window, so a 47th is sent. At 46.381
    // Gb/s packets are 172.48 ns apart.
    assert_eq!(send_all(&mut sender, us(20), us(21)), []);
    sender.handle_packet(us(21), &ack(54));
    assert_eq!(send_all(&mut sender, us(21), us(22)), [us(21)]);
    sender.handle_packet(us(22), &ack(100));
    let sent = send_all(&mut sender, us(22), us(40));
    assert_eq!(sent.len(), 46);
    let gap = Rate(46_381_463_414).time_for(1_000);
    assert!(sent.windows(2).all(|pair| pair[1].since(pair[0]).0.abs_diff(gap.0) < 2_000), "{sent:?}");
}
