//! Hints for keys of `[topology]` in the words of data sheets: numbers of planes, units, pods, leaves and GPUs, and
//! names of switches.

use crate::scenario::read::table::{Table, name_alone};
use anabranch_base::{Fix, Rate};

/// The delay of a metre of fibre, in nanoseconds.
const NS_OF_A_METRE: f64 = 5.0;

/// Switches of NVIDIA with their ports and a port's rate in Gb/s, from their data sheets.
const SWITCHES: [(&str, u32, u64); 9] = [
    ("QM8700", 40, 200),
    ("QM8790", 40, 200),
    ("QM9700", 64, 400),
    ("QM9790", 64, 400),
    ("Q3400", 144, 800),
    ("SN4600", 64, 200),
    ("SN4700", 32, 400),
    ("SN5400", 64, 400),
    ("SN5600", 64, 800),
];

/// The largest segment that a hint proposes, for each kind.
fn largest_segment(kind: &str, nics: u32) -> u32 {
    match kind {
        "hpn" => 128,
        "dcn-plus" => 16,
        "multi-plane" => (32 / nics.max(1)).max(1),
        _ => 32,
    }
}

/// The numbers of a cluster as far as they are written.
struct Cluster<'a> {
    table: &'a Table<'a>,
    kind: String,
    servers: Option<u32>,
    nics: u32,
    ports: u32,
}

/// A hint for a key of a cluster's `[topology]`.
pub(super) fn hint(table: &Table, key: &str, value: &toml::Value) -> Option<Fix> {
    let cluster = Cluster::of(table)?;
    let count = value.as_integer().and_then(|count| u32::try_from(count).ok()).filter(|count| *count > 0);
    let lower = key.to_lowercase();
    let plain = ["num_", "n_", "number_of_"].into_iter().find_map(|prefix| lower.strip_prefix(prefix));
    match plain.unwrap_or(&lower) {
        "planes" => cluster.planes(count?),
        "dual_plane" | "dualplane" => cluster.planes(if value.as_bool()? { 2 } else { 1 }),
        "segments" | "sus" | "scalable_units" | "units" => Some(cluster.units(count)),
        "su" | "scalable_unit" => cluster.unit(count?),
        "servers_per_segment"
        | "hosts_per_segment"
        | "servers_per_su"
        | "servers_per_unit"
        | "nodes_per_su"
        | "su_size" => Some(named("segment", count)),
        "segments_per_pod" | "sus_per_pod" => Some(named("pod", count)),
        "pods" => cluster.pods(count?),
        "leaves" | "leafs" | "leaf_switches" | "tors" => Some(cluster.leaves(count?)),
        "switch" | "switch_model" | "switch_type" => Some(switch(table, value.as_str()?)),
        "gpus" | "total_gpus" | "gpu_count" if lower != "gpus" => cluster.gpus(count?),
        "port_rate" | "port_speed" | "port_bandwidth" => cluster.port_rate(key, value),
        "cable_length" | "cable" | "fibre_length" | "fiber_length" => Some(cable(value)),
        "racks" | "servers_per_rack" => Some(Fix::text(
            "segment, the servers that share leaves, or nvlink_domain, the servers that share NVLink: racks have no key of their own",
        )),
        "nvswitch" | "nvswitches" | "nvlink_switch" => Some(Fix::text(
            "nvlink, the rate of a GPU's NVLinks to its switch; nvls = true below [workload.server] lets it reduce",
        )),
        "sharp" => Some(Fix::text(
            "nothing: leave the line out; switches of the network that reduce (SHARP) are not simulated, and nvls = true below \
             [workload.server] is for those of NVLink",
        )),
        "nvl" | "nvlink_size" | "nvl_size" => Some(Fix::text(
            "nvlink_domain, the number of servers whose GPUs are connected by NVLink: 18 with gpus = 4 and nics = 4 for NVL72, 9 \
             with 8 of each",
        )),
        "dual_tor" | "dualtor" if value.as_bool() == Some(true) => cluster.dual_tor(),
        _ => None,
    }
}

fn named(key: &str, count: Option<u32>) -> Fix {
    match count {
        Some(count) => {
            Fix::Rename { written: key.to_owned(), name: key.to_owned(), value: Some(count.to_string()) }
        }
        None => name_alone(key, key),
    }
}

impl<'a> Cluster<'a> {
    fn of(table: &'a Table<'a>) -> Option<Self> {
        let kind = table.get::<String>("kind").ok()??;
        let ports = match kind.as_str() {
            "rails" => 1,
            "hpn" | "dcn-plus" => 2,
            "multi-plane" => 4,
            _ => return None,
        };
        let number = |key: &str| table.get::<u32>(key).ok().flatten().filter(|number| *number > 0);
        let (servers, nics) = (number("servers"), number("nics").unwrap_or(8));
        let ports = number("ports").unwrap_or(ports);
        Some(Cluster { table, kind, servers, nics, ports })
    }

    fn has(&self, key: &str) -> bool {
        self.table.node(key).is_some()
    }

    /// The ports of a NIC for a number of planes. The rate of the link, which may be a NIC's, is that of a port.
    fn planes(&self, planes: u32) -> Option<Fix> {
        if self.has("ports") {
            return None;
        }
        if self.kind == "dcn-plus" {
            return Some(Fix::text(format!(
                "kind = \"multi-plane\" with ports = {planes}: the ports of dcn-plus lead to one network, without planes"
            )));
        }
        if planes == 1 {
            return Some(named("ports", Some(1)));
        }
        let link = self.table.get::<Rate>("link").ok().flatten().filter(|link| link.0 > 0);
        let Some(link) = link else {
            return Some(Fix::text(format!("ports = {planes}, with the rate of one port as link")));
        };
        let (of_port, of_nic) =
            (Rate(link.0 / u64::from(planes)), Rate(link.0.saturating_mul(u64::from(planes))));
        Some(Fix::text(format!(
            "ports = {planes} with link = \"{of_port}\", the rate of one port, for NICs of {link}; ports = {planes} alone for NICs \
             of {of_nic}"
        )))
    }

    /// Two ToRs for each NIC, which are two planes or, with `dcn-plus`, of one network.
    fn dual_tor(&self) -> Option<Fix> {
        match (self.kind.as_str(), self.ports) {
            (_, 2) => Some(Fix::text("nothing: leave the line out; the two ports of a NIC lead to two ToRs")),
            ("dcn-plus", _) => Some(Fix::set("ports", 2)),
            _ => self.planes(2),
        }
    }

    /// The rate of a link for the rate of a NIC's port, which it is.
    fn port_rate(&self, key: &str, value: &toml::Value) -> Option<Fix> {
        let rate: Rate = value.as_str()?.parse().ok()?;
        Some(match self.table.get::<Rate>("link").ok().flatten() {
            None => Fix::set("link", format!("\"{rate}\"")),
            Some(link) if link == rate => {
                Fix::text(format!("nothing in place of {key}: link is the rate of one port"))
            }
            Some(_) => Fix::text(format!("link = \"{rate}\" without {key}: link is the rate of one port")),
        })
    }

    /// The segment for a number of units.
    fn units(&self, count: Option<u32>) -> Fix {
        let known = self.servers.zip(count).filter(|(servers, count)| count <= servers);
        let Some((servers, count)) = known.filter(|_| !self.has("segment")) else {
            return Fix::text(
                "servers, which are those of all units: their number times segment, the servers of a unit",
            );
        };
        let size = servers.div_ceil(count);
        let made = servers.div_ceil(size);
        let last = servers - (made - 1) * size;
        Fix::text(match (made == count, last == size) {
            (true, true) => format!("segment = {size}, the servers of each of {count} segments"),
            (true, false) => {
                format!("segment = {size}, the servers of a segment; the last of {count} has {last}")
            }
            (false, _) => format!(
                "segment = {size} and servers = {} for {count} segments; {servers} servers do not divide into them",
                size.saturating_mul(count)
            ),
        })
    }

    /// The segment for `su`, which may be the number of units or the servers of one.
    fn unit(&self, count: u32) -> Option<Fix> {
        let servers = self.servers.filter(|servers| servers.is_multiple_of(count) && *servers > count)?;
        let size = servers / count;
        if self.has("segment") || count == 1 {
            return None;
        }
        Some(match size == count {
            true => Fix::text(format!("segment = {size}, the servers of each of {count} units")),
            false => Fix::text(format!(
                "segment = {size} for {count} units of {size} servers, or segment = {count} for {size} units of {count}"
            )),
        })
    }

    /// The segments of a pod for a number of pods.
    fn pods(&self, count: u32) -> Option<Fix> {
        let servers = self.servers.filter(|servers| *servers >= count && !self.has("pod"))?;
        if count == 1 && matches!(self.kind.as_str(), "rails" | "multi-plane") {
            return Some(Fix::text("nothing: leave the line out, for one pod of all segments"));
        }
        if let Some(segment) = self.table.get::<u32>("segment").ok().flatten().filter(|segment| *segment > 0)
        {
            let segments = servers.div_ceil(segment);
            return Some(Fix::text(match segments.is_multiple_of(count) {
                true => format!("pod = {}, the segments of each of {count} pods", segments / count),
                false => format!(
                    "pod, the number of segments of a pod; {segments} segments do not divide into {count} pods"
                ),
            }));
        }
        if !servers.is_multiple_of(count) {
            return Some(Fix::text(format!(
                "pod, the number of segments of a pod; {servers} servers do not divide into {count} pods"
            )));
        }
        let of_pod = servers / count;
        let most = largest_segment(&self.kind, self.nics).min(of_pod);
        let segment = (1..=most).rev().find(|segment| of_pod.is_multiple_of(*segment))?;
        Some(Fix::text(format!(
            "segment = {segment} and pod = {}, the segments of each of {count} pods of {of_pod} servers",
            of_pod / segment
        )))
    }

    /// The segment for a number of leaves.
    fn leaves(&self, count: u32) -> Fix {
        let has_rails = matches!(self.kind.as_str(), "rails" | "hpn");
        let nics = if has_rails { self.nics } else { 1 };
        let of_segment = nics.saturating_mul(self.ports);
        let each = match (has_rails, self.ports) {
            (true, 1) => "NIC of a server",
            (true, _) => "port of a server's NICs",
            (false, _) => "port of a NIC",
        };
        let why = format!("a segment has {of_segment} leaves, one for each {each}");
        let segments = count / of_segment;
        let size =
            self.servers.filter(|_| segments > 0 && count.is_multiple_of(of_segment) && !self.has("segment"));
        match size.filter(|servers| servers.is_multiple_of(segments)) {
            Some(servers) => Fix::text(format!("segment = {} for {count} leaves: {why}", servers / segments)),
            None => Fix::text(format!("segment, the servers of a segment: {why}")),
        }
    }

    /// The servers for a number of GPUs.
    fn gpus(&self, count: u32) -> Option<Fix> {
        let of_server = self.table.get::<u32>("gpus").ok().flatten().unwrap_or(self.nics).max(1);
        let servers = count / of_server;
        if self.has("server") || !count.is_multiple_of(of_server) {
            return None;
        }
        Some(Fix::text(match self.servers {
            Some(written) if written == servers => {
                format!("nothing: leave the line out; {servers} servers have {of_server} GPUs each")
            }
            _ => format!("servers = {servers}, of {of_server} GPUs each"),
        }))
    }
}

/// The latency of a cable, for its length in metres.
fn cable(value: &toml::Value) -> Fix {
    let metres = match value {
        toml::Value::Integer(metres) => Some(*metres as f64),
        value => {
            value.as_float().or_else(|| value.as_str()?.trim().trim_end_matches(['m', ' ']).parse().ok())
        }
    };
    let latency = metres.map(|metres| (NS_OF_A_METRE * metres).round()).filter(|ns| (1.0..1e9).contains(ns));
    match latency {
        Some(ns) => Fix::text(format!(
            "link_latency = \"{ns}ns\", the delay of the cable at {NS_OF_A_METRE} ns a metre"
        )),
        None => Fix::text(format!("link_latency, the delay of a cable: about {NS_OF_A_METRE} ns a metre")),
    }
}

/// The hint for the name of a switch.
fn switch(table: &Table, name: &str) -> Fix {
    let Some((ports, rate)) = ports_of(name) else {
        return Fix::text("radix, the number of ports of a switch, such as radix = 64");
    };
    let link = table.get::<Rate>("link").ok().flatten().filter(|link| link.0 > 0);
    match link.map(|link| rate.0 / link.0) {
        Some(split @ (2 | 4)) if link.is_some_and(|link| split * link.0 == rate.0) => Fix::text(format!(
            "radix = {}, with each of {ports} ports of {rate} split into {split}; radix = {ports} without splitting",
            u64::from(ports) * split
        )),
        _ => Fix::set("radix", ports),
    }
}

/// The number of ports of the switch with this name, and the rate of one.
pub(in crate::scenario) fn ports_of(name: &str) -> Option<(u32, Rate)> {
    let plain = name.to_uppercase().replace([' ', '-'], "");
    let (_, ports, gbps) = SWITCHES.iter().find(|(known, ..)| plain.contains(known))?;
    Some((*ports, Rate::from_gbps(*gbps)))
}

/// The error for the name of a switch in place of its number of ports.
pub(in crate::scenario) fn radix_by_name(table: &Table) -> Option<(String, Fix)> {
    let value = table.node("radix")?.value();
    let (ports, rate) = ports_of(value.as_str()?)?;
    let message = format!("radix: {value} is a switch, of {ports} ports of {rate}; this key has the number");
    Some((message, switch(table, value.as_str()?)))
}
