//! Results for people: tables for a terminal, one page for a browser, and a paper's claims held against what was
//! measured. Reads results alone, so everything here can be redrawn without simulating.
#![forbid(unsafe_code)]

pub mod claims;
mod compare;
mod ground;
mod groups;
mod index;
mod labels;
mod measure;
mod page;
mod table;
mod unsaid;

pub use compare::{ComparedRow, Comparison, Ratio, compare};
pub use ground::ground;
pub use measure::{Measure, MeasureError};
pub use page::html;
pub use table::{USUAL_WIDTH, claims_table, table};
pub use unsaid::unsaid_table;

#[cfg(test)]
mod samples;
