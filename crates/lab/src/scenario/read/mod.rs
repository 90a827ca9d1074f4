//! Parsing of text into a tree of values with their places.

pub(in crate::scenario) mod document;
pub(in crate::scenario) mod key_path;
pub(in crate::scenario) mod source_map;
pub(in crate::scenario) mod table;
pub(in crate::scenario) mod value;
