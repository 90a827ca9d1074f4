//! Warnings about faults that no packet meets, and the hints, which are followed.

use super::newcomers::works;

#[track_caller]
fn warnings(text: &str) -> Vec<String> {
    works(text).check().unwrap().iter().map(ToString::to_string).collect()
}

fn rails(topology: &str, workload: &str, fault: &str) -> String {
    format!(
        "schemes = [\"reps\"]\nseeds = [1, 2]\n[topology]\nkind = \"rails\"\nservers = 16\nnics = 8\nlink = \"400Gbps\"\nradix = \
         32\nnvlink = \"3600Gbps\"\n{topology}\n[workload]\nkind = \"collective\"\nbytes = \"8MB\"\n{workload}\n[[fault]]\nat = \
         \"5us\"\n{fault}\n"
    )
}

const SPINE: &str = "kind = \"switch-down\"\nswitches = \"spine:0\"";
const RING: &str = "algorithm = \"allreduce-ring\"\nserver = {}";
const TO_ALL: &str = "algorithm = \"alltoall\"\nserver = {}";
const BELOW: &str = "hits nothing: every message stays below one tor, and no packet crosses a spine";

#[test]
fn a_spine_that_no_packet_crosses_is_named() {
    for workload in [RING, &format!("{RING}\nplacement = \"random\"")] {
        let found = warnings(&rails("", workload, SPINE));
        let [warning] = &found[..] else { panic!("{found:?}") };
        assert!(warning.contains(&format!("fault.0 (switch-down spine:0) {BELOW}")), "{warning}");
        assert!(
            warning.ends_with("write: segment = 8 below [topology], so that messages cross segments"),
            "{warning}"
        );
        assert!(!warnings(&rails("segment = 8", workload, SPINE)).concat().contains("hits nothing"));
    }
    let found = warnings(&rails("", TO_ALL, SPINE)).concat();
    assert!(
        found.ends_with("; or pxn = false in [workload.server], so that messages change the rail"),
        "{found}"
    );
    let without = TO_ALL.replace("{}", "{ pxn = false }");
    assert!(!warnings(&rails("", &without, SPINE)).concat().contains("hits nothing"));
}

#[test]
fn links_that_no_packet_crosses_are_named() {
    let fault = "kind = \"link-flap\"\nlinks = \"tor-uplinks:10%\"\nperiod = \"10us\"\ndown_for = \"2us\"";
    let found = warnings(&rails("", RING, fault));
    let [warning] = &found[..] else { panic!("{found:?}") };
    assert!(warning.contains("fault.0 (link-flap tor-uplinks:10%)") && warning.contains(BELOW), "{warning}");
    let help = "write: links = \"server:0/nic:0\", which packets cross; or segment = 8 below [topology], so that messages cross segments";
    assert!(warning.ends_with(help), "{warning}");
    let on_nic = fault.replace("tor-uplinks:10%", "server:0/nic:0");
    assert!(!warnings(&rails("", RING, &on_nic)).concat().contains("hits nothing"));
    let two = "algorithm = \"allreduce-ring\"\nserver = {}\nranks = 16";
    let idle = "kind = \"rate\"\nrate = \"100Gbps\"\nlinks = \"cable:server:9/nic:0\"";
    let found = warnings(&rails("", two, idle)).concat();
    assert!(
        found.contains("hits nothing: no packet of this workload gets there") || found.contains(BELOW),
        "{found}"
    );
}

#[test]
fn ranks_below_one_tor_of_a_fat_tree_are_moved() {
    let tree = |rest: &str| {
        format!(
            "schemes = [\"reps\"]\nseeds = [1]\n[topology]\nkind = \"fat-tree\"\nhosts = 64\nlink = \"400Gbps\"\n[workload]\nkind = \
             \"collective\"\nalgorithm = \"allreduce-ring\"\nbytes = \"8MB\"\nranks = 4\n{rest}\n[[fault]]\nat = \"5us\"\n{SPINE}\n"
        )
    };
    let found = warnings(&tree("")).concat();
    assert!(found.contains(BELOW), "{found}");
    assert!(
        found.ends_with(
            "write: placement = \"random\" below [workload], so that ranks are below several ToRs"
        ),
        "{found}"
    );
    assert!(!warnings(&tree("placement = \"random\"")).concat().contains("hits nothing"));
}
