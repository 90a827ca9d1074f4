//! NCCL's two binary trees.

/// The parent of each rank in the two trees. `None` for a root.
///
/// The first tree is NCCL's binary tree over the bits of the rank, with odd ranks as leaves. For an even number of
/// ranks, the second tree is the mirror image of the first tree, so that odd and even ranks are exchanged. For an odd
/// number of ranks, the second tree is the first tree rotated by one rank.
pub(super) fn double_tree(ranks: u32) -> [Vec<Option<u32>>; 2] {
    let position_of = |rank: u32| match ranks % 2 {
        0 => ranks - 1 - rank,
        _ => (rank + ranks - 1) % ranks,
    };
    let rank_at = |position: u32| match ranks % 2 {
        0 => ranks - 1 - position,
        _ => (position + 1) % ranks,
    };
    [
        (0..ranks).map(|rank| tree_parent(rank, ranks)).collect(),
        (0..ranks).map(|rank| tree_parent(position_of(rank), ranks).map(rank_at)).collect(),
    ]
}

/// The parent of a rank in the first tree. It is the rank with its lowest set bit cleared and the next higher bit set.
/// If there is no such rank, the lowest set bit is only cleared.
fn tree_parent(rank: u32, ranks: u32) -> Option<u32> {
    if rank == 0 {
        return None;
    }
    let bit = 1 << rank.trailing_zeros();
    let cleared = rank ^ bit;
    let above = u64::from(cleared) | (u64::from(bit) << 1);
    Some(if above < u64::from(ranks) { above as u32 } else { cleared })
}

pub(super) fn depths(parents: &[Option<u32>]) -> Vec<u32> {
    let depth = |rank: usize| std::iter::successors(parents[rank], |&above| parents[above as usize]).count();
    (0..parents.len()).map(|rank| depth(rank) as u32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_trees_are_binary_and_an_inner_node_of_one_is_a_leaf_of_the_other() {
        for ranks in 2..=130 {
            let trees = double_tree(ranks);
            let children = |tree: &[Option<u32>], of: u32| tree.iter().filter(|p| **p == Some(of)).count();
            for tree in &trees {
                assert_eq!(tree.iter().filter(|parent| parent.is_none()).count(), 1, "{ranks} ranks, roots");
                assert!((0..ranks).all(|rank| children(tree, rank) <= 2), "{ranks} ranks");
                let deepest = depths(tree).into_iter().max().unwrap();
                assert!(deepest <= ranks.ilog2() + 1, "{ranks} ranks, depth {deepest}");
            }
            // With an odd number of ranks, one rank is an inner node of both trees.
            let leaf = |tree: &[Option<u32>], rank: u32| children(tree, rank) == 0;
            let neither = (0..ranks).filter(|&rank| !leaf(&trees[0], rank) && !leaf(&trees[1], rank)).count();
            let both = (0..ranks).filter(|&rank| leaf(&trees[0], rank) && leaf(&trees[1], rank)).count();
            assert_eq!((both, neither), (0, (ranks % 2) as usize), "{ranks} ranks");
        }
    }

    #[test]
    fn the_trees_of_eight_and_seven() {
        let parents = |tree: &[Option<u32>]| tree.iter().map(|p| p.map_or(-1, i64::from)).collect::<Vec<_>>();
        let [first, second] = double_tree(8);
        assert_eq!(parents(&first), [-1, 2, 4, 2, 0, 6, 4, 6]);
        assert_eq!(parents(&second), [1, 3, 1, 7, 5, 3, 5, -1]);
        let [first, second] = double_tree(7);
        assert_eq!(parents(&first), [-1, 2, 4, 2, 0, 6, 4]);
        assert_eq!(parents(&second), [5, -1, 3, 5, 3, 1, 0]);
    }
}
