//! The times at which a fault is in effect. The intervals of a periodic fault are computed rather than listed, since
//! the fault may last to the end of a run.

use anabranch_base::{Duration, Time};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Schedule {
    pub from: Time,
    pub until: Time,
    /// The period, and the duration of the failure at the start of each period. None for a fault that is in effect from
    /// `from` to `until` without a break.
    pub flap: Option<(Duration, Duration)>,
}

impl Schedule {
    pub fn holds_at(&self, time: Time) -> bool {
        let down = |(period, down_for): (Duration, Duration)| time.since(self.from).0 % period.0 < down_for.0;
        self.from <= time && time < self.until && self.flap.is_none_or(down)
    }

    /// Whether the fault is in effect at any time from `first` to `last`.
    pub fn overlaps(&self, first: Time, last: Time) -> bool {
        let Some((period, down_for)) = self.flap else { return self.from <= last && first < self.until };
        let last = last.min(Time(self.until.0.saturating_sub(1)));
        if last < self.from {
            return false;
        }
        // The last interval that begins at or before `last`. All earlier intervals end before that one begins, so
        // only its end is compared with `first`.
        let began = Time(last.0 - last.since(self.from).0 % period.0);
        first < (began + down_for).min(self.until)
    }

    /// The end of the interval that contains `time`. Between two intervals and after the last one, it is the end of the
    /// interval before `time`. Before the first interval, it is the end of the first interval.
    pub fn end_of_interval(&self, time: Time) -> Time {
        let Some((period, down_for)) = self.flap else { return self.until };
        let time = time.min(Time(self.until.0.saturating_sub(1))).max(self.from);
        let began = Time(time.0 - time.since(self.from).0 % period.0);
        (began + down_for).min(self.until)
    }

    /// The first time after `after` at which an interval begins or ends, or the first such time if `after` is none.
    pub fn next_change(&self, after: Option<Time>) -> Time {
        let Some(after) = after.filter(|after| *after >= self.from) else { return self.from };
        if after >= self.until {
            return Time::NEVER;
        }
        let Some((period, down_for)) = self.flap else { return self.until };
        let began = Time(after.0 - after.since(self.from).0 % period.0);
        let (up, down) = (began + down_for, began + period);
        match (after < up, down < self.until) {
            (true, _) => up.min(self.until),
            (false, true) => down,
            (false, false) => Time::NEVER,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_flap_turns_at_its_times_and_is_cut_at_its_end() {
        let schedule = Schedule { from: Time(10), until: Time(33), flap: Some((Duration(10), Duration(4))) };
        let mut turns = vec![schedule.next_change(None)];
        while turns.last() != Some(&Time::NEVER) {
            turns.push(schedule.next_change(turns.last().copied()));
        }
        assert_eq!(turns, [10, 14, 20, 24, 30, 33, u64::MAX].map(Time));
        let held: Vec<u64> = (0..50).filter(|&time| schedule.holds_at(Time(time))).collect();
        assert_eq!(held, [10, 11, 12, 13, 20, 21, 22, 23, 30, 31, 32]);
    }

    #[test]
    fn what_it_held_last_is_over() {
        let schedule = Schedule { from: Time(10), until: Time(33), flap: Some((Duration(10), Duration(4))) };
        let over = [0, 10, 13, 14, 19, 20, 30, 40].map(|time| schedule.end_of_interval(Time(time)).0);
        assert_eq!(over, [14, 14, 14, 14, 14, 24, 33, 33]);
        assert_eq!(Schedule { flap: None, ..schedule }.end_of_interval(Time(5)), Time(33));
    }

    #[test]
    fn one_without_an_end_never_stops_turning() {
        let schedule = Schedule { from: Time(5), until: Time::NEVER, flap: Some((Duration(3), Duration(1))) };
        assert!(schedule.holds_at(Time(5 + 3_000_000_000)) && !schedule.holds_at(Time(6 + 3_000_000_000)));
        assert_eq!(schedule.next_change(Some(Time(3_000_000_005))), Time(3_000_000_006));
    }

    proptest! {
        /// The results equal those of a check of every picosecond.
        #[test]
        fn it_meets_what_it_holds_within(
            (from, lasts, period) in (0_u64..40, 1_u64..60, 2_u64..20),
            (share, flaps) in (1_u64..20, any::<bool>()),
            (first, on_its_way) in (0_u64..120, 0_u64..40)
        ) {
            let flap = flaps.then_some((Duration(period), Duration(1 + share % (period - 1).max(1))));
            let schedule = Schedule { from: Time(from), until: Time(from + lasts), flap };
            let last = first + on_its_way;
            let overlaps = (first..=last).any(|time| schedule.holds_at(Time(time)));
            prop_assert_eq!(schedule.overlaps(Time(first), Time(last)), overlaps);
            let turned = |time: u64| schedule.holds_at(Time(time)) != (time > 0 && schedule.holds_at(Time(time - 1)));
            let next = (first + 1..=from + lasts).find(|&time| turned(time));
            prop_assert_eq!(schedule.next_change(Some(Time(first))), next.map_or(Time::NEVER, Time));
        }
    }
}
