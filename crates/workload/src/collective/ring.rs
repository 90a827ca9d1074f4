//! Collectives on rings, with one ring for each channel.

use super::blocks::Blocks;
use super::layout::Layout;
use super::plan::{Action, Planner, Transfer};

/// ReduceScatter on rings. After step s, counted from 0, the rank at position p has the sum over s + 2 ranks for the
/// block of position p - 2 - s. After the last step, each rank has the sum over all ranks for its own block.
pub(super) fn reduce_scatter(planner: &mut Planner, layout: &Layout, bytes: u64) {
    let n = layout.ranks();
    rotate(planner, layout, bytes, Action::Reduce, |step| n - 1 - step);
}

/// AllGather on rings. In the first step, each rank sends its own block. In each later step, it forwards the block that
/// it received in the previous step.
pub(super) fn all_gather(planner: &mut Planner, layout: &Layout, bytes: u64) {
    let n = layout.ranks();
    rotate(planner, layout, bytes, Action::Copy, |step| n - step);
}

/// Broadcast from rank 0 along the rings.
pub(super) fn broadcast(planner: &mut Planner, layout: &Layout, bytes: u64) {
    let mut rings = rings(layout);
    for ring in &mut rings {
        let root = ring.iter().position(|rank| *rank == 0).unwrap_or(0);
        ring.rotate_left(root);
    }
    let parts = Blocks::of(bytes, layout.channels());
    for position in 0..layout.ranks() as usize - 1 {
        planner.step((0..).zip(&rings).map(|(channel, ring)| Transfer {
            src: ring[position],
            dst: ring[position + 1],
            range: parts.range(channel, 1),
            action: Action::Copy,
            channel,
        }));
    }
}

/// Adds the steps of the rings. In each step, a rank sends the block of the rank `ahead(step)` positions after it on
/// the ring.
fn rotate(planner: &mut Planner, layout: &Layout, bytes: u64, action: Action, ahead: impl Fn(u32) -> u32) {
    let n = layout.ranks();
    let rings = rings(layout);
    let blocks = Blocks::of(bytes, n);
    for step in 0..n - 1 {
        let ahead = ahead(step);
        planner.step((0..).zip(&rings).flat_map(|(channel, ring)| {
            (0..n).map(move |position| {
                let at =
                    |ahead: u32| ring[((u64::from(position) + u64::from(ahead)) % u64::from(n)) as usize];
                let parts = Blocks::within(blocks.range(at(ahead), 1), layout.channels());
                Transfer { src: at(0), dst: at(1), range: parts.range(channel, 1), action, channel }
            })
        }));
    }
}

fn rings(layout: &Layout) -> Vec<Vec<u32>> {
    (0..layout.channels()).map(|channel| layout.ring(channel)).collect()
}
