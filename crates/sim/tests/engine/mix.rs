//! Some hosts have another load balancer than the rest: the selection of these hosts, and the groups in results.

use super::support::*;
use anabranch_sim::base::QpId;
use anabranch_sim::proto::Packet;
use anabranch_sim::{Control, Observer, RunResult, Time, run_observed};
use std::collections::{BTreeMap, BTreeSet};

const FABRIC: &str = r#"
setup = "reps-paper"
[topology]
kind = "fat-tree"
hosts = 32
tiers = 2
link = "100Gbps"
[workload]
kind = "tornado"
bytes = "200KB"
"#;

fn scenario(scheme: &str, set: &str) -> String {
    format!("schemes = [{scheme:?}]\nseeds = [3]\n{FABRIC}[set]\n{set}\n")
}

#[derive(Default)]
struct Entropies(BTreeMap<QpId, BTreeSet<u16>>);

impl Observer for Entropies {
    fn fork(&self) -> Self {
        Entropies::default()
    }
    fn join(&mut self, other: Self) {
        for (qp, evs) in other.0 {
            self.0.entry(qp).or_default().extend(evs);
        }
    }
    fn delivered(&mut self, qp: QpId, _: Time, packet: &Packet) {
        self.0.entry(qp).or_default().insert(packet.ev);
    }
}

fn watched(scheme: &str, set: &str) -> (RunResult, Entropies) {
    let mut seen = Entropies::default();
    let point = points(&scenario(scheme, set), &[]).remove(0);
    let result = run_observed(&point, &Control::default(), &mut seen).unwrap();
    (result, seen)
}

#[test]
fn every_nth_host_balances_otherwise_and_is_in_a_group_of_its_own() {
    for (own, other, mixed_has_one) in
        [("reps", "{ kind = \"ecmp\" }", true), ("ecmp", "{ kind = \"ops\", evs = 256 }", false)]
    {
        let (result, seen) = watched(own, &format!("\"*.mix\" = {{ every = 5, lb = {other} }}"));
        assert_eq!(result.flows.len(), 32);
        for flow in &result.flows {
            let mixed = flow.src % 5 == 0;
            assert_eq!(flow.group, if mixed { "mixed" } else { "main" });
            let evs = seen.0[&QpId(flow.qp)].len();
            assert_eq!(evs == 1, mixed == mixed_has_one, "{own}: host {} has {evs} entropies", flow.src);
        }
    }
}

#[test]
fn the_same_balancer_everywhere_changes_nothing_but_the_groups() {
    let plain = finish_one(&scenario("ops", ""), &[]);
    let mut mixed =
        finish_one(&scenario("ops", "\"*.mix\" = { every = 2, lb = { kind = \"ops\", evs = 65536 } }"), &[]);
    assert_eq!(mixed.flows.iter().filter(|flow| flow.group == "mixed").count(), 16);
    mixed.flows.iter_mut().for_each(|flow| flow.group = "".into());
    assert_eq!(mixed.flows, plain.flows);
}

#[test]
fn groups_stand_behind_those_of_the_workload() {
    let text = "schemes = [\"reps\"]\nsetup = \"reps-paper\"\n[topology]\nkind = \"single-switch\"\nhosts = 16\nlink = \"100Gbps\"\n\
                [workload]\nkind = \"poisson\"\nsizes = \"alistorage\"\nload = 0.2\nduration = \"200us\"\n\
                incast = { degree = 8, bytes = \"20KB\", load = 0.1 }\n\
                [set]\n\"*.mix\" = { every = 4, lb = { kind = \"ecmp\" } }\n";
    let result = finish_one(text, &[]);
    let found: BTreeSet<&str> = result.flows.iter().map(|flow| &*flow.group).collect();
    let all = ["background/main", "background/mixed", "incast/main", "incast/mixed"];
    assert_eq!(found, BTreeSet::from(all));
    for flow in &result.flows {
        assert_eq!(flow.in_group("mixed"), flow.src % 4 == 0);
        assert_eq!(flow.in_group("background"), flow.group.starts_with("background"));
    }
}
