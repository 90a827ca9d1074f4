//! Two ends of each transport over a path that loses, trims, duplicates, delays and reorders.
//!
//! Both ends are driven by `handle_*` and `poll_*` alone and compared, call by call, with plain models of them.
//! 2,000 random schedules a property, and 100,000 when the environment variable `ANABRANCH_LONG` is set. Failing
//! schedules are shrunk and printed; nothing is written to disk.

mod congestion;
mod dcp;
mod eqds;
mod go_back_n;
mod irn;
mod mp_rdma;
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

/// Holds a property against many schedules.
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
