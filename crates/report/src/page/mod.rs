//! The report page: one HTML file that opens offline.

mod claims;
mod curves;
mod plots;
mod series;
mod summary;
mod unsaid;

use crate::ground::ground;
use anabranch_results::{Answered, Figure, ResultSet};
use plots::Plot;
use serde_json::json;

/// Nothing is loaded from anywhere, nor sent: what the page needs stands in it. Plots are saved as pictures from blobs.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; form-action 'none'";

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
    body.push_str(&missing(set));
    if let Some(sentence) = ground(set) {
        body.push_str(&format!("<section><p><strong>{}</strong></p></section>\n", escape(&sentence)));
    }
    body.push_str(&verdict(set));
    body.push_str(&warnings(set));
    if let Some(figure) = &set.figure {
        body.push_str(&claims::section(figure));
        body.push_str(&unsaid::section(figure));
    }
    body.push_str(&summary::section(set));
    for (number, plot) in plots.iter().enumerate() {
        body.push_str(&format!(
            "<section><h2>{title}</h2><p class=\"note\">{note}</p><div class=\"plot\" id=\"plot-{number}\" \
             role=\"img\" aria-label=\"{title}. {note} The numbers are in the table above and in the files beside this \
             page.\" style=\"height:{}px\"></div></section>\n",
            plot.height,
            title = escape(&plot.title),
            note = escape(&plot.note),
        ));
    }
    body.push_str(&format!(
        "<section><details><summary>The resolved scenario</summary><pre>{}</pre></details></section>\n</main>\n",
        escape(&set.scenario_toml)
    ));
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n<title>{}</title>\n<style>\n{}</style>\n</head>\n\
         <body>\n{body}{}\n<script type=\"application/json\" id=\"plots\">{}</script>\n<script>\n{}</script>\n\
         </body>\n</html>\n",
        escape(&set.title),
        include_str!("style.css"),
        plotly_script(),
        data(&plots),
        include_str!("page.js"),
    )
}

/// What makes the results say less than they seem to; nothing when there is nothing.
fn warnings(set: &ResultSet) -> String {
    let warnings: String =
        set.all_warnings().iter().map(|warning| format!("<li>{}</li>", escape(warning))).collect();
    match warnings.is_empty() {
        true => warnings,
        false => format!("<section class=\"warnings\"><h2>Warnings</h2><ul>{warnings}</ul></section>\n"),
    }
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

/// Which runs there should be that failed or never ran: above everything else, as the rest looks whole.
fn missing(set: &ResultSet) -> String {
    if set.missing.is_empty() {
        return String::new();
    }
    let mut html = String::from(
        "<section class=\"alarm\"><h2>These results are not whole</h2><p>Failed or never ran:</p><ul>",
    );
    for run in &set.missing {
        let why = run.error.as_deref().unwrap_or("never ran to its end, as the program was interrupted");
        html.push_str(&format!("<li><b>{}</b>: {}</li>", escape(&run.describe()), escape(why)));
    }
    html.push_str("</ul></section>\n");
    html
}

/// The answer in sentences. Of a figure it is the claims' table; of a question about a parameter, of which the runs are
/// what was tried, that question and what was found.
fn verdict(set: &ResultSet) -> String {
    if let Some(answer) = &set.answer {
        return answered(answer);
    }
    let sentences = crate::verdict::answer(set);
    if sentences.is_empty() {
        return String::new();
    }
    let sentences: String = sentences.iter().map(|sentence| format!("<p>{}</p>", escape(sentence))).collect();
    let method = escape(&crate::verdict::method(set));
    format!("<section class=\"verdict\">{sentences}<p class=\"note\">{method}</p></section>\n")
}

fn answered(answer: &Answered) -> String {
    let mut html = format!(
        "<section class=\"verdict\"><p>{}</p><div class=\"scroll\"><table class=\"numbers\">",
        escape(&answer.question)
    );
    for (number, row) in answer.table.iter().enumerate() {
        let cell = |(place, cell): (usize, &String)| match (number, place) {
            (0, 0) => format!("<th class=\"word\">{}</th>", escape(cell)),
            (0, _) | (_, 0) => format!("<th>{}</th>", escape(cell)),
            _ => format!("<td>{}</td>", escape(cell)),
        };
        let cells: String = row.iter().enumerate().map(cell).collect();
        html.push_str(&format!("<tr>{cells}</tr>"));
    }
    html.push_str("</table></div>");
    for note in &answer.notes {
        html.push_str(&format!("<p class=\"note\">{}</p>", escape(note)));
    }
    html.push_str("</section>\n");
    html
}

/// Text as HTML shows it, in elements and in quoted attributes.
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
