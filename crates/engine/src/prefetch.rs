//! Data that the next events will touch is prefetched into the CPU cache.

/// Prefetches the cache line at `reference`. This is a hint that changes no result.
#[inline]
pub fn prefetch<T>(reference: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of a valid address reads nothing and cannot fault; SSE is part of x86_64.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(reference).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = reference;
}

/// Prefetches the first `lines` cache lines of `reference`, or all of them if there are fewer.
#[inline]
pub fn prefetch_lines<T>(reference: &T, lines: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..lines.min(size_of::<T>().div_ceil(64)) {
        // SAFETY: the address stays within the object; see `prefetch`.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(reference).cast::<i8>().add(line * 64));
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (reference, lines);
}
