use super::*;
use crate::Gate;
use anabranch_base::Rate;

const GBPS: u64 = 1_000_000_000;

fn fabric(tors: u32, hosts_per_tor: u32) -> Fabric {
    let hosts = tors * hosts_per_tor;
    Fabric {
        hosts,
        host_rate: Rate(400 * GBPS),
        tor_of: (0..hosts).map(|host| host / hosts_per_tor).collect(),
        dcs: 1,
        ..Fabric::default()
    }
}

fn placed(ranks: u32, jobs: u32, placement: Placement) -> CollectiveSpec {
    CollectiveSpec {
        algorithm: Algorithm::AllreduceRing,
        bytes: Bytes(1000),
        members: Members::Placed { ranks, jobs, placement },
        chunk: Some(Bytes(100)),
        connections: None,
        depth: None,
        clock: None,
        jitter: None,
        server: None,
    }
}

fn grouped(groups: &[&[u32]]) -> CollectiveSpec {
    let groups = groups.iter().map(|group| group.to_vec()).collect();
    CollectiveSpec { members: Members::Groups { groups }, ..placed(2, 1, Placement::Blocks) }
}

fn to_all(ranks: u32, connections: u32) -> CollectiveSpec {
    CollectiveSpec {
        algorithm: Algorithm::Alltoall,
        chunk: None,
        connections: Some(connections),
        ..placed(ranks, 1, Placement::Blocks)
    }
}

fn hosts_of(spec: &CollectiveSpec, fabric: &Fabric, seed: u64) -> Vec<Vec<u32>> {
    let jobs = build(spec, fabric, seed).unwrap().jobs;
    jobs.iter().map(|job| job.hosts.iter().map(|host| host.0).collect()).collect()
}

#[test]
fn jobs_are_placed() {
    let fabric = fabric(4, 4);
    assert_eq!(hosts_of(&placed(3, 2, Placement::Blocks), &fabric, 1), [[0, 1, 2], [3, 4, 5]]);
    let spread = hosts_of(&placed(3, 5, Placement::Spread), &fabric, 1);
    assert_eq!(spread, [[0, 4, 8], [1, 5, 12], [2, 9, 13], [6, 10, 14], [3, 7, 11]]);
    let random = hosts_of(&placed(4, 4, Placement::Random), &fabric, 1);
    let mut all: Vec<u32> = random.concat();
    assert_ne!(all, (0..16).collect::<Vec<_>>());
    all.sort_unstable();
    assert_eq!(all, (0..16).collect::<Vec<_>>(), "no host in two jobs");
    assert_eq!(random, hosts_of(&placed(4, 4, Placement::Random), &fabric, 1));
    assert_ne!(random, hosts_of(&placed(4, 4, Placement::Random), &fabric, 2));
    assert_eq!(hosts_of(&grouped(&[&[5, 0, 7], &[0, 1]]), &fabric, 1), [vec![5, 0, 7], vec![0, 1]]);
}

/// Three servers of four GPUs each, in which two GPUs share a NIC. There are NICs 0 to 5 and GPUs 0 to 11.
#[test]
fn jobs_are_placed_by_servers_and_by_rails() {
    let servers = Some(anabranch_fabric::Servers::uniform(3, 4, 2, 1));
    let nics = Fabric { servers, ..fabric(2, 3) };
    assert_eq!(hosts_of(&placed(2, 2, Placement::Servers), &nics, 1), [[0, 1], [2, 3]]);
    assert_eq!(hosts_of(&placed(3, 1, Placement::Rails), &nics, 1), [[0, 2, 4]]);
    assert_eq!(hosts_of(&placed(2, 3, Placement::Rails), &nics, 1), [[0, 2], [4, 1], [3, 5]]);
    let gpus = nics.of_gpus().unwrap();
    let place = |placement, ranks, jobs| place::place_all(placement, ranks, jobs, &gpus, 1);
    // The second job leaves the remaining GPUs of the first job's server free.
    assert_eq!(place(Placement::Servers, 3, 2).unwrap(), [[0, 1, 2], [4, 5, 6]]);
    assert_eq!(place(Placement::Servers, 6, 1).unwrap(), [[0, 1, 2, 3, 4, 5]]);
    assert_eq!(place(Placement::Rails, 6, 2).unwrap(), [[0, 1, 4, 5, 8, 9], [2, 3, 6, 7, 10, 11]]);
    // A job that is placed later gets only servers without other jobs.
    let free = ((2..12).collect(), 1);
    assert_eq!(place::place_among(Placement::Servers, (4, 1), free, &gpus, 1).unwrap(), [[4, 5, 6, 7]]);
    let all = [Placement::Servers, Placement::NvlinkDomains].map(|placement| place(placement, 9, 1).unwrap());
    assert_eq!(all, [[[0, 1, 2, 3, 4, 5, 6, 7, 8]], [[0, 1, 2, 3, 4, 5, 6, 7, 8]]]);
    let of_two = Fabric { servers: Some(anabranch_fabric::Servers::uniform(4, 4, 2, 2)), ..fabric(2, 4) };
    let of_two = of_two.of_gpus().unwrap();
    let in_domains = |ranks, jobs| place::place_all(Placement::NvlinkDomains, ranks, jobs, &of_two, 1);
    assert_eq!(in_domains(3, 3).unwrap(), [[0, 1, 2], [3, 4, 5], [8, 9, 10]]);
    assert_eq!(in_domains(6, 2).unwrap(), [[0, 1, 2, 3, 4, 5], [8, 9, 10, 11, 12, 13]]);
    assert_eq!(in_domains(9, 1).unwrap(), [[0, 1, 2, 3, 4, 5, 6, 7, 8]]);
    let free = ((1..16).collect(), 1);
    let later = place::place_among(Placement::NvlinkDomains, (8, 1), free, &of_two, 1).unwrap();
    assert_eq!(later, [[8, 9, 10, 11, 12, 13, 14, 15]]);
    let error = in_domains(6, 3).unwrap_err().to_string();
    assert!(error.contains("only 2 jobs of 6 ranks fit where none is in two NVLink domains"), "{error}");
    let error = place(Placement::Servers, 3, 4).unwrap_err().to_string();
    assert!(error.contains("only 3 jobs of 3 ranks fit"), "{error}");
    for placement in [Placement::Servers, Placement::Rails, Placement::NvlinkDomains] {
        let error = build(&placed(2, 1, placement), &fabric(2, 2), 1).unwrap_err().to_string();
        assert!(error.contains("has none; write: \"blocks\""), "{error}");
    }
}

#[test]
fn jobs_have_ranges_of_messages_and_a_queue_pair_for_each_pair() {
    let workload = build(&placed(4, 3, Placement::Blocks), &fabric(4, 4), 1).unwrap();
    let ranges: Vec<_> = workload.jobs.iter().map(|job| job.messages.clone()).collect();
    assert_eq!(ranges, [0..72, 72..144, 144..216]);
    assert!(workload.jobs.iter().all(|job| job.algorithm == "allreduce-ring"));
    let pairs: Vec<(u32, u32)> = workload.qps[4..8].iter().map(|qp| (qp.src.0, qp.dst.0)).collect();
    assert_eq!(pairs, [(4, 5), (5, 6), (6, 7), (7, 4)]);
    assert_eq!(workload.qps.len(), 12);
    // 1000 B in 4 blocks are 250 B each, in chunks of 100, 100 and 50 B. The first of 6 steps starts immediately.
    let bytes: Vec<u64> = workload.messages[..3].iter().map(|message| message.bytes).collect();
    assert_eq!(bytes, [100, 100, 50]);
    let at_once = workload.messages.iter().filter(|message| message.start == Start::At(Time::ZERO)).count();
    assert_eq!(at_once, 3 * 12);
}

/// In a ring of 4 ranks with 3 chunks per block and depth 2, the k-th chunk to the next rank waits for its data and for
/// the completion of the (k-2)-th chunk.
#[test]
fn with_a_depth_a_chunk_waits_for_an_earlier_one_to_the_same_rank() {
    for (clock, on) in [(Clock::Ack, Done::Acknowledged), (Clock::Delivered, Done::Delivered)] {
        let spec = CollectiveSpec { depth: Some(2), clock: Some(clock), ..placed(4, 1, Placement::Blocks) };
        let workload = build(&spec, &fabric(1, 4), 1).unwrap();
        let plain = build(&placed(4, 1, Placement::Blocks), &fabric(1, 4), 1).unwrap();
        let to_next: Vec<MessageId> = (0..72)
            .map(MessageId)
            .filter(|message| workload.messages[message.index()].qp == QpId(0))
            .collect();
        assert_eq!(to_next.len(), 18);
        let at_once =
            |message: &&MessageId| workload.messages[message.index()].start == Start::At(Time::ZERO);
        assert_eq!(to_next.iter().filter(at_once).count(), 2, "of the three of the first step");
        let gate_of = |workload: &Workload, message: MessageId| {
            let starts = |gate: &Gate| {
                workload.gate_starts[gate.starts_from as usize..][..gate.starts_len as usize]
                    .contains(&message)
            };
            workload.gates.iter().find(|gate| starts(gate)).map(|gate| gate.opens)
        };
        for (place, &message) in to_next.iter().enumerate().skip(2) {
            let Opens::After(waits) = gate_of(&workload, message).unwrap() else { panic!() };
            let data = gate_of(&plain, message).map_or(0, |opens| match opens {
                Opens::After(waits) => waits,
                other => panic!("{other:?}"),
            });
            assert_eq!(waits, data + 1, "chunk {place}");
        }
        let extra = workload.activations.len() - plain.activations.len();
        assert_eq!(extra, 4 * 16);
        let acknowledged = workload.activations.iter().filter(|one| one.on == Done::Acknowledged).count();
        assert_eq!(acknowledged, if on == Done::Acknowledged { 4 * 16 } else { 0 });
    }
}

#[test]
fn an_all_to_all_opens_the_next_when_one_is_acknowledged() {
    let workload = build(&to_all(5, 2), &fabric(1, 5), 1).unwrap();
    let ends = |message: MessageId| workload.qps[workload.messages[message.index()].qp.index()];
    for rank in 0..5 {
        let mine: Vec<MessageId> =
            (0..20).map(MessageId).filter(|&message| ends(message).src.0 == rank).collect();
        let to: Vec<u32> = mine.iter().map(|&message| ends(message).dst.0).collect();
        assert_eq!(to, (1..5).map(|ahead| (rank + ahead) % 5).collect::<Vec<_>>());
        let at_once =
            |message: &&MessageId| workload.messages[message.index()].start == Start::At(Time::ZERO);
        assert_eq!(mine.iter().take_while(at_once).count(), 2);
        let gate = workload.gates[rank as usize];
        assert_eq!(gate.opens, Opens::Each);
        assert_eq!(workload.gate_starts[gate.starts_from as usize..][..gate.starts_len as usize], mine[2..]);
    }
    assert!(workload.activations.iter().all(|activation| activation.on == Done::Acknowledged));
    let all_open = build(&to_all(5, 4), &fabric(1, 5), 1).unwrap();
    assert_eq!((all_open.gates.len(), all_open.activations.len()), (0, 0));
}

#[test]
fn bytes_that_ranks_do_not_divide_make_blocks_that_differ_by_one_byte() {
    let spec = CollectiveSpec { bytes: Bytes(10), ..to_all(4, 3) };
    let workload = build(&spec, &fabric(1, 4), 1).unwrap();
    let to: Vec<(u32, u64)> =
        workload.messages[..4].iter().map(|m| (workload.qps[m.qp.index()].dst.0, m.bytes)).collect();
    assert_eq!(to, [(1, 3), (2, 2), (3, 2), (0, 3)]);
    let fewer_than_ranks = CollectiveSpec { bytes: Bytes(1), ..placed(8, 1, Placement::Blocks) };
    assert_eq!(build(&fewer_than_ranks, &fabric(1, 8), 1).unwrap().messages.len(), 14);
}

#[test]
fn what_is_wrong_is_said_with_what_to_write() {
    let wrong = |spec: CollectiveSpec| build(&spec, &fabric(4, 4), 1).unwrap_err().to_string();
    let blocks = |ranks, jobs| placed(ranks, jobs, Placement::Blocks);
    let spread = |ranks, jobs| placed(ranks, jobs, Placement::Spread);
    for (spec, expected) in [
        (blocks(1, 1), "workload.ranks: a collective is among 2 ranks at least, not 1; write: 2"),
        (blocks(17, 1), "workload.ranks: a job of 17 ranks is larger than the fabric of 16 hosts; write: 16"),
        (blocks(5, 4), "workload.jobs: 4 jobs of 5 ranks need 20 hosts, and the fabric has 16; write: 3"),
        (blocks(5, 0), "workload.jobs: there must be a job; write: 1"),
        (
            spread(5, 1),
            "workload.placement: 5 ranks cannot be under different ToRs: the fabric has 4; write: at most 4 ranks, or \
             placement = \"random\"",
        ),
        (grouped(&[]), "workload.groups: there must be a group; write: [[0, 1]]"),
        (
            grouped(&[&[0, 1], &[3]]),
            "workload.groups: a collective is among 2 ranks at least, and group 1 has 1; write: at least 2 hosts",
        ),
        (
            grouped(&[&[0, 1, 16]]),
            "workload.groups: group 0 has host 16, which does not exist; write: hosts of 0 to 15",
        ),
        (grouped(&[&[0, 3, 0]]), "workload.groups: group 0 has host 0 twice; write: each host once"),
        (
            to_all(5, 0),
            "workload.connections: a rank sends to 4 others, so 0 of them cannot be open; write: 1",
        ),
        (
            to_all(5, 5),
            "workload.connections: a rank sends to 4 others, so 5 of them cannot be open; write: 4",
        ),
        (
            CollectiveSpec { connections: Some(1), ..blocks(4, 1) },
            "workload.connections: only an all-to-all opens connections one after the other, not allreduce-ring; \
             write: [workload] without connections",
        ),
        (
            CollectiveSpec { chunk: Some(Bytes(5)), ..to_all(5, 4) },
            "workload.chunk: an all-to-all sends the block for each rank as one message; write: [workload] without chunk",
        ),
        (
            CollectiveSpec { chunk: Some(Bytes(0)), ..blocks(4, 1) },
            "workload.chunk: a chunk must have at least 1B; write: \"128KB\"",
        ),
        (
            CollectiveSpec { bytes: Bytes(0), ..blocks(4, 1) },
            "workload.bytes: a collective of no bytes sends nothing; write: \"8MB\"",
        ),
        (
            CollectiveSpec { bytes: Bytes(20_000_000), chunk: Some(Bytes(1)), ..blocks(4, 1) },
            "workload.chunk: 120000000 messages would be sent, and the most is 50000000; write: a larger chunk, or \
             fewer ranks or jobs",
        ),
    ] {
        assert_eq!(wrong(spec), expected);
    }
}

#[test]
fn a_spread_that_runs_out_of_tors_says_how_many_jobs_fit() {
    // The first ToR has three hosts, and each further ToR has one. With two further ToRs, both jobs find two ToRs.
    // With one further ToR, only the first job finds two ToRs.
    let uneven =
        Fabric { hosts: 5, host_rate: Rate(GBPS), tor_of: vec![0, 0, 0, 1, 2], dcs: 1, ..Fabric::default() };
    assert_eq!(hosts_of(&placed(2, 2, Placement::Spread), &uneven, 1), [[0, 3], [1, 4]]);
    let tight =
        Fabric { hosts: 4, host_rate: Rate(GBPS), tor_of: vec![0, 0, 0, 1], dcs: 1, ..Fabric::default() };
    let text = build(&placed(2, 2, Placement::Spread), &tight, 1).unwrap_err().to_string();
    assert!(text.contains("only 1 jobs of 2 ranks fit"), "{text}");
}

/// The first messages of a rank start together, at a random time below the jitter. The time differs between ranks and
/// between seeds.
#[test]
fn ranks_of_an_all_to_all_begin_at_random() {
    let fabric = fabric(8, 4);
    let jitter = Some(Duration::from_us(500));
    let begins = |jitter, seed| {
        let w = build(&CollectiveSpec { jitter, ..to_all(4, 2) }, &fabric, seed).unwrap();
        let first = w.messages.iter().filter_map(|message| match message.start {
            Start::At(time) => Some((w.qps[message.qp.index()].src.0, time)),
            Start::ByGate => None,
        });
        let first: Vec<(u32, Time)> = first.collect();
        assert_eq!(first.len(), 8, "two of each rank");
        first.into_iter().collect::<BTreeSet<_>>()
    };
    assert!(begins(None, 1).iter().all(|(_, time)| *time == Time::ZERO));
    let drawn = begins(jitter, 1);
    assert_eq!(drawn.len(), 4, "one time a rank");
    assert_eq!(drawn.iter().map(|(_, time)| *time).collect::<BTreeSet<_>>().len(), 4);
    assert!(drawn.iter().all(|(_, time)| time.0 < 500_000_000));
    assert_eq!(drawn, begins(jitter, 1));
    assert_ne!(drawn, begins(jitter, 2));
    let said = build(&CollectiveSpec { jitter, ..placed(4, 1, Placement::Blocks) }, &fabric, 1).unwrap_err();
    assert!(said.to_string().contains("write: [workload] without jitter"), "{said}");
}

#[test]
fn two_workloads_beside_each_other_stay_as_they_are() {
    let fabric = fabric(4, 4);
    let [one, other] =
        [placed(4, 2, Placement::Blocks), to_all(5, 2)].map(|spec| build(&spec, &fabric, 1).unwrap());
    let both = one.clone().beside(other.clone()).unwrap();
    both.validate().unwrap();
    assert_eq!(both.messages.len(), one.messages.len() + other.messages.len());
    assert_eq!(both.jobs.len(), one.jobs.len() + other.jobs.len());
    let of_job = |workload: &Workload, job: usize| -> Vec<(u64, u32, u32)> {
        let ends = |message: u32| {
            let message = &workload.messages[message as usize];
            let qp = workload.qps[message.qp.index()];
            (message.bytes, qp.src.0, qp.dst.0)
        };
        workload.jobs[job].messages.clone().map(ends).collect()
    };
    assert_eq!(of_job(&both, 1), of_job(&one, 1));
    assert_eq!(of_job(&both, 2), of_job(&other, 0));
}

fn on_servers(algorithm: Algorithm, channels: u32) -> Workload {
    let server = ServerSpec {
        ranks: Some(4),
        link: Rate(2_966_400_000_000),
        link_latency: Duration(500_000),
        pxn: Some(true),
        channels: Some(channels),
        nvls: false,
    };
    let spec = CollectiveSpec { algorithm, server: Some(server), ..placed(8, 1, Placement::Blocks) };
    build(&spec, &fabric(2, 4), 1).unwrap()
}

#[test]
fn each_channel_has_a_queue_pair() {
    for (channels, expected) in [(1, 2), (4, 8), (8, 16)] {
        let built = on_servers(Algorithm::AllreduceRing, channels);
        let between: BTreeSet<(HostId, HostId)> = built.qps.iter().map(|qp| (qp.src, qp.dst)).collect();
        assert_eq!((built.qps.len(), between.len()), (expected, expected.min(8)), "{channels} channels");
    }
}

#[test]
fn a_job_has_the_choice_of_nccl() {
    let chosen = |algorithm| on_servers(algorithm, 4).jobs[0].chosen;
    let layout = Layout::of((0..8).map(|rank| (rank / 4, rank % 4)), 4, false, false);
    let layout = layout.with_rates([Rate(400 * GBPS), Rate(2_966_400_000_000)]);
    let expected = nccl::Cluster::of(&layout).choose_allreduce(1000);
    assert_eq!(chosen(Algorithm::AllreduceNccl), Some(expected));
    assert_eq!(chosen(Algorithm::AllreduceRing), None);
}
