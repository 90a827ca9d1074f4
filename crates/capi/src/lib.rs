//! A network behind the four calls that simulators of training need (ASTRA-sim's network interface): send, receive,
//! schedule and time. C and C++ programs include `include/anabranch.h`. `c/ring_all_reduce.c` is a complete example.
//!
//! [`Online`] is the implementation in Rust.

mod counters;
mod engine;
mod error;
#[cfg(test)]
mod ffi_tests;
mod files;
mod online;
mod opened;
mod ranks;

pub use error::OnlineError;
pub use online::Online;

use anabranch_base::Duration;
use anabranch_sim::QueuePair;
use std::any::Any;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A callback function in C.
pub type Function = extern "C" fn(argument: *mut c_void);

/// A callback function with its argument, which is passed to the function unread.
#[derive(Clone, Copy)]
struct Callback {
    function: Function,
    argument: *mut c_void,
}

/// A simulation in progress: `anabranch` in C.
pub struct Anabranch {
    online: Online<Callback>,
    /// The error of the last failed call.
    error: CString,
    warnings: CString,
    /// Whether the innermost `anabranch_run` must return after the present callback.
    stops: bool,
    /// Whether an `anabranch_run` is under way.
    runs: bool,
}

/// The queue pair number that gives a message its own queue pair: `ANABRANCH_OWN_QUEUE_PAIR` in C.
const OWN_QUEUE_PAIR: u64 = u64::MAX;

const SUCCESS: c_int = 0;
const FAILED: c_int = -1;

/// Runs `action`, and stores its error for `anabranch_error`.
///
/// # Safety
/// `simulation` is null or from [`anabranch_new`] or [`anabranch_new_in`], and nothing else uses it at the same time.
unsafe fn call(
    simulation: *mut Anabranch,
    action: impl FnOnce(&mut Online<Callback>) -> Result<(), OnlineError>,
) -> c_int {
    // SAFETY: guaranteed by the caller.
    let Some(simulation) = (unsafe { simulation.as_mut() }) else { return FAILED };
    match guarded(|| action(&mut simulation.online)) {
        Ok(()) => SUCCESS,
        Err(why) => {
            simulation.error = text(&why);
            FAILED
        }
    }
}

/// The result of `action`. A panic becomes an error, since it must not unwind into the caller's C code.
fn guarded<T>(action: impl FnOnce() -> Result<T, OnlineError>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(action)) {
        Ok(ended) => ended.map_err(|error| error.to_string()),
        Err(panic) => Err(panic_message(&*panic)),
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let what = panic.downcast_ref::<String>().map(String::as_str);
    let what = what.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    format!("internal error, a defect of anabranch: {what}")
}

fn text(what: &str) -> CString {
    let until = what.bytes().position(|byte| byte == 0).unwrap_or(what.len());
    CString::new(&what[..until]).unwrap_or_default()
}

fn callback(function: Option<Function>, argument: *mut c_void) -> Option<Callback> {
    function.map(|function| Callback { function, argument })
}

fn required(function: Option<Function>, argument: *mut c_void) -> Result<Callback, OnlineError> {
    callback(function, argument).ok_or_else(|| OnlineError::Call("the function is NULL; give one".to_owned()))
}

/// The text that C passes. None for NULL.
///
/// # Safety
/// `text` is null or ends with a zero byte, and lives for `'a`.
unsafe fn text_from<'a>(text: *const c_char, what: &str) -> Result<Option<&'a str>, OnlineError> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: guaranteed by the caller.
    let text = unsafe { CStr::from_ptr(text) }.to_str();
    text.map(Some).map_err(|_| OnlineError::Call(format!("{what} is not UTF-8")))
}

const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => panic!("the version has a zero byte"),
};

/// See `anabranch.h`.
#[unsafe(no_mangle)]
pub extern "C" fn anabranch_version() -> *const c_char {
    VERSION.as_ptr()
}

/// See `anabranch.h`.
///
/// # Safety
/// `scenario` is null or a text that ends with a zero byte; `error` is null or has room for `error_bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_new(
    scenario: *const c_char,
    error: *mut c_char,
    error_bytes: usize,
) -> *mut Anabranch {
    // SAFETY: guaranteed by the caller.
    unsafe { anabranch_new_in(scenario, std::ptr::null(), error, error_bytes) }
}

/// See `anabranch.h`.
///
/// # Safety
/// `scenario` and `folder` are null or texts that end with a zero byte; `error` is null or has room for `error_bytes`
/// bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_new_in(
    scenario: *const c_char,
    folder: *const c_char,
    error: *mut c_char,
    error_bytes: usize,
) -> *mut Anabranch {
    let result = guarded(|| {
        // SAFETY: guaranteed by the caller.
        let (scenario, folder) =
            unsafe { (text_from(scenario, "the scenario")?, text_from(folder, "the folder's path")?) };
        let no_scenario = || OnlineError::Scenario("the scenario is NULL; give its text".to_owned());
        Online::new(scenario.ok_or_else(no_scenario)?, folder.map(Into::into))
    });
    match result {
        Ok(online) => {
            let warnings = text(&online.warnings().join("\n"));
            Box::into_raw(Box::new(Anabranch {
                online,
                error: CString::default(),
                warnings,
                stops: false,
                runs: false,
            }))
        }
        Err(why) => {
            let why = text(&why);
            let bytes = why.as_bytes();
            if !error.is_null() && error_bytes > 0 {
                // The text is cut between two characters, so that it stays valid UTF-8.
                let fits = why.to_str().map_or(0, |why| why.floor_char_boundary(error_bytes - 1));
                // SAFETY: guaranteed by the caller; the buffer has room for `fits` bytes and a zero.
                unsafe {
                    std::ptr::copy_nonoverlapping(bytes.as_ptr().cast(), error, fits);
                    *error.add(fits) = 0;
                }
            }
            std::ptr::null_mut()
        }
    }
}

/// See `anabranch.h`.
///
/// # Safety
/// `simulation` is null or from [`anabranch_new`] or [`anabranch_new_in`], and is not used after this.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_free(simulation: *mut Anabranch) {
    if !simulation.is_null() {
        // SAFETY: guaranteed by the caller.
        drop(unsafe { Box::from_raw(simulation) });
    }
}

/// See `anabranch.h`.
///
/// # Safety
/// `simulation` is null or from [`anabranch_new`] or [`anabranch_new_in`], and is not in use by another thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_send(
    simulation: *mut Anabranch,
    from: u32,
    to: u32,
    bytes: u64,
    tag: u64,
    on_sent: Option<Function>,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: guaranteed by the caller.
    unsafe { anabranch_send_on(simulation, 0, from, to, bytes, tag, on_sent, argument) }
}

/// See `anabranch.h`.
///
/// # Safety
/// `simulation` is null or from [`anabranch_new`] or [`anabranch_new_in`], and is not in use by another thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_send_on(
    simulation: *mut Anabranch,
    queue_pair: u64,
    from: u32,
    to: u32,
    bytes: u64,
    tag: u64,
    on_sent: Option<Function>,
    argument: *mut c_void,
) -> c_int {
    let queue_pair = match queue_pair {
        OWN_QUEUE_PAIR => QueuePair::Own,
        number => QueuePair::Shared(number),
    };
    // SAFETY: guaranteed by the caller.
    unsafe {
        call(simulation, |online| {
            online.send_on(queue_pair, (from, to), bytes, tag, callback(on_sent, argument))
        })
    }
}

/// See `anabranch.h`.
///
/// # Safety
/// `simulation` is null or from [`anabranch_new`] or [`anabranch_new_in`], and is not in use by another thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_receive(
    simulation: *mut Anabranch,
    from: u32,
    to: u32,
    bytes: u64,
    tag: u64,
    on_received: Option<Function>,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: guaranteed by the caller.
    unsafe {
        call(simulation, |online| online.receive(from, to, bytes, tag, required(on_received, argument)?))
    }
}

/// See `anabranch.h`.
///
/// # Safety
/// `simulation` is null or from [`anabranch_new`] or [`anabranch_new_in`], and is not in use by another thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_schedule(
    simulation: *mut Anabranch,
    delay_ps: u64,
    function: Option<Function>,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: guaranteed by the caller.
    unsafe {
        call(simulation, |online| {
            online.schedule(Duration(delay_ps), required(function, argument)?);
            Ok(())
        })
    }
}

/// See `anabranch.h`.
///
/// # Safety
/// `simulation` is null or from [`anabranch_new`] or [`anabranch_new_in`], and is not in use by another thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_time_ps(simulation: *const Anabranch) -> u64 {
    // SAFETY: guaranteed by the caller.
    unsafe { simulation.as_ref() }.map_or(0, |simulation| simulation.online.now().0)
}

/// See `anabranch.h`.
///
/// # Safety
/// `simulation` is null or from [`anabranch_new`] or [`anabranch_new_in`], and is not in use by another thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_run(simulation: *mut Anabranch) -> c_int {
    // SAFETY: guaranteed by the caller.
    let outer = unsafe { simulation.as_mut() }.map(|simulation| {
        (std::mem::take(&mut simulation.stops), std::mem::replace(&mut simulation.runs, true))
    });
    // SAFETY: guaranteed by the caller.
    let ended = unsafe { run_until_stopped(simulation) };
    // SAFETY: guaranteed by the caller.
    if let (Some(simulation), Some(outer)) = (unsafe { simulation.as_mut() }, outer) {
        // A stop that was asked for before this call ends the outer run.
        (simulation.stops, simulation.runs) = outer;
    }
    ended
}

/// Simulates until nothing is left or a callback calls [`anabranch_stop`].
///
/// # Safety
/// As for [`anabranch_run`].
unsafe fn run_until_stopped(simulation: *mut Anabranch) -> c_int {
    loop {
        let mut due = None;
        // SAFETY: guaranteed by the caller. The borrow ends before the callback runs, since the callback may call this
        // library again.
        let ended = unsafe {
            call(simulation, |online| {
                due = online.advance()?;
                Ok(())
            })
        };
        match due {
            Some(Callback { function, argument }) => function(argument),
            None => return ended,
        }
        // SAFETY: guaranteed by the caller; the function has returned.
        if unsafe { simulation.as_mut() }.is_some_and(|simulation| std::mem::take(&mut simulation.stops)) {
            return SUCCESS;
        }
    }
}

/// See `anabranch.h`.
///
/// # Safety
/// `simulation` is null or from [`anabranch_new`] or [`anabranch_new_in`], and is not in use by another thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_stop(simulation: *mut Anabranch) {
    // SAFETY: guaranteed by the caller.
    if let Some(simulation) = unsafe { simulation.as_mut() } {
        simulation.stops = simulation.runs;
    }
}

/// See `anabranch.h`.
///
/// # Safety
/// `simulation` is null or from [`anabranch_new`] or [`anabranch_new_in`], and is not in use by another thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_ranks(simulation: *const Anabranch) -> u32 {
    // SAFETY: guaranteed by the caller.
    unsafe { simulation.as_ref() }.map_or(0, |simulation| simulation.online.ranks())
}

/// See `anabranch.h`.
///
/// # Safety
/// `simulation` is null or from [`anabranch_new`] or [`anabranch_new_in`], and is not in use by another thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_hosts(simulation: *const Anabranch) -> u32 {
    // SAFETY: guaranteed by the caller.
    unsafe { simulation.as_ref() }.map_or(0, |simulation| simulation.online.hosts())
}

/// See `anabranch.h`.
///
/// # Safety
/// `simulation` is null or from [`anabranch_new`] or [`anabranch_new_in`], and is not in use by another thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_host_rate(simulation: *const Anabranch, host: u32) -> u64 {
    // SAFETY: guaranteed by the caller.
    let simulation = unsafe { simulation.as_ref() };
    simulation.and_then(|simulation| simulation.online.host_rate(host)).map_or(0, |rate| rate.0)
}

/// See `anabranch.h`.
///
/// # Safety
/// `simulation` is null or from [`anabranch_new`] or [`anabranch_new_in`], and is not in use by another thread;
/// `name` is null or a text that ends with a zero byte; `value` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_counter(
    simulation: *mut Anabranch,
    name: *const c_char,
    value: *mut f64,
) -> c_int {
    // SAFETY: guaranteed by the caller.
    unsafe {
        call(simulation, |online| {
            let name = text_from(name, "the name of the counter")?;
            let count = counters::counter(online.totals().as_ref(), name.unwrap_or_default())?;
            if let Some(value) = value.as_mut() {
                *value = count;
            }
            Ok(())
        })
    }
}

/// See `anabranch.h`.
///
/// # Safety
/// `simulation` is null or from [`anabranch_new`] or [`anabranch_new_in`], and is not in use by another thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_warnings(simulation: *const Anabranch) -> *const c_char {
    // SAFETY: guaranteed by the caller.
    unsafe { simulation.as_ref() }.map_or(c"".as_ptr(), |simulation| simulation.warnings.as_ptr())
}

/// See `anabranch.h`.
///
/// # Safety
/// `simulation` is null or from [`anabranch_new`] or [`anabranch_new_in`], and is not in use by another thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_error(simulation: *const Anabranch) -> *const c_char {
    // SAFETY: guaranteed by the caller.
    match unsafe { simulation.as_ref() } {
        Some(simulation) => simulation.error.as_ptr(),
        None => c"there is no simulation".as_ptr(),
    }
}
