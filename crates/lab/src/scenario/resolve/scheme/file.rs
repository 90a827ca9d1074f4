//! Schemes as written, before a setup adds its values to them.

use crate::scenario::diagnostic::{ParameterFault, ParameterFix};
use crate::scenario::keys::{self, LEAGUE_PARTS};
use crate::scenario::read::document::{self, Fields, Item, Node, Place};
use crate::scenario::read::key_path::{self, Setting};
use crate::scenario::read::table::{Table, fault, name_alone};
use crate::scenario::resolve::scheme::{mix, setting};
use crate::scenario::resolve::setup::{self, Setup};
use crate::scenario::schema::declared_table::ParameterError;
use crate::scenario::schema::plugins::Plugins;
use crate::scenario::schema::unknown_keys::only;
use crate::scenario::schema::{kind_hints, parameter_path, parameters};
use anabranch_base::{Diagnostic, Fix};
use anabranch_engine::{FabricSpec, Scheme};

/// The schemes that another scheme may name as its base.
pub(in crate::scenario) trait Bases {
    fn find(&self, name: &str) -> Option<Draft>;

    fn unknown(&self, name: &str) -> (String, String);
}

/// A scheme as written, with the values of its bases.
#[derive(Clone, Debug)]
pub(in crate::scenario) struct Draft {
    pub name: String,
    pub title: String,
    source: String,
    pub needs: String,
    /// The paths of those parameters of the setup whose values follow from the scheme, as the resolved form lists them.
    /// If this is none, the paths are determined when the scheme is put on a setup.
    own: Option<Vec<String>>,
    /// The value of `qps`, and the parts.
    pub parts: Fields,
    /// The settings in the scheme's table, which apply with every setup.
    set: Vec<Setting>,
    /// The parts of the league in which the scheme takes part. The parts that its base names do not count.
    pub league: Vec<String>,
}

/// The parts of the league in which a scheme takes part if its file names none.
const USUAL_LEAGUE_PARTS: [&str; 2] = ["data-centre", "large-fabric"];

const PARTS: [&str; 6] = ["qps", "transport", "cc", "lb", "fabric", "mix"];

impl Draft {
    /// Reads `[[scheme]]`: a complete scheme, or a new scheme as its differences from another one (`base`).
    pub(in crate::scenario) fn read(table: &Table, bases: &dyn Bases) -> Result<Draft, Diagnostic> {
        only(table, &[keys::of("scheme"), vec!["qps"]].concat())?;
        if table.node("base").is_none() && table.node("transport").is_none() {
            let missing = table.missing("base");
            let name = table.get::<String>("name")?.filter(|name| bases.find(name).is_some());
            let fix = name.map(|name| Fix::text(format!("schemes = [{name:?}], without [[scheme]]")));
            return Err(Diagnostic { fix: fix.or(missing.fix.clone()), ..missing });
        }
        let base = table.get::<String>("base")?.map(|base| {
            bases.find(&base).ok_or_else(|| {
                let (message, help) = bases.unknown(&base);
                table.wrong("base", message, Fix::set("base", help))
            })
        });
        Draft::over(table, base.transpose()?)
    }

    fn over(table: &Table, base: Option<Draft>) -> Result<Draft, Diagnostic> {
        let name: String = table.need("name")?;
        table.check_name("scheme", &name, "reps-16")?;
        let settings = match table.node("set") {
            Some(node) => key_path::own_settings(&Table::open(table.file, "set", node)?, &name)?,
            None => Vec::new(),
        };
        let mut draft = base.unwrap_or_else(|| Draft {
            name: String::new(),
            title: name.clone(),
            source: String::new(),
            needs: String::new(),
            own: None,
            parts: Fields::new(),
            set: Vec::new(),
            league: Vec::new(),
        });
        let told: Vec<String> = settings.iter().map(|s| format!("{} = {}", s.path, s.value)).collect();
        if !told.is_empty() {
            draft.title = format!("{} with {}", draft.title, told.join(", "));
        }
        draft.title = table.get("title")?.unwrap_or(draft.title);
        draft.source = table.get("source")?.unwrap_or(draft.source);
        draft.needs = table.get("needs")?.unwrap_or(draft.needs);
        draft.own = table.get("own")?.or(draft.own);
        draft.league = league(table)?;
        draft.name = name;
        let mut parts = table.fields.clone();
        parts.retain(|key, _| PARTS.contains(&key.as_str()));
        setup::overlay(&mut draft.parts, &parts, "");
        draft.set.extend(settings);
        Ok(draft)
    }

    /// Reads a scheme from a separate file, and tests it with the setup `common`.
    pub(in crate::scenario) fn of_file(
        file: &str,
        text: &str,
        bases: &dyn Bases,
        plugins: &Plugins,
    ) -> Result<(Draft, Scheme), Diagnostic> {
        let root = Node { at: None, item: Item::Table(document::parse(file, text)?) };
        let mut draft = Draft::read(&Table::open(file, "the scheme", &root)?, bases)?;
        let on_common = draft.on(&Setup::common(), plugins, file, None)?;
        // Places in the scheme's file have no meaning in a scenario.
        draft.parts.values_mut().for_each(Node::forget);
        draft.set.iter_mut().for_each(|setting| setting.at = None);
        Ok((draft, on_common))
    }

    /// Reads an embedded file, which may name another scheme as its base.
    pub(in crate::scenario) fn embedded(
        name: &str,
        text: &str,
        base_of: &dyn Fn(&str) -> Option<Draft>,
    ) -> Draft {
        let mut root = Node { at: None, item: Item::Table(document::parse(name, text).expect(TESTED)) };
        root.forget();
        let table = Table::open(name, "the scheme", &root).expect(TESTED);
        let base: Option<String> = table.get("base").expect(TESTED);
        let base = base.map(|base| base_of(&base).expect(TESTED));
        Draft::over(&table, base).expect(TESTED)
    }

    /// The scheme with the values of a setup. `at` is the place in `file` where the scheme is defined or named.
    pub(in crate::scenario) fn on(
        &self,
        setup: &Setup,
        plugins: &Plugins,
        file: &str,
        at: Place,
    ) -> Result<Scheme, Diagnostic> {
        let (parts, own) = setup.under(&self.parts, plugins);
        let root = Node { at, item: Item::Table(parts) };
        let table = Table::open(file, "[[scheme]]", &root)?;
        let own = self.own.clone().unwrap_or(if self.needs.is_empty() { Vec::new() } else { own });
        let scheme = Scheme {
            name: self.name.clone(),
            title: self.title.clone(),
            source: self.source.clone(),
            needs: self.needs.clone(),
            own,
            ..parts_of(&table, plugins)?
        };
        apply(setup, plugins, file, at, scheme, &self.set.iter().collect::<Vec<_>>())
    }
}

const TESTED: &str = "the embedded scheme files are tested";

/// The parts of the league that a scheme's table names, or [`USUAL_LEAGUE_PARTS`] if it names none.
fn league(table: &Table) -> Result<Vec<String>, Diagnostic> {
    let Some(named) = table.get::<Vec<String>>("league")? else {
        return Ok(USUAL_LEAGUE_PARTS.map(str::to_owned).to_vec());
    };
    match named.iter().find(|part| !LEAGUE_PARTS.contains(&part.as_str())) {
        None => Ok(named),
        Some(unknown) => {
            let message = format!("the league has no part {unknown:?}");
            Err(table.wrong(
                "league",
                message,
                Fix::set("league", format!("{LEAGUE_PARTS:?}, or some of them")),
            ))
        }
    }
}

/// The parts of a complete scheme, without its name.
fn parts_of(table: &Table, plugins: &Plugins) -> Result<Scheme, Diagnostic> {
    let transport = registered(table, &["transport"], &|value| plugins.transport_of(value))?;
    let cc = registered(table, &["cc"], &|value| plugins.cc(value))?;
    let lb = registered(table, &["lb"], &|value| plugins.lb(value))?;
    let program = registered(table, &["fabric", "program"], &|value| plugins.program_of(value))?;
    let mix = registered(table, &["mix"], &|value| mix::read(plugins, value).map(Some))?;
    registered(table, &["fabric"], &parameters::check_fabric)?;
    let mut fabric: FabricSpec = match (table.node("fabric"), &program) {
        (Some(Node { at, item: Item::Table(fields) }), Some(_)) => {
            let mut fields = fields.clone();
            fields.remove("program");
            part_at(table, "fabric", &Node { at: *at, item: Item::Table(fields) }, plugins)?
        }
        _ => part(table, "fabric", plugins)?,
    };
    fabric.program = program.or(fabric.program);
    Ok(Scheme {
        name: String::new(),
        title: String::new(),
        source: String::new(),
        needs: String::new(),
        own: Vec::new(),
        qps: table.get("qps")?.unwrap_or(1),
        transport: transport.map_or_else(|| part(table, "transport", plugins), Ok)?,
        cc: cc.map_or_else(|| part(table, "cc", plugins), Ok)?,
        lb: lb.map_or_else(|| part(table, "lb", plugins), Ok)?,
        fabric,
        mix,
    })
}

fn registered<T>(
    table: &Table,
    path: &[&str],
    read: &dyn Fn(&toml::Value) -> Result<Option<T>, ParameterError>,
) -> Result<Option<T>, Diagnostic> {
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
        fault(table.file, at.or(table.at), message, Some(wrong.help))
    })
}

fn part<T: serde::de::DeserializeOwned>(
    table: &Table,
    key: &str,
    plugins: &Plugins,
) -> Result<T, Diagnostic> {
    let Some(node) = table.node(key) else {
        let help = format!("[scheme.{key}] with all its parameters, or base = \"reps\"");
        return Err(fault(table.file, table.at, format!("[[scheme]] has no {key:?}"), Some(help.into())));
    };
    part_at(table, key, node, plugins)
}

fn part_at<T: serde::de::DeserializeOwned>(
    table: &Table,
    key: &str,
    node: &Node,
    plugins: &Plugins,
) -> Result<T, Diagnostic> {
    node.value().try_into().map_err(|e: toml::de::Error| {
        let file = table.file;
        // The program of switches is within the fabric's table, but it is a part with a kind of its own.
        let program = match &node.item {
            Item::Table(fields) if key == "fabric" => fields.get("program"),
            _ => None,
        };
        let (part, of_part) = program.map_or((key, node), |program| ("fabric.program", program));
        let written = of_part.value();
        if let Some((message, instead)) = kind_hints::malformed_part(plugins, part, &written) {
            let help = instead.map_or_else(Fix::text, |value| Fix::set(part, value));
            return fault(file, of_part.at.or(table.at), message, Some(help));
        }
        if !matches!(node.item, Item::Table(_)) {
            let help = Some(format!("[scheme.{key}]").into());
            return fault(file, node.at, format!("{key} must be a table"), help);
        }
        let help = Fix::text("what anabranch check prints for a scheme that comes with the program");
        let unknown = written.get("kind").and_then(|kind| kind_hints::unknown_kind(plugins, part, kind));
        match unknown {
            Some(message) => {
                let near = kind_hints::nearest_part(plugins, part, &written);
                let help = near.map_or(help, |value| Fix::set(part, value));
                fault(file, of_part.place(&["kind"]).or(table.at), message, Some(help))
            }
            None => fault(file, node.at.or(table.at), format!("{key}: {}", e.message()), Some(help)),
        }
    })
}

/// Applies the settings that are for a scheme, and checks its parameters.
pub(in crate::scenario) fn apply(
    setup: &Setup,
    plugins: &Plugins,
    file: &str,
    at: Place,
    mut scheme: Scheme,
    settings: &[&Setting],
) -> Result<Scheme, Diagnostic> {
    // A preset sets many parameters. Settings of single parameters are applied after it, wherever they are written.
    let (presets, single): (Vec<&Setting>, Vec<&Setting>) =
        settings.iter().partition(|setting| setting.path == parameter_path::PRESET);
    let set = |path: &str| settings.iter().find(|setting| setting.path == path);
    for (one, other) in [("fabric.pfc.alpha", "fabric.pfc.threshold"), ("fabric.pfc", "fabric.queue")] {
        if let (Some(_), Some(setting)) = (set(one), set(other)) {
            let wrong = match one {
                "fabric.pfc" => crate::scenario::resolve::scheme::limits::queue_and_pfc(),
                _ => crate::scenario::resolve::scheme::limits::thresholds("exclude each other"),
            };
            return Err(refused(file, setting.at, Some(setting), &wrong));
        }
    }
    if set("fabric.pfc").is_some() {
        scheme = setting::without_shares(&scheme);
    }
    for setting in presets.into_iter().chain(single) {
        let value = setup.complete(&setting.path, &setting.value, plugins);
        let before = scheme.clone();
        scheme = setting::set(plugins, &scheme, &setting.path, &value)
            .map_err(|wrong| refused(file, setting.at, Some(setting), &on_ground(setup, plugins, wrong)))?;
        if scheme != before {
            scheme.own.retain(|own| !concerns(&setting.path, own));
        }
    }
    crate::scenario::resolve::scheme::limits::validate(&scheme).map_err(|wrong| {
        let culprit = settings.iter().rev().find(|setting| wrong.involves(&setting.path)).copied();
        refused(file, culprit.map_or(at, |setting| setting.at), culprit, &wrong)
    })?;
    Ok(scheme)
}

/// The error `fault`. If its fix suggests a whole part, the setup's values are added to that part.
fn on_ground(setup: &Setup, plugins: &Plugins, fault: ParameterFault) -> ParameterFault {
    let (part, value) = match &fault.instead {
        ParameterFix::Setting(part, value) => (part, value),
        ParameterFix::Value(value) => (&fault.path, value),
        _ => return fault,
    };
    let Some(toml::Value::Table(mut table)) = key_path::as_toml(value) else { return fault };
    let Some(kind) = table.get("kind") else { return fault };
    let alone = toml::Value::Table([("kind".to_owned(), kind.clone())].into_iter().collect());
    let ground = setup.complete(part, &alone, plugins);
    let ground = ground.as_table().cloned().unwrap_or_default();
    if ground.len() == 1 {
        return fault;
    }
    table.extend(ground);
    let value = toml::Value::Table(table).to_string();
    let instead = match fault.instead {
        ParameterFix::Setting(part, _) => ParameterFix::Setting(part, value),
        _ => ParameterFix::Value(value),
    };
    ParameterFault { instead, ..fault }
}

/// Whether a setting at `path` changes the parameter `own`.
fn concerns(path: &str, own: &str) -> bool {
    let below = |above: &str, path: &str| path.strip_prefix(above).is_some_and(|rest| rest.starts_with('.'));
    match path {
        parameter_path::PRESET => below("cc", own),
        "fabric.queue" => own == path || own == "fabric.pfc" || below("fabric.pfc", own),
        _ => own == path || below(path, own),
    }
}

pub(in crate::scenario) fn refused(
    file: &str,
    at: Place,
    setting: Option<&Setting>,
    wrong: &ParameterFault,
) -> Diagnostic {
    let written = |path: &str| setting.map_or_else(|| path.to_owned(), |setting| setting.written(path));
    let help = match &wrong.instead {
        ParameterFix::Value(value) => Fix::set(written(&wrong.path), value),
        ParameterFix::Parameter(path) => match setting {
            Some(setting) => Fix::set(written(path), &setting.value),
            None => Fix::text(path),
        },
        ParameterFix::Name(path) => name_alone(written(path), path.rsplit('.').next().unwrap_or(path)),
        ParameterFix::Setting(path, value) => Fix::set(written(path), value),
        ParameterFix::Words(words) => Fix::text(words),
    };
    fault(file, at, wrong.message.clone(), Some(help))
}
