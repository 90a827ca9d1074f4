//! Panics in what other people bring: told with the part that panicked, wherever they are caught.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// A panic in a part that somebody else brought.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the {part} panicked: {what}")]
pub struct Panicked {
    /// What it is: `load balancer`, `topology`.
    pub part: String,
    /// What it said.
    pub what: String,
}

/// Calls a part that somebody else brought. A panic in it goes on, as a [`Panicked`].
///
/// Never in line: what dispatches among ours and theirs is on the packet path.
#[cold]
#[inline(never)]
pub fn foreign<T>(part: &str, call: impl FnOnce() -> T) -> T {
    catch_foreign(part, call).unwrap_or_else(|panicked| resume_unwind(Box::new(panicked)))
}

/// Calls a part that somebody else brought.
///
/// # Errors
/// It panicked, or something of theirs that it called did.
pub fn catch_foreign<T>(part: &str, call: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| {
        panicked(payload).unwrap_or_else(|payload| Panicked { part: part.to_owned(), what: said(&*payload) })
    })
}

/// Runs what calls parts of other people.
///
/// # Errors
/// One of them panicked. Any other panic goes on.
pub fn catch_panicked<T>(run: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(run))
        .map_err(|payload| panicked(payload).unwrap_or_else(|payload| resume_unwind(payload)))
}

fn panicked(payload: Box<dyn Any + Send>) -> Result<Panicked, Box<dyn Any + Send>> {
    payload.downcast::<Panicked>().map(|panicked| *panicked)
}

/// The message of a panic.
fn said(payload: &(dyn Any + Send)) -> String {
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
        assert_eq!(said(&*ours.unwrap_err()), "ours");
    }
}
