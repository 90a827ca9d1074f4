//! Statistics over plain numbers.

/// One number that stands for many.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Statistic {
    /// The arithmetic mean.
    Mean,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// All added up.
    Sum,
    /// The first in their order.
    First,
    /// The last in their order.
    Last,
    /// The share of those above 0.
    Share,
    /// Nearest rank, between 0 and 100.
    Percentile(f64),
}

impl Statistic {
    /// Reads `mean`, `min`, `max`, `sum`, `share` or `p99.9`.
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

    /// The statistic of `numbers` in their order; none of none.
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

    /// The percentile of numbers that are sorted; none of none.
    pub(crate) fn percentile(percent: f64, sorted: &[f64]) -> Option<f64> {
        let rank = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
