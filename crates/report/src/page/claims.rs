//! The claims of a figure on its page.

use super::markup::{escape, prose};
use crate::claims::RULE;
use crate::claims_table::{explanations, measured_and_outcome, paper};
use anabranch_results::{ClaimResult, ClaimRow, Figure, Outcome};

/// The claims of a figure with the rule for their outcomes, and the figure's assumptions.
pub(super) fn section(figure: &Figure) -> String {
    let mut html = String::new();
    if !figure.claims.is_empty() {
        html.push_str(
            "<section><h2>What the paper says, and what was measured</h2><table class=\"claims cards\"><thead><tr>\
             <th scope=\"col\">claim</th><th scope=\"col\">kind</th><th scope=\"col\">paper</th><th scope=\"col\">measured</th>\
             <th scope=\"col\">outcome</th></tr></thead><tbody>",
        );
    }
    for claim in &figure.claims {
        let (measured, outcome) = measured_and_outcome(figure, claim);
        let class = match &claim.result {
            ClaimResult::Evaluated { outcome, .. } if figure.is_judged() => class(*outcome),
            _ => "none",
        };
        let why: String =
            explanations(figure, claim).map(|why| format!("<p class=\"why\">{}</p>", prose(&why))).collect();
        html.push_str(&format!(
            "<tr><td class=\"says\">{}{}{why}</td><td data-head=\"kind\">{}</td><td class=\"big\" data-head=\"paper\">{}</td>\
             <td class=\"big\" data-head=\"measured\">{}</td><td data-head=\"outcome\"><span class=\"chip {class}\">{outcome}</span></td></tr>",
            prose(&claim.says),
            source_and_measure(claim),
            claim.kind,
            escape(&paper(claim)),
            escape(&measured),
        ));
    }
    if !figure.claims.is_empty() {
        html.push_str("</tbody></table>");
        html.push_str(&rule(figure));
        html.push_str("</section>\n");
    }
    if !figure.assumptions.is_empty() {
        let scale = if figure.is_quick() { " They are those of the paper scale." } else { "" };
        html.push_str(&format!(
            "<section><h2>Assumptions</h2><p class=\"note\">What the paper does not say.{scale}</p><ul>"
        ));
        for assumption in &figure.assumptions {
            html.push_str(&format!("<li>{}</li>", prose(assumption)));
        }
        html.push_str("</ul></section>\n");
    }
    html
}

pub(super) fn class(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Holds => "good",
        Outcome::DirectionOnly => "fair",
        Outcome::Differs => "bad",
    }
}

fn rule(figure: &Figure) -> String {
    let unjudged = if figure.is_judged() {
        ""
    } else {
        "<p class=\"note\">The quick scale shows what is measured and judges nothing.</p>"
    };
    let lines = RULE.map(|(name, rule)| format!("<dt>{name}</dt><dd>{}</dd>", escape(rule)));
    format!(
        "{unjudged}<details class=\"note\"><summary>The rule by which claims are judged</summary>\
         <p>With m what is measured and p the paper's number:</p><dl>{}</dl></details>",
        lines.concat()
    )
}

/// The place of a claim in the paper and the formula of its measure. A long formula is hidden until the reader opens
/// it.
fn source_and_measure(claim: &ClaimRow) -> String {
    const LONGEST_SHOWN: usize = 100;
    let (source, measure) = (prose(&claim.source), escape(&claim.measure));
    if claim.measure.chars().count() <= LONGEST_SHOWN {
        return format!("<p class=\"note\">{source} · <code>{measure}</code></p>");
    }
    format!(
        "<div class=\"note\">{source} <details><summary>formula</summary><code>{measure}</code></details></div>"
    )
}
