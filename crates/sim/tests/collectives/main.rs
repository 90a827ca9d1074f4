//! Collectives: that they mean what they should, that they end when arithmetic says, and what they take.

mod bad_input;
mod closed_form;
mod meaning;
mod size;
mod symbolic;
