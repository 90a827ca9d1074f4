//! Statistics over plain numbers.

/// A statistic that summarises several numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Statistic {
    /// The arithmetic mean of the numbers.
    Mean,
    /// The smallest number.
    Min,
    /// The largest number.
    Max,
    /// The sum of the numbers.
    Sum,
    /// The first number in the given order.
    First,
    /// The last number in the given order.
    Last,
    /// The fraction of the numbers that are above 0.
    Share,
    /// The percentile, from 0 to 100, by the nearest-rank method.
    Percentile(f64),
}

impl Statistic {
    /// Parses `mean`, `min`, `max`, `sum`, `share` or a percentile such as `p99.9`. The result is `None` for any other
    /// text.
    pub fn parse(text: &str) -> Option<Statistic> {
        match text {
            "mean" => Some(Statistic::Mean),
            "min" => Some(Statistic::Min),
            "max" => Some(Statistic::Max),
            "sum" => Some(Statistic::Sum),
            "share" => Some(Statistic::Share),
            _ => {
                let percent: f64 = text.strip_prefix('p')?.parse().ok()?;
                (0.0..=100.0).contains(&percent).then_some(Statistic::Percentile(percent))
            }
        }
    }

    /// The statistic of `numbers` in the given order, or `None` if there are no numbers.
    pub fn of(self, numbers: &[f64]) -> Option<f64> {
        let sum = || numbers.iter().sum::<f64>();
        match self {
            _ if numbers.is_empty() => None,
            Statistic::Mean => Some(sum() / numbers.len() as f64),
            Statistic::Sum => Some(sum()),
            Statistic::Min => numbers.iter().copied().reduce(f64::min),
            Statistic::Max => numbers.iter().copied().reduce(f64::max),
            Statistic::First => numbers.first().copied(),
            Statistic::Last => numbers.last().copied(),
            Statistic::Share => {
                let above = numbers.iter().filter(|number| **number > 0.0).count();
                Some(above as f64 / numbers.len() as f64)
            }
            Statistic::Percentile(percent) => {
                let mut sorted = numbers.to_vec();
                sorted.sort_by(f64::total_cmp);
                Statistic::percentile(percent, &sorted)
            }
        }
    }

    pub(crate) fn percentile(percent: f64, sorted: &[f64]) -> Option<f64> {
        let rank = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied()
    }
}

/// A mean over seeds with the 95 % confidence interval of Student's t.
///
/// With n seeds, the interval is the mean plus and minus t(0.975, n - 1) times s / sqrt(n), where s is the sample
/// standard deviation. A single seed has no interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The number of seeds.
    pub seeds: usize,
    /// The mean over the seeds.
    pub mean: f64,
    /// Half of the interval's width, or `None` with one seed.
    pub half_width: Option<f64>,
}

/// The 0.975 quantile of Student's t for 1 to 30 degrees of freedom (NIST/SEMATECH e-Handbook of Statistical Methods,
/// section 1.3.6.7.2).
const T_975: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

impl Estimate {
    /// The estimate from one number per seed, or `None` if there are no numbers. With more than 31 seeds, the quantile
    /// for 31 seeds is used. The interval is then slightly too wide.
    pub fn of(numbers: &[f64]) -> Option<Estimate> {
        let mean = Statistic::Mean.of(numbers)?;
        let seeds = numbers.len();
        let half_width = (seeds > 1).then(|| {
            let squares: f64 = numbers.iter().map(|number| (number - mean) * (number - mean)).sum();
            let t = T_975[(seeds - 1).min(T_975.len()) - 1];
            t * (squares / (seeds - 1) as f64).sqrt() / (seeds as f64).sqrt()
        });
        Some(Estimate { seeds, mean, half_width })
    }

    /// The lower and the upper end of the interval, or `None` with one seed.
    pub fn interval(&self) -> Option<[f64; 2]> {
        self.half_width.map(|half| [self.mean - half, self.mean + half])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_students_t_over_the_seeds() {
        // By hand: the mean is 12, the deviations are -2, 0 and 2, and s = 2. With t(0.975, 2) = 4.303, the half width
        // is 4.303 * 2 / sqrt(3) = 4.9687.
        let three = Estimate::of(&[10.0, 12.0, 14.0]).unwrap();
        assert_eq!((three.seeds, three.mean), (3, 12.0));
        assert!((three.half_width.unwrap() - 4.9687).abs() < 1e-4, "{three:?}");
        assert_eq!(Estimate::of(&[7.0]).unwrap().half_width, None);
        assert_eq!(Estimate::of(&[7.0; 40]).unwrap().half_width, Some(0.0));
        assert_eq!(Estimate::of(&[]), None);
        assert!(T_975.windows(2).all(|pair| pair[0] > pair[1]));
        let alternating = |seeds: usize| (0..seeds).map(|seed| (seed % 2) as f64).collect::<Vec<_>>();
        let many = Estimate::of(&alternating(100)).unwrap().half_width.unwrap();
        assert!((many - 2.042 * (25.0_f64 / 99.0).sqrt() / 10.0).abs() < 1e-9, "{many}");
    }

    #[test]
    fn percentiles_are_nearest_ranks() {
        let numbers = [4.0, 1.0, 3.0, 2.0];
        assert_eq!(Statistic::Percentile(50.0).of(&numbers), Some(2.0));
        assert_eq!(Statistic::Percentile(99.0).of(&numbers), Some(4.0));
        assert_eq!(Statistic::Percentile(0.0).of(&numbers), Some(1.0));
        assert_eq!(Statistic::Mean.of(&numbers), Some(2.5));
        assert_eq!(Statistic::Max.of(&[]), None);
        assert_eq!(Statistic::Percentile(50.0).of(&[]), None);
    }

    #[test]
    fn a_share_is_of_those_above_zero() {
        assert_eq!(Statistic::Share.of(&[0.0, 3.0, 0.0, 1.0, 0.0]), Some(0.4));
        assert_eq!(Statistic::Share.of(&[]), None);
    }

    #[test]
    fn names_are_read() {
        assert_eq!(Statistic::parse("p99.9"), Some(Statistic::Percentile(99.9)));
        assert_eq!(Statistic::parse("sum"), Some(Statistic::Sum));
        assert_eq!(Statistic::parse("share"), Some(Statistic::Share));
        assert_eq!(Statistic::parse("p101"), None);
        assert_eq!(Statistic::parse("median"), None);
    }
}
