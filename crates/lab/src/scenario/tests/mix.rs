//! Hosts with another load balancer: valid settings, and wrong ones with the whole error text, whose suggestions are
//! valid.

use crate::scenario::tests::folder;
use crate::scenario::*;
use anabranch_base::HostId;
use anabranch_proto::LbConfig;
use anabranch_proto::lb::OpsConfig;

const SCENARIO: &str = r#"schemes = ["reps", "themis-spraying"]
[topology]
kind = "fat-tree"
hosts = 128
tiers = 2
link = "200Gbps"
[workload]
kind = "permutation"
bytes = "1MiB"
[set]
"#;

fn attempt(setting: &str) -> Result<Scenario, Diagnostic> {
    let text = format!("{SCENARIO}{setting}\n");
    let scenario = read("s.toml", &text, &folder(), &Overrides::default())?;
    scenario.check().map(|_| scenario)
}

#[track_caller]
fn good(setting: &str) -> Scenario {
    attempt(setting).unwrap_or_else(|e| panic!("{e}\n{setting}"))
}

#[test]
fn every_nth_host_has_the_other_balancer_and_its_parameters_are_set_by_their_paths() {
    let s = good(
        "\"reps.mix\" = { every = 4, lb = { kind = \"ops\", evs = 16 } }\n\"reps.mix.lb.evs\" = 32\n\"reps.mix.every\" = 10",
    );
    let [reps, themis] = &s.schemes[..] else { panic!("{:?}", s.schemes) };
    for host in 0..40 {
        let ops = *reps.lb_of(HostId(host)) == LbConfig::Ops(OpsConfig { evs: 32 });
        assert_eq!(ops, [0, 10, 20, 30].contains(&host), "host {host}");
    }
    assert_eq!(themis.mix, None);
    let again = read("s.toml", &s.to_toml(), &folder(), &Overrides::default()).unwrap();
    assert_eq!(again.schemes, s.schemes, "what is written out reads back");
}

#[test]
fn a_scheme_of_ones_own_may_have_a_mix() {
    let text = SCENARIO.replace("\"themis-spraying\"", "\"half\"").replace(
        "[set]\n",
        "[[scheme]]\nname = \"half\"\nbase = \"reps\"\nmix = { every = 2, lb = { kind = \"ecmp\" } }\n",
    );
    let scenario = read("s.toml", &text, &folder(), &Overrides::default()).unwrap();
    let mix = MixSpec { every: 2, lb: LbConfig::Ecmp {} };
    assert_eq!(scenario.schemes[1].mix, Some(mix));
    let wrong = text.replace("every = 2", "every = 1");
    let said = read("s.toml", &wrong, &folder(), &Overrides::default()).unwrap_err().to_string();
    assert!(said.contains("mix.every must be 2 to 65536, not 1"), "{said}");
}

/// Wrong settings, each of which is line 11 of its scenario, with the whole error text. `KINDS` is replaced by the list
/// of load balancers.
const CASES: &[(&str, &str)] = &[
    (
        r#""reps.mix.every" = 10"#,
        r#"s.toml:11:1: scheme "reps" has no mix of balancers, so it has no "mix.every"
  write: "reps.mix" = { every = 10, lb = { kind = "ecmp" } }"#,
    ),
    (
        r#""reps.mix.lb" = { kind = "ecmp" }"#,
        r#"s.toml:11:1: scheme "reps" has no mix of balancers, so it has no "mix.lb"
  write: "reps.mix" = { every = 10, lb = { kind = "ecmp" } }"#,
    ),
    (
        r#""reps.mix" = { every = 1, lb = { kind = "ecmp" } }"#,
        r#"s.toml:11:1: mix.every must be 2 to 65536, not 1
  write: "reps.mix" = { every = 2, lb = { kind = "ecmp" } }"#,
    ),
    (
        r#""reps.mix" = { every = 0, lb = { kind = "ecmp" } }"#,
        r#"s.toml:11:1: mix.every must be 2 to 65536, not 0
  write: "reps.mix" = { every = 2, lb = { kind = "ecmp" } }"#,
    ),
    (
        r#""reps.mix" = 10"#,
        r#"s.toml:11:1: mix.every and mix.lb are to be said, not 10
  write: "reps.mix" = { every = 10, lb = { kind = "ecmp" } }"#,
    ),
    (
        r#""reps.mix" = { every = 10, lb = "ops" }"#,
        r#"s.toml:11:1: mix.lb is a table with the kind of load balancer and its parameters, not "ops"
  write: "reps.mix" = { every = 10, lb = { evs = 65536, kind = "ops" } }"#,
    ),
    (
        r#""reps.mix" = { every = 5, lb = { kind = "ecpm" } }"#,
        r#"s.toml:11:1: mix.lb.kind is "ecpm", which is no load balancer; there are KINDS
  write: "reps.mix" = { every = 5, lb = { kind = "ecmp" } }"#,
    ),
    (
        r#""reps.mix" = { every = 10, lb = { kind = "ops" } }"#,
        r#"s.toml:11:1: mix.lb: "ops" has no "evs", which must be said
  write: "reps.mix" = { every = 10, lb = { evs = 65536, kind = "ops" } }"#,
    ),
    (
        r#""reps.mix" = { every = 10, lb = { kind = "ops", evs = 0 } }"#,
        r#"s.toml:11:1: mix.lb.evs must be 1 to 65536, not 0
  write: "reps.mix" = { every = 10, lb = { evs = 1, kind = "ops" } }"#,
    ),
    (
        r#""reps.mix" = { every = 10, lb = { kind = "ecmp" }, cc = 3 }"#,
        r#"s.toml:11:1: mix.cc is nothing that a mix has: its hosts differ in their balancer alone
  write: "reps.mix" = { every = 10, lb = { kind = "ecmp" } }"#,
    ),
    (
        r#""themis-spraying.mix" = { every = 10, lb = { kind = "ops", evs = 16 } }"#,
        r#"s.toml:11:1: the fabric.program themis-spraying names a packet's path by its PSN, so that mix.lb.kind must be "ecmp", which leaves the entropy value alone
  write: "themis-spraying.mix.lb" = { kind = "ecmp" }"#,
    ),
    (
        r#""mix" = { every = 10, lb = { kind = "ecmp" } }"#,
        r#"s.toml:11:1: "mix" is no parameter of a scheme
  write: "*.mix" = { every = 10, lb = { kind = "ecmp" } }"#,
    ),
];

#[test]
fn what_is_wrong_is_said_with_what_to_write() {
    for (setting, expected) in CASES {
        let expected = expected.replace("KINDS", &LbConfig::KINDS.join(", "));
        let said = attempt(setting).unwrap_err().to_string();
        assert_eq!(said, expected, "{setting}");
        let (_, advice) = expected.split_once("\n  write: ").unwrap();
        // A suggestion for `mix.lb` is tested together with the wrong setting, and any other suggestion instead of it.
        let both = format!("{setting}\n{advice}");
        good(if advice.contains(".mix.lb\"") { &both } else { advice });
    }
}
