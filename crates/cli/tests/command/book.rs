//! Tests of the README and the book: the examples work, and the targets of the links exist.

use crate::common::Place;
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Scenarios into which the fragments of the book are inserted, by the name after `toml,on=`.
const BASES: [(&str, &str); 7] = [
    (
        "permutation",
        r#"
        schemes = ["reps", "irn-ar"]
        topology = { kind = "fat-tree", hosts = 64, hosts_per_tor = 8, link = "400Gbps" }
        workload = { kind = "permutation", bytes = "8MiB" }
        "#,
    ),
    (
        "fabric",
        r#"
        schemes = ["reps", "dcp"]
        topology = { kind = "fat-tree", hosts = 64, hosts_per_tor = 8, link = "400Gbps" }
        "#,
    ),
    (
        "lossless",
        r#"
        schemes = ["rocev2", "rocev2-4qp"]
        topology = { kind = "fat-tree", hosts = 64, link = "400Gbps" }
        workload = { kind = "permutation", bytes = "1MiB" }
        "#,
    ),
    (
        "commodity",
        r#"
        schemes = ["ecmp", "sr-ecmp", "themis-spraying", "conweave"]
        topology = { kind = "fat-tree", hosts = 64, link = "400Gbps" }
        workload = { kind = "permutation", bytes = "1MiB" }
        "#,
    ),
    (
        "trimming",
        r#"
        schemes = ["dcp"]
        topology = { kind = "fat-tree", hosts = 64, link = "400Gbps" }
        workload = { kind = "permutation", bytes = "1MiB" }
        "#,
    ),
    (
        "planes",
        r#"
        schemes = ["reps"]
        topology = { kind = "multi-plane", servers = 4, link = "100Gbps" }
        workload = { kind = "permutation", bytes = "1MiB" }
        "#,
    ),
    (
        "long-haul",
        r#"
        schemes = ["dcqcn", "themis-longhaul"]
        topology = { kind = "cross-dc", tors = 2, leaves = 2, hosts_per_tor = 2, link = "100Gbps", wan_latency = "500us" }
        workload = { kind = "poisson", sizes = "websearch", load = 0.3, duration = "1ms" }
        "#,
    ),
];

struct Page {
    path: PathBuf,
    /// For each code block, the language with the options after it, and the text.
    code: Vec<(String, String)>,
    links: Vec<String>,
    anchors: BTreeSet<String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn pages() -> Vec<Page> {
    let mut paths = vec![root().join("README.md")];
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.extension().is_some_and(|end| end == "md") {
                true => paths.push(path),
                false if path.is_dir() => folders.push(path),
                false => {}
            }
        }
    }
    paths.sort();
    paths.into_iter().map(Page::read).collect()
}

impl Page {
    fn read(path: PathBuf) -> Page {
        let text = fs::read_to_string(&path).unwrap();
        let mut page = Page { path, code: Vec::new(), links: Vec::new(), anchors: BTreeSet::new() };
        let (mut in_code, mut heading) = (false, None::<String>);
        for event in Parser::new_ext(&text, Options::ENABLE_TABLES) {
            match event {
                Event::Start(Tag::CodeBlock(kind)) => {
                    let info = match kind {
                        CodeBlockKind::Fenced(info) => info.to_string(),
                        CodeBlockKind::Indented => String::new(),
                    };
                    page.code.push((info, String::new()));
                    in_code = true;
                }
                Event::End(TagEnd::CodeBlock) => in_code = false,
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    page.links.push(dest_url.to_string());
                }
                Event::Start(Tag::Heading { level, .. }) if level <= HeadingLevel::H6 => {
                    heading = Some(String::new());
                }
                Event::End(TagEnd::Heading(_)) => {
                    page.anchors.extend(heading.take().map(|text| anchor(&text)));
                }
                Event::Text(text) if in_code => page.code.last_mut().unwrap().1.push_str(&text),
                Event::Text(text) | Event::Code(text) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&text);
                    }
                }
                _ => {}
            }
        }
        page
    }

    fn name(&self) -> String {
        self.path.strip_prefix(root()).unwrap().display().to_string()
    }
}

/// The name that mdBook and code hosting sites give to a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

/// A fragment inserted into one of [`BASES`]. It replaces keys of the base.
fn on(base: &str, part: &str) -> String {
    let read = |text: &str| text.parse::<toml::Table>().unwrap_or_else(|error| panic!("{error}\n{text}"));
    let (_, base) = BASES.iter().find(|(name, _)| *name == base).unwrap_or_else(|| panic!("no base {base}"));
    let mut whole = read(base);
    whole.extend(read(part));
    whole.to_string()
}

#[test]
fn scenarios_of_the_book_are_accepted_without_a_warning() {
    let place = Place::new();
    let mut seen = BTreeMap::new();
    for page in pages() {
        for (info, text) in &page.code {
            if let Some((_, name)) = info.split_once(",file=") {
                place.write(name, text);
            }
            let Some(rest) = info.strip_prefix("toml") else { continue };
            let scenario = match rest.trim_start_matches(',') {
                "scenario" => text.clone(),
                "manifest" => {
                    manifest(text);
                    continue;
                }
                rest => match rest.strip_prefix("on=") {
                    Some(base) => on(base, text),
                    None => panic!("{}: say `toml,scenario` or `toml,on=...`:\n{text}", page.name()),
                },
            };
            place.write("shown.toml", &scenario);
            let checked = place.run(&["check", "shown.toml"]);
            assert_eq!(checked.code, Some(0), "{}:\n{scenario}\n{}", page.name(), checked.stderr);
            let warns = checked.stderr.contains("warning");
            assert!(!warns, "{}:\n{scenario}\n{}", page.name(), checked.stderr);
            *seen.entry(page.name()).or_insert(0) += 1;
        }
    }
    assert!(seen["README.md"] >= 1 && seen.values().sum::<usize>() > 15, "{seen:?}");
}

#[test]
fn the_output_in_the_readme_is_that_of_its_scenario() {
    let pages = pages();
    let readme = pages.iter().find(|page| page.name() == "README.md").unwrap();
    let (_, scenario) = readme.code.iter().find(|(info, _)| info == "toml,scenario").unwrap();
    let (_, shown) = readme.code.iter().find(|(_, text)| text.contains("run mine.toml")).unwrap();
    let (_, output) = shown.split_once("\n\n").unwrap();
    let lines = output.trim_end().lines().count();
    assert!((8..=16).contains(&lines), "an output that is read in ten seconds: {lines} lines");
    let place = Place::new();
    place.write("mine.toml", scenario);
    let printed = place.run(&["run", "mine.toml"]).expect(0).stdout;
    assert!(printed.contains(output.trim_end()), "{output}\nis not in\n{printed}");
}

/// Checks the book's manifest: the dependencies exist under their names, and the edition, the link-time optimisation
/// and the profiles of packages are those of the workspace.
fn manifest(text: &str) {
    let read = |text: &str| text.parse::<toml::Table>().unwrap_or_else(|error| panic!("{error}\n{text}"));
    let (shown, ours) = (read(text), read(&fs::read_to_string(root().join("Cargo.toml")).unwrap()));
    assert_eq!(shown["package"]["edition"], ours["workspace"]["package"]["edition"]);
    for (name, of) in shown["dependencies"].as_table().unwrap() {
        let path = of["path"].as_str().unwrap().strip_prefix("../anabranch/").unwrap();
        let its = read(&fs::read_to_string(root().join(path).join("Cargo.toml")).unwrap());
        assert_eq!(its["package"]["name"].as_str(), Some(name.as_str()));
    }
    let (shown, ours) = (&shown["profile"]["release"], &ours["profile"]["release"]);
    assert_eq!(shown["lto"], ours["lto"]);
    for (name, value) in shown["package"].as_table().unwrap() {
        assert_eq!(ours["package"].get(name), Some(value), "{name}");
    }
}

#[test]
fn programs_of_the_book_are_those_of_the_examples() {
    let plain = |text: &str| text.lines().map(str::trim).collect::<Vec<_>>().join("\n");
    let mut seen = 0;
    for page in pages() {
        for (info, text) in &page.code {
            let Some(file) = info.strip_prefix("rust,in=") else { continue };
            let whole = plain(&fs::read_to_string(root().join(file)).unwrap());
            assert!(whole.contains(plain(text).trim()), "{}: this is not in {file}:\n{text}", page.name());
            seen += 1;
        }
    }
    assert!(seen > 0);
}

#[test]
fn commands_of_the_book_exist_with_their_flags() {
    let place = Place::new();
    let mut helps = BTreeMap::new();
    for page in pages() {
        let lines = page.code.iter().filter(|(info, _)| info.is_empty()).flat_map(|(_, text)| text.lines());
        for line in lines {
            let mut words = line.split('#').next().unwrap().split_whitespace();
            if !words.next().is_some_and(|word| word.ends_with("anabranch")) {
                continue;
            }
            let Some(name) = words.next().filter(|name| !name.starts_with('-')) else { continue };
            let help = helps.entry(name.to_owned()).or_insert_with(|| place.run(&[name, "--help"]));
            assert_eq!(help.code, Some(0), "{}: {line}", page.name());
            for flag in words.filter(|word| word.starts_with("--")) {
                assert!(help.stdout.contains(flag), "{}: {line}", page.name());
            }
        }
    }
    assert!(helps.len() > 3, "{:?}", helps.keys());
}

#[test]
fn links_of_the_book_lead_somewhere() {
    let pages = pages();
    let anchors: BTreeMap<PathBuf, &BTreeSet<String>> =
        pages.iter().map(|page| (page.path.clone(), &page.anchors)).collect();
    for page in &pages {
        for link in page.links.iter().filter(|link| !link.starts_with("https://")) {
            let (path, part) = link.split_once('#').unwrap_or((link, ""));
            let target = match path {
                "" => page.path.clone(),
                path => page.path.parent().unwrap().join(path),
            };
            let found = target.canonicalize();
            assert!(found.is_ok(), "{}: {link}", page.name());
            if !part.is_empty() {
                assert!(anchors[&found.unwrap()].contains(part), "{}: {link}", page.name());
            }
        }
    }
    let summary = pages.iter().find(|page| page.name() == "docs/SUMMARY.md").unwrap();
    for page in &pages {
        let name = page.name();
        let Some(inside) = name.strip_prefix("docs/").filter(|name| *name != "SUMMARY.md") else { continue };
        assert!(summary.links.iter().any(|link| link == inside), "{name} is not in SUMMARY.md");
    }
}

#[test]
fn queries_of_the_book_run() {
    let python = std::env::var("ANABRANCH_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let has = Command::new(&python).args(["-c", "import duckdb, polars"]).output();
    if !has.is_ok_and(|done| done.status.success()) {
        eprintln!("skipped: {python} has no duckdb and polars");
        return;
    }
    let place = Place::new();
    let scenario = r#"
        schemes = ["reps"]
        seeds = [1]
        topology = { kind = "fat-tree", hosts = 16, link = "100Gbps" }
        workload = { kind = "poisson", sizes = "websearch", load = 0.3, duration = "200us" }
        sweep = { "workload.load" = [0.2, 0.4] }
    "#;
    place.write("load.toml", scenario);
    assert_eq!(place.run(&["run", "load.toml"]).code, Some(0));
    place.run(&["campaign", "load.toml", "--out", "runs"]).expect(0);
    // The first place also has results of another sweep and results without a sweep. The second place has only
    // results without a sweep.
    place.write(
        "other.toml",
        scenario.replace("\"workload.load\" = [0.2, 0.4]", "\"topology.link\" = [\"100Gbps\"]"),
    );
    let unswept = scenario.split("        sweep").next().unwrap().replace("reps", "ops");
    place.write("unswept.toml", &unswept);
    let alone = Place::new();
    alone.write("unswept.toml", &unswept);
    for (place, name) in [(&place, "other.toml"), (&place, "unswept.toml"), (&alone, "unswept.toml")] {
        assert_eq!(place.run(&["run", name]).code, Some(0));
    }
    alone.run(&["campaign", "unswept.toml", "--out", "runs"]).expect(0);
    let mut asked = 0;
    let both = [&place, &alone];
    for (place, page) in both.into_iter().flat_map(|place| pages().into_iter().map(move |page| (place, page)))
    {
        let rows = if std::ptr::eq(place, both[0]) { 2 } else { 1 };
        for (info, text) in &page.code {
            let code = match info.as_str() {
                "python" => text.clone(),
                "sql,swept" if rows == 1 => continue,
                "sql" | "sql,swept" => format!(
                    "import duckdb\nrows = duckdb.sql('''{text}''').fetchall()\nassert len(rows) == {rows}, rows"
                ),
                _ => continue,
            };
            let done = Command::new(&python).args(["-c", &code]).current_dir(place.path()).output().unwrap();
            assert!(
                done.status.success(),
                "{}:\n{text}\n{}",
                page.name(),
                String::from_utf8_lossy(&done.stderr)
            );
            asked += 1;
        }
    }
    assert!(asked >= 2);
}
