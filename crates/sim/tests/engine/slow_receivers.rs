//! Slow receivers, pause storms and the PFC watchdog, compared with closed forms. Packets have 4,096 B of payload and
//! 78 B of headers. Links have a latency of 500 ns, and switches have none.

use super::clusters::{AT_400G, scenario};
use super::support::*;
use anabranch_results::SeriesRow;
use anabranch_sim::{RunError, RunResult};

/// The serialisation times of a full packet and of a pause frame at 400 Gb/s, in picoseconds.
const T: u64 = 4_174 * AT_400G;
const FRAME: u64 = 64 * AT_400G;
const LATENCY: u64 = 500_000;
/// The duration of the longest pause at 400 Gb/s: 65,535 quanta of 512 bits.
const LONGEST_PAUSE: u64 = 65_535 * 64 * AT_400G;
const MS: u64 = 1_000 * US;

/// RoCEv2 with a static threshold of 20 packets in an ample buffer, without marks, and with an ACK at the end of a
/// message only.
const LOSSLESS: &str = r#"
"rocev2.fabric.pfc" = { buffer = "100MB", threshold = "20packets", resume = "2packets", WATCHDOG }
"rocev2.transport.ack_every" = 65535
"rocev2.fabric.ecn_kmin" = "60000packets"
"rocev2.fabric.ecn_kmax" = "60000packets"
"#;

const ONE_SWITCH: &str = "kind = \"single-switch\"\nhosts = 4\nlink = \"400Gbps\"";
const TWO_SWITCHES: &str =
    "kind = \"dumbbell\"\nhosts = 4\nlink = \"400Gbps\"\ntrunk = \"400Gbps\"\ntrunk_latency = \"500ns\"";

/// Runs a scenario with these messages, each given by its source, destination, bytes and start time.
fn run(
    topology: &str,
    messages: &[(u32, u32, &str, &str)],
    rest: &str,
    watchdog: &str,
) -> Result<RunResult, RunError> {
    let each = |(from, to, bytes, start): &(u32, u32, &str, &str)| {
        format!("[[workload.message]]\nfrom = {from}\nto = {to}\nbytes = \"{bytes}\"\nstart = \"{start}\"\n")
    };
    let messages = messages.iter().map(each).collect::<String>();
    let text =
        scenario("\"rocev2\"", topology, &format!("[workload]\nkind = \"messages\"\n{messages}{rest}"));
    let text = text
        .replace("\"*.fabric.queue\" = \"60000packets\"\n", &LOSSLESS.replace(", WATCHDOG", watchdog))
        .replace("\"9ms\"", "\"200ms\"");
    let points = points(&text, &[]);
    assert_eq!(points.len(), 1);
    attempt(&points[0])
}

fn slow(host: u32, rest: &str) -> String {
    format!("[[fault]]\nkind = \"slow-receiver\"\nhosts = \"host:{host}\"\nrate = \"100Gbps\"\n{rest}\n")
}

fn partial(error: RunError) -> RunResult {
    match error {
        RunError::Stalled { partial, .. } | RunError::Limit { partial, .. } => *partial,
        other => panic!("{other}"),
    }
}

fn measured(series: &str, links: &str) -> String {
    format!("[[measure]]\nseries = \"{series}\"\nevery = \"1us\"\nlinks = \"{links}\"\n")
}

fn curve<'a>(result: &'a RunResult, series: &str) -> Vec<&'a SeriesRow> {
    result.series.iter().filter(|row| row.series == series).collect()
}

/// Host 0 sends to host 1, which takes data at a quarter of the rate of its link.
///
/// Packet k (from 0) arrives at `A + k T` with A = 2 (T + 500 ns). The host has taken packet 0 at `A + 4 T`, and takes
/// one more packet every `4 T`. When packet k arrives, the NIC therefore holds k + 1 - floor(k / 4) packets. With
/// packet 10, the NIC holds 11 - 2 = 9 packets. The buffer holds 8 packets, so the NIC then decides to send the first
/// pause. The pause takes effect after the frame and the latency.
#[test]
fn a_slow_receiver_pauses_its_link() {
    let buffer = format!("buffer = \"{}B\"", 8 * 4_174);
    let fault = slow(1, &buffer) + &measured("pause-time", "tor:0/down:1");
    let result = run(ONE_SWITCH, &[(0, 1, "4MiB", "0us")], &fault, "").unwrap();
    let first = curve(&result, "pause_time_us").into_iter().find(|row| row.value > 0.0).unwrap();
    let begins = first.time_ps - (first.value * 1e6).round() as u64;
    assert_eq!(begins, 2 * (T + LATENCY) + 10 * T + FRAME + LATENCY);

    // The host takes 1,024 packets at 100 Gb/s.
    let taken = 2 * (T + LATENCY) + 1_024 * 4 * T;
    assert_eq!(result.flows[0].delivery_ps, Some(taken));
    assert_eq!((result.run.drops, result.run.retransmissions), (0, 0));
    let paused: f64 = curve(&result, "pause_time_us").iter().map(|row| row.value).sum();
    let paused = paused * 1e6 / taken as f64;
    // The link is paused for three quarters of the time. A packet that is on the wire when the pause begins is still
    // sent to its end, so that the paused share is a little larger.
    assert!((0.74..0.78).contains(&paused), "{paused} of the time");
}

/// A switch holds the packets that the slow receiver does not take. Its ingress port fills, and the pause reaches
/// another flow of the same uplink, the victim. The victim gets the rate of the slow receiver, although its own
/// receiver is not slow.
#[test]
fn a_slow_receiver_has_victims() {
    let messages = [(0, 2, "16MiB", "0us"), (1, 3, "16MiB", "0us")];
    let healthy = run(TWO_SWITCHES, &messages, "", "").unwrap();
    let result = run(TWO_SWITCHES, &messages, &slow(2, ""), "").unwrap();
    let gbps = |result: &RunResult, flow: usize| {
        (4_096 * 4_174 * 8) as f64 / (result.flows[flow].delivery_ps.unwrap() as f64 / 1e3)
    };
    // Both flows share the trunk, and the slow one gets the rate of its receiver.
    assert!((195.0..201.0).contains(&gbps(&healthy, 1)), "{}", gbps(&healthy, 1));
    assert!((99.0..101.0).contains(&gbps(&result, 0)), "{}", gbps(&result, 0));
    // The victim is a little faster, since its packets come first whenever both hosts resume.
    assert!((99.0..120.0).contains(&gbps(&result, 1)), "{}", gbps(&result, 1));
    assert_eq!((result.run.drops, result.run.timeouts), (0, 0));
    assert_eq!(result.run.faults[0].packets_slowed, 4_096);
    assert_eq!(result.run.warnings, []);
}

#[test]
fn a_slow_receiver_drops_in_a_lossy_class() {
    let message =
        "[workload]\nkind = \"messages\"\n[[workload.message]]\nfrom = 0\nto = 1\nbytes = \"1MiB\"\n";
    let fault =
        "[[fault]]\nkind = \"slow-receiver\"\nhosts = \"host:1\"\nrate = \"100Gbps\"\nbuffer = \"33392B\"\n";
    let text = scenario("\"ops\"", ONE_SWITCH, &format!("{message}{fault}"));
    let result = finish_one(&text, &[]);
    let fault = &result.run.faults[0];
    assert!(result.run.drops > 0 && fault.packets_refused == result.run.drops, "{fault:?}");
    assert_eq!(fault.packets_slowed + fault.packets_refused, fault.data_packets);
}

/// The rate changes within a packet: the host takes the rest of the packet at the rate of its link.
#[test]
fn a_slow_receiver_recovers_within_a_packet() {
    let arrives = 2 * (T + LATENCY);
    let fault =
        "[[fault]]\nkind = \"slow-receiver\"\nhosts = \"host:1\"\nrate = \"1Gbps\"\nuntil = \"1200ns\"\n";
    let result = run(ONE_SWITCH, &[(0, 1, "4096B", "0us")], fault, "").unwrap();
    // From the packet's arrival until 1,200 ns, the host takes data at 1 Gb/s, and then at 400 Gb/s.
    let bits = 4_174 * 8_000 - (1_200_000 - arrives);
    assert_eq!(result.flows[0].delivery_ps, Some(1_200_000 + bits.div_ceil(400)));
}

/// A storm of 100 us pauses the link until its last pause expires, and then the message goes on. The NIC sends a
/// pause frame each 41.9 us, which is `LONGEST_PAUSE / 2`. The first frame arrives at the switch before the first
/// packet does, and the third and last frame leaves at `LONGEST_PAUSE`.
#[test]
fn the_last_pause_of_a_storm_expires() {
    let fault = format!(
        "[[fault]]\nkind = \"pause-storm\"\nhosts = \"host:1\"\nduration = \"100us\"\n{}",
        measured("pause-time", "tor:0/down:1")
    );
    let result = run(ONE_SWITCH, &[(0, 1, "1MiB", "0us")], &fault, "").unwrap();
    let arrives = |frame: u64| frame * (LONGEST_PAUSE / 2) + FRAME + LATENCY;
    let paused: f64 = curve(&result, "pause_time_us").iter().map(|row| row.value).sum();
    assert_eq!((paused * 1e6).round() as u64, arrives(2) + LONGEST_PAUSE - arrives(0));
    // The pause comes before the first packet, so all 256 leave the switch from the end of the pause on.
    let free = arrives(2) + LONGEST_PAUSE;
    assert_eq!(result.flows[0].delivery_ps, Some(free + 256 * T + LATENCY));
    // The switch pauses host 0 on the arrival of packet 20 (counted from 0), at 21 T + 500 ns. The pause takes effect
    // after the frame and the latency. Packet k begins at k T, so packets with k < 21 + (2 * 500 ns + FRAME) / T =
    // 32.99 have begun.
    assert_eq!(result.run.faults[0].packets_slowed, 33);
}

/// The link goes down for 1 ns while the second pause frame of the storm waits until a packet of the host has been
/// sent. Both ends agree that the link stays paused. The next frame comes at most half of the longest pause later.
#[test]
fn a_storm_outlasts_a_flap_of_its_link() {
    for eighth in 1..5 {
        // The first frame leaves after 12 packets. The second one is due half of the longest pause later, in the middle
        // of a packet.
        let down_at = (12 * T + LONGEST_PAUSE / 2 + eighth * T / 8) / 1_000;
        let fault = format!(
            "[[fault]]\nkind = \"pause-storm\"\nhosts = \"host:1\"\nat = \"1us\"\nduration = \"300us\"\n\
             [[fault]]\nkind = \"link-down\"\nlinks = \"cable:host:1\"\nat = \"{down_at}ns\"\nduration = \"1ns\"\n"
        );
        let messages = [(1, 2, "16MiB", "0us"), (0, 1, "64KiB", "20us")];
        let result = run(ONE_SWITCH, &messages, &fault, "").unwrap();
        let delivered = result.flows[1].delivery_ps.unwrap();
        assert!(delivered > 301 * US, "{delivered} with a flap at {down_at} ns");
    }
}

const STORM: &str = "[[fault]]\nkind = \"pause-storm\"\nhosts = \"host:1\"\nat = \"50ms\"\n";

/// Host 0 sends to host 1, which storms from 50 ms on, and to host 3. The pauses reach host 0, and the flow to host 3
/// is their victim. The watchdog polls every 200 ms. At 200 ms the port has been paused for 75 % of the time, and at
/// 400 ms for all of the time since the first poll.
#[test]
fn a_watchdog_ends_a_storm_at_its_second_poll() {
    let messages = [(0, 1, "1MiB", "60ms"), (0, 3, "1MiB", "60ms"), (2, 3, "64KiB", "450ms")];
    let end = "[limits]\nmax_time = \"700ms\"\n";
    let watchdog = ", watchdog = \"drop\"";
    let rest = format!("{STORM}{}{end}", measured("drops", "tor:0/down:1").replace("\"1us\"", "\"1ms\""));
    let error = run(ONE_SWITCH, &messages, &rest, watchdog).unwrap_err();
    let result = partial(error);
    let times: Vec<u64> =
        curve(&result, "drops").iter().filter(|row| row.value > 0.0).map(|row| row.time_ps).collect();
    assert_eq!(times.first(), Some(&(401 * MS)), "{times:?}");
    // The victim ends soon after the watchdog has acted. The flow from host 2 ends as if nothing had happened.
    let done = |flow: usize| {
        let row = result.flows.iter().find(|row| row.flow == flow as u32)?;
        Some(row.start_ps? + row.delivery_ps?)
    };
    assert_eq!(done(0), None);
    let victim = done(1).unwrap();
    assert!((400 * MS..401 * MS).contains(&victim), "{victim}");
    assert_eq!(done(2), Some(450 * MS + 16 * T + T + 2 * LATENCY));
    assert_eq!(result.run.extra["watchdog_storms"], 1.0);
    assert_eq!(result.run.extra["watchdog_drops"], result.run.drops as f64);
    assert_eq!(result.run.faults[0].packets_refused, result.run.drops);
}

#[test]
fn without_a_watchdog_a_storm_stalls_its_victims() {
    let messages = [(0, 1, "1MiB", "60ms"), (0, 3, "1MiB", "60ms")];
    let error = run(ONE_SWITCH, &messages, STORM, "").unwrap_err().to_string();
    assert!(error.contains("\"host:1\" pauses its links from 50ms on for good"), "{error}");
    assert!(error.contains("fabric.pfc.watchdog = \"drop\""), "{error}");
}

/// A watchdog restores the port after 200 ms without pauses, and the sender's timeout repairs the drops. With `forward`
/// the port sends in spite of the pauses, and nothing is dropped.
#[test]
fn a_watchdog_restores_the_port() {
    let storm = STORM.replace("\"50ms\"", "\"50ms\"\nuntil = \"500ms\"");
    let rest = format!("{storm}[limits]\nmax_time = \"2s\"\nstall = \"1s\"\n");
    let messages = [(0, 1, "1MiB", "60ms")];
    let dropped = run(ONE_SWITCH, &messages, &rest, ", watchdog = \"drop\"").unwrap();
    // The storm ends at 500 ms. The interval until 600 ms still has pauses, and the one until 800 ms has none.
    let done = 60 * MS + dropped.flows[0].delivery_ps.unwrap();
    assert!((800 * MS..1_200 * MS).contains(&done) && dropped.run.drops > 0, "{done}");
    let forwarded = run(ONE_SWITCH, &messages, &rest, ", watchdog = \"forward\"").unwrap();
    let done = 60 * MS + forwarded.flows[0].delivery_ps.unwrap();
    assert!((400 * MS..401 * MS).contains(&done), "{done}");
    assert_eq!((forwarded.run.drops, forwarded.run.extra["watchdog_storms"]), (0, 1.0));
}

#[test]
fn threads_do_not_matter() {
    let text = format!(
        "schemes = [\"rocev2\", \"dcqcn\", \"hpcc\"]\nseeds = [1]\n{LEAF_SPINE}[workload]\nkind = \"permutation\"\nbytes = \"256KiB\"\n\
         [[fault]]\nkind = \"slow-receiver\"\nhosts = \"host:5\"\nrate = \"10Gbps\"\nat = \"10us\"\nuntil = \"150us\"\n\
         [[fault]]\nkind = \"pause-storm\"\nhosts = [\"host:9\", \"host:2\"]\nat = \"20us\"\nduration = \"100us\"\n\
         [[fault]]\nkind = \"link-flap\"\nlinks = \"host:9\"\nperiod = \"50us\"\ndown_for = \"10us\"\nuntil = \"200us\"\n\
         [set]\n\"*.fabric.pfc.watchdog\" = \"drop\"\n\"*.fabric.pfc.watchdog_poll\" = \"20us\"\n\
         \"*.fabric.pfc.watchdog_detection\" = \"40us\"\n\"*.fabric.pfc.watchdog_restoration\" = \"40us\"\n"
    );
    for point in points(&text, &[]) {
        let digests = [(1, false), (2, false), (3, true)].map(|(threads, merge_ports)| {
            let control = anabranch_sim::Control { threads, merge_ports, ..Default::default() };
            anabranch_sim::run(&point, &control).unwrap_or_else(|e| panic!("{}: {e}", point.scheme.name)).run
        });
        assert!(
            digests[0].faults.iter().take(2).all(|fault| fault.packets_slowed > 0),
            "{:?}",
            digests[0].faults
        );
        assert_eq!(digests[0].digest, digests[1].digest, "{} on two threads", point.scheme.name);
        assert_eq!(digests[0].digest, digests[2].digest, "{} on three threads", point.scheme.name);
    }
}
