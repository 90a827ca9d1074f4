//! The picture of the fabric: tiers of switches in each plane, with their cables, their faults and the longest queue.
//! Large tiers have as many boxes as fit, so that a picture has the same width for any fabric.

use super::markup::escape;
use crate::labels::bytes;
use anabranch_results::{FabricFacts, PlaneFacts, ResultSet, RunRow, TierFacts};
use std::fmt::Write as _;

const MOST_BOXES: u32 = TierFacts::GROUPS;
const MOST_PLANES: usize = 4;
const WIDTH: u32 = 300;
/// The distance from one tier to the next.
const TIER: u32 = 84;
/// The distance of the boxes from the top of their tier, and their height.
const BOXES: [u32; 2] = [22, 12];

/// The place of the longest queue, which was at one of the cables below this tier.
#[derive(Clone, Copy, PartialEq)]
struct Hot {
    plane: usize,
    tier: usize,
}

/// The section with the pictures of the planes. It is empty if the results do not describe a fabric of switches.
pub(super) fn section(set: &ResultSet) -> String {
    let facts = &set.facts.fabric;
    if facts.planes.iter().all(|plane| plane.tiers.is_empty()) {
        return String::new();
    }
    let longest = longest_queue(set);
    let hot = longest.and_then(|run| hot(facts, &run.peak_queue_link));
    let Shown { planes: shown, left_out, alike, like } = shown(facts, hot);
    let mut html = "<section><h2>Fabric</h2><div class=\"fabric\">".to_owned();
    for &plane in &shown {
        let name = if facts.planes.len() > 1 { format!("plane {plane}") } else { String::new() };
        html.push_str(&picture(facts, plane, &name, hot.filter(|hot| hot.plane == plane)));
    }
    html.push_str("</div>");
    let mut notes = Vec::new();
    if set.facts.points.len() > 1 {
        notes.push("At the first point of the sweep.".to_owned());
    }
    let tiers = facts.planes.iter().flat_map(|plane| &plane.tiers).map(|tier| tier.switches);
    if tiers.chain([facts.hosts]).max() > Some(MOST_BOXES) {
        notes
            .push(format!("At most {MOST_BOXES} boxes are drawn in a row, which stand for all that it has."));
    }
    if left_out > 0 {
        notes.push(match left_out {
            1 => "1 more plane has faults.".to_owned(),
            _ => format!("{left_out} more planes have faults."),
        });
    }
    if alike > 0 {
        notes.push(match alike {
            1 => format!("The other plane is like plane {like}."),
            _ => format!("The other {alike} planes are like plane {like}."),
        });
    }
    if let Some(run) = longest {
        let (length, link) = (bytes(run.peak_queue_bytes as f64), escape(&run.peak_queue_link));
        notes.push(format!("Longest queue: {length} at {link} ({}).", escape(&run.scheme)));
    }
    if !notes.is_empty() {
        let _ = write!(html, "<p class=\"note\">{}</p>", notes.join(" "));
    }
    html + "</section>\n"
}

/// The run with the longest queue of a switch, among the runs at the first point of the sweep.
fn longest_queue(set: &ResultSet) -> Option<&RunRow> {
    let first = set.actual().first().map(|run| &run.sweep);
    let runs = set.actual().iter().filter(|run| Some(&run.sweep) == first && run.peak_queue_bytes > 0);
    // Of equal queues, the first one counts.
    runs.rev().max_by_key(|run| run.peak_queue_bytes)
}

/// The place of the link with this name, such as `plane:1/tor:0/up:3`.
fn hot(facts: &FabricFacts, link: &str) -> Option<Hot> {
    let (plane, link) = match link.strip_prefix("plane:").and_then(|rest| rest.split_once('/')) {
        Some((plane, link)) => (plane.parse().ok()?, link),
        None => (0, link),
    };
    let (switch, side) = link.split_once('/')?;
    let word = switch.split(':').next()?;
    let at = facts.planes.get(plane)?.tiers.iter().position(|tier| tier.word == word)?;
    let tiers = &facts.planes[plane].tiers;
    let is_up = side.starts_with("up");
    // Ports to the same tier are called `up` too.
    if is_up && tiers[at].level_cables > 0 {
        return None;
    }
    let tier = if is_up { at + 1 } else { at };
    (tier < tiers.len()).then_some(Hot { plane, tier })
}

/// The planes that have a picture, and how many other planes there are.
struct Shown {
    planes: Vec<usize>,
    /// The number of other planes with a fault.
    left_out: usize,
    /// The number of other planes that are like the plane `like`.
    alike: usize,
    like: usize,
}

/// If there are at most [`MOST_PLANES`] planes, all have a picture. Otherwise these planes have one: the plane with the
/// longest queue, the first few with a fault, and the first with neither.
fn shown(facts: &FabricFacts, hot: Option<Hot>) -> Shown {
    let all = 0..facts.planes.len();
    if all.len() <= MOST_PLANES {
        return Shown { planes: all.collect(), left_out: 0, alike: 0, like: 0 };
    }
    let has_faults =
        |tier: &TierFacts| tier.faulty_switches + tier.faulty_cables + tier.faulty_level_cables > 0;
    let is_hot = |plane: &usize| hot.is_some_and(|hot| hot.plane == *plane);
    let differs = |plane: &usize| is_hot(plane) || facts.planes[*plane].tiers.iter().any(has_faults);
    let (mut special, alike): (Vec<usize>, Vec<usize>) = all.partition(differs);
    special.sort_by_key(|plane| !is_hot(plane));
    let room = MOST_PLANES - usize::from(!alike.is_empty());
    let left_out = special.len().saturating_sub(room);
    let mut planes: Vec<usize> = special.into_iter().take(room).chain(alike.first().copied()).collect();
    planes.sort_unstable();
    Shown {
        planes,
        left_out,
        alike: alike.len().saturating_sub(1),
        like: alike.first().copied().unwrap_or(0),
    }
}

fn picture(facts: &FabricFacts, number: usize, name: &str, hot: Option<Hot>) -> String {
    let plane = &facts.planes[number];
    let tiers = plane.tiers.len() as u32;
    let height = tiers * TIER + BOXES[0] + BOXES[1] + 4;
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">",
        escape(&in_words(facts, plane, name))
    );
    for (below, tier) in plane.tiers.iter().enumerate() {
        let top = (tiers - 1 - below as u32) * TIER;
        let lower = below.checked_sub(1).map_or(facts.hosts, |below| plane.tiers[below].switches);
        cables(&mut svg, tier, lower, top);
    }
    for (from, tier) in plane.tiers.iter().enumerate() {
        let top = (tiers - 1 - from as u32) * TIER;
        boxes(&mut svg, tier.switches, &tier.faulty_groups, top, "s");
        label(&mut svg, top + 14, "", &of_switches(tier));
        let class = if tier.faulty_cables > 0 { "x" } else { "c" };
        label(&mut svg, top + 54, class, &of_cables(tier));
        if hot.is_some_and(|hot| hot.tier == from) {
            label(&mut svg, top + 70, "w", "longest queue");
        }
    }
    boxes(&mut svg, facts.hosts, &[], tiers * TIER, "h");
    label(&mut svg, tiers * TIER + 14, "", &of_hosts(facts));
    let title = if name.is_empty() { String::new() } else { format!("<h3>{name}</h3>") };
    format!("<div>{title}{svg}</svg></div>")
}

/// The centres of the boxes of a tier.
fn centres(count: u32) -> impl Iterator<Item = u32> {
    let drawn = count.clamp(1, MOST_BOXES);
    (0..drawn).map(move |place| (2 * place + 1) * WIDTH / (2 * drawn))
}

/// The boxes of a tier, one for each group of its nodes.
fn boxes(svg: &mut String, count: u32, faulty: &[u32], top: u32, class: &str) {
    let drawn = count.clamp(1, MOST_BOXES);
    let width = (WIDTH / drawn).min(26) - 6;
    for (place, centre) in (0..).zip(centres(count)) {
        let class = if faulty.contains(&place) { "x" } else { class };
        let (x, y) = (centre - width / 2, top + BOXES[0]);
        let _ = write!(
            svg,
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{}\" rx=\"2\"/>",
            BOXES[1]
        );
    }
}

/// The lines between the boxes of a tier and the boxes below it.
fn cables(svg: &mut String, tier: &TierFacts, lower: u32, top: u32) {
    let (above, below) = (top + BOXES[0] + BOXES[1], top + TIER + BOXES[0]);
    let (starts, ends) = (Vec::from_iter(centres(tier.switches)), Vec::from_iter(centres(lower)));
    let line = |[from, to]: &[u32; 2]| {
        let (start, end) = (starts.get(*from as usize)?, ends.get(*to as usize)?);
        Some(format!("M{start} {above}L{end} {below}"))
    };
    let lines = |pairs: &[[u32; 2]]| pairs.iter().filter_map(line).collect::<String>();
    let _ = write!(svg, "<path d=\"{}\"/>", lines(&tier.joined));
    if !tier.faulty_joined.is_empty() {
        let _ = write!(svg, "<path class=\"x\" d=\"{}\"/>", lines(&tier.faulty_joined));
    }
}

fn label(svg: &mut String, y: u32, class: &str, text: &str) {
    let _ = write!(svg, "<text class=\"{class}\" x=\"2\" y=\"{y}\">{}</text>", escape(text));
}

fn of_switches(tier: &TierFacts) -> String {
    let noun = if tier.switches == 1 { "switch" } else { "switches" };
    let faulty = match tier.faulty_switches {
        0 => String::new(),
        faulty => format!(", {faulty} with a fault"),
    };
    let level = match tier.level_cables {
        0 => String::new(),
        cables => format!(", {cables} cables between them"),
    };
    let level = match tier.faulty_level_cables {
        0 => level,
        faulty => format!("{level}, {faulty} of these with a fault"),
    };
    format!("{}: {} {noun}{faulty}{level}", tier.word, tier.switches)
}

fn of_cables(tier: &TierFacts) -> String {
    let noun = if tier.cables == 1 { "cable" } else { "cables" };
    let faulty = match tier.faulty_cables {
        0 => String::new(),
        faulty => format!(", {faulty} with a fault"),
    };
    format!("{} {noun}, {}{faulty}", tier.cables, anabranch_base::Rate(tier.bps).about())
}

fn of_hosts(facts: &FabricFacts) -> String {
    match facts.servers {
        Some(servers) => format!("{servers} servers, {} NICs", facts.hosts),
        None => format!("{} hosts", facts.hosts),
    }
}

/// The picture as text, from the top down.
fn in_words(facts: &FabricFacts, plane: &PlaneFacts, name: &str) -> String {
    let tiers = plane.tiers.iter().rev().map(|tier| format!("{}, {}", of_switches(tier), of_cables(tier)));
    let name = (!name.is_empty()).then(|| name.to_owned());
    name.into_iter().chain(tiers).chain([of_hosts(facts)]).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tier(word: &str, switches: u32, cables: u32) -> TierFacts {
        let all = 0..MOST_BOXES;
        let joined = all.clone().flat_map(|upper| all.clone().map(move |lower| [upper, lower])).collect();
        let word = word.to_owned();
        TierFacts { word, switches, cables, bps: 400_000_000_000, joined, ..TierFacts::default() }
    }

    fn set(planes: usize) -> ResultSet {
        let plane = PlaneFacts { tiers: vec![tier("tor", 32, 1024), tier("spine", 16, 1024)] };
        let mut set = ResultSet::default();
        set.facts.fabric = FabricFacts { hosts: 1024, servers: Some(128), planes: vec![plane; planes] };
        set.runs = vec![RunRow {
            scheme: "reps".to_owned(),
            peak_queue_bytes: 512_000,
            peak_queue_link: "tor:3/up:5".to_owned(),
            ..RunRow::default()
        }];
        set
    }

    #[test]
    fn the_picture_names_tiers_cables_and_the_longest_queue() {
        let html = section(&set(1));
        for text in [
            "spine: 16 switches",
            "tor: 32 switches",
            ">1024 cables, 400 Gbps<",
            ">longest queue<",
            "128 servers, 1024 NICs",
        ] {
            assert!(html.contains(text), "{text}: {html}");
        }
        assert_eq!((html.matches("<path d=").count(), html.matches("<path class=\"x\"").count()), (2, 0));
        let svg = html.split("</svg>").next().unwrap();
        assert_eq!(svg.matches('L').count() as u32, 2 * MOST_BOXES * MOST_BOXES);
        assert!(html.contains("At most 12 boxes are drawn in a row"), "{html}");
        assert_eq!(html.matches("<rect class=\"s\"").count() as u32, 2 * MOST_BOXES);
        assert!(html.contains("Longest queue: 512 KB at tor:3/up:5 (reps)."), "{html}");
        assert_eq!(section(&ResultSet::default()), "");
    }

    #[test]
    fn of_many_planes_those_with_faults_are_shown() {
        let mut set = set(8);
        set.runs[0].peak_queue_link = "plane:6/spine:1/down:4".to_owned();
        let tor = &mut set.facts.fabric.planes[3].tiers[0];
        (tor.faulty_switches, tor.faulty_groups) = (1, vec![4]);
        let spine = &mut set.facts.fabric.planes[5].tiers[1];
        (spine.faulty_cables, spine.faulty_joined) = (2, vec![[3, 7]]);
        let html = section(&set);
        let shown = ["plane 3", "plane 5", "plane 6", "plane 0"]
            .map(|name| html.contains(&format!("<h3>{name}</h3>")));
        assert_eq!((shown, html.matches("<svg").count()), ([true; 4], 4));
        assert!(html.contains("The other 4 planes are like plane 0."));
        assert!(
            html.contains("tor: 32 switches, 1 with a fault") && html.contains("400 Gbps, 2 with a fault")
        );
        assert_eq!(
            (html.matches("<rect class=\"x\"").count(), html.matches("<path class=\"x\"").count()),
            (1, 1)
        );
        // The centres of the boxes are 25 apart, and the first one is at 12. The boxes are 19 wide.
        assert!(html.contains("<rect class=\"x\" x=\"103\"") && html.contains("M87 34L187 106"), "{html}");
    }

    #[test]
    fn of_many_planes_with_faults_a_few_are_shown() {
        let mut set = set(8);
        set.runs[0].peak_queue_link = "plane:6/spine:1/down:4".to_owned();
        [1, 2, 3, 5].into_iter().for_each(|plane| set.facts.fabric.planes[plane].tiers[1].faulty_cables = 1);
        let html = section(&set);
        let shown = [0, 1, 2, 6].map(|plane| html.contains(&format!("<h3>plane {plane}</h3>")));
        assert_eq!((shown, html.matches("<svg").count()), ([true; 4], 4));
        assert!(html.contains("2 more planes have faults. The other 2 planes are like plane 0."), "{html}");
        set.facts.fabric.planes.iter_mut().for_each(|plane| plane.tiers[1].faulty_cables = 1);
        let html = section(&set);
        assert!(html.contains("4 more planes have faults.") && !html.contains("are like"), "{html}");
    }

    #[test]
    fn faults_of_cables_within_a_tier_are_not_drawn_below_it() {
        let mut set = set(1);
        let tor = &mut set.facts.fabric.planes[0].tiers[0];
        (tor.level_cables, tor.faulty_level_cables) = (8, 2);
        let html = section(&set);
        assert!(html.contains("tor: 32 switches, 8 cables between them, 2 of these with a fault"), "{html}");
        assert!(!html.contains("<path class=\"x\""), "{html}");
        // A port `up` of such a tier may lead to the same tier.
        assert!(!html.contains(">longest queue<"), "{html}");
    }
}
