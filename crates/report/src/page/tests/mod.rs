//! Tests of pages.

use super::document::{UPLOT, UPLOT_LICENCE, UPLOT_STYLE};
use super::markup::prose;
use super::plot::Plot;
use super::*;
use crate::samples::{collectives, figure, two_schemes};
use anabranch_results::{
    ClaimKind, ClaimResult, ClaimRow, ClaimSpec, ClaimValue, FlowRow, Outcome, PlotKind, PlotSpec, RunRow,
    SeriesRow, Value,
};
use anabranch_results::{
    DATA_PACKETS_HIT, Explanation, FaultRow, GOODPUT, SearchAnswer, SearchMeasure, Trial,
};
use serde_json::json;
use std::collections::BTreeMap;

/// The page without uPlot's own script, which these tests do not cover.
fn own_part(set: &ResultSet) -> String {
    let page = page_of(set);
    assert!(page.contains(UPLOT) && page.contains(UPLOT_LICENCE), "uPlot is in the page, with its licence");
    page.replace(UPLOT, "")
}

fn page_of(set: &ResultSet) -> String {
    html(set, &Provenance::default())
}

fn plots_of(set: &ResultSet) -> Vec<Plot> {
    plots::of(&Index::new(set))
}

/// Results with 60,000 queue-delay points for each of two runs, over 300 links.
fn delays() -> ResultSet {
    let mut set = collectives();
    for run in 0..2 {
        set.series.extend((0..60_000_u32).map(|number| SeriesRow {
            run,
            series: "queue_delay_us".into(),
            entity: format!("tor:{}/up:{}", number % 300 / 4, number % 4),
            time_ps: u64::from(number / 300) * 1_000_000,
            value: f64::from(number % 300) / f64::from(1 + number / 3_000) * f64::from(run + 1) / 10.0,
        }));
    }
    set
}

fn with_figure() -> ResultSet {
    let plot = |kind, y: &str| PlotSpec {
        x: matches!(kind, PlotKind::Bar | PlotKind::Line).then(|| "workload.bytes".into()),
        entity: (kind == PlotKind::Series).then(|| "tor:0/up".into()),
        log_y: true,
        ..PlotSpec::new(kind, format!("A plot of {y}"), y)
    };
    let mut set = two_schemes();
    set.figure = Some(Figure {
        plots: vec![
            plot(PlotKind::Series, "queue_depth_bytes"),
            plot(PlotKind::Bar, "fct_max_us"),
            plot(PlotKind::Line, "mean_max_queue"),
            plot(PlotKind::Cdf, "slowdown"),
            plot(PlotKind::SlowdownBySize, "p99"),
        ],
        claims: vec![ClaimRow {
            says: "REPS & OPS".into(),
            source: "section 4".into(),
            kind: ClaimKind::Ratio,
            paper: ClaimValue::Number(1.25),
            order: vec![],
            measure: "fct_max(ops) < 1".into(),
            result: ClaimResult::Evaluated {
                measured: ClaimValue::Number(1.1),
                outcome: Outcome::DirectionOnly,
            },
            spread: None,
            why: Some("buffers < ours".into()),
        }],
        ..figure("quick")
    });
    set
}

#[test]
fn the_page_loads_nothing_from_anywhere() {
    for set in [two_schemes(), with_figure(), ResultSet::default()] {
        let page = own_part(&set);
        for load in ["src=", "href=", "url(", "@import", "http:", "https:", "fetch("] {
            assert!(!page.contains(load), "the page contains {load}");
        }
    }
}

#[test]
fn text_cannot_become_markup() {
    let page = own_part(&with_figure());
    assert!(page.contains("Two &lt;schemes&gt;") && !page.contains("<schemes>"));
    assert!(page.contains("&lt;/script&gt;&lt;b&gt;"));
    assert!(page.contains("REPS &amp; OPS") && page.contains("a &lt; b"));
    let mut set = two_schemes();
    set.runs[0].scheme = "</script><script>alert(1)</script>".into();
    assert!(!own_part(&set).contains("<script>alert"));
}

#[test]
fn every_axis_has_a_title_with_a_unit_and_every_curve_a_name() {
    for set in [two_schemes(), with_figure()] {
        let plots = plots_of(&set);
        assert!(plots.len() >= 5);
        for plot in plots {
            assert!(!plot.data.is_empty(), "{}", plot.title);
            for curve in &plot.data {
                assert!(curve["name"].as_str().is_some_and(|name| !name.is_empty()), "{}", plot.title);
            }
            let heights = plot.layout["panels"].as_array().unwrap().iter().map(|panel| &panel["y"]);
            for axis in heights.chain([&plot.layout["x"]]) {
                let title = axis["title"].as_str().unwrap_or_default();
                let named = title.ends_with(')') || title == "workload.bytes";
                assert!(named, "{}: an axis is called {title:?}", plot.title);
            }
        }
    }
}

#[test]
fn the_claim_stands_beside_what_was_measured() {
    let mut set = with_figure();
    let page = own_part(&set);
    assert!(page.contains(
        "<td class=\"big\" data-head=\"paper\">1.25</td><td class=\"big\" data-head=\"measured\">1.1</td>"
    ));
    assert!(page.contains("<span class=\"chip none\">not judged</span>"));
    assert!(page.contains("<p class=\"why\">At paper scale, if none is named: buffers &lt; ours</p>"));
    assert!(page.contains("The quick scale shows what is measured and judges nothing."));
    set.figure.as_mut().unwrap().scale = "paper".into();
    let page = own_part(&set);
    assert!(page.contains("<span class=\"chip fair\">direction-only</span>"));
    assert!(!page.contains("judges nothing"));
}

#[test]
fn the_rule_stands_below_the_claims() {
    let page = own_part(&with_figure());
    for (name, rule) in crate::claims::RULE {
        assert!(page.contains(&format!("<dt>{name}</dt><dd>{}</dd>", escape(rule))), "{name}");
    }
    assert!(!own_part(&two_schemes()).contains("The rule by which"), "without claims there is no rule");
}

#[test]
fn a_quick_page_says_what_was_run_and_what_is_of_the_paper_scale() {
    let mut set = with_figure();
    let quick = own_part(&set);
    assert!(quick.contains("quick scale: 128 hosts &lt; 1024. The title, the findings"), "{quick}");
    assert!(quick.contains("does not say. They are those of the paper scale.</p>"));
    set.figure.as_mut().unwrap().scale = "paper".into();
    let paper = own_part(&set);
    assert!(paper.contains("paper scale: 128 hosts &lt; 1024.</p>"));
    assert!(paper.contains("<p class=\"why\">buffers &lt; ours</p>"));
    assert!(!paper.contains("of the paper scale") && !paper.contains("At paper scale"));
}

#[test]
fn what_was_varied_stands_below_the_claims() {
    let mut set = two_schemes();
    set.figure = Some(crate::samples::varied());
    let page = own_part(&set);
    assert!(
        page.contains("<dt>payload <code>*.payload</code></dt><dd>4096B | 1000B<p class=\"note\">"),
        "{page}"
    );
    assert!(page.contains("no payload &amp; &lt;so&gt;") && !page.contains("<so>"));
    for cell in [
        "<td data-head=\"span\">1.1 to 1.3</td><td data-head=\"holds under\">2 of 4</td>",
        "<td data-head=\"span\">false to true</td><td data-head=\"holds under\">2 of 4</td>",
        "<td data-head=\"set-up\">payload: 1000B; queue: 2MB</td><td data-head=\"claims that hold\">0 of 2</td>",
    ] {
        assert!(page.contains(cell), "no {cell} in {page}");
    }
    assert!(page.contains("Most claims hold together, 2 of 2, under queue: 2MB."));
    assert!(!own_part(&with_figure()).contains("leaves unsaid"));
}

#[test]
fn a_long_formula_is_folded() {
    let mut set = with_figure();
    assert!(own_part(&set).contains("<p class=\"note\">section 4 · <code>fct_max(ops) &lt; 1</code></p>"));
    let long = ["fct_max(ops)"; 40].join(" + ");
    set.figure.as_mut().unwrap().claims[0].measure.clone_from(&long);
    let folded = format!("<details><summary>formula</summary><code>{long}</code></details>");
    assert!(own_part(&set).contains(&folded));
}

#[test]
fn backticks_are_code_and_a_stray_one_is_itself() {
    assert_eq!(prose("set `a < b` here"), "set <code>a &lt; b</code> here");
    assert_eq!(prose("5` long"), "5` long");
    let mut set = with_figure();
    set.figure.as_mut().unwrap().assumptions = vec!["the paper gives no `rto`".into()];
    assert!(own_part(&set).contains("<li>the paper gives no <code>rto</code></li>"));
}

#[test]
fn a_plot_has_its_numbers_in_words() {
    let page = own_part(&two_schemes());
    let tables = page.matches("<details class=\"values\">").count();
    assert_eq!(tables, plots_of(&two_schemes()).len());
    assert!(
        page.contains("<th scope=\"row\">reps</th><td>8MiB</td><td>100</td><td>95</td><td>105</td>"),
        "{page}"
    );
}

#[test]
fn the_pictures_of_one_plot_stand_together_on_the_same_axes() {
    let plots = plots_of(&with_figure());
    let queue: Vec<&Plot> = plots.iter().filter(|plot| plot.title.contains("queue_depth_bytes")).collect();
    assert_eq!(queue.len(), 2);
    assert_eq!(queue[0].layout["panels"][0]["y"], queue[1].layout["panels"][0]["y"]);
    let page = own_part(&with_figure());
    assert!(page.contains(
        "<h2>A plot of queue_depth_bytes</h2><div class=\"multiples\"><figure><h3>workload.bytes = 8MiB</h3>"
    ));
}

#[test]
fn the_library_is_what_its_note_says() {
    let note = include_str!("../../../assets/uplot/README.md");
    for (name, text) in
        [("uPlot.iife.min.js", UPLOT), ("uPlot.min.css", UPLOT_STYLE), ("LICENSE", UPLOT_LICENCE)]
    {
        let sum = blake3::hash(text.as_bytes()).to_hex();
        let is_noted =
            note.lines().any(|row| row.starts_with(&format!("| `{name}` |")) && row.contains(sum.as_str()));
        assert!(is_noted, "{name}: {sum} is not in assets/uplot/README.md");
    }
}

#[test]
fn a_page_is_small() {
    let page = page_of(&delays());
    assert!(page.len() < 1_500_000, "{}", page.len());
}

#[test]
fn jobs_have_a_distribution_and_missing_messages_are_said() {
    let mut set = collectives();
    let usual = plots_of(&set);
    let [jobs] = &usual[..] else { panic!("{} plots", usual.len()) };
    assert_eq!(jobs.data[0]["x"], json!([100.0, 100.0, 110.0, 120.0]));
    assert_eq!(jobs.data[0]["y"][0], 0.0, "from the ground up");
    assert_eq!(jobs.data[1]["name"], "rocev2");
    assert_eq!(jobs.layout["panels"][0]["y"]["title"], "Share of jobs (%)");
    set.jobs[5].cct_ps = None;
    assert!(plots_of(&set)[0].note.contains("1 jobs did not finish"));
    let plots = vec![
        PlotSpec::new(PlotKind::Cdf, "T", "fct_us"),
        PlotSpec::new(PlotKind::SlowdownBySize, "T", "p99"),
    ];
    set.figure = Some(Figure { plots, ..with_figure().figure.unwrap() });
    let plots = plots_of(&set);
    assert!(plots[0].note.contains("the results hold no flows of it: strack; rocev2"), "{}", plots[0].note);
    assert!(plots[1].note.contains("hold no messages one by one"), "{}", plots[1].note);
}

#[test]
fn a_sweep_over_jobs_opens_with_their_times() {
    let mut set = collectives();
    for (run, connections) in set.runs.iter_mut().zip([1, 2]) {
        run.sweep.insert("workload.connections".into(), Value::Integer(connections));
    }
    let titles =
        |set: &ResultSet| -> Vec<String> { plots_of(set).into_iter().map(|plot| plot.title).collect() };
    assert_eq!(titles(&set)[0], "Largest CCT against workload.connections");
    assert!(!titles(&set).iter().any(|title| title.contains("FCT")), "{:?}", titles(&set));
    assert_eq!(titles(&two_schemes())[0], "Largest FCT against workload.bytes");
}

#[test]
fn a_scheme_whose_jobs_did_not_finish_is_named_and_not_drawn() {
    let mut set = collectives();
    set.jobs.iter_mut().filter(|job| job.run == 1).for_each(|job| job.cct_ps = None);
    (set.runs[1].jobs_finished, set.runs[1].cct_max_us, set.runs[1].flows_finished) = (0, 0.0, 9);
    let cdf = plots_of(&set).remove(0);
    assert_eq!(cdf.data.len(), 1);
    assert!(cdf.note.contains("Not drawn, as none of its jobs finished: rocev2."), "{}", cdf.note);
    assert!(!cdf.note.contains("below 100 %"), "{}", cdf.note);
    let spec = |x: Option<&str>, y: &str| PlotSpec {
        x: x.map(str::to_owned),
        ..PlotSpec::new(if x.is_some() { PlotKind::Line } else { PlotKind::Bar }, "T", y)
    };
    let drawn = |set: &ResultSet, spec: PlotSpec| {
        let figure = Some(Figure { plots: vec![spec], ..figure("paper") });
        plots_of(&ResultSet { figure, ..set.clone() }).remove(0)
    };
    let bars = drawn(&set, spec(None, "cct_max_us"));
    assert_eq!(bars.data[0]["x"], json!(["strack"]));
    assert_eq!(bars.note, "Not drawn, as jobs did not finish: rocev2.");
    let bars = drawn(&set, spec(None, "completion_us"));
    assert_eq!(bars.note, "Not drawn, as messages did not finish: rocev2.");
    let bars = drawn(&set, spec(None, "fct_max_us"));
    assert_eq!(bars.data[0]["x"], json!(["strack", "rocev2"]));
    assert_eq!(bars.note, "Only of the messages that finished: rocev2.");
    let bars = drawn(&set, spec(None, "rounds"));
    assert_eq!(bars.note, "Not drawn, as there is no such number: strack; rocev2.");
    // A second seed that finished does not replace the one that did not. The other points are drawn.
    set.runs.push(RunRow { seed: 2, ..set.runs[1].clone() });
    set.runs.push(set.runs[1].clone());
    for (run, load) in set.runs.iter_mut().zip([1, 1, 1, 2]) {
        run.sweep.insert("load".into(), Value::Integer(load));
    }
    set.runs[2].jobs_finished = 3;
    set.runs[3].jobs_finished = 3;
    let line = drawn(&set, spec(Some("load"), "cct_max_us"));
    assert_eq!((&line.data[0]["x"], &line.data[1]["x"]), (&json!([1]), &json!([2])));
    assert!(line.note.ends_with("Not drawn, as jobs did not finish: rocev2 at 1."), "{}", line.note);
}

mod league;
mod plotting;
