//! The section of the bandwidths of a collective, as nccl-tests prints them.

use super::markup::escape;
use crate::bandwidth::{CAVEAT, CHOSEN, Line, TITLES, tables};
use anabranch_results::ResultSet;
use std::fmt::Write as _;

/// The section of the page with the tables. Empty if there are no tables.
pub(super) fn section(set: &ResultSet) -> String {
    let tables = tables(set);
    if tables.is_empty() {
        return String::new();
    }
    let mut html = "<section><h2>Bandwidths</h2>".to_owned();
    for table in &tables {
        let name = escape(&table.name);
        let titles: String = TITLES.iter().map(|title| format!("<th scope=\"col\">{title}</th>")).collect();
        let chosen = match table.chooses() {
            true => format!("<th scope=\"col\" class=\"word\">{CHOSEN}</th>"),
            false => String::new(),
        };
        let _ = write!(
            html,
            "<h3>{name}, {} ranks</h3><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Bandwidths of {name}\">\
             <table class=\"numbers\"><thead><tr>{titles}{chosen}</tr></thead><tbody>",
            table.ranks
        );
        for Line { bytes, means: [time, algbw, busbw], chosen } in &table.lines {
            let chosen = match (table.chooses(), chosen) {
                (true, chosen) => {
                    format!("<td class=\"word\">{}</td>", escape(chosen.as_deref().unwrap_or("-")))
                }
                (false, _) => String::new(),
            };
            let _ = write!(
                html,
                "<tr><th scope=\"row\">{bytes}</th><td>{time:.2}</td><td>{algbw:.2}</td><td>{busbw:.2}</td>{chosen}</tr>"
            );
        }
        html.push_str("</tbody></table></div>");
        if let Some(note) = table.note() {
            let _ = write!(html, "<p class=\"note\">{}</p>", escape(&note));
        }
    }
    html + &format!("<p class=\"note\">{}</p></section>\n", CAVEAT.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bandwidth::tests::sizes;

    #[test]
    fn the_page_has_the_table_and_the_caveat() {
        let mut set = sizes(1);
        set.jobs[1].algorithm = "allreduce-nccl: allreduce-ring, LL".to_owned();
        let html = section(&set);
        assert!(html.contains("<h3>reps, 16 ranks</h3>"), "{html}");
        assert!(html.contains("<tr><th scope=\"row\">1048576</th><td>1000.00</td><td>1.05</td>"), "{html}");
        assert!(
            html.contains("<td class=\"word\">allreduce-ring, LL</td>") && html.contains(">-</td>"),
            "{html}"
        );
        assert!(html.contains("<p class=\"note\">GPU kernels, their launch latencies and"), "{html}");
        assert_eq!(section(&ResultSet::default()), "");
    }
}
