//! The commands of `anabranch`.

mod astra;
pub mod bench;
pub mod campaign;
pub mod check;
mod columns;
pub mod compare;
pub mod docs;
pub mod export;
pub mod find;
mod keys;
pub mod league;
pub mod list;
pub mod live;
pub mod manual;
mod parameters;
pub mod pcap;
pub mod replay;
pub mod report;
pub mod reproduce;
mod reproduce_live;
pub mod run;
pub mod schema;
pub mod sensitivity;
mod simulate;
pub mod testbed;
pub mod trace;
