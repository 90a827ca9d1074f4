//! The simulator from outside: a scenario's text in, results out.
//!
//! One binary, since each would link the whole simulator again; `random` is another, as it silences panics.

mod collectives;
mod common_setup;
mod engine;
mod observers;
mod outage;
mod seams;
mod traces;
