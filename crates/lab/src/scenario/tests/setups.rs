//! Tests of the setups of schemes: the precedence of setups, schemes and settings, and the rejected inputs.

use crate::scenario::tests::{assert_round_trip, folder, scenario};
use crate::scenario::*;
use anabranch_base::Bytes;
use anabranch_proto::{CcConfig, TransportConfig};

const FABRIC: &str = r#"[topology]
kind = "fat-tree"
hosts = 32
link = "400Gbps"
[workload]
kind = "permutation"
bytes = "1MiB"
"#;

fn on_ground(schemes: &str, setup: &str) -> Scenario {
    scenario(&format!("schemes = {schemes}\n{setup}\n{FABRIC}"))
}

fn said(setup: &str) -> String {
    let text = format!("schemes = [\"reps\"]\n{FABRIC}{setup}\n");
    read("s.toml", &text, &folder(), &Overrides::default()).expect_err(&text).to_string()
}

fn payload(scheme: &Scheme) -> u64 {
    scheme.transport.framing().payload.0
}

#[test]
fn every_scheme_stands_on_every_setup_and_without_a_name_on_common() {
    for setup in setups() {
        for listing in schemes() {
            let scheme =
                scheme_on(listing.name, setup.name).unwrap_or_else(|e| panic!("{}: {e}", setup.name));
            assert!(scheme.own.is_empty() || !scheme.needs.is_empty(), "{}", scheme.name);
        }
    }
    let (unsaid, common) = (on_ground("[\"reps\"]", ""), on_ground("[\"reps\"]", "setup = \"common\""));
    assert_eq!(unsaid, common);
    assert_eq!(unsaid.schemes[0], scheme("reps").unwrap());
    assert_eq!(
        on_ground("[\"reps\"]", "setup = \"reps-paper\"").schemes[0],
        scheme_on("reps", "reps-paper").unwrap()
    );
}

#[test]
fn schemes_on_common_ground_differ_in_nothing_that_they_do_not_need() {
    let all: Vec<Scheme> = schemes().iter().map(|listing| scheme(listing.name).unwrap()).collect();
    let of_transport = |scheme: &Scheme| toml::Value::try_from(&scheme.transport).unwrap();
    for key in ["payload", "header", "ack", "ack_every", "rto", "cnp_interval"] {
        let path = format!("transport.{key}");
        let mut values: Vec<String> = all
            .iter()
            .filter(|scheme| !scheme.own.contains(&path))
            .filter_map(|scheme| of_transport(scheme).get(key).map(ToString::to_string))
            .collect();
        values.sort();
        values.dedup();
        assert_eq!(values.len(), 1, "{key}: {values:?}");
    }
}

#[test]
fn the_setup_gives_the_scheme_has_its_own_and_settings_come_last() {
    let own = "[setup.transport]\npayload = \"2KiB\"\n[setup.transport.irn]\npayload = \"1KiB\"\n[setup.fabric]\n\
               control_queue = \"3MB\"\n[setup.cc.constant]\nwindow = \"2bdp\"\n[setup.lossless.transport]\npayload = \"512B\"";
    let of = on_ground("[\"reps\", \"irn-ar\", \"dcp\", \"rocev2\"]", own);
    let [reps, irn, dcp, rocev2] = &of.schemes[..] else { panic!("{of:?}") };
    assert_eq!(
        [reps, irn, dcp, rocev2].map(payload),
        [2048, 1024, 2048, 512],
        "all < a kind < lossless ones"
    );
    assert_eq!(reps.fabric.control_queue.to_string(), "3MB");
    assert_eq!(dcp.fabric.control_queue.to_string(), "16MB", "its own, which it needs");
    assert_eq!(dcp.own, ["fabric.control_queue", "fabric.trim"]);
    assert!(matches!(&dcp.cc, CcConfig::Constant(constant) if constant.window.to_string() == "2bdp"));
    assert_eq!(of.setup, "common, changed");
    assert_round_trip(&of);

    let set =
        format!("{own}\n[set]\n\"*.transport.payload\" = \"4KiB\"\n\"dcp.fabric.control_queue\" = \"1MB\"");
    let of = on_ground("[\"reps\", \"rocev2\", \"dcp\"]", &set);
    assert!(of.schemes.iter().all(|scheme| payload(scheme) == 4096));
    assert_eq!(of.schemes[2].own, ["fabric.trim"], "what is set is no need");
    assert_round_trip(&of);
}

#[test]
fn a_scheme_may_have_a_base_and_parts_of_its_own() {
    let text = format!(
        "schemes = [\"reps\"]\n{FABRIC}[[scheme]]\nname = \"four\"\nbase = \"rocev2\"\nqps = 4\n\
         [scheme.fabric.pfc]\nthreshold = \"1MB\"\n[scheme.cc]\nkind = \"constant\"\n\
         [scheme.set]\n\"transport.payload\" = \"1KiB\"\n"
    );
    let scenario = scenario(&text);
    let four = &scenario.schemes[1];
    let pfc = four.fabric.pfc.as_ref().unwrap();
    assert_eq!((four.qps, pfc.alpha, payload(four)), (4, None, 1024));
    assert!(
        pfc.threshold.is_some() && matches!(four.cc, CcConfig::Constant { .. }),
        "its numbers are the setup's"
    );
    assert!(four.own.contains(&"fabric.pfc.threshold".to_owned()), "{:?}", four.own);
    assert_round_trip(&scenario);
}

#[test]
fn a_size_with_a_plus_is_added_to_the_grounds() {
    let header = |setup| scheme_on("hpcc", setup).unwrap().transport.framing().header;
    assert_eq!([header("common"), header("hpcc-paper")], [Bytes(78 + 42), Bytes(48 + 42)]);
}

#[test]
fn a_whole_part_that_is_set_by_its_kind_has_its_numbers_from_the_ground() {
    let of = on_ground(
        "[\"reps\", \"conweave\"]",
        "[set]\n\"reps.cc\" = { kind = \"dcqcn\", g = 0.5 }\n\"conweave.fabric.pfc\" = {}",
    );
    let CcConfig::Dcqcn(config) = &of.schemes[0].cc else { panic!("{of:?}") };
    assert_eq!((config.g, config.rate_ai.to_string().as_str()), (0.5, "0.001line"));
    assert_eq!(of.schemes[1].fabric.pfc, scheme("rocev2").unwrap().fabric.pfc);
}

#[test]
fn a_parameter_of_the_ground_is_swept() {
    let of = on_ground("[\"reps\", \"dcp\"]", "[sweep]\n\"setup.transport.payload\" = [\"2KiB\", \"4KiB\"]");
    let payloads: Vec<u64> = of.points().unwrap().iter().map(|point| payload(&point.scheme)).collect();
    assert_eq!(payloads, [2048, 4096, 2048, 4096]);
    assert_round_trip(&of);
}

#[test]
fn rto_rules_follow_the_fabric() {
    let reps = scheme("reps").unwrap();
    let TransportConfig::Sack(sack) = &reps.transport else { panic!("{reps:?}") };
    assert_eq!(sack.rto.to_string(), "2rtt+5queue");
    // The RTO of these schemes is two base RTTs plus the transmission time of five queues of 1 MB, or of five buffers
    // of 32 MB with PFC.
    let names: Vec<String> = schemes().into_iter().map(|listing| listing.name.to_owned()).collect();
    let here = |name: &&String| !["themis-longhaul", "pnp-only", "trp-only", "bicc"].contains(&name.as_str());
    let of = on_ground(&format!("{:?}", names.iter().filter(here).collect::<Vec<_>>()), "");
    let facts = &of.examine().unwrap().facts[0];
    for (scheme, facts) in of.schemes.iter().zip(facts) {
        let after = |bytes: u64| facts.base_rtt * 2 + facts.line_rate.time_for(bytes);
        let queues = if scheme.fabric.pfc.is_some() { 160_000_000 } else { 5_000_000 };
        assert_eq!(scheme.transport.rto().on(facts), after(queues), "{}", scheme.name);
        if let TransportConfig::GoBackN(config) = &scheme.transport {
            assert_eq!(config.nack_interval.on(facts), after(5_000_000), "{}", scheme.name);
        }
    }
}

#[test]
fn timeouts_follow_the_queue_that_is_swept() {
    let of = on_ground("[\"reps\", \"dcp\"]", "[sweep]\n\"*.fabric.queue\" = [\"250KB\", \"1bdp\", \"4MB\"]");
    let examined = of.examine().unwrap();
    assert_eq!(examined.warnings, [], "no timeout is over before a full queue is through");
    let points = of.points().unwrap();
    for (place, facts) in examined.facts.iter().enumerate() {
        for (number, facts) in facts.iter().enumerate() {
            let scheme = &points[number * examined.facts.len() + place].scheme;
            let queue = scheme.fabric.queue.unwrap().on(facts);
            let after = facts.base_rtt * 2 + facts.line_rate.time_for(5 * queue.0);
            assert_eq!(scheme.transport.rto().on(facts), after, "{} at {queue}", scheme.name);
        }
    }
    let pauses = "[set]\n\"reps.fabric.pfc\" = {}\n\"reps.fabric.pfc.buffer\" = \"8MB\"";
    let of = on_ground("[\"reps\"]", pauses);
    let facts = &of.examine().unwrap().facts[0][0];
    let after = facts.base_rtt * 2 + facts.line_rate.time_for(40_000_000);
    assert_eq!(of.schemes[0].transport.rto().on(facts), after, "five buffers of 8 MB");
    let text = of.to_annotated_toml(&[vec![*facts]]);
    assert!(text.contains(&format!("rto = \"2rtt+5queue\" # = {}\n", after.about())), "{text}");
}

#[test]
fn what_no_scheme_could_have_is_refused_with_the_nearest() {
    for (setup, expected) in [
        ("[setup]\nbase = \"comon\"", "s.toml:10:1: unknown setup \"comon\"\n  write: base = \"common\""),
        (
            "[setup]\nbasis = \"common\"",
            "s.toml:10:1: unknown key \"basis\" in [setup]\n  write: base (did you mean \"base\"?)",
        ),
        (
            "[setup.transport]\npayloads = \"1KiB\"",
            "s.toml:10:1: unknown key \"payloads\" in [setup.transport]\n  write: payload = \"1KiB\" (did you mean \"payload\"?)",
        ),
        (
            "[setup.transport.go-back-m]\nrto = \"1ms\"",
            "s.toml:9:18: there is no transport \"go-back-m\"\n  write: [setup.transport.go-back-n]",
        ),
        (
            "[setup.cc.dcqcn]\nrate_a = \"1Gbps\"",
            "s.toml:10:1: unknown key \"rate_a\" in [setup.cc.dcqcn]\n  write: rate_ai = \"1Gbps\" (did you mean \"rate_ai\"?)",
        ),
        (
            "[setup.cc.dcqcn]\npreset = \"mlx\"",
            "s.toml:10:1: cc.preset: \"mlx\" is no parameter set of DCQCN\n  write: preset = one of \"paper\", \"hpcc\", \"conweave\", \"htsim\"",
        ),
        (
            "[setup.fabric.pfc]\nbufer = \"1MB\"",
            "s.toml:10:1: unknown key \"bufer\" in [setup.fabric.pfc]\n  write: buffer = \"1MB\" (did you mean \"buffer\"?)",
        ),
        (
            "[setup.lossless.fabric]\nques = \"1MB\"",
            "s.toml:10:1: unknown key \"ques\" in [setup.lossless.fabric]\n  write: queue (did you mean \"queue\"?)",
        ),
    ] {
        assert_eq!(said(setup), expected, "{setup}");
    }
    let wrong = said("[setup.transport]\npayload = \"4KX\"");
    assert!(wrong.starts_with("s.toml:10:1: transport.payload: "), "{wrong}");
    let unknown = read(
        "s.toml",
        &format!("schemes = [\"reps\"]\nsetup = \"comon\"\n{FABRIC}"),
        &folder(),
        &Overrides::default(),
    );
    assert_eq!(
        unknown.unwrap_err().to_string(),
        "s.toml:2:1: unknown setup \"comon\"\n  write: setup = \"common\""
    );
}

fn ground(schemes: &str, more: &str) -> Ground {
    let scenario = on_ground(schemes, more);
    scenario.ground(&scenario.examine().unwrap().facts)
}

#[test]
fn a_later_point_of_a_sweep_with_other_ground_is_named() {
    let schemes = "[\"reps\", \"ops\"]";
    let swept = ground(schemes, "[sweep]\n\"reps.fabric.queue\" = [\"1MB\", \"2MB\", \"3MB\"]");
    let said = swept.mismatch.unwrap();
    assert!(said.starts_with("At reps.fabric.queue = 2MB: Not on the same ground: "), "{said}");
    assert_eq!(said.matches("At ").count(), 1, "the same parameters are named once: {said}");
    let all = ground(schemes, "[sweep]\n\"*.fabric.queue\" = [\"1MB\", \"2MB\"]");
    assert_eq!(all.mismatch, None);
}

#[test]
fn schemes_on_common_ground_differ_by_what_they_need_alone() {
    let names: Vec<String> = schemes().into_iter().map(|listing| listing.name.to_owned()).collect();
    // The excluded schemes need a fabric of several data centres.
    let here = |name: &&String| !["themis-longhaul", "pnp-only", "trp-only", "bicc"].contains(&name.as_str());
    // These schemes have a constant window of one BDP in the setup `common`, where REPS may have 1.5 BDP in flight.
    let constant = ["rack-tlp", "timeout", "pfc-ecmp"];
    let alike = |name: &&String| here(name) && !constant.contains(&name.as_str());
    let all = ground(&format!("{:?}", names.iter().filter(alike).collect::<Vec<_>>()), "");
    assert_eq!(all.mismatch, None, "{}", all.matrix());
    assert!(all.differences.iter().any(|row| row.parameter == "transport.rto"));
    let all = ground(&format!("{:?}", names.iter().filter(here).collect::<Vec<_>>()), "");
    let said = all.mismatch.clone().unwrap_or_default();
    assert!(said.starts_with("Not on the same ground: maximum window is 551 KB (reps, "), "{said}");
    assert!(!said.contains(';') && constant.iter().all(|name| said.contains(name)), "{said}");
    assert_eq!(ground("[\"reps\", \"ops\"]", "").differences, []);
}

#[test]
fn what_differs_is_told_in_plain_units_and_what_no_need_explains_is_said() {
    let own = ground("[\"reps\", \"dcp\"]", "");
    assert_eq!(own.mismatch, None);
    let row =
        |of: &Ground, parameter: &str| of.differences.iter().find(|row| row.parameter == parameter).cloned();
    let control = row(&own, "fabric.control_queue").unwrap();
    assert_eq!(control.values, [Some("1 MB".to_owned()), Some("16 MB".to_owned())]);
    assert_eq!((control.needed, control.unexplained), (vec![false, true], false));
    assert_eq!(
        row(&own, "overload action").unwrap().values,
        [Some("drop".to_owned()), Some("trim".to_owned())]
    );
    let matrix = own.matrix();
    assert!(matrix.contains("fabric.control_queue  1 MB") && matrix.contains("16 MB *"), "{matrix}");

    let set = ground("[\"reps\", \"dcp\"]", "[set]\n\"dcp.transport.payload\" = \"2KB\"");
    assert_eq!(
        set.mismatch.unwrap(),
        "Not on the same ground: transport.payload is 4.10 KB (reps) and 2 KB (dcp)."
    );
    let all = ground("[\"reps\", \"dcp\"]", "[set]\n\"*.transport.payload\" = \"2KiB\"");
    assert_eq!(all.mismatch, None);
    let lossless = ground("[\"reps\", \"conweave\"]", "[set]\n\"conweave.fabric.pfc\" = {}");
    assert_eq!(
        lossless.mismatch.unwrap(),
        "Not on the same ground: overload action is drop (reps) and PFC (conweave); \
         transport.rto is 115 us (reps) and 3.21 ms (conweave)."
    );
    let paper = ground("[\"dcp\", \"irn-ar\"]", "setup = \"dcp-paper\"").mismatch.unwrap();
    assert!(paper.contains("transport.rto is 4 ms (dcp) and 320 us (irn-ar)"), "{paper}");
}

/// Windows are compared by their sizes, even if their parameters have different names or follow different rules.
#[test]
fn what_may_be_in_flight_is_told_of_all_who_differ_and_a_need_has_its_star() {
    let row = |of: &Ground, parameter: &str| {
        let found = of.differences.iter().find(|row| row.parameter == parameter);
        found.cloned().unwrap_or_else(|| panic!("no {parameter} in:\n{}", of.matrix()))
    };
    let of = ground("[\"reps\", \"rocev2\", \"irn-ar\", \"sr-ar\", \"strack\", \"hpcc\", \"dcp\"]", "");
    assert_eq!(of.mismatch, None, "{}", of.matrix());
    for parameter in ["initial window", "maximum window"] {
        let row = row(&of, parameter);
        assert!(row.values.iter().all(Option::is_some), "{row:?}");
        assert_eq!(row.needed, [false, true, true, true, true, true, true], "{parameter}");
        assert!(!row.unexplained);
    }
    let most = row(&of, "maximum window");
    // The window of sr-ar is 512 packets of 4174 B. The parameters of DCQCN do not change it.
    assert_eq!(most.values[3].as_deref(), Some("2.14 MB"));
    assert!(of.matrix().contains("2.14 MB *"), "{}", of.matrix());

    // A window in `[set]` is not a need of the scheme, so the difference is reported.
    let set = ground("[\"reps\", \"rocev2\"]", "[set]\n\"rocev2.cc.window\" = \"3bdp\"");
    let said = set.mismatch.unwrap();
    assert!(said.contains("maximum window is ") && said.contains(" (rocev2)"), "{said}");
    // For packets of half the length, the same number of packets is a smaller window in bytes.
    let text = "[set]\n\"timeout.transport.payload\" = \"2KiB\"\n\"*.transport.window_packets\" = 64";
    let halved = ground("[\"to-ar\", \"timeout\"]", text);
    let most = row(&halved, "maximum window");
    assert!(most.unexplained && most.values[0] != most.values[1], "{most:?}");
    // Both RTOs follow the same rule, but from queues of different lengths.
    let queues = ground("[\"reps\", \"ops\"]", "[set]\n\"ops.fabric.queue\" = \"2MB\"");
    assert!(row(&queues, "transport.rto").unexplained);
}

#[test]
fn the_resolved_form_says_what_differs_and_reads_back() {
    let scenario = on_ground("[\"reps\", \"dcp\"]", "[set]\n\"dcp.transport.payload\" = \"2KB\"");
    let text = scenario.to_annotated_toml(&scenario.examine().unwrap().facts);
    assert!(text.contains("differs = \"Not on the same ground: "), "{text}");
    assert_eq!(read("s.toml", &text, &folder(), &Overrides::default()).unwrap(), scenario);
}

/// The windows of NSCC are not rounded up to whole packets.
#[test]
fn the_windows_of_nscc_are_the_same_in_the_table_and_in_the_resolved_form() {
    let scenario = on_ground("[\"uet-nscc\", \"reps\"]", "");
    let facts = scenario.examine().unwrap().facts;
    let ground = scenario.ground(&facts);
    let row = ground.differences.iter().find(|row| row.parameter == "initial window").unwrap();
    let window = row.values[0].clone().unwrap();
    let annotated = scenario.to_annotated_toml(&facts);
    assert!(
        annotated.contains(&format!("initial_window = \"1.5bdp\" # = {window}\n")),
        "{window}\n{annotated}"
    );
}

/// On every setup, `rocev2` can run beside a class whose scheme pauses, drops or trims. At most four suggestions of
/// errors must be followed for this.
#[test]
fn schemes_have_a_class_on_every_setup() {
    for setup in setups() {
        for class in ["rocev2", "irn-ecmp", "uet-nscc"] {
            let mut text = format!(
                "schemes = [\"rocev2\"]\nsetup = {:?}\n[topology]\nkind = \"fat-tree\"\nhosts = 32\nlink = \"400Gbps\"\n\
                 [workload]\nkind = \"permutation\"\nbytes = \"1MB\"\n[[class]]\nname = \"storage\"\nscheme = {class:?}\n\
                 workload = {{ kind = \"incast\", bytes = \"8KB\" }}\n[set]\n",
                setup.name
            );
            for _ in 0..4 {
                let Err(error) = read("s.toml", &text, &folder(), &Overrides::default()) else { break };
                let fix =
                    error.fix.unwrap_or_else(|| panic!("{} on {}", error.message, setup.name)).to_string();
                text.push_str(
                    fix.strip_suffix(" below [set]").unwrap_or_else(|| panic!("{fix}: {}", error.message)),
                );
                text.push('\n');
            }
            scenario(&text);
        }
    }
}

#[test]
fn a_setup_with_a_name_of_its_own_is_compared_by_its_base() {
    let ground = |setup: &str| {
        let scenario = on_ground("[\"uet-nscc\", \"irn-ecmp\"]", setup);
        scenario.ground(&scenario.examine().unwrap().facts).differences
    };
    let built_in = ground("setup = \"uet\"");
    assert!(built_in.iter().any(|difference| difference.given.contains(&true)), "{built_in:?}");
    assert_eq!(ground("setup = { base = \"uet\", name = \"mine\" }"), built_in);
}

#[test]
fn thresholds_for_faster_links_that_one_scheme_has_alone_are_a_difference() {
    let set = "setup = \"themis-longhaul-paper\"\n[set]\n\"dcqcn.fabric.ecn_from\" = []";
    let scenario = on_ground("[\"dcqcn\", \"hpcc\", \"uet-nscc\"]", set);
    let ground = scenario.ground(&scenario.examine().unwrap().facts);
    let row = ground.differences.iter().find(|row| row.parameter == "fabric.ecn_from");
    let row = row.unwrap_or_else(|| panic!("{}", ground.matrix()));
    assert_eq!(row.values[0].as_deref(), Some("[]"));
}

#[test]
fn a_setting_for_all_may_be_of_the_scheme_of_a_class_alone() {
    let class = "[[class]]\nname = \"storage\"\nscheme = \"rocev2\"\nworkload = { kind = \"incast\", bytes = \"8KB\" }\n";
    let set = "[set]\n\"*.fabric.pfc.buffer\" = \"16MB\"\n";
    let scenario = scenario(&format!("schemes = [\"reps\"]\n{FABRIC}{class}{set}"));
    let buffer = |scheme: &Scheme| scheme.fabric.pfc.as_ref().map(|pfc| pfc.buffer);
    assert_eq!(buffer(&scenario.schemes[0]), None);
    let of_class = scenario.classes[1].traffic.as_ref().unwrap();
    assert_eq!(buffer(&of_class.scheme), Some(Bytes(16_000_000)));
}
