//! The common form of all traces: the nodes of each rank and their dependencies, with checks that they can be executed.

use super::super::collective::Algorithm;
use super::Format;
use crate::{MAX_MESSAGES, WorkloadError};
use anabranch_base::{Duration, Fix, Problem};
use std::collections::BTreeMap;

/// The nodes of all ranks, and the collectives in which the nodes take part.
#[derive(Debug, Default)]
pub struct Graph {
    pub ranks: Vec<Vec<Node>>,
    pub collectives: Vec<Collective>,
}

/// An activity of a rank.
#[derive(Debug)]
pub struct Node {
    pub op: Op,
    /// The place of the node in its file: a line, or the number of the node or operation.
    pub place: u64,
    /// The nodes of the same rank that must have ended before this node begins.
    pub after: Vec<u32>,
    /// The nodes of the same rank that must have begun before this node begins.
    pub with: Vec<u32>,
}

/// The operation of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// The node sends a message, and ends as [`SendEnds`](super::SendEnds) specifies.
    Send {
        /// The receiving rank.
        to: u32,
        /// The length in bytes.
        bytes: u64,
        /// The tag, by which the receiver selects the message.
        tag: u64,
        /// The channel. Messages on different channels use different queue pairs.
        channel: u32,
    },
    /// The node receives a message. It ends when it has begun and the message has arrived.
    Receive {
        /// The sending rank.
        from: u32,
        /// The length in bytes, if the trace states it for the receiver.
        bytes: Option<u64>,
        /// The tag of the message.
        tag: u64,
    },
    Compute {
        takes: Duration,
        /// The processor of its rank that the node occupies, if any.
        processor: Option<u32>,
    },
    /// The node waits until a message of its own rank is acknowledged, whatever [`SendEnds`](super::SendEnds) is.
    Acknowledged {
        /// The node that sends the message, which is one of [`Node::after`].
        send: u32,
    },
    /// The node takes part in the collective with this number. It ends when all messages of the collective from the
    /// rank are acknowledged and all messages of the collective to the rank have arrived.
    Collective(u32),
}

/// A collective of some ranks, each of which joins when its node begins.
#[derive(Debug)]
pub struct Collective {
    pub algorithm: Algorithm,
    /// The size in bytes, as defined by the variants of [`Algorithm`].
    pub bytes: u64,
    /// The largest length of a message in bytes.
    pub chunk: u64,
    /// The communicator. Collectives on the same communicator share queue pairs.
    pub channel: u32,
    /// The ranks in their order, each with the node that joins the collective.
    pub members: Vec<(u32, u32)>,
}

/// The words for nodes in the errors of a format.
#[derive(Clone, Copy, Debug)]
pub struct Naming<'a> {
    pub file: &'a str,
    /// The word for a node's place: `line`, `node` or `operation`.
    pub place: &'static str,
    /// Whether there are control dependencies, which a scenario can ignore.
    pub control: bool,
    pub format: Format,
}

impl Naming<'_> {
    pub fn wrong(&self, rank: usize, place: u64, what: impl Into<Problem>) -> WorkloadError {
        let what = what.into();
        match u32::try_from(place) {
            Ok(line) if self.place == "line" => {
                WorkloadError::line(self.file, line, what.prefixed(format_args!("rank {rank}: ")))
            }
            _ => WorkloadError::file(
                self.file,
                what.prefixed(format_args!("rank {rank}, {} {place}: ", self.place)),
            ),
        }
    }

    /// The node that sends the message which `rank` receives. `sent` is the next send of rank `from` with the same tag.
    fn matching_send(
        &self,
        rank: u32,
        place: u64,
        (from, bytes, tag): (u32, Option<u64>, u64),
        sent: Option<(u32, u64)>,
    ) -> Result<u32, WorkloadError> {
        let what = match (sent, bytes) {
            (None, _) => {
                let bytes = bytes.unwrap_or_default();
                let message =
                    format!("it receives from rank {from} with tag {tag}, which that never sends (again)");
                let send = format!("`send {bytes}b to {rank} tag {tag}` into rank {from}");
                Problem { message, fix: self.of_text(Fix::text(send)) }
            }
            (Some((_, of_sender)), Some(bytes)) if bytes != of_sender => {
                let message = format!(
                    "it receives {bytes} bytes from rank {from} with tag {tag}, which sends {of_sender}"
                );
                Problem { message, fix: self.of_text(Fix::value(format_args!("{of_sender}b"))) }
            }
            (Some((send, _)), _) => return Ok(send),
        };
        Err(self.wrong(rank as usize, place, what))
    }

    /// A fix in GOAL's text. None in the other formats, which people do not write by hand.
    fn of_text(&self, fix: Fix) -> Option<Fix> {
        (self.format == Format::Goal).then_some(fix)
    }
}

/// A value for each rank and node.
pub type PerNode<T> = Vec<Vec<T>>;
/// For each sending rank and node, the receiving rank and node.
pub type Pairs = BTreeMap<(u32, u32), (u32, u32)>;

impl Graph {
    /// Checks the graph, and returns its pairs of sends and receives.
    pub fn check(&self, naming: Naming<'_>) -> Result<Pairs, WorkloadError> {
        let pairs = self.match_sends(naming)?;
        self.check_order(&pairs, naming)?;
        self.check_size(naming)?;
        Ok(pairs)
    }

    /// Matches sends and receives by rank and tag, in the order of the nodes.
    fn match_sends(&self, naming: Naming<'_>) -> Result<Pairs, WorkloadError> {
        let mut sent: BTreeMap<(u32, u32, u64), Vec<(u32, u64)>> = BTreeMap::new();
        let all = || {
            let ranks = (0_u32..).zip(&self.ranks);
            ranks.flat_map(|(rank, nodes)| {
                (0_u32..).zip(nodes).map(move |(number, node)| (rank, number, node))
            })
        };
        let count = self.ranks.len() as u32;
        for (rank, number, node) in all() {
            let wrong = |what: Problem| Err(naming.wrong(rank as usize, node.place, what));
            match node.op {
                Op::Send { to, bytes, tag, .. } => {
                    if to >= count {
                        return wrong(
                            format!("it sends to rank {to}, and there are ranks 0 to {}", count - 1).into(),
                        );
                    }
                    if to == rank {
                        return wrong("it sends to itself, which crosses no network; leave it out".into());
                    }
                    if bytes == 0 {
                        let message = "it sends 0 bytes, and the least is 1".to_owned();
                        let both = Fix::text("1b here and where it is received");
                        return wrong(Problem { message, fix: naming.of_text(both) });
                    }
                    sent.entry((rank, to, tag)).or_default().push((number, bytes));
                }
                Op::Receive { from, .. } if from >= count => {
                    return wrong(
                        format!("it receives from rank {from}, and there are ranks 0 to {}", count - 1)
                            .into(),
                    );
                }
                _ => {}
            }
        }
        sent.values_mut().for_each(|sends| sends.reverse());
        let mut pairs = BTreeMap::new();
        for (rank, number, node) in all() {
            let Op::Receive { from, bytes, tag } = node.op else { continue };
            let sent = sent.get_mut(&(from, rank, tag)).and_then(Vec::pop);
            let send = naming.matching_send(rank, node.place, (from, bytes, tag), sent)?;
            pairs.insert((from, send), (rank, number));
        }
        match sent.iter().find_map(|(&(from, to, tag), sends)| Some((from, to, tag, *sends.last()?))) {
            Some((from, to, tag, (send, bytes))) => {
                let place = self.ranks[from as usize][send as usize].place;
                let message = format!("it sends to rank {to} with tag {tag}, which that never receives");
                let receive = format!("`recv {bytes}b from {from} tag {tag}` into rank {to}");
                let fix = naming.of_text(Fix::text(receive));
                Err(naming.wrong(from as usize, place, Problem { message, fix }))
            }
            None => Ok(pairs),
        }
    }

    /// Checks that every node can begin.
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
        let none: PerNode<bool> = self.ranks.iter().map(|nodes| vec![false; nodes.len()]).collect();
        let (mut begun, mut ended) = (none.clone(), none);
        let mut done = 0;
        while let Some((rank, node)) = ready.pop() {
            done += 1;
            begun[rank as usize][node as usize] = true;
            let mut over = Vec::new();
            match self.ranks[rank as usize][node as usize].op {
                Op::Collective(number) => {
                    entered[number as usize] += 1;
                    let Collective { members, bytes, .. } = &self.collectives[number as usize];
                    // Without bytes there are no messages, so the node ends at once.
                    if *bytes == 0 {
                        over.push((rank, node));
                    } else if entered[number as usize] == members.len() {
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

    /// The error for nodes that never begin. It names a cycle of nodes that wait for each other.
    fn cycle(
        &self,
        pairs: &Pairs,
        begun: &PerNode<bool>,
        ended: &PerNode<bool>,
        naming: Naming<'_>,
    ) -> WorkloadError {
        let sends: BTreeMap<_, _> = pairs.iter().map(|(send, receive)| (*receive, *send)).collect();
        let is = |which: &PerNode<bool>, (rank, node): (u32, u32)| which[rank as usize][node as usize];
        // A node that keeps the node `at` from beginning or from ending.
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
        let all = (0..)
            .zip(begun)
            .flat_map(|(rank, begun)| (0..).zip(begun).map(move |(node, b)| ((rank, node), *b)));
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
        let of = |collective: &Collective| {
            let Collective { algorithm, bytes, chunk, members, .. } = collective;
            algorithm.messages(members.len() as u32, *bytes, *chunk)
        };
        let messages = self.collectives.iter().map(of).fold(sends, u64::saturating_add);
        if messages == 0 {
            return Err(WorkloadError::file(
                naming.file,
                "nothing in it is sent; a workload needs a message",
            ));
        }
        if messages > u64::from(MAX_MESSAGES) {
            let what = Problem::with_text(
                format!("it comes to {messages} messages, and the most is {MAX_MESSAGES}"),
                "a larger chunk, or take a trace of fewer ranks or a part of it",
            );
            return Err(WorkloadError::file(naming.file, what));
        }
        Ok(())
    }

    /// For each node, the nodes that wait for it.
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

/// The nodes of a rank that wait for a given node.
#[derive(Clone, Debug, Default)]
pub struct Followers {
    /// The nodes that wait until the given node has ended.
    pub over: Vec<u32>,
    /// The nodes that wait until the given node has begun.
    pub begun: Vec<u32>,
}
