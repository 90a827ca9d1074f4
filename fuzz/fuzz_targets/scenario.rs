//! Scenario files in short or resolved form.
#![no_main]

use anabranch_lab::scenario::{Files, Overrides, read};
use libfuzzer_sys::fuzz_target;

struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _: &str) -> Result<String, String> {
        Err("no such file".to_owned())
    }
}

fuzz_target!(|text: &str| {
    let _ = read("fuzz.toml", text, &NoFiles, &Overrides::default());
});
