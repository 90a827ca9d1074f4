//! AllReduce within the servers and along the rails.

use super::blocks::Blocks;
use super::layout::Layout;
use super::plan::{Action, Planner, Transfer};
use std::ops::Range;

/// The ranks of each server, and the shares of the buffer. There are as many shares as the smallest server has ranks.
fn shares(layout: &Layout, bytes: u64) -> (Vec<Vec<u32>>, Blocks) {
    let servers: Vec<Vec<u32>> = layout.members().collect();
    let count = servers.iter().map(Vec::len).min().unwrap_or(1);
    (servers, Blocks::of(bytes, count as u32))
}

/// The largest number of chunks of a share that the NVLink switch processes at a time. It is the number of steps of
/// NCCL's buffers (`NCCL_STEPS`).
const SWITCH_DEPTH: usize = 8;

/// Adds the steps of the collective. In each server, the first ranks have one share of the buffer each. Further ranks
/// have none.
pub(super) fn plan(planner: &mut Planner, layout: &Layout, bytes: u64, chunk: u64) {
    let (servers, shares) = shares(layout, bytes);
    if layout.has_switch() {
        return by_switch(planner, &servers, shares, chunk);
    }
    let ranges: Vec<(u64, u64)> = (0..shares.count()).map(|share| shares.range(share, 1)).collect();
    planner.step(servers.iter().flat_map(|ranks| exchange(ranks, shares, Action::Reduce)));
    along_rails(planner, &servers, &ranges);
    planner.step(servers.iter().flat_map(|ranks| exchange(ranks, shares, Action::Copy)));
}

/// Adds the steps chunk by chunk: those for the first chunk of every share, then those for the second chunk, and so
/// on. A rank sends a chunk to its NVLink switch once it has the result of the chunk [`SWITCH_DEPTH`] positions
/// earlier.
fn by_switch(planner: &mut Planner, servers: &[Vec<u32>], shares: Blocks, chunk: u64) {
    let longest = shares.range(0, 1).1;
    let mut results: Vec<Range<u32>> = Vec::new();
    for number in 0..longest.div_ceil(chunk) {
        let piece = |share: u32| {
            let (from, to) = shares.range(share, 1);
            let at = |number: u64| to.min(from.saturating_add(number.saturating_mul(chunk)));
            (at(number), at(number + 1))
        };
        let ranges: Vec<(u64, u64)> = (0..shares.count()).map(piece).collect();
        let earlier = results.len().checked_sub(SWITCH_DEPTH).map_or(0..0, |before| results[before].clone());
        planner.switch_step(servers.iter().flat_map(|ranks| to_switch(ranks, &ranges)), earlier);
        along_rails(planner, servers, &ranges);
        let first = planner.sends();
        planner.switch_step(servers.iter().flat_map(|ranks| from_switch(ranks, &ranges)), 0..0);
        results.push(first..planner.sends());
    }
}

/// The number of messages of [`plan`].
pub(super) fn messages(layout: &Layout, bytes: u64, chunk: u64) -> u64 {
    let (servers, shares) = shares(layout, bytes);
    let count = servers.len() as u32;
    let in_server = |ranks: &Vec<u32>| {
        let others = ranks.len() as u64 - 1;
        shares.chunks(chunk).saturating_mul(2 * others + u64::from(layout.has_switch()))
    };
    let in_servers = servers.iter().map(in_server).fold(0, u64::saturating_add);
    let of_share = |size: u64| match layout.has_switch() {
        // Each chunk of a share has its own ring AllReduce.
        true => {
            let whole = Blocks::of(chunk, count).chunks(chunk).saturating_mul(size / chunk);
            whole.saturating_add(Blocks::of(size % chunk, count).chunks(chunk))
        }
        false => Blocks::of(size, count).chunks(chunk),
    };
    let rings = shares.sizes().map(|(size, shares)| match shares {
        0 => 0,
        several => of_share(size).saturating_mul(several),
    });
    let along_rails = rings[0].saturating_add(rings[1]).saturating_mul(2 * u64::from(count - 1));
    in_servers.saturating_add(along_rails)
}

/// The transfers in which each rank sends one share to every other rank: the receiver's share with [`Action::Reduce`],
/// and its own share with [`Action::Copy`]. A rank without a share receives none with [`Action::Reduce`], and sends
/// none with [`Action::Copy`]. Each rank sends to the next rank first, then to the rank after it, and so on.
fn exchange(ranks: &[u32], shares: Blocks, action: Action) -> Vec<Transfer> {
    let count = ranks.len();
    let mut transfers = Vec::with_capacity(count * count);
    for round in 1..count {
        for from in 0..count {
            let to = (from + round) % count;
            let share = if action == Action::Reduce { to } else { from } as u32;
            if share < shares.count() {
                transfers.push(Transfer {
                    src: ranks[from],
                    dst: ranks[to],
                    range: shares.range(share, 1),
                    action,
                    channel: 0,
                });
            }
        }
    }
    transfers
}

/// The transfers to the switch, which sums each range over all ranks and sends the sum to the rank of the range. That
/// rank sends its own data to the switch too.
fn to_switch(ranks: &[u32], ranges: &[(u64, u64)]) -> Vec<Transfer> {
    let to = |(&dst, &range): (&u32, &(u64, u64))| {
        ranks.iter().map(move |&src| Transfer { src, dst, range, action: Action::Reduce, channel: 0 })
    };
    ranks.iter().zip(ranges).flat_map(to).collect()
}

/// The transfers in which the rank of each range sends the range through the switch to all other ranks.
fn from_switch(ranks: &[u32], ranges: &[(u64, u64)]) -> Vec<Transfer> {
    let from = |(&src, &range): (&u32, &(u64, u64))| {
        let others = ranks.iter().filter(move |rank| **rank != src);
        others.map(move |&dst| Transfer { src, dst, range, action: Action::Copy, channel: 0 })
    };
    ranks.iter().zip(ranges).flat_map(from).collect()
}

/// Adds a ring AllReduce for each range. Its ranks are those that hold this range, one of each server.
fn along_rails(planner: &mut Planner, servers: &[Vec<u32>], ranges: &[(u64, u64)]) {
    let n = servers.len() as u32;
    for (action, first) in [(Action::Reduce, n - 1), (Action::Copy, n)] {
        for step in 0..n - 1 {
            planner.step(ranges.iter().enumerate().flat_map(|(share, &range)| {
                let blocks = Blocks::within(range, n);
                (0..n).map(move |position| {
                    let rank = |at: u32| servers[(at % n) as usize][share];
                    let range = blocks.range((position + first - step) % n, 1);
                    Transfer { src: rank(position), dst: rank(position + 1), range, action, channel: 0 }
                })
            }));
        }
    }
}
