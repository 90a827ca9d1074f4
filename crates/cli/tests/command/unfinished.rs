//! Tests of runs in which some messages or jobs did not finish: values that such a run did not measure appear nowhere
//! as numbers.

use crate::common::{Place, SMALL};
use serde_json::Value;

/// Four jobs under two schemes. A quarter of the uplinks goes down permanently. STrack avoids the failed links, but
/// RoCEv2 stalls.
const HALF_FAILS: &str = r#"title = "Broken"
schemes = ["rocev2", "strack"]
seeds = [1]
[topology]
kind = "fat-tree"
hosts = 64
tiers = 2
link = "400Gbps"
[workload]
kind = "collective"
algorithm = "allreduce-ring"
bytes = "8MB"
ranks = 16
jobs = 4
[[fault]]
kind = "link-down"
links = "tor-uplinks:25%"
at = "20us"
[setup]
base = "strack-paper"
"#;

#[test]
fn jobs_that_did_not_finish_have_no_time() {
    let place = Place::new();
    place.write("s.toml", HALF_FAILS);
    let ended = place.run(&["run", "s.toml", "--out", "out", "--json"]).expect(1);
    let document = ended.json();
    let [failed, whole] = document["runs"].as_array().unwrap().as_slice() else { panic!("{document}") };
    assert_eq!((&failed["jobs"], &failed["jobs_finished"]), (&4.into(), &0.into()));
    for field in ["cct_mean_us", "cct_max_us", "completion_us"] {
        assert_eq!(failed[field], Value::Null, "{field}");
        assert!(whole[field].as_f64().unwrap() > 0.0, "{field}");
    }
    assert_eq!((&whole["jobs"], &whole["jobs_finished"]), (&4.into(), &4.into()));

    let folder = document["folder"].as_str().unwrap();
    let table = place.run(&["report", folder]).expect(0).stdout;
    let row = table.lines().find(|line| line.starts_with("rocev2")).unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    let jobs = cells.iter().position(|cell| *cell == "0/4").unwrap_or_else(|| panic!("{table}"));
    assert_eq!(cells[jobs + 1..jobs + 3], ["-", "-"], "{table}");
    assert!(table.contains("Jobs that did not finish: 4 of 8."), "{table}");
    let page = std::fs::read_to_string(place.path().join(folder).join("report.html")).unwrap();
    assert!(page.contains("Not drawn, as none of its jobs finished: rocev2."));
    assert!(page.contains("<td class=\"count\">0/4</td><td class=\"spare\">-</td><td>-</td>"));
}

/// A switch failure takes down one ToR of a plane, and with it one port of each host below it. No route leads from
/// one plane to another, so a routing delay does not help. The help therefore proposes a load balancer with which all
/// flows finish.
#[test]
fn flows_to_dead_ports_of_a_plane_need_another_balancer() {
    let place = Place::new();
    let text = |scheme: &str| {
        format!(
            "schemes = [{scheme:?}]\nseeds = [1]\n[topology]\nkind = \"hpn\"\nservers = 4\nnics = 2\nsegment = 2\nlink = \
             \"200Gbps\"\n[workload]\nkind = \"permutation\"\nbytes = \"1MB\"\n[[fault]]\nkind = \"switch-down\"\nswitches = \
             \"plane:0/tor:0\"\nat = \"5us\"\n"
        )
    };
    place.write("s.toml", text("rocev2"));
    let help = place.run(&["run", "s.toml", "--out", "out"]).expect(1).stderr;
    for part in [
        "no fabric.routing_delay leads from one plane to another",
        "a balancer that leaves a path that loses (reps)",
    ] {
        assert!(help.contains(part), "{help}");
    }
    assert!(!help.contains("set fabric.routing_delay"), "{help}");
    place.write("s.toml", text("reps"));
    place.run(&["run", "s.toml", "--out", "out"]).expect(0);
}

#[test]
fn a_run_without_jobs_has_no_time_of_jobs() {
    let place = Place::new();
    place.write("s.toml", SMALL);
    let run = &place.run(&["run", "s.toml", "--out", "out", "--json"]).expect(0).json()["runs"][0];
    assert_eq!((&run["jobs"], &run["cct_max_us"]), (&0.into(), &Value::Null));
    assert!(run["completion_us"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_scheme_whose_jobs_did_not_finish_wins_no_claim() {
    let place = Place::new();
    let claims: String = ["cct_max(rocev2)", "cct_mean(rocev2)", "cct(rocev2, min)", "completion(rocev2)"]
        .iter()
        .map(|measure| {
            format!(
                "\n[[claim]]\nsays = \"s\"\nsource = \"s\"\nkind = \"order\"\npaper = [\"a\", \"b\"]\n\
                 measure = \"{measure} < cct_max(strack)\"\n"
            )
        })
        .collect();
    place.write("figures/trial/fig-1.toml", format!("id = \"trial/fig-1\"\n{HALF_FAILS}{claims}"));
    let args = ["reproduce", "trial", "--figures-dir", "figures", "--out", "out", "--json"];
    let document = place.run(&args).expect(1).json();
    let claims = document["claims"].as_array().unwrap();
    assert_eq!(claims.len(), 4);
    for claim in claims {
        assert!(claim["outcome"].is_null() && claim["measured"].is_null(), "{claim}");
        assert!(claim["error"].as_str().unwrap().contains("of `rocev2`, seed 1, did not finish"), "{claim}");
    }
}

/// A finding at the paper's scale names that scale if it is shown next to numbers of another scale.
#[test]
fn findings_name_their_scale_and_sizes_are_those_that_ran() {
    let place = Place::new();
    let claim = "[quick.workload]\nbytes = \"50KB\"\n[[claim]]\nsays = \"s\"\nsource = \"s\"\nkind = \"ratio\"\n\
                 paper = 100.0\nmeasure = \"fct_max(ops) / fct_max(reps)\"\nfound = \"Few paths.\"\n";
    place.write("figures/trial/fig-1.toml", format!("id = \"trial/fig-1\"\n{SMALL}{claim}"));
    let reproduce = |scale: &str| {
        let args = ["reproduce", "trial", "--figures-dir", "figures", "--out", "out", "--scale", scale];
        place.run(&args).expect(0).stdout
    };
    let quick = reproduce("quick");
    assert!(quick.contains("\nquick scale: 16 hosts, permutation of 50KB\n"), "{quick}");
    assert!(quick.contains("At paper scale, if none is named: Few paths."), "{quick}");
    assert!(
        quick.ends_with("1 claim shown. The quick scale judges none: `--scale paper` does.\n"),
        "{quick}"
    );
    let paper = reproduce("paper");
    assert!(paper.contains("\npaper scale: 16 hosts, permutation of 100KB\n"), "{paper}");
    assert!(paper.contains("  Few paths.") && !paper.contains("At paper scale"), "{paper}");
    assert!(paper.ends_with("1 claim: 0 hold, 0 direction-only, 1 differ\n"), "{paper}");
}

#[test]
fn a_scenario_without_a_title_is_called_like_its_file() {
    let place = Place::new();
    place.write("deep/mine.toml", SMALL.replace("title = \"Small\"\n", ""));
    let path = place.path().join("deep/mine.toml");
    let ended = place.run(&["check", path.to_str().unwrap(), "--json"]).expect(0);
    assert_eq!(ended.json()["scenario"], "mine.toml");
}
