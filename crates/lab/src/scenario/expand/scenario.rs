//! The steps from a scenario as written to its resolved form.

use crate::scenario::expand::resolved::{Point, Scenario};
use crate::scenario::expand::{nccl_sweep, sweep};
use crate::scenario::input::{Files, Overrides};
use crate::scenario::keys;
use crate::scenario::read::document::{self, Fields, Item, Node, Place};
use crate::scenario::read::key_path::Setting;
use crate::scenario::read::source_map::Origin;
use crate::scenario::read::table::{Table, fault, list, nearest};
use crate::scenario::read::value::Read;
use crate::scenario::resolve::scheme::catalog::Registry;
use crate::scenario::resolve::scheme::file::{Draft, apply, refused};
use crate::scenario::resolve::scheme::{builtin, misnamed, setting};
use crate::scenario::resolve::setup::Setup;
use crate::scenario::resolve::topology::{self, MOST_FAULTS};
use crate::scenario::resolve::{class, fabric_values, rest, simai_conf, workload};
use crate::scenario::schema::files::Context;
use crate::scenario::schema::unknown_keys::only;
use crate::scenario::schema::{kind_hints, parameter_path};
use anabranch_base::{Code, Diagnostic, Fix};
use anabranch_engine::Scheme;
use anabranch_fabric::TopologySpec;
use std::collections::BTreeSet;

/// Reads a scenario, in short or in resolved form.
///
/// # Errors
/// The scenario is not valid, or a file that it names cannot be read. The error has its place and what to write
/// instead, where these are known.
pub fn read(
    file_name: &str,
    text: &str,
    files: &dyn Files,
    over: &Overrides,
) -> Result<Scenario, Diagnostic> {
    read_with(&Registry::new(), file_name, text, files, over)
}

/// Reads a scenario that may also name entries of `registry`.
///
/// # Errors
/// See [`read`].
pub fn read_with(
    registry: &Registry,
    file_name: &str,
    text: &str,
    files: &dyn Files,
    over: &Overrides,
) -> Result<Scenario, Diagnostic> {
    let fields = document::parse(file_name, text)?;
    resolve(registry, file_name, fields, files, over)
}

/// Rejects a figure, which has an `id` with a slash. The error proposes the command that runs the figure.
fn not_a_figure(table: &Table<'_>) -> Result<(), Diagnostic> {
    let Some(node) = table.node("id") else { return Ok(()) };
    let value = node.value();
    let Some((paper, name)) = value.as_str().and_then(|id| id.split_once('/')) else { return Ok(()) };
    let help = match paper {
        LEAGUE => format!("anabranch league {name}"),
        _ => format!(
            "anabranch reproduce {paper}/{name} (with --figures-dir DIR for a file of one's own, \
             DIR/{paper}/{name}.toml)"
        ),
    };
    let message = "unknown key \"id\": this is a figure of a paper, not a scenario".to_owned();
    Err(fault(table.file, node.at, message, Some(help.into())))
}

/// The folder of figures whose scenarios `anabranch league` runs.
const LEAGUE: &str = "league";

pub(in crate::scenario) fn resolve(
    registry: &Registry,
    file: &str,
    fields: Fields,
    files: &dyn Files,
    over: &Overrides,
) -> Result<Scenario, Diagnostic> {
    let cx = Context::new(file, files, &registry.plugins);
    let root = Node { at: None, item: Item::Table(fields) };
    let table = Table::open(file, "", &root)?;
    not_a_figure(&table)?;
    only(&table, &keys::of("scenario"))?;
    let title = table.get("title")?.unwrap_or_else(|| file.to_owned());
    let seeds = seeds(&table, over)?;
    let limits = table.node("limits").map(|node| Table::open(file, "[limits]", node)).transpose()?;
    let limits = rest::limits(limits.as_ref())?;
    let measures = table.tables("measure", "measure")?;
    let measures = measures.iter().map(rest::measure).collect::<Result<Vec<_>, _>>()?;
    let observers = table.tables("observer", "observer")?;
    let observers =
        observers.iter().map(|table| registry.plugins.observer_of(table)).collect::<Result<_, _>>()?;
    let settings = match table.node("set") {
        Some(node) => sweep::settings(&Table::open(file, "[set]", node)?)?,
        None => Vec::new(),
    };
    let sweep = match table.node("sweep") {
        Some(node) => sweep::Sweep::read(&Table::open(file, "[sweep]", node)?, table.fields, registry)?,
        None => sweep::Sweep::default(),
    };

    let point = |step: sweep::Step| {
        let stepped = Node { at: None, item: Item::Table(step.fields) };
        let table = Table::open(file, "", &stepped)?;
        let fabric = section(&table, "topology")?;
        let (topology, hosts) = topology::read(&cx, &fabric)?;
        let classes = table.tables("class", "class")?;
        let (setup, schemes, of_classes) =
            read_schemes(registry, &table, (&cx, &topology), (&settings, &step.settings), &classes, over)?;
        let workload = workload::read(&cx, &section(&table, "workload")?, (&topology, hosts))?;
        let faults = table.tables("fault", "fault")?;
        if let Some(beyond) = faults.get(MOST_FAULTS) {
            let message = format!("a run has {MOST_FAULTS} faults at most, not {}", faults.len());
            let help = "fewer faults, each with a list of links, such as links = [\"host:0\", \"host:1\"]";
            return Err(fault(file, beyond.at, message, Some(Fix::text(help))));
        }
        let faults = faults.iter().map(|table| rest::fault(table, topology.link()));
        let mut faults = faults.collect::<Result<Vec<_>, _>>()?;
        faults.extend(topology::losses(&cx, &fabric, &topology, &faults)?);
        let classes = class::read(&cx, &classes, of_classes, (&topology, hosts))?;
        class::check((&table, &classes), &schemes, &faults)?;
        Ok(Point { sweep: step.values, setup, schemes, topology, workload, classes, faults })
    };
    let steps = sweep.steps(&table)?.into_iter().map(|step| nccl_sweep::split(file, step));
    let steps = steps.collect::<Result<Vec<_>, _>>().map_err(|error| sweep.in_its_list(error))?.concat();
    let swept = sweep.values_with(nccl_sweep::SWEPT, &steps);
    let points = steps.into_iter().map(point).collect::<Result<Vec<Point>, Diagnostic>>();
    let points = points.map_err(|error| sweep.in_its_list(error))?;
    let origin = Origin::new(file, root);
    Ok(Scenario::new(title, seeds, measures, observers, swept, limits, points, cx.into_files(), origin))
}

fn section<'a>(root: &Table<'a>, key: &'static str) -> Result<Table<'a>, Diagnostic> {
    let name = format!("[{key}]");
    match root.node(key) {
        Some(node) => Table::open(root.file, &name, node),
        None => {
            let kind = if key == "topology" { "fat-tree" } else { "permutation" };
            let help = format!("{name} and below it kind = {kind:?}");
            Err(fault(root.file, root.at, format!("the scenario has no {name}"), Some(help.into())))
        }
    }
}

/// The largest N for which `seeds = N` is most likely meant as a number of seeds. A larger N is most likely a seed
/// itself.
const MOST_COUNTED: i64 = 20;

pub(in crate::scenario) fn seeds(root: &Table, over: &Overrides) -> Result<Vec<u64>, Diagnostic> {
    let usual = || if over.usual_seeds.is_empty() { vec![1] } else { over.usual_seeds.clone() };
    if let Some(Node { item: Item::Leaf(toml::Value::Integer(count @ 1..=MOST_COUNTED)), .. }) =
        root.node("seeds")
    {
        let help = format!("seeds = {:?}", Vec::from_iter(1..=*count));
        return Err(root.wrong("seeds", format!("seeds must be a list, not {count}"), help));
    }
    let seeds: Vec<u64> = elements(root, "seeds", "seed")?
        .map_or_else(|| Ok(usual()), |seeds| seeds.into_iter().map(|(_, seed)| Ok(seed)).collect())?;
    if over.seeds.is_empty() {
        return Ok(seeds);
    }
    let most = i64::MAX as u64;
    if let Some(seed) = over.seeds.iter().find(|seed| **seed > most) {
        let message = format!("seed {seed} on the command line is too large");
        return Err(fault(root.file, None, message, Some(format!("--seed 0 to {most}").into())));
    }
    match twice(&over.seeds) {
        Some(seed) => {
            let message = format!("seed {seed} is given twice on the command line");
            Err(fault(root.file, None, message, Some(format!("--seed {seed} once").into())))
        }
        None => Ok(over.seeds.clone()),
    }
}

fn elements<T: Read + Ord + Clone + std::fmt::Debug>(
    root: &Table,
    key: &str,
    what: &str,
) -> Result<Option<Vec<(Place, T)>>, Diagnostic> {
    let Some(values) = root.get::<Vec<T>>(key)? else { return Ok(None) };
    let Some(Node { item: Item::Array(nodes), .. }) = root.node(key) else { return Ok(None) };
    if values.is_empty() {
        let help = Fix::set(key, crate::scenario::read::table::example(key));
        return Err(root.wrong(key, format!("{key} is empty, so nothing would run"), help));
    }
    let mut seen = BTreeSet::new();
    for (node, value) in nodes.iter().zip(&values) {
        if !seen.insert(value.clone()) {
            let mut kept = values.clone();
            let mut once = BTreeSet::new();
            kept.retain(|value| once.insert(value.clone()));
            let help = format!("{key} = [{}]", list(&kept));
            return Err(fault(
                root.file,
                node.at,
                format!("{what} {value:?} is given twice"),
                Some(help.into()),
            ));
        }
    }
    Ok(Some(nodes.iter().map(|node| node.at).zip(values).collect()))
}

fn twice<T: Ord>(values: &[T]) -> Option<&T> {
    let mut seen = BTreeSet::new();
    values.iter().find(|value| !seen.insert(*value))
}

fn refuse_names_in_scheme(root: &Table) -> Result<(), Diagnostic> {
    let file = root.file;
    if let Some(Node { at, item: Item::Leaf(value @ toml::Value::String(_)) }) = root.node("scheme") {
        let help = Some(format!("schemes = [{value}]"));
        return Err(fault(
            file,
            *at,
            format!("scheme must be a list of tables, not {value}"),
            help.map(Fix::from),
        ));
    }
    if let Some(node @ Node { at, item: Item::Array(nodes) }) = root.node("scheme")
        && !nodes.is_empty()
        && nodes.iter().all(|node| matches!(node.item, Item::Leaf(toml::Value::String(_))))
    {
        let help = Some(Fix::set("schemes", node.value()));
        return Err(fault(file, *at, "scheme must be a list of tables, not of names", help));
    }
    Ok(())
}

fn own_schemes(registry: &Registry, root: &Table) -> Result<Vec<(Place, Draft)>, Diagnostic> {
    let mut own: Vec<(Place, Draft)> = Vec::new();
    for table in root.tables("scheme", "scheme")? {
        let scheme = Draft::read(&table, registry)?;
        if own.iter().any(|(_, other)| other.name == scheme.name) {
            let message = format!("scheme {:?} is given twice", scheme.name);
            return Err(table.wrong("name", message, "another name"));
        }
        // A resolved scenario contains its schemes completely, without a base and with their original names, so only
        // a scheme with a base is refused.
        if table.node("base").is_some() && registry.find_scheme(&scheme.name).is_some() {
            let message =
                format!("there is a scheme {:?} already, and this would run under its name", scheme.name);
            let help = format!(
                "name = \"my-{0}\", or its parameters below [set], such as \"{0}.fabric.queue\"",
                scheme.name
            );
            return Err(table.wrong("name", message, help));
        }
        own.push((table.at, scheme));
    }
    Ok(own)
}

fn unknown_scheme(
    registry: &Registry,
    (file, at): (&str, Place),
    name: &str,
    known: &[&str],
    joined: bool,
) -> Diagnostic {
    if let "all" | "*" = name {
        let help = format!("schemes = {:?}, or some of them", builtin::names(joined));
        return fault(file, at, format!("{name:?} is no scheme; schemes have names"), Some(help.into()));
    }
    let (message, help) =
        match kind_hints::no_scheme(&registry.plugins, name).filter(|_| !builtin::is_named_otherwise(name)) {
            Some(of_part) => of_part,
            None => builtin::unknown(name, known),
        };
    Diagnostic { code: Code::UnknownName, ..fault(file, at, message, Some(help.into())) }
}

fn schemes_of_command_line(
    file: &str,
    over: &Overrides,
    find: &dyn Fn(&str) -> Option<(Place, Draft)>,
    known: &[&str],
    joined: bool,
) -> Result<Vec<(Place, Draft)>, Diagnostic> {
    if let Some(name) = twice(&over.schemes) {
        let message = format!("scheme {name:?} is given twice on the command line");
        return Err(fault(file, None, message, Some(format!("--scheme {name} once").into())));
    }
    over.schemes
        .iter()
        .map(|name| {
            find(name).ok_or_else(|| {
                if let "all" | "*" = name.as_str() {
                    let help = format!("--scheme {}", builtin::names(joined).join(" --scheme "));
                    return fault(
                        file,
                        None,
                        format!("--scheme {name}: schemes have names"),
                        Some(help.into()),
                    );
                }
                let (message, help) = builtin::unknown(name, known);
                let message = format!("{message} on the command line");
                fault(file, None, message, Some(format!("--scheme {}", help.replace('"', "")).into()))
            })
        })
        .collect()
}

fn read_setup(
    registry: &Registry,
    root: &Table,
    (cx, topology): (&Context, &TopologySpec),
) -> Result<Setup, Diagnostic> {
    let word = root.node("setup").filter(|node| matches!(node.item, Item::Leaf(_)));
    let named = word.and_then(|node| node.value().as_str().map(str::to_owned));
    let Some(name) = named.filter(|name| simai_conf::is_file(name)) else {
        let setup = Setup::read(root, &registry.plugins)?;
        for file in simai_conf::files(&setup.name) {
            // The resolved form contains all values. The file is still read, because the notes of `check` about it
            // need its contents.
            let _ = cx.file(root, "setup", file);
        }
        return Ok(setup);
    };
    let text = cx.file(root, "setup", &name)?;
    let of_topology = topology.file().map(|file| cx.file(root, "topology", file)).transpose()?;
    let on = anabranch_fabric::build(topology, of_topology.as_deref());
    let on = on.map_err(|error| fabric_values::refused(root, error))?;
    simai_conf::read(&name, &text, &on)
}

fn read_schemes(
    registry: &Registry,
    root: &Table,
    ground: (&Context, &TopologySpec),
    (set, swept): (&[Setting], &[Setting]),
    classes: &[Table],
    over: &Overrides,
) -> Result<Schemes, Diagnostic> {
    let file = root.file;
    refuse_names_in_scheme(root)?;
    let setup = read_setup(registry, root, ground)?;
    let own = own_schemes(registry, root)?;
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
    let joined = matches!(root.node("topology"), Some(Node { item: Item::Table(fields), .. })
        if fields.get("kind").is_some_and(|kind| kind.value().as_str() == Some("cross-dc")));
    let of_classes = schemes_of_classes(registry, classes, &find, &own_names)?;
    let mut running: Vec<(Place, Draft)> = Vec::new();
    for (at, name) in named.into_iter().flatten() {
        let Some((own_at, scheme)) = find(&name) else {
            return Err(unknown_scheme(registry, (file, at), &name, &own_names, joined));
        };
        running.push((own_at.or(at), scheme));
    }
    for (at, scheme) in &own {
        if running.iter().all(|(_, other)| other.name != scheme.name) && !is_of_class(&scheme.name, classes) {
            running.push((*at, scheme.clone()));
        }
    }
    if running.is_empty() {
        return Err(root.missing("schemes"));
    }
    let mut in_file: Vec<String> = running.iter().map(|(_, scheme)| scheme.name.clone()).collect();
    if !over.schemes.is_empty() {
        running = schemes_of_command_line(file, over, &find, &own_names, joined)?;
        in_file.extend(over.schemes.iter().cloned());
    }
    in_file.extend(of_classes.iter().flatten().map(|(_, draft)| draft.name.clone()));
    let on_setup = |(at, draft): (Place, Draft)| -> Result<(Place, Scheme), Diagnostic> {
        Ok((at, draft.on(&setup, &registry.plugins, file, at)?))
    };
    let running: Vec<(Place, Scheme)> = running.into_iter().map(on_setup).collect::<Result<_, _>>()?;
    let of_classes: Vec<Option<(Place, Scheme)>> =
        of_classes.into_iter().map(|draft| draft.map(on_setup).transpose()).collect::<Result<_, _>>()?;
    for setting in set.iter().chain(swept) {
        known_scheme(registry, file, setting, &in_file)?;
        is_taken(file, setting, &running, &of_classes)?;
    }
    let with_settings = |(at, scheme): (Place, Scheme)| {
        let settings: Vec<&Setting> = set.iter().chain(swept).filter(|its| concerns(its, &scheme)).collect();
        apply(&setup, &registry.plugins, file, at, scheme.clone(), &settings)
    };
    let schemes = running.into_iter().map(with_settings).collect::<Result<_, _>>()?;
    let of_classes = of_classes
        .into_iter()
        .map(|scheme| scheme.map(with_settings).transpose())
        .collect::<Result<_, _>>()?;
    Ok((setup.name, schemes, of_classes))
}

/// Whether a class names this scheme. Such a scheme is compared only if `schemes` or the command line names it too.
/// In a resolved scenario, the table of the class contains the scheme itself.
fn is_of_class(name: &str, classes: &[Table]) -> bool {
    let named = |class: &Table| class.get::<String>("scheme").ok().flatten();
    classes.iter().filter_map(named).any(|named| named == name)
}

fn concerns(setting: &Setting, scheme: &Scheme) -> bool {
    setting.scheme == scheme.name || (setting.scheme == "*" && setting::accepts(scheme, &setting.path))
}

/// Rejects a setting for all schemes (`*`) if no compared scheme and no scheme of a class accepts it.
fn is_taken(
    file: &str,
    setting: &Setting,
    running: &[(Place, Scheme)],
    of_classes: &[Option<(Place, Scheme)>],
) -> Result<(), Diagnostic> {
    let mut all = running.iter().chain(of_classes.iter().flatten());
    if setting.scheme == "*"
        && let Some((_, first)) = running.first()
        && all.all(|(_, scheme)| !setting::accepts(scheme, &setting.path))
    {
        let wrong = misnamed::not_taken(first, &setting.path, &setting.value);
        return Err(refused(file, setting.at, Some(setting), &wrong));
    }
    Ok(())
}

/// The name of the setup, the compared schemes, and for each `[[class]]` its scheme if it has one.
type Schemes = (String, Vec<Scheme>, Vec<Option<Scheme>>);

/// For each `[[class]]`, the scheme that it names or, in a resolved scenario, contains.
fn schemes_of_classes(
    registry: &Registry,
    classes: &[Table],
    find: &dyn Fn(&str) -> Option<(Place, Draft)>,
    known: &[&str],
) -> Result<Vec<Option<(Place, Draft)>>, Diagnostic> {
    let of_class = |table: &Table| match table.node("scheme") {
        None => Ok(None),
        Some(node @ Node { item: Item::Table(_), .. }) => {
            let written = Table::open(table.file, "[class.scheme]", node)?;
            Ok(Some((written.at, Draft::read(&written, registry)?)))
        }
        Some(node) => {
            let name: String = table.need("scheme")?;
            let unknown = || {
                let (message, help) = kind_hints::no_scheme(&registry.plugins, &name)
                    .unwrap_or_else(|| builtin::unknown(&name, known));
                table.wrong("scheme", message, Fix::set("scheme", help))
            };
            let (own_at, draft) = find(&name).ok_or_else(unknown)?;
            Ok(Some((own_at.or(node.at), draft)))
        }
    };
    classes.iter().map(of_class).collect()
}

/// Rejects a setting for a scheme that is in neither the scenario nor the command line.
fn known_scheme(
    registry: &Registry,
    file: &str,
    setting: &Setting,
    running: &[String],
) -> Result<(), Diagnostic> {
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
        _ if parameter_path::is_part(&setting.scheme) => {
            format!("\"*.{}.{}\" = {}", setting.scheme, setting.path, setting.value)
        }
        _ if matches!(setting.scheme.as_str(), "topology" | "workload") => {
            format!("{} = {} below [{}]", setting.path, setting.value, setting.scheme)
        }
        _ if setting.scheme == "setup" => format!("\"*.{}\" = {}", setting.path, setting.value),
        Some(near) => format!("\"{near}.{}\" = {}", setting.path, setting.value),
        None if known_elsewhere => {
            format!("{:?} among the schemes, or this without it", setting.scheme)
        }
        None => format!("one of {} before {:?}", known.join(", "), format!(".{}", setting.path)),
    };
    Err(fault(file, setting.at, what, Some(help.into())))
}
