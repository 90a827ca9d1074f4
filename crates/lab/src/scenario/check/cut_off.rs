//! A warning about faults that last to the end of the run and after which no links lead from a sender to its receiver.

use crate::scenario::read::source_map::Origin;
use crate::scenario::read::table::fault;
use anabranch_base::{Diagnostic, Duration, Fix, HostId};
use anabranch_engine::{FaultKind, FaultSpec, FaultTargets};
use anabranch_fabric::Topology;
use anabranch_workload::Workload;
use std::collections::BTreeSet;

/// The largest number of hosts that the warning names.
const MOST_NAMED: usize = 8;

#[derive(Default)]
pub(in crate::scenario) struct CutOff(Option<Finding>);

struct Finding {
    /// The number of the fault that begins last, and its kind with its targets.
    number: usize,
    kind: String,
    at: Duration,
    text: String,
}

impl CutOff {
    /// Examines the faults of a point whose runs end at `ends` or later.
    pub(in crate::scenario) fn look(
        &mut self,
        faults: &[(&FaultSpec, FaultTargets)],
        workload: &Workload,
        on: &Topology,
        ends: Duration,
    ) {
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
            if self.0.is_some() {
                return;
            }
            for &link in &targets.links {
                (dead[link.index()], dead[on.reverse(link).index()]) = (true, true);
            }
            let at = start(fault);
            self.0 = apart(workload, on, &dead).map(|text| Finding {
                number,
                kind: fault.kind.to_string(),
                at,
                text,
            });
        }
    }

    pub(in crate::scenario) fn warnings(self, origin: &Origin) -> Vec<Diagnostic> {
        let warning = |Finding { number, kind, at, text }: Finding| {
            let message = format!(
                "fault.{number} ({kind}) lasts to the end, and from {at} on {text}; no scheme can finish what is not \
                 delivered by then"
            );
            let help = format!(
                "duration = \"200us\" in fault.{number}, unless a job that cannot finish is what is meant"
            );
            let place = origin.place(&format!("fault.{number}"));
            fault(&origin.file, place, message, Some(Fix::text(help)))
        };
        self.0.map(warning).into_iter().collect()
    }
}

/// The text about the senders and receivers that have no working link. If all have one, the text is about a sender and
/// a receiver that no working links join. None if working links join every sender to its receiver.
fn apart(workload: &Workload, on: &Topology, dead: &[bool]) -> Option<String> {
    let networks = on.networks_over(|link| !dead[link.index()]);
    let of_host = |host: HostId| -> BTreeSet<u32> {
        let links = on.links_of(host.into()).filter(|link| !dead[*link as usize]);
        links.map(|link| networks[(on.ports[link as usize].peer.0 - on.hosts) as usize]).collect()
    };
    let of_hosts: Vec<BTreeSet<u32>> = (0..on.hosts).map(|host| of_host(HostId(host))).collect();
    let mut cut = workload
        .qps
        .iter()
        .filter(|qp| of_hosts[qp.src.index()].is_disjoint(&of_hosts[qp.dst.index()]))
        .peekable();
    let first = *cut.peek()?;
    let name = |host: HostId| on.node_name(host.into());
    let alone: BTreeSet<HostId> =
        cut.flat_map(|qp| [qp.src, qp.dst]).filter(|host| of_hosts[host.index()].is_empty()).collect();
    if alone.is_empty() {
        return Some(format!("no links lead from {} to {}", name(first.src), name(first.dst)));
    }
    let named = alone.iter().take(MOST_NAMED).map(|host| name(*host)).collect::<Vec<_>>().join(", ");
    let others = match alone.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        others => format!(" and {others} other hosts"),
    };
    Some(format!("{named}{others} {} cut off", if alone.len() == 1 { "is" } else { "are" }))
}

#[cfg(test)]
mod tests {
    use crate::scenario::expand::scenario::read;
    use crate::scenario::input::{NoFiles, Overrides};

    fn warnings(topology: &str, faults: &str) -> Vec<String> {
        let text = format!(
            "schemes = [\"reps\"]\nseeds = [1]\n[topology]\nkind = \"rails\"\nservers = 4\nnics = 4\nlink = \"400Gbps\"\n{topology}\n\
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
