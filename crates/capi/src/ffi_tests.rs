//! Calls of the C functions from Rust. Under miri (`make miri`), every memory access in them is checked.

use super::*;
use std::ptr::{null, null_mut};

const SCENARIO: &CStr = c"schemes = [\"reps\"]
topology = { kind = \"single-switch\", hosts = 3, link = \"100Gbps\", link_latency = \"1us\" }
";

struct Shared {
    simulation: *mut Anabranch,
    times: Vec<u64>,
}

impl Shared {
    fn new() -> Self {
        // SAFETY: the text ends with a zero byte, and there is no room for an error.
        let simulation = unsafe { anabranch_new(SCENARIO.as_ptr(), null_mut(), 0) };
        assert!(!simulation.is_null());
        Self { simulation, times: Vec::new() }
    }
}

/// Records the time. `argument` is a [`Shared`].
extern "C" fn note(argument: *mut c_void) {
    let shared: *mut Shared = argument.cast();
    // SAFETY: the test passes a `Shared`, which it does not touch while the simulation runs.
    unsafe { (*shared).times.push(anabranch_time_ps((*shared).simulation)) };
}

extern "C" fn forward(argument: *mut c_void) {
    note(argument);
    let shared: *mut Shared = argument.cast();
    // SAFETY: as in `note`; the simulation may be used in a callback.
    unsafe {
        let simulation = (*shared).simulation;
        assert_eq!(anabranch_send(simulation, 1, 2, 1000, 7, Some(note), argument), SUCCESS);
        assert_eq!(anabranch_receive(simulation, 1, 2, 1000, 7, Some(note), argument), SUCCESS);
    }
}

fn error_of(simulation: *const Anabranch) -> String {
    // SAFETY: the simulation is null or alive, and the text is copied before the next call.
    unsafe { CStr::from_ptr(anabranch_error(simulation)) }.to_str().unwrap().to_owned()
}

#[test]
fn callbacks_post_while_the_simulation_runs() {
    let mut shared = Shared::new();
    let argument: *mut c_void = (&raw mut shared).cast();
    let simulation = shared.simulation;
    // SAFETY: the simulation is alive, and `shared` outlives it.
    unsafe {
        assert_eq!(anabranch_send(simulation, 0, 1, 1000, 7, None, null_mut()), SUCCESS);
        assert_eq!(anabranch_receive(simulation, 0, 1, 1000, 7, Some(forward), argument), SUCCESS);
        assert_eq!(anabranch_schedule(simulation, 5, Some(note), argument), SUCCESS);
        assert_eq!(anabranch_run(simulation), SUCCESS, "{}", error_of(simulation));
        let times = (*argument.cast::<Shared>()).times.clone();
        assert!(times.len() == 4 && times[0] == 5 && times.is_sorted(), "{times:?}");
        assert_eq!(anabranch_time_ps(simulation), times[3]);
        anabranch_free(simulation);
    }
}

#[test]
fn a_simulation_ends_in_the_middle_of_a_run() {
    let shared = Shared::new();
    // SAFETY: the simulation is alive until it is freed.
    unsafe {
        assert_eq!(anabranch_send(shared.simulation, 0, 1, 100_000, 0, None, null_mut()), SUCCESS);
        anabranch_free(shared.simulation);
    }
}

#[test]
fn null_is_an_error_and_no_fault() {
    // SAFETY: every pointer may be null.
    unsafe {
        anabranch_free(null_mut());
        assert_eq!(anabranch_send(null_mut(), 0, 1, 1, 0, None, null_mut()), FAILED);
        assert_eq!(anabranch_receive(null_mut(), 0, 1, 1, 0, Some(note), null_mut()), FAILED);
        assert_eq!(anabranch_schedule(null_mut(), 0, Some(note), null_mut()), FAILED);
        assert_eq!(anabranch_run(null_mut()), FAILED);
        assert_eq!(anabranch_time_ps(null()), 0);
        assert!(anabranch_new(null(), null_mut(), 0).is_null());
        assert!(anabranch_new_in(null(), null(), null_mut(), 0).is_null());
        assert_eq!(anabranch_send_on(null_mut(), 3, 0, 1, 1, 0, None, null_mut()), FAILED);
        anabranch_stop(null_mut());
        assert_eq!([anabranch_ranks(null()), anabranch_hosts(null())], [0, 0]);
        assert_eq!(anabranch_host_rate(null(), 0), 0);
        assert_eq!(anabranch_counter(null_mut(), c"drops".as_ptr(), null_mut()), FAILED);
        assert!(CStr::from_ptr(anabranch_warnings(null())).is_empty());
    }
    assert_eq!(error_of(null()), "there is no simulation");
    let shared = Shared::new();
    // SAFETY: the simulation is alive until it is freed.
    unsafe {
        assert_eq!(anabranch_receive(shared.simulation, 0, 1, 1, 0, None, null_mut()), FAILED);
        assert!(error_of(shared.simulation).contains("the function is NULL"));
        assert_eq!(anabranch_counter(shared.simulation, null(), null_mut()), FAILED);
        assert!(error_of(shared.simulation).contains("there is no counter \"\""));
        anabranch_free(shared.simulation);
    }
}

extern "C" fn stop(argument: *mut c_void) {
    note(argument);
    let shared: *mut Shared = argument.cast();
    // SAFETY: as in `note`.
    unsafe {
        let simulation = (*shared).simulation;
        anabranch_stop(simulation);
        assert_eq!(anabranch_send_on(simulation, u64::MAX, 1, 2, 1000, 0, Some(note), argument), SUCCESS);
    }
}

extern "C" fn nest(argument: *mut c_void) {
    note(argument);
    let shared: *mut Shared = argument.cast();
    // SAFETY: as in `note`.
    unsafe { assert_eq!(anabranch_run((*shared).simulation), SUCCESS) };
}

#[test]
fn a_run_that_was_stopped_goes_on_in_the_next_one() {
    let mut shared = Shared::new();
    let argument: *mut c_void = (&raw mut shared).cast();
    let simulation = shared.simulation;
    // SAFETY: the simulation is alive, and `shared` outlives it.
    unsafe {
        // Outside of a run, the call has no effect.
        anabranch_stop(simulation);
        assert_eq!(anabranch_send_on(simulation, 3, 0, 1, 100_000, 7, Some(note), argument), SUCCESS);
        assert_eq!(anabranch_schedule(simulation, 5, Some(stop), argument), SUCCESS);
        assert_eq!(anabranch_schedule(simulation, 5, Some(note), argument), SUCCESS);
        let times = || (*argument.cast::<Shared>()).times.clone();
        assert_eq!(anabranch_run(simulation), SUCCESS);
        assert_eq!((times(), anabranch_time_ps(simulation)), (vec![5], 5));
        assert_eq!(anabranch_run(simulation), SUCCESS, "{}", error_of(simulation));
        assert!(times().len() == 4 && times()[1] == 5 && times()[2] > 5, "{:?}", times());
        let mut finished = 0.0;
        assert_eq!(anabranch_counter(simulation, c"flows_finished".as_ptr(), &raw mut finished), SUCCESS);
        assert_eq!(finished, 2.0);
        anabranch_free(simulation);
    }
}

extern "C" fn stop_and_nest(argument: *mut c_void) {
    stop(argument);
    nest(argument);
}

/// A stop ends the run whose function asked for it, even if that function then runs the simulation itself.
#[test]
fn a_stop_before_a_nested_run_ends_the_outer_one() {
    let mut shared = Shared::new();
    let argument: *mut c_void = (&raw mut shared).cast();
    let simulation = shared.simulation;
    // SAFETY: the simulation is alive, and `shared` outlives it.
    unsafe {
        let times = || (*argument.cast::<Shared>()).times.clone();
        assert_eq!(anabranch_schedule(simulation, 5, Some(stop_and_nest), argument), SUCCESS);
        // The nested run is stopped too, by a function that it calls.
        assert_eq!(anabranch_schedule(simulation, 6, Some(stop), argument), SUCCESS);
        assert_eq!(anabranch_schedule(simulation, 7, Some(note), argument), SUCCESS);
        assert_eq!(anabranch_run(simulation), SUCCESS);
        assert_eq!(times(), [5, 5, 6], "both runs have ended");
        assert_eq!(anabranch_run(simulation), SUCCESS, "{}", error_of(simulation));
        assert_eq!(times()[3], 7);
        anabranch_free(simulation);
    }
}

#[test]
fn a_run_within_a_run_returns_first() {
    let mut shared = Shared::new();
    let argument: *mut c_void = (&raw mut shared).cast();
    let simulation = shared.simulation;
    // SAFETY: the simulation is alive, and `shared` outlives it.
    unsafe {
        assert_eq!(anabranch_schedule(simulation, 5, Some(nest), argument), SUCCESS);
        assert_eq!(anabranch_send(simulation, 0, 1, 1000, 0, Some(note), argument), SUCCESS);
        assert_eq!(anabranch_run(simulation), SUCCESS);
        assert_eq!((*argument.cast::<Shared>()).times.len(), 2);
        anabranch_free(simulation);
    }
}

#[test]
fn the_fabric_and_warnings_can_be_read() {
    let measure = c"schemes = [\"reps\"]
measure = [{ links = \"host-links\", series = \"queue-depth\" }]
topology = { kind = \"rails\", servers = 2, nics = 2, gpus = 4, ports = 2, link = \"100Gbps\", nvlink = \"3600Gbps\" }
";
    let mut why = [0 as c_char; 500];
    // SAFETY: the texts end with a zero byte, and the buffer has room for the error.
    unsafe {
        let simulation = anabranch_new_in(measure.as_ptr(), c".".as_ptr(), why.as_mut_ptr(), why.len());
        assert!(!simulation.is_null(), "{:?}", CStr::from_ptr(why.as_ptr()));
        assert_eq!([anabranch_ranks(simulation), anabranch_hosts(simulation)], [8, 4]);
        assert_eq!(
            [0, 3, 4].map(|host| anabranch_host_rate(simulation, host)),
            [200_000_000_000, 200_000_000_000, 0]
        );
        let warnings = CStr::from_ptr(anabranch_warnings(simulation)).to_str().unwrap();
        assert!(warnings.contains("[[measure]] has no effect"), "{warnings}");
        anabranch_free(simulation);
    }
}

#[test]
fn an_error_is_cut_to_the_room_that_there_is() {
    let mut room = [b'x' as c_char; 6];
    // SAFETY: the text ends with a zero byte, and the buffer is one byte longer than its stated length.
    assert!(unsafe { anabranch_new(c"schemes = 1".as_ptr(), room.as_mut_ptr(), 5) }.is_null());
    assert!(room[..4].iter().all(|&byte| byte != 0 && byte != b'x' as c_char), "{room:?}");
    assert_eq!(room[4..], [0, b'x' as c_char]);
    // SAFETY: as above, with a buffer of no bytes.
    assert!(unsafe { anabranch_new(c"schemes = 1".as_ptr(), room.as_mut_ptr(), 0) }.is_null());
}

#[test]
fn an_error_is_cut_between_characters() {
    let scenario =
        c"schemes = [\"\u{e9}\u{2014}\u{1f41f}\"]\ntopology = { kind = \"fat-tree\", hosts = 16 }\n";
    let mut cuts = 0;
    for bytes in 1..80 {
        let mut room = [1 as c_char; 80];
        // SAFETY: the text ends with a zero byte, and the buffer has this many bytes.
        assert!(unsafe { anabranch_new(scenario.as_ptr(), room.as_mut_ptr(), bytes) }.is_null());
        // SAFETY: the buffer contains a zero byte now.
        let error = unsafe { CStr::from_ptr(room.as_ptr()) };
        cuts += usize::from(error.count_bytes() < bytes - 1);
        assert!(error.to_str().is_ok(), "{error:?}");
    }
    assert!(cuts > 3, "some characters have several bytes");
}

#[test]
fn extreme_numbers_are_errors_and_no_defects() {
    let mut shared = Shared::new();
    let argument: *mut c_void = (&raw mut shared).cast();
    let simulation = shared.simulation;
    // SAFETY: the simulation is alive, and `shared` outlives it.
    unsafe {
        assert_eq!(anabranch_send(simulation, 0, 1, 1000, u64::MAX, None, null_mut()), SUCCESS);
        assert_eq!(anabranch_schedule(simulation, u64::MAX, Some(note), argument), SUCCESS);
        assert_eq!(anabranch_run(simulation), SUCCESS, "{}", error_of(simulation));
        assert_eq!(shared.times, [u64::MAX]);
        assert_eq!(anabranch_schedule(simulation, u64::MAX, Some(note), argument), SUCCESS);
        assert_eq!(anabranch_run(simulation), SUCCESS, "{}", error_of(simulation));
        assert_eq!(anabranch_send(simulation, 0, 1, 1000, 7, None, null_mut()), FAILED);
        anabranch_free(simulation);
        // A message with more packets than a queue pair can carry.
        for bytes in [1 << 50, u64::MAX] {
            let simulation = Shared::new().simulation;
            assert_eq!(anabranch_send(simulation, 0, 1, 1000, 0, None, null_mut()), SUCCESS);
            assert_eq!(anabranch_send(simulation, 0, 1, bytes, 0, None, null_mut()), SUCCESS);
            for _ in 0..2 {
                assert_eq!(anabranch_run(simulation), FAILED);
                let error = error_of(simulation);
                assert!(error.contains("more than 2^32 packets") && !error.contains("defect"), "{error}");
            }
            anabranch_free(simulation);
        }
    }
}

#[test]
fn the_version_is_that_of_the_package() {
    // SAFETY: the version is a text that lives as long as the program.
    let version = unsafe { CStr::from_ptr(anabranch_version()) };
    assert_eq!(version.to_str(), Ok(env!("CARGO_PKG_VERSION")));
}
