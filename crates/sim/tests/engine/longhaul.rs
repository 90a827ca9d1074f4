//! Data centres that are connected by a long link: losslessness over milliseconds, and the programs at the edges of the
//! data centres.

use super::support::*;
use anabranch_sim::RunResult;

/// The fabric of Themis-longhaul, section VII-A, with other latencies.
fn fabric(wan_latency: &str) -> String {
    format!(
        "[topology]\nkind = \"cross-dc\"\ntors = 4\nleaves = 4\nhosts_per_tor = 4\nlink = \"100Gbps\"\n\
         link_latency = \"1us\"\nesw_link = \"400Gbps\"\nwan_link = \"1600Gbps\"\nwan_latency = \"{wan_latency}\"\n\
         switch_latency = \"0us\"\n"
    )
}

/// All hosts of one data centre send to the hosts of one ToR in the other data centre. The links of this ToR are too
/// slow for this traffic.
fn crowd(bytes: &str) -> String {
    let message = |from: u32| {
        format!("[[workload.message]]\nfrom = {from}\nto = {}\nbytes = \"{bytes}\"\n", 28 + from % 4)
    };
    format!("[workload]\nkind = \"messages\"\n{}", (0..16).map(message).collect::<String>())
}

const PATIENT: &str = "[limits]\nmax_time = \"10s\"\nstall = \"1s\"\n";

const WEBSEARCH: &str =
    "[workload]\nkind = \"poisson\"\nsizes = \"websearch\"\nload = 0.7\nduration = \"1ms\"\n";

fn extra(result: &RunResult, name: &str) -> f64 {
    *result.run.extra.get(name).unwrap_or_else(|| panic!("no {name} in {:?}", result.run.extra))
}

/// On a link of 1.6 Tb/s with a latency of 10 ms in each direction, 4 GB arrive after a pause frame is sent: 2 GB that
/// were in flight, and 2 GB that are sent until the pause takes effect. DCQCN is disabled, so that pauses reach the far
/// end of the link.
#[test]
fn a_link_of_ten_milliseconds_is_lossless() {
    let patient = "[set]\n\"dcqcn.transport.rto\" = \"5s\"\n\"dcqcn.fabric.ecn_pmax\" = 0.0\n\
                   \"dcqcn.fabric.ecn_kmin\" = \"4GB\"\n\"dcqcn.fabric.ecn_kmax\" = \"4GB\"\n\
                   \"dcqcn.fabric.ecn_from\" = []\n\"dcqcn.fabric.pfc.buffer\" = \"4MB\"\n";
    let measure = "[[measure]]\nseries = \"pauses\"\nlinks = \"esw:0/up:0\"\nevery = \"1ms\"\n";
    let text = format!(
        "schemes = [\"dcqcn\"]\nsetup = \"themis-longhaul-paper\"\n{}{}{patient}{measure}{PATIENT}",
        fabric("10ms"),
        crowd("40MB")
    );
    let result = finish_one(&text, &[]);
    assert_eq!((result.run.drops, result.run.timeouts, result.run.retransmissions), (0, 0, 0));
    let pauses: f64 = result.series.iter().map(|row| row.value).sum();
    assert!(pauses > 0.0, "the long link was never paused, so its headroom was not tried");
}

#[test]
fn without_room_for_the_long_line_the_scenario_says_so() {
    let text = format!(
        "schemes = [\"dcqcn\"]\nsetup = \"themis-longhaul-paper\"\n{}{}[set]\n\"dcqcn.fabric.pfc.headroom_apart\" = false\n",
        fabric("500us"),
        crowd("1MB")
    );
    let said = read(&text, &[]).check().unwrap_err().to_string();
    assert!(said.contains("the headrooms of the ports of esw:0 take"), "{said}");
    assert!(said.ends_with("write: \"dcqcn.fabric.pfc.headroom_apart\" = true"), "{said}");
}

/// The timeout of these schemes is ten times the default stall limit. A flow that waits for its timeout has not
/// stalled.
#[test]
fn a_line_that_comes_back_is_waited_for() {
    let schemes = "schemes = [\"dcqcn\", \"themis-longhaul\", \"bicc\"]\nsetup = \"themis-longhaul-paper\"";
    let fault = "[[fault]]\nkind = \"link-down\"\nlinks = \"esw:0/up:0\"\nat = \"0us\"\nduration = \"2ms\"\n";
    for result in finish_all(&format!("{schemes}\n{}{}{fault}", fabric("200us"), crowd("100KB")), &[]) {
        assert!(
            result.run.timeouts > 0 && result.run.link_losses > 0,
            "{}: nothing was lost",
            result.run.scheme
        );
    }
}

/// Packets that programs hold and emit are accounted for (checked at the end of each run), and results depend only on
/// scenario and seed.
#[test]
fn programs_at_the_edge_are_deterministic() {
    let schemes = "schemes = [\"themis-longhaul\", \"pnp-only\", \"trp-only\", \"annulus\", \"bicc\"]\nsetup = \"themis-longhaul-paper\"";
    let watch = "[[measure]]\nseries = \"program-buffer\"\nswitches = \"esw:100%\"\nevery = \"20us\"\n\
                 [[measure]]\nseries = \"table-entries\"\nswitches = \"esw:100%\"\nevery = \"20us\"\n";
    let text = format!("{schemes}\n{}{WEBSEARCH}{PATIENT}", fabric("100us"));
    let (plain, watched) = (finish_all(&text, &[]), finish_all(&format!("{text}{watch}"), &[]));
    for (plain, watched) in plain.iter().zip(&watched) {
        let scheme = &plain.run.scheme;
        assert_eq!(plain.run.digest, watched.run.digest, "{scheme}: observers change nothing");
        assert_eq!(plain.run.drops, 0, "{scheme}");
        let most = |series: &str| {
            let of = watched.series.iter().filter(|row| row.series == series);
            of.map(|row| row.value).fold(0.0, f64::max)
        };
        let keeps_packets = !matches!(scheme.as_str(), "pnp-only" | "annulus");
        assert_eq!(most("set_aside_bytes") > 0.0, keeps_packets, "{scheme}");
        let has_table = matches!(scheme.as_str(), "themis-longhaul" | "pnp-only");
        assert_eq!(most("table_entries") > 0.0, has_table, "{scheme}");
    }
    let of = |scheme: &str| plain.iter().find(|result| result.run.scheme == scheme).unwrap();
    // Each flow between data centres has an entry in the table of PNP, and no packet of a flow with an entry leaves
    // with a mark.
    assert_eq!(extra(of("pnp-only"), "marks_without_entry"), 0.0);
    let marks = ["tor", "leaf", "esw"].map(|class| extra(of("pnp-only"), &format!("ecn_marks_{class}")));
    assert_eq!(marks.iter().sum::<f64>(), of("pnp-only").run.ecn_marks as f64);
    assert!(extra(of("pnp-only"), "marks_cleared") >= extra(of("pnp-only"), "pnp_cnps"));
    // BiCC never has more than its window in flight to one host, and finally releases all held packets.
    assert!(extra(of("bicc"), "max_in_flight_bytes") <= 100_000.0);
    assert_eq!(extra(of("bicc"), "held_packets"), extra(of("bicc"), "released_packets"));
}

/// Packets that a program held are sent while their ingress link is paused and its headroom is full. The held packets
/// must therefore need no headroom. All hosts of one data centre send to one ToR of the other data centre over a short
/// link with little headroom. Only pauses slow the hosts down.
#[test]
fn what_was_set_aside_needs_no_room_of_the_line() {
    let settings = "[set]\n\"*.fabric.pfc.buffer\" = \"1MB\"\n\
                    \"*.cc\" = { kind = \"constant\", window = \"60000packets\" }\n\
                    \"*.fabric.ecn_kmin\" = \"10KB\"\n\"*.fabric.ecn_kmax\" = \"20KB\"\n\
                    \"*.fabric.ecn_from\" = []\n";
    for scheme in ["trp-only", "bicc"] {
        let text = format!(
            "schemes = [{scheme:?}]\nsetup = \"themis-longhaul-paper\"\n{}{}{settings}{PATIENT}",
            fabric("1us"),
            crowd("20MB")
        );
        let result = finish_one(&text, &[]);
        assert_eq!(result.run.drops, 0, "{scheme}");
        assert!(result.run.pause_frames > 0, "{scheme}: nothing was ever paused");
    }
}

/// A flow of 10 MB within a data centre shares a link near its sender with a flow between data centres. With PNP, both
/// flows learn of the congestion equally early, and the flow between data centres leaves a share of the link to the
/// flow of 10 MB.
#[test]
fn a_near_congestion_is_answered_near_the_sender() {
    let two = "[workload]\nkind = \"messages\"\n[[workload.message]]\nfrom = 3\nto = 15\nbytes = \"10MB\"\n\
               [[workload.message]]\nfrom = 0\nto = 31\nbytes = \"40MB\"\n";
    let fabric = fabric("500us").replace("leaves = 4", "leaves = 1");
    let results = finish_all(
        &format!(
            "schemes = [\"dcqcn\", \"pnp-only\"]\nsetup = \"themis-longhaul-paper\"\n{fabric}{two}{PATIENT}"
        ),
        &[],
    );
    let within = |result: &RunResult| result.flows[0].fct_ps.unwrap() as f64;
    let [without, with] = [within(&results[0]), within(&results[1])];
    assert!(with < 0.95 * without, "{with} ps against {without} ps");
    assert!(extra(&results[1], "pnp_cnps") > 0.0);
}

/// The control plane creates a flow's entry in the table of PNP (QP_field) with a delay, so a flow that starts with
/// its connection has no entry at first.
#[test]
fn a_connection_set_up_too_late_has_no_entry_for_its_first_marks() {
    let text = |setup: &str| {
        format!(
            "schemes = [\"pnp-only\"]\nsetup = \"themis-longhaul-paper\"\n{}{WEBSEARCH}[set]\n\"*.fabric.program.pnp.setup\" = \"{setup}\"\n{PATIENT}",
            fabric("100us")
        )
    };
    let without_entry = |setup: &str| extra(&finish_one(&text(setup), &[]), "marks_without_entry");
    assert_eq!(without_entry("3ms"), 0.0);
    assert!(without_entry("0us") > 0.0);
}
