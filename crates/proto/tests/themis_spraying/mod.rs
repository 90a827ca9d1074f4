//! Themis for packet spraying: the paper's examples, its rules one by one, and two ToRs between commodity NICs.

mod ablations;
mod examples;
mod fabric;
mod properties;
mod source;
mod tor;
