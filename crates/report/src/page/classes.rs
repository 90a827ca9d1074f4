//! The section of the traffic classes.

use super::markup::{escape, prose};
use crate::table::classes::{TITLE, summary};
use anabranch_results::ResultSet;
use std::fmt::Write as _;

/// The section of the page with a row for each class under each scheme. Empty if there is one class only.
pub(super) fn section(set: &ResultSet) -> String {
    let Some(summary) = summary(set) else { return String::new() };
    let mut html = format!(
        "<section><h2>{TITLE}</h2><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{TITLE}\">\
         <table class=\"numbers\"><thead><tr>"
    );
    for (index, head) in summary.head.iter().enumerate() {
        let word = if index < summary.words { " class=\"word\"" } else { "" };
        let shown = escape(&head.whole_words()).replace('\n', "<br>");
        let _ = write!(html, "<th scope=\"col\"{word}>{shown}</th>");
    }
    html.push_str("</tr></thead><tbody>");
    for (place, row) in summary.rows.iter().enumerate() {
        html.push_str(if summary.point_starts.contains(&place) { "<tr class=\"first\">" } else { "<tr>" });
        for (index, cell) in row.iter().enumerate() {
            let cell = escape(cell);
            html.push_str(&match index {
                0 => format!("<th scope=\"row\">{cell}</th>"),
                _ if index < summary.words => format!("<td class=\"word\">{cell}</td>"),
                _ => format!("<td>{cell}</td>"),
            });
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table></div>");
    for note in &summary.basis {
        let _ = write!(html, "<p class=\"note\">{}</p>", prose(note));
    }
    html + "</section>\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::classes::tests::two_classes;

    #[test]
    fn the_page_has_a_row_for_each_class() {
        let html = section(&two_classes());
        assert!(html.contains("<th scope=\"col\" class=\"word\">class</th>"), "{html}");
        assert!(html.contains("<td class=\"word\">storage</td><td>200.0 µs</td>"), "{html}");
        assert_eq!(section(&ResultSet::default()), "");
    }
}
