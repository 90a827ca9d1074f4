//! Byte formats of what papers print as one.

pub mod dcp;
pub mod strack;
