//! A warning about faults that last to the end of the run and after which a sender cannot reach its receiver, can reach
//! it from only some of the sender's ports, or keeps a path over what is down.

use super::losses::spread;
use crate::scenario::read::source_map::Origin;
use crate::scenario::read::table::fault;
use anabranch_base::{Diagnostic, Duration, Fix, HostId, LinkId};
use anabranch_engine::{FaultKind, FaultSpec, FaultTargets, Scheme};
use anabranch_fabric::{Routing, Topology};
use anabranch_results::PathChoice;
use anabranch_workload::Workload;
use std::collections::BTreeSet;

/// The largest number of hosts that the warning names.
const MOST_NAMED: usize = 8;
/// The expected number of queue pairs whose path leads over what is down, below which there may be none.
const FEWEST_PATHS: f64 = 3.0;

#[derive(Default)]
pub(in crate::scenario) struct CutOff(Option<Finding>);

struct Finding {
    number: usize,
    kind: String,
    at: Duration,
    text: String,
    stuck: Stuck,
}

/// The schemes that cannot finish.
enum Stuck {
    All,
    /// These schemes, since they keep a queue pair in one plane.
    InPlane(Vec<String>),
    /// These schemes, since they keep a queue pair on one path.
    OnPath(Vec<String>),
}

impl CutOff {
    /// Examines the faults of a point whose runs end at `ends` or later.
    pub(in crate::scenario) fn look(
        &mut self,
        faults: &[(&FaultSpec, FaultTargets)],
        workload: &Workload,
        (on, routing): (&Topology, &Routing),
        ends: Duration,
        schemes: &[Scheme],
    ) {
        let keeps_path = |scheme: &&Scheme| scheme.path_choice() == PathChoice::Hash;
        let named = |keeps: &dyn Fn(&&Scheme) -> bool| -> Vec<String> {
            schemes.iter().filter(keeps_path).filter(keeps).map(|scheme| scheme.name.clone()).collect()
        };
        let kept = named(&|scheme| on.has_several_ports() && !scheme.uses_all_ports());
        let hashed = named(&|scheme| scheme.fabric.routing_delay.is_none());
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
            if self.0.as_ref().is_some_and(|finding| matches!(finding.stuck, Stuck::All)) {
                return;
            }
            for &link in &targets.links {
                (dead[link.index()], dead[on.reverse(link).index()]) = (true, true);
            }
            let of_hosts = networks_of_hosts(on, &dead);
            let finding =
                |text, stuck| Finding { number, kind: fault.kind.to_string(), at: start(fault), text, stuck };
            if let Some(text) = apart(workload, on, &of_hosts) {
                self.0 = Some(finding(text, Stuck::All));
                continue;
            }
            if self.0.is_none() && !kept.is_empty() {
                let text = unreached_in_a_plane(workload, on, &of_hosts);
                self.0 = text.map(|text| finding(text, Stuck::InPlane(kept.clone())));
            }
            if self.0.is_none() && !hashed.is_empty() && has_paths_over(workload, on, routing, &dead) {
                let text = "paths of queue pairs lead over what is down".to_owned();
                self.0 = Some(finding(text, Stuck::OnPath(hashed.clone())));
            }
        }
    }

    pub(in crate::scenario) fn warnings(self, origin: &Origin) -> Vec<Diagnostic> {
        const LEAVES: &str = "schemes that leave a path on which packets are lost, such as \"reps\"";
        let warning = |Finding { number, kind, at, text, stuck }: Finding| {
            let (effect, instead) = match stuck {
                Stuck::All => (
                    "no scheme can finish what is not delivered by then".to_owned(),
                    ", unless a job that cannot finish is what is meant".to_owned(),
                ),
                Stuck::InPlane(schemes) => (
                    format!(
                        "under {} a queue pair stays in its plane, and a NIC sees only its own dead ports, so that flows in \
                         that plane do not finish",
                        schemes.join(", ")
                    ),
                    format!(", or {LEAVES}"),
                ),
                Stuck::OnPath(schemes) => (
                    format!(
                        "under {} a queue pair keeps its path, and without fabric.routing_delay switches go on sending there, \
                         so that flows on that path do not finish",
                        schemes.join(", ")
                    ),
                    format!(", \"{}.fabric.routing_delay\" = \"100us\" below [set], or {LEAVES}", schemes[0]),
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

/// Whether queue pairs surely have paths over links between switches that are dead, if switches choose paths evenly.
fn has_paths_over(workload: &Workload, on: &Topology, routing: &Routing, dead: &[bool]) -> bool {
    let ends = workload.qps.iter().map(|qp| ([qp.src, qp.dst], 1.0));
    let Some(paths) = spread(ends, on, routing) else { return false };
    let is_of_host = |link: usize| on.ports[link].peer.0 < on.hosts;
    let between_switches = (0..dead.len()).filter(|link| {
        let back = on.reverse(LinkId(*link as u32)).index();
        dead[*link] && !is_of_host(*link) && !is_of_host(back)
    });
    // A path over a dead switch has two dead links.
    between_switches.map(|link| paths[link]).sum::<f64>() / 2.0 >= FEWEST_PATHS
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
    fn schemes_that_stay_on_a_dead_path_are_named() {
        let spine = "[[fault]]\nkind = \"switch-down\"\nswitches = \"spine:1\"\nat = \"20us\"";
        let of = |schemes: &str, rest: &str| warnings_of(schemes, "segment = 2", &format!("{spine}\n{rest}"));
        let [warning] = &of("\"rocev2\", \"reps\", \"ecmp\"", "")[..] else { panic!("one warning") };
        assert_eq!(
            warning,
            "s.toml:12:1: fault.0 (switch-down spine:1) lasts to the end, and from 20us on paths of queue pairs lead over \
             what is down; under rocev2, ecmp a queue pair keeps its path, and without fabric.routing_delay switches go on \
             sending there, so that flows on that path do not finish\n  write: duration = \"200us\" in fault.0, \
             \"rocev2.fabric.routing_delay\" = \"100us\" below [set], or schemes that leave a path on which packets are lost, \
             such as \"reps\""
        );
        assert_eq!(of("\"rocev2\"", "[set]\n\"rocev2.fabric.routing_delay\" = \"100us\""), [""; 0]);
        assert_eq!(of("\"rocev2\"", "duration = \"200us\""), [""; 0]);
        assert_eq!(of("\"reps\", \"strack\", \"adaptive-roce\"", ""), [""; 0]);
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
