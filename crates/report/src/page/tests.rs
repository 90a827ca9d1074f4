use super::*;
use crate::samples::two_schemes;
use anabranch_results::{ClaimKind, ClaimRow, ClaimValue, FlowRow, PlotKind, PlotSpec};

/// The page without plotly's own script, which is not ours to judge.
fn own_part(set: &ResultSet) -> String {
    let page = html(set);
    let script = plotly_script();
    assert!(page.contains(&script) && script.len() > 1_000_000, "plotly is in the page");
    page.replace(&script, "")
}

fn with_figure() -> ResultSet {
    let plot = |kind, y: &str| PlotSpec {
        kind,
        title: format!("A plot of {y}"),
        y: y.into(),
        x: Some("workload.bytes".into()),
        entity: Some("tor:0/up".into()),
        schemes: vec![],
        log_x: false,
        log_y: true,
    };
    let mut set = two_schemes();
    set.figure = Some(Figure {
        id: "reps/fig02".into(),
        title: "</script><b>".into(),
        paper: "REPS".into(),
        figure: "Figure 2".into(),
        scale: "quick".into(),
        assumptions: vec!["a < b".into()],
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
            measure: "fct_max(ops) < 1".into(),
            result: ClaimResult::Evaluated {
                measured: ClaimValue::Number(1.1),
                outcome: Outcome::DirectionOnly,
            },
            why: None,
        }],
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
        let plots = plots::of(&set);
        assert!(plots.len() >= 5);
        for plot in plots {
            assert!(!plot.data.is_empty(), "{}", plot.title);
            for curve in &plot.data {
                assert!(curve["name"].as_str().is_some_and(|name| !name.is_empty()), "{}", plot.title);
            }
            let layout = plot.layout.as_object().unwrap();
            for (key, axis) in layout.iter().filter(|(key, _)| key.contains("axis")) {
                let title = axis["title"]["text"].as_str().unwrap_or_default();
                let named = title.ends_with(')') || title == "workload.bytes";
                assert!(named, "{}: {key} is called {title:?}", plot.title);
            }
        }
    }
}

#[test]
fn the_claim_stands_beside_what_was_measured() {
    let page = own_part(&with_figure());
    assert!(page.contains("<td class=\"big\">1.25</td><td class=\"big\">1.1</td>"));
    assert!(page.contains("<span class=\"chip fair\">direction-only</span>"));
}

#[test]
fn a_large_run_stays_small_and_keeps_its_largest_fct() {
    let mut set = two_schemes();
    let flow = set.flows[0].clone();
    let fct_ps = |number: u64| Some(1_000_000 + number * 1_000);
    set.flows = (0..100_000)
        .map(|number| FlowRow { flow: number, fct_ps: fct_ps(u64::from(number)), ..flow.clone() })
        .collect();
    let cdf = plots::of(&set).into_iter().find(|plot| plot.title.contains("Distribution")).unwrap();
    let x = cdf.data[0]["x"].as_array().unwrap();
    assert!(x.len() <= plots::MAX_POINTS && x.len() > 1_000, "{}", x.len());
    assert_eq!(x.last().unwrap().as_f64(), Some(1.0 + 99.999));
}
