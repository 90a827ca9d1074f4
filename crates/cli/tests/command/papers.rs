//! Tests of the papers' pages. A paper has a page with counts and a page with details. The counts agree with the tables
//! of claims in the details, and these tables have every claim of the figures.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const PAPERS: [&str; 5] = ["dcp", "reps", "strack", "themis-longhaul", "themis-spraying"];
const OUTCOMES: [&str; 3] = ["holds", "direction-only", "differs"];
/// The number of lines on one screen.
const SCREEN: usize = 45;

/// Claims with their outcomes, for each figure.
type Claims = BTreeMap<String, Vec<(String, String)>>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page(name: &str) -> String {
    fs::read_to_string(root().join(format!("docs/papers/{name}.md"))).unwrap()
}

fn cells(row: &str) -> Vec<&str> {
    row.trim().trim_matches('|').split('|').map(str::trim).collect()
}

/// A table of a page: the heading above it, the names of its columns in lower case, and its rows.
type PageTable<'a> = (String, Vec<String>, Vec<Vec<&'a str>>);

fn tables(text: &str) -> Vec<PageTable<'_>> {
    let (mut found, mut heading, mut in_table) = (Vec::new(), String::new(), false);
    for line in text.lines() {
        if line.starts_with('#') {
            heading = line.to_owned();
        }
        match (line.starts_with('|'), in_table) {
            (true, false) => {
                let columns = cells(line).into_iter().map(str::to_lowercase).collect();
                found.push((heading.clone(), columns, Vec::new()));
            }
            (true, true) if line.trim_matches(['|', '-', ' ']).is_empty() => {}
            (true, true) => found.last_mut().unwrap().2.push(cells(line)),
            (false, _) => {}
        }
        in_table = line.starts_with('|');
    }
    found
}

/// The claims in the section about the paper's own sizes, on the page with the details of `paper`.
fn claims_of_details(paper: &str) -> Claims {
    let text = page(&format!("{paper}-details"));
    let start = text.find("\n## At the paper's own sizes").unwrap_or_else(|| panic!("{paper}: no section"));
    let section = &text[start + 1..];
    let section = section.find("\n## ").map_or(section, |end| &section[..end]);
    let mut claims = Claims::new();
    for (heading, columns, rows) in tables(section) {
        let column = |name: &str| columns.iter().rposition(|column| column == name);
        let (Some(claim), Some(outcome)) = (column("claim"), column("outcome")) else { continue };
        for row in rows {
            let figure = match column("figure") {
                Some(figure) => row[figure],
                None => heading.trim_start_matches("### Figure ").split(' ').next().unwrap(),
            };
            // A table about another subject has other text in the column `outcome`.
            if OUTCOMES.contains(&row[outcome]) {
                let claim = (row[claim].to_owned(), row[outcome].to_owned());
                claims.entry(figure.to_owned()).or_default().push(claim);
            }
        }
    }
    claims
}

fn claims_of_figures(paper: &str) -> BTreeMap<String, Vec<String>> {
    let mut claims = BTreeMap::new();
    for entry in fs::read_dir(root().join("figures").join(paper)).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "toml") {
            continue;
        }
        let figure: toml::Table = fs::read_to_string(&path).unwrap().parse().unwrap();
        let id = figure["id"].as_str().unwrap().rsplit('/').next().unwrap().trim_start_matches("figure-");
        let mut says: Vec<String> = figure["claim"]
            .as_array()
            .unwrap()
            .iter()
            .map(|claim| claim["says"].as_str().unwrap().to_owned())
            .collect();
        says.sort();
        claims.insert(id.to_owned(), says);
    }
    claims
}

#[test]
fn details_have_an_outcome_for_each_claim_of_the_figures() {
    for paper in PAPERS {
        let figures = claims_of_figures(paper);
        let details = claims_of_details(paper);
        for (figure, says) in &figures {
            let rows = details.get(figure).into_iter().flatten();
            let mut here: Vec<String> = rows.map(|(claim, _)| claim.clone()).collect();
            here.sort();
            assert_eq!(&here, says, "{paper}, figure {figure}");
        }
        assert_eq!(details.len(), figures.len(), "{paper}: a figure that is not there");
    }
}

#[test]
fn first_screens_count_what_the_details_have() {
    for paper in PAPERS {
        let text = page(paper);
        assert!(text.lines().count() <= SCREEN, "{paper}: {} lines", text.lines().count());
        let details = claims_of_details(paper);
        let tables = tables(&text);
        let [(_, columns, rows)] = &tables[..] else { panic!("{paper}: {} tables", tables.len()) };
        assert_eq!(columns[1..], ["figures", "claims", "held", "direction only", "differ"], "{paper}");
        let numbers = |row: &[&str]| -> Vec<usize> {
            row[2..].iter().map(|cell| cell.parse().unwrap_or_else(|_| panic!("{paper}: {cell}"))).collect()
        };
        let counted = |figures: &[&str]| -> Vec<usize> {
            let claims = || {
                let named = figures.iter().map(|figure| {
                    details.get(*figure).unwrap_or_else(|| panic!("{paper}: no figure {figure}"))
                });
                named.flatten()
            };
            let with = |outcome: &str| claims().filter(|(_, is)| is == outcome).count();
            [claims().count()].into_iter().chain(OUTCOMES.map(with)).collect()
        };
        let (all, topics) = rows.split_last().unwrap();
        let mut named = Vec::new();
        for row in topics {
            let figures: Vec<&str> = row[1].split(", ").collect();
            assert_eq!(numbers(row), counted(&figures), "{paper}: {}", row[0]);
            named.extend(figures);
        }
        assert_eq!(numbers(all), counted(&details.keys().map(String::as_str).collect::<Vec<_>>()), "{paper}");
        named.sort_unstable();
        assert!(named.iter().copied().eq(details.keys().map(String::as_str)), "{paper}: {named:?}");
    }
}
