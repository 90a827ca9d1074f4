//! A run that fails does so in the same way on any number of threads: with the same error text and the same partial
//! results.

use super::lossless::{ring, with_threshold, worst};
use super::support::*;
use super::threads::{came_of, measures, program_at_tors, short_timeouts, tight};
use anabranch_base::Duration;
use anabranch_proto::{Span, TransportConfig};
use anabranch_sim::scenario::{RunPoint, schemes};
use std::collections::BTreeMap;

/// The error of a point on one thread, which must be the same on 2, 3 and 8 threads.
fn fails(point: &RunPoint, what: &str) -> String {
    let alone = came_of(point, 1);
    for threads in [2, 3, 8] {
        came_of(point, threads).assert_is(&alone, &format!("{what}, {threads} threads"));
    }
    if let Some(result) = &alone.result {
        assert_eq!(result.run.digest.len(), 32, "{what}: part of a result has a digest");
        assert!(result.run.packet_hops > 0, "{what}: {:?}", result.run);
    }
    alone.error.unwrap_or_default()
}

/// For each of `words`, the number of errors that contain it, among the points of all built-in schemes.
fn failures<'w>(
    text: &str,
    words: &[&'w str],
    settings: impl Fn(&str) -> String,
) -> BTreeMap<&'w str, usize> {
    let mut said_by_word = BTreeMap::new();
    for scheme in schemes() {
        let name = scheme.name;
        let text = format!("schemes = [\"{name}\"]\nsetup = \"{}\"\n{text}\n{}", paper(name), settings(name));
        for point in points(&text, &[]) {
            let said = fails(&point, &format!("{name}\n{text}"));
            println!("{name}: {said}");
            for word in words.iter().filter(|word| said.contains(**word)) {
                *said_by_word.entry(*word).or_default() += 1;
            }
        }
    }
    said_by_word
}

fn permutation() -> String {
    format!("{LEAF_SPINE}[workload]\nkind = \"permutation\"\nbytes = \"60KB\"\n{}", measures())
}

fn crowded(name: &str) -> String {
    format!("[set]\n{}{}{}", program_at_tors(name), tight(name), short_timeouts(name))
}

#[test]
fn stalled() {
    let fault = "[[fault]]\nkind = \"link-down\"\nlinks = \"host:3\"\nat = \"3us\"\nboth_directions = true\n";
    // The run waits most of the time, so its curves are given few points.
    let rare = permutation()
        .replace("every = \"3us\"", "every = \"200us\"")
        .replace("every = \"5us\"", "every = \"200us\"");
    let text = format!("{rare}{fault}[limits]\nstall = \"1ms\"\n");
    let said = failures(&text, &["stalled at ", "nothing new was delivered for 1ms"], crowded);
    assert_eq!(said.values().copied().collect::<Vec<_>>(), [schemes().len(); 2], "{said:?}");
}

#[test]
fn out_of_time() {
    for max_time in ["7us", "11us"] {
        let text = format!("{}[limits]\nmax_time = \"{max_time}\"\n", permutation());
        let said = failures(&text, &["reached limits.max_time at "], crowded);
        assert!(said["reached limits.max_time at "] == schemes().len(), "{max_time}: {said:?}");
    }
}

#[test]
fn out_of_events_and_packets() {
    for (limit, count) in [("max_events", 1_500), ("max_packets", 60)] {
        let text = format!("{}[limits]\n{limit} = {count}\n", permutation());
        let expected = format!("reached limits.{limit} at ");
        let said = failures(&text, &[&expected], crowded);
        assert!(said[&*expected] == schemes().len(), "{limit}: {said:?}");
    }
}

#[test]
fn out_of_room_for_curves() {
    let measures = "[[measure]]\nseries = \"sender-rtt\"\nqps = \"all\"\n";
    let text = format!("{LEAF_SPINE}[workload]\nkind = \"permutation\"\nbytes = \"60KB\"\n{measures}");
    for mut point in points(&format!("schemes = [\"reps\", \"strack\", \"dcp\"]\n{text}"), &[]) {
        point.most_points = 40;
        let said = fails(&point, &point.scheme.name);
        assert!(said.contains("came to 40 points within"), "{said}");
    }
}

/// Four switches wait for each other in a ring, which is detected when no event is left.
#[test]
fn deadlocked() {
    let seeds = format!("{:?}", (1..=24).collect::<Vec<u64>>());
    let stuck = ring(400, &seeds).into_iter().filter(|point| attempt(point).is_err());
    let mut deadlocks = 0;
    for mut point in stuck.take(2) {
        let said = fails(&point, &format!("seed {}", point.seed));
        assert!(said.starts_with("deadlock at ") && said.contains("tor:"), "{said}");
        deadlocks += 1;
        // With a timeout that keeps the senders busy, the watchdog detects the deadlock.
        if let TransportConfig::GoBackN(its) = &mut point.scheme.transport {
            its.rto = Span::Time(Duration::from_us(300));
        }
        point.limits.stall = Duration::from_us(2_000);
        let watched = fails(&point, &format!("seed {}, short timeouts", point.seed));
        assert!(watched.starts_with("deadlock at ") && watched != said, "{watched}");
    }
    assert!(deadlocks > 0, "no seed sends all four flows the same way round");
}

/// If a packet does not fit into the buffer of a lossless class, the run has no results, only an error that names the
/// port and the packet.
#[test]
fn a_lossless_class_without_room() {
    let points = points(&worst::text(""), &[("f.cm", &worst::flows(true))]);
    let point = with_threshold(points[0].clone(), worst::THRESHOLD, Some(worst::NEEDED - 1));
    let said = fails(&point, "one byte below");
    assert!(said.starts_with("a lossless class lost a packet at ") && said.contains("tor:0/up:0"), "{said}");
}
