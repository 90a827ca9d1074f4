//! The index of figures that were reproduced together, with every figure and table of their papers and every claim.

use super::claims::class;
use super::document::document;
use super::markup::{escape, prose};
use crate::claims_table::{measured_and_outcome, paper as paper_says};
use crate::sensitivity::rows;
use anabranch_results::{ClaimResult, Figure, Outcome};

/// A figure that was run.
pub struct GalleryEntry {
    /// The figure with its claims.
    pub figure: Figure,
    /// The link to the figure's page, or none if nothing was written.
    pub page: Option<String>,
}

/// A figure or table of a paper, and the figures of this project that reproduce it.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CatalogueRow {
    /// The paper's name in commands.
    pub paper: String,
    /// The name of the figure or table in the paper.
    pub item: String,
    /// The content of the figure or table, in our words.
    pub shows: String,
    /// The ids of this project's figures that reproduce this figure or table.
    #[serde(default)]
    pub figures: Vec<String>,
    /// The reason why no figure of this project reproduces this figure or table.
    pub why: Option<String>,
}

/// The page. It contains the counts for each paper, all rows of the catalogue for the papers that occur in `entries`,
/// and all claims. `heading` states the scale and the program.
pub fn gallery(heading: &str, entries: &[GalleryEntry], catalogue: &[CatalogueRow]) -> String {
    let mut papers: Vec<&str> = Vec::new();
    for entry in entries {
        if !papers.contains(&entry.figure.paper.as_str()) {
            papers.push(&entry.figure.paper);
        }
    }
    let mut body = format!(
        "<header><p class=\"brand\">Anabranch</p><h1>Figures of {}, reproduced</h1><p class=\"sub\">{}</p></header>\n<main>\n{}",
        match papers.as_slice() {
            [paper] => escape(paper),
            _ => format!("{} papers", papers.len()),
        },
        escape(heading),
        counts(&papers, entries),
    );
    for paper in &papers {
        body.push_str(&rows_of(paper, entries, catalogue));
    }
    body.push_str(&claims(entries));
    body.push_str("</main>\n");
    document("Anabranch: figures reproduced", &body, &[])
}

fn counts(papers: &[&str], entries: &[GalleryEntry]) -> String {
    let judged = entries.iter().all(|entry| entry.figure.is_judged());
    let mut html = String::from(
        "<section><h2>Claims by paper</h2><table class=\"cards\"><thead><tr><th scope=\"col\">paper</th>\
         <th scope=\"col\">figures run</th><th scope=\"col\">claims</th><th scope=\"col\">hold</th><th scope=\"col\">direction only</th>\
         <th scope=\"col\">differ</th><th scope=\"col\">not evaluated</th></tr></thead><tbody>",
    );
    for paper in papers {
        let figures: Vec<&Figure> =
            entries.iter().map(|entry| &entry.figure).filter(|figure| figure.paper == *paper).collect();
        let claims = || figures.iter().flat_map(|figure| &figure.claims);
        let count = |is_of_paper: Outcome| {
            let is = claims().filter(
                |claim| matches!(claim.result, ClaimResult::Evaluated { outcome, .. } if outcome == is_of_paper),
            );
            if judged { is.count().to_string() } else { "-".to_owned() }
        };
        let failed = claims().filter(|claim| matches!(claim.result, ClaimResult::Failed { .. })).count();
        html.push_str(&format!(
            "<tr><td data-head=\"paper\"><b>{}</b></td><td data-head=\"figures run\">{}</td><td data-head=\"claims\">{}</td>\
             <td data-head=\"hold\">{}</td><td data-head=\"direction only\">{}</td><td data-head=\"differ\">{}</td>\
             <td data-head=\"not evaluated\">{failed}</td></tr>",
            escape(paper),
            figures.len(),
            claims().count(),
            count(Outcome::Holds),
            count(Outcome::DirectionOnly),
            count(Outcome::Differs),
        ));
    }
    html.push_str("</tbody></table>");
    if !judged {
        html.push_str("<p class=\"note\">The quick scale shows what is measured and judges nothing.</p>");
    }
    html + "</section>\n"
}

fn rows_of(paper: &str, entries: &[GalleryEntry], catalogue: &[CatalogueRow]) -> String {
    let mut html = format!(
        "<section><h2>{0}</h2><table class=\"cards\"><caption>Every figure and table of the paper</caption><thead><tr>\
         <th scope=\"col\">in the paper</th><th scope=\"col\">shows</th><th scope=\"col\">here</th></tr></thead><tbody>",
        escape(paper)
    );
    for row in catalogue.iter().filter(|row| row.paper == paper) {
        let each: Vec<String> = row.figures.iter().map(|id| here(id, entries)).collect();
        let here = match &row.why {
            Some(why) => format!("<span class=\"none\">{}</span>", prose(why)),
            None => each.join("<br>"),
        };
        html.push_str(&format!(
            "<tr><td data-head=\"in the paper\">{}</td><td data-head=\"shows\">{}</td><td data-head=\"here\"><span>{here}</span></td></tr>",
            escape(&row.item),
            prose(&row.shows)
        ));
    }
    html + "</tbody></table></section>\n"
}

/// The link to a figure's page, and a coloured label for each outcome with the number of claims that have it.
fn here(id: &str, entries: &[GalleryEntry]) -> String {
    let Some(entry) = entries.iter().find(|entry| entry.figure.id == id) else {
        return format!("<code>{}</code> <span class=\"none\">not run this time</span>", escape(id));
    };
    let name = match &entry.page {
        Some(page) => format!("<a href=\"{}\">{}</a>", escape(page), escape(id)),
        None => format!("{} <span class=\"bad\">nothing was written</span>", escape(id)),
    };
    let claims = &entry.figure.claims;
    if claims.is_empty() || !entry.figure.is_judged() {
        let many = if claims.len() == 1 { "" } else { "s" };
        return format!("{name} <span class=\"none\">{} claim{many} shown</span>", claims.len());
    }
    let chip = |is_of_paper: Outcome, text: &str| {
        let is = claims.iter().filter(
            |claim| matches!(claim.result, ClaimResult::Evaluated { outcome, .. } if outcome == is_of_paper),
        );
        match is.count() {
            0 => String::new(),
            count => format!(" <span class=\"chip {}\">{count} {text}</span>", class(is_of_paper)),
        }
    };
    let failed = claims.iter().filter(|claim| matches!(claim.result, ClaimResult::Failed { .. })).count();
    let failed = if failed == 0 {
        String::new()
    } else {
        format!(" <span class=\"chip bad\">{failed} not evaluated</span>")
    };
    let [holds, direction, differs] =
        [(Outcome::Holds, "hold"), (Outcome::DirectionOnly, "direction only"), (Outcome::Differs, "differ")]
            .map(|(outcome, text)| chip(outcome, text));
    format!("{name}{holds}{direction}{differs}{failed}")
}

/// All claims in one table. If assumptions were varied, the table also has the range of the measured numbers.
fn claims(entries: &[GalleryEntry]) -> String {
    let varied = entries.iter().any(|entry| entry.figure.unsaid.is_some());
    let span_heads =
        if varied { "<th scope=\"col\">span</th><th scope=\"col\">holds under</th>" } else { "" };
    let mut html = format!(
        "<section><h2>All claims</h2><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"All claims\"><table class=\"claims cards\">\
         <thead><tr><th scope=\"col\">figure</th><th scope=\"col\">claim</th><th scope=\"col\">paper</th><th scope=\"col\">measured</th>\
         <th scope=\"col\">outcome</th>{span_heads}</tr></thead><tbody>"
    );
    for entry in entries {
        let figure = &entry.figure;
        let spans = figure.unsaid.as_ref().map(|unsaid| rows(figure, unsaid));
        for (index, claim) in figure.claims.iter().enumerate() {
            let (measured, outcome) = measured_and_outcome(figure, claim);
            let class = match &claim.result {
                ClaimResult::Evaluated { outcome, .. } if figure.is_judged() => class(*outcome),
                _ => "none",
            };
            let span = match spans.as_ref().and_then(|spans| spans.get(index)) {
                Some(row) => format!(
                    "<td data-head=\"span\">{}</td><td data-head=\"holds under\">{}</td>",
                    escape(&row.span),
                    escape(&row.holds)
                ),
                None if varied => {
                    "<td data-head=\"span\">not varied</td><td data-head=\"holds under\"></td>".to_owned()
                }
                None => String::new(),
            };
            html.push_str(&format!(
                "<tr><td data-head=\"figure\">{}</td><td class=\"says\">{}</td><td data-head=\"paper\">{}</td><td data-head=\"measured\">{}</td>\
                 <td data-head=\"outcome\"><span class=\"chip {class}\">{outcome}</span></td>{span}</tr>",
                escape(&figure.id),
                prose(&claim.says),
                escape(&paper_says(claim)),
                escape(&measured),
            ));
        }
    }
    html + "</tbody></table></div></section>\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::figure as sample;

    #[test]
    fn every_row_of_the_catalogue_is_there_and_says_why_there_is_nothing() {
        let figure = sample("paper");
        let row = |item: &str, figures: &[&str], why: Option<&str>| CatalogueRow {
            paper: figure.paper.clone(),
            item: item.into(),
            shows: "queues & drops".into(),
            figures: figures.iter().map(|id| (*id).to_owned()).collect(),
            why: why.map(str::to_owned),
        };
        let catalogue =
            [row("Figure 1", &[], Some("a drawing")), row("Figure 2", &[&figure.id, "other/figure-9"], None)];
        let claims = figure.claims.len();
        let entries = [GalleryEntry { figure, page: Some("a/report.html".into()) }];
        let page = gallery("quick scale", &entries, &catalogue);
        for text in ["a drawing", "queues &amp; drops", "href=\"a/report.html\"", "not run this time"] {
            assert!(page.contains(text), "{text}");
        }
        assert_eq!(page.matches("class=\"says\"").count(), claims);
    }
}
