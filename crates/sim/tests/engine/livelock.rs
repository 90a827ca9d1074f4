//! A run in which packets are sent but no new data arrives has stalled.
//!
//! All tests except the last one use DCP on a fabric that drops packets instead of trimming them. In the livelock, ten
//! messages of 263 packets are sent to host 14 at the same time. The spine's port to the ToR of that host has room for
//! a megabyte and loses 372 packets of the eight messages from other ToRs. In each round of a sender, DCP's receiver
//! counts packets from zero, so a complete round has to arrive. All senders send their last packet at the same time
//! and time out at the same time, so each round repeats the previous round.

use super::support::*;
use anabranch_base::Time;
use anabranch_sim::{RunError, RunResult};

/// The ten senders. If they start at the same time, those that are not on the receiver's ToR never finish.
const SENDERS: [u32; 10] = [0, 2, 3, 4, 6, 7, 8, 10, 12, 13];

/// The run of a scenario in which each of [`SENDERS`] starts `apart` ns after the previous one.
fn attempted(apart: u64, rest: &str) -> Result<RunResult, RunError> {
    let message = |(slot, from): (u64, u32)| {
        let start = slot * apart;
        format!("[[workload.message]]\nfrom = {from}\nto = 14\nbytes = \"262144B\"\nstart = \"{start}ns\"\n")
    };
    let messages: String = (0..).zip(SENDERS).map(message).collect();
    let text = format!(
        r#"
schemes = ["dcp"]
setup = "dcp-paper"
[topology]
kind = "fat-tree"
hosts = 16
tiers = 2
oversubscription = 4
link = "40Gbps"
link_latency = "1us"
switch_latency = "2us"
[workload]
kind = "messages"
{messages}
[set]
"dcp.fabric.trim" = false
{rest}
"#
    );
    attempt(&points(&text, &[])[0])
}

const NO_MARKS: &str = "\"dcp.fabric.ecn_kmin\" = \"1GB\"\n\"dcp.fabric.ecn_kmax\" = \"1GB\"\n";

/// The last new packet arrives in the second round, which begins after the RTO of 4 ms. The run ends when nothing new
/// has arrived for the stall limit of 10 ms plus an RTO and a round trip. This is after about 18 ms. The end may be
/// some milliseconds later, because the watchdog checks only four times in that interval.
#[test]
fn retransmissions_in_step_are_a_stall() {
    for (rest, marks) in [("", true), (NO_MARKS, false)] {
        match attempted(0, rest) {
            Err(RunError::Stalled { at, unfinished, partial, reason, .. }) => {
                assert!(reason.to_string().contains("nothing new was delivered for 10ms"), "{reason}");
                assert_eq!(unfinished, 8);
                assert!(at > Time(14_000 * US) && at < Time(23_000 * US), "ended at {at}");
                let run = &partial.run;
                assert_eq!((run.flows_finished, run.drops % 372), (2, 0), "each round loses the same");
                assert!(run.timeouts >= 32 && run.trims == 0, "{run:?}");
                assert_eq!(run.ecn_marks > 0, marks);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn patience_is_that_of_the_scenario() {
    for (stall, from, to) in [("2ms", 6_000, 12_500), ("50ms", 54_000, 95_000)] {
        match attempted(0, &format!("[limits]\nstall = \"{stall}\"\n")) {
            Err(RunError::Stalled { at, .. }) => {
                assert!(at > Time(from * US) && at < Time(to * US), "{stall}: ended at {at}");
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Lockstep causes the livelock: senders that start 20 us apart all finish with the next round.
#[test]
fn senders_out_of_step_get_through() {
    let run = attempted(20_000, "").unwrap_or_else(|e| panic!("{e}")).run;
    assert!(run.timeouts > 0 && run.timeouts <= 3 && run.fct_max_us < 4_300.0, "{run:?}");
}

/// A permutation of 64 KiB per message, under the given limits. Every link loses packets with the given probability.
fn lossy(scheme: &str, probability: f64, limits: &str) -> Result<RunResult, RunError> {
    let text = format!(
        "schemes = [\"{scheme}\"]\nseeds = [1]\n[topology]\nkind = \"single-switch\"\nhosts = 16\nlink = \"100Gbps\"\n\
         [workload]\nkind = \"permutation\"\nbytes = \"64KiB\"\n[[fault]]\nkind = \"packet-loss\"\nlinks = \"all\"\n\
         at = \"0us\"\nprobability = {probability}\n{limits}"
    );
    attempt(&points(&text, &[])[0])
}

/// A run that stalls under losses finishes with the limits that its first hint proposes. If the hint also proposes a
/// lower loss rate, the run finishes with these limits and this loss rate.
#[test]
fn the_first_hint_of_a_run_that_stalls_under_losses_lets_it_end() {
    let value = |help: &str, key: &str| {
        let (_, rest) = help.split_once(key)?;
        rest.split([' ', ',']).next().map(str::to_owned)
    };
    let mut stalled = 0;
    for scheme in ["reps", "rocev2", "irn-ecmp", "strack", "eqds", "mp-rdma", "rack-tlp"] {
        for probability in [0.5, 0.9] {
            let Err(RunError::Stalled { help, .. }) = lossy(scheme, probability, "") else { continue };
            let help = help.join("\n");
            stalled += 1;
            let stall = value(&help, "stall = ").unwrap_or_else(|| panic!("{scheme} {probability}: {help}"));
            let max_time =
                value(&help, "max_time = ").map_or(String::new(), |time| format!("max_time = {time}\n"));
            let limits = format!("[limits]\nstall = {stall}\n{max_time}");
            let lost = value(&help, "a loss of ").map_or(probability, |lost| lost.parse().unwrap());
            let run = lossy(scheme, lost, &limits)
                .unwrap_or_else(|e| panic!("{scheme} {probability}: {help}\n{e}"));
            assert_eq!(run.run.flows_finished, 16, "{scheme}");
        }
    }
    assert!(stalled > 8, "{stalled}");
}
