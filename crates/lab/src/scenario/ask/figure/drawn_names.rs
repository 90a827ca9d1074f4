//! The names of the groups of messages and of the numeric results that a figure of a scenario can draw.

use crate::scenario::expand::resolved::Scenario;
use anabranch_engine::Scheme;
use anabranch_fabric::TopologySpec;
use anabranch_proto::transport::SenderCounter;
use anabranch_results::RunRow;
use std::collections::BTreeSet;

/// The groups by which the messages of a scenario can be distinguished: the parts of its workload, whether messages
/// leave their data centre, which kind of hosts sends them if the hosts' balancers differ, and combinations of these.
///
/// With traffic classes, a group may begin with the name of a class.
pub(super) fn groups(scenario: &Scenario) -> Vec<String> {
    let sides: &[&str] = match scenario.topology {
        TopologySpec::CrossDc(_) => &["intra", "inter"],
        _ => &[],
    };
    let hosts: &[&str] = match scenario.schemes.iter().any(|scheme| scheme.mix.is_some()) {
        true => &["main", "mixed"],
        false => &[],
    };
    let mut all = Vec::new();
    if scenario.classes.is_empty() {
        all = combined([&[], &scenario.workload.parts(), sides, hosts]);
    }
    for class in &scenario.classes {
        let (parts, hosts) = match &class.traffic {
            None => (scenario.workload.parts(), hosts),
            Some(traffic) => (traffic.workload.parts(), &[][..]),
        };
        all.extend(combined([&[&class.name], &parts, sides, hosts]));
    }
    let mut seen = BTreeSet::new();
    all.retain(|group| seen.insert(group.clone()));
    all
}

/// The choices of at least one word and at most one of each list, joined in the order of the lists. Choices with
/// `pipeline/intra` are left out.
fn combined(lists: [&[&str]; 4]) -> Vec<String> {
    let mut groups = vec![String::new()];
    for words in lists {
        for at in 0..groups.len() {
            let with = |word: &&str| match groups[at].is_empty() {
                true => (*word).to_owned(),
                false => format!("{}/{word}", groups[at]),
            };
            let longer: Vec<String> = words.iter().map(with).collect();
            groups.extend(longer);
        }
    }
    // Pipelines lead from one data centre to the next, so none is within a data centre.
    let is_impossible =
        |group: &String| lists[1].contains(&"pipeline") && format!("/{group}/").contains("/pipeline/intra/");
    groups.retain(|group| !group.is_empty() && !is_impossible(group));
    groups
}

/// The names of the numeric results of a scenario's runs that a figure can draw.
pub(super) fn numbers(scenario: &Scenario) -> Vec<String> {
    let mut numbers: Vec<String> = RunRow::FIELDS.map(str::to_owned).to_vec();
    let mut add = |names: &[&str]| numbers.extend(names.iter().map(|&name| name.to_owned()));
    if matches!(scenario.topology, TopologySpec::CrossDc(_)) {
        add(&SIDES_NUMBERS);
    }
    let counts = |counter: SenderCounter| {
        scenario.schemes.iter().any(|scheme| scheme.transport.counters().contains(&counter))
    };
    if counts(SenderCounter::Nacks) {
        add(&["nacks", "nacks_of_a_qp_max"]);
    }
    if counts(SenderCounter::Fetches) {
        add(&["fetches"]);
    }
    if scenario.schemes.iter().any(|scheme| scheme.fabric.trim) {
        add(&["header_drops"]);
    }
    let watchdog = |scheme: &Scheme| scheme.fabric.pfc.as_ref().is_some_and(|pfc| pfc.watchdog.is_some());
    if scenario.schemes.iter().any(watchdog) {
        add(&["watchdog_storms", "watchdog_drops"]);
    }
    if scenario.workload.has_jobs() {
        add(&["compute_max_us", "exposed_max_us"]);
    }
    for class in &scenario.classes {
        numbers.extend(["drops", "ecn_marks", "pause_us"].map(|name| format!("{name}_{}", class.name)));
    }
    numbers
}

/// The results that a fabric with several data centres adds to its runs.
const SIDES_NUMBERS: [&str; 7] = [
    "intra_slowdown_mean",
    "intra_slowdown_p99",
    "inter_slowdown_mean",
    "inter_slowdown_p99",
    "ecn_marks_tor",
    "ecn_marks_leaf",
    "ecn_marks_esw",
];
