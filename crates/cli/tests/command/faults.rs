//! Faults as typed: what they take, what they hit, and what explains a result.

use crate::common::{Place, SMALL};

#[test]
fn the_table_keeps_what_explains_a_loss_and_follows_the_width_of_the_terminal() {
    let place = Place::new();
    let collective = SMALL.replace(
        "kind = \"permutation\"\nbytes = \"100KB\"",
        "kind = \"collective\"\nalgorithm = \"allreduce-ring\"\nbytes = \"1MB\"",
    );
    let lossy = "[[fault]]\nkind = \"packet-loss\"\nlinks = \"tor:0/up\"\nprobability = 0.1\n";
    place.write("s.toml", format!("{collective}{lossy}"));
    for (columns, spares) in [(None, true), (Some("70"), true), (Some("300"), false)] {
        let mut command = place.command(&["run", "s.toml", "--out", "out"]);
        if let Some(columns) = columns {
            command.env("COLUMNS", columns);
        }
        let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
        let below = text.lines().position(|line| line.starts_with('─')).unwrap_or_else(|| panic!("{text}"));
        let head: Vec<&str> = text.lines().skip(below - 2).take(2).collect();
        let shows = |name: [&str; 2]| name.iter().zip(&head).all(|(part, line)| line.contains(part));
        assert!(shows(["link", "losses"]) && shows(["time-", "outs"]), "{columns:?}: {text}");
        assert_eq!(text.contains("Left out here"), spares, "{columns:?}: {text}");
        let width = columns.map_or(120, |columns| columns.parse().unwrap());
        assert!(head.iter().all(|line| line.chars().count() <= width), "{columns:?}: {text}");
    }
}
