//! A warning about faults that last to the end of the run and after which a sender cannot reach its receiver, or can
//! reach it from only some of the sender's ports.

use crate::scenario::read::source_map::Origin;
use crate::scenario::read::table::fault;
use anabranch_base::{Diagnostic, Duration, Fix, HostId};
use anabranch_engine::{FaultKind, FaultSpec, FaultTargets, Scheme};
use anabranch_fabric::Topology;
use anabranch_results::PathChoice;
use anabranch_workload::Workload;
use std::collections::BTreeSet;

/// The largest number of hosts that the warning names.
const MOST_NAMED: usize = 8;

#[derive(Default)]
pub(in crate::scenario) struct CutOff(Option<Finding>);

struct Finding {
    number: usize,
    kind: String,
    at: Duration,
    text: String,
    /// Schemes that keep a queue pair in one plane. Empty if no scheme can finish.
    kept: Vec<String>,
}

impl CutOff {
    /// Examines the faults of a point whose runs end at `ends` or later.
    pub(in crate::scenario) fn look(
        &mut self,
        faults: &[(&FaultSpec, FaultTargets)],
        workload: &Workload,
        on: &Topology,
        ends: Duration,
        schemes: &[Scheme],
    ) {
        let keeps_plane =
            |scheme: &&Scheme| scheme.path_choice() == PathChoice::Hash && !scheme.uses_all_ports();
        let kept: Vec<String> = match on.has_several_ports() {
            true => schemes.iter().filter(keeps_plane).map(|scheme| scheme.name.clone()).collect(),
            false => Vec::new(),
        };
        let start = |fault: &FaultSpec| fault.at.0.iter().min().copied().unwrap_or_default();
        let lasts = |fault: &FaultSpec| {
            let is_down = matches!(fault.kind, FaultKind::LinkDown { .. } | FaultKind::SwitchDown { .. });
            is_down && fault.duration.is_none() && fault.per_hour.is_none() && start(fault) < ends
        };
        let mut lasting: Vec<(usize, &(&FaultSpec, FaultTargets))> =
            faults.iter().enumerate().filter(|(_, (fault, _))| lasts(fault)).collect();
        lasting.sort_by_key(|(_, (fault, _))| start(fault));
        let mut dead = vec![false; on.links() as usize];
        for (number, (fault, targets)) in lasting {
            if self.0.as_ref().is_some_and(|finding| finding.kept.is_empty()) {
                return;
            }
            for &link in &targets.links {
                (dead[link.index()], dead[on.reverse(link).index()]) = (true, true);
            }
            let of_hosts = networks_of_hosts(on, &dead);
            let finding =
                |text, kept| Finding { number, kind: fault.kind.to_string(), at: start(fault), text, kept };
            if let Some(text) = apart(workload, on, &of_hosts) {
                self.0 = Some(finding(text, Vec::new()));
            } else if self.0.is_none() && !kept.is_empty() {
                let text = unreached_in_a_plane(workload, on, &of_hosts);
                self.0 = text.map(|text| finding(text, kept.clone()));
            }
        }
    }

    pub(in crate::scenario) fn warnings(self, origin: &Origin) -> Vec<Diagnostic> {
        let warning = |Finding { number, kind, at, text, kept }: Finding| {
            let (effect, instead) = match &kept[..] {
                [] => (
                    "no scheme can finish what is not delivered by then".to_owned(),
                    ", unless a job that cannot finish is what is meant",
                ),
                [..] => (
                    format!(
                        "under {} a queue pair stays in its plane, and a NIC sees only its own dead ports, so that flows in \
                         that plane do not finish",
                        kept.join(", ")
                    ),
                    ", or schemes that leave a path on which packets are lost, such as \"reps\"",
                ),
            };
            let message =
                format!("fault.{number} ({kind}) lasts to the end, and from {at} on {text}; {effect}");
            let help = format!("duration = \"200us\" in fault.{number}{instead}");
            let place = origin.place(&format!("fault.{number}"));
            fault(&origin.file, place, message, Some(Fix::text(help)))
        };
        self.0.map(warning).into_iter().collect()
    }
}

/// The networks to which the working links of each host lead.
fn networks_of_hosts(on: &Topology, dead: &[bool]) -> Vec<BTreeSet<u32>> {
    let networks = on.networks_over(|link| !dead[link.index()]);
    let of_host = |host: u32| -> BTreeSet<u32> {
        let links = on.links_of(HostId(host).into()).filter(|link| !dead[*link as usize]);
        links.map(|link| networks[(on.ports[link as usize].peer.0 - on.hosts) as usize]).collect()
    };
    (0..on.hosts).map(of_host).collect()
}

/// The text about the senders and receivers that have no working link. If all have one, the text is about a sender and
/// a receiver that no working links join. None if working links join every sender to its receiver.
fn apart(workload: &Workload, on: &Topology, of_hosts: &[BTreeSet<u32>]) -> Option<String> {
    let mut cut = workload
        .qps
        .iter()
        .filter(|qp| of_hosts[qp.src.index()].is_disjoint(&of_hosts[qp.dst.index()]))
        .peekable();
    let first = *cut.peek()?;
    let alone: BTreeSet<HostId> =
        cut.flat_map(|qp| [qp.src, qp.dst]).filter(|host| of_hosts[host.index()].is_empty()).collect();
    if alone.is_empty() {
        let [from, to] = [first.src, first.dst].map(|host| on.node_name(host.into()));
        return Some(format!("no links lead from {from} to {to}"));
    }
    Some(format!("{} {} cut off", named(&alone, on), if alone.len() == 1 { "is" } else { "are" }))
}

/// The text about the receivers that cannot be reached from at least one working port of their sender. `None` without
/// such receivers.
fn unreached_in_a_plane(workload: &Workload, on: &Topology, of_hosts: &[BTreeSet<u32>]) -> Option<String> {
    let cut = workload.qps.iter().filter(|qp| !of_hosts[qp.src.index()].is_subset(&of_hosts[qp.dst.index()]));
    let unreached: BTreeSet<HostId> = cut.map(|qp| qp.dst).collect();
    (!unreached.is_empty()).then(|| format!("{} cannot be reached in one plane", named(&unreached, on)))
}

/// The names of the first of these hosts, and the number of the others.
fn named(hosts: &BTreeSet<HostId>, on: &Topology) -> String {
    let names: Vec<String> = hosts.iter().take(MOST_NAMED).map(|host| on.node_name((*host).into())).collect();
    match hosts.len() - names.len() {
        0 => names.join(", "),
        others => format!("{} and {others} other hosts", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use crate::scenario::expand::scenario::read;
    use crate::scenario::input::{NoFiles, Overrides};

    fn warnings(topology: &str, faults: &str) -> Vec<String> {
        warnings_of("\"reps\"", topology, faults)
    }

    fn warnings_of(schemes: &str, topology: &str, faults: &str) -> Vec<String> {
        let text = format!(
            "schemes = [{schemes}]\nseeds = [1]\n[topology]\nkind = \"rails\"\nservers = 4\nnics = 4\nlink = \"400Gbps\"\n{topology}\n\
             [workload]\nkind = \"permutation\"\nbytes = \"10MB\"\n{faults}\n"
        );
        let scenario = read("s.toml", &text, &NoFiles, &Overrides::default()).unwrap();
        scenario.check().unwrap().iter().map(ToString::to_string).collect()
    }

    const TOR: &str = "[[fault]]\nkind = \"switch-down\"\nswitches = \"tor:0\"\nat = \"20us\"";

    #[test]
    fn hosts_below_a_leaf_that_stays_dead_are_named() {
        assert_eq!(
            warnings("", TOR),
            ["s.toml:12:1: fault.0 (switch-down tor:0) lasts to the end, and from 20us on server:0/nic:0, \
                 server:1/nic:0, server:2/nic:0, server:3/nic:0 are cut off; no scheme can finish what is not delivered by \
                 then\n  write: duration = \"200us\" in fault.0, unless a job that cannot finish is what is meant"]
        );
        assert_eq!(warnings("", &format!("{TOR}\nduration = \"200us\"")), [""; 0]);
        assert_eq!(warnings("ports = 2", &TOR.replace("tor:0", "plane:0/tor:0")), [""; 0], "another port");
        let late = TOR.replace("20us", "100ms");
        assert!(!warnings("", &late).concat().contains("cut off"), "all is over by then");
    }

    #[test]
    fn schemes_that_stay_in_a_plane_are_named() {
        let dead = "[[fault]]\nkind = \"link-down\"\nlinks = \"server:2/nic:1/port:0\"\nat = \"10us\"";
        let of = |schemes: &str, fault: &str| warnings_of(schemes, "ports = 2", fault);
        let cut = "s.toml:12:1: fault.0 (link-down server:2/nic:1/port:0) lasts to the end, and from 10us on server:2/nic:1 \
                   cannot be reached in one plane; under rocev2, ecmp a queue pair stays in its plane, and a NIC sees only \
                   its own dead ports, so that flows in that plane do not finish\n  write: duration = \"200us\" in \
                   fault.0, or schemes that leave a path on which packets are lost, such as \"reps\"";
        let found = of("\"rocev2\", \"reps\", \"ecmp\"", dead);
        assert!(found.iter().any(|warning| warning == cut), "{found:?}");
        assert_eq!(of("\"reps\", \"strack\"", dead), [""; 0]);
        let ends = format!("{dead}\nduration = \"200us\"");
        assert!(!of("\"rocev2\"", &ends).concat().contains("cannot be reached"));
        let leaf = dead.replace("link-down", "switch-down").replace("links", "switches");
        let leaf = of("\"rocev2\"", &leaf.replace("server:2/nic:1/port:0", "plane:1/tor:0")).concat();
        assert!(leaf.contains("server:0/nic:0, server:1/nic:0, server:3/nic:0"), "{leaf}");
    }

    #[test]
    fn faults_that_together_leave_no_way_are_found() {
        let port = |port: u32, at: &str| {
            format!(
                "[[fault]]\nkind = \"link-down\"\nlinks = \"server:2/nic:1/port:{port}\"\nat = \"{at}\"\n"
            )
        };
        let both = port(0, "40us") + &port(1, "10us");
        let [warning] = &warnings("ports = 2", &both)[..] else { panic!("one warning") };
        assert!(
            warning.contains("fault.0 (link-down server:2/nic:1/port:0) lasts to the end, and from 40us on server:2/nic:1 is cut off"),
            "{warning}"
        );
        assert_eq!(warnings("ports = 2", &port(0, "40us")), [""; 0]);
        let spines = "[[fault]]\nkind = \"link-down\"\nlinks = \"tor-uplinks\"\nat = \"5us\"";
        let [warning] = &warnings("", spines)[..] else { panic!("one warning") };
        assert!(warning.contains("from 5us on no links lead from server:"), "{warning}");
    }
}
