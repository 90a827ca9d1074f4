//! The hardware state of algorithms, for comparison with the papers.

use serde::Serialize;

/// A piece of hardware state that an algorithm keeps for a queue pair.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StateField {
    /// The name, as in the paper if the paper names the field.
    pub name: &'static str,
    /// Number of bits of one instance.
    pub bits: u32,
    /// Number of instances.
    pub count: u32,
}

impl StateField {
    /// `count` fields of `bits` bits.
    pub const fn new(name: &'static str, bits: u32, count: u32) -> Self {
        StateField { name, bits, count }
    }
}
