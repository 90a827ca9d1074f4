//! Frames of bytes with exact times give the results of the simulator, and every message arrives byte for byte.

use anabranch_live::exact;
use anabranch_sim::results::{FlowRow, RunRow};
use anabranch_sim::scenario::{NoFiles, Overrides, RunPoint, read};
use anabranch_sim::{Control, build, run};

fn points(text: &str) -> Vec<RunPoint> {
    let scenario = read("test.toml", text, &NoFiles, &Overrides::default());
    scenario.unwrap_or_else(|error| panic!("{error}\n{text}")).points().unwrap()
}

/// Compares the exact run of each point with its simulated run. Returns the number of pause frames in all exact runs.
fn check(text: &str) -> u64 {
    let mut pause_frames = 0;
    for point in points(text) {
        let name = &point.scheme.name;
        let built = build(&point).unwrap();
        let live = exact(&point, &built).unwrap_or_else(|error| panic!("{name}: {error}"));
        let simulated = run(&point, &Control::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let found = live.result.run;
        assert_eq!(live.checked, found.flows, "{name}");
        println!("{name}: {} messages arrived whole", live.checked);
        // The rows of a driven run have no faults, warnings and statistics of connections, and so another digest.
        let row = RunRow {
            digest: found.digest.clone(),
            warnings: Vec::new(),
            faults: Vec::new(),
            ..simulated.run
        };
        assert_eq!(found, row, "{name}");
        let flows = simulated.flows.into_iter().map(|flow| FlowRow {
            retransmissions: None,
            timeouts: None,
            path_changes: None,
            lost: None,
            ..flow
        });
        assert_eq!(live.result.flows, flows.collect::<Vec<FlowRow>>(), "{name}");
        assert_eq!((live.result.jobs, live.result.parts), (simulated.jobs, simulated.parts), "{name}");
        pause_frames += found.pause_frames;
    }
    pause_frames
}

/// The built-in schemes without `hpcc`, whose packets carry telemetry, and without the schemes of MRC and of the
/// Themis-longhaul paper.
const SCHEMES: &str = r#"["reps", "reps-carry", "reps-reuse", "eqds", "ops", "ecmp", "adaptive-roce", "bitmap", "flowlet", "plb",
    "mprdma-lb", "mptcp", "mptcp-one-window", "strack", "strack-ops", "themis-spraying", "conweave", "sr-spray", "sr-ar",
    "sr-ecmp", "to-ar", "dcp", "dcp-dcqcn", "irn-ar", "irn-ar-dcqcn", "irn-ecmp", "irn-ecmp-dcqcn", "mp-rdma", "rack-tlp",
    "timeout", "rocev2", "rocev2-4qp", "pfc-ecmp", "pfc-ecmp-dcqcn", "uet-nscc", "uet-nscc-bitmap", "uet-nscc-reps",
    "uet-nscc-oblivious", "uet-rccc", "uet-both"]"#;

const FABRIC: &str = r#"topology = { kind = "fat-tree", hosts = 8, hosts_per_tor = 4, link = "100Gbps" }"#;

#[test]
fn losses_and_reordering() {
    check(&format!(
        r#"
        schemes = {SCHEMES}
        {FABRIC}
        workload = {{ kind = "permutation", bytes = "1MiB" }}
        [[fault]]
        kind = "packet-loss"
        links = "cable:tor:0/up:1"
        probability = 0.01
        at = "0us"
        "#
    ));
}

#[test]
fn incast() {
    check(&format!(
        r#"
        schemes = {SCHEMES}
        topology = {{ kind = "fat-tree", hosts = 12, hosts_per_tor = 4, link = "100Gbps" }}
        workload = {{ kind = "incast", degree = 8, bytes = "128KiB" }}
        "#
    ));
}

#[test]
fn a_link_that_is_cut_and_comes_back() {
    check(&format!(
        r#"
        schemes = ["reps", "strack", "themis-spraying", "dcp", "ops", "rocev2", "mp-rdma", "uet-nscc"]
        {FABRIC}
        workload = {{ kind = "permutation", bytes = "512KiB" }}
        set = {{ "*.fabric.routing_delay" = "20us" }}
        [[fault]]
        kind = "link-down"
        links = "cable:tor:0/up:0"
        at = "10us"
        duration = "100us"
        "#
    ));
}

/// A slow link to a host makes pauses so long that the paused nodes become idle.
#[test]
fn faults_where_links_are_paused() {
    for (kind, part) in [
        (
            "link-down",
            "links = [\"cable:tor:0/up:0\", \"cable:tor:0/up:1\", \"cable:tor:0/up:2\", \"cable:tor:0/up:3\"]",
        ),
        ("switch-down", "switches = \"spine:0\""),
        ("switch-down", "switches = \"tor:1\""),
    ] {
        for at in [31, 47, 63] {
            let pause_frames = check(&format!(
                r#"
                schemes = ["rocev2", "pfc-ecmp"]
                topology = {{ kind = "fat-tree", hosts = 16, hosts_per_tor = 4, link = "100Gbps" }}
                workload = {{ kind = "incast", degree = 12, bytes = "64KiB" }}
                set = {{ "*.transport.rto" = "200us", "*.fabric.pfc.threshold" = "50KB" }}
                [[fault]]
                kind = "{kind}"
                {part}
                at = "{at}us"
                duration = "30us"
                [[fault]]
                kind = "rate"
                links = "tor:0/down:0"
                rate = "5Gbps"
                "#
            ));
            assert!(pause_frames > 20, "{pause_frames}");
        }
    }
}

/// The schemes cover all transports.
#[test]
fn losses_reordering_and_a_cut_link() {
    check(&format!(
        r#"
        schemes = ["reps", "rocev2", "themis-spraying", "irn-ar", "rack-tlp", "strack", "dcp", "eqds", "mp-rdma", "uet-nscc", "mrc"]
        {FABRIC}
        workload = {{ kind = "permutation", bytes = "2MiB", cross_tor = true }}
        set = {{ "*.fabric.routing_delay" = "50us", "*.transport.rto" = "500us" }}
        [[fault]]
        kind = "packet-loss"
        links = "tor:0/up"
        probability = 0.01
        at = "0us"
        [[fault]]
        kind = "link-down"
        links = "cable:tor:1/up:0"
        at = "50us"
        duration = "200us"
        "#
    ));
}

/// In a collective, a message starts when other messages are delivered or acknowledged.
#[test]
fn collectives() {
    for algorithm in ["allreduce-ring", "alltoall", "allreduce-double-binary-tree"] {
        check(&format!(
            r#"
            schemes = ["reps", "themis-spraying", "dcp", "rocev2"]
            {FABRIC}
            workload = {{ kind = "collective", algorithm = "{algorithm}", bytes = "256KiB" }}
            "#
        ));
    }
}

#[test]
fn two_data_centres() {
    check(
        r#"
        schemes = ["themis-longhaul", "dcqcn", "bicc", "annulus"]
        workload = { kind = "permutation", bytes = "128KiB" }
        [topology]
        kind = "cross-dc"
        tors = 2
        leaves = 2
        hosts_per_tor = 2
        link = "100Gbps"
        link_latency = "1us"
        esw_link = "400Gbps"
        wan_link = "400Gbps"
        wan_latency = "100us"
        switch_latency = "0us"
        "#,
    );
}

#[test]
fn what_only_the_simulator_has_is_refused() {
    let class = "[[class]]\nname = \"storage\"\nscheme = \"rocev2\"\n[class.workload]\nkind = \"permutation\"\nbytes = \"1KiB\"";
    let storm = "[[fault]]\nkind = \"pause-storm\"\nhosts = \"host:0\"\nat = \"1us\"\nduration = \"1us\"";
    for (scheme, more, part) in
        [("hpcc", "", "telemetry"), ("rocev2", class, "traffic classes"), ("rocev2", storm, "pause-storm")]
    {
        let text = format!(
            "schemes = [{scheme:?}]\n{FABRIC}\nworkload = {{ kind = \"permutation\", bytes = \"1KiB\" }}\n{more}\n"
        );
        let point = &points(&text)[0];
        let error = exact(point, &build(point).unwrap()).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}
