//! Declared parameters, the keys of tables, and the parts that programs register.

pub(in crate::scenario) mod cluster_words;
pub(in crate::scenario) mod declared_table;
pub(in crate::scenario) mod files;
pub(in crate::scenario) mod kind_hints;
pub(in crate::scenario) mod nccl_words;
pub(in crate::scenario) mod parameter_path;
pub(in crate::scenario) mod parameters;
pub(in crate::scenario) mod plugins;
pub(in crate::scenario) mod unknown_keys;
