//! Comparison of result sets: the same schemes, points of the sweep and seeds next to each other.

use crate::groups::{Group, groups, schemes};
use crate::page::{escape, paragraphs};
use crate::verdict::{MOST_IN_HEADLINE, Verdict};
use anabranch_results::{ResultSet, RunRow, Statistic, Value};
use std::collections::{BTreeMap, BTreeSet};

/// The fields of runs that are compared. A field is compared if at least one set has it in all compared runs and one of
/// these values is not 0.
const QUANTITIES: [&str; 15] = [
    "fct_mean_us",
    "fct_p99_us",
    "fct_max_us",
    "slowdown_mean",
    "slowdown_p99",
    "cct_mean_us",
    "cct_max_us",
    "completion_us",
    "drops",
    "link_losses",
    "trims",
    "pause_frames",
    "ecn_marks",
    "retransmissions",
    "timeouts",
];

/// Result sets that are compared with each other.
#[derive(Debug)]
pub struct Comparison {
    /// The names of the sets. All other sets are compared with the first one.
    pub names: Vec<String>,
    /// The keys of the resolved scenarios whose values differ, each with its value in every set, or `None` if a set
    /// lacks the key. If some set lacks a scheme, the keys of this scheme are left out.
    pub differences: Vec<(String, Vec<Option<String>>)>,
    /// The schemes, points and seeds that are not compared because some set lacks them, and the runs whose times are
    /// not compared because messages or jobs did not finish.
    pub left_out: Vec<String>,
    /// The compared quantities.
    pub rows: Vec<ComparedRow>,
}

/// A quantity of one scheme at one point of the sweep, in all sets.
#[derive(Debug)]
pub struct ComparedRow {
    /// The scheme.
    pub scheme: String,
    /// The values of the swept parameters at the point.
    pub sweep: BTreeMap<String, Value>,
    /// The name of a field of the runs, with its unit if it has one.
    pub quantity: &'static str,
    /// The seeds that all sets have. The numbers below are computed over these seeds.
    pub seeds: Vec<u64>,
    /// The mean over the seeds in each set, or `None` if a run of the set lacks the quantity, or if the quantity is a
    /// time or a slowdown and some messages or jobs did not finish.
    pub means: Vec<Option<f64>>,
    /// The ratio of each set, except the first, to the first set, or `None` if it is not defined.
    pub ratios: Vec<Option<Ratio>>,
    /// Whether each set, except the first, has the numbers of the first set at every seed.
    pub equal: Vec<bool>,
}

impl ComparedRow {
    fn is_as_the_first(&self, place: usize) -> bool {
        self.equal[place - 1]
    }
}

/// The ratio of a quantity in one set to the same quantity in another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The ratio of the means.
    pub of_means: f64,
    /// The lowest and the highest ratio among the seeds, or `None` with one seed or if the denominator of a seed is 0.
    pub over_seeds: Option<[f64; 2]>,
}

/// Compares named result sets with the first of them.
///
/// # Errors
/// The sets have no scheme, no point of the sweep or no seed in common. The text lists the schemes, points or seeds
/// of each set.
pub fn compare(sets: &[(String, &ResultSet)]) -> Result<Comparison, String> {
    let common_schemes = common(sets, "scheme", |set| schemes(set).into_iter().map(str::to_owned).collect())?;
    let points = |set: &ResultSet| -> Vec<String> {
        let is_common = |group: &Group| common_schemes.iter().any(|scheme| scheme == group.scheme);
        groups(set).iter().filter(|group| is_common(group)).map(|group| point(group.sweep)).collect()
    };
    common(sets, "point of the sweep", points)?;
    let seeds = |set: &ResultSet| set.runs.iter().map(|run| run.seed.to_string()).collect();
    common(sets, "seed", seeds)?;
    let grouped: Vec<Vec<Group>> = sets.iter().map(|(_, set)| groups(set)).collect();
    let (mut rows, mut left_out) = (Vec::new(), BTreeSet::new());
    for (of_set, (name, _)) in grouped.iter().zip(sets) {
        for group in of_set {
            let others: Option<Vec<&Group>> = grouped
                .iter()
                .map(|groups| groups.iter().find(|g| g.scheme == group.scheme && g.sweep == group.sweep))
                .collect();
            let label = format!("{}{}", group.scheme, point(group.sweep));
            let Some(side_by_side) = others else {
                left_out.insert(format!("{label}: not in all folders (it is in {name})"));
                continue;
            };
            if std::ptr::eq(of_set, &grouped[0]) {
                rows.extend(compared(&side_by_side, &label, &mut left_out));
            }
        }
    }
    Ok(Comparison {
        names: sets.iter().map(|(name, _)| name.clone()).collect(),
        differences: differences(sets),
        left_out: left_out.into_iter().collect(),
        rows,
    })
}

/// The items that all sets have, in the order of the first set.
fn common(
    sets: &[(String, &ResultSet)],
    what: &str,
    of: impl Fn(&ResultSet) -> Vec<String>,
) -> Result<Vec<String>, String> {
    let all: Vec<Vec<String>> = sets.iter().map(|(_, set)| of(set)).collect();
    let Some((first, others)) = all.split_first() else { return Ok(Vec::new()) };
    let mut found: Vec<String> =
        first.iter().filter(|name| others.iter().all(|other| other.contains(name))).cloned().collect();
    found.dedup();
    if !found.is_empty() {
        return Ok(found);
    }
    let mut message = format!("the folders have no {what} in common, so there is nothing to compare");
    for ((name, _), has) in sets.iter().zip(all) {
        let mut distinct: Vec<String> = Vec::new();
        for one in has {
            let one = one.trim_start_matches(", ").to_owned();
            let one = if one.is_empty() { "no sweep".to_owned() } else { one };
            if !distinct.contains(&one) {
                distinct.push(one);
            }
        }
        message.push_str(&format!("\n  {name}: {}", distinct.join("; ")));
    }
    Err(message)
}

/// The point of the sweep as text: `, workload.load = 0.3`.
fn point(sweep: &BTreeMap<String, Value>) -> String {
    sweep.iter().map(|(name, value)| format!(", {name} = {value}")).collect()
}

fn compared(sets: &[&Group], label: &str, left_out: &mut BTreeSet<String>) -> Vec<ComparedRow> {
    let all: BTreeSet<u64> = sets.iter().flat_map(|group| group.runs().map(|run| run.seed)).collect();
    let (seeds, alone): (Vec<u64>, Vec<u64>) =
        all.into_iter().partition(|seed| sets.iter().all(|group| of_seed(group, *seed).is_some()));
    if !alone.is_empty() {
        let alone: Vec<String> = alone.iter().map(ToString::to_string).collect();
        left_out.insert(format!("{label}: not all folders have seed {}", alone.join(", ")));
    }
    let unfinished = |run: &RunRow| run.flows_finished < run.flows || run.jobs_finished < run.jobs;
    for (place, group) in sets.iter().enumerate() {
        let of: Vec<String> = group
            .runs()
            .filter(|run| seeds.contains(&run.seed) && unfinished(run))
            .map(|run| run.seed.to_string())
            .collect();
        if !of.is_empty() {
            left_out.insert(format!(
                "{label}: times of messages and jobs, as not all finished in {} (seed {})",
                letter(place),
                of.join(", ")
            ));
        }
    }
    // If a run did not finish, the mean over its finished messages leaves out the slow ones and would favour that run.
    let number = |run: &RunRow, quantity: &str| {
        let of_all = ["fct_", "slowdown_", "cct_", "completion_"].iter().any(|of| quantity.starts_with(of));
        run.number(quantity).filter(|_| !(of_all && unfinished(run)))
    };
    let numbers = |group: &Group, quantity: &str| -> Option<Vec<f64>> {
        seeds.iter().map(|seed| number(of_seed(group, *seed)?, quantity)).collect()
    };
    let mut rows = Vec::new();
    for quantity in QUANTITIES {
        let of_sets: Vec<Option<Vec<f64>>> = sets.iter().map(|group| numbers(group, quantity)).collect();
        let interesting = of_sets.iter().flatten().flatten().any(|number| *number != 0.0);
        if seeds.is_empty() || !interesting {
            continue;
        }
        let mean = |numbers: &Option<Vec<f64>>| Statistic::Mean.of(numbers.as_deref()?);
        let ratio = |numbers: &Option<Vec<f64>>| ratio(of_sets[0].as_deref()?, numbers.as_deref()?);
        rows.push(ComparedRow {
            scheme: sets[0].scheme.to_owned(),
            sweep: sets[0].sweep.clone(),
            quantity,
            seeds: seeds.clone(),
            means: of_sets.iter().map(mean).collect(),
            ratios: of_sets[1..].iter().map(ratio).collect(),
            equal: of_sets[1..].iter().map(|numbers| *numbers == of_sets[0]).collect(),
        });
    }
    rows
}

fn of_seed<'a>(group: &Group<'a>, seed: u64) -> Option<&'a RunRow> {
    group.runs().find(|run| run.seed == seed)
}

fn ratio(first: &[f64], other: &[f64]) -> Option<Ratio> {
    let of_means = Statistic::Mean.of(other)? / Statistic::Mean.of(first)?;
    let own: Vec<f64> = other.iter().zip(first).map(|(other, first)| other / first).collect();
    let sure = own.len() > 1 && own.iter().all(|ratio| ratio.is_finite());
    let over_seeds = match (Statistic::Min.of(&own), Statistic::Max.of(&own)) {
        (Some(low), Some(high)) if sure => Some([low, high]),
        _ => None,
    };
    of_means.is_finite().then_some(Ratio { of_means, over_seeds })
}

/// The keys whose values are not the same in all resolved scenarios.
fn differences(sets: &[(String, &ResultSet)]) -> Vec<(String, Vec<Option<String>>)> {
    let flat: Vec<BTreeMap<String, String>> = sets.iter().map(|(_, set)| set.scenario_keys()).collect();
    // If a set lacks a scheme, every key of the scheme would differ. `left_out` already names the scheme.
    let lacks = |key: &&String| {
        let Some((name, _)) = key.strip_prefix("scheme.").and_then(|rest| rest.split_once('.')) else {
            return false;
        };
        let of_it = format!("scheme.{name}.");
        flat.iter().any(|of| !of.keys().any(|key| key.starts_with(&of_it)))
    };
    let keys: BTreeSet<&String> = flat.iter().flat_map(BTreeMap::keys).filter(|key| !lacks(key)).collect();
    let values = |key: &String| flat.iter().map(|of| of.get(key).cloned()).collect::<Vec<_>>();
    let differ = |values: &Vec<Option<String>>| values.iter().any(|value| *value != values[0]);
    keys.into_iter().map(|key| (key.clone(), values(key))).filter(|(_, values)| differ(values)).collect()
}

/// The number with about five significant digits, without trailing zeros. A number below 1 has at most four decimals,
/// and a number from 100,000 on is a whole number.
fn digits(number: f64) -> String {
    if number == 0.0 || number.abs() >= 100_000.0 {
        return format!("{number:.0}");
    }
    let whole = format!("{:.0}", number.abs()).len();
    let text = format!("{number:.places$}", places = 5_usize.saturating_sub(whole));
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn letter(place: usize) -> char {
    char::from(b'A' + (place % 26) as u8)
}

impl Comparison {
    /// The cells of the table. The first row holds the column headings.
    pub fn cells(&self) -> Vec<Vec<String>> {
        let swept = self.rows.iter().any(|row| !row.sweep.is_empty());
        let paired = self.rows.iter().any(|row| row.ratios.iter().flatten().any(|r| r.over_seeds.is_some()));
        let mut head = vec!["scheme".to_owned()];
        head.extend(swept.then(|| "at".to_owned()));
        head.push("quantity".to_owned());
        head.extend((0..self.names.len()).map(|place| letter(place).to_string()));
        for place in 1..self.names.len() {
            head.push(format!("{}/A", letter(place)));
            head.extend(paired.then(|| "by seed".to_owned()));
        }
        let none = || "-".to_owned();
        let mut rows = vec![head];
        for row in &self.rows {
            let mut cells = vec![row.scheme.clone()];
            cells.extend(swept.then(|| point(&row.sweep).trim_start_matches(", ").to_owned()));
            cells.push(row.quantity.to_owned());
            cells.extend(row.means.iter().map(|mean| mean.map_or_else(none, digits)));
            for ratio in &row.ratios {
                cells.push(ratio.map_or_else(none, |ratio| format!("{:.3}", ratio.of_means)));
                let by_seed = ratio.and_then(|ratio| ratio.over_seeds);
                cells.extend(
                    paired.then(|| by_seed.map_or_else(none, |[low, high]| format!("{low:.3} to {high:.3}"))),
                );
            }
            rows.push(cells);
        }
        rows
    }

    /// The answer: a sentence for each set except the first. It compares the completion times of the slowest jobs or
    /// messages with the times in the first set, or states that both sets are equal in every quantity or that nothing
    /// can be compared. If there are many schemes, the sentence names the schemes that differ most, and a note names
    /// the others. Notes begin with `Note:`.
    pub fn verdict(&self) -> Vec<String> {
        self.answer().lines()
    }

    fn answer(&self) -> Verdict {
        let jobs = self.rows.iter().any(|row| row.quantity == "cct_max_us");
        let (quantity, words) = match jobs {
            true => ("cct_max_us", "CCT of the slowest job"),
            false => ("fct_max_us", "FCT of the slowest message"),
        };
        let of_set = |place: usize| -> (String, Option<String>) {
            let letter = letter(place);
            if self.rows.is_empty() {
                return (format!("Nothing of {letter} can be compared with A."), None);
            }
            if self.rows.iter().all(|row| row.is_as_the_first(place)) {
                let compared = if self.left_out.is_empty() { "" } else { " that is compared" };
                return (format!("{letter} is as A in every quantity{compared}, at every seed."), None);
            }
            let mut schemes: Vec<&str> = self.rows.iter().map(|row| row.scheme.as_str()).collect();
            schemes.dedup();
            let of_scheme = |scheme: &&str| {
                let of_it = self.rows.iter().filter(|row| row.scheme == *scheme && row.quantity == quantity);
                let rows: Vec<&ComparedRow> = of_it.collect();
                let ratios: Vec<Ratio> = rows.iter().filter_map(|row| row.ratios[place - 1]).collect();
                let how = match ratios[..] {
                    [] => "without a quotient, as not all finished or nothing is to divide by".to_owned(),
                    _ if rows.iter().all(|row| row.is_as_the_first(place)) => "the same".to_owned(),
                    [Ratio { of_means, over_seeds: Some([low, high]) }] => {
                        format!("{of_means:.3} times ({low:.3} to {high:.3} by seed)")
                    }
                    [Ratio { of_means, over_seeds: None }] => format!("{of_means:.3} times"),
                    _ => {
                        let of_means = ratios.iter().map(|ratio| ratio.of_means);
                        let low = of_means.clone().fold(f64::INFINITY, f64::min);
                        let high = of_means.fold(f64::NEG_INFINITY, f64::max);
                        format!("{low:.3} to {high:.3} times, at {} points", ratios.len())
                    }
                };
                let apart = ratios.iter().map(|ratio| ratio.of_means.max(1.0 / ratio.of_means));
                (apart.fold(0.0, f64::max), format!("{scheme} {how}"))
            };
            let mut schemes: Vec<(f64, String)> = schemes.iter().map(of_scheme).collect();
            let (mut which, of_many) = ("", schemes.len() > MOST_IN_HEADLINE);
            if of_many {
                schemes.sort_by(|one, other| other.0.total_cmp(&one.0));
                which = ", where they differ most";
            }
            let texts: Vec<String> = schemes.into_iter().map(|(_, text)| text).collect();
            let (named, others) = texts.split_at(MOST_IN_HEADLINE.min(texts.len()));
            let headline = format!("{words}, {letter} over A{which}: {}.", named.join("; "));
            (headline, of_many.then(|| format!("The others, {letter} over A: {}.", others.join("; "))))
        };
        let (sentences, others): (Vec<String>, Vec<_>) = (1..self.names.len()).map(of_set).unzip();
        Verdict { sentences, notes: others.into_iter().flatten().chain(self.unlike()).collect() }
    }

    /// A sentence that the topologies or the workloads of the sets differ, if they do.
    fn unlike(&self) -> Option<String> {
        let differs = |section: &&str| {
            self.differences
                .iter()
                .any(|(key, _)| key.split('.').next() == Some(section.trim_matches(['[', ']'])))
        };
        let sections: Vec<&str> = ["[topology]", "[workload]"].into_iter().filter(differs).collect();
        (!sections.is_empty()).then(|| {
            format!(
                "They differ in {}: a ratio says what these do too, and not the schemes alone.",
                sections.join(" and ")
            )
        })
    }

    /// A line for each set: its letter in the table and its name.
    pub fn legend(&self) -> Vec<String> {
        self.names.iter().enumerate().map(|(place, name)| format!("{}: {name}", letter(place))).collect()
    }

    /// The page: one HTML file that opens offline.
    pub fn html(&self) -> String {
        let mut body = String::from("<header><p class=\"brand\">Anabranch</p><h1>Side by side</h1>");
        for line in self.legend() {
            body.push_str(&format!("<p class=\"sub\">{}</p>", escape(&line)));
        }
        let sentences = paragraphs(&self.answer());
        body.push_str(&format!(
            "</header>\n<main>\n<section class=\"verdict\">{sentences}</section>\n\
             <section><h2>The same seeds side by side</h2>"
        ));
        let cells = self.cells();
        let words = cells[0].iter().position(|head| head == "quantity").map_or(1, |index| index + 1);
        body.push_str(&html_table("Side by side", &cells, words));
        for note in self.notes() {
            body.push_str(&format!("<p class=\"note\">{}</p>", escape(&note)));
        }
        body.push_str("</section>\n<section><h2>What differs between the scenarios</h2>");
        if self.differences.is_empty() {
            body.push_str("<p class=\"note\">Nothing: the resolved scenarios are the same.</p>");
        } else {
            let mut rows = vec![vec!["key".to_owned()]];
            rows[0].extend(self.legend());
            for (key, values) in &self.differences {
                let mut cells = vec![key.clone()];
                cells.extend(values.iter().map(|value| value.clone().unwrap_or_else(|| "-".to_owned())));
                rows.push(cells);
            }
            let words = rows[0].len();
            body.push_str(&html_table("What differs", &rows, words));
        }
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>Side by side</title>\n<style>\n{}</style>\n\
             </head>\n<body>\n{body}</section>\n</main>\n</body>\n</html>\n",
            include_str!("page/style.css"),
        )
    }

    /// Notes that a reader needs in addition to the table.
    pub fn notes(&self) -> Vec<String> {
        let how = "Means over the seeds that all have; a ratio is mean over mean, and by seed it is the lowest and the \
                   highest of the seeds' own ratios.";
        let left_out = self.left_out.iter().map(|what| format!("Left out: {what}."));
        std::iter::once(how.to_owned()).chain(left_out).collect()
    }
}

/// A table in HTML. Its first `words` columns contain words and are left-aligned, as are their headings. The other
/// columns contain numbers and are right-aligned.
fn html_table(label: &str, rows: &[Vec<String>], words: usize) -> String {
    // The `tabindex` lets a reader scroll the table with the keyboard.
    let mut html = format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{label}\"><table class=\"numbers\">"
    );
    for (number, row) in rows.iter().enumerate() {
        let (before, tag, behind) = match number {
            0 => ("<thead>", "th", "</thead><tbody>"),
            _ => ("", "td", ""),
        };
        html.push_str(&format!("{before}<tr>"));
        for (column, cell) in row.iter().enumerate() {
            let class = if column < words { " class=\"word\"" } else { "" };
            html.push_str(&format!("<{tag}{class}>{}</{tag}>", escape(cell)));
        }
        html.push_str(&format!("</tr>{behind}"));
    }
    html + "</tbody></table></div>"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(scheme: &str, queue: &str, fcts: &[(u64, f64)]) -> ResultSet {
        let run = |(seed, fct): &(u64, f64)| RunRow {
            scheme: scheme.into(),
            seed: *seed,
            flows: 1,
            flows_finished: 1,
            fct_max_us: *fct,
            ..RunRow::default()
        };
        ResultSet {
            scenario_toml: format!(
                "seeds = [1]\n[[scheme]]\nname = \"{scheme}\"\n[scheme.fabric]\nqueue = \"{queue}\" # = 5 MB\n"
            ),
            runs: fcts.iter().map(run).collect(),
            ..ResultSet::default()
        }
    }

    fn side_by_side(a: &ResultSet, b: &ResultSet) -> Result<Comparison, String> {
        compare(&[("one".to_owned(), a), ("two".to_owned(), b)])
    }

    #[test]
    fn the_same_seeds_are_side_by_side_and_others_are_told() {
        let a = set("reps", "1bdp", &[(1, 10.0), (2, 20.0), (3, 5.0)]);
        let b = set("reps", "2bdp", &[(1, 11.0), (2, 40.0), (4, 5.0)]);
        let compared = side_by_side(&a, &b).unwrap();
        let row = compared.rows.iter().find(|row| row.quantity == "fct_max_us").unwrap();
        assert_eq!((&row.seeds[..], &row.means[..]), (&[1, 2][..], &[Some(15.0), Some(25.5)][..]));
        assert_eq!(row.ratios, [Some(Ratio { of_means: 1.7, over_seeds: Some([1.1, 2.0]) })]);
        assert_eq!(compared.left_out, ["reps: not all folders have seed 3, 4"]);
        let one = Some("\"1bdp\"".to_owned());
        let two = Some("\"2bdp\"".to_owned());
        assert_eq!(compared.differences, [("scheme.reps.fabric.queue".to_owned(), vec![one, two])]);
        let cells = compared.cells();
        assert_eq!(cells[0], ["scheme", "quantity", "A", "B", "B/A", "by seed"]);
        let text = "FCT of the slowest message, B over A: reps 1.700 times (1.100 to 2.000 by seed).";
        assert_eq!(compared.verdict(), [text]);
        assert_eq!(side_by_side(&a, &a).unwrap().verdict(), ["B is as A in every quantity, at every seed."]);
        assert!(
            cells
                .iter()
                .any(|row| row[..] == ["reps", "fct_max_us", "15", "25.5", "1.700", "1.100 to 2.000"])
        );
        let html = compared.html();
        assert!(html.contains("scheme.reps.fabric.queue"));
        // Column headings are aligned like their columns.
        assert!(html.contains("<th class=\"word\">quantity</th><th>A</th>"), "{html}");
        assert!(html.contains("<td class=\"word\">fct_max_us</td><td>15</td>"), "{html}");
    }

    #[test]
    fn sets_are_equal_only_if_every_seed_is() {
        let a = set("reps", "1bdp", &[(1, 10.0), (2, 20.0)]);
        let dropping = |drops: [u64; 2]| {
            let mut set = a.clone();
            set.runs.iter_mut().zip(drops).for_each(|(run, drops)| run.drops = drops);
            set
        };
        let verdict = |a: &ResultSet, b: &ResultSet| side_by_side(a, b).unwrap().verdict().remove(0);
        let swapped = verdict(&dropping([0, 4]), &dropping([4, 0]));
        assert_eq!(swapped, "FCT of the slowest message, B over A: reps the same.");
        let mut unfinished = dropping([1, 4]);
        unfinished.runs.iter_mut().for_each(|run| run.flows = 2);
        let same = "B is as A in every quantity that is compared, at every seed.";
        assert_eq!(verdict(&unfinished, &unfinished), same);
        unfinished.runs.iter_mut().for_each(|run| run.drops = 0);
        assert_eq!(verdict(&unfinished, &unfinished), "Nothing of B can be compared with A.");
    }

    #[test]
    fn what_did_not_finish_and_what_is_another_fabric_is_said() {
        let a = set("reps", "1bdp", &[(1, 10.0), (2, 20.0)]);
        let mut b = a.clone();
        (b.runs[1].flows, b.runs[1].drops) = (2, 5);
        b.scenario_toml = b.scenario_toml.replace("[[scheme]]", "topology.hosts = 4\n[[scheme]]");
        b.scenario_toml.push_str("[[scheme]]\nname = \"ops\"\nqps = 1\n");
        let compared = side_by_side(&a, &b).unwrap();
        let text = compared.verdict();
        assert!(
            text[0].ends_with("reps without a quotient, as not all finished or nothing is to divide by."),
            "{text:?}"
        );
        assert!(text[1].starts_with("Note: They differ in [topology]: "), "{text:?}");
        let of = |quantity| compared.rows.iter().find(|row| row.quantity == quantity).unwrap();
        assert_eq!((of("fct_max_us").means[1], of("drops").means[1]), (None, Some(2.5)));
        assert_eq!(
            compared.left_out,
            ["reps: times of messages and jobs, as not all finished in B (seed 2)"]
        );
        assert_eq!(
            compared.differences.len(),
            1,
            "nothing of the scheme that one has alone: {:?}",
            compared.differences
        );
    }

    #[test]
    fn of_many_schemes_those_that_differ_most_are_in_the_headline() {
        let both = |times: [f64; 5]| {
            let mut whole = set("s0", "1bdp", &[(1, times[0])]);
            for (number, time) in times.into_iter().enumerate().skip(1) {
                whole.runs.extend(set(&format!("s{number}"), "1bdp", &[(1, time)]).runs);
            }
            whole
        };
        let compared =
            side_by_side(&both([10.0; 5]), &both([11.0, 5.0, 10.0, 40.0, 12.0])).unwrap().verdict();
        insta::assert_snapshot!(compared.join("\n"), @r"
    FCT of the slowest message, B over A, where they differ most: s3 4.000 times; s1 0.500 times; s4 1.200 times.
    Note: The others, B over A: s0 1.100 times; s2 the same.
    ");
    }

    #[test]
    fn nonsense_is_refused_with_what_each_has() {
        let a = set("reps", "1bdp", &[(1, 10.0)]);
        let text = side_by_side(&a, &set("ops", "1bdp", &[(1, 1.0)])).unwrap_err();
        assert!(text.contains("no scheme in common") && text.ends_with("one: reps\n  two: ops"), "{text}");
        let text = side_by_side(&a, &set("reps", "1bdp", &[(2, 1.0)])).unwrap_err();
        assert!(text.contains("no seed in common") && text.ends_with("one: 1\n  two: 2"), "{text}");
        let mut swept = a.clone();
        swept.runs[0].sweep.insert("workload.load".into(), Value::Number(0.3));
        let text = side_by_side(&a, &swept).unwrap_err();
        assert!(text.contains("no point of the sweep in common"), "{text}");
        assert!(text.ends_with("one: no sweep\n  two: workload.load = 0.3"), "{text}");
    }

    #[test]
    fn numbers_have_five_digits_at_most() {
        let numbers = [0.0, 0.12346, 12.0, 1234.56, 98_765.4, 1_234_567.8];
        assert_eq!(numbers.map(digits), ["0", "0.1235", "12", "1234.6", "98765", "1234568"]);
    }
}
