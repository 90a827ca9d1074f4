//! Tables for a terminal.

use crate::groups::{Group, groups};
use crate::labels::{count, large, micros, significant};
use anabranch_results::{ClaimKind, ClaimResult, ClaimRow, ClaimValue, ResultSet};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

/// The columns of the summary, without the scheme and the sweep: head and cell.
pub(crate) const COLUMNS: [(&str, fn(&Group<'_>) -> String); 16] = [
    ("finished", |group| {
        format!("{}/{}", group.total(|run| run.flows_finished), group.total(|run| run.flows))
    }),
    ("FCT mean\nµs", |group| micros(group.mean(|run| run.fct_mean_us))),
    ("P50\nµs", |group| micros(group.mean(|run| run.fct_p50_us))),
    ("P99\nµs", |group| micros(group.mean(|run| run.fct_p99_us))),
    ("max\nµs", |group| micros(group.mean(|run| run.fct_max_us))),
    ("ideal max\nµs", |group| micros(group.mean(|run| run.ideal_fct_max_us))),
    ("all done\nµs", |group| micros(group.mean(|run| run.completion_us))),
    ("drops", |group| count(group.mean(|run| run.drops as f64))),
    ("link\nlosses", |group| count(group.mean(|run| run.link_losses as f64))),
    ("trims", |group| count(group.mean(|run| run.trims as f64))),
    ("ECN\nmarks", |group| count(group.mean(|run| run.ecn_marks as f64))),
    ("resent", |group| count(group.mean(|run| run.retransmissions as f64))),
    ("time-\nouts", |group| count(group.mean(|run| run.timeouts as f64))),
    ("packet-\nhops", |group| large(group.mean(|run| run.packet_hops as f64))),
    ("wall\ns", |group| format!("{:.2}", group.mean(|run| run.wall_s))),
    ("seeds", |group| group.indices.len().to_string()),
];

/// One row a scheme and sweep point, with a line below that says how seeds were taken together.
pub fn table(set: &ResultSet) -> String {
    let groups = groups(set);
    let swept = groups.iter().any(|group| !group.sweep.is_empty());
    let mut table = plain_table();
    let mut head = vec!["scheme"];
    if swept {
        head.push("sweep");
    }
    head.extend(COLUMNS.iter().map(|(name, _)| *name));
    table.set_header(head);
    for group in &groups {
        let mut cells = vec![group.scheme.to_owned()];
        if swept {
            cells.push(group.point().replace(", ", "\n"));
        }
        cells.extend(COLUMNS.iter().map(|(_, cell)| cell(group)));
        table.add_row(cells);
    }
    for column in table.column_iter_mut().skip(1 + usize::from(swept)) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let mut text = lines(&table);
    for note in notes(&groups) {
        text.push_str(&note);
        text.push('\n');
    }
    text
}

/// What a reader has to know to read the summary.
pub(crate) fn notes(groups: &[Group<'_>]) -> Vec<String> {
    let mut notes = Vec::new();
    if groups.iter().any(|group| group.indices.len() > 1) {
        notes.push(
            "Each number is the mean over the seeds of the runs' own numbers; `finished` is their sum."
                .to_owned(),
        );
    }
    let missing: u64 =
        groups.iter().map(|group| group.total(|run| run.flows.saturating_sub(run.flows_finished))).sum();
    if missing > 0 {
        notes.push(format!("Flows that did not finish: {missing}. FCT columns are about those that did."));
    }
    notes
}

/// One row a claim: the paper's number beside the measured one, with the outcome.
pub fn claims_table(claims: &[ClaimRow]) -> String {
    let mut table = plain_table();
    table.set_header(["claim", "where", "kind", "paper", "measured", "outcome"]);
    for claim in claims {
        let (measured, outcome) = measured_and_outcome(claim);
        let paper = claim_value(claim.kind, claim.paper);
        let mut says = wrap(&claim.says, 60);
        let explanation = match &claim.result {
            ClaimResult::Failed { error } => Some(error),
            ClaimResult::Evaluated { .. } => claim.why.as_ref(),
        };
        if let Some(explanation) = explanation {
            says.push_str(&format!("\n  {}", wrap(explanation, 58).replace('\n', "\n  ")));
        }
        table.add_row([says, wrap(&claim.source, 24), claim.kind.to_string(), paper, measured, outcome]);
    }
    lines(&table)
}

/// The last two cells of a claim's row.
pub(crate) fn measured_and_outcome(claim: &ClaimRow) -> (String, String) {
    match &claim.result {
        ClaimResult::Evaluated { measured, outcome } => {
            (claim_value(claim.kind, *measured), outcome.to_string())
        }
        ClaimResult::Failed { .. } => ("-".to_owned(), "not evaluated".to_owned()),
    }
}

/// A claim's number as people read it.
pub(crate) fn claim_value(kind: ClaimKind, value: ClaimValue) -> String {
    match (kind, value) {
        (ClaimKind::Order, ClaimValue::Number(number)) => {
            if number == 1.0 { "true" } else { "false" }.to_owned()
        }
        (_, ClaimValue::Number(number)) => significant(number),
        (_, ClaimValue::Range([low, high])) => format!("{} to {}", significant(low), significant(high)),
    }
}

fn plain_table() -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_content_arrangement(ContentArrangement::Disabled);
    table
}

fn lines(table: &Table) -> String {
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

fn wrap(text: &str, width: usize) -> String {
    let mut wrapped = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        let size = word.chars().count();
        if length > 0 {
            let fits = length + 1 + size <= width;
            wrapped.push(if fits { ' ' } else { '\n' });
            length = if fits { length + 1 } else { 0 };
        }
        wrapped.push_str(word);
        length += size;
    }
    wrapped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::two_schemes;
    use anabranch_results::Outcome;

    #[test]
    fn the_table_of_a_sweep_over_two_seeds() {
        insta::assert_snapshot!(table(&two_schemes()));
    }

    #[test]
    fn unfinished_flows_are_named_and_a_column_without_a_sweep_is_left_out() {
        let mut set = two_schemes();
        set.runs.truncate(1);
        set.runs[0].flows_finished = 1;
        set.runs[0].sweep.clear();
        insta::assert_snapshot!(table(&set));
    }

    #[test]
    fn the_table_of_claims() {
        let claim = |kind, paper, result, why: Option<&str>| ClaimRow {
            says: "REPS finishes up to 1.25x faster than OPS in symmetric networks of every size".into(),
            source: "section 1, figure 3".into(),
            kind,
            paper,
            measure: "m".into(),
            result,
            why: why.map(str::to_owned),
        };
        let evaluated = |measured, outcome| ClaimResult::Evaluated { measured, outcome };
        let number = ClaimValue::Number;
        insta::assert_snapshot!(claims_table(&[
            claim(ClaimKind::Ratio, number(1.25), evaluated(number(1.2), Outcome::Holds), None),
            claim(
                ClaimKind::Range,
                ClaimValue::Range([1.1, 1.3]),
                evaluated(ClaimValue::Range([1.05, 1.5]), Outcome::DirectionOnly),
                Some("The paper does not say how large the buffers are."),
            ),
            claim(ClaimKind::Order, number(1.0), evaluated(number(0.0), Outcome::Differs), None),
            claim(
                ClaimKind::Value,
                number(799.0),
                ClaimResult::Failed { error: "2 flows did not finish".into() },
                None
            ),
        ]));
    }
}
