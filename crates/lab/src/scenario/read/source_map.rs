//! The places of a scenario's parts in its file, for errors and warnings about the resolved scenario.

use crate::scenario::read::document::{Item, Node, Place};
use crate::scenario::read::key_path::ZIP;
use anabranch_base::Bytes;

/// The places at which the parts of a scenario were written. They do not affect the meaning of the scenario, so all
/// origins compare as equal.
#[derive(Clone, Debug)]
pub(in crate::scenario) struct Origin {
    pub file: String,
    root: Node,
    asked: Option<SearchRange>,
    varied: Vec<String>,
}

/// The values among which a `[find]` searches. The scenario has them as its sweep.
#[derive(Clone, Debug)]
pub(in crate::scenario) struct SearchRange {
    /// The key, `smallest` or `largest`.
    pub key: &'static str,
    /// The values of the key: both ends of a range, or all values of a list.
    pub values: Vec<toml::Value>,
    /// The place of the first value.
    pub at: Place,
}

impl PartialEq for Origin {
    fn eq(&self, _: &Origin) -> bool {
        true
    }
}

impl Origin {
    pub(in crate::scenario) fn new(file: &str, root: Node) -> Origin {
        Origin { file: file.to_owned(), root, asked: None, varied: Vec::new() }
    }

    /// This origin, with the sweep marked as the range of a `[find]`.
    pub(in crate::scenario) fn asking(self, asked: SearchRange) -> Origin {
        Origin { asked: Some(asked), ..self }
    }

    /// This origin, with `varied` as the paths of parameters that the figure varies.
    pub(in crate::scenario) fn varying(self, varied: Vec<String>) -> Origin {
        Origin { varied, ..self }
    }

    pub(in crate::scenario) fn is_varied(&self, path: &str) -> bool {
        self.varied.iter().any(|varied| varied == path)
    }

    /// The text to write for a swept or searched parameter of a scheme, so that `least` is among its values; none if
    /// the parameter is neither swept nor searched.
    pub(in crate::scenario) fn beginning_with(
        &self,
        scheme: &str,
        parameter: &str,
        least: &str,
    ) -> Option<String> {
        let swept = self.is_swept(scheme, parameter);
        swept.then(|| match &self.asked {
            Some(SearchRange { key, values, .. }) => {
                let bytes = |text: &str| text.trim_matches('"').parse::<Bytes>().ok();
                let larger: Vec<String> = match bytes(least) {
                    Some(least) => {
                        let is_larger = |value: &&toml::Value| value.as_str().and_then(bytes) > Some(least);
                        let larger: Vec<&toml::Value> = values.iter().filter(is_larger).collect();
                        match larger.is_empty() {
                            // No value is above `least`, so a larger one is suggested.
                            true => vec![format!("\"{}\"", Bytes(10 * least.0))],
                            false => larger.into_iter().map(ToString::to_string).collect(),
                        }
                    }
                    None => values.last().map(ToString::to_string).into_iter().collect(),
                };
                format!("{key} = [{least}, {}] in [find]", larger.join(", "))
            }
            None => format!("others, such as {least}, in [sweep]"),
        })
    }

    /// The place of a path such as `fault.0.links`. If the path is a key of `[sweep]` or the parameter of `[find]`, the
    /// place is in that table.
    pub(in crate::scenario) fn place(&self, path: &str) -> Place {
        let names = [path.to_owned()];
        let swept = self.section("sweep").and_then(|sweep| find_swept(sweep, &names));
        let asked = self.asked.as_ref().map(|asked| asked.at);
        swept.map_or_else(
            || self.root.place(&path.split('.').collect::<Vec<_>>()),
            |(at, _)| asked.unwrap_or(at),
        )
    }

    /// Whether the scenario itself gives the value at a path such as `workload.server`, in its table or in `[sweep]`.
    pub(in crate::scenario) fn is_written(&self, path: &str) -> bool {
        let names = [path.to_owned()];
        let mut node = Some(&self.root);
        for key in path.split('.') {
            node = match node.map(|node| &node.item) {
                Some(Item::Table(fields)) => fields.get(key),
                _ => None,
            };
        }
        node.is_some() || self.section("sweep").is_some_and(|sweep| find_swept(sweep, &names).is_some())
    }

    /// The place at which `[set]`, `[sweep]` or `[find]` sets a parameter of a scheme, and the parameter's name as
    /// written. If none of them does, the place is the first one that exists among these: the settings of the
    /// parameters in `blamed`, the setting of the table that contains the parameter, `[set]`, `[[scheme]]` and
    /// `schemes`.
    pub(in crate::scenario) fn setting(
        &self,
        scheme: &str,
        parameter: &str,
        blamed: &[&str],
    ) -> (Place, String) {
        let own = format!("\"{scheme}.{parameter}\"");
        if let Some((at, name)) = self.set(scheme, parameter) {
            return (at, format!("\"{name}\""));
        }
        let part = parameter.rsplit_once('.').map_or(parameter, |(part, _)| part);
        if let Some((at, _)) = blamed.iter().chain([&part]).find_map(|other| self.set(scheme, other)) {
            return (at, own);
        }
        let sections = ["set", "scheme", "schemes"].map(|section| self.place(section));
        (sections.into_iter().find(Option::is_some).flatten(), own)
    }

    /// The place of a setting and its name, which begins with the scheme's name or with `*`.
    fn set(&self, scheme: &str, parameter: &str) -> Option<(Place, String)> {
        ["set", "sweep"].into_iter().find_map(|section| self.set_in(section, scheme, parameter))
    }

    /// Whether `[set]` or `[sweep]` has a parameter of a scheme.
    pub(in crate::scenario) fn is_set(&self, scheme: &str, parameter: &str) -> bool {
        self.set(scheme, parameter).is_some()
    }

    pub(in crate::scenario) fn is_swept(&self, scheme: &str, parameter: &str) -> bool {
        self.set_in("sweep", scheme, parameter).is_some()
    }

    pub(in crate::scenario) fn sweeps(&self) -> &'static str {
        if self.asked.is_some() { "[find]" } else { "[sweep]" }
    }

    /// Whether a `[find]` searches among values of a scheme's parameter.
    pub(in crate::scenario) fn is_asked(&self, scheme: &str, parameter: &str) -> bool {
        self.asked.is_some() && self.is_swept(scheme, parameter)
    }

    fn set_in(&self, section: &str, scheme: &str, parameter: &str) -> Option<(Place, String)> {
        let names = [format!("{scheme}.{parameter}"), format!("*.{parameter}")];
        let node = self.section(section)?;
        let (at, name) = if section == "sweep" { find_swept(node, &names) } else { find(node, "", &names) }?;
        let asked = self.asked.as_ref().filter(|_| section == "sweep");
        Some((asked.map_or(at, |asked| asked.at), name.to_owned()))
    }

    /// Whether the fault with this number is from the scenario itself, not from the topology's file.
    pub(in crate::scenario) fn has_fault(&self, number: usize) -> bool {
        matches!(self.section("fault"), Some(Node { item: Item::Array(faults), .. }) if number < faults.len())
    }

    pub(in crate::scenario) fn section(&self, key: &str) -> Option<&Node> {
        match &self.root.item {
            Item::Table(fields) => fields.get(key),
            _ => None,
        }
    }
}

/// [`find`] in `[sweep]`, including the parameters that change together.
fn find_swept<'a>(sweep: &Node, names: &'a [String]) -> Option<(Place, &'a str)> {
    let Item::Table(fields) = &sweep.item else { return None };
    let together = match fields.get(ZIP) {
        Some(Node { item: Item::Array(groups), .. }) => &groups[..],
        Some(group) => std::slice::from_ref(group),
        None => &[],
    };
    std::iter::once(sweep).chain(together).find_map(|node| find(node, "", names))
}

/// The place of the value below `node` whose dotted path is one of `names`, and that name. Quoted and bare keys are
/// treated alike.
fn find<'a>(node: &Node, at: &str, names: &'a [String]) -> Option<(Place, &'a str)> {
    let Item::Table(fields) = &node.item else { return None };
    fields.iter().find_map(|(key, node)| {
        let path = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
        match names.iter().find(|name| **name == path) {
            Some(name) => Some((node.at, name.as_str())),
            None => find(node, &path, names),
        }
    })
}
