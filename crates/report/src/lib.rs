//! Results for people: tables for a terminal, pages for a browser, and a paper's claims compared with measured
//! numbers. All of them are made from stored results, so that they can be made again without a simulation.
#![forbid(unsafe_code)]

mod assumption_notes;
mod bandwidth;
pub mod claims;
mod claims_table;
mod compare;
mod fairness;
mod faults;
mod groups;
mod index;
mod labels;
mod live;
mod measure;
mod page;
mod points;
mod ranking;
mod sensitivity;
mod table;
mod terms;
mod timeout_notes;
mod verdict;

pub use claims_table::claims_table;
pub use compare::{ComparedRow, Comparison, Ratio, compare};
pub use fairness::fairness_note;
pub use labels::large;
pub use live::{live_checks, live_differences, live_invalid};
pub use measure::{Measure, MeasureError};
pub use page::{CatalogueRow, GalleryEntry, LeagueEntry, Provenance, gallery, html, league};
pub use ranking::summary_json;
pub use sensitivity::unsaid_table;
pub use table::{USUAL_WIDTH, brief, per_seed, table};
pub use terms::{TERMS, Term};
pub use verdict::verdict;

#[cfg(test)]
mod samples;
#[cfg(test)]
mod scenario_text;
