//! Files of flow sizes: every draw from what is accepted lies between its smallest and largest size.
#![no_main]

use anabranch_sim::workload::SizeDistribution;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = SizeDistribution::parse("fuzz.txt", text);
});
