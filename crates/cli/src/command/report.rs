//! `anabranch report`: the table and the page of stored results.

use super::find::in_words;
use crate::args::ReportArgs;
use crate::campaign_results;
use crate::failure::{Failure, reason};
use crate::made_by::MadeBy;
use crate::output::{print, width};
use crate::store::Store;
use crate::whole_file;

/// Generates the page of stored results again and prints their tables.
///
/// # Errors
/// The results in the folder cannot be read, the folder cannot be written, or standard output cannot be written.
pub fn report(args: &ReportArgs) -> Result<(), Failure> {
    if !args.folder.exists()
        && let Some(root) = args.folder.parent()
    {
        Store::at(root).recover();
    }
    let results = campaign_results::open(&args.folder)?;
    let page = args.folder.join("report.html");
    let refused = |error: std::io::Error| {
        Failure::Input(format!("{}: the page cannot be written: {}", page.display(), reason(&error)))
    };
    let made_by = MadeBy::read(&args.folder).map(|made_by| made_by.provenance()).unwrap_or_default();
    whole_file::put(&page, anabranch_report::html(&results, &made_by)).map_err(refused)?;
    let answer = results.answer.as_ref().map(|answer| format!("{}\n", in_words(answer))).unwrap_or_default();
    let table = anabranch_report::table(&results, width());
    let mut text = format!("{}\n\n{answer}{}\n", results.title, table.trim_end());
    if let Some(figure) = &results.figure {
        text.push_str(&format!("\n{}\n", anabranch_report::claims_table(figure).trim_end()));
        let unsaid = anabranch_report::unsaid_table(figure);
        if !unsaid.is_empty() {
            text.push_str(&format!("\n{}\n", unsaid.trim_end()));
        }
    }
    print(&format!("{text}\nreport: {}\n", page.display()))
}
