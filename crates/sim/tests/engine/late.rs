//! Runs near the end of simulated time, which is at 281 s.

use super::support::*;
use anabranch_base::Time;
use anabranch_sim::RunError;
use anabranch_sim::scenario::{NoFiles, Overrides, read};

const LAST: Time = Time(281_000_000 * US);

/// A scenario with two messages between ToRs. One message starts at 0, and the other one at `start`. The schemes have
/// different timers, for example of rates and of programs.
fn text(start: &str, bytes: u64) -> String {
    format!(
        r#"
schemes = ["reps", "rocev2", "strack", "dcp", "conweave", "themis-spraying"]
[topology]
kind = "fat-tree"
hosts = 16
hosts_per_tor = 4
link = "100Gbps"
[workload]
kind = "messages"
[[workload.message]]
from = 0
to = 9
bytes = "1MB"
[[workload.message]]
from = 1
to = 14
bytes = "{bytes}B"
start = "{start}"
[limits]
max_time = "281s"
"#
    )
}

#[test]
fn what_ends_before_the_end_of_time_is_as_at_any_time() {
    let early = finish_all(&text("900ms", 1_000_000), &[]);
    let late = finish_all(&text("280900ms", 1_000_000), &[]);
    for (early, late) in early.iter().zip(&late) {
        let [first, second] = &late.flows[..] else { panic!("two flows") };
        let scheme = &late.run.scheme;
        assert_eq!(second.start_ps, Some(280_900_000 * US), "{scheme}");
        assert!(second.fct_ps > Some(80 * US) && second.fct_ps < Some(1_000 * US), "{scheme}: {second:?}");
        assert_eq!(first.fct_ps, early.flows[0].fct_ps, "{scheme}");
        assert_eq!(second.fct_ps, early.flows[1].fct_ps, "{scheme}");
    }
}

#[test]
fn what_would_end_after_it_ends_the_run() {
    // 125 MB take 10 ms.
    for point in points(&text("280995ms", 125_000_000), &[]) {
        match attempt(&point) {
            Err(error @ RunError::Limit { limit: "max_time", at: LAST, unfinished: 1, .. }) => {
                let told = error.to_string();
                assert!(told.ends_with("simulated time ends there: let messages start earlier"), "{told}");
            }
            other => panic!("{}: {other:?}", point.scheme.name),
        }
    }
}

#[test]
fn what_would_start_after_it_is_refused() {
    let scenario = read("late.toml", &text("281001ms", 1), &NoFiles, &Overrides::default()).unwrap();
    let error = scenario.check().unwrap_err();
    let expected = "message 1 starts at 281.001s, and simulated time ends at 281s";
    assert_eq!((error.message.as_str(), error.span.line), (expected, Some(18)), "{error}");
    let advised = error.help().unwrap().split('"').nth(1).unwrap().to_owned();
    assert_eq!(finish_all(&text(&advised, 1), &[]).len(), 6);
}
