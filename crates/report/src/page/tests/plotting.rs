//! Tests of plots and of their curves.

use super::*;

/// The title of each picture, with the names of its curves.
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
    let default = drawn(spec(PlotKind::Series, queue, &[]));
    assert_eq!(default.len(), 2);
    assert_eq!(default[0].0, "T (workload.bytes = 8MiB)");
    assert_eq!(default[0].1, texts(&["tor:0/up:0", "tor:0/up:1", "tor:1/up:0"].repeat(2)));
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
    let chosen = drawn(spec(&["scheme"], None)).remove(0);
    let [strack, rocev2] = &chosen.data[..] else { panic!("{} traces", chosen.data.len()) };
    assert_eq!((strack["name"].as_str(), rocev2["name"].as_str()), (Some("strack"), Some("rocev2")));
    assert_eq!((strack["kind"].as_str(), rocev2["panel"].as_u64()), (Some("points"), Some(1)));
    let y: Vec<f64> = rocev2["y"].as_array().unwrap().iter().map(|y| y.as_f64().unwrap()).collect();
    assert!(y.len() <= 20_000 && y.len() > 8_000, "{}", y.len());
    assert_eq!(y.iter().copied().fold(0.0, f64::max), 59.8);
    assert!(chosen.note.contains("of 120,000 points are drawn"), "{}", chosen.note);
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
    // A few links are drawn as curves.
    let mut few = set.clone();
    few.series.retain(|row| row.entity.starts_with("tor:3/"));
    let plots = plots_of(&few);
    let plot = plots.iter().find(|plot| plot.title.contains("Queue delay")).unwrap();
    assert_eq!((plot.data.len(), &plot.data[0]["kind"]), (8, &json!("line")));
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
    assert!(x.len() <= plot::MAX_POINTS && x.len() > 1_000, "{}", x.len());
    assert_eq!(x.last().unwrap().as_f64(), Some(1.0 + 99.999));
}

/// The results have a million messages and a million points of curves. If each run and claim searched all of them,
/// the test would take minutes.
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

fn of_messages(spec: PlotSpec, set: &ResultSet) -> plot::Plot {
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
    // The shortest bar ends at 100 us, and the longest whisker at 405 us.
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
    // The legend names baselines after the others.
    assert_eq!([&plot.data[0]["baseline"], &plot.data[1]["baseline"]], [&json!(true), &json!(null)]);
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
    // Without a measure, the default plot is drawn.
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
    // Each seed tried its own values, so no line joins the points of different seeds.
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

    // Values that are not numbers keep their order. If bounds differ, each scheme has a line for its own bounds.
    let mut of_words = compared.clone();
    of_words.values = ["off", "half", "on"].map(str::to_owned).into();
    for (tried, value) in of_words.tried.iter_mut().zip(["off", "on", "half", "off", "on"]) {
        (tried.value, tried.bound) = (value.to_owned(), Some(tried.seed as f64));
    }
    let plot = with(&of_words);
    assert_eq!(plot.layout["x"]["categories"], json!(["off", "half", "on"]));
    let of = |name: &str| plot.data.iter().find(|curve| curve["name"] == name).unwrap();
    assert_eq!(of("reps: 1")["y"], json!([1.0, 1.0, null, 2.0]));

    // If nothing finished, the default plots are drawn.
    of_words.tried.iter_mut().for_each(|tried| tried.measured = None);
    assert_eq!(with(&of_words).title, "Largest FCT against *.fabric.queue");
}
