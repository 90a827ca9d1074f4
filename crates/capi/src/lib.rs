//! The network behind four calls, as simulators of training want it (ASTRA-sim's network interface): send, receive,
//! schedule, time. C and C++ use `include/anabranch.h`; `c/ring_all_reduce.c` is a whole program.
//!
//! What is behind it, in Rust, is [`Online`].

mod engine;
mod error;
mod online;

pub use error::OnlineError;
pub use online::Online;

use anabranch_base::Duration;
use std::any::Any;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A function of the caller's.
pub type Function = extern "C" fn(argument: *mut c_void);

/// A function of the caller's with its argument, which is not looked at.
#[derive(Clone, Copy)]
struct Callback {
    function: Function,
    argument: *mut c_void,
}

/// A simulation in progress: `anabranch` in C.
pub struct Anabranch {
    online: Online<Callback>,
    /// Of the call that failed last.
    error: CString,
}

/// All went well.
const FINE: c_int = 0;
/// Something did not: `anabranch_error` says what.
const FAILED: c_int = -1;

/// Does `action`; what goes wrong is kept as the error.
///
/// # Safety
/// `simulation` is null or of [`anabranch_new`], and no one else uses it now.
unsafe fn call(
    simulation: *mut Anabranch,
    action: impl FnOnce(&mut Online<Callback>) -> Result<(), OnlineError>,
) -> c_int {
    // SAFETY: the caller's promise.
    let Some(simulation) = (unsafe { simulation.as_mut() }) else { return FAILED };
    match guarded(|| action(&mut simulation.online)) {
        Ok(()) => FINE,
        Err(why) => {
            simulation.error = text(&why);
            FAILED
        }
    }
}

/// What `action` returns, or why not; a panic must not leave this library.
fn guarded<T>(action: impl FnOnce() -> Result<T, OnlineError>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(action)) {
        Ok(ended) => ended.map_err(|error| error.to_string()),
        Err(panic) => Err(what_panicked(&*panic)),
    }
}

/// What a panic of ours says.
fn what_panicked(panic: &(dyn Any + Send)) -> String {
    let what = panic.downcast_ref::<String>().map(String::as_str);
    let what = what.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    format!("internal error, a defect of anabranch: {what}")
}

/// A text as C has it: up to its first zero byte.
fn text(what: &str) -> CString {
    let until = what.bytes().position(|byte| byte == 0).unwrap_or(what.len());
    CString::new(&what[..until]).unwrap_or_default()
}

fn callback(function: Option<Function>, argument: *mut c_void) -> Option<Callback> {
    function.map(|function| Callback { function, argument })
}

fn needed(function: Option<Function>, argument: *mut c_void) -> Result<Callback, OnlineError> {
    callback(function, argument).ok_or_else(|| OnlineError::Call("the function is NULL; give one".to_owned()))
}

/// See `anabranch.h`.
///
/// # Safety
/// `scenario` is a text that ends with a zero byte; `error` is null or has room for `error_bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_new(
    scenario: *const c_char,
    error: *mut c_char,
    error_bytes: usize,
) -> *mut Anabranch {
    let made = guarded(|| {
        if scenario.is_null() {
            return Err(OnlineError::Scenario("the scenario is NULL; give its text".to_owned()));
        }
        // SAFETY: the caller's promise.
        let scenario = unsafe { CStr::from_ptr(scenario) }.to_str();
        Online::new(scenario.map_err(|_| OnlineError::Scenario("the scenario is not UTF-8".to_owned()))?)
    });
    match made {
        Ok(online) => Box::into_raw(Box::new(Anabranch { online, error: CString::default() })),
        Err(why) => {
            let why = text(&why);
            let bytes = why.as_bytes();
            if !error.is_null() && error_bytes > 0 {
                let fits = bytes.len().min(error_bytes - 1);
                // SAFETY: the caller's promise; there is room for `fits` bytes and a zero.
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
/// `simulation` is null or of [`anabranch_new`], and is not used after this.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_free(simulation: *mut Anabranch) {
    if !simulation.is_null() {
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(simulation) });
    }
}

/// See `anabranch.h`.
///
/// # Safety
/// `simulation` is null or of [`anabranch_new`], and of this thread.
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
    // SAFETY: the caller's promise.
    unsafe { call(simulation, |online| online.send(from, to, bytes, tag, callback(on_sent, argument))) }
}

/// See `anabranch.h`.
///
/// # Safety
/// `simulation` is null or of [`anabranch_new`], and of this thread.
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
    // SAFETY: the caller's promise.
    unsafe { call(simulation, |online| online.receive(from, to, bytes, tag, needed(on_received, argument)?)) }
}

/// See `anabranch.h`.
///
/// # Safety
/// `simulation` is null or of [`anabranch_new`], and of this thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_schedule(
    simulation: *mut Anabranch,
    delay_ps: u64,
    function: Option<Function>,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        call(simulation, |online| {
            online.schedule(Duration(delay_ps), needed(function, argument)?);
            Ok(())
        })
    }
}

/// See `anabranch.h`.
///
/// # Safety
/// `simulation` is null or of [`anabranch_new`], and of this thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_time_ps(simulation: *const Anabranch) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { simulation.as_ref() }.map_or(0, |simulation| simulation.online.now().0)
}

/// See `anabranch.h`.
///
/// # Safety
/// `simulation` is null or of [`anabranch_new`], of this thread, and not in a run already.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_run(simulation: *mut Anabranch) -> c_int {
    loop {
        let mut due = None;
        // SAFETY: the caller's promise. The borrow ends before the function is called, which may call us again.
        let ended = unsafe {
            call(simulation, |online| {
                due = online.go_on()?;
                Ok(())
            })
        };
        match due {
            Some(Callback { function, argument }) => function(argument),
            None => return ended,
        }
    }
}

/// See `anabranch.h`.
///
/// # Safety
/// `simulation` is null or of [`anabranch_new`], and of this thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anabranch_error(simulation: *const Anabranch) -> *const c_char {
    // SAFETY: the caller's promise.
    match unsafe { simulation.as_ref() } {
        Some(simulation) => simulation.error.as_ptr(),
        None => c"there is no simulation".as_ptr(),
    }
}
