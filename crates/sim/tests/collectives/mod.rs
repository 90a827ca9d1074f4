//! Collectives: closed forms, bounds, and errors.

mod bad_input;
mod closed_form;
mod ideal;
