//! Figure files: a scenario, how it is drawn, and what the paper says about it.

use super::table::Table;
use super::tree::{self, Item, Node};
use super::{Files, Overrides, Scenario, ScenarioError, written};
use serde::{Deserialize, Serialize};

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

/// A figure that is an abstract model and no packet network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ModelSpec {
    /// Balls thrown into bins: queues at the ports of one switch (REPS, section 5.1).
    BallsIntoBins {
        /// Numbers of ports to try.
        ports: Vec<u32>,
        /// Rounds to play.
        rounds: u32,
        /// Balls a round for each port, above 0, at most 1.
        load: f64,
        /// Who throws.
        variants: Vec<BallsVariant>,
        /// A ball in a queue longer than this loses its colour (tau).
        threshold: u32,
        /// Colours for each port (b).
        colors_per_port: u32,
        /// Seeds; one game each.
        seeds: Vec<u64>,
    },
    /// The hardware state of each algorithm, in bits (REPS, Table 1).
    StateBits {},
}

/// How balls choose their bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BallsVariant {
    /// At random, each time.
    Ops,
    /// The bin of a ball that found a short queue is used again.
    Recycled,
}

/// One picture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlotSpec {
    /// What it looks like.
    pub kind: PlotKind,
    /// Its title; empty: the figure's.
    pub title: String,
    /// What stands along the x axis: `time`, `fct`, or a swept parameter's name.
    pub x: String,
    /// What stands along the y axis: a series' or a run column's name, with its unit.
    pub y: String,
    /// One curve for each value of these: `scheme`, `entity`, `seed`, or a swept parameter's name.
    pub per: Vec<String>,
    /// For a series: only this entity and what lies below it (`tor:0/up` covers `tor:0/up:3`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entity: Option<String>,
    /// Only these schemes; all when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schemes: Vec<String>,
    /// Logarithmic x axis.
    #[serde(default)]
    pub log_x: bool,
    /// Logarithmic y axis.
    #[serde(default)]
    pub log_y: bool,
}

/// What a picture looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlotKind {
    /// A measured curve over simulated time.
    Series,
    /// The share of flows that are done by a time.
    Cdf,
    /// One bar a value.
    Bar,
    /// Points joined over a swept parameter.
    Line,
}

/// Something that the paper says about a figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimSpec {
    /// The claim, in our words.
    pub says: String,
    /// Where the paper says it.
    pub source: String,
    /// How the outcome is decided.
    pub kind: ClaimKind,
    /// The paper's number or numbers; an order's names from the smallest to the largest.
    pub paper: PaperValue,
    /// What is measured, in the language of the report.
    pub measure: String,
    /// For a claim that does not hold: what was found about why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
}

/// How a claim's outcome is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimKind {
    /// A factor between two things.
    Ratio,
    /// A number with a unit.
    Value,
    /// A smallest and a largest factor.
    Range,
    /// Nothing at all.
    Zero,
    /// Which is smaller.
    Order,
}

/// What the paper gives for a claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PaperValue {
    /// One number.
    Number(f64),
    /// A smallest and a largest number.
    Range([f64; 2]),
    /// Names from the smallest to the largest.
    Order(Vec<String>),
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
    let mut figure = Figure {
        title: table.need("title")?,
        paper,
        figure: table.get("figure")?.unwrap_or_else(|| id.rsplit('/').next().unwrap_or_default().to_owned()),
        scenario: None,
        model: None,
        plots: plots(&table)?,
        assumptions: table.get("assumptions")?.unwrap_or_default(),
        claims: table.tables("claim", "claim")?.iter().map(claim).collect::<Result<_, _>>()?,
        id,
    };
    if let Some(node) = table.node("model") {
        let model_table = Table::open(file_name, "[model]", node)?;
        figure.model = Some(model(&model_table, &table)?);
    }
    if figure.model.is_none() || table.node("topology").is_some() {
        let Item::Table(mut fields) = root.item.clone() else { return Err(table.missing("topology")) };
        for key in OWN_KEYS {
            fields.remove(*key);
        }
        figure.scenario = Some(written::resolve(file_name, fields, files, &Overrides::default())?);
    }
    Ok(figure)
}

/// Takes a key out when a table stands there.
fn take_table(fields: &mut tree::Fields, key: &str) -> Option<Node> {
    let is_table = matches!(fields.get(key), Some(Node { item: Item::Table(_), .. }));
    is_table.then(|| fields.remove(key)).flatten()
}

/// Reads `[plot]` or several `[[plot]]`.
fn plots(root: &Table) -> Result<Vec<PlotSpec>, ScenarioError> {
    match root.node("plot") {
        None => Ok(Vec::new()),
        Some(node) if matches!(node.item, Item::Table(_)) => {
            Ok(vec![plot(&Table::open(root.file, "[plot]", node)?)?])
        }
        Some(_) => root.tables("plot", "plot")?.iter().map(plot).collect(),
    }
}

fn plot(table: &Table) -> Result<PlotSpec, ScenarioError> {
    table.only(&["kind", "title", "x", "y", "per", "entity", "schemes", "log_x", "log_y"])?;
    let kind = table.word(
        "kind",
        &[
            ("series", PlotKind::Series),
            ("cdf", PlotKind::Cdf),
            ("bar", PlotKind::Bar),
            ("line", PlotKind::Line),
        ],
    )?;
    let (x, y) = match kind {
        PlotKind::Series => (Some("time"), None),
        PlotKind::Cdf => (Some("fct_us"), Some("share")),
        PlotKind::Bar => (Some("scheme"), None),
        PlotKind::Line => (None, None),
    };
    let or = |key: &str, default: Option<&str>| -> Result<String, ScenarioError> {
        table.get(key)?.or_else(|| default.map(str::to_owned)).ok_or_else(|| table.missing(key))
    };
    Ok(PlotSpec {
        kind,
        title: table.get("title")?.unwrap_or_default(),
        x: or("x", x)?,
        y: or("y", y)?,
        per: table.get("per")?.unwrap_or_else(|| vec!["scheme".to_owned()]),
        entity: table.get("entity")?,
        schemes: table.get("schemes")?.unwrap_or_default(),
        log_x: table.get("log_x")?.unwrap_or(false),
        log_y: table.get("log_y")?.unwrap_or(false),
    })
}

fn claim(table: &Table) -> Result<ClaimSpec, ScenarioError> {
    table.only(&["says", "source", "paper", "measure", "kind", "found"])?;
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
    Ok(ClaimSpec {
        says: table.need("says")?,
        source: table.need("source")?,
        kind,
        paper: paper_value(table, kind)?,
        measure: table.need("measure")?,
        found: table.get("found")?,
    })
}

/// Reads a claim's `paper`, whose form follows from the claim's kind.
fn paper_value(table: &Table, kind: ClaimKind) -> Result<PaperValue, ScenarioError> {
    match kind {
        ClaimKind::Zero if table.node("paper").is_none() => Ok(PaperValue::Number(0.0)),
        ClaimKind::Zero => match table.need::<f64>("paper")? {
            0.0 => Ok(PaperValue::Number(0.0)),
            other => Err(table.wrong(
                "paper",
                format!("a claim of kind \"zero\" is about 0, not {other}"),
                "paper = 0",
            )),
        },
        ClaimKind::Ratio | ClaimKind::Value => {
            let number: f64 = table.need("paper")?;
            if number <= 0.0 {
                let message = format!("paper must be above 0 in a ratio or a value, not {number}");
                return Err(table.wrong("paper", message, "paper = 1.25, or kind = \"zero\""));
            }
            Ok(PaperValue::Number(number))
        }
        ClaimKind::Range => match table.need::<Vec<f64>>("paper")?[..] {
            [low, high] if 0.0 < low && low <= high => Ok(PaperValue::Range([low, high])),
            _ => Err(table.wrong(
                "paper",
                "a range has a smallest and a largest number above 0",
                "paper = [1.1, 1.4]",
            )),
        },
        ClaimKind::Order => match table.node("paper").map(|node| &node.item) {
            Some(Item::Array(_)) => Ok(PaperValue::Order(table.need("paper")?)),
            _ => Err(table.wrong(
                "paper",
                "an order has names, the smallest first",
                "paper = [\"reps\", \"ops\"]",
            )),
        },
    }
}

fn model(table: &Table, root: &Table) -> Result<ModelSpec, ScenarioError> {
    let balls = table.word("kind", &[("balls-into-bins", true), ("state-bits", false)])?;
    if !balls {
        table.only(&["kind"])?;
        return Ok(ModelSpec::StateBits {});
    }
    table.only(&["kind", "ports", "rounds", "load", "variants", "threshold", "colors_per_port"])?;
    let ports: Vec<u32> = table.need("ports")?;
    if ports.is_empty() || ports.contains(&0) {
        return Err(table.wrong("ports", "ports must be numbers of 1 or more", "ports = [8, 16]"));
    }
    let rounds: u32 = table.need("rounds")?;
    table.within("rounds", u64::from(rounds), 1, u64::MAX)?;
    let load: f64 = table.get("load")?.unwrap_or(1.0);
    if !(load > 0.0 && load <= 1.0) {
        return Err(table.wrong(
            "load",
            format!("load must be above 0 and at most 1, not {load}"),
            "load = 0.99",
        ));
    }
    let colors_per_port: u32 = table.get("colors_per_port")?.unwrap_or(1);
    table.within("colors_per_port", u64::from(colors_per_port), 1, u64::MAX)?;
    Ok(ModelSpec::BallsIntoBins {
        ports,
        rounds,
        load,
        variants: variants(table)?,
        threshold: table.get("threshold")?.unwrap_or(5),
        colors_per_port,
        seeds: written::seeds(root, &Overrides::default())?,
    })
}

fn variants(table: &Table) -> Result<Vec<BallsVariant>, ScenarioError> {
    const KNOWN: &[(&str, BallsVariant)] =
        &[("ops", BallsVariant::Ops), ("recycled", BallsVariant::Recycled)];
    let written: Vec<String> = table.need("variants")?;
    if written.is_empty() {
        return Err(table.wrong(
            "variants",
            "variants is empty, so nobody throws",
            "variants = [\"ops\", \"recycled\"]",
        ));
    }
    let find = |name: &String| {
        let known = KNOWN.iter().find(|(known, _)| known == name);
        known.map(|(_, variant)| *variant).ok_or_else(|| {
            table.wrong("variants", format!("unknown variant {name:?}"), "variants = [\"ops\", \"recycled\"]")
        })
    };
    written.iter().map(find).collect()
}
