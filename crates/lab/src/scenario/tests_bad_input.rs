//! Every kind of bad scenario, with the whole message: where, what, and what to write instead.

use super::bad_input_cases::CASES;
use super::bad_sweep_cases::SWEEPS;
use super::tests::{GOOD, folder, on};
use super::*;

#[test]
fn every_fault_has_its_place_and_its_cure() {
    let mut wrong = String::new();
    for (from, to, expected) in CASES.iter().chain(SWEEPS) {
        assert!(GOOD.contains(from), "{from}");
        let text = GOOD.replacen(from, to, 1);
        let read = read("perm.toml", &on("reps-paper", &text), &folder(), &Overrides::default());
        let error = read.and_then(|scenario| scenario.check()).expect_err(&text).to_string();
        if error != *expected {
            wrong += &format!("{to}\n--- said\n{error}\n--- expected\n{expected}\n\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

fn said(text: &str, over: &Overrides) -> String {
    read("s.toml", text, &folder(), over).and_then(|s| s.check()).expect_err(text).to_string()
}

#[test]
fn the_command_line_is_checked_too() {
    let schemes = |names: &[&str]| Overrides {
        schemes: names.iter().map(|name| (*name).to_owned()).collect(),
        ..Overrides::default()
    };
    assert_eq!(
        said(GOOD, &schemes(&["rep"])),
        "s.toml: unknown scheme \"rep\" on the command line\n  write: --scheme reps"
    );
    assert_eq!(
        said(GOOD, &schemes(&["ops", "ops"])),
        "s.toml: scheme \"ops\" is given twice on the command line\n  write: --scheme ops once"
    );
    let seeds = |seeds: &[u64]| Overrides { seeds: seeds.to_vec(), ..Overrides::default() };
    assert_eq!(
        said(GOOD, &seeds(&[7, 7])),
        "s.toml: seed 7 is given twice on the command line\n  write: --seed 7 once"
    );
    assert_eq!(
        said(GOOD, &seeds(&[u64::MAX])),
        "s.toml: seed 18446744073709551615 on the command line is too large\n  write: --seed 0 to 9223372036854775807"
    );
}

/// The hint for text that is not TOML, and what the message says of it.
#[test]
fn what_is_no_toml_is_answered_with_what_is() {
    for (from, to, part, help) in [
        ("hosts = 32", "hosts: 32", "", "hosts = 32"),
        ("hosts = 32", "hosts = 1,024", "", "hosts = 1024"),
        ("kind = \"fat-tree\"", "kind = fat-tree", "", "kind = \"fat-tree\""),
        ("hosts = 32", "hosts = 3%", "", "hosts = 0.03"),
        ("hosts = 32", "hosts = 32\nhosts = 64", "duplicate key \"hosts\", first in line 6", "it once"),
        ("hosts = 32", "tier = [\nhosts = 32", "the [ of line 6 is not closed", "a ] at its end"),
        ("seeds = [1, 2]", "seeds = [1, 2", "the [ of line 3 is not closed", "seeds = [1, 2]"),
    ] {
        assert!(GOOD.contains(from), "{from}");
        let said = said(&GOOD.replacen(from, to, 1), &Overrides::default());
        assert!(said.contains(part) && said.ends_with(&format!("\n  write: {help}")), "{said}");
    }
}

#[test]
fn a_fault_in_a_named_file_has_its_place_there() {
    let topology = "kind = \"fat-tree\"\nhosts = 32\nlink = \"400Gbps\"";
    let text = GOOD.replace(topology, "file = \"broken.topo\"");
    let error = read("s.toml", &text, &folder(), &Overrides::default()).unwrap_err();
    assert_eq!((error.file.as_str(), error.line), ("broken.topo", Some(3)), "{error}");
    assert!(error.to_string().to_lowercase().contains("podsize"), "{error}");
}

#[test]
fn a_figure_says_what_is_wrong_with_it() {
    let said = |text: &str| read_figure("f.toml", text, Scale::Quick, &folder()).expect_err(text).to_string();
    let head = "id = \"reps/fig-1\"\ntitle = \"t\"\n";
    assert_eq!(said("title = \"t\"\n"), "f.toml: the scenario has no \"id\"\n  write: id = \"reps/fig-2\"");
    assert_eq!(
        said(&format!("{head}[plt]\nkind = \"cdf\"\n")),
        "f.toml:3:2: unknown key \"plt\"\n  write: [plot] (did you mean \"plot\"?)"
    );
    assert_eq!(
        said(&format!("{head}[quick]\nseds = [1]\n")),
        "f.toml:4:1: unknown key \"seds\" in [quick]\n  write: seeds (did you mean \"seeds\"?)"
    );
    let claim = "[[claim]]\nsays = \"s\"\nsource = \"s\"\nmeasure = \"m\"\n";
    assert_eq!(
        said(&format!("{head}{claim}kind = \"range\"\npaper = [2, 1]\n")),
        "f.toml:8:1: a range has a smallest and a largest number above 0\n  write: paper = [1.1, 1.4]"
    );
    assert_eq!(
        said(&format!("{head}{claim}kind = \"ration\"\npaper = 2\n")),
        "f.toml:7:1: unknown kind \"ration\"\n  write: kind = \"ratio\""
    );
    assert_eq!(
        said(&format!("{head}{claim}kind = \"order\"\npaper = [\"reps\"]\n")),
        "f.toml:8:1: an order has two names or more, the smallest first\n  write: paper = [\"reps\", \"ops\"]"
    );
    assert_eq!(
        said(&format!("{head}{claim}kind = \"zero\"\nwhy = \"a\"\nfound = \"b\"\n")),
        "f.toml:9:1: why and found are two names for the same\n  write: why = \"...\", and no found"
    );
    assert_eq!(
        said(&format!(
            "{head}[model]\nkind = \"balls-into-bins\"\nports = [8]\nrounds = 0\nvariants = [\"ops\"]\n"
        )),
        "f.toml:6:1: rounds must be 1 or more, not 0\n  write: rounds = 1"
    );
}
