//! Tests of the command as a user would run it.

mod asking;
mod bad_input;
mod bench;
mod book;
mod campaign;
mod cases;
mod common;
mod curves;
mod error_rates;
mod faults;
mod first_sight;
mod good_input;
mod hints;
mod how_sure;
mod interrupted;
mod league;
mod listing;
mod live;
mod papers;
mod pcap;
mod rank_hosts;
mod sensitivity;
mod testbed;
mod unfinished;
mod warnings;
mod within_servers;
