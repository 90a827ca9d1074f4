//! Instructions per packet-hop: the cost of the packet path. Callgrind counts the instructions, so the result does
//! not have the noise of a clock.

use crate::{cargo, compiler, is_available, step};
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

const FILE: &str = "xtask/instructions.toml";
const HEAD: &str = "\
# Instructions per packet-hop of a release build, by callgrind. `cargo xtask instructions` fails when one is 3 % above;
# `cargo xtask instructions --record` writes them anew.
";

/// The fraction by which a cost may grow.
const TOLERANCE: f64 = 0.03;

/// The cases of `anabranch bench`, shortened. Cases that differ only in the number of hosts are left out. Such cases
/// differ in cache misses, but they execute the same code, so their instruction counts are alike.
pub const CASES: [(&str, &str, &str); 8] = [
    ("perm128", "128", "reps"),
    ("perm128", "128", "ops"),
    ("perm128", "128", "rocev2"),
    ("perm128", "128", "strack"),
    ("perm128", "128", "themis-spraying"),
    ("perm128", "128", "dcp"),
    ("perm131072", "128", "reps"),
    ("perm131072", "128", "ops"),
];

/// The bytes of a message in the two runs of each case. The difference between the two costs does not contain the
/// fixed cost of a run.
const BYTES: [&str; 2] = ["131072", "1048576"];

/// The stored costs, and the compiler that built the measured program.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    compiler: String,
    per_hop: BTreeMap<String, f64>,
}

/// Counts the instructions, and fails if a cost has grown by more than [`TOLERANCE`] or is not stored. Without
/// valgrind, or if the stored costs are of another compiler, the function prints that it skips the check.
pub fn check(root: &Path) -> Result<()> {
    let text = std::fs::read_to_string(root.join(FILE))
        .with_context(|| format!("{FILE} cannot be read; write: cargo xtask instructions --record"))?;
    let stored: Stored = toml::from_str(&text).context(FILE)?;
    let here = compiler::version()?;
    if stored.compiler != here {
        println!("SKIPPED: {FILE} is of {}, and this is {here}", stored.compiler);
        return Ok(());
    }
    let Some(counted) = count(root)? else { return Ok(()) };
    let grown = grown(&stored.per_hop, &counted);
    if !grown.is_empty() {
        bail!("instructions per packet-hop ({FILE}):\n  {}", grown.join("\n  "));
    }
    Ok(())
}

pub fn record(root: &Path) -> Result<()> {
    let Some(counted) = count(root)? else { return Ok(()) };
    let mut text = format!("{HEAD}compiler = {:?}\n\n[per_hop]\n", compiler::version()?);
    for (case, per_hop) in counted {
        let _ = writeln!(text, "{case:?} = {per_hop:.1}");
    }
    std::fs::write(root.join(FILE), text).with_context(|| format!("{FILE} cannot be written"))
}

/// The instructions per packet-hop of the cases. None without valgrind.
fn count(root: &Path) -> Result<Option<BTreeMap<String, f64>>> {
    if !is_available("valgrind") {
        println!("SKIPPED: instructions per packet-hop: there is no valgrind");
        return Ok(None);
    }
    step(cargo(root).args(["build", "--release", "--package", "anabranch-cli"]))?;
    let target = crate::edges::read(root)?.target_directory;
    let program = target.join("release/anabranch");
    let mut counted = BTreeMap::new();
    for (case, hosts, scheme) in CASES {
        let [few, many] = BYTES.map(|bytes| run(program.as_std_path(), &[case, scheme, "1", hosts, bytes]));
        let (few, many) = (few?, many?);
        let per_hop = (many.instructions - few.instructions) as f64 / (many.hops - few.hops) as f64;
        println!("{case:10} {scheme:15} {per_hop:7.1} instructions per packet-hop");
        counted.insert(format!("{case} {scheme}"), per_hop);
    }
    Ok(Some(counted))
}

struct Counted {
    instructions: u64,
    hops: u64,
}

fn run(program: &Path, case: &[&str]) -> Result<Counted> {
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .arg("bench-case")
        .args(case);
    let output = command.output().context("valgrind did not start")?;
    let said = String::from_utf8_lossy(&output.stderr);
    let printed = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        bail!("{case:?} failed under callgrind: {said}");
    }
    let of = |text: &str, before: &str| {
        number_after(text, before).with_context(|| format!("no {before:?} in {text}"))
    };
    Ok(Counted { instructions: of(&said, "Collected :")?, hops: of(&printed, "\"packet_hops\":")? })
}

fn number_after(text: &str, before: &str) -> Option<u64> {
    let rest = text.split_once(before)?.1.trim_start();
    rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())].parse().ok()
}

/// The cases whose cost exceeds the stored cost by more than [`TOLERANCE`], or that have no stored cost.
fn grown(stored: &BTreeMap<String, f64>, counted: &BTreeMap<String, f64>) -> Vec<String> {
    let mut wrong = Vec::new();
    for (case, now) in counted {
        match stored.get(case) {
            None => wrong.push(format!("{case} is not stored; write: cargo xtask instructions --record")),
            Some(before) if *now > before * (1.0 + TOLERANCE) => {
                let percent = 100.0 * (now / before - 1.0);
                wrong.push(format!("{case}: {now:.1}, stored {before:.1}: {percent:.1} % more"));
            }
            Some(_) => {}
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_that_grew_by_more_than_three_percent_is_named() {
        let costs =
            |all: &[(&str, f64)]| all.iter().map(|(case, cost)| ((*case).to_owned(), *cost)).collect();
        let stored = costs(&[("a", 300.0), ("b", 300.0), ("c", 300.0)]);
        let found = grown(&stored, &costs(&[("a", 308.9), ("b", 309.1), ("c", 200.0), ("d", 1.0)]));
        let expected = [
            "b: 309.1, stored 300.0: 3.0 % more",
            "d is not stored; write: cargo xtask instructions --record",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn counts_are_read_from_what_the_programs_print() {
        assert_eq!(number_after("==1== Collected : 1234\n==1==\n", "Collected :"), Some(1234));
        assert_eq!(number_after("{\"threads\":1,\"packet_hops\":56,\"x\":1}", "\"packet_hops\":"), Some(56));
        assert_eq!(number_after("", "Collected :"), None);
    }
}
