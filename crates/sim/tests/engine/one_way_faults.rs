//! Links that go down only in the direction towards a host or switch that PFC has paused. The paused host or switch
//! resumes immediately, between two synchronisation windows.

use super::support::*;
use anabranch_sim::Control;

/// A scenario in which links fail `failures` times for `lasting` each, every 1,317 ns from 8 us on.
fn scenario(topology: &str, pairs: &[(u32, u32)], links: &str, (failures, lasting): (u32, &str)) -> String {
    let each = |(from, to): &(u32, u32)| {
        format!("[[workload.message]]\nfrom = {from}\nto = {to}\nbytes = \"1MB\"\n")
    };
    let at: Vec<String> = (0..failures).map(|number| format!("\"{}ns\"", 8_000 + 1_317 * number)).collect();
    let pfc = "{ buffer = \"60KB\", headroom_apart = true, alpha = 0.5, resume = \"1packets\" }";
    format!(
        "schemes = [\"rocev2\"]\nseeds = [1, 2]\n[topology]\n{topology}\nlink = \"100Gbps\"\n[workload]\nkind = \"messages\"\n{}[set]\n\"rocev2.fabric.pfc\" = {pfc}\n[[fault]]\nkind = \"link-down\"\nlinks = [{links}]\nboth_directions = false\nat = [{}]\nduration = \"{lasting}\"\n",
        pairs.iter().map(each).collect::<String>(),
        at.join(", ")
    )
}

#[test]
fn a_host_that_resumes_between_windows_sends_mail_like_any_other() {
    let star = "kind = \"single-switch\"\nhosts = 3\nlink_latency = \"100ns\"\nswitch_latency = \"100ns\"";
    let star = scenario(star, &[(0, 2), (1, 2)], "\"tor:0/down:0\"", (200, "200ns"));
    let dumbbell = "kind = \"dumbbell\"\nhosts = 8\nlink_latency = \"500ns\"\nswitch_latency = \"0ns\"";
    let pairs = [(0, 4), (1, 4), (2, 4), (3, 5), (5, 4), (6, 4)];
    let dumbbell = scenario(dumbbell, &pairs, "\"tor:0/down:0\", \"tor:1/up:0\"", (300, "20ns"));
    for text in [star, dumbbell] {
        for point in points(&text, &[]) {
            let outcomes = [1, 3].map(|threads| {
                let result = anabranch_sim::run(&point, &Control { threads, ..Control::default() });
                result.map(|result| result.run.digest).map_err(|error| error.to_string())
            });
            assert_eq!(outcomes[0], outcomes[1], "seed {}", point.seed);
            let ended = outcomes[0].as_ref().err();
            assert!(ended.is_none_or(|error| !error.contains("defect")), "{ended:?}");
        }
    }
}
