//! The language of scenarios and figures, the schemes that come with the program, and the models behind figures that
//! are no packet network. No IO: parsers take text, never paths.

pub mod model;
pub mod scenario;
