//! The page of a league, with every scheme in every scenario.

use super::document::{document, picture, pictures};
use super::explain::{self, SchemeTime, TimesPlot};
use super::markup::{escape, prose};
use super::paragraphs;
use super::plot::Plot;
use crate::fairness::fairness_note;
use crate::groups::{Group, groups};
use crate::labels::{bytes, count, half_width, micros, palette};
use crate::ranking::{Quantity, RankedScheme, Recovery, ranked_quantity, ranked_schemes};
use crate::verdict::{Verdict, answer};
use anabranch_results::{Estimate, Explanation, MissingRun, ResultSet, RunFailure};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// The results of one scenario of a league. It does not hold the rows of results, so that many scenarios fit in memory.
pub struct LeagueEntry {
    /// The scenario's name in commands and in the heading of its column.
    pub name: String,
    title: String,
    /// The size of the scenario's runs, as text.
    sizes: String,
    page: Option<String>,
    quantity: Quantity,
    verdict: Verdict,
    ground: Option<String>,
    /// The runs that failed or never ran.
    missing: Vec<String>,
    rows: Vec<Row>,
    /// The systems of papers, simulated with the settings of their own papers.
    own: Vec<OwnGround>,
    /// The name of the measure in the plot of times, and its rank correlation with the times.
    explained_by: Option<(String, Option<f64>)>,
    plots: Vec<Plot>,
}

/// A scheme in a scenario with the settings of its own paper.
struct OwnGround {
    scheme: String,
    setup: String,
    over_ideal: Option<Estimate>,
}

struct Row {
    scheme: String,
    standing: RankedScheme,
    /// The ranked quantity divided by its ideal: the mean over seeds with its confidence interval.
    over_ideal: Option<Estimate>,
    drops: f64,
    link_losses: f64,
    resent: f64,
    timeouts: f64,
    queue_p99: f64,
    peak_queue: f64,
}

impl LeagueEntry {
    /// The outcome of the scenario `name`, whose results are `set`. `sizes` describes the size of its runs and `page`
    /// is the link to its page. `explanation` names the measure against which the times are plotted.
    pub fn of(
        name: &str,
        set: &ResultSet,
        sizes: String,
        page: Option<String>,
        explanation: Option<&Explanation>,
    ) -> LeagueEntry {
        let groups = groups(set);
        let quantity = ranked_quantity(set);
        let rows = groups.iter().zip(ranked_schemes(set, &groups)).map(|(group, standing)| Row {
            scheme: group.scheme.to_owned(),
            over_ideal: over_ideal(group, quantity),
            drops: group.mean(|run| run.drops as f64),
            link_losses: group.mean(|run| run.link_losses as f64),
            resent: group.mean(|run| run.retransmissions as f64),
            timeouts: group.mean(|run| run.timeouts as f64),
            queue_p99: group.mean(|run| run.queue_p99_bytes as f64),
            peak_queue: group.mean(|run| run.peak_queue_bytes as f64),
            standing,
        });
        let rows: Vec<Row> = rows.collect();
        let timed: Vec<SchemeTime<'_>> = rows
            .iter()
            .filter(|row| !row.standing.is_untouched)
            .filter_map(|row| Some(SchemeTime { scheme: &row.scheme, over_ideal: row.over_ideal? }))
            .collect();
        let times_plot =
            explanation.and_then(|explanation| explain::times_plot(set, &timed, quantity, explanation));
        let explained_by = explanation
            .zip(times_plot.as_ref())
            .map(|(explanation, TimesPlot { correlation, .. })| (explanation.measure.clone(), *correlation));
        let plots = times_plot
            .map(|times_plot| times_plot.plot)
            .into_iter()
            .chain(explain::goodput(set, &timed))
            .collect();
        let missing = set.missing.iter().map(|run| format!("{}: {}", run.describe(), cause(run)));
        LeagueEntry {
            name: name.to_owned(),
            title: set.title.clone(),
            sizes,
            page,
            quantity,
            verdict: answer(set),
            ground: fairness_note(set),
            missing: missing.collect(),
            rows,
            own: Vec::new(),
            explained_by,
            plots,
        }
    }

    /// Adds the schemes of `set`, which holds the results of the scenario with the settings of the schemes' own papers.
    /// These settings have the name `setup`.
    pub fn add_own_ground(&mut self, setup: &str, set: &ResultSet) {
        let quantity = ranked_quantity(set);
        self.own.extend(groups(set).iter().map(|group| OwnGround {
            scheme: group.scheme.to_owned(),
            setup: setup.to_owned(),
            over_ideal: over_ideal(group, quantity),
        }));
        let missing = set.missing.iter();
        self.missing.extend(missing.map(|run| format!("{} on {setup}: {}", run.describe(), cause(run))));
    }

    fn row(&self, scheme: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.scheme == scheme)
    }

    /// The lowest ratio of time to ideal among the schemes that finished. If faults affected only some schemes, the
    /// others are left out.
    fn best(&self) -> Option<f64> {
        let all = self.rows.iter().filter(|row| !row.standing.is_untouched).filter_map(|row| row.over_ideal);
        all.map(|estimate| estimate.mean).reduce(f64::min)
    }

    /// The scheme's ratio of time to ideal, divided by [`Self::best`]. The result is none if the scheme was not run or
    /// did not finish, or if faults affected only other schemes.
    fn over_best(&self, scheme: &str) -> Option<f64> {
        let row = self.row(scheme).filter(|row| !row.standing.is_untouched)?;
        Some(row.over_ideal?.mean / self.best()?)
    }

    /// The first sentence of the answer, or `nothing finished` if there is none.
    pub fn answer(&self) -> &str {
        self.verdict.sentences.first().map_or("nothing finished", String::as_str)
    }

    /// The scenario as JSON, with a row for each scheme.
    pub fn json(&self) -> Json {
        let estimate = |estimate: Estimate| {
            let [low, high] = estimate.interval().map_or([None; 2], |interval| interval.map(Some));
            json!({ "mean": estimate.mean, "low": low, "high": high })
        };
        let rows = self.rows.iter().map(|row| {
            json!({
                "scheme": row.scheme,
                "rank": row.standing.rank,
                "rank_at_best": row.standing.rank.map(|_| row.standing.at_best),
                "value": row.standing.estimate.map(estimate),
                "over_ideal": row.over_ideal.map(estimate),
                "over_best": self.over_best(&row.scheme),
                "slowdown_by_fault": row.standing.slowdown_by_fault.map(estimate),
                "runs_unfinished": row.standing.unfinished[0],
                "seeds_unhit": row.standing.unhit[0],
                "drops": row.drops,
                "link_losses": row.link_losses,
                "retransmissions": row.resent,
                "timeouts": row.timeouts,
                "queue_p99_bytes": row.queue_p99,
                "peak_queue_bytes": row.peak_queue,
            })
        });
        let own = self.own.iter().map(|own| {
            json!({ "scheme": own.scheme, "setup": own.setup, "over_ideal": own.over_ideal.map(estimate) })
        });
        json!({
            "scenario": self.name,
            "title": self.title,
            "ranked_by": self.quantity.field,
            "verdict": self.verdict.lines(),
            "explained_by": self.explained_by.as_ref().map(|(measure, correlation)| {
                json!({ "measure": measure, "rank_correlation": correlation })
            }),
            "schemes": rows.collect::<Vec<_>>(),
            "own_ground": own.collect::<Vec<_>>(),
        })
    }
}

/// The ranked quantity divided by its ideal, computed for each seed. A slowdown is already such a ratio.
fn over_ideal(group: &Group<'_>, quantity: Quantity) -> Option<Estimate> {
    let ideal = match quantity.field {
        "cct_max_us" => Some("ideal_cct_max_us"),
        "fct_max_us" => Some("ideal_fct_max_us"),
        _ => None,
    };
    let of_runs = group.runs().map(|run| {
        let whole = run.flows > 0 && run.flows_finished == run.flows && run.jobs_finished == run.jobs;
        let number = run.number(quantity.field).filter(|_| whole)?;
        Some(number / ideal.map_or(Some(1.0), |ideal| run.number(ideal))?)
    });
    Estimate::of(&of_runs.collect::<Option<Vec<f64>>>()?)
}

/// The page. `bits` is the hardware state of each scheme in bits per queue pair. `heading` states the scale and the
/// program.
pub fn league(heading: &str, entries: &[LeagueEntry], bits: &BTreeMap<String, u64>) -> String {
    let mut schemes: Vec<&str> = Vec::new();
    for row in entries.iter().flat_map(|entry| &entry.rows) {
        if !schemes.contains(&row.scheme.as_str()) {
            schemes.push(&row.scheme);
        }
    }
    let shared = entries_of_all(entries, &schemes);
    // Schemes that ran in few scenarios come last. Among the others, schemes without a mean come last.
    schemes.sort_by(|one, other| {
        let mean = |scheme| mean_over_best(&shared, scheme).unwrap_or(f64::INFINITY);
        ran_in_few(entries, one).cmp(&ran_in_few(entries, other)).then(mean(one).total_cmp(&mean(other)))
    });
    let mut body = format!(
        "<header><p class=\"brand\">Anabranch</p><h1>The league: {} schemes in {} scenarios</h1><p class=\"sub\">{}</p></header>\n<main>\n",
        schemes.len(),
        entries.len(),
        escape(heading)
    );
    let missing: String = entries
        .iter()
        .flat_map(|entry| entry.missing.iter().map(move |run| (entry, run)))
        .map(|(entry, run)| format!("<li><b>{}</b>, {}</li>", escape(&entry.name), escape(run)))
        .collect();
    if !missing.is_empty() {
        body.push_str(&format!(
            "<section class=\"warnings\"><details><summary>Runs that failed: their schemes have no number in that \
             scenario</summary><ul>{missing}</ul></details></section>\n"
        ));
    }
    body.push_str(&map(entries, &schemes));
    body.push_str(&overview(entries, &shared, &schemes));
    body.push_str(&on_own_ground(entries));
    let mut plots: Vec<Plot> = state_plot(&shared, &schemes, bits).into_iter().collect();
    body.push_str(&pictures(&plots, 0));
    for entry in entries {
        body.push_str(&details(entry, plots.len()));
        plots.extend(entry.plots.iter().cloned());
    }
    body.push_str("</main>\n");
    document("Anabranch: the league", &body, &plots)
}

fn cause(run: &MissingRun) -> String {
    run.cause.as_ref().map_or_else(|| "never ran to its end".to_owned(), RunFailure::to_string)
}

fn is_first(entry: &LeagueEntry, scheme: &str) -> bool {
    entry.row(scheme).is_some_and(|row| row.standing.rank == Some(1))
}

/// The largest ratio of the scheme's time to the best time in any scenario, or none if the scheme has no such ratio.
fn worst(entries: &[LeagueEntry], scheme: &str) -> Option<f64> {
    entries.iter().filter_map(|entry| entry.over_best(scheme)).reduce(f64::max)
}

/// Whether a scheme ran in fewer than half of the scenarios.
fn ran_in_few(entries: &[LeagueEntry], scheme: &str) -> bool {
    2 * entries.iter().filter(|entry| entry.row(scheme).is_some()).count() < entries.len()
}

/// The scenarios in which every scheme ran, apart from the schemes that [ran in few](ran_in_few). Means over different
/// scenarios could not be compared.
fn entries_of_all<'a>(entries: &'a [LeagueEntry], schemes: &[&str]) -> Vec<&'a LeagueEntry> {
    let most: Vec<&str> = schemes.iter().copied().filter(|scheme| !ran_in_few(entries, scheme)).collect();
    entries.iter().filter(|entry| most.iter().all(|scheme| entry.row(scheme).is_some())).collect()
}

/// The geometric mean over scenarios of the scheme's time divided by the best time. None if there are no scenarios, or
/// if [`LeagueEntry::over_best`] gives no ratio for one of them.
fn mean_over_best(entries: &[&LeagueEntry], scheme: &str) -> Option<f64> {
    let over: Vec<f64> = entries.iter().map(|entry| entry.over_best(scheme)).collect::<Option<_>>()?;
    let sum: f64 = over.iter().map(|over| libm::log(*over)).sum();
    (!over.is_empty()).then(|| libm::exp(sum / over.len() as f64))
}

/// The upper limits of the shades of the map, as ratios to the best time.
const SHADES: [f64; 5] = [1.02, 1.1, 1.3, 2.0, 4.0];

/// The heat map of schemes and scenarios. The shade of a cell shows the ratio of the time to the best time in the
/// column.
fn map(entries: &[LeagueEntry], schemes: &[&str]) -> String {
    let name = |shade: usize| match SHADES.get(shade) {
        Some(bound) => format!("up to {bound}"),
        None => "more".to_owned(),
    };
    let legend: String = (0..=SHADES.len())
        .map(|shade| format!("<span class=\"h{shade}\"></span>{}", name(shade)))
        .collect::<Vec<_>>()
        .join(" ");
    let mut html = format!(
        "<section><h2>Heat map: how far from the best, where</h2><p class=\"note\">A row is a scheme, a column a scenario. A \
         cell is its time over that of the best scheme of the column: <span class=\"shades\">{legend}</span>. \
         &times;: a run did not finish; o: the faults hit no data of the scheme; empty: it was not asked. Rows follow the \
         order of the table below.</p>\
         <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Heat map\"><table class=\"map\" id=\"map\">\
         <caption>Time over that of the best scheme of the scenario</caption><thead><tr><th scope=\"col\">scheme</th>",
    );
    for entry in entries {
        let name = escape(&entry.name);
        html.push_str(&format!("<th scope=\"col\"><a href=\"#{name}\"><span>{name}</span></a></th>"));
    }
    html.push_str("</tr></thead><tbody>");
    for scheme in schemes {
        let cells: String = entries.iter().map(|entry| map_cell(entry, scheme)).collect();
        html.push_str(&format!("<tr><th scope=\"row\">{}</th>{cells}</tr>", escape(scheme)));
    }
    html + "</tbody></table></div></section>\n"
}

fn map_cell(entry: &LeagueEntry, scheme: &str) -> String {
    let Some(row) = entry.row(scheme) else { return "<td></td>".to_owned() };
    if row.standing.is_untouched {
        return "<td title=\"unhit\">o</td>".to_owned();
    }
    let Some(over) = entry.over_best(scheme) else {
        return "<td class=\"h5\" title=\"failed\">&times;</td>".to_owned();
    };
    let shown = if over < 9.95 { two(over) } else { format!("{over:.0}") };
    format!("<td class=\"h{}\" title=\"{shown}\"><span>{shown}</span></td>", shade(over))
}

/// The table of schemes and scenarios. Each cell shows the rank, and the ratio of the time to the ideal.
fn overview(entries: &[LeagueEntry], shared: &[&LeagueEntry], schemes: &[&str]) -> String {
    let mut html = format!(
        "<section><h2>Who is how fast where</h2><p class=\"note\">A cell is the time over the ideal one (the slowdown at \
         P99 where messages come at random): 1.00 is the slowest message, or the job, alone in the network. In brackets stands \
         the rank: 1 and how many schemes are faster by a paired t-test over the seeds, at 95 % and each pair by itself. Those \
         with one rank tie, different ranks do not say that two are told apart, and 1-3 means that the seeds \
         do not tell: none is faster, and all others but two are slower. The darker, the further from the best of the column. <i>failed</i>: a run did not finish; <i>unhit</i>: \
         the faults hit no data of the scheme; empty: it was not asked. <i>First in</i> counts scenarios with rank 1; \
         <i>over best</i> is the geometric mean of the times over those of the best scheme, over the {} of {} scenarios that \
         were asked of all schemes within a data centre (- where one has no number in one of these), <i>worst</i> the largest of them in any \
         scenario. A click on a head sorts.</p>\
         <div class=\"tools\"><button type=\"button\" id=\"save-csv\">Save as CSV</button></div>\
         <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"All schemes in all scenarios\">\
         <table class=\"numbers heat\" id=\"summary\"><caption>Time over the ideal, and rank</caption><thead><tr>\
         <th scope=\"col\" class=\"word\"><button type=\"button\">scheme</button></th>",
        shared.len(),
        entries.len(),
    );
    let heads =
        ["first in", "over best", "worst"].into_iter().chain(entries.iter().map(|entry| entry.name.as_str()));
    for head in heads {
        let shown = escape(head).replace('-', "-<wbr>");
        html.push_str(&format!("<th scope=\"col\"><button type=\"button\">{shown}</button></th>"));
    }
    html.push_str("</tr></thead><tbody>");
    for scheme in schemes {
        let first = entries.iter().filter(|entry| is_first(entry, scheme)).count();
        let of = entries.iter().filter(|entry| entry.row(scheme).is_some()).count();
        let [mean, worst] = [mean_over_best(shared, scheme), worst(entries, scheme)]
            .map(|number| number.map_or("-".to_owned(), two));
        html.push_str(&format!(
            "<tr><th scope=\"row\"><button type=\"button\">{}</button></th><td>{first} of {of}</td><td>{mean}</td><td>{worst}</td>",
            escape(scheme)
        ));
        for entry in entries {
            html.push_str(&cell(entry, scheme));
        }
        html.push_str("</tr>");
    }
    html + "</tbody></table></div></section>\n"
}

/// The table of the papers' systems. A cell has the result with the settings of the system's own paper, and in brackets
/// the result with the common settings.
fn on_own_ground(entries: &[LeagueEntry]) -> String {
    let mut systems: Vec<(&str, &str)> = Vec::new();
    for own in entries.iter().flat_map(|entry| &entry.own) {
        if !systems.contains(&(&own.scheme, &own.setup)) {
            systems.push((&own.scheme, &own.setup));
        }
    }
    if systems.is_empty() {
        return String::new();
    }
    let mut html = String::from(
        "<section><h2>On the ground of its own paper</h2><p class=\"note\">The same scenarios, where what a paper brings \
         stands on that paper's packets, buffers, marks and timers: the time over the ideal there, then in brackets that on \
         common ground, as above. No ranks: no two rows stand on one ground. Empty where the paper's RTO is below the round trip.</p>\
         <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"On the ground of its own paper\">\
         <table class=\"numbers\"><caption>Time over the ideal on a paper's ground (on common ground)</caption><thead><tr>\
         <th scope=\"col\" class=\"word\">scheme</th><th scope=\"col\" class=\"word\">setup</th>",
    );
    for entry in entries {
        let shown = escape(&entry.name).replace('-', "-<wbr>");
        html.push_str(&format!("<th scope=\"col\">{shown}</th>"));
    }
    html.push_str("</tr></thead><tbody>");
    for (scheme, setup) in systems {
        let (shown, on) = (escape(scheme), escape(setup));
        html.push_str(&format!("<tr><th scope=\"row\">{shown}</th><td class=\"word\">{on}</td>"));
        for entry in entries {
            let own = entry.own.iter().find(|own| own.scheme == scheme && own.setup == setup);
            let number = |estimate: Option<Estimate>| estimate.map_or("failed".to_owned(), |of| two(of.mean));
            let common = entry.row(scheme).map_or("-".to_owned(), |row| number(row.over_ideal));
            html.push_str(&match own {
                Some(own) => format!("<td>{} ({common})</td>", number(own.over_ideal)),
                None => "<td></td>".to_owned(),
            });
        }
        html.push_str("</tr>");
    }
    html + "</tbody></table></div></section>\n"
}

fn cell(entry: &LeagueEntry, scheme: &str) -> String {
    let Some(row) = entry.row(scheme) else { return "<td></td>".to_owned() };
    if row.standing.is_untouched {
        return "<td>unhit</td>".to_owned();
    }
    let Some(over_ideal) = row.over_ideal else { return "<td class=\"h5\">failed</td>".to_owned() };
    let rank = match row.standing.rank {
        Some(_) => format!(" ({})", row.standing.rank_shown()),
        None => String::new(),
    };
    let shade = entry.over_best(scheme).map_or(0, shade);
    format!("<td class=\"h{shade}\">{:.2}{rank}</td>", over_ideal.mean)
}

/// The number of the shade for a ratio to the best scheme, from 0 to 5.
fn shade(over_best: f64) -> usize {
    SHADES.iter().filter(|bound| over_best > **bound).count()
}

/// The section of a scenario. `before` is the number of pictures on the page before this section.
fn details(entry: &LeagueEntry, before: usize) -> String {
    let sentences = paragraphs(&entry.verdict);
    let ground =
        entry.ground.as_deref().map_or(String::new(), |ground| format!("<p><b>{}</b></p>", prose(ground)));
    let link = entry.page.as_deref().map_or(String::new(), |page| {
        format!("<p class=\"note\"><a href=\"{}\">All of its results</a></p>", escape(page))
    });
    let drawn = entry.plots.iter().zip(before..);
    let drawn: String = drawn.map(|(plot, number)| picture(plot, &plot.title, number)).collect();
    let mut html = format!(
        "<section id=\"{}\"><h2>{}</h2><p class=\"sub\">{}</p>{ground}{sentences}{link}{drawn}<details><summary>Table</summary>\
         <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table class=\"numbers\"><thead><tr>",
        escape(&entry.name),
        escape(&entry.title),
        escape(&entry.sizes),
        escape(&entry.title)
    );
    let unit = if entry.quantity.is_time { " µs" } else { "" };
    let ranked = format!("{}{unit}", entry.quantity.short);
    let heads = [
        "scheme",
        "rank",
        &ranked,
        "over ideal",
        "slowdown by fault",
        "recovers after µs",
        "drops",
        "link losses",
        "resent",
        "timeouts",
        "P99 queue",
        "peak queue",
    ];
    for (position, head) in heads.into_iter().enumerate() {
        let class = if position == 0 { " class=\"word\"" } else { "" };
        html.push_str(&format!("<th scope=\"col\"{class}>{}</th>", escape(head)));
    }
    html.push_str("</tr></thead><tbody>");
    let mut rows: Vec<&Row> = entry.rows.iter().collect();
    let value = |row: &Row| row.standing.estimate.map_or(f64::INFINITY, |estimate| estimate.mean);
    rows.sort_by(|one, other| value(one).total_cmp(&value(other)));
    for row in rows {
        let cells: String =
            detail_cells(entry, row).iter().map(|cell| format!("<td>{}</td>", escape(cell))).collect();
        html.push_str(&format!("<tr><th scope=\"row\">{}</th>{cells}</tr>", escape(&row.scheme)));
    }
    html + "</tbody></table></div></details></section>\n"
}

/// The cells of a scheme in the section of a scenario, after the cell with its name.
fn detail_cells(entry: &LeagueEntry, row: &Row) -> [String; 11] {
    let digits = |value: f64| match entry.quantity.is_time {
        true => micros(value),
        false => format!("{value:.2}"),
    };
    let recovery = match row.standing.recovery {
        Recovery::Unknown => "-".to_owned(),
        Recovery::NoDip => "no dip".to_owned(),
        Recovery::After { time, .. } => with_half(time, micros),
        Recovery::NotBefore { the_end_at, of, is_held } => {
            let word = if is_held { "run ended" } else { "not by end" };
            format!("{word} ({the_end_at} of {of})")
        }
    };
    [
        row.standing.rank_shown(),
        row.standing.estimate.map_or("failed".to_owned(), |estimate| with_half(estimate, digits)),
        row.over_ideal.map_or("-".to_owned(), |estimate| with_half(estimate, two)),
        row.standing.slowdown_by_fault.map_or("-".to_owned(), |estimate| with_half(estimate, two)),
        recovery,
        count(row.drops),
        count(row.link_losses),
        count(row.resent),
        count(row.timeouts),
        bytes(row.queue_p99),
        bytes(row.peak_queue),
    ]
}

fn two(value: f64) -> String {
    format!("{value:.2}")
}

fn with_half(estimate: Estimate, shown: impl Fn(f64) -> String) -> String {
    let half = estimate.half_width.map_or(String::new(), |half| format!(" ±{}", half_width(half)));
    shown(estimate.mean) + &half
}

/// The plot of hardware state against time. For each scheme it shows the bits of state and the geometric mean over
/// scenarios of the ratio of its time to the best time.
fn state_plot(entries: &[&LeagueEntry], schemes: &[&str], bits: &BTreeMap<String, u64>) -> Option<Plot> {
    let mut data = Vec::new();
    let mut left_out = Vec::new();
    for (position, scheme) in schemes.iter().enumerate() {
        let (Some(bits), Some(mean)) = (bits.get(*scheme), mean_over_best(entries, scheme)) else {
            left_out.push(*scheme);
            continue;
        };
        data.push(json!({
            "kind": "both", "name": scheme, "scheme": scheme, "x": [(*bits).max(1)], "y": [mean],
            "line": {"color": palette(position), "width": 3},
        }));
    }
    if data.is_empty() {
        return None;
    }
    let mut note = "Each point is a scheme. Upwards: its time over that of the best scheme of a scenario, the geometric mean \
                    over the scenarios that were asked of all schemes within a data centre (1: always the best). To the right: what its balancer keeps \
                    in the NIC, its transport of packets in flight (128: a BDP of 400 Gb/s and 10 us in packets of 4 KiB), and \
                    its program in a switch, in bits per queue pair. Cumulative PSNs, one timer and congestion control, which \
                    all have, are left out, and none is drawn as one bit."
        .to_owned();
    if !left_out.is_empty() {
        note.push_str(&format!(
            " Left out, as they have no number in one of these: {}.",
            left_out.join(", ")
        ));
    }
    let layout = json!({
        "x": {"title": "State (bits per queue pair)", "log": true},
        "panels": [{"y": {"title": "Time over the best, mean", "log": true}}],
    });
    let title = "State in hardware against time".to_owned();
    Some(Plot { title: title.clone(), note, whole: title, part: String::new(), data, layout })
}
