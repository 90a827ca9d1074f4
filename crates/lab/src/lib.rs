//! The language of scenarios and figures, the built-in schemes, and the abstract models behind figures that simulate
//! no packet network. The crate does no IO: parsers take text, never paths.

pub mod model;
pub mod scenario;
