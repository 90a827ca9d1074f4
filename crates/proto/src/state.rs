//! What an algorithm keeps in hardware, to be held against what its paper says of it.

use serde::Serialize;

/// A piece of hardware state that an algorithm keeps for a queue pair.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StateField {
    /// The paper's name of it.
    pub name: &'static str,
    /// Bits of one.
    pub bits: u32,
    /// How many of them.
    pub count: u32,
}

impl StateField {
    /// `count` fields of `bits` bits.
    pub const fn new(name: &'static str, bits: u32, count: u32) -> Self {
        StateField { name, bits, count }
    }
}
