//! `[[unsaid]]`: parameters that a paper does not specify, with the values that its text permits.

use crate::scenario::expand::resolved::Scenario;
use crate::scenario::keys;
use crate::scenario::read::document::{Fields, Item, Node};
use crate::scenario::read::key_path::{leaves, put, whole_value};
use crate::scenario::read::table::{Table, fault};
use crate::scenario::schema::unknown_keys::only;
use anabranch_base::{Diagnostic, Fix};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A parameter that a paper does not specify.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unspecified {
    /// The parameter, as it is called in the assumptions.
    pub what: String,
    /// The reason why the text of the paper permits these values.
    pub because: String,
    /// Parameters by their paths, as in `[set]` and `[sweep]`, with a list of values each. The parameters change
    /// together. The first value of each list is the figure's own.
    pub set: BTreeMap<String, Vec<toml::Value>>,
    /// Whether the parameters are varied at this scale. They are not varied if the scale sets one of them.
    pub varied: bool,
}

impl Unspecified {
    /// The number of values, including the figure's own.
    pub fn values(&self) -> usize {
        self.set.values().next().map_or(0, Vec::len)
    }

    /// The value of each parameter at a position in the lists.
    pub fn settings(&self, place: usize) -> Vec<String> {
        let text = |value: &toml::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        self.set.values().map(|values| text(&values[place])).collect()
    }

    /// The value at a position in the lists: `1MB`, or `a = 1, b = 2` if there are several parameters.
    pub fn value(&self, place: usize) -> String {
        let settings = self.settings(place);
        if let [only] = &settings[..] {
            return only.clone();
        }
        let each = self.set.keys().zip(settings).map(|(path, value)| format!("{path} = {value}"));
        each.collect::<Vec<_>>().join(", ")
    }
}

/// A table of values for an unspecified parameter, with the places of the values in the file.
pub(in crate::scenario) struct Entry<'a> {
    pub spec: Unspecified,
    /// The elements of the lists, with their places, by the parameter's path.
    lists: BTreeMap<String, &'a [Node]>,
}

/// Reads an `[[unsaid]]` table. `scale` has the keys that the scale itself sets.
pub(in crate::scenario) fn read<'a>(
    table: &Table<'a>,
    scale: Option<&Fields>,
) -> Result<Entry<'a>, Diagnostic> {
    only(table, &keys::of("unsaid"))?;
    let example = "set = { \"*.transport.payload\" = [\"4096B\", \"1000B\"] }";
    let Some(set) = table.node("set") else {
        return Err(table.wrong("set", "[[unsaid]] has no set", example));
    };
    let fields = Table::open(table.file, "set", set)?.fields;
    let mut found = Vec::new();
    leaves("", fields, &|node| matches!(node.item, Item::Array(_)), &mut found);
    let mut lists: BTreeMap<String, &[Node]> = BTreeMap::new();
    for (path, node) in found {
        match &node.item {
            Item::Array(values) if values.len() > 1 => drop(lists.insert(path, values)),
            item => {
                let only = match item {
                    Item::Array(values) => {
                        values.first().map_or_else(|| "...".to_owned(), |one| one.value().to_string())
                    }
                    _ => node.value().to_string(),
                };
                let message = format!(
                    "{path:?} needs the figure's own value and one or more that the text permits too"
                );
                return Err(fault(
                    table.file,
                    node.at,
                    message,
                    Some(format!("{path:?} = [{only}, ...]").into()),
                ));
            }
        }
    }
    let Some((first, values)) = lists.first_key_value() else {
        return Err(table.wrong("set", "[[unsaid]] varies nothing", example));
    };
    if let Some((path, other)) = lists.iter().find(|(_, list)| list.len() != values.len()) {
        let message = format!(
            "{path:?} has {} values and {first:?} has {}: those of one [[unsaid]] change together",
            other.len(),
            values.len()
        );
        return Err(table.wrong("set", message, "lists of one length, or an [[unsaid]] each"));
    }
    let set: BTreeMap<String, Vec<toml::Value>> =
        lists.iter().map(|(path, nodes)| (path.clone(), nodes.iter().map(Node::value).collect())).collect();
    let tuple = |place: usize| set.values().map(|values| &values[place]).collect::<Vec<_>>();
    if let Some(twice) = (0..values.len()).find(|&place| (0..place).any(|other| tuple(other) == tuple(place)))
    {
        let message = format!("{first:?} has the value {} twice", set[first][twice]);
        return Err(fault(table.file, values[twice].at, message, Some("each value once".to_owned().into())));
    }
    let varied = !set.keys().any(|path| scale.is_some_and(|fields| says(fields, path)));
    let spec = Unspecified { what: table.need("what")?, because: table.need("because")?, set, varied };
    Ok(Entry { spec, lists })
}

impl Entry<'_> {
    pub(in crate::scenario) fn apply(
        &self,
        file: &str,
        fields: &mut Fields,
        place: usize,
    ) -> Result<(), Diagnostic> {
        self.lists.iter().try_for_each(|(path, nodes)| apply(file, fields, path, &nodes[place]))
    }

    /// The error for a table whose first values are not the figure's own. The error names the first parameter whose
    /// first value changes the scenario, according to `changes`.
    pub(in crate::scenario) fn not_the_default(
        &self,
        file: &str,
        written: &Fields,
        scenario: &Scenario,
        changes: &dyn Fn(&str, &Node) -> Result<bool, Diagnostic>,
    ) -> Result<(), Diagnostic> {
        for (path, nodes) in &self.lists {
            if !changes(path, &nodes[0])? {
                continue;
            }
            let first = nodes[0].value();
            let (own, help) = match own_value(written, scenario, path) {
                Some(own) if own != first => (
                    format!("that is {own} here"),
                    Fix::set(format!("{path:?}"), format!("[{own}, {first}]")),
                ),
                _ => (
                    "that is another one here".to_owned(),
                    "an [[unsaid]] for each scheme with a value of its own".into(),
                ),
            };
            let message = format!("the first value of {path:?} must be the figure's own; {own}, not {first}");
            return Err(fault(file, nodes[0].at, message, Some(help)));
        }
        Ok(())
    }
}

/// The first words of paths that lead to a table of the scenario. Any other first word is the name of a scheme, or
/// `*` for all schemes.
const PARTS: [&str; 4] = ["topology", "workload", "fault", "limits"];

pub(in crate::scenario) fn apply(
    file: &str,
    fields: &mut Fields,
    path: &str,
    value: &Node,
) -> Result<(), Diagnostic> {
    let refused = |message: String, help: String| Err(fault(file, value.at, message, Some(help.into())));
    if section(fields, "sweep", &|node| matches!(node.item, Item::Array(_)))
        .iter()
        .any(|(swept, _)| swept == path)
    {
        return refused(format!("{path:?} is swept by this figure"), "what [sweep] leaves alone".to_owned());
    }
    let steps: Vec<&str> = path.split('.').collect();
    if PARTS.contains(&steps[0]) {
        return put(fields, &steps, value).or_else(|what| {
            refused(
                format!("{path:?} cannot be set: {what}"),
                format!("{path:?} for a {} that is there", steps[0]),
            )
        });
    }
    let mut set = section(fields, "set", &whole_value);
    if let Some(parameter) = path.strip_prefix("*.")
        && let Some((of_one, _)) = set.iter().find(|(other, _)| {
            other != path && other.split_once('.').is_some_and(|(_, rest)| rest == parameter)
        })
    {
        let message = format!("{path:?} does not reach a scheme for which [set] has {of_one:?}");
        return refused(message, format!("{of_one:?} beside it, with its own values"));
    }
    set.retain(|(other, _)| other != path);
    set.push((path.to_owned(), value.clone()));
    let set = Node { at: value.at, item: Item::Table(set.into_iter().collect()) };
    fields.insert("set".to_owned(), set);
    Ok(())
}

fn section(fields: &Fields, key: &str, is_leaf: &dyn Fn(&Node) -> bool) -> Vec<(String, Node)> {
    let mut found = Vec::new();
    if let Some(Node { item: Item::Table(below), .. }) = fields.get(key) {
        leaves("", below, is_leaf, &mut found);
    }
    found.into_iter().map(|(path, node)| (path, node.clone())).collect()
}

/// Whether the table of the scale sets the parameter at `path`.
fn says(scale: &Fields, path: &str) -> bool {
    let steps: Vec<&str> = path.split('.').collect();
    if !PARTS.contains(&steps[0]) {
        return section(scale, "set", &whole_value).iter().any(|(other, _)| other == path);
    }
    let (mut fields, mut steps) = (scale, &steps[..]);
    while let Some((first, rest)) = steps.split_first() {
        match fields.get(*first).map(|node| &node.item) {
            None => return false,
            Some(Item::Table(below)) if !below.contains_key("kind") => (fields, steps) = (below, rest),
            // The scale sets the parameter at `path`, or a whole value that contains it. Only tables without a `kind` are
            // merged with the values of the figure.
            Some(_) => return true,
        }
    }
    true
}

/// The figure's own value of a parameter. If the path begins with one of [`PARTS`] and the figure contains a value,
/// that value is returned as written. All other values are those of the resolved scenario, at the first point of its
/// sweep. For a path of all schemes (`*`), the value is that of the first scheme with the parameter.
fn own_value(written: &Fields, scenario: &Scenario, path: &str) -> Option<toml::Value> {
    let (first, rest) = path.split_once('.')?;
    let part = match PARTS.contains(&first) {
        true => written.get(first).map(Node::value),
        false => None,
    };
    let document: toml::Table = toml::from_str(&scenario.to_toml()).ok()?;
    let walk = |from: &toml::Value, path: &str| {
        path.split('.').try_fold(from.clone(), |value, step| match value {
            toml::Value::Table(mut table) => table.remove(step),
            toml::Value::Array(values) => values.get(step.parse::<usize>().ok()?).cloned(),
            _ => None,
        })
    };
    if PARTS.contains(&first) {
        return part.and_then(|part| walk(&part, rest)).or_else(|| walk(document.get(first)?, rest));
    }
    let schemes = document.get("scheme")?.as_array()?;
    let meant = |scheme: &&toml::Value| {
        first == "*" || scheme.get("name").and_then(toml::Value::as_str) == Some(first)
    };
    schemes.iter().filter(meant).find_map(|scheme| walk(scheme, rest))
}

#[cfg(test)]
mod tests {
    use super::super::Figure;
    use super::*;
    use crate::scenario::ask::figure::{Scale, read_figure, read_figure_under};
    use crate::scenario::input::NoFiles;
    use crate::scenario::resolve::scheme::catalog::Registry;

    const FIGURE: &str = r#"id = "trial/fig-1"
title = "T"
schemes = ["reps", "ops"]
[topology]
kind = "fat-tree"
hosts = 16
link = "400Gbps"
[workload]
kind = "permutation"
bytes = "4KiB"
[[fault]]
kind = "packet-loss"
links = "tor:0/up:0"
probability = 0.0
[limits]
stall = "5ms"
[set]
"reps.lb.buffer" = 16
[sweep]
"topology.oversubscription" = [1, 2]
[quick.workload]
bytes = "1KiB"
"#;

    fn unsaid(set: &str) -> String {
        format!("{FIGURE}[[unsaid]]\nwhat = \"it\"\nbecause = \"the text is silent\"\nset = {{ {set} }}\n")
    }

    fn under(set: &str, scale: Scale, choice: &[usize]) -> Result<Figure, Diagnostic> {
        read_figure_under(&Registry::new(), "f.toml", &unsaid(set), scale, &NoFiles, choice)
    }

    #[test]
    fn a_choice_is_the_scenario_with_those_values() {
        for (set, changed) in [
            ("\"*.transport.payload\" = [\"4KiB\", \"1000B\"]", "payload = \"1KB\""),
            ("\"topology.link\" = [\"400Gbps\", \"100Gbps\"]", "link = \"100Gbps\""),
            ("\"fault.0.probability\" = [0.0, 0.01]", "probability = 0.01"),
            ("\"limits.stall\" = [\"5ms\", \"7ms\"]", "stall = \"7ms\""),
            ("\"reps.lb.buffer\" = [16, 8]", "buffer = 8"),
            ("\"reps.lb.buffer\" = [16, 8], \"topology.hosts\" = [16, 32]", "hosts = 32"),
        ] {
            let plain = read_figure("f.toml", FIGURE, Scale::Paper, &NoFiles).unwrap().scenario.unwrap();
            let default = under(set, Scale::Paper, &[]).unwrap_or_else(|error| panic!("{set}: {error}"));
            assert_eq!(default.scenario.as_ref(), Some(&plain), "{set}: entries alone change nothing");
            assert_eq!(default.unsaid[0].values(), 2);
            let other = under(set, Scale::Paper, &[1]).unwrap().scenario.unwrap();
            assert_ne!(other, plain, "{set}");
            assert!(other.to_toml().contains(changed), "{set}:\n{}", other.to_toml());
        }
    }

    /// `*` has the same meaning below `[set]` and in `[[unsaid]]`: every scheme that has the parameter. A parameter
    /// that no scheme has is an error.
    #[test]
    fn all_schemes_are_those_that_have_it_as_in_set() {
        let figure = FIGURE.replace("[set]\n\"reps.lb.buffer\" = 16\n", "");
        let read = |text: &str, choice: &[usize]| {
            read_figure_under(&Registry::new(), "f.toml", text, Scale::Paper, &NoFiles, choice)
        };
        let unsaid = |set: &str| {
            format!(
                "{figure}[[unsaid]]\nwhat = \"it\"\nbecause = \"the text is silent\"\nset = {{ {set} }}\n"
            )
        };
        let in_set = |set: &str| figure.replace("[sweep]\n", &format!("[set]\n{set}\n[sweep]\n"));
        let varied = read(&unsaid("\"*.lb.buffer\" = [8, 16]"), &[1]).unwrap().scenario.unwrap();
        let set = read(&in_set("\"*.lb.buffer\" = 16"), &[]).unwrap().scenario.unwrap();
        assert_eq!(varied, set, "ops has no lb.buffer, and is left as it is");
        assert!(set.to_toml().contains("buffer = 16"));
        let not_for_all = |scenario: &Scenario| {
            scenario.check().unwrap().iter().filter(|warning| warning.message.starts_with("\"*.")).count()
        };
        assert_eq!(not_for_all(&set), 1);
        assert_eq!(not_for_all(&varied), 0, "what is varied is for whoever has it");
        let nobody = |text: &str| {
            let said = read(text, &[]).unwrap_err().to_string();
            let words =
                said.lines().next().and_then(|line| line.split_once(": ")).map(|(_, words)| words.to_owned());
            words.unwrap_or(said)
        };
        let said = nobody(&in_set("\"*.cc.rate_ai\" = \"1Gbps\""));
        assert_eq!(said, "scheme \"reps\" has no parameter \"cc.rate_ai\"");
        assert_eq!(nobody(&unsaid("\"*.cc.rate_ai\" = [\"1Gbps\", \"2Gbps\"]")), said);
    }

    #[test]
    fn values_have_names() {
        let one = under("\"reps.lb.buffer\" = [16, 8]", Scale::Paper, &[]).unwrap().unsaid.remove(0);
        assert_eq!((one.value(0), one.value(1)), ("16".to_owned(), "8".to_owned()));
        let both = "\"reps.lb.buffer\" = [16, 8], \"topology.link\" = [\"400Gbps\", \"100Gbps\"]";
        let both = under(both, Scale::Paper, &[]).unwrap().unsaid.remove(0);
        assert_eq!(both.value(1), "reps.lb.buffer = 8, topology.link = 100Gbps");
    }

    /// The quick scale sets its own length, so the values in the file's list do not apply to it.
    #[test]
    fn a_scale_with_a_value_of_its_own_is_not_varied() {
        let set = "\"workload.bytes\" = [\"4KiB\", \"8KiB\"]";
        assert!(under(set, Scale::Paper, &[]).unwrap().unsaid[0].varied);
        let quick = under(set, Scale::Quick, &[]).unwrap();
        assert!(!quick.unsaid[0].varied);
        assert_eq!(under(set, Scale::Quick, &[1]).unwrap().scenario, quick.scenario);
        assert!(under("\"workload.hosts\" = [16, 8]", Scale::Quick, &[]).unwrap().unsaid[0].varied);
    }

    #[test]
    fn what_is_wrong_is_said_where_it_stands() {
        for (set, words) in [
            ("\"reps.lb.buffr\" = [16, 8]", "f.toml:26:"),
            ("\"reps.lb.buffr\" = [16, 8]", "buffer"),
            ("\"rep.lb.buffer\" = [16, 8]", "write: \"reps.lb.buffer\" = 16"),
            ("\"buffer\" = [16, 8]", "is no parameter of a scheme"),
            ("\"workload.byts\" = [1, 2]", "bytes"),
            ("\"fault.1.probability\" = [0.0, 0.1]", "there is no fault.1"),
            ("\"topology.oversubscription\" = [1, 2]", "is swept by this figure"),
            ("\"reps.lb.buffer\" = [8, 16]", "that is 16 here, not 8\n  write: \"reps.lb.buffer\" = [16, 8]"),
            ("\"topology.link\" = [\"100Gbps\", \"400Gbps\"]", "that is \"400Gbps\" here"),
            (
                "\"reps.lb.buffer\" = [16]",
                "one or more that the text permits too\n  write: \"reps.lb.buffer\" = [16, ...]",
            ),
            ("\"reps.lb.buffer\" = 16", "write: \"reps.lb.buffer\" = [16, ...]"),
            ("\"reps.lb.buffer\" = [16, 8, 8]", "has the value 8 twice"),
            ("\"reps.lb.buffer\" = [16, 8], \"topology.hosts\" = [16, 32, 64]", "change together"),
            ("", "[[unsaid]] varies nothing"),
            ("\"*.lb.buffer\" = [16, 8]", "does not reach a scheme for which [set] has \"reps.lb.buffer\""),
        ] {
            let said = under(set, Scale::Paper, &[]).expect_err(set).to_string();
            assert!(said.contains(words), "{set}: {said}");
        }
        let said = under("\"reps.lb.buffer\" = [16, 0]", Scale::Paper, &[1]).unwrap_err().to_string();
        assert!(said.starts_with("f.toml:26:"), "{said}");
        let model = "id = \"t/f\"\ntitle = \"T\"\n[model]\nkind = \"state-bits\"\n[[unsaid]]\nwhat = \"w\"\nbecause = \"b\"\n\
                     set = { \"reps.lb.buffer\" = [1, 2] }\n";
        let said = read_figure("f.toml", model, Scale::Paper, &NoFiles).unwrap_err().to_string();
        assert!(said.contains("a model has no scenario"), "{said}");
    }
}
