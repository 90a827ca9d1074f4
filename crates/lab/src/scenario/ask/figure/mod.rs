//! Figure files: the scenario of a figure, how the figure is drawn, and the paper's claims about the figure.

use crate::scenario::expand::resolved::Scenario;
use crate::scenario::expand::scenario;
use crate::scenario::input::{Files, Overrides};
use crate::scenario::keys;
use crate::scenario::keys::figure::CLAIM_KINDS;
use crate::scenario::read::document::{self, Fields, Item, Node};
use crate::scenario::read::table::Table;
use crate::scenario::resolve::scheme::catalog::Registry;
use crate::scenario::schema::unknown_keys::only;
use anabranch_base::{Diagnostic, Fix};
use anabranch_results::{ClaimKind, ClaimSpec, ClaimValue, Explanation, PlotSpec};
use plot::Drawable;
use sensitivity::Entry;
use serde::{Deserialize, Serialize};

mod drawn_names;
mod league;
pub(in crate::scenario) mod model;
pub(in crate::scenario) mod plot;
pub(in crate::scenario) mod sensitivity;

pub use model::{BallsVariant, Chip, LosslessReach, ModelSpec, PacketTracking};
pub use sensitivity::Unspecified;

/// The scale of a figure's runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Sizes for short runs. The file's `[quick]` table has the values that differ from the rest of the file.
    Quick,
    /// The paper's own sizes. The file's `[paper]` table has the values that differ from the rest of the file.
    Paper,
}

/// A figure of a paper: the scenario, the model or both, the plots, and the paper's claims.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The figure's name in commands: `reps/figure-7`.
    pub id: String,
    /// The title, one line.
    pub title: String,
    /// The paper's name in commands: `reps`.
    pub paper: String,
    /// The name that the paper gives to the figure: `Figure 7`.
    pub figure: String,
    /// The packet simulation, if the figure has one.
    pub scenario: Option<Scenario>,
    /// The abstract model, if the figure has one.
    pub model: Option<ModelSpec>,
    /// The plots, with one picture each.
    pub plots: Vec<PlotSpec>,
    /// The measure of the runs against which the league's page plots the time of each scheme.
    pub explain: Option<Explanation>,
    /// Sentences about what the figure's file assumes because the paper does not specify it.
    pub assumptions: Vec<String>,
    /// The parameters that the paper does not specify, with the values that its text permits.
    pub unsaid: Vec<Unspecified>,
    /// The claims of the paper about the figure.
    pub claims: Vec<ClaimSpec>,
}

/// Reads a figure file at a scale.
///
/// `[quick]` has the keys that differ at the quick scale, and `[paper]` the keys that differ at the paper's scale. They
/// may be `model` and any key of a scenario. A table without a `kind` is merged into the file's table. A table with a
/// `kind`, or any other value, replaces the file's value. The key `paper = "reps"` (the name of the paper) may take the
/// place of the table `[paper]`. Without that key, the name is the part of `id` before the slash.
///
/// # Errors
/// The first error, with its place and what to write instead.
pub fn read_figure(
    file_name: &str,
    text: &str,
    scale: Scale,
    files: &dyn Files,
) -> Result<Figure, Diagnostic> {
    read_figure_with(&Registry::new(), file_name, text, scale, files)
}

/// Reads a figure file whose scenario may also name entries of `registry`.
///
/// # Errors
/// See [`read_figure`].
pub fn read_figure_with(
    registry: &Registry,
    file_name: &str,
    text: &str,
    scale: Scale,
    files: &dyn Files,
) -> Result<Figure, Diagnostic> {
    read_figure_under(registry, file_name, text, scale, files, &[])
}

/// Reads a figure file, as [`read_figure_with`] does, with other values of parameters that the paper does not specify.
/// For each `[[unsaid]]` table, `choice` has the position of a value in the table's lists. The position is 0 (the
/// figure's own value) if `choice` is too short, or if this scale does not vary the table's parameters.
///
/// # Errors
/// See [`read_figure`]. There are also errors about the chosen values.
///
/// # Panics
/// A position is beyond the end of its list.
pub fn read_figure_under(
    registry: &Registry,
    file_name: &str,
    text: &str,
    scale: Scale,
    files: &dyn Files,
    choice: &[usize],
) -> Result<Figure, Diagnostic> {
    let mut fields = document::parse(file_name, text)?;
    let at_scale = merge_overlay(file_name, &mut fields, scale)?;
    league::name_schemes(file_name, &mut fields)?;
    let at_scale = at_scale.as_ref();
    let root = Node { at: None, item: Item::Table(fields) };
    let table = Table::open(file_name, "", &root)?;
    only(&table, &[keys::of("scenario"), keys::of("figure")].concat())?;
    let id: String = table.need("id")?;
    let paper = match table.get::<String>("paper")? {
        Some(paper) => paper,
        None => id.split('/').next().unwrap_or_default().to_owned(),
    };
    let title: String = table.need("title")?;
    let plot_tables = plot_tables(&table)?;
    let plots = plot_tables.iter().map(|table| plot::read(table, &title)).collect::<Result<_, _>>()?;
    let mut figure = Figure {
        title,
        paper,
        figure: table.get("figure")?.unwrap_or_else(|| id.rsplit('/').next().unwrap_or_default().to_owned()),
        scenario: None,
        model: None,
        plots,
        explain: None,
        assumptions: table.get("assumptions")?.unwrap_or_default(),
        unsaid: Vec::new(),
        claims: table.tables("claim", "claim")?.iter().map(claim).collect::<Result<_, _>>()?,
        id,
    };
    let unsaid = table.tables("unsaid", "unsaid")?;
    let unsaid: Vec<Entry<'_>> =
        unsaid.iter().map(|table| sensitivity::read(table, at_scale)).collect::<Result<_, _>>()?;
    if let Some(node) = table.node("model") {
        let model_table = Table::open(file_name, "[model]", node)?;
        figure.model = Some(model::read(&model_table, &table)?);
    }
    if figure.model.is_none() || table.node("topology").is_some() {
        let Item::Table(mut fields) = root.item.clone() else { return Err(table.missing("topology")) };
        for key in keys::of("figure") {
            fields.remove(key);
        }
        let resolve = |fields| scenario::resolve(registry, file_name, fields, files, &Overrides::default());
        figure.scenario = Some(scenario_of(file_name, fields, &unsaid, choice, &resolve)?);
    } else if let Some(table) = table.tables("unsaid", "unsaid")?.first() {
        return Err(table.wrong(
            "set",
            "a model has no scenario of which something could be varied",
            "no [[unsaid]]",
        ));
    }
    figure.unsaid = unsaid.into_iter().map(|entry| entry.spec).collect();
    let drawable = Drawable::of(&figure);
    for (table, spec) in plot_tables.iter().zip(&figure.plots) {
        drawable.check(table, spec)?;
    }
    if let Some(node) = table.node("explain") {
        figure.explain = Some(drawable.explanation(&Table::open(file_name, "[explain]", node)?)?);
    }
    Ok(figure)
}

/// `choice` has the positions of the values for the `[[unsaid]]` tables, as in [`read_figure_under`].
fn scenario_of(
    file: &str,
    mut fields: Fields,
    unsaid: &[Entry<'_>],
    choice: &[usize],
    resolve: &dyn Fn(Fields) -> Result<Scenario, Diagnostic>,
) -> Result<Scenario, Diagnostic> {
    let plain = fields.clone();
    for (entry, &place) in unsaid.iter().zip(choice).filter(|(entry, place)| entry.spec.varied && **place > 0)
    {
        entry.apply(file, &mut fields, place)?;
    }
    let scenario = resolve(fields)?;
    if choice.is_empty() {
        check_first_values(file, unsaid, &plain, &scenario, resolve)?;
    }
    let varied = unsaid.iter().flat_map(|entry| entry.spec.set.keys().cloned());
    Ok(scenario.varying(varied.collect()))
}

/// Removes `[quick]` and `[paper]` from a figure. Returns the table of `scale` after merging it into the figure.
fn merge_overlay(file: &str, fields: &mut Fields, scale: Scale) -> Result<Option<Fields>, Diagnostic> {
    let mut at_scale = None;
    for (of, name, overlay) in [
        (Scale::Quick, "[quick]", fields.remove("quick")),
        (Scale::Paper, "[paper]", take_table(fields, "paper")),
    ] {
        let Some(overlay) = overlay else { continue };
        let table = Table::open(file, name, &overlay)?;
        let known: Vec<&str> = keys::of("scenario").into_iter().chain(["model"]).collect();
        only(&table, &known)?;
        if of == scale {
            document::merge(fields, table.fields);
            at_scale = Some(table.fields.clone());
        }
    }
    Ok(at_scale)
}

/// Checks that the first values of each `[[unsaid]]` table that this scale varies are the figure's own values.
fn check_first_values(
    file: &str,
    unsaid: &[Entry<'_>],
    plain: &Fields,
    scenario: &Scenario,
    resolve: &dyn Fn(Fields) -> Result<Scenario, Diagnostic>,
) -> Result<(), Diagnostic> {
    let varied = || unsaid.iter().filter(|entry| entry.spec.varied);
    if varied().next().is_none() {
        return Ok(());
    }
    let mut fields = plain.clone();
    varied().try_for_each(|entry| entry.apply(file, &mut fields, 0))?;
    if resolve(fields)? == *scenario {
        return Ok(());
    }
    let changes = |path: &str, value: &Node| {
        let mut fields = plain.clone();
        sensitivity::apply(file, &mut fields, path, value)?;
        Ok(resolve(fields)? != *scenario)
    };
    varied().try_for_each(|entry| entry.not_the_default(file, plain, scenario, &changes))
}

/// Removes and returns the table at `key`. A value of another kind stays, since `paper` may also be the name of a
/// paper.
fn take_table(fields: &mut document::Fields, key: &str) -> Option<Node> {
    let is_table = matches!(fields.get(key), Some(Node { item: Item::Table(_), .. }));
    is_table.then(|| fields.remove(key)).flatten()
}

fn plot_tables<'a>(root: &Table<'a>) -> Result<Vec<Table<'a>>, Diagnostic> {
    match root.node("plot") {
        Some(node) if matches!(node.item, Item::Table(_)) => {
            Ok(vec![Table::open(root.file, "[plot]", node)?])
        }
        _ => root.tables("plot", "plot"),
    }
}

fn claim(table: &Table) -> Result<ClaimSpec, Diagnostic> {
    only(table, &keys::of("claim"))?;
    let kind = table.word("kind", &CLAIM_KINDS)?;
    if table.node("found").is_some() && table.node("why").is_some() {
        let message = "why and found are two names for the same";
        return Err(table.wrong("found", message, "why = \"...\", and no found"));
    }
    Ok(ClaimSpec {
        says: table.need("says")?,
        source: table.need("source")?,
        kind,
        paper: paper_value(table, kind)?,
        order: if kind == ClaimKind::Order { order(table)? } else { Vec::new() },
        measure: table.need("measure")?,
        why: table.get("why")?.or(table.get("found")?),
    })
}

/// The key `paper` of a claim. `None` for the kind `zero`, and for an order, whose names [`order`] reads.
fn paper_value(table: &Table, kind: ClaimKind) -> Result<Option<ClaimValue>, Diagnostic> {
    match kind {
        ClaimKind::Order => Ok(None),
        ClaimKind::Zero if table.node("paper").is_none() => Ok(None),
        ClaimKind::Zero => match table.need::<f64>("paper")? {
            0.0 => Ok(None),
            other => {
                let message = format!("a claim of kind \"zero\" is about 0, not {other}");
                Err(table.wrong("paper", message, Fix::set("paper", "0")))
            }
        },
        ClaimKind::Ratio | ClaimKind::AtLeast | ClaimKind::AtMost | ClaimKind::Value => {
            let number: f64 = table.need("paper")?;
            if number <= 0.0 {
                let message =
                    format!("paper must be above 0 in a claim of kind {:?}, not {number}", kind.to_string());
                return Err(table.wrong("paper", message, "paper = 1.25, or kind = \"zero\""));
            }
            Ok(Some(ClaimValue::Number(number)))
        }
        ClaimKind::Range => match table.need::<Vec<f64>>("paper")?[..] {
            [low, high] if 0.0 < low && low <= high => Ok(Some(ClaimValue::Range([low, high]))),
            _ => {
                let message = "a range has a smallest and a largest number above 0";
                Err(table.wrong("paper", message, Fix::set("paper", "[1.1, 1.4]")))
            }
        },
    }
}

fn order(table: &Table) -> Result<Vec<String>, Diagnostic> {
    match table.node("paper").map(|node| &node.item) {
        Some(Item::Array(names)) if names.len() >= 2 => table.need("paper"),
        _ => Err(table.wrong(
            "paper",
            "an order has two names or more, the smallest first",
            Fix::set("paper", "[\"reps\", \"ops\"]"),
        )),
    }
}
