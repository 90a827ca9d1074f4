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

/// The page without uPlot's own script, which is not tested here.
fn own_part(set: &ResultSet) -> String {
    let page = page_of(set);
    assert!(page.contains(UPLOT) && page.contains(UPLOT_LICENCE), "uPlot is in the page, with its licence");
    page.replace(UPLOT, "")
}

fn page_of(set: &ResultSet) -> String {
    html(set, &Provenance::default())
}

/// The plots of a set.
fn plots_of(set: &ResultSet) -> Vec<Plot> {
    plots::of(&Index::new(set))
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
    assert!(page.contains("<p class=\"why\">At paper scale: buffers &lt; ours</p>"));
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

/// Titles of the pictures with the names of their curves.
fn drawn(spec: PlotSpec) -> Vec<(String, Vec<String>)> {
    let mut set = with_figure();
    set.figure.as_mut().unwrap().plots = vec![spec];
    let names =
        |plot: &Plot| plot.data.iter().map(|curve| curve["name"].as_str().unwrap().to_owned()).collect();
    plots_of(&set).iter().map(|plot| (plot.title.clone(), names(plot))).collect()
}

#[test]
fn per_says_what_has_a_curve_of_its_own() {
    let spec = |kind, y: &str, per: &[&str]| PlotSpec {
        per: per.iter().map(|&name| name.to_owned()).collect(),
        ..PlotSpec::new(kind, "T", y)
    };
    let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    let queue = "queue_depth_bytes";
    // A dimension that is not named has a picture per value.
    let usual = drawn(spec(PlotKind::Series, queue, &[]));
    assert_eq!(usual.len(), 2);
    assert_eq!(usual[0].0, "T (workload.bytes = 8MiB)");
    assert_eq!(usual[0].1, texts(&["tor:0/up:0", "tor:0/up:1", "tor:1/up:0"].repeat(2)));
    let entities = drawn(PlotSpec { schemes: texts(&["ops"]), ..spec(PlotKind::Series, queue, &["entity"]) });
    assert_eq!(entities[1].1, texts(&["tor:0/up:0", "tor:0/up:1", "tor:1/up:0"]));
    assert_eq!(drawn(spec(PlotKind::Series, queue, &["entity"])).len(), 4);
    let schemes = drawn(spec(PlotKind::Series, queue, &["scheme"]));
    assert_eq!(schemes[0], ("T (workload.bytes = 8MiB)".to_owned(), texts(&["ops", "reps"])));
    let points = drawn(spec(PlotKind::Series, queue, &["workload.bytes"]));
    let of_reps = texts(&["workload.bytes = 16MiB", "workload.bytes = 8MiB"]);
    assert_eq!(points[0], ("T (reps)".to_owned(), of_reps));

    let seeds = drawn(spec(PlotKind::Cdf, "fct_us", &["scheme", "seed"]));
    let ideal = "ideal (alone in the network)";
    assert_eq!(seeds[1].1, texts(&["reps, seed 1", "reps, seed 2", "ops, seed 1", "ops, seed 2", ideal]));
    let all = drawn(spec(PlotKind::Cdf, "slowdown", &["scheme", "workload.bytes"]));
    assert_eq!((all.len(), all[0].1.len(), all[0].0.as_str()), (1, 4, "T"));

    let bars = drawn(spec(PlotKind::Bar, "fct_max_us", &[]));
    assert_eq!(bars, [("T".to_owned(), texts(&["workload.bytes = 8MiB", "workload.bytes = 16MiB"]))]);
    let line = PlotSpec { x: Some("workload.bytes".into()), ..spec(PlotKind::Line, "fct_max_us", &[]) };
    assert_eq!(drawn(line), [("T".to_owned(), texts(&["reps", "ops"]))]);
}

#[test]
fn a_series_without_entities_is_their_mean() {
    let mut set = with_figure();
    let mean = PlotSpec {
        per: vec!["scheme".into()],
        entity: Some("tor:0/up".into()),
        ..PlotSpec::new(PlotKind::Series, "T", "queue_depth_packets")
    };
    set.series.iter_mut().for_each(|row| row.series = "queue_depth_packets".into());
    set.figure.as_mut().unwrap().plots = vec![mean];
    assert_eq!(plots_of(&set)[0].data[0]["y"], json!([151.0, 152.0, 153.0, 154.0]));
}

/// Points of two schemes at many links.
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

#[test]
fn points_are_one_cloud_a_scheme_and_thinned() {
    let mut set = delays();
    let page = own_part(&set);
    assert!(page.len() < 1_500_000, "{}", page.len());
    let spec = |per: &[&str], entity: Option<&str>| PlotSpec {
        per: per.iter().map(|&name| name.to_owned()).collect(),
        entity: entity.map(str::to_owned),
        ..PlotSpec::new(PlotKind::Points, "T", "queue_delay_us")
    };
    let mut drawn = |spec| {
        let figure = with_figure().figure.unwrap();
        set.figure = Some(Figure { plots: vec![spec], ..figure });
        plots_of(&set)
    };
    let asked = drawn(spec(&["scheme"], None)).remove(0);
    let [strack, rocev2] = &asked.data[..] else { panic!("{} traces", asked.data.len()) };
    assert_eq!((strack["name"].as_str(), rocev2["name"].as_str()), (Some("strack"), Some("rocev2")));
    assert_eq!((strack["kind"].as_str(), rocev2["panel"].as_u64()), (Some("points"), Some(1)));
    let y: Vec<f64> = rocev2["y"].as_array().unwrap().iter().map(|y| y.as_f64().unwrap()).collect();
    assert!(y.len() <= 20_000 && y.len() > 8_000, "{}", y.len());
    assert_eq!(y.iter().copied().fold(0.0, f64::max), 59.8);
    assert!(asked.note.contains("of 120,000 points are drawn"), "{}", asked.note);
    let few = drawn(spec(&["entity"], Some("tor:3")));
    assert_eq!((few.len(), few[0].data.len()), (2, 4));
    assert!(!few[0].note.contains("points are drawn"), "{}", few[0].note);
    assert_eq!(few[0].layout["legend"], "link");
}

#[test]
fn many_links_are_a_band_and_a_map() {
    let set = delays();
    let plots = plots_of(&set);
    let [together, each] =
        &plots.iter().filter(|plot| plot.title.contains("Queue delay")).collect::<Vec<_>>()[..]
    else {
        panic!("{:?}", plots.iter().map(|plot| &plot.title).collect::<Vec<_>>())
    };
    let kinds: Vec<&str> = together.data.iter().map(|trace| trace["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["band", "line", "line"].repeat(2));
    assert_eq!((each.data.len(), &each.data[0]["kind"]), (2, &json!("heat")));
    assert!(together.note.contains("300 places"), "{}", together.note);
    // Few links are curves.
    let mut few = set.clone();
    few.series.retain(|row| row.entity.starts_with("tor:3/"));
    let plots = plots_of(&few);
    let plot = plots.iter().find(|plot| plot.title.contains("Queue delay")).unwrap();
    assert_eq!((plot.data.len(), &plot.data[0]["kind"]), (8, &json!("line")));
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
    let note = include_str!("../../assets/uplot/README.md");
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
    // A second seed that finished does not replace the first, and other points are drawn.
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

#[test]
fn many_curves_differ_in_colour_or_dash() {
    let mut set = two_schemes();
    set.runs.truncate(1);
    set.flows.clear();
    let row = SeriesRow { run: 0, ..set.series[0].clone() };
    set.series =
        (0..16).map(|port| SeriesRow { entity: format!("tor:0/up:{port}"), ..row.clone() }).collect();
    let plots = plots_of(&set);
    let looks: std::collections::BTreeSet<String> =
        plots[0].data.iter().map(|curve| curve["line"].to_string()).collect();
    assert_eq!((plots.len(), looks.len()), (1, 16));
    assert_eq!(plots[0].layout["legend"], "link");
}

#[test]
fn a_large_run_stays_small_and_keeps_its_largest_fct() {
    let mut set = two_schemes();
    let flow = set.flows[0].clone();
    let fct_ps = |number: u64| Some(1_000_000 + number * 1_000);
    set.flows = (0..100_000)
        .map(|number| FlowRow { flow: number, fct_ps: fct_ps(u64::from(number)), ..flow.clone() })
        .collect();
    let cdf = plots_of(&set).into_iter().find(|plot| plot.title.contains("Distribution")).unwrap();
    let x = cdf.data[0]["x"].as_array().unwrap();
    assert!(x.len() <= plots::MAX_POINTS && x.len() > 1_000, "{}", x.len());
    assert_eq!(x.last().unwrap().as_f64(), Some(1.0 + 99.999));
}

/// A million messages and as many points: scanning all of them for each run and claim would take minutes.
#[test]
fn a_page_of_many_runs_looks_at_each_row_once() {
    let small = two_schemes();
    let mut set = ResultSet::default();
    for run in 0..500_u32 {
        set.runs.push(RunRow { seed: u64::from(run), ..small.runs[0].clone() });
        set.flows.extend((0..2_000).map(|flow| FlowRow { run, flow, ..small.flows[0].clone() }));
        let point = |step: u32| SeriesRow {
            run,
            entity: format!("tor:0/up:{}", step % 16),
            time_ps: u64::from(step / 16),
            ..small.series[0].clone()
        };
        set.series.extend((0..2_000).map(point));
    }
    let claim = ClaimSpec {
        says: "s".into(),
        source: "s".into(),
        kind: ClaimKind::Order,
        paper: None,
        order: vec![],
        measure: "0 < fct(reps, mean) + (max over seed: series_max(reps, queue_depth_bytes))".into(),
        why: None,
    };
    let claims = crate::claims::judge(&vec![claim; 20], &set).unwrap();
    assert!(matches!(claims[19].result, ClaimResult::Evaluated { outcome: Outcome::Holds, .. }));
    let spec = PlotSpec { per: vec!["seed".into()], ..PlotSpec::new(PlotKind::Cdf, "T", "fct_us") };
    let figure = with_figure().figure.unwrap();
    set.figure = Some(Figure { claims, plots: vec![spec], ..figure });
    assert_eq!(plots_of(&set)[0].data.len(), 501);
}

fn of_messages(spec: PlotSpec, set: &ResultSet) -> plots::Plot {
    let figure = with_figure().figure.unwrap();
    let set = ResultSet { figure: Some(Figure { plots: vec![spec], ..figure }), ..set.clone() };
    plots_of(&set).remove(0)
}

#[test]
fn clouds_and_distributions_show_the_messages_that_they_are_about() {
    let mut set = two_schemes();
    set.runs.truncate(1);
    let flow = set.flows[0].clone();
    let row = |number: u32, group: &'static str, retransmissions| FlowRow {
        flow: number,
        bytes: 1000 * (1 + u64::from(number)),
        group: group.into(),
        packets: 4,
        retransmissions,
        ..flow.clone()
    };
    set.flows = vec![
        row(0, "background", Some(0)),
        row(1, "background", Some(3)),
        row(2, "background", None),
        row(3, "incast", Some(8)),
    ];
    let share = |kind| PlotSpec::new(kind, "T", "retransmitted_share");
    let plot = of_messages(share(PlotKind::Flows), &set);
    assert_eq!(
        (&plot.data[0]["x"], &plot.data[0]["y"]),
        (&json!([1000, 2000, 4000]), &json!([0.0, 75.0, 200.0]))
    );
    assert_eq!(plot.layout["x"]["log"], true);
    assert!(plot.note.contains("Not drawn are 1 that do not tell what they sent again."), "{}", plot.note);
    let background = PlotSpec { group: Some("background".into()), ..share(PlotKind::Flows) };
    let plot = of_messages(PlotSpec { min_bytes: Some(1001), max_bytes: Some(2000), ..background }, &set);
    assert_eq!(plot.data[0]["x"], json!([2000]));
    assert!(plot.note.contains("of the group background, of 1,001 to 2,000 B."), "{}", plot.note);
    let plot = of_messages(PlotSpec { max_bytes: Some(2000), ..share(PlotKind::Cdf) }, &set);
    assert_eq!(
        (&plot.data[0]["x"], &plot.data[0]["y"]),
        (&json!([0.0, 0.0, 75.0]), &json!([0.0, 50.0, 100.0]))
    );
    let incast =
        PlotSpec { group: Some("incast".into()), ..PlotSpec::new(PlotKind::SlowdownBySize, "T", "max") };
    assert_eq!(of_messages(incast, &set).data[0]["x"], json!([4000]));
    for (row, side) in set.flows.iter_mut().zip(["intra", "inter", "intra", "inter"]) {
        row.group = format!("{}/{side}", row.group).into();
    }
    for (group, lengths) in
        [("inter", &[2000, 4000][..]), ("background", &[1000, 2000]), ("incast/intra", &[])]
    {
        let spec = PlotSpec { group: Some(group.into()), ..share(PlotKind::Flows) };
        let plot = of_messages(spec, &set);
        let drawn = plot.data.first().map_or(json!([]), |data| data["x"].clone());
        assert_eq!(drawn, json!(lengths), "{group}");
    }
    let none = PlotSpec { min_bytes: Some(9_000), ..share(PlotKind::Flows) };
    assert!(of_messages(none, &set).note.contains("hold no such messages"));
}

#[test]
fn a_cloud_of_many_messages_is_thinned() {
    let mut set = two_schemes();
    let flow = set.flows[0].clone();
    set.flows = (0..100_000).map(|number| FlowRow { flow: number, ..flow.clone() }).collect();
    let plot = of_messages(PlotSpec::new(PlotKind::Flows, "T", "slowdown"), &set);
    let drawn: usize = plot.data.iter().map(|curve| curve["x"].as_array().unwrap().len()).sum();
    assert!((9_000..=20_000).contains(&drawn), "{drawn}");
    assert!(plot.note.contains("Of 100,000 of them"), "{}", plot.note);
}

#[test]
fn bars_tell_of_their_whiskers_and_stand_on_a_power_of_ten() {
    let set = with_figure();
    let bars =
        |set: &ResultSet| plots_of(set).into_iter().find(|plot| plot.data[0]["kind"] == "bar").unwrap();
    let both = bars(&set);
    assert_eq!(
        both.note,
        "Mean over the seeds; the whiskers are the least and the largest, not the 95 % interval of ±."
    );
    // The shortest bar is 100 us high, the longest whisker ends at 405.
    assert_eq!(both.layout["panels"][0]["y"]["range"], json!([10.0, 405.0 * 1.25]));
    let mut one = set.clone();
    one.runs.retain(|run| run.seed == 1);
    (one.flows, one.series) = (Vec::new(), Vec::new());
    assert_eq!(bars(&one).note, "");
}

#[test]
fn goodput_stands_beside_that_without_faults() {
    let mut set = two_schemes();
    set.runs = set.runs.into_iter().filter(|run| run.seed == 1).take(1).collect();
    set.runs.push(RunRow { baseline: true, ..set.runs[0].clone() });
    let row = |run: u32, value| SeriesRow {
        run,
        series: GOODPUT.into(),
        entity: anabranch_results::ALL_HOSTS.into(),
        time_ps: 25_000_000,
        value,
    };
    set.series = vec![row(0, 100.0), row(1, 300.0)];
    let plot = plots_of(&set).into_iter().find(|plot| plot.whole.starts_with("Goodput")).unwrap();
    let curves: Vec<_> = plot.data.iter().map(|curve| (&curve["name"], &curve["line"]["dash"])).collect();
    assert_eq!(curves, [(&json!("reps without faults"), &json!("dash")), (&json!("reps"), &json!("solid"))]);
    assert_eq!(plot.layout["panels"][0]["y"]["range"], json!([0.0, 315.0]));
    assert!(plot.note.contains("Dashed: the same run without the faults"), "{}", plot.note);
}

#[test]
fn words_are_not_joined_by_a_line() {
    let mut set = two_schemes();
    let spec =
        PlotSpec { x: Some("workload.bytes".into()), ..PlotSpec::new(PlotKind::Line, "T", "fct_max_us") };
    let kind =
        |set: &ResultSet| sweep::plot(set, &spec, &curves::pictures(set, &spec)[0]).data[0]["kind"].clone();
    assert_eq!(kind(&set), "both", "lengths");
    for run in &mut set.runs {
        let word =
            if run.sweep["workload.bytes"].to_string() == "8MiB" { "alltoall" } else { "allreduce-ring" };
        run.sweep.insert("workload.bytes".into(), Value::Text(word.into()));
    }
    assert_eq!(kind(&set), "bar");
}

#[test]
fn each_group_of_a_run_has_a_distribution() {
    let mut set = two_schemes();
    for (index, flow) in set.flows.iter_mut().enumerate() {
        flow.group = if index % 2 == 0 { "background/intra" } else { "background/inter" }.into();
    }
    let titles: Vec<String> = plots_of(&set).into_iter().map(|plot| plot.title).collect();
    for group in ["background", "inter", "intra"] {
        let title = format!("Distribution of slowdowns, {group} (");
        let drawn = titles.iter().filter(|other| other.starts_with(&title));
        assert_eq!(drawn.count(), 2, "one a point of the sweep: {titles:?}");
    }
}

#[test]
fn parameters_that_change_together_make_one_curve() {
    let run = |hosts: i64, bytes: &str| RunRow {
        scheme: "reps".into(),
        sweep: [
            ("topology.hosts".into(), Value::Integer(hosts)),
            ("workload.bytes".into(), Value::Text(bytes.into())),
        ]
        .into(),
        ..RunRow::default()
    };
    let plot =
        PlotSpec { x: Some("topology.hosts".into()), ..PlotSpec::new(PlotKind::Line, "FCT", "fct_max_us") };
    let curves = |runs: Vec<RunRow>| -> Vec<(String, Vec<usize>)> {
        let set = ResultSet { runs, ..ResultSet::default() };
        let pictures = curves::pictures(&set, &plot);
        assert_eq!(pictures.len(), 1);
        pictures[0].curves.iter().map(|curve| (curve.rest.clone(), curve.runs.clone())).collect()
    };
    assert_eq!(curves(vec![run(16, "1MB"), run(32, "2MB")]), [(String::new(), vec![0, 1])]);
    let product = vec![run(16, "1MB"), run(32, "1MB"), run(16, "2MB"), run(32, "2MB")];
    let two =
        [("workload.bytes = 1MB".to_owned(), vec![0, 1]), ("workload.bytes = 2MB".to_owned(), vec![2, 3])];
    assert_eq!(curves(product), two);
}

#[test]
fn a_search_is_shown_with_its_question_and_on_an_axis_of_numbers() {
    let mut set = two_schemes();
    set.runs.iter_mut().for_each(|run| {
        let bytes = run.sweep.remove("workload.bytes").unwrap();
        let queue = if bytes.to_string() == "8MiB" { "10KB" } else { "4MB" };
        run.sweep.insert("*.fabric.queue".into(), Value::Text(queue.into()));
    });
    let cells = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
    let tried = |scheme: &str, seed, value: &str, measured| Trial {
        scheme: scheme.into(),
        seed,
        value: value.into(),
        measured,
        bound: Some(1.0),
    };
    let compared = SearchMeasure {
        measured: "drops(scheme)".into(),
        bound: "1".into(),
        values: ["10KB", "98KB", "4MB"].map(str::to_owned).into(),
        tried: vec![
            tried("reps", 1, "10KB", Some(40.0)),
            tried("reps", 1, "4MB", Some(0.0)),
            tried("reps", 2, "98KB", Some(2.0)),
            tried("ops", 1, "10KB", None),
            tried("ops", 1, "4MB", Some(7.0)),
        ],
    };
    set.answer = Some(SearchAnswer {
        question: "smallest *.fabric.queue where drops(scheme) < 1".into(),
        table: vec![cells(["scheme", "smallest", "fails at"]), cells(["reps", "100KB", "98KB"])],
        notes: vec!["ops with seed 1: it holds at neither end".into()],
        measured: None,
    });
    let page = own_part(&set);
    for text in [
        "where drops(scheme) &lt; 1</p>",
        "<th scope=\"row\">reps</th><td>100KB</td>",
        "it holds at neither end",
    ] {
        assert!(page.contains(text), "{text}");
    }
    // A question that measures nothing by itself, as in files of an older version.
    let plot = plots_of(&set).remove(0);
    assert_eq!(plot.title, "Largest FCT against *.fabric.queue");
    assert_eq!(plot.data[0]["x"], json!([10.0, 4000.0]));
    assert_eq!(
        (&plot.layout["x"]["log"], &plot.layout["x"]["title"]),
        (&json!(true), &json!("*.fabric.queue (KB)"))
    );

    let with = |compared: &SearchMeasure| {
        let answer = SearchAnswer { measured: Some(compared.clone()), ..set.answer.clone().unwrap() };
        plots_of(&ResultSet { answer: Some(answer), ..set.clone() }).remove(0)
    };
    let plot = with(&compared);
    assert_eq!(plot.title, "drops(scheme) against *.fabric.queue");
    assert_eq!(plot.layout["panels"][0]["y"]["title"], "Drops (count)");
    // The seeds' values are their own: no line joins them.
    let of = |name: &str| plot.data.iter().find(|curve| curve["name"] == name).unwrap();
    assert_eq!(of("reps")["x"], json!([10.0, 4000.0, 98.0, 98.0]));
    assert_eq!(of("reps")["y"], json!([40.0, 0.0, null, 2.0]));
    assert_eq!(of("ops")["y"], json!([7.0]));
    assert_eq!((&of("1")["x"], &of("1")["y"]), (&json!([10.0, 98.0, 4000.0]), &json!([1.0, 1.0, 1.0])));
    assert!(plot.note.ends_with("as not all finished in them: 1 of ops."), "{}", plot.note);
    assert_eq!(
        (&plot.layout["x"]["log"], &plot.layout["x"]["title"]),
        (&json!(true), &json!("*.fabric.queue (KB)"))
    );

    // Words are in their order, and bounds that differ belong to one scheme each.
    let mut of_words = compared.clone();
    of_words.values = ["off", "half", "on"].map(str::to_owned).into();
    for (tried, value) in of_words.tried.iter_mut().zip(["off", "on", "half", "off", "on"]) {
        (tried.value, tried.bound) = (value.to_owned(), Some(tried.seed as f64));
    }
    let plot = with(&of_words);
    assert_eq!(plot.layout["x"]["categories"], json!(["off", "half", "on"]));
    let of = |name: &str| plot.data.iter().find(|curve| curve["name"] == name).unwrap();
    assert_eq!(of("reps: 1")["y"], json!([1.0, 1.0, null, 2.0]));

    // Where nothing finished the default plots are drawn.
    of_words.tried.iter_mut().for_each(|tried| tried.measured = None);
    assert_eq!(with(&of_words).title, "Largest FCT against *.fabric.queue");
}

#[test]
fn the_mean_of_a_league_is_over_the_scenarios_asked_of_every_scheme() {
    // REPS is the faster one in the two scenarios of both, and a third scheme is alone in a scenario of its own.
    let of_three_seeds = || {
        let mut set = two_schemes();
        let third = set.runs.iter().filter(|run| run.seed == 1);
        let third: Vec<RunRow> = third.map(|run| RunRow { seed: 3, ..run.clone() }).collect();
        set.runs.extend(third);
        set
    };
    let mut alone = of_three_seeds();
    alone.runs.retain(|run| run.scheme == "reps");
    for run in &mut alone.runs {
        run.scheme = "annulus".into();
    }
    let contests = [("incast", of_three_seeds()), ("permutation", of_three_seeds()), ("across", alone)]
        .map(|(name, set)| Contest::of(name, &set, String::new(), None, None));
    let page = league("", &contests, &BTreeMap::new());
    assert!(
        page.contains("over the 2 of 3 scenarios that were asked of all schemes within a data centre"),
        "{page}"
    );
    let row = |scheme: &str| {
        let (_, row) = page.split_once(&format!("<button type=\"button\">{scheme}</button></th>")).unwrap();
        row.split_once("</tr>").unwrap().0.to_owned()
    };
    assert!(row("reps").starts_with("<td>2 of 2</td><td>1.00</td>"), "{}", row("reps"));
    assert!(row("annulus").contains("1 of 1</td><td>-</td><td>1.00</td>"), "{}", row("annulus"));
}

/// Four schemes with two seeds, of which the slower ones retransmit more: 100, 120, 140 and 400 us over an ideal of 50.
fn four_schemes() -> ResultSet {
    let mut set = two_schemes();
    set.runs.retain(|run| run.scheme == "ops" && run.sweep["workload.bytes"] == Value::Text("8MiB".into()));
    let one = std::mem::take(&mut set.runs);
    set.series.clear();
    set.flows.clear();
    let kinds = [
        "lb = { kind = \"reps\" }",
        "lb = { kind = \"ecmp\" }\nfabric = { routing = \"adaptive\", trim = true }",
    ];
    for (place, name) in ["reps", "dcp", "ops", "ecmp"].into_iter().enumerate() {
        for run in &one {
            let max = [100.0, 120.0, 140.0, 400.0][place] + run.seed as f64;
            let fault = FaultRow { data_packets: 10 * (place as u64 + 1), ..FaultRow::default() };
            set.runs.push(RunRow {
                scheme: name.into(),
                sweep: BTreeMap::new(),
                fct_max_us: max,
                retransmissions: [0, 40, 500, 9_000][place],
                faults: vec![fault],
                ..run.clone()
            });
        }
        set.scenario_toml.push_str(&format!("[[scheme]]\nname = {name:?}\n{}\n", kinds[place % 2]));
    }
    for run in (0..8).step_by(2) {
        set.series.extend((1..=4_u32).map(|step| SeriesRow {
            run,
            series: GOODPUT.into(),
            entity: anabranch_results::ALL_HOSTS.into(),
            time_ps: u64::from(step * [1, 2, 2, 40][run as usize / 2]) * 25_000_000,
            value: 300.0 / f64::from(run + 1),
        }));
    }
    set
}

/// The plots of a scenario of a league whose times are plotted against `measure`.
fn explained(set: &ResultSet, measure: &str) -> (Contest, Vec<serde_json::Value>) {
    let explanation = Explanation { measure: measure.into(), called: None, says: "It is <so>.".into() };
    let contest = Contest::of("loss", set, String::new(), None, Some(&explanation));
    let page = league("", std::slice::from_ref(&contest), &BTreeMap::new());
    let (_, plots) = page.split_once("<script type=\"application/json\" id=\"plots\">").unwrap();
    let plots: serde_json::Value = serde_json::from_str(plots.split_once("</script>").unwrap().0).unwrap();
    (contest, plots.as_array().unwrap().clone())
}

#[test]
fn a_scenario_of_a_league_holds_times_against_what_its_file_names() {
    let set = four_schemes();
    let (contest, plots) = explained(&set, "retransmissions");
    assert_eq!(
        contest.json()["explained_by"],
        json!({"measure": "retransmissions", "rank_correlation": 1.0})
    );
    let page = league("", &[contest], &BTreeMap::new());
    for text in [
        "It is &lt;so&gt;. A point is a scheme, the mean over 2 seeds",
        "over the 4 schemes: 1.00. It says what goes together, not why.",
        "Zero stands at the left.",
        // The numbers, for readers who do not see the plot.
        "<th scope=\"row\">dcp</th><td>2.43</td>",
        "<td>40</td><td>switches, trims</td>",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    let against = &plots[0];
    assert_eq!(against["data"][0]["names"], json!(["reps", "ops"]));
    assert_eq!((&against["data"][0]["x"], &against["layout"]["x"]["foot"]), (&json!([0, 500]), &json!(10)));
    // The first, the median and the last, up to a time at which the first can still be seen.
    let goodput = &plots[1];
    let names: Vec<_> =
        goodput["data"].as_array().unwrap().iter().map(|trace| trace["name"].clone()).collect();
    assert_eq!(names, ["reps, the first", "ops, in the middle", "ecmp, the last"]);
    assert_eq!(goodput["layout"]["x"]["range"], json!([0, 300]));
}

#[test]
fn what_faults_hit_is_a_measure() {
    let (contest, plots) = explained(&four_schemes(), DATA_PACKETS_HIT);
    assert_eq!(contest.json()["explained_by"]["rank_correlation"], 1.0);
    assert_eq!(plots[0]["layout"]["x"]["title"], "Data packets hit (count)");
}

#[test]
fn the_heat_map_has_a_cell_for_each_scheme_in_each_scenario() {
    let contests = [("incast", two_schemes()), ("loss", four_schemes())]
        .map(|(name, set)| Contest::of(name, &set, String::new(), None, None));
    let page = league("", &contests, &BTreeMap::new());
    let (_, map) = page.split_once("id=\"map\"").unwrap();
    let (map, _) = map.split_once("</table>").unwrap();
    assert!(map.contains("<a href=\"#loss\"><span>loss</span></a>"), "{map}");
    let cell = "<th scope=\"row\">ecmp</th><td></td><td class=\"h4\" title=\"3.96\"><span>3.96</span></td>";
    assert!(map.contains(cell), "{map}");
    assert_eq!(map.matches("<tr>").count(), 5);
}
