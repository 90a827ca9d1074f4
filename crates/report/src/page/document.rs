//! The HTML frame of a page: styles, scripts, and the pictures of plots.

use super::markup::escape;
use super::plot::Plot;
use super::values;
use serde_json::{Value, json};

/// The content security policy: the page loads nothing and sends nothing, because it contains everything that it needs.
/// Plots are saved as images from blobs.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; form-action 'none'";

/// uPlot, which draws the plots' axes and handles scales and zooming; see `assets/uplot/README.md`.
pub(super) const UPLOT: &str = include_str!("../../assets/uplot/uPlot.iife.min.js");
pub(super) const UPLOT_STYLE: &str = include_str!("../../assets/uplot/uPlot.min.css");
pub(super) const UPLOT_LICENCE: &str = include_str!("../../assets/uplot/LICENSE");

pub(super) fn document(title: &str, body: &str, plots: &[Plot]) -> String {
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

/// A section for each plot, with the pictures of one plot next to each other. `before` is the number of pictures on the
/// page before these sections.
pub(super) fn pictures(plots: &[Plot], before: usize) -> String {
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

pub(super) fn picture(plot: &Plot, head: &str, number: usize) -> String {
    let head = if head.is_empty() { String::new() } else { format!("<h3>{}</h3>", escape(head)) };
    format!(
        "<figure>{head}<figcaption class=\"note\">{}</figcaption><div class=\"plot\" id=\"plot-{number}\" data-title=\"{}\"></div>\
         {}</figure>",
        escape(&plot.note),
        escape(&plot.title),
        values::section(plot),
    )
}

/// The data of the plots as JSON. Each `<` is escaped, because the text `</script` would end the script element.
fn data(plots: &[Plot]) -> String {
    let mut plots: Value =
        plots.iter().map(|plot| json!({"data": plot.data, "layout": plot.layout})).collect();
    shorten(&mut plots);
    plots.to_string().replace('<', "\\u003c")
}

/// Rounds floating-point numbers to seven significant digits, so that the page stays small. A plot cannot show more.
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
