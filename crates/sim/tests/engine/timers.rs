//! Tests of timers that an arriving packet moves to an earlier time, and of runs that wait for the start of a message.

use super::support::*;

fn one(scheme: &str, bytes: &str, seeds: u32, rest: &str) -> String {
    let seeds: Vec<u32> = (1..=seeds).collect();
    format!(
        r#"
limits.stall = "500ms"
schemes = ["{scheme}"]
setup = "{}"
seeds = {seeds:?}
[topology]
kind = "dumbbell"
hosts = 4
link = "100Gbps"
link_latency = "1us"
[workload]
kind = "tornado"
bytes = "{bytes}"
senders = 1
{rest}
"#,
        paper(scheme)
    )
}

fn switches_refuse(probability: f64) -> String {
    format!("[[fault]]\nkind = \"switch-loss\"\nlinks = \"all\"\nprobability = {probability}\n")
}

/// The timer is first set to the timeout. A probe, or the end of the reordering window, is due long before that
/// timeout.
#[test]
fn rack_tlp_waits_for_no_timeout_where_it_counts_none() {
    let results = finish_all(&one("rack-tlp", "4MB", 40, &switches_refuse(0.01)), &[]);
    let without: Vec<f64> = results
        .iter()
        .filter(|result| result.run.timeouts == 0)
        .map(|result| result.run.fct_max_us)
        .collect();
    assert!(without.len() > 30, "{}", without.len());
    assert!(without.iter().all(|&fct| fct < 1_000.0), "{without:?}");
}

/// RTO_high is set while many packets are in flight. Once few are in flight, RTO_low applies.
#[test]
fn irn_has_its_short_timeout_when_little_is_in_flight() {
    let low = finish_all(&one("irn-ecmp", "20KB", 60, &switches_refuse(0.05)), &[]);
    let high = "[set]\n\"irn-ecmp.transport.rto_low\" = \"320us\"\n";
    let high = finish_all(&one("irn-ecmp", "20KB", 60, &format!("{}{high}", switches_refuse(0.05))), &[]);
    let waits = |results: &[anabranch_sim::RunResult]| -> f64 {
        results.iter().filter(|result| result.run.timeouts == 1).map(|result| result.run.fct_max_us).sum()
    };
    assert!(waits(&low) < waits(&high) - 1_000.0, "{} us, {} us", waits(&low), waits(&high));
}

/// A timed-out request is retransmitted in a new round, and is acknowledged in the middle of this round. Then the
/// timer of the next request starts, although that request was sent long before.
#[test]
fn dcp_times_the_next_request_once_a_repeated_one_is_acknowledged() {
    let rest = r#"
[set]
"dcp.transport.counter_bits" = 8
[[fault]]
kind = "packet-loss"
links = "host:0"
both_directions = false
probability = 0.003
[[fault]]
kind = "packet-loss"
links = "host:2"
both_directions = false
probability = 0.3
"#;
    let results = finish_all(&one("dcp", "500KB", 30, rest), &[]);
    assert!(results.iter().filter(|result| result.run.timeouts > 1).count() > 5);
}

/// A run that waits for the start of a message has not stalled, no matter how long it waits. It may wait for the first
/// message or between two messages.
#[test]
fn a_run_that_waits_for_its_next_message_is_not_stalled() {
    for starts in [[0, 100_000], [100_000, 150_000], [90_000, 90_001]] {
        let message = |start: &u64| {
            format!("[[workload.message]]\nfrom = 0\nto = 3\nbytes = \"1MB\"\nstart = \"{start}us\"\n")
        };
        let messages: String = starts.iter().map(message).collect();
        let text = format!(
            r#"
            schemes = ["reps", "rocev2"]
            setup = "reps-paper"
            [topology]
            kind = "single-switch"
            hosts = 4
            link = "100Gbps"
            [workload]
            kind = "messages"
            {messages}
            "#
        );
        for result in finish_all(&text, &[]) {
            assert!(result.run.sim_time_us > starts[1] as f64, "{}", result.run.sim_time_us);
        }
    }
}
