//! `anabranch list columns`: the columns of the tables of results.

use super::parameters::Form;
use crate::failure::Failure;
use crate::output::{print, print_json};
use anabranch_results::{Column, Table};
use serde_json::{Value, json};

/// Prints the columns of all tables.
///
/// # Errors
/// Standard output cannot be written.
pub fn list(form: Form) -> Result<(), Failure> {
    match form {
        Form::Text => print(&Table::ALL.map(text).join("\n")),
        Form::Markdown => print(&markdown()),
        Form::Json => {
            let rows = Table::ALL
                .into_iter()
                .flat_map(|table| table.columns().into_iter().map(move |column| row(table, column)));
            print_json(&json!({ "columns": rows.collect::<Vec<_>>() }))
        }
    }
}

fn text(table: Table) -> String {
    let columns = table.columns();
    let width = columns.iter().map(|column| column.name.len()).max().unwrap_or(0);
    let mut text = format!("{}\n", table.file());
    for column in columns {
        text.push_str(&format!("  {:width$}  {}\n", column.name, meaning(column).replace('`', "")));
    }
    text
}

fn markdown() -> String {
    let mut text = "# Columns of results\n\n\
        Every column of the tables in a folder of results, from its declaration in the code. The rows of each table have \
        besides the number of their run (`run`), its `scheme` and `seed`, and a column for each swept parameter; runs have \
        one for each number that their scheme adds. A number that a row does not have is null where the type says \
        \"or null\". `anabranch list columns` prints the same; [Results](../results.md) explains the terms.\n\n\
        This page is generated: `cargo xtask reference` renews it.\n"
        .to_owned();
    for table in Table::ALL {
        text.push_str(&format!(
            "\n## `{}`\n\n| column | type | unit | meaning |\n|---|---|---|---|\n",
            table.file()
        ));
        for column in table.columns() {
            let or_null = if column.nullable { " or null" } else { "" };
            let cells = [
                format!("`{}`", column.name),
                format!("{}{or_null}", column.kind.name()),
                column.unit.to_owned(),
                meaning(column),
            ];
            text.push_str(&format!("| {} |\n", cells.map(|cell| cell.replace('|', "\\|")).join(" | ")));
        }
    }
    text
}

fn row(table: Table, column: &Column) -> Value {
    json!({
        "table": table.file(),
        "column": column.name,
        "type": column.kind.name(),
        "nullable": column.nullable,
        "unit": column.unit,
        "in_digest": column.digest,
        "meaning": meaning(column),
    })
}

fn meaning(column: &Column) -> String {
    anabranch_base::meaning(column.meaning)
}
