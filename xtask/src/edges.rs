//! The permitted dependencies between the crates.

use anyhow::{Context, Result, bail};
use cargo_metadata::{Metadata, MetadataCommand};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Every crate of the workspace, with the crates of the workspace on which it may depend for any use: code, tests or
/// build.
///
/// The table keeps the protocols independent of the simulator. Results can be read and figures redrawn without the
/// simulator, and the engine runs without the scenario language.
const ALLOWED: &[(&str, &[&str])] = &[
    ("anabranch-base", &[]),
    ("anabranch-proto", &["anabranch-base"]),
    ("anabranch-wire", &["anabranch-base", "anabranch-proto"]),
    ("anabranch-results", &["anabranch-base"]),
    ("anabranch-fabric", &["anabranch-base"]),
    ("anabranch-workload", &["anabranch-base", "anabranch-fabric"]),
    (
        "anabranch-engine",
        &["anabranch-base", "anabranch-proto", "anabranch-results", "anabranch-fabric", "anabranch-workload"],
    ),
    (
        "anabranch-lab",
        &[
            "anabranch-base",
            "anabranch-proto",
            "anabranch-results",
            "anabranch-fabric",
            "anabranch-workload",
            "anabranch-engine",
        ],
    ),
    (
        "anabranch-sim",
        &[
            "anabranch-base",
            "anabranch-proto",
            "anabranch-results",
            "anabranch-fabric",
            "anabranch-workload",
            "anabranch-engine",
            "anabranch-lab",
        ],
    ),
    ("anabranch-report", &["anabranch-base", "anabranch-results"]),
    ("anabranch-live", &["anabranch-base", "anabranch-proto", "anabranch-wire", "anabranch-sim"]),
    (
        "anabranch-cli",
        &[
            "anabranch-base",
            "anabranch-proto",
            "anabranch-wire",
            "anabranch-results",
            "anabranch-sim",
            "anabranch-report",
            "anabranch-live",
        ],
    ),
    ("anabranch-capi", &["anabranch-base", "anabranch-sim"]),
    ("anabranch-play", &["anabranch-results", "anabranch-sim", "anabranch-report"]),
    ("anabranch-proto-tests", &["anabranch-base", "anabranch-proto", "anabranch-wire"]),
    ("anabranch-sim-tests", &["anabranch-base", "anabranch-proto", "anabranch-results", "anabranch-sim"]),
    ("xtask", &[]),
];

/// The crates of the workspace, each with the workspace crates that its manifest names.
type Graph = BTreeMap<String, BTreeSet<String>>;

pub fn read(root: &Path) -> Result<Metadata> {
    let mut command = MetadataCommand::new();
    command.manifest_path(root.join("Cargo.toml")).no_deps().exec().context("cargo metadata failed")
}

/// Fails if a crate of the workspace depends on a workspace crate that the table does not permit.
pub fn check(metadata: &Metadata) -> Result<()> {
    let wrong = violations(&graph(metadata));
    if !wrong.is_empty() {
        bail!("dependencies between crates (the table is in xtask/src/edges.rs):\n  {}", wrong.join("\n  "));
    }
    Ok(())
}

fn graph(metadata: &Metadata) -> Graph {
    let members = metadata.workspace_packages();
    let names: BTreeSet<&str> = members.iter().map(|package| package.name.as_str()).collect();
    let ours = |package: &cargo_metadata::Package| {
        let needs = package.dependencies.iter().map(|dependency| dependency.name.clone());
        needs.filter(|name| names.contains(name.as_str())).collect()
    };
    members.iter().map(|package| (package.name.to_string(), ours(package))).collect()
}

fn violations(graph: &Graph) -> Vec<String> {
    let allowed: BTreeMap<&str, &[&str]> = ALLOWED.iter().copied().collect();
    let mut wrong = Vec::new();
    for name in allowed.keys().filter(|name| !graph.contains_key(**name)) {
        wrong.push(format!("{name} has a row in the table but is no crate of the workspace: remove the row"));
    }
    for (name, needs) in graph {
        let Some(may) = allowed.get(name.as_str()) else {
            wrong.push(format!("{name} has no row in the table: add one"));
            continue;
        };
        for need in needs.iter().filter(|need| !may.contains(&need.as_str())) {
            let may = if may.is_empty() { "none of ours".to_owned() } else { may.join(", ") };
            wrong.push(format!("{name} depends on {need}; it may depend on {may}"));
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The output of `cargo metadata` for a workspace with these dependencies.
    fn metadata(packages: &[(&str, &[(&str, &str)])]) -> Metadata {
        let id = |name: &str| format!("path+file:///w/{name}#0.1.0");
        let package = |(name, needs): &(&str, &[(&str, &str)])| {
            let needs: Vec<String> = needs
                .iter()
                .map(|(need, kind)| {
                    format!(
                        r#"{{"name":"{need}","req":"*","kind":{kind},"optional":false,
                            "uses_default_features":true,"features":[],"target":null}}"#
                    )
                })
                .collect();
            format!(
                r#"{{"name":"{name}","version":"0.1.0","id":"{}","dependencies":[{}],"targets":[],
                    "features":{{}},"manifest_path":"/w/{name}/Cargo.toml"}}"#,
                id(name),
                needs.join(",")
            )
        };
        let rows: Vec<String> = packages.iter().map(package).collect();
        let ids: Vec<String> = packages.iter().map(|(name, _)| format!("\"{}\"", id(name))).collect();
        MetadataCommand::parse(format!(
            r#"{{"packages":[{}],"workspace_members":[{}],"resolve":null,"version":1,
                "target_directory":"/w/target","workspace_root":"/w"}}"#,
            rows.join(","),
            ids.join(",")
        ))
        .unwrap()
    }

    /// The violations in the whole workspace if `extra` is one more dependency of `of`.
    fn with(of: &str, extra: &str, kind: &str) -> Vec<String> {
        let needs = |(name, needs): &(&'static str, &'static [&'static str])| {
            let mut all: Vec<(&str, &str)> = needs.iter().map(|need| (*need, "null")).collect();
            if *name == of {
                all.push((extra, kind));
            }
            (*name, all)
        };
        let owned: Vec<_> = ALLOWED.iter().map(needs).collect();
        let rows: Vec<_> = owned.iter().map(|(name, needs)| (*name, needs.as_slice())).collect();
        violations(&graph(&metadata(&rows)))
    }

    #[test]
    fn the_table_agrees_with_itself() {
        assert_eq!(with("anabranch-sim", "serde", "null"), Vec::<String>::new());
    }

    #[test]
    fn every_forbidden_edge_is_found_in_code_and_in_tests() {
        let forbidden = [
            ("anabranch-base", "anabranch-proto"),
            ("anabranch-proto", "anabranch-sim"),
            ("anabranch-proto", "anabranch-results"),
            ("anabranch-proto", "anabranch-wire"),
            ("anabranch-wire", "anabranch-sim"),
            ("anabranch-fabric", "anabranch-proto"),
            ("anabranch-fabric", "anabranch-workload"),
            ("anabranch-workload", "anabranch-proto"),
            ("anabranch-workload", "anabranch-engine"),
            ("anabranch-engine", "anabranch-lab"),
            ("anabranch-lab", "anabranch-sim"),
            ("anabranch-lab", "anabranch-report"),
            ("anabranch-results", "anabranch-sim"),
            ("anabranch-results", "anabranch-proto"),
            ("anabranch-sim", "anabranch-report"),
            ("anabranch-sim", "anabranch-cli"),
            ("anabranch-report", "anabranch-sim"),
            ("anabranch-report", "anabranch-proto"),
        ];
        for (of, extra) in forbidden {
            for kind in ["null", "\"dev\"", "\"build\""] {
                let wrong = with(of, extra, kind);
                assert_eq!(wrong.len(), 1, "{of} -> {extra}: {wrong:?}");
                assert!(wrong[0].starts_with(&format!("{of} depends on {extra};")), "{wrong:?}");
            }
        }
    }

    #[test]
    fn a_crate_without_a_row_and_a_row_without_a_crate_are_found() {
        let wrong = violations(&graph(&metadata(&[("anabranch-new", &[])])));
        assert!(wrong.contains(&"anabranch-new has no row in the table: add one".to_owned()), "{wrong:?}");
        assert!(wrong.iter().any(|line| line.starts_with("anabranch-sim has a row")), "{wrong:?}");
    }

    #[test]
    fn this_workspace_is_read_and_kept() {
        let real = read(&crate::root()).unwrap();
        assert!(graph(&real)["anabranch-engine"].contains("anabranch-proto"), "edges are not seen");
        check(&real).unwrap();
    }
}
