//! Tests that settings that only change where the engine's synchronisation windows end do not change a run, and that
//! links without latency have the same results with one and with two threads.

use super::support::*;
use anabranch_base::{Purpose, stream};
use anabranch_sim::RunResult;

/// 120 messages among the first 15 of 16 hosts, with sizes and times that cause collisions.
fn messages() -> String {
    let mut random = stream(12_345, 0, Purpose::Registered);
    let mut draw = |below: u32| random.below(below);
    let mut text = "[workload]\nkind = \"messages\"\n".to_owned();
    for _ in 0..120 {
        let from = draw(15);
        let to = (from + 1 + draw(14)) % 15;
        let (bytes, start) = (1_000 + draw(120_000), draw(60_000));
        text += &format!(
            "[[workload.message]]\nfrom = {from}\nto = {to}\nbytes = \"{bytes}B\"\nstart = \"{start}ns\"\n"
        );
    }
    text
}

/// Losses. With the short timeouts of [`settings`], they cause duplicates that arrive late.
const LOSSES: &str = r#"
[[fault]]
kind = "packet-loss"
links = "tor:1/up"
probability = 0.01
duration = "200us"
"#;

/// Faults of the link of an idle host. They end synchronisation windows at times at which no window would end without
/// these faults.
pub fn faults_of_the_idle_host(count: u64) -> String {
    let fault = |number: u64| {
        let at = 2_001 + 2_711 * number;
        format!(
            "[[fault]]\nkind = \"link-down\"\nlinks = \"host:15\"\nat = \"{at}ns\"\nduration = \"{}ns\"\n",
            1 + number % 700
        )
    };
    (0..count).map(fault).collect()
}

fn settings(scheme: &str) -> String {
    match scheme {
        "irn-ar" | "irn-ecmp" => {
            format!(
                "[set]\n\"{scheme}.transport.rto\" = \"25us\"\n\"{scheme}.transport.rto_low\" = \"20us\"\n"
            )
        }
        "themis-longhaul" => String::new(),
        _ => format!("[set]\n\"{scheme}.transport.rto\" = \"25us\"\n"),
    }
}

/// A run with the settings `more` in addition to those of [`settings`], and with `rest` at the end of the scenario.
pub fn run_with(scheme: &str, more: &str, rest: &str) -> RunResult {
    let (setup, settings) = (paper(scheme), settings(scheme) + more);
    let text = format!(
        "schemes = [\"{scheme}\"]\nsetup = \"{setup}\"\n{settings}{LEAF_SPINE}{}{LOSSES}{rest}",
        messages()
    );
    let scenario = read(&text, &[]);
    let point = scenario.points().unwrap().remove(0);
    anabranch_sim::run(&point, &Default::default()).unwrap_or_else(|error| panic!("{scheme}: {error}"))
}

#[test]
fn faults_where_nobody_is_change_nothing() {
    let curves = "[[measure]]\nseries = \"table-entries\"\nevery = \"3us\"\nswitches = \"tor:100%\"\n";
    let mut late = 0;
    for scheme in
        ["reps", "strack", "rocev2", "dcp", "irn-ar", "irn-ecmp", "sr-ecmp", "themis-spraying", "conweave"]
    {
        let alone = run_with(scheme, "", curves);
        for count in [1, 7, 40] {
            let other = run_with(scheme, "", &format!("{}{curves}", faults_of_the_idle_host(count)));
            let differs = alone.flows.iter().zip(&other.flows).find(|(one, other)| one != other);
            assert_eq!(differs, None, "{scheme}, {count} faults");
            // Each fault has a row for the packets that it affected, even if it affected none, and a warning if it
            // affected none. The rows and the warnings are removed before the comparison.
            let told = |result: &RunResult| {
                let mut run = result.run.clone();
                (run.faults, run.warnings) = (Vec::new(), Vec::new());
                run
            };
            assert_eq!(told(&alone), told(&other), "{scheme}, {count} faults");
            assert_eq!(alone.series, other.series, "{scheme}, {count} faults");
        }
        late += alone.run.retransmissions;
    }
    assert!(late > 0, "nothing was sent again, so that no copy could come late");
}

#[test]
fn where_the_limit_is_changes_nothing() {
    for scheme in ["dcp", "themis-spraying", "irn-ar"] {
        let alone = run_with(scheme, "", "");
        let end = (alone.run.sim_time_us * 1e6) as u64;
        for more in [1, 300_000, 10_000_000] {
            let limit = format!("[limits]\nmax_time = \"{}ps\"\n", end + more);
            let other = run_with(scheme, "", &limit);
            assert_eq!(alone.run, other.run, "{scheme}, {more} ps after the last acknowledgement");
        }
    }
}

#[test]
fn links_without_latency_run_with_every_scheme() {
    let text = |scheme: &str| {
        format!(
            "schemes = [\"{scheme}\"]\n[topology]\nkind = \"leaf-spine\"\nhosts = 8\nhosts_per_tor = 4\nlink = \"100Gbps\"\nlink_latency = \"0us\"\nswitch_latency = \"0us\"\n[workload]\nkind = \"incast\"\ndegree = 5\nbytes = \"20001B\"\n"
        )
    };
    let mut ran = 0;
    for scheme in anabranch_sim::scenario::schemes() {
        let scenario = read(&text(scheme.name), &[]);
        if scenario.check().is_err() {
            // A scheme may be refused on links without latency.
            continue;
        }
        for point in scenario.points().unwrap() {
            let [one, two] = [1, 2].map(|threads| {
                let control = anabranch_sim::Control { threads, ..Default::default() };
                anabranch_sim::run(&point, &control)
                    .unwrap_or_else(|error| panic!("{}: {error}", scheme.name))
            });
            assert_eq!(one.run.flows_finished, 5, "{}", scheme.name);
            assert_eq!(one.flows, two.flows, "{}", scheme.name);
            ran += 1;
        }
    }
    assert!(ran > 20, "{ran}");
}
