//! Tests of the meaning and the size of collectives.

mod layouts;
mod meaning;
mod size;
mod symbolic;
