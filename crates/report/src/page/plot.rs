//! A plot of a page, in the form that `draw.js` reads.
//!
//! A trace is `{kind, name, scheme, panel, x, y, line: {color, dash, width}}`, with further keys in some kinds. Its
//! `kind` is `line`, `both` (a line with its points), `hv` or `vh` (steps), `points`, `named`, `bar`, `band` (from
//! `low` to `high`) or `heat` (a map, with `rows` and `cells` instead of `x` and `y`). In a trace of kind `named`,
//! each point has a name in `names`. Names are drawn in the order of `first`, as far as there is room. `shape` is the
//! marker of all points. In traces of other kinds than `band`, `low` and `high` are the ends of whiskers. A layout is
//! `{x, panels: [{name, y}], legend, bands, top, value}` with the axes of [`super::axes`]; `top` is the value at the
//! strongest colour of a map, and `value` the label of its values.

use super::curves::Picture;
use anabranch_results::PlotSpec;
use serde_json::Value as Json;

#[derive(Clone)]
pub(super) struct Plot {
    pub title: String,
    /// The caption.
    pub note: String,
    /// The title without `part`.
    pub whole: String,
    /// The text that distinguishes this picture from others of the same plot.
    pub part: String,
    pub data: Vec<Json>,
    pub layout: Json,
}

impl Plot {
    pub(super) fn new(
        spec: &PlotSpec,
        picture: &Picture<'_>,
        note: String,
        data: Vec<Json>,
        layout: Json,
    ) -> Plot {
        let (whole, part) = (spec.title.clone(), picture.name.clone());
        Plot { title: picture.title(spec), note, whole, part, data, layout }
    }
}

/// The largest number of measured points of a curve. The limit keeps the page of a large run small.
pub(super) const MAX_POINTS: usize = 2000;
