//! The barrier at which threads wait for each other between synchronisation windows.

use crate::threads::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::threads::{spin_loop, yield_now};
use std::num::NonZero;
use std::thread::available_parallelism;

/// A barrier at which the last thread to arrive calls a function before any thread continues. Waiting threads spin for
/// a while before they yield, since synchronisation windows are short.
pub struct Barrier {
    threads: usize,
    arrived: AtomicUsize,
    round: AtomicUsize,
    broken: AtomicBool,
    spins: u32,
}

/// The barrier is broken, because another thread has panicked.
#[derive(Debug)]
pub struct Broken;

const SPINS: u32 = 1_000;

impl Barrier {
    pub fn new(threads: usize) -> Self {
        Barrier {
            threads,
            arrived: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            // With more threads than cores, the thread that is awaited may have no core while others spin. Loom runs
            // one thread at a time. In both cases threads yield immediately.
            spins: if cfg!(loom) || threads > available_parallelism().map_or(1, NonZero::get) {
                0
            } else {
                SPINS
            },
        }
    }

    /// Waits until every thread has arrived. The last thread calls `between` before any thread returns.
    ///
    /// # Errors
    /// Another thread has panicked, so it will not arrive.
    pub fn wait(&self, between: impl FnOnce()) -> Result<(), Broken> {
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            between();
            self.arrived.store(0, Ordering::Relaxed);
            self.round.store(round.wrapping_add(1), Ordering::Release);
            return Ok(());
        }
        let mut spins = 0;
        while self.round.load(Ordering::Acquire) == round {
            if self.broken.load(Ordering::Relaxed) {
                return Err(Broken);
            }
            if spins < self.spins {
                spins += 1;
                spin_loop();
            } else {
                yield_now();
            }
        }
        Ok(())
    }

    /// The guard that a thread holds while it takes part: if the thread panics, the others stop waiting.
    pub fn guard(&self) -> impl Drop + '_ {
        struct Guard<'t>(&'t Barrier);
        impl Drop for Guard<'_> {
            fn drop(&mut self) {
                if std::thread::panicking() {
                    self.0.broken.store(true, Ordering::Relaxed);
                }
            }
        }
        Guard(self)
    }
}
