//! Panics in user-defined components. A panic carries the name of the component that panicked, wherever it is caught.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// A panic in a user-defined component.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the {part} panicked: {message}")]
pub struct Panicked {
    /// The name of the component, such as `load balancer` or `topology`.
    pub part: String,
    /// The message of the panic.
    pub message: String,
}

/// Calls a user-defined component. If it panics, unwinding continues with a [`Panicked`].
///
/// The function is never inlined, so that the code of the packet path, which also calls built-in components, stays
/// small.
#[cold]
#[inline(never)]
pub fn foreign<T>(part: &str, call: impl FnOnce() -> T) -> T {
    catch_foreign(part, call).unwrap_or_else(|panicked| resume_unwind(Box::new(panicked)))
}

/// Calls a user-defined component.
///
/// # Errors
/// The component panicked, or called another user-defined component that panicked. The error names the component that
/// panicked.
pub fn catch_foreign<T>(part: &str, call: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| {
        panicked(payload)
            .unwrap_or_else(|payload| Panicked { part: part.to_owned(), message: panic_message(&*payload) })
    })
}

/// Runs code that calls user-defined components.
///
/// # Errors
/// One of the components panicked. Any other panic continues to unwind.
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
