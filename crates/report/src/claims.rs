//! Compares a paper's claims with results. The rule is fixed, so that nobody chooses a tolerance for a claim.

use crate::index::Index;
use crate::{Measure, MeasureError};
use anabranch_results::{
    ClaimKind, ClaimResult, ClaimRow, ClaimSpec, ClaimValue, Outcome, ResultSet, Spread,
};
use libm::{fabs, log};

/// The rule of [`outcome`] in words: how the outcome of a claim follows from its kind, the paper's number p and the
/// measured number m.
pub const RULE: [(&str, &str); 9] = [
    ("ratio", "holds when |ln m - ln p| <= max(0.25 |ln p|, 0.02)"),
    ("at-least", "a quotient: holds when m >= p, or within the band of a ratio below p"),
    ("at-most", "a quotient: holds when m <= p, or within the band of a ratio above p"),
    ("value", "a quantity: holds when |ln m - ln p| <= 0.10"),
    ("range", "holds when both ends hold as ratios"),
    ("zero", "holds when m is 0"),
    (
        "order",
        "holds when the order is the paper's with every seed on one side against every seed on the other; with one seed, \
         when it is the paper's",
    ),
    (
        "direction-only",
        "a ratio or a range that misses, but on the paper's side of 1; an at-least above 1 or an at-most below 1 that \
         misses, but on that side of 1",
    ),
    ("differs", "anything else"),
];

/// An error in a claim itself, whatever the results are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClaimError {
    /// The claim's measure cannot be read.
    #[error(transparent)]
    Measure(#[from] MeasureError),
    /// The claim's kind, its `paper` and the result of its measure do not fit together.
    #[error("claim \"{says}\": {why}")]
    Mismatch {
        /// The claim's text.
        says: String,
        /// The mismatch, and the expected form.
        why: String,
    },
}

/// Compares claims with results. If a measure cannot be evaluated on these results, its row holds the error, so that a
/// page can show all claims.
///
/// # Errors
/// A claim itself is wrong: its measure cannot be read, or its `paper` does not fit its kind.
pub fn judge(specs: &[ClaimSpec], set: &ResultSet) -> Result<Vec<ClaimRow>, ClaimError> {
    let index = Index::new(set);
    specs.iter().map(|spec| judge_one(spec, &index)).collect()
}

fn judge_one(spec: &ClaimSpec, index: &Index<'_>) -> Result<ClaimRow, ClaimError> {
    let paper = paper_value(spec)?;
    let measure = Measure::parse(&spec.measure)?;
    let judged = evaluate(spec, paper, &measure, index);
    let (result, spread) = judged.unwrap_or_else(|error| (ClaimResult::Failed { error }, None));
    Ok(ClaimRow {
        says: spec.says.clone(),
        source: spec.source.clone(),
        kind: spec.kind,
        paper,
        order: spec.order.clone(),
        measure: spec.measure.clone(),
        result,
        spread,
        why: spec.why.clone(),
    })
}

/// The measured number and its outcome. For a claim of kind `order`, the spread of each side over the seeds is added,
/// because it determines the outcome.
fn evaluate(
    spec: &ClaimSpec,
    paper: ClaimValue,
    measure: &Measure,
    index: &Index<'_>,
) -> Result<(ClaimResult, Option<Spread>), String> {
    let measured = measure.evaluate_indexed(index).map_err(|error| beside_its_measure(&error))?;
    let (decisive, spread) = match (spec.kind, measured) {
        (ClaimKind::Order, ClaimValue::Number(_)) => {
            let (apart, spread) =
                measure.evaluate_by_spread(index).map_err(|error| beside_its_measure(&error))?;
            (apart, Some(spread))
        }
        _ => (measured, None),
    };
    let outcome = outcome(spec.kind, paper, decisive).map_err(|why| mismatch(spec, why).to_string())?;
    Ok((ClaimResult::Evaluated { measured, outcome }, spread))
}

/// The text of the measure is left out, because the row already contains it.
fn beside_its_measure(error: &MeasureError) -> String {
    format!("{} (column {} of the measure)", error.message, error.column)
}

/// The outcome of a measured number compared with the paper's number, as [`RULE`] states.
///
/// The tolerances of `at-least` and `at-most` are meant for quotients. For a quantity with a unit, the measure divides
/// the quantity by the paper's number, and the claim's number is 1. For an `order`, `measured` is 1 if the order is
/// true.
///
/// # Errors
/// The kind needs one number but there is a pair, or it needs a pair but there is one number. Or the kind needs a
/// paper's number that is finite and above 0, but it is infinite, not a number, or at most 0.
pub fn outcome(kind: ClaimKind, paper: ClaimValue, measured: ClaimValue) -> Result<Outcome, String> {
    let whole = |holds| if holds { Outcome::Holds } else { Outcome::Differs };
    match (kind, paper, measured) {
        (ClaimKind::Ratio, ClaimValue::Number(p), ClaimValue::Number(m)) => {
            positive(p)?;
            Ok(ratio(p, m))
        }
        (ClaimKind::AtLeast, ClaimValue::Number(p), ClaimValue::Number(m)) => {
            positive(p)?;
            Ok(bound(p, m, m >= p, p > 1.0 && m > 1.0))
        }
        (ClaimKind::AtMost, ClaimValue::Number(p), ClaimValue::Number(m)) => {
            positive(p)?;
            Ok(bound(p, m, m <= p, p < 1.0 && m < 1.0))
        }
        (ClaimKind::Value, ClaimValue::Number(p), ClaimValue::Number(m)) => {
            positive(p)?;
            Ok(whole(within(p, m, 0.10)))
        }
        (ClaimKind::Range, ClaimValue::Range([p_low, p_high]), ClaimValue::Range([m_low, m_high])) => {
            positive(p_low)?;
            positive(p_high)?;
            Ok(match (ratio(p_low, m_low), ratio(p_high, m_high)) {
                (Outcome::Holds, Outcome::Holds) => Outcome::Holds,
                (Outcome::Differs, _) | (_, Outcome::Differs) => Outcome::Differs,
                _ => Outcome::DirectionOnly,
            })
        }
        (ClaimKind::Zero, ClaimValue::Number(_), ClaimValue::Number(m)) => Ok(whole(m == 0.0)),
        (ClaimKind::Order, ClaimValue::Number(_), ClaimValue::Number(m)) => Ok(whole(m == 1.0)),
        (ClaimKind::Range, ClaimValue::Range(_), ClaimValue::Number(_)) => {
            Err("a `range` needs a measure that gives two numbers: `range over PARAMETER: ...` or `[a, b]`"
                .to_owned())
        }
        (ClaimKind::Range, ClaimValue::Number(_), _) => {
            Err("a `range` needs the paper's low and high end: `paper = [low, high]`".to_owned())
        }
        (_, ClaimValue::Range(_), _) => Err(format!("a `{kind}` compares with one number, not with a range")),
        (_, _, ClaimValue::Range(_)) => {
            Err(format!("a `{kind}` needs a measure that gives one number, not two"))
        }
    }
}

fn paper_value(spec: &ClaimSpec) -> Result<ClaimValue, ClaimError> {
    match (spec.kind, spec.paper) {
        (ClaimKind::Zero, None) => Ok(ClaimValue::Number(0.0)),
        (ClaimKind::Order, None) => Ok(ClaimValue::Number(1.0)),
        (kind, None) => Err(mismatch(spec, format!("a `{kind}` needs the paper's number: `paper = ...`"))),
        (kind, Some(paper)) => {
            // Every well-formed claim has an outcome when the paper's number is compared with itself.
            outcome(kind, paper, paper).map_err(|why| mismatch(spec, why))?;
            Ok(paper)
        }
    }
}

fn mismatch(spec: &ClaimSpec, why: String) -> ClaimError {
    ClaimError::Mismatch { says: spec.says.clone(), why }
}

fn positive(paper: f64) -> Result<(), String> {
    if paper > 0.0 && paper.is_finite() {
        return Ok(());
    }
    Err(format!(
        "the paper's number must be above 0 to compare with, not {paper}; for nothing use `kind = \"zero\"`"
    ))
}

/// The outcome of a claim about an upper or a lower bound p. `kept` states whether m satisfies the bound. If m does
/// not, the claim still holds if m is within [`band`] of p. `alike` states whether the bound excludes one side of 1 and
/// m is on the other side.
fn bound(p: f64, m: f64, kept: bool, alike: bool) -> Outcome {
    match kept || within(p, m, band(p)) {
        true => Outcome::Holds,
        false if alike => Outcome::DirectionOnly,
        false => Outcome::Differs,
    }
}

/// The tolerance of a ratio: the largest distance from the paper's number, in natural logarithms.
fn band(p: f64) -> f64 {
    (0.25 * fabs(log(p))).max(0.02)
}

fn ratio(p: f64, m: f64) -> Outcome {
    if within(p, m, band(p)) {
        Outcome::Holds
    } else if (p > 1.0 && m > 1.0) || (p < 1.0 && m < 1.0) {
        Outcome::DirectionOnly
    } else {
        Outcome::Differs
    }
}

/// Whether two numbers are at most `band` apart, in natural logarithms. This is false if m is not above 0.
fn within(p: f64, m: f64, band: f64) -> bool {
    m > 0.0 && fabs(log(m) - log(p)) <= band
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{collectives, two_schemes};

    fn number(kind: ClaimKind, p: f64, m: f64) -> Outcome {
        outcome(kind, ClaimValue::Number(p), ClaimValue::Number(m)).unwrap()
    }

    #[test]
    fn a_ratio_has_a_band_of_a_quarter_of_its_logarithm() {
        // ln 1.25 = 0.2231, and a quarter of it is 0.0558, so the tolerance reaches from 1.1822 to 1.3217.
        assert_eq!(number(ClaimKind::Ratio, 1.25, 1.183), Outcome::Holds);
        assert_eq!(number(ClaimKind::Ratio, 1.25, 1.321), Outcome::Holds);
        assert_eq!(number(ClaimKind::Ratio, 1.25, 1.181), Outcome::DirectionOnly);
        assert_eq!(number(ClaimKind::Ratio, 1.25, 1.323), Outcome::DirectionOnly);
        assert_eq!(number(ClaimKind::Ratio, 1.25, 1.0), Outcome::Differs);
        assert_eq!(number(ClaimKind::Ratio, 1.25, 0.9), Outcome::Differs);
        assert_eq!(number(ClaimKind::Ratio, 0.5, 0.0), Outcome::DirectionOnly);
        // Near 1, the tolerance is 2 %.
        assert_eq!(number(ClaimKind::Ratio, 1.0, 1.019), Outcome::Holds);
        assert_eq!(number(ClaimKind::Ratio, 1.0, 1.021), Outcome::Differs);
    }

    #[test]
    fn a_bound_holds_on_its_side_and_within_the_band_on_the_other() {
        let at_least = |p, m| number(ClaimKind::AtLeast, p, m);
        // ln 1.35 = 0.3001, and a quarter of it is 0.0750, so the tolerance reaches down to 1.2524.
        assert_eq!(at_least(1.35, 9.0), Outcome::Holds);
        assert_eq!(at_least(1.35, 1.253), Outcome::Holds);
        assert_eq!(at_least(1.35, 1.252), Outcome::DirectionOnly);
        assert_eq!(at_least(1.35, 1.0), Outcome::Differs);
        // A lower bound below 1 does not tell on which side of 1 the number is. At 1, the tolerance is 2 %.
        assert_eq!(at_least(0.5, 0.3), Outcome::Differs);
        assert_eq!(at_least(1.0, 0.981), Outcome::Holds);
        assert_eq!(at_least(1.0, 0.979), Outcome::Differs);
        let at_most = |p, m| number(ClaimKind::AtMost, p, m);
        // ln 0.5 = -0.6931, and a quarter of it is 0.1733, so the tolerance reaches up to 0.5946.
        assert_eq!(at_most(0.5, 0.0), Outcome::Holds);
        assert_eq!(at_most(0.5, 0.594), Outcome::Holds);
        assert_eq!(at_most(0.5, 0.595), Outcome::DirectionOnly);
        assert_eq!(at_most(0.5, 1.0), Outcome::Differs);
        assert_eq!(at_most(1.04, 1.062), Outcome::Differs);
        assert_eq!(at_most(1.04, 1.061), Outcome::Holds);
    }

    fn order(measure: &str) -> ClaimSpec {
        ClaimSpec {
            says: "REPS is faster".into(),
            source: "section 4".into(),
            kind: ClaimKind::Order,
            paper: None,
            measure: measure.into(),
            order: vec!["reps".into(), "ops".into()],
            why: None,
        }
    }

    fn judged(measure: &str, set: &ResultSet) -> (Outcome, f64, Spread) {
        let row = judge(&[order(measure)], set).unwrap().remove(0);
        match row.result {
            ClaimResult::Evaluated { measured: ClaimValue::Number(measured), outcome } => {
                (outcome, measured, row.spread.expect("an order has a spread"))
            }
            other => panic!("{other:?}"),
        }
    }

    /// At 8 MiB, the values of REPS are 95 and 105, and those of OPS are 115 and 125.
    #[test]
    fn an_order_holds_when_the_seeds_of_its_sides_do_not_overlap() {
        let mut set = two_schemes();
        let measure = "fct_max(reps, bytes=8MiB) < fct_max(ops, bytes=8MiB)";
        let (outcome, measured, spread) = judged(measure, &set);
        assert_eq!((outcome, measured, spread.seeds), (Outcome::Holds, 1.0, 2));
        let [only] = &spread.comparisons[..] else { panic!("{spread:?}") };
        assert_eq!((only.left, &*only.sign, only.right), ([95.0, 105.0], "<", [115.0, 125.0]));
        // The means, 100 and 110, are in order, but the slower seed of REPS (105) is slower than the faster seed of OPS
        // (104).
        let ops = set.runs.iter_mut().filter(|run| run.scheme == "ops" && run.fct_max_us < 200.0);
        ops.zip([104.0, 116.0]).for_each(|(run, max)| run.fct_max_us = max);
        let (outcome, measured, spread) = judged(measure, &set);
        assert_eq!((outcome, measured), (Outcome::Differs, 1.0));
        assert!(!spread.comparisons[0].separate);
        // A quotient is computed for each seed: 104 / 95 and 116 / 105 are both above 1.05.
        let quotient = "1.05 < fct_max(ops, bytes=8MiB) / fct_max(reps, bytes=8MiB)";
        assert_eq!(judged(quotient, &set).0, Outcome::Holds);
        // A measure that names seeds is evaluated as it is written.
        let by_seed = "(max over seed: fct_max(reps, bytes=8MiB)) < fct_max(ops, bytes=8MiB, seed=2)";
        assert_eq!(judged(by_seed, &set).0, Outcome::Holds);
        set.runs.retain(|run| run.seed == 1);
        let (outcome, _, spread) = judged(measure, &set);
        assert_eq!((outcome, spread.seeds), (Outcome::Holds, 1));
    }

    #[test]
    fn every_comparison_of_an_order_counts() {
        let set = two_schemes();
        let both = "max over bytes: fct_max(ops) / fct_max(reps)";
        assert_eq!(judged(&format!("1 < ({both}) < 3"), &set).0, Outcome::Holds);
        let (outcome, measured, spread) = judged(&format!("1 < ({both}) < 1.95"), &set);
        assert_eq!((outcome, measured), (Outcome::Differs, 0.0));
        assert_eq!(spread.comparisons.iter().map(|c| c.separate).collect::<Vec<_>>(), [true, false]);
        let everywhere = "min over bytes: fct_max(reps) < fct_max(ops)";
        assert_eq!(judged(everywhere, &set).2.comparisons.len(), 2);
    }

    #[test]
    fn the_rule_in_words_is_whole() {
        let named: Vec<&str> = RULE.iter().map(|(name, _)| *name).collect();
        let kinds = [
            ClaimKind::Ratio,
            ClaimKind::AtLeast,
            ClaimKind::AtMost,
            ClaimKind::Value,
            ClaimKind::Range,
            ClaimKind::Zero,
            ClaimKind::Order,
        ];
        let outcomes = [Outcome::DirectionOnly, Outcome::Differs];
        let all: Vec<String> =
            kinds.iter().map(ToString::to_string).chain(outcomes.iter().map(ToString::to_string)).collect();
        assert_eq!(named, all);
    }

    #[test]
    fn a_value_has_ten_percent_and_zero_and_order_none() {
        assert_eq!(number(ClaimKind::Value, 799.0, 880.0), Outcome::Holds);
        assert_eq!(number(ClaimKind::Value, 799.0, 890.0), Outcome::Differs);
        assert_eq!(number(ClaimKind::Zero, 0.0, 0.0), Outcome::Holds);
        assert_eq!(number(ClaimKind::Zero, 0.0, 1.0), Outcome::Differs);
        assert_eq!(number(ClaimKind::Order, 1.0, 1.0), Outcome::Holds);
        assert_eq!(number(ClaimKind::Order, 1.0, 0.0), Outcome::Differs);
    }

    #[test]
    fn a_range_is_judged_at_both_ends() {
        let judge = |m| outcome(ClaimKind::Range, ClaimValue::Range([1.2, 1.5]), ClaimValue::Range(m));
        assert_eq!(judge([1.21, 1.45]), Ok(Outcome::Holds));
        assert_eq!(judge([1.21, 1.9]), Ok(Outcome::DirectionOnly));
        assert_eq!(judge([0.9, 1.5]), Ok(Outcome::Differs));
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let one = ClaimValue::Number(1.0);
        assert!(outcome(ClaimKind::Ratio, ClaimValue::Number(0.0), one).unwrap_err().contains("above 0"));
        assert!(outcome(ClaimKind::Range, one, one).unwrap_err().contains("[low, high]"));
        assert!(
            outcome(ClaimKind::Range, ClaimValue::Range([1.0, 2.0]), one).unwrap_err().contains("range over")
        );
        assert!(
            outcome(ClaimKind::Value, one, ClaimValue::Range([1.0, 2.0])).unwrap_err().contains("one number")
        );
    }

    /// The placeholder values of a run whose jobs did not finish do not fulfil any claim.
    #[test]
    fn unfinished_jobs_make_a_claim_an_error() {
        let mut set = collectives();
        (set.runs[1].jobs_finished, set.runs[1].cct_mean_us, set.runs[1].cct_max_us) = (0, 0.0, 0.0);
        for job in set.jobs.iter_mut().filter(|job| job.run == 1) {
            job.cct_ps = None;
        }
        let spec = |measure: &str| ClaimSpec {
            says: "RoCEv2 is faster".into(),
            source: "nowhere".into(),
            kind: ClaimKind::Order,
            paper: None,
            order: vec![],
            measure: measure.into(),
            why: None,
        };
        let of = [
            "cct_max(rocev2)",
            "cct_mean(rocev2)",
            "cct(rocev2, max)",
            "cct(rocev2, p50, max_bytes=1000000)",
        ];
        let specs: Vec<ClaimSpec> = of.iter().map(|of| spec(&format!("{of} < cct_max(strack)"))).collect();
        let says = |set: &ResultSet| -> Vec<String> {
            let results = judge(&specs, set).unwrap().into_iter().map(|row| row.result);
            let error = |result| match result {
                ClaimResult::Failed { error } => error,
                won => panic!("{won:?}"),
            };
            results.map(error).collect()
        };
        for error in says(&set) {
            assert!(error.contains("jobs of `rocev2`, seed 1, did not finish"), "{error}");
        }
        // A measure of jobs is an error too if the run has no rows of jobs.
        set.jobs.retain(|job| job.run == 0);
        assert!(says(&set).iter().all(|error| error.contains("rocev2")));
    }

    #[test]
    fn a_claim_becomes_a_row() {
        let mut spec = ClaimSpec {
            says: "REPS is faster".into(),
            source: "section 4".into(),
            kind: ClaimKind::Ratio,
            paper: Some(ClaimValue::Number(1.25)),
            measure: "max over bytes: fct_max(ops) / fct_max(reps)".into(),
            order: vec![],
            why: Some("because".into()),
        };
        let set = two_schemes();
        let rows =
            judge(&[spec.clone(), ClaimSpec { measure: "fct_max(opss)".into(), ..spec.clone() }], &set);
        let [row, failed] = &rows.unwrap()[..] else { panic!("two claims make two rows") };
        let expected =
            ClaimResult::Evaluated { measured: ClaimValue::Number(2.0), outcome: Outcome::DirectionOnly };
        assert_eq!((&row.result, row.why.as_deref()), (&expected, Some("because")));
        let ClaimResult::Failed { error } = &failed.result else { panic!("{failed:?}") };
        assert!(error.ends_with("did you mean `ops`? (column 9 of the measure)"), "{error}");
        spec.measure = "fct_max(".into();
        assert!(judge(std::slice::from_ref(&spec), &set).unwrap_err().to_string().contains("column"));
        spec.paper = None;
        assert!(judge(&[spec], &set).unwrap_err().to_string().contains("needs the paper's number"));
    }
}
