//! Tests of congestion controls.

use super::FACTS;
use crate::support::loss;
use anabranch_base::Time;
use anabranch_proto::Size;
use anabranch_proto::cc::{AckReport, AnyCc, CcConfig, ConstantConfig, DctcpConfig, MpRdmaCcConfig};
use std::fmt::Write;

enum Event {
    Ack(u32),
    Marked(u32),
    Loss,
    Nack,
    Restart,
}
use Event::{Ack, Loss, Marked, Nack, Restart};

/// A table of the window in bytes after each event. Packets have 1,000 B.
fn table(config: CcConfig, script: &[Event]) -> String {
    let mut cc = config.build(&FACTS);
    let mut table = format!("{:<12} {:>6}\n{:<12} {:>6}\n", "event", "window", "start", cc.window());
    for event in script {
        let name = apply(&mut cc, event);
        writeln!(table, "{name:<12} {:>6}", cc.window()).unwrap();
    }
    table
}

fn apply(cc: &mut AnyCc, event: &Event) -> String {
    let acked = |packets, marked| AckReport {
        now: Time::ZERO,
        packets,
        bytes: u64::from(packets) * FACTS.packet.0,
        probe: false,
        marked,
        rtt: FACTS.base_rtt,
        rtt_is_valid: true,
        in_flight: 0,
    };
    match event {
        Ack(n) => {
            cc.handle_ack(&acked(*n, false));
            format!("ack {n}")
        }
        Marked(n) => {
            cc.handle_ack(&acked(*n, true));
            format!("marked {n}")
        }
        Loss => {
            cc.handle_loss(&loss(Time::ZERO));
            "loss".to_string()
        }
        Nack => {
            cc.handle_nack(&loss(Time::ZERO));
            "nack".to_string()
        }
        Restart => {
            cc.handle_restart(Time::ZERO);
            "restart".to_string()
        }
    }
}

fn script() -> Vec<Event> {
    let mut script = vec![Ack(1), Ack(1), Ack(4), Marked(1), Marked(4), Loss, Ack(1)];
    script.extend([Loss, Loss, Loss, Ack(1), Ack(1), Marked(1), Ack(16), Ack(100), Nack]);
    script
}

/// Computed by hand, in bytes. An unmarked ACK of n packets adds n*1000*1000/window: first 4000 + 1000*1000/4000 =
/// 4250, then 4250 + 1000*1000/4250 = 4485.29. A marked ACK takes a quarter of a packet for each packet. A loss or a
/// NACK takes one packet. The window stays between one packet and 1.5 BDPs (12000).
#[test]
fn dctcp() {
    let config = DctcpConfig {
        initial_window: Size::Packets(4.0),
        max_window: Size::Bdp(1.5),
        decrease: 0.25,
        loss_decrease: 1.0,
    };
    insta::assert_snapshot!(table(CcConfig::Dctcp(config), &script()), @r"
    event        window
    start          4000
    ack 1          4250
    ack 1          4485
    ack 4          5377
    marked 1       5127
    marked 4       4127
    loss           3127
    ack 1          3446
    loss           2446
    loss           1446
    loss           1000
    ack 1          2000
    ack 1          2500
    marked 1       2250
    ack 16         9361
    ack 100       12000
    nack          11000
    ");
}

/// Computed by hand, in bytes. An unmarked ACK of n packets adds n*1000*1000/window: first 4000 + 1000*1000/4000 =
/// 4250, then 4250 + 1000*1000/4250 = 4485.29. A marked ACK takes half a packet for each packet. A loss or a NACK takes
/// one packet. The window stays between one packet and 1.5 BDPs (12000). The restart sets the initial window.
#[test]
fn mp_rdma() {
    let config = MpRdmaCcConfig { initial_window: Size::Packets(4.0), max_window: Size::Bdp(1.5) };
    let script: Vec<Event> = script().into_iter().chain([Restart]).collect();
    insta::assert_snapshot!(table(CcConfig::MpRdma(config), &script), @r"
    event        window
    start          4000
    ack 1          4250
    ack 1          4485
    ack 4          5377
    marked 1       4877
    marked 4       2877
    loss           1877
    ack 1          2409
    loss           1409
    loss           1000
    loss           1000
    ack 1          2000
    ack 1          2500
    marked 1       2000
    ack 16        10000
    ack 100       12000
    nack          11000
    restart        4000
    ");
    // An initial window above the maximum becomes the maximum, and one below a packet becomes a packet.
    let table = |initial_window, max_window| {
        let config = MpRdmaCcConfig { initial_window, max_window };
        table(CcConfig::MpRdma(config), &[Ack(1), Marked(4), Restart])
    };
    insta::assert_snapshot!(table(Size::Packets(9.0), Size::Packets(3.0)), @r"
    event        window
    start          3000
    ack 1          3000
    marked 4       1000
    restart        3000
    ");
    insta::assert_snapshot!(table(Size::Packets(0.1), Size::Packets(0.5)), @r"
    event        window
    start          1000
    ack 1          1000
    marked 4       1000
    restart        1000
    ");
}

#[test]
fn constant() {
    let config = CcConfig::Constant(ConstantConfig { window: Size::Packets(4.0) });
    let script: Vec<Event> = script().into_iter().take(6).chain([Nack, Restart]).collect();
    insta::assert_snapshot!(table(config, &script), @r"
    event        window
    start          4000
    ack 1          4000
    ack 1          4000
    ack 4          4000
    marked 1       4000
    marked 4       4000
    loss           4000
    nack           4000
    restart        4000
    ");
}
