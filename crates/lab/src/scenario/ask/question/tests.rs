use super::*;
use crate::scenario::ask::bisection::{Answer, Search};

const HEAD: &str = "schemes = [\"reps\"]\n[topology]\nkind = \"single-switch\"\nhosts = 4\nlink = \"100Gbps\"\n\
                        [workload]\nkind = \"permutation\"\nbytes = \"1MB\"\n";

fn read(question: &str) -> Result<Find, Diagnostic> {
    read_find("f.toml", &format!("{HEAD}[find]\n{question}\n"), &Overrides::default())
}

fn find(parameter: &str, values: &str) -> Find {
    read(&format!("parameter = \"{parameter}\"\n{values}\nwhere = \"drops(scheme) == 0\"")).unwrap()
}

/// The outcome of a search with the condition `holds`: the answer, the number of values tried, and the
/// contradictions.
fn search(find: &Find, holds: impl Fn(&toml::Value) -> bool) -> (Answer, usize, Vec<(toml::Value, bool)>) {
    let mut search = Search::new(find);
    while let Some((_, value)) = search.next() {
        let truth = holds(&value);
        search.tell(truth);
    }
    (search.answer().unwrap(), search.tried().count(), search.contradictions())
}

fn bytes(value: &toml::Value) -> u64 {
    value.as_str().unwrap().parse::<Bytes>().unwrap().0
}

#[test]
fn a_range_of_sizes_is_halved_to_the_resolution() {
    let find = find("*.fabric.queue", "smallest = [\"16KB\", \"8MB\"]");
    for threshold in [16_001, 20_000, 123_456, 1_000_000, 7_900_000] {
        let (answer, tried, wrong) = search(&find, |value| bytes(value) >= threshold);
        let Answer::Bracket { value, fails } = answer else { panic!("{threshold}: {answer:?}") };
        let (value, fails) = (bytes(&value), bytes(&fails));
        assert!(fails < threshold && threshold <= value, "{fails} {threshold} {value}");
        assert!(value as f64 <= 1.021 * fails as f64, "{fails} {value}");
        assert!(tried <= 18 && wrong.is_empty(), "{tried}");
    }
}

#[test]
fn the_largest_number_is_found_from_the_other_side() {
    let find = find("workload.load", "largest = [0.1, 0.9]\nresolution = 0.01");
    let (answer, _, wrong) = search(&find, |value| value.as_float().unwrap() <= 0.6543);
    let Answer::Bracket { value, fails } = answer else { panic!("{answer:?}") };
    let (value, fails) = (value.as_float().unwrap(), fails.as_float().unwrap());
    assert!(value <= 0.6543 && 0.6543 < fails && fails < 1.011 * value, "{value} {fails}");
    assert_eq!(wrong, []);
}

#[test]
fn whole_numbers_and_lists_are_exact() {
    let whole = find("workload.degree", "largest = [1, 100]");
    let (answer, ..) = search(&whole, |value| value.as_integer().unwrap() <= 7);
    assert_eq!(answer, Answer::Bracket { value: 7.into(), fails: 8.into() });
    let list = find("topology.link", "smallest = [\"100Gbps\", \"200Gbps\", \"400Gbps\", \"800Gbps\"]");
    let (answer, ..) = search(&list, |value| ["400Gbps", "800Gbps"].contains(&value.as_str().unwrap()));
    assert_eq!(answer, Answer::Bracket { value: "400Gbps".into(), fails: "200Gbps".into() });
}

#[test]
fn values_may_begin_at_0_or_below() {
    let list = find("workload.degree", "smallest = [-1, 0, 1]");
    let (answer, ..) = search(&list, |value| value.as_integer().unwrap() >= 0);
    assert_eq!(answer, Answer::Bracket { value: 0.into(), fails: (-1).into() });
    let range = find("*.fabric.nic_jitter", "smallest = [\"0ns\", \"1us\"]");
    assert_eq!(range.ends(), ["0ns".into(), "1us".into()]);
}

#[test]
fn ends_that_answer_alike_are_told() {
    let find = find("*.fabric.queue", "smallest = [\"16KB\", \"8MB\"]");
    assert_eq!(search(&find, |_| true), (Answer::Everywhere, 2, vec![]));
    // The search tries both ends and seven values between them.
    assert_eq!(search(&find, |_| false), (Answer::Nowhere, 9, vec![]));
    assert_eq!(search(&find, |value| bytes(value) < 100_000), (Answer::Backwards, 2, vec![]));
    assert_eq!(find.wider(true)[0], ["8MB".into(), "80000KB".into()]);
    assert_eq!(find.wider(false)[0], ["1.6KB".into(), "16KB".into()]);
    let below = |ends: &str| self::find("workload.degree", &format!("smallest = {ends}"));
    assert_eq!(
        below("[-5, 5]").wider(false),
        [[-50, -5], [-25, -5], [-10, -5]].map(|ends| ends.map(Into::into))
    );
    assert_eq!(below("[-5, 5]").wider(true)[0], [5.into(), 50.into()]);
    assert_eq!(
        below("[-50, -20]").wider(true),
        [[-20, -2], [-20, -4], [-20, -10]].map(|ends| ends.map(Into::into))
    );
    assert_eq!(below("[-50, -20]").wider(false)[0], [(-500).into(), (-50).into()]);
}

#[test]
fn what_holds_between_the_ends_only_is_found() {
    for (wanted, low, high) in
        [("smallest", 100_000, 300_000), ("largest", 100_000, 300_000), ("smallest", 30_000, 60_000)]
    {
        let find = find("*.fabric.queue", &format!("{wanted} = [\"16KB\", \"8MB\"]"));
        let (answer, tried, wrong) = search(&find, |value| (low..=high).contains(&bytes(value)));
        let Answer::Bracket { value, fails } = answer else { panic!("{low}: {answer:?}") };
        let (edge, value, fails) =
            (if wanted == "smallest" { low } else { high }, bytes(&value), bytes(&fails));
        assert!(
            (low..=high).contains(&value) && value.abs_diff(edge) * 40 < edge,
            "{wanted} {edge}: {value}"
        );
        assert!(
            !(low..=high).contains(&fails) && fails.abs_diff(edge) * 40 < edge,
            "{wanted} {edge}: {fails}"
        );
        let far = if wanted == "smallest" { "8MB" } else { "16KB" };
        assert!(wrong.contains(&(far.into(), false)) && tried < 20, "{tried}: {wrong:?}");
    }
    // Every value of a list is tried.
    for inside in ["32KB", "64KB", "128KB"] {
        let list = find("*.fabric.queue", "smallest = [\"16KB\", \"32KB\", \"64KB\", \"128KB\", \"8MB\"]");
        let (answer, ..) = search(&list, |value| value.as_str() == Some(inside));
        let Answer::Bracket { value, .. } = answer else { panic!("{inside}: {answer:?}") };
        assert_eq!(value, inside.into());
    }
}

#[test]
fn numbers_without_a_unit_get_it_all() {
    let find = find("*.fabric.queue", "smallest = [16, 8000]");
    let said = find.scenario(&find.ends(), &crate::scenario::input::NoFiles).unwrap_err().to_string();
    assert!(said.ends_with("\n  write: smallest = [\"16B\", \"8000B\"]"), "{said}");
    let none = read(
        "parameter = \"*.fabric.pfc.buffer\"\nsmallest = [\"1MB\", \"8MB\"]\nwhere = \"drops(scheme) == 0\"",
    );
    let none = none.unwrap();
    let said = none.scenario(&none.ends(), &crate::scenario::input::NoFiles).unwrap_err().to_string();
    assert!(said.ends_with("\n  write: parameter = \"*.fabric.queue\""), "{said}");
}

#[test]
fn a_value_that_is_refused_is_mended_in_its_range() {
    let find = find("*.fabric.ecn_pmax", "smallest = [0.5, 2.0]");
    let said = find.scenario(&find.ends(), &crate::scenario::input::NoFiles).unwrap_err().to_string();
    assert!(said.starts_with("f.toml:11:18: "), "{said}");
    assert!(said.contains("\n  write: smallest = [0.5, 1"), "{said}");
}

#[test]
fn what_is_not_monotone_shows_beside_the_answer() {
    let find = find("*.fabric.queue", "smallest = [\"16KB\", \"8MB\"]");
    let holds = |value: &toml::Value| matches!(bytes(value), 100_000..=500_000 | 7_000_000..);
    let (answer, _, wrong) = search(&find, holds);
    let Answer::Bracket { .. } = answer else { panic!("{answer:?}") };
    assert!(!wrong.is_empty());
    // A gap close to the answer is found too.
    let holds = |value: &toml::Value| matches!(bytes(value), 100_000..=112_000 | 130_000..);
    let (answer, _, wrong) = search(&find, holds);
    let Answer::Bracket { value, .. } = answer else { panic!("{answer:?}") };
    assert!(bytes(&value) < 103_000 && wrong.len() == 1 && !wrong[0].1, "{value}: {wrong:?}");
}

#[test]
fn the_scenario_has_the_value_and_is_labelled_by_it() {
    let find = find("*.fabric.queue", "smallest = [\"16KB\", \"8MB\"]");
    let scenario = find.scenario(&["64KB".into()], &crate::scenario::input::NoFiles).unwrap();
    let points = scenario.points().unwrap();
    assert_eq!(points[0].sweep["*.fabric.queue"].to_string(), "64KB");
    assert_eq!(points[0].scheme.fabric.queue.unwrap().to_string(), "64KB");
}

#[test]
fn wrong_questions_have_a_place_and_a_cure() {
    let good = "parameter = \"*.fabric.queue\"\nwhere = \"drops(scheme) == 0\"\n";
    for (question, expected) in [
        ("parameter = \"*.fabric.queue\"", "[find] has no \"where\""),
        (good, "[find] has neither smallest nor largest\n  write: smallest = [\"16KB\", \"8MB\"]"),
        (&format!("{good}smallest = \"1MB\""), "f.toml:12:1: smallest must be a list"),
        (
            &format!("{good}largest = [\"8MB\", \"16KB\"]"),
            "the ends of a range rise, but \"16KB\" is not above \"8MB\"",
        ),
        (
            &format!("{good}largest = [\"64KB\", \"16KB\", \"1MB\", \"64KB\"]"),
            "\n  write: largest = [\"16KB\", \"64KB\", \"1MB\"]",
        ),
        // Equal values count once: two equal values are not a range, and two different ones are not a list.
        (&format!("{good}largest = [\"1MB\", \"1000KB\"]"), "\n  write: largest = [\"16KB\", \"8MB\"]"),
        (
            &format!("{good}largest = [\"64KB\", \"16KB\", \"64KB\"]"),
            "\n  write: largest = [\"16KB\", \"8MB\"]",
        ),
        (&format!("{good}largest = [0, 8, 4]"), "\n  write: largest = [0, 4, 8]"),
        (&format!("{good}largest = [-1, 1, 0]"), "\n  write: largest = [-1, 0, 1]"),
        (
            &format!("{good}largest = [\"0ns\", \"5us\", \"500ns\"]"),
            "\n  write: largest = [\"0ns\", \"500ns\", \"5us\"]",
        ),
        (&format!("{good}largest = [-3, -5]"), "\n  write: largest = [-5, -3]"),
        (
            &format!("{good}largest = [\"8MB\", \"16us\"]"),
            "\"8MB\" and \"16us\" are no two quantities of one kind",
        ),
        (&format!("{good}largest = [1, 2]\nsmallest = [1, 2]"), "smallest and largest exclude each other"),
        (&format!("{good}largest = [1, 2]\nuntil = 5"), "unknown key \"until\" in [find]"),
        (&format!("{good}largest = [1, 2]\nresolution = 2"), "resolution must be between"),
        (
            &format!("{good}largest = [1, 2]\n[sweep]\n\"topology.hosts\" = [4, 8]"),
            "[find] and sweep exclude each other",
        ),
    ] {
        let said = read(question).unwrap_err().to_string();
        assert!(said.contains(expected), "{said}");
    }
    let none = read_find("f.toml", HEAD, &Overrides::default()).unwrap_err().to_string();
    assert!(none.contains("the scenario has no [find]\n  write: [find] and below it"), "{none}");
}
