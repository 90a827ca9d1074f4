//! Example scenarios from the folder `examples`, without its subfolders. The examples are built into the program,
//! because an installed program does not have that folder.

pub const EXAMPLES: &[(&str, &str)] = &[
    ("permutation-1024", include_str!("../../../examples/permutation-1024.toml")),
    ("incast", include_str!("../../../examples/incast.toml")),
    ("websearch-128", include_str!("../../../examples/websearch-128.toml")),
    ("allreduce", include_str!("../../../examples/allreduce.toml")),
    ("storage-beside-training", include_str!("../../../examples/storage-beside-training.toml")),
    ("rails", include_str!("../../../examples/rails.toml")),
    ("link-failure", include_str!("../../../examples/link-failure.toml")),
    ("lossy-link", include_str!("../../../examples/lossy-link.toml")),
    ("testbed", include_str!("../../../examples/testbed.toml")),
    ("gigabyte", include_str!("../../../examples/gigabyte.toml")),
    ("longhaul", include_str!("../../../examples/longhaul.toml")),
    ("reps-buffer", include_str!("../../../examples/reps-buffer.toml")),
    ("smallest-buffer", include_str!("../../../examples/smallest-buffer.toml")),
    ("highest-load", include_str!("../../../examples/highest-load.toml")),
];
