//! Numbers that fit, near a number that does not.

use anabranch_base::Fix;

/// The multiples of `of` nearest to `n`, which is not a multiple itself: "96 or 104".
pub(super) fn near_multiples(n: u32, of: u32) -> Fix {
    let below = n / of * of;
    let above = u64::from(below) + u64::from(of);
    if below == 0 { Fix::value(above) } else { Fix::text(format_args!("{below} or {above}")) }
}

/// The largest divisor of `n` up to `value` and the smallest one above `value`, with `more` added to each: "8 or 16".
pub(super) fn near_divisors(n: u32, value: u32, more: u32) -> Fix {
    let below = (1..=value.min(n)).rev().find(|d| n.is_multiple_of(*d));
    let above = (value.saturating_add(1)..=n).find(|d| n.is_multiple_of(*d));
    match (below.map(|d| d + more), above.map(|d| d + more)) {
        (Some(below), Some(above)) => Fix::text(format_args!("{below} or {above}")),
        (Some(only), None) | (None, Some(only)) => Fix::value(only),
        (None, None) => "another number".into(),
    }
}
