//! `[set]` and `[sweep]`: parameters by their paths, with one value or several.

use crate::scenario::keys;
use crate::scenario::read::document::{Fields, Item, Node};
use crate::scenario::read::key_path::{Setting, ZIP, as_toml, leaves, put, whole_value};
use crate::scenario::read::table::{Table, fault, nearest};
use crate::scenario::read::value::as_list;
use crate::scenario::resolve::scheme::catalog::Registry;
use crate::scenario::schema::nccl_words;
use crate::scenario::schema::parameter_path::{self, Meant, takes_values};
use crate::scenario::schema::unknown_keys::only;
use anabranch_base::{Bytes, Diagnostic, Duration, Fix, Rate};
use anabranch_results::Value;
use std::collections::{BTreeMap, BTreeSet};

const MOST_POINTS: usize = 10_000;

/// Reads the lines of `[set]`, such as `"reps.lb.buffer" = 16`.
pub(in crate::scenario) fn settings(table: &Table) -> Result<Vec<Setting>, Diagnostic> {
    let mut found = Vec::new();
    leaves("", table.fields, &whole_value, &mut found);
    found.into_iter().map(|(key, node)| setting(table.file, &key, node)).collect()
}

fn setting(file: &str, key: &str, node: &Node) -> Result<Setting, Diagnostic> {
    match key.split_once('.') {
        Some((scheme, path)) if !scheme.is_empty() && !path.is_empty() => {
            let (scheme, path) = (scheme.to_owned(), path.to_owned());
            Ok(Setting { scheme, path, value: node.value(), at: node.at, own: false })
        }
        _ => {
            let message = format!("{key:?} is no parameter of a scheme");
            let value = node.value();
            let part =
                parameter_path::is_part(key).then(|| Meant { path: key.to_owned(), takes_value: true });
            if let Some(fix) = nccl_words::of_setting(key, &value) {
                return Err(fault(file, node.at, message, Some(fix)));
            }
            let meant = part.or_else(|| parameter_path::path_of(key, std::slice::from_ref(&value)));
            let help = match meant {
                Some(meant) => meant.of_all_schemes(&value),
                None => {
                    Fix::text("its whole path, as in \"reps.lb.buffer\" = 16 or \"*.fabric.queue\" = \"1MB\"")
                }
            };
            Err(fault(file, node.at, message, Some(help)))
        }
    }
}

/// The axes of `[sweep]`. The points of the sweep are their combinations, unless a resolved scenario lists the points.
#[derive(Default)]
pub(in crate::scenario) struct Sweep<'a> {
    axes: Vec<Axis<'a>>,
}

/// Parameters that change together, each with its list of values. The lists have equal lengths. An axis usually has one
/// parameter.
type Axis<'a> = Vec<(String, Vec<&'a Node>)>;

/// One point of a sweep: the document, the swept values by path, and the settings of schemes.
#[derive(Clone)]
pub(in crate::scenario) struct Step {
    pub fields: Fields,
    pub values: BTreeMap<String, Value>,
    pub settings: Vec<Setting>,
}

impl<'a> Sweep<'a> {
    /// Reads the lines of `[sweep]`, such as `"topology.oversubscription" = [1, 4]`, and those of each `[[sweep.zip]]`,
    /// whose lists must have equal lengths.
    pub(in crate::scenario) fn read(
        table: &Table<'a>,
        root: &Fields,
        registry: &Registry,
    ) -> Result<Sweep<'a>, Diagnostic> {
        let file = table.file;
        let mut axes: Vec<Axis> = Vec::new();
        let single: Vec<(&String, &Node)> = table.fields.iter().filter(|(key, _)| *key != ZIP).collect();
        for (key, node) in single {
            let mut found = Vec::new();
            match &node.item {
                Item::Table(below) => leaves(key, below, &is_list, &mut found),
                _ => found.push((key.clone(), node)),
            }
            for (key, node) in found {
                axes.push(vec![listed(file, &key, node, root, registry)?]);
            }
        }
        for group in zips(table)? {
            axes.push(linked(file, group, root, registry)?);
        }
        axes.iter().try_for_each(|axis| distinct(file, axis))?;
        let mut seen: Vec<&str> = Vec::new();
        for (key, nodes) in axes.iter().flatten() {
            if seen.contains(&key.as_str()) {
                let message = format!("{key:?} is swept twice");
                return Err(fault(file, nodes[0].at, message, Some("each parameter once".to_owned().into())));
            }
            seen.push(key);
        }
        let points = axes.iter().fold(1usize, |points, axis| points.saturating_mul(axis[0].1.len()));
        // A resolved scenario lists its points, which may be fewer than the combinations of its values.
        if points > MOST_POINTS && !root.contains_key("point") {
            let message = format!("the sweep has more than {MOST_POINTS} points");
            let help = "fewer values, or several scenarios".to_owned();
            return Err(fault(file, table.at, message, Some(help.into())));
        }
        Ok(Sweep { axes })
    }

    /// The swept parameters with their values, without repetitions.
    pub(in crate::scenario) fn values(&self) -> BTreeMap<String, Vec<toml::Value>> {
        let distinct = |nodes: &Vec<&Node>| {
            let mut seen = BTreeSet::new();
            let values = nodes.iter().map(|node| node.value());
            values.filter(|value| seen.insert(canonical(value))).collect()
        };
        self.axes.iter().flatten().map(|(key, nodes)| (key.clone(), distinct(nodes))).collect()
    }

    /// The swept parameters with their values. If `[sweep]` does not contain the parameter `key`, its values are the
    /// texts that it has in `steps`.
    pub(in crate::scenario) fn values_with(
        &self,
        key: &str,
        steps: &[Step],
    ) -> BTreeMap<String, Vec<toml::Value>> {
        let mut values = self.values();
        if values.contains_key(key) {
            return values;
        }
        let mut seen = BTreeSet::new();
        let of_steps = steps.iter().filter_map(|step| match step.values.get(key)? {
            Value::Text(text) => Some(toml::Value::String(text.clone())),
            _ => None,
        });
        let of_steps: Vec<toml::Value> = of_steps.filter(|value| seen.insert(value.to_string())).collect();
        if !of_steps.is_empty() {
            values.insert(key.to_owned(), of_steps);
        }
        values
    }

    /// The points of the sweep. Unless the scenario lists them, the last axis changes fastest.
    pub(in crate::scenario) fn steps(&self, root: &Table) -> Result<Vec<Step>, Diagnostic> {
        if root.node("point").is_some() {
            return spelled_out(root);
        }
        let mut steps =
            vec![Step { fields: root.fields.clone(), values: BTreeMap::new(), settings: Vec::new() }];
        for axis in &self.axes {
            let positions = axis[0].1.len();
            let mut next = Vec::with_capacity(steps.len() * positions);
            for step in &steps {
                for position in 0..positions {
                    let mut moved = step.clone();
                    for (key, values) in axis {
                        moved.set(root.file, key, values[position])?;
                    }
                    next.push(moved);
                }
            }
            steps = next;
        }
        Ok(steps)
    }
}

impl Sweep<'_> {
    /// Changes the fix of an error about a swept value to a whole line of `[sweep]`, if possible.
    pub(in crate::scenario) fn in_its_list(&self, error: Diagnostic) -> Diagnostic {
        let at = error.span.line.zip(error.span.column);
        match error.fix.as_ref().and_then(|fix| self.whole_line(at?, fix)) {
            Some(line) => error.with_fix(line),
            None => error,
        }
    }

    /// The whole line of `[sweep]` in which the swept value at `at` is corrected by `fix`.
    fn whole_line(&self, at: (usize, usize), fix: &Fix) -> Option<Fix> {
        let mut swept = self.axes.iter().flat_map(|axis| axis.iter().map(move |swept| (swept, axis.len())));
        let (((key, nodes), together), place) = swept.find_map(|swept| {
            let place = swept.0.1.iter().position(|node| node.at == Some(at))?;
            Some((swept, place))
        })?;
        let (name, value, doubt) = match fix {
            Fix::Set { key, value } => (key.trim_matches('"'), value, false),
            Fix::Rename { written, value: Some(value), .. } => (written.trim_matches('"'), value, true),
            _ => return None,
        };
        let value = as_toml(value)?;
        let path = match key.rsplit_once('.') {
            Some((above, _)) if !name.contains('.') => format!("{above}.{name}"),
            _ => name.to_owned(),
        };
        // A fix with another path is used only if it renames the parameter.
        let is_renamed = doubt || value == nodes[place].value();
        if path != *key && !is_renamed {
            return None;
        }
        let mut values: Vec<toml::Value> = nodes.iter().map(|node| node.value()).collect();
        if path == *key {
            let is_there = together == 1 && values.contains(&value);
            if is_there {
                drop(values.remove(place))
            } else {
                values[place] = value
            };
        }
        Some(Fix::set(format!("{path:?}"), toml::Value::Array(values)))
    }
}

fn is_list(node: &Node) -> bool {
    matches!(node.item, Item::Array(_))
}

fn listed<'a>(
    file: &str,
    key: &str,
    node: &'a Node,
    root: &Fields,
    registry: &Registry,
) -> Result<(String, Vec<&'a Node>), Diagnostic> {
    let fail = |message: String, help: Fix| Err(fault(file, node.at, message, Some(help)));
    let Item::Array(values) = &node.item else {
        let value = node.value();
        return fail(
            format!("the values of {key:?} must be a list, not {value}"),
            Fix::set(format!("{key:?}"), toml::Value::Array(as_list(&value))),
        );
    };
    if values.is_empty() {
        return fail(
            format!("{key:?} sweeps over nothing"),
            Fix::text(format!("{key:?} = [...] with a value or more")),
        );
    }
    check_key(file, key, node, root, registry)?;
    Ok((key.to_owned(), values.iter().collect()))
}

fn zips<'a>(table: &Table<'a>) -> Result<Vec<&'a Node>, Diagnostic> {
    match table.fields.get(ZIP) {
        None => Ok(Vec::new()),
        Some(node @ Node { item: Item::Table(_), .. }) => Ok(vec![node]),
        Some(Node { item: Item::Array(nodes), .. })
            if nodes.iter().all(|node| matches!(node.item, Item::Table(_))) =>
        {
            Ok(nodes.iter().collect())
        }
        Some(node) => {
            let message =
                "sweep.zip must be a table of lists, for parameters that change together".to_owned();
            let help = "[[sweep.zip]] and below it \"topology.hosts\" = [64, 128] and \"workload.bytes\" = [\"1MB\", \"2MB\"]";
            Err(fault(table.file, node.at, message, Some(help.to_owned().into())))
        }
    }
}

fn linked<'a>(
    file: &str,
    group: &'a Node,
    root: &Fields,
    registry: &Registry,
) -> Result<Axis<'a>, Diagnostic> {
    let mut found = Vec::new();
    if let Item::Table(fields) = &group.item {
        leaves("", fields, &is_list, &mut found);
    }
    let mut axis: Axis = Vec::new();
    for (key, node) in found {
        let (key, values) = listed(file, &key, node, root, registry)?;
        if let Some((first, others)) = axis.first().filter(|(_, others)| others.len() != values.len()) {
            let message = format!(
                "parameters that change together need lists of one length, but {first:?} has {} and {key:?} has {}",
                counted(others.len()),
                counted(values.len()),
            );
            let help = format!("{} in each list", counted(others.len().max(values.len())));
            return Err(fault(file, node.at, message, Some(help.into())));
        }
        axis.push((key, values));
    }
    if axis.is_empty() {
        let help = "\"topology.hosts\" = [64, 128] and another such list below it".to_owned();
        return Err(fault(file, group.at, "sweep.zip is empty".to_owned(), Some(help.into())));
    }
    Ok(axis)
}

fn counted(values: usize) -> String {
    format!("{values} value{}", if values == 1 { "" } else { "s" })
}

/// A form that is the same for equal sizes, rates or times, such as `"1MB"` and `"1000KB"`. The unit in the form
/// distinguishes sizes, rates and times.
fn canonical(value: &toml::Value) -> String {
    let text = value.as_str().unwrap_or_default();
    let size = || text.parse::<Bytes>().ok().map(|size| format!("{size:#}"));
    let rate = || text.parse::<Rate>().ok().map(|rate| format!("{rate:#}"));
    let time = || text.parse::<Duration>().ok().map(|time| format!("{time:#}"));
    size().or_else(rate).or_else(time).unwrap_or_else(|| value.to_string())
}

fn distinct(file: &str, axis: &Axis) -> Result<(), Diagnostic> {
    let mut seen = BTreeMap::new();
    for position in 0..axis[0].1.len() {
        let values: Vec<String> = axis.iter().map(|(_, nodes)| canonical(&nodes[position].value())).collect();
        if let Some(first) = seen.insert(values, position) {
            let (keys, values): (Vec<String>, Vec<String>) =
                axis.iter().map(|(key, v)| (format!("{key:?}"), v[position].value().to_string())).unzip();
            let before = axis[0].1[first].value().to_string();
            let message = match &keys[..] {
                [key] if before != values[0] => {
                    format!("{key} has one value twice, as {before} and as {}", values[0])
                }
                [key] => format!("{key} has the value {} twice", values[0]),
                _ => format!("{} have the values {} twice", keys.join(", "), values.join(", ")),
            };
            let place = axis[0].1[position].at;
            return Err(fault(file, place, message, Some("each value once".to_owned().into())));
        }
    }
    Ok(())
}

impl Step {
    pub(super) fn set(&mut self, file: &str, key: &str, value: &Node) -> Result<(), Diagnostic> {
        self.values.insert(key.to_owned(), plain(value));
        let path: Vec<&str> = key.split('.').collect();
        if DOCUMENT.contains(&path[0]) {
            put(&mut self.fields, &path, value).map_err(|what| {
                fault(
                    file,
                    value.at,
                    format!("{key:?} cannot be swept: {what}"),
                    Some(numbered(&path, value, &self.fields).into()),
                )
            })
        } else {
            self.settings.push(setting(file, key, value)?);
            Ok(())
        }
    }
}

/// The path to write instead of one that does not exist. Elements of lists are named by their numbers.
fn numbered(path: &[&str], value: &Node, fields: &Fields) -> String {
    let count = match fields.get(path[0]).map(|node| &node.item) {
        Some(Item::Array(nodes)) => nodes.len(),
        _ => 0,
    };
    let (first, rest) = (path[0], if path.len() > 2 { &path[2..] } else { &path[1..] });
    let values = match fields.get("sweep").map(|node| &node.item) {
        Some(Item::Table(swept)) => swept.get(&path.join(".")).map(Node::value),
        _ => None,
    };
    let values = values.unwrap_or_else(|| vec![value.value()].into());
    let named = format!("\"{first}.0.{}\" = {values}", rest.join("."));
    match count {
        0 => format!("[[{first}]] and below it what it is, then {named}"),
        1 => named,
        _ => format!("{named}, or another number up to {}", count - 1),
    }
}

/// The tables of a scenario that a sweep can change. Any other first word of a path is the name of a scheme, or `*`
/// for all schemes.
const DOCUMENT: &[&str] = &["topology", "workload", "class", "fault", SETUP];
const SETUP: &str = "setup";

/// Rejects the bare name of a parameter. A path must begin with a word of [`DOCUMENT`], with a scheme or with `*`.
fn check_key(
    file: &str,
    key: &str,
    node: &Node,
    root: &Fields,
    registry: &Registry,
) -> Result<(), Diagnostic> {
    let (first, rest) = key.split_once('.').unwrap_or((key, ""));
    let fail = |message: String, help: Fix| Err(fault(file, node.at, message, Some(help)));
    // `setup` alone sweeps over whole setups.
    if key == SETUP {
        return Ok(());
    }
    if rest.is_empty() {
        return fail(
            format!("{key:?} is no parameter of the topology, the workload, a fault or a scheme"),
            whole_path(key, &node.value(), root),
        );
    }
    if DOCUMENT.contains(&first) || first == "*" || registry.find_scheme(first).is_some() {
        return Ok(());
    }
    let own = match root.get("scheme").map(|node| &node.item) {
        Some(Item::Array(schemes)) => schemes
            .iter()
            .filter_map(|scheme| match &scheme.item {
                Item::Table(fields) => fields.get("name")?.value().as_str().map(str::to_owned),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    };
    if own.iter().any(|name| name == first) {
        return Ok(());
    }
    let built_in =
        crate::scenario::resolve::scheme::builtin::schemes().into_iter().map(|listing| listing.name);
    let own = own.iter().map(String::as_str).chain(registry.scheme_names());
    let known: Vec<&str> = DOCUMENT.iter().copied().chain(own).chain(built_in).collect();
    let help = match nearest(first, &known) {
        _ if parameter_path::is_part(first) => part_path(key, root, &node.value()),
        Some(near) => Fix::set(format!("\"{near}.{rest}\""), node.value()),
        None => Fix::text(format!("a path that begins with {} or *", known.join(", "))),
    };
    fail(format!("{key:?} begins with neither a part of the scenario nor a scheme"), help)
}

/// The fix for a path that begins with a part of schemes, such as `lb`: a setting for all schemes. Its path is the one
/// that `key` probably means in a built-in scheme of the scenario, or else `key` itself.
fn part_path(key: &str, root: &Fields, values: &toml::Value) -> Fix {
    let names = root.get("schemes").map(|node| as_list(&node.value())).unwrap_or_default();
    let names =
        names.iter().flat_map(|value| value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]));
    let each = values.as_array().cloned().unwrap_or_else(|| vec![values.clone()]);
    let meant = |name: toml::Value| {
        let scheme = crate::scenario::resolve::scheme::builtin::scheme(name.as_str()?).ok()?;
        let path = parameter_path::resolve_alias(key, &scheme)?;
        let takes_value = parameter_path::is_another_name(key, &path) && takes_values(&scheme, &path, &each);
        Some(Meant { takes_value: takes_value || path == key, path })
    };
    let unknown = || Meant { path: key.to_owned(), takes_value: true };
    names.into_iter().find_map(meant).unwrap_or_else(unknown).of_all_schemes(values)
}

/// The whole path to write instead of the bare name of a parameter.
fn whole_path(key: &str, values: &toml::Value, root: &Fields) -> Fix {
    if let "seed" | "seeds" | "scheme" | "schemes" = key {
        let key = if key.starts_with("seed") { "seeds" } else { "schemes" };
        let list = |value: &toml::Value| value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
        let values = toml::Value::Array(list(values).iter().flat_map(list).collect());
        return Fix::text(format!(
            "{key} = {values} at the top: each scheme runs with each seed at each point"
        ));
    }
    if key == "title" {
        let first = values.as_array().and_then(|values| values.first()).unwrap_or(values);
        return Fix::text(format!("title = {first} at the top, instead of one there: all points have it"));
    }
    let has = |part: &&&str| matches!(root.get(**part), Some(Node { item: Item::Table(fields), .. }) if fields.contains_key(key));
    let part = ["topology", "workload"].iter().find(has);
    let each = values.as_array().cloned().unwrap_or_else(|| vec![values.clone()]);
    match (part, parameter_path::path_of(key, &each)) {
        (Some(part), _) => Fix::set(format!("\"{part}.{key}\""), values),
        (None, Some(meant)) => meant.of_all_schemes(values),
        (None, None) => match section_with(key) {
            Some((part, kind)) => Fix::text(format!(
                "\"{part}.{key}\" = {values}, where that is a {part} which has it: kind = {kind:?}"
            )),
            None => {
                Fix::text(format!("\"topology.{key}\" = {values}, or workload, a scheme or * in front of it"))
            }
        },
    }
}

/// The table that has a key of this name for some kind, and the first such kind.
fn section_with(key: &str) -> Option<(&'static str, &'static str)> {
    let has = |section: &&keys::section::Section| section.keys.iter().any(|known| known.name == key);
    keys::sections().iter().filter(has).find_map(|section| match section.table {
        "[topology]" => Some(("topology", section.kind?)),
        "[workload]" => Some(("workload", section.kind?)),
        _ => None,
    })
}

fn spelled_out(root: &Table) -> Result<Vec<Step>, Diagnostic> {
    let points = root.tables("point", "point")?;
    if points.is_empty() {
        return Err(root.wrong("point", "point is empty, so nothing would run", "no point at all"));
    }
    points
        .iter()
        .map(|point| {
            only(point, &keys::of("point"))?;
            let mut fields = root.fields.clone();
            for (key, node) in point.fields.iter().filter(|(key, _)| *key != "sweep") {
                fields.insert(key.clone(), node.clone());
            }
            let values = match point.node("sweep") {
                Some(node) => {
                    let sweep = Table::open(root.file, "[point.sweep]", node)?;
                    sweep.fields.iter().map(|(key, node)| (key.clone(), plain(node))).collect()
                }
                None => BTreeMap::new(),
            };
            Ok(Step { fields, values, settings: Vec::new() })
        })
        .collect()
}

/// A swept value in the form in which results store it. A table, a list or a date becomes TOML text.
fn plain(node: &Node) -> Value {
    match node.value() {
        toml::Value::Boolean(truth) => Value::Bool(truth),
        toml::Value::Integer(number) => Value::Integer(number),
        toml::Value::Float(number) => Value::Number(number),
        toml::Value::String(text) => Value::Text(text),
        other => Value::Text(other.to_string()),
    }
}
