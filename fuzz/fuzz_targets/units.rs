//! Sizes, rates and times: a valid one is equal after printing and parsing.
#![no_main]

use anabranch_base::{Bytes, Duration, Rate};
use libfuzzer_sys::fuzz_target;
use std::fmt::Display;
use std::str::FromStr;

fuzz_target!(|text: &str| {
    round_trip::<Bytes>(text);
    round_trip::<Rate>(text);
    round_trip::<Duration>(text);
});

fn round_trip<T: FromStr + Display + PartialEq>(text: &str) {
    if let Ok(value) = text.parse::<T>() {
        let again = value.to_string().parse::<T>().ok();
        assert!(again == Some(value), "{text:?} does not read back");
    }
}
