//! What runs but cannot mean much is said: on standard error, in `--json`, and on top of the page.

use crate::common::{Place, SMALL, edited};

/// Runs `scenario`, which must end well and warn of each of `says`: on standard error, in JSON and on the page, also
/// when its results are taken from disk.
#[track_caller]
fn warned(scenario: &str, says: &[&str]) {
    let place = Place::new();
    place.write("s.toml", scenario);
    let ended = place.run(&["run", "s.toml", "--out", "out", "--json"]).expect(0);
    let json = ended.json();
    let again = place.run(&["run", "s.toml", "--out", "out", "--json"]).expect(0);
    let folder = place.path().join(json["folder"].as_str().unwrap());
    let page = std::fs::read_to_string(folder.join("report.html")).unwrap();
    let warnings: Vec<&str> =
        json["warnings"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    assert_eq!(again.json()["warnings"], json["warnings"], "stored results warn alike");
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
}

#[test]
fn a_scenario_in_which_all_means_something_warns_of_nothing() {
    warned(SMALL, &[]);
    let met = "[[fault]]\nkind = \"link-down\"\nlinks = \"tor-uplinks:50%\"\nduration = \"20us\"\n";
    warned(&format!("{SMALL}{met}"), &[]);
    // A probability of 0 is where a sweep begins.
    let none = "[[fault]]\nkind = \"packet-loss\"\nlinks = \"all\"\nprobability = 0.0\n";
    warned(&format!("{SMALL}{none}"), &[]);
}

#[test]
fn a_fault_that_no_packet_met() {
    // One connection has one path under ECMP, and this is the cable of a host that neither sends nor receives.
    let one = "kind = \"messages\"\n[[workload.message]]\nfrom = 0\nto = 15\nbytes = \"100KB\"";
    let idle = edited("kind = \"permutation\"\nbytes = \"100KB\"", one);
    let fault = "[[fault]]\nkind = \"rate\"\nlinks = \"host:3\"\nrate = \"1Gbps\"\n";
    let says = "reps, ops: fault 1 (rate host:3) met no packet: it lost, refused or slowed none";
    warned(&format!("{idle}{fault}"), &[says]);
}

#[test]
fn a_fault_after_the_end() {
    let fault =
        |at: &str| format!("{SMALL}[[fault]]\nkind = \"link-down\"\nlinks = \"tor:0/up:0\"\nat = \"{at}\"\n");
    warned(&fault("500ms"), &["reps, ops: fault 1 (link-down tor:0/up:0) begins after the end of the run"]);
    let never = "fault 1 (link-down tor:0/up:0) begins at 2s, when every run is over (max_time = \"1s\")";
    let place = Place::new();
    place.write("s.toml", fault("2s"));
    let checked = place.run(&["check", "s.toml", "--json"]).expect(0);
    assert!(
        checked.stderr.contains(&format!("warning: s.toml:17:1: {never}\n  write: at = \"500ms\"")),
        "{}",
        checked.stderr
    );
    assert!(checked.json()["warnings"][0].as_str().unwrap().starts_with(never));
}

#[test]
fn a_fault_that_is_swept_over_the_end_is_met_somewhere() {
    let text = format!(
        "{SMALL}[[fault]]\nkind = \"link-down\"\nlinks = \"tor-uplinks:50%\"\nduration = \"9us\"\n\
         [sweep]\n\"fault.0.at\" = [\"0us\", \"900ms\"]\n"
    );
    warned(&text, &[]);
}

#[test]
fn thresholds_that_no_queue_reaches() {
    let set = |line: &str| format!("{SMALL}[set]\n{line}\n");
    let says = "scheme \"reps\": fabric.ecn_kmin (830KB on links of 400Gbps) is not below what waits behind a packet \
                in a full queue (fabric.queue = \"50KB\", 50KB): nothing is ever marked; write: \"reps.fabric.ecn_kmin\" = \"10KB\"";
    let far = "\"reps.fabric.queue\" = \"50KB\"\n\"reps.fabric.ecn_kmin\" = \"830KB\"\n\"reps.fabric.ecn_kmax\" = \"900KB\"";
    warned(&set(far), &[says]);
    warned(&set(&far.replace("830KB", "10KB")), &[]);
}

#[test]
fn a_queue_below_a_packet() {
    let says = "scheme \"reps\": fabric.queue = \"1KB\" does not hold a packet of";
    warned(&format!("{SMALL}[set]\n\"reps.fabric.queue\" = \"1KB\"\n"), &[says]);
}

#[test]
fn a_measure_that_saw_nothing() {
    let one = "kind = \"messages\"\n[[workload.message]]\nfrom = 0\nto = 15\nbytes = \"100KB\"";
    let idle = edited("kind = \"permutation\"\nbytes = \"100KB\"", one);
    let measure = |series: &str, on: &str| format!("{idle}[[measure]]\nseries = \"{series}\"\n{on}\n");
    let says = "reps, ops: measure 1 (link-utilisation on \"host:3\") saw nothing: it has no point above 0";
    warned(&measure("link-utilisation", "links = \"host:3\""), &[says]);
    warned(&measure("link-utilisation", "links = \"host:0\""), &[]);
    let says = "reps, ops: measure 1 (pauses on \"tor:0/up\") saw nothing: the scheme has no PFC";
    warned(&measure("pauses", "links = \"tor:0/up\""), &[says]);
    // That none were dropped is an answer.
    warned(&measure("drops", "links = \"tor:0/up\""), &[]);
}

#[test]
fn a_timeout_below_the_round_trip_of_messages() {
    // Its RTO is a time, whatever the fabric.
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
    // Within a ToR it is 82 us; with 85 us to wait, only the others are told of.
    let longer = format!("{}[set]\n\"*.transport.rto\" = \"90us\"\n", pair(1));
    warned(&longer, &[]);
}
