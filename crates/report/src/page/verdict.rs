//! The answer at the top of a page, and before it the runs that are missing.

use super::markup::{escape, prose};
use crate::verdict::{Verdict, answer, method, rank_rule};
use anabranch_results::{ResultSet, RunFailure, SearchAnswer};

/// The runs that failed or never ran. This section comes first, because the rest of the page looks complete.
pub(super) fn missing(set: &ResultSet) -> String {
    if set.missing.is_empty() {
        return String::new();
    }
    let mut html = String::from(
        "<section class=\"alarm\"><h2>These results are not whole</h2><p>Failed or never ran:</p><ul>",
    );
    let mut causes: Vec<(Option<&RunFailure>, Vec<String>)> = Vec::new();
    for run in &set.missing {
        let is_like = |other: &Option<&RunFailure>| match (other, &run.cause) {
            (Some(other), Some(cause)) => other.is_like(cause),
            (other, cause) => other.is_none() && cause.is_none(),
        };
        match causes.iter_mut().find(|(other, _)| is_like(other)) {
            Some((_, runs)) => runs.push(run.describe()),
            None => causes.push((run.cause.as_ref(), vec![run.describe()])),
        }
    }
    for (cause, runs) in causes {
        let first = if runs.len() > 1 { " (numbers of the first of them)" } else { "" };
        let summary = cause.map_or_else(
            || "never ran to its end, as the program was interrupted".to_owned(),
            RunFailure::summary,
        );
        html.push_str(&format!("<li><b>{}</b>{first}: {}", escape(&runs.join("; ")), prose(&summary)));
        for line in cause.map(RunFailure::help).unwrap_or_default() {
            html.push_str(&format!("<p>help: {}</p>", prose(line)));
        }
        if let Some(flows) = cause.and_then(RunFailure::flows) {
            html.push_str(&format!(
                "<details><summary>Some of the flows</summary>{}</details>",
                prose(&flows)
            ));
        }
        html.push_str("</li>");
    }
    html.push_str("</ul></section>\n");
    html
}

/// The answer in sentences, or the question and the answer of a search. It is empty for a figure, whose answer is its
/// claims.
pub(super) fn section(set: &ResultSet) -> String {
    if let Some(answer) = &set.answer {
        return search_answer(answer);
    }
    let verdict = answer(set);
    if verdict.sentences.is_empty() {
        return String::new();
    }
    let method = prose(&method(set));
    let rule = rank_rule(set).map_or_else(String::new, |rule| {
        let rule = prose(&rule);
        format!("<details class=\"values\"><summary>The rule of the ranks</summary><p>{rule}</p></details>")
    });
    let answer = paragraphs(&verdict);
    format!("<section class=\"verdict\">{answer}<p class=\"note\">{method}</p>{rule}</section>\n")
}

/// The sentences of a verdict as paragraphs, and its notes as a list.
pub(crate) fn paragraphs(verdict: &Verdict) -> String {
    let text = |line: &String| {
        prose(line)
            .replace("± ", "±\u{a0}")
            .replace(" µs", "\u{a0}µs")
            .replace(" ms", "\u{a0}ms")
            .replace(" %", "\u{a0}%")
    };
    let sentences = verdict.sentences.iter().map(|sentence| format!("<p>{}</p>", text(sentence)));
    let notes: String = verdict.notes.iter().map(|note| format!("<li>{}</li>", text(note))).collect();
    let list = (!notes.is_empty()).then(|| format!("<ul class=\"notes\">{notes}</ul>"));
    sentences.chain(list).collect()
}

fn search_answer(answer: &SearchAnswer) -> String {
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
