//! The command as a user types it.

mod asking;
mod bad_input;
mod bench;
mod common;
mod curves;
mod faults;
mod good_input;
mod interrupted;
mod listing;
mod unfinished;
mod unsaid;
