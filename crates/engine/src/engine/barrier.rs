//! Where threads wait for each other between windows.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A barrier at which the last thread to come does something before any goes on. Windows are short, so waiting threads
/// spin for a while before they let others run.
pub struct Barrier {
    threads: usize,
    arrived: AtomicUsize,
    round: AtomicUsize,
    broken: AtomicBool,
}

/// Another thread has panicked.
#[derive(Debug)]
pub struct Broken;

/// Spins before a thread lets others run: some tens of microseconds.
const SPINS: u32 = 1_000;

impl Barrier {
    /// For so many threads.
    pub fn new(threads: usize) -> Self {
        Barrier {
            threads,
            arrived: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
        }
    }

    /// Waits until every thread is here; the last one to come calls `between` first.
    ///
    /// # Errors
    /// When a thread has panicked: it will not come.
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
            if spins < SPINS {
                spins += 1;
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
        Ok(())
    }

    /// What a thread holds while it takes part: if it panics, the others stop waiting.
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
