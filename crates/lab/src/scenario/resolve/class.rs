//! Reads `[[class]]`: the traffic classes of the fabric. The compared schemes are in one of them.

use crate::scenario::keys;
use crate::scenario::read::table::{Table, fault};
use crate::scenario::resolve::workload;
use crate::scenario::schema::files::Context;
use crate::scenario::schema::unknown_keys::only;
use anabranch_base::{Bytes, Diagnostic, Duration, Fix, Rate};
use anabranch_engine::{ClassSpec, ClassTraffic, FaultKind, FaultSpec, FullQueue, RoutingMode, Scheme};
use anabranch_fabric::TopologySpec;
use anabranch_proto::PathFacts;

/// The classes of a scenario. The first one is the class of the compared schemes. Empty if the scenario has no
/// `[[class]]`. `schemes` has an entry for each table, with the scheme of the table if it has one.
pub(in crate::scenario) fn read(
    cx: &Context,
    tables: &[Table],
    schemes: Vec<Option<Scheme>>,
    ground: (&TopologySpec, u32),
) -> Result<Vec<ClassSpec>, Diagnostic> {
    let mut classes: Vec<ClassSpec> = Vec::new();
    for (table, scheme) in tables.iter().zip(schemes) {
        let class = class(cx, table, scheme, ground)?;
        if classes.iter().any(|known| known.name == class.name) {
            let message = format!("class {:?} is given twice", class.name);
            return Err(table.wrong("name", message, "another name"));
        }
        classes.push(class);
    }
    if classes.is_empty() {
        return Ok(classes);
    }
    let first = classes.iter().position(|class| class.traffic.is_none());
    let first = match first {
        Some(place) => classes.remove(place),
        None => ClassSpec { name: ClassSpec::FIRST.to_owned(), priority: 0, weight: 1, traffic: None },
    };
    classes.insert(0, first);
    match (tables.last(), classes.len()) {
        (Some(table), ClassSpec::MOST..) if classes.len() > ClassSpec::MOST => {
            let message =
                format!("a fabric has {} classes at most, with that of the schemes", ClassSpec::MOST);
            Err(fault(table.file, table.at, message, Some(Fix::text("fewer [[class]]"))))
        }
        _ => Ok(classes),
    }
}

/// Words of the groups of messages ([`anabranch_results::FlowRow::group`]) that do not name a class.
const WORDS_OF_GROUPS: [&str; 6] = ["background", "incast", "pipeline", "intra", "inter", "mixed"];

/// Checks the name of a class, which is a word of the groups of messages.
fn check_name(table: &Table, name: &str) -> Result<(), Diagnostic> {
    if WORDS_OF_GROUPS.contains(&name) {
        let message = format!("{name:?} is a group of messages already, and a class needs a name of its own");
        return Err(table.wrong("name", message, Fix::set("name", format!("\"{name}-class\""))));
    }
    table.check_name("class", name, "storage")
}

fn class(
    cx: &Context,
    table: &Table,
    scheme: Option<Scheme>,
    ground: (&TopologySpec, u32),
) -> Result<ClassSpec, Diagnostic> {
    only(table, &keys::of("class"))?;
    let name: String = table.need("name")?;
    check_name(table, &name)?;
    let priority: u64 = table.get("priority")?.unwrap_or(0);
    table.within("priority", priority, 0, 7)?;
    let weight: u64 = table.get("weight")?.unwrap_or(1);
    table.within("weight", weight, 1, u64::from(ClassSpec::MOST_WEIGHT))?;
    let workload = table.node("workload");
    let traffic = match (name == ClassSpec::FIRST, scheme, workload) {
        (true, None, None) => None,
        (true, ..) => {
            let key = if workload.is_some() { "workload" } else { "scheme" };
            let message = format!(
                "class {:?} is that of the scenario's schemes and [workload], and has no {key} of its own",
                ClassSpec::FIRST
            );
            return Err(table.wrong(key, message, "another name, such as name = \"storage\""));
        }
        (false, None, _) => return Err(table.missing("scheme")),
        (false, Some(_), None) => {
            let help = "[class.workload] below it, with kind = \"permutation\" and bytes = \"1MB\"";
            let message = format!("class {name:?} has no [class.workload]");
            return Err(fault(table.file, table.at, message, Some(Fix::text(help))));
        }
        (false, Some(scheme), Some(node)) => {
            let written = Table::open(table.file, "[class.workload]", node)?;
            Some(ClassTraffic { scheme, workload: workload::read(cx, &written, ground)? })
        }
    };
    Ok(ClassSpec { name, priority: priority as u8, weight: weight as u32, traffic })
}

/// Checks that the schemes of the classes can share a fabric, and that the faults suit several classes.
pub(in crate::scenario) fn check(
    (root, classes): (&Table, &[ClassSpec]),
    schemes: &[Scheme],
    faults: &[FaultSpec],
) -> Result<(), Diagnostic> {
    let others: Vec<&Scheme> =
        classes.iter().filter_map(|class| class.traffic.as_ref()).map(|traffic| &traffic.scheme).collect();
    let at = root.node("class").and_then(|node| node.at);
    let refused = |message: String, help: String| Err(fault(root.file, at, message, Some(Fix::text(help))));
    if others.is_empty() {
        return Ok(());
    }
    for scheme in &others {
        if let Some((needs, help)) = not_beside_others(scheme) {
            let message = format!(
                "scheme {:?} cannot have a class beside others, since {needs}; it can be among the schemes",
                scheme.name
            );
            return refused(message, help);
        }
        if let Some(other) = schemes.iter().find(|other| other.qps != scheme.qps) {
            let message = format!(
                "scheme {:?} has {} queue pairs a connection, and {:?} of a class {}: all classes have the same number",
                other.name, other.qps, scheme.name, scheme.qps
            );
            return refused(message, format!("\"{}.qps\" = {} below [set]", scheme.name, other.qps));
        }
    }
    let of_hosts = |fault: &&FaultSpec| {
        matches!(fault.kind, FaultKind::SlowReceiver { .. } | FaultKind::PauseStorm { .. })
    };
    if let Some(fault) = faults.iter().find(of_hosts) {
        let message = format!("a fault of kind {:?} is for a fabric with one class", fault.kind.word());
        return refused(message, "the fault without [[class]]".to_owned());
    }
    let watches = |scheme: &&Scheme| scheme.fabric.pfc.as_ref().is_some_and(|pfc| pfc.watchdog.is_some());
    if let Some(scheme) = others.iter().copied().chain(schemes).find(watches) {
        let message =
            format!("scheme {:?} has a PFC watchdog, which is for a fabric with one class", scheme.name);
        return refused(message, "fabric.pfc without watchdog".to_owned());
    }
    Ok(())
}

/// The facts of some path, for questions whose answer does not depend on them.
const ANY_PATH: PathFacts = PathFacts {
    base_rtt: Duration::from_us(1),
    bdp: Bytes(1),
    packet: Bytes(1),
    line_rate: Rate::from_gbps(1),
    port_rate: Rate::from_gbps(1),
    queue: Bytes(1),
};

/// The reason why a scheme cannot be in a class beside other classes, and what to write instead. None if it can.
fn not_beside_others(scheme: &Scheme) -> Option<(&'static str, String)> {
    let fabric = &scheme.fabric;
    // Queues to hosts have a different length only if `last_hop_queue` is set and is not equal to `queue`.
    let last_hop =
        fabric.last_hop_queue.and(fabric.queue).filter(|queue| fabric.last_hop_queue != Some(*queue));
    let another = || "another scheme for the class, such as scheme = \"rocev2\"".to_owned();
    let set = |key: &str, value: &str| format!("\"{}.fabric.{key}\" = {value} below [set]", scheme.name);
    Some(match () {
        () if fabric.program.is_some() => ("it needs a program in switches", another()),
        () if fabric.routing != RoutingMode::Ecmp => ("its routing is not ECMP", another()),
        () if scheme.cc.wants_telemetry() => ("its packets carry telemetry", another()),
        () if scheme.transport.pull_pacer(&ANY_PATH).is_some() => ("its receivers grant credit", another()),
        () if fabric.wrr.is_some() => ("its control packets have a weight (fabric.wrr)", another()),
        () if fabric.acks_with_data => {
            ("its ACKs wait with data (fabric.acks_with_data)", set("acks_with_data", "false"))
        }
        () if fabric.shared_buffer.0 > 0 => {
            ("its queues share a buffer (fabric.shared_buffer)", set("shared_buffer", "\"0B\""))
        }
        () if fabric.full_queue != FullQueue::Arriving => {
            ("its full queues toss a coin (fabric.full_queue)", set("full_queue", "\"arriving\""))
        }
        () if !fabric.last_hop_ecn => {
            ("its queues to hosts do not mark (fabric.last_hop_ecn)", set("last_hop_ecn", "true"))
        }
        () => {
            let queue = format!("\"{}\"", last_hop?);
            ("its queues to hosts differ (fabric.last_hop_queue)", set("last_hop_queue", &queue))
        }
    })
}
