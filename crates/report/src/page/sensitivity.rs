//! The section of a figure's page about varied assumptions.

use super::markup::{escape, prose};
use crate::sensitivity::{HEAD, best, introduction, rows};
use anabranch_results::{Figure, Sensitivity};

/// The settings that the paper leaves unspecified, the range of each claim's number over the setups, and every setup
/// with the number of claims that hold. The section is empty if no setups were run.
pub(super) fn section(figure: &Figure) -> String {
    let Some(unsaid) = &figure.unsaid else { return String::new() };
    format!(
        "<section><h2>What the paper leaves unsaid</h2><p class=\"note\">{}</p>{}{}<p>{}</p>{}</section>\n",
        prose(&introduction(figure, unsaid)),
        entries(unsaid),
        claims(figure, unsaid),
        escape(&best(unsaid)),
        setups(unsaid),
    )
}

fn entries(unsaid: &Sensitivity) -> String {
    let entry = unsaid.entries.iter().map(|entry| {
        let values = match entry.varied {
            true => entry.values.join(" | "),
            false => "not varied at this scale, which has values of its own".to_owned(),
        };
        format!(
            "<dt>{} <code>{}</code></dt><dd>{}<p class=\"note\">{}</p></dd>",
            escape(&entry.what),
            escape(&entry.parameters.join(", ")),
            escape(&values),
            prose(&entry.because),
        )
    });
    format!("<dl>{}</dl>", entry.collect::<String>())
}

/// The table of claims. On a narrow screen, each row is shown as a card whose cells repeat their column headings
/// (`style.css`).
fn claims(figure: &Figure, unsaid: &Sensitivity) -> String {
    let rows = rows(figure, unsaid).into_iter().map(|row| {
        let cells = [&row.says, &row.kind, &row.paper, &row.default, &row.span, &row.holds];
        table_row(&HEAD, &cells.map(String::as_str))
    });
    table(&HEAD, &rows.collect::<String>())
}

fn setups(unsaid: &Sensitivity) -> String {
    let head = ["set-up", "claims that hold", "runs that failed"];
    let rows = unsaid.setups.iter().map(|setup| {
        let cells = [
            unsaid.name(setup),
            format!("{} of {}", setup.holds(), setup.claims.len()),
            setup.failed_runs.to_string(),
        ];
        table_row(&head, &cells.each_ref().map(String::as_str))
    });
    let table = table(&head, &rows.collect::<String>());
    format!("<details class=\"note\"><summary>All {} set-ups</summary>{table}</details>", unsaid.setups.len())
}

fn table(head: &[&str], rows: &str) -> String {
    let head: String = head.iter().map(|head| format!("<th scope=\"col\">{head}</th>")).collect();
    format!("<table class=\"cards\"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>")
}

fn table_row(head: &[&str], cells: &[&str]) -> String {
    let cell = |(head, cell): (&&str, &&str)| format!("<td data-head=\"{head}\">{}</td>", escape(cell));
    format!("<tr>{}</tr>", head.iter().zip(cells).map(cell).collect::<String>())
}
