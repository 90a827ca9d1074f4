//! Settings of HPCC: valid ones, and wrong ones with the error text.

use crate::scenario::tests::folder;
use crate::scenario::*;
use anabranch_base::Duration;
use anabranch_proto::cc::{BaseRtt, CcConfig};
use anabranch_proto::{Pace, Span};

const SWITCH: &str = r#"schemes = ["hpcc", "conweave"]
[topology]
kind = "single-switch"
hosts = 4
link = "100Gbps"
[workload]
kind = "permutation"
bytes = "1MiB"
[set]
"#;

fn attempt(settings: &str) -> Result<Scenario, Diagnostic> {
    let scenario = read("s.toml", &format!("{SWITCH}{settings}\n"), &folder(), &Overrides::default())?;
    scenario.check().map(|_| scenario)
}

/// Wrong settings, each of which is line 10 of its scenario, with the whole error text.
const CASES: &[(&str, &str)] = &[
    (
        r#""hpcc.cc.eta" = 0.0"#,
        r#"s.toml:10:1: cc.eta must be 0.01 to 1, not 0
  write: "hpcc.cc.eta" = 0.95"#,
    ),
    (
        r#""hpcc.cc.eta" = 1.1"#,
        r#"s.toml:10:1: cc.eta must be 0.01 to 1, not 1.1
  write: "hpcc.cc.eta" = 0.95"#,
    ),
    (
        r#""hpcc.cc.rate_ai" = "0Mbps""#,
        r#"s.toml:10:1: cc.rate_ai must be above 0
  write: "hpcc.cc.rate_ai" = "0.0004line""#,
    ),
    (
        r#""hpcc.cc.base_rtt" = "0us""#,
        r#"s.toml:10:1: cc.base_rtt must be above 0
  write: "hpcc.cc.base_rtt" = "path""#,
    ),
    (
        r#""hpcc.cc.max_stages" = 5"#,
        r#"s.toml:10:1: scheme "hpcc" has no parameter "cc.max_stages"
  write: "hpcc.cc.max_stage" = 5"#,
    ),
    (
        r#""conweave.cc" = { kind = "hpcc", eta = 0.95, max_stage = 0, rate_ai = "0.0004line", base_rtt = "path" }"#,
        r#"s.toml:10:1: cc.kind = "hpcc" learns from the telemetry that ACKs bring, which only transport.kind = "go-back-n" hands to it
  write: cc for a scheme with that transport: hpcc, rocev2, pfc-ecmp, pfc-ecmp-dcqcn"#,
    ),
];

#[test]
fn bad_settings_are_refused_with_what_to_write_instead() {
    for (settings, wanted) in CASES {
        let said = attempt(settings).expect_err(settings).to_string();
        assert_eq!(said, *wanted, "{settings}");
    }
    let said = attempt(r#""hpcc.cc.base_rtt" = "long""#).unwrap_err().to_string();
    assert!(
        said.starts_with("s.toml:10:1: cc.base_rtt \"long\" is not a time") && said.contains("\"path\""),
        "{said}"
    );
}

#[test]
fn good_settings_are_read_and_written() {
    let config = |settings: &str| {
        let scenario = attempt(settings).unwrap_or_else(|e| panic!("{e}"));
        let text = scenario.to_toml();
        let again = read("s.toml", &text, &folder(), &Overrides::default()).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(again, scenario);
        let CcConfig::Hpcc(config) = &scenario.schemes[0].cc else { panic!("{scenario:?}") };
        config.clone()
    };
    let default = config("");
    assert_eq!((default.eta, default.max_stage, default.base_rtt), (0.95, 0, BaseRtt::Path));
    assert_eq!(default.rate_ai, Pace::Line(0.0004));
    let network = config("\"hpcc.cc.base_rtt\" = \"1rtt\"\n\"hpcc.cc.max_stage\" = 5\n");
    assert_eq!((network.max_stage, network.base_rtt), (5, BaseRtt::Fabric(Span::Rtt(1.0))));
    let fixed = config("\"hpcc.cc.base_rtt\" = \"13us\"\n").base_rtt;
    assert_eq!(fixed, BaseRtt::Fabric(Span::Time(Duration::from_us(13))));
}
