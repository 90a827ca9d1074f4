//! Checks that the queue pairs of a workload have enough sequence numbers for all packets, requests and pulls of what
//! they carry.

use crate::scenario::check::pfc::round_down;
use crate::scenario::read::source_map::Origin;
use crate::scenario::read::table::fault;
use anabranch_base::{Bytes, Diagnostic};
use anabranch_engine::Scheme;
use anabranch_proto::PathFacts;
use anabranch_proto::transport::NumberSpace;
use anabranch_workload::{Workload, WorkloadSpec};

/// The load of one message or of several on the first queue pair of a connection.
#[derive(Clone, Copy, Default)]
struct Carried {
    packets: u64,
    requests: u64,
    /// Bytes on the wire.
    bytes: u64,
}

impl Carried {
    fn add(&mut self, more: Carried) {
        self.packets = self.packets.saturating_add(more.packets);
        self.requests = self.requests.saturating_add(more.requests);
        self.bytes = self.bytes.saturating_add(more.bytes);
    }

    /// The items for which a queue pair has too few numbers, in words, and its numbers.
    fn beyond(&self, space: &NumberSpace) -> Option<(String, String)> {
        let (requests, bytes) = (space.requests.map(|(most, _)| most), space.pulled_bytes);
        match (requests, bytes) {
            (Some(most), _) if self.requests > most => {
                Some((format!("{} requests", self.requests), most.to_string()))
            }
            _ if self.packets > space.packets => {
                Some((format!("{} packets", self.packets), space.packets.to_string()))
            }
            (_, Some(most)) if self.bytes > most => {
                let has = format!("{most} bytes of credit, and as many of retransmissions");
                Some((format!("{} bytes", self.bytes), has))
            }
            _ => None,
        }
    }
}

/// Rejects a workload in which a queue pair of `scheme` would run out of PSNs, of message sequence numbers (MSNs) or of
/// numbers of pulls.
pub(in crate::scenario) fn check(
    scheme: &Scheme,
    facts: &PathFacts,
    spec: &WorkloadSpec,
    workload: &Workload,
    origin: &Origin,
) -> Result<(), Diagnostic> {
    let space = scheme.transport.number_space(scheme.cc.build(facts).window());
    let framing = scheme.transport.framing();
    let payload = framing.payload.0;
    let split = u64::from(scheme.qps);
    // The number of parts of a message is at most its number of bytes. The first queue pair of a connection carries a
    // part of each message, and no other queue pair carries a longer part.
    let of_first = |bytes: u64| {
        let part = bytes.div_ceil(bytes.clamp(1, split));
        let packets = part.div_ceil(payload);
        let bytes = part.saturating_add(packets.saturating_mul(framing.header.0));
        Carried { packets, requests: space.requests_of(packets), bytes }
    };
    let mut carried = vec![Carried::default(); workload.qps.len()];
    for (number, message) in workload.messages.iter().enumerate() {
        let of_message = of_first(message.bytes);
        let all = &mut carried[message.qp.index()];
        all.add(of_message);
        let Some((wants, has)) = all.beyond(&space) else { continue };
        let (path, key) = written_at(spec, workload, number);
        let alone = all.packets == of_message.packets;
        let bytes = workload.messages[..number]
            .iter()
            .filter(|before| before.qp == message.qp)
            .fold(message.bytes, |sum, before| sum.saturating_add(before.bytes));
        let problem = format!(
            "scheme {:?}: {} from host {} to host {} make {wants} on a queue pair, at {} per packet, and it has numbers \
             for {has}",
            scheme.name,
            Bytes(bytes),
            workload.qps[message.qp.index()].src,
            workload.qps[message.qp.index()].dst,
            Bytes(payload),
        );
        let help = remedy(scheme, &space, key.filter(|_| alone), alone);
        return Err(fault(&origin.file, origin.place(&path), problem, Some(help.into())));
    }
    Ok(())
}

/// Ways to make do with the numbers of a queue pair. `key` sets the length of a message, and `alone` tells whether one
/// message takes too many.
fn remedy(scheme: &Scheme, space: &NumberSpace, key: Option<&str>, alone: bool) -> String {
    let framing = scheme.transport.framing();
    // The number of packets that a queue pair can carry if it carries a part of only one message.
    let of_requests = space.requests.map_or(u64::MAX, |(most, largest)| most.saturating_mul(largest));
    let of_pulls = space.pulled_bytes.map_or(u64::MAX, |most| most / (framing.payload.0 + framing.header.0));
    let most = space.packets.min(of_requests).min(of_pulls);
    let longest = round_down(Bytes(most.saturating_mul(framing.payload.0).saturating_mul(scheme.qps.into())));
    let parameter = |name: &str| format!("\"{}.{name}\"", scheme.name);
    let mut others = Vec::new();
    if scheme.qps < 64 {
        others.push(format!("{} = {} below [set]", parameter("qps"), (2 * scheme.qps).min(64)));
    }
    if most < of_pulls {
        others.push(format!("a larger {}", parameter("transport.payload")));
    }
    let shorter = match key {
        Some(key) => format!("{key} = \"{longest}\" or less"),
        None if alone => format!("messages of {longest} or less"),
        None => format!("messages that come to {longest} or less from one host to the other"),
    };
    std::iter::once(shorter).chain(others).collect::<Vec<_>>().join(", or ")
}

/// The path of the key that sets the length of a message, and the key itself if its value is a length.
fn written_at(spec: &WorkloadSpec, workload: &Workload, message: usize) -> (String, Option<&'static str>) {
    let group = workload.groups.iter().find(|group| group.messages.contains(&(message as u32)));
    spec.length_path(message, group.map_or("", |group| group.name))
}
