//! A file of a Chakra execution trace, of the only rank.
#![no_main]

use anabranch_workload::text_of_ranks;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = text_of_ranks(&[("fuzz.0.et".to_owned(), bytes.to_vec())]);
});
