//! Tests that collectives give each rank the right contributions, and tests of the memory of large collectives.

mod layouts;
mod meaning;
mod size;
mod symbolic;
