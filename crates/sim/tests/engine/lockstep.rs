//! Senders in lockstep, and the imperfections of real fabrics that break the lockstep, compared with values computed by
//! hand.

use super::support::*;
use super::threads::{came_of, measures, tight};
use super::{constants, lossless};
use anabranch_base::{Purpose, stream};
use anabranch_results::FlowRow;
use anabranch_sim::RunResult;

/// Hosts 0 and 1 of a single switch send `packets` full packets each to host 2, in lockstep.
fn two_to_one(packets: u64, seed: u64, settings: &str) -> RunResult {
    finish_one(
        &format!(
            r#"
            schemes = ["ecmp"]
            setup = "reps-paper"
            seeds = [{seed}]
            [topology]
            kind = "single-switch"
            hosts = 3
            link = "100Gbps"
            link_latency = "1us"
            switch_latency = "0ns"
            [workload]
            kind = "incast"
            bytes = "{}B"
            degree = 2
            target = 2
            [set]
            "*.cc" = {{ kind = "constant", window = "60000packets" }}
            "*.transport.rto" = "5000us"
            {settings}
            "#,
            packets * PAYLOAD
        ),
        &[],
    )
}

fn lost(result: &RunResult) -> Vec<u32> {
    result.flows.iter().map(|flow| flow.lost.unwrap_or_default()).collect()
}

/// Returns whether `count` heads in `of` tosses of a fair coin are within five standard deviations of the mean.
fn is_fair(count: u32, of: u32) -> bool {
    f64::from(count.abs_diff(of / 2)) < 5.0 * f64::sqrt(f64::from(of) / 4.0)
}

/// Two packets arrive in the time in which one packet leaves. Once the queue is full, the packet at the port with the
/// lower number arrives first and takes the free place. The second packet finds the queue full. The rule `arriving`
/// drops the second packet. The rule `coin` drops either the first or the second packet. With a random arrival order,
/// the packet of either sender may be first. In each case, one of the two packets is lost, and its sender retransmits
/// it one RTO later.
#[test]
fn what_a_full_queue_drops_is_of_one_sender_or_by_a_fair_coin_of_either() {
    let (packets, limit) = (4_000_u32, 100);
    let dropped = packets - limit;
    let of = |rule: &str, seed: u64| {
        let text = format!("\"*.fabric.queue\" = \"{limit}packets\"\n{rule}\n");
        let result = two_to_one(packets.into(), seed, &text);
        assert_eq!(result.run.drops, u64::from(dropped), "{rule}");
        assert_eq!(result.run.retransmissions, u64::from(dropped), "{rule}");
        lost(&result)
    };
    let arriving = "\"*.fabric.full_queue\" = \"arriving\"".to_owned();
    assert_eq!(of(&arriving, 1), [0, dropped]);
    let coin = "\"*.fabric.full_queue\" = \"coin\"".to_owned();
    for rule in [coin, format!("{arriving}\n\"*.fabric.arrival_order\" = \"random\"")] {
        let (one, other) = (of(&rule, 1), of(&rule, 2));
        assert_eq!(one, of(&rule, 1));
        assert_ne!(one, other);
        assert!(is_fair(one[0], dropped) && is_fair(other[0], dropped), "{rule}: {one:?}, {other:?}");
    }
}

/// Packets of 1,064 B and of 4,150 B share a queue of 12,500 B. If the youngest queued packet is shorter than the
/// arriving packet, the arriving packet may not fit in its place. Both packets are then dropped or trimmed, and the
/// length of the queue must remain correct.
#[test]
fn a_packet_that_does_not_fit_in_the_place_of_the_youngest_is_dropped_too() {
    let messages: String = (0..60)
        .flat_map(|_| [(0, "1000B"), (1, "4086B"), (2, "4086B")])
        .map(|(from, bytes)| format!("[[workload.message]]\nfrom = {from}\nto = 3\nbytes = \"{bytes}\"\n"))
        .collect();
    for (queue, trim) in [("queue", false), ("shared_buffer", false), ("queue", true)] {
        let text = format!(
            "schemes = [\"ecmp\"]\nsetup = \"reps-paper\"\n[topology]\nkind = \"single-switch\"\nhosts = 4\n\
             link = \"100Gbps\"\nlink_latency = \"1us\"\n[workload]\nkind = \"messages\"\n{messages}[set]\n\
             \"*.fabric.full_queue\" = \"coin\"\n\"*.fabric.{queue}\" = \"12500B\"\n\"*.fabric.trim\" = {trim}\n"
        );
        let result = finish_one(&text, &[]);
        assert!(result.run.drops + result.run.trims > 50, "{:?}", result.run);
        assert!(trim || result.run.peak_queue_bytes <= 12_500, "{:?}", result.run);
        // A queue that has no room for 4,150 B holds more than 12,500 - 4,150 = 8,350 B.
        assert!(queue != "queue" || result.run.peak_queue_bytes > 8_350, "{:?}", result.run);
        assert!(lost(&result).iter().any(|lost| *lost > 0));
    }
}

/// Runs messages between hosts of a single switch at 100 Gb/s. Each element of `of` has the source, the destination,
/// the start in ps, and the number of packets of a message.
fn messages(seed: u64, of: &[(u32, u32, u64, u64)], settings: &str) -> RunResult {
    let messages: String = of
        .iter()
        .map(|(from, to, start, packets)| {
            let bytes = packets * PAYLOAD;
            format!(
                "[[workload.message]]\nfrom = {from}\nto = {to}\nbytes = \"{bytes}B\"\nstart = \"{start}ps\"\n"
            )
        })
        .collect();
    finish_one(
        &format!(
            "schemes = [\"ecmp\"]\nsetup = \"reps-paper\"\nseeds = [{seed}]\n[topology]\nkind = \"single-switch\"\n\
             hosts = 8\nlink = \"100Gbps\"\nlink_latency = \"1us\"\nswitch_latency = \"0ns\"\n[workload]\n\
             kind = \"messages\"\n{messages}{settings}"
        ),
        &[],
    )
}

const AT_LINE_RATE: &str = "[set]\n\"*.cc\" = { kind = \"constant\", window = \"60000packets\" }\n\
                            \"*.transport.rto\" = \"9ms\"\n\"*.fabric.queue\" = \"60000packets\"\n";

const T: u64 = FULL * 80;
const A: u64 = ACK * 80;

fn delivery(flow: &FlowRow) -> u64 {
    flow.delivery_ps.expect("it was delivered")
}

/// T and A are the serialisation times of a full packet and of an ACK. One packet takes `2 T + 2 us` to the receiver,
/// and its ACK takes `2 A + 2 us` back. Both NICs were idle before.
#[test]
fn an_idle_nic_starts_late_and_a_busy_one_goes_on_at_line_rate() {
    let most = 500_000;
    let jitter = format!("{AT_LINE_RATE}\"*.fabric.nic_jitter\" = \"{most}ps\"\n");
    let alone = 2 * T + 2 * US;
    let mut late = Vec::new();
    for seed in 1..=60 {
        let one = &messages(seed, &[(0, 1, 0, 1)], &jitter).flows[0];
        let by = delivery(one) - alone;
        let back = one.fct_ps.unwrap() - delivery(one) - 2 * A - 2 * US;
        assert!(by <= most && back <= most && by != back, "{by} ps, {back} ps");
        late.extend([by, back]);
        // A long message begins with the same random delay, and then delivers one packet per T.
        let many = messages(seed, &[(0, 1, 0, 1_000)], &jitter);
        assert_eq!(delivery(&many.flows[0]), delivery(one) + 999 * T);
        // The ACK of the last packet may have its own jitter, or may follow an ACK with jitter.
        let acked = many.flows[0].fct_ps.unwrap() - delivery(&many.flows[0]) - 2 * A - 2 * US;
        assert!(acked <= most, "{acked} ps");
    }
    late.sort_unstable();
    late.dedup();
    assert!(late.len() > 115, "few draws differ: {}", late.len());
    let mean = late.iter().sum::<u64>() as f64 / late.len() as f64;
    // The standard deviation of a uniform draw is 1 / sqrt(12) of its range.
    assert!((mean - 250_000.0).abs() < 5.0 * 500_000.0 / f64::sqrt(12.0 * 120.0), "a mean of {mean} ps");
}

/// A sender that paces at line rate leaves gaps of picoseconds if the clock of its NIC is fast. These gaps do not count
/// as idle time.
#[test]
fn jitter_and_clocks_leave_a_paced_message_alone_its_rate() {
    let exact_and_not = |schemes: &str, seed: u64| {
        [("0ns", 0), ("100ns", 100)].map(|(jitter, ppm)| {
            let text = format!(
                "schemes = [{schemes}]\nseeds = [{seed}]\n[topology]\nkind = \"single-switch\"\nhosts = 2\n\
                 link = \"400Gbps\"\n[workload]\nkind = \"messages\"\n[[workload.message]]\nfrom = 0\nto = 1\n\
                 bytes = \"2MiB\"\n[set]\n\"*.fabric.nic_jitter\" = \"{jitter}\"\n\"*.fabric.clock_ppm\" = {ppm}\n"
            );
            finish_all(&text, &[]).into_iter().map(|result| result.run.fct_max_us).collect::<Vec<f64>>()
        })
    };
    let schemes = ["rocev2", "sr-ecmp", "dcp-dcqcn", "irn-ecmp-dcqcn", "reps", "hpcc"];
    let quoted = schemes.map(|scheme| format!("{scheme:?}")).join(", ");
    for seed in 1..=4 {
        let [exact, not] = exact_and_not(&quoted, seed);
        for ((scheme, exact), not) in schemes.iter().zip(exact).zip(not) {
            // The jitter delays an ACK by 50 ns on average. This is 1.6 % of the round trip of 3.2 us, so a window of
            // one BDP is too short by this fraction.
            assert!(not < 1.05 * exact, "{scheme}, seed {seed}: {not} us instead of {exact}");
        }
    }
}

/// The first packet of each message is lost, and is retransmitted after its RTO. Returns the additional delay of each
/// retransmission in ps, which a timer tick or jitter causes.
fn resent(seed: u64, of: &[(u32, u32, u64, u64)], settings: &str) -> Vec<u64> {
    let down: String = of
        .iter()
        .map(|(from, _, start, _)| {
            format!("[[fault]]\nkind = \"link-down\"\nlinks = \"host:{from}\"\nat = \"{start}ps\"\nduration = \"500ns\"\n")
        })
        .collect();
    let result = messages(seed, of, &format!("{down}[set]\n\"*.transport.rto\" = \"{RTO}ps\"\n{settings}"));
    assert_eq!(result.run.timeouts, of.len() as u64);
    let alone = 2 * T + 2 * A + 4 * US;
    result.flows.iter().map(|flow| flow.fct_ps.unwrap() - alone - RTO).collect()
}

const RTO: u64 = 100_000_000;

#[test]
fn a_timeout_fires_at_the_next_tick_of_its_host() {
    let of = [(0, 1, 0, 1), (0, 2, 333_000_017, 1), (3, 4, 0, 1), (3, 5, 401_234_567, 1), (6, 7, 0, 1)];
    assert_eq!(resent(1, &of, ""), [0; 5]);
    let tick = 4_096_000;
    let late = resent(1, &of, "\"*.fabric.timer_tick\" = \"4096ns\"\n");
    assert!(late.iter().all(|late| *late < tick), "{late:?}");
    // The ticks of a host keep their phase, which differs from that of other hosts.
    let phases: Vec<u64> =
        late.iter().zip(of).map(|(late, (.., start, _))| (start + RTO + late) % tick).collect();
    assert_eq!((phases[0], phases[2]), (phases[1], phases[3]));
    assert!(phases[0] != phases[2] && phases[2] != phases[4] && phases[0] != phases[4], "{phases:?}");
    let phase = |host: u64| stream(1, host, Purpose::TimerTicks).up_to(tick - 1);
    assert_eq!([phases[0], phases[2], phases[4]], [phase(0), phase(3), phase(6)]);
}

#[test]
fn jitter_puts_off_each_timeout_by_a_draw_of_its_own() {
    let most = 20_000_000;
    let of: Vec<(u32, u32, u64, u64)> = (0..4).map(|pair| (2 * pair, 2 * pair + 1, 0, 1)).collect();
    let jitter = "\"*.fabric.timer_jitter\" = \"20us\"\n";
    let mut late: Vec<u64> = (1..=30).flat_map(|seed| resent(seed, &of, jitter)).collect();
    assert_eq!(late[..4], resent(1, &of, jitter));
    assert!(late.iter().all(|late| *late <= most), "{late:?}");
    let mean = late.iter().sum::<u64>() as f64 / late.len() as f64;
    assert!((mean - 10e6).abs() < 5.0 * 20e6 / f64::sqrt(12.0 * 120.0), "a mean of {mean} ps");
    late.sort_unstable();
    late.dedup();
    assert!(late.len() > 115, "few draws differ: {}", late.len());
    // Each timeout has its own random delay in addition to the tick.
    let ticks = resent(1, &of, "\"*.fabric.timer_tick\" = \"4096ns\"\n");
    let both = resent(1, &of, &format!("{jitter}\"*.fabric.timer_tick\" = \"4096ns\"\n"));
    assert!(ticks.iter().zip(&both).all(|(tick, both)| (*tick..=*tick + most).contains(both)));
}

/// Without timeouts, coarse timers change nothing, because pacing is exact.
#[test]
fn coarse_timers_are_none_of_pacing() {
    for scheme in ["irn-ecmp-dcqcn", "dcqcn", "strack", "dcp-dcqcn", "eqds"] {
        let of = |timers: &str| {
            let text = format!(
                "schemes = [\"{scheme}\"]\n{LEAF_SPINE}[workload]\nkind = \"incast\"\ndegree = 6\nbytes = \"200KB\"\n\
                 [set]\n\"*.transport.rto\" = \"9ms\"\n{timers}"
            );
            finish_one(&text, &[])
        };
        let (exact, coarse) = (of(""), of("\"*.fabric.timer_tick\" = \"700us\"\n"));
        assert_eq!(exact.run.timeouts, 0, "{scheme}");
        assert_eq!(exact.flows, coarse.flows, "{scheme}");
    }
}

/// The deviation of a node's clock in a run with this seed, in parts per billion. It is positive if the clock is slow.
fn off(seed: u64, node: u64, ppm: u64) -> i128 {
    i128::from(stream(seed, node, Purpose::Clock).up_to(2_000 * ppm)) - 1_000 * i128::from(ppm)
}

/// By its own clock, a device that sends without a pause has sent packet k at the time `k T`, rounded down to a
/// picosecond. T is the serialisation time of a full packet.
#[test]
fn a_clock_that_is_off_makes_packets_longer_or_shorter() {
    let settings = format!("{AT_LINE_RATE}\"*.fabric.clock_ppm\" = 100\n");
    let packets = 5_000_u64;
    let (mut fast, mut slow) = (0, 0);
    for seed in 1..=24 {
        let (host, switch) = (off(seed, 0, 100), off(seed, 8, 100));
        let by = |packets: u64, off: i128| {
            let nominal = i128::from(packets * T);
            (nominal + (nominal * off).div_euclid(1_000_000_000)) as u64
        };
        let mut free = 0;
        for packet in 1..=packets {
            // The packet arrives at the switch, and departs once the port is free.
            let from = u64::max(by(packet, host) + US, free);
            free = from + by(packet, switch) - by(packet - 1, switch);
        }
        let flow = &messages(seed, &[(0, 1, 0, packets)], &settings).flows[0];
        assert_eq!(delivery(flow), free + US, "seed {seed}, off by {host} and {switch}");
        (fast, slow) = (fast + u32::from(host < 0), slow + u32::from(host > 0));
    }
    assert!(fast > 1 && slow > 1, "{fast} fast clocks, {slow} slow ones");
    let exact = messages(1, &[(0, 1, 0, packets)], AT_LINE_RATE);
    assert_eq!(delivery(&exact.flows[0]), (packets + 1) * T + 2 * US);
}

/// All settings that break lockstep. A lossless scheme needs no rule for full queues.
pub fn all_on(scheme: &str) -> Vec<String> {
    let lossless = anabranch_sim::scenario::scheme_on(scheme, paper(scheme)).unwrap().fabric.pfc.is_some();
    let keys = [
        "full_queue\" = \"coin\"",
        "arrival_order\" = \"random\"",
        "nic_jitter\" = \"300ns\"",
        "timer_tick\" = \"1us\"",
        "timer_jitter\" = \"3us\"",
        "clock_ppm\" = 100",
    ];
    keys[usize::from(lossless)..].iter().map(|key| format!("\"{scheme}.fabric.{key}\n")).collect()
}

#[test]
fn runs_do_not_depend_on_threads_or_observers() {
    let (mut drops, mut pauses, mut timeouts) = (0, 0, 0);
    for scheme in ["reps", "dcp", "rocev2", "strack", "irn-ar-dcqcn", "eqds", "conweave", "mp-rdma"] {
        let all = all_on(scheme);
        let mut sets = vec![all.concat()];
        if ["reps", "dcp", "rocev2"].contains(&scheme) {
            sets.extend(all);
        }
        let mut digests = Vec::new();
        for set in sets {
            let narrow = LEAF_SPINE.replace("switch_latency", "oversubscription = 2\nswitch_latency");
            let text = |measures: &str| {
                format!(
                    "schemes = [\"{scheme}\"]\nsetup = \"{}\"\n{narrow}[workload]\nkind = \"incast\"\ndegree = 12\n\
                     bytes = \"60KB\"\n{measures}[set]\n{}{set}",
                    paper(scheme),
                    tight(scheme)
                )
            };
            let seen = &points(&text(&measures()), &[])[0];
            let alone = came_of(seen, 1);
            assert_eq!(alone.error, None, "{scheme}\n{set}");
            for threads in [2, 3, 8] {
                came_of(seen, threads).assert_is(&alone, &format!("{scheme}, {threads} threads\n{set}"));
            }
            let run = alone.result.unwrap().run;
            assert_eq!(finish_one(&text(""), &[]).run.digest, run.digest, "{scheme}, unobserved\n{set}");
            drops += run.drops + run.trims;
            pauses += run.pause_frames;
            timeouts += run.timeouts;
            digests.push(run.digest);
        }
        // With REPS, whose packets time out, each of the settings changes the result.
        let runs = digests.len();
        digests.sort_unstable();
        digests.dedup();
        assert!(digests.len() == runs || scheme != "reps", "{} of {runs}", digests.len());
    }
    assert!(drops > 500 && pauses > 50 && timeouts > 20, "{drops} {pauses} {timeouts}");
}

/// Faults of an idle host make synchronisation windows end at other times.
#[test]
fn runs_do_not_depend_on_where_windows_are_cut() {
    for scheme in ["reps", "rocev2", "dcp", "irn-ar"] {
        let more = all_on(scheme).concat();
        let alone = constants::run_with(scheme, &more, "");
        for count in [3, 40] {
            let other = constants::run_with(scheme, &more, &constants::faults_of_the_idle_host(count));
            assert_eq!(alone.flows, other.flows, "{scheme}, {count} faults");
        }
    }
}

#[test]
fn nothing_is_lost_in_a_lossless_class_with_all_of_it() {
    for alpha in [0.0625, 1.0] {
        for point in lossless::small_fabric(
            "rocev2",
            lossless::INCAST,
            alpha,
            lossless::HEADROOMS + 8 * 100 + 40 * FULL,
            &format!("[set]\n{}", all_on("rocev2").concat()),
        ) {
            let run = finish(&point).run;
            assert_eq!((run.drops, run.link_losses), (0, 0));
            assert!(run.pause_frames > 0);
        }
    }
}

/// By an exact clock, the pause frame and the full packet before it take 337,120 ps. By a slow clock, they take 34 ps
/// more. With the latencies of the link in both directions, the sender receives the pause after 1,337,154 ps. In this
/// time, a fast sender sends as much as an exact sender does in 1,337,288 ps, which is 16,716 B. With exact clocks, the
/// sender sends 16,714 B. Each of the eight ports therefore needs 2 B more headroom than with exact clocks.
#[test]
fn headroom_allows_for_a_slow_clock_that_pauses_and_a_fast_one_that_is_paused() {
    let of = |more| {
        let settings = "[set]\n\"rocev2.fabric.clock_ppm\" = 100\n";
        let buffer = lossless::HEADROOMS + more;
        attempt(&lossless::small_fabric("rocev2", lossless::INCAST, 1.0, buffer, settings)[0])
    };
    assert!(matches!(of(8 * 2), Err(anabranch_sim::RunError::Pfc { .. })));
    assert_eq!(of(8 * 2 + 1).unwrap().run.drops, 0);
}
