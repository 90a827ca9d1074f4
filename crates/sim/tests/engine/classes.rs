//! Traffic classes, compared with closed forms. Packets have 4,096 B of payload and 78 B of headers. Links have a rate
//! of 400 Gb/s and a latency of 500 ns, and switches have no latency.

use super::clusters::{AT_400G, scenario};
use super::support::*;
use anabranch_results::FlowRow;
use anabranch_sim::{Control, RunResult};

const T: u64 = 4_174 * AT_400G;
const LATENCY: u64 = 500_000;
const ONE_SWITCH: &str = "kind = \"single-switch\"\nhosts = 4\nlink = \"400Gbps\"";

fn message(table: &str, from: u32, to: u32, packets: u64) -> String {
    format!("[[{table}.message]]\nfrom = {from}\nto = {to}\nbytes = \"{}B\"\n", packets * 4_096)
}

/// The class `main`, and the class `storage` with the scheme `ecmp`. The arguments `main` and `storage` are keys of
/// these classes, for example `weight`.
fn two_classes(main: &str, storage: &str, messages: [String; 2]) -> String {
    let [of_main, of_storage] = messages;
    format!(
        "[workload]\nkind = \"messages\"\n{of_main}\n[[class]]\nname = \"main\"\n{main}\n[[class]]\nname = \"storage\"\nscheme = \"ecmp\"\n\
         {storage}\n[class.workload]\nkind = \"messages\"\n{of_storage}\n"
    )
}

fn of_class<'a>(result: &'a RunResult, class: &str) -> Vec<&'a FlowRow> {
    result.flows.iter().filter(|flow| flow.in_group(class)).collect()
}

fn delivered(result: &RunResult, class: &str) -> u64 {
    of_class(result, class).iter().filter_map(|flow| flow.delivery_ps).max().unwrap()
}

/// Two backlogged classes share a port by their weights. If the lengths of two messages have the ratio of the weights,
/// both messages end at nearly the same time. The port is never idle, so the last packet leaves after the time of all
/// packets.
#[test]
fn weights_divide_a_port_to_the_packet() {
    for (weights, packets) in
        [([14, 15], [14_000, 15_000]), ([1, 3], [1_000, 3_000]), ([3, 1], [3_000, 1_000])]
    {
        let messages = [message("workload", 0, 2, packets[0]), message("class.workload", 1, 2, packets[1])];
        let [main, storage] = weights.map(|weight| format!("weight = {weight}"));
        let result =
            finish_one(&scenario("\"ops\"", ONE_SWITCH, &two_classes(&main, &storage, messages)), &[]);
        let [main, storage] = ["main", "storage"].map(|class| delivered(&result, class));
        let last = 2 * (T + LATENCY) + (packets[0] + packets[1] - 1) * T;
        assert_eq!(main.max(storage), last, "{weights:?}");
        let turn =
            u64::from(*weights.iter().max().unwrap() as u32 / *weights.iter().min().unwrap() as u32 + 1);
        assert!(main.min(storage) + turn * T >= last, "{weights:?}: {main} and {storage}");
        assert_eq!(result.run.drops, 0);
    }
}

/// The NIC shares its link by the weights. Its two messages go to different hosts, so they share no other link.
#[test]
fn weights_divide_the_link_of_a_nic() {
    let messages = [message("workload", 0, 2, 1_000), message("class.workload", 0, 3, 3_000)];
    let classes = two_classes("weight = 1", "weight = 3", messages);
    let result = finish_one(&scenario("\"ops\"", ONE_SWITCH, &classes), &[]);
    let [main, storage] = ["main", "storage"].map(|class| delivered(&result, class));
    let last = 2 * (T + LATENCY) + 3_999 * T;
    assert_eq!(main.max(storage), last);
    assert!(main.min(storage) + 4 * T >= last, "{main} and {storage}");
}

#[test]
fn a_higher_priority_waits_for_one_packet_at_most() {
    let messages = [message("workload", 0, 2, 1_000), message("class.workload", 1, 2, 1_000)];
    let classes = two_classes("", "priority = 5", messages);
    let result = finish_one(&scenario("\"ops\"", ONE_SWITCH, &classes), &[]);
    // The first packets of both classes arrive at the same instant. The packet of `main` arrives at the lower port, so
    // it is sent first.
    assert_eq!(delivered(&result, "storage"), 2 * (T + LATENCY) + 1_000 * T);
    assert_eq!(delivered(&result, "main"), 2 * (T + LATENCY) + 1_999 * T);
}

#[test]
fn an_idle_class_takes_nothing() {
    let messages = [message("workload", 0, 2, 1_000), message("class.workload", 1, 3, 1)];
    let classes = two_classes("weight = 1", "weight = 15", messages);
    let result = finish_one(&scenario("\"ops\"", ONE_SWITCH, &classes), &[]);
    assert_eq!(delivered(&result, "main"), 2 * (T + LATENCY) + 999 * T);
}

const DUMBBELL: &str =
    "kind = \"dumbbell\"\nhosts = 4\nlink = \"400Gbps\"\ntrunk = \"400Gbps\"\ntrunk_latency = \"500ns\"";

/// RoCEv2 with a static PFC threshold of 20 packets, without ECN marks.
const LOSSLESS: &str = r#"
"*.fabric.pfc" = { buffer = "100MB", threshold = "20packets", resume = "2packets" }
"*.fabric.ecn_kmin" = "60000packets"
"*.fabric.ecn_kmax" = "60000packets"
"#;

/// Host 2 receives at 100 Gb/s, and the pauses of its class reach the trunk. A flow of the same class to host 3 is a
/// victim of these pauses. In a class of its own, the flow has the rest of the trunk, 300 Gb/s.
#[test]
fn pfc_pauses_one_class() {
    let rest = |classes: &str| {
        let text =
            format!("{classes}[[fault]]\nkind = \"rate\"\nlinks = \"tor:1/down:0\"\nrate = \"100Gbps\"\n");
        let text = scenario("\"rocev2\"", DUMBBELL, &text);
        let result = finish_one(&text.replace("\"*.fabric.queue\" = \"60000packets\"\n", LOSSLESS), &[]);
        assert!(result.run.pause_frames > 0 && result.run.drops == 0);
        result
    };
    let slow = message("workload", 0, 2, 2_000);
    let one = rest(&format!("[workload]\nkind = \"messages\"\n{slow}{}", message("workload", 1, 3, 4_000)));
    let own = two_classes("", "", [slow, message("class.workload", 1, 3, 4_000)]);
    let own = rest(
        &own.replace("scheme = \"ecmp\"", "scheme = \"lossless-storage\"")
            .replace("[workload]", "[[scheme]]\nname = \"lossless-storage\"\nbase = \"rocev2\"\n[workload]"),
    );
    let gbps = |delivered: u64| (4_000 * 4_174 * 8) as f64 / (delivered as f64 / 1e3);
    let victim = gbps(one.flows[1].delivery_ps.unwrap());
    assert!(victim < 200.0, "{victim} Gb/s");
    // Host 1 is paused in the class `storage`, since it sends more than the 300 Gb/s that are left on the trunk. The
    // trunk is paused only in the class `main`.
    let paused = |class: &str| own.run.extra[&format!("pause_us_{class}")];
    assert!((paused("main") + paused("storage") - own.run.pause_us).abs() < 1e-6 && paused("main") > 0.0);
    let free = gbps(delivered(&own, "storage"));
    assert!((295.0..400.0).contains(&free), "{free} Gb/s");
}

/// The curves of a link's pauses and of their victims are the same if the paused traffic is in the first class or in
/// another class.
#[test]
fn curves_of_pauses_have_all_classes() {
    let messages = |table: &str| message(table, 0, 2, 2_000) + &message(table, 1, 3, 4_000);
    let rest = ["pauses", "pause-time", "pause-victims"].map(|series| {
        format!("[[measure]]\nseries = \"{series}\"\nevery = \"10us\"\nlinks = \"tor:0/up:0\"\n")
    });
    let fault = "[[fault]]\nkind = \"rate\"\nlinks = \"tor:1/down:0\"\nrate = \"100Gbps\"\n";
    let [main, storage] =
        [("workload", "class.workload"), ("class.workload", "workload")].map(|(loaded, other)| {
            let mut of_classes = [messages(loaded), message(other, 2, 0, 1)];
            if loaded != "workload" {
                of_classes.reverse();
            }
            let classes = two_classes("", "", of_classes)
                .replace("scheme = \"ecmp\"", "scheme = \"lossless-storage\"")
                .replace(
                    "[workload]",
                    "[[scheme]]\nname = \"lossless-storage\"\nbase = \"rocev2\"\n[workload]",
                );
            let text = scenario("\"rocev2\"", DUMBBELL, &format!("{classes}{fault}{}", rest.concat()));
            finish_one(&text.replace("\"*.fabric.queue\" = \"60000packets\"\n", LOSSLESS), &[])
        });
    for series in ["pauses", "pause_time_us", "pause_victims"] {
        let sum = |result: &RunResult| {
            result.series.iter().filter(|row| row.series == series).map(|row| row.value).sum::<f64>()
        };
        assert!(sum(&main) > 0.0, "{series}");
        assert_eq!(sum(&main), sum(&storage), "{series}");
    }
}

/// While one of two backlogged classes is paused, the other class has the 400 Gb/s of the port. Host 2 takes nearly
/// nothing for 4 ms. In this time, the class `storage` sends its 40,000 packets.
#[test]
fn a_paused_class_leaves_the_whole_port() {
    let slow = "[[fault]]\nkind = \"rate\"\nlinks = \"tor:1/down:0\"\nrate = \"1Mbps\"\nuntil = \"4ms\"\n";
    let own = two_classes("", "", [message("workload", 0, 2, 100), message("class.workload", 1, 3, 40_000)]);
    let own = own
        .replace("scheme = \"ecmp\"", "scheme = \"lossless-storage\"")
        .replace("[workload]", "[[scheme]]\nname = \"lossless-storage\"\nbase = \"rocev2\"\n[workload]");
    let text = scenario("\"rocev2\"", DUMBBELL, &format!("{own}{slow}"));
    let result = finish_one(&text.replace("\"*.fabric.queue\" = \"60000packets\"\n", LOSSLESS), &[]);
    // The class `main` sends at most its 100 packets before it is paused.
    let alone = 3 * (T + LATENCY) + 39_999 * T;
    let took = delivered(&result, "storage");
    assert!((alone..=alone + 100 * T).contains(&took), "{took} ps, and {alone} alone");
    assert!(result.run.extra["pause_us_main"] > 3_000.0 && result.run.drops == 0);
}

#[test]
fn classes_are_deterministic_and_resolve() {
    let text = format!(
        "schemes = [\"reps\", \"strack\", \"themis-spraying\", \"dcqcn\", \"hpcc\", \"eqds\", \"dcp\", \"rocev2\"]\nseeds = [1]\n{LEAF_SPINE}\
         [workload]\nkind = \"collective\"\nalgorithm = \"allreduce-ring\"\nbytes = \"1MB\"\nranks = 8\n\
         [[class]]\nname = \"main\"\nweight = 3\n\
         [[class]]\nname = \"storage\"\nscheme = \"rocev2\"\nweight = 1\n\
         [class.workload]\nkind = \"poisson\"\nsizes = \"websearch\"\nload = 0.3\nduration = \"50us\"\n\
         [[class]]\nname = \"probes\"\nscheme = \"ecmp\"\npriority = 7\n[class.workload]\nkind = \"incast\"\nbytes = \"4KB\"\ndegree = 5\n\
         [[fault]]\nkind = \"link-flap\"\nlinks = \"tor:0/up:0\"\nperiod = \"40us\"\ndown_for = \"5us\"\nuntil = \"200us\"\n"
    );
    for point in points(&text, &[]) {
        let run = |threads| {
            let control = Control { threads, ..Default::default() };
            anabranch_sim::run(&point, &control).unwrap_or_else(|e| panic!("{}: {e}", point.scheme.name))
        };
        let result = run(1);
        assert_eq!(result.jobs.len(), 1);
        assert!(!of_class(&result, "storage").is_empty() && of_class(&result, "probes").len() == 5);
        assert!(of_class(&result, "main").is_empty(), "the messages of a job have no rows");
        for threads in [2, 3] {
            assert_eq!(result.run.digest, run(threads).run.digest, "{} on {threads}", point.scheme.name);
        }
    }
    let scenario = read(&text, &[]);
    let resolved = read(&scenario.to_toml(), &[]);
    assert_eq!(resolved.points().unwrap(), scenario.points().unwrap());
    assert_eq!(
        scenario.check().unwrap().iter().map(ToString::to_string).collect::<Vec<_>>(),
        Vec::<String>::new()
    );
}

#[test]
fn a_class_elsewhere_changes_nothing() {
    let permutation = "[workload]\nkind = \"permutation\"\nbytes = \"64KiB\"\nhosts = 8\n";
    let storage = "[[class]]\nname = \"storage\"\nscheme = \"rocev2\"\n[class.workload]\nkind = \"messages\"\n[[class.workload.message]]\nfrom = 12\nto = 13\nbytes = \"64KB\"\n";
    let run = |classes: &str| {
        let text =
            format!("schemes = [\"reps\", \"rocev2\"]\nseeds = [1, 2]\n{LEAF_SPINE}{permutation}{classes}");
        finish_all(&text, &[])
    };
    for (alone, beside) in run("").iter().zip(&run(storage)) {
        let times = |result: &RunResult| {
            result
                .flows
                .iter()
                .take(8)
                .map(|flow| (flow.start_ps, flow.delivery_ps, flow.fct_ps))
                .collect::<Vec<_>>()
        };
        assert_eq!(times(alone), times(beside), "{}", alone.run.scheme);
        assert_eq!(of_class(beside, "main").len(), 8);
        assert_eq!(of_class(beside, "storage").len(), 1);
    }
}

/// The class `main` sends messages, and the class `training` has a job. Only the messages have rows of flows and
/// slowdowns.
#[test]
fn messages_beside_a_job_of_another_class_have_rows() {
    let text = "[workload]\nkind = \"permutation\"\nbytes = \"64KiB\"\n[[class]]\nname = \"main\"\n[[class]]\nname = \"training\"\n\
                scheme = \"ecmp\"\n[class.workload]\nkind = \"collective\"\nalgorithm = \"allreduce-ring\"\nbytes = \"64KiB\"\nranks = 4\n";
    let result = finish_one(&scenario("\"ops\"", ONE_SWITCH, text), &[]);
    assert_eq!((result.flows.len(), of_class(&result, "main").len(), result.jobs.len()), (4, 4, 1));
    assert!(result.run.number("slowdown_mean").is_some_and(|mean| mean >= 1.0));
}

#[test]
fn slowdowns_of_sides_are_those_of_the_compared_class() {
    let sites = "kind = \"cross-dc\"\ntors = 2\nleaves = 2\nhosts_per_tor = 2\nlink = \"100Gbps\"\nwan_latency = \"50us\"";
    let messages = [message("workload", 0, 2, 10), message("class.workload", 1, 3, 1)];
    let result = finish_one(&scenario("\"ecmp\"", sites, &two_classes("", "", messages)), &[]);
    let [main, storage] = ["main", "storage"].map(|class| of_class(&result, class)[0].slowdown().unwrap());
    assert_ne!(main, storage);
    assert_eq!(result.run.extra["intra_slowdown_mean"], main);
    assert_eq!(result.run.extra["intra_slowdown_mean"], result.run.slowdown_mean);
}

/// The FCTs of a run and their ideal are of the class of the compared schemes: here of one short message beside long
/// ones.
#[test]
fn the_ideal_beside_the_fcts_is_that_of_the_compared_class() {
    let messages = [message("workload", 0, 2, 10), message("class.workload", 1, 3, 1_000)];
    let result = finish_one(&scenario("\"ops\"", ONE_SWITCH, &two_classes("", "", messages)), &[]);
    let ideal = of_class(&result, "main")[0].ideal_fct_ps;
    assert_eq!(result.run.ideal_fct_max_us, ideal as f64 / 1e6);
    assert!(result.run.fct_max_us >= result.run.ideal_fct_max_us);
}
