//! Schemes: the built-in ones, schemes from files, and settings of their parameters.

pub(in crate::scenario) mod builtin;
pub(in crate::scenario) mod catalog;
pub(in crate::scenario) mod embedded;
pub(in crate::scenario) mod examples;
pub(in crate::scenario) mod file;
pub(in crate::scenario) mod limits;
pub(in crate::scenario) mod misnamed;
pub(in crate::scenario) mod mix;
pub(in crate::scenario) mod setting;
pub(in crate::scenario) mod window;
