//! Numbers of a Clos network that fit its switches, in place of numbers that do not.

use super::defaults::{given, resolve, segment};
use super::{ClosInput, ClosKind, ClosSpec, SpineGroup};
use crate::error::TopologyError;
use anabranch_base::{Fix, Problem};

/// The largest number of ports of a switch that a fix proposes, that of a switch of 102.4 Tb/s split into ports of
/// 200 Gb/s.
const MOST_PORTS: u32 = 512;
/// The most fixes in one error.
const MOST_FIXES: usize = 3;

/// The Clos network of `input`, with a default for every number that the input leaves out.
///
/// # Errors
/// Numbers that are out of range or contradict each other, or that do not result in a whole number of links.
pub fn clos_defaults(kind: ClosKind, input: &ClosInput) -> Result<ClosSpec, TopologyError> {
    resolve(kind, input).map_err(|error| with_what_fits(kind, input, error))
}

/// `error` with changes of the input that are accepted, if it is about too few ports or about leaves that nothing joins.
/// Each change was tried, and each is complete.
fn with_what_fits(kind: ClosKind, input: &ClosInput, error: TopologyError) -> TopologyError {
    let TopologyError::Shape { key, problem } = error else { return error };
    let is_joinless = key == "topology.tiers" && input.tiers == Some(1);
    if key != "topology.radix" && !is_joinless {
        return TopologyError::Shape { key, problem };
    }
    let found = fixes(kind, input);
    let fix = match found.is_empty() {
        true if is_joinless => problem.fix,
        true => Some(Fix::text("fewer servers or NICs, or switches of more ports")),
        false => Some(Fix::text(found.join(", or "))),
    };
    TopologyError::Shape { key, problem: Problem { message: problem.message, fix } }
}

fn fixes(kind: ClosKind, input: &ClosInput) -> Vec<String> {
    let changed = |change: &dyn Fn(&mut ClosInput)| {
        let mut other = input.clone();
        change(&mut other);
        resolve(kind, &other).ok()
    };
    let mut found = if input.tiers == Some(1) { Vec::new() } else { with_usual_numbers(kind, input) };
    if !found.is_empty() {
        found.extend(with_more_ports(kind, input).into_iter().find(|fix| !fix.contains("tiers")));
        found.truncate(MOST_FIXES);
        return found;
    }
    found.extend(with_other_tiers(kind, input));
    // A network of one tier with one segment of all servers.
    if input.tiers == Some(1) && input.segment.is_some() {
        found.extend(
            changed(&|i| i.segment = Some(i.servers)).map(|spec| format!("segment = {}", spec.segment)),
        );
    }
    found.extend(with_more_ports(kind, input));
    found.extend(with_fewer_servers(kind, input));
    found.dedup();
    found.truncate(MOST_FIXES);
    found
}

/// The usual number in place of one that is written.
fn with_usual_numbers(kind: ClosKind, input: &ClosInput) -> Vec<String> {
    type Change = (&'static str, Option<u32>, fn(&mut ClosInput), fn(&ClosSpec) -> u32);
    let numbers: [Change; 5] = [
        ("segment", input.segment, |i| i.segment = None, |s| s.segment),
        ("spines", input.spines, |i| i.spines = None, |s| s.spines),
        ("uplinks", input.uplinks, |i| i.uplinks = None, |s| s.uplinks),
        ("cores", input.cores, |i| i.cores = None, |s| s.cores),
        ("core_uplinks", input.core_uplinks, |i| i.core_uplinks = None, |s| s.core_uplinks),
    ];
    let usual = numbers.into_iter().filter(|(_, written, ..)| written.is_some_and(|number| number > 0));
    let found = usual.filter_map(|(key, _, change, number)| {
        let mut other = input.clone();
        change(&mut other);
        Some(format!("{key} = {}", number(&resolve(kind, &other).ok()?)))
    });
    found.collect()
}

fn with_other_tiers(kind: ClosKind, input: &ClosInput) -> Option<String> {
    let accepts = |other: &ClosInput| resolve(kind, other).is_ok();
    if input.tiers == Some(1) {
        let two = ClosInput { tiers: Some(2), ..input.clone() };
        return accepts(&two).then(|| "tiers = 2".to_owned());
    }
    let three = ClosInput { tiers: Some(3), ..input.clone() };
    if input.tiers != Some(3) && accepts(&three) {
        return Some("tiers = 3".to_owned());
    }
    if input.pod.is_some() || input.spine_group.is_some() {
        return None;
    }
    let segments = segments(kind, &three);
    let of_pod = |pod: u32| ClosInput { spine_group: Some(SpineGroup::Pod), pod: Some(pod), ..three.clone() };
    let pod = (1..segments.min(MOST_PORTS)).rev();
    let pod = pod.filter(|pod| segments.is_multiple_of(*pod)).find(|pod| accepts(&of_pod(*pod)))?;
    let tiers = if input.tiers == Some(3) { "" } else { "tiers = 3, " };
    Some(format!("{tiers}spine_group = \"pod\" and pod = {pod}"))
}

/// The smallest switches that fit, with the tiers that are written and with three.
fn with_more_ports(kind: ClosKind, input: &ClosInput) -> Vec<String> {
    let Some(radix) = input.radix else { return Vec::new() };
    let least = |tiers: Option<u32>, most: u32| {
        let of = |radix: u32| ClosInput { radix: Some(radix), tiers, ..input.clone() };
        (radix.saturating_add(1)..=most).find(|radix| resolve(kind, &of(*radix)).is_ok())
    };
    let same = least(input.tiers, MOST_PORTS);
    let fewer = same.map_or(MOST_PORTS, |same| same - 1);
    let needs_more = || resolve(kind, &ClosInput { tiers: Some(3), ..input.clone() }).is_err();
    let three = if input.tiers.is_none() && needs_more() { least(Some(3), fewer) } else { None };
    let same = same.map(|radix| format!("radix = {radix}"));
    same.into_iter().chain(three.map(|radix| format!("radix = {radix} and tiers = 3"))).collect()
}

/// The largest number of servers in full segments that fits, if it is at least half of those written.
fn with_fewer_servers(kind: ClosKind, input: &ClosInput) -> Option<String> {
    let fits = |servers: &u32| {
        let fewer = resolve(kind, &ClosInput { servers: *servers, ..input.clone() });
        fewer.is_ok_and(|spec| servers.is_multiple_of(spec.segment))
    };
    (input.servers.div_ceil(2)..input.servers).rev().find(fits).map(|servers| format!("servers = {servers}"))
}

fn segments(kind: ClosKind, input: &ClosInput) -> u32 {
    let of_segment = input.segment.unwrap_or_else(|| segment(kind, input, &given(kind, input)));
    input.servers.div_ceil(of_segment.max(1))
}
