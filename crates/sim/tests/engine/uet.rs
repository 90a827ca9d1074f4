//! Ultra Ethernet on the fabric of uet-htsim, compared with times that follow from arithmetic and with uet-htsim's
//! published results.

use super::support::*;
use anabranch_sim::proto::TransportConfig;
use anabranch_sim::proto::cc::{AckReport, CongestionControl, LossReport, Nscc, NsccConfig};
use anabranch_sim::scenario::{NoFiles, Overrides, read_with};
use anabranch_sim::{Control, Duration, Registry, RunResult, Time, run};
use std::sync::{Arc, Mutex};

/// A scenario on uet-htsim's fat tree with links of 100 Gb/s and hops of 1 us, where a packet of 4,150 B and its ACK
/// take 14 us between pods.
fn scenario(schemes: &str, hosts: u32, set: &str, workload: &str) -> String {
    format!(
        r#"
schemes = [{schemes}]
seeds = [1]
setup = "uet-htsim"
[topology]
kind = "fat-tree"
hosts = {hosts}
tiers = 3
link = "100Gbps"
link_latency = "1us"
switch_latency = "0ns"
[set]
{set}
[workload]
{workload}"#
    )
}

fn on_fat_tree(scheme: &str, hosts: u32, set: &str, workload: &str) -> RunResult {
    finish_one(&scenario(&format!("\"{scheme}\""), hosts, set, workload), &[])
}

fn message(from: u32, to: u32, bytes: &str) -> String {
    format!("[[workload.message]]\nfrom = {from}\nto = {to}\nbytes = \"{bytes}\"\n")
}

fn messages(all: impl IntoIterator<Item = String>) -> String {
    format!("kind = \"messages\"\n{}", all.into_iter().collect::<String>())
}

fn incast(senders: u32) -> String {
    format!("kind = \"incast\"\ndegree = {senders}\ntarget = 0\nbytes = \"2MB\"\n")
}

const ALL: [&str; 6] =
    ["uet-nscc", "uet-nscc-bitmap", "uet-nscc-reps", "uet-nscc-oblivious", "uet-rccc", "uet-both"];

/// At 100 Gb/s, 490 packets of 4,150 B take 162.7 us, and the path adds 14 us. uet-htsim has 176.2 us for NSCC, and
/// 177.4 us for RCCC and for both together.
#[test]
fn one_flow_takes_its_serialisation_and_a_round_trip() {
    for scheme in ALL {
        let run = on_fat_tree(scheme, 128, "", &messages([message(0, 127, "2MB")])).run;
        assert!((176.0..=178.0).contains(&run.completion_us), "{scheme}: {} us", run.completion_us);
        assert_eq!((run.retransmissions, run.timeouts), (0, 0), "{scheme}");
    }
}

/// Messages of 10 and 100 packets take 17.01 us and 46.89 us in uet-htsim.
#[test]
fn short_flows_take_as_long_as_in_uet_htsim() {
    for (packets, us) in [(10, 17.01), (100, 46.89)] {
        let bytes = format!("{}B", packets * 4_086);
        let run = on_fat_tree("uet-nscc", 128, "", &messages([message(0, 127, &bytes)])).run;
        assert!((run.completion_us / us - 1.0).abs() < 0.02, "{packets} packets: {} us", run.completion_us);
    }
}

/// The fabric and the hosts of uet-htsim's test: hosts 0 to 14 of 16 send to host 15, with 64 entropy values. The link
/// of host 15 needs 2,440 us for 15 messages, and the path adds at least 4.7 us.
///
/// Under RCCC, pulls are paced at 0.99 of the link, so the last flow ends before 2,440 / 0.99 + 14 = 2,479 us. Under
/// NSCC, only the last flow is active at the end of the run. Without queueing, its window grows by 16.9 KB per round
/// trip. Even from 0, the window is a BDP (175 KB) after 10.4 round trips. The link is idle for half of this time, so
/// the last flow ends before 2,440 + 14 + 73 = 2,527 us. uet-htsim has 2,478.5 us for NSCC, 2,464.4 us for RCCC and
/// 2,462.9 us for both together.
///
/// Under RCCC, all flows end at about the same time. The flow from the host under the receiver's ToR ends first, after
/// 2,368 us in uet-htsim. Under NSCC, the shorter round trip of this flow gives it a larger share, and it ends after
/// 1,273.6 us.
#[test]
fn an_incast_of_15_keeps_the_link_of_its_target_busy() {
    let workload = "kind = \"incast\"\ndegree = 15\ntarget = 15\nbytes = \"2MB\"\n";
    let schemes = [
        ("uet-nscc", 2_527.0, 0.40..0.90, 811.0),
        ("uet-rccc", 2_479.0, 0.95..0.98, 762.0),
        ("uet-both", 2_479.0, 0.95..1.0, 762.0),
    ];
    for (scheme, latest, first, retransmissions) in schemes {
        let one = scenario(&format!("\"{scheme}\""), 16, "\"*.lb.evs\" = 64\n", workload);
        for result in finish_all(&one.replace("seeds = [1]", "seeds = [1, 2, 3]"), &[]) {
            let run = &result.run;
            let last = run.completion_us;
            assert!((2_445.0..=latest).contains(&last), "{scheme}, seed {}: {last} us", run.seed);
            let ends = result.flows.iter().filter_map(|flow| flow.fct_ps).map(|fct| fct as f64 / 1e6);
            let share = ends.fold(f64::INFINITY, f64::min) / last;
            assert!(first.contains(&share), "{scheme}, seed {}: the first at {share} of the last", run.seed);
            let ratio = run.retransmissions as f64 / retransmissions;
            assert!(
                (0.9..=1.1).contains(&ratio),
                "{scheme}, seed {}: {} retransmissions",
                run.seed,
                run.retransmissions
            );
        }
    }
}

/// In uet-htsim, the incast takes 21,029 us with 72,623 retransmissions under NSCC. Under RCCC it takes 20,891 us with
/// 6,218 retransmissions.
#[test]
fn an_incast_of_127_costs_nscc_many_more_retransmissions_than_rccc() {
    let [nscc, rccc] = ["uet-nscc", "uet-rccc"].map(|scheme| on_fat_tree(scheme, 128, "", &incast(127)).run);
    for run in [&nscc, &rccc] {
        assert!((20_660.0..=21_100.0).contains(&run.completion_us), "{}: {}", run.scheme, run.completion_us);
    }
    assert!(
        nscc.retransmissions > 8 * rccc.retransmissions,
        "{} and {}",
        nscc.retransmissions,
        rccc.retransmissions
    );
}

/// The receiver grants as many bytes as were trimmed. A message of 500 B is a packet of 564 B, and 1,023 of them take
/// 46 us. 580 of them are trimmed, whose credit takes 36 us. With credit for a full packet each it would take 200 us.
#[test]
fn an_incast_of_short_messages_gets_no_more_credit_than_it_has_bytes() {
    let workload = "kind = \"incast\"\ndegree = 1023\ntarget = 0\nbytes = \"500B\"\n";
    let run = on_fat_tree("uet-rccc", 1_024, "", workload).run;
    assert!(run.trims > 500 && run.completion_us < 75.0, "{} trims, {} us", run.trims, run.completion_us);
}

/// The timeout of setup `uet-htsim` is fixed, and its ACKs count bytes.
#[test]
fn the_timeout_of_uet_htsim_does_not_double() {
    let of_uet = |setup: &str| {
        let text = scenario("\"uet-rccc\"", 16, "", &incast(1)).replace("uet-htsim", setup);
        let scenario =
            read_with(&Registry::new(), "test.toml", &text, &NoFiles, &Overrides::default()).unwrap();
        match &scenario.schemes[0].transport {
            TransportConfig::Uet(config) => (config.rto_doublings, config.received_unit.0),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!([of_uet("uet-htsim"), of_uet("uet")], [(0, 1), (5, 256)]);
}

#[test]
fn the_last_hop_may_have_queues_of_its_own() {
    let run = |set: &str| {
        let text = format!(
            r#"
schemes = ["uet-nscc"]
setup = "uet-htsim"
[topology]
kind = "single-switch"
hosts = 8
link = "100Gbps"
link_latency = "1us"
[set]
"*.fabric.queue" = "10packets"
"*.fabric.trim" = false
{set}
[workload]
kind = "incast"
degree = 7
bytes = "500KB"
"#
        );
        finish_one(&text, &[]).run
    };
    // The thresholds of the setup, from 9 to 35 packets, would mark nothing: of ten packets that wait, at most nine
    // stay when one leaves.
    let usual = run("\"*.fabric.ecn_kmin\" = \"2packets\"\n\"*.fabric.ecn_kmax\" = \"8packets\"");
    assert_eq!(usual.peak_queue_bytes, 10 * FULL);
    assert!(usual.ecn_marks > 0);
    let longer = run("\"*.fabric.last_hop_queue\" = \"20packets\"\n\"*.fabric.last_hop_ecn\" = false");
    assert_eq!((longer.peak_queue_bytes, longer.ecn_marks), (20 * FULL, 0));
}

/// With `queues_follow_rate`, a link at a quarter of its rate has a quarter of the queue and of the ECN thresholds, and
/// always room for a packet. In uet-htsim, a queue of 43 packets then has 44,612 B, and thresholds of 9 and 35 packets
/// are at 9,337 B and 36,312 B.
#[test]
fn the_queue_of_a_slow_link_may_follow_its_rate() {
    let run = |rate: &str, set: &str| {
        let text = format!(
            r#"
schemes = ["uet-nscc"]
setup = "uet-htsim"
[topology]
kind = "single-switch"
hosts = 8
link = "100Gbps"
link_latency = "1us"
[set]
"*.fabric.trim" = false
{set}
[workload]
kind = "incast"
degree = 7
target = 0
bytes = "408600B"
[[fault]]
kind = "rate"
links = "tor:0/down:0"
both_directions = false
rate = "{rate}"
at = "0us"
"#
        );
        finish_one(&text, &[]).run
    };
    let follows = "\"*.fabric.queues_follow_rate\" = true\n";
    let keeps = follows.replace("true", "false");
    assert_eq!(run("25Gbps", &keeps).peak_queue_bytes, 43 * FULL);
    assert_eq!(run("25Gbps", "").peak_queue_bytes, 10 * FULL, "the setup");
    assert_eq!(run("25Gbps", follows).peak_queue_bytes, 10 * FULL);
    assert_eq!(run("100Gbps", follows).peak_queue_bytes, 43 * FULL);
    assert_eq!(run("1Gbps", follows).peak_queue_bytes, FULL);
    // Of ten packets that wait, nine stay when one leaves. Thresholds of a quarter of 36 and 40 packets mark none of
    // them.
    let none =
        format!("{follows}\"*.fabric.ecn_kmin\" = \"36packets\"\n\"*.fabric.ecn_kmax\" = \"40packets\"");
    assert_eq!(run("25Gbps", &none).ecn_marks, 0);
    let some = none.replace("36packets", "32packets");
    assert!(run("25Gbps", &some).ecn_marks > 0);
}

/// NSCC that records the window after its first quick adapt, if this happens in the first 60 us. Later quick adapts
/// are not recorded. The last period of a message delivers few bytes, so a trim in an earlier period may cause a quick
/// adapt in the last period.
struct Recorded {
    inner: Nscc,
    windows: Arc<Mutex<Vec<u64>>>,
}

impl Recorded {
    fn record(&self, now: Time, before: u32) {
        if (before, self.inner.quick_adapts()) == (0, 1) && now < Time::ZERO + Duration::from_us(60) {
            self.windows.lock().unwrap().push(self.inner.window());
        }
    }
}

impl CongestionControl for Recorded {
    fn window(&self) -> u64 {
        self.inner.window()
    }
    fn paces(&self) -> bool {
        false
    }
    fn handle_ack(&mut self, acked: &AckReport) {
        let before = self.inner.quick_adapts();
        self.inner.handle_ack(acked);
        self.record(acked.now, before);
    }
    fn handle_loss(&mut self, lost: &LossReport) {
        let before = self.inner.quick_adapts();
        self.inner.handle_loss(lost);
        self.record(lost.now, before);
    }
}

/// Runs an incast with each of three seeds. Returns the number of senders with a quick adapt within 60 us, and the mean
/// window of these senders right after the quick adapt, in packets.
fn quick_adapts(senders: u32) -> (usize, f64) {
    let windows = Arc::new(Mutex::new(Vec::new()));
    let shared = Arc::clone(&windows);
    let registry = Registry::new().congestion_control("recorded", [], move |facts, _, _| {
        Box::new(Recorded { inner: Nscc::new(&NsccConfig::spec(), facts), windows: Arc::clone(&shared) })
    });
    let set = "\"*.cc\" = { kind = \"recorded\" }\n";
    let text =
        scenario("\"uet-nscc\"", 128, set, &incast(senders)).replace("seeds = [1]", "seeds = [1, 2, 3]");
    let scenario = read_with(&registry, "test.toml", &text, &NoFiles, &Overrides::default()).unwrap();
    for point in scenario.points().unwrap() {
        run(&point, &Control::default()).unwrap();
    }
    let windows = windows.lock().unwrap();
    let sum: u64 = windows.iter().sum();
    (windows.len(), sum as f64 / FULL as f64 / windows.len().max(1) as f64)
}

/// A sender does a quick adapt only if less than MaxWnd / 8 is delivered in a period of the base RTT plus the target
/// delay. The link carries 1.75 BDP in this period, and MaxWnd is 1.5 BDP, so at equal shares more than 1.75 / (1.5 /
/// 8) = 9.3 senders are needed. On average, at most one of four senders adapts, and nearly all of 16 senders do.
///
/// Without headers of trimmed packets, the link carries 73.8 packets in such a period of 24.5 us. A sender sends its
/// first window of 1.5 BDP in 21 us. In these 21 us, 15 trimmed headers of 64 B come with each packet, so packets have
/// 4150 / 5110 of the link. This leaves 61.9 packets, or 3.9 for each sender. Two of 16 senders may have too large a
/// share to adapt, for example 11 packets each. The other senders then have 2.85 packets each.
#[test]
fn quick_adapt_needs_more_than_nine_senders() {
    let seeds = 3;
    let (few, _) = quick_adapts(4);
    assert!(few <= seeds, "{few} of {}", 4 * seeds);
    let (many, window) = quick_adapts(16);
    assert!(many >= 14 * seeds, "{many} of {}", 16 * seeds);
    assert!((2.8..=3.9).contains(&window), "{window} packets");
}

/// 1,024 hosts, with eight core links at a quarter of their rate. In uet-htsim, REPS takes 206.7 us with one ACK per
/// packet and 245.8 us with one ACK per 16 KiB. The bitmap takes 220.3 us, and oblivious spraying 280.8 us.
#[test]
fn slow_links_cost_oblivious_spraying_most() {
    if !long() {
        return;
    }
    let time = |scheme: &str, set: &str| {
        let faults = (0..8).map(|agg| {
            format!("[[fault]]\nkind = \"rate\"\nlinks = \"agg:{agg}/up:0\"\nrate = \"25Gbps\"\n")
        });
        let text = scenario(
            &format!("\"{scheme}\""),
            1_024,
            set,
            &format!("kind = \"permutation\"\nbytes = \"2MB\"\n{}", faults.collect::<String>()),
        );
        finish_one(&text, &[]).run.completion_us
    };
    let reps = time("uet-nscc-reps", "\"*.transport.sack_bytes\" = \"1B\"");
    let coalesced = time("uet-nscc-reps", "");
    let bitmap = time("uet-nscc-bitmap", "");
    let oblivious = time("uet-nscc-oblivious", "");
    assert!(reps < bitmap && bitmap < oblivious, "{reps}, {bitmap}, {oblivious}");
    assert!(reps < coalesced, "{reps}, {coalesced} with one ACK for 16 KiB");
}

/// Requests and pulls take many paths as in uet-htsim, so that a dead link does not stop a queue pair that waits for
/// credit. With `eqds`, they take another path once a request or a pull is lost.
#[test]
fn a_dead_link_does_not_stop_credit() {
    for link in ["tor:0/up:0", "tor:0/up:1"] {
        for scheme in ["uet-rccc", "uet-both", "uet-nscc", "eqds"] {
            let text = format!(
                r#"
schemes = ["{scheme}"]
setup = "uet"
seeds = [1]
[topology]
kind = "fat-tree"
hosts = 32
tiers = 2
link = "400Gbps"
[workload]
kind = "permutation"
bytes = "8MB"
[[fault]]
kind = "link-down"
links = "{link}"
at = "20us"
"#
            );
            assert_eq!(finish_one(&text, &[]).run.flows_finished, 32, "{scheme} with {link} down");
        }
    }
}

/// Data packets carry 4 B of congestion control state under RCCC, also if NSCC runs too (UET 1.0.3, CC requests). In
/// the setup `uet-htsim`, headers have 64 B with and without RCCC. Under `mrc-no-trim`, switches do not trim, and hold
/// 5 BDP.
#[test]
fn setups_have_headers_of_credit_and_queues_that_drop() {
    let scheme = |name: &str, setup: &str| {
        let text = scenario(&format!("\"{name}\""), 16, "", &messages([message(0, 1, "1MB")]));
        let text = text.replace("uet-htsim", setup);
        let scenario =
            read_with(&Registry::new(), "test.toml", &text, &NoFiles, &Overrides::default()).unwrap();
        scenario.points().unwrap().remove(0).scheme
    };
    let header = |name, setup| scheme(name, setup).transport.framing().header.0;
    assert_eq!(["uet-nscc", "uet-rccc", "uet-both"].map(|name| header(name, "common")), [102, 106, 106]);
    assert_eq!(["uet-nscc", "uet-rccc", "uet-both"].map(|name| header(name, "uet")), [102, 106, 106]);
    assert_eq!(["uet-nscc", "uet-rccc", "uet-both"].map(|name| header(name, "uet-htsim")), [64; 3]);
    let queues = |name, setup| {
        let fabric = scheme(name, setup).fabric;
        [fabric.queue, fabric.last_hop_queue].map(|size| size.map(|size| size.to_string()))
    };
    let of = |one: &str, last: &str| [Some(one.to_owned()), Some(last.to_owned())];
    assert_eq!(queues("uet-nscc", "uet"), of("1bdp", "1.5bdp"));
    assert_eq!(queues("mrc-no-trim", "mrc"), of("5bdp", "5bdp"));
}
