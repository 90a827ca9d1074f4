//! Collectives: that they end when arithmetic says, and what they take.

mod bad_input;
mod closed_form;
mod ideal;
