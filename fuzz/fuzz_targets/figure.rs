//! Figure files, read at the quick scale and at the paper's scale.
#![no_main]

use anabranch_lab::scenario::{Files, Scale, read_figure};
use libfuzzer_sys::fuzz_target;

struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _: &str) -> Result<String, String> {
        Err("no such file".to_owned())
    }
}

fuzz_target!(|text: &str| {
    for scale in [Scale::Quick, Scale::Paper] {
        let _ = read_figure("reps/fuzz.toml", text, scale, &NoFiles);
    }
});
