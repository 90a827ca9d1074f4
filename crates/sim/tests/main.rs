//! Tests of the simulator through its public interface: they read a scenario's text and check the results.
//!
//! The tests are in one binary, because each binary links the whole simulator again. `random` is a separate binary,
//! because it suppresses the output of panics.

mod collectives;
mod common_setup;
mod engine;
mod observers;
mod outage;
mod seams;
mod traces;
