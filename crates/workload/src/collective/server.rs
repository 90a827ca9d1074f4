//! The servers of ranks, and the route of data between two ranks: over NVLink, over the network, or both.

use super::layout::Layout;
use super::plan::{Action, Send};
use crate::{Done, Fabric, Opens, Start, Step, WorkloadBuilder, WorkloadError};
use anabranch_base::{Duration, GateId, HostId, MessageId, Problem, QpId, Rate};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The servers of a job's ranks. Data between ranks of one NVLink domain does not cross the network. It occupies the
/// NVLinks of the sending GPU and of the receiving GPU for its serialisation time, and arrives after the latency.
/// These NVLinks carry one transfer at a time. The sender learns of the arrival immediately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerSpec {
    /// The number of consecutive ranks per server, where each rank is on its own host. Without it, ranks are the GPUs
    /// of the topology's servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<u32>,
    /// The rate of each GPU's NVLink per direction.
    pub link: Rate,
    /// The time from the end of the serialisation to the arrival.
    pub link_latency: Duration,
    /// Whether data for a NIC of another rail goes over NVLink first, to the local rank whose NIC has that rail
    /// (NCCL's PXN). `None` means no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pxn: Option<bool>,
    /// The number of channels of collectives. Without it, the algorithms of collectives ignore the servers, as if
    /// each rank were its own server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channels: Option<u32>,
    /// Whether the NVLink switch reduces and multicasts within a server (NVLS). It does so in hierarchical AllReduces.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nvls: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Gpu {
    /// The NIC of the GPU.
    host: HostId,
    /// The number of the GPU among the GPUs that use this NIC.
    pipe: u32,
    server: u32,
    domain: u32,
    rail: u32,
}

impl Fabric {
    /// The fabric with one place for each GPU instead of each NIC, for ranks in the topology's servers.
    ///
    /// # Errors
    /// The topology has no servers.
    pub(crate) fn of_gpus(&self) -> Result<Fabric, WorkloadError> {
        let Some(servers) = &self.servers else {
            let what = Problem::with_text(
                "this topology has no servers of its own, whose GPUs the ranks would be",
                "ranks = 8 into it, the ranks of a server, or kind = \"rails\" into [topology]",
            );
            return Err(WorkloadError::key("server", what));
        };
        let nics = || (0..servers.gpus()).map(|gpu| servers.nic_of_gpu(gpu));
        let tor_of = nics().map(|nic| self.tor_of[nic.index()]).collect();
        Ok(Fabric { hosts: servers.gpus(), tor_of, of_gpus: true, ..self.clone() })
    }

    /// The GPU at a place of a fabric [of GPUs](Self::of_gpus).
    fn gpu(&self, gpu: u32) -> Option<Gpu> {
        let servers = self.servers.as_ref()?;
        let (host, server) = (servers.nic_of_gpu(gpu), servers.server_of_gpu(gpu));
        let before = servers.gpus_of(server).start..gpu;
        Some(Gpu {
            host,
            pipe: before.filter(|other| servers.nic_of_gpu(*other) == host).count() as u32,
            server,
            domain: servers.domain_of(server),
            rail: servers.rail_of(host).map_or(0, u32::from),
        })
    }
}

/// The ranks of a job, their servers, and the queue pairs between them.
pub(crate) struct Ranks {
    gpus: Vec<Gpu>,
    server: Option<ServerSpec>,
    nic_rate: Rate,
    /// The ranks on each rail of each server.
    on_rail: BTreeMap<(u32, u32), Vec<u32>>,
    qps: BTreeMap<(u32, u32, (u32, u32)), QpId>,
    /// For the bytes that a switch reduces for a rank, the gate of the receiving step, and the number of senders. The
    /// key is the rank and the first byte.
    reduced: BTreeMap<(u32, u64), (GateId, u32)>,
    /// For the bytes that a switch multicasts for a rank, the gate of the sending step. The key is the rank and the
    /// first byte.
    multicast: BTreeMap<(u32, u64), GateId>,
}

/// The route of data from one rank to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// The data goes over NVLink.
    NvLink,
    /// The data goes over NVLink to this rank, and over the network from the NIC of this rank.
    Relay(u32),
    /// The data goes over the network from the sending rank's own NIC.
    Network,
}

/// A transfer of data from one rank to another.
#[derive(Clone, Copy)]
pub(crate) enum Transfer {
    /// A message over the network.
    Message(MessageId),
    /// A message over the network from the NIC of another rank, which is this host.
    Relayed(MessageId, HostId),
    /// A transfer over NVLink. This gate belongs to a step at whose end the receiver has the data.
    NvLink(GateId),
}

impl Transfer {
    /// Makes the transfer activate a gate when it is delivered or acknowledged, as `on` states.
    pub fn activate(self, builder: &mut WorkloadBuilder, on: Done, gate: GateId) {
        match (self, on) {
            // The acknowledgement arrives at the host of the other rank's NIC. An idle step there passes the
            // activation on to the sending rank's host.
            (Transfer::Relayed(message, host), Done::Acknowledged) => {
                let known = builder.add_step((host, Step::IDLE), 1, Duration::ZERO, &[]);
                builder.activate(message, on, known);
                builder.activate_after(known, gate);
            }
            (Transfer::Message(message) | Transfer::Relayed(message, _), _) => {
                builder.activate(message, on, gate);
            }
            // Over NVLink, delivery and acknowledgement coincide.
            (Transfer::NvLink(step), _) => builder.activate_after(step, gate),
        }
    }

    /// Makes the transfer to `receiver` activate a gate of the sending rank when it is delivered or acknowledged, as
    /// `on` states.
    pub fn activate_sender(
        self,
        builder: &mut WorkloadBuilder,
        (on, receiver): (Done, HostId),
        gate: GateId,
    ) {
        if on == Done::Acknowledged {
            return self.activate(builder, on, gate);
        }
        // An idle step at the receiver activates the gate, because an idle step may activate a gate of another host.
        let known = builder.add_step((receiver, Step::IDLE), 1, Duration::ZERO, &[]);
        self.activate(builder, on, known);
        builder.activate_after(known, gate);
    }
}

impl Ranks {
    /// Ranks at places of `fabric`. If `server` refers to the topology's servers, the places are GPUs. In all other
    /// cases, they are hosts.
    ///
    /// # Errors
    /// More GPUs share one NIC than the simulation supports.
    pub fn new(places: &[u32], server: Option<ServerSpec>, fabric: &Fabric) -> Result<Self, WorkloadError> {
        let gpu = |(rank, &place): (u32, &u32)| match server {
            Some(ServerSpec { ranks: None, .. }) => fabric.gpu(place),
            Some(ServerSpec { ranks: Some(ranks), .. }) => {
                let (server, rail) = (rank / ranks.max(1), rank % ranks.max(1));
                Some(Gpu { host: HostId(place), pipe: 0, server, domain: server, rail })
            }
            None => Some(Gpu { host: HostId(place), pipe: 0, server: rank, domain: rank, rail: 0 }),
        };
        let gpus: Vec<Gpu> = (0..).zip(places).filter_map(gpu).collect();
        if gpus.iter().any(|gpu| gpu.pipe >= Step::MOST_GPUS) {
            let most = Step::MOST_GPUS;
            let what = Problem::with_text(
                format!("more than {most} GPUs use one NIC"),
                "more nics or fewer gpus into [topology]",
            );
            return Err(WorkloadError::key("server", what));
        }
        let mut on_rail: BTreeMap<(u32, u32), Vec<u32>> = BTreeMap::new();
        for (rank, gpu) in (0..).zip(&gpus) {
            on_rail.entry((gpu.server, gpu.rail)).or_default().push(rank);
        }
        let (qps, reduced, multicast) = Default::default();
        Ok(Ranks { gpus, server, nic_rate: fabric.host_rate, on_rail, qps, reduced, multicast })
    }

    /// The NIC of a rank.
    pub fn host(&self, rank: u32) -> HostId {
        self.gpus[rank as usize].host
    }

    pub fn hosts(&self) -> Vec<HostId> {
        self.gpus.iter().map(|gpu| gpu.host).collect()
    }

    /// The number of a processor among all processors of its host. `own` is the number of the processor in its rank.
    /// No other processor of the host has the returned number.
    pub fn processor(&self, rank: u32, own: u32, among: &mut BTreeMap<(HostId, u32, u32), u32>) -> u32 {
        let gpu = self.gpus[rank as usize];
        if matches!(self.server, None | Some(ServerSpec { ranks: Some(_), .. })) {
            return own;
        }
        let next = among.range((gpu.host, 0, 0)..=(gpu.host, u32::MAX, u32::MAX)).count() as u32;
        *among.entry((gpu.host, gpu.pipe, own)).or_insert(next)
    }

    /// The layout of some ranks in servers, for a collective among them. The servers of one NVLink domain count as one
    /// server. Without channels, each rank is a server of its own.
    pub fn layout(&self, members: impl ExactSizeIterator<Item = u32>) -> Layout {
        let count = members.len() as u32;
        let Some(ServerSpec { channels: Some(channels), pxn, nvls, link, .. }) = self.server else {
            return Layout::flat(count);
        };
        let places = members.map(|rank| self.gpus[rank as usize]).map(|gpu| (gpu.domain, gpu.rail));
        Layout::of(places, channels, pxn != Some(true), nvls).with_rates([self.nic_rate, link])
    }

    pub fn way(&self, src: u32, dst: u32) -> Way {
        let [from, to] = [src, dst].map(|rank| self.gpus[rank as usize]);
        let Some(server) = self.server else { return Way::Network };
        if from.domain == to.domain {
            return Way::NvLink;
        }
        if server.pxn != Some(true) || from.rail == to.rail {
            return Way::Network;
        }
        let relays = self.on_rail.get(&(from.server, to.rail));
        relays.map_or(Way::Network, |relays| Way::Relay(relays[src as usize % relays.len()]))
    }

    /// The queue pair between the NICs of two ranks. `channel` has the numbers of the trace's channel and of the
    /// collective's channel. Each combination has its own queue pair, as NCCL connects two ranks once per channel.
    pub fn qp(&mut self, builder: &mut WorkloadBuilder, [src, dst]: [u32; 2], channel: (u32, u32)) -> QpId {
        let ends = [self.host(src), self.host(dst)];
        *self.qps.entry((src, dst, channel)).or_insert_with(|| builder.add_qp(ends[0], ends[1]))
    }

    /// Adds a send of a plan between these two ranks of the job. See [`Ranks::send`].
    pub fn carry(
        &mut self,
        builder: &mut WorkloadBuilder,
        (ends, send): ([u32; 2], &Send),
        channel: u32,
        needs: u32,
    ) -> (Option<GateId>, Transfer) {
        match (send.switch, send.action) {
            (false, _) => self.send(builder, ends, (send.bytes, (channel, send.channel)), needs),
            (true, Action::Reduce) => self.send_to_switch(builder, ends, (send.from, send.bytes), needs),
            (true, Action::Copy) => self.send_from_switch(builder, ends, (send.from, send.bytes), needs),
        }
    }

    /// Adds a transfer of `bytes` between two ranks. It begins after `needs` activations of the returned gate, or at
    /// time 0 if there is no gate.
    pub fn send(
        &mut self,
        builder: &mut WorkloadBuilder,
        [src, dst]: [u32; 2],
        (bytes, channel): (u64, (u32, u32)),
        needs: u32,
    ) -> (Option<GateId>, Transfer) {
        match self.way(src, dst) {
            Way::NvLink => {
                let ends = [src, dst].map(|rank| self.pipe(rank));
                let [sends, receives] = builder.add_nvlink(ends, needs, self.times(bytes));
                (Some(sends), Transfer::NvLink(receives))
            }
            Way::Relay(relay) => {
                let qp = self.qp(builder, [relay, dst], channel);
                let message = builder.add_message(qp, bytes, Start::ByGate);
                let times = self.times(bytes);
                let (host, pipe) = self.pipe(src);
                let sends = builder.add_step((host, Step::sending_pipe(pipe)), needs, times[0], &[]);
                let receives = builder.add_receiving(self.pipe(relay), 1, times, &[message]);
                builder.activate_after(sends, receives);
                (Some(sends), Transfer::Relayed(message, self.host(relay)))
            }
            Way::Network => {
                let qp = self.qp(builder, [src, dst], channel);
                if needs == 0 {
                    let message = builder.add_message(qp, bytes, Start::At(anabranch_base::Time::ZERO));
                    return (None, Transfer::Message(message));
                }
                let message = builder.add_message(qp, bytes, Start::ByGate);
                (Some(builder.add_gate(Opens::After(needs), &[message])), Transfer::Message(message))
            }
        }
    }

    /// Adds a transfer from `src` to the switch, which sums the bytes `from..from + bytes` of several ranks for `dst`.
    /// The switch sends the sum to `dst` when it has the bytes of all these ranks.
    fn send_to_switch(
        &mut self,
        builder: &mut WorkloadBuilder,
        [src, dst]: [u32; 2],
        (from, bytes): (u64, u64),
        needs: u32,
    ) -> (Option<GateId>, Transfer) {
        let times = self.times(bytes);
        let (host, pipe) = self.pipe(src);
        let to = self.pipe(dst);
        let sends = builder.add_step((host, Step::sending_pipe(pipe)), needs, times[0], &[]);
        let (receives, senders) =
            self.reduced.entry((dst, from)).or_insert_with(|| (builder.add_receiving(to, 0, times, &[]), 0));
        *senders += 1;
        builder.set_needs(*receives, *senders);
        builder.activate_after(sends, *receives);
        (Some(sends), Transfer::NvLink(*receives))
    }

    /// Adds a transfer of `src`'s bytes `from..from + bytes` through the switch. The bytes are sent to the switch once
    /// for all receivers. The transfers to all receivers wait for the same dependencies.
    fn send_from_switch(
        &mut self,
        builder: &mut WorkloadBuilder,
        [src, dst]: [u32; 2],
        (from, bytes): (u64, u64),
        needs: u32,
    ) -> (Option<GateId>, Transfer) {
        let times = self.times(bytes);
        let (host, pipe) = self.pipe(src);
        let known = self.multicast.get(&(src, from)).copied();
        let sends =
            known.unwrap_or_else(|| builder.add_step((host, Step::sending_pipe(pipe)), needs, times[0], &[]));
        self.multicast.insert((src, from), sends);
        let receives = builder.add_receiving(self.pipe(dst), 1, times, &[]);
        builder.activate_after(sends, receives);
        (known.is_none().then_some(sends), Transfer::NvLink(receives))
    }

    /// Forgets the transfers through switches, because the next collective may use the same bytes.
    pub fn end_collective(&mut self) {
        self.reduced.clear();
        self.multicast.clear();
    }

    fn pipe(&self, rank: u32) -> (HostId, u32) {
        let gpu = self.gpus[rank as usize];
        (gpu.host, gpu.pipe)
    }

    /// The serialisation time and the latency of a transfer over NVLink.
    fn times(&self, bytes: u64) -> [Duration; 2] {
        self.server.map_or([Duration::ZERO; 2], |server| [server.link.time_for(bytes), server.link_latency])
    }
}
