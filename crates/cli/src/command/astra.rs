//! `anabranch run --astra DIR`: every example of a folder of ASTRA-sim, as scenarios.
//!
//! An example is a network with a workload of as many NPUs, or a network alone if no workload has as many. The system
//! configuration of a network is the one whose file has the same name without extension. If there is none, it is one
//! with as many dimensions, preferably with a name that begins with the same word as the network's name, and
//! otherwise with a name that does not contain `custom`. Topologies of ns-3 take their dimensions from files of
//! logical dimensions. Each system that no example uses, and each file of groups of ranks, has an example of its own
//! if it fits one that has a workload.

use super::simulate::scenario;
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::source::{self, ScenarioText};
use anabranch_sim::scenario::Overrides;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;

/// The files of a folder, by their use. All names are relative to the folder.
#[derive(Debug, Default)]
struct Files {
    /// Networks of the analytical backends, each with the NPUs of its dimensions.
    networks: Vec<(String, Vec<u64>)>,
    /// Topologies of ns-3, each with its number of hosts.
    graphs: Vec<(String, u64)>,
    /// Logical dimensions.
    dims: Vec<(String, Vec<u64>)>,
    /// System configurations, each with its number of dimensions.
    systems: Vec<(String, usize)>,
    /// Traces of Chakra without the part `.RANK.et` of their names, each with its number of ranks.
    workloads: Vec<(String, u64)>,
    /// Groups of ranks, each with its number of ranks.
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

/// Runs every example below `folder`, and prints the CCTs of each example, or the reason why it has none.
///
/// # Errors
/// A folder that cannot be read or has no examples, Ctrl-C, or a standard output that cannot be written.
pub fn run(folder: &Path, args: &RunArgs) -> Result<(), Failure> {
    let examples = Files::of(folder)?.examples();
    if examples.is_empty() {
        let message = format!("{}: there is no network of ASTRA-sim in this folder", folder.display());
        return Err(Failure::Input(format!("{message}\n  help: name a folder such as ASTRA-sim's examples")));
    }
    let mut rows =
        vec![["network", "workload", "system", "NPUs", "CCT in us, or why not"].map(str::to_owned).to_vec()];
    let mut documents = Vec::new();
    for example in &examples {
        let outcome = simulated(folder, example, args)?;
        let text = match &outcome {
            Ok(ccts) => {
                ccts.iter().map(|(name, cct)| format!("{name} {cct:.2}")).collect::<Vec<_>>().join(", ")
            }
            Err(reason) => reason.clone(),
        };
        let system = [&example.system, &example.dims, &example.groups].into_iter().flatten();
        let system = system.map(|file| stem(file)).collect::<Vec<_>>().join(", ");
        let workload = example.workload.as_deref().map_or("", |workload| folder_of(workload));
        let network = stem(&example.network).to_owned();
        rows.push(vec![network, stem(workload).to_owned(), system, example.npus.to_string(), text]);
        documents.push(example.json(&outcome));
    }
    match args.output.json {
        true => print_json(&json!(documents)),
        false => print(&left_aligned(&rows)),
    }
}

fn left_aligned(rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        rows.iter().filter_map(|row| Some(row.get(column)?.chars().count())).max().unwrap_or(0)
    };
    let line = |row: &Vec<String>| {
        let cells: String =
            row.iter().enumerate().map(|(at, cell)| format!("{cell:<0$}  ", width(at))).collect();
        format!("{}\n", cells.trim_end())
    };
    rows.iter().map(line).collect()
}

/// The scheme and the CCT in microseconds of each run, or the reason why the example has no CCTs.
type Ccts = Result<Vec<(String, f64)>, String>;

fn simulated(folder: &Path, example: &Example, args: &RunArgs) -> Result<Ccts, Failure> {
    let Some(text) = example.scenario() else {
        return Ok(Err(format!("the folder has no workload of {} NPUs", example.npus)));
    };
    let over = Overrides { schemes: args.schemes.clone(), seeds: args.seeds.clone(), ..Overrides::default() };
    let written = ScenarioText::in_folder(&example.name(), text, folder);
    let done = source::load(&written, &over).and_then(|prepared| scenario(&prepared, false, &args.output));
    match done {
        Ok(done) => {
            if done.interrupted {
                done.verdict()?;
            }
            let of = |run: &anabranch_results::RunRow| Some((run.scheme.clone(), run.number("cct_max_us")?));
            let ccts: Vec<(String, f64)> = done.results.runs.iter().filter_map(of).collect();
            Ok(match done.verdict() {
                Ok(()) => Ok(ccts),
                Err(failure) => Err(failure.to_string()),
            })
        }
        Err(failure @ (Failure::Input(_) | Failure::Diagnosed(_))) => {
            Ok(Err(failure.to_string().lines().next().unwrap_or_default().to_owned()))
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

    fn json(&self, outcome: &Ccts) -> Value {
        json!({
            "network": self.network,
            "workload": self.workload,
            "system": self.system,
            "dims": self.dims,
            "comm_groups": self.groups,
            "npus": self.npus,
            "scenario": self.scenario(),
            "cct_us": outcome.as_ref().ok().map(|ccts| ccts.iter().cloned().collect::<std::collections::BTreeMap<_, _>>()),
            "reason": outcome.as_ref().err(),
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
