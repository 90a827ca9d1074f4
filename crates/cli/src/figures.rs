//! The figures that come with the program, or those of a folder.

use crate::failure::{Failure, did_you_mean, reason};
use crate::source::{Folder, input};
use crate::whole_file;
use anabranch_report::{CatalogueRow, GalleryEntry, claims};
use anabranch_results::{self as results, ResultSet};
use anabranch_sim::scenario::{Figure, Files, Registry, Scale, Scenario, read_figure, read_figure_under};
use include_dir::{Dir, include_dir};
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

static BUILT_IN: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../figures");

/// The TOML file of a figure, either built in or from a folder.
#[derive(Clone)]
pub struct FigureFile {
    /// The name of the figure in commands: `reps/figure-2`.
    pub id: String,
    path: PathBuf,
    text: Cow<'static, str>,
    built_in: bool,
}

/// The folder of the league's scenarios, which are not figures of a paper.
const LEAGUE: &str = "league";

/// Every figure and table of the papers.
pub fn catalogue() -> Vec<CatalogueRow> {
    #[derive(Deserialize)]
    struct Catalogue {
        row: Vec<CatalogueRow>,
    }
    let text = BUILT_IN.get_file("catalogue.toml").and_then(|file| file.contents_utf8());
    let catalogue: Catalogue = toml::from_str(text.unwrap_or_default()).expect("a test reads it");
    catalogue.row
}

/// Writes the index of the figures that were run. It also lists the other figures and tables of their papers, and the
/// claims of the figures that were run.
///
/// # Errors
/// [`Failure::Input`] if it cannot be written.
pub fn write_index(exhibits: &[GalleryEntry], scale: Scale, folder: &Path) -> Result<PathBuf, Failure> {
    let heading = format!("{} scale; anabranch {}", scale_name(scale), env!("ANABRANCH_VERSION"));
    let html = anabranch_report::gallery(&heading, exhibits, &catalogue());
    let path = folder.join(format!("figures-{}.html", scale_name(scale)));
    fs::create_dir_all(folder).and_then(|()| whole_file::put(&path, html)).map_err(|error| {
        Failure::Input(format!("{}: the page cannot be written: {}", path.display(), reason(&error)))
    })?;
    Ok(path)
}

pub fn league() -> Vec<FigureFile> {
    let mut scenarios = built_in(&BUILT_IN);
    scenarios.retain(|file| file.paper() == LEAGUE);
    scenarios.sort_by(|one, other| one.id.cmp(&other.id));
    scenarios
}

/// All figures of papers in `folder`, or all built-in figures if there is no folder. They are sorted by id, with
/// numbers in numerical order.
///
/// # Errors
/// The folder or a file in it cannot be read.
pub fn all(folder: Option<&Path>) -> Result<Vec<FigureFile>, Failure> {
    let mut figures = match folder {
        None => built_in(&BUILT_IN),
        Some(folder) => in_folder(folder)?,
    };
    figures.retain(|file| file.paper() != LEAGUE);
    figures.sort_by_cached_key(|figure| natural(&figure.id));
    Ok(figures)
}

/// The figures that `wanted` names (`reps`, `reps/figure-2`), in the order of `all`. If `wanted` is empty, the result
/// is `all`.
///
/// # Errors
/// [`Failure::Input`] for an unknown name. The error lists the known names.
pub fn choose(all: Vec<FigureFile>, wanted: &[String]) -> Result<Vec<FigureFile>, Failure> {
    let papers: BTreeSet<&str> = all.iter().map(|figure| figure.paper()).collect();
    for name in wanted {
        let known = papers.contains(name.as_str()) || all.iter().any(|figure| figure.id == *name);
        if known {
            continue;
        }
        let (paper, has_figure) =
            name.split_once('/').map_or((name.as_str(), false), |(paper, _)| (paper, true));
        let of_papers: Vec<&str> =
            all.iter().map(|f| f.id.as_str()).filter(|id| id.ends_with(&format!("/{name}"))).collect();
        let message = if all.is_empty() {
            format!("unknown paper {paper:?}\n  help: there are no figures here")
        } else if !of_papers.is_empty() {
            format!("{name:?} does not say of which paper\n  help: one of {}", of_papers.join(", "))
        } else if !papers.contains(paper) {
            let list = papers.iter().copied().collect::<Vec<_>>().join(", ");
            format!(
                "unknown paper {paper:?}{}\n  help: the papers are {list}",
                did_you_mean(paper, papers.iter().copied())
            )
        } else {
            debug_assert!(has_figure, "a paper's own name is known");
            let ids: Vec<&str> = all.iter().filter(|f| f.paper() == paper).map(|f| f.id.as_str()).collect();
            let hint = did_you_mean(name, ids.iter().copied());
            format!("unknown figure {name:?}{hint}\n  help: the figures of {paper} are {}", ids.join(", "))
        };
        return Err(Failure::Input(message));
    }
    let is_wanted = |figure: &FigureFile| {
        wanted.is_empty() || wanted.iter().any(|name| *name == figure.id || name == figure.paper())
    };
    Ok(all.into_iter().filter(is_wanted).collect())
}

impl FigureFile {
    pub fn paper(&self) -> &str {
        self.id.split('/').next().unwrap_or_default()
    }

    pub fn name(&self) -> &str {
        self.id.split_once('/').map_or("", |(_, name)| name)
    }

    /// The title of the figure. It is empty if the file has none.
    pub fn title(&self) -> String {
        let table: Option<toml::Table> = self.text.parse().ok();
        let title = table.as_ref().and_then(|table| table.get("title")).and_then(toml::Value::as_str);
        title.unwrap_or_default().to_owned()
    }

    /// Whether the figure's file lists settings that its paper does not specify.
    pub fn has_unsaid(&self) -> bool {
        let table: Option<toml::Table> = self.text.parse().ok();
        table.is_some_and(|table| table.contains_key("unsaid"))
    }

    /// Reads the figure at a scale, and checks the form of its claims.
    ///
    /// # Errors
    /// [`Failure::Diagnosed`] with the place of the first error in the file, or [`Failure::Input`] if the id or a
    /// claim is wrong.
    pub fn read(&self, scale: Scale) -> Result<Figure, Failure> {
        let name = self.path.display().to_string();
        let figure = read_figure(&name, &self.text, scale, &*self.files())?;
        if figure.id != self.id {
            let (id, own) = (&figure.id, &self.id);
            return Err(Failure::Input(format!(
                "{name}: its id is {id:?}\n  write: id = {own:?}, as the file is called"
            )));
        }
        judge(&figure, scale, &ResultSet::default())
            .map_err(|error| Failure::Input(format!("{name}: {error}")))?;
        Ok(figure)
    }

    /// The figure's scenario at a scale, with chosen values of the settings that its paper does not specify; see
    /// [`read_figure_under`].
    ///
    /// # Errors
    /// [`Failure::Input`] with the place of the first error, or if the figure has no scenario.
    pub fn read_under(&self, scale: Scale, choice: &[usize]) -> Result<Scenario, Failure> {
        let name = self.path.display().to_string();
        let figure = read_figure_under(&Registry::new(), &name, &self.text, scale, &*self.files(), choice)
            .map_err(input)?;
        figure.scenario.ok_or_else(|| Failure::Input(format!("{name}: a model has nothing unsaid")))
    }

    /// The figure of a file that names no setup, under the setup `setup`.
    ///
    /// # Errors
    /// The errors of [`read`](Self::read).
    pub fn read_on(&self, scale: Scale, setup: &str) -> Result<Figure, Failure> {
        let text = format!("setup = {setup:?}\n{}", self.text);
        FigureFile { text: text.into(), ..self.clone() }.read(scale)
    }

    fn files(&self) -> Box<dyn Files> {
        let folder = self.path.parent().unwrap_or(Path::new("")).to_owned();
        if self.built_in { Box::new(Embedded(folder)) } else { Box::new(Folder(folder)) }
    }
}

/// The figure with the outcomes of its claims, as they follow from the results `set`. The sizes of runs and the
/// table of unspecified values are left empty.
///
/// # Errors
/// A claim itself is wrong.
pub fn judge(figure: &Figure, scale: Scale, set: &ResultSet) -> Result<results::Figure, Failure> {
    Ok(results::Figure {
        id: figure.id.clone(),
        title: figure.title.clone(),
        paper: figure.paper.clone(),
        figure: figure.figure.clone(),
        scale: scale_name(scale).to_owned(),
        sizes: String::new(),
        assumptions: figure.assumptions.clone(),
        plots: figure.plots.clone(),
        claims: claims::judge(&figure.claims, set).map_err(input)?,
        unsaid: None,
    })
}

pub fn scale_name(scale: Scale) -> &'static str {
    match scale {
        Scale::Quick => "quick",
        Scale::Paper => "paper",
    }
}

/// The files in the folder of a built-in figure.
struct Embedded(PathBuf);

impl Files for Embedded {
    fn read(&self, name: &str) -> Result<String, String> {
        let file = BUILT_IN.get_file(self.0.join(name)).ok_or("there is no such built-in file")?;
        file.contents_utf8().map(str::to_owned).ok_or_else(|| "it is not UTF-8 text".to_owned())
    }
}

fn built_in(dir: &'static Dir<'static>) -> Vec<FigureFile> {
    let files = dir.dirs().flat_map(Dir::files).filter_map(|file| {
        let id = id_of(file.path())?;
        Some(FigureFile {
            id,
            path: file.path().to_owned(),
            text: file.contents_utf8()?.into(),
            built_in: true,
        })
    });
    files.collect()
}

fn in_folder(folder: &Path) -> Result<Vec<FigureFile>, Failure> {
    let entries = |folder: &Path| -> Result<Vec<PathBuf>, Failure> {
        fs::read_dir(folder).and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect()).map_err(
            |error| Failure::Input(format!("{}: cannot be read: {}", folder.display(), reason(&error))),
        )
    };
    let mut figures = Vec::new();
    for paper in entries(folder)?.into_iter().filter(|path| path.is_dir()) {
        for path in entries(&paper)? {
            let Some(id) = path.strip_prefix(folder).ok().and_then(id_of) else { continue };
            let text = fs::read_to_string(&path).map_err(|error| {
                Failure::Input(format!("{}: cannot be read: {}", path.display(), reason(&error)))
            })?;
            figures.push(FigureFile { id, path, text: text.into(), built_in: false });
        }
    }
    Ok(figures)
}

/// The id of a figure's file: `reps/figure-2` for `reps/figure-2.toml`. It is none for another kind of file.
fn id_of(path: &Path) -> Option<String> {
    let id = path.to_str()?.strip_suffix(".toml")?;
    Some(id.replace(std::path::MAIN_SEPARATOR, "/"))
}

/// A key that sorts `figure-2` before `figure-17`.
fn natural(id: &str) -> (String, u64, String) {
    let start = id.find(|c: char| c.is_ascii_digit()).unwrap_or(id.len());
    let (head, rest) = id.split_at(start);
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    (head.to_owned(), rest[..end].parse().unwrap_or(0), rest[end..].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_in_the_papers_order() {
        let mut ids = ["reps/fig-17", "reps/table-1", "reps/fig-2", "dcp/fig-3"];
        ids.sort_by_cached_key(|id| natural(id));
        assert_eq!(ids, ["dcp/fig-3", "reps/fig-2", "reps/fig-17", "reps/table-1"]);
    }

    #[test]
    fn the_catalogue_has_every_figure() {
        let catalogue = catalogue();
        let known: BTreeSet<String> = all(None).unwrap().into_iter().map(|figure| figure.id).collect();
        let listed: BTreeSet<String> = catalogue.iter().flat_map(|row| row.figures.clone()).collect();
        assert_eq!(listed, known);
        for row in &catalogue {
            assert!(row.figures.is_empty() == row.why.is_some(), "{}, {}", row.paper, row.item);
        }
        for (paper, last) in
            [("reps", 24), ("strack", 28), ("themis-spraying", 17), ("dcp", 17), ("themis-longhaul", 24)]
        {
            let of = catalogue.iter().filter(|row| row.paper == paper);
            let numbers: Vec<u32> =
                of.filter_map(|row| row.item.strip_prefix("Figure ")?.parse().ok()).collect();
            assert_eq!(numbers, (1..=last).collect::<Vec<u32>>(), "{paper}");
        }
    }

    #[test]
    fn every_built_in_figure_reads_at_both_scales_and_under_every_unsaid_value() {
        let mut papers = BTreeSet::new();
        for file in all(None).unwrap().into_iter().chain(league()) {
            for scale in [Scale::Quick, Scale::Paper] {
                let figure = file.read(scale).unwrap_or_else(|error| panic!("{error}"));
                if file.has_unsaid() {
                    papers.insert(file.paper().to_owned());
                }
                for (entry, unsaid) in figure.unsaid.iter().enumerate().filter(|(_, unsaid)| unsaid.varied) {
                    for place in 1..unsaid.values() {
                        let mut choice = vec![0; figure.unsaid.len()];
                        choice[entry] = place;
                        let other = file.read_under(scale, &choice).unwrap_or_else(|error| panic!("{error}"));
                        assert_ne!(Some(&other), figure.scenario.as_ref(), "{}: {}", file.id, unsaid.what);
                    }
                }
            }
        }
        assert_eq!(papers.len(), 7, "{papers:?}");
    }
}
