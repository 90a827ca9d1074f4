//! Tests of the ends of runs. In many of them, the state of a run is damaged on purpose, and the run must end with
//! the error of the broken invariant.

#[cfg(loom)]
mod loom_orders;

use super::*;
use crate::Ideal;
use crate::fault_spec::FaultKind;
use crate::node::Node;
use crate::observer::NoObserver;
use crate::spec::PfcSpec;
use crate::switch::PfcPlan;
use anabranch_base::{Bytes, HostId, MessageId, Rate};
use anabranch_fabric::TopologySpec;
use anabranch_proto::transport::{AnyReceiver, AnySender, OutOfPsns, Receiver, Sender, SenderCounters};
use anabranch_proto::{IntStack, Packet, Size};
use anabranch_workload::{Fabric, WorkloadSpec};
use std::sync::atomic::Ordering;

/// A run in which four hosts send to the first of five, on one switch.
struct TestRun {
    topology: Topology,
    routing: Routing,
    workload: Workload,
    scheme: Scheme,
    faults: Vec<FaultSpec>,
    limits: Limits,
}

// Schemes in complete form, with all parameters.
const REPS: &str = include_str!("tests/reps.toml");
const ROCE: &str = include_str!("tests/rocev2.toml");
const HPCC: &str = include_str!("tests/hpcc.toml");

impl TestRun {
    fn new(scheme: &str) -> Self {
        let spec = TopologySpec::SingleSwitch {
            hosts: 5,
            link: Rate::from_gbps(100),
            link_latency: Duration::from_us(1),
            switch_latency: Duration::ZERO,
        };
        let topology = anabranch_fabric::build(&spec, None).unwrap();
        let incast = WorkloadSpec::Incast { bytes: Bytes(200_000), degree: 4, target: HostId(0) };
        let workload = anabranch_workload::build(&incast, &Fabric::of(&topology), 1, &|_| None).unwrap();
        TestRun {
            routing: Routing::new(&topology, &|_| true),
            topology,
            workload,
            scheme: toml::from_str(scheme).unwrap(),
            faults: Vec::new(),
            limits: Limits::default(),
        }
    }

    fn facts(&self) -> PathFacts {
        let ideal = Ideal::new(&self.topology, self.routing.clone(), &self.scheme.transport);
        self.scheme.fabric.facts(ideal.path_facts())
    }

    fn engine(&self, threads: usize) -> Engine<'_, NoObserver> {
        let facts = self.facts();
        let pfc = self.scheme.fabric.pfc.as_ref();
        let switches = SwitchPlan {
            class_pfc: Vec::new(),
            pfc: pfc.map(|spec| PfcPlan::new(spec, &self.topology, &facts, 0).unwrap()),
            program: None,
            by_port: true,
            weights: Vec::new(),
        };
        let inputs = EngineInputs {
            classes: Vec::new(),
            shares: Vec::new(),
            topology: &self.topology,
            routing: &self.routing,
            workload: &self.workload,
            faults: &self.faults,
            scheme: &self.scheme,
            switches,
            facts,
            own_path: None,
            injection: None,
            limits: &self.limits,
            points: PointBudget { most: u64::MAX, per_second: 0.0 },
            seed: 1,
            threads,
        };
        Engine::new(inputs, NoObserver).unwrap()
    }

    /// Runs for 20 us, until the queue towards the receiver is long, then calls `damage` and continues to the end.
    fn damaged(&self, threads: usize, damage: impl Fn(&mut [Host], &mut [Switch], &mut Counters)) -> Failure {
        let soon = Limits { max_time: Duration::from_us(20), ..self.limits.clone() };
        let mut engine = self.engine(threads);
        engine.limits = &soon;
        assert_eq!(engine.run(&Control::default()), Err(Failure::Limit("max_time")));
        for shard in &mut engine.shards {
            let shard = shard.get_mut().unwrap();
            let mut counters = shard.counters;
            let (hosts, switches) = shard.nodes_mut();
            damage(hosts, switches, &mut counters);
            shard.counters = counters;
        }
        engine.limits = &self.limits;
        engine.run(&Control::default()).unwrap_err()
    }

    #[track_caller]
    fn assert_broken(&self, expected: &str, damage: impl Fn(&mut [Host], &mut [Switch], &mut Counters)) {
        let [one, three] = [1, 3].map(|threads| match self.damaged(threads, &damage) {
            Failure::Invariant(what) => what,
            other => panic!("{other:?}"),
        });
        assert!(one.contains(expected), "{one}");
        assert_eq!(one, three, "on three threads");
    }
}

#[test]
fn undamaged_runs_end_well_after_a_break() {
    for scheme in [REPS, ROCE, HPCC] {
        for threads in [1, 3] {
            let run = TestRun::new(scheme);
            let mut uncut = run.engine(threads);
            assert_eq!(uncut.run(&Control::default()), Ok(()));
            let soon = Limits { max_time: Duration::from_us(20), ..run.limits.clone() };
            let mut engine = run.engine(threads);
            engine.limits = &soon;
            assert_eq!(engine.run(&Control::default()), Err(Failure::Limit("max_time")));
            engine.limits = &run.limits;
            assert_eq!(engine.run(&Control::default()), Ok(()));
            assert_eq!(engine.counters().packet_hops, uncut.counters().packet_hops);
        }
    }
}

#[test]
fn a_frame_that_a_switch_loses_is_missed() {
    TestRun::new(REPS).assert_broken("packets sent", |_, switches, _| {
        switches.iter_mut().for_each(|switch| assert!(lose_frame(switch)));
    });
}

fn lose_frame(switch: &mut Switch) -> bool {
    let egress = switch.egress_mut();
    egress.ports.iter_mut().any(|port| match port.data.pop(&egress.pool) {
        Some(taken) => {
            port.data_bytes -= u32::from(egress.pool.frame(&taken).packet.wire_bytes);
            egress.pool.release(taken);
            true
        }
        None => false,
    })
}

#[test]
fn a_packet_from_nowhere_is_one_too_many() {
    TestRun::new(REPS).assert_broken("packets sent", |hosts, _, counters| {
        counters.consumed += u64::from(hosts.iter().any(|host| host.node() == NodeId(0)));
    });
}

/// A switch loses a frame, counts it as lost, and does not release the frame's share of the buffer.
#[test]
fn a_lossless_buffer_that_counts_what_is_gone_is_found() {
    TestRun::new(ROCE).assert_broken("a switch counts", |_, switches, counters| {
        for switch in switches {
            assert!(lose_frame(switch));
            counters.link_losses += 1;
        }
    });
}

#[test]
fn a_record_of_telemetry_that_a_switch_keeps_is_found() {
    TestRun::new(HPCC).assert_broken("records of telemetry for", |_, switches, _| {
        for switch in switches {
            switch.egress_mut().telemetry.as_mut().unwrap().records.insert(&IntStack::EMPTY);
        }
    });
}

#[test]
fn a_record_of_telemetry_that_a_host_keeps_is_found() {
    TestRun::new(HPCC).assert_broken("records of telemetry at a host", |hosts, _, _| {
        for host in hosts {
            host.egress_mut().telemetry.as_mut().unwrap().records.insert(&IntStack::EMPTY);
        }
    });
}

/// A wrong report about a message that has ended.
#[derive(Clone, Copy)]
enum FalseReport {
    Twice,
    Never,
    Always,
    Another,
    Unknown,
}

impl FalseReport {
    /// The message that is reported instead of `message`, and the number of additional reports.
    fn of(self, message: MessageId) -> (Option<MessageId>, u32) {
        match self {
            FalseReport::Twice => (Some(message), 1),
            FalseReport::Never => (None, 0),
            FalseReport::Always => (Some(message), u32::MAX),
            FalseReport::Another => (Some(MessageId((message.0 + 1) % 4)), 0),
            FalseReport::Unknown => (Some(MessageId(4_000_000_000)), 0),
        }
    }
}

struct LyingReceiver {
    inner: AnyReceiver,
    report: FalseReport,
    reported: (Option<MessageId>, u32),
}

impl LyingReceiver {
    fn around(inner: AnyReceiver, report: FalseReport) -> AnyReceiver {
        AnyReceiver::Custom(Box::new(LyingReceiver { inner, report, reported: (None, 0) }))
    }
}

impl Receiver for LyingReceiver {
    fn handle_packet(&mut self, now: Time, packet: &Packet) -> Option<MessageId> {
        self.reported = self.report.of(self.inner.handle_packet(now, packet)?);
        self.reported.0
    }

    fn poll_delivered(&mut self) -> Option<MessageId> {
        self.reported.1 = self.reported.1.checked_sub(1)?;
        self.reported.0
    }

    fn poll_transmit(&mut self) -> Option<Packet> {
        self.inner.poll_transmit()
    }

    fn fresh_packets(&self) -> u64 {
        self.inner.fresh_packets()
    }
}

#[test]
fn a_message_that_is_delivered_twice_is_found() {
    for report in [FalseReport::Twice, FalseReport::Always] {
        TestRun::new(REPS).assert_broken("ended twice", |hosts, _, _| {
            hosts
                .iter_mut()
                .for_each(|host| host.replace_receivers(|its| LyingReceiver::around(its, report)));
        });
    }
}

#[test]
fn a_message_that_is_none_of_its_queue_pairs_own_is_found() {
    for report in [FalseReport::Another, FalseReport::Unknown] {
        TestRun::new(REPS).assert_broken("which is none of its own", |hosts, _, _| {
            hosts
                .iter_mut()
                .for_each(|host| host.replace_receivers(|its| LyingReceiver::around(its, report)));
        });
    }
}

struct LyingSender {
    inner: AnySender,
    report: FalseReport,
    reported: (Option<MessageId>, u32),
}

impl Sender for LyingSender {
    fn post(&mut self, message: MessageId, bytes: u64) -> Result<(), OutOfPsns> {
        self.inner.post(message, bytes)
    }

    fn handle_packet(&mut self, now: Time, packet: &Packet) {
        self.inner.handle_packet(now, packet);
    }

    fn handle_timeout(&mut self, now: Time) {
        self.inner.handle_timeout(now);
    }

    fn next_timeout(&mut self) -> Option<Time> {
        self.inner.next_timeout()
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        self.inner.poll_transmit(now)
    }

    fn poll_acknowledged(&mut self) -> Option<MessageId> {
        if let Some(message) = self.inner.poll_acknowledged() {
            self.reported = self.report.of(message);
            return self.reported.0;
        }
        self.reported.1 = self.reported.1.checked_sub(1)?;
        self.reported.0
    }

    fn counters(&self) -> SenderCounters {
        self.inner.counters()
    }
}

#[test]
fn a_message_that_is_acknowledged_too_often_is_found() {
    for (report, expected) in [
        (FalseReport::Twice, "acknowledged more messages than it was given"),
        (FalseReport::Always, "acknowledged more messages than it was given"),
        (FalseReport::Another, "which is none of its own"),
        (FalseReport::Unknown, "which is none of its own"),
    ] {
        TestRun::new(REPS).assert_broken(expected, |hosts, _, _| {
            let lying =
                |inner| AnySender::Custom(Box::new(LyingSender { inner, report, reported: (None, 0) }));
            hosts.iter_mut().for_each(|host| host.replace_senders(lying));
        });
    }
}

#[test]
fn a_message_that_is_acknowledged_and_not_delivered_is_found() {
    TestRun::new(REPS).assert_broken("was acknowledged before it was delivered", |hosts, _, _| {
        hosts
            .iter_mut()
            .for_each(|host| host.replace_receivers(|its| LyingReceiver::around(its, FalseReport::Never)));
    });
}

struct Silent;

impl Sender for Silent {
    fn post(&mut self, _: MessageId, _: u64) -> Result<(), OutOfPsns> {
        Ok(())
    }

    fn handle_packet(&mut self, _: Time, _: &Packet) {}

    fn handle_timeout(&mut self, _: Time) {}

    fn next_timeout(&mut self) -> Option<Time> {
        None
    }

    fn poll_transmit(&mut self, _: Time) -> Option<Packet> {
        None
    }

    fn poll_acknowledged(&mut self) -> Option<MessageId> {
        None
    }

    fn counters(&self) -> SenderCounters {
        SenderCounters::default()
    }
}

#[test]
fn a_run_in_which_nothing_is_left_to_happen_ends() {
    for threads in [1, 3] {
        let failure = TestRun::new(REPS).damaged(threads, |hosts, _, _| {
            hosts.iter_mut().for_each(|host| host.replace_senders(|_| AnySender::Custom(Box::new(Silent))));
        });
        assert_eq!(failure, Failure::NothingLeft);
    }
}

/// All packets to the receiver are lost, and the senders keep timing out.
#[test]
fn a_run_in_which_nothing_new_arrives_stalls() {
    let mut run = TestRun::new(REPS);
    let links = "tor:0/down:0".to_owned();
    let kind = FaultKind::PacketLoss { links: links.into(), both_directions: Some(false), probability: 1.0 };
    run.faults = vec![FaultSpec { kind, at: Duration::ZERO.into(), duration: None, per_hour: None }];
    for threads in [1, 3] {
        let mut engine = run.engine(threads);
        assert_eq!(engine.run(&Control::default()), Err(Failure::Stalled));
        let patience = run.limits.patience(&run.scheme, &run.facts());
        let ended = engine.now().since(Time::ZERO);
        assert!(ended > patience && ended < patience * 2, "{ended}");
    }
}

#[test]
fn each_limit_ends_a_run() {
    let unlimited = Limits::default();
    for (limits, expected) in [
        (Limits { max_time: Duration::from_us(15), ..unlimited.clone() }, "max_time"),
        (Limits { max_events: 100, ..unlimited.clone() }, "max_events"),
        (Limits { max_packets: 20, ..unlimited }, "max_packets"),
    ] {
        let run = TestRun { limits, ..TestRun::new(REPS) };
        for threads in [1, 3] {
            let ended = run.engine(threads).run(&Control::default());
            assert_eq!(ended, Err(Failure::Limit(expected)));
        }
    }
}

#[test]
fn a_run_that_is_cancelled_ends() {
    let control = Control::default();
    control.cancel.store(true, Ordering::Relaxed);
    for threads in [1, 3] {
        assert_eq!(TestRun::new(REPS).engine(threads).run(&control), Err(Failure::Cancelled));
    }
}

#[test]
fn what_was_delivered_is_counted_when_it_is_asked_for() {
    let control = Control::default();
    control.count_packets.store(true, Ordering::Relaxed);
    control.packets_delivered.store(u64::MAX, Ordering::Relaxed);
    assert_eq!(TestRun::new(REPS).engine(1).run(&control), Ok(()));
    assert!(!control.count_packets.load(Ordering::Relaxed));
    assert_eq!(
        control.packets_delivered.load(Ordering::Relaxed),
        0,
        "as it was asked for before the first window"
    );
}

/// The headroom has one byte, although data of a round trip still arrives after XOFF is sent.
#[test]
fn a_lossless_class_without_room_fails() {
    let mut run = TestRun::new(ROCE);
    run.scheme.fabric.pfc = Some(PfcSpec {
        buffer: Bytes(1_000_000),
        headroom_apart: true,
        buffer_rate: None,
        alpha: None,
        alpha_from: Vec::new(),
        at: Vec::new(),
        threshold: Some(Size::Packets(3.0)),
        resume: Size::Packets(1.0),
        headroom: Some(Size::Bytes(Bytes(1))),
        watchdog: None,
        watchdog_poll: Duration::from_us(200_000),
        watchdog_detection: Duration::from_us(200_000),
        watchdog_restoration: Duration::from_us(200_000),
    });
    for threads in [1, 3] {
        match run.engine(threads).run(&Control::default()) {
            Err(Failure::LosslessDrop(what)) => assert!(what.contains("host:"), "{what}"),
            other => panic!("{other:?}"),
        }
    }
}
