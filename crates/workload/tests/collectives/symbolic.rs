//! A run of a collective's messages without a network. The data of a rank are the numbers of contributions that each
//! rank has made to it.

use anabranch_base::Bytes;
use anabranch_base::{HostId, MessageId, Rate, Stream};
use anabranch_workload::collective::{
    Action, Algorithm, Clock, CollectiveSpec, Members, Placement, Plan, Send,
};
use anabranch_workload::{self as workload, Done, Fabric, Opens, Start, Workload, WorkloadSpec};
use std::collections::BTreeMap;

/// A job whose ranks are on the hosts with the same numbers, as a workload and as the plan of its messages.
pub struct Collective {
    pub algorithm: Algorithm,
    pub ranks: usize,
    pub bytes: u64,
    pub workload: Workload,
    plan: Plan,
    connections: u32,
    /// The positions in all buffers at which a message or a block begins or ends.
    cuts: Vec<u64>,
    /// The first and the last cut of each message, as indexes.
    ranges: Vec<(usize, usize)>,
    /// For each message, the sends of overlapping bytes by the message's receiver in the same step.
    sent_before: Vec<Vec<usize>>,
}

impl Collective {
    pub fn new(algorithm: Algorithm, ranks: u32, bytes: u64, chunk: u64, connections: u32) -> Self {
        Self::paced(algorithm, ranks, bytes, (chunk, connections), None)
    }

    /// A job in which `pace` limits the chunks that a rank has in flight to another rank.
    pub fn paced(
        algorithm: Algorithm,
        ranks: u32,
        bytes: u64,
        (chunk, connections): (u64, u32),
        pace: Option<(u32, Clock)>,
    ) -> Self {
        let to_all = algorithm == Algorithm::Alltoall;
        let spec = CollectiveSpec {
            algorithm,
            bytes: Bytes(bytes),
            members: Members::Placed { ranks, jobs: 1, placement: Placement::Blocks },
            chunk: (!to_all).then_some(Bytes(chunk)),
            connections: to_all.then_some(connections),
            depth: pace.map(|(depth, _)| depth),
            clock: pace.map(|(_, clock)| clock),
            jitter: None,
            server: None,
        };
        let fabric = Fabric {
            hosts: ranks,
            host_rate: Rate(1),
            tor_of: vec![0; ranks as usize],
            dcs: 1,
            ..Fabric::default()
        };
        let workload = workload::build(&WorkloadSpec::Collective(spec), &fabric, 1, &|_| None).unwrap();
        let mut plan = algorithm.plan(ranks, bytes, if to_all { u64::MAX } else { chunk }, connections);
        plan.per_pair = pace.map(|(depth, clock)| match clock {
            Clock::Ack => (depth, Done::Acknowledged),
            Clock::Delivered => (depth, Done::Delivered),
        });
        Self::of(algorithm, bytes, workload, plan, connections)
    }

    fn of(algorithm: Algorithm, bytes: u64, workload: Workload, plan: Plan, connections: u32) -> Self {
        assert_eq!(workload.messages.len(), plan.sends.len());
        for (message, send) in workload.messages.iter().zip(&plan.sends) {
            let qp = workload.qps[message.qp.index()];
            assert_eq!((qp.src, qp.dst, message.bytes), (HostId(send.src), HostId(send.dst), send.bytes));
        }
        let ranks = plan.ranks as usize;
        // In an all-to-all, the inputs of all ranks are placed one after the other. All other algorithms have one
        // buffer.
        let buffers = if algorithm == Algorithm::Alltoall { ranks as u64 } else { 1 };
        let range = |send: &Send| {
            let from = send.from + if buffers > 1 { u64::from(send.src) * bytes } else { 0 };
            (from, from + send.bytes)
        };
        let blocks =
            (0..buffers).flat_map(|b| (0..=ranks).map(move |i| b * bytes + block_start(bytes, ranks, i)));
        let mut cuts: Vec<u64> =
            blocks.chain(plan.sends.iter().map(range).flat_map(|(from, to)| [from, to])).collect();
        cuts.sort_unstable();
        cuts.dedup();
        let cut = |byte: u64| cuts.binary_search(&byte).unwrap();
        let ranges: Vec<(usize, usize)> =
            plan.sends.iter().map(range).map(|(from, to)| (cut(from), cut(to))).collect();
        let mut by_step = BTreeMap::<(u32, u32), Vec<usize>>::new();
        for (number, send) in plan.sends.iter().enumerate() {
            by_step.entry((send.step, send.src)).or_default().push(number);
        }
        let overlap = |a: (usize, usize), b: (usize, usize)| a.0 < b.1 && b.0 < a.1;
        let sent_before = plan.sends.iter().zip(&ranges).map(|(send, &range)| {
            let own = by_step.get(&(send.step, send.dst)).into_iter().flatten();
            own.copied().filter(|&other| overlap(ranges[other], range)).collect()
        });
        let sent_before = sent_before.collect();
        Collective { algorithm, ranks, bytes, workload, plan, connections, cuts, ranges, sent_before }
    }

    /// Runs all messages. They are delivered and acknowledged in a random order, and message `late` is delivered only
    /// when nothing else can happen.
    ///
    /// # Errors
    /// A description of the first mistake, such as wrong data at a rank.
    pub fn run(&self, random: &mut Stream, late: Option<MessageId>) -> Result<(), String> {
        let mut run = Run::new(self);
        let at_once = |&m: &usize| self.workload.messages[m].start != Start::ByGate;
        run.post((0..self.plan.sends.len()).filter(at_once).collect())?;
        let mut postponed = None;
        while !run.possible.is_empty() || postponed.is_some() {
            let next = match run.possible.len() {
                0 => postponed.take().unwrap(),
                possible => run.possible.swap_remove(random.below(possible as u32) as usize),
            };
            let waits = next.1 == Done::Delivered && late.is_some_and(|late| late.index() == next.0);
            if waits && !run.possible.is_empty() {
                postponed = Some(next);
            } else {
                run.end(next)?;
            }
        }
        run.result()
    }

    /// The collective without activation `nth` of message `owner`. The messages that the activation starts then wait
    /// for one event less.
    pub fn without(&self, owner: usize, nth: usize) -> Collective {
        let mut workload = self.workload.clone();
        let message = &mut workload.messages[owner];
        let from = message.activations_from as usize;
        let last = from + message.activations_len as usize - 1;
        message.activations_len -= 1;
        workload.activations.swap(from + nth, last);
        let gate = &mut workload.gates[workload.activations[last].gate.index()];
        match &mut gate.opens {
            Opens::After(1) => {
                for start in &workload.gate_starts[gate.starts_from as usize..][..gate.starts_len as usize] {
                    workload.messages[start.index()].start = Start::At(anabranch_base::Time::ZERO);
                }
                gate.starts_len = 0;
            }
            Opens::After(count) => *count -= 1,
            Opens::Each | Opens::Step(_) => panic!("this gate opens for something else than a count"),
        }
        Self::of(self.algorithm, self.bytes, workload, self.plan.clone(), self.connections)
    }

    /// Whether the message that activation `nth` of `owner` starts also waits for `owner` indirectly, through a message
    /// that was sent after `owner`.
    pub fn implied(&self, owner: usize, nth: usize) -> bool {
        let activation =
            self.workload.activations[self.workload.messages[owner].activations_from as usize + nth];
        let gate = self.workload.gates[activation.gate.index()];
        let started = self.workload.gate_starts[gate.starts_from as usize].index();
        let waits =
            |message: usize| self.plan.waits_of(&self.plan.sends[message]).iter().map(|&m| m as usize);
        let mut seen = vec![false; self.plan.sends.len()];
        let mut behind: Vec<usize> = waits(started).filter(|&message| message != owner).collect();
        while let Some(message) = behind.pop() {
            if message == owner {
                return true;
            }
            if !std::mem::replace(&mut seen[message], true) {
                behind.extend(waits(message));
            }
        }
        false
    }

    /// The correct data of `rank` after the collective. Each entry has the first and the last cut of a range, and for
    /// each rank the number of its contributions to the range.
    fn expected(&self, rank: usize) -> Vec<(usize, usize, Vec<u8>)> {
        let cut = |byte: u64| self.cuts.binary_search(&byte).unwrap();
        let block =
            |i: usize| (block_start(self.bytes, self.ranks, i), block_start(self.bytes, self.ranks, i + 1));
        let everyone = vec![1; self.ranks];
        let only = |i: usize| {
            let mut one = vec![0; self.ranks];
            one[i] = 1;
            one
        };
        match self.algorithm {
            Algorithm::ReducescatterRing => vec![(cut(block(rank).0), cut(block(rank).1), everyone)],
            Algorithm::AllgatherRing => {
                (0..self.ranks).map(|i| (cut(block(i).0), cut(block(i).1), only(i))).collect()
            }
            Algorithm::BroadcastRing => vec![(0, self.cuts.len() - 1, only(0))],
            Algorithm::Sendrecv => vec![(0, self.cuts.len() - 1, only((rank + self.ranks - 1) % self.ranks))],
            Algorithm::Alltoall => {
                let input = |i: usize| i as u64 * self.bytes;
                let (from, to) = block(rank);
                (0..self.ranks).map(|i| (cut(input(i) + from), cut(input(i) + to), only(i))).collect()
            }
            _ => vec![(0, self.cuts.len() - 1, everyone)],
        }
    }
}

/// The first byte of a block. Blocks differ by at most one byte, and the longer ones come first.
fn block_start(bytes: u64, ranks: usize, block: usize) -> u64 {
    let (ranks, block) = (ranks as u64, block as u64);
    block * (bytes / ranks) + block.min(bytes % ranks)
}

struct Run<'a> {
    of: &'a Collective,
    /// For each rank, each piece of its data between two cuts and each contributing rank, in this order: the number of
    /// times that the contribution is in the piece.
    data: Vec<u8>,
    /// The data that each posted message carries.
    carried: Vec<Option<Vec<u8>>>,
    delivered: Vec<bool>,
    /// The received messages that are held back until their receiver has sent its own data.
    held: Vec<usize>,
    activations: Vec<u32>,
    /// For each rank, the number of its messages that are posted and not acknowledged.
    open: Vec<u32>,
    /// For each sending and receiving rank, the number of messages that are posted and not complete.
    open_to: BTreeMap<(u32, u32), u32>,
    /// The deliveries and acknowledgements that may happen next.
    possible: Vec<(usize, Done)>,
}

impl<'a> Run<'a> {
    fn new(of: &'a Collective) -> Self {
        let pieces = of.cuts.len() - 1;
        let messages = of.plan.sends.len();
        let mut run = Run {
            of,
            data: vec![0; of.ranks * pieces * of.ranks],
            carried: vec![None; messages],
            delivered: vec![false; messages],
            held: Vec::new(),
            activations: vec![0; of.workload.gates.len()],
            open: vec![0; of.ranks],
            open_to: BTreeMap::new(),
            possible: Vec::new(),
        };
        for rank in 0..of.ranks {
            let input = match of.algorithm {
                Algorithm::AllgatherRing => {
                    block_start(of.bytes, of.ranks, rank)..block_start(of.bytes, of.ranks, rank + 1)
                }
                Algorithm::BroadcastRing if rank > 0 => 0..0,
                Algorithm::Alltoall => rank as u64 * of.bytes..(rank as u64 + 1) * of.bytes,
                _ => 0..of.bytes,
            };
            for piece in (0..pieces).filter(|&piece| input.contains(&of.cuts[piece])) {
                run.data[(rank * pieces + piece) * of.ranks + rank] = 1;
            }
        }
        run
    }

    /// The range in `data` of a rank's pieces between two cuts.
    fn span(&self, rank: usize, (from, to): (usize, usize)) -> std::ops::Range<usize> {
        let first = rank * (self.of.cuts.len() - 1);
        (first + from) * self.of.ranks..(first + to) * self.of.ranks
    }

    fn post(&mut self, messages: Vec<usize>) -> Result<(), String> {
        for message in messages {
            let send = self.of.plan.sends[message];
            if self.carried[message].is_some() {
                return Err(format!("message {message} is posted twice"));
            }
            let span = self.span(send.src as usize, self.of.ranges[message]);
            self.carried[message] = Some(self.data[span].to_vec());
            self.possible.push((message, Done::Delivered));
            let open = &mut self.open[send.src as usize];
            *open += 1;
            if self.of.plan.per_rank.is_some() && *open > self.of.connections {
                return Err(format!("rank {} has {open} connections open", send.src));
            }
            let in_flight = self.open_to.entry((send.src, send.dst)).or_default();
            *in_flight += 1;
            if self.of.plan.per_pair.is_some_and(|(depth, _)| *in_flight > depth) {
                return Err(format!("rank {} has {in_flight} chunks open to {}", send.src, send.dst));
            }
            let held = std::mem::take(&mut self.held);
            for message in held {
                self.receive(message);
            }
        }
        Ok(())
    }

    /// Adds a message to its receiver's data, or holds the message back until the receiver has sent its own data.
    fn receive(&mut self, message: usize) {
        if self.of.sent_before[message].iter().any(|&own| self.carried[own].is_none()) {
            self.held.push(message);
            return;
        }
        let send = self.of.plan.sends[message];
        let span = self.span(send.dst as usize, self.of.ranges[message]);
        let carried = self.carried[message].as_ref().unwrap();
        for (own, new) in self.data[span].iter_mut().zip(carried) {
            *own = match send.action {
                Action::Reduce => own.saturating_add(*new),
                Action::Copy => *new,
            };
        }
    }

    fn end(&mut self, (message, done): (usize, Done)) -> Result<(), String> {
        if self.of.plan.per_pair.is_some_and(|(_, through)| through == done) {
            let Send { src, dst, .. } = self.of.plan.sends[message];
            self.open_to.entry((src, dst)).and_modify(|open| *open -= 1);
        }
        match done {
            Done::Delivered => {
                self.delivered[message] = true;
                self.receive(message);
                self.possible.push((message, Done::Acknowledged));
            }
            Done::Acknowledged => self.open[self.of.plan.sends[message].src as usize] -= 1,
        }
        let workload = &self.of.workload;
        let owner = workload.messages[message];
        let activations =
            &workload.activations[owner.activations_from as usize..][..owner.activations_len as usize];
        let mut opened = Vec::new();
        for activation in activations.iter().filter(|activation| activation.on == done) {
            let gate = workload.gates[activation.gate.index()];
            let count = &mut self.activations[activation.gate.index()];
            *count += 1;
            let starts = &workload.gate_starts[gate.starts_from as usize..][..gate.starts_len as usize];
            match gate.opens {
                Opens::After(needed) if needed == *count => opened.extend(starts.iter().map(|m| m.index())),
                Opens::After(_) | Opens::Step(_) => {}
                Opens::Each => opened.extend(starts.get(*count as usize - 1).map(|m| m.index())),
            }
        }
        // A rank sends in the order of the algorithm.
        opened.sort_unstable();
        self.post(opened)
    }

    fn result(&self) -> Result<(), String> {
        let Collective { algorithm, ranks, .. } = self.of;
        if let Some(message) = self.delivered.iter().position(|&delivered| !delivered) {
            return Err(format!("message {message} was never sent"));
        }
        if let Some(message) = self.held.first() {
            return Err(format!("message {message} was never put to its receiver's data"));
        }
        for rank in 0..*ranks {
            for (from, to, expected) in self.of.expected(rank) {
                for piece in from..to {
                    let has = &self.data[self.span(rank, (piece, piece + 1))];
                    if has != expected {
                        let byte = self.of.cuts[piece];
                        return Err(format!(
                            "{}: rank {rank} of {ranks} has contributions {has:?} at byte {byte}",
                            algorithm.name()
                        ));
                    }
                }
            }
        }
        Ok(())
    }
}
