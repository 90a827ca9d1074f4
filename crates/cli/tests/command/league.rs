//! Tests of the league, which ranks schemes in a fixed set of scenarios.

use crate::common::Place;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn league(place: &Place, args: &[&str]) -> Value {
    place.run(&[&["league", "--out", "out", "--json"][..], args].concat()).expect(0).json()
}

#[test]
fn schemes_are_ranked_over_seeds_and_the_page_has_them() {
    let place = Place::new();
    let document = league(&place, &["incast", "--seed", "1,2,3"]);
    let incast = &document["scenarios"][0];
    assert_eq!(incast["scenario"], "incast");
    let schemes = incast["schemes"].as_array().unwrap();
    assert!(schemes.len() > 20);
    for row in schemes {
        let over_ideal = row["over_ideal"]["mean"].as_f64().unwrap();
        assert!(over_ideal >= 1.0 && row["over_best"].as_f64().unwrap() >= 1.0, "{row}");
        assert!(row["over_ideal"]["low"].as_f64().unwrap() <= over_ideal && row["rank"].is_u64(), "{row}");
    }
    let best = schemes.iter().filter(|row| row["over_best"].as_f64().unwrap() == 1.0);
    assert!(best.clone().count() >= 1 && best.clone().all(|row| row["rank"] == 1));
    let page = fs::read_to_string(place.path().join(document["page"].as_str().unwrap())).unwrap();
    assert!(page.contains(">reps</button>") && page.contains("3 seeds"));
    // A retransmission crosses the single bottleneck port again, so it costs time.
    let explained = &incast["explained_by"];
    assert_eq!(explained["measure"], "retransmissions");
    assert!(explained["rank_correlation"].as_f64().unwrap() > 0.5, "{explained}");
    assert!(page.contains("Rank correlation (Spearman)") && page.contains("id=\"map\""));
    let own = incast["own_ground"].as_array().unwrap();
    let of =
        |row: &Value| (row["scheme"].as_str().unwrap().to_owned(), row["setup"].as_str().unwrap().to_owned());
    let expected =
        [("reps", "reps-paper"), ("strack", "strack-paper"), ("themis-spraying", "themis-spraying-paper")];
    let expected = expected.into_iter().chain([
        ("dcp", "dcp-paper"),
        ("uet-nscc", "uet"),
        ("mrc", "mrc"),
        ("hpcc", "hpcc-paper"),
    ]);
    let expected: Vec<(String, String)> =
        expected.map(|(one, two)| (one.to_owned(), two.to_owned())).collect();
    assert_eq!(own.iter().map(of).collect::<Vec<_>>(), expected);
    for row in own {
        let common = schemes.iter().find(|common| common["scheme"] == row["scheme"]).unwrap();
        assert_ne!(common["over_ideal"]["mean"], row["over_ideal"]["mean"], "{row}");
        assert!(row["over_ideal"]["mean"].as_f64().unwrap() >= 1.0, "{row}");
    }
    assert!(page.contains("On the ground of its own paper") && page.contains("dcp-paper"));
    // Nothing is simulated twice, and with one seed no scheme is ranked.
    let again = place.run(&["league", "incast", "--seed", "1,2,3", "--out", "out"]).expect(0);
    assert!(again.stderr.contains("simulated before"), "{}", again.stderr);
    let one = league(&place, &["incast"]);
    assert!(one["scenarios"][0]["schemes"].as_array().unwrap().iter().all(|row| row["rank"].is_null()));
}

#[test]
fn a_scenario_that_there_is_not_is_answered_with_the_nearest() {
    let refused = Place::new().run(&["league", "permutation-1to4"]).expect(2).stderr;
    assert!(refused.contains("permutation-4to1") && refused.contains("lossy-links"), "{refused}");
}

/// Each scenario of the league selects its schemes by one of the `parts`. A scheme that is in no scenario states the
/// reason in its file.
#[test]
fn no_scheme_is_left_out() {
    let place = Place::new();
    let listed = place.run(&["list", "schemes", "--json"]).expect(0).json();
    let all: BTreeSet<String> = listed["schemes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["name"].as_str().unwrap().to_owned())
        .collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../figures/league");
    let text = |name: &str| fs::read_to_string(folder.join(name).with_extension("toml")).unwrap();
    let parts = ["data-centre", "large-fabric", "two-data-centres"];
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        assert!(text(&name).contains("\n[explain]\n"), "{name} does not say what explains it");
        let table: toml::Table = text(&name).parse().unwrap();
        assert!(parts.contains(&table["schemes"]["league"].as_str().unwrap()), "{name}");
    }
    let schemes = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemes");
    for scheme in all {
        let text = fs::read_to_string(schemes.join(&scheme).with_extension("toml")).unwrap();
        if let Some(line) = text.lines().find(|line| line.starts_with("league = []")) {
            assert!(line.contains("# "), "{scheme}: {line}");
        }
    }
}
