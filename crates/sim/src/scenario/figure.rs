//! Figure files: a scenario, how it is drawn, and what the paper says about it.

use super::{Files, Scenario, ScenarioError};
use serde::{Deserialize, Serialize};

/// How large a figure is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Seconds; the file's `[quick]` table says how.
    Quick,
    /// The paper's own sizes; the file's `[paper-scale]` table says what differs from the rest of the file.
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

/// Reads a figure file at a scale.
///
/// # Errors
/// The first fault, with its place and what to write instead.
pub fn read_figure(
    file_name: &str,
    text: &str,
    scale: Scale,
    files: &dyn Files,
) -> Result<Figure, ScenarioError> {
    let _ = (text, scale, files);
    Err(ScenarioError {
        file: file_name.to_owned(),
        line: None,
        column: None,
        message: "figures cannot be read yet".to_owned(),
        help: None,
    })
}
