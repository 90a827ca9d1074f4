//! How long a run takes to recover from a fault, from its goodput and that of its baseline.

/// The name of the curve of a run's goodput: the data that its receivers took in for the first time, in Gb/s of payload.
pub const GOODPUT: &str = "goodput_gbps";
/// What that curve is of.
pub const ALL_HOSTS: &str = "all hosts";

/// The share of the baseline's goodput at which a run has recovered.
const BACK: f64 = 0.95;
/// The share of the baseline's data until which runs are compared: what comes after are the last messages.
const COMPARED: f64 = 0.95;
/// Bins that the baseline's time is cut into, if its curve is that fine.
const BINS: f64 = 100.0;
/// Bins that are compared together: phases of a collective that come a little later are no dip.
const STRETCH: usize = 5;

/// The time to recover, in microseconds: from `fault_ps`, when the first fault starts, until goodput is back at 95 % of
/// what it is without faults at that time. 0: it never fell below that. None: it is not back before the baseline has
/// delivered 95 % of its data, with which the comparison ends, as what comes after are the last messages.
///
/// `with` and `without` are the curves of the run and of its baseline: times in picoseconds at which intervals end, and
/// the goodput of each, [`GOODPUT`]. Time from the fault on is cut into bins of a hundredth of the baseline's time, or as
/// long as the intervals of the curves where those are longer, and five bins together are held against the same five of
/// the baseline. Once five have had less than 95 %, goodput is back with the next five that have as much, provided that
/// all from there to the end together have as well: so the time between two dips of a link that flaps is no recovery. The
/// answer is the start of these five, to a bin.
pub fn time_to_recover(with: &[(u64, f64)], without: &[(u64, f64)], fault_ps: u64) -> Option<f64> {
    let all = without.last().map_or(0.0, |&(end, _)| delivered(without, end as f64));
    let end = when(without, COMPARED * all);
    let fault = fault_ps as f64;
    if end <= fault {
        return Some(0.0);
    }
    let intervals = |curve: &[(u64, f64)]| -> f64 {
        let starts = std::iter::once(0).chain(curve.iter().map(|(time, _)| *time));
        let within = curve.iter().zip(starts).filter(|((end, _), _)| *end as f64 > fault);
        within.map(|((end, _), start)| (*end - start) as f64).fold(0.0, f64::max)
    };
    let bin = (end / BINS).max(intervals(with)).max(intervals(without)).min(end - fault);
    let bins = ((end - fault) / bin).floor().max(1.0) as usize;
    let share = |curve: &[(u64, f64)], bin_of: usize| {
        let from = fault + bin_of as f64 * bin;
        delivered(curve, from + bin) - delivered(curve, from)
    };
    let pairs: Vec<(f64, f64)> =
        (0..bins).map(|number| (share(with, number), share(without, number))).collect();
    let is_back = |pairs: &[(f64, f64)]| {
        let (with, without) = pairs.iter().fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
        with >= BACK * without
    };
    let stretch = |from: usize| &pairs[from..(from + STRETCH).min(bins)];
    let starts = || 0..=bins.saturating_sub(STRETCH);
    let Some(dip) = starts().find(|&from| !is_back(stretch(from))) else { return Some(0.0) };
    let back = starts().skip(dip).find(|&from| is_back(stretch(from)) && is_back(&pairs[from..]))?;
    Some(back as f64 * bin / 1e6)
}

/// What a curve adds up to until `time`.
fn delivered(curve: &[(u64, f64)], time: f64) -> f64 {
    let mut sum = 0.0;
    let mut from = 0.0;
    for &(to, rate) in curve {
        let to = to as f64;
        if to >= time {
            return sum + rate * (time - from).max(0.0);
        }
        sum += rate * (to - from);
        from = to;
    }
    sum
}

/// When a curve adds up to `amount`.
fn when(curve: &[(u64, f64)], amount: f64) -> f64 {
    let mut sum = 0.0;
    let mut from = 0.0;
    for &(to, rate) in curve {
        let to = to as f64;
        let more = rate * (to - from);
        if more > 0.0 && sum + more >= amount {
            return from + (amount - sum) / rate;
        }
        sum += more;
        from = to;
    }
    from
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000_000;

    /// A curve with an interval of 10 us for each rate.
    fn curve(rates: &[f64]) -> Vec<(u64, f64)> {
        (1..).zip(rates).map(|(number, &rate)| (number * 10 * US, rate)).collect()
    }

    /// 100 intervals at a rate of 100, except for those in `places`, which have `rate`.
    fn with(places: std::ops::Range<usize>, rate: f64) -> Vec<(u64, f64)> {
        curve(&(0..100).map(|place| if places.contains(&place) { rate } else { 100.0 }).collect::<Vec<_>>())
    }

    #[test]
    fn a_run_is_back_when_its_goodput_is() {
        let whole = with(0..0, 0.0);
        assert_eq!(time_to_recover(&with(20..30, 0.0), &whole, 200 * US), Some(100.0));
        assert_eq!(time_to_recover(&with(20..30, 94.0), &whole, 200 * US), Some(60.0), "to five bins");
        assert_eq!(time_to_recover(&with(20..30, 96.0), &whole, 200 * US), Some(0.0), "never below 95 %");
        assert_eq!(
            time_to_recover(&with(25..30, 0.0), &whole, 200 * US),
            Some(100.0),
            "a fault that takes its time"
        );
        assert_eq!(time_to_recover(&with(25..30, 80.0), &whole, 200 * US), Some(90.0), "to a bin");
        assert_eq!(time_to_recover(&with(20..100, 94.0), &whole, 200 * US), None, "not before the end");
        assert_eq!(
            time_to_recover(&with(20..30, 0.0), &whole, 1000 * US),
            Some(0.0),
            "a fault after the end"
        );
        assert_eq!(time_to_recover(&[], &whole, 200 * US), None);
        assert_eq!(time_to_recover(&[], &[], 200 * US), Some(0.0));
    }

    #[test]
    fn a_link_that_flaps_is_not_back_between_two_dips() {
        let whole = with(0..0, 0.0);
        let flapping: Vec<f64> = (0..100).map(|place| if place % 5 == 0 { 0.0 } else { 100.0 }).collect();
        assert_eq!(time_to_recover(&curve(&flapping), &whole, 200 * US), None);
        let until_half: Vec<f64> =
            (0..100).map(|place| if place % 5 == 0 && place < 50 { 0.0 } else { 100.0 }).collect();
        assert_eq!(
            time_to_recover(&curve(&until_half), &whole, 200 * US),
            Some(260.0),
            "the last dip is at 450 us"
        );
    }

    #[test]
    fn what_is_late_at_the_end_is_no_recovery() {
        // The baseline's last messages are slow; a run that lags behind goes on at its own rate.
        let slow_end: Vec<f64> = (0..100).map(|place| if place < 90 { 100.0 } else { 1.0 }).collect();
        assert_eq!(time_to_recover(&with(20..100, 80.0), &curve(&slow_end), 200 * US), None);
    }
}
