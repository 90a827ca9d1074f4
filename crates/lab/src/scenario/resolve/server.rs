//! `[workload.server]` as written.

use crate::scenario::keys;
use crate::scenario::read::table::Table;
use crate::scenario::schema::unknown_keys::only;
use anabranch_base::{Diagnostic, Rate};
use anabranch_fabric::TopologySpec;
use anabranch_workload::ServerSpec;

/// The numbers of a topology's servers.
#[derive(Clone, Copy)]
pub(in crate::scenario) struct TopologyServers {
    /// The GPUs of all servers.
    pub gpus: u32,
    /// The NICs of the server that has most.
    pub rails: u32,
}

impl TopologyServers {
    /// The servers of a topology; none if it has none.
    pub fn of(topology: &TopologySpec) -> Option<Self> {
        if let Some((_, spec)) = topology.clos() {
            let gpus = spec.servers.saturating_mul(spec.gpus);
            return Some(TopologyServers { gpus, rails: spec.nics });
        }
        let TopologySpec::Registered(_) = topology else { return None };
        let servers = anabranch_fabric::build(topology, None).ok()?.servers?;
        Some(TopologyServers { gpus: servers.gpus(), rails: servers.rails().into() })
    }
}

/// The most ranks of a server.
const MOST_RANKS: u64 = 1 << 20;
/// The most channels, as NCCL has them.
const MOST_CHANNELS: u64 = 64;

/// The servers of a job whose table goes by `name`, if it has some. Without `ranks` they are those of the topology.
pub(in crate::scenario) fn read(
    table: &Table,
    name: &str,
    servers: Option<TopologyServers>,
) -> Result<Option<ServerSpec>, Diagnostic> {
    let Some(node) = table.node("server") else { return Ok(None) };
    let table = &Table::open(table.file, &format!("[{name}.server]"), node)?;
    only(table, &keys::of("server"))?;
    let ranks: Option<u32> = match (table.node("ranks"), servers) {
        (None, Some(_)) => None,
        _ => Some(table.need("ranks")?),
    };
    if let Some(ranks) = ranks {
        table.within("ranks", u64::from(ranks), 2, MOST_RANKS)?;
    }
    let of_topology = servers.filter(|_| ranks.is_none());
    let link: Rate = table.need("link")?;
    table.above_zero("link", link)?;
    let link_latency = table.need("link_latency")?;
    let pxn = table.get("pxn")?.or_else(|| of_topology.map(|_| true));
    let rails = |servers: TopologyServers| servers.rails.clamp(1, MOST_CHANNELS as u32);
    let channels: Option<u32> = table.get("channels")?.or_else(|| of_topology.map(rails));
    if let Some(channels) = channels {
        table.within("channels", u64::from(channels), 1, MOST_CHANNELS)?;
    }
    let nvls = table.get("nvls")?.unwrap_or_default();
    Ok(Some(ServerSpec { ranks, link, link_latency, pxn, channels, nvls }))
}
