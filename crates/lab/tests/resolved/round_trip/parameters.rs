//! Round trips of every parameter of every part of schemes.

use super::{all, broken, resolve};
use anabranch_base::{Parameter, ParameterValue};
use anabranch_lab::scenario::{PartListing, Registry, Scenario, schemes, setups};
use std::collections::BTreeSet;
use toml::{Table, Value};

const GROUND: &str = "seeds = [1]\n[topology]\nkind = \"fat-tree\"\nhosts = 16\nlink = \"400Gbps\"\n\
    [workload]\nkind = \"permutation\"\nbytes = \"8KB\"\n";

fn toml(value: &ParameterValue) -> Value {
    Value::try_from(value).unwrap()
}

/// Inserts a value at a dotted path, in which `[]` stands for the only table of a list.
fn put(table: &mut Table, path: &str, value: Value) {
    let Some((first, rest)) = path.split_once('.') else {
        table.insert(path.to_owned(), value);
        return;
    };
    let within = match first.strip_suffix("[]") {
        Some(list) => {
            let list = table.entry(list).or_insert_with(|| Value::Array(vec![Value::Table(Table::new())]));
            &mut list.as_array_mut().unwrap()[0]
        }
        None => table.entry(first).or_insert_with(|| Value::Table(Table::new())),
    };
    put(within.as_table_mut().unwrap(), rest, value);
}

/// The table or list that contains a parameter, such as `pfc` or `pfc.at[]`. Empty if the parameter is directly in the
/// part.
fn table_of(parameter: &Parameter) -> &str {
    parameter.name().rsplit_once('.').map_or("", |(table, _)| table)
}

/// Alternative settings (path below the scheme, and value) that give the parameter `of` this value, or leave it out if
/// there is no value. A setting of a table also has all parameters that the table requires.
fn settings(
    part: &str,
    kind: Option<&str>,
    declared: &[Parameter],
    of: &Parameter,
    value: Option<&Value>,
) -> Vec<(String, Value)> {
    let at = |path: &str| if part.is_empty() { path.to_owned() } else { format!("{part}.{path}") };
    let mut settings = Vec::new();
    if let (Some(value), false) = (value, of.name().contains("[]")) {
        settings.push((at(of.name()), value.clone()));
    }
    let mut table = Table::new();
    let mut tables: Vec<&str> = vec![""];
    let own = table_of(of);
    tables.extend(own.match_indices('.').map(|(end, _)| &own[..end]));
    tables.push(own);
    let needed = declared.iter().filter(|other| other.is_required() && tables.contains(&table_of(other)));
    for other in needed.filter(|other| other.name() != of.name()) {
        put(&mut table, other.name(), toml(other.example().unwrap()));
    }
    if let Some(value) = value {
        put(&mut table, of.name(), value.clone());
    }
    match (kind, own.split('.').next().filter(|first| !first.is_empty())) {
        (Some(kind), _) => {
            table.insert("kind".to_owned(), kind.into());
            settings.push((part.to_owned(), Value::Table(table)));
        }
        (None, Some(first)) => {
            // A `mix` (some hosts with another balancer) requires the other balancer.
            if first == "mix" {
                put(
                    &mut table,
                    "mix.lb",
                    Value::Table(Table::from_iter([("kind".to_owned(), "ecmp".into())])),
                );
            }
            let first = first.trim_end_matches("[]");
            settings.extend(table.get(first).map(|whole| (at(first), whole.clone())));
        }
        (None, None) => {}
    }
    settings
}

fn others(parameter: &Parameter) -> Vec<ParameterValue> {
    let example = parameter.example().cloned();
    let mut found: Vec<ParameterValue> =
        parameter.choices().iter().map(|word| ParameterValue::Text((*word).to_owned())).collect();
    match example {
        Some(ParameterValue::Bool(truth)) => found.push(ParameterValue::Bool(!truth)),
        Some(ParameterValue::Integer(number)) => {
            found.extend([number + 1, number - 1, 2 * number, number / 2].map(ParameterValue::Integer));
        }
        Some(ParameterValue::Number(number)) => {
            found.extend([number / 2.0, 2.0 * number, number / 3.0].map(ParameterValue::Number));
        }
        Some(ParameterValue::Text(text)) => {
            let unit = text.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
            if let Ok(number) = text[..text.len() - unit.len()].parse::<f64>() {
                found.extend(
                    [2.0, 0.5, 4.0].map(|times| ParameterValue::Text(format!("{}{unit}", number * times))),
                );
            }
            // These are sizes, times and rates in several units, and selectors of switches.
            let others = ["7KB", "2bdp", "7us", "2rtt", "7Gbps", "all", "tor", "spine"];
            found.extend(others.map(|other| ParameterValue::Text(other.to_owned())));
        }
        None => {}
    }
    let (least, most) = parameter.ends();
    found.extend(least.into_iter().chain(most).cloned());
    found.retain(|value| parameter.check(value).is_ok() && Some(value) != parameter.example());
    found
}

/// A scenario that runs one scheme with at most one setting. None if the scenario is rejected.
fn scenario(
    setup: &str,
    scheme: &str,
    setting: Option<&(String, Value)>,
    registry: &Registry,
) -> Option<Scenario> {
    let mut document: Table = toml::from_str(GROUND).unwrap();
    document.insert("schemes".to_owned(), Value::Array(vec![scheme.into()]));
    document.insert("setup".to_owned(), setup.into());
    if let Some((path, value)) = setting {
        let set = Table::from_iter([(format!("{scheme}.{path}"), value.clone())]);
        document.insert("set".to_owned(), Value::Table(set));
    }
    resolve(&toml::to_string(&document).unwrap(), &all(""), registry).ok()
}

enum Tried {
    /// Number of scenarios with the parameter that were written and read again.
    Fine(usize),
    Wrong(String),
}

fn try_all(
    part: &PartListing,
    kind: usize,
    of: &Parameter,
    grounds: &[(String, String)],
    registry: &Registry,
) -> Tried {
    let kind = &part.kinds[kind];
    let name = kind.name.as_deref();
    let its = format!("{} {} {}", part.part, name.unwrap_or_default(), of.name());
    let mut tried = 0;
    let mut why = "no scheme takes its example";
    for (setup, scheme) in grounds {
        let of_value = |value: Option<&ParameterValue>| {
            let value = value.map(toml);
            let settings = settings(part.part, name, &kind.parameters, of, value.as_ref());
            settings.iter().find_map(|setting| {
                let found = scenario(setup, scheme, Some(setting), registry)?;
                is_of_kind(&found, part.part, name).then_some(found)
            })
        };
        let Some(example) = of_value(of.example()) else { continue };
        why = "no other value is taken, or all come to the same";
        let Some(other) = others(of)
            .iter()
            .filter_map(|value| of_value(Some(value)))
            .find(|other| other.to_toml() != example.to_toml())
        else {
            continue;
        };
        for scenario in [&example, &other] {
            if let Some(fault) = broken(scenario, registry) {
                return Tried::Wrong(format!("{its} of {scheme} on {setup} {fault}"));
            }
            tried += 1;
        }
        return Tried::Fine(tried);
    }
    Tried::Wrong(format!("{its}: {why}"))
}

fn is_of_kind(scenario: &Scenario, part: &str, kind: Option<&str>) -> bool {
    let Some(kind) = kind else { return true };
    let whole = Value::try_from(&scenario.schemes[0]).unwrap();
    let part = part.split('.').try_fold(&whole, |value, key| value.get(key));
    part.and_then(|part| part.get("kind")?.as_str()) == Some(kind)
}

#[test]
fn every_parameter_survives_a_round_trip() {
    let registry = Registry::new();
    let grounds: Vec<(String, String)> = setups()
        .iter()
        .flat_map(|setup| {
            schemes().into_iter().map(move |scheme| (setup.name.to_owned(), scheme.name.to_owned()))
        })
        .filter(|(setup, scheme)| scenario(setup, scheme, None, &registry).is_some())
        .collect();
    let (mut wrong, mut parameters, mut scenarios) = (Vec::new(), 0, 0);
    for part in registry.parts() {
        for (kind, listing) in part.kinds.iter().enumerate() {
            for parameter in &listing.parameters {
                parameters += 1;
                match try_all(&part, kind, parameter, &grounds, &registry) {
                    Tried::Fine(tried) => scenarios += tried,
                    Tried::Wrong(fault) => wrong.push(fault),
                }
            }
        }
    }
    // The balancer of a `mix` has parameters of its own.
    let balancers = registry.parts().into_iter().find(|part| part.part == "lb").unwrap();
    for balancer in &balancers.kinds {
        let kind = balancer.name.clone().unwrap();
        let mut lb = Table::from_iter([("kind".to_owned(), Value::from(kind.as_str()))]);
        for parameter in balancer.parameters.iter().filter(|parameter| parameter.is_required()) {
            put(&mut lb, parameter.name(), toml(parameter.example().unwrap()));
        }
        let mix =
            Table::from_iter([("every".to_owned(), Value::from(4)), ("lb".to_owned(), Value::Table(lb))]);
        let setting = ("mix".to_owned(), Value::Table(mix));
        let found =
            grounds.iter().find_map(|(setup, scheme)| scenario(setup, scheme, Some(&setting), &registry));
        match found.map(|scenario| broken(&scenario, &registry)) {
            Some(None) => scenarios += 1,
            Some(Some(fault)) => wrong.push(format!("mix.lb {kind} {fault}")),
            None => wrong.push(format!("mix.lb {kind}: no scheme takes it")),
        }
    }
    assert!(wrong.is_empty(), "{} of {parameters} parameters:\n{}", wrong.len(), wrong.join("\n"));
    let grounds: BTreeSet<&str> = grounds.iter().map(|(_, scheme)| scheme.as_str()).collect();
    println!("{parameters} parameters, {scenarios} scenarios, of {} schemes", grounds.len());
}
