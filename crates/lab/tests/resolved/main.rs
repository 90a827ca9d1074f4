//! The tests compare the resolved schemes of all figures but the league's, at both scales, with `figures.toml`. A
//! change of a default or a setup thus cannot change a figure unnoticed. The file also has each built-in scheme, resolved
//! on the setup of its paper.
//!
//! A parameter that is new since the recording may be added. A recorded parameter may not change, disappear, or
//! appear where it was not. With `ANABRANCH_RECORD=1` the file is written again, for new figures and for intended
//! changes.

mod faults;
mod round_trip;

use anabranch_lab::scenario::{Figure, Files, Scale, Scheme, read_figure, scheme_on, schemes};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

const PARTS: [&str; 4] = ["transport", "cc", "lb", "fabric"];

/// A scheme: its number of queue pairs per connection, and its parts as inline tables.
type Form = (i64, [String; 4]);

/// The forms of each scheme, by figure and scale. A scheme has several forms if a sweep changes its parameters.
type Forms = BTreeMap<String, BTreeMap<String, Vec<Form>>>;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

struct Beside(PathBuf);

impl Files for Beside {
    fn read(&self, name: &str) -> Result<String, String> {
        std::fs::read_to_string(self.0.join(name)).map_err(|error| error.to_string())
    }
}

fn figures() -> Vec<(String, Figure)> {
    let mut found = Vec::new();
    for paper in std::fs::read_dir(folder("figures")).unwrap() {
        let paper = paper.unwrap().path();
        // The league uses the setup `common`, which may change. The catalogue is not a folder.
        if !paper.is_dir() || paper.ends_with("league") {
            continue;
        }
        for file in std::fs::read_dir(&paper).unwrap() {
            let file = file.unwrap().path();
            // A folder may also contain graphs that the figures use.
            if file.extension().is_none_or(|extension| extension != "toml") {
                continue;
            }
            let text = std::fs::read_to_string(&file).unwrap();
            for (scale, name) in [(Scale::Quick, "quick"), (Scale::Paper, "paper")] {
                let figure =
                    read_figure(&file.display().to_string(), &text, scale, &Beside(paper.clone())).unwrap();
                found.push((format!("{} {name}", figure.id), figure));
            }
        }
    }
    found
}

fn form(scheme: &Scheme) -> Form {
    let whole = Table::try_from(scheme).unwrap();
    (whole["qps"].as_integer().unwrap(), PARTS.map(|part| whole[part].to_string()))
}

fn paper_of(scheme: &str) -> &'static str {
    match scheme {
        "reps" | "ops" | "ecmp" | "plb" | "flowlet" | "bitmap" | "mprdma-lb" | "mptcp"
        | "mptcp-one-window" | "adaptive-roce" | "reps-carry" | "reps-reuse" | "eqds" => "reps-paper",
        "strack" | "strack-ops" | "rocev2" | "rocev2-4qp" => "strack-paper",
        "themis-spraying" | "conweave" | "sr-ecmp" | "sr-ar" | "sr-spray" | "to-ar" => {
            "themis-spraying-paper"
        }
        "dcqcn" | "themis-longhaul" | "pnp-only" | "trp-only" | "annulus" | "bicc" => "themis-longhaul-paper",
        "hpcc" => "hpcc-paper",
        scheme if scheme.starts_with("uet-") => "uet-htsim",
        scheme if scheme.starts_with("mrc") => "mrc",
        _ => "dcp-paper",
    }
}

fn forms() -> Forms {
    let mut all = Forms::new();
    for (name, figure) in figures() {
        let Some(scenario) = figure.scenario else { continue };
        let of_figure = all.entry(name).or_default();
        for point in scenario.points().unwrap() {
            let forms = of_figure.entry(point.scheme.name.clone()).or_default();
            let form = form(&point.scheme);
            if !forms.contains(&form) {
                forms.push(form);
            }
        }
    }
    let alone = schemes().into_iter().map(|listing| scheme_on(listing.name, paper_of(listing.name)).unwrap());
    all.insert("alone".to_owned(), alone.map(|scheme| (scheme.name.clone(), vec![form(&scheme)])).collect());
    all
}

/// The contents of the file: each distinct part once, and each scheme as its number of queue pairs and the indices of
/// its parts.
fn written(forms: &Forms) -> String {
    let mut parts: [Vec<&str>; 4] = Default::default();
    let mut of_figures = String::new();
    for (figure, schemes) in forms {
        let _ = writeln!(of_figures, "\n[figures.{figure:?}]");
        for (scheme, forms) in schemes {
            let numbers: Vec<String> = forms
                .iter()
                .map(|(qps, texts)| {
                    let mut numbers = vec![qps.to_string()];
                    for (known, text) in parts.iter_mut().zip(texts) {
                        let place = known.iter().position(|other| other == text).unwrap_or_else(|| {
                            known.push(text);
                            known.len() - 1
                        });
                        numbers.push(place.to_string());
                    }
                    format!("[{}]", numbers.join(", "))
                })
                .collect();
            let _ = writeln!(of_figures, "{scheme:?} = [{}]", numbers.join(", "));
        }
    }
    let mut text = "# Written by the test beside it, with ANABRANCH_RECORD=1. A scheme is [queue pairs, transport, cc, lb, fabric].\n".to_owned();
    for (name, parts) in PARTS.iter().zip(parts) {
        let _ = writeln!(text, "{name} = [");
        for part in parts {
            let _ = writeln!(text, "    {part},");
        }
        text.push_str("]\n");
    }
    text + &of_figures
}

/// The forms in the file, and the paths of all parameters in the file.
fn recorded(text: &str) -> (Forms, BTreeSet<String>) {
    let file: Table = toml::from_str(text).unwrap();
    let number = |value: &Value| value.as_integer().unwrap();
    let form = |numbers: &Value| -> Form {
        let numbers: Vec<i64> = numbers.as_array().unwrap().iter().map(number).collect();
        (numbers[0], std::array::from_fn(|i| file[PARTS[i]][numbers[i + 1] as usize].to_string()))
    };
    let forms = |schemes: &Value| {
        let schemes = schemes.as_table().unwrap().iter();
        schemes
            .map(|(name, forms)| (name.clone(), forms.as_array().unwrap().iter().map(form).collect()))
            .collect()
    };
    let figures = file["figures"].as_table().unwrap().iter();
    let known =
        PARTS.iter().flat_map(|part| file[*part].as_array().unwrap().iter().map(move |value| (*part, value)));
    let known = known.flat_map(|(part, value)| parameters(part, value).into_keys()).collect();
    (figures.map(|(figure, schemes)| (figure.clone(), forms(schemes))).collect(), known)
}

/// The parameters of a part, by path. Each path begins with the part and, if the part has one, its kind.
fn parameters(part: &str, value: &Value) -> BTreeMap<String, String> {
    fn collect(at: &str, value: &Value, found: &mut BTreeMap<String, String>) {
        match value {
            Value::Table(fields) => {
                fields.iter().for_each(|(key, value)| collect(&format!("{at}.{key}"), value, found));
            }
            _ => {
                found.insert(at.to_owned(), value.to_string());
            }
        }
    }
    let kind = value.get("kind").and_then(Value::as_str).map_or_else(String::new, |kind| format!(" {kind}"));
    let mut found = BTreeMap::new();
    collect(&format!("{part}{kind}"), value, &mut found);
    found
}

fn differences(before: &Form, now: &Form, known: &BTreeSet<String>) -> Vec<String> {
    let mut found = Vec::new();
    if before.0 != now.0 {
        found.push(format!("qps: {} before, {} now", before.0, now.0));
    }
    let read = |text: &str| toml::from_str::<Table>(&format!("part = {text}")).unwrap()["part"].clone();
    for (part, (before, now)) in PARTS.iter().zip(before.1.iter().zip(&now.1)) {
        let (before, now) = (parameters(part, &read(before)), parameters(part, &read(now)));
        for (path, value) in &before {
            match now.get(path) {
                Some(new) if new == value => {}
                Some(new) => found.push(format!("{path}: {value} before, {new} now")),
                None => found.push(format!("{path}: {value} before, none now")),
            }
        }
        for (path, value) in
            now.iter().filter(|(path, _)| known.contains(*path) && !before.contains_key(*path))
        {
            found.push(format!("{path}: none before, {value} now"));
        }
    }
    found
}

#[test]
fn the_schemes_of_figures_resolve_to_what_they_did() {
    let now = forms();
    let file = folder("crates/lab/tests/resolved/figures.toml");
    if std::env::var_os("ANABRANCH_RECORD").is_some() {
        std::fs::write(&file, written(&now)).unwrap();
    }
    let (before, known) = recorded(&std::fs::read_to_string(&file).unwrap());
    let mut wrong = Vec::new();
    for (figure, schemes) in &before {
        for (scheme, forms) in schemes {
            let here = now.get(figure).and_then(|schemes| schemes.get(scheme)).map_or(&[][..], Vec::as_slice);
            if here.len() != forms.len() {
                wrong.push(format!("{figure}, {scheme}: {} forms before, {} now", forms.len(), here.len()));
            }
            for (before, now) in forms.iter().zip(here) {
                let of_scheme = differences(before, now, &known);
                wrong.extend(of_scheme.into_iter().map(|words| format!("{figure}, {scheme}: {words}")));
            }
        }
    }
    for (figure, schemes) in &now {
        let new = |scheme: &&String| !before.get(figure).is_some_and(|schemes| schemes.contains_key(*scheme));
        wrong.extend(schemes.keys().filter(new).map(|scheme| format!("{figure}, {scheme}: not recorded")));
    }
    assert!(
        wrong.is_empty(),
        "{} differences (ANABRANCH_RECORD=1 records what is intended):\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn a_changed_lost_or_strange_parameter_is_a_difference_and_a_new_one_is_none() {
    let form = |cc: &str| -> Form { (1, ["{ kind = \"sack\" }", cc, "{}", "{}"].map(str::to_owned)) };
    let before = form("{ kind = \"dctcp\", decrease = 0.25 }");
    let known = ["cc dctcp.decrease", "cc dctcp.old"].map(str::to_owned).into();
    let differ = |cc: &str| differences(&before, &form(cc), &known);
    assert_eq!(differ("{ kind = \"dctcp\", decrease = 0.25, new = 1 }"), [""; 0]);
    assert_eq!(differ("{ kind = \"dctcp\", decrease = 0.5 }").len(), 1);
    assert_eq!(differ("{ kind = \"dctcp\" }").len(), 1);
    assert_eq!(differ("{ kind = \"dctcp\", decrease = 0.25, old = 1 }").len(), 1);
}
