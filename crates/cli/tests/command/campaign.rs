//! Tests of `anabranch campaign`: many runs, each in its own folder.

use crate::common::{Place, SMALL};
use std::fs;
use std::path::Path;

/// A plan of twelve runs: two schemes, two seeds, and three message lengths.
fn plan() -> String {
    SMALL.replace("seeds = [1]", "seeds = [1, 2]")
        + "[sweep]\n\"workload.bytes\" = [\"16KB\", \"64KB\", \"256KB\"]\n"
}

fn digests(folder: &Path, place: &Place, runs: usize) -> Vec<String> {
    (0..runs)
        .map(|run| {
            let task = folder.join(format!("task={run:06}"));
            let table = place.run(&["export", task.to_str().unwrap()]).expect(0).stdout;
            let mut lines = csv_lines(&table);
            let column = lines.next().unwrap().iter().position(|name| name == "digest").unwrap();
            let row = lines.next().unwrap();
            assert!(lines.next().is_none(), "one run in {task:?}");
            row[column].clone()
        })
        .collect()
}

fn csv_lines(text: &str) -> impl Iterator<Item = Vec<String>> + '_ {
    text.lines().map(|line| line.split(',').map(str::to_owned).collect())
}

#[test]
fn shares_and_what_is_there_already_make_up_the_runs_of_the_scenario() {
    let place = Place::new();
    place.write("plan.toml", plan());
    let all = place.run(&["run", "plan.toml", "--json", "--no-baseline"]).expect(0).json();
    let expected: Vec<String> = all["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["digest"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(expected.len(), 12);

    let campaign = |more: &[&str]| {
        let words = [&["campaign", "plan.toml", "--out", "runs"][..], more].concat();
        place.run(&words).expect(0).stdout
    };
    assert_eq!(campaign(&["--share", "1/5"]), "3 of 12 runs in runs\n");
    let folder = place.path().join("runs");
    let changed = |run: usize| {
        fs::metadata(folder.join(format!("task={run:06}")).join("runs.parquet")).unwrap().modified().unwrap()
    };
    let before = changed(6);
    assert_eq!(campaign(&["--status"]), "3 of 12 runs in runs\n");
    assert_eq!(campaign(&["--threads", "3"]), "12 of 12 runs in runs\n");
    assert_eq!(changed(6), before, "what was there is not run again");
    assert_eq!(digests(&folder, &place, 12), expected);
    let report = place.run(&["report", "runs"]).expect(0).stdout;
    let one = place.run(&["run", "plan.toml", "--no-baseline"]).expect(0).stdout;
    let verdict = |text: &str| {
        text.lines().filter(|line| line.starts_with("At ")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(verdict(&report).len() == 3 && verdict(&report) == verdict(&one), "{report}\n{one}");
    assert!(fs::read_to_string(folder.join("report.html")).unwrap().contains("workload.bytes"));
    place.run(&["compare", "runs", "runs"]).expect(0);
    // The plan and each run are self-contained.
    assert_eq!(
        place.run(&["campaign", "runs/plan.toml", "--out", "again", "--sample", "4"]).expect(0).stdout,
        "4 of 4 runs in again\n"
    );
    let again =
        place.run(&["run", "runs/task=000005/scenario.toml", "--json", "--no-baseline"]).expect(0).json();
    assert_eq!(again["runs"][5]["digest"], expected[5].as_str());
    // Besides the runs, the folder has only the plan and the page.
    let mut names: Vec<String> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with("task="))
        .collect();
    names.sort();
    assert_eq!(names, ["plan.toml", "report.html"]);
}

#[test]
fn a_folder_of_another_campaign_and_wrong_words_are_refused() {
    let place = Place::new();
    place.write("plan.toml", plan());
    place.write("other.toml", plan().replace("[1, 2]", "[3]"));
    place.run(&["campaign", "plan.toml", "--out", "runs", "--sample", "1"]).expect(0);
    let refused = place.run(&["campaign", "other.toml", "--out", "runs"]).expect(2).stderr;
    assert!(
        refused.contains("holds another campaign") && refused.contains("name another folder"),
        "{refused}"
    );
    let whole = place.run(&["export", "runs"]).expect(2).stderr;
    assert!(
        whole.contains("runs: a campaign, whose runs have a folder each\n  help: name one of them"),
        "{whole}"
    );
    let share = place.run(&["campaign", "plan.toml", "--out", "runs", "--share", "8/8"]).expect(2).stderr;
    assert!(share.contains("such as 3/8"), "{share}");
    let nowhere = place.run(&["campaign", "plan.toml", "--out", "nowhere", "--status"]).expect(2).stderr;
    assert!(
        nowhere.contains("nowhere: no such folder") && !place.path().join("nowhere").exists(),
        "{nowhere}"
    );
    let bucket = place.run(&["campaign", "plan.toml", "--out", "s3://bucket/runs"]).expect(2).stderr;
    assert!(bucket.contains("python -m anabranch.campaign plan.toml --out s3://bucket/runs"), "{bucket}");
    let within = place.run(&["campaign", "plan.toml", "--out", "plan.toml/runs"]).expect(2).stderr;
    assert!(within.contains("\n  help: name a folder that can be written with --out DIR"), "{within}");
    let none = place.run(&["campaign", "plan.toml", "--out", "runs", "--sample", "0"]).expect(2).stderr;
    assert!(none.contains("a whole number above 0"), "{none}");
}

#[test]
fn runs_that_fail_are_named_and_the_others_are_there() {
    let place = Place::new();
    let fault = "[[fault]]\nkind = \"link-down\"\nlinks = \"tor:0/up\"\nat = \"2us\"\n";
    let sweep = "[sweep]\n\"fault.0.at\" = [\"2us\", \"5ms\"]\n";
    place.write("plan.toml", format!("{SMALL}{fault}{sweep}"));
    let ended = place.run(&["campaign", "plan.toml", "--out", "runs"]).expect(1);
    assert_eq!(ended.stdout, "2 of 4 runs in runs\n");
    let told = &ended.stderr;
    assert!(told.contains("reps, seed 1, fault.0.at = 2us: ") && told.contains("no path is left"), "{told}");
    assert!(told.contains("2 of 4 runs failed; the others are there"), "{told}");
    let document = place.run(&["campaign", "plan.toml", "--out", "runs", "--json"]).expect(1).json();
    let failed = document["failed"].as_array().unwrap();
    assert_eq!(failed.len(), 2, "{document}");
    for run in failed {
        let [kind, reason] = [&run["cause"]["kind"], &run["cause"]["reason"]["kind"]];
        assert_eq!((kind, reason), (&"stalled".into(), &"no-delivery".into()), "{run}");
        assert!(run["error"].as_str().unwrap().contains("no path is left"), "{run}");
    }
}

/// The document has the warnings of all runs that are present, no matter which command carried them out.
#[test]
fn warnings_are_values() {
    let place = Place::new();
    let one = "kind = \"messages\"\n[[workload.message]]\nfrom = 0\nto = 15\nbytes = \"100KB\"";
    let idle = SMALL.replace("kind = \"permutation\"\nbytes = \"100KB\"", one);
    let measure = "[[measure]]\nseries = \"link-utilisation\"\nlinks = \"host:3\"\n";
    let delay = "[set]\n\"*.fabric.routing_delay\" = \"1us\"\n";
    place.write("plan.toml", format!("{idle}{measure}{delay}"));
    let part =
        place.run(&["campaign", "plan.toml", "--out", "runs", "--json", "--share", "0/2"]).expect(0).json();
    let all = place.run(&["campaign", "plan.toml", "--out", "runs", "--json"]).expect(0).json();
    let none = place.run(&["campaign", "plan.toml", "--out", "runs", "--json", "--status"]).expect(0).json();
    assert_eq!(none, all);
    let schemes = |document: &serde_json::Value| {
        let [warning] = &document["run_warnings"].as_array().unwrap()[..] else { panic!("{document}") };
        assert_eq!(warning["warning"]["kind"], "empty-measure", "{warning}");
        warning["schemes"].as_array().unwrap().len()
    };
    assert_eq!((schemes(&part), schemes(&all)), (1, 2));
    assert_eq!(all["diagnostics"].as_array().unwrap().len(), 1, "{all}");
    assert_eq!(all["warnings"].as_array().unwrap().len(), 2, "{all}");
    let run = place.run(&["run", "plan.toml", "--json", "--no-baseline"]).expect(0).json();
    for field in ["warnings", "run_warnings", "diagnostics"] {
        assert_eq!(all[field], run[field], "{field}");
    }
}

/// A path with spaces and quotes stays one word in the script.
#[test]
fn a_job_script_has_a_task_for_each_share() {
    let place = Place::new();
    place.write("my plan's.toml", plan());
    let words = ["campaign", "my plan's.toml", "--out", "runs", "--slurm", "8", "--sbatch=--time=02:00:00"];
    let script = place.run(&words).expect(0).stdout;
    assert!(script.starts_with("#!/bin/bash\n") && script.contains("#SBATCH --array=0-7\n"), "{script}");
    assert!(script.contains("#SBATCH --time=02:00:00\n"), "{script}");
    assert!(script.contains("my plan'\\''s.toml' --out '"), "{script}");
    assert!(!place.path().join("runs").exists(), "nothing is made for it");
    // SLURM sets these variables for a task of an array.
    let file = place.write("job.sh", &script);
    let ended = std::process::Command::new("bash")
        .arg(file)
        .env("SLURM_ARRAY_TASK_ID", "2")
        .env("SLURM_CPUS_PER_TASK", "1")
        .current_dir("/")
        .output()
        .unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    assert!(place.path().join("runs/task=000002").exists() && place.path().join("runs/task=000010").exists());
}

#[test]
fn what_is_wrong_in_a_file_is_told_of_the_file_as_people_have_it() {
    let place = Place::new();
    place.write("j.goal", "num_ranks 2\nrank 0 {\nl1: send 100b to 5 tag 1\n}\nrank 1 {\n}\n");
    let workload = "[workload]\nkind = \"trace\"\nformat = \"goal\"\nfile = \"j.goal\"\n";
    let (fabric, _) = SMALL.split_once("[workload]").unwrap();
    place.write("plan.toml", format!("{fabric}{workload}"));
    let told = place.run(&["campaign", "plan.toml", "--out", "runs"]).expect(2).stderr;
    assert!(told.starts_with("error: j.goal:3: rank 0: "), "{told}");
    assert_eq!(told, place.run(&["run", "plan.toml"]).expect(2).stderr);
    assert!(!place.path().join("runs").exists());
}
