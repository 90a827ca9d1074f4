//! The sizes of a figure's runs as text, from its resolved scenario: titles name the sizes of the paper.

use anabranch_sim::scenario::{RunPoint, TopologySpec, WorkloadSpec};
use anabranch_sim::workload::collective::Members;

/// Hosts and message lengths of the first point, and the swept parameters. Empty without points.
///
/// `128 hosts, permutation of 8MiB; swept: topology.oversubscription = 1, 4`
pub fn describe(points: &[RunPoint]) -> String {
    let Some(first) = points.first() else { return String::new() };
    let mut text = format!("{}, {}", fabric(&first.topology), traffic(first));
    for (place, name) in first.sweep.keys().enumerate() {
        let mut values: Vec<String> = Vec::new();
        for value in points.iter().filter_map(|point| point.sweep.get(name)).map(ToString::to_string) {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        text.push_str(if place == 0 { "; swept: " } else { "; " });
        text.push_str(&format!("{name} = {}", values.join(", ")));
    }
    text
}

fn fabric(topology: &TopologySpec) -> String {
    match topology {
        TopologySpec::FatTree { hosts, .. }
        | TopologySpec::SingleSwitch { hosts, .. }
        | TopologySpec::Dumbbell { hosts, .. } => format!("{hosts} hosts"),
        TopologySpec::CrossDc(spec) => format!("{} hosts in {} data centres", spec.hosts(), spec.dcs),
        TopologySpec::Graph { file, .. } => format!("the hosts of {file}"),
        TopologySpec::Registered(its) => format!("the hosts of {}", its.name()),
    }
}

/// The traffic. A swept parameter is left to the list of its values.
fn traffic(point: &RunPoint) -> String {
    let bytes = |bytes: &dyn std::fmt::Display| match point.sweep.contains_key("workload.bytes") {
        true => String::new(),
        false => format!(" of {bytes}"),
    };
    // Not all hosts need to send.
    let part = |senders: u32| match point.topology {
        TopologySpec::FatTree { hosts, .. }
        | TopologySpec::SingleSwitch { hosts, .. }
        | TopologySpec::Dumbbell { hosts, .. }
            if senders < hosts =>
        {
            format!(" from {senders} of them")
        }
        TopologySpec::CrossDc(ref spec) if senders < spec.hosts() => format!(" from {senders} of them"),
        _ => String::new(),
    };
    match &point.workload {
        WorkloadSpec::Permutation { bytes: length, hosts, .. } => {
            format!("permutation{}{}", bytes(length), part(*hosts))
        }
        WorkloadSpec::Tornado { bytes: length, senders } => {
            format!("tornado{}{}", bytes(length), part(*senders))
        }
        WorkloadSpec::Incast { bytes: length, degree, .. } => {
            let degree = match point.sweep.contains_key("workload.degree") {
                true => String::new(),
                false => format!("{degree}:1 "),
            };
            format!("{degree}incast{}", bytes(length))
        }
        WorkloadSpec::Poisson { sizes, load, duration, hosts, inter, incast, pipeline } => {
            let inter = match inter {
                Some(share) => format!(", {}% between data centres", share * 100.0),
                None => String::new(),
            };
            let incast = match incast {
                Some(incast) => format!(" and {}:1 incasts at {}%", incast.degree, incast.load * 100.0),
                None => String::new(),
            };
            let pipeline = match pipeline {
                Some(pipeline) => format!(" and a pipeline at {}%", pipeline.load * 100.0),
                None => String::new(),
            };
            let load = load * 100.0;
            format!("{sizes} at {load}% load{inter}{incast}{pipeline} for {duration}{}", part(*hosts))
        }
        WorkloadSpec::Collective(spec) => {
            let algorithm = match point.sweep.contains_key("workload.algorithm") {
                true => "collective",
                false => spec.algorithm.name(),
            };
            let members = match &spec.members {
                Members::Groups { groups } => counted(groups.len(), "job"),
                Members::Placed { ranks, jobs, .. } => {
                    format!("{} of {ranks} ranks", counted(*jobs as usize, "job"))
                }
            };
            format!("{algorithm}{}, {members}", bytes(&spec.bytes))
        }
        WorkloadSpec::Messages { message } => counted(message.len(), "message"),
        WorkloadSpec::Cm { file, .. } | WorkloadSpec::Ns3Flows { file, .. } => format!("flows of {file}"),
        WorkloadSpec::Trace(spec) => format!("the {} trace {}", spec.format.name(), spec.file),
        WorkloadSpec::Jobs { job } => counted(job.len(), "job"),
        WorkloadSpec::Registered(its) => its.name().to_owned(),
    }
}

/// `1 job`, `2 jobs`.
fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures;
    use crate::source::prepare;
    use anabranch_sim::scenario::Scale;

    fn of_figure(id: &str, scale: Scale) -> String {
        let chosen = figures::choose(figures::all(None).unwrap(), &[id.to_owned()]).unwrap();
        let scenario = chosen[0].read(scale).unwrap().scenario.unwrap();
        describe(&prepare("t".into(), scenario).unwrap().points)
    }

    #[test]
    fn the_sizes_are_those_of_the_scale() {
        assert_eq!(of_figure("strack/figure-16", Scale::Paper), "8192 hosts, 32:1 incast of 16MB");
        let quick = of_figure("strack/figure-16", Scale::Quick);
        assert!(!quick.contains("8192") && quick.contains(":1 incast of "), "{quick}");
        let degrees = of_figure("strack/figure-20", Scale::Quick);
        assert!(degrees.contains(" hosts, incast of 16MB; swept: workload.degree = 8, "), "{degrees}");
        assert!(of_figure("strack/figure-1", Scale::Quick).ends_with(", 1 job of 32 ranks"));
        let slow = of_figure("reps/figure-4", Scale::Quick);
        assert_eq!(slow, "128 hosts, tornado of 32MiB from 4 of them");
        let jobs = of_figure("strack/figure-21", Scale::Paper);
        assert!(jobs.contains(", 64 jobs of 32 ranks; swept: topology.oversubscription = 1, 4; "), "{jobs}");
    }
}
