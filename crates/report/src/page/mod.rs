//! The report page: one HTML file that opens offline.

mod axes;
mod bands;
mod claims;
mod curves;
mod explain;
mod gallery;
mod league;
mod links;
mod plots;
mod provenance;
mod quantity;
mod search;
mod series;
mod slowest;
mod summary;
mod sweep;
mod terms;
mod unsaid;
mod values;

use crate::ground::ground;
use crate::index::Index;
use anabranch_results::{Figure, ResultSet, SearchAnswer};
pub use gallery::{CatalogueRow, Exhibit, gallery};
pub use league::{Contest, league};
use plots::Plot;
pub use provenance::Provenance;
use serde_json::{Value, json};

/// The page loads nothing and sends nothing: all that it needs is in it. Plots are saved as pictures from blobs.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; form-action 'none'";

/// Axes, scales and zooming of the plots: see `assets/uplot/README.md`.
const UPLOT: &str = include_str!("../../assets/uplot/uPlot.iife.min.js");
const UPLOT_STYLE: &str = include_str!("../../assets/uplot/uPlot.min.css");
const UPLOT_LICENCE: &str = include_str!("../../assets/uplot/LICENSE");

/// The page of a result set: title, provenance, claims, summary, plots, scenario. It loads nothing from elsewhere.
pub fn html(set: &ResultSet, provenance: &Provenance) -> String {
    let index = Index::new(set);
    let plots = plots::of(&index);
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
    body.push_str(&provenance::line(set, provenance));
    body.push_str("</header>\n<main>\n");
    body.push_str(&missing(set));
    if let Some(sentence) = ground(set) {
        body.push_str(&format!("<section><p><strong>{}</strong></p></section>\n", prose(&sentence)));
    }
    body.push_str(&verdict(set));
    body.push_str(&warnings(set));
    if let Some(figure) = &set.figure {
        body.push_str(&claims::section(figure));
        body.push_str(&unsaid::section(figure));
    }
    let (summary, pictures) = (summary::section(set), pictures(&plots, 0));
    // The trials of a search are many rows, which one plot shows as well.
    let [first, second] = if set.answer.is_some() { [pictures, summary] } else { [summary, pictures] };
    body.push_str(&first);
    body.push_str(&second);
    body.push_str(&slowest::section(&index));
    body.push_str(&format!(
        "<section><details><summary>The resolved scenario</summary><pre>{}</pre></details></section>\n</main>\n",
        escape(&set.scenario_toml)
    ));
    document(&set.title, &body, &plots)
}

/// A self-contained page.
fn document(title: &str, body: &str, plots: &[Plot]) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n<title>{}</title>\n<style>\n{UPLOT_STYLE}\n{}</style>\n</head>\n\
         <body>\n{body}<script type=\"application/json\" id=\"plots\">{}</script>\n<script>\n/*\n{UPLOT_LICENCE}*/\n\
         {UPLOT}</script>\n<script>\n{}</script>\n<script>\n{}</script>\n</body>\n</html>\n",
        escape(title),
        include_str!("style.css"),
        data(plots),
        include_str!("draw.js"),
        include_str!("page.js"),
    )
}

/// The section of warnings that limit the meaning of the results; empty when there are none.
fn warnings(set: &ResultSet) -> String {
    let warnings: String =
        set.all_warnings().iter().map(|warning| format!("<li>{}</li>", prose(warning))).collect();
    match warnings.is_empty() {
        true => warnings,
        false => format!("<section class=\"warnings\"><h2>Warnings</h2><ul>{warnings}</ul></section>\n"),
    }
}

/// The size of the runs, which is less than the title says when the scale is not the paper's.
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

/// A section per plot; the pictures of one plot are side by side. On the page there are `before` others.
fn pictures(plots: &[Plot], before: usize) -> String {
    let mut html = String::new();
    let mut number = before;
    for family in plots.chunk_by(|a, b| a.whole == b.whole && !a.part.is_empty()) {
        let title = if family.len() > 1 { &family[0].whole } else { &family[0].title };
        html.push_str(&format!("<section><h2>{}</h2>", escape(title)));
        if family.len() > 1 {
            html.push_str("<div class=\"multiples\">");
        }
        for plot in family {
            html.push_str(&picture(plot, if family.len() > 1 { &plot.part } else { "" }, number));
            number += 1;
        }
        html.push_str(if family.len() > 1 { "</div></section>\n" } else { "</section>\n" });
    }
    html
}

/// A plot below its head, where it has one.
fn picture(plot: &Plot, head: &str, number: usize) -> String {
    let head = if head.is_empty() { String::new() } else { format!("<h3>{}</h3>", escape(head)) };
    format!(
        "<figure>{head}<figcaption class=\"note\">{}</figcaption><div class=\"plot\" id=\"plot-{number}\" data-title=\"{}\"></div>\
         {}</figure>",
        escape(&plot.note),
        escape(&plot.title),
        values::section(plot),
    )
}

/// Only `<` could end a script element.
fn data(plots: &[Plot]) -> String {
    let mut plots: Value =
        plots.iter().map(|plot| json!({"data": plot.data, "layout": plot.layout})).collect();
    shorten(&mut plots);
    plots.to_string().replace('<', "\\u003c")
}

/// Rounds numbers to the seven digits that a plot can show, so that the page is small.
fn shorten(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            let short: f64 =
                number.as_f64().and_then(|number| format!("{number:.6e}").parse().ok()).unwrap_or(0.0);
            *value =
                if short.fract() == 0.0 && short.abs() < 1e15 { (short as i64).into() } else { short.into() };
        }
        Value::Array(values) => values.iter_mut().for_each(shorten),
        Value::Object(values) => values.values_mut().for_each(shorten),
        _ => {}
    }
}

/// The runs that failed or never ran: above everything else, as the rest looks complete.
fn missing(set: &ResultSet) -> String {
    if set.missing.is_empty() {
        return String::new();
    }
    let mut html = String::from(
        "<section class=\"alarm\"><h2>These results are not whole</h2><p>Failed or never ran:</p><ul>",
    );
    // Runs whose errors differ only in numbers share a line.
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for run in &set.missing {
        let why = run.error.as_deref().unwrap_or("never ran to its end, as the program was interrupted");
        let (cause, ..) = told(why);
        match reasons.iter_mut().find(|(other, _)| without_numbers(told(other).0) == without_numbers(cause)) {
            Some((_, runs)) => runs.push(run.describe()),
            None => reasons.push((why, vec![run.describe()])),
        }
    }
    for (why, runs) in reasons {
        let (cause, flows, help) = told(why);
        let first = if runs.len() > 1 { " (numbers of the first of them)" } else { "" };
        html.push_str(&format!("<li><b>{}</b>{first}: {}", escape(&runs.join("; ")), prose(cause)));
        for line in help.lines() {
            html.push_str(&format!("<p>{}</p>", prose(line.trim())));
        }
        if !flows.is_empty() {
            html.push_str(&format!(
                "<details><summary>Some of the flows</summary>{}</details>",
                prose(flows)
            ));
        }
        html.push_str("</li>");
    }
    html.push_str("</ul></section>\n");
    html
}

/// The parts of an error of a run: the cause, the flows that it names, and the lines of help.
fn told(why: &str) -> (&str, &str, &str) {
    let (first, help) = why.split_once('\n').unwrap_or((why, ""));
    match first.find(": flow ") {
        Some(place) => (&first[..place], &first[place + 2..], help),
        None => (first, "", help),
    }
}

fn without_numbers(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_ascii_digit() && *letter != '.').collect()
}

/// The answer in sentences. For a figure it is the table of claims; for a search, whose runs are trials, its question
/// and answer.
fn verdict(set: &ResultSet) -> String {
    if let Some(answer) = &set.answer {
        return answered(answer);
    }
    let sentences = crate::verdict::answer(set);
    if sentences.is_empty() {
        return String::new();
    }
    let sentences: String = sentences.iter().map(|sentence| format!("<p>{}</p>", prose(sentence))).collect();
    let method = prose(&crate::verdict::method(set));
    format!("<section class=\"verdict\">{sentences}<p class=\"note\">{method}</p></section>\n")
}

fn answered(answer: &SearchAnswer) -> String {
    let mut html = format!(
        "<section class=\"verdict\"><p>{}</p><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Answer\"><table class=\"numbers answer\">",
        escape(&answer.question)
    );
    for (number, row) in answer.table.iter().enumerate() {
        let cell = |(position, cell): (usize, &String)| match (number, position) {
            (0, 0) => format!("<th scope=\"col\" class=\"word\">{}</th>", escape(cell)),
            (0, _) => format!("<th scope=\"col\">{}</th>", escape(cell)),
            (_, 0) => format!("<th scope=\"row\">{}</th>", escape(cell)),
            _ => format!("<td>{}</td>", escape(cell)),
        };
        let cells: String = row.iter().enumerate().map(cell).collect();
        html.push_str(&match number {
            0 => format!("<thead><tr>{cells}</tr></thead><tbody>"),
            _ => format!("<tr>{cells}</tr>"),
        });
    }
    html.push_str("</tbody></table></div>");
    for note in &answer.notes {
        html.push_str(&format!("<p class=\"note\">{}</p>", prose(note)));
    }
    html.push_str("</section>\n");
    html
}

/// Prose as HTML: text between backticks is code.
pub(crate) fn prose(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    // A backtick without its pair is a backtick.
    if parts.len().is_multiple_of(2) {
        return escape(text);
    }
    let part = |(position, part): (usize, &&str)| match position % 2 {
        0 => escape(part),
        _ => format!("<code>{}</code>", escape(part)),
    };
    parts.iter().enumerate().map(part).collect()
}

/// Text escaped for elements and for quoted attributes.
pub(crate) fn escape(text: &str) -> String {
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
