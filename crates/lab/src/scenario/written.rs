//! A scenario as written, on its way to the resolved form.

use super::context::Context;
use super::declarations;
use super::origin::Origin;
use super::registry::Wrong;
use super::resolved::{Point, Scenario};
use super::schemes::{self, Instead, ParameterFault};
use super::sweep::{self, Setting};
use super::table::{Read, Table, fault, list, nearest};
use super::tree::{self, Fields, Item, Node, Place};
use super::{
    FabricSpec, Files, Overrides, Registry, ScenarioError, Scheme, written_rest, written_topology,
    written_workload,
};
use std::collections::BTreeSet;

/// The keys of a scenario file. `point` stands only in resolved ones; `find` is a question beside the scenario, which
/// does not change it.
pub(super) const KEYS: &[&str] = &[
    "title", "schemes", "scheme", "seeds", "topology", "workload", "fault", "measure", "set", "sweep",
    "limits", "point", "find",
];

/// Reads a scenario, in short or in resolved form.
///
/// # Errors
/// The first fault, with its place and what to write instead.
pub fn read(
    file_name: &str,
    text: &str,
    files: &dyn Files,
    over: &Overrides,
) -> Result<Scenario, ScenarioError> {
    read_with(&Registry::new(), file_name, text, files, over)
}

/// Reads a scenario that may name what is in `registry` beside ours.
///
/// # Errors
/// Those of [`read`].
pub fn read_with(
    registry: &Registry,
    file_name: &str,
    text: &str,
    files: &dyn Files,
    over: &Overrides,
) -> Result<Scenario, ScenarioError> {
    let fields = tree::parse(file_name, text)?;
    resolve(registry, file_name, fields, files, over)
}

/// Resolves a document.
pub(super) fn resolve(
    registry: &Registry,
    file: &str,
    fields: Fields,
    files: &dyn Files,
    over: &Overrides,
) -> Result<Scenario, ScenarioError> {
    let cx = Context::new(file, files, registry);
    let root = Node { at: None, item: Item::Table(fields) };
    let table = Table::open(file, "", &root)?;
    table.only(KEYS)?;
    let title = table.get("title")?.unwrap_or_else(|| file.to_owned());
    let seeds = seeds(&table, over)?;
    let limits = table.node("limits").map(|node| Table::open(file, "[limits]", node)).transpose()?;
    let limits = written_rest::limits(limits.as_ref())?;
    let measures = table.tables("measure", "measure")?;
    let measures = measures.iter().map(written_rest::measure).collect::<Result<Vec<_>, _>>()?;
    let settings = match table.node("set") {
        Some(node) => sweep::settings(&Table::open(file, "[set]", node)?)?,
        None => Vec::new(),
    };
    let sweep = match table.node("sweep") {
        Some(node) => sweep::Sweep::read(&Table::open(file, "[sweep]", node)?, table.fields, registry)?,
        None => sweep::Sweep::default(),
    };

    let mut points: Vec<Point> = Vec::new();
    for step in sweep.steps(&table)? {
        let stepped = Node { at: None, item: Item::Table(step.fields) };
        let table = Table::open(file, "", &stepped)?;
        let (topology, hosts) = written_topology::read(&cx, &section(&table, "topology")?)?;
        points.push(Point {
            sweep: step.values,
            schemes: read_schemes(registry, &table, &settings, &step.settings, over)?,
            topology,
            workload: written_workload::read(&cx, &section(&table, "workload")?, hosts)?,
            faults: table
                .tables("fault", "fault")?
                .iter()
                .map(written_rest::fault)
                .collect::<Result<_, _>>()?,
        });
    }
    let swept = sweep.values();
    let origin = Origin::new(file, root);
    Ok(Scenario::new(title, seeds, measures, swept, limits, points, cx.into_files(), origin))
}

fn section<'a>(root: &Table<'a>, key: &'static str) -> Result<Table<'a>, ScenarioError> {
    let name = format!("[{key}]");
    match root.node(key) {
        Some(node) => Table::open(root.file, &name, node),
        None => {
            let kind = if key == "topology" { "fat-tree" } else { "permutation" };
            let help = format!("{name} and below it kind = {kind:?}");
            Err(fault(root.file, root.at, format!("the scenario has no {name}"), Some(help)))
        }
    }
}

pub(super) fn seeds(root: &Table, over: &Overrides) -> Result<Vec<u64>, ScenarioError> {
    let seeds: Vec<u64> = elements(root, "seeds", "seed")?
        .map_or_else(|| Ok(vec![1]), |seeds| seeds.into_iter().map(|(_, seed)| Ok(seed)).collect())?;
    if over.seeds.is_empty() {
        return Ok(seeds);
    }
    let most = i64::MAX as u64;
    if let Some(seed) = over.seeds.iter().find(|seed| **seed > most) {
        let message = format!("seed {seed} on the command line is too large");
        return Err(fault(root.file, None, message, Some(format!("--seed 0 to {most}"))));
    }
    match twice(&over.seeds) {
        Some(seed) => {
            let message = format!("seed {seed} is given twice on the command line");
            Err(fault(root.file, None, message, Some(format!("--seed {seed} once"))))
        }
        None => Ok(over.seeds.clone()),
    }
}

/// The elements of a list with their places; the list is not empty and has no element twice.
fn elements<T: Read + Ord + Clone + std::fmt::Debug>(
    root: &Table,
    key: &str,
    what: &str,
) -> Result<Option<Vec<(Place, T)>>, ScenarioError> {
    let Some(values) = root.get::<Vec<T>>(key)? else { return Ok(None) };
    let Some(Node { item: Item::Array(nodes), .. }) = root.node(key) else { return Ok(None) };
    if values.is_empty() {
        let help = format!("{key} = {}", super::table::example(key));
        return Err(root.wrong(key, format!("{key} is empty, so nothing would run"), help));
    }
    let mut seen = BTreeSet::new();
    for (node, value) in nodes.iter().zip(&values) {
        if !seen.insert(value.clone()) {
            let mut kept = values.clone();
            let mut once = BTreeSet::new();
            kept.retain(|value| once.insert(value.clone()));
            let help = format!("{key} = [{}]", list(&kept));
            return Err(fault(root.file, node.at, format!("{what} {value:?} is given twice"), Some(help)));
        }
    }
    Ok(Some(nodes.iter().map(|node| node.at).zip(values).collect()))
}

/// The first value that stands there twice.
fn twice<T: Ord>(values: &[T]) -> Option<&T> {
    let mut seen = BTreeSet::new();
    values.iter().find(|value| !seen.insert(*value))
}

/// The schemes that run, with `[set]` and the sweep's settings in them.
fn read_schemes(
    registry: &Registry,
    root: &Table,
    set: &[Setting],
    swept: &[Setting],
    over: &Overrides,
) -> Result<Vec<Scheme>, ScenarioError> {
    let file = root.file;
    if let Some(Node { at, item: Item::Leaf(value @ toml::Value::String(_)) }) = root.node("scheme") {
        let help = Some(format!("schemes = [{value}]"));
        return Err(fault(file, *at, format!("scheme must be a list of tables, not {value}"), help));
    }
    let mut own: Vec<(Place, Scheme)> = Vec::new();
    for table in root.tables("scheme", "scheme")? {
        let scheme = own_scheme(&table, registry)?;
        if own.iter().any(|(_, other)| other.name == scheme.name) {
            let message = format!("scheme {:?} is given twice", scheme.name);
            return Err(table.wrong("name", message, "another name"));
        }
        own.push((table.at, scheme));
    }
    let own_names = own.iter().map(|(_, scheme)| scheme.name.as_str());
    let own_names: Vec<&str> = own_names.chain(registry.scheme_names()).collect();
    let find = |name: &str| {
        own.iter()
            .find(|(_, s)| s.name == name)
            .cloned()
            .or_else(|| Some((None, registry.find_scheme(name)?)))
    };
    let named = elements::<String>(root, "schemes", "scheme")?;
    if named.is_none() && own.is_empty() {
        return Err(root.missing("schemes"));
    }
    let mut running: Vec<(Place, Scheme)> = Vec::new();
    for (at, name) in named.into_iter().flatten() {
        let Some((own_at, scheme)) = find(&name) else {
            let (message, help) = schemes::unknown(&name, &own_names);
            return Err(fault(file, at, message, Some(help)));
        };
        running.push((own_at.or(at), scheme));
    }
    for (at, scheme) in &own {
        if running.iter().all(|(_, other)| other.name != scheme.name) {
            running.push((*at, scheme.clone()));
        }
    }
    let mut in_file: Vec<String> = running.iter().map(|(_, scheme)| scheme.name.clone()).collect();
    if !over.schemes.is_empty() {
        if let Some(name) = twice(&over.schemes) {
            let message = format!("scheme {name:?} is given twice on the command line");
            return Err(fault(file, None, message, Some(format!("--scheme {name} once"))));
        }
        running = over
            .schemes
            .iter()
            .map(|name| {
                find(name).ok_or_else(|| {
                    let (message, help) = schemes::unknown(name, &own_names);
                    let message = format!("{message} on the command line");
                    fault(file, None, message, Some(format!("--scheme {}", help.replace('"', ""))))
                })
            })
            .collect::<Result<_, _>>()?;
        in_file.extend(over.schemes.iter().cloned());
    }
    for setting in set.iter().chain(swept) {
        known_scheme(registry, file, setting, &in_file)?;
        if setting.scheme == "*"
            && let Some((_, first)) = running.first()
            && running.iter().all(|(_, scheme)| !schemes::has(scheme, &setting.path))
        {
            let wrong = schemes::no_such(first, &setting.path);
            return Err(refused(file, setting.at, Some(setting), &wrong));
        }
    }
    running
        .into_iter()
        .map(|(at, scheme)| {
            // `*` means every scheme that has the parameter.
            let mine = |setting: &&Setting| {
                setting.scheme == scheme.name
                    || (setting.scheme == "*" && schemes::has(&scheme, &setting.path))
            };
            let settings: Vec<&Setting> = set.iter().chain(swept).filter(mine).collect();
            apply(registry, file, at, scheme.clone(), &settings)
        })
        .collect()
}

/// Reads `[[scheme]]`: a scheme in full, or another one (`base`) under a new name with some parameters set.
fn own_scheme(table: &Table, registry: &Registry) -> Result<Scheme, ScenarioError> {
    if table.node("base").is_none() && table.node("transport").is_none() {
        table.only(&["base", "name", "title", "set"])?;
        let missing = table.missing("base");
        let name = table.get::<String>("name")?.filter(|name| registry.find_scheme(name).is_some());
        let help = name.map(|name| format!("schemes = [{name:?}], without [[scheme]]"));
        return Err(ScenarioError { help: help.or(missing.help.clone()), ..missing });
    }
    if table.node("base").is_none() {
        return whole_scheme(table, registry);
    }
    if let Some((key, node)) = PARTS.iter().find_map(|key| Some((*key, table.node(key)?))) {
        return Err(part_beside_base(table, key, node));
    }
    table.only(&["base", "name", "title", "set"])?;
    let base: String = table.need("base")?;
    let mut scheme = registry.find_scheme(&base).ok_or_else(|| {
        let names: Vec<&str> = registry.scheme_names().collect();
        let (message, help) = schemes::unknown(&base, &names);
        table.wrong("base", message, format!("base = {help}"))
    })?;
    let name: String = table.need("name")?;
    check_name(table, &name)?;
    let settings = match table.node("set") {
        Some(node) => sweep::own_settings(&Table::open(table.file, "set", node)?, &name)?,
        None => Vec::new(),
    };
    let told: Vec<String> = settings.iter().map(|s| format!("{} = {}", s.path, s.value)).collect();
    let default =
        if told.is_empty() { scheme.title } else { format!("{} with {}", scheme.title, told.join(", ")) };
    scheme.title = table.get("title")?.unwrap_or(default);
    scheme.name = name;
    apply(registry, table.file, table.at, scheme, &settings.iter().collect::<Vec<_>>())
}

/// What a scheme in full has, and one with a base sets.
const PARTS: [&str; 5] = ["qps", "transport", "cc", "lb", "fabric"];

/// The fault of a part that stands beside `base` instead of in `set`.
fn part_beside_base(table: &Table, key: &str, node: &Node) -> ScenarioError {
    let form = match &node.item {
        Item::Table(_) => format!("[scheme.{key}]"),
        _ => format!("{key:?}"),
    };
    let message = format!("a [[scheme]] with a base has its parameters in set, not in {form}");
    let (path, value) = match &node.item {
        Item::Table(fields) => sweep::first_leaf(key, fields)
            .unwrap_or_else(|| ("fabric.routing_delay".to_owned(), "10ms".into())),
        _ => (key.to_owned(), node.value()),
    };
    fault(table.file, node.at, message, Some(format!("[scheme.set] and below it {path:?} = {value}")))
}

fn check_name(table: &Table, name: &str) -> Result<(), ScenarioError> {
    let fine = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.is_empty() && name.chars().all(fine) {
        return Ok(());
    }
    let message = format!("a scheme's name is made of letters, digits, - and _, not {name:?}");
    let instead: String = name.chars().map(|c| if fine(c) { c } else { '-' }).collect();
    let instead = if instead.is_empty() { "reps-16".to_owned() } else { instead };
    Err(table.wrong("name", message, format!("name = {instead:?}")))
}

/// Reads a scheme in full.
fn whole_scheme(table: &Table, registry: &Registry) -> Result<Scheme, ScenarioError> {
    table.only(&["name", "title", "source", "qps", "transport", "cc", "lb", "fabric"])?;
    let name: String = table.need("name")?;
    check_name(table, &name)?;
    let transport = registered(table, &["transport"], &|value| registry.transport_of(value))?;
    let cc = registered(table, &["cc"], &|value| registry.cc(value))?;
    let lb = registered(table, &["lb"], &|value| registry.lb(value))?;
    let program = registered(table, &["fabric", "program"], &|value| registry.program_of(value))?;
    registered(table, &["fabric"], &declarations::check_fabric)?;
    let mut fabric: FabricSpec = match (table.node("fabric"), &program) {
        (Some(Node { at, item: Item::Table(fields) }), Some(_)) => {
            let mut fields = fields.clone();
            fields.remove("program");
            part_at(table.file, "fabric", &Node { at: *at, item: Item::Table(fields) }, registry)?
        }
        _ => part(table, "fabric", registry)?,
    };
    fabric.program = program.or(fabric.program);
    Ok(Scheme {
        title: table.get("title")?.unwrap_or_else(|| name.clone()),
        source: table.get("source")?.unwrap_or_default(),
        name,
        qps: table.get("qps")?.unwrap_or(1),
        transport: transport.map_or_else(|| part(table, "transport", registry), Ok)?,
        cc: cc.map_or_else(|| part(table, "cc", registry), Ok)?,
        lb: lb.map_or_else(|| part(table, "lb", registry), Ok)?,
        fabric,
    })
    .and_then(|scheme| apply(registry, table.file, table.at, scheme, &[]))
}

/// Reads a scheme from a file of its own.
pub(super) fn scheme_file(file: &str, text: &str, registry: &Registry) -> Result<Scheme, ScenarioError> {
    let root = Node { at: None, item: Item::Table(tree::parse(file, text)?) };
    own_scheme(&Table::open(file, "the scheme", &root)?, registry)
}

/// Reads one part of a scheme, if its kind is registered.
fn registered<T>(
    table: &Table,
    path: &[&str],
    read: &dyn Fn(&toml::Value) -> Result<Option<T>, Wrong>,
) -> Result<Option<T>, ScenarioError> {
    let mut node = table.node(path[0]);
    for key in &path[1..] {
        node = match node.map(|node| &node.item) {
            Some(Item::Table(fields)) => fields.get(*key),
            _ => None,
        };
    }
    let Some(node) = node else { return Ok(None) };
    read(&node.value()).map_err(|wrong| {
        let message = wrong.of(&path.join("."));
        let at = wrong.key.map_or(node.at, |key| node.place(&key.split('.').collect::<Vec<_>>()));
        fault(table.file, at, message, Some(wrong.help))
    })
}

/// Reads one part of a scheme in full.
fn part<T: serde::de::DeserializeOwned>(
    table: &Table,
    key: &str,
    registry: &Registry,
) -> Result<T, ScenarioError> {
    let Some(node) = table.node(key) else {
        let help = format!("[scheme.{key}] with all its parameters, or base = \"reps\"");
        return Err(fault(table.file, table.at, format!("[[scheme]] has no {key:?}"), Some(help)));
    };
    part_at(table.file, key, node, registry)
}

fn part_at<T: serde::de::DeserializeOwned>(
    file: &str,
    key: &str,
    node: &Node,
    registry: &Registry,
) -> Result<T, ScenarioError> {
    node.value().try_into().map_err(|e: toml::de::Error| {
        // The deserialiser names the key or prints the value that it stumbled over.
        let problem = &registry.complete(key, e.message());
        let Item::Table(fields) = &node.item else {
            return fault(file, node.at, format!("{key} must be a table"), Some(format!("[scheme.{key}]")));
        };
        let mentioned = |key: &str, value: &Node| {
            problem.contains(&format!("`{key}`"))
                || problem.contains(&value.value().to_string())
                || problem.contains(&format!("`{}`", value.value()))
        };
        let culprit = fields.iter().find(|(key, value)| mentioned(key, value));
        let (name, at) =
            culprit.map_or((key.to_owned(), node.at), |(leaf, node)| (format!("{key}.{leaf}"), node.at));
        let help = "what anabranch check prints for a scheme that comes with the program".to_owned();
        let value = culprit.map_or_else(|| node.value(), |(_, node)| node.value());
        fault(file, at, format!("{name}{}", schemes::said(problem, &value)), Some(help))
    })
}

/// Refuses a setting for a scheme that does not run.
fn known_scheme(
    registry: &Registry,
    file: &str,
    setting: &Setting,
    running: &[String],
) -> Result<(), ScenarioError> {
    if setting.scheme == "*" || running.contains(&setting.scheme) {
        return Ok(());
    }
    let known: Vec<&str> = running.iter().map(String::as_str).chain(["*"]).collect();
    let known_elsewhere = registry.find_scheme(&setting.scheme).is_some();
    let what = if known_elsewhere {
        format!("this scenario does not run scheme {:?}", setting.scheme)
    } else {
        format!("unknown scheme {:?}", setting.scheme)
    };
    let near = nearest(&setting.scheme, &known).filter(|_| !known_elsewhere);
    let help = match near {
        _ if matches!(setting.scheme.as_str(), "topology" | "workload") => {
            format!("{} = {} below [{}]", setting.path, setting.value, setting.scheme)
        }
        Some(near) => format!("\"{near}.{}\" = {}", setting.path, setting.value),
        None => format!("one of {} before {:?}", known.join(", "), format!(".{}", setting.path)),
    };
    Err(fault(file, setting.at, what, Some(help)))
}

/// Applies the settings that are meant for a scheme, and checks its numbers.
fn apply(
    registry: &Registry,
    file: &str,
    at: Place,
    mut scheme: Scheme,
    settings: &[&Setting],
) -> Result<Scheme, ScenarioError> {
    // A preset stands for many parameters, so that single ones come after it, wherever they are written.
    let (presets, single): (Vec<&Setting>, Vec<&Setting>) =
        settings.iter().partition(|setting| setting.path == schemes::PRESET);
    let set = |path: &str| settings.iter().find(|setting| setting.path == path);
    for (one, other) in [("fabric.pfc.alpha", "fabric.pfc.threshold"), ("fabric.pfc", "fabric.queue")] {
        if let (Some(_), Some(setting)) = (set(one), set(other)) {
            let wrong = match one {
                "fabric.pfc" => super::scheme_limits::queue_and_pfc(),
                _ => super::scheme_limits::thresholds("exclude each other"),
            };
            return Err(refused(file, setting.at, Some(setting), &wrong));
        }
    }
    for setting in presets.into_iter().chain(single) {
        scheme = schemes::set(registry, &scheme, &setting.path, &setting.value)
            .map_err(|wrong| refused(file, setting.at, Some(setting), &wrong))?;
    }
    super::scheme_limits::validate(&scheme).map_err(|wrong| {
        let part = wrong.path.split('.').next().unwrap_or_default();
        let related = |path: &str| path == wrong.path || path == part || wrong.message.contains(path);
        let culprit = settings.iter().rev().find(|setting| related(&setting.path)).copied();
        refused(file, culprit.map_or(at, |setting| setting.at), culprit, &wrong)
    })?;
    Ok(scheme)
}

fn refused(file: &str, at: Place, setting: Option<&Setting>, wrong: &ParameterFault) -> ScenarioError {
    let written = |path: &str| setting.map_or_else(|| path.to_owned(), |setting| setting.written(path));
    let help = match &wrong.instead {
        Instead::Value(value) => format!("{} = {value}", written(&wrong.path)),
        Instead::Parameter(path) => match setting {
            Some(setting) => format!("{} = {}", written(path), setting.value),
            None => path.clone(),
        },
        Instead::Setting(path, value) => format!("{} = {value}", written(path)),
        Instead::Words(words) => words.clone(),
    };
    fault(file, at, wrong.message.clone(), Some(help))
}
