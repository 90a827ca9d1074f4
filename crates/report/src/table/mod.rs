//! Tables for a terminal.

pub(crate) mod classes;
mod columns;
mod summary;

use crate::bandwidth::bandwidth_tables;
use crate::fairness::fairness_note;
use crate::groups::each_run;
use crate::live::{dilations, live_invalid};
use crate::ranking::{Quantity, ranked_quantity};
use crate::verdict::verdict;
use anabranch_results::ResultSet;
use columns::OPTIONAL_COLUMNS;
pub(crate) use columns::{WALL, is_hidden};
use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle, presets};
use summary::summary_of;
pub(crate) use summary::{Head, Summary, summary};

/// The width of a line in characters if the width of the terminal is not known.
pub const USUAL_WIDTH: usize = 120;

/// The verdict, and one row per scheme and sweep point, with notes below. If the settings of the schemes differ, a note
/// about these differences comes first. Columns that do not fit into `width` characters are named in a note instead. A
/// table of traffic classes follows if there are several, and tables of bandwidths if the sizes of a collective are
/// swept.
pub fn table(set: &ResultSet, width: usize) -> String {
    above(set, width)
        + &fit_to_width(summary(set), ranked_quantity(set), width)
        + &of_classes(set, width)
        + &bandwidth_tables(set)
}

/// The verdict, and a table with the most important columns, such as the number of flows or jobs, the ranked quantity,
/// its ideal, the cost of faults, and the losses and timeouts, which explain the result. If columns or notes are left
/// out, a line below the table counts them and names the `command` that prints them. The tables of classes and bandwidths
/// follow as in [`table`].
pub fn brief(set: &ResultSet, width: usize, command: &str) -> String {
    let quantity = ranked_quantity(set);
    let mut summary = summary(set);
    let spare = OPTIONAL_COLUMNS.into_iter().chain(["\njobs"]);
    let spare: Vec<&str> = spare.filter(|head| !is_key(head, quantity)).collect();
    let columns = spare.into_iter().filter_map(|head| summary.remove(head)).count();
    let notes = std::mem::take(&mut summary.notes).len();
    let mut text = above(set, width) + &fit_to_width(summary, quantity, width);
    let more = [(columns, "column"), (notes, "note")].map(|(number, name)| match number {
        1 => format!("1 more {name}"),
        _ => format!("{number} more {name}s"),
    });
    if columns + notes > 0 {
        let [columns, notes] = more;
        let more = format!(
            "On the page, or by `{command}`: {columns}, and {notes} on what columns mean and what else may decide."
        );
        text.push_str(&wrap(&more, width));
        text.push('\n');
    }
    text + &of_classes(set, width) + &bandwidth_tables(set)
}

/// The table of traffic classes. Empty if the results have one class only.
fn of_classes(set: &ResultSet, width: usize) -> String {
    let Some(summary) = classes::summary(set) else { return String::new() };
    let drawn = draw(&summary);
    format!("\n{}:\n{}", classes::TITLE, with_notes(drawn, summary, &[], width))
}

/// The headings of the ranked quantity and of its ideal. The P99 slowdown has the median slowdown in place of an
/// ideal.
fn ranked_heads(quantity: Quantity) -> [&'static str; 2] {
    match quantity.field {
        "cct_max_us" => ["max\nCCT µs", "ideal\nCCT µs"],
        "slowdown_p99" => ["slow-\ndown P99", "slow-\ndown P50"],
        _ => ["max\nµs", "ideal\nmax µs"],
    }
}

/// Whether the brief table keeps an optional column. For collectives, it keeps the number of jobs and leaves out the
/// number of their chunks.
fn is_key(head: &str, quantity: Quantity) -> bool {
    let counted = if quantity.field == "cct_max_us" { "\njobs" } else { "\nflows" };
    let sites = ["slowdown\nintra", "slowdown\ninter"];
    head == counted || ranked_heads(quantity).contains(&head) || sites.contains(&head)
}

/// The lines above a table: that packets were real and which runs are invalid, a note if settings differ, and the
/// verdict.
fn above(set: &ResultSet, width: usize) -> String {
    let mut text = String::new();
    let live = dilations(set).into_iter().chain(live_invalid(set));
    for sentence in live {
        text.push_str(&format!("{}\n\n", wrap(&sentence, width)));
    }
    text.push_str(&fairness_note(set).map_or_else(String::new, |sentence| format!("{sentence}\n\n")));
    let sentences = verdict(set);
    for sentence in &sentences {
        text.push_str(&wrap(sentence, width));
        text.push('\n');
    }
    if !sentences.is_empty() {
        text.push('\n');
    }
    text
}

/// A table with one row per run, which shows the run's seed.
pub fn per_seed(set: &ResultSet, width: usize) -> String {
    fit_to_width(summary_of(set, &each_run(set), true), ranked_quantity(set), width)
}

fn fit_to_width(mut summary: Summary, quantity: Quantity, width: usize) -> String {
    let mut left_out = Vec::new();
    let [keep, _] = ranked_heads(quantity);
    let mut optional = OPTIONAL_COLUMNS.into_iter().filter(|head| *head != keep);
    loop {
        let text = draw(&summary);
        let fits = text.lines().all(|line| line.chars().count() <= width);
        let Some(head) = (if fits { None } else { optional.next() }) else {
            break with_notes(text, summary, &left_out, width);
        };
        if let Some(name) = summary.remove(head) {
            left_out.push(name);
        }
    }
}

fn with_notes(mut text: String, summary: Summary, left_out: &[String], width: usize) -> String {
    let mut notes = summary.basis;
    notes.extend(summary.notes);
    let wall = WALL.replace('\n', " ");
    let (in_file, on_page): (Vec<&str>, Vec<&str>) =
        left_out.iter().map(String::as_str).partition(|name| *name == wall);
    for (names, index) in [(on_page, "on the page"), (in_file, "in runs.parquet")] {
        if !names.is_empty() {
            notes.push(format!("Left out here, {index}: {}.", names.join(", ")));
        }
    }
    for note in notes {
        text.push_str(&wrap(&note, width));
        text.push('\n');
    }
    text
}

fn draw(summary: &Summary) -> String {
    let style = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));
    let mut table = plain_table(style);
    table.set_header(summary.head.iter().map(Head::shown));
    for (place, row) in summary.rows.iter().enumerate() {
        if summary.point_starts.contains(&place) {
            table.add_row(vec![""; row.len()]);
        }
        table.add_row(row);
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 1));
        if index < summary.words {
            continue;
        }
        column.set_cell_alignment(CellAlignment::Right);
    }
    lines(&table)
}

/// A table of text, with a horizontal line below each row.
pub(crate) fn columns(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut table = plain_table(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header(head);
    table.add_rows(rows);
    lines(&table)
}

fn plain_table(style: TableStyle) -> Table {
    let mut table = Table::new();
    table.load_style(style);
    table.set_content_arrangement(ContentArrangement::Disabled);
    table
}

fn lines(table: &Table) -> String {
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

pub(crate) fn wrap(text: &str, width: usize) -> String {
    let mut wrapped = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        let size = word.chars().count();
        if length > 0 {
            let fits = length + 1 + size <= width;
            wrapped.push(if fits { ' ' } else { '\n' });
            length = if fits { length + 1 } else { 0 };
        }
        wrapped.push_str(word);
        length += size;
    }
    wrapped
}

#[cfg(test)]
mod tests;
