//! The types that declare a table of a scenario and its keys.

use crate::scenario::read::table::example;

/// A table of a scenario.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// Its name here, and in `anabranch docs`: `fat-tree`.
    pub name: &'static str,
    /// As it stands in a scenario: `[topology]`; empty for the keys above all tables.
    pub table: &'static str,
    /// The `kind` (of a measure the `series`) that has these keys, where that decides.
    pub kind: Option<&'static str>,
    /// One sentence for the reference.
    pub meaning: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
}

/// A key of a scenario.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// The values that are allowed, with their unit and range.
    pub is: &'static str,
    /// The value of a key that is not written.
    pub default: KeyDefault,
    /// One sentence for the reference.
    pub meaning: &'static str,
}

/// The value of a key that is not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyDefault {
    /// None: the key must be written.
    Required,
    /// This value, as a scenario would write it.
    Value(&'static str),
    /// A value that depends on other things, in words.
    Described(&'static str),
}

impl Key {
    /// Whether it is a table of its own, or several.
    pub fn is_table(&self) -> bool {
        self.is == "tables" || self.is == "a table"
    }

    /// An example of its value, as it is written.
    pub fn example(&self) -> &'static str {
        match self.is {
            FLOW_FORMATS => "\"hpcc\"",
            _ => example(self.name),
        }
    }
}

pub(in crate::scenario) const fn key(
    name: &'static str,
    is: &'static str,
    default: KeyDefault,
    meaning: &'static str,
) -> Key {
    Key { name, is, default, meaning }
}

pub(in crate::scenario) const COUNT: &str = "a number, 1 or more";
pub(in crate::scenario) const RATE: &str = "a rate above 0";
pub(in crate::scenario) const TIME: &str = "a time";
pub(in crate::scenario) const TIME_ABOVE: &str = "a time above 0";
pub(in crate::scenario) const SIZE: &str = "a size above 0";
pub(in crate::scenario) const FLOW_FORMATS: &str = "`hpcc`, `conweave` or `ns3-rdma`";
pub(in crate::scenario) const FILE: &str = "a file's name, from the scenario's folder";
