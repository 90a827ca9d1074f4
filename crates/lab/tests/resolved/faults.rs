//! The test compares the directed links that faults affect with `faults.txt`, for all figures but the league's. With
//! `ANABRANCH_RECORD=1` the file is written again, for intended changes.

use crate::{figures, folder};
use anabranch_base::LinkId;
use anabranch_fabric::build;
use anabranch_lab::scenario::{FaultSpec, Scenario};
use anabranch_results::digest::text_digest;
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of links that are listed by name. For more links, the line has a digest of their names.
const MOST_NAMED: usize = 40;

/// A line for each combination of kind, start and duration of a scenario's faults. It has all links that these faults
/// affect in any run, in the order of their numbers, or a digest of them.
fn lines(name: &str, scenario: &Scenario) -> Vec<String> {
    let mut found: BTreeMap<String, BTreeSet<LinkId>> = BTreeMap::new();
    let mut links_by_name = Vec::new();
    let mut last = None;
    for point in scenario.points().unwrap() {
        let ground = Some((point.faults.clone(), point.topology.clone(), point.seed));
        if point.faults.is_empty() || ground == last {
            continue;
        }
        last = ground;
        let paper = name.split('/').next().unwrap();
        let beside = |file: &str| std::fs::read_to_string(folder("figures").join(paper).join(file)).unwrap();
        let text = point.topology.file().map(beside);
        let topology = build(&point.topology, text.as_deref()).unwrap();
        for (number, fault) in point.faults.iter().enumerate() {
            let FaultSpec { kind, at, duration, .. } = fault;
            let lasts = duration.map_or("the end".to_owned(), |duration| duration.to_string());
            let what = format!("{} at {at} for {lasts}", kind.word());
            let taken = fault.targets(number, &topology, point.seed).unwrap().links;
            found.entry(what).or_default().extend(taken);
        }
        links_by_name = (0..topology.links()).map(|link| topology.link_name(LinkId(link))).collect();
    }
    let line = |(what, links): (String, BTreeSet<LinkId>)| {
        let names: Vec<&str> = links.iter().map(|link| links_by_name[link.index()].as_str()).collect();
        let names = names.join(" ");
        let told = if links.len() <= MOST_NAMED { names } else { text_digest(&names) };
        format!("{name}: {what}: {} links: {told}", links.len())
    };
    found.into_iter().map(line).collect()
}

#[test]
fn the_faults_of_figures_take_the_links_that_they_took() {
    let of_figures = figures();
    let all = of_figures.iter().filter_map(|(name, figure)| Some(lines(name, figure.scenario.as_ref()?)));
    let mut lines: Vec<String> = all.flatten().collect();
    lines.sort();
    let path = folder("crates/lab/tests/resolved/faults.txt");
    if std::env::var_os("ANABRANCH_RECORD").is_some() {
        std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    }
    let recorded = std::fs::read_to_string(&path).unwrap();
    let mut recorded: Vec<&str> = recorded.lines().collect();
    recorded.sort_unstable();
    assert_eq!(lines, recorded);
}
