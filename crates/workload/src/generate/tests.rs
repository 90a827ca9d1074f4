use super::*;
use crate::Group;
use anabranch_base::Rate;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn fabric(hosts: u32, per_tor: u32) -> Fabric {
    let tor_of = (0..hosts).map(|host| hosts + host / per_tor).collect();
    Fabric { hosts, host_rate: Rate::from_gbps(100), tor_of, dcs: 1, ..Fabric::default() }
}

fn pairs(w: &Workload) -> Vec<(u32, u32)> {
    w.messages.iter().map(|m| w.qps[m.qp.index()]).map(|qp| (qp.src.0, qp.dst.0)).collect()
}

fn permutation_of(hosts: u32, cross_tor: bool) -> WorkloadSpec {
    WorkloadSpec::Permutation { bytes: Bytes(1 << 20), hosts, cross_tor }
}

fn poisson(sizes: &str, load: f64, hosts: u32, duration: Duration) -> WorkloadSpec {
    WorkloadSpec::Poisson {
        sizes: sizes.into(),
        load,
        hosts,
        duration,
        inter: None,
        incast: None,
        pipeline: None,
    }
}

/// A WebSearch background at load 0.3 on 32 hosts for 20 ms, with incasts.
fn with_incasts(degree: u32, bytes: u64, load: f64) -> WorkloadSpec {
    let duration = Duration::from_us(20_000);
    let incast = Some(IncastsSpec { degree, bytes: Bytes(bytes), load });
    WorkloadSpec::Poisson {
        sizes: "websearch".into(),
        load: 0.3,
        hosts: 32,
        duration,
        inter: None,
        incast,
        pipeline: None,
    }
}

fn wrong(spec: WorkloadSpec, fabric: &Fabric) -> String {
    build(&spec, fabric, 1, &|_| None).unwrap_err().to_string()
}

#[test]
fn tornado_sends_to_the_twin() {
    let w =
        build(&WorkloadSpec::Tornado { bytes: Bytes(5), senders: 4 }, &fabric(8, 4), 1, &|_| None).unwrap();
    assert_eq!(pairs(&w), [(0, 4), (1, 5), (2, 6), (3, 7)]);
    assert!(w.messages.iter().all(|m| m.bytes == 5 && m.start == Start::At(Time::ZERO)));
    let w =
        build(&WorkloadSpec::Tornado { bytes: Bytes(5), senders: 5 }, &fabric(5, 5), 1, &|_| None).unwrap();
    assert_eq!(pairs(&w), [(0, 2), (1, 3), (2, 4), (3, 0), (4, 1)]);
}

#[test]
fn incast_draws_distinct_senders() {
    let spec = WorkloadSpec::Incast { bytes: Bytes(1), degree: 8, target: HostId(3) };
    let senders = |seed| {
        let w = build(&spec, &fabric(64, 16), seed, &|_| None).unwrap();
        assert!(w.qps.iter().all(|qp| qp.dst == HostId(3) && qp.src != qp.dst && qp.src.0 < 64));
        let senders: BTreeSet<u32> = w.qps.iter().map(|qp| qp.src.0).collect();
        assert_eq!(senders.len(), 8);
        senders
    };
    assert_eq!(senders(1), senders(1));
    assert_ne!(senders(1), senders(2));
}

#[test]
fn poisson_meets_its_load() {
    let (hosts, duration) = (32, Duration::from_us(50_000));
    for (sizes, load) in [("alistorage", 0.25), ("facebook-hadoop", 0.8), ("alistorage", 1.0)] {
        let w = build(&poisson(sizes, load, hosts, duration), &fabric(64, 16), 1, &|_| None).unwrap();
        let sent: u64 = w.messages.iter().map(|m| m.bytes).sum();
        let capacity = f64::from(hosts) * Rate::from_gbps(100).bytes_in(duration) as f64;
        let found = sent as f64 / capacity;
        assert!(
            (found / load - 1.0).abs() < 0.05,
            "{sizes}: load {found}, not {load}, of {}",
            w.messages.len()
        );
        assert!(w.qps.iter().all(|qp| qp.src.0 < hosts && qp.dst.0 < hosts));
        assert!(w.messages.is_sorted_by_key(|m| match m.start {
            Start::At(time) => time,
            Start::ByGate => Time::NEVER,
        }));
    }
}

#[test]
fn poisson_gaps_are_exponential_and_destinations_uniform() {
    let spec = poisson("facebook-hadoop", 0.5, 4, Duration::from_us(400_000));
    let w = build(&spec, &fabric(4, 4), 3, &|_| None).unwrap();
    let (mut gaps, mut to, mut last) = (Vec::new(), [0u32; 4], 0);
    for message in w.messages.iter().filter(|m| w.qps[m.qp.index()].src == HostId(2)) {
        let Start::At(Time(start)) = message.start else { panic!("a gate in Poisson arrivals") };
        gaps.push((start - last) as f64);
        last = start;
        to[w.qps[message.qp.index()].dst.index()] += 1;
    }
    let count = gaps.len() as f64;
    let mean = gaps.iter().sum::<f64>() / count;
    let deviation = (gaps.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>() / count).sqrt();
    assert!(
        (deviation / mean - 1.0).abs() < 0.05,
        "an exponential gap deviates by its mean: {deviation}, {mean}"
    );
    let above = gaps.iter().filter(|gap| **gap > mean).count() as f64 / count;
    assert!((above - 0.3679).abs() < 0.02, "1/e of the gaps exceed the mean, not {above}");
    assert_eq!(to[2], 0);
    assert!(
        to.iter().enumerate().all(|(host, n)| host == 2 || (f64::from(*n) / count - 1.0 / 3.0).abs() < 0.03),
        "{to:?}"
    );
}

#[test]
fn poisson_streams_belong_to_hosts() {
    let duration = Duration::from_us(2_000);
    let sizes_of_host_1 = |hosts| {
        let w = build(&poisson("websearch", 0.5, hosts, duration), &fabric(64, 16), 9, &|_| None).unwrap();
        let mine = w.messages.iter().filter(|m| w.qps[m.qp.index()].src == HostId(1));
        mine.map(|m| (m.start, m.bytes)).collect::<Vec<_>>()
    };
    assert!(!sizes_of_host_1(16).is_empty());
    assert_eq!(sizes_of_host_1(16), sizes_of_host_1(64), "more hosts change nothing for one of them");
}

#[test]
fn poisson_takes_sizes_from_a_file() {
    let spec = poisson("sizes.txt", 0.5, 8, Duration::from_us(1_000));
    assert_eq!(files_needed(&spec), ["sizes.txt"]);
    let w = build(&spec, &fabric(8, 8), 1, &|_| Some("5000 0\n5000 100\n")).unwrap();
    assert!(w.messages.iter().all(|m| m.bytes == 5000));
    assert!(files_needed(&poisson("websearch", 0.5, 8, Duration(1))).is_empty());
}

#[test]
fn a_million_messages_fit() {
    // 128 hosts * 0.8 * 100 Gb/s over 97 ms, with 120 KB per message, give about a million messages.
    let spec = poisson("facebook-hadoop", 0.8, 128, Duration::from_us(97_000));
    let w = build(&spec, &fabric(128, 16), 1, &|_| None).unwrap();
    let per_message = w.memory_bytes() as f64 / w.messages.len() as f64;
    assert!(w.messages.len() > 950_000, "{}", w.messages.len());
    assert!(per_message * 1e6 < 100e6, "{per_message} bytes per message");
}

#[test]
fn incasts_leave_the_background_as_it_is() {
    let fabric = fabric(64, 16);
    let alone =
        build(&poisson("websearch", 0.3, 32, Duration::from_us(20_000)), &fabric, 1, &|_| None).unwrap();
    let both = build(&with_incasts(8, 64_000, 0.1), &fabric, 1, &|_| None).unwrap();
    let count = alone.messages.len();
    assert!(alone.groups.is_empty());
    assert_eq!((&both.messages[..count], &both.qps[..count]), (&alone.messages[..], &alone.qps[..]));
    let all = both.messages.len() as u32;
    let group = |name, messages| Group { name, messages };
    assert_eq!(both.groups, [group("background", 0..count as u32), group("incast", count as u32..all)]);
}

#[test]
fn incasts_meet_their_load_and_each_has_its_own_hosts() {
    for (degree, bytes, load) in [(8, 64_000, 0.1), (31, 10_000, 0.05), (1, 100_000, 0.3)] {
        let w = build(&with_incasts(degree, bytes, load), &fabric(64, 16), 1, &|_| None).unwrap();
        let of = w.groups[1].messages.start as usize..w.groups[1].messages.end as usize;
        assert!(w.messages[of.clone()].iter().all(|message| message.bytes == bytes));
        // 32 hosts at 100 Gb/s can send 8 GB in 20 ms.
        let found = of.len() as f64 * bytes as f64 / 8e9;
        assert!((found / load - 1.0).abs() < 0.1, "{degree}: load {found}, not {load}");
        let pairs = &pairs(&w)[of.clone()];
        let mut receivers = BTreeSet::new();
        let mut earlier = Time::ZERO;
        for (incast, messages) in pairs.chunks(degree as usize).zip(w.messages[of].chunks(degree as usize)) {
            let receiver = incast[0].1;
            receivers.insert(receiver);
            assert!(incast.iter().all(|(src, dst)| *dst == receiver && *src < 32 && src != dst));
            assert!(incast.is_sorted() && incast.windows(2).all(|two| two[0] != two[1]), "{incast:?}");
            assert_eq!(incast.len(), degree as usize);
            let Start::At(start) = messages[0].start else { panic!("a gate in an incast") };
            assert!(messages.iter().all(|message| message.start == Start::At(start)));
            assert!(earlier <= start && start.0 < 20_000_000_000);
            earlier = start;
        }
        assert_eq!(receivers.len(), 32, "everybody receives");
        let senders: BTreeSet<u32> = pairs.iter().map(|pair| pair.0).collect();
        assert_eq!(senders.len(), 32, "everybody sends");
    }
}

#[test]
fn wrong_specs_are_explained() {
    let eight = fabric(8, 5);
    let bytes = Bytes(1);
    let target = HostId(0);
    let ms = Duration::from_us(1_000);
    let cases = [
        (
            WorkloadSpec::Permutation { bytes: Bytes(0), hosts: 8, cross_tor: false },
            "bytes: a message must have at least 1B",
        ),
        (permutation_of(1, false), "hosts: 1 cannot send to each other; write: at least 2"),
        (permutation_of(9, false), "hosts: 9 is more than the fabric's 8 hosts; write: at most 8"),
        (
            permutation_of(8, true),
            "cross_tor: 5 of the 8 hosts are on one ToR (that of host 0), more than half, so not all of them can \
             send to another ToR; set cross_tor = false or take hosts of more ToRs",
        ),
        (WorkloadSpec::Tornado { bytes, senders: 9 }, "senders: write 1 to 8 (the fabric's hosts), not 9"),
        (WorkloadSpec::Tornado { bytes, senders: 0 }, "senders: write 1 to 8 (the fabric's hosts), not 0"),
        (
            WorkloadSpec::Incast { bytes, degree: 8, target },
            "degree: write 1 to 7 (the fabric's hosts without the target), not 8",
        ),
        (
            WorkloadSpec::Incast { bytes, degree: 2, target: HostId(8) },
            "target: host 8 does not exist; the fabric has hosts 0 to 7",
        ),
        (
            poisson("websearch", 40.0, 8, ms),
            "load: write a share of the line rate above 0 and at most 1.5 (40 % is 0.4), not 40",
        ),
        (
            poisson("websearch", f64::NAN, 8, ms),
            "load: write a share of the line rate above 0 and at most 1.5 (40 % is 0.4), not NaN",
        ),
        (
            poisson("websaerch", 0.4, 8, ms),
            "sizes: `websaerch` is no known distribution; did you mean `websearch`? (a file's name has a `.` or a \
             `/` in it)",
        ),
        (
            poisson("alistorage", 1.0, 8, Duration::from_us(1_000_000_000)),
            "duration: about 2446794455 messages would start in 1000s, and the most is 50000000; write: a shorter one",
        ),
        (
            poisson("websearch", 0.4, 8, Duration(1)),
            "duration: no message starts in 1ps: a host starts one every 342.2 us on average; write: a longer duration",
        ),
    ];
    for (spec, expected) in cases {
        assert_eq!(wrong(spec, &eight), format!("workload.{expected}"));
    }
    let cm = WorkloadSpec::Cm { file: "one.cm".into(), start_unit: Duration(1) };
    assert_eq!(wrong(cm, &eight), "one.cm: its text was not given; read the file first");
}

#[test]
fn wrong_incasts_are_explained() {
    let cases = [
        (with_incasts(32, 1, 0.1), "incast.degree: write 1 to 31 (the hosts without the receiver), not 32"),
        (with_incasts(0, 1, 0.1), "incast.degree: write 1 to 31 (the hosts without the receiver), not 0"),
        (with_incasts(8, 0, 0.1), "incast.bytes: a message must have at least 1B"),
        (
            with_incasts(8, 1, 1.21),
            "incast.load: write a share of the line rate above 0 and, together with the background's 0.3, at most 1.5 \
             (10 % is 0.1), not 1.21",
        ),
        (
            with_incasts(8, 1, 0.0),
            "incast.load: write a share of the line rate above 0 and, together with the background's 0.3, at most 1.5 \
             (10 % is 0.1), not 0",
        ),
        (
            with_incasts(8, 1_000_000_000, 0.01),
            "duration: no incast starts in 20ms: one starts every 2000000.0 us on average; write: a longer duration",
        ),
        (
            with_incasts(8, 1, 0.1),
            "duration: about 800001402 messages would start in 20ms, and the most is 50000000; write: a shorter one",
        ),
    ];
    for (spec, expected) in cases {
        assert_eq!(wrong(spec, &fabric(64, 16)), format!("workload.{expected}"));
    }
}

#[test]
fn a_published_flow_file_loads() {
    let Some(peers) = std::env::var_os("ANABRANCH_PEERS") else {
        println!("skipped: ANABRANCH_PEERS is not set");
        return;
    };
    let path = std::path::Path::new(&peers).join("data/ns3/alistorage_128h_load25_5ms.flow.txt");
    let text = std::fs::read_to_string(path).unwrap();
    let spec =
        WorkloadSpec::Ns3Flows { file: "flows".into(), origin: Duration(2_000_000_000_000), format: None };
    let w = build(&spec, &fabric(128, 16), 1, &|_| Some(&text)).unwrap();
    assert_eq!(w.messages.len(), 48_529);
    assert_eq!((w.messages[0].bytes, w.messages[0].start), (616, Start::At(Time(9_000))));
    let last = w.messages.last().unwrap();
    assert_eq!((last.bytes, last.start), (3_370, Start::At(Time(4_998_501_000))));
    // The flows of the file were drawn from ALIstorage at 25 % load, so the generated workload must be similar.
    let ours =
        build(&poisson("alistorage", 0.25, 128, Duration::from_us(5_000)), &fabric(128, 16), 1, &|_| None)
            .unwrap();
    let ratio = ours.messages.len() as f64 / w.messages.len() as f64;
    assert!((ratio - 1.0).abs() < 0.03, "{} messages", ours.messages.len());
}

proptest! {
    #[test]
    fn permutations_have_no_fixed_point(hosts in 2..300u32, seed: u64) {
        let w = build(&permutation_of(hosts, false), &fabric(300, 300), seed, &|_| None).unwrap();
        let pairs = pairs(&w);
        prop_assert!(pairs.iter().all(|(src, dst)| src != dst));
        prop_assert_eq!(pairs.iter().map(|p| p.0).collect::<Vec<_>>(), (0..hosts).collect::<Vec<_>>());
        prop_assert_eq!(pairs.iter().map(|p| p.1).collect::<BTreeSet<_>>().len(), hosts as usize);
    }

    #[test]
    fn permutations_cross_tors_whenever_they_can(tor_of in prop::collection::vec(0..4u32, 2..60), seed: u64) {
        let hosts = tor_of.len() as u32;
        let largest = (0..4).map(|tor| tor_of.iter().filter(|t| **t == tor).count()).max().unwrap();
        let fabric = Fabric { hosts, host_rate: Rate::from_gbps(1), tor_of, dcs: 1, ..Fabric::default() };
        let built = build(&permutation_of(hosts, true), &fabric, seed, &|_| None);
        prop_assert_eq!(built.is_ok(), 2 * largest <= hosts as usize);
        if let Ok(w) = built {
            let pairs = pairs(&w);
            prop_assert!(pairs.iter().all(|(a, b)| fabric.tor_of[*a as usize] != fabric.tor_of[*b as usize]));
            prop_assert_eq!(pairs.iter().map(|p| p.1).collect::<BTreeSet<_>>().len(), hosts as usize);
        }
    }

    #[test]
    fn seeds_decide(seed: u64) {
        let fabric = fabric(64, 16);
        for spec in [permutation_of(64, true), poisson("websearch", 0.5, 64, Duration::from_us(2_000))] {
            let made = |seed| build(&spec, &fabric, seed, &|_| None).unwrap();
            prop_assert_eq!(made(seed), made(seed));
            prop_assert_ne!(made(seed), made(seed.wrapping_add(1)));
        }
    }
}

#[test]
fn half_of_the_hosts_on_one_tor_cross_quickly() {
    // With two ToRs each swap leaves fewer possible partners, which makes this the hardest case.
    let w = build(&permutation_of(20_000, true), &fabric(20_000, 10_000), 1, &|_| None).unwrap();
    assert!(pairs(&w).iter().all(|(src, dst)| (src / 10_000) != (dst / 10_000)));
}

fn across(hosts: u32, dcs: u32) -> Fabric {
    Fabric { dcs, ..fabric(hosts, 4) }
}

/// A WebSearch background and incasts, each at load 0.3 on all `hosts` hosts for 20 ms, with a pipeline.
fn with_pipeline(hosts: u32, bytes: u64, load: f64) -> WorkloadSpec {
    let pipeline = Some(PipelineSpec { bytes: Bytes(bytes), load, persistent: false });
    match with_incasts(8, 64_000, 0.3) {
        WorkloadSpec::Poisson { sizes, load, duration, incast, .. } => {
            WorkloadSpec::Poisson { sizes, load, hosts, duration, inter: None, incast, pipeline }
        }
        other => other,
    }
}

#[test]
fn a_persistent_pipeline_has_one_queue_pair_a_stage() {
    let per_message = with_pipeline(32, 1_000_000, 0.2);
    let mut persistent = per_message.clone();
    if let WorkloadSpec::Poisson { pipeline: Some(pipeline), .. } = &mut persistent {
        pipeline.persistent = true;
    }
    let [per_message, persistent] =
        [per_message, persistent].map(|spec| build(&spec, &across(32, 2), 1, &|_| None).unwrap());
    let ends = |w: &Workload| -> Vec<(crate::Qp, u64)> {
        w.messages.iter().map(|message| (w.qps[message.qp.index()], start_of(message))).collect()
    };
    assert_eq!(ends(&per_message), ends(&persistent), "the same messages at the same times");
    let of = persistent.groups[2].messages.clone();
    let stages: BTreeSet<anabranch_base::QpId> =
        of.clone().map(|m| persistent.messages[m as usize].qp).collect();
    assert_eq!((stages.len(), of.len()), (32, per_message.groups[2].messages.len()));
    assert!(of.len() > 32 * 2, "several messages a stage");
}

#[test]
fn a_pipeline_sends_from_each_host_to_its_place_in_the_next_data_centre() {
    for (dcs, bytes, load) in [(2, 1_000_000, 0.2), (4, 5_000_000, 0.5), (2, 300_000, 0.9)] {
        let w = build(&with_pipeline(32, bytes, load), &across(32, dcs), 1, &|_| None).unwrap();
        let [.., incast, pipeline] = &w.groups[..] else { panic!("{:?}", w.groups) };
        assert_eq!((w.groups.len(), incast.name, pipeline.name), (3, "incast", "pipeline"));
        assert_eq!(pipeline.messages.end as usize, w.messages.len());
        let of = pipeline.messages.start as usize..pipeline.messages.end as usize;
        assert!(w.messages[of.clone()].is_sorted_by_key(start_of));
        let interval = 8e12 * bytes as f64 / (load * 100e9);
        let mut phases = BTreeSet::new();
        for host in 0..32 {
            let mine = of.clone().filter(|&m| w.qps[w.messages[m].qp.index()].src == HostId(host));
            let starts: Vec<u64> = mine
                .map(|m| {
                    assert_eq!(w.qps[w.messages[m].qp.index()].dst, HostId((host + 32 / dcs) % 32));
                    assert_eq!(w.messages[m].bytes, bytes);
                    start_of(&w.messages[m])
                })
                .collect();
            assert!((starts[0] as f64) < interval, "the first one is late: {starts:?}");
            assert!(starts.windows(2).all(|two| ((two[1] - two[0]) as f64 - interval).abs() < 2.0));
            let last = starts[starts.len() - 1];
            assert!(last < 20_000_000_000 && last as f64 + interval >= 20e9 - 2.0, "{last}");
            phases.insert(starts[0]);
        }
        assert_eq!(phases.len(), 32, "every host has a phase of its own");
        let sent = of.len() as f64 * bytes as f64;
        let capacity = 32.0 * Rate::from_gbps(100).bytes_in(Duration::from_us(20_000)) as f64;
        assert!((sent / capacity / load - 1.0).abs() < 0.1, "{}", sent / capacity);
    }
}

fn start_of(message: &crate::Message) -> u64 {
    match message.start {
        Start::At(time) => time.0,
        Start::ByGate => panic!("a gate in a pipeline"),
    }
}

#[test]
fn a_pipeline_leaves_the_rest_as_it_is() {
    let fabric = across(32, 2);
    let without = build(&with_incasts(8, 64_000, 0.3), &fabric, 1, &|_| None).unwrap();
    let both = build(&with_pipeline(32, 1_000_000, 0.2), &fabric, 1, &|_| None).unwrap();
    assert_eq!(both.messages[..without.messages.len()], without.messages);
    assert_eq!(both.qps[..without.qps.len()], without.qps);
    assert_eq!(both.groups[..2], without.groups);
    let other = build(&with_pipeline(32, 1_000_000, 0.2), &fabric, 2, &|_| None).unwrap();
    assert_ne!(
        other.messages[other.groups[2].messages.start as usize],
        both.messages[without.messages.len()]
    );
    let WorkloadSpec::Poisson { sizes, load, hosts, duration, pipeline, .. } =
        with_pipeline(32, 1_000_000, 0.2)
    else {
        unreachable!()
    };
    let alone = WorkloadSpec::Poisson { sizes, load, hosts, duration, inter: None, incast: None, pipeline };
    let alone = build(&alone, &fabric, 1, &|_| None).unwrap();
    assert_eq!(alone.groups.iter().map(|group| group.name).collect::<Vec<_>>(), ["background", "pipeline"]);
}

#[test]
fn pipelines_that_cannot_be_are_refused() {
    let cases = [
        (
            with_pipeline(32, 1_000_000, 0.2),
            1,
            "workload.pipeline: a pipeline leads from data centre to data centre, and this fabric is one; write: \
             [topology] kind = \"cross-dc\", or a workload without pipeline",
        ),
        (
            with_pipeline(16, 1_000_000, 0.2),
            2,
            "workload.hosts: every host is a stage of the pipeline, so 16 of 32 are too few; write: 32",
        ),
        (with_pipeline(32, 0, 0.2), 2, "workload.pipeline.bytes: a message must have at least 1B"),
        (
            with_pipeline(32, 1, 0.91),
            2,
            "workload.pipeline.load: write a share of the line rate above 0 and, together with the others' 0.6, at \
             most 1.5 (10 % is 0.1), not 0.91",
        ),
        (with_pipeline(32, 1, 0.0), 2, "workload.pipeline.load: write a share"),
        (with_pipeline(32, 1, f64::NAN), 2, "workload.pipeline.load: write a share"),
        (
            with_pipeline(32, 100_000_000_000, 0.2),
            2,
            "workload.duration: no micro-batch starts in 20ms: a host starts one every 40000000.0 us; write: a longer",
        ),
        (with_pipeline(32, 1, 0.2), 2, "workload.duration: about 1600"),
    ];
    for (spec, dcs, expected) in cases {
        let got = wrong(spec, &across(32, dcs));
        assert!(got.starts_with(expected), "{got}");
    }
}

#[test]
fn listed_messages_are_as_listed() {
    let message = |from, to, bytes, start| MessageSpec {
        from: HostId(from),
        to: HostId(to),
        bytes: Bytes(bytes),
        start: Duration(start),
    };
    let spec = |list: &[MessageSpec]| WorkloadSpec::Messages { message: list.to_vec() };
    let list = [message(3, 1, 10, 7), message(0, 3, 20, 0), message(3, 1, 30, 7)];
    let w = build(&spec(&list), &fabric(4, 4), 1, &|_| None).unwrap();
    assert_eq!(pairs(&w), [(3, 1), (0, 3), (3, 1)]);
    assert_eq!(
        w.messages.iter().map(|m| (m.bytes, start_of(m))).collect::<Vec<_>>(),
        [(10, 7), (20, 0), (30, 7)]
    );
    assert_eq!(w.qps.len(), 3, "each on a queue pair of its own");
    for (list, expected) in [
        (&[][..], "workload.message: no message is listed; write: at least one"),
        (&[message(4, 1, 1, 0)], "workload.message: there is no host 4: they are 0 to 3"),
        (&[message(1, 4, 1, 0)], "workload.message: there is no host 4: they are 0 to 3"),
        (&[message(2, 2, 1, 0)], "workload.message: host 2 cannot send to itself"),
        (&[message(1, 2, 0, 0)], "workload.message: a message must have at least 1B"),
    ] {
        assert_eq!(wrong(spec(list), &fabric(4, 4)), expected);
    }
}

/// A share between data centres changes only the receivers. Senders, times and sizes are those of a workload without a
/// share.
#[test]
fn a_share_between_data_centres_is_met() {
    let fabric = across(32, 2);
    let with = |inter| {
        let duration = Duration::from_us(20_000);
        let mut spec = poisson("websearch", 0.8, 32, duration);
        if let WorkloadSpec::Poisson { inter: it, .. } = &mut spec {
            *it = inter;
        }
        build(&spec, &fabric, 1, &|_| None).unwrap()
    };
    let crossing = |w: &Workload| {
        let crosses = pairs(w).iter().filter(|(src, dst)| src / 16 != dst / 16).count();
        crosses as f64 / w.messages.len() as f64
    };
    let uniform = with(None);
    assert!((crossing(&uniform) - 16.0 / 31.0).abs() < 0.03, "{}", crossing(&uniform));
    for share in [0.0, 0.2, 1.0] {
        let w = with(Some(share));
        assert!((crossing(&w) - share).abs() < 0.03, "{share}: {}", crossing(&w));
        assert!(pairs(&w).iter().all(|(src, dst)| src != dst && *dst < 32));
        let receivers: BTreeSet<u32> = pairs(&w).iter().map(|pair| pair.1).collect();
        assert_eq!(receivers.len(), 32);
        let sent = |w: &Workload| w.messages.iter().map(|m| (m.bytes, start_of(m))).collect::<Vec<_>>();
        assert_eq!(sent(&w), sent(&uniform));
    }
}

#[test]
fn a_share_between_data_centres_needs_them() {
    let with = |hosts, share| {
        let mut spec = poisson("websearch", 0.8, hosts, Duration::from_us(2_000));
        if let WorkloadSpec::Poisson { inter, .. } = &mut spec {
            *inter = Some(share);
        }
        spec
    };
    for (spec, fabric, words) in [
        (with(32, 0.2), fabric(32, 4), "there is no other data centre"),
        (with(16, 0.2), across(32, 2), "16 of 32 are too few; write: 32"),
        (with(32, 18.0), across(32, 2), "from 0 to 1"),
        (with(2, 0.5), across(2, 2), "none to send to there; write: 1"),
    ] {
        let said = wrong(spec, &fabric);
        assert!(said.contains(words), "{said}");
    }
}
