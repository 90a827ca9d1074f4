//! The sensitivity of a figure's claims to settings that its paper leaves unspecified.

use crate::labels::significant;
use crate::table::{columns, wrap};
use anabranch_results::{ClaimKind, ClaimResult, Figure, Sensitivity};

/// The table of a figure's claims over all setups, with the unspecified settings above it and the best setup below
/// it. The text is empty if no setups were run.
pub fn unsaid_table(figure: &Figure) -> String {
    let Some(unsaid) = &figure.unsaid else { return String::new() };
    let mut text = format!("{}\n", wrap(&introduction(figure, unsaid), 100));
    for entry in &unsaid.entries {
        let values =
            if entry.varied { entry.values.join(" | ") } else { "not varied at this scale".to_owned() };
        text.push_str(&format!("  {}: {values}\n", entry.what));
    }
    let rows = rows(figure, unsaid).into_iter().map(|row| {
        vec![wrap(&row.says, 44), row.kind, wrap(&row.paper, 20), row.default, row.span, row.holds]
    });
    text.push_str(&format!("\n{}", columns(&HEAD, rows)));
    text.push_str(&format!("{}\n", wrap(&best(unsaid), 100)));
    text
}

pub(crate) const HEAD: [&str; 6] = ["claim", "kind", "paper", "the figure's own", "span", "holds under"];

pub(crate) struct Row {
    pub says: String,
    pub kind: String,
    pub paper: String,
    /// The number measured with the figure's default setup, and its outcome.
    pub default: String,
    /// The lowest and the highest number measured over the setups.
    pub span: String,
    /// The number of setups under which the claim holds.
    pub holds: String,
}

pub(crate) fn rows(figure: &Figure, unsaid: &Sensitivity) -> Vec<Row> {
    let number = |kind, number: f64| match kind {
        ClaimKind::Order => if number == 1.0 { "true" } else { "false" }.to_owned(),
        _ => significant(number),
    };
    let each = figure.claims.iter().enumerate().map(|(index, claim)| Row {
        says: claim.says.clone(),
        kind: claim.kind.to_string(),
        paper: crate::claims_table::paper(claim),
        default: match unsaid.setups.first().and_then(|setup| setup.claims.get(index)) {
            Some(ClaimResult::Evaluated { measured, outcome }) => {
                format!("{} {outcome}", crate::claims_table::claim_value(claim.kind, *measured))
            }
            _ => "not evaluated".to_owned(),
        },
        span: match unsaid.span(index) {
            Some([low, high]) if low == high => number(claim.kind, low),
            Some([low, high]) => format!("{} to {}", number(claim.kind, low), number(claim.kind, high)),
            None => "-".to_owned(),
        },
        holds: format!("{} of {}", unsaid.holds(index), unsaid.setups.len()),
    });
    each.collect()
}

pub(crate) fn introduction(figure: &Figure, unsaid: &Sensitivity) -> String {
    let how = match unsaid.together {
        true => "each alone and all together".to_owned(),
        false => format!("one at a time, as together they take more than {} runs", unsaid.most_runs_together),
    };
    let scale = match figure.is_judged() {
        true => "",
        false => " Outcomes at the quick scale count for nothing: look at how far they move.",
    };
    let failed: usize = unsaid.setups.iter().map(|setup| setup.failed_runs).sum();
    let failed = match failed {
        0 => String::new(),
        _ => format!(" Runs that failed, whose claims could not be evaluated: {failed}."),
    };
    format!(
        "{}: what the paper leaves unsaid, {how}: {} set-ups at the {} scale.{scale}{failed}",
        figure.id,
        unsaid.setups.len(),
        figure.scale
    )
}

pub(crate) fn best(unsaid: &Sensitivity) -> String {
    let (Some(best), Some(own)) = (unsaid.best(), unsaid.setups.first()) else { return String::new() };
    let all = own.claims.len();
    if best.choice == own.choice {
        return format!(
            "Under no other set-up do more claims hold together than under the figure's own: {} of {all}.",
            own.holds()
        );
    }
    format!(
        "Most claims hold together, {} of {all}, under {}. Under the figure's own: {}.",
        best.holds(),
        unsaid.name(best),
        own.holds()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::varied;

    #[test]
    fn the_table_of_what_was_varied() {
        insta::assert_snapshot!(unsaid_table(&varied()));
    }

    #[test]
    fn nothing_varied_is_no_table() {
        assert_eq!(unsaid_table(&crate::samples::figure("quick")), "");
    }

    #[test]
    fn what_could_not_be_run_is_said() {
        let mut figure = varied();
        figure.scale = "paper".into();
        let unsaid = figure.unsaid.as_mut().unwrap();
        (unsaid.together, unsaid.setups[1].failed_runs) = (false, 2);
        unsaid.entries[1].varied = false;
        let text = unsaid_table(&figure);
        assert!(text.contains("one at a time, as together they take more than 256 runs"), "{text}");
        assert!(text.contains("could not be evaluated: 2."), "{text}");
        assert!(text.contains("queue: not varied at this scale"), "{text}");
        assert!(!text.contains("quick"), "{text}");
    }
}
