//! The servers of a collective's ranks, and the rings and trees that connect them.

use super::double_tree::double_tree;
use anabranch_base::Rate;

/// The servers of the ranks of a collective.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Layout {
    ranks: u32,
    /// The rail and the number of each rank, for each server. The servers are in the order of their first ranks.
    servers: Vec<Vec<(u32, u32)>>,
    channels: u32,
    /// Whether rings visit the ranks of every second server in reverse.
    alternates: bool,
    switch: bool,
    /// The rates of a NIC and of a GPU's NVLink; 0 if they are not known.
    rates: [Rate; 2],
}

impl Layout {
    /// The layout of ranks without known servers. Each rank is a server of its own, and there is one channel.
    pub fn flat(ranks: u32) -> Self {
        Layout::of((0..ranks).map(|rank| (rank, 0)), 1, false, false)
    }

    /// The layout of ranks in servers, with `channels` channels, or with one channel if `channels` is 0 or there is one
    /// server. `places` has the number of the server and the rail of each rank. If `alternates` is set, rings visit the
    /// ranks of every second server in reverse, so that they enter such a server on the rail by which they left the
    /// previous server. `switch` states whether the NVLink switch of a server reduces and multicasts.
    pub fn of(
        places: impl Iterator<Item = (u32, u32)>,
        channels: u32,
        alternates: bool,
        switch: bool,
    ) -> Self {
        let mut position_of = std::collections::BTreeMap::new();
        let mut servers: Vec<Vec<(u32, u32)>> = Vec::new();
        let mut ranks = 0;
        for (server, rail) in places {
            let position = *position_of.entry(server).or_insert_with(|| {
                servers.push(Vec::new());
                servers.len() - 1
            });
            servers[position].push((rail, ranks));
            ranks += 1;
        }
        servers.iter_mut().for_each(|members| members.sort_unstable());
        // In a single server, all channels would use the same NVLinks, so one channel is enough.
        let channels = if servers.len() > 1 { channels.max(1) } else { 1 };
        Layout { ranks, servers, channels, alternates, switch, rates: [Rate(0); 2] }
    }

    /// The layout with the rates of a NIC and of a GPU's NVLink.
    pub fn with_rates(self, rates: [Rate; 2]) -> Self {
        Layout { rates, ..self }
    }

    /// The rates of a NIC and of a GPU's NVLink; 0 if they are not known.
    pub fn rates(&self) -> [Rate; 2] {
        self.rates
    }

    /// The number of different rails of the ranks.
    pub fn rails(&self) -> u32 {
        self.sorted_rails().len() as u32
    }

    fn sorted_rails(&self) -> Vec<u32> {
        let mut rails: Vec<u32> = self.servers.iter().flatten().map(|(rail, _)| *rail).collect();
        rails.sort_unstable();
        rails.dedup();
        rails
    }

    /// The number of ranks.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// The number of servers.
    pub fn servers(&self) -> u32 {
        self.servers.len() as u32
    }

    /// The number of channels, over which a buffer is divided.
    pub fn channels(&self) -> u32 {
        self.channels
    }

    /// Whether the NVLink switch of a server reduces and multicasts.
    pub fn has_switch(&self) -> bool {
        self.switch
    }

    /// The ranks of each server, sorted by rail.
    pub(super) fn members(&self) -> impl Iterator<Item = Vec<u32>> {
        self.servers.iter().map(|members| members.iter().map(|(_, rank)| *rank).collect())
    }

    /// The ranks of each server in the order of `channel`. The first one is on the channel's rail if the server has a
    /// rank there.
    fn passages(&self, channel: u32) -> Vec<Vec<u32>> {
        let rails = self.sorted_rails();
        let rail = rails[channel as usize % rails.len()];
        let round = channel as usize / rails.len();
        let passage = |members: &Vec<(u32, u32)>| {
            let on_rail = members.iter().filter(|(of, _)| *of == rail).count();
            let first = match on_rail {
                0 => channel as usize % members.len(),
                several => members.partition_point(|(of, _)| *of < rail) + round % several,
            };
            let (before, after) = members.split_at(first);
            after.iter().chain(before).map(|(_, rank)| *rank).collect()
        };
        self.servers.iter().map(passage).collect()
    }

    /// The ring of `channel`: its ranks, server by server. The first rank of a server is on the channel's rail if the
    /// server has a rank there. If `alternates` is set, the ring visits every second server in reverse, so that this
    /// rank is the last one of the server.
    pub(super) fn ring(&self, channel: u32) -> Vec<u32> {
        let mut passages = self.passages(channel);
        if self.alternates {
            passages.iter_mut().skip(1).step_by(2).for_each(|passage| passage.reverse());
        }
        passages.concat()
    }

    /// The parent of each rank in the two trees of `channel`. `None` for a root. The ranks of a server form a chain.
    /// Its first rank, which is on the channel's rail if the server has a rank there, is connected to the first ranks
    /// of other servers as in a double binary tree.
    pub(super) fn trees(&self, channel: u32) -> [Vec<Option<u32>>; 2] {
        let passages = self.passages(channel);
        double_tree(self.servers()).map(|parents| {
            let mut of_rank = vec![None; self.ranks as usize];
            for (passage, parent) in passages.iter().zip(parents) {
                of_rank[passage[0] as usize] = parent.map(|server| passages[server as usize][0]);
                passage.windows(2).for_each(|pair| of_rank[pair[1] as usize] = Some(pair[0]));
            }
            of_rank
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_servers(alternates: bool) -> Layout {
        Layout::of((0..8).map(|rank| (rank / 4, rank % 4)), 4, alternates, false)
    }

    #[test]
    fn a_ring_enters_each_server_by_the_rail_of_its_channel() {
        let layout = two_servers(false);
        assert_eq!(layout.ring(0), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(layout.ring(3), [3, 0, 1, 2, 7, 4, 5, 6]);
        // Rank 2 sends to rank 6, and rank 7 sends to rank 3, so the ring does not change its rail between servers.
        assert_eq!(two_servers(true).ring(3), [3, 0, 1, 2, 6, 5, 4, 7]);
        assert_eq!(Layout::flat(3).ring(0), [0, 1, 2]);
    }

    #[test]
    fn several_gpus_of_a_nic_take_channels_in_turn() {
        let layout = Layout::of((0..8).map(|rank| (rank / 4, rank % 4 / 2)), 4, false, false);
        let first = |channel| layout.ring(channel)[0];
        assert_eq!([first(0), first(1), first(2), first(3)], [0, 2, 1, 3]);
    }

    #[test]
    fn trees_join_the_ranks_of_one_rail() {
        let [tree, other] = two_servers(false).trees(1);
        assert_eq!(tree, [Some(3), None, Some(1), Some(2), Some(7), Some(1), Some(5), Some(6)]);
        assert_eq!(other, [Some(3), Some(5), Some(1), Some(2), Some(7), None, Some(5), Some(6)]);
        assert_eq!(Layout::flat(5).trees(0), double_tree(5));
    }

    #[test]
    fn one_server_has_one_channel_and_ranks_may_be_missing() {
        assert_eq!(Layout::of((0..4).map(|rank| (0, rank)), 4, false, false).channels(), 1);
        let layout = Layout::of([(0, 0), (0, 2), (5, 1)].into_iter(), 3, false, false);
        assert_eq!(
            (layout.ring(0), layout.ring(1), layout.ring(2)),
            (vec![0, 1, 2], vec![1, 0, 2], vec![1, 0, 2])
        );
    }
}
