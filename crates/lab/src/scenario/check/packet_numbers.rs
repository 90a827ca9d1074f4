//! Checks that the queue pairs of a workload have enough sequence numbers for all packets and requests that they
//! carry.

use crate::scenario::check::pfc::round_down;
use crate::scenario::read::source_map::Origin;
use crate::scenario::read::table::fault;
use anabranch_base::{Bytes, Diagnostic};
use anabranch_engine::Scheme;
use anabranch_proto::PathFacts;
use anabranch_workload::{Workload, WorkloadSpec};

/// Rejects a workload in which a queue pair of `scheme` would run out of PSNs or of message sequence numbers (MSNs).
pub(in crate::scenario) fn check(
    scheme: &Scheme,
    facts: &PathFacts,
    spec: &WorkloadSpec,
    workload: &Workload,
    origin: &Origin,
) -> Result<(), Diagnostic> {
    let space = scheme.transport.number_space(scheme.cc.build(facts).window());
    let payload = scheme.transport.framing().payload.0;
    let split = u64::from(scheme.qps);
    // The number of parts of a message is at most its number of bytes. The first queue pair of a connection carries a
    // part of each message, and no other queue pair carries a longer part.
    let of_first = |bytes: u64| {
        let packets = bytes.div_ceil(bytes.clamp(1, split)).div_ceil(payload);
        (packets, space.requests_of(packets))
    };
    let mut carried = vec![(0_u64, 0_u64); workload.qps.len()];
    for (number, message) in workload.messages.iter().enumerate() {
        let (packets, requests) = of_first(message.bytes);
        let (all_packets, all_requests) = &mut carried[message.qp.index()];
        *all_packets = all_packets.saturating_add(packets);
        *all_requests = all_requests.saturating_add(requests);
        let (wants, has, of) = match space.requests {
            Some((most, _)) if *all_requests > most => (*all_requests, most, "requests"),
            _ if *all_packets > space.packets => (*all_packets, space.packets, "packets"),
            _ => continue,
        };
        let (path, key) = written_at(spec, workload, number);
        let alone = *all_packets == packets;
        let bytes = workload.messages[..number]
            .iter()
            .filter(|before| before.qp == message.qp)
            .fold(message.bytes, |sum, before| sum.saturating_add(before.bytes));
        let problem = format!(
            "scheme {:?}: {} from host {} to host {} make {wants} {of} on a queue pair, at {} per packet, and it has numbers \
             for {has}",
            scheme.name,
            Bytes(bytes),
            workload.qps[message.qp.index()].src,
            workload.qps[message.qp.index()].dst,
            Bytes(payload),
        );
        // The number of packets that a queue pair can carry if it carries a part of only one message.
        let largest = match space.requests {
            Some((most, largest)) => space.packets.min(most.saturating_mul(largest)),
            None => space.packets,
        };
        let longest = round_down(Bytes(largest.saturating_mul(payload).saturating_mul(split)));
        let parameter = |name: &str| format!("\"{}.{name}\"", scheme.name);
        let more_qps = match scheme.qps < 64 {
            true => format!("{} = {} below [set], or ", parameter("qps"), (2 * scheme.qps).min(64)),
            false => String::new(),
        };
        let larger = format!("{more_qps}a larger {}", parameter("transport.payload"));
        let help = match key {
            Some(key) if alone => format!("{key} = \"{longest}\" or less, or {larger}"),
            _ if alone => format!("messages of {longest} or less, or {larger}"),
            _ => format!("messages that come to {longest} or less from one host to the other, or {larger}"),
        };
        return Err(fault(&origin.file, origin.place(&path), problem, Some(help.into())));
    }
    Ok(())
}

/// The path of the key that sets the length of a message, and the key itself if its value is a length.
fn written_at(spec: &WorkloadSpec, workload: &Workload, message: usize) -> (String, Option<&'static str>) {
    let group = workload.groups.iter().find(|group| group.messages.contains(&(message as u32)));
    spec.length_path(message, group.map_or("", |group| group.name))
}
