//! The memory, and the time for each packet, that a receiver needs to track which packets have arrived (DCP, section
//! 4.5).
//!
//! Three methods are compared: bitmaps for all packets in flight, which are allocated from the start; bitmaps in chunks,
//! which are linked as packets arrive further out of order; and DCP's counters, with the size that its transport declares.

use super::{of_transport, row};
use crate::scenario::{PacketTracking, scheme};
use anabranch_engine::RunResult;
use std::collections::BTreeMap;

pub(super) fn run(spec: &PacketTracking) -> Vec<RunResult> {
    let dcp = of_transport(&scheme("dcp").expect("the scheme is built in").transport);
    let mut rows = Vec::new();
    for &degree in &spec.degrees {
        rows.push(result("bdp-bitmap", degree, spec, whole_bitmaps(spec)));
    }
    for &degree in &spec.degrees {
        rows.push(result("linked-chunks", degree, spec, linked_chunks(spec, degree)));
    }
    for &degree in &spec.degrees {
        // Looking up and incrementing a message's counter costs as much as looking up and setting a PSN's bit.
        let cost = Cost { bytes: dcp["transport_bytes"], cycles: f64::from(spec.access_cycles) };
        let mut result = result("dcp", degree, spec, cost);
        let of_messages = dcp.iter().filter(|(name, _)| *name != "transport_bytes");
        result.run.extra.extend(of_messages.map(|(name, bytes)| (name.clone(), *bytes)));
        rows.push(result);
    }
    rows
}

/// The memory of a queue pair, in bytes, and the time of a packet, in cycles.
struct Cost {
    bytes: f64,
    cycles: f64,
}

/// The cost of whole bitmaps. The address of a bit follows from its PSN, so one access is enough.
fn whole_bitmaps(spec: &PacketTracking) -> Cost {
    let chunks = spec.packets().div_ceil(u64::from(spec.chunk_bits));
    Cost { bytes: chunk_bytes(spec) * chunks as f64, cycles: f64::from(spec.access_cycles) }
}

/// The cost of linked chunks. The search checks a chunk for the PSN and, if the PSN is not in it, follows the link to
/// the next chunk.
fn linked_chunks(spec: &PacketTracking, degree: u32) -> Cost {
    let hops = f64::from(degree / spec.chunk_bits);
    let chunks = hops + 1.0;
    let search = chunks * f64::from(spec.check_cycles) + hops * f64::from(spec.next_cycles);
    Cost { bytes: chunk_bytes(spec) * chunks, cycles: search + f64::from(spec.access_cycles) }
}

/// The bytes of one chunk in each bitmap of a queue pair, without the links.
fn chunk_bytes(spec: &PacketTracking) -> f64 {
    f64::from(spec.bitmaps) * f64::from(spec.chunk_bits) / 8.0
}

fn result(way: &str, degree: u32, spec: &PacketTracking, cost: Cost) -> RunResult {
    let extra: BTreeMap<String, f64> = [
        ("queue_pair_bytes", cost.bytes),
        ("all_bytes", cost.bytes * f64::from(spec.queue_pairs)),
        ("cycles", cost.cycles),
        ("packet_rate_mpps", spec.clock_mhz / cost.cycles),
    ]
    .map(|(name, number)| (name.to_owned(), number))
    .into();
    row(way, Some(("degree", i64::from(degree))), extra)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_base::{Bytes, Duration, Rate};
    use anabranch_results::Value;

    /// Table 3: 400 Gb/s, 10 us, chunks of 128 bits; figure 7: 300 MHz.
    fn spec() -> PacketTracking {
        PacketTracking {
            link: Rate::from_gbps(400),
            rtt: Duration::from_us(10),
            packet: Bytes(1000),
            chunk_bits: 128,
            bitmaps: 5,
            queue_pairs: 10_000,
            clock_mhz: 300.0,
            access_cycles: 2,
            check_cycles: 1,
            next_cycles: 1,
            degrees: vec![0, 127, 128, 383, 384, 499],
        }
    }

    fn numbers(way: &str, name: &str) -> Vec<f64> {
        let rows = run(&spec()).into_iter().filter(|result| result.run.scheme == way);
        rows.map(|result| result.run.extra[name]).collect()
    }

    #[test]
    fn memory_is_table_3() {
        assert_eq!(numbers("bdp-bitmap", "queue_pair_bytes"), [320.0; 6]);
        assert_eq!(numbers("linked-chunks", "queue_pair_bytes"), [80.0, 80.0, 160.0, 240.0, 320.0, 320.0]);
        assert_eq!(numbers("bdp-bitmap", "all_bytes"), [3_200_000.0; 6]);
        // The paper gives 32 B; `DcpConfig::state` explains the difference.
        assert_eq!(numbers("dcp", "queue_pair_bytes"), [24.0; 6]);
        assert_eq!(numbers("dcp", "message_bytes"), [2.0; 6]);
    }

    /// Each further linked chunk costs a check and a step to the next chunk. The other two methods cost the same for
    /// every packet.
    #[test]
    fn only_linked_chunks_slow_down() {
        assert_eq!(numbers("linked-chunks", "cycles"), [3.0, 3.0, 5.0, 7.0, 9.0, 9.0]);
        assert_eq!(numbers("linked-chunks", "packet_rate_mpps")[2], 60.0);
        for way in ["bdp-bitmap", "dcp"] {
            assert_eq!(numbers(way, "packet_rate_mpps"), [150.0; 6]);
        }
    }

    #[test]
    fn rows_are_in_order() {
        let keys: Vec<(String, Value)> = run(&spec())
            .into_iter()
            .map(|result| (result.run.scheme, result.run.sweep["degree"].clone()))
            .collect();
        assert_eq!(keys.len(), 18);
        assert_eq!(keys[0], ("bdp-bitmap".to_owned(), Value::Integer(0)));
        assert_eq!(keys[7], ("linked-chunks".to_owned(), Value::Integer(127)));
        assert_eq!(keys[17], ("dcp".to_owned(), Value::Integer(499)));
    }
}
