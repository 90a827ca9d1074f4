//! Bad numbers of a lossless fabric, with the whole message: where, what, and what to write instead.

use super::tests::folder;
use super::*;

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

/// What is said about the settings, the first of which stands in line 14.
fn said(settings: &str) -> String {
    let text = format!("{LINE}{settings}\n");
    let read = read("s.toml", &text, &folder(), &Overrides::default());
    read.and_then(|scenario| scenario.check()).expect_err(&text).to_string()
}

#[track_caller]
fn assert_said(settings: &str, expected: &str) {
    assert_eq!(said(settings), expected);
}

#[test]
fn dump() {
    for settings in [
        "\"rocev2.fabric.pfc.headroom\" = \"30KB\"",
        "\"rocev2.fabric.pfc.headroom\" = \"9packets\"",
        "\"rocev2.fabric.pfc.headroom\" = \"0B\"",
        "\"rocev2.fabric.pfc.buffer\" = \"1MB\"",
        "\"rocev2.fabric.pfc.buffer\" = \"0B\"",
        "\"rocev2.fabric.pfc.buffer_rate\" = \"0bps\"",
        "\"rocev2.fabric.pfc.threshold\" = \"20packets\"",
        "\"rocev2.fabric.pfc.threshold\" = \"20packets\"\n\"rocev2.fabric.pfc.alpha\" = 1.0",
        "\"rocev2.fabric.pfc.alpha\" = 0.0",
        "\"rocev2.fabric.pfc.alpha\" = -1.0",
        "\"rocev2.fabric.pfc.alpha\" = 70000.0",
        "\"rocev2.fabric.pfc.alpha\" = \"a\"",
        "\"rocev2.fabric.pfc.resume\" = \"0B\"",
        "\"rocev2.fabric.pfc.resume\" = \"0packets\"",
        "\"rocev2.fabric.pfc.resume\" = 2",
        "\"rocev2.fabric.queue\" = \"1bdp\"",
        "\"rocev2.fabric.trim\" = true",
        "\"rocev2.qps\" = 0",
        "\"rocev2.qps\" = 65",
        "\"rocev2.cc.alpha_timer\" = \"99ns\"",
        "\"rocev2.cc.increase_timer\" = \"0us\"",
        "\"rocev2.fabric.pfc.treshold\" = \"20packets\"",
        "\"rocev2.fabric.pfc.headrom\" = \"100KB\"",
        "\"rocev2.fabric.pfc.xon\" = \"100KB\"",
        "\"rocev2.fabric.pfc.expiry\" = \"5us\"",
        "\"rocev2.fabric.pfc.headroom\" = \"100000packets\"",
        "\"rocev2.cc.min_rate\" = \"0bps\"",
        "\"rocev2.transport.ack_every\" = 0",
    ] {
        println!("{settings}\n    -> {}", said(settings));
    }
}
