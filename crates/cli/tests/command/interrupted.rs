//! Tests of runs that do not finish, folders that cannot be written, and readers that close the pipe.

use crate::common::{Ended, Place, SMALL, edited};
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const LONG: &str = "bytes = \"20GB\"";

#[test]
fn a_run_that_cannot_finish_names_its_flows() {
    let place = Place::new();
    place.write(
        "s.toml",
        format!("{SMALL}\n[[fault]]\nkind = \"link-down\"\nlinks = \"all\"\nat = \"1us\"\n"),
    );
    let ended = place.run(&["run", "s.toml", "--out", "out", "--json"]).expect(1);
    for text in ["run reps, seed 1: stalled", "flow 0 (host 0 -> host", "2 of 4 runs failed", "-partial"] {
        assert!(ended.stderr.contains(text), "no {text:?} in:\n{}", ended.stderr);
    }
    let document = ended.json();
    assert_eq!(document["failed"][1]["scheme"], "ops");
    let failed = &document["failed"][0];
    let (text, cause) = (failed["error"].as_str().unwrap(), &failed["cause"]);
    assert!(text.starts_with("stalled at ") && cause["kind"] == "stalled", "{failed}");
    assert!(cause["at_us"].is_f64() && cause["unfinished"].as_u64() > Some(0), "{cause}");
    assert!(text.contains(cause["flows"][0].as_str().unwrap()), "{failed}");
    assert!(text.ends_with(cause["help"][0].as_str().unwrap()), "{failed}");
    assert!(document["runs"][0]["flows_finished"].as_u64().unwrap() < 16);
    let names = place.results();
    assert!(names.len() == 1 && names[0].ends_with("-partial"), "{names:?}");
    // A failed run is not reused as a result by the next command.
    place.run(&["run", "s.toml", "--out", "out"]).expect(1);
}

#[test]
fn advice_on_failed_runs_is_given_once() {
    let place = Place::new();
    let fault = "[[fault]]\nkind = \"link-down\"\nlinks = \"tor:0/up:0\"\nat = \"0us\"\n";
    place.write("s.toml", format!("{SMALL}\n{fault}").replace("[\"reps\", \"ops\"]", "[\"ecmp\"]"));
    let ended = place.run(&["run", "s.toml", "--seed", "1,2,3", "--out", "out"]).expect(1);
    let count = |text: &str| ended.stderr.matches(text).count();
    assert!(count("error: run ecmp, seed ") > 1, "{}", ended.stderr);
    assert_eq!(count("  help: \"tor:0/up:0\" is down from the start for good"), 1, "{}", ended.stderr);
}

#[test]
fn runs_that_finished_are_kept_when_another_fails() {
    let place = Place::new();
    let sweep = "[sweep]\n\"workload.bytes\" = [\"10KB\", \"10MB\"]\n[limits]\nmax_time = \"20us\"\n";
    place.write("s.toml", format!("{SMALL}\n{sweep}"));
    let ended = place.run(&["run", "s.toml", "--scheme", "reps", "--out", "out", "--json"]).expect(1);
    assert!(ended.stderr.contains("workload.bytes = 10MB: reached limits.max_time"), "{}", ended.stderr);
    let document = ended.json();
    assert_eq!(document["runs"][0]["flows_finished"], 16);
    assert_eq!(document["failed"].as_array().unwrap().len(), 1);
    let cause = &document["failed"][0]["cause"];
    assert_eq!((&cause["kind"], &cause["limit"]), (&"limit".into(), &"max_time".into()), "{cause}");
    let folder = document["folder"].as_str().unwrap();
    assert!(folder.ends_with("-partial"), "{folder}");
    let report = place.run(&["report", folder]).expect(0);
    assert!(finished_16(&report.stdout), "{}", report.stdout);
}

fn finished_16(table: &str) -> bool {
    table.lines().any(|line| line.split_whitespace().take(3).eq(["reps", "10KB", "16"]))
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_what_is_finished() {
    let place = Place::new();
    let sweep = "[sweep]\n\"workload.bytes\" = [\"10KB\", \"20GB\"]\n[limits]\nmax_time = \"100s\"\n";
    place.write("s.toml", format!("{}\n{sweep}", edited("\"reps\", \"ops\"", "\"reps\"")));
    let ended = interrupted(&place, Duration::from_secs(4)).expect(130);
    assert!(ended.stderr.contains("interrupted after 1 of 2 runs"), "{}", ended.stderr);
    assert!(ended.stderr.contains("-partial"), "{}", ended.stderr);
    let names = place.results();
    assert!(names.len() == 1 && names[0].ends_with("-partial"), "{names:?}");
    assert!(finished_16(&ended.stdout), "{}", ended.stdout);
}

#[cfg(unix)]
#[test]
fn the_next_time_goes_on_from_what_is_finished() {
    let place = Place::new();
    let sweep = "[sweep]\n\"workload.bytes\" = [\"10KB\", \"1GB\"]\n[limits]\nmax_time = \"100s\"\n";
    place.write("s.toml", format!("{}\n{sweep}", edited("\"reps\", \"ops\"", "\"reps\"")));
    let whole = |place: &Place, out: &str| {
        place.run(&["run", "s.toml", "--out", out, "--json", "--threads", "1"]).expect(0)
    };
    // The first run must have ended, and the second must still be running. The right moment depends on the speed of the
    // machine.
    let mut then = Duration::from_millis(400);
    while !interrupted(&place, then).stderr.contains("interrupted after 1 of 2 runs") {
        let too_late = place.results().iter().any(|name| !name.ends_with("-partial"));
        then = if too_late { then / 2 } else { then * 2 };
        assert!((Duration::from_millis(5)..Duration::from_secs(20)).contains(&then), "no moment is right");
        fs::remove_dir_all(place.path().join("out")).unwrap();
    }
    let second = whole(&place, "out");
    assert!(second.stderr.contains("1 of 2 runs were finished before"), "{}", second.stderr);
    let digests = |ended: &Ended| [0, 1].map(|run| ended.json()["runs"][run]["digest"].to_string());
    assert_eq!(digests(&second), digests(&whole(&place, "other")));
    let left: Vec<_> =
        fs::read_dir(place.path().join("out")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(left.len() == 1 && !left[0].to_string_lossy().ends_with("-partial"), "{left:?}");
}

#[cfg(unix)]
#[test]
fn ctrl_c_before_anything_is_finished_leaves_nothing() {
    let place = Place::new();
    place.write("s.toml", format!("{}\n[limits]\nmax_time = \"100s\"\n", edited("bytes = \"100KB\"", LONG)));
    let ended = interrupted(&place, Duration::from_secs(1)).expect(130);
    assert!(ended.stderr.contains("interrupted after 0 of 2 runs; nothing was written"), "{}", ended.stderr);
    assert_eq!(ended.stdout, "");
    assert!(place.results().is_empty(), "{:?}", place.results());
}

#[cfg(unix)]
#[test]
fn what_a_kill_leaves_goes_with_the_next_run_and_what_is_at_work_stays() {
    let place = Place::new();
    place.write("s.toml", format!("{}\n[limits]\nmax_time = \"100s\"\n", edited("bytes = \"100KB\"", LONG)));
    place.write("short.toml", SMALL);
    let mut child = simulating(&place);
    // The program takes the lock immediately after it has written the file for which `simulating` waits.
    std::thread::sleep(Duration::from_millis(200));
    let unfinished = place.results();
    let folder = place.path().join("out").join(&unfinished[0]);
    let long_ago = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(3600);
    let next = |wanted: &[String]| {
        fs::File::open(&folder).unwrap().set_modified(long_ago).unwrap();
        place.run(&["run", "short.toml", "--out", "out", "--fresh"]).expect(0);
        let left =
            place.results().into_iter().filter(|name| name.starts_with(".unfinished")).collect::<Vec<_>>();
        assert_eq!(left, wanted);
    };
    next(&unfinished);
    child.kill().unwrap();
    child.wait().unwrap();
    next(&[]);
}

/// Starts a long run, waits until its folder has the first file and then for the time `then`, and presses Ctrl-C.
fn interrupted(place: &Place, then: Duration) -> Ended {
    let child = simulating(place);
    std::thread::sleep(then);
    press_ctrl_c(&child);
    child.wait_with_output().unwrap().into()
}

/// The process of a run of `s.toml` that has written the first file of its folder.
fn simulating(place: &Place) -> Child {
    let mut command = place.command(&["run", "s.toml", "--out", "out", "--threads", "1"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = |name: &String| place.path().join("out").join(name).join("made-by.json").exists();
    while !place.results().iter().any(begun) {
        std::thread::sleep(Duration::from_millis(20));
    }
    child
}

fn press_ctrl_c(child: &Child) {
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
}

#[test]
fn a_folder_that_cannot_be_written_is_found_before_simulating() {
    let place = Place::new();
    place.write("s.toml", format!("{}\n[limits]\nmax_time = \"100s\"\n", edited("bytes = \"100KB\"", LONG)));
    place.write("file", "");
    for (folder, says) in [
        ("file", "it is a file, not a folder"),
        ("file/out", "a part of this path is a file"),
        ("/proc/anabranch", "/proc/anabranch"),
    ] {
        let ended = place.run(&["run", "s.toml", "--out", folder]).expect(2);
        assert!(ended.stderr.contains(says), "no {says:?} in:\n{}", ended.stderr);
        assert!(ended.stderr.contains("--out"), "{}", ended.stderr);
        assert_eq!(ended.stdout, "");
    }
}

#[test]
fn a_file_in_the_place_of_the_results_is_left_alone() {
    let place = Place::new();
    place.write("s.toml", SMALL);
    let first = place.run(&["run", "s.toml", "--out", "out", "--json"]).expect(0).json();
    let folder = first["folder"].as_str().unwrap();
    fs::remove_dir_all(place.path().join(folder)).unwrap();
    place.write(folder, "mine");
    let ended = place.run(&["run", "s.toml", "--out", "out"]).expect(2);
    assert!(ended.stderr.contains("it is a file, not a folder"), "{}", ended.stderr);
    assert_eq!(fs::read_to_string(place.path().join(folder)).unwrap(), "mine");
}

/// A small file system, which is unmounted when the value is dropped.
struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    fn mount(at: &'a Path, size: &str) -> Option<SmallDisk<'a>> {
        fs::create_dir_all(at).unwrap();
        let options = format!("size={size},nr_inodes=64");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(at).output();
        mounted.is_ok_and(|output| output.status.success()).then_some(SmallDisk(at))
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}

#[test]
fn a_full_disk_leaves_nothing_half_written() {
    // A disk of 4 KiB cannot hold any results. A disk of 64 KiB can hold the Parquet files, but not the page.
    for size in ["4k", "64k"] {
        let place = Place::new();
        place.write("s.toml", SMALL);
        let out = place.path().join("out");
        let Some(_disk) = SmallDisk::mount(&out, size) else {
            println!("skipped: no small file system can be mounted here");
            return;
        };
        let ended = place.run(&["run", "s.toml", "--out", "out"]).expect(2);
        assert!(ended.stderr.contains("the disk is full"), "{}", ended.stderr);
        assert!(ended.stderr.contains("out"), "{}", ended.stderr);
        assert!(place.results().is_empty(), "{:?}", place.results());
        assert_eq!(ended.stdout, "");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn standard_output_that_cannot_be_written_is_told() {
    let place = Place::new();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = place.command(&["list", "schemes"]);
    let ended = Ended::from(command.stdout(full).output().unwrap()).expect(2);
    assert!(
        ended.stderr.contains("standard output: cannot be written: the disk is full"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_reader_that_went_away_is_no_fault() {
    let place = Place::new();
    place.write("s.toml", SMALL);
    for args in [&["list", "schemes"][..], &["check", "s.toml", "--json"]] {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let mut command = place.command(args);
        let ended = Ended::from(command.stdout(writer).output().unwrap()).expect(0);
        assert_eq!(ended.stderr, "");
    }
}
