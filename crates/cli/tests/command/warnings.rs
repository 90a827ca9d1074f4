//! Tests of warnings about scenarios that run but give results with little meaning. The warnings appear on standard
//! error, in `--json`, and at the top of the page.

use crate::common::{Place, SMALL, edited};

/// Runs `scenario` twice, the second time from the stored results. The warnings in `says` must be on standard error,
/// in the JSON and on the page, and the JSON must have no others. Returns the warnings of the runs as values.
#[track_caller]
fn warned(scenario: &str, says: &[&str]) -> serde_json::Value {
    let place = Place::new();
    place.write("s.toml", scenario);
    let ended = place.run(&["run", "s.toml", "--out", "out", "--json"]).expect(0);
    let json = ended.json();
    let again = place.run(&["run", "s.toml", "--out", "out", "--json"]).expect(0);
    let folder = place.path().join(json["folder"].as_str().unwrap());
    let page = std::fs::read_to_string(folder.join("report.html")).unwrap();
    let warnings: Vec<&str> =
        json["warnings"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    for field in ["warnings", "run_warnings"] {
        assert_eq!(again.json()[field], json[field], "stored results warn alike");
    }
    for text in says {
        let (problem, _) = text.split_once("; write: ").unwrap_or((text, ""));
        for (place, told) in [("standard error", &ended.stderr), ("again", &again.stderr)] {
            let told = told.lines().any(|line| line.starts_with("warning: ") && line.contains(problem));
            assert!(told, "{text:?} is not on {place}:\n{}", ended.stderr);
        }
        assert!(warnings.iter().any(|warning| warning.contains(text)), "{text:?} is not in {warnings:?}");
        let text =
            text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;").replace('>', "&gt;");
        assert!(page.contains(&text), "{text:?} is not on the page");
    }
    assert_eq!(warnings.len(), says.len(), "{warnings:?}");
    assert_eq!(page.contains("<h2>Warnings</h2>"), !says.is_empty());
    json["run_warnings"].clone()
}

#[test]
fn a_scenario_in_which_all_means_something_warns_of_nothing() {
    warned(SMALL, &[]);
    let met = "[[fault]]\nkind = \"link-down\"\nlinks = \"tor-uplinks:50%\"\nduration = \"20us\"\n";
    warned(&format!("{SMALL}{met}"), &[]);
}

#[test]
fn a_fault_that_no_packet_met() {
    // The only message goes from host 0 to host 15, and the fault is on the links of host 3.
    let one = "kind = \"messages\"\n[[workload.message]]\nfrom = 0\nto = 15\nbytes = \"100KB\"";
    let idle = edited("kind = \"permutation\"\nbytes = \"100KB\"", one);
    let fault = "[[fault]]\nkind = \"rate\"\nlinks = \"host:3\"\nrate = \"1Gbps\"\n";
    let says = "reps, ops: fault.0 (rate host:3) met no packet: it lost, refused or slowed none";
    let beforehand = "fault.0 (rate host:3) hits nothing: no packet of this workload gets there; write: links = \"host:0\", which \
                      packets cross";
    let values = warned(&format!("{idle}{fault}"), &[beforehand, says]);
    let warning = serde_json::json!({ "kind": "fault-without-packets", "fault": 0, "on": "rate host:3" });
    let of = |scheme: &str| serde_json::json!({ "scheme": scheme, "runs": 1, "of_runs": 1 });
    assert_eq!(values[0]["warning"], warning);
    assert_eq!(values[0]["schemes"], serde_json::json!([of("reps"), of("ops")]));
}

#[test]
fn a_fault_after_the_end() {
    let fault =
        |at: &str| format!("{SMALL}[[fault]]\nkind = \"link-down\"\nlinks = \"tor:0/up:0\"\nat = \"{at}\"\n");
    let late =
        "fault.0 (link-down tor:0/up:0) begins at 500ms, and a run that loses nothing takes little more than";
    let after = "reps, ops: fault.0 (link-down tor:0/up:0) begins after the end of the run";
    warned(&fault("500ms"), &[late, after]);
    // At 20 us, about twice the ideal time, packets may still wait. At 40 us, they may still wait only in an
    // oversubscribed fabric.
    check_warns(&fault("20us"), &[]);
    check_warns(&fault("40us"), &["begins at 40us, and a run that loses nothing takes little more than"]);
    let four = fault("40us").replace("tiers = 2", "tiers = 2\noversubscription = 4");
    check_warns(&four, &[]);
    let never = "fault.0 (link-down tor:0/up:0) begins at 2s, when every run is over (max_time = \"1s\")";
    let place = Place::new();
    place.write("s.toml", fault("2s"));
    let checked = place.run(&["check", "s.toml", "--json"]).expect(0);
    assert!(
        checked.stderr.contains(&format!("warning: s.toml:17:1: {never}\n  write: at = \"")),
        "{}",
        checked.stderr
    );
    assert!(checked.json()["warnings"][0].as_str().unwrap().starts_with(never));
}

#[test]
fn a_fault_that_is_swept_over_the_end() {
    let swept = |times: &str| {
        format!(
            "{SMALL}[[fault]]\nkind = \"link-down\"\nlinks = \"tor-uplinks:50%\"\nduration = \"9us\"\n\
             [sweep]\n\"fault.0.at\" = [{times}]\n"
        )
    };
    warned(&swept("\"0us\", \"5us\""), &[]);
    let late = "fault.0 (link-down tor-uplinks:50%) begins at 800ms, and a run that loses nothing takes little more than";
    warned(&swept("\"900ms\", \"0us\", \"800ms\""), &[late]);
    let place = Place::new();
    place.write("s.toml", swept("\"0us\", \"900ms\""));
    let said = place.run(&["check", "s.toml"]).expect(0).stderr;
    assert!(said.contains("warning: s.toml:19:1: "), "{said}");
    assert!(
        said.contains("\n  write: earlier times, such as \"4700ns\", in [sweep], or longer messages"),
        "{said}"
    );
}

#[test]
fn a_queue_of_its_own_turns_pfc_off() {
    let lossless = edited("\"ops\"", "\"rocev2\"");
    let says = "\"rocev2.fabric.queue\" turns PFC off: switches drop then, and rocev2 needs PFC, since go-back-N performs well \
                only on a lossless fabric; write: \"rocev2.fabric.pfc.buffer\" instead of it, unless";
    check_warns(&format!("{lossless}[set]\n\"rocev2.fabric.queue\" = \"2MB\"\n"), &[says]);
    check_warns(&format!("{lossless}[sweep]\n\"rocev2.fabric.queue\" = [\"2MB\", \"4MB\"]\n"), &[says]);
    check_warns(&format!("{lossless}[set]\n\"reps.fabric.queue\" = \"300KB\"\n"), &[]);
}

#[test]
fn thresholds_that_no_queue_reaches() {
    let set = |line: &str| format!("{SMALL}[set]\n{line}\n");
    let says = "scheme \"reps\": fabric.ecn_kmin (830KB on links of 400Gbps) is not below what waits behind a packet \
                in a full queue (fabric.queue = \"50KB\", 50KB): nothing is ever marked; write: \"reps.fabric.ecn_kmin\" = \"10KB\"";
    let far = "\"reps.fabric.queue\" = \"50KB\"\n\"reps.fabric.ecn_kmin\" = \"830KB\"\n\"reps.fabric.ecn_kmax\" = \"900KB\"";
    warned(&set(far), &[says]);
    warned(&set(&far.replace("830KB", "10KB").replace("900KB", "40KB")), &[]);
    // A queue that holds one packet is too short for any threshold.
    let says = "scheme \"reps\": fabric.queue = \"5KB\" holds 1 full packet(s) of 4174B: no threshold (fabric.ecn_kmin is 1KB) \
                is of use below that, nothing is ever marked; write: \"reps.fabric.queue\" = \"100packets\"";
    warned(&set("\"reps.fabric.queue\" = \"5KB\""), &[says]);
    warned(&set("\"reps.fabric.queue\" = \"100packets\""), &[]);
}

#[test]
fn a_queue_below_a_packet() {
    let says = "scheme \"reps\": fabric.queue = \"1KB\" does not hold a packet of";
    warned(&format!("{SMALL}[set]\n\"reps.fabric.queue\" = \"1KB\"\n"), &[says]);
}

#[test]
fn a_buffer_that_nobody_shares() {
    let says = "scheme \"reps\": fabric.shared_buffer = \"0B\": each queue has a limit of its own, and fabric.shared_alpha = 8 \
                nothing to share; write: \"reps.fabric.shared_buffer\" = \"32MB\"";
    let alpha = format!("{SMALL}[set]\n\"reps.fabric.shared_alpha\" = 8.0\n");
    warned(&alpha, &[says]);
    // With `shared_alpha` = 8, one queue may hold 8/9 of the 32 MB (28.4 MB). The timeout expires before a packet at
    // the end of such a queue is delivered. The longer timeout covers five such queues: 28.4 MB are 29 times
    // `fabric.queue`, rounded up.
    let shared = format!("{alpha}\"reps.fabric.shared_buffer\" = \"32MB\"\n");
    let says = "scheme \"reps\": transport.rto = \"2rtt+5queue\" is over before a packet behind a full queue (of \
                fabric.shared_buffer = \"32MB\" it takes 28.4 MB at the most) and its ACK are through";
    warned(&shared, &[says]);
    let rto = "\"reps.transport.rto\" = \"2rtt+145queue\"\n";
    warned(&format!("{shared}{rto}"), &[]);
    let says = "scheme \"reps\": fabric.shared_buffer = \"5KB\" does not hold a packet of 4174B in a queue";
    warned(&format!("{SMALL}[set]\n\"reps.fabric.shared_buffer\" = \"5KB\"\n"), &[says]);
    // Both thresholds are above `fabric.queue`, but a queue in the shared buffer can become longer than both.
    let marks = "\"reps.fabric.ecn_kmin\" = \"2MB\"\n\"reps.fabric.ecn_kmax\" = \"4MB\"\n";
    warned(&format!("{shared}{rto}{marks}"), &[]);
}

#[test]
fn a_measure_that_saw_nothing() {
    let one = "kind = \"messages\"\n[[workload.message]]\nfrom = 0\nto = 15\nbytes = \"100KB\"";
    let idle = edited("kind = \"permutation\"\nbytes = \"100KB\"", one);
    let measure = |series: &str, on: &str| format!("{idle}[[measure]]\nseries = \"{series}\"\n{on}\n");
    let says = "reps, ops: measure.0 (link-utilisation on \"host:3\") saw nothing: it has no point above 0";
    warned(&measure("link-utilisation", "links = \"host:3\""), &[says]);
    warned(&measure("link-utilisation", "links = \"host:0\""), &[]);
    let says = "reps, ops: measure.0 (pauses on \"tor:0/up\") saw nothing: the scheme has no PFC";
    warned(&measure("pauses", "links = \"tor:0/up\""), &[says]);
    // If a measure of drops has no value above 0, that is a meaningful result, so there is no warning.
    warned(&measure("drops", "links = \"tor:0/up\""), &[]);
}

#[test]
fn a_timeout_below_the_round_trip_of_messages() {
    // The setup `reps-paper` has a fixed RTO on any fabric.
    let far = SMALL.replace("[workload]", "link_latency = \"20us\"\n[workload]");
    let far = format!("setup = \"reps-paper\"\n{far}");
    let pair = |to: u32| {
        far.replace(
            "kind = \"permutation\"\nbytes = \"100KB\"",
            &format!("kind = \"messages\"\n[[workload.message]]\nfrom = 0\nto = {to}\nbytes = \"100KB\""),
        )
    };
    let says = |scheme: &str| {
        format!(
            "scheme \"{scheme}\": transport.rto = \"70us\" is not above the round trip of 164us from host 0 to host 15: there, \
             and on 1 of 1 queue pairs in all, packets are sent again before their ACK can be back"
        )
    };
    let (reps, ops) = (says("reps"), says("ops"));
    warned(&pair(15), &[&ops, &reps]);
    // Within a ToR the round trip is 82 us, so that an RTO of 90 us causes no warning.
    let longer = format!("{}[set]\n\"*.transport.rto\" = \"90us\"\n", pair(1));
    warned(&longer, &[]);
}

#[track_caller]
fn check_warns(scenario: &str, says: &[&str]) {
    let place = Place::new();
    place.write("s.toml", scenario);
    let checked = place.run(&["check", "s.toml", "--json"]).expect(0).json();
    let warnings: Vec<&str> =
        checked["warnings"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    for text in says {
        assert!(warnings.iter().any(|warning| warning.contains(text)), "{text:?} is not in {warnings:?}");
    }
    assert_eq!(warnings.len(), says.len(), "{warnings:?}");
}

#[test]
fn settings_that_count_for_nothing() {
    let set = "[set]\n\"*.fabric.queue\" = \"300KB\"\n";
    let swept = |key: &str| format!("{SMALL}{set}[sweep]\n\"{key}\" = [\"400KB\", \"500KB\"]\n");
    let says = "\"*.fabric.queue\" below [set] has no effect: \"*.fabric.queue\" overrides it in [sweep]";
    check_warns(&swept("*.fabric.queue"), &[says]);
    // The setting still applies to the other schemes.
    check_warns(&swept("reps.fabric.queue"), &[]);
    let zip = "[[sweep.zip]]\n\"*.fabric.queue\" = [\"400KB\"]\n\"workload.bytes\" = [\"1KB\"]\n";
    check_warns(&format!("{SMALL}{set}{zip}"), &[says]);
    let buffer = format!("{SMALL}[set]\n\"*.lb.buffer\" = 4\n");
    let says =
        "\"*.lb.buffer\" is not for ops, which has no such parameter; write: \"reps.lb.buffer\", where";
    check_warns(&buffer, &[says]);
    let lossless = edited("\"ops\"", "\"rocev2\"");
    check_warns(&format!("{lossless}{set}"), &["\"*.fabric.queue\" is not for rocev2, which pauses instead"]);
}

#[test]
fn a_rate_that_slows_no_link() {
    let rate = |rate: &str| {
        format!("{SMALL}[[fault]]\nkind = \"rate\"\nlinks = \"cable:tor:0/up\"\nrate = \"{rate}\"\n")
    };
    check_warns(
        &rate("400Gbps"),
        &["rate = \"400Gbps\" leaves them as they are: the links have 400Gbps; write: rate = \"200Gbps\""],
    );
    check_warns(&rate("800Gbps"), &["rate = \"800Gbps\" slows none of them: the links have 400Gbps"]);
    check_warns(&rate("100Gbps"), &[]);
    // It suffices that another value of the sweep slows the links.
    let swept = format!("{}[sweep]\n\"fault.0.rate\" = [\"400Gbps\", \"100Gbps\"]\n", rate("400Gbps"));
    check_warns(&swept, &[]);
}

/// A selector that names one direction of a cable causes a warning, unless the scenario sets `both_directions` or
/// also names the other direction.
#[test]
fn a_slow_direction_that_may_not_be_meant() {
    let slow = |links: &str, more: &str| {
        format!("{SMALL}[[fault]]\nkind = \"rate\"\nlinks = \"{links}\"\nrate = \"100Gbps\"\n{more}")
    };
    check_warns(
        &slow("tor:0/up:0", ""),
        &[
            "slows \"tor:0/up:0\" in this direction only; the ranking may depend on that; write: both_directions = true",
        ],
    );
    check_warns(&slow("tor:0/up:0", "both_directions = true\n"), &[]);
    check_warns(&slow("tor:0/up:0", "both_directions = false\n"), &[]);
    check_warns(&slow("cable:tor:0/up:0", ""), &[]);
    check_warns(&slow("tor-uplinks:1", ""), &[]);
    for other in ["cable:tor:0/up:0", "spine:0/down:0"] {
        let both = slow("x", "").replace("\"x\"", &format!("[\"{other}\", \"tor:0/up:0\"]"));
        check_warns(&both, &[]);
    }
    let varied = "[sweep]\n\"fault.0.both_directions\" = [true, false]\n";
    check_warns(&slow("tor:0/up:0", varied), &[]);
}

#[test]
fn a_probability_that_loses_nothing() {
    let loss = |probability: &str| {
        format!(
            "{SMALL}[[fault]]\nkind = \"packet-loss\"\nlinks = \"tor:0/up\"\nprobability = {probability}\n"
        )
    };
    check_warns(&loss("0"), &["probability = 0: this fault loses nothing; write: probability = 0.001"]);
    check_warns(&loss("0.5"), &[]);
    // At most about a hundred packets leave the ToR.
    let rare = "is expected to hit";
    check_warns(&loss("0.001"), &[rare]);
    let swept = format!("{}[sweep]\n\"fault.0.probability\" = [0, 0.5]\n", loss("0"));
    check_warns(&swept, &[]);
}

#[test]
fn a_timeout_in_step_with_a_link_that_flaps() {
    let flap = |period: &str| {
        format!(
            "{SMALL}[[fault]]\nkind = \"link-flap\"\nlinks = \"tor:0/up:0\"\nperiod = \"{period}\"\ndown_for = \"20us\"\n\
             [set]\n\"*.transport.rto\" = \"1ms\"\n"
        )
    };
    let says = "the period of fault.0 (250us) goes a whole number of times into the timeout of ops (1ms), reps (1ms): what is \
                sent again comes in the same part of each period, and may be lost each time; write: period = \"230us\", or two \
                periods in [sweep]";
    check_warns(&flap("250us"), &[says]);
    check_warns(&flap("230us"), &[]);
}

#[test]
fn a_fault_that_comes_again_after_the_end() {
    let fault = "[[fault]]\nkind = \"link-down\"\nlinks = \"tor-uplinks:50%\"\nduration = \"3us\"\n";
    let says = "fault.0 (link-down tor-uplinks:50%) does not come at 500ms: the run is over before";
    warned(&format!("{SMALL}{fault}at = [\"0us\", \"500ms\"]\n"), &[says]);
    let says = "begins for the last time at 2s, when every run is over";
    check_warns(&format!("{SMALL}{fault}at = [\"0us\", \"2s\"]\n"), &[says]);
}

#[test]
fn windows_and_queues_below_a_packet_and_thresholds_above_the_queue() {
    let set = |line: &str| format!("{SMALL}[set]\n{line}\n");
    let says = "scheme \"reps\": cc.initial_window = \"1KB\" is smaller than a packet of";
    check_warns(&set("\"reps.cc.initial_window\" = \"1KB\""), &[says]);
    let says = "scheme \"reps\": fabric.control_queue = \"32B\" does not hold an ACK of";
    check_warns(&set("\"reps.fabric.control_queue\" = \"32B\""), &[says]);
    let says = "scheme \"reps\": fabric.ecn_kmax (2MB) is above what a queue holds (fabric.queue = \"1MB\", 1MB): \
                no packet is marked with a probability above 0.44, and fabric.ecn_pmax is 1";
    check_warns(&set("\"reps.fabric.ecn_kmax\" = \"2MB\""), &[says]);
}

#[test]
fn values_that_cannot_act() {
    let set =
        |line: &str| edited("[\"reps\", \"ops\"]", "[\"reps\", \"strack\"]") + &format!("[set]\n{line}\n");
    let says =
        "scheme \"reps\": lb.evs = 1: there is one entropy value, and all packets of all queue pairs have it";
    check_warns(&set("\"reps.lb.evs\" = 1"), &[says]);
    check_warns(&set("\"reps.lb.evs\" = 2"), &[]);
    let says = "scheme \"strack\": cc.target_qdelay = \"1s\" is longer than 8 full queues";
    check_warns(&set("\"strack.cc.target_qdelay\" = \"1s\"\n\"strack.cc.target_qhigh\" = \"3s\""), &[says]);
    let delay = set("\"*.fabric.routing_delay\" = \"1us\"");
    check_warns(&delay, &["\"*.fabric.routing_delay\" has no effect: nothing fails here"]);
    let down = "[[fault]]\nkind = \"link-down\"\nlinks = \"tor:0/up:0\"\n";
    check_warns(&format!("{delay}{down}"), &[]);
    let short = "limits.max_time = \"10us\" is below what the hosts' links take for the messages, 20us: they cannot all finish; \
                 write: max_time = \"400us\" below [limits]";
    let long = edited("100KB", "1MB");
    check_warns(&format!("{long}[limits]\nmax_time = \"10us\"\n"), &[short]);
    check_warns(&format!("{long}[limits]\nmax_time = \"400us\"\n"), &[]);
}

#[test]
fn a_depth_beyond_all_chunks() {
    let ring = "kind = \"collective\"\nalgorithm = \"allreduce-ring\"\nranks = 4\ndepth = ";
    let text = |depth: u32| edited("kind = \"permutation\"", &format!("{ring}{depth}"));
    // The job has 2 x (4 - 1) = 6 steps with a block of one chunk each.
    check_warns(
        &text(100),
        &["depth = 100 holds nothing back: no rank has more than 6 chunks for another one"],
    );
    check_warns(&text(1), &[]);
}

#[test]
fn examples_warn_of_nothing() {
    let place = Place::new();
    let listed = place.run(&["list", "examples", "--json"]).expect(0).json();
    for example in listed["examples"].as_array().unwrap() {
        let name = example["name"].as_str().unwrap();
        // These two are left out, because they take long to resolve.
        if ["permutation-1024", "smallest-buffer"].contains(&name) {
            continue;
        }
        check_warns(&place.run(&["list", "examples", name]).expect(0).stdout, &[]);
    }
}
