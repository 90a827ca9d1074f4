//! Themis for packet spraying: tests of the paper's examples, of each rule, and of two ToRs between commodity NICs.

mod ablations;
mod examples;
mod fabric;
mod properties;
mod source;
mod tor;
