//! Byte formats of packets that the papers specify.

pub mod dcp;
pub mod strack;
