//! Atomics and waiting. They come from the standard library, or from loom, which tries every order of threads (`make
//! loom`).

#[cfg(loom)]
pub use loom::{hint::spin_loop, sync::atomic, thread::yield_now};
#[cfg(not(loom))]
pub use std::{hint::spin_loop, sync::atomic, thread::yield_now};
