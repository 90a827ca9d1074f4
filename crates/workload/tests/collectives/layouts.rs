//! Tests of collectives that know servers: every rank ends with the right contributions, each exactly once, and few
//! bytes leave a server.

use anabranch_workload::collective::{Action, Algorithm, Layout, Plan};
use std::collections::BTreeMap;

/// The number of contributions of each rank to each byte of each rank's buffer.
type Data = Vec<Vec<Vec<u8>>>;

/// The data after all steps of a plan. In each step, a rank sends the data that it had before the step.
fn after(plan: &Plan, start: Data) -> Data {
    let mut data = start;
    let last = plan.sends.last().map_or(0, |send| send.step);
    for step in 0..=last {
        let before = data.clone();
        for send in plan.sends.iter().filter(|send| send.step == step) {
            // The switch adds the rank's own data to the sum, and the rank's buffer already has this data.
            if send.src == send.dst {
                assert!(send.switch && send.action == Action::Reduce, "{send:?}");
                continue;
            }
            for byte in send.from as usize..(send.from + send.bytes) as usize {
                let sent = &before[send.src as usize][byte];
                let into = &mut data[send.dst as usize][byte];
                match send.action {
                    Action::Copy => into.clone_from(sent),
                    Action::Reduce => into.iter_mut().zip(sent).for_each(|(into, sent)| *into += sent),
                }
            }
        }
    }
    data
}

fn own(ranks: usize, bytes: u64) -> Data {
    let of = |rank: usize| (0..ranks).map(|other| u8::from(other == rank)).collect::<Vec<u8>>();
    (0..ranks).map(|rank| vec![of(rank); bytes as usize]).collect()
}

/// A layout of servers. `servers` has the number of ranks of each server, and each rank of a server is on its own
/// rail. If the number of channels is odd, rings visit the ranks of every second server in reverse.
fn layout(servers: &[u32], channels: u32, switch: bool) -> Layout {
    let places = servers
        .iter()
        .enumerate()
        .flat_map(|(server, &ranks)| (0..ranks).map(move |rail| (server as u32, rail)));
    Layout::of(places, channels, channels % 2 == 1, switch)
}

const SERVERS: [&[u32]; 7] =
    [&[4, 4], &[8, 8, 8], &[1, 1, 1], &[5], &[2, 3, 1], &[4, 4, 4, 4], &[3, 3, 3, 3, 3]];

#[test]
fn allreduces_add_up_everything_once_in_any_layout() {
    for (name, algorithm) in
        Algorithm::ALL.into_iter().filter(|(_, a)| a.collective() == "allreduce" && !a.needs_servers())
    {
        for servers in SERVERS {
            for (channels, switch) in [(1, false), (4, true), (3, false), (8, true)] {
                let layout = layout(servers, channels, switch);
                let ranks = layout.ranks() as usize;
                for (bytes, chunk) in [(61, 3), (7, 100), (96, 8)] {
                    let plan = algorithm.plan_in(&layout, bytes, chunk, 1);
                    let expected = algorithm.messages_in(&layout, bytes, chunk);
                    assert_eq!(plan.sends.len() as u64, expected, "{name} {servers:?} {channels} {switch}");
                    let all = after(&plan, own(ranks, bytes));
                    let complete = all.iter().flatten().all(|byte| byte.iter().all(|count| *count == 1));
                    assert!(complete, "{name} {servers:?} {channels} {switch} {bytes}");
                }
            }
        }
    }
}

#[test]
fn rings_gather_scatter_and_broadcast_in_any_layout() {
    for servers in SERVERS {
        for channels in [1, 3, 4] {
            let layout = layout(servers, channels, false);
            let ranks = layout.ranks() as usize;
            let bytes = 6 * ranks as u64;
            let run = |algorithm: Algorithm| {
                let plan = algorithm.plan_in(&layout, bytes, 4, 1);
                assert_eq!(plan.sends.len() as u64, algorithm.messages_in(&layout, bytes, 4));
                after(&plan, own(ranks, bytes))
            };
            let (gathered, scattered, cast) = (
                run(Algorithm::AllgatherRing),
                run(Algorithm::ReducescatterRing),
                run(Algorithm::BroadcastRing),
            );
            for rank in 0..ranks {
                for byte in 0..bytes as usize {
                    let only = |of: usize| (0..ranks).map(|other| u8::from(other == of)).collect::<Vec<u8>>();
                    assert_eq!(gathered[rank][byte], only(byte / 6), "{servers:?} {channels}");
                    assert_eq!(cast[rank][byte], only(0), "{servers:?} {channels}");
                    if byte / 6 == rank {
                        assert_eq!(scattered[rank][byte], vec![1; ranks], "{servers:?} {channels}");
                    }
                }
            }
        }
    }
}

/// The bytes that leave each server, and the bytes that each rank sends within its server.
fn sent(plan: &Plan, of_server: u32) -> (BTreeMap<u32, u64>, BTreeMap<u32, u64>) {
    let (mut out, mut within) = (BTreeMap::new(), BTreeMap::new());
    for send in &plan.sends {
        match send.src / of_server == send.dst / of_server {
            true => *within.entry(send.src).or_default() += send.bytes,
            false => *out.entry(send.src / of_server).or_default() += send.bytes,
        }
    }
    (out, within)
}

/// A ring over two servers of four ranks sends 2 * 7/8 of the bytes out of each server, on one channel or four. In a
/// single server, each rank sends 2 * 3/4 of the bytes.
#[test]
fn rings_leave_a_server_once_per_channel() {
    const B: u64 = 1 << 20;
    for channels in [1, 4] {
        let plan = Algorithm::AllreduceRing.plan_in(&layout(&[4, 4], channels, false), B, 1 << 14, 1);
        let (out, _) = sent(&plan, 4);
        assert_eq!(out, [(0, 2 * 7 * B / 8), (1, 2 * 7 * B / 8)].into());
        let mut on_rails: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        for send in plan.sends.iter().filter(|send| send.src / 4 != send.dst / 4) {
            *on_rails.entry((send.src, send.dst)).or_default() += send.bytes;
        }
        assert_eq!(on_rails.len() as u32, 2 * channels);
        assert!(on_rails.values().all(|bytes| *bytes == 2 * 7 * B / 8 / u64::from(channels)), "{on_rails:?}");
    }
    let plan = Algorithm::AllreduceRing.plan_in(&layout(&[4], 4, false), B, 1 << 14, 1);
    let (out, within) = sent(&plan, 4);
    assert_eq!((out.len(), within), (0, (0..4).map(|rank| (rank, 2 * 3 * B / 4)).collect()));
}

/// With S servers, each rank sends 2 (S-1)/S times its share along its rail.
#[test]
fn a_hierarchical_allreduce_sends_shares_along_rails() {
    const B: u64 = 1 << 20;
    let plan = Algorithm::AllreduceHierarchical.plan_in(&layout(&[4, 4, 4, 4], 4, false), B, 1 << 14, 1);
    let (out, within) = sent(&plan, 4);
    assert!(out.values().all(|bytes| *bytes == 2 * 3 * B / 4), "{out:?}");
    assert!(within.values().all(|bytes| *bytes == 2 * 3 * B / 4), "{within:?}");
    assert!(plan.sends.iter().all(|send| send.src / 4 == send.dst / 4 || send.src % 4 == send.dst % 4));
}

/// The root of a broadcast sends the first chunk of every channel before the second chunk of any channel.
#[test]
fn the_channels_of_a_rank_are_side_by_side() {
    const B: u64 = 1 << 20;
    let plan = Algorithm::BroadcastRing.plan_in(&layout(&[4, 4], 4, false), B, 1 << 12, 1);
    let of_root = plan.sends.iter().filter(|send| send.src == 0 && send.step == 0);
    let first: Vec<(u32, u64)> = of_root.map(|send| (send.channel, send.from / (B / 8))).take(8).collect();
    // Each channel has a quarter of the bytes.
    let round = [(0, 0), (1, 2), (2, 4), (3, 6)];
    assert_eq!(first, [round, round].concat());
}
