//! The longest link on which PFC avoids loss. Until a pause takes effect, a sender continues to send for a round trip
//! of the link. The buffer must absorb these packets, which are twice the one-way BDP (DCP, section 2.1, equation 1).

use super::row;
use crate::scenario::{Chip, LosslessReach};
use anabranch_engine::RunResult;
use std::collections::BTreeMap;

pub(super) fn run(spec: &LosslessReach) -> Vec<RunResult> {
    let mut rows = Vec::new();
    for chip in &spec.chips {
        for &queues in &spec.queues {
            let extra = BTreeMap::from([("reach_km".to_owned(), reach_km(spec, chip, queues))]);
            rows.push(row(&chip.name, Some(("queues", i64::from(queues))), extra));
        }
    }
    rows
}

/// Equation 1: L = buffer / (bandwidth x one-hop-delay x 2). The buffer is a queue's share of the port's buffer.
fn reach_km(spec: &LosslessReach, chip: &Chip, queues: u32) -> f64 {
    let bits = chip.buffer.0 as f64 * 8.0 / f64::from(chip.ports) / f64::from(queues);
    let bits_per_km = chip.link.0 as f64 * spec.km_delay.0 as f64 * 2.0 / 1e12;
    bits / bits_per_km
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_base::{Bytes, Duration, Rate};
    use anabranch_results::Value;

    /// Half a megabyte per 100 Gb/s holds the traffic of 40 us, which is 20 us in each direction or 4 km.
    #[test]
    fn a_queue_holds_what_is_sent_in_a_round_trip_of_the_link() {
        let spec = LosslessReach {
            km_delay: Duration::from_us(5),
            queues: vec![1, 8],
            chips: vec![Chip {
                name: "chip".to_owned(),
                ports: 32,
                link: Rate::from_gbps(400),
                buffer: Bytes(64_000_000),
            }],
        };
        let rows = run(&spec);
        let reach: Vec<f64> = rows.iter().map(|result| result.run.extra["reach_km"]).collect();
        assert_eq!(reach, [4.0, 0.5]);
        let queues: Vec<Value> = rows.iter().map(|result| result.run.sweep["queues"].clone()).collect();
        assert_eq!(queues, [Value::Integer(1), Value::Integer(8)]);
        assert!(rows.iter().all(|result| result.run.scheme == "chip"));
    }
}
