//! The table of all schemes on the page.

use super::markup::{escape, prose};
use super::terms;
use crate::ranking::ranked_quantity;
use crate::table;
use anabranch_results::ResultSet;

/// The table and, below it, the notes that a reader needs. The table shows the most important columns, and the other
/// columns on demand. The table can be sorted and saved (`page.js`).
pub(super) fn section(set: &ResultSet) -> String {
    let mut summary = table::summary(set);
    summary.remove(table::WALL);
    let ranked_by = ranked_quantity(set);
    let is_spare: Vec<bool> =
        summary.head.iter().map(|head| table::is_hidden(&head.name, ranked_by)).collect();
    // On a narrow screen, the columns of counts are hidden in favour of the ranked quantity.
    let is_count = |index: usize| ["flows", "jobs"].contains(&summary.head[index].name.trim());
    let kept = |index: usize| match (is_spare[index], is_count(index)) {
        (true, _) => "spare",
        (false, true) => "count",
        (false, false) => "",
    };
    let mut html = String::from("<section><h2>Summary</h2><p class=\"tools\">");
    if is_spare.contains(&true) {
        html.push_str("<label><input type=\"checkbox\" id=\"all-columns\"> All columns</label> ");
    }
    html.push_str(
        "<button type=\"button\" id=\"save-csv\">Save as CSV</button></p><p class=\"note\">A click on a column's head \
         sorts, one on a scheme's name shows it in the plots.</p><div class=\"scroll\" tabindex=\"0\" role=\"region\" \
         aria-label=\"Summary\"><table class=\"numbers\" \
         id=\"summary\" aria-label=\"Schemes, with what their runs came to\"><thead><tr>",
    );
    for (index, head) in summary.head.iter().enumerate() {
        let shown = escape(&head.whole_words()).replace('\n', "<br>");
        let word = if index < summary.words { " word" } else { "" };
        html.push_str(&format!(
            "<th scope=\"col\" class=\"{}\"><button type=\"button\">{shown}</button></th>",
            format!("{word} {}", kept(index)).trim()
        ));
    }
    html.push_str("</tr></thead><tbody>");
    for (place, row) in summary.rows.iter().enumerate() {
        html.push_str(if summary.point_starts.contains(&place) { "<tr class=\"first\">" } else { "<tr>" });
        for (index, cell) in row.iter().enumerate() {
            let cell = escape(cell);
            html.push_str(&match index {
                0 => format!("<th scope=\"row\"><button type=\"button\">{cell}</button></th>"),
                _ if index < summary.words => format!("<th class=\"point\">{cell}</th>"),
                _ if kept(index).is_empty() => format!("<td>{cell}</td>"),
                _ => format!("<td class=\"{}\">{cell}</td>", kept(index)),
            });
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table></div>");
    for note in summary.basis.iter().chain(&summary.notes) {
        html.push_str(&format!("<p class=\"note\">{}</p>", prose(note)));
    }
    let words = terms::section(&html);
    html.push_str(&words);
    html.push_str("</section>\n");
    html
}
