//! Settings, measures and keys of workloads that are rejected, with the error text: the place, the problem, and what
//! to write instead.

use crate::scenario::tests::{folder, on};
use crate::scenario::*;

const HEAD: &str = r#"schemes = ["reps", "strack"]
[topology]
kind = "fat-tree"
hosts = 32
link = "400Gbps"
"#;

const WORKLOAD: &str = r#"[workload]
kind = "permutation"
bytes = "1MiB"
"#;

fn said(text: &str) -> String {
    read("s.toml", &on("reps-paper", text), &folder(), &Overrides::default())
        .and_then(|s| s.check())
        .expect_err(text)
        .to_string()
}

/// Wrong settings, each of which begins in line 10 of its scenario, with the whole error text.
const CASES: &[(&str, &str)] = &[
    (
        r#""reps.fabric.pfc.alpha" = 0.125"#,
        r#"s.toml:10:1: scheme "reps" has no PFC, so it has no "fabric.pfc.alpha" (schemes with PFC: mp-rdma, rocev2, rocev2-4qp, pfc-ecmp, pfc-ecmp-dcqcn, hpcc, dcqcn, themis-longhaul, pnp-only, trp-only, annulus, bicc)
  write: "reps.fabric.pfc" = { buffer = "256MB", alpha = 0.125, resume = "2packets" }"#,
    ),
    (
        r#""reps.cc.preset" = "hpcc""#,
        r#"s.toml:10:1: scheme "reps" has no parameter "cc.preset", which is a parameter set of DCQCN or NSCC
  write: that for a scheme with DCQCN: themis-spraying, conweave, sr-spray, sr-ar, sr-ecmp, to-ar, dcp-dcqcn, irn-ar-dcqcn, irn-ecmp-dcqcn, rocev2, rocev2-4qp, pfc-ecmp-dcqcn, dcqcn, themis-longhaul, pnp-only, trp-only, annulus, bicc; or with NSCC: uet-nscc, uet-nscc-bitmap, uet-nscc-reps, uet-nscc-oblivious, uet-both, mrc, mrc-no-trim, mrc-1plane"#,
    ),
    (
        r#""reps.fabric.program.paths" = 8"#,
        r#"s.toml:10:1: scheme "reps" has no program in its switches, so it has no "fabric.program.paths"
  write: that for a scheme with a program: themis-spraying, conweave, themis-longhaul, pnp-only, trp-only, annulus, bicc"#,
    ),
    (
        r#""reps.fabric.program_at" = "spine:0""#,
        r#"s.toml:10:1: fabric.program_at is "spine:0", but there is no fabric.program to be there
  write: fabric.program beside it, or no program_at"#,
    ),
    (
        r#""reps.fabric.routing_delay" = 5"#,
        r#"s.toml:10:1: fabric.routing_delay: "5" is not a time such as "500ns", "1.5us" or "10ms"; add a unit: ps, ns, us, ms, s
  write: "reps.fabric.routing_delay" = "5ms""#,
    ),
    (
        r#""strack.transport.probe_rtt" = "4rtt""#,
        r#"s.toml:10:1: transport.probe_rtt is above transport.probe_after: a SACK that takes longer than probe_after never counts, as the next probe has been sent by then
  write: "strack.transport.probe_rtt" = "3rtt""#,
    ),
    (
        r#""reps.fabric.routing" = "adaptiv""#,
        r#"s.toml:10:1: fabric.routing must be one of ecmp, ecmp-linear, adaptive, spray, source, not "adaptiv"
  write: "reps.fabric.routing" = "adaptive""#,
    ),
    (
        r#""reps.cc" = 5"#,
        r#"s.toml:10:1: cc must be a table, not 5
  write: "reps.cc" = { kind = "constant", window = "1bdp" }"#,
    ),
    (
        r#""*.cc.max_window" = "0packets""#,
        r#"s.toml:10:1: cc.max_window must be above 0
  write: "*.cc.max_window" = "1.5bdp""#,
    ),
    (
        r#""strack.transport.probe_aftr" = "1us""#,
        r#"s.toml:10:1: scheme "strack" has no parameter "transport.probe_aftr"
  write: "strack.transport.probe_after" = "1us""#,
    ),
    (
        r#""reps.fabric.ecn_kmax" = "0.1bdp""#,
        r#"s.toml:10:1: fabric.ecn_kmin (0.2bdp) is above fabric.ecn_kmax (0.1bdp)
  write: "reps.fabric.ecn_kmin" = "0.1bdp""#,
    ),
    (
        r#""reps.fabric.ecn_kmin" = "0.9queue"
"reps.fabric.ecn_kmax" = "0.8queue""#,
        r#"s.toml:10:1: fabric.ecn_kmin (0.9queue) is above fabric.ecn_kmax (0.8queue)
  write: "reps.fabric.ecn_kmin" = "0.8queue""#,
    ),
    (
        r#""reps.fabric.ecn_kmin" = "0.2quue""#,
        r#"s.toml:10:1: fabric.ecn_kmin: "0.2quue" is not a size such as "4096B", "2MB" or "8MiB"; the units are B, KB, MB, GB, TB, KiB, MiB, GiB, TiB; "1.5bdp" and "100packets" work too, and "0.2queue" does
  write: "reps.fabric.ecn_kmin" = "0.2bdp""#,
    ),
    (
        r#""reps.fabric.pfc" = { buffer = "256MB", alpha = 0.125, resume = "2packets" }
"reps.fabric.ecn_kmax" = "0.8queue""#,
        r#"s.toml:10:1: fabric.ecn_kmax (0.8queue) is a share of fabric.queue, but with fabric.pfc there is no fabric.queue: the ports share a buffer
  write: "reps.fabric.ecn_kmax" = "0.8bdp""#,
    ),
    (
        r#""reps.fabric.pfc" = { buffer = "256MB", alpha = 0.125, resume = "2packets" }
"reps.fabric.ecn_from" = [{ rate = "400Gbps", kmin = "0.1queue", kmax = "0.8queue" }]"#,
        r#"s.toml:10:1: fabric.ecn_from: 0.1queue is a share of fabric.queue, but with fabric.pfc there is no fabric.queue: the ports share a buffer
  write: "reps.fabric.ecn_from" = [{ rate = "400Gbps", kmin = "800KB", kmax = "6400KB" }]"#,
    ),
    (
        r#""reps.fabric.ecn_from" = [{ rate = "400Gbps", kmin = "6500KB", kmax = "800KB" }]"#,
        r#"s.toml:10:1: fabric.ecn_from: at 400Gbps, kmin (6500KB) is above kmax (800KB)
  write: "reps.fabric.ecn_from" = [{ rate = "400Gbps", kmin = "800KB", kmax = "6400KB" }]"#,
    ),
    (
        r#""reps.fabric.ecn_from" = [{ rate = "400Gbps", kmin = "1KB", kmax = "2KB" }, { rate = "200Gbps", kmin = "1KB", kmax = "2KB" }]"#,
        r#"s.toml:10:1: fabric.ecn_from: rates must rise from step to step, and 200Gbps follows 400Gbps
  write: "reps.fabric.ecn_from" = [{ rate = "400Gbps", kmin = "800KB", kmax = "6400KB" }]"#,
    ),
    (
        r#""reps.fabric.ecn_from" = [{ rate = "400Gbps", kmin = "1KB", kmax = "2" }]"#,
        r#"s.toml:10:1: fabric.ecn_from[0].kmax: "2" is not a size such as "4096B", "2MB" or "8MiB"; add a unit: B, KB, MB, GB, TB, KiB, MiB, GiB, TiB; "1.5bdp" and "100packets" work too, and "0.2queue" does
  write: "reps.fabric.ecn_from" = [{ kmax = "2KB", kmin = "1KB", rate = "400Gbps" }]"#,
    ),
    (
        r#""reps.fabric.pfc" = { buffer = "256", alpha = 0.125, resume = "2packets" }"#,
        r#"s.toml:10:1: fabric.pfc.buffer: "256" is not a size such as "4096B", "2MB" or "8MiB"; add a unit: B, KB, MB, GB, TB, KiB, MiB, GiB, TiB
  write: "reps.fabric.pfc" = { alpha = 0.125, buffer = "256B", resume = "2packets" }"#,
    ),
    (
        r#""reps.fabric.ecn_from" = "400Gbps""#,
        r#"s.toml:10:1: fabric.ecn_from must be a list of tables, not "400Gbps"
  write: "reps.fabric.ecn_from" = [{ rate = "400Gbps", kmin = "800KB", kmax = "6400KB" }]"#,
    ),
];

/// Times in different units have no order before the fabric is known.
#[test]
fn probe_times_are_compared_as_far_as_they_can_be() {
    let text = "schemes = [\"strack\"]\n[topology]\nkind = \"fat-tree\"\nhosts = 16\nlink = \"400Gbps\"\n[workload]\nkind = \
                \"permutation\"\nbytes = \"1MB\"\n[set]\n\"strack.transport.probe_after\" = \"1ms\"\n";
    let warnings = |text: &str| {
        let scenario = read("s.toml", text, &folder(), &Overrides::default()).unwrap();
        let all = scenario.check().unwrap().iter().map(ToString::to_string).collect::<Vec<_>>();
        all.into_iter().filter(|warning| warning.contains("probe_after")).collect::<Vec<_>>()
    };
    assert_eq!(warnings(text), [""; 0]);
    // The probe times are now shorter than a round trip.
    let short = text.replace("\"1ms\"", "\"1ns\"\n\"strack.transport.probe_rtt\" = \"1ns\"");
    let said = warnings(&short).join("\n");
    assert!(said.contains("the sender probes before an ACK can be back"), "{said}");
    let advice = said.split_once("\n  write: ").unwrap().1.strip_suffix(" below [set]").unwrap();
    let followed = text.replace("\"strack.transport.probe_after\" = \"1ms\"", advice);
    assert_eq!(warnings(&followed), [""; 0]);
}

#[test]
fn every_setting_that_misses_has_its_place_and_its_cure() {
    let mut wrong = String::new();
    for (settings, expected) in CASES {
        let said = said(&format!("{HEAD}{WORKLOAD}[set]\n{settings}\n"));
        if said != *expected {
            wrong += &format!("--- said\n{said}\n--- expected\n{expected}\n\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn what_programs_keep_is_measured_on_switches() {
    let measure = |keys: &str| said(&format!("{HEAD}{WORKLOAD}[[measure]]\n{keys}\n"));
    assert_eq!(
        measure("series = \"program-buffer\"\nlinks = \"all\""),
        "s.toml:11:1: \"program-buffer\" is measured on switches, not on links\n  \
         write: switches = \"tor:0\" instead of links"
    );
    assert_eq!(
        measure("series = \"set-asides\"\nswitches = \"tor:0\"").lines().next(),
        Some("s.toml:10:1: unknown series \"set-asides\"")
    );
    assert_eq!(
        measure("series = \"queue-depth\"\nswitches = \"spine:0\""),
        "s.toml:11:1: \"queue-depth\" is measured on links, not on switches\n  \
         write: links = \"tor-uplinks:3%\" instead of switches"
    );
    assert_eq!(
        measure("series = \"table-entries\"\nswitches = \"spine:99\"").lines().next(),
        Some("s.toml:11:1: \"spine:99\": there is no spine:99; they are spine:0 to spine:3")
    );
}

/// A link of 1.6 Tb/s and 500 us carries more data in flight than the buffer of 16 MB can hold.
#[test]
fn headrooms_beside_the_buffer_need_no_room_in_it() {
    let text = |apart: bool| {
        let head = HEAD.replace("\"strack\"", "\"rocev2\"").replace("\"400Gbps\"", "\"1600Gbps\"");
        let head = head.replacen("[topology]", "[topology]\nlink_latency = \"500us\"", 1);
        format!(
            "{head}{WORKLOAD}[set]\n\"rocev2.fabric.pfc\" = {{ buffer = \"16MB\", headroom_apart = {apart}, alpha = 0.11, resume = \"2packets\" }}\n"
        )
    };
    assert!(said(&text(false)).contains("the headrooms of the ports of "), "{}", said(&text(false)));
    let read = read("s.toml", &text(true), &folder(), &Overrides::default()).unwrap();
    assert_eq!(read.check().map(drop), Ok(()));
}

#[test]
fn a_key_of_another_collective_is_left_out() {
    let workload = |algorithm: &str, key: &str| {
        said(&format!(
            "{HEAD}[workload]\nkind = \"collective\"\nalgorithm = \"{algorithm}\"\nbytes = \"1MB\"\n{key}\n"
        ))
    };
    assert_eq!(
        workload("allreduce-ring", "connections = 2"),
        "s.toml:10:1: connections: only an all-to-all opens connections one after the other, not allreduce-ring\n  \
         write: [workload] without connections"
    );
    assert_eq!(
        workload("alltoall", "chunk = \"128KB\""),
        "s.toml:10:1: chunk: an all-to-all sends the block for each rank as one message\n  \
         write: [workload] without chunk"
    );
}

/// The suggested buffer is a short number with and without `buffer_rate`.
#[test]
fn sizes_that_are_needed_are_rounded_up() {
    for (scale, unit) in [("", "KB"), ("\"rocev2.fabric.pfc.buffer_rate\" = \"51.2Tbps\"\n", "KB")] {
        let head = HEAD.replace("\"strack\"", "\"rocev2\"");
        let text = format!("{head}{WORKLOAD}[set]\n\"rocev2.fabric.pfc.buffer\" = \"1KB\"\n{scale}");
        let said = said(&on("strack-paper", &text));
        let advice =
            said.split_once("\n  write: \"rocev2.fabric.pfc.buffer\" = \"").map(|(_, advice)| advice);
        let number = advice.and_then(|advice| advice.strip_suffix(&format!("{unit}\"")));
        assert!(number.is_some_and(|number| number.len() <= 5 && number.parse::<u32>().is_ok()), "{said}");
    }
}
