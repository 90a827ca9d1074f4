//! Files of flow sizes: an accepted distribution has a finite mean, and sizes that never decrease with the random
//! number.
#![no_main]

use anabranch_workload::SizeDistribution;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(sizes) = SizeDistribution::parse("fuzz.txt", text) {
        assert!(sizes.mean().is_finite());
        let drawn = [0.0, 0.1, 0.5, 0.9, 1.0 - f64::EPSILON].map(|unit| sizes.sample(unit));
        assert!(drawn.is_sorted() && drawn[0] > 0, "{drawn:?}");
    }
});
