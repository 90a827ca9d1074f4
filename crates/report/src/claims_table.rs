//! The claims of a figure next to the measured numbers: a table for a terminal, and its parts for a page.

use crate::labels::significant;
use crate::table::{columns, wrap};
use anabranch_results::{ClaimKind, ClaimResult, ClaimRow, ClaimValue, Figure, Outcome, Spread};

/// A table with a row for each claim of a figure: the paper's number, the measured number and the outcome. The text is
/// empty if the figure has no claims.
pub fn claims_table(figure: &Figure) -> String {
    if figure.claims.is_empty() {
        return String::new();
    }
    let rows = figure.claims.iter().map(|claim| {
        let (measured, outcome) = measured_and_outcome(figure, claim);
        let paper = wrap(&paper(claim), 20);
        let mut says = wrap(&claim.says, 50);
        for explanation in explanations(figure, claim) {
            says.push_str(&format!("\n  {}", wrap(&explanation, 48).replace('\n', "\n  ")));
        }
        vec![says, wrap(&claim.source, 16), claim.kind.to_string(), paper, measured, outcome]
    });
    columns(&["claim", "where", "kind", "paper", "measured", "outcome"], rows)
}

/// The lines below a claim, as far as they apply: the error of the claim; a note on the seeds of an order, if the claim
/// was compared with the paper; and the cause that the claim states in `why`. The cause is left out if the claim was
/// compared with the paper and holds. At the quick scale, a prefix says that the cause refers to the paper's scale.
pub(crate) fn explanations(figure: &Figure, claim: &ClaimRow) -> impl Iterator<Item = String> {
    let (error, holds) = match &claim.result {
        ClaimResult::Failed { error } => (Some(error.clone()), false),
        ClaimResult::Evaluated { outcome, .. } => (None, *outcome == Outcome::Holds),
    };
    let judged = figure.is_judged();
    let scale = if judged { "" } else { "At paper scale, if none is named: " };
    let why = claim.why.as_deref().filter(|_| !(judged && holds)).map(|why| format!("{scale}{why}"));
    let spread = claim.spread.as_ref().filter(|_| judged).and_then(spread);
    error.into_iter().chain(spread).chain(why)
}

/// A note on the seeds of an order: there is only one seed, or the sides overlap over several seeds.
fn spread(spread: &Spread) -> Option<String> {
    if spread.seeds == 1 {
        return Some("One seed: how far the sides spread is not known.".to_owned());
    }
    let touching = spread.comparisons.iter().find(|comparison| !comparison.separate)?;
    let side = |[low, high]: [f64; 2]| match low == high {
        true => significant(low),
        false => format!("{} to {}", significant(low), significant(high)),
    };
    let (left, right) = (side(touching.left), side(touching.right));
    Some(format!("Not with each of {} seeds: {left} {} {right}.", spread.seeds, touching.sign))
}

/// The paper's statement in short form: its number, or its order.
pub(crate) fn paper(claim: &ClaimRow) -> String {
    if claim.order.is_empty() { claim_value(claim.kind, claim.paper) } else { claim.order.join(" < ") }
}

/// The last two cells of a claim's row. At the quick scale, the number is shown but not compared with the paper's.
pub(crate) fn measured_and_outcome(figure: &Figure, claim: &ClaimRow) -> (String, String) {
    match &claim.result {
        ClaimResult::Evaluated { measured, outcome } => {
            let outcome = if figure.is_judged() { outcome.to_string() } else { "not judged".to_owned() };
            (claim_value(claim.kind, *measured), outcome)
        }
        ClaimResult::Failed { .. } => ("-".to_owned(), "not evaluated".to_owned()),
    }
}

pub(crate) fn claim_value(kind: ClaimKind, value: ClaimValue) -> String {
    match (kind, value) {
        (ClaimKind::Order, ClaimValue::Number(number)) => {
            if number == 1.0 { "true" } else { "false" }.to_owned()
        }
        (_, ClaimValue::Number(number)) => significant(number),
        (_, ClaimValue::Range([low, high])) => format!("{} to {}", significant(low), significant(high)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::figure;
    use anabranch_results::Comparison;

    #[test]
    fn the_table_of_claims() {
        let claim = |kind, paper, result, why: Option<&str>| ClaimRow {
            says: "REPS finishes up to 1.25x faster than OPS in symmetric networks of every size".into(),
            source: "section 1, figure 3".into(),
            kind,
            paper,
            order: if kind == ClaimKind::Order { vec!["reps".into(), "ops".into()] } else { vec![] },
            measure: "m".into(),
            result,
            spread: None,
            why: why.map(str::to_owned),
        };
        let evaluated = |measured, outcome| ClaimResult::Evaluated { measured, outcome };
        let number = ClaimValue::Number;
        let claims = vec![
            claim(ClaimKind::Ratio, number(1.25), evaluated(number(1.2), Outcome::Holds), Some("Not shown.")),
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
                Some("A link is down for good."),
            ),
        ];
        let mut figure = Figure { claims, ..figure("paper") };
        insta::assert_snapshot!("the_table_of_claims", claims_table(&figure));
        figure.scale = "quick".into();
        let quick = claims_table(&figure);
        let found: Vec<&str> =
            quick.lines().filter(|line| line.contains("At paper scale, if none is named: ")).collect();
        assert_eq!(found.len(), 3, "each finding, and no error:\n{quick}");
        assert_eq!(quick.matches("not judged").count(), 3, "{quick}");
        assert!(!quick.contains("holds") && !quick.contains("differs"), "{quick}");
        figure.claims.clear();
        assert_eq!(claims_table(&figure), "");
    }

    #[test]
    fn an_order_says_what_it_rests_on() {
        let comparison = |separate, right| Comparison { left: [1.0, 1.0], sign: "<".into(), right, separate };
        let two = vec![comparison(true, [2.0, 3.0]), comparison(false, [0.5, 1.25])];
        let of =
            |seeds, comparisons: &[Comparison]| spread(&Spread { seeds, comparisons: comparisons.to_vec() });
        assert_eq!(of(3, &two).unwrap(), "Not with each of 3 seeds: 1 < 0.5 to 1.25.");
        assert_eq!(of(3, &two[..1]), None);
        assert!(of(1, &two[..1]).unwrap().starts_with("One seed"));
    }
}
