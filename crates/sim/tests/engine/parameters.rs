//! A scheme that is built in code is refused if a parameter is out of its range. No value is changed silently.

use super::support::*;
use anabranch_sim::Bytes;
use anabranch_sim::RunError;
use anabranch_sim::proto::{CcConfig, LbConfig, ProgramConfig, Size, TransportConfig};
use anabranch_sim::scenario::{RunPoint, Scheme};

/// A scheme, a change of it, and the expected error.
type Case<'a> = (&'a str, &'a dyn Fn(&mut Scheme), &'a str);

fn point(scheme: &str) -> RunPoint {
    let text = format!(
        r#"
        schemes = [{scheme:?}]
        topology = {{ kind = "fat-tree", hosts = 8, hosts_per_tor = 4, link = "100Gbps" }}
        workload = {{ kind = "permutation", bytes = "4KB" }}
        "#
    );
    points(&text, &[]).remove(0)
}

fn refused(scheme: &str, change: &dyn Fn(&mut Scheme)) -> String {
    let mut point = point(scheme);
    change(&mut point.scheme);
    match attempt(&point) {
        Err(error @ RunError::Parameter { .. }) => error.to_string(),
        Err(other) => panic!("{scheme}: {other}"),
        Ok(_) => panic!("{scheme} ran"),
    }
}

macro_rules! with {
    ($scheme:ident, $part:expr, $variant:path, $field:ident = $value:expr) => {
        |$scheme: &mut Scheme| match &mut $part {
            $variant(config) => config.$field = $value,
            other => panic!("{other:?}"),
        }
    };
}

#[test]
fn what_was_clamped_is_refused() {
    let cases: &[Case<'_>] = &[
        (
            "reps",
            &with!(s, s.lb, LbConfig::Reps, buffer = 77),
            "lb.buffer must be 1 to 32, not 77; write: 32",
        ),
        ("reps", &with!(s, s.lb, LbConfig::Reps, buffer = 0), "lb.buffer must be 1 to 32, not 0; write: 1"),
        ("reps", &with!(s, s.lb, LbConfig::Reps, evs = 65_537), "lb.evs must be 1 to 65536, not 65537"),
        (
            "reps",
            &with!(s, s.lb, LbConfig::Reps, explore_packets = 256),
            "lb.explore_packets must be 0 to 255",
        ),
        ("ops", &with!(s, s.lb, LbConfig::Ops, evs = 0), "lb.evs must be 1 to 65536, not 0; write: 1"),
        (
            "strack",
            &with!(s, s.lb, LbConfig::Strack, max_paths = 257),
            "lb.max_paths must be 1 to 256, not 257",
        ),
        ("strack", &with!(s, s.lb, LbConfig::Strack, min_paths = 0), "lb.min_paths must be 1 to 256, not 0"),
        ("mp-rdma", &with!(s, s.lb, LbConfig::MpRdma, paths = 0), "lb.paths must be 1 to 65536, not 0"),
        (
            "mp-rdma",
            &with!(s, s.transport, TransportConfig::MpRdma, bitmap = 0),
            "transport.bitmap must be 1 to 65535",
        ),
        (
            "dcp",
            &with!(s, s.transport, TransportConfig::Dcp, counter_bits = 40),
            "transport.counter_bits must be 1 to 31, not 40; write: 31",
        ),
        (
            "dcp",
            &with!(s, s.transport, TransportConfig::Dcp, tracked_messages = 0),
            "transport.tracked_messages must be 1 to 65535",
        ),
        (
            "dcp",
            &with!(s, s.transport, TransportConfig::Dcp, batch = 0),
            "transport.batch must be 1 to 65535, not 0",
        ),
        (
            "reps",
            &with!(s, s.transport, TransportConfig::Sack, ack_every = 0),
            "transport.ack_every must be 1 to 65535, not 0",
        ),
        (
            "rocev2",
            &with!(s, s.transport, TransportConfig::GoBackN, ack_every = 0),
            "transport.ack_every must be 1 to 65535",
        ),
        (
            "irn-ar",
            &with!(s, s.transport, TransportConfig::Irn, ack_every = 0),
            "transport.ack_every must be 1 to 65535",
        ),
        (
            "sr-ecmp",
            &with!(s, s.transport, TransportConfig::RnicSr, ack_every = 0),
            "transport.ack_every must be 1 to 65535",
        ),
        (
            "sr-ecmp",
            &with!(s, s.transport, TransportConfig::RnicSr, window_packets = 0),
            "transport.window_packets must be 1 to 65535",
        ),
    ];
    for (scheme, change, said) in cases {
        let error = refused(scheme, *change);
        assert!(error.contains(said), "{scheme}: {error}, not {said}");
        assert!(error.starts_with(&format!("scheme {scheme:?}: ")) && error.contains("; write: "), "{error}");
    }
}

#[test]
fn every_part_of_a_typed_scheme_is_looked_at() {
    let cases: &[Case<'_>] = &[
        ("reps", &|s| s.qps = 65, "qps must be 1 to 64, not 65; write: 64"),
        ("reps", &|s| s.fabric.ecn_pmax = f64::NAN, "fabric.ecn_pmax must be a number, not nan; write: 1.0"),
        (
            "reps",
            &|s| s.fabric.queue = Some(Size::Bdp(-1.0)),
            "fabric.queue must be above 0; write: \"1bdp\"",
        ),
        (
            "rocev2",
            &|s| s.fabric.pfc.as_mut().unwrap().buffer = Bytes(0),
            "fabric.pfc.buffer must be above 0",
        ),
        (
            "dcp",
            &|s| s.fabric.wrr.as_mut().unwrap().radix = Some(1),
            "fabric.wrr.radix must be 2 to 65536, not 1",
        ),
        (
            "reps",
            &with!(s, s.cc, CcConfig::Dctcp, decrease = 1.5),
            "cc.decrease must be 0 to 1, not 1.5; write: 0.25",
        ),
        (
            "trp-only",
            &|s| match &mut s.fabric.program {
                Some(ProgramConfig::ThemisLonghaul(program)) => program.trp.as_mut().unwrap().alpha = 0,
                other => panic!("{other:?}"),
            },
            "fabric.program.trp.alpha must be 1 to 4294967295, not 0; write: 1",
        ),
        (
            "reps",
            &with!(s, s.transport, TransportConfig::Sack, header = Bytes(65_000)),
            "transport.header must be 1B to 61439B, not 65000B; write: \"61439B\"",
        ),
    ];
    for (scheme, change, said) in cases {
        let error = refused(scheme, *change);
        assert!(error.contains(said), "{scheme}: {error}, not {said}");
    }
}
