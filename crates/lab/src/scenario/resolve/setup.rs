//! Setups: the conditions under which schemes run. A scheme (`schemes/`) defines an algorithm, and a setup (`setups/`)
//! the rest, such as packets and their headers, the RTO, buffers, ECN marking, PFC, and DCQCN's parameters.
//!
//! A setup has the same parts as a scheme: `[transport]`, `[cc]`, `[lb]` and `[fabric]`. A value directly in
//! `[transport]` applies to all built-in transports that have such a parameter, and a value in `[transport.irn]` only
//! to that kind. `[lossless]`, `[trimming]` and `[dropping]` contain such parts too, for schemes whose switches pause,
//! trim or drop. A table whose name is a kind with `-credit` after it is for schemes of this kind that have a table
//! `credit`. `[fabric.pfc]` applies to schemes that pause, and `queue` and `full_queue` to the others.
//!
//! A setup has the values of its base, except for those that it sets itself. The other built-in setups derive from
//! `common`, so that every scheme can run with every setup.
//!
//! **Precedence**, from lowest to highest: the defaults of the types, the setup (its base, then itself; in each:
//! values for all, for a kind, for switches that pause, trim or drop), the scheme (its base, then itself), `set` of
//! the scheme, `[set]` and the sweep. A size of a scheme that begins with `+` is added to the setup's size.

use crate::scenario::keys;
use crate::scenario::read::document::{self, Fields, Item, Node, Place};
use crate::scenario::read::table::{Table, fault, list, nearest};
use crate::scenario::schema::parameter_path::{INSTEAD_OF, PRESET};
use crate::scenario::schema::parameters::keys_of;
use crate::scenario::schema::plugins::Plugins;
use crate::scenario::schema::unknown_keys::only;
use anabranch_base::{Bytes, Code, Declared, Diagnostic, Fix};
use anabranch_engine::{FabricSpec, PfcSpec, WrrSpec};
use anabranch_proto::cc::DcqcnConfig;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// The setup of a scenario that names none.
pub(in crate::scenario) const COMMON: &str = "common";

const BUILT_IN: &[(&str, &str)] = &[
    (COMMON, include_str!("../../../../../setups/common.toml")),
    ("reps-paper", include_str!("../../../../../setups/reps-paper.toml")),
    ("strack-paper", include_str!("../../../../../setups/strack-paper.toml")),
    ("themis-spraying-paper", include_str!("../../../../../setups/themis-spraying-paper.toml")),
    ("dcp-paper", include_str!("../../../../../setups/dcp-paper.toml")),
    ("themis-longhaul-paper", include_str!("../../../../../setups/themis-longhaul-paper.toml")),
    ("uet", include_str!("../../../../../setups/uet.toml")),
    ("uet-htsim", include_str!("../../../../../setups/uet-htsim.toml")),
    ("mrc", include_str!("../../../../../setups/mrc.toml")),
    ("hpcc-paper", include_str!("../../../../../setups/hpcc-paper.toml")),
];

/// An entry in the output of `anabranch list setups`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetupListing {
    /// The name in scenarios.
    pub name: &'static str,
    /// The title, one line.
    pub title: String,
    /// The schemes whose papers use this setup.
    pub systems: Vec<String>,
}

/// Every built-in setup.
pub fn setups() -> Vec<SetupListing> {
    BUILT_IN
        .iter()
        .map(|(name, text)| {
            let fields = document::parse(name, text).expect("the embedded setups are tested");
            let value = |key: &str| fields.get(key).map(Node::value);
            let words = |value: toml::Value| value.as_str().map(str::to_owned);
            let systems = value("systems").and_then(|systems| systems.as_array().cloned());
            SetupListing {
                name,
                title: value("title").and_then(words).unwrap_or_default(),
                systems: systems.into_iter().flatten().filter_map(words).collect(),
            }
        })
        .collect()
}

const PARTS: [&str; 4] = ["transport", "cc", "lb", "fabric"];
/// The tables with parts for schemes whose switches pause, trim or drop.
const LAYERS: [&str; 3] = ["lossless", "trimming", "dropping"];

fn is_part(key: &str) -> bool {
    PARTS.contains(&key) || LAYERS.contains(&key)
}

/// The parameters that every transport has, built-in or registered.
const FRAMING: [&str; 4] = ["payload", "header", "ack", "rto"];

#[derive(Clone, Debug)]
pub(in crate::scenario) struct Setup {
    pub name: String,
    /// The bases and then the setup itself. Empty in the resolved form, where the schemes contain all values.
    stack: Vec<Fields>,
}

impl Setup {
    pub(in crate::scenario) fn named(name: &str) -> Option<Setup> {
        let (_, text) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
        let mut fields = document::parse(name, text).expect("the embedded setups are tested");
        // Places in the setup's file have no meaning in a scenario.
        fields.values_mut().for_each(Node::forget);
        let base = fields.remove("base").and_then(|base| Setup::named(base.value().as_str()?));
        let mut stack = base.map_or_else(Vec::new, |base| base.stack);
        fields.retain(|key, _| is_part(key));
        stack.push(fields);
        Some(Setup { name: name.to_owned(), stack })
    }

    /// The built-in setup `base` with the values in `layer` on top, as a setup `name`.
    pub(in crate::scenario) fn with_layer(name: &str, base: &str, mut layer: Fields) -> Setup {
        layer.values_mut().for_each(Node::forget);
        let mut stack = Setup::named(base).map_or_else(Vec::new, |base| base.stack);
        stack.push(layer);
        Setup { name: name.to_owned(), stack }
    }

    pub(in crate::scenario) fn common() -> Setup {
        Setup::named(COMMON).expect("it is built in")
    }

    /// The setup of a scenario: `setup = "common"`, or a table `[setup]` with a `base` and the differences from it.
    pub(in crate::scenario) fn read(root: &Table, plugins: &Plugins) -> Result<Setup, Diagnostic> {
        let Some(node) = root.node("setup") else {
            return Ok(Setup::common());
        };
        if !matches!(node.item, Item::Table(_)) {
            let name: String = root.need("setup")?;
            return Setup::named(&name).ok_or_else(|| unknown(root, "setup", &name));
        }
        let table = Table::open(root.file, "[setup]", node)?;
        only(&table, &keys::of("setup"))?;
        if table.get("resolved")?.unwrap_or(false) {
            only(&table, &["name", "resolved", "differs"])?;
            return Ok(Setup { name: table.need("name")?, stack: Vec::new() });
        }
        let base: String = table.get("base")?.unwrap_or_else(|| COMMON.to_owned());
        let Some(Setup { mut stack, .. }) = Setup::named(&base) else {
            return Err(unknown(&table, "base", &base));
        };
        check(&table, plugins)?;
        let mut own = table.fields.clone();
        own.retain(|key, _| is_part(key));
        let default = if own.is_empty() { base } else { format!("{base}, changed") };
        stack.push(own);
        Ok(Setup { name: table.get("name")?.unwrap_or(default), stack })
    }

    /// The parameters whose values in the setup depend on whether switches pause, trim or drop, such as
    /// `transport.rto`.
    pub(in crate::scenario) fn of_layers(&self) -> BTreeSet<String> {
        let layers =
            self.stack.iter().flat_map(|layer| LAYERS.iter().filter_map(|name| table_at(layer, name)));
        let parts =
            layers.flat_map(|layer| PARTS.iter().filter_map(|part| Some((*part, table_at(layer, part)?))));
        let mut found = BTreeSet::new();
        for (part, fields) in parts {
            // The kind is left out: `transport.irn.rto` becomes `transport.rto`.
            let last = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
            let all = paths(part, fields).into_iter();
            found.extend(
                all.map(|path| if part == "fabric" { path } else { format!("{part}.{}", last(&path)) }),
            );
        }
        found
    }

    /// The values in `dropping.fabric`, by the paths of their parameters.
    pub(in crate::scenario) fn of_dropping_switches(&self) -> BTreeMap<String, String> {
        let layers = self.stack.iter().filter_map(|layer| table_at(table_at(layer, "dropping")?, "fabric"));
        let value = |(key, node): (&String, &Node)| (format!("fabric.{key}"), node.value().to_string());
        layers.flatten().map(value).collect()
    }

    /// Adds the setup's values to the value of a setting, if this value is a whole part with its `kind`, or an empty
    /// table `fabric.pfc`.
    pub(in crate::scenario) fn complete(
        &self,
        path: &str,
        value: &toml::Value,
        plugins: &Plugins,
    ) -> toml::Value {
        match value {
            toml::Value::Table(fields) if path == "fabric.pfc" && fields.is_empty() => {
                let mut given = Fields::new();
                let fabrics = self.stack.iter().filter_map(|layer| table_at(layer, "fabric"));
                fabrics
                    .filter_map(|fabric| table_at(fabric, "pfc"))
                    .for_each(|pfc| overlay(&mut given, pfc, path));
                Node { at: None, item: Item::Table(given) }.value()
            }
            toml::Value::Table(fields) if PARTS.contains(&path) && fields.contains_key("kind") => {
                let written = |(key, value): (&String, &toml::Value)| {
                    (key.clone(), Node { at: None, item: Item::Leaf(value.clone()) })
                };
                let fields: Fields = fields.iter().map(written).collect();
                let mut given = Fields::new();
                for layer in self.stack.iter().filter_map(|layer| table_at(layer, path)) {
                    given.extend(for_part(path, &fields, layer, false, plugins));
                }
                given.extend(fields);
                Node { at: None, item: Item::Table(given) }.value()
            }
            _ => value.clone(),
        }
    }

    /// Inserts the setup's values into the parts of a scheme. Also returns the paths of the parameters whose values
    /// follow from the scheme: it sets them itself, or the setup sets them for switches that pause, trim or drop.
    pub(in crate::scenario) fn under(&self, scheme: &Fields, plugins: &Plugins) -> (Fields, Vec<String>) {
        if self.stack.is_empty() {
            return (scheme.clone(), Vec::new());
        }
        let has = |key: &str, item: &dyn Fn(&Item) -> bool| {
            table_at(scheme, "fabric").and_then(|fabric| fabric.get(key)).is_some_and(|node| item(&node.item))
        };
        let pauses = has("pfc", &|item| matches!(item, Item::Table(_)));
        let trims = has("trim", &|item| matches!(item, Item::Leaf(toml::Value::Boolean(true))));
        let special = [("lossless", pauses), ("trimming", trims), ("dropping", !pauses && !trims)];
        let mut own: BTreeSet<String> = BTreeSet::new();
        let mut grounded = scheme.clone();
        for part in PARTS {
            let Some(Node { at, item: Item::Table(fields) }) = scheme.get(part) else { continue };
            let mut given = Fields::new();
            for layer in &self.stack {
                let special = special.iter().filter(|(_, there)| *there);
                let special = special.filter_map(|(name, _)| Some((table_at(layer, name)?, true)));
                for (layer, follows) in std::iter::once((layer, false)).chain(special) {
                    let Some(layer) = table_at(layer, part) else { continue };
                    let of_layer = for_part(part, fields, layer, pauses, plugins);
                    for path in paths(part, &of_layer) {
                        if follows {
                            own.insert(path)
                        } else {
                            own.remove(&path)
                        };
                    }
                    overlay(&mut given, &of_layer, part);
                }
            }
            let mut fields = fields.clone();
            added(&mut fields, &given);
            // A congestion control may have a parameter whose name the setup uses for a different congestion control.
            // Such a parameter is in `own` only if the setup also sets it for the scheme's congestion control, or if it
            // is a window.
            let ground = |path: &String| {
                let key = path.rsplit('.').next().unwrap_or_default();
                part != "cc" || given.contains_key(key) || key.ends_with("window")
            };
            own.extend(paths(part, &fields).into_iter().filter(ground));
            overlay(&mut given, &fields, part);
            grounded.insert(part.to_owned(), Node { at: *at, item: Item::Table(given) });
        }
        own.retain(|path| GROUND.contains(path) || WINDOWS.contains(&path.as_str()));
        if pauses {
            own.insert("fabric.pfc".to_owned());
            let fabric =
                table_at(&grounded, "fabric").map(|fabric| paths("fabric", fabric)).unwrap_or_default();
            own.extend(fabric.into_iter().filter(|path| path.starts_with("fabric.pfc.")));
        }
        if trims {
            own.insert("fabric.trim".to_owned());
        }
        (grounded, own.into_iter().collect())
    }
}

/// Parameters that no built-in setup sets, but that limit the data in flight.
const WINDOWS: [&str; 2] = ["transport.window", "transport.window_packets"];

/// The parameters that the built-in setups set.
pub(in crate::scenario) static GROUND: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let mut all = BTreeSet::new();
    for (name, _) in BUILT_IN {
        let Some(layers) = Setup::named(name).and_then(|setup| setup.stack.into_iter().next_back()) else {
            continue;
        };
        let special = LAYERS.iter().filter_map(|layer| table_at(&layers, layer));
        for layer in std::iter::once(&layers).chain(special) {
            for part in PARTS {
                for (key, node) in table_at(layer, part).into_iter().flatten() {
                    match &node.item {
                        Item::Table(of_kind) if part != "fabric" => {
                            all.extend(paths(part, &preset(key, of_kind)))
                        }
                        Item::Table(of_key) => all.extend(paths(&format!("{part}.{key}"), of_key)),
                        _ => all.extend([format!("{part}.{key}")]),
                    }
                }
            }
        }
    }
    all
});

fn for_part(part: &str, scheme: &Fields, layer: &Fields, pauses: bool, plugins: &Plugins) -> Fields {
    let mut given = Fields::new();
    if part == "fabric" {
        given = layer.clone();
        given.retain(
            |key, _| if pauses { !matches!(key.as_str(), "queue" | "full_queue") } else { key != "pfc" },
        );
        return given;
    }
    let Some(kind) = scheme.get("kind").and_then(|node| node.value().as_str().map(str::to_owned)) else {
        return given;
    };
    let known = plugins.keys(part, &kind);
    // A registered part may give a built-in parameter's name another meaning. Of the layer's values for all kinds, it
    // therefore gets only the framing parameters.
    let shared = |key: &str| FRAMING.contains(&key) || plugins.parameters(part, &kind).is_none();
    let for_all = layer.iter().filter(|(key, node)| {
        !matches!(node.item, Item::Table(_)) && known.iter().any(|known| known == *key) && shared(key)
    });
    given.extend(for_all.map(|(key, node)| (key.clone(), node.clone())));
    if let Some(of_kind) = table_at(layer, &kind) {
        given.extend(preset(&kind, of_kind));
    }
    if let Some(with_credit) =
        table_at(layer, &format!("{kind}-credit")).filter(|_| scheme.contains_key("credit"))
    {
        given.extend(with_credit.clone());
    }
    given
}

/// Replaces a preset of DCQCN by the parameters of the preset.
fn preset(kind: &str, fields: &Fields) -> Fields {
    let mut fields = fields.clone();
    let named = if kind == "dcqcn" { fields.remove("preset") } else { None };
    let named = named.and_then(|node| DcqcnConfig::preset(node.value().as_str()?));
    let Some(config) = named else { return fields };
    let whole = toml::Table::try_from(config).expect("a scheme is made of what TOML can say");
    let mut all: Fields =
        whole.into_iter().map(|(key, value)| (key, Node { at: None, item: Item::Leaf(value) })).collect();
    all.extend(fields);
    all
}

/// Adds the setup's sizes to those sizes of a scheme that begin with `+`.
fn added(scheme: &mut Fields, given: &Fields) {
    for (key, node) in scheme.iter_mut() {
        let Item::Leaf(toml::Value::String(text)) = &node.item else { continue };
        let Some(more) = text.strip_prefix('+').and_then(|more| more.parse::<Bytes>().ok()) else { continue };
        let base = given.get(key).and_then(|node| node.value().as_str()?.parse::<Bytes>().ok());
        if let Some(base) = base {
            node.item = Item::Leaf(Bytes(base.0.saturating_add(more.0)).to_string().into());
        }
    }
}

/// Merges `over` into `fields`, which are at the path `at` of a scheme. Tables are merged too, except that a new table
/// with a `kind` replaces the old one. A parameter in `over` removes the one that it replaces ([`INSTEAD_OF`]).
pub(in crate::scenario) fn overlay(fields: &mut Fields, over: &Fields, at: &str) {
    for key in over.keys() {
        let path = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
        for (_, other) in
            INSTEAD_OF.iter().filter(|(given, other)| *given == path && !over.contains_key(*other))
        {
            fields.remove(*other);
        }
    }
    for (key, node) in over {
        let path = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
        match (fields.get_mut(key).map(|old| &mut old.item), &node.item) {
            (Some(Item::Table(old)), Item::Table(new)) if !new.contains_key("kind") => {
                overlay(old, new, &path)
            }
            _ => {
                fields.insert(key.clone(), node.clone());
            }
        }
    }
}

fn table_at<'a>(fields: &'a Fields, key: &str) -> Option<&'a Fields> {
    match &fields.get(key)?.item {
        Item::Table(fields) => Some(fields),
        _ => None,
    }
}

fn paths(at: &str, fields: &Fields) -> Vec<String> {
    let mut found = Vec::new();
    for (key, node) in fields {
        match &node.item {
            Item::Table(below) => found.extend(paths(&format!("{at}.{key}"), below)),
            _ => found.push(format!("{at}.{key}")),
        }
    }
    found
}

fn check(table: &Table, plugins: &Plugins) -> Result<(), Diagnostic> {
    for (key, node) in table.fields {
        let name = format!("{}.{key}]", table.name.trim_end_matches(']'));
        if LAYERS.contains(&key.as_str()) {
            let layer = Table::open(table.file, &name, node)?;
            only(&layer, &PARTS)?;
            check(&layer, plugins)?;
        } else if PARTS.contains(&key.as_str()) {
            check_part(&Table::open(table.file, &name, node)?, key, plugins)?;
        }
    }
    Ok(())
}

fn check_part(part: &Table, of: &str, plugins: &Plugins) -> Result<(), Diagnostic> {
    if of == "fabric" {
        let mut keys = keys_of(FabricSpec::declared());
        keys.retain(|key| !key.starts_with("program"));
        only(part, &keys)?;
        for (key, keys) in [("pfc", keys_of(PfcSpec::declared())), ("wrr", keys_of(WrrSpec::declared()))] {
            if let Some(node) = part.node(key) {
                only(&Table::open(part.file, &format!("[setup.fabric.{key}]"), node)?, &keys)?;
            }
        }
        return Ok(());
    }
    let kinds = plugins.all_kinds(of);
    let of_all: BTreeSet<String> = kinds.iter().flat_map(|kind| plugins.keys(of, kind)).collect();
    for (key, node) in part.fields {
        if matches!(node.item, Item::Table(_)) {
            let names: Vec<&str> = kinds.iter().map(String::as_str).collect();
            let has_credit = |kind: &&str| plugins.keys(of, kind).iter().any(|key| key.starts_with("credit"));
            let kind = key.strip_suffix("-credit").filter(has_credit).unwrap_or(key);
            if !names.contains(&kind) {
                let help = match nearest(key, &names) {
                    Some(near) => format!("{}.{near}]", part.name.trim_end_matches(']')),
                    None => format!("one of {}", list(&names)),
                };
                return Err(fault(
                    part.file,
                    node.at,
                    format!("there is no {of} {key:?}"),
                    Some(help.into()),
                ));
            }
            let name = format!("{}.{key}]", part.name.trim_end_matches(']'));
            let mut keys = plugins.keys(of, kind);
            keys.extend((of == "cc" && key == "dcqcn").then(|| "preset".to_owned()));
            let of_kind = Table::open(part.file, &name, node)?;
            only(&of_kind, &keys.iter().map(String::as_str).collect::<Vec<_>>())?;
            if let Some(written) = of_kind.get::<String>("preset")?.filter(|_| of == "cc")
                && DcqcnConfig::preset(&written).is_none()
            {
                let message = format!("{PRESET}: {written:?} is no parameter set of DCQCN");
                return Err(of_kind.wrong(
                    "preset",
                    message,
                    format!("preset = one of {}", list(&DcqcnConfig::PRESETS)),
                ));
            }
        }
    }
    let direct: Fields = part
        .fields
        .iter()
        .filter(|(_, node)| !matches!(node.item, Item::Table(_)))
        .map(|(key, node)| (key.clone(), node.clone()))
        .collect();
    let at: Place = part.at;
    let direct = Table { file: part.file, name: part.name.clone(), fields: &direct, at };
    only(&direct, &of_all.iter().map(String::as_str).collect::<Vec<_>>())
}

fn unknown(table: &Table, key: &str, name: &str) -> Diagnostic {
    let names: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
    let help = match nearest(name, &names) {
        Some(near) => Fix::set(key, format!("{near:?}")),
        None => format!("{key} = one of {}", list(&names)).into(),
    };
    Diagnostic { code: Code::UnknownName, ..table.wrong(key, format!("unknown setup {name:?}"), help) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::resolve::scheme::builtin::{SchemeListing, built_in, schemes};

    #[test]
    fn the_embedded_setups_are_sound() {
        for (name, text) in BUILT_IN {
            let mut fields = document::parse(name, text).unwrap();
            assert_eq!(fields["name"].value().as_str(), Some(*name));
            assert!(!fields["title"].value().as_str().unwrap().is_empty());
            fields.retain(|key, _| !["name", "title", "base", "systems"].contains(&key.as_str()));
            let root = Node { at: None, item: Item::Table(fields) };
            let table = Table::open(name, "[setup]", &root).unwrap();
            only(&table, &[&PARTS[..], &LAYERS[..]].concat()).unwrap();
            check(&table, &Plugins::default()).unwrap_or_else(|e| panic!("{e}"));
        }
        let all = setups();
        let systems: Vec<&String> = all.iter().flat_map(|setup| &setup.systems).collect();
        assert!(systems.len() >= 6 && systems.iter().all(|name| built_in(name).is_some()), "{systems:?}");
    }

    /// The keys of the tables for one kind in a setup or one of its layers, as (part, table, key).
    fn of_kinds(layer: &Fields) -> Vec<(&'static str, String, String)> {
        let mut found = Vec::new();
        for part in PARTS.into_iter().filter(|part| *part != "fabric") {
            for (table, node) in table_at(layer, part).into_iter().flatten() {
                let Item::Table(keys) = &node.item else { continue };
                found.extend(keys.keys().map(|key| (part, table.clone(), key.clone())));
            }
        }
        let layers = LAYERS.iter().filter_map(|name| table_at(layer, name));
        found.into_iter().chain(layers.flat_map(of_kinds)).collect()
    }

    /// A scheme wins over a setup, so that a key for one kind has no effect if every scheme of that kind sets it.
    #[test]
    fn no_key_for_a_kind_is_overridden_by_every_scheme_of_that_kind() {
        for (setup, text) in BUILT_IN {
            for (part, table, key) in of_kinds(&document::parse(setup, text).unwrap()) {
                let kind = table.strip_suffix("-credit").unwrap_or(&table);
                let leaves_it_to_the_setup = |listing: SchemeListing| {
                    let fields = table_at(&built_in(listing.name).unwrap().parts, part).unwrap();
                    let of_kind = fields["kind"].value().as_str() == Some(kind);
                    let is_meant = of_kind && (kind == table || fields.contains_key("credit"));
                    is_meant
                        && fields.get(&key).is_none_or(|node| node.value().to_string().starts_with("\"+"))
                };
                assert!(
                    schemes().into_iter().any(leaves_it_to_the_setup),
                    "{setup}: no scheme takes {part}.{table}.{key}"
                );
            }
        }
    }

    #[test]
    fn the_ground_is_what_setups_say() {
        for path in [
            "transport.payload",
            "transport.rto_low",
            "cc.g",
            "cc.window",
            "fabric.pfc.buffer",
            "fabric.queue",
        ] {
            assert!(GROUND.contains(path), "{path}: {GROUND:?}");
        }
        for path in ["lb.buffer", "cc.decrease", "cc.preset", "fabric.routing", "fabric.trim"] {
            assert!(!GROUND.contains(path), "{path}");
        }
    }
}
