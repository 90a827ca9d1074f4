//! A Chakra execution trace of a single rank. If the first byte is `g`, the rest of the first line is a file of groups.
#![no_main]

use anabranch_workload::text_of_ranks;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let groups = bytes.strip_prefix(b"g").and_then(|rest| {
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        Some((std::str::from_utf8(&rest[..end]).ok()?, &rest[end + 1..]))
    });
    let (groups, nodes) = groups.map_or((None, bytes), |(groups, nodes)| (Some(("groups", groups)), nodes));
    let _ = text_of_ranks(&[("fuzz.0.et".to_owned(), nodes.to_vec())], groups);
});
