//! Collectives among ranks in servers: transfers over NVLink and messages over the network.

use super::plan::Plan;
use super::server::{Ranks, Transfer, Way};
use super::{CollectiveSpec, Layout, Pace, ServerSpec, of_gpus};
use crate::{Done, Fabric, Job, MAX_MESSAGES, Step, Workload, WorkloadBuilder, WorkloadError};
use anabranch_base::{Duration, GateId, HostId, Problem, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

pub(super) fn build(
    spec: &CollectiveSpec,
    groups: Vec<Vec<u32>>,
    fabric: &Fabric,
    seed: u64,
) -> Result<Workload, WorkloadError> {
    let mut jobs = Vec::with_capacity(groups.len());
    let mut sends = 0_u64;
    for group in groups {
        let ranks = Ranks::new(&group, spec.server, fabric)?;
        let layout = ranks.layout(0..group.len() as u32);
        sends = sends.saturating_add(spec.algorithm.messages_in(&layout, spec.bytes.0, spec.chunk_bytes()));
        jobs.push((ranks, layout));
    }
    if sends > u64::from(MAX_MESSAGES) {
        let what = Problem::with_text(
            format!("{sends} transfers would be made on all channels, and the most is {MAX_MESSAGES}"),
            "a larger chunk, or fewer ranks, jobs or channels",
        );
        return Err(WorkloadError::key("bytes", what));
    }
    let mut plans: BTreeMap<Layout, Plan> = BTreeMap::new();
    let mut builder = WorkloadBuilder::new();
    for (job, (mut ranks, layout)) in (0..).zip(jobs) {
        let chosen = spec.chosen(&layout);
        let plan = plans.entry(layout).or_insert_with_key(|layout| spec.plan(layout));
        let begins: Vec<Time> = (0..u64::from(plan.ranks)).map(|rank| spec.begin(job, rank, seed)).collect();
        let [messages, steps] = plan.add_to_servers(&mut builder, &mut ranks, &begins);
        builder.add_job(Job {
            algorithm: spec.algorithm.name(),
            chosen,
            bytes: spec.bytes.0,
            hosts: ranks.hosts(),
            messages,
            steps,
            rank_steps: Vec::new(),
            collectives: Vec::new(),
        });
    }
    builder.build()
}

/// The NICs that the rings and trees of `spec` use if they have `channels` channels. `None` for algorithms whose NICs do
/// not depend on the number of channels, for ranks without servers, and for a `spec` that cannot be built.
pub fn nics_of_channels(
    spec: &CollectiveSpec,
    channels: u32,
    fabric: &Fabric,
    seed: u64,
) -> Option<BTreeSet<HostId>> {
    let of_gpus = of_gpus(spec, fabric).ok()?;
    let fabric = of_gpus.as_ref().unwrap_or(fabric);
    let server = Some(ServerSpec { channels: Some(channels), ..spec.server? });
    let spec = CollectiveSpec { server, ..spec.clone() };
    let mut nics = BTreeSet::new();
    for group in spec.places_on(fabric, seed).ok()? {
        let ranks = Ranks::new(&group, spec.server, fabric).ok()?;
        let layout = ranks.layout(0..group.len() as u32);
        let algorithm = spec.chosen(&layout).map_or(spec.algorithm, |(algorithm, _)| algorithm);
        for [src, dst] in algorithm.edges(&layout)? {
            match ranks.way(src, dst) {
                Way::NvLink => {}
                Way::Relay(relay) => nics.extend([ranks.host(relay), ranks.host(dst)]),
                Way::Network => nics.extend([ranks.host(src), ranks.host(dst)]),
            }
        }
    }
    Some(nics)
}

impl Plan {
    /// Adds the messages and steps of a job of this plan, and returns the ranges of their ids. Each rank has its own
    /// start time.
    fn add_to_servers(
        &self,
        builder: &mut WorkloadBuilder,
        ranks: &mut Ranks,
        begins: &[Time],
    ) -> [Range<u32>; 2] {
        let (first, first_step) = (builder.messages(), builder.steps());
        let begins: Vec<Option<GateId>> = (0..)
            .zip(begins)
            .map(|(rank, begin)| {
                let until = Duration(begin.0);
                (*begin > Time::ZERO).then(|| builder.add_step((ranks.host(rank), Step::IDLE), 0, until, &[]))
            })
            .collect();
        let mut pace = self.per_pair.map(|(depth, on)| (Pace::new(depth), on));
        let mut sent: Vec<Transfer> = Vec::with_capacity(self.sends.len());
        let mut of_rank: Vec<Vec<u32>> = vec![Vec::new(); self.ranks as usize];
        for (number, send) in (0..).zip(&self.sends) {
            let mut earlier = pace.as_mut().map_or(Vec::new(), |(pace, _)| pace.before(self, number));
            let mut on = pace.as_ref().map_or(Done::Acknowledged, |(_, on)| *on);
            if let Some(most) = self.per_rank {
                // If at most `most` sends of a rank may be in flight, a send waits for the send of its rank that is
                // `most` positions earlier.
                let own = &mut of_rank[send.src as usize];
                earlier.extend(own.len().checked_sub(most as usize).map(|before| own[before]));
                own.push(number);
                on = Done::Acknowledged;
            }
            let begin = begins[send.src as usize].filter(|_| send.waits_len as usize + earlier.len() == 0);
            let needs = send.waits_len + earlier.len() as u32 + u32::from(begin.is_some());
            let (gate, transfer) = ranks.carry(builder, ([send.src, send.dst], send), 0, needs);
            sent.push(transfer);
            let Some(gate) = gate else { continue };
            for wait in self.waits_of(send) {
                sent[*wait as usize].activate(builder, Done::Delivered, gate);
            }
            for wait in earlier {
                let receiver = ranks.host(self.sends[wait as usize].dst);
                sent[wait as usize].activate_sender(builder, (on, receiver), gate);
            }
            if let Some(begin) = begin {
                builder.activate_after(begin, gate);
            }
        }
        ranks.end_collective();
        [first..builder.messages(), first_step..builder.steps()]
    }
}
