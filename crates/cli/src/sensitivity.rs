//! Figures that ran under several setups, and the number of their papers' claims that hold under the same setup.

use anabranch_results::{
    self as results, RunFailure, Sensitivity, SensitivityEntry, SetupRow, SharedWarning,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

pub struct VariedFigure {
    /// The figure with its claims and its unspecified settings.
    pub figure: results::Figure,
    pub folder: PathBuf,
    pub digest: String,
    pub runs: usize,
    /// The number of runs that were simulated by this command.
    pub simulated: usize,
    /// The total wall-clock time of the finished runs in seconds, including runs of earlier commands.
    pub wall_s: f64,
    pub failed: Vec<(String, RunFailure)>,
    /// The warnings of the runs of each setup, in the order of the figure's setups.
    pub run_warnings: Vec<Vec<SharedWarning>>,
}

pub struct Paper {
    /// The paper's name in commands.
    pub paper: String,
    /// The number of the paper's figures that were varied.
    pub figures: usize,
    /// The number of claims of these figures.
    pub claims: usize,
    /// The number of claims that hold under the figures' default setups.
    pub holds_by_default: usize,
    /// The number of claims that hold under the best setup.
    pub holds: usize,
    pub setup: String,
    /// Whether at least two of the figures vary the same setting. Otherwise each figure has its own best setup.
    pub shares: bool,
}

impl Paper {
    /// A sentence on the number of the paper's claims that hold under the same setup.
    pub fn sentence(&self) -> String {
        let Paper { paper, figures, claims, holds_by_default, holds, setup, shares } = self;
        let all = format!("{paper}: of {claims} claims in {figures} figures");
        match (holds, shares) {
            (0, _) => format!("{all} none holds under any set-up."),
            (_, _) if holds == holds_by_default => {
                format!("{all} {holds} hold under the figures' own set-ups, and under no others do more.")
            }
            (_, true) => {
                format!(
                    "{all} most hold together, {holds}, under {setup}. Under the figures' own set-ups: {holds_by_default}."
                )
            }
            (_, false) => format!(
                "{all}, which vary nothing in common, {holds} hold with the best set-up of each: {setup}. Under the \
                 figures' own set-ups: {holds_by_default}."
            ),
        }
    }
}

/// For each paper, the setup under which the most claims of its figures hold. If several figures vary settings with the
/// same name, the setup gives all these settings the same value, or leaves each figure its own default.
pub fn papers(varied: &[VariedFigure]) -> Vec<Paper> {
    let names: BTreeSet<&str> = varied.iter().map(paper_of).collect();
    names.into_iter().map(|name| best_of(name, varied)).collect()
}

fn paper_of(done: &VariedFigure) -> &str {
    done.figure.id.split('/').next().unwrap_or_default()
}

/// Values of unspecified settings, by the name of the setting.
type EntryValues<'a> = BTreeMap<&'a str, EntryValue<'a>>;

/// For each setting that a figure still to be combined also varies: its name, the values of its parameters, and whether
/// these values are defaults.
type SharedValues<'a> = Vec<(&'a str, (Option<BTreeSet<&'a str>>, bool))>;

/// One of the values tried for a setting that the paper leaves unspecified.
#[derive(Clone)]
struct EntryValue<'a> {
    /// The value as the figure's file writes it.
    text: &'a str,
    /// The values that this setting gives to its parameters. The parameters' names are left out, because they differ
    /// between the schemes of different figures. `None` if the figures have different defaults.
    meant: Option<BTreeSet<&'a str>>,
    /// Whether each figure keeps its own default.
    own: bool,
}

impl<'a> EntryValue<'a> {
    fn of(entry: &'a SensitivityEntry, place: usize) -> EntryValue<'a> {
        let text = &*entry.values[place];
        let meant = entry.settings[place].iter().map(String::as_str).collect();
        EntryValue { text, meant: Some(meant), own: place == 0 }
    }
}

fn best_of(paper: &str, varied: &[VariedFigure]) -> Paper {
    let figures: Vec<&Sensitivity> = varied
        .iter()
        .filter(|done| paper_of(done) == paper)
        .filter_map(|done| done.figure.unsaid.as_ref())
        .collect();
    let mut candidates: Vec<(EntryValues<'_>, usize)> = vec![(EntryValues::new(), 0)];
    for (number, figure) in figures.iter().enumerate() {
        let later: BTreeSet<&str> = figures[number + 1..].iter().flat_map(|figure| whats(figure)).collect();
        // Only the best of the candidates with equal shared values is kept, which limits the number of candidates.
        let mut joined: BTreeMap<SharedValues<'_>, (EntryValues<'_>, usize)> = BTreeMap::new();
        for (values, holds) in &candidates {
            for setup in &figure.setups {
                let Some(values) = with_setup(values, figure, setup) else { continue };
                let holds = holds + setup.holds();
                let shared = values.iter().filter(|(what, _)| later.contains(*what));
                let shared = shared.map(|(what, said)| (*what, (said.meant.clone(), said.own))).collect();
                let worth =
                    |values: &EntryValues<'_>, holds: usize| (holds, std::cmp::Reverse(changed(values)));
                match joined.get_mut(&shared) {
                    Some(best) if worth(&best.0, best.1) >= worth(&values, holds) => {}
                    Some(best) => *best = (values, holds),
                    None => drop(joined.insert(shared, (values, holds))),
                }
            }
        }
        candidates = joined.into_values().collect();
    }
    let (values, holds) = candidates
        .into_iter()
        .max_by_key(|(values, holds)| (*holds, std::cmp::Reverse(changed(values))))
        .unwrap_or_default();
    let mut seen = BTreeSet::new();
    let mut each = figures.iter().flat_map(|figure| whats(figure).collect::<BTreeSet<_>>());
    let shares = each.any(|what| !seen.insert(what));
    let words: Vec<String> = values
        .iter()
        .filter(|(_, said)| !said.own)
        .map(|(what, said)| format!("{what}: {}", said.text))
        .collect();
    Paper {
        paper: paper.to_owned(),
        figures: figures.len(),
        claims: figures
            .iter()
            .filter_map(|figure| figure.setups.first())
            .map(|setup| setup.claims.len())
            .sum(),
        holds_by_default: figures
            .iter()
            .filter_map(|figure| figure.setups.first())
            .map(SetupRow::holds)
            .sum(),
        holds,
        shares,
        setup: if words.is_empty() { "the figures' own".to_owned() } else { words.join("; ") },
    }
}

fn whats(figure: &Sensitivity) -> impl Iterator<Item = &str> {
    figure.entries.iter().filter(|entry| entry.varied).map(|entry| &*entry.what)
}

fn changed(values: &EntryValues<'_>) -> usize {
    values.values().filter(|said| !said.own).count()
}

/// The values combined with the values of a figure's setup. The result is `None` if the two values of a setting
/// disagree. The default value of a figure agrees with the default value of another figure, even if the two differ.
fn with_setup<'a>(
    values: &EntryValues<'a>,
    figure: &'a Sensitivity,
    setup: &SetupRow,
) -> Option<EntryValues<'a>> {
    let mut values = values.clone();
    for (entry, &place) in figure.entries.iter().zip(&setup.choice).filter(|(entry, _)| entry.varied) {
        let said = EntryValue::of(entry, place);
        match values.get_mut(&*entry.what) {
            Some(there) if there.own && said.own => {
                there.meant = there.meant.take().filter(|meant| Some(meant) == said.meant.as_ref());
            }
            Some(there) if there.meant != said.meant => return None,
            Some(there) if !there.own => {}
            _ => drop(values.insert(&entry.what, said)),
        }
    }
    Some(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_results::{ClaimResult, ClaimValue, Outcome};

    /// A figure in which each of the settings `whats` has two values. For each setup, `holds` has the choice of values
    /// and the number of the figure's four claims that hold.
    fn varied(id: &str, whats: &[&str], holds: &[(&[usize], usize)]) -> VariedFigure {
        let result = |holds| ClaimResult::Evaluated {
            measured: ClaimValue::Number(1.0),
            outcome: if holds { Outcome::Holds } else { Outcome::Differs },
        };
        let setup = |(choice, holds): &(&[usize], usize)| SetupRow {
            choice: choice.to_vec(),
            claims: (0..4).map(|claim| result(claim < *holds)).collect(),
            failed_runs: 0,
        };
        let entry = |what: &&str| SensitivityEntry {
            what: (*what).to_owned(),
            because: String::new(),
            parameters: vec![],
            values: vec!["one".into(), "two".into()],
            settings: vec![vec!["one".into()], vec!["two".into()]],
            varied: true,
        };
        let unsaid = Sensitivity {
            entries: whats.iter().map(entry).collect(),
            together: true,
            most_runs_together: 256,
            setups: holds.iter().map(setup).collect(),
        };
        let figure = results::Figure {
            id: id.into(),
            title: String::new(),
            paper: String::new(),
            figure: String::new(),
            scale: "quick".into(),
            sizes: String::new(),
            assumptions: vec![],
            plots: vec![],
            claims: vec![],
            unsaid: Some(unsaid),
        };
        let folder = PathBuf::new();
        VariedFigure {
            figure,
            folder,
            digest: String::new(),
            runs: 0,
            simulated: 0,
            wall_s: 0.0,
            failed: vec![],
            run_warnings: vec![],
        }
    }

    #[test]
    fn a_papers_figures_share_what_they_name_alike() {
        let all = [
            // By itself, figure 1 would choose the second payload, under which no claim of figure 2 holds.
            varied("dcp/figure-1", &["payload"], &[(&[0], 2), (&[1], 3)]),
            varied(
                "dcp/figure-2",
                &["payload", "queue"],
                &[(&[0, 0], 2), (&[0, 1], 4), (&[1, 0], 0), (&[1, 1], 0)],
            ),
            varied("reps/figure-7", &["payload"], &[(&[0], 1), (&[1], 1)]),
        ];
        let papers = papers(&all);
        let of = |paper: &Paper| {
            (paper.paper.clone(), paper.figures, paper.claims, paper.holds_by_default, paper.holds)
        };
        assert_eq!(of(&papers[0]), ("dcp".to_owned(), 2, 8, 4, 6));
        assert_eq!(papers[0].setup, "queue: two");
        assert_eq!(
            papers[0].sentence(),
            "dcp: of 8 claims in 2 figures most hold together, 6, under queue: two. Under the figures' own set-ups: 4."
        );
        assert_eq!(of(&papers[1]), ("reps".to_owned(), 1, 4, 1, 1));
        assert_eq!(papers[1].setup, "the figures' own");
    }

    /// Two figures with different schemes may implement a setting by different parameters with different defaults.
    #[test]
    fn figures_share_a_value_whatever_its_parameters() {
        let mut all = [
            varied("dcp/figure-1", &["buffer"], &[(&[0], 1), (&[1], 3)]),
            varied("dcp/figure-2", &["buffer"], &[(&[0], 2), (&[1], 1)]),
        ];
        let mut says = |figure: usize, parameters: &[&str], values: [&str; 2], settings: [&[&str]; 2]| {
            let entry = &mut all[figure].figure.unsaid.as_mut().unwrap().entries[0];
            entry.parameters = parameters.iter().map(ToString::to_string).collect();
            entry.values = values.map(str::to_owned).to_vec();
            entry.settings = settings.map(|all| all.iter().map(ToString::to_string).collect()).to_vec();
        };
        says(0, &["*.a"], ["1MB", "2MB"], [&["1MB"], &["2MB"]]);
        let texts = ["x.a = 3MB, y.a = [1, 2]", "x.a = 2MB, y.a = 2MB"];
        says(1, &["x.a", "y.a"], texts, [&["3MB", "[1, 2]"], &["2MB", "2MB"]]);
        let papers = papers(&all);
        assert_eq!((papers[0].holds_by_default, papers[0].holds), (3, 4));
        assert_eq!(papers[0].setup, "buffer: 2MB");
    }

    fn of_buffers(id: &str, values: [&str; 2], holds: [usize; 2]) -> VariedFigure {
        let mut varied = varied(id, &["buffer"], &[(&[0], holds[0]), (&[1], holds[1])]);
        let entry = &mut varied.figure.unsaid.as_mut().unwrap().entries[0];
        entry.values = values.map(str::to_owned).to_vec();
        entry.settings = values.map(|value| vec![value.to_owned()]).to_vec();
        varied
    }

    #[test]
    fn defaults_are_kept_beside_a_better_value_that_a_later_figure_has_not() {
        let papers = papers(&[
            of_buffers("dcp/figure-1", ["1MB", "2MB"], [2, 0]),
            of_buffers("dcp/figure-2", ["2MB", "1MB"], [2, 4]),
            of_buffers("dcp/figure-3", ["3MB", "4MB"], [2, 0]),
        ]);
        assert_eq!((papers[0].holds_by_default, papers[0].holds), (6, 6));
        assert_eq!(papers[0].setup, "the figures' own");
    }

    #[test]
    fn figures_with_different_defaults_have_no_value_in_common() {
        let papers = papers(&[
            of_buffers("dcp/figure-1", ["1MB", "4MB"], [2, 0]),
            of_buffers("dcp/figure-2", ["2MB", "5MB"], [2, 0]),
            of_buffers("dcp/figure-3", ["3MB", "1MB"], [0, 4]),
        ]);
        assert_eq!((papers[0].holds_by_default, papers[0].holds), (4, 4));
        assert_eq!(papers[0].setup, "the figures' own");
    }

    #[test]
    fn figures_that_share_nothing_are_not_said_to_hold_together() {
        let of = |holds: [usize; 2]| {
            papers(&[
                varied("dcp/figure-1", &["payload"], &[(&[0], 0), (&[1], holds[0])]),
                varied("dcp/figure-2", &["queue"], &[(&[0], 0), (&[1], holds[1])]),
            ])
        };
        assert_eq!(of([0, 0])[0].sentence(), "dcp: of 8 claims in 2 figures none holds under any set-up.");
        let apart = of([2, 1])[0].sentence();
        assert!(
            apart.contains("which vary nothing in common, 3 hold with the best set-up of each"),
            "{apart}"
        );
    }
}
