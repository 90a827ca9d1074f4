//! Wrong settings of lossless fabrics with the error text: the place, the problem, and what to write instead.

use crate::scenario::tests::{folder, on};
use crate::scenario::*;
use anabranch_base::Bytes;

const LINE: &str = r#"schemes = ["rocev2"]
[topology]
kind = "dumbbell"
hosts = 4
link = "100Gbps"
trunk = "200Gbps"
link_latency = "1us"
trunk_latency = "2us"
switch_latency = "0ns"
[workload]
kind = "permutation"
bytes = "1MiB"
[set]
"#;

/// The error for the settings, of which the first is in line 14.
fn said(settings: &str) -> String {
    let text = format!("{LINE}{settings}\n");
    attempt(&text).expect_err(&text).to_string()
}

fn attempt(text: &str) -> Result<Scenario, Diagnostic> {
    let scenario = read("s.toml", &on("strack-paper", text), &folder(), &Overrides::default())?;
    scenario.check().map(|_| scenario)
}

/// Wrong settings, each in one line, with the whole error text.
const CASES: &[(&str, &str)] = &[
    (
        r#""rocev2.fabric.pfc.headroom" = "0B""#,
        r#"s.toml:14:1: fabric.pfc.headroom must be above 0
  write: "rocev2.fabric.pfc.headroom" = "120KB""#,
    ),
    (
        r#""rocev2.fabric.pfc.buffer" = "0B""#,
        r#"s.toml:14:1: fabric.pfc.buffer must be above 0
  write: "rocev2.fabric.pfc.buffer" = "256MB""#,
    ),
    (
        r#""rocev2.fabric.pfc.buffer_rate" = "0bps""#,
        r#"s.toml:14:1: fabric.pfc.buffer_rate must be above 0
  write: "rocev2.fabric.pfc.buffer_rate" = "51.2Tbps""#,
    ),
    (
        r#""rocev2.fabric.pfc.alpha" = 0.0"#,
        r#"s.toml:14:1: fabric.pfc.alpha must be 1/65536 to 65536, not 0
  write: "rocev2.fabric.pfc.alpha" = 0.125"#,
    ),
    (
        r#""rocev2.fabric.pfc.alpha" = 0.00001"#,
        r#"s.toml:14:1: fabric.pfc.alpha must be 1/65536 to 65536, not 0.00001
  write: "rocev2.fabric.pfc.alpha" = 0.125"#,
    ),
    (
        r#""rocev2.fabric.pfc.alpha" = "1/8""#,
        r#"s.toml:14:1: fabric.pfc.alpha must be a number, not "1/8"
  write: "rocev2.fabric.pfc.alpha" = 0.125"#,
    ),
    (
        r#""rocev2.fabric.pfc.resume" = "0B""#,
        r#"s.toml:14:1: fabric.pfc.resume must be above 0
  write: "rocev2.fabric.pfc.resume" = "2packets""#,
    ),
    (
        r#""rocev2.fabric.pfc.resume" = 2"#,
        r#"s.toml:14:1: fabric.pfc.resume: "2" is not a size such as "4096B", "2MB" or "8MiB"; add a unit: B, KB, MB, GB, TB, KiB, MiB, GiB, TiB; "1.5bdp" and "100packets" work too
  write: "rocev2.fabric.pfc.resume" = "2packets""#,
    ),
    (
        r#""rocev2.fabric.trim" = true"#,
        r#"s.toml:14:1: a lossless class has nothing to trim
  write: "rocev2.fabric.trim" = false"#,
    ),
    (
        r#""rocev2.qps" = 0"#,
        r#"s.toml:14:1: qps must be 1 to 64, not 0
  write: "rocev2.qps" = 1"#,
    ),
    (
        r#""rocev2.qps" = 65"#,
        r#"s.toml:14:1: qps must be 1 to 64, not 65
  write: "rocev2.qps" = 64"#,
    ),
    (
        r#""rocev2.cc.alpha_timer" = "99ns""#,
        r#"s.toml:14:1: cc.alpha_timer must be 100ns or more, not 99ns
  write: "rocev2.cc.alpha_timer" = "55us""#,
    ),
    (
        r#""rocev2.cc.increase_timer" = "99999ps""#,
        r#"s.toml:14:1: cc.increase_timer must be 100ns or more, not 99999ps
  write: "rocev2.cc.increase_timer" = "55us""#,
    ),
    (
        r#""rocev2.fabric.pfc.threshold" = "3MB""#,
        r#"s.toml:14:1: scheme "rocev2": fabric.pfc.threshold: XOFF would be sent when an ingress port holds 3MB, but the whole buffer of tor:0 is only 2MB
  write: "rocev2.fabric.pfc.threshold" = "666KB""#,
    ),
    (
        r#""rocev2.fabric.pfc.threshold" = "2packets""#,
        r#"s.toml:14:1: scheme "rocev2": fabric.pfc.resume: XON would be sent when an ingress port's share is 8300B below its threshold, but fabric.pfc.threshold is only 8300B
  write: "rocev2.fabric.pfc.resume" = "4KB""#,
    ),
    (
        r#""rocev2.fabric.pfc.resume" = "3MB""#,
        r#"s.toml:14:1: scheme "rocev2": fabric.pfc.resume: XON would be sent when an ingress port's share is 3MB below its threshold, but the whole buffer of tor:0 is only 2MB
  write: "rocev2.fabric.pfc.resume" = "8300B""#,
    ),
    (
        r#""rocev2.cc.preset" = "hpc""#,
        r#"s.toml:14:1: cc.preset: "hpc" is no parameter set of DCQCN
  write: "rocev2.cc.preset" = "hpcc""#,
    ),
    (
        r#""rocev2.cc.rate_ai" = "0line""#,
        r#"s.toml:14:1: cc.rate_ai must be above 0
  write: "rocev2.cc.rate_ai" = "0.05line""#,
    ),
    (
        r#""rocev2.cc.rate_hai" = "0bps""#,
        r#"s.toml:14:1: cc.rate_hai must be above 0
  write: "rocev2.cc.rate_hai" = "0.1line""#,
    ),
    (
        r#""rocev2.cc.window" = "0bdp""#,
        r#"s.toml:14:1: cc.window must be above 0
  write: "rocev2.cc.window" = "1000bdp""#,
    ),
    (
        r#""rocev2.cc.window" = "-1 bdp""#,
        r#"s.toml:14:1: cc.window must be above 0
  write: "rocev2.cc.window" = "1000bdp""#,
    ),
    (
        r#""rocev2.fabric.pfc.headrom" = "1MB""#,
        r#"s.toml:14:1: scheme "rocev2" has no parameter "fabric.pfc.headrom"
  write: "rocev2.fabric.pfc.headroom" = "1MB""#,
    ),
    (
        r#""rocev2.fabric.pfc.bufer" = "1GB""#,
        r#"s.toml:14:1: scheme "rocev2" has no parameter "fabric.pfc.bufer"
  write: "rocev2.fabric.pfc.buffer" = "1GB""#,
    ),
];

#[test]
fn every_fault_of_a_lossless_scheme_has_its_place_and_its_cure() {
    for (settings, expected) in CASES {
        assert_eq!(said(settings), *expected);
    }
}

/// Checks that replacing the wrong setting by the suggestion gives a valid scenario.
#[track_caller]
fn assert_advice_works(said: &str) {
    let (_, advice) = said.split_once("\n  write: ").unwrap_or_else(|| panic!("no advice: {said}"));
    attempt(&format!("{LINE}{advice}\n")).unwrap_or_else(|e| panic!("{said}\nthen: {e}"));
}

#[test]
fn the_cures_work() {
    // The case with `headrom` is left out, because its suggestion of 1 MB for each of the three ports exceeds the
    // buffer: 256 MB for a switch of 51.2 Tb/s are 2 MB for the 400 Gb/s of a switch here.
    for (settings, expected) in CASES.iter().filter(|(settings, _)| !settings.contains("headrom")) {
        assert_advice_works(expected);
        assert!(attempt(&format!("{LINE}{settings}\n")).is_err());
    }
}

/// The trunk needs the largest headroom of all links: 112,515 B. This is the sum of 104,214 B (the data that arrives
/// at 25 B/ns in `2 us + T + P + 2 us`), one byte, and two full packets. T is the transmission time of a full packet
/// of 4,150 B, and P the transmission time of a PFC frame of 64 B.
#[test]
fn a_headroom_that_is_too_small_is_told_with_what_would_do() {
    let said = said(r#""rocev2.fabric.pfc.headroom" = "100KB""#);
    assert!(said.starts_with("s.toml:14:1: scheme \"rocev2\": fabric.pfc.headroom: "), "{said}");
    assert!(said.contains("a headroom of 100 KB") && said.contains("tor:0/up:0"), "{said}");
    assert!(said.contains("after XOFF, 113 KB"), "{said}");
    assert!(said.ends_with("= \"113KB\""), "{said}");
    assert_advice_works(&said);
    assert!(attempt(&format!("{LINE}\"rocev2.fabric.pfc.headroom\" = \"112515B\"\n")).is_ok());
}

/// The suggested headroom must be large enough for every link.
#[test]
fn the_link_that_needs_most_is_named() {
    let said = said(r#""rocev2.fabric.pfc.headroom" = "10KB""#);
    assert!(said.contains("tor:0/up:0") && said.contains("113 KB"), "{said}");
}

/// Each switch has a trunk port and two host ports. Without `buffer_rate`, every switch has the whole buffer. With it,
/// the buffer is scaled to the 400 Gb/s of the switch's ports.
#[test]
fn a_buffer_that_is_too_small_is_told_with_what_would_do() {
    let scaled = r#""rocev2.fabric.pfc.buffer_rate" = "51.2Tbps""#;
    let said_scaled = said(&format!("\"rocev2.fabric.pfc.buffer\" = \"10MB\"\n{scaled}"));
    assert!(
        said_scaled.contains("of tor:0 take 188 KB, and its buffer of 78.1 KB must be larger"),
        "{said_scaled}"
    );
    assert_advice_works(&format!("{said_scaled}\n{scaled}"));
    let said = said(r#""rocev2.fabric.pfc.buffer" = "100KB""#);
    assert!(said.starts_with("s.toml:14:1: scheme \"rocev2\": fabric.pfc.buffer: "), "{said}");
    let headrooms = Bytes(112_515 + 2 * (29_214 + 1 + 8_300)).about();
    assert!(
        said.contains(&format!("of tor:0 take {headrooms}, and its buffer of 100 KB must be larger")),
        "{said}"
    );
    assert_advice_works(&said);
}

/// Thresholds are also checked against the buffers of switches that `fabric.pfc.at` selects. The smallest buffer
/// counts.
#[test]
fn thresholds_are_checked_against_the_buffers_of_classes() {
    let apart = "\"rocev2.fabric.pfc.headroom_apart\" = true";
    let at = |buffer: &str| {
        format!("\"rocev2.fabric.pfc.at\" = [{{ switches = \"tor\", buffer = \"{buffer}\" }}]\n{apart}")
    };
    // The buffer is too small even for two packets.
    let tiny = said(&at("2B"));
    assert!(
        tiny.starts_with("s.toml:14:1: scheme \"rocev2\": fabric.pfc.at: XON would be sent when"),
        "{tiny}"
    );
    assert!(tiny.contains("but the whole buffer of tor:0 is only 2B"), "{tiny}");
    assert!(
        tiny.ends_with("\"rocev2.fabric.pfc.at\" = [{ switches = \"tor\", buffer = \"415KB\" }]"),
        "{tiny}"
    );
    assert_advice_works(&format!("{tiny}\n{apart}"));
    let resume = format!("\"rocev2.fabric.pfc.resume\" = \"1MB\"\n{}", at("500KB"));
    let said_resume = said(&resume);
    assert!(
        said_resume.starts_with("s.toml:14:1: scheme \"rocev2\": fabric.pfc.resume: ")
            && said_resume
                .contains("is 1MB below its threshold, but the whole buffer of tor:0 is only 500KB"),
        "{said_resume}"
    );
    assert_advice_works(&format!("{said_resume}\n{}", at("500KB")));
    let threshold = said(&format!("\"rocev2.fabric.pfc.threshold\" = \"1MB\"\n{}", at("500KB")));
    assert!(
        threshold
            .starts_with("s.toml:14:1: scheme \"rocev2\": fabric.pfc.threshold: XOFF would be sent when")
            && threshold.contains("holds 1MB, but the whole buffer of tor:0 is only 500KB"),
        "{threshold}"
    );
    assert_advice_works(&format!("{threshold}\n{}", at("500KB")));
    // The settings are valid if the buffer is large, or if the switches have an alpha in place of the threshold.
    let alpha = at("500KB").replace("\"500KB\"", "\"500KB\", alpha = 0.125");
    for good in [at("5MB"), format!("\"rocev2.fabric.pfc.threshold\" = \"1MB\"\n{alpha}")] {
        attempt(&format!("{LINE}{good}\n")).unwrap_or_else(|e| panic!("{good}\n{e}"));
    }
}

#[test]
fn a_static_threshold_replaces_a_dynamic_one() {
    let text = format!("{LINE}\"rocev2.fabric.pfc.threshold\" = \"20packets\"\n");
    let scenario = attempt(&text).unwrap_or_else(|e| panic!("{e}"));
    let pfc = scenario.schemes[0].fabric.pfc.as_ref().expect("it is lossless");
    assert!(pfc.threshold.is_some() && pfc.alpha.is_none(), "{pfc:?}");
}

#[test]
fn two_thresholds_exclude_each_other() {
    let both = "\"rocev2.fabric.pfc.threshold\" = \"20packets\"\n\"rocev2.fabric.pfc.alpha\" = 1.0";
    let said = said(both);
    assert!(said.starts_with("s.toml:14:1: ") || said.starts_with("s.toml:15:1: "), "{said}");
    assert!(
        said.contains(
            "fabric.pfc.alpha (dynamic threshold) and fabric.pfc.threshold (static) exclude each other"
        ),
        "{said}"
    );
    assert!(!said.contains("= one of them"), "{said}");
}

/// The scheme has every setting except the thresholds.
#[test]
fn one_threshold_is_needed() {
    let whole = attempt(LINE).unwrap_or_else(|e| panic!("{e}")).to_toml();
    let without: String =
        whole.lines().filter(|l| !l.starts_with("alpha = ")).map(|l| format!("{l}\n")).collect();
    let said = attempt(&without).expect_err(&without).to_string();
    assert!(said.contains("fabric.pfc.threshold (static) are both missing"), "{said}");
    assert!(said.contains("alpha = 0.125") && !said.contains("= one of them"), "{said}");
}

#[test]
fn a_queue_and_a_lossless_class_exclude_each_other() {
    let queue = "\"rocev2.fabric.queue\" = \"1bdp\"";
    let lossy = attempt(&format!("{LINE}{queue}\n")).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(lossy.schemes[0].fabric.pfc, None);
    let pfc = "\"rocev2.fabric.pfc\" = { buffer = \"256MB\", alpha = 0.125, resume = \"2packets\" }";
    assert_eq!(
        said(&format!("{queue}\n{pfc}")),
        "s.toml:14:1: fabric.queue and fabric.pfc exclude each other: a switch either drops what does not fit, or uses PFC\n  \
         write: either queue or pfc"
    );
}

/// A complete table `fabric.pfc`, inline or under a header, makes a lossy scheme lossless.
#[test]
fn a_table_makes_a_scheme_lossless() {
    let line = LINE.replace("rocev2", "strack");
    let attempt = |settings: &str| {
        let text = format!("{line}{settings}\n");
        let scenario = read("s.toml", &text, &folder(), &Overrides::default())?;
        scenario.check().map(|_| scenario)
    };
    let said = attempt("\"strack.fabric.pfc.buffer\" = \"9MB\"").unwrap_err().to_string();
    let expected = r#"s.toml:14:1: scheme "strack" has no PFC, so it has no "fabric.pfc.buffer" (schemes with PFC: mp-rdma, rocev2, rocev2-4qp, pfc-ecmp, pfc-ecmp-dcqcn, hpcc, dcqcn, themis-longhaul, pnp-only, trp-only, annulus, bicc)
  write: "strack.fabric.pfc" = { buffer = "9MB", alpha = 0.125, resume = "2packets" }"#;
    assert_eq!(said, expected);
    let (_, advice) = said.split_once("write: ").unwrap();
    let dotted = "[set.strack.fabric.pfc]\nbuffer = \"9MB\"\nthreshold = \"1MB\"\nresume = \"3KB\"";
    for settings in [advice, dotted] {
        let lossless = attempt(settings).unwrap_or_else(|e| panic!("{settings}: {e}"));
        assert!(lossless.schemes[0].fabric.pfc.is_some() && lossless.schemes[0].fabric.queue.is_none());
    }
    let missing = attempt("\"strack.fabric.pfc\" = { buffer = \"9MB\", alpha = 0.125 }").unwrap_err();
    assert!(missing.to_string().contains("has no PFC"), "{missing}");
}

/// Sums of very large sizes do not overflow.
#[test]
fn absurd_sizes_are_refused_as_others_are() {
    for headroom in ["9000000TB", "1e30packets"] {
        let said = said(&format!("\"rocev2.fabric.pfc.headroom\" = \"{headroom}\""));
        assert!(said.contains("fabric.pfc."), "{said}");
    }
}

/// The warning about a queue in place of PFC quotes the first clause of a scheme's needs, so that clause must be about
/// PFC.
#[test]
fn lossless_schemes_need_pfc_first() {
    let lossless = schemes().into_iter().filter(|listing| scheme(listing.name).unwrap().fabric.pfc.is_some());
    let lossless: Vec<SchemeListing> = lossless.collect();
    assert!(lossless.len() > 5);
    for listing in lossless {
        assert!(listing.needs.starts_with("PFC"), "{}: {}", listing.name, listing.needs);
    }
}
