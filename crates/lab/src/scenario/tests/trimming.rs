//! Fabrics that trim, with DCP and the schemes with which it is compared: valid settings, and wrong ones with the
//! whole error text.

use crate::scenario::tests::{folder, on};
use crate::scenario::*;

/// A switch with 24 hosts. A data packet of DCP is 18.5 times as long as a trimmed one.
const ONE_SWITCH: &str = r#"schemes = ["dcp", "irn-ar", "rack-tlp", "mp-rdma", "pfc-ecmp", "reps"]
[topology]
kind = "single-switch"
hosts = 24
link = "100Gbps"
[workload]
kind = "incast"
degree = 23
bytes = "1MiB"
[set]
"#;

fn attempt(text: &str) -> Result<Scenario, Diagnostic> {
    let scenario = read("s.toml", &on("dcp-paper", text), &folder(), &Overrides::default())?;
    scenario.check().map(|_| scenario)
}

/// Wrong settings, each in line 11 of its scenario, with the whole error text.
const CASES: &[(&str, &str)] = &[
    (
        r#""dcp.fabric.wrr" = {}"#,
        r#"s.toml:11:1: scheme "dcp": fabric.wrr: tor:0 has N = 24 ports, of which N - 1 may send to one at once, and a data packet is only 18.5 times as long as a trimmed one: the weight (N - 1) / (r - N + 1) needs r above N - 1
  write: "dcp.fabric.wrr" = { radix = 19 }, or a weight by hand: { weight = 2.0 }"#,
    ),
    (
        r#""dcp.fabric.wrr.radix" = 20"#,
        r#"s.toml:11:1: scheme "dcp": fabric.wrr: tor:0 has N = 20 ports, of which N - 1 may send to one at once, and a data packet is only 18.5 times as long as a trimmed one: the weight (N - 1) / (r - N + 1) needs r above N - 1
  write: "dcp.fabric.wrr" = { radix = 19 }, or a weight by hand: { weight = 2.0 }"#,
    ),
    (
        r#""dcp.fabric.wrr" = { radix = 16, weight = 2.0 }"#,
        r#"s.toml:11:1: fabric.wrr.radix and fabric.wrr.weight exclude each other: the weight is computed or given
  write: "dcp.fabric.wrr" = { radix = 16 }"#,
    ),
    (
        r#""dcp.fabric.wrr.radix" = 1"#,
        r#"s.toml:11:1: fabric.wrr.radix must be 2 to 65536, not 1
  write: "dcp.fabric.wrr.radix" = 2"#,
    ),
    (
        r#""dcp.fabric.wrr.weight" = 0.0"#,
        r#"s.toml:11:1: fabric.wrr.weight must be 1/65536 to 65535, not 0
  write: "dcp.fabric.wrr.weight" = 2.0"#,
    ),
    (
        r#""pfc-ecmp.fabric.acks_with_data" = true"#,
        r#"s.toml:11:1: fabric.acks_with_data does not work with fabric.pfc: ACKs, NACKs and CNPs are not in the lossless class here
  write: "pfc-ecmp.fabric.acks_with_data" = false"#,
    ),
    (
        r#""pfc-ecmp.fabric.shared_buffer" = "32MB""#,
        r#"s.toml:11:1: fabric.shared_buffer is for queues that drop, and fabric.pfc has a buffer of its own
  write: "pfc-ecmp.fabric.pfc.buffer" = "32MB""#,
    ),
    (
        r#""pfc-ecmp.fabric.full_queue" = "coin""#,
        r#"s.toml:11:1: fabric.full_queue is for queues that drop or trim, and fabric.pfc loses nothing
  write: "pfc-ecmp.fabric.full_queue" = "arriving""#,
    ),
    (
        r#""dcp.transport.counter_bits" = 0"#,
        r#"s.toml:11:1: transport.counter_bits must be 1 to 31, not 0
  write: "dcp.transport.counter_bits" = 1"#,
    ),
    (
        r#""dcp.transport.tracked_messages" = 0"#,
        r#"s.toml:11:1: transport.tracked_messages must be 1 to 65535, not 0
  write: "dcp.transport.tracked_messages" = 1"#,
    ),
    (
        r#""dcp.transport.batch" = 0"#,
        r#"s.toml:11:1: transport.batch must be 1 to 65535, not 0
  write: "dcp.transport.batch" = 1"#,
    ),
    (
        r#""dcp.transport.round_quota" = "0B""#,
        r#"s.toml:11:1: transport.round_quota must be above 0
  write: "dcp.transport.round_quota" = "16KB""#,
    ),
    (
        r#""irn-ar.transport.window" = "0bdp""#,
        r#"s.toml:11:1: transport.window must be above 0
  write: "irn-ar.transport.window" = "1bdp""#,
    ),
    (
        r#""irn-ar.transport.rto_low" = "0us""#,
        r#"s.toml:11:1: transport.rto_low must be above 0
  write: "irn-ar.transport.rto_low" = "100us""#,
    ),
    (
        r#""rack-tlp.transport.window" = "0B""#,
        r#"s.toml:11:1: transport.window must be above 0
  write: "rack-tlp.transport.window" = "1bdp""#,
    ),
];

#[test]
fn every_fault_has_its_place_and_its_cure() {
    let mut wrong = String::new();
    for (setting, expected) in CASES {
        let text = format!("{ONE_SWITCH}{setting}\n");
        let said = attempt(&text).expect_err(&text).to_string();
        if said != *expected {
            wrong += &format!("--- said\n{said}\n--- expected\n{expected}\n\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn what_is_advised_works() {
    for (_, said) in CASES {
        let (_, advice) = said.split_once("\n  write: ").unwrap();
        let advice = advice.split(", or a weight").next().unwrap();
        attempt(&format!("{ONE_SWITCH}{advice}\n")).unwrap_or_else(|e| panic!("{e}\n{advice}"));
    }
}

#[test]
fn a_scheme_without_weights_gets_them_by_a_table() {
    for table in ["{ radix = 19 }", "{ weight = 0.5 }"] {
        attempt(&format!("{ONE_SWITCH}\"reps.fabric.wrr\" = {table}\n")).unwrap();
    }
}

/// MP-RDMA's sender has no pacer, so it cannot follow a rate.
#[test]
fn mp_rdma_takes_no_rate() {
    let dcqcn = toml::to_string(&scheme("pfc-ecmp-dcqcn").unwrap().cc).unwrap().trim().replace('\n', ", ");
    let said = attempt(&format!("{ONE_SWITCH}\"mp-rdma.cc\" = {{ {dcqcn} }}\n")).unwrap_err().to_string();
    let expected = "s.toml:11:1: cc.kind = \"dcqcn\" sets a rate, but transport.kind = \"mp-rdma\" is ACK-clocked \
                    and has no pacer\n  write: \"mp-rdma.cc\" = { kind = \"mp-rdma\", initial_window = \"1bdp\", max_window = \
                    \"2bdp\" }";
    assert_eq!(said, expected);
}

/// The setup `uet` has longer queues for switches that drop than for switches that trim. Turning off trimming in
/// `[set]` does not change the queues, so the warning proposes settings for them. With these settings there is no
/// warning.
#[test]
fn switches_whose_trimming_is_turned_off_keep_the_queues_of_trimming_and_a_warning_names_the_others() {
    let of = |setup: &str, section: &str, lines: &str| {
        let text = format!(
            "schemes = [\"uet-nscc\"]\nsetup = {setup}\n[topology]\nkind = \"single-switch\"\nhosts = 8\nlink = \"100Gbps\"\n\
             [workload]\nkind = \"incast\"\ndegree = 7\nbytes = \"1MiB\"\n[{section}]\n{lines}"
        );
        let read = read("s.toml", &text, &folder(), &Overrides::default()).unwrap();
        let warnings = read.check().unwrap();
        let texts =
            warnings.iter().map(ToString::to_string).filter(|text| text.contains("do not trim, and have"));
        texts.collect::<Vec<_>>()
    };
    let (uet, off) = ("\"uet\"", "\"*.fabric.trim\" = false\n");
    let warning = |instead: &str| {
        format!(
            "s.toml:12:1: scheme \"uet-nscc\": its switches do not trim, and have fabric.last_hop_queue = \"1.5bdp\" and \
             fabric.queue = \"1bdp\", which are the setup's values for switches that trim. For switches that drop it has \
             fabric.last_hop_queue = \"5bdp\" and fabric.queue = \"5bdp\"\n  write: {instead}"
        )
    };
    let lines = "\"*.fabric.last_hop_queue\" = \"5bdp\" and \"*.fabric.queue\" = \"5bdp\"";
    assert_eq!(of(uet, "set", off), [warning(&format!("{lines} below [set]"))]);
    let followed = format!("{off}{}\n", lines.replace(" and ", "\n"));
    assert_eq!(of(uet, "set", &followed), [""; 0]);
    assert_eq!(of("{ base = \"uet\", fabric = { ecn_pmax = 0.5 } }", "set", off).len(), 1);
    assert_eq!(of("{ base = \"uet\", dropping = { fabric = { queue = \"3bdp\" } } }", "set", off), [""; 0]);

    let swept = "\"*.fabric.trim\" = [true, false]";
    let [last_hop, queue] = [("last_hop_queue", "1.5bdp"), ("queue", "1bdp")]
        .map(|(key, value)| format!("\"*.fabric.{key}\" = [\"{value}\", \"5bdp\"]"));
    let help = format!("a [[sweep.zip]] with {swept} and {last_hop} and {queue}");
    assert_eq!(of(uet, "sweep", swept), [warning(&help)]);
    assert_eq!(of(uet, "[sweep.zip]", &format!("{swept}\n{last_hop}\n{queue}\n")), [""; 0]);
}
