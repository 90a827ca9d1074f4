//! The report page: one HTML file that opens offline.

mod axes;
mod bands;
mod bandwidth;
mod claims;
mod classes;
mod curves;
mod document;
mod explain;
mod fabric;
mod gallery;
mod league;
mod links;
mod live;
mod markup;
mod plot;
mod plots;
mod provenance;
mod quantity;
mod search;
mod sensitivity;
mod series;
mod slowest;
mod summary;
mod sweep;
mod terms;
mod values;
mod verdict;

use crate::fairness::fairness_note;
use crate::index::Index;
use anabranch_results::{Figure, ResultSet};
use document::{document, pictures};
pub use gallery::{CatalogueRow, GalleryEntry, gallery};
pub use league::{LeagueEntry, league};
pub(crate) use markup::escape;
use markup::prose;
pub use provenance::Provenance;
pub(crate) use verdict::paragraphs;

/// The page of a result set, as one HTML file that loads nothing from elsewhere.
pub fn html(set: &ResultSet, provenance: &Provenance) -> String {
    let index = Index::new(set);
    let plots = plots::of(&index);
    let mut body = String::new();
    let chip = if set.live.is_empty() { "" } else { " <span class=\"chip\">real packets</span>" };
    body.push_str(&format!("<header><p class=\"brand\">Anabranch</p><h1>{}{chip}</h1>", escape(&set.title)));
    if let Some(figure) = &set.figure {
        body.push_str(&format!(
            "<p class=\"sub\">{}, {}: {} <span class=\"chip\">scale: {}</span></p>",
            escape(&figure.paper),
            escape(&figure.figure),
            escape(&figure.title),
            escape(&figure.scale),
        ));
        body.push_str(&sizes(figure));
    }
    body.push_str(&provenance::line(set, provenance));
    body.push_str("</header>\n<main>\n");
    body.push_str(&verdict::missing(set));
    if let Some(sentence) = fairness_note(set) {
        body.push_str(&format!("<section><p><strong>{}</strong></p></section>\n", prose(&sentence)));
    }
    body.push_str(&verdict::section(set));
    body.push_str(&live::section(set));
    body.push_str(&warnings(set));
    if let Some(figure) = &set.figure {
        body.push_str(&claims::section(figure));
        body.push_str(&sensitivity::section(figure));
    }
    let (summary, pictures) = (summary::section(set), pictures(&plots, 0));
    // The plots of a search come before the table, because one plot shows all trials that fill many rows of the table.
    let summary = summary + &classes::section(set);
    let [first, second] = if set.answer.is_some() { [pictures, summary] } else { [summary, pictures] };
    body.push_str(&first);
    body.push_str(&second);
    body.push_str(&bandwidth::section(set));
    body.push_str(&slowest::section(&index));
    body.push_str(&fabric::section(set));
    body.push_str(&format!(
        "<section><details><summary>The resolved scenario</summary><pre>{}</pre></details></section>\n</main>\n",
        escape(&set.scenario_toml)
    ));
    document(&set.title, &body, &plots)
}

/// The section of warnings that limit the meaning of the results. It is empty if there are none.
fn warnings(set: &ResultSet) -> String {
    let warnings: String =
        set.all_warnings().iter().map(|warning| format!("<li>{}</li>", prose(warning))).collect();
    match warnings.is_empty() {
        true => warnings,
        false => format!("<section class=\"warnings\"><h2>Warnings</h2><ul>{warnings}</ul></section>\n"),
    }
}

/// The line with the scale and the size of the runs. It is empty if the figure does not state the size.
fn sizes(figure: &Figure) -> String {
    if figure.sizes.is_empty() {
        return String::new();
    }
    let rest = if figure.is_quick() {
        ". The title, the findings and the assumptions are of the paper scale"
    } else {
        ""
    };
    format!("<p class=\"sub\">{} scale: {}{rest}.</p>", escape(&figure.scale), escape(&figure.sizes))
}

#[cfg(test)]
mod tests;
