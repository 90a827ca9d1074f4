//! The time that a run takes to recover from a fault, computed from the goodput of the run and of its baseline.

/// The name of the series of a run's goodput: the payload that its receivers received for the first time, in Gb/s.
pub const GOODPUT: &str = "goodput_gbps";
/// The entity of the goodput series.
pub const ALL_HOSTS: &str = "all hosts";

/// Goodput below this fraction of the goodput without faults counts as fallen.
const RECOVERED: f64 = 0.95;
/// The number of bins into which the baseline's time is divided, if the curves are fine enough.
const BINS: f64 = 100.0;
/// The number of bins over which goodput is smoothed. Such a series of bins is called a stretch.
const STRETCH: f64 = 5.0;
/// The relative error that rounding may cause in a sum.
const ROUNDING: f64 = 1e-9;

/// The time to recover, in microseconds. It begins at `fault_ps`, the start of the first fault. It ends when goodput is
/// back at 95 % of the goodput that the same run has without faults at the same progress, and stays there on average.
/// It is 0 if all data arrived and goodput never fell below 95 %, and `None` if the run ended without having recovered.
///
/// `with` and `without` are the curves of the run and of its baseline. Each point is the time in picoseconds at which
/// an interval ends, and the goodput ([`GOODPUT`]) in that interval. Both curves are smoothed over stretches. A stretch
/// is a twentieth of the baseline's time (five bins of a hundredth each). It is five intervals of the curves if five
/// intervals are longer than that.
///
/// Progress is the amount of data delivered so far. A stretch of the baseline begins at some progress and delivers some
/// amount of data. The run is measured by the time that it takes to deliver the same amount from the same progress. A
/// run that is behind is therefore compared with the same phase of the work, and not with the phase in which the
/// baseline was at that time.
///
/// Goodput counts as fallen if the run takes longer than 1/0.95 of the time that the baseline takes for a stretch. It
/// is back at the start of the next stretch that takes at most that long. From there on, all data up to 95 % of the
/// total must also take at most that long on average. The time between two dips of a flapping link is therefore no
/// recovery, and a few late messages at the end do not undo a recovery.
pub fn time_to_recover(with: &[(u64, f64)], without: &[(u64, f64)], fault_ps: u64) -> Option<f64> {
    let total = |curve: &[(u64, f64)]| curve.last().map_or(0.0, |&(end, _)| delivered(curve, end as f64));
    let (all, fault) = (total(without), fault_ps as f64);
    let is_all = |progress: f64| progress >= all * (1.0 - ROUNDING);
    if is_all(delivered(with, fault)) {
        return Some(0.0);
    }
    // The median length of the intervals that end after the fault begins. An interval without data may be far longer,
    // but does not make the curve less precise.
    let intervals = |curve: &[(u64, f64)]| -> f64 {
        let starts = std::iter::once(0).chain(curve.iter().map(|(time, _)| *time));
        let within = curve.iter().zip(starts).filter(|((end, _), _)| *end as f64 > fault);
        let mut lengths: Vec<u64> = within.map(|((end, _), start)| *end - start).collect();
        lengths.sort_unstable();
        lengths.get(lengths.len() / 2).map_or(0.0, |length| *length as f64)
    };
    let undisturbed = when(without, all);
    let resolution = intervals(with).max(intervals(without));
    let bin = resolution.max(undisturbed / BINS);
    // The time from `time` until the amount `until` has arrived, in the run, and the corresponding time in its
    // baseline.
    let takes = |time: f64, until: f64| {
        let from = when(without, delivered(with, time));
        (when(with, until) - time, when(without, until) - from)
    };
    // If the baseline is idle for a whole stretch after this progress, the stretch is extended until the baseline
    // delivers data, because otherwise there is nothing to compare.
    let end_of_stretch = |time: f64| {
        let now = delivered(with, time);
        let until = delivered(without, when(without, now) + STRETCH * bin);
        match until > now + all * ROUNDING {
            true => until,
            false => delivered(without, when(without, now + all * ROUNDING) + STRETCH * bin),
        }
    };
    // The time at which a curve ends is known only to within one interval.
    let is_back = |time: f64, unsure: f64| {
        let until = end_of_stretch(time);
        let (run, baseline) = takes(time, until);
        let unsure = if is_all(until) { unsure } else { 0.0 };
        total(with) >= until * (1.0 - ROUNDING) && baseline >= RECOVERED * (run - unsure)
    };
    let stays = |time: f64| {
        let (run, baseline) = takes(time, RECOVERED * all);
        // A run that was stopped early has no end that could be compared.
        let is_there = total(with) >= RECOVERED * all * (1.0 - ROUNDING);
        is_there && (delivered(with, time) >= RECOVERED * all || baseline >= RECOVERED * run)
    };
    // The progress at the start of the baseline's last full stretch. Only the stretch at the fault may start later.
    let latest = delivered(without, undisturbed - STRETCH * bin);
    let starts = || {
        let times = (0_u32..).map(|number| (number, fault + f64::from(number) * bin));
        let end = with.last().map_or(0.0, |&(end, _)| end as f64);
        let times = times.take_while(move |(_, time)| *time < end);
        times.filter(|&(number, time)| number == 0 || delivered(with, time) <= latest).map(|(_, time)| time)
    };
    let Some(dip) = starts().find(|&time| !is_back(time, resolution)) else {
        return is_all(total(with)).then_some(0.0);
    };
    let back = starts().find(|&time| time > dip && is_back(time, 0.0) && stays(time))?;
    Some((back - fault) / 1e6)
}

/// The amount of data that the curve delivers up to `time`: the integral of its rate.
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

/// The time at which the curve has delivered `amount`, or its end if it delivers less.
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

    /// A curve with one interval of 10 us for each rate.
    fn curve(rates: &[f64]) -> Vec<(u64, f64)> {
        (1..).zip(rates).map(|(number, &rate)| (number * 10 * US, rate)).collect()
    }

    /// 100 intervals at a rate of 100, except that the intervals in `indexes` have the rate `rate`.
    fn with(indexes: std::ops::Range<usize>, rate: f64) -> Vec<(u64, f64)> {
        curve(&(0..100).map(|index| if indexes.contains(&index) { rate } else { 100.0 }).collect::<Vec<_>>())
    }

    /// A curve with these rates, followed by intervals that deliver the missing data at a rate of 100. The last
    /// interval may have a lower rate. The total is the same as in the baseline.
    fn whole(rates: &[f64]) -> Vec<(u64, f64)> {
        let missing = 100.0 * 100.0 - rates.iter().sum::<f64>();
        let mut rates = rates.to_vec();
        rates.extend(std::iter::repeat_n(100.0, (missing / 100.0) as usize));
        rates.extend([missing % 100.0].into_iter().filter(|rest| *rest > 0.0));
        curve(&rates)
    }

    /// Like [`with`], but the data that is missing follows at the end.
    fn late(indexes: std::ops::Range<usize>, rate: f64) -> Vec<(u64, f64)> {
        whole(&(0..100).map(|index| if indexes.contains(&index) { rate } else { 100.0 }).collect::<Vec<_>>())
    }

    #[test]
    fn a_run_is_back_when_its_goodput_is() {
        let without = with(0..0, 0.0);
        let after = |curve: &[(u64, f64)]| time_to_recover(curve, &without, 200 * US);
        assert_eq!(after(&late(20..30, 0.0)), Some(100.0), "it is late at the end, and was back long before");
        assert_eq!(
            after(&late(20..30, 94.0)),
            Some(60.0),
            "a stretch of four intervals at 94 and one at 100"
        );
        assert_eq!(after(&late(20..30, 96.0)), Some(0.0), "never below 95 %");
        assert_eq!(after(&late(25..30, 0.0)), Some(100.0), "a fault that takes its time");
        assert_eq!(after(&late(25..30, 80.0)), Some(90.0), "one interval of five at 80");
        assert_eq!(after(&late(20..100, 94.0)), None, "at full rate for what was late alone");
        assert_eq!(
            time_to_recover(&late(20..30, 0.0), &without, 1100 * US),
            Some(0.0),
            "a fault after the end"
        );
        assert_eq!(after(&[]), None);
        assert_eq!(time_to_recover(&[], &[], 200 * US), Some(0.0));
    }

    /// All bytes arrive, but the second half of them at a tenth of the rate.
    #[test]
    fn a_run_that_ends_below_was_not_back_before_its_end() {
        let without = with(0..0, 0.0);
        let mut rates = vec![100.0; 50];
        rates.extend([10.0; 500]);
        assert_eq!(time_to_recover(&whole(&rates), &without, 500 * US), None);
        // A run that was stopped after half of its data has not recovered, even though its goodput never fell.
        assert_eq!(time_to_recover(&curve(&[100.0; 50]), &without, 200 * US), None);
    }

    /// If goodput were compared at equal times, the run, which is 100 us late, would be compared with the fast phase of
    /// the baseline while the run itself is in the slow phase.
    #[test]
    fn a_phase_is_compared_with_the_same_phase() {
        // The baseline has 40 intervals at a rate of 100, 40 at 10, and 20 at 100.
        let rate = |index: usize| if (40..80).contains(&index) { 10.0 } else { 100.0 };
        let without = curve(&(0..100).map(rate).collect::<Vec<_>>());
        let mut rates: Vec<f64> = (0..20).map(rate).collect();
        rates.extend([0.0; 10]);
        rates.extend((20..100).map(rate));
        assert_eq!(time_to_recover(&curve(&rates), &without, 200 * US), Some(100.0));
        // In the slow phase, half of the slow phase's rate counts as a dip.
        let mut rates: Vec<f64> = (0..40).map(rate).collect();
        rates.extend([5.0; 40]);
        rates.extend((60..100).map(rate));
        assert_eq!(time_to_recover(&curve(&rates), &without, 400 * US), Some(400.0));
    }

    /// While no data arrives, the curve may have one long interval instead of many.
    #[test]
    fn an_interval_without_data_makes_the_others_no_longer() {
        let without = with(0..0, 0.0);
        let mut one = late(20..30, 0.0);
        one.drain(20..29);
        assert_eq!(time_to_recover(&one, &without, 200 * US), Some(100.0));
    }

    #[test]
    fn a_link_that_flaps_is_not_back_between_two_dips() {
        let without = with(0..0, 0.0);
        // Every fifth interval delivers nothing, in the first half of the time.
        let flapping: Vec<f64> =
            (0..100).map(|index| if index % 5 == 0 && index < 50 { 0.0 } else { 100.0 }).collect();
        assert_eq!(
            time_to_recover(&whole(&flapping), &without, 200 * US),
            Some(260.0),
            "the last dip is at 450 us"
        );
        let to_the_end: Vec<f64> = (0..124).map(|index| if index % 5 == 0 { 0.0 } else { 100.0 }).collect();
        assert_eq!(time_to_recover(&whole(&to_the_end), &without, 200 * US), None);
        // There are two long dips. Goodput is back between them, but not on average over the remaining time.
        let twice: Vec<f64> = (0..110)
            .map(|index| if (20..30).contains(&index) || (60..90).contains(&index) { 0.0 } else { 100.0 })
            .collect();
        assert_eq!(time_to_recover(&whole(&twice), &without, 200 * US), Some(700.0));
    }

    /// The last 4 % of the data arrive late. This does not undo the recovery, which counts data up to 95 %.
    #[test]
    fn stragglers_undo_no_recovery() {
        let without = with(0..0, 0.0);
        let mut rates = vec![100.0; 20];
        rates.extend([0.0; 10]);
        rates.extend(vec![100.0; 76]);
        rates.extend([1.0; 400]);
        assert_eq!(time_to_recover(&curve(&rates), &without, 200 * US), Some(100.0));
    }

    #[test]
    fn a_run_that_stands_still_for_longer_than_its_baseline_has_not_recovered() {
        let phases = |idle: usize| curve(&[vec![100.0; 40], vec![0.0; idle], vec![100.0; 40]].concat());
        let (without, with) = (phases(20), phases(80));
        for fault in [39, 45, 60] {
            assert_ne!(time_to_recover(&with, &without, fault * 10 * US), Some(0.0), "{fault}");
        }
        assert_eq!(time_to_recover(&without, &without, 45 * 10 * US), Some(0.0));
    }

    #[test]
    fn a_run_that_was_cut_off_after_it_was_back_has_not_recovered() {
        let without = curve(&[100.0; 100]);
        let with = |length: usize| curve(&[vec![100.0; 20], vec![0.0; 5], vec![100.0; length]].concat());
        assert!(time_to_recover(&with(80), &without, 200 * US).is_some());
        assert_eq!(time_to_recover(&with(40), &without, 200 * US), None);
    }
}
