//! Collectives: that they mean what they should.

mod meaning;
mod size;
mod symbolic;
