//! Panics in user-defined parts: they keep the name of the part that panicked, wherever they are caught.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// A panic in a user-defined part.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the {part} panicked: {message}")]
pub struct Panicked {
    /// The part: `load balancer`, `topology`.
    pub part: String,
    /// The panic message.
    pub message: String,
}

/// Calls a user-defined part. A panic in it continues to unwind, as a [`Panicked`].
///
/// Never inlined: the dispatch between built-in and user-defined parts is on the packet path.
#[cold]
#[inline(never)]
pub fn foreign<T>(part: &str, call: impl FnOnce() -> T) -> T {
    catch_foreign(part, call).unwrap_or_else(|panicked| resume_unwind(Box::new(panicked)))
}

/// Calls a user-defined part.
///
/// # Errors
/// The part panicked, or another user-defined part that it called did; the error names the innermost.
pub fn catch_foreign<T>(part: &str, call: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| {
        panicked(payload)
            .unwrap_or_else(|payload| Panicked { part: part.to_owned(), message: panic_message(&*payload) })
    })
}

/// Runs code that calls user-defined parts.
///
/// # Errors
/// One of the parts panicked. Any other panic continues to unwind.
pub fn catch_panicked<T>(run: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(run))
        .map_err(|payload| panicked(payload).unwrap_or_else(|payload| resume_unwind(payload)))
}

fn panicked(payload: Box<dyn Any + Send>) -> Result<Panicked, Box<dyn Any + Send>> {
    payload.downcast::<Panicked>().map(|panicked| *panicked)
}

fn panic_message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_part_is_named() {
        let caught =
            catch_panicked(|| foreign("transport", || foreign("load balancer", || panic!("path {}", 7))));
        let panicked: Panicked = caught.unwrap_err();
        assert_eq!(panicked.to_string(), "the load balancer panicked: path 7");
        assert_eq!(catch_foreign("topology", || 5), Ok(5));
    }

    #[test]
    fn a_defect_of_ours_is_nobody_elses() {
        let ours = catch_unwind(|| catch_panicked(|| panic!("ours")));
        assert_eq!(panic_message(&*ours.unwrap_err()), "ours");
    }
}
