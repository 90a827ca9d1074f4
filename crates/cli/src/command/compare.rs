//! `anabranch compare`: a comparison of results.

use crate::args::CompareArgs;
use crate::campaign_results;
use crate::failure::{Failure, reason};
use crate::output::{aligned, print, print_json};
use crate::source::input;
use crate::whole_file;
use anabranch_report::{ComparedRow, compare as side_by_side};
use anabranch_results::ResultSet;
use serde_json::{Value, json};

/// The largest number of differing keys that the terminal shows. The page has all of them.
const MOST_KEYS: usize = 20;

/// Compares folders of results, prints the table and writes the page.
///
/// # Errors
/// A folder whose results cannot be read, results that have nothing in common, or a page or a standard output that
/// cannot be written.
pub fn compare(args: &CompareArgs) -> Result<(), Failure> {
    let sets: Vec<(String, ResultSet)> = args
        .folders
        .iter()
        .map(|folder| Ok((folder.display().to_string(), campaign_results::open(folder)?)))
        .collect::<Result<_, Failure>>()?;
    let borrowed: Vec<(String, &ResultSet)> = sets.iter().map(|(name, set)| (name.clone(), set)).collect();
    let compared = side_by_side(&borrowed).map_err(input)?;
    whole_file::put(&args.page, compared.html()).map_err(|error| {
        Failure::Input(format!(
            "{}: the page cannot be written: {}\n  help: name another file with --page FILE",
            args.page.display(),
            reason(&error)
        ))
    })?;
    if args.json {
        let differences =
            compared.differences.iter().map(|(key, values)| json!({ "key": key, "values": values }));
        return print_json(&json!({
            "folders": compared.names,
            "verdict": compared.verdict(),
            "differences": differences.collect::<Vec<_>>(),
            "left_out": compared.left_out,
            "rows": compared.rows.iter().map(row).collect::<Vec<_>>(),
            "page": args.page.to_string_lossy(),
        }));
    }
    let mut text = format!("{}\n\n{}\n\n", compared.verdict().join("\n"), compared.legend().join("\n"));
    if compared.differences.is_empty() {
        text.push_str("The resolved scenarios are the same.\n");
    } else {
        let none = || "-".to_owned();
        let shown = compared.differences.iter().take(MOST_KEYS);
        let rows = shown.map(|(key, values)| {
            let values = values.iter().map(|value| value.clone().unwrap_or_else(none));
            std::iter::once(key.clone()).chain(values).collect()
        });
        text.push_str(&format!(
            "What differs between the scenarios:\n{}",
            aligned(&rows.collect::<Vec<_>>())
        ));
        if compared.differences.len() > MOST_KEYS {
            let more = compared.differences.len() - MOST_KEYS;
            text.push_str(&format!("... and {more} more keys, on the page and in --json\n"));
        }
    }
    text.push_str(&format!("\n{}\n{}\n", aligned(&compared.cells()), compared.notes().join("\n")));
    print(&format!("{text}\npage: {}\n", args.page.display()))
}

fn row(row: &ComparedRow) -> Value {
    let ratio = |ratio: &Option<anabranch_report::Ratio>| {
        ratio.map(|ratio| json!({ "ratio": ratio.of_means, "over_seeds": ratio.over_seeds }))
    };
    json!({
        "scheme": row.scheme,
        "sweep": row.sweep,
        "quantity": row.quantity,
        "seeds": row.seeds,
        "means": row.means,
        "ratios": row.ratios.iter().map(ratio).collect::<Vec<_>>(),
    })
}
