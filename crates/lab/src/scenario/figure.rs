//! Figure files: a scenario, how it is drawn, and what the paper says about it.

use super::table::Table;
use super::tree::{self, Item, Node};
use super::{Files, Overrides, Registry, Scenario, ScenarioError, written};
use anabranch_results::{ClaimKind, ClaimSpec, ClaimValue, PlotSpec};
use plot::Drawable;
use serde::{Deserialize, Serialize};

mod model;
mod plot;

pub use model::{BallsVariant, Chip, LosslessReach, ModelSpec, PacketTracking};

/// How large a figure is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Seconds; the file's `[quick]` table says how.
    Quick,
    /// The paper's own sizes; the file's `[paper]` table says what differs from the rest of the file.
    Paper,
}

/// A figure of a paper: what to run or compute, how to draw it, and the paper's claims.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its name in commands: `reps/fig-7`.
    pub id: String,
    /// One line for people.
    pub title: String,
    /// The paper's name in commands: `reps`.
    pub paper: String,
    /// The paper's own name for it: `Figure 7`.
    pub figure: String,
    /// The packet simulation, for a figure that has one.
    pub scenario: Option<Scenario>,
    /// The abstract model, for a figure without packets.
    pub model: Option<ModelSpec>,
    /// How to draw it; one picture each.
    pub plots: Vec<PlotSpec>,
    /// What the paper does not say and this file therefore assumes, in sentences.
    pub assumptions: Vec<String>,
    /// What the paper says about it.
    pub claims: Vec<ClaimSpec>,
}

/// The keys of a figure file that a scenario does not have.
const OWN_KEYS: &[&str] = &["id", "paper", "figure", "assumptions", "plot", "claim", "model", "quick"];

/// Reads a figure file at a scale.
///
/// `[quick]` holds what is different at the quick scale, `[paper]` what is at the paper's: any key of a scenario,
/// and `model`. Tables merge into those of the file, a table with a `kind` and everything else replaces. Instead
/// of `[paper]` the file may say `paper = "reps"`, the paper's name; without that, it is the part of `id` before
/// the slash.
///
/// # Errors
/// The first fault, with its place and what to write instead.
pub fn read_figure(
    file_name: &str,
    text: &str,
    scale: Scale,
    files: &dyn Files,
) -> Result<Figure, ScenarioError> {
    read_figure_with(&Registry::new(), file_name, text, scale, files)
}

/// Reads a figure file whose scenario may name what is in `registry` beside ours.
///
/// # Errors
/// Those of [`read_figure`].
pub fn read_figure_with(
    registry: &Registry,
    file_name: &str,
    text: &str,
    scale: Scale,
    files: &dyn Files,
) -> Result<Figure, ScenarioError> {
    let mut fields = tree::parse(file_name, text)?;
    let overlays = [(Scale::Quick, fields.remove("quick")), (Scale::Paper, take_table(&mut fields, "paper"))];
    for (of, overlay) in &overlays {
        let Some(overlay) = overlay else { continue };
        let name = if *of == Scale::Quick { "[quick]" } else { "[paper]" };
        let table = Table::open(file_name, name, overlay)?;
        let known: Vec<&str> = written::KEYS.iter().copied().chain(["model"]).collect();
        table.only(&known)?;
        if *of == scale {
            tree::merge(&mut fields, table.fields);
        }
    }

    let root = Node { at: None, item: Item::Table(fields) };
    let table = Table::open(file_name, "", &root)?;
    table.only(&[written::KEYS, OWN_KEYS].concat())?;
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
        assumptions: table.get("assumptions")?.unwrap_or_default(),
        claims: table.tables("claim", "claim")?.iter().map(claim).collect::<Result<_, _>>()?,
        id,
    };
    if let Some(node) = table.node("model") {
        let model_table = Table::open(file_name, "[model]", node)?;
        figure.model = Some(model::read(&model_table, &table)?);
    }
    if figure.model.is_none() || table.node("topology").is_some() {
        let Item::Table(mut fields) = root.item.clone() else { return Err(table.missing("topology")) };
        for key in OWN_KEYS {
            fields.remove(*key);
        }
        figure.scenario = Some(written::resolve(registry, file_name, fields, files, &Overrides::default())?);
    }
    let drawable = Drawable::of(&figure);
    for (table, spec) in plot_tables.iter().zip(&figure.plots) {
        drawable.check(table, spec)?;
    }
    Ok(figure)
}

/// Takes a key out when a table stands there.
fn take_table(fields: &mut tree::Fields, key: &str) -> Option<Node> {
    let is_table = matches!(fields.get(key), Some(Node { item: Item::Table(_), .. }));
    is_table.then(|| fields.remove(key)).flatten()
}

/// `[plot]`, or several `[[plot]]`.
fn plot_tables<'a>(root: &Table<'a>) -> Result<Vec<Table<'a>>, ScenarioError> {
    match root.node("plot") {
        Some(node) if matches!(node.item, Item::Table(_)) => {
            Ok(vec![Table::open(root.file, "[plot]", node)?])
        }
        _ => root.tables("plot", "plot"),
    }
}

fn claim(table: &Table) -> Result<ClaimSpec, ScenarioError> {
    table.only(&["says", "source", "paper", "measure", "kind", "why", "found"])?;
    let kind = table.word(
        "kind",
        &[
            ("ratio", ClaimKind::Ratio),
            ("value", ClaimKind::Value),
            ("range", ClaimKind::Range),
            ("zero", ClaimKind::Zero),
            ("order", ClaimKind::Order),
        ],
    )?;
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

/// Reads a claim's `paper`, whose form follows from the claim's kind; an order's is not a number.
fn paper_value(table: &Table, kind: ClaimKind) -> Result<Option<ClaimValue>, ScenarioError> {
    match kind {
        ClaimKind::Order => Ok(None),
        ClaimKind::Zero if table.node("paper").is_none() => Ok(None),
        ClaimKind::Zero => match table.need::<f64>("paper")? {
            0.0 => Ok(None),
            other => {
                let message = format!("a claim of kind \"zero\" is about 0, not {other}");
                Err(table.wrong("paper", message, "paper = 0"))
            }
        },
        ClaimKind::Ratio | ClaimKind::Value => {
            let number: f64 = table.need("paper")?;
            if number <= 0.0 {
                let message = format!("paper must be above 0 in a ratio or a value, not {number}");
                return Err(table.wrong("paper", message, "paper = 1.25, or kind = \"zero\""));
            }
            Ok(Some(ClaimValue::Number(number)))
        }
        ClaimKind::Range => match table.need::<Vec<f64>>("paper")?[..] {
            [low, high] if 0.0 < low && low <= high => Ok(Some(ClaimValue::Range([low, high]))),
            _ => {
                let message = "a range has a smallest and a largest number above 0";
                Err(table.wrong("paper", message, "paper = [1.1, 1.4]"))
            }
        },
    }
}

/// Reads what an order's `paper` compares.
fn order(table: &Table) -> Result<Vec<String>, ScenarioError> {
    match table.node("paper").map(|node| &node.item) {
        Some(Item::Array(names)) if names.len() >= 2 => table.need("paper"),
        _ => Err(table.wrong(
            "paper",
            "an order has two names or more, the smallest first",
            "paper = [\"reps\", \"ops\"]",
        )),
    }
}
