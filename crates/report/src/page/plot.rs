//! A plot of a page, as `draw.js` takes it.
//!
//! A trace is `{kind, name, scheme, panel, x, y, line: {color, dash, width}}`, where `kind` is `line`, `both` (with its
//! points), `hv` and `vh` (steps), `points`, `named` (each with a name of `names`, a label where there is room in the
//! order of `first`, and the `shape` of all), `bar`, `band` (from `low` to `high`) or `heat`; `low` and `high` of other
//! kinds are ends of whiskers. A layout is `{x, panels: [{name, y}], legend, bands}` with the axes of [`super::axes`].

use super::curves::Picture;
use anabranch_results::PlotSpec;
use serde_json::Value as Json;

/// A plot on the page.
#[derive(Clone)]
pub(super) struct Plot {
    pub title: String,
    /// The caption.
    pub note: String,
    /// The title of the plot without the part that distinguishes this picture, and that part.
    pub whole: String,
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

/// The most points of a curve, so that the page of a large run stays small.
pub(super) const MAX_POINTS: usize = 2000;
