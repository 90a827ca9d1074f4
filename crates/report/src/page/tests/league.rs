//! Tests of the page of a league.

use super::*;

#[test]
fn the_mean_of_a_league_is_over_the_scenarios_asked_of_every_scheme() {
    // REPS is the faster scheme in the two scenarios in which both schemes run. A third scheme runs alone in another
    // scenario.
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
    let entries = [("incast", of_three_seeds()), ("permutation", of_three_seeds()), ("across", alone)]
        .map(|(name, set)| LeagueEntry::of(name, &set, String::new(), None, None));
    let page = league("", &entries, &BTreeMap::new());
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

/// Four schemes with two seeds each. Their times are 100, 120, 140 and 400 us plus 1 us for seed 1 and 2 us for seed 2.
/// The ideal time is 50 us, and slower schemes retransmit more.
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
        let text = format!("{}[[scheme]]\nname = {name:?}\n{}\n", set.scenario_toml, kinds[place % 2]);
        crate::scenario_text::set_scenario(&mut set, text);
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

/// A league's scenario whose times are plotted against `measure`, and the plots of its page.
fn explained(set: &ResultSet, measure: &str) -> (LeagueEntry, Vec<serde_json::Value>) {
    let explanation = Explanation { measure: measure.into(), called: None, says: "It is <so>.".into() };
    let entry = LeagueEntry::of("loss", set, String::new(), None, Some(&explanation));
    let page = league("", std::slice::from_ref(&entry), &BTreeMap::new());
    let (_, plots) = page.split_once("<script type=\"application/json\" id=\"plots\">").unwrap();
    let plots: serde_json::Value = serde_json::from_str(plots.split_once("</script>").unwrap().0).unwrap();
    (entry, plots.as_array().unwrap().clone())
}

#[test]
fn a_scenario_of_a_league_holds_times_against_what_its_file_names() {
    let set = four_schemes();
    let (entry, plots) = explained(&set, "retransmissions");
    assert_eq!(entry.json()["explained_by"], json!({"measure": "retransmissions", "rank_correlation": 1.0}));
    let page = league("", &[entry], &BTreeMap::new());
    for text in [
        "It is &lt;so&gt;. A point is a scheme, the mean over 2 seeds",
        "over the 4 schemes: 1.00. It says what goes together, not why.",
        "Zero stands at the left.",
        // The page has the numbers as text for readers who cannot see the plot.
        "<th scope=\"row\">dcp</th><td>2.43</td>",
        "<td>40</td><td>switches, trims</td>",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    let against = &plots[0];
    assert_eq!(against["data"][0]["names"], json!(["reps", "ops"]));
    assert_eq!((&against["data"][0]["x"], &against["layout"]["x"]["foot"]), (&json!([0, 500]), &json!(10)));
    // The plot shows the first, the median and the last scheme. It ends at 1.5 times the 200 us of the median scheme,
    // which is later than twice the 100 us of the first scheme.
    let goodput = &plots[1];
    let names: Vec<_> =
        goodput["data"].as_array().unwrap().iter().map(|trace| trace["name"].clone()).collect();
    assert_eq!(names, ["reps, the first", "ops, in the middle", "ecmp, the last"]);
    assert_eq!(goodput["layout"]["x"]["range"], json!([0, 300]));
}

#[test]
fn what_faults_hit_is_a_measure() {
    let (entry, plots) = explained(&four_schemes(), DATA_PACKETS_HIT);
    assert_eq!(entry.json()["explained_by"]["rank_correlation"], 1.0);
    assert_eq!(plots[0]["layout"]["x"]["title"], "Data packets hit (count)");
}

#[test]
fn the_heat_map_has_a_cell_for_each_scheme_in_each_scenario() {
    let entries = [("incast", two_schemes()), ("loss", four_schemes())]
        .map(|(name, set)| LeagueEntry::of(name, &set, String::new(), None, None));
    let page = league("", &entries, &BTreeMap::new());
    let (_, map) = page.split_once("id=\"map\"").unwrap();
    let (map, _) = map.split_once("</table>").unwrap();
    assert!(map.contains("<a href=\"#loss\"><span>loss</span></a>"), "{map}");
    let cell = "<th scope=\"row\">ecmp</th><td></td><td class=\"h4\" title=\"3.96\"><span>3.96</span></td>";
    assert!(map.contains(cell), "{map}");
    assert_eq!(map.matches("<tr>").count(), 5);
}
