//! `anabranch bench`: the simulator's own speed and memory, on one thread or several.

use crate::args::BenchArgs;
use crate::clock;
use crate::failure::{Failure, did_you_mean, reason};
use crate::output::{note, print, print_json};
use anabranch_sim::Control;
use anabranch_sim::scenario::{Files, Overrides, read};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::process::{Command, Stdio};

/// A benchmark case: a permutation on a fat tree with links of 400 Gb/s and 1 us.
struct Case {
    name: &'static str,
    hosts: u32,
    tiers: u32,
    /// The size of a message.
    bytes: &'static str,
    /// The schemes of the case, unless other schemes are requested.
    schemes: &'static [&'static str],
}

const CASES: &[Case] = &[
    Case { name: "perm128", hosts: 128, tiers: 2, bytes: "16MiB", schemes: BOTH },
    Case { name: "perm1024", hosts: 1024, tiers: 2, bytes: "8MiB", schemes: SCHEMES },
    Case { name: "perm8192", hosts: 8192, tiers: 2, bytes: "2MB", schemes: BOTH },
    Case { name: "perm131072", hosts: 131_072, tiers: 3, bytes: "256KB", schemes: BOTH },
];
const BOTH: &[&str] = &["reps", "ops"];
const SCHEMES: &[&str] = &["reps", "ops", LOSSLESS, "strack", "themis-spraying", "dcp"];
/// The setup of each scheme in [`SCHEMES`], in the same order.
const SETUPS: &[&str] =
    &["reps-paper", "reps-paper", "strack-paper", "strack-paper", "themis-spraying-paper", "dcp-paper"];
/// The case in which the time per hop of a lossless scheme is compared with the time per hop of a lossy scheme.
const COMPARED: &str = "perm1024";
const LOSSY: &str = "reps";
const LOSSLESS: &str = "rocev2";

#[derive(Debug, Serialize, Deserialize)]
struct Measured {
    case: String,
    scheme: String,
    threads: u16,
    packet_hops: u64,
    wall_s: f64,
    packet_hops_per_s: f64,
    ns_per_hop: f64,
    peak_rss_bytes: Option<u64>,
}

/// Runs each chosen case with each of its schemes and each number of threads, and prints the measurements. Each run has
/// a process of its own.
///
/// # Errors
/// An unknown case, an unknown scheme, a run that failed, or a standard output that cannot be written.
pub fn bench(args: &BenchArgs) -> Result<(), Failure> {
    let pairs = chosen(&args.cases, &args.schemes)?;
    let mut rows = Vec::new();
    if !args.json {
        print(&format!(
            "{:10} {:15} {:>7} {:>14} {:>9} {:>16} {:>10} {:>12}\n",
            "case",
            "scheme",
            "threads",
            "packet-hops",
            "wall s",
            "packet-hops/s",
            "ns per hop",
            "peak memory"
        ))?;
    }
    for (case, scheme) in pairs {
        for &threads in &args.threads {
            let measured = in_a_process(case, scheme, threads)?;
            if args.json {
                note(&format!("{case} {scheme}, threads: {threads}: {:.2} s", measured.wall_s));
            } else {
                print(&line(&measured))?;
            }
            rows.push(measured);
        }
    }
    if args.json {
        return print_json(&json!({ "cases": rows }));
    }
    lossless_to_lossy(&rows).map_or(Ok(()), |text| print(&text))
}

/// Runs one case in this process and prints one line of JSON. A number of hosts or bytes in `sizes` replaces that of
/// the case.
///
/// # Errors
/// An unknown case, an unknown scheme, a run that failed, or a standard output that cannot be written.
pub fn case_alone(
    case: &str,
    scheme: &str,
    threads: u16,
    sizes: (Option<u32>, Option<u64>),
) -> Result<(), Failure> {
    let known = CASES.iter().find(|known| known.name == case);
    let case = known.ok_or_else(|| Failure::Input(format!("unknown case {case:?}")))?;
    let setup = SCHEMES.iter().zip(SETUPS).find(|(known, _)| **known == scheme).map(|(_, setup)| *setup);
    let setup = setup.ok_or_else(|| Failure::Input(format!("unknown bench scheme {scheme:?}")))?;
    let text = format!(
        "title = \"{}\"\nschemes = [\"{scheme}\"]\nsetup = \"{setup}\"\nseeds = [1]\n\
         [topology]\nkind = \"fat-tree\"\nhosts = {}\ntiers = {}\nlink = \"400Gbps\"\n\
         link_latency = \"1us\"\nswitch_latency = \"0ns\"\n\
         [workload]\nkind = \"permutation\"\nbytes = \"{}\"\n",
        case.name,
        sizes.0.unwrap_or(case.hosts),
        case.tiers,
        sizes.1.map_or(case.bytes.to_owned(), |bytes| format!("{bytes}B"))
    );
    let scenario = read(case.name, &text, &NoFiles, &Overrides::default())?;
    let points = scenario.points()?;
    let begin = clock::now();
    let control = Control { threads: threads.into(), ..Control::default() };
    let result = anabranch_sim::run(&points[0], &control)
        .map_err(|error| Failure::Run(format!("{} with {scheme}: {error}", case.name)))?;
    let wall_s = begin.elapsed().as_secs_f64();
    let packet_hops = result.run.packet_hops;
    let measured = Measured {
        case: case.name.to_owned(),
        scheme: scheme.to_owned(),
        threads,
        packet_hops,
        wall_s,
        packet_hops_per_s: packet_hops as f64 / wall_s,
        ns_per_hop: wall_s * 1e9 / packet_hops as f64,
        peak_rss_bytes: peak_memory(),
    };
    print(&format!("{}\n", json!(measured)))
}

fn chosen(cases: &[String], schemes: &[String]) -> Result<Vec<(&'static str, &'static str)>, Failure> {
    let names: Vec<&'static str> = CASES.iter().map(|case| case.name).collect();
    let cases = known_names("case", cases, &names)?;
    let schemes = known_names("bench scheme", schemes, SCHEMES)?;
    let cases: Vec<&Case> = match cases[..] {
        [] => CASES.iter().collect(),
        _ => cases.iter().filter_map(|name| CASES.iter().find(|case| case.name == *name)).collect(),
    };
    let of_case = |case: &&'static Case| {
        let schemes = if schemes.is_empty() { case.schemes } else { &schemes[..] };
        schemes.iter().map(|scheme| (case.name, *scheme)).collect::<Vec<_>>()
    };
    Ok(cases.iter().flat_map(of_case).collect())
}

fn known_names(what: &str, wanted: &[String], known: &[&'static str]) -> Result<Vec<&'static str>, Failure> {
    if let Some(unknown) = wanted.iter().find(|name| !known.contains(&name.as_str())) {
        let hint = did_you_mean(unknown, known.iter().copied());
        return Err(Failure::Input(format!(
            "unknown {what} {unknown:?}{hint}\n  help: there are {}",
            known.join(", ")
        )));
    }
    Ok(wanted.iter().filter_map(|name| known.iter().copied().find(|known| known == name)).collect())
}

fn lossless_to_lossy(rows: &[Measured]) -> Option<String> {
    let with = |scheme| rows.iter().find(|row| row.case == COMPARED && row.scheme == scheme);
    let (lossless, lossy) = (with(LOSSLESS)?, with(LOSSY)?);
    let ratio = lossless.ns_per_hop / lossy.ns_per_hop;
    Some(format!(
        "\n{COMPARED}: a lossless hop ({LOSSLESS}) takes {ratio:.2} times as long as a lossy one ({LOSSY}).\n"
    ))
}

fn in_a_process(case: &str, scheme: &str, threads: u16) -> Result<Measured, Failure> {
    let failed = |why: String| Failure::Run(format!("{case} with {scheme}: {why}"));
    let program = std::env::current_exe().map_err(|error| failed(reason(&error)))?;
    let child = Command::new(program)
        .args(["bench-case", case, scheme, &threads.to_string()])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| failed(reason(&error)))?;
    if !child.status.success() {
        return Err(failed(format!("ended with {}", child.status)));
    }
    serde_json::from_slice(&child.stdout)
        .map_err(|error| failed(format!("said something unexpected: {error}")))
}

fn line(row: &Measured) -> String {
    let peak =
        row.peak_rss_bytes.map_or("unknown".to_owned(), |bytes| format!("{:.0} MB", bytes as f64 / 1e6));
    format!(
        "{:10} {:15} {:>7} {:>14} {:>9.2} {:>14.2} M {:>10.1} {:>12}\n",
        row.case,
        row.scheme,
        row.threads,
        row.packet_hops,
        row.wall_s,
        row.packet_hops_per_s / 1e6,
        row.ns_per_hop,
        peak
    )
}

/// The peak resident memory of this process in bytes, if the operating system reports it.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _: &str) -> Result<String, String> {
        Err("bench cases name no files".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(cases: &[&str], schemes: &[&str]) -> Vec<(&'static str, &'static str)> {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        chosen(&owned(cases), &owned(schemes)).unwrap()
    }

    #[test]
    fn a_case_has_its_schemes_unless_others_are_asked_for() {
        assert_eq!(
            pairs(&[], &[]),
            [
                ("perm128", "reps"),
                ("perm128", "ops"),
                ("perm1024", "reps"),
                ("perm1024", "ops"),
                ("perm1024", "rocev2"),
                ("perm1024", "strack"),
                ("perm1024", "themis-spraying"),
                ("perm1024", "dcp"),
                ("perm8192", "reps"),
                ("perm8192", "ops"),
                ("perm131072", "reps"),
                ("perm131072", "ops"),
            ]
        );
        assert_eq!(pairs(&["perm128"], &["rocev2"]), [("perm128", "rocev2")]);
        assert_eq!(
            pairs(&["perm8192", "perm128"], &["ops", "reps"]),
            [("perm8192", "ops"), ("perm8192", "reps"), ("perm128", "ops"), ("perm128", "reps")]
        );
        let error = chosen(&[], &["rocv2".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("unknown bench scheme \"rocv2\"") && error.contains("rocev2"), "{error}");
    }

    #[test]
    fn the_ratio_is_that_of_the_time_a_hop() {
        let row = |case: &str, scheme: &str, ns_per_hop| Measured {
            case: case.to_owned(),
            scheme: scheme.to_owned(),
            threads: 1,
            packet_hops: 1,
            wall_s: 1.0,
            packet_hops_per_s: 1.0,
            ns_per_hop,
            peak_rss_bytes: None,
        };
        let rows =
            [row("perm128", "reps", 50.0), row("perm1024", "reps", 100.0), row("perm1024", "rocev2", 175.0)];
        let text = lossless_to_lossy(&rows).unwrap();
        assert!(text.contains("(rocev2) takes 1.75 times as long as a lossy one (reps)"), "{text}");
        assert_eq!(lossless_to_lossy(&rows[..2]), None);
    }
}
