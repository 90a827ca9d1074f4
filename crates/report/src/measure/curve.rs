//! Functions of whole curves over time: the time at which a curve settles, and how long it is near a value.

use anabranch_results::Statistic;

/// The value with which a curve is compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Target {
    Number(f64),
    /// The largest value of the curve itself.
    Max,
    /// The mean over the last tenth of the curve's points.
    Last,
}

/// The curve of one entity. Times are in microseconds. The value of a point applies to the time since the previous
/// point, and that of the first point to the time since `start_us`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Curve {
    pub start_us: f64,
    pub points: Vec<(f64, f64)>,
}

impl Curve {
    /// A curve with the mean over each interval of `width_us`, at the time of the interval's last point.
    pub(super) fn smoothed(&self, width_us: f64) -> Curve {
        let stretch = |time_us: f64| ((time_us - self.start_us) / width_us).ceil();
        let stretches = self.points.chunk_by(|(a, _), (b, _)| stretch(*a) == stretch(*b));
        let points = stretches.map(|points| {
            let sum: f64 = points.iter().map(|(_, value)| value).sum();
            (points[points.len() - 1].0, sum / points.len() as f64)
        });
        Curve { start_us: self.start_us, points: points.collect() }
    }

    /// The value of `target` for this curve, or none if it depends on the points and there are none.
    pub(super) fn target(&self, target: Target) -> Option<f64> {
        let values = |from: usize| self.points[from..].iter().map(|(_, value)| *value).collect::<Vec<f64>>();
        match target {
            Target::Number(number) => Some(number),
            Target::Max => Statistic::Max.of(&values(0)),
            Target::Last => Statistic::Mean.of(&values(self.points.len() * 9 / 10)),
        }
    }

    /// The time from which the curve stays within `band` of `target` until its end, or none if there are no points or
    /// the last one is not within `band`.
    pub(super) fn settles_us(&self, target: f64, band: f64) -> Option<f64> {
        let away = self.points.iter().rposition(|(_, value)| (value - target).abs() > band);
        match away {
            None => Some(self.start_us).filter(|_| !self.points.is_empty()),
            Some(last) if last + 1 == self.points.len() => None,
            Some(last) => Some(self.points[last].0),
        }
    }

    /// The total time during which the curve is within `band` of `target`.
    pub(super) fn near_us(&self, target: f64, band: f64) -> f64 {
        let begins = std::iter::once(self.start_us).chain(self.points.iter().map(|(time_us, _)| *time_us));
        let near = self.points.iter().zip(begins).filter(|((_, value), _)| (value - target).abs() <= band);
        near.map(|((end_us, _), begin_us)| end_us - begin_us).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A curve with the values 2, 9, 5, 4, 4.4 and 4 at 10, 20, 30, 40, 50 and 60 us.
    fn curve() -> Curve {
        let values = [2.0, 9.0, 5.0, 4.0, 4.4, 4.0];
        let points = values.into_iter().zip(1..).map(|(value, step)| (10.0 * f64::from(step), value));
        Curve { start_us: 0.0, points: points.collect() }
    }

    #[test]
    fn a_curve_settles_when_it_comes_near_for_good() {
        assert_eq!(curve().settles_us(4.0, 0.4 + 1e-9), Some(30.0));
        assert_eq!(curve().settles_us(4.0, 0.3), Some(50.0));
        assert_eq!(curve().settles_us(4.0, 1.0), Some(20.0));
        assert_eq!(curve().settles_us(9.0, 1.0), None, "it was there and left");
        assert_eq!(curve().settles_us(5.0, 5.0), Some(0.0), "it was never elsewhere");
        assert_eq!(Curve { points: vec![], ..curve() }.settles_us(4.0, 1.0), None);
    }

    #[test]
    fn the_time_near_a_value_is_that_of_its_points() {
        assert_eq!(curve().near_us(4.5, 0.5), 40.0);
        assert_eq!(curve().near_us(2.0, 0.0), 10.0);
        assert_eq!(curve().near_us(100.0, 1.0), 0.0);
        // The first point applies to the time from `start_us`, 7 us, to 10 us.
        let late = Curve { start_us: 7.0, ..curve() };
        assert_eq!(late.near_us(2.0, 0.0), 3.0);
    }

    #[test]
    fn a_target_is_a_number_the_largest_point_or_the_end() {
        assert_eq!(curve().target(Target::Number(7.0)), Some(7.0));
        assert_eq!(curve().target(Target::Max), Some(9.0));
        assert_eq!(curve().target(Target::Last), Some(4.0));
        let twenty =
            Curve { start_us: 0.0, points: (1..=20).map(|i| (f64::from(i), f64::from(i))).collect() };
        assert_eq!(twenty.target(Target::Last), Some(19.5));
        assert_eq!(Curve { points: vec![], ..curve() }.target(Target::Max), None);
    }

    #[test]
    fn stretches_have_the_mean_of_their_points() {
        assert_eq!(curve().smoothed(20.0).points, [(20.0, 5.5), (40.0, 4.5), (60.0, 4.2)]);
        // With a start at 5 us, intervals end at 25 and 45 us.
        let late = Curve { start_us: 5.0, ..curve() };
        assert_eq!(late.smoothed(20.0).points, [(20.0, 5.5), (40.0, 4.5), (60.0, 4.2)]);
        assert_eq!(curve().smoothed(1.0), curve());
    }
}
