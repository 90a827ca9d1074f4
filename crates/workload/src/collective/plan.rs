//! The plan of a collective: the chunks that its ranks exchange, and the dependencies of the chunks.

use crate::Done;
use std::collections::BTreeMap;
use std::ops::Range;

/// A collective among the ranks `0..ranks`, as messages with dependencies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Number of ranks.
    pub ranks: u32,
    /// All messages. A message comes after all messages for which it waits.
    pub sends: Vec<Send>,
    /// The dependencies of all sends, as positions in `sends`. Each send has a range of this list.
    pub waits: Vec<u32>,
    /// The largest number of sends in flight per rank, if it is limited. The first sends of a rank start when the rank
    /// begins. Each further send, in the order of `sends`, starts when an earlier send is acknowledged.
    pub per_rank: Option<u32>,
    /// The largest number of sends in flight per pair of ranks, if it is limited, and the event that completes a send.
    /// With a limit of n, a send also waits for the completion of the send n positions earlier among the sends of its
    /// pair.
    pub per_pair: Option<(u32, Done)>,
}

/// One message of a collective: a range of the sender's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Send {
    /// The sending rank.
    pub src: u32,
    /// The receiving rank.
    pub dst: u32,
    /// The first byte of the range, in the buffer of the collective. In an all-to-all, it is a position in the sender's
    /// own input.
    pub from: u64,
    /// The length in bytes, at least 1.
    pub bytes: u64,
    /// The way in which the receiver uses the data.
    pub action: Action,
    /// The channel of the collective to which the message belongs.
    pub channel: u32,
    /// Whether the message goes through a server's NVLink switch that reduces and multicasts. All sends through the
    /// switch that are reduced into the same bytes of a rank in one step arrive at that rank as one transfer. All
    /// copies of the same bytes of a rank leave that rank as one transfer.
    pub switch: bool,
    /// The step of the algorithm. Within a step, a rank sends its data from before the step. Data that it receives in
    /// the step is reduced or copied afterwards.
    pub step: u32,
    /// The position of the send's first dependency in [`Plan::waits`].
    pub waits_from: u32,
    /// The number of the send's dependencies. The sender must have received them before the send starts. A send without
    /// dependencies starts immediately, or as soon as the plan's limit on sends in flight permits.
    pub waits_len: u32,
}

/// The way in which received data is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The data is combined with the receiver's own data.
    Reduce,
    /// The data replaces the receiver's own data.
    Copy,
}

impl Plan {
    /// The dependencies of `send`. All of them are messages to the rank that sends `send`.
    pub fn waits_of(&self, send: &Send) -> &[u32] {
        &self.waits[send.waits_from as usize..][..send.waits_len as usize]
    }
}

/// A range of bytes that one rank sends to another in one step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    pub src: u32,
    pub dst: u32,
    /// The first byte and the byte after the last one. Nothing is sent if the range is empty.
    pub range: (u64, u64),
    pub action: Action,
    pub channel: u32,
}

/// A builder that makes a plan from steps.
///
/// Algorithms do not declare on which data their chunks depend. A chunk waits for the chunks that last overwrote its
/// bytes in the sender's buffer, and for all chunks that were reduced into these bytes since then.
pub(super) struct Planner {
    plan: Plan,
    chunk: u64,
    step: u32,
    switch: bool,
    /// For each rank, earlier sends to the rank. In the present step, each send of the rank waits for all of them, in
    /// addition to the sends that wrote its bytes.
    earlier: BTreeMap<u32, Vec<u32>>,
    /// The position of each send among the chunks of its transfer.
    positions: Vec<u32>,
    logs: Vec<WriteLog>,
}

impl Planner {
    pub(super) fn new(ranks: u32, chunk: u64) -> Self {
        let plan = Plan { ranks, ..Plan::default() };
        Planner {
            plan,
            chunk,
            step: 0,
            switch: false,
            earlier: BTreeMap::new(),
            positions: Vec::new(),
            logs: (0..ranks).map(|_| WriteLog::default()).collect(),
        }
    }

    /// Adds a step, in which all ranks send the data that they had before the step.
    pub(super) fn step(&mut self, transfers: impl IntoIterator<Item = Transfer>) {
        let mut received = Vec::new();
        for transfer in transfers {
            let (start, end) = transfer.range;
            let writer = Writer { first: self.plan.sends.len() as u32, start };
            let mut from = start;
            for position in 0.. {
                if from >= end {
                    break;
                }
                let to = end.min(from.saturating_add(self.chunk));
                self.send(&transfer, from, to);
                self.positions.push(position);
                from = to;
            }
            if start < end {
                received.push((transfer, writer));
            }
        }
        for (transfer, writer) in received {
            self.logs[transfer.dst as usize].write(transfer.range, writer, transfer.action);
        }
        self.step += 1;
    }

    /// Adds a step whose transfers go through the NVLink switch of their server. Each transfer also waits for those of
    /// the sends `earlier` that its sender receives.
    pub(super) fn switch_step(&mut self, transfers: impl IntoIterator<Item = Transfer>, earlier: Range<u32>) {
        self.switch = true;
        for send in earlier {
            self.earlier.entry(self.plan.sends[send as usize].dst).or_default().push(send);
        }
        self.step(transfers);
        self.switch = false;
        self.earlier.clear();
    }

    pub(super) fn sends(&self) -> u32 {
        self.plan.sends.len() as u32
    }

    pub(super) fn finish(self) -> Plan {
        self.plan
    }

    /// The plan with the sends of each step chunk by chunk: the first chunk of every transfer, then the second chunk
    /// of every transfer, and so on. The channels of a rank then share its NVLink, as in NCCL, where channels are
    /// thread blocks that run at the same time. Without this order, one channel after the other would occupy the
    /// NVLink alone.
    pub(super) fn finish_side_by_side(self) -> Plan {
        let Planner { mut plan, positions, .. } = self;
        let mut order: Vec<u32> = (0..plan.sends.len() as u32).collect();
        order.sort_by_key(|&send| (plan.sends[send as usize].step, positions[send as usize]));
        let mut moved_to = vec![0; order.len()];
        for (to, from) in (0..).zip(&order) {
            moved_to[*from as usize] = to;
        }
        plan.sends = order.iter().map(|&send| plan.sends[send as usize]).collect();
        plan.waits.iter_mut().for_each(|wait| *wait = moved_to[*wait as usize]);
        plan
    }

    fn send(&mut self, transfer: &Transfer, from: u64, to: u64) {
        let waits_from = self.plan.waits.len();
        self.logs[transfer.src as usize].writers(from, to, self.chunk, &mut self.plan.waits);
        self.plan.waits.extend(self.earlier.get(&transfer.src).into_iter().flatten());
        self.plan.waits[waits_from..].sort_unstable();
        // An earlier chunk may have written several pieces, and must be listed only once.
        let mut kept = waits_from;
        for next in waits_from..self.plan.waits.len() {
            if kept == waits_from || self.plan.waits[kept - 1] != self.plan.waits[next] {
                self.plan.waits[kept] = self.plan.waits[next];
                kept += 1;
            }
        }
        self.plan.waits.truncate(kept);
        self.plan.sends.push(Send {
            src: transfer.src,
            dst: transfer.dst,
            from,
            bytes: to - from,
            action: transfer.action,
            channel: transfer.channel,
            switch: self.switch,
            step: self.step,
            waits_from: waits_from as u32,
            waits_len: (kept - waits_from) as u32,
        });
    }
}

/// The chunks of a transfer. They are consecutive sends, the first of which has the number `first`, and their bytes are
/// consecutive from `start` on.
#[derive(Clone, Copy, Debug)]
struct Writer {
    first: u32,
    start: u64,
}

/// The received transfers that contributed to each piece of a rank's buffer. Bytes outside of all pieces are the rank's
/// own input.
#[derive(Default)]
struct WriteLog {
    /// The pieces by their first bytes. Each piece has the byte after its last byte, and its writers.
    pieces: BTreeMap<u64, (u64, Vec<Writer>)>,
}

impl WriteLog {
    fn write(&mut self, (start, end): (u64, u64), writer: Writer, action: Action) {
        self.split(start);
        self.split(end);
        let inside: Vec<u64> = self.pieces.range(start..end).map(|(&from, _)| from).collect();
        if action == Action::Copy {
            for from in inside {
                self.pieces.remove(&from);
            }
            self.pieces.insert(start, (end, vec![writer]));
            return;
        }
        let mut at = start;
        for from in inside {
            if at < from {
                self.pieces.insert(at, (from, vec![writer]));
            }
            if let Some((to, writers)) = self.pieces.get_mut(&from) {
                writers.push(writer);
                at = *to;
            }
        }
        if at < end {
            self.pieces.insert(at, (end, vec![writer]));
        }
    }

    /// Splits the piece that contains `at`, so that a piece begins there.
    fn split(&mut self, at: u64) {
        let Some((&from, (to, writers))) = self.pieces.range_mut(..at).next_back() else { return };
        if at < *to {
            let behind = (*to, writers.clone());
            *to = at;
            debug_assert!(from < at);
            self.pieces.insert(at, behind);
        }
    }

    /// Adds the numbers of the chunks that wrote into `from..to`, possibly with duplicates.
    fn writers(&self, from: u64, to: u64, chunk: u64, into: &mut Vec<u32>) {
        let before = self.pieces.range(..=from).next_back().map_or(from, |(&start, _)| start);
        for (&start, (end, writers)) in self.pieces.range(before..to) {
            let (low, high) = (start.max(from), (*end).min(to));
            if low >= high {
                continue;
            }
            for writer in writers {
                let nth = |byte: u64| writer.first + ((byte - writer.start) / chunk) as u32;
                into.extend(nth(low)..=nth(high - 1));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_waits_for_what_was_written_into_its_bytes_and_for_nothing_else() {
        let mut planner = Planner::new(3, 10);
        let transfer = |src, dst, range, action| Transfer { src, dst, range, action, channel: 0 };
        planner.step([transfer(0, 1, (0, 40), Action::Reduce)]);
        planner.step([transfer(2, 1, (5, 25), Action::Reduce)]);
        planner.step([transfer(2, 1, (30, 40), Action::Copy)]);
        planner.step([transfer(1, 0, (0, 20), Action::Copy), transfer(1, 0, (20, 45), Action::Copy)]);
        let plan = planner.finish();
        let waits: Vec<&[u32]> = plan.sends.iter().map(|send| plan.waits_of(send)).collect();
        let none: &[u32] = &[];
        assert_eq!(waits[..7], [none; 7]);
        // Chunks 0 to 3 belong to the first transfer, and chunks 4 and 5 (from byte 5) to the second. Chunk 6
        // overwrites chunk 3.
        let expected: [&[u32]; 5] = [&[0, 4], &[1, 4, 5], &[2, 5], &[6], &[]];
        assert_eq!(waits[7..], expected);
    }

    #[test]
    fn what_a_step_brings_is_not_sent_within_it() {
        let mut planner = Planner::new(2, 10);
        let swap = [
            Transfer { src: 0, dst: 1, range: (0, 10), action: Action::Reduce, channel: 0 },
            Transfer { src: 1, dst: 0, range: (0, 10), action: Action::Reduce, channel: 0 },
        ];
        planner.step(swap);
        planner.step(swap);
        let plan = planner.finish();
        let waits: Vec<&[u32]> = plan.sends.iter().map(|send| plan.waits_of(send)).collect();
        let expected: [&[u32]; 4] = [&[], &[], &[1], &[0]];
        assert_eq!(waits, expected);
        assert_eq!(plan.sends.iter().map(|send| send.step).collect::<Vec<_>>(), [0, 0, 1, 1]);
    }
}
