//! `anabranch run --astra DIR`: every example of a folder of ASTRA-sim, as scenarios.
//!
//! An example is a network and a workload with the same number of NPUs, or a network without such a workload. The
//! system configuration of a network is the file with the network's name, apart from the extension. Without such a
//! file, it is a file with the network's number of dimensions: preferably one whose name begins with the same word as
//! the network's name, and if there is none, one whose name does not contain `custom`. Topologies of ns-3 take their
//! dimensions from files of logical dimensions.
//!
//! Each system configuration that no example uses, and each file of groups of ranks, has an additional example with
//! the first network and workload that fit, if any fit.

use super::simulate::scenario;
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::source::{self, ScenarioText};
use anabranch_results::Statistic;
use anabranch_sim::scenario::Overrides;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The files of a folder, by their use. All names are relative to the folder.
#[derive(Debug, Default)]
struct Files {
    /// Networks of the analytical backends, each with the NPUs of its dimensions.
    networks: Vec<(String, Vec<u64>)>,
    /// Topologies of ns-3, each with its number of hosts.
    graphs: Vec<(String, u64)>,
    /// Files of logical dimensions, each with the NPUs of its dimensions.
    dims: Vec<(String, Vec<u64>)>,
    /// System configurations, each with its number of dimensions.
    systems: Vec<(String, usize)>,
    /// Traces of Chakra without the part `.RANK.et` of their names, each with its number of ranks.
    workloads: Vec<(String, u64)>,
    /// Files of groups of ranks, each with the highest rank plus one.
    groups: Vec<(String, u64)>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Example {
    network: String,
    /// The file of the logical dimensions, for a topology of ns-3.
    dims: Option<String>,
    system: Option<String>,
    groups: Option<String>,
    workload: Option<String>,
    npus: u64,
}

/// Runs every example below `folder`, and prints the collective completion times (CCTs) of each example, or the reason
/// why the example has none.
///
/// # Errors
/// A folder that cannot be read, or that has no network or no workload. An unknown scheme, Ctrl-C, or output that
/// cannot be written.
pub fn run(folder: &Path, args: &RunArgs) -> Result<(), Failure> {
    let files = Files::of(folder)?;
    let examples = files.examples();
    if examples.is_empty() || files.workloads.is_empty() {
        return Err(without_examples(folder, examples.is_empty()));
    }
    check_schemes(args)?;
    let rows: Vec<[String; 4]> = examples.iter().map(Example::row).collect();
    let widths = widths(&rows);
    if !args.output.json {
        print(&line(&HEADS, &widths, "CCT in us, or why not"))?;
    }
    let mut documents = Vec::new();
    for (number, (example, row)) in examples.iter().zip(&rows).enumerate() {
        let outcome = simulated(folder, example, args)?;
        if let Outcome::Interrupted = outcome {
            let all = examples.len();
            return Err(Failure::Interrupted(format!(
                "interrupted after {number} of {all} examples; the results of those that ended are in {}, and the next \
                 run takes them from there",
                args.output.folder.display()
            )));
        }
        match args.output.json {
            true => documents.push(example.json(&outcome)),
            false => print(&line(&row.each_ref().map(String::as_str), &widths, &outcome.text()))?,
        }
    }
    match args.output.json {
        true => print_json(&json!(documents)),
        false => Ok(()),
    }
}

fn without_examples(folder: &Path, no_network: bool) -> Failure {
    let lacks = if no_network { "network" } else { "workload" };
    let message = format!("{}: there is no {lacks} of ASTRA-sim in this folder", folder.display());
    let above = folder.canonicalize().ok().and_then(|folder| Some(folder.parent()?.to_owned()));
    let help = match above.filter(|above| above.join("workload").is_dir() && above.join("network").is_dir()) {
        Some(above) => format!("--astra {}, which has networks and workloads", above.display()),
        None => {
            "name a folder such as ASTRA-sim's examples, with network, workload and system in it".to_owned()
        }
    };
    Failure::Input(format!("{message}\n  help: {help}"))
}

/// Refuses schemes that do not exist, before any example runs.
fn check_schemes(args: &RunArgs) -> Result<(), Failure> {
    const SMALL: &str = "schemes = [\"reps\"]\n[topology]\nkind = \"single-switch\"\nhosts = 2\nlink = \"100Gbps\"\n\
                         [workload]\nkind = \"permutation\"\nbytes = \"1KB\"\n";
    let written = ScenarioText::in_folder("schemes", SMALL.to_owned(), Path::new("."));
    source::load(&written, &overrides(args)).map(drop)
}

fn overrides(args: &RunArgs) -> Overrides {
    Overrides { schemes: args.schemes.clone(), seeds: args.seeds.clone(), ..Overrides::default() }
}

const HEADS: [&str; 4] = ["network", "workload", "system", "NPUs"];

/// The width of each column but the last one.
fn widths(rows: &[[String; 4]]) -> [usize; 4] {
    std::array::from_fn(|column| {
        let of_rows = rows.iter().map(|row| row[column].chars().count());
        of_rows.chain([HEADS[column].len()]).max().unwrap_or(0)
    })
}

/// A row, in which each cell but the last one is padded to the width of its column.
fn line(row: &[&str; 4], widths: &[usize; 4], last: &str) -> String {
    let cells: String = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}  ")).collect();
    format!("{cells}{last}\n")
}

enum Outcome {
    /// For each run, the scheme, the seed and the largest CCT in microseconds.
    Ccts(Vec<(String, u64, f64)>),
    /// The reason why the example has no CCT.
    Refused(String),
    /// Ctrl-C ended the example.
    Interrupted,
}

impl Outcome {
    fn text(&self) -> String {
        match self {
            Outcome::Ccts(ccts) => {
                let several = ccts.iter().any(|(_, seed, _)| *seed != ccts[0].1);
                let each = ccts.iter().map(|(name, seed, cct)| match several {
                    true => format!("{name} (seed {seed}) {cct:.2}"),
                    false => format!("{name} {cct:.2}"),
                });
                each.collect::<Vec<_>>().join(", ")
            }
            Outcome::Refused(reason) => reason.clone(),
            Outcome::Interrupted => "interrupted".to_owned(),
        }
    }
}

fn simulated(folder: &Path, example: &Example, args: &RunArgs) -> Result<Outcome, Failure> {
    let Some(text) = example.scenario() else {
        return Ok(Outcome::Refused(format!("the folder has no workload of {} NPUs", example.npus)));
    };
    let written = ScenarioText::in_folder(&example.name(), text, folder);
    let done = source::load(&written, &overrides(args))
        .and_then(|prepared| scenario(&prepared, false, &args.output));
    match done {
        Ok(done) if done.interrupted => Ok(Outcome::Interrupted),
        Ok(done) => {
            let of = |run: &anabranch_results::RunRow| {
                Some((run.scheme.clone(), run.seed, run.number("cct_max_us")?))
            };
            Ok(match done.verdict() {
                Ok(()) => Outcome::Ccts(done.results.runs.iter().filter_map(of).collect()),
                Err(failure) => Outcome::Refused(failure.to_string()),
            })
        }
        Err(failure @ (Failure::Input(_) | Failure::Diagnosed(_))) => {
            Ok(Outcome::Refused(failure.to_string().lines().next().unwrap_or_default().to_owned()))
        }
        Err(other) => Err(other),
    }
}

impl Example {
    fn name(&self) -> String {
        let parts = [Some(&self.network), self.workload.as_ref(), self.system.as_ref(), self.dims.as_ref()];
        let parts = parts.into_iter().flatten().map(|file| stem(file));
        parts.collect::<Vec<_>>().join("-")
    }

    fn row(&self) -> [String; 4] {
        let system = [&self.system, &self.dims, &self.groups].into_iter().flatten();
        let system = system.map(|file| stem(file)).collect::<Vec<_>>().join(", ");
        let workload = self.workload.as_deref().map_or("", |workload| folder_of(workload));
        [stem(&self.network).to_owned(), stem(workload).to_owned(), system, self.npus.to_string()]
    }

    fn scenario(&self) -> Option<String> {
        let workload = self.workload.as_ref()?;
        let kind = if self.dims.is_some() { "kind = \"graph\"\n" } else { "" };
        let key = |key: &str, file: &Option<String>| {
            file.as_ref().map_or_else(String::new, |f| format!("{key} = {f:?}\n"))
        };
        let (system, dims, groups) =
            (key("system", &self.system), key("dims", &self.dims), key("comm_groups", &self.groups));
        Some(format!(
            "schemes = [\"reps\"]\nseeds = [1]\n[topology]\n{kind}file = {:?}\n[workload]\nkind = \"trace\"\nformat = \
             \"chakra\"\nfile = {workload:?}\n{system}{dims}{groups}",
            self.network
        ))
    }

    fn json(&self, outcome: &Outcome) -> Value {
        let (ccts, reason) = match outcome {
            Outcome::Ccts(ccts) => (Some(ccts), None),
            other => (None, Some(other.text())),
        };
        let mean = |name: &str, all: &[(String, u64, f64)]| {
            let of_it: Vec<f64> = all.iter().filter(|(of, ..)| of == name).map(|(_, _, cct)| *cct).collect();
            Statistic::Mean.of(&of_it)
        };
        let means = ccts.map(|all| {
            let each = all.iter().map(|(name, ..)| (name.clone(), mean(name, all.as_slice())));
            each.collect::<BTreeMap<_, _>>()
        });
        let runs = ccts.map(|all| {
            let each = all.iter();
            let run = |(scheme, seed, cct): &(String, u64, f64)| json!({ "scheme": scheme, "seed": seed, "cct_us": cct });
            each.map(run).collect::<Vec<Value>>()
        });
        json!({
            "network": self.network,
            "workload": self.workload,
            "system": self.system,
            "dims": self.dims,
            "comm_groups": self.groups,
            "npus": self.npus,
            "scenario": self.scenario(),
            "cct_us": means,
            "runs": runs,
            "reason": reason,
        })
    }
}

impl Files {
    fn of(folder: &Path) -> Result<Files, Failure> {
        let mut names = Vec::new();
        collect(folder, "", &mut names).map_err(|error| {
            let reason = crate::failure::reason(&error);
            Failure::Input(format!(
                "{}: cannot be read: {reason}\n  help: name a folder of ASTRA-sim",
                folder.display()
            ))
        })?;
        names.sort_unstable();
        let mut files = Files::default();
        for name in &names {
            if let Some(workload) = name.strip_suffix(".0.et") {
                let is_there = |rank: &u64| names.binary_search(&format!("{workload}.{rank}.et")).is_ok();
                files.workloads.push((workload.to_owned(), (0..).take_while(is_there).count() as u64));
            }
            if [".yml", ".yaml", ".json", ".txt"].iter().any(|end| name.ends_with(end)) {
                files.add(name, &std::fs::read_to_string(folder.join(name)).unwrap_or_default());
            }
        }
        Ok(files)
    }

    fn add(&mut self, name: &str, text: &str) {
        let name = name.to_owned();
        if name.ends_with(".txt") {
            let first: Vec<u64> = text
                .lines()
                .next()
                .unwrap_or_default()
                .split_whitespace()
                .map_while(|n| n.parse().ok())
                .collect();
            if let [nodes, switches, _] = first[..] {
                self.graphs.push((name, nodes.saturating_sub(switches)));
            }
        } else if let Some(npus) = numbers_after(text, "npus_count") {
            self.networks.push((name, npus));
        } else if let Some(dims) = numbers_after(text, "logical-dims") {
            self.dims.push((name, dims));
        } else if text.contains("-implementation") {
            let list = text
                .split("-implementation")
                .nth(1)
                .unwrap_or_default()
                .split(']')
                .next()
                .unwrap_or_default();
            self.systems.push((name, list.matches(',').count() + 1));
        } else if let Ok(Value::Object(groups)) = serde_json::from_str(text)
            && let Some(last) = groups.values().map(last_rank).collect::<Option<Vec<u64>>>()
        {
            self.groups.extend(last.into_iter().max().map(|last| (name, last + 1)));
        }
    }

    fn examples(&self) -> Vec<Example> {
        let mut examples = Vec::new();
        for (network, npus) in &self.networks {
            let example = Example {
                network: network.clone(),
                system: self.system(network, npus.len()),
                npus: npus.iter().product(),
                ..Example::default()
            };
            self.with_workloads(&example, &mut examples);
        }
        for (dims, of_dims) in &self.dims {
            let npus = of_dims.iter().product();
            let least = self.graphs.iter().map(|(_, hosts)| *hosts).filter(|hosts| *hosts >= npus).min();
            for (network, _) in self.graphs.iter().filter(|(_, hosts)| Some(*hosts) == least) {
                let system = self.system(network, of_dims.len());
                let example = Example {
                    network: network.clone(),
                    dims: Some(dims.clone()),
                    system,
                    npus,
                    ..Example::default()
                };
                self.with_workloads(&example, &mut examples);
            }
        }
        let used: BTreeSet<String> = examples.iter().filter_map(|example| example.system.clone()).collect();
        for (system, dims) in self.systems.iter().filter(|(system, _)| !used.contains(system)) {
            let fits =
                |example: &&Example| example.workload.is_some() && self.dims_of(example) == Some(*dims);
            let example = examples.iter().find(fits).cloned();
            examples.extend(example.map(|example| Example { system: Some(system.clone()), ..example }));
        }
        for (groups, ranks) in &self.groups {
            let fits = |example: &&Example| example.workload.is_some() && example.npus == *ranks;
            let example = examples.iter().find(fits).cloned();
            let of_groups =
                |example| Example { groups: Some(groups.clone()), system: None, dims: None, ..example };
            examples.extend(example.map(of_groups));
        }
        examples
    }

    fn with_workloads(&self, example: &Example, examples: &mut Vec<Example>) {
        let before = examples.len();
        for (workload, _) in self.workloads.iter().filter(|(_, ranks)| *ranks == example.npus) {
            examples.push(Example { workload: Some(workload.clone()), ..example.clone() });
        }
        if examples.len() == before {
            examples.push(example.clone());
        }
    }

    fn dims_of(&self, example: &Example) -> Option<usize> {
        self.networks.iter().find(|(network, _)| *network == example.network).map(|(_, npus)| npus.len())
    }

    fn system(&self, network: &str, dims: usize) -> Option<String> {
        let word = |file: &str| stem(file).split('_').next().map(str::to_owned);
        let ranked = [
            self.systems.iter().find(|(system, _)| stem(system) == stem(network)),
            self.systems.iter().find(|(system, of)| *of == dims && word(system) == word(network)),
            self.systems.iter().find(|(system, of)| *of == dims && !stem(system).contains("custom")),
        ];
        ranked.into_iter().flatten().next().map(|(system, _)| system.clone())
    }
}

fn collect(folder: &Path, prefix: &str, names: &mut Vec<String>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        match entry.file_type()?.is_dir() {
            true => collect(&entry.path(), &format!("{name}/"), names)?,
            false => names.push(name),
        }
    }
    Ok(())
}

/// The numbers of the list that follows a key.
fn numbers_after(text: &str, key: &str) -> Option<Vec<u64>> {
    let list = text.split_once(key)?.1.split_once('[')?.1.split_once(']')?.0;
    list.split(',').map(|number| number.trim_matches([' ', '"', '\n', '\t']).parse().ok()).collect()
}

fn last_rank(ranks: &Value) -> Option<u64> {
    ranks.as_array()?.iter().map(Value::as_u64).collect::<Option<Vec<u64>>>()?.into_iter().max()
}

fn stem(file: &str) -> &str {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

fn folder_of(file: &str) -> &str {
    file.rsplit_once('/').map_or(file, |(folder, _)| folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_has_its_cct() {
        let ccts = [("reps", 1, 10.0), ("reps", 2, 20.0), ("ops", 1, 5.0)];
        let ccts = Outcome::Ccts(ccts.map(|(name, seed, cct)| (name.to_owned(), seed, cct)).to_vec());
        assert_eq!(ccts.text(), "reps (seed 1) 10.00, reps (seed 2) 20.00, ops (seed 1) 5.00");
        let json = Example::default().json(&ccts);
        assert_eq!(json["cct_us"], json!({ "reps": 15.0, "ops": 5.0 }));
        assert_eq!(json["runs"][1], json!({ "scheme": "reps", "seed": 2, "cct_us": 20.0 }));
        let one = Outcome::Ccts(vec![("reps".to_owned(), 1, 10.0)]);
        assert_eq!(one.text(), "reps 10.00");
    }

    #[test]
    fn examples_pair_networks_with_workloads_of_as_many_npus() {
        let mut files = Files {
            workloads: vec![
                ("w/all_reduce_4/all_reduce".to_owned(), 4),
                ("w/all_to_all_8/all_to_all".to_owned(), 8),
            ],
            ..Files::default()
        };
        for (name, text) in [
            ("n/Ring_4.yml", "topology: [ Ring ]\nnpus_count: [ 4 ]  # NPUs"),
            ("n/torus.yml", "topology: [ Ring, Ring ]\nnpus_count: [ 2, 4 ]"),
            ("n/large.yml", "npus_count: [ 32 ]"),
            ("p/8_nodes.txt", "9 1 8\n8\n"),
            ("p/config.txt", "ENABLE_QCN 1\n"),
            ("p/dims.json", "{\"logical-dims\": [\"4\"]}"),
            ("s/Ring_chunks.json", "{\"all-reduce-implementation\": [\"ring\"]}"),
            ("s/torus.json", "{\"all-reduce-implementation\": [\"ring\", \"ring\"]}"),
            ("s/custom.json", "{\"all-reduce-implementation-custom\": [\"c\"]}"),
            ("s/groups.json", "{\"1\": [0, 1], \"2\": [2, 3]}"),
            ("s/memory.json", "{\"memory-type\": \"NO_MEMORY_EXPANSION\"}"),
        ] {
            files.add(name, text);
        }
        let parts = |example: Example| {
            let part =
                |file: Option<String>| file.map_or_else(|| "-".to_owned(), |file| stem(&file).to_owned());
            [
                stem(&example.network).to_owned(),
                part(example.workload),
                part(example.system),
                part(example.dims),
                part(example.groups),
            ]
            .join(" ")
        };
        let examples: Vec<String> = files.examples().into_iter().map(parts).collect();
        assert_eq!(
            examples,
            [
                "Ring_4 all_reduce Ring_chunks - -",
                "torus all_to_all torus - -",
                "large - Ring_chunks - -",
                "8_nodes all_reduce Ring_chunks dims -",
                "Ring_4 all_reduce custom - -",
                "Ring_4 all_reduce - - groups",
            ]
        );
    }
}
