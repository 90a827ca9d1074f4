//! The report page: one HTML file that opens offline.

mod curves;
mod plots;
mod series;

use crate::table::{self, explanations, measured_and_outcome, paper};
use anabranch_results::{ClaimResult, ClaimRow, Figure, Outcome, ResultSet};
use plots::Plot;
use serde_json::json;

/// The page of a result set: title, claims, summary, plots, scenario. Loads nothing from anywhere.
pub fn html(set: &ResultSet) -> String {
    let plots = plots::of(set);
    let mut body = String::new();
    body.push_str(&format!("<header><p class=\"brand\">Anabranch</p><h1>{}</h1>", escape(&set.title)));
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
    body.push_str("</header>\n<main>\n");
    if let Some(figure) = &set.figure {
        body.push_str(&claims(figure));
    }
    body.push_str(&summary(set));
    for (number, plot) in plots.iter().enumerate() {
        body.push_str(&format!(
            "<section><h2>{}</h2><p class=\"note\">{}</p><div class=\"plot\" id=\"plot-{number}\" \
             style=\"height:{}px\"></div></section>\n",
            escape(&plot.title),
            escape(&plot.note),
            plot.height,
        ));
    }
    body.push_str(&format!(
        "<section><details><summary>The resolved scenario</summary><pre>{}</pre></details></section>\n</main>\n",
        escape(&set.scenario_toml)
    ));
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n<style>\n{}</style>\n</head>\n\
         <body>\n{body}{}\n<script type=\"application/json\" id=\"plots\">{}</script>\n<script>\n{}</script>\n\
         </body>\n</html>\n",
        escape(&set.title),
        include_str!("style.css"),
        plotly_script(),
        data(&plots),
        include_str!("page.js"),
    )
}

/// What was run, which is less than the title says when the scale is not the paper's.
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

/// Of the scripts that the plotly crate bundles the first alone: the second typesets formulas.
fn plotly_script() -> String {
    let all = plotly::Plot::offline_js_sources();
    const END: &str = "</script>";
    all.find(END).map_or_else(String::new, |end| all[..end + END.len()].to_owned())
}

/// Inside a script element only `<` could end it.
fn data(plots: &[Plot]) -> String {
    let plots: Vec<_> = plots.iter().map(|plot| json!({"data": plot.data, "layout": plot.layout})).collect();
    serde_json::Value::from(plots).to_string().replace('<', "\\u003c")
}

fn summary(set: &ResultSet) -> String {
    let mut summary = table::summary(set);
    summary.remove(table::WALL);
    let mut html =
        String::from("<section><h2>Summary</h2><div class=\"scroll\"><table class=\"numbers\"><thead><tr>");
    for (place, head) in summary.head.iter().enumerate() {
        let head = escape(head.trim()).replace("-\n", "-<wbr>").replace('\n', "<br>");
        let class = if place < summary.words { " class=\"word\"" } else { "" };
        html.push_str(&format!("<th{class}>{head}</th>"));
    }
    html.push_str("</tr></thead><tbody>");
    for row in &summary.rows {
        html.push_str("<tr>");
        for (place, cell) in row.iter().enumerate() {
            let (open, close) = match place {
                0 => ("<th>", "</th>"),
                _ if place < summary.words => ("<th class=\"point\">", "</th>"),
                _ => ("<td>", "</td>"),
            };
            html.push_str(&format!("{open}{}{close}", escape(cell)));
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table></div>");
    for note in &summary.notes {
        html.push_str(&format!("<p class=\"note\">{}</p>", escape(note)));
    }
    html.push_str("</section>\n");
    html
}

fn claims(figure: &Figure) -> String {
    let mut html = String::new();
    if !figure.claims.is_empty() {
        html.push_str(
            "<section><h2>What the paper says, and what was measured</h2><div class=\"scroll\"><table class=\"claims\">\
             <thead><tr><th>claim</th><th>kind</th><th>paper</th><th>measured</th><th>outcome</th></tr></thead><tbody>",
        );
    }
    for claim in &figure.claims {
        let (measured, outcome) = measured_and_outcome(claim);
        let class = match &claim.result {
            ClaimResult::Evaluated { outcome: Outcome::Holds, .. } => "good",
            ClaimResult::Evaluated { outcome: Outcome::DirectionOnly, .. } => "fair",
            ClaimResult::Evaluated { outcome: Outcome::Differs, .. } => "bad",
            ClaimResult::Failed { .. } => "none",
        };
        let why: String =
            explanations(figure, claim).map(|why| format!("<p class=\"why\">{}</p>", escape(&why))).collect();
        html.push_str(&format!(
            "<tr><td>{}{}{why}</td><td>{}</td><td class=\"big\">{}</td>\
             <td class=\"big\">{}</td><td><span class=\"chip {class}\">{outcome}</span></td></tr>",
            escape(&claim.says),
            source_and_measure(claim),
            claim.kind,
            escape(&paper(claim)),
            escape(&measured),
        ));
    }
    if !figure.claims.is_empty() {
        html.push_str("</tbody></table></div></section>\n");
    }
    if !figure.assumptions.is_empty() {
        let scale = if figure.is_quick() { " They are those of the paper scale." } else { "" };
        html.push_str(&format!(
            "<section><h2>Assumptions</h2><p class=\"note\">What the paper does not say.{scale}</p><ul>"
        ));
        for assumption in &figure.assumptions {
            html.push_str(&format!("<li>{}</li>", escape(assumption)));
        }
        html.push_str("</ul></section>\n");
    }
    html
}

/// Where a claim stands and how it is computed; a long formula is folded away.
fn source_and_measure(claim: &ClaimRow) -> String {
    const LONGEST_SHOWN: usize = 100;
    let (source, measure) = (escape(&claim.source), escape(&claim.measure));
    if claim.measure.chars().count() <= LONGEST_SHOWN {
        return format!("<p class=\"note\">{source} · <code>{measure}</code></p>");
    }
    format!(
        "<div class=\"note\">{source} <details><summary>formula</summary><code>{measure}</code></details></div>"
    )
}

/// Text as HTML shows it, in elements and in quoted attributes.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests;
