//! Adaptive routing: the choice of the shortest queue.

use anabranch_base::Stream;
use smallvec::SmallVec;
use std::hint::select_unpredictable;

/// The queue length that stands for a link that is down. No queue is as long.
pub const DOWN: u32 = u32::MAX;

/// The port of `group` with the shortest queue. `depths` has the bytes that wait at each port. If several queues are
/// equally short, each of them has the same probability.
#[inline]
pub fn shortest(group: &[u16], depths: &[u32], random: &mut Stream) -> u16 {
    let (first, last) = (usize::from(group[0]), usize::from(group[group.len() - 1]));
    let index = if last - first + 1 == group.len() {
        draw_least(&depths[first..=last], random)
    } else {
        let depths: SmallVec<[u32; 64]> = group.iter().map(|port| depths[usize::from(*port)]).collect();
        draw_least(&depths, random)
    };
    group[index]
}

/// The index of the smallest of `depths`. If several are equally small, the i-th of them replaces the choice so far
/// with probability 1/i. Each value that equals the smallest value before it draws a random number, even if a smaller
/// value follows. The draws are therefore the same as in a single loop over `depths`.
pub fn draw_least(depths: &[u32], random: &mut Stream) -> usize {
    let least = depths.iter().fold(u32::MAX, |least, depth| least.min(*depth));
    let first = depths.iter().position(|depth| *depth == least).unwrap_or(0);
    let mut passed = u32::MAX;
    for (index, depth) in depths[..first].iter().enumerate() {
        if *depth == passed && index > 0 {
            random.next_u32();
        }
        passed = passed.min(*depth);
    }
    let (mut best, mut equals) = (first, 1);
    let behind = &depths[first + 1..];
    for (block, depths) in behind.chunks(u64::BITS as usize).enumerate() {
        let bits = depths.iter().enumerate();
        let mut mask = bits.fold(0, |mask, (bit, depth)| mask | u64::from(*depth == least) << bit);
        while mask != 0 {
            equals += 1;
            let index = first + 1 + block * u64::BITS as usize + mask.trailing_zeros() as usize;
            // A branch would often be mispredicted.
            best = select_unpredictable(random.below(equals) == 0, index, best);
            mask &= mask - 1;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_base::{Purpose, stream};

    #[test]
    fn the_shortest_queue_is_drawn_among_equals() {
        let mut depths = stream(1, 0, Purpose::Model);
        let [mut random, mut other] = [stream(2, 0, Purpose::Model), stream(2, 0, Purpose::Model)];
        for case in 0..2_000 {
            let len = 1 + depths.below(if case % 10 == 0 { 200 } else { 20 });
            let step = 1 + (case % 3 == 0) as u16;
            let group: Vec<u16> = (0..len as u16).map(|port| step * port + 3).collect();
            let length =
                |depths: &mut Stream| if depths.below(5) == 0 { DOWN } else { depths.below(1 + case % 7) };
            let depth: Vec<u32> = (0..2 * len + 3).map(|_| length(&mut depths)).collect();
            let (mut best, mut least, mut equals) = (group[0], u32::MAX, 0);
            for &port in &group {
                let depth = depth[usize::from(port)];
                if depth < least {
                    (best, least, equals) = (port, depth, 1);
                } else if depth == least {
                    equals += 1;
                    if equals == 1 || other.below(equals) == 0 {
                        best = port;
                    }
                }
            }
            assert_eq!(shortest(&group, &depth, &mut random), best, "{depth:?}");
            assert_eq!(random.next_u32(), other.next_u32(), "as many draws");
        }
    }
}
