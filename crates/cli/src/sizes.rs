//! The sizes of a figure's runs as text, derived from its resolved scenario. The figure's title may name the sizes of
//! the paper instead.

use anabranch_sim::scenario::{RunPoint, TopologySpec};

/// The hosts and the traffic of the first point, and the swept parameters with their values. Without points, the text
/// is empty.
///
/// Example: `128 hosts, permutation of 8MiB; swept: topology.oversubscription = 1, 4`
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
        TopologySpec::CrossDc(spec) => format!("{} hosts in {} data centres", spec.hosts(), spec.dcs),
        TopologySpec::Graph { file, .. } => format!("the hosts of {file}"),
        TopologySpec::Registered(its) => format!("the hosts of {}", its.name()),
        other => match (other.hosts(), other.clos()) {
            (Some(hosts), Some((_, spec))) => format!("{hosts} NICs in {} servers", spec.servers),
            (hosts, _) => format!("{} hosts", hosts.unwrap_or_default()),
        },
    }
}

/// The traffic as text. Swept parameters are left out, because the list of their values follows.
fn traffic(point: &RunPoint) -> String {
    point.workload.describe(point.topology.hosts(), &|path| point.sweep.contains_key(path))
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
