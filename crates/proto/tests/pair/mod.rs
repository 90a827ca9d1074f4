//! A sender and a receiver of each transport over a path that loses, trims, duplicates, delays and reorders.
//!
//! Most calls are compared with simple models of the sender and the receiver. There are 2,000 random schedules per
//! property, or 100,000 if the environment variable `ANABRANCH_LONG` is set. Failing schedules are shrunk and printed,
//! and nothing is written to disk.

mod bytes;
mod congestion;
mod dcp;
mod eqds;
mod go_back_n;
mod irn;
mod mp_rdma;
mod mrc;
mod rack_tlp;
mod rnic_sr;
mod run;
mod sack;
mod schedule;
mod strack;
mod uet;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestError, TestRng, TestRunner};
use schedule::Schedule;
use std::fmt::Debug;

fn check<E: Clone + Debug, S: Strategy<Value = Schedule<E>>>(
    schedules: S,
    test: impl Fn(Schedule<E>) -> Result<(), TestCaseError>,
) {
    let cases = if std::env::var_os("ANABRANCH_LONG").is_some() { 100_000 } else { 2_000 };
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(config.rng_algorithm);
    match TestRunner::new_with_rng(config, rng).run(&schedules, test) {
        Ok(()) => {}
        Err(TestError::Fail(why, schedule)) => panic!("{why}\nsmallest schedule: {schedule:#?}"),
        Err(TestError::Abort(why)) => panic!("{why}"),
    }
}
