//! Every checker fires: the state of a run is damaged on purpose, and the run must end by what is broken.

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

/// Four hosts send to the first of five, on one switch.
struct Ground {
    topology: Topology,
    routing: Routing,
    workload: Workload,
    scheme: Scheme,
    faults: Vec<FaultSpec>,
    limits: Limits,
}

// Whole schemes, with what ground they stand on.
const REPS: &str = include_str!("tests/reps.toml");
const ROCE: &str = include_str!("tests/rocev2.toml");
const HPCC: &str = include_str!("tests/hpcc.toml");

impl Ground {
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
        Ground {
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
            pfc: pfc.map(|spec| PfcPlan::new(spec, &self.topology, &facts, 0).unwrap()),
            program: None,
            weights: Vec::new(),
        };
        let inputs = EngineInputs {
            topology: &self.topology,
            routing: &self.routing,
            workload: &self.workload,
            faults: &self.faults,
            scheme: &self.scheme,
            switches,
            facts,
            own_path: None,
            injector: None,
            limits: &self.limits,
            points: PointBudget { most: u64::MAX, per_second: 0.0 },
            seed: 1,
            threads,
        };
        Engine::new(inputs, NoObserver).unwrap()
    }

    /// Runs for 20 us, when the queue to the receiver is long; does `damage`; runs to the end.
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
            let ground = Ground::new(scheme);
            let mut whole = ground.engine(threads);
            assert_eq!(whole.run(&Control::default()), Ok(()));
            let soon = Limits { max_time: Duration::from_us(20), ..ground.limits.clone() };
            let mut engine = ground.engine(threads);
            engine.limits = &soon;
            assert_eq!(engine.run(&Control::default()), Err(Failure::Limit("max_time")));
            engine.limits = &ground.limits;
            assert_eq!(engine.run(&Control::default()), Ok(()));
            assert_eq!(engine.counters().packet_hops, whole.counters().packet_hops);
        }
    }
}

/// A switch takes a frame out of a queue, and nobody knows where it went.
#[test]
fn a_frame_that_a_switch_loses_is_missed() {
    Ground::new(REPS).assert_broken("packets sent", |_, switches, _| {
        switches.iter_mut().for_each(|switch| assert!(lose(switch)));
    });
}

/// Takes the first frame that waits out of its queue.
fn lose(switch: &mut Switch) -> bool {
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

/// A packet more than hosts have sent.
#[test]
fn a_packet_from_nowhere_is_one_too_many() {
    Ground::new(REPS).assert_broken("packets sent", |hosts, _, counters| {
        counters.consumed += u64::from(hosts.iter().any(|host| host.node() == NodeId(0)));
    });
}

/// The switch loses a frame, counts it as lost, and does not release its buffer.
#[test]
fn a_lossless_buffer_that_counts_what_is_gone_is_found() {
    Ground::new(ROCE).assert_broken("a switch counts", |_, switches, counters| {
        for switch in switches {
            assert!(lose(switch));
            counters.link_losses += 1;
        }
    });
}

#[test]
fn a_record_of_telemetry_that_a_switch_keeps_is_found() {
    Ground::new(HPCC).assert_broken("records of telemetry for", |_, switches, _| {
        for switch in switches {
            switch.egress_mut().telemetry.as_mut().unwrap().records.insert(&IntStack::EMPTY);
        }
    });
}

#[test]
fn a_record_of_telemetry_that_a_host_keeps_is_found() {
    Ground::new(HPCC).assert_broken("records of telemetry at a host", |hosts, _, _| {
        for host in hosts {
            host.egress_mut().telemetry.as_mut().unwrap().records.insert(&IntStack::EMPTY);
        }
    });
}

/// What an end does with a message that is over.
#[derive(Clone, Copy)]
enum Lie {
    /// It says so twice.
    Twice,
    /// It never says so.
    Never,
    /// It says so without an end.
    Always,
    /// It says so of a message of another queue pair.
    Another,
    /// It says so of a message that there is not.
    Unknown,
}

impl Lie {
    /// What it says of `message`, and how often more.
    fn of(self, message: MessageId) -> (Option<MessageId>, u32) {
        match self {
            Lie::Twice => (Some(message), 1),
            Lie::Never => (None, 0),
            Lie::Always => (Some(message), u32::MAX),
            Lie::Another => (Some(MessageId((message.0 + 1) % 4)), 0),
            Lie::Unknown => (Some(MessageId(4_000_000_000)), 0),
        }
    }
}

/// A receiver that lies about the messages that it delivers.
struct Broken {
    whole: AnyReceiver,
    lie: Lie,
    says: (Option<MessageId>, u32),
}

impl Broken {
    fn around(whole: AnyReceiver, lie: Lie) -> AnyReceiver {
        AnyReceiver::Custom(Box::new(Broken { whole, lie, says: (None, 0) }))
    }
}

impl Receiver for Broken {
    fn handle_packet(&mut self, now: Time, packet: &Packet) -> Option<MessageId> {
        self.says = self.lie.of(self.whole.handle_packet(now, packet)?);
        self.says.0
    }

    fn poll_delivered(&mut self) -> Option<MessageId> {
        self.says.1 = self.says.1.checked_sub(1)?;
        self.says.0
    }

    fn poll_transmit(&mut self) -> Option<Packet> {
        self.whole.poll_transmit()
    }

    fn fresh_packets(&self) -> u64 {
        self.whole.fresh_packets()
    }
}

#[test]
fn a_message_that_is_delivered_twice_is_found() {
    for lie in [Lie::Twice, Lie::Always] {
        Ground::new(REPS).assert_broken("ended twice", |hosts, _, _| {
            hosts.iter_mut().for_each(|host| host.replace_receivers(|its| Broken::around(its, lie)));
        });
    }
}

#[test]
fn a_message_that_is_none_of_its_queue_pairs_own_is_found() {
    for lie in [Lie::Another, Lie::Unknown] {
        Ground::new(REPS).assert_broken("which is none of its own", |hosts, _, _| {
            hosts.iter_mut().for_each(|host| host.replace_receivers(|its| Broken::around(its, lie)));
        });
    }
}

/// A sender that lies about the messages that are acknowledged.
struct Boasting {
    whole: AnySender,
    lie: Lie,
    says: (Option<MessageId>, u32),
}

impl Sender for Boasting {
    fn post(&mut self, message: MessageId, bytes: u64) -> Result<(), OutOfPsns> {
        self.whole.post(message, bytes)
    }

    fn handle_packet(&mut self, now: Time, packet: &Packet) {
        self.whole.handle_packet(now, packet);
    }

    fn handle_timeout(&mut self, now: Time) {
        self.whole.handle_timeout(now);
    }

    fn next_timeout(&mut self) -> Option<Time> {
        self.whole.next_timeout()
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        self.whole.poll_transmit(now)
    }

    fn poll_acknowledged(&mut self) -> Option<MessageId> {
        if let Some(message) = self.whole.poll_acknowledged() {
            self.says = self.lie.of(message);
            return self.says.0;
        }
        self.says.1 = self.says.1.checked_sub(1)?;
        self.says.0
    }

    fn counters(&self) -> SenderCounters {
        self.whole.counters()
    }
}

#[test]
fn a_message_that_is_acknowledged_too_often_is_found() {
    for (lie, expected) in [
        (Lie::Twice, "acknowledged more messages than it was given"),
        (Lie::Always, "acknowledged more messages than it was given"),
        (Lie::Another, "which is none of its own"),
        (Lie::Unknown, "which is none of its own"),
    ] {
        Ground::new(REPS).assert_broken(expected, |hosts, _, _| {
            let lying = |whole| AnySender::Custom(Box::new(Boasting { whole, lie, says: (None, 0) }));
            hosts.iter_mut().for_each(|host| host.replace_senders(lying));
        });
    }
}

#[test]
fn a_message_that_is_acknowledged_and_not_delivered_is_found() {
    Ground::new(REPS).assert_broken("was acknowledged before it was delivered", |hosts, _, _| {
        hosts.iter_mut().for_each(|host| host.replace_receivers(|its| Broken::around(its, Lie::Never)));
    });
}

/// A sender that has forgotten everything and sets no timer.
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
        let failure = Ground::new(REPS).damaged(threads, |hosts, _, _| {
            hosts.iter_mut().for_each(|host| host.replace_senders(|_| AnySender::Custom(Box::new(Silent))));
        });
        assert_eq!(failure, Failure::NothingLeft);
    }
}

/// Everything is lost on the way to the receiver, and timeouts go on.
#[test]
fn a_run_in_which_nothing_new_arrives_stalls() {
    let mut ground = Ground::new(REPS);
    let links = "tor:0/down:0".to_owned();
    let kind = FaultKind::PacketLoss { links: links.into(), both_directions: Some(false), probability: 1.0 };
    ground.faults = vec![FaultSpec { kind, at: Duration::ZERO.into(), duration: None }];
    for threads in [1, 3] {
        let mut engine = ground.engine(threads);
        assert_eq!(engine.run(&Control::default()), Err(Failure::Stalled));
        let patience = ground.limits.patience(&ground.scheme, &ground.facts());
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
        let ground = Ground { limits, ..Ground::new(REPS) };
        for threads in [1, 3] {
            let ended = ground.engine(threads).run(&Control::default());
            assert_eq!(ended, Err(Failure::Limit(expected)));
        }
    }
}

#[test]
fn a_run_that_is_cancelled_ends() {
    let control = Control::default();
    control.cancel.store(true, Ordering::Relaxed);
    for threads in [1, 3] {
        assert_eq!(Ground::new(REPS).engine(threads).run(&control), Err(Failure::Cancelled));
    }
}

#[test]
fn what_was_delivered_is_counted_when_it_is_asked_for() {
    let control = Control::default();
    control.count_packets.store(true, Ordering::Relaxed);
    control.packets_delivered.store(u64::MAX, Ordering::Relaxed);
    assert_eq!(Ground::new(REPS).engine(1).run(&control), Ok(()));
    assert!(!control.count_packets.load(Ordering::Relaxed));
    assert_eq!(
        control.packets_delivered.load(Ordering::Relaxed),
        0,
        "as it was asked for before the first window"
    );
}

/// A headroom of a byte, where a round trip of data comes after the decision to pause.
#[test]
fn a_lossless_class_without_room_fails() {
    let mut ground = Ground::new(ROCE);
    ground.scheme.fabric.pfc = Some(PfcSpec {
        buffer: Bytes(1_000_000),
        headroom_apart: true,
        buffer_rate: None,
        alpha: None,
        alpha_from: Vec::new(),
        at: Vec::new(),
        threshold: Some(Size::Packets(3.0)),
        resume: Size::Packets(1.0),
        headroom: Some(Size::Bytes(Bytes(1))),
    });
    for threads in [1, 3] {
        match ground.engine(threads).run(&Control::default()) {
            Err(Failure::LosslessDrop(what)) => assert!(what.contains("host:"), "{what}"),
            other => panic!("{other:?}"),
        }
    }
}
