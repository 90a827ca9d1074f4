//! Tests of the meaning and the size of collectives.

mod meaning;
mod size;
mod symbolic;
