//! Tests of scenarios whose curves have many points. Too many points are refused, and permitted curves do not fill the
//! memory. Results do not depend on other runs in progress.

use crate::common::{Ended, Place, SMALL, edited};
use anabranch_results::{ResultSet, SeriesRow};
use std::fs;
use std::path::Path;

fn measure(every: &str) -> String {
    format!("\n[[measure]]\nseries = \"queue-depth\"\nlinks = \"all\"\nevery = \"{every}\"\n")
}

/// Twelve runs (two schemes with six seeds) that stall, because every link goes down permanently at 5 us.
fn stalls(every: &str) -> String {
    let fault = "[[fault]]\nkind = \"link-down\"\nlinks = \"all\"\nat = \"5us\"\n[limits]\nstall = \"2ms\"\n";
    let text = edited("seeds = [1]", "seeds = [1, 2, 3, 4, 5, 6]");
    format!("{text}{}{fault}", measure(every))
}

#[test]
fn points_that_cannot_fit_are_refused_before_the_run() {
    let place = Place::new();
    let text = edited("100KB", "100MB");
    place.write("s.toml", format!("{text}{}", measure("1ns")));
    for command in ["check", "run"] {
        let mut args = vec![command, "s.toml"];
        args.extend(["--out", "out"].iter().filter(|_| command == "run"));
        let ended = place.run(&args).expect(2);
        for says in [
            "s.toml:18:1: the curves of [[measure]] would have 128000000 points",
            "2 runs",
            "every = \"20ns\"",
        ] {
            assert!(ended.stderr.contains(says), "no {says:?} in {}", ended.stderr);
        }
    }
    assert_eq!(place.results(), Vec::<String>::new());
    // A scenario whose points may fit is accepted: a run may end long before `max_time`, which is one second by
    // default.
    place.write("s.toml", format!("{SMALL}{}", measure("1ns")));
    place.run(&["check", "s.toml"]).expect(0);
    place.run(&["run", "s.toml", "--out", "out"]).expect(0);
}

#[test]
fn a_run_ends_when_its_share_of_points_is_used_up() {
    let place = Place::new();
    place.write("s.toml", stalls("1ns"));
    let ended = place.run(&["run", "s.toml", "--out", "out"]).expect(1);
    let says = "run reps, seed 1: the curves of [[measure]] came to 4166666 points within 65.104 us";
    assert!(ended.stderr.contains(says), "{}", ended.stderr);
    assert!(ended.stderr.contains("every = \"10ns\" in place of \"1ns\" has room for ten times as long"));
}

/// The curves of all runs together would exceed the limit on the address space. glibc is restricted to one arena,
/// because it reserves address space for each arena, and the number of arenas varies between runs.
#[cfg(target_os = "linux")]
#[test]
fn memory_holds_the_curves_of_runs_in_progress_alone() {
    let place = Place::new();
    place.write("s.toml", stalls("500ns"));
    let command = format!(
        "ulimit -v 300000; MALLOC_ARENA_MAX=1 exec {} run s.toml --no-baseline --out out --threads 2",
        env!("CARGO_BIN_EXE_anabranch")
    );
    let output = std::process::Command::new("sh").args(["-c", &command]).current_dir(place.path()).output();
    let ended = Ended::from(output.unwrap()).expect(1);
    assert!(ended.stderr.contains("12 of 12 runs failed; what there is was written to "), "{}", ended.stderr);
    let names = place.results();
    assert!(names.len() == 1 && names[0].ends_with("-partial"), "{names:?}");
    let folder = place.path().join("out").join(&names[0]);
    let set = ResultSet::open(&folder).unwrap();
    assert!(set.series.is_empty() && set.filed.len() == 12);
    let points: usize = set
        .filed
        .iter()
        .flat_map(|run| run.points("queue_depth_bytes").unwrap())
        .map(|curve| curve.points.len())
        .sum();
    assert!(points > 3_000_000, "{points}");
    assert!(!folder.join(".spool").exists());
}

fn page(folder: &Path) -> String {
    fs::read_to_string(folder.join("report.html")).unwrap()
}

/// The page without the line that contains the command and the date.
fn page_except_provenance(folder: &Path) -> String {
    let page = page(folder);
    let (before, line) = page.split_once("<p class=\"sub provenance\">").unwrap();
    let (line, after) = line.split_once("</p>").unwrap();
    assert!(
        line.contains("seeds 1, 2 · digest of the results <code>")
            && line.contains("<code>anabranch run s.toml"),
        "{line}"
    );
    before.to_owned() + after
}

fn folder(place: &Place, args: &[&str]) -> std::path::PathBuf {
    let ended = place.run(args).expect(0);
    place.path().join(ended.json()["folder"].as_str().unwrap())
}

#[test]
fn results_and_page_are_the_same_on_any_number_of_threads() {
    let place = Place::new();
    let more = "[sweep]\n\"workload.bytes\" = [\"10KB\", \"200KB\"]\n";
    let text = edited("seeds = [1]", "seeds = [1, 2]");
    place.write("s.toml", format!("{text}{}{more}", measure("500ns")));
    let run = |threads: &str, out: &str| {
        folder(&place, &["run", "s.toml", "--fresh", "--json", "--threads", threads, "--out", out])
    };
    let folders = [run("1", "one"), run("2", "two"), run("2", "again")];
    let [first, others @ ..] = folders.each_ref().map(|folder| {
        let mut set = ResultSet::read(folder).unwrap();
        set.runs.iter_mut().for_each(|run| run.wall_s = 0.0);
        let names = ["series.parquet", "flows.parquet", "jobs.parquet", "parts.parquet", "scenario.toml"];
        (set, names.map(|name| fs::read(folder.join(name)).unwrap()), page_except_provenance(folder))
    });
    assert!(first.0.series.is_sorted_by_key(|row: &SeriesRow| row.run));
    assert!(first.0.series.len() > 1000);
    for other in others {
        assert_eq!(first.0, other.0);
        assert!(first.1 == other.1, "the bytes of a file differ");
        assert!(first.2 == other.2, "the pages differ");
    }
    let drawn = page(&folders[0]);
    place.run(&["report", folders[0].to_str().unwrap()]).expect(0);
    assert!(page(&folders[0]) == drawn, "the page that was drawn again differs");
    let opened = ResultSet::open(&folders[0]).unwrap();
    let points = |filed: &anabranch_results::FiledCurves| {
        let curves = filed.points("queue_depth_bytes").unwrap();
        curves.into_iter().flat_map(|curve| curve.points).collect::<Vec<_>>()
    };
    let filed: Vec<(u64, f64)> = opened.filed.iter().flat_map(points).collect();
    let held: Vec<(u64, f64)> = first.0.series.iter().map(|row| (row.time_ps, row.value)).collect();
    assert!(filed == held);
}

/// If the program is killed while new results replace old ones, the next command finds complete results and no other
/// files remain.
#[cfg(unix)]
#[test]
fn a_kill_between_two_renames_loses_nothing() {
    for (stop, next) in [
        ("between-renames", &["run", "s.toml", "--out", "out"][..]),
        ("between-renames", &["report", "FOLDER"]),
        ("after-renames", &["run", "s.toml", "--out", "out"]),
        ("after-renames", &["run", "s.toml", "--out", "out", "--fresh"]),
    ] {
        let place = Place::new();
        place.write("s.toml", SMALL);
        let folder = folder(&place, &["run", "s.toml", "--out", "out", "--json"]);
        let before = ResultSet::read(&folder).unwrap();
        let mut command = place.command(&["run", "s.toml", "--out", "out", "--fresh"]);
        let mut child = command.env("ANABRANCH_STOP_AT", stop).spawn().unwrap();
        let replaced = |place: &Place| place.results().iter().any(|name| name.starts_with(".replaced-"));
        while !replaced(&place) || (stop == "after-renames" && !folder.exists()) {
            assert!(child.try_wait().unwrap().is_none(), "it went through");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(folder.exists(), stop == "after-renames");
        let name = folder.strip_prefix(place.path()).unwrap().to_str().unwrap();
        let next: Vec<&str> = next.iter().map(|arg| if *arg == "FOLDER" { name } else { arg }).collect();
        let ended = place.run(&next).expect(0);
        assert_eq!(ended.stderr.contains("simulated before"), next == ["run", "s.toml", "--out", "out"]);
        if next[0] == "report" && stop == "after-renames" {
            continue;
        }
        assert_eq!(place.results(), [folder.file_name().unwrap().to_str().unwrap()], "{stop}, {next:?}");
        let after = ResultSet::read(&folder).unwrap();
        let digests = |set: &ResultSet| set.runs.iter().map(|run| run.digest.clone()).collect::<Vec<_>>();
        assert_eq!(digests(&before), digests(&after));
    }
}
