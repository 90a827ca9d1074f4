//! Sentences about faults: their cost, and the schemes that the faults did not affect.

use super::Verdict;
use super::format::{LEAST_PERCENT, NumberFormat, in_brackets, list, whole_percent};
use super::ranking::MOST_IN_FULL;
use crate::labels::half_width;
use crate::ranking::{Quantity, RankedScheme};
use anabranch_results::ResultSet;

/// Sentences and notes about the costs of the faults. A note lists the uncertain costs, or a sentence does if all costs
/// are uncertain.
pub(super) fn cost(schemes: &[(&str, &RankedScheme)], set: &ResultSet) -> Verdict {
    let mut costs: Vec<(&str, f64, Option<f64>)> = schemes
        .iter()
        .filter_map(|(name, standing)| {
            let slowdown = standing.slowdown_by_fault?;
            Some((*name, 100.0 * (slowdown.mean - 1.0), slowdown.half_width.map(|half| 100.0 * half)))
        })
        .collect();
    costs.sort_by(|one, other| other.1.total_cmp(&one.1));
    let is_clear = |(_, percent, half): &(&str, f64, Option<f64>)| {
        percent.abs() >= LEAST_PERCENT && half.is_none_or(|half| percent.abs() > half)
    };
    let (clear, unclear): (Vec<_>, Vec<_>) = costs.into_iter().partition(is_clear);
    let (clear, gains): (Vec<_>, Vec<_>) = clear.into_iter().partition(|(_, percent, _)| *percent > 0.0);
    // A cost that is not significant is left out if no fault affected the scheme.
    let untouched = |name: &str| schemes.iter().any(|(known, of)| *known == name && of.no_seed_hit());
    let shown = |(name, percent, half): &(&str, f64, Option<f64>)| match half {
        Some(half) => format!("{name} {} % (± {})", whole_percent(*percent), half_width(*half)),
        None => format!("{name} {} %", whole_percent(*percent)),
    };
    let nothing = |(_, percent, half): &(&str, f64, Option<f64>)| {
        percent.abs() < LEAST_PERCENT && half.is_none_or(|half| half < LEAST_PERCENT)
    };
    let unclear = unclear.iter().filter(|(name, ..)| !untouched(name));
    let (free, unsure): (Vec<_>, Vec<_>) = unclear.partition(|cost| nothing(cost));
    let names =
        |costs: &[&(&str, f64, Option<f64>)]| costs.iter().map(|(name, ..)| (*name).to_owned()).collect();
    let faults = faults(set);
    // Costs that are not significant do not show that the faults cost nothing.
    if clear.is_empty() && gains.is_empty() && free.is_empty() && !unsure.is_empty() {
        let of_whom = if schemes.len() == 1 { "It is not" } else { "For no scheme is it" };
        let unsure = list(unsure.into_iter().map(shown).collect(), MOST_IN_FULL);
        return Verdict::of(format!("{of_whom} sure that {faults} cost anything: {unsure}"));
    }
    let mut parts: Vec<String> = Vec::new();
    if clear.len() > MOST_IN_FULL {
        let least: Vec<String> = clear.iter().rev().take(2).map(shown).collect();
        let more = clear.len() - 4;
        let dearest = clear[..2].iter().map(shown).collect::<Vec<_>>().join(", ");
        parts.push(format!(" from {} to {dearest}, the dearest ({more} more between)", least.join(", ")));
    } else if !clear.is_empty() {
        parts.push(format!(" {}", list(clear.iter().map(shown).collect(), MOST_IN_FULL)));
    }
    if !free.is_empty() {
        parts.push(format!(" nothing: {}", list(names(&free), MOST_IN_FULL)));
    }
    let mut verdict = Verdict::default();
    if !unsure.is_empty() {
        let unsure = list(unsure.into_iter().map(shown).collect(), MOST_IN_FULL);
        verdict.notes.push(format!("Cost not sure: {unsure}"));
    }
    if !gains.is_empty() {
        let gain = |&(name, percent, half): &(_, f64, _)| shown(&(name, -percent, half));
        let gains = list(gains.iter().rev().map(gain).collect(), MOST_IN_FULL);
        verdict.sentences.push(format!("Less time with {faults} than without: {gains}"));
    }
    if !parts.is_empty() {
        let mut letters = faults.chars();
        let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
        verdict.sentences.push(format!("{first}{} cost{}", letters.as_str(), parts.join(";")));
        verdict.notes.extend(least_hurt_is_slow(schemes));
    }
    verdict
}

/// The scheme with the lowest cost is called slow if its time divided by the shortest time is at least this number.
const SLOW: f64 = 1.5;

/// A note if the scheme with the lowest cost is much slower than the fastest scheme, because a low cost of faults does
/// not imply speed.
fn least_hurt_is_slow(schemes: &[(&str, &RankedScheme)]) -> Option<String> {
    let hit = schemes.iter().filter(|(_, of)| !of.is_untouched && !of.no_seed_hit());
    let hit: Vec<(&str, f64, f64)> =
        hit.filter_map(|(name, of)| Some((*name, of.estimate?.mean, of.slowdown_by_fault?.mean))).collect();
    let fastest = hit.iter().min_by(|one, other| one.1.total_cmp(&other.1))?;
    let least_hurt = hit.iter().min_by(|one, other| one.2.total_cmp(&other.2))?;
    let times = least_hurt.1 / fastest.1;
    (times >= SLOW && fastest.2 > least_hurt.2).then(|| {
        format!("Least hurt is not fastest: {} takes {times:.2} times as long as {}", least_hurt.0, fastest.0)
    })
}

/// A sentence that names scenario keys and values with which the faults may affect the data of more schemes.
pub(super) fn hint_to_hit_more(set: &ResultSet) -> String {
    let rows = set.actual().iter().flat_map(|run| run.faults.iter().map(move |row| (row, run.sim_time_us)));
    let (late, met): (Vec<_>, Vec<_>) =
        rows.filter(|(row, _)| row.data_packets == 0).partition(|(row, ends)| row.at_us > *ends);
    let mut points = set.facts.points.iter();
    if met.is_empty() && points.any(|point| point.faults.iter().any(|fault| fault.per_hour.is_some())) {
        return "For an answer where no data was hit, let failures come more often: a higher `per_hour` in [[fault]], or longer \
                messages."
            .to_owned();
    }
    if met.is_empty() && !late.is_empty() {
        return "For an answer where no data was hit, let the faults begin before the runs end: an earlier `at` in \
                [[fault]], or longer messages."
            .to_owned();
    }
    let faults = || set.facts.points.first().into_iter().flat_map(|point| &point.faults);
    let links = faults().find_map(|fault| Some((fault.links.first()?, fault.links.len())));
    let of_file = links.is_some_and(|(first, _)| first.starts_with("error-rate:"));
    let wider = match links {
        None if faults().any(|fault| !fault.switches.is_empty()) => {
            "more or other switches (`anabranch check` names faults that hit nothing)".to_owned()
        }
        Some(_) if of_file => "a higher error rate in the topology's file, on more links".to_owned(),
        Some(_) if faults().any(|fault| ["slow-receiver", "pause-storm"].contains(&&*fault.kind)) => {
            "more hosts (`hosts = \"host-links:4\"` in [[fault]])".to_owned()
        }
        Some((first, number)) => {
            let percent =
                first.rsplit_once(':').and_then(|(_, of)| of.strip_suffix('%')).filter(|_| number == 1);
            let percent = percent.and_then(|percent| percent.parse::<f64>().ok()).unwrap_or(0.0);
            let more = if percent < 10.0 { 10.0 } else { (3.0 * percent).min(100.0) };
            format!("more links (`links = \"tor-uplinks:{more}%\"` in [[fault]])")
        }
        None => "more links".to_owned(),
    };
    let likelier = match faults().any(|fault| fault.probability.is_some()) && !of_file {
        true => ", a higher `probability`",
        false => "",
    };
    let placement = set.facts.points.first().and_then(|point| point.workload.placement.as_deref());
    // Between GPUs of different rails packets go over NVLink first, wherever the ranks are.
    let keeps_rail =
        set.facts.points.first().is_some_and(|point| point.workload.nvlink && point.hosts_per_tor.is_none());
    let in_order = placement == Some("blocks") && !keeps_rail;
    let spread =
        if in_order { ", ranks on other hosts (`placement = \"random\"` in [workload])" } else { "" };
    let earlier = if late.is_empty() { "" } else { ", an earlier `at`" };
    format!(
        "For an answer where no data was hit, let the faults hit more: {wider}{likelier}{earlier}{spread}, longer messages or more seeds."
    )
}

/// Schemes that no fault affected in any seed. Their results say nothing about the faults.
pub(super) enum Unhit {
    /// No fault affected any scheme.
    All,
    /// A sentence that lists the schemes, which are not ranked.
    Some(String),
}

pub(super) const NO_DATA_HIT: &str =
    "The faults hit no data of any scheme, so that this says nothing of how they bear them";
const ONLY_ACKS_HIT: &str = "The faults hit no data of any scheme, at most ACKs and the like, and no run without faults tells what that \
    cost";

/// The sentence for points at which the faults hit no data of any scheme.
pub(super) fn no_data_hit(set: &ResultSet) -> &'static str {
    if cost_of_acks_is_unknown(set) { ONLY_ACKS_HIT } else { NO_DATA_HIT }
}

/// The reason why schemes are not ranked if the faults hit the data of others only.
pub(super) fn not_ranked(set: &ResultSet) -> &'static str {
    match cost_of_acks_is_unknown(set) {
        true => "Not ranked, as the faults hit no data of theirs, at most ACKs and the like",
        false => "Not ranked, as the faults hit no data of theirs and cost them nothing",
    }
}

/// Whether faults hit packets other than data, whose loss may delay a message, and no baseline shows the delay.
fn cost_of_acks_is_unknown(set: &ResultSet) -> bool {
    let mut faults = set.actual().iter().flat_map(|run| &run.faults);
    set.baselines().is_empty() && faults.any(|fault| fault.data_packets == 0 && fault.packets() > 0)
}

/// The schemes of a point that no fault affected in any seed, neither in their data nor in their time. Returns `None`
/// if there are no such schemes.
pub(super) fn unhit(
    set: &ResultSet,
    schemes: &[(&str, &RankedScheme)],
    quantity: Quantity,
    most: usize,
) -> Option<Unhit> {
    if schemes.iter().all(|(_, standing)| standing.no_seed_hit()) {
        return Some(Unhit::All);
    }
    let units = NumberFormat::for_schemes(schemes, quantity);
    let untouched: Vec<String> = schemes
        .iter()
        .filter(|(_, standing)| standing.is_untouched)
        .map(|(name, standing)| match standing.estimate {
            Some(_) => format!("{name} ({})", in_brackets(standing, &units)),
            None => (*name).to_owned(),
        })
        .collect();
    (!untouched.is_empty()).then(|| Unhit::Some(format!("{}: {}", not_ranked(set), list(untouched, most))))
}

fn faults(set: &ResultSet) -> String {
    match set.facts.faults() {
        [fault] => format!("the fault ({})", fault.kind),
        _ => "the faults".to_owned(),
    }
}
