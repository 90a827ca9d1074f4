//! The form under every trace: what each rank does, and what waits for what, and whether that can be.

use super::super::collective::Algorithm;
use super::Format;
use crate::{MAX_MESSAGES, WorkloadError};
use anabranch_base::Duration;
use std::collections::BTreeMap;

/// What all ranks do.
#[derive(Debug, Default)]
pub struct Graph {
    /// By rank, its nodes.
    pub ranks: Vec<Vec<Node>>,
    /// Collectives among some of them.
    pub collectives: Vec<Collective>,
}

/// Something that a rank does.
#[derive(Debug)]
pub struct Node {
    /// What.
    pub op: Op,
    /// Where it stands in its file: a line, or a node's number.
    pub place: u64,
    /// Nodes of its rank that are over before it begins.
    pub after: Vec<u32>,
    /// Nodes of its rank that have begun before it begins.
    pub with: Vec<u32>,
}

/// What a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Sends a message; over when [`SendEnds`](super::SendEnds) says so.
    Send {
        /// To this rank.
        to: u32,
        /// Its bytes.
        bytes: u64,
        /// By which the receiver knows it.
        tag: u64,
        /// Messages on different channels have queue pairs of their own.
        channel: u32,
    },
    /// Receives a message; over when it is there and the node has begun.
    Receive {
        /// From this rank.
        from: u32,
        /// Its bytes, where the receiver says them.
        bytes: Option<u64>,
        /// By which the receiver knows it.
        tag: u64,
    },
    /// Computes.
    Compute {
        /// For so long.
        takes: Duration,
        /// On this processor of its rank; none: beside whatever else it computes.
        processor: Option<u32>,
    },
    /// Waits until the message of a send of its rank is acknowledged, whatever [`SendEnds`](super::SendEnds) says.
    Acknowledged {
        /// The node that sends it, which is among those over before this one.
        send: u32,
    },
    /// Takes part in the collective of this number; over when all that it sends is acknowledged, and all that it receives
    /// is there.
    Collective(u32),
}

/// A collective of some ranks, which each take part when their node begins.
#[derive(Debug)]
pub struct Collective {
    /// How.
    pub algorithm: Algorithm,
    /// See [`Algorithm`].
    pub bytes: u64,
    /// Most bytes of a message.
    pub chunk: u64,
    /// Its communicator: what is on one uses the same queue pairs.
    pub channel: u32,
    /// The ranks in their order, each with its node.
    pub members: Vec<(u32, u32)>,
}

/// How a format names the place of a node in errors.
#[derive(Clone, Copy, Debug)]
pub struct Naming<'a> {
    /// Name of the file.
    pub file: &'a str,
    /// `line`, `node`.
    pub place: &'static str,
    /// Whether some nodes wait for others by control, which a scenario can leave out.
    pub control: bool,
    /// The file's.
    pub format: Format,
}

impl Naming<'_> {
    /// An error about a node.
    pub fn wrong(&self, rank: usize, place: u64, what: impl std::fmt::Display) -> WorkloadError {
        match u32::try_from(place) {
            Ok(line) if self.place == "line" => {
                WorkloadError::line(self.file, line, format!("rank {rank}: {what}"))
            }
            _ => WorkloadError::file(self.file, format!("rank {rank}, {} {place}: {what}", self.place)),
        }
    }

    /// The send of what `rank` receives from another one with a tag, which sends it as `sent`.
    fn received(
        &self,
        rank: u32,
        place: u64,
        (from, bytes, tag): (u32, Option<u64>, u64),
        sent: Option<(u32, u64)>,
    ) -> Result<u32, WorkloadError> {
        let what = match (sent, bytes) {
            (None, _) => {
                let bytes = bytes.unwrap_or_default();
                let send = self.instead(|| format!("`send {bytes}b to {rank} tag {tag}` into rank {from}"));
                format!("it receives from rank {from} with tag {tag}, which that never sends (again){send}")
            }
            (Some((_, of_sender)), Some(bytes)) if bytes != of_sender => {
                let as_many = self.instead(|| format!("{of_sender}b"));
                format!(
                    "it receives {bytes} bytes from rank {from} with tag {tag}, which sends {of_sender}{as_many}"
                )
            }
            (Some((send, _)), _) => return Ok(send),
        };
        Err(self.wrong(rank as usize, place, what))
    }

    /// The end of an error that says what to write, where the format is written by hand.
    fn instead(&self, what: impl FnOnce() -> String) -> String {
        if self.format == Format::Goal { format!("; write {}", what()) } else { String::new() }
    }
}

/// By rank and node.
pub type PerNode<T> = Vec<Vec<T>>;
/// By sending rank and node, the receiving rank and its node.
pub type Pairs = BTreeMap<(u32, u32), (u32, u32)>;

impl Graph {
    /// The sends and receives that belong together, where all of it can be simulated.
    ///
    /// # Errors
    /// A send without a receive, or the other way round; nodes that wait for each other; too many messages.
    pub fn check(&self, naming: Naming<'_>) -> Result<Pairs, WorkloadError> {
        let pairs = self.matched(naming)?;
        self.check_order(&pairs, naming)?;
        self.check_size(naming)?;
        Ok(pairs)
    }

    /// By sending rank and node, the node of the receiving rank.
    fn matched(&self, naming: Naming<'_>) -> Result<Pairs, WorkloadError> {
        let mut sent: BTreeMap<(u32, u32, u64), Vec<(u32, u64)>> = BTreeMap::new();
        let all = || {
            let ranks = (0_u32..).zip(&self.ranks);
            ranks.flat_map(|(rank, nodes)| {
                (0_u32..).zip(nodes).map(move |(number, node)| (rank, number, node))
            })
        };
        let count = self.ranks.len() as u32;
        for (rank, number, node) in all() {
            let wrong = |what: String| Err(naming.wrong(rank as usize, node.place, what));
            match node.op {
                Op::Send { to, bytes, tag, .. } => {
                    if to >= count {
                        return wrong(format!(
                            "it sends to rank {to}, and there are ranks 0 to {}",
                            count - 1
                        ));
                    }
                    if to == rank {
                        return wrong(
                            "it sends to itself, which crosses no network; leave it out".to_owned(),
                        );
                    }
                    if bytes == 0 {
                        let both = naming.instead(|| "1b here and where it is received".to_owned());
                        return wrong(format!("it sends 0 bytes, and the least is 1{both}"));
                    }
                    sent.entry((rank, to, tag)).or_default().push((number, bytes));
                }
                Op::Receive { from, .. } if from >= count => {
                    return wrong(format!(
                        "it receives from rank {from}, and there are ranks 0 to {}",
                        count - 1
                    ));
                }
                _ => {}
            }
        }
        sent.values_mut().for_each(|sends| sends.reverse());
        let mut pairs = BTreeMap::new();
        for (rank, number, node) in all() {
            let Op::Receive { from, bytes, tag } = node.op else { continue };
            let sent = sent.get_mut(&(from, rank, tag)).and_then(Vec::pop);
            let send = naming.received(rank, node.place, (from, bytes, tag), sent)?;
            pairs.insert((from, send), (rank, number));
        }
        match sent.iter().find_map(|(&(from, to, tag), sends)| Some((from, to, tag, *sends.last()?))) {
            Some((from, to, tag, (send, bytes))) => {
                let place = self.ranks[from as usize][send as usize].place;
                let receive =
                    naming.instead(|| format!("`recv {bytes}b from {from} tag {tag}` into rank {to}"));
                let what =
                    format!("it sends to rank {to} with tag {tag}, which that never receives{receive}");
                Err(naming.wrong(from as usize, place, what))
            }
            None => Ok(pairs),
        }
    }

    /// Whether every node comes to its turn.
    fn check_order(&self, pairs: &Pairs, naming: Naming<'_>) -> Result<(), WorkloadError> {
        let mut waits: PerNode<u32> = self
            .ranks
            .iter()
            .map(|nodes| nodes.iter().map(|node| (node.after.len() + node.with.len()) as u32).collect())
            .collect();
        pairs.values().for_each(|&(rank, node)| waits[rank as usize][node as usize] += 1);
        let followers = self.followers();
        let mut entered = vec![0; self.collectives.len()];
        let mut ready: Vec<(u32, u32)> = Vec::new();
        for (rank, waits) in (0_u32..).zip(&waits) {
            ready
                .extend((0_u32..).zip(waits).filter(|(_, waits)| **waits == 0).map(|(node, _)| (rank, node)));
        }
        let nowhere: PerNode<bool> = self.ranks.iter().map(|nodes| vec![false; nodes.len()]).collect();
        let (mut begun, mut ended) = (nowhere.clone(), nowhere);
        let mut done = 0;
        while let Some((rank, node)) = ready.pop() {
            done += 1;
            begun[rank as usize][node as usize] = true;
            let mut over = Vec::new();
            match self.ranks[rank as usize][node as usize].op {
                Op::Collective(number) => {
                    entered[number as usize] += 1;
                    let members = &self.collectives[number as usize].members;
                    if entered[number as usize] == members.len() {
                        over.extend(members);
                    }
                }
                _ => over.push((rank, node)),
            }
            let mut follow = |rank: u32, node: u32| {
                let left = &mut waits[rank as usize][node as usize];
                *left -= 1;
                if *left == 0 {
                    ready.push((rank, node));
                }
            };
            for other in &followers[rank as usize][node as usize].begun {
                follow(rank, *other);
            }
            for (rank, node) in over {
                ended[rank as usize][node as usize] = true;
                for other in &followers[rank as usize][node as usize].over {
                    follow(rank, *other);
                }
                if let Some(&(to, receive)) = pairs.get(&(rank, node)) {
                    follow(to, receive);
                }
            }
        }
        if done == self.ranks.iter().map(Vec::len).sum::<usize>() {
            return Ok(());
        }
        Err(self.cycle(pairs, &begun, &ended, naming))
    }

    /// The error that names nodes which wait for each other, where some never begin.
    fn cycle(
        &self,
        pairs: &Pairs,
        begun: &PerNode<bool>,
        ended: &PerNode<bool>,
        naming: Naming<'_>,
    ) -> WorkloadError {
        let sends: BTreeMap<_, _> = pairs.iter().map(|(send, receive)| (*receive, *send)).collect();
        let is = |which: &PerNode<bool>, (rank, node): (u32, u32)| which[rank as usize][node as usize];
        // What a node that is not over waits for.
        let waits_for = |at: (u32, u32)| {
            let node = &self.ranks[at.0 as usize][at.1 as usize];
            if is(begun, at) {
                let Op::Collective(number) = node.op else { return None };
                let members = &self.collectives[number as usize].members;
                return members.iter().copied().find(|member| !is(begun, *member));
            }
            let own = |before: &u32| (at.0, *before);
            let after = node.after.iter().map(own).find(|before| !is(ended, *before));
            let with = || node.with.iter().map(own).find(|before| !is(begun, *before));
            after.or_else(with).or_else(|| sends.get(&at).copied().filter(|send| !is(ended, *send)))
        };
        let all =
            (0..).zip(begun).flat_map(|(rank, its)| (0..).zip(its).map(move |(node, b)| ((rank, node), *b)));
        let mut at = all.filter(|(_, begun)| !begun).map(|(at, _)| at).next().unwrap_or_default();
        let mut way = vec![at];
        while let Some(next) = waits_for(at) {
            if let Some(from) = way.iter().position(|before| *before == next) {
                way.drain(..from);
                break;
            }
            way.push(next);
            at = next;
        }
        let first = way[0];
        let place = |(rank, node): (u32, u32)| self.ranks[rank as usize][node as usize].place;
        let name = |at: (u32, u32)| match at.0 == first.0 {
            true => format!("{} {}", naming.place, place(at)),
            false => format!("{} {} of rank {}", naming.place, place(at), at.0),
        };
        const NAMED: usize = 4;
        let mut others: Vec<String> = way[1..].iter().take(NAMED).map(|at| name(*at)).collect();
        if way.len() > NAMED + 1 {
            others.push(format!("{} more", way.len() - NAMED - 1));
        }
        others.push("it again".to_owned());
        let hint = match naming.control {
            true => ", or write without_control = true in [workload], by which nodes wait by data alone",
            false => "",
        };
        let what = format!(
            "it never begins: it waits for {}; leave one of these out{hint}",
            others.join(", that for ")
        );
        naming.wrong(first.0 as usize, place(first), what)
    }

    fn check_size(&self, naming: Naming<'_>) -> Result<(), WorkloadError> {
        let sends =
            self.ranks.iter().flatten().filter(|node| matches!(node.op, Op::Send { .. })).count() as u64;
        let of = |its: &Collective| its.algorithm.messages(its.members.len() as u32, its.bytes, its.chunk);
        let messages = self.collectives.iter().map(of).fold(sends, u64::saturating_add);
        if messages == 0 {
            return Err(WorkloadError::file(
                naming.file,
                "nothing in it is sent; a workload needs a message",
            ));
        }
        if messages > u64::from(MAX_MESSAGES) {
            let what = format!(
                "it comes to {messages} messages, and the most is {MAX_MESSAGES}; write a larger chunk, or take a trace of \
                 fewer ranks or a part of it"
            );
            return Err(WorkloadError::file(naming.file, what));
        }
        Ok(())
    }

    /// By node, those that wait for it.
    pub fn followers(&self) -> PerNode<Followers> {
        let of_rank = |nodes: &Vec<Node>| {
            let mut followers: Vec<Followers> = nodes.iter().map(|_| Followers::default()).collect();
            for (number, node) in (0..).zip(nodes) {
                node.after.iter().for_each(|before| followers[*before as usize].over.push(number));
                node.with.iter().for_each(|before| followers[*before as usize].begun.push(number));
            }
            followers
        };
        self.ranks.iter().map(of_rank).collect()
    }
}

/// Nodes of a rank that wait for one.
#[derive(Clone, Debug, Default)]
pub struct Followers {
    /// Until it is over.
    pub over: Vec<u32>,
    /// Until it has begun.
    pub begun: Vec<u32>,
}
