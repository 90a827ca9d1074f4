//! Settings of the program and the routing of a scheme: valid ones, and wrong ones with the error text.

use crate::scenario::tests::folder;
use crate::scenario::*;
use anabranch_proto::ProgramConfig;

/// A scenario on a fabric with eight paths between any two ToRs.
const TWO_TIERS: &str = r#"schemes = ["themis-spraying", "conweave", "reps"]
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

/// Two data centres, in lines 2 to 4.
const TWO_SITES: &str = r#"topology = { kind = "cross-dc", tors = 2, leaves = 2, hosts_per_tor = 2, link = "100Gbps", wan_latency = "50us" }
workload = { kind = "permutation", bytes = "1MB" }
[set]
"#;

/// A fabric of one plane, in lines 2 to 4.
const ONE_PLANE: &str = r#"topology = { kind = "fat-tree", hosts = 16, tiers = 2, link = "400Gbps" }
workload = { kind = "permutation", bytes = "1MB" }
[set]
"#;

fn attempt(text: &str) -> Result<Scenario, Diagnostic> {
    let scenario = read("s.toml", text, &folder(), &Overrides::default())?;
    scenario.check().map(|_| scenario)
}

#[track_caller]
fn good(text: &str) -> Scenario {
    attempt(text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Wrong settings, each of which is line 11 of its scenario, with the whole error text.
const CASES: &[(&str, &str)] = &[
    (
        r#""themis-spraying.fabric.program_at" = "core:100%""#,
        r#"s.toml:11:1: scheme "themis-spraying": fabric.program_at: "core:100%": this topology has no such switches; it has tor, spine
  write: "themis-spraying.fabric.program_at" = "tor:100%""#,
    ),
    (
        r#""themis-spraying.fabric.program.paths" = 4"#,
        r#"s.toml:11:1: scheme "themis-spraying": fabric.program.paths: there are 8 paths between two ToRs, and the program's tables have 4 entries
  write: "themis-spraying.fabric.program.paths" = 8"#,
    ),
    (
        r#""themis-spraying.fabric.program.window" = 256"#,
        r#"s.toml:11:1: fabric.program.window is 256, and the transport's window (transport.window_packets) of 512 packets is larger than what such a bitmap covers
  write: "themis-spraying.fabric.program.window" = 512"#,
    ),
    (
        r#""themis-spraying.transport.window_packets" = 1024"#,
        r#"s.toml:11:1: fabric.program.window is 512, and the transport's window (transport.window_packets) of 1024 packets is larger than what such a bitmap covers
  write: "themis-spraying.fabric.program.window" = 1024"#,
    ),
    (
        r#""themis-spraying.transport.window_packets" = 0"#,
        r#"s.toml:11:1: transport.window_packets must be 1 to 65535, not 0
  write: "themis-spraying.transport.window_packets" = 1"#,
    ),
    (
        r#""themis-spraying.fabric.program.paths" = 0"#,
        r#"s.toml:11:1: fabric.program.paths must be 1 to 65536, not 0
  write: "themis-spraying.fabric.program.paths" = 1"#,
    ),
    (
        r#""themis-spraying.fabric.program.paths" = 65537"#,
        r#"s.toml:11:1: fabric.program.paths must be 1 to 65536, not 65537
  write: "themis-spraying.fabric.program.paths" = 65536"#,
    ),
    (
        r#""themis-spraying.fabric.program.window" = 65537"#,
        r#"s.toml:11:1: fabric.program.window must be 1 to 65536, not 65537
  write: "themis-spraying.fabric.program.window" = 65536"#,
    ),
    (
        r#""themis-spraying.fabric.program.ooo_threshold" = 0"#,
        r#"s.toml:11:1: fabric.program.ooo_threshold must be 1 to 4294967295, not 0
  write: "themis-spraying.fabric.program.ooo_threshold" = 1"#,
    ),
    (
        r#""themis-spraying.fabric.program.avoidance_window" = 0"#,
        r#"s.toml:11:1: fabric.program.avoidance_window must be 1 to 4294967295, not 0
  write: "themis-spraying.fabric.program.avoidance_window" = 1"#,
    ),
    (
        r#""themis-spraying.fabric.program.lazy_drop" = "no""#,
        r#"s.toml:11:1: fabric.program.lazy_drop must be true or false, not "no"
  write: "themis-spraying.fabric.program.lazy_drop" = true"#,
    ),
    (
        r#""themis-spraying.fabric.program.lazy_drp" = false"#,
        r#"s.toml:11:1: scheme "themis-spraying" has no parameter "fabric.program.lazy_drp"
  write: "themis-spraying.fabric.program.lazy_drop" = false"#,
    ),
    (
        r#""themis-spraying.lb" = { kind = "ops", evs = 64 }"#,
        r#"s.toml:11:1: the fabric.program themis-spraying names a packet's path by its PSN, so that lb.kind must be "ecmp", which leaves the entropy value alone
  write: "themis-spraying.lb" = { kind = "ecmp" }"#,
    ),
    (
        r#""conweave.fabric.program.reply_extra" = "0us""#,
        r#"s.toml:11:1: fabric.program.reply_extra must be above 0
  write: "conweave.fabric.program.reply_extra" = "4us""#,
    ),
    (
        r#""conweave.fabric.program.path_pause" = "0rtt""#,
        r#"s.toml:11:1: fabric.program.path_pause must be above 0
  write: "conweave.fabric.program.path_pause" = "16us""#,
    ),
    (
        r#""conweave.fabric.program.flush_extra" = "0ns""#,
        r#"s.toml:11:1: fabric.program.flush_extra must be above 0
  write: "conweave.fabric.program.flush_extra" = "16us""#,
    ),
    (
        r#""conweave.fabric.program.default_wait" = "0us""#,
        r#"s.toml:11:1: fabric.program.default_wait must be above 0
  write: "conweave.fabric.program.default_wait" = "200us""#,
    ),
    (
        r#""conweave.fabric.program.expiry" = "0us""#,
        r#"s.toml:11:1: fabric.program.expiry must be above 0
  write: "conweave.fabric.program.expiry" = "300us""#,
    ),
    (
        r#""reps.fabric.program" = { kind = "nack-drop", share = 1.5 }"#,
        r#"s.toml:11:1: fabric.program.share must be 0 to 1, not 1.5
  write: "reps.fabric.program" = { kind = "nack-drop", share = 0.5 }"#,
    ),
    (
        r#""reps.fabric.program" = { kind = "flowlet", gap = "0us" }"#,
        r#"s.toml:11:1: fabric.program.gap must be above 0
  write: "reps.fabric.program" = { gap = "100us", kind = "flowlet" }"#,
    ),
    (
        r#""reps.fabric.program" = { kind = "flowlet" }"#,
        r#"s.toml:11:1: fabric.program: "flowlet" has no "gap", which must be said
  write: "reps.fabric.program" = { gap = "100us", kind = "flowlet" }"#,
    ),
];

#[test]
fn every_fault_of_a_program_has_its_place_and_its_cure() {
    let mut wrong = String::new();
    for (settings, expected) in CASES {
        let text = format!("{TWO_TIERS}{settings}\n");
        let said = attempt(&text).expect_err(&text).to_string();
        if said != *expected {
            wrong += &format!("--- said\n{said}\n--- expected\n{expected}\n\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// A suggestion that is not the end of a range gives a valid scenario, either in place of the wrong setting or together
/// with it.
#[test]
fn the_cures_work() {
    for (fault, said) in CASES {
        let (_, advice) = said.split_once("\n  write: ").unwrap();
        let key = |line: &str| line.split(" = ").next().unwrap_or_default().to_owned();
        let beside = if key(fault) == key(advice) || !said.contains("transport.window_packets) of 1024") {
            ""
        } else {
            fault
        };
        // A suggestion for a parameter of the program of `reps` needs the setting that gives `reps` the program.
        let table = if advice.contains("reps.fabric.program.") { fault } else { beside };
        // These suggestions are the ends of the permitted ranges, and need not fit this fabric.
        if ["paths\" = 1", "paths\" = 65536", "window\" = 65536"].iter().any(|end| advice.ends_with(end)) {
            continue;
        }
        good(&format!("{TWO_TIERS}{table}\n{advice}\n"));
    }
}

/// The bitmap of the program `themis-spraying` covers the window of the transport `rnic-sr`. This window is a number of
/// packets. The program also handles the NACKs of that transport.
#[test]
fn themis_needs_the_transport_that_it_was_made_for() {
    let themis = "kind = \"themis-spraying\", paths = 8, window = 512, confirmation = true, lazy_drop = true, \
                  reroute = true, failure_handling = true, ooo_threshold = 448, avoidance_window = 1000";
    let said =
        attempt(&format!("{TWO_TIERS}\"reps.fabric.program\" = {{ {themis} }}\n")).unwrap_err().to_string();
    let expected = "s.toml:11:1: the fabric.program themis-spraying needs transport.kind = \"rnic-sr\": its bitmap \
                    covers a window in packets, which no other transport keeps, and it answers to its NACKs\n  \
                    write: fabric.program for a scheme with that transport: themis-spraying, sr-ar, sr-ecmp, \
                    sr-spray, conweave";
    assert_eq!(said, expected);
    let text = TWO_TIERS.replace("\"reps\"", "\"sr-ar\"");
    good(&format!("{text}\"sr-ar.fabric.program\" = {{ {themis} }}\n"));
}

/// The program `bicc` counts the bytes in flight by cumulative ACKs and NACKs, which not every transport has.
#[test]
fn bicc_needs_acks_that_it_can_count_by() {
    let with = |scheme: &str, more: &str| {
        let bicc = "{ kind = \"bicc\", window = \"100KB\", release = \"20ms\" }";
        let at = format!("\"{scheme}.fabric.program_at\" = \"esw:100%\"");
        attempt(&format!(
            "schemes = [\"{scheme}\"]\n{TWO_SITES}\"{scheme}.fabric.program\" = {bicc}\n{at}\n{more}\n"
        ))
    };
    let others = [
        ("dcp", "\"dcp\"", ""),
        ("strack", "\"strack\"", ""),
        ("uet-nscc", "\"uet\"", ""),
        ("mrc-1plane", "\"mrc\"", ""),
        ("eqds", "\"eqds\" in a fabric that trims", "\"eqds.fabric.trim\" = true"),
        ("reps", "\"sack\" in a fabric that trims", "\"reps.fabric.trim\" = true"),
    ];
    for (scheme, transport, more) in others {
        let said = with(scheme, more).unwrap_err().to_string();
        let expected = format!(
            "s.toml:5:1: the fabric.program bicc counts bytes in flight by ACKs and NACKs of every packet below a PSN, and \
             those of transport.kind = {transport} are others\n  write: fabric.program for a scheme with such ACKs: bicc, \
             dcqcn, irn-ecmp, rack-tlp, sr-ecmp"
        );
        assert_eq!(said, expected);
    }
    for scheme in ["bicc", "dcqcn", "irn-ecmp", "rack-tlp", "sr-ecmp", "mp-rdma", "reps", "eqds"] {
        with(scheme, "").unwrap_or_else(|error| panic!("{error}"));
    }
}

/// The queues of programs mark from `ecn_kmin` to `ecn_kmax`, as ports do.
#[test]
fn queues_of_programs_have_ordered_thresholds() {
    for (scheme, table) in [("bicc", "fabric.program"), ("themis-longhaul", "fabric.program.trp")] {
        let with = |line: &str| attempt(&format!("schemes = [\"{scheme}\"]\n{TWO_SITES}{line}\n"));
        let said = with(&format!("\"{scheme}.{table}.ecn_kmin\" = \"100MB\"")).unwrap_err().to_string();
        let (message, advice) = said.split_once("\n  write: ").unwrap();
        assert!(
            message.starts_with(&format!("s.toml:5:1: {table}.ecn_kmin (100MB) is above {table}.ecn_kmax (")),
            "{said}"
        );
        with(advice).unwrap_or_else(|error| panic!("{error}"));
    }
}

/// Denied paths must leave every queue pair an entropy value.
#[test]
fn mrc_must_have_paths_that_are_not_denied() {
    let with = |line: &str| attempt(&format!("schemes = [\"mrc-1plane\"]\n{ONE_PLANE}{line}\n"));
    let denied = |list: &str| format!("\"mrc-1plane.lb.denied\" = {list}");
    let cases = [
        (
            "[{ plane = 0, path = 9, of = 4 }]",
            "lb.denied[0].path must be below its \"of\" (4), not 9",
            "[{ plane = 0, path = 1, of = 4 }]",
        ),
        (
            "[{ plane = 0, path = 0, of = 2 }, { plane = 0, path = 1, of = 2 }]",
            "scheme \"mrc-1plane\": lb.denied may leave a queue pair without an entropy value: in the plane it denies as \
             many successive paths as a queue pair has",
            "[]",
        ),
    ];
    for (wrong, message, instead) in cases {
        let said = with(&denied(wrong)).unwrap_err().to_string();
        let advice = denied(instead);
        assert_eq!(said, format!("s.toml:5:1: {message}\n  write: {advice}"));
        with(&advice).unwrap_or_else(|error| panic!("{error}"));
    }
}

/// With more than two tiers, the ToR steers packets by the entropy value, which requires linear hashes.
#[test]
fn three_tiers_need_linear_hashes() {
    let text = TWO_TIERS.replace("tiers = 2", "tiers = 3");
    good(&text);
    for routing in ["ecmp", "adaptive", "spray"] {
        let said = attempt(&format!("{text}\"themis-spraying.fabric.routing\" = \"{routing}\"\n"))
            .unwrap_err()
            .to_string();
        assert!(said.starts_with("s.toml:11:1: scheme \"themis-spraying\": fabric.routing: "), "{said}");
        assert!(said.ends_with("\n  write: \"themis-spraying.fabric.routing\" = \"ecmp-linear\""), "{said}");
    }
}

#[test]
fn parameters_of_programs_are_set_and_swept() {
    let scenario = good(&format!(
        "{TWO_TIERS}\"themis-spraying.fabric.program.lazy_drop\" = false\nconweave.fabric.program.expiry = \"1ms\"\n\
         \"*.fabric.routing\" = \"ecmp-linear\"\n\
         \"conweave.fabric.pfc\" = {{ buffer = \"64MB\", alpha = 0.125, resume = \"3KB\" }}\n\
         \"reps.fabric.program\" = {{ kind = \"flowlet\", gap = \"100us\" }}\n\
         \"reps.fabric.program_at\" = \"tor:0\"\n\
         [sweep]\n\"themis-spraying.fabric.program.reroute\" = [true, false]\n\
         \"reps.fabric.program.gap\" = [\"10us\", \"50us\"]\n"
    ));
    let [themis, conweave, reps] = &scenario.schemes[..] else { panic!("{:?}", scenario.schemes) };
    let Some(ProgramConfig::ThemisSpraying(config)) = &themis.fabric.program else { panic!("{themis:?}") };
    assert!(!config.lazy_drop && config.confirmation && config.reroute);
    assert!(conweave.fabric.pfc.is_some() && conweave.fabric.queue.is_none());
    assert_eq!(reps.fabric.program_at.as_deref(), Some("tor:0"));
    assert!(scenario.schemes.iter().all(|scheme| scheme.fabric.routing == RoutingMode::EcmpLinear));
    assert_eq!(scenario.points().unwrap().len(), 12);
    let again = good(&scenario.to_toml());
    assert_eq!(again, scenario);
}

/// A switch here has three equal-cost ports, but the program needs a power of two. No setting of the scheme changes
/// the number of ports.
#[test]
fn three_tiers_in_threes_have_no_map() {
    let text = r#"schemes = ["themis-spraying"]
[topology]
kind = "fat-tree"
hosts = 54
hosts_per_tor = 3
tiers = 3
link = "200Gbps"
[workload]
kind = "permutation"
bytes = "1MiB"
"#;
    let error = attempt(text).map(drop).unwrap_err().to_string();
    let said = r#"s.toml:1:1: scheme "themis-spraying": fabric.program: a switch has 3 equal-cost ports; where switches above the ToR choose too, their numbers must be powers of two
  write: numbers of hosts and uplinks that are powers of two"#;
    assert_eq!(error, said);
}
