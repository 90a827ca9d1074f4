//! The pictures of a plot, the curves in each picture, and the runs of each curve.

use crate::groups::schemes;
use crate::labels::{dash, palette};
use anabranch_results::{PlotKind, PlotSpec, ResultSet, RunRow};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

/// The largest number of pictures of one plot. Further ones are left out.
const MAX_PICTURES: usize = 8;

pub(super) struct Picture<'a> {
    /// The text that distinguishes the picture from the plot's other pictures.
    pub(super) name: String,
    pub curves: Vec<Curve<'a>>,
}

/// One curve. In a plot with a curve per entity, it represents the curves of all entities.
pub(super) struct Curve<'a> {
    pub scheme: &'a str,
    /// The name without the scheme: `ports = 4, seed 1`. It is empty if the name consists only of the scheme.
    pub rest: String,
    /// Indices of the curve's runs. The runs may differ in the seed. They may also differ in the quantity on the x
    /// axis, which is the scheme or a parameter.
    pub runs: Vec<usize>,
    named_by_scheme: bool,
}

impl Picture<'_> {
    pub(super) fn title(&self, spec: &PlotSpec) -> String {
        if self.name.is_empty() { spec.title.clone() } else { format!("{} ({})", spec.title, self.name) }
    }

    /// The index of a curve's colour and dash. If each scheme has one curve in this picture, it is the index of the
    /// curve's scheme, which is the same in every plot. Otherwise it is the position of the curve.
    pub(super) fn look(&self, set: &ResultSet, position: usize) -> usize {
        let here: BTreeSet<&str> = self.curves.iter().map(|curve| curve.scheme).collect();
        if here.len() < self.curves.len() { position } else { scheme_look(set, self.curves[position].scheme) }
    }

    pub(super) fn line(&self, set: &ResultSet, position: usize) -> Json {
        line(self.look(set, position), 2.0)
    }
}

/// The index of the colour and dash of a scheme that has one curve.
pub(super) fn scheme_look(set: &ResultSet, scheme: &str) -> usize {
    schemes(set).iter().position(|name| *name == scheme).unwrap_or(0)
}

pub(super) fn line(look: usize, width: f64) -> Json {
    json!({"color": palette(look), "dash": dash(look), "width": width})
}

impl Curve<'_> {
    pub(super) fn name(&self) -> String {
        match (self.named_by_scheme, self.rest.is_empty()) {
            (_, true) => self.scheme.to_owned(),
            (true, false) => format!("{}, {}", self.scheme, self.rest),
            (false, false) => self.rest.clone(),
        }
    }
}

/// The dimensions whose values have separate curves. The plot specifies them, or the default applies.
pub(super) fn per<'a>(set: &'a ResultSet, spec: &'a PlotSpec) -> Vec<&'a str> {
    if !spec.per.is_empty() {
        return spec.per.iter().map(String::as_str).collect();
    }
    let mut per = vec!["scheme"];
    match spec.kind {
        PlotKind::Series => per.push("entity"),
        PlotKind::Bar | PlotKind::Line => {
            per.extend(beside(set, spec.x.as_deref()));
        }
        PlotKind::Points | PlotKind::Cdf | PlotKind::SlowdownBySize | PlotKind::Flows => {}
    }
    per
}

/// The first pictures of a plot, at most [`MAX_PICTURES`], with the runs of their curves.
pub(super) fn pictures<'a>(set: &'a ResultSet, spec: &PlotSpec) -> Vec<Picture<'a>> {
    let per = per(set, spec);
    let schemes_on_x = spec.kind == PlotKind::Bar && spec.x.is_none();
    let curve_by_scheme = per.contains(&"scheme") && !schemes_on_x;
    let chosen = |run: &&RunRow| spec.schemes.is_empty() || spec.schemes.contains(&run.scheme);
    let compared: BTreeSet<&str> =
        set.actual().iter().filter(chosen).map(|run| run.scheme.as_str()).collect();
    let picture_by_scheme = !curve_by_scheme && !schemes_on_x && compared.len() > 1;
    let (of_curve, of_picture): (Vec<&str>, Vec<&str>) =
        beside(set, spec.x.as_deref()).into_iter().partition(|name| per.contains(name));
    let values = |run: &RunRow, names: &[&str]| -> Vec<String> {
        let value = |name: &&str| run.sweep.get(*name).map(|value| format!("{name} = {value}"));
        names.iter().filter_map(value).collect()
    };
    let mut pictures: Vec<Picture<'a>> = Vec::new();
    for (index, run) in set.actual().iter().enumerate().filter(|(_, run)| chosen(run)) {
        let mut name = values(run, &of_picture);
        if picture_by_scheme {
            name.insert(0, run.scheme.clone());
        }
        let name = name.join(", ");
        let mut rest = values(run, &of_curve);
        if per.contains(&"seed") {
            rest.push(format!("seed {}", run.seed));
        }
        let rest = rest.join(", ");
        let position = pictures.iter().position(|picture| picture.name == name).unwrap_or_else(|| {
            pictures.push(Picture { name, curves: Vec::new() });
            pictures.len() - 1
        });
        let curves = &mut pictures[position].curves;
        let same =
            |curve: &&mut Curve<'a>| curve.rest == rest && (schemes_on_x || curve.scheme == run.scheme);
        match curves.iter_mut().find(same) {
            Some(curve) => curve.runs.push(index),
            None => curves.push(Curve {
                scheme: &run.scheme,
                rest,
                runs: vec![index],
                named_by_scheme: curve_by_scheme,
            }),
        }
    }
    pictures.truncate(MAX_PICTURES);
    pictures
}

/// The swept parameters without the parameter on the x axis and without the parameters whose value follows from it.
fn beside<'a>(set: &'a ResultSet, x: Option<&str>) -> Vec<&'a str> {
    let follows = |name: &str| {
        let mut at = BTreeMap::new();
        x.is_some_and(|x| {
            set.runs.iter().all(|run| {
                let Some(position) = run.sweep.get(x) else { return false };
                let value = run.sweep.get(name);
                *at.entry(position.to_string()).or_insert(value) == value
            })
        })
    };
    swept(set).into_iter().filter(|name| Some(*name) != x && !follows(name)).collect()
}

/// The swept parameters that have more than one value.
pub(super) fn swept(set: &ResultSet) -> Vec<&str> {
    let names: BTreeSet<&str> =
        set.actual().iter().flat_map(|run| run.sweep.keys().map(String::as_str)).collect();
    let several = |name: &&str| {
        let mut values = set.actual().iter().filter_map(|run| run.sweep.get(*name));
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    names.into_iter().filter(several).collect()
}
